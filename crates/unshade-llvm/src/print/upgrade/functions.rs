//! Upgrades attributes of functions and calls, inline assembly, and operand bundles.
//!
//! | since | change |
//! |---|---|
//! | 10 | a call with `strictfp`, or of a function with it, in a function without it gets `nobuiltin` |
//! | 13 | the first parameter of an x86 interrupt handler is `byval` |
//! | 14 | arguments of indirect assembly constraints and of some intrinsics have `elementtype` |
//! | 14 only | a call has the `byval`, `sret` and `inalloca` of the function that it calls |
//! | 15 | `clang.arc.attachedcall` bundles without operands are dropped |
//! | 16 | labels of `callbr` are constraints instead of arguments |
//! | 17 | the attribute `implicit-section-name` becomes the section |
//!
//! Knowledge: the output of `llvm-dis` 14 and 19 for old files; the Language Reference.

use super::super::Dialect;
use super::editor::{self, AttachmentOutcome};
use super::intrinsics::callee_of;
use crate::attributes::{Attribute, index, kind};
use crate::body::{Call, FunctionBody};
use crate::constants::{Constant, Constants};
use crate::global::Function;
use crate::ids::{AttributeListId, Slice, TypeId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::module::Module;
use crate::types::Type;
use crate::value::Operand;
use alloc::vec::Vec;

const NO_BUILTIN: u32 = 10;
const STRICT_FP: u32 = 54;
const ELEMENT_TYPE: u32 = 77;
const X86_INTERRUPT: u32 = 83;
/// The attributes of a parameter that pass it in another way than its pointer.
const PASSING: [u32; 3] = [kind::BY_VALUE, kind::STRUCT_RESULT, kind::IN_ALLOCA];
const ATTACHED_CALL: &[u8] = b"clang.arc.attachedcall";
const SECTION_NAME: &[u8] = b"implicit-section-name";

/// Intrinsics with a pointer that has `elementtype`: argument 0 since LLVM 14, and the given argument since LLVM
/// 15.
const ELEMENT_TYPED: [&[u8]; 2] = [b"llvm.preserve.array.access.index", b"llvm.preserve.struct.access.index"];
const ELEMENT_TYPED_LATER: &[(&[u8], usize)] = &[
    (b"llvm.aarch64.ldaxr", 0),
    (b"llvm.aarch64.ldxr", 0),
    (b"llvm.aarch64.stlxr", 1),
    (b"llvm.aarch64.stxr", 1),
    (b"llvm.arm.ldaex", 0),
    (b"llvm.arm.ldrex", 0),
    (b"llvm.arm.stlex", 1),
    (b"llvm.arm.strex", 1),
];

pub(super) fn is_old(module: &Module<'_>, dialect: Dialect) -> bool {
    (0..module.functions.len()).any(|at| is_old_handler(module, at))
        || is_old_assembly(&module.constants)
        || (dialect.is_opaque()
            && module
                .functions
                .iter()
                .any(|function| text_attribute(module, function.attributes, SECTION_NAME).is_some()))
}

/// Checks whether calls in bodies need an upgrade.
pub(super) struct CallCheck {
    dialect: Dialect,
    strict: bool,
    typed: bool,
    passing: bool,
}

impl CallCheck {
    pub(super) fn new(module: &Module<'_>, dialect: Dialect) -> Self {
        let strict = (0..module.attributes.set_count()).any(|at| {
            let set = crate::ids::AttributeSetId(narrow(at as u64));
            module.attributes.set(set).contains(&Attribute::Flag(STRICT_FP))
        });
        let typed =
            module.functions.iter().any(|function| typed_pointer(&function.symbol.name, dialect).is_some());
        let passing = dialect == Dialect::Llvm14
            && module.functions.iter().any(|function| passed(module, function.attributes).next().is_some());
        Self { dialect, strict, typed, passing }
    }

    pub(super) fn any_old(&self, module: &Module<'_>, body: &FunctionBody) -> bool {
        if is_old_assembly(&body.constants) || (self.strict && has_stray_strictfp(module, body)) {
            return true;
        }
        let assembly =
            !body.constants.all_assembly().is_empty() || !module.constants.all_assembly().is_empty();
        let calls = || {
            body.instructions.iter().filter(|instruction| {
                matches!(instruction.opcode, Opcode::Call | Opcode::Invoke | Opcode::CallBr)
            })
        };
        if (assembly || self.typed)
            && calls().any(|call| !missing_element_types(module, body, call, self.dialect).is_empty())
        {
            return true;
        }
        if self.passing && calls().any(|call| !missing_passing(module, body, call).is_empty()) {
            return true;
        }
        self.dialect.is_opaque()
            && (body.bundles.iter().any(|bundle| is_empty_attached_call(module, bundle))
                || calls().any(|call| old_labels(module, body, call).is_some()))
    }
}

pub(super) fn upgrade_body(module: &mut Module<'_>, body: &mut FunctionBody, dialect: Dialect) {
    upgrade_assembly(&mut body.constants);
    remove_stray_strictfp(module, body);
    add_types(module, body, dialect);
    if dialect.is_opaque() {
        drop_bundles(module, body);
        upgrade_labels(module, body);
    }
}

/// Upgrades declarations and module-level constants, after all bodies.
pub(super) fn upgrade_declarations(module: &mut Module<'_>, dialect: Dialect) {
    upgrade_assembly(&mut module.constants);
    for at in 0..module.functions.len() {
        if is_old_handler(module, at) {
            pass_by_value(module, at);
        }
        if dialect.is_opaque() {
            set_section(module, at);
        }
    }
}

fn is_old_handler(module: &Module<'_>, at: usize) -> bool {
    let Some(function) = module.functions.get(at) else { return false };
    if function.calling_convention != X86_INTERRUPT || first_pointee(module, function.symbol.ty).is_none() {
        return false;
    }
    let set = module.attributes.of(function.attributes, index::parameter(0));
    !set.is_some_and(|set| {
        module.attributes.set(set).iter().any(|attribute| attribute.kind() == Some(kind::BY_VALUE))
    })
}

/// Returns the pointee of the first parameter of a function.
fn first_pointee(module: &Module<'_>, ty: TypeId) -> Option<TypeId> {
    let Type::Function { parameters, .. } = module.types.get(ty) else { return None };
    module.types.pointee(*module.types.elements(parameters).first()?)
}

fn pass_by_value(module: &mut Module<'_>, at: usize) {
    let Some(function) = module.functions.get_mut(at) else { return };
    let (list, ty) = (function.attributes, function.symbol.ty);
    let pointee = first_pointee(module, ty);
    let list = module.attributes.with_changed_set(list, index::parameter(0), |set| {
        set.push(Attribute::Type(kind::BY_VALUE, pointee));
    });
    if let Some(function) = module.functions.get_mut(at) {
        function.attributes = list;
    }
}

/// Returns the value of a function's attribute.
pub(super) fn text_attribute<'m>(
    module: &'m Module<'_>,
    list: AttributeListId,
    wanted: &[u8],
) -> Option<&'m [u8]> {
    let attributes = &module.attributes;
    let set = attributes.set(attributes.of(list, index::FUNCTION)?);
    set.iter().find_map(|attribute| match *attribute {
        Attribute::Text { name, value } if attributes.text(name) == wanted => Some(attributes.text(value)),
        _ => None,
    })
}

