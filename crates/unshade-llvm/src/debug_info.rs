//! Decodes debug-info records: records of all versions are brought to one layout per kind of node.
//!
//! [`NodeKind`] lists for each kind its references, in the order in which LLVM 14 keeps them as operands, and then
//! its numbers. Records have grown from version to version; `decode` maps every form of a record to the one
//! layout. References that only LLVM 3.7 has (the function of a subprogram, the subprograms of a unit) follow
//! those of later versions, and so do those that LLVM 20 to 22 added.
//!
//! Since LLVM 21 the size and the offset of a type may be metadata, for types whose size is not known when they are
//! compiled. Such a record has references instead of the two numbers; the numbers are then zero.
//!
//! Knowledge: `MetadataCodes` and the readers' record layouts of LLVM 3.7 (as in DXC), 14 and 19; records that
//! `llvm-as` 22 writes.

use crate::ids::{rotate, unrotate};
use crate::metadata::Node;
use alloc::vec;
use alloc::vec::Vec;

/// The kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// `!{…}`
    Tuple,
    /// `!DILocation`: references scope, inlined-at; numbers line, column, implicit, atom group, atom rank.
    Location,
    /// `!DIExpression`: numbers only.
    Expression,
    /// `!GenericDINode`: references header and operands; number tag.
    GenericDebug,
    /// `!DISubrange`: count, lower, upper, stride; form bits (0 the count, 1 the lower bound is a number), count
    /// and lower bound as numbers.
    Subrange,
    /// `!DIGenericSubrange`: count, lower, upper, stride.
    GenericSubrange,
    /// `!DIEnumerator`: name; bits 1 unsigned, 2 wide; width; words.
    Enumerator,
    /// `!DIBasicType`: name, size; tag, size, align, encoding, flags, extra inhabitants, size of the data.
    BasicType,
    /// `!DIStringType`: name, length, length and location expressions, size; tag, size, align, encoding.
    StringType,
    /// `!DIDerivedType`: file, scope, name, base, extra, annotations, size, offset; tag, line, size, align, offset,
    /// flags, address space plus one, pointer authentication, whether the record ends before that.
    DerivedType,
    /// `!DICompositeType`: file, scope, name, base, elements, vtable holder, template parameters, identifier,
    /// discriminator, data location, associated, allocated, rank, annotations, size, offset, specification, bit
    /// stride; tag, line, size, align, offset, flags, runtime language, extra inhabitants, kind of enumeration plus one.
    CompositeType,
    /// `!DISubrangeType`: file, scope, name, base, lower, upper, stride, bias, size; line, size, align, flags.
    SubrangeType,
    /// `!DIFixedPointType`: name, size; tag, size, align, encoding, flags, kind, factor, and for the numerator and
    /// the denominator in turn: width, word.
    FixedPointType,
    /// `!DISubroutineType`: types; flags, calling convention.
    SubroutineType,
    /// `!DIFile`: filename, directory, checksum, source; kind of checksum.
    File,
    /// `!DICompileUnit`: file, producer, flags, split name, enums, retained types, globals, imports, macros,
    /// sysroot, SDK, subprograms (3.7); language, optimised, runtime version, emission kind, DWO id, split
    /// inlining, for profiling, name-table kind, ranges have a base, version of the language. Bit 63 of the language
    /// says that it is a name of DWARF 6.
    CompileUnit,
    /// `!DISubprogram`: file, scope, name, linkage name, type, unit, declaration, retained nodes, containing type,
    /// template parameters, thrown types, annotations, target function's name, function (3.7); line, scope line,
    /// virtual index, this adjustment, flags, subprogram flags, virtuality, key instructions.
    Subprogram,
    /// `!DILexicalBlock`: file, scope; line, column.
    LexicalBlock,
    /// `!DILexicalBlockFile`: file, scope; discriminator.
    LexicalBlockFile,
    /// `!DINamespace`: scope, name, file (3.7); exports symbols, line.
    Namespace,
    /// `!DICommonBlock`: scope, declaration, name, file; line.
    CommonBlock,
    /// `!DIModule`: file, scope, name, macros, include path, API notes; line, declaration only.
    Module,
    /// `!DITemplateTypeParameter`: name, type; default.
    TemplateType,
    /// `!DITemplateValueParameter`: name, type, value; tag, default.
    TemplateValue,
    /// `!DIGlobalVariable`: scope, name, file, type, linkage name, declaration, template parameters, annotations,
    /// variable (3.7); line, local, definition, align, version of the record.
    GlobalVariable,
    /// `!DILocalVariable`: scope, name, file, type, annotations; line, argument, flags, align, tag (3.7).
    LocalVariable,
    /// `!DILabel`: scope, name, file; line, column, artificial, suspension point of a coroutine plus one.
    Label,
    /// `!DIObjCProperty`: name, file, getter, setter, type; line, attributes.
    ObjcProperty,
    /// `!DIImportedEntity`: scope, entity, name, file, elements; tag, line.
    ImportedEntity,
    /// `!DIMacro`: name, value; type, line.
    Macro,
    /// `!DIMacroFile`: file, elements; type, line.
    MacroFile,
    /// `!DIGlobalVariableExpression`: variable, expression.
    GlobalVariableExpression,
    /// `!DIArgList`: the values.
    ArgList,
    /// `!DIAssignID`
    AssignId,
}

