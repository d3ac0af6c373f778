//! Upgrades global variables, aliases and ifuncs.
//!
//! Since LLVM 3.5, entries of constructor lists have a third field: the data that the constructor belongs to.
//! Since LLVM 14, the resolver of an ifunc returns a pointer to the ifunc's type; other resolvers are cast.

use super::super::Dialect;
use super::editor::pointer_to;
use crate::constants::Constant;
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::module::Module;
use crate::types::Type;
use crate::value::{Value, ValueKind};
use alloc::vec::Vec;

const LISTS: [&[u8]; 2] = [b"llvm.global_ctors", b"llvm.global_dtors"];
/// The section of Objective-C categories, which Apple's linker accepts only without spaces.
const CATEGORIES: &[u8] = b"__DATA, __objc_catlist";

pub(super) fn is_old(module: &Module<'_>, dialect: Dialect) -> bool {
    if dialect == Dialect::Llvm14
        && (0..module.aliases.len()).any(|at| mistyped_resolver(module, at).is_some())
    {
        return true;
    }
    let old = |at: usize| fields_of_list(module, at).is_some();
    (0..module.globals.len()).any(old) || has_old_section(module)
}

/// Returns the types of the two fields of an old constructor list.
fn fields_of_list(module: &Module<'_>, at: usize) -> Option<[TypeId; 2]> {
    let global = module.globals.get(at)?;
    if !LISTS.contains(&global.symbol.name.as_slice()) || global.initializer.is_none() {
        return None;
    }
    let Type::Array { element, .. } = module.types.get(global.symbol.ty) else { return None };
    let Type::Struct(structure) = module.types.get(element) else { return None };
    module.types.elements(structure.fields).try_into().ok()
}

/// Returns the resolver of an ifunc if it does not return a pointer to the ifunc's type, with its type and that of
/// the ifunc.
fn mistyped_resolver(module: &Module<'_>, at: usize) -> Option<(ValueId, TypeId, TypeId)> {
    let alias = module.aliases.get(at).filter(|alias| alias.indirect)?;
    let resolver = module.value(None, alias.target)?.ty;
    let Type::Function { result, .. } = module.types.get(module.types.pointee(resolver)?) else {
        return None;
    };
    (module.types.pointee(result) != Some(alias.symbol.ty)).then_some((
        alias.target,
        resolver,
        alias.symbol.ty,
    ))
}

/// Returns whether a function has no parameters and returns a pointer to a type.
fn is_resolver(module: &Module<'_>, function: ValueId, ty: TypeId) -> bool {
    let pointee = module.value(None, function).and_then(|value| module.types.pointee(value.ty));
    match pointee.map(|pointee| module.types.get(pointee)) {
        Some(Type::Function { result, parameters, variadic: false }) => {
            parameters.count == 0 && module.types.pointee(result) == Some(ty)
        }
        _ => false,
    }
}

/// Casts the resolver of an ifunc to a function that returns a pointer to the ifunc's type.
fn cast_resolver(module: &mut Module<'_>, at: usize) {
    let Some((target, resolver, ty)) = mistyped_resolver(module, at) else { return };
    let Some(address_space) = module.types.address_space(resolver) else { return };
    let function = without_cast(module, target);
    let target = if is_resolver(module, function, ty) {
        function
    } else {
        let result = module.types.intern(Type::Pointer { pointee: ty, address_space: 0 });
        let pointee = module.types.add_function(result, &[], false);
        let pointer = module.types.intern(Type::Pointer { pointee, address_space });
        let cast = module.constants.cast(Opcode::BitCast, function);
        module.add_constant(cast, pointer)
    };
    if let Some(alias) = module.aliases.get_mut(at) {
        alias.target = target;
    }
}

/// Returns what a constant casts, because a `bitcast` of a `bitcast` is one; the constant itself if it is no cast.
fn without_cast(module: &Module<'_>, id: ValueId) -> ValueId {
    let Some((Constant::Expression(at), constants)) = module.constant(None, id) else { return id };
    let expression = constants.expression(at).filter(|expression| expression.opcode == Opcode::BitCast);
    expression.and_then(|expression| constants.values(expression.operands).first().copied()).unwrap_or(id)
}

/// Returns whether a section has a name with spaces.
pub(super) fn has_old_section(module: &Module<'_>) -> bool {
    module.globals.iter().any(|global| global.symbol.section.starts_with(CATEGORIES))
}

/// Removes the spaces from the names of sections.
pub(super) fn upgrade_sections(module: &mut Module<'_>) {
    for global in &mut module.globals {
        if global.symbol.section.starts_with(CATEGORIES) {
            global.symbol.section.retain(|&c| c != b' ');
        }
    }
}

pub(super) fn upgrade(module: &mut Module<'_>, dialect: Dialect) {
    if dialect == Dialect::Llvm14 {
        for at in 0..module.aliases.len() {
            cast_resolver(module, at);
        }
    }
    while let Some((at, fields)) =
        (0..module.globals.len()).find_map(|at| Some((at, fields_of_list(module, at)?)))
    {
        add_field(module, at, fields);
    }
    upgrade_sections(module);
}

fn add_field(module: &mut Module<'_>, at: usize, [priority, function]: [TypeId; 2]) {
    let Some(list) = module.globals.get(at).and_then(|global| global.initializer) else { return };
    let byte = module.types.intern(Type::Integer(8));
    let data = pointer_to(module, byte);
    let entry = module.types.intern_literal(&[priority, function, data]);
    let null = module.add_constant(Constant::Null, data);
    let entries = match module.constant(None, list) {
        Some((Constant::Aggregate(entries), constants)) => constants.values(entries).to_vec(),
        _ => Vec::new(),
    };
    let entries: Vec<ValueId> = entries
        .into_iter()
        .map(|old| {
            let fields = match module.constant(None, old) {
                // The entries of a damaged list may have any number of fields.
                Some((Constant::Aggregate(fields), constants)) if fields.len() == 2 => {
                    constants.values(fields).to_vec()
                }
                _ => [priority, function].map(|ty| module.add_constant(Constant::Null, ty)).to_vec(),
            };
            let fields: Vec<ValueId> = fields.into_iter().chain([null]).collect();
            let constant = module.constants.aggregate(&fields);
            module.add_constant(constant, entry)
        })
        .collect();
    let array = module.types.intern(Type::Array { count: entries.len() as u64, element: entry });
    let constant = if entries.is_empty() { Constant::Null } else { module.constants.aggregate(&entries) };
    let initializer = module.add_constant(constant, array);
    // LLVM recreates the list, so it comes last.
    let mut global = module.globals.remove(at);
    global.initializer = Some(initializer);
    global.symbol.ty = array;
    module.globals.push(global);
    for (index, id) in
        (0u32..).zip(module.globals.iter().map(|global| global.symbol.value).collect::<Vec<_>>())
    {
        if let Some(value) = module.value_mut(id) {
            value.kind = ValueKind::Global(index);
        }
    }
}

impl Module<'_> {
    /// Adds a constant that no record defines, and returns its id.
    pub(super) fn add_constant(&mut self, constant: Constant, ty: TypeId) -> ValueId {
        let kind = ValueKind::Constant(self.constants.add(constant));
        self.add_upgrade_value(Value { kind, ty })
    }
}