/// Returns the attributes of a function without one.
pub(super) fn without_text(
    module: &mut Module<'_>,
    list: AttributeListId,
    unwanted: &[u8],
) -> AttributeListId {
    let attributes = &mut module.attributes;
    let set = attributes.of(list, index::FUNCTION).map_or(&[][..], |set| attributes.set(set));
    let is_other = |attribute: &&Attribute| match attribute {
        Attribute::Text { name, .. } => attributes.text(*name) != unwanted,
        _ => true,
    };
    let kept: Vec<Attribute> = set.iter().filter(is_other).copied().collect();
    attributes.with_changed_set(list, index::FUNCTION, |set| *set = kept)
}

fn set_section(module: &mut Module<'_>, at: usize) {
    let Some(list) = module.functions.get(at).map(|function| function.attributes) else { return };
    let Some(section) = text_attribute(module, list, SECTION_NAME).map(<[u8]>::to_vec) else { return };
    let list = without_text(module, list, SECTION_NAME);
    if let Some(function) = module.functions.get_mut(at) {
        function.symbol.section = section;
        function.attributes = list;
    }
}

/// Returns the position of the old comment character in the marker of the Objective-C runtime.
fn old_marker(text: &[u8]) -> Option<usize> {
    let find = |part: &[u8]| text.windows(part.len()).position(|window| window == part);
    if !text.starts_with(b"mov\tfp") {
        return None;
    }
    find(b"objc_retainAutoreleaseReturnValue")?;
    find(b"# marker")
}

fn is_old_assembly(constants: &Constants) -> bool {
    constants.all_assembly().iter().any(|assembly| old_marker(constants.bytes(assembly.text)).is_some())
}