/// A decoded node.
pub(crate) struct DecodedNode {
    pub(crate) kind: NodeKind,
    pub(crate) distinct: bool,
    pub(crate) references: Vec<u64>,
    pub(crate) numbers: Vec<u64>,
}

/// A record whose forms differ only in length: code, kind, minimum length, and the positions of references and
/// numbers in the record.
pub(crate) struct FixedLayout {
    pub(crate) code: u32,
    kind: NodeKind,
    pub(crate) min_length: usize,
    pub(crate) references: &'static [u8],
    pub(crate) numbers: &'static [u8],
}

const fn fixed(
    code: u32,
    kind: NodeKind,
    min_length: usize,
    references: &'static [u8],
    numbers: &'static [u8],
) -> FixedLayout {
    FixedLayout { code, kind, min_length, references, numbers }
}

#[rustfmt::skip]
const FIXED_LAYOUTS: &[FixedLayout] = &[
    fixed(16, NodeKind::File, 3, &[1, 2, 4, 5], &[3]),
    fixed(19, NodeKind::SubroutineType, 3, &[2], &[1, 3]),
    fixed(22, NodeKind::LexicalBlock, 5, &[2, 1], &[3, 4]),
    fixed(23, NodeKind::LexicalBlockFile, 4, &[2, 1], &[3]),
    fixed(30, NodeKind::ObjcProperty, 8, &[1, 2, 4, 5, 7], &[3, 6]),
    fixed(33, NodeKind::Macro, 5, &[3, 4], &[1, 2]),
    fixed(34, NodeKind::MacroFile, 5, &[3, 4], &[1, 2]),
    fixed(37, NodeKind::GlobalVariableExpression, 3, &[1, 2], &[]),
    fixed(44, NodeKind::CommonBlock, 6, &[1, 2, 3, 4], &[5]),
    fixed(45, NodeKind::GenericSubrange, 5, &[1, 2, 3, 4], &[]),
    fixed(47, NodeKind::AssignId, 1, &[], &[]),
];

/// Returns the layout of the records of a kind of node, if they differ only in length.
pub(crate) fn fixed_layout(kind: NodeKind) -> Option<&'static FixedLayout> {
    FIXED_LAYOUTS.iter().find(|layout| layout.kind == kind)
}