fn upgrade_assembly(constants: &mut Constants) {
    for at in 0..constants.all_assembly().len() {
        let Some(assembly) = constants.all_assembly().get(at) else { continue };
        let mut text = constants.bytes(assembly.text).to_vec();
        if let Some(marker) = old_marker(&text).and_then(|place| text.get_mut(place)) {
            *marker = b';';
            constants.set_assembly(narrow(at as u64), &text);
        }
    }
}

fn has_strictfp(module: &Module<'_>, list: AttributeListId) -> bool {
    let set = module.attributes.of(list, index::FUNCTION);
    set.is_some_and(|set| module.attributes.set(set).contains(&Attribute::Flag(STRICT_FP)))
}

fn is_strict(module: &Module<'_>, body: &FunctionBody) -> bool {
    let function = module.functions.get(body.function as usize);
    function.is_some_and(|function| has_strictfp(module, function.attributes))
}

/// Returns whether a call, or the function that it calls, has `strictfp`, though it is no constrained operation.
fn is_strict_call(module: &Module<'_>, body: &FunctionBody, instruction: &Instruction) -> bool {
    if !matches!(instruction.opcode, Opcode::Call | Opcode::Invoke | Opcode::CallBr) {
        return false;
    }
    let Some(call) = body.calls.get(instruction.detail as usize) else { return false };
    let callee = callee_of(module, body, instruction).and_then(|at| module.functions.get(at));
    let is_typed_alike = |function: &&Function| function.symbol.ty == call.function_type;
    let is_strict = has_strictfp(module, call.attributes)
        || callee.filter(is_typed_alike).is_some_and(|function| has_strictfp(module, function.attributes));
    is_strict
        && !callee.is_some_and(|function| function.symbol.name.starts_with(b"llvm.experimental.constrained."))
}

fn has_stray_strictfp(module: &Module<'_>, body: &FunctionBody) -> bool {
    !is_strict(module, body) && body.instructions.iter().any(|call| is_strict_call(module, body, call))
}

/// Replaces `strictfp` of calls by `nobuiltin`, in a function without it.
fn remove_stray_strictfp(module: &mut Module<'_>, body: &mut FunctionBody) {
    if !has_stray_strictfp(module, body) {
        return;
    }
    for at in 0..body.instructions.len() {
        let Some(instruction) = body.instructions.get(at) else { continue };
        if !is_strict_call(module, body, instruction) {
            continue;
        }
        let Some(call) = body.calls.get_mut(instruction.detail as usize) else { continue };
        call.attributes = module.attributes.with_changed_set(call.attributes, index::FUNCTION, |set| {
            set.retain(|attribute| attribute.kind() != Some(STRICT_FP));
            if !set.contains(&Attribute::Flag(NO_BUILTIN)) {
                set.push(Attribute::Flag(NO_BUILTIN));
            }
        });
    }
}

/// Returns which argument of an intrinsic has `elementtype`.
fn typed_pointer(name: &[u8], dialect: Dialect) -> Option<usize> {
    if !name.starts_with(b"llvm.") {
        return None;
    }
    if ELEMENT_TYPED.iter().any(|typed| name.starts_with(typed)) {
        return Some(0);
    }
    // The names of accesses to pairs, such as `llvm.arm.ldrexd`, go on with a letter.
    let is_of =
        |typed: &[u8]| name.strip_prefix(typed).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."));
    let later = ELEMENT_TYPED_LATER.iter().filter(|_| dialect.is_opaque());
    later.into_iter().find(|(typed, _)| is_of(typed)).map(|(_, at)| *at)
}

/// Returns the arguments of a call that lack `elementtype`, with its kind and their pointee types.
fn missing_element_types(
    module: &Module<'_>,
    body: &FunctionBody,
    instruction: &Instruction,
    dialect: Dialect,
) -> Vec<(u32, u32, TypeId)> {
    let mut missing = Vec::new();
    let operands = body.operands_of(instruction);
    let Some(callee) = operands.first().and_then(|callee| callee.as_value()) else { return missing };
    let Some(call) = body.calls.get(instruction.detail as usize) else { return missing };
    let mut check = |at: usize| {
        let value = operands.get(at + 1).and_then(|operand| operand.as_value());
        let ty = value
            .and_then(|id| module.value(Some(body), id))
            .and_then(|value| module.types.pointee(value.ty));
        let set = module.attributes.of(call.attributes, index::parameter(at));
        let has_type = set.is_some_and(|set| {
            module.attributes.set(set).iter().any(|attribute| attribute.kind() == Some(ELEMENT_TYPE))
        });
        missing.extend(ty.filter(|_| !has_type).map(|ty| (index::parameter(at), ELEMENT_TYPE, ty)));
    };
    if let Some((Constant::Assembly(index), constants)) = module.constant(Some(body), callee) {
        let Some(assembly) = constants.assembly(index) else { return missing };
        let mut argument = 0;
        for constraint in constraints(constants.bytes(assembly.constraints)) {
            if constraint.indirect {
                check(argument);
            }
            argument += usize::from(constraint.has_argument);
        }
    } else if let Some(function) =
        callee_of(module, body, instruction).and_then(|at| module.functions.get(at))
        && let Some(at) = typed_pointer(&function.symbol.name, dialect)
    {
        check(at);
    }
    missing
}

/// Returns the parameters that attributes pass by value, as a result or on the stack, each with the attribute's kind.
fn passed<'m>(module: &'m Module<'_>, list: AttributeListId) -> impl Iterator<Item = (u32, u32)> + 'm {
    module.attributes.list(list).iter().flat_map(|&(index, set)| {
        let kinds = module.attributes.set(set).iter().filter_map(Attribute::kind);
        kinds.filter(|kind| PASSING.contains(kind)).map(move |kind| (index, kind))
    })
}

/// Returns what passes the arguments of a call according to the called function only, each with its pointee type.
fn missing_passing(
    module: &Module<'_>,
    body: &FunctionBody,
    instruction: &Instruction,
) -> Vec<(u32, u32, TypeId)> {
    let Some(call) = body.calls.get(instruction.detail as usize) else { return Vec::new() };
    let callee = callee_of(module, body, instruction).and_then(|at| module.functions.get(at));
    let Some(callee) = callee.filter(|callee| callee.symbol.ty == call.function_type) else {
        return Vec::new();
    };
    let Type::Function { parameters, .. } = module.types.get(call.function_type) else { return Vec::new() };
    let parameters = module.types.elements(parameters);
    let missing = passed(module, callee.attributes).filter_map(|(index, kind)| {
        let parameter = *parameters.get(index.checked_sub(1)? as usize)?;
        let is_stated = passed(module, call.attributes).any(|stated| stated == (index, kind));
        let pointee = module.types.pointee(parameter)?;
        (!is_stated).then_some((index, kind, pointee))
    });
    missing.collect()
}

/// A constraint of inline assembly.
struct Constraint {
    indirect: bool,
    has_argument: bool,
    label: bool,
}

/// Parses the constraints of inline assembly, which are separated by commas.
fn constraints(text: &[u8]) -> impl Iterator<Item = Constraint> + '_ {
    text.split(|&c| c == b',').filter(|part| !part.is_empty()).map(|part| {
        let output = part.starts_with(b"=");
        let clobber = part.starts_with(b"~");
        let code = part.iter().position(|c| !matches!(c, b'=' | b'&' | b'%' | b'+' | b'#')).unwrap_or(0);
        let indirect = part.get(code) == Some(&b'*');
        let label = part.starts_with(b"!");
        Constraint { indirect, has_argument: !clobber && !label && (!output || indirect), label }
    })
}

/// Adds the attributes with types that calls lack.
fn add_types(module: &mut Module<'_>, body: &mut FunctionBody, dialect: Dialect) {
    for at in 0..body.instructions.len() {
        let Some(&instruction) = body.instructions.get(at) else { continue };
        if !matches!(instruction.opcode, Opcode::Call | Opcode::Invoke | Opcode::CallBr) {
            continue;
        }
        let mut missing = missing_element_types(module, body, &instruction, dialect);
        if dialect == Dialect::Llvm14 {
            missing.extend(missing_passing(module, body, &instruction));
        }
        for (index, kind, ty) in missing {
            let Some(call) = body.calls.get_mut(instruction.detail as usize) else { continue };
            call.attributes = module.attributes.with_changed_set(call.attributes, index, |set| {
                set.push(Attribute::Type(kind, Some(ty)));
            });
        }
    }
}

fn is_empty_attached_call(module: &Module<'_>, bundle: &crate::body::Bundle) -> bool {
    bundle.operands.is_empty()
        && module.bundle_tags.get(bundle.tag as usize).is_some_and(|tag| **tag == *ATTACHED_CALL)
}