/// Decodes a record into the layout of its kind; `None` if the code is unknown or the record too short.
pub(crate) fn decode(code: u32, values: &[u64]) -> Option<DecodedNode> {
    let at = |index: usize| values.get(index).copied().unwrap_or(0);
    let head = *values.first()?;
    let distinct = head & 1 != 0;
    let parts = |kind, references, numbers| Some(DecodedNode { kind, distinct, references, numbers });
    if let Some(layout) = FIXED_LAYOUTS.iter().find(|layout| layout.code == code) {
        if values.len() < layout.min_length {
            return None;
        }
        let pick = |positions: &[u8]| positions.iter().map(|&position| at(usize::from(position))).collect();
        let mut numbers: Vec<u64> = pick(layout.numbers);
        let mut references: Vec<u64> = pick(layout.references);
        if layout.kind == NodeKind::File && at(3) == 0 {
            // Without a kind of checksum, the checksum is ignored.
            numbers.iter_mut().for_each(|number| *number = 0);
            references.get_mut(2).into_iter().for_each(|checksum| *checksum = 0);
        }
        let distinct = distinct || layout.kind == NodeKind::AssignId;
        return Some(DecodedNode { kind: layout.kind, distinct, references, numbers });
    }
    match code {
        7 if values.len() >= 5 => {
            let numbers = vec![at(1), at(2), at(5), at(6), at(7)];
            parts(NodeKind::Location, vec![at(3).saturating_add(1), at(4)], numbers)
        }
        12 if values.len() >= 4 => parts(NodeKind::GenericDebug, values.get(3..)?.to_vec(), vec![at(1)]),
        13 => {
            let (references, numbers) = match head >> 1 {
                0 => (vec![0; 4], vec![3, at(1), zigzag(at(2))]),
                1 => (vec![at(1), 0, 0, 0], vec![2, 0, zigzag(at(2))]),
                _ => (vec![at(1), at(2), at(3), at(4)], vec![0, 0, 0]),
            };
            parts(NodeKind::Subrange, references, numbers)
        }
        14 if values.len() >= 3 => {
            let (width, words) = match head & 4 {
                0 => (64, vec![zigzag(at(1))]),
                _ => (at(1), values.get(3..)?.iter().map(|&word| unrotate(word)).collect()),
            };
            let numbers = [head >> 1, width].into_iter().chain(words).collect();
            parts(NodeKind::Enumerator, vec![at(2)], numbers)
        }
        20 if values.len() >= 14 => {
            let references = vec![
                at(2), at(3), at(5), at(7), at(9), at(10), at(12), at(13), at(15), at(20), at(21), at(11),
            ];
            let split_inlining = if values.len() > 16 { at(16) } else { 1 };
            let numbers = vec![at(1), at(4), at(6), at(8), at(14), split_inlining, at(17), at(18), at(19), at(22)];
            parts(NodeKind::CompileUnit, references, numbers)
        }
        21 => subprogram(values),
        24 => {
            let (name, exports) = if values.len() == 3 { (2, head >> 1 & 1) } else { (3, head >> 1 & 1) };
            let file = if values.len() == 3 { 0 } else { at(2) };
            parts(NodeKind::Namespace, vec![at(1), at(name), file], vec![exports, at(4)])
        }
        25 if values.len() >= 3 => {
            parts(NodeKind::TemplateType, vec![at(1), at(2)], vec![u64::from(at(3) != 0)])
        }
        26 if values.len() >= 5 => {
            let (default, value) = if values.len() >= 6 { (at(4), at(5)) } else { (0, at(4)) };
            parts(NodeKind::TemplateValue, vec![at(2), at(3), value], vec![at(1), u64::from(default != 0)])
        }
        27 if values.len() >= 11 => global_variable(values),
        28 if values.len() >= 8 => local_variable(values),
        29 => {
            let numbers = with_version(head >> 1, values.get(1..)?);
            parts(NodeKind::Expression, Vec::new(), numbers)
        }
        31 if values.len() >= 6 => {
            let (file, line) = if values.len() >= 7 { (at(6), at(4)) } else { (0, 0) };
            // Before LLVM 6 the record has a line but no file; LLVM 3.7 prints the line.
            let old_line = if values.len() >= 7 { 0 } else { at(4) };
            parts(NodeKind::ImportedEntity, vec![at(2), at(3), at(5), file, at(7)], vec![at(1), line, old_line])
        }
        32 if values.len() >= 5 => {
            let shift = usize::from(values.len() >= 8);
            let file = if shift == 1 { at(1) } else { 0 };
            let field = |index: usize| at(index.saturating_add(shift));
            parts(
                NodeKind::Module,
                vec![file, field(1), field(2), field(3), field(4), field(5)],
                if shift == 1 { vec![at(7), at(8)] } else { vec![0, 0] },
            )
        }
        15 if values.len() >= 6 => {
            let (size, size_of) = number_or_reference(head & 2, at(3));
            parts(NodeKind::BasicType, vec![at(2), size_of], vec![at(1), size, at(4), at(5), at(6), at(7), at(8)])
        }
        17 if values.len() >= 12 => derived_type(values),
        18 if values.len() >= 16 => composite_type(values),
        40 if values.len() >= 5 => {
            let numbers = vec![at(4), at(5), head >> 1 & 1, at(6).wrapping_add(u64::from(values.len() > 6))];
            parts(NodeKind::Label, vec![at(1), at(2), at(3)], numbers)
        }
        41 if values.len() >= 8 => {
            let (location, rest) = if values.len() == 8 { (0, 5) } else { (at(5), 6) };
            let (size, size_of) = number_or_reference(head & 2, at(rest));
            let numbers = vec![at(1), size, at(rest.wrapping_add(1)), at(rest.wrapping_add(2))];
            parts(NodeKind::StringType, vec![at(2), at(3), at(4), location, size_of], numbers)
        }
        48 if values.len() >= 13 => {
            let (size, size_of) = number_or_reference(head & 2, at(5));
            let references = vec![at(2), at(4), at(1), at(8), at(9), at(10), at(11), at(12), size_of];
            parts(NodeKind::SubrangeType, references, vec![at(3), size, at(6), at(7)])
        }
        49 => fixed_point_type(values),
        _ => None,
    }
}

/// Returns a size or offset as number and reference, of which it is one.
fn number_or_reference(is_reference: u64, stored: u64) -> (u64, u64) {
    if is_reference != 0 { (0, stored) } else { (stored, 0) }
}

/// Decodes a derived type. Bits of the first operand: 0 distinct, 1 size and offset are references.
fn derived_type(values: &[u64]) -> Option<DecodedNode> {
    let at = |index: usize| values.get(index).copied().unwrap_or(0);
    let (size, size_of) = number_or_reference(at(0) & 2, at(7));
    let (offset, offset_of) = number_or_reference(at(0) & 2, at(9));
    let references = vec![at(3), at(5), at(2), at(6), at(11), at(13), size_of, offset_of];
    // Before LLVM 17 the record ends with the annotations.
    let ends_early = u64::from(values.len() <= 14);
    let numbers = vec![at(1), at(4), size, at(8), offset, at(10), at(12), at(14), ends_early];
    Some(DecodedNode { kind: NodeKind::DerivedType, distinct: at(0) & 1 != 0, references, numbers })
}

/// Decodes a composite type. Bits of the first operand: 0 distinct, 1 not named by its identifier, 2 size and offset
/// are references. The kind of an enumeration is all ones if there is none.
fn composite_type(values: &[u64]) -> Option<DecodedNode> {
    let at = |index: usize| values.get(index).copied().unwrap_or(0);
    let (size, size_of) = number_or_reference(at(0) & 4, at(7));
    let (offset, offset_of) = number_or_reference(at(0) & 4, at(9));
    let mut references = vec![at(3), at(5), at(2), at(6), at(11)];
    references.extend((13..=21).map(at));
    references.extend([size_of, offset_of, at(23), at(25)]);
    let enumeration = values.get(24).filter(|&&kind| kind != u64::from(u32::MAX)).map_or(0, |kind| kind.wrapping_add(1));
    let numbers = vec![at(1), at(4), size, at(8), offset, at(10), at(12), at(22), enumeration];
    Some(DecodedNode { kind: NodeKind::CompositeType, distinct: at(0) & 1 != 0, references, numbers })
}

/// Decodes a fixed-point type: `[head, tag, name, size, align, encoding, flags, kind, factor, (words and width,
/// words…) of the numerator, of the denominator]`.
fn fixed_point_type(values: &[u64]) -> Option<DecodedNode> {
    let (head, mut rest) = values.split_at_checked(9)?;
    let at = |index: usize| head.get(index).copied().unwrap_or(0);
    let (size, size_of) = number_or_reference(at(0) & 2, at(3));
    let mut numbers = vec![at(1), size, at(4), at(5), at(6), at(7), at(8)];
    for _ in 0..2 {
        let (&shape, tail) = rest.split_first()?;
        let (words, tail) = tail.split_at_checked(usize::try_from(shape >> 32).ok()?)?;
        // A number wider than a word makes the record unreadable, which is reported.
        let &[word] = words else { return None };
        numbers.extend([shape & 0xFFFF_FFFF, unrotate(word)]);
        rest = tail;
    }
    let references = vec![at(2), size_of];
    Some(DecodedNode { kind: NodeKind::FixedPointType, distinct: at(0) & 1 != 0, references, numbers })
}

/// Decodes a signed number of a debug-info record. Unlike in constants, a negative number is stored as its
/// complement.
fn zigzag(value: u64) -> u64 {
    if value & 1 == 0 { value >> 1 } else { !(value >> 1) }
}

/// Decodes a subprogram. Bits of the first operand: 0 distinct, 1 has a unit, 2 has subprogram flags. Without
/// subprogram flags the record has two more fields, local and definition, in the middle, and optimised after them;
/// with 19 or more operands it has a function before the rest.
fn subprogram(values: &[u64]) -> Option<DecodedNode> {
    let at = |index: usize| values.get(index).copied().unwrap_or(0);
    if values.len() < 18 {
        return None;
    }
    const MAIN_SUBPROGRAM: u64 = 1 << 21;
    let head = at(0);
    let has_flags = head & 4 != 0;
    let has_unit = head & 2 != 0;
    let raw_flags = if has_flags { at(11) } else { at(13) };
    let main = raw_flags & MAIN_SUBPROGRAM != 0;
    let flags = raw_flags & !MAIN_SUBPROGRAM;
    let virtuality = if has_flags { at(9) & 3 } else { at(11) & 3 };
    let subprogram_flags = if has_flags {
        at(9) | u64::from(main) << 8
    } else {
        virtuality
            | u64::from(at(7) != 0) << 2
            | u64::from(at(8) != 0) << 3
            | u64::from(at(14) != 0) << 4
            | u64::from(main) << 8
    };
    let (first, second) = match (has_flags, values.len() >= 19) {
        (true, _) => (0usize, 0usize),
        (false, false) => (2, 2),
        (false, true) => (2, 3),
    };
    let early = |index: usize| at(index.saturating_add(first));
    let late = |index: usize| at(index.saturating_add(second));
    let has_adjustment = has_flags || values.len() >= 20;
    let has_thrown = has_flags || values.len() >= 21;
    let unit_or_function = late(12);
    let function = if has_unit || first == second { 0 } else { unit_or_function };
    let references = vec![
        at(4),
        at(1),
        at(2),
        at(3),
        at(6),
        if has_unit { unit_or_function } else { 0 },
        late(14),
        late(15),
        early(8),
        late(13),
        if has_thrown { late(17) } else { 0 },
        if has_flags { at(18) } else { 0 },
        if has_flags { at(19) } else { 0 },
        function,
    ];
    let adjustment = if has_adjustment { late(16) } else { 0 };
    let key_instructions = if has_flags { at(20) } else { 0 };
    let numbers =
        vec![at(5), early(7), early(10), adjustment, flags, subprogram_flags, virtuality, key_instructions];
    Some(DecodedNode { kind: NodeKind::Subprogram, distinct: head & 1 != 0, references, numbers })
}

fn global_variable(values: &[u64]) -> Option<DecodedNode> {
    let at = |index: usize| values.get(index).copied().unwrap_or(0);
    let version = at(0) >> 1;
    let (declaration, template, annotations, variable) = match version {
        2 => (at(9), at(10), at(12), 0),
        1 => (at(10), 0, 0, 0),
        0 => (at(10), 0, 0, at(9)),
        _ => return None,
    };
    let references = vec![at(1), at(2), at(4), at(6), at(3), declaration, template, annotations, variable];
    let numbers = vec![at(5), at(7), at(8), at(11), version];
    Some(DecodedNode { kind: NodeKind::GlobalVariable, distinct: at(0) & 1 != 0, references, numbers })
}