fn drop_bundles(module: &Module<'_>, body: &mut FunctionBody) {
    for at in 0..body.calls.len() {
        let Some(bundles) = body.calls.get(at).map(|call| call.bundles.of(&body.bundles).to_vec()) else {
            continue;
        };
        if bundles.iter().any(|bundle| is_empty_attached_call(module, bundle)) {
            let kept = bundles.into_iter().filter(|bundle| !is_empty_attached_call(module, bundle));
            let kept = Slice::extend(&mut body.bundles, kept);
            if let Some(call) = body.calls.get_mut(at) {
                call.bundles = kept;
            }
        }
    }
}

/// Returns the inline assembly of an old `callbr`, whose last arguments are the addresses of its blocks.
fn old_labels(module: &Module<'_>, body: &FunctionBody, instruction: &Instruction) -> Option<u32> {
    if instruction.opcode != Opcode::CallBr || instruction.extra == 0 {
        return None;
    }
    let operands = body.operands_of(instruction);
    let (Constant::Assembly(index), constants) =
        module.constant(Some(body), operands.first()?.as_value()?)?
    else {
        return None;
    };
    if constraints(constants.bytes(constants.assembly(index)?.constraints)).any(|constraint| constraint.label)
    {
        return None;
    }
    let blocks = instruction.extra as usize;
    let end = operands.len().checked_sub(blocks + 1)?;
    let addresses = operands.get(end.checked_sub(blocks)?..end)?;
    let is_address = |operand: &Operand| {
        let constant = operand.as_value().and_then(|id| module.constant(Some(body), id));
        matches!(constant, Some((Constant::BlockAddress { .. }, _)))
    };
    addresses.iter().all(is_address).then_some(index)
}

fn upgrade_labels(module: &mut Module<'_>, body: &mut FunctionBody) {
    let any = body.instructions.iter().any(|instruction| old_labels(module, body, instruction).is_some());
    if !any {
        return;
    }
    editor::rewrite(module, body, |editor, _, mut instruction| {
        if old_labels(editor.module, editor.body, &instruction).is_some()
            && let Some(operands) = without_labels(editor, &instruction)
        {
            instruction.operands = editor.operands(&operands);
        }
        editor.push(instruction);
        AttachmentOutcome::Kept
    });
}

/// Returns the operands of a `callbr` without block addresses, and with assembly that has label constraints
/// instead.
fn without_labels(editor: &mut editor::Editor<'_, '_>, instruction: &Instruction) -> Option<Vec<Operand>> {
    let blocks = instruction.extra as usize;
    let mut operands = editor.body.operands_of(instruction).to_vec();
    let end = operands.len().checked_sub(blocks + 1)?;
    let start = end.checked_sub(blocks)?;
    operands.drain(start..end);
    let callee = operands.first()?.as_value()?;
    let (constant, constants) = editor.module.constant(Some(editor.body), callee)?;
    let Constant::Assembly(index) = constant else { return None };
    let assembly = *constants.assembly(index)?;
    let text = constants.bytes(assembly.text).to_vec();
    let mut argument = 0;
    let mut labelled = Vec::new();
    let old = constants.bytes(assembly.constraints).to_vec();
    for (at, (part, constraint)) in old.split(|&c| c == b',').zip(constraints(&old)).enumerate() {
        if at > 0 {
            labelled.push(b',');
        }
        if constraint.has_argument {
            argument += 1;
            // `start` counts the callee as well.
            if argument >= start {
                labelled.push(b'!');
            }
        }
        labelled.extend_from_slice(part);
    }
    let ty = editor.type_of(*operands.first()?);
    let assembly =
        editor.body.constants.add_assembly(&text, &labelled, assembly.flags, assembly.function_type);
    if let Some(first) = operands.first_mut() {
        *first = editor.constant(ty, assembly);
    }
    set_argument_types(editor, instruction, operands.get(1..start)?);
    Some(operands)
}

/// Sets the type of a call to one with the remaining arguments.
fn set_argument_types(editor: &mut editor::Editor<'_, '_>, instruction: &Instruction, arguments: &[Operand]) {
    let types: Vec<TypeId> = arguments.iter().map(|&argument| editor.type_of(argument)).collect();
    let Some(&Call { function_type, .. }) = editor.body.calls.get(instruction.detail as usize) else {
        return;
    };
    let Type::Function { result, variadic, .. } = editor.module.types.get(function_type) else { return };
    let ty = editor.module.types.add_function(result, &types, variadic);
    if let Some(call) = editor.body.calls.get_mut(instruction.detail as usize) {
        call.function_type = ty;
    }
}