fn local_variable(values: &[u64]) -> Option<DecodedNode> {
    let at = |index: usize| values.get(index).copied().unwrap_or(0);
    let has_alignment = at(0) & 2 != 0;
    // Before LLVM 3.8 a tag distinguished arguments from other variables.
    let has_tag = !has_alignment && values.len() > 8;
    let field = |index: usize| at(index.saturating_add(usize::from(has_tag)));
    let (align, annotations) = if has_alignment { (at(8), at(9)) } else { (0, 0) };
    let references = vec![field(1), field(2), field(3), field(5), annotations];
    let tag = if has_tag { at(1) } else { 0 };
    let numbers = vec![field(4), field(6), field(7), align, tag];
    Some(DecodedNode { kind: NodeKind::LocalVariable, distinct: at(0) & 1 != 0, references, numbers })
}

/// What the first operand of a record says besides `distinct`.
mod head {
    /// The references of a type are to nodes, not to names.
    pub(super) const NO_NAMED_TYPES: u64 = 2;
    pub(super) const HAS_UNIT: u64 = 2;
    pub(super) const HAS_SUBPROGRAM_FLAGS: u64 = 4;
    pub(super) const HAS_ALIGNMENT: u64 = 2;
}

/// Appends the operands of the record of a node, with `references` as numbers plus one. Returns the code; `None` if
/// the node has what only older records have, or newer ones than those of LLVM 19, or of LLVM 14 where these are asked for.
pub(crate) fn encode(
    node: Node,
    references: &[u64],
    numbers: &[u64],
    is_14: bool,
    record: &mut Vec<u64>,
) -> Option<u32> {
    let distinct = u64::from(node.distinct);
    let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
    let reference = |at: usize| references.get(at).copied().unwrap_or(0);
    if is_newer_than_19(node.kind, references, numbers) {
        return None;
    }
    if let Some(layout) = fixed_layout(node.kind) {
        encode_fixed(layout, references, numbers, record)?;
        let of_kind = if node.kind == NodeKind::SubroutineType { head::NO_NAMED_TYPES } else { 0 };
        *record.first_mut()? = distinct | of_kind;
        return Some(layout.code);
    }
    let code = match node.kind {
        NodeKind::Location => {
            let implicit = u64::from(number(2) != 0);
            record.extend([distinct, number(0), number(1), reference(0).checked_sub(1)?, reference(1), implicit]);
            7
        }
        NodeKind::GenericDebug => {
            record.extend([distinct, number(0), 0]);
            record.extend_from_slice(references);
            12
        }
        NodeKind::Subrange => {
            match number(0) {
                3 => record.extend([distinct, number(1), unzigzag(number(2))]),
                2 => record.extend([distinct | 1 << 1, reference(0), unzigzag(number(2))]),
                _ => {
                    record.push(distinct | 2 << 1);
                    record.extend((0..4).map(reference));
                }
            }
            13
        }
        NodeKind::BasicType => {
            record.extend([distinct, number(0), reference(0), number(1), number(2), number(3), number(4)]);
            15
        }
        NodeKind::DerivedType => {
            record.extend([
                distinct, number(0), reference(2), reference(0), number(1), reference(1), reference(3), number(2),
                number(3), number(4), number(5), reference(4), number(6), reference(5),
            ]);
            match (is_14, number(7)) {
                (true, 0) => {}
                (true, _) => return None,
                // Annotations that LLVM 17 and later did not read must not become some that they do.
                (false, 0) if number(8) != 0 && reference(5) != 0 => {}
                (false, authentication) => record.push(authentication),
            }
            17
        }
        NodeKind::CompositeType => {
            record.extend([
                distinct | head::NO_NAMED_TYPES, number(0), reference(2), reference(0), number(1), reference(1),
                reference(3), number(2), number(3), number(4), number(5), reference(4), number(6),
            ]);
            record.extend((5..14).map(reference));
            18
        }
        NodeKind::Label => {
            record.extend([distinct, reference(0), reference(1), reference(2), number(0)]);
            40
        }
        NodeKind::Enumerator => {
            record.push(number(0) << 1 | distinct);
            if number(0) & 2 == 0 {
                record.extend([unzigzag(number(2)), reference(0)]);
            } else {
                record.extend([number(1), reference(0)]);
                record.extend(numbers.get(2..)?.iter().map(|&word| rotate(word)));
            }
            14
        }
        NodeKind::CompileUnit => {
            let units = reference(11);
            record.extend([
                distinct, number(0), reference(0), reference(1), number(1), reference(2), number(2), reference(3),
                number(3), reference(4), reference(5), units, reference(6), reference(7), number(4), reference(8),
                number(5), number(6), number(7), number(8), reference(9), reference(10),
            ]);
            20
        }
        NodeKind::Subprogram => encode_subprogram(distinct, references, numbers, is_14, record)?,
        NodeKind::Namespace => {
            if reference(2) != 0 || number(1) != 0 {
                record.extend([distinct | number(0) << 1, reference(0), reference(2), reference(1), number(1)]);
            } else {
                record.extend([distinct | number(0) << 1, reference(0), reference(1)]);
            }
            24
        }
        NodeKind::TemplateType => {
            record.extend([distinct, reference(0), reference(1), number(0)]);
            25
        }
        NodeKind::TemplateValue => {
            record.extend([distinct, number(0), reference(0), reference(1), number(1), reference(2)]);
            26
        }
        NodeKind::GlobalVariable => {
            let version = number(4);
            record.extend([
                distinct | version << 1, reference(0), reference(1), reference(4), reference(2), number(0),
                reference(3), number(1), number(2),
            ]);
            match version {
                2 => record.extend([reference(5), reference(6), number(3), reference(7)]),
                _ => record.extend([reference(8), reference(5), number(3)]),
            }
            27
        }
        NodeKind::LocalVariable => {
            if number(4) != 0 {
                record.extend([
                    distinct, number(4), reference(0), reference(1), reference(2), number(0), reference(3), number(1),
                    number(2),
                ]);
            } else {
                record.extend([
                    distinct | head::HAS_ALIGNMENT, reference(0), reference(1), reference(2), number(0), reference(3),
                    number(1), number(2), number(3), reference(4),
                ]);
            }
            28
        }
        NodeKind::Expression => {
            record.push(distinct | number(0) << 1);
            record.extend_from_slice(raw_expression(numbers));
            29
        }
        NodeKind::ImportedEntity => {
            if number(2) != 0 {
                record.extend([distinct, number(0), reference(0), reference(1), number(2), reference(2)]);
            } else {
                record.extend([
                    distinct, number(0), reference(0), reference(1), number(1), reference(2), reference(3),
                    reference(4),
                ]);
            }
            31
        }
        NodeKind::Module => {
            record.push(distinct);
            record.extend((0..6).map(reference));
            record.extend([number(0), number(1)]);
            32
        }
        NodeKind::StringType => {
            record.extend([
                distinct, number(0), reference(0), reference(1), reference(2), reference(3), number(1), number(2),
                number(3),
            ]);
            41
        }
        _ => return None,
    };
    Some(code)
}

/// What a node has only since LLVM 20 to 22: the positions of its references and of its numbers, which are zero
/// otherwise.
const NEWER_THAN_19: &[(NodeKind, &[u8], &[u8])] = &[
    (NodeKind::Location, &[], &[3, 4]),
    (NodeKind::BasicType, &[1], &[5, 6]),
    (NodeKind::StringType, &[4], &[]),
    (NodeKind::DerivedType, &[6, 7], &[]),
    (NodeKind::CompositeType, &[14, 15, 16, 17], &[7, 8]),
    (NodeKind::CompileUnit, &[], &[9]),
    (NodeKind::Subprogram, &[], &[7]),
    (NodeKind::Label, &[], &[1, 2, 3]),
];

/// Returns whether a node has what records have only since LLVM 20 to 22.
pub(crate) fn is_newer_than_19(kind: NodeKind, references: &[u64], numbers: &[u64]) -> bool {
    let any = |list: &[u64], positions: &[u8]| {
        positions.iter().any(|&at| list.get(usize::from(at)).is_some_and(|&value| value != 0))
    };
    match kind {
        NodeKind::SubrangeType | NodeKind::FixedPointType => return true,
        NodeKind::CompileUnit if numbers.first().is_some_and(|language| language >> 63 != 0) => return true,
        _ => {}
    }
    let newer = NEWER_THAN_19.iter().find(|(other, ..)| *other == kind);
    newer.is_some_and(|(_, of_references, of_numbers)| any(references, of_references) || any(numbers, of_numbers))
}

/// Appends the operands of a record with a fixed layout. The last operands are left out if an older form lacks
/// them.
fn encode_fixed(
    layout: &FixedLayout,
    references: &[u64],
    numbers: &[u64],
    record: &mut Vec<u64>,
) -> Option<()> {
    let fields = || {
        let references = layout.references.iter().zip(references);
        references.chain(layout.numbers.iter().zip(numbers))
    };
    let last = layout.references.iter().chain(layout.numbers).copied().max().unwrap_or(0);
    // The source of a file is the last operand, and is only there if there is a source.
    let absent = match layout.kind {
        NodeKind::File => usize::from(references.get(3) == Some(&0)),
        _ => 0,
    };
    let length = usize::from(last).saturating_add(1).saturating_sub(absent);
    record.resize(length, 0);
    for (&position, &value) in fields() {
        match record.get_mut(usize::from(position)) {
            Some(field) => *field = value,
            None if value == 0 => {}
            None => return None,
        }
    }
    Some(())
}

/// Encodes a subprogram in its form with subprogram flags, or without for one of LLVM 3.7.
fn encode_subprogram(
    distinct: u64,
    references: &[u64],
    numbers: &[u64],
    is_14: bool,
    record: &mut Vec<u64>,
) -> Option<u32> {
    const MAIN_SUBPROGRAM: u64 = 1 << 8;
    let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
    let reference = |at: usize| references.get(at).copied().unwrap_or(0);
    let (flags, function) = (number(5), reference(13));
    if function != 0 {
        // The function of a subprogram, as in LLVM 3.7, has a place in the form of 19 operands without flags.
        let main = if flags & MAIN_SUBPROGRAM != 0 { 1 << 21 } else { 0 };
        record.extend([
            distinct, reference(1), reference(2), reference(3), reference(0), number(0), reference(4),
            flags >> 2 & 1, flags >> 3 & 1, number(1), reference(8), number(6), number(2), number(4) | main,
            flags >> 4 & 1, function, reference(9), reference(6), reference(7),
        ]);
        return Some(21);
    }
    record.extend([
        distinct | head::HAS_UNIT | head::HAS_SUBPROGRAM_FLAGS,
        reference(1), reference(2), reference(3), reference(0), number(0), reference(4), number(1), reference(8),
        flags, number(2), number(4), reference(5), reference(9), reference(6), reference(7), number(3),
        reference(10), reference(11),
    ]);
    match (is_14, reference(12)) {
        (true, 0) => {}
        (true, _) => return None,
        (false, name) => record.push(name),
    }
    Some(21)
}

/// Encodes a signed number as [`zigzag`] decodes it.
pub(crate) fn unzigzag(value: u64) -> u64 {
    if value >> 63 == 0 { value << 1 } else { !value << 1 | 1 }
}

/// Returns which references of a kind are operands, in the order in which they are numbered; `None` if all are, in
/// the order of the layout. LLVM 3.7 (`old`) has a different order for some kinds.
pub(crate) fn operand_order(kind: NodeKind, old: bool) -> Option<&'static [u8]> {
    match (kind, old) {
        (NodeKind::BasicType, _) => Some(&[0, 1]),
        (NodeKind::StringType, _) => Some(&[0, 4, 1, 2, 3]),
        (NodeKind::DerivedType, _) => Some(&[0, 1, 2, 6, 7, 3, 4, 5]),
        (NodeKind::CompositeType, _) => Some(&[0, 1, 2, 14, 15, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17]),
        (NodeKind::SubrangeType, _) => Some(&[0, 1, 2, 8, 3, 4, 5, 6, 7]),
        (NodeKind::CompileUnit, false) => Some(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (NodeKind::CompileUnit, true) => Some(&[0, 1, 2, 3, 4, 5, 11, 6, 7]),
        (NodeKind::Subprogram, false) => Some(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        (NodeKind::Subprogram, true) => Some(&[0, 1, 2, 3, 4, 8, 13, 9, 6, 7]),
        (NodeKind::GlobalVariable, false) => Some(&[0, 1, 2, 3, 4, 5, 6, 7]),
        (NodeKind::GlobalVariable, true) => Some(&[0, 1, 2, 3, 4, 8, 5]),
        (NodeKind::Namespace, false) => Some(&[0, 1]),
        (NodeKind::Namespace, true) => Some(&[2, 0, 1]),
        (NodeKind::Module, true) => Some(&[1, 2, 3, 4, 5]),
        _ => None,
    }
}

mod operation {
    pub(super) const DEREF: u64 = 0x06;
    pub(super) const CONSTU: u64 = 0x10;
    pub(super) const MINUS: u64 = 0x1c;
    pub(super) const PLUS: u64 = 0x22;
    pub(super) const PLUS_UCONST: u64 = 0x23;
    pub(super) const BIT_PIECE: u64 = 0x9d;
    pub(super) const FRAGMENT: u64 = 0x1000;
}

/// The current version of expressions.
const EXPRESSION_VERSION: u64 = 3;

/// Prefixes the elements of an expression with its version, for [`modern_expression`] or for printing the old
/// form.
fn with_version(version: u64, elements: &[u64]) -> Vec<u64> {
    let mut numbers = vec![version.min(EXPRESSION_VERSION)];
    numbers.extend_from_slice(elements);
    numbers
}

/// Returns the elements of an expression as stored.
pub(crate) fn raw_expression(numbers: &[u64]) -> &[u64] {
    numbers.get(1..).unwrap_or_default()
}

/// Returns an expression in its current form: with fragments instead of bit pieces, a leading dereference moved to
/// the end, and additions and subtractions of constants spelled out.
pub(crate) fn modern_expression(numbers: &[u64]) -> Vec<u64> {
    let mut elements = raw_expression(numbers).to_vec();
    let version = numbers.first().copied().unwrap_or(EXPRESSION_VERSION);
    let third_last = elements.len().wrapping_sub(3);
    if version == 0
        && let Some(element) = elements.get_mut(third_last).filter(|element| **element == operation::BIT_PIECE) {
            *element = operation::FRAGMENT;
        }
    if version <= 1 && elements.first() == Some(&operation::DEREF) {
        let fragment = elements.get(third_last) == Some(&operation::FRAGMENT);
        let end = if fragment { third_last } else { elements.len() };
        if let Some(part) = elements.get_mut(..end) {
            part.rotate_left(1);
        }
    }
    if version <= 2 { spell_out_additions(&elements) } else { elements }
}

fn spell_out_additions(elements: &[u64]) -> Vec<u64> {
    let mut result = Vec::new();
    let mut rest = elements;
    while let Some(&first) = rest.first() {
        let size = match first {
            operation::CONSTU | operation::MINUS | operation::PLUS => 2,
            operation::FRAGMENT => 3,
            _ => 1,
        };
        let (operation, tail) = rest.split_at(size.min(rest.len()));
        let arguments = operation.get(1..).unwrap_or_default();
        match first {
            operation::PLUS => {
                result.push(operation::PLUS_UCONST);
                result.extend_from_slice(arguments);
            }
            operation::MINUS => {
                result.push(operation::CONSTU);
                result.extend_from_slice(arguments);
                result.push(operation::MINUS);
            }
            _ => result.extend_from_slice(operation),
        }
        rest = tail;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_old_versions() {
        assert_eq!(modern_expression(&[0, 6, 0x9d, 8, 16]), [6, 0x1000, 8, 16]);
        assert_eq!(modern_expression(&[1, 6, 0x22, 4]), [0x23, 4, 6]);
        assert_eq!(modern_expression(&[2, 0x1c, 4]), [0x10, 4, 0x1c]);
        assert_eq!(modern_expression(&[3, 0x1c]), [0x1c]);
    }

    #[test]
    fn signs() {
        assert_eq!(zigzag(1) as i64, -1);
        assert_eq!(zigzag(u64::MAX) as i64, i64::MIN);
        assert_eq!(zigzag(6), 3);
        let enumerator = decode(14, &[0, 1, 5]).unwrap();
        assert_eq!(enumerator.numbers, [0, 64, u64::MAX]);
    }

    /// What is decoded from the records of LLVM 14 and 19 is encoded as it was.
    #[test]
    fn records_are_encoded_as_they_were() {
        let lengths: &[(u32, usize, usize)] = &[
            (7, 6, 6), (12, 5, 5), (13, 5, 5), (14, 4, 4), (15, 7, 7), (16, 6, 6), (17, 14, 15), (18, 22, 22), (19, 4, 4),
            (20, 22, 22), (21, 19, 20), (22, 5, 5), (23, 4, 4), (24, 3, 3), (25, 4, 4), (26, 6, 6), (27, 13, 13),
            (28, 10, 10), (29, 4, 4), (30, 8, 8), (31, 8, 8), (32, 9, 9), (33, 5, 5), (34, 5, 5), (37, 3, 3), (40, 5, 5),
            (41, 9, 9), (44, 6, 6), (45, 5, 5),
        ];
        for &(code, of_14, of_19) in lengths {
            for (is_14, length) in [(true, of_14), (false, of_19)] {
                let mut record: Vec<u64> = (0..length as u64).map(|at| at * 2 + 20).collect();
                record[0] = match code {
                    13 | 27 => 2 << 1 | 1,
                    14 | 21 => 7,
                    29 => 3 << 1 | 1,
                    18 | 19 | 24 | 28 => 3,
                    _ => 1,
                };
                match code {
                    // Flags of one bit.
                    7 => record[5] = 1,
                    12 => record[2] = 0,
                    20 => record[16] = 1,
                    21 => record[11] = 64,
                    25 => record[3] = 1,
                    26 => record[4] = 1,
                    _ => {}
                }
                let parts = decode(code, &record).unwrap();
                let mut table = crate::metadata::MetadataTable::default();
                let node = table.node(parts.kind, parts.distinct, &parts.references, &parts.numbers);
                let crate::metadata::Metadata::Node(node) = node else { panic!() };
                let mut encoded = Vec::new();
                let of = encode(node, &parts.references, &parts.numbers, is_14, &mut encoded);
                assert_eq!((of, encoded), (Some(code), record), "{code}");
            }
        }
    }

    /// What LLVM 20 to 22 added has no form in older records.
    #[test]
    fn newer_nodes_are_not_encoded() {
        let records: &[(u32, Vec<u64>)] = &[
            (7, vec![0, 1, 2, 3, 0, 0, 1, 1]),
            (15, vec![2, 0x24, 5, 6, 0, 5, 0]),
            (15, vec![0, 0x24, 5, 32, 0, 5, 0, 1]),
            (17, vec![2, 0x0F, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]),
            (18, [vec![6, 0x13, 0, 0, 0, 0, 0, 7], vec![0; 14]].concat()),
            (18, [vec![2, 4], vec![0; 22], vec![1]].concat()),
            (20, [vec![1, 1 << 63 | 3], vec![0; 20], vec![0]].concat()),
            (21, [vec![6], vec![0; 19], vec![1]].concat()),
            (40, vec![0, 1, 2, 3, 4, 5]),
            (41, vec![2, 0x12, 0, 0, 0, 0, 7, 0, 0]),
            (48, vec![0; 13]),
        ];
        for (code, record) in records {
            let parts = decode(*code, record).unwrap();
            let mut table = crate::metadata::MetadataTable::default();
            let node = table.node(parts.kind, parts.distinct, &parts.references, &parts.numbers);
            let crate::metadata::Metadata::Node(node) = node else { panic!() };
            for is_14 in [true, false] {
                let of = encode(node, &parts.references, &parts.numbers, is_14, &mut Vec::new());
                assert_eq!(of, None, "{code} {record:?}");
            }
        }
    }

    #[test]
    fn short_records_are_refused() {
        for code in 0..64 {
            for length in 0..24 {
                let _ = decode(code, &alloc::vec![u64::MAX; length]);
            }
        }
        assert!(decode(21, &[0; 17]).is_none());
    }
}
