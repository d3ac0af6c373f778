//! The records of debug info in LLVM 3.7: those of later versions without what was added to them, compile units that list
//! their subprograms, and subprograms that refer to their functions.
//!
//! Knowledge: DXC's `BitcodeWriter.cpp`.

use crate::debug_info::{NodeKind, fixed_layout, is_newer_than_19, raw_expression, unzigzag};
use crate::metadata::Node;
use alloc::vec::Vec;

/// Appends the operands of the record of a node as LLVM 3.7 writes it. Returns the code; `None` if the node has what that
/// version does not know.
pub(super) fn encode(node: Node, references: &[u64], numbers: &[u64], record: &mut Vec<u64>) -> Option<u32> {
    let distinct = u64::from(node.distinct);
    let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
    let reference = |at: usize| references.get(at).copied().unwrap_or(0);
    if is_newer_than_19(node.kind, references, numbers) {
        return None;
    }
    if let Some(layout) = fixed_layout(node.kind) {
        let of_3_7 = matches!(layout.code, 16 | 19 | 22 | 23 | 30);
        let fields = layout.references.iter().zip(references).chain(layout.numbers.iter().zip(numbers));
        record.resize(layout.min_length, 0);
        for (&position, &value) in fields {
            match record.get_mut(usize::from(position)) {
                Some(field) => *field = value,
                None if value == 0 => {}
                None => return None,
            }
        }
        *record.first_mut()? = distinct;
        return of_3_7.then_some(layout.code);
    }
    record.push(distinct);
    let code = match node.kind {
        NodeKind::Location if number(2) == 0 => {
            record.extend([number(0), number(1), reference(0).checked_sub(1)?, reference(1)]);
            7
        }
        NodeKind::BasicType if number(4) == 0 => {
            record.extend([number(0), reference(0), number(1), number(2), number(3)]);
            15
        }
        NodeKind::DerivedType if [reference(5), number(6), number(7)] == [0; 3] => {
            record.extend([number(0), reference(2), reference(0), number(1), reference(1), reference(3)]);
            record.extend([number(2), number(3), number(4), number(5), reference(4)]);
            17
        }
        NodeKind::CompositeType if (8..14).all(|at| reference(at) == 0) => {
            record.extend([number(0), reference(2), reference(0), number(1), reference(1), reference(3)]);
            record.extend([number(2), number(3), number(4), number(5), reference(4), number(6)]);
            record.extend([reference(5), reference(6), reference(7)]);
            18
        }
        NodeKind::GenericDebug => {
            record.extend([number(0), 0]);
            record.extend_from_slice(references);
            12
        }
        NodeKind::Subrange if number(0) == 3 => {
            record.extend([number(1), unzigzag(number(2))]);
            13
        }
        NodeKind::Enumerator if number(0) == 0 => {
            record.extend([unzigzag(number(2)), reference(0)]);
            14
        }
        NodeKind::CompileUnit => {
            record.extend([
                number(0),
                reference(0),
                reference(1),
                number(1),
                reference(2),
                number(2),
                reference(3),
                number(3),
                reference(4),
                reference(5),
                reference(11),
                reference(6),
                reference(7),
                number(4),
            ]);
            20
        }
        NodeKind::Subprogram
            if [reference(5), reference(10), reference(11), reference(12), number(3)] == [0; 5] =>
        {
            let flag = |bit: u32| number(5) >> bit & 1;
            record.extend([
                reference(1),
                reference(2),
                reference(3),
                reference(0),
                number(0),
                reference(4),
                flag(2),
                flag(3),
                number(1),
                reference(8),
                number(6),
                number(2),
                number(4),
                flag(4),
                reference(13),
                reference(9),
                reference(6),
                reference(7),
            ]);
            21
        }
        NodeKind::Namespace if number(0) == 0 => {
            record.extend([reference(0), reference(2), reference(1), number(1)]);
            24
        }
        NodeKind::TemplateType if number(0) == 0 => {
            record.extend([reference(0), reference(1)]);
            25
        }
        NodeKind::TemplateValue if number(1) == 0 => {
            record.extend([number(0), reference(0), reference(1), reference(2)]);
            26
        }
        NodeKind::GlobalVariable if number(4) == 0 => {
            record.extend([
                reference(0),
                reference(1),
                reference(4),
                reference(2),
                number(0),
                reference(3),
                number(1),
                number(2),
                reference(8),
                reference(5),
            ]);
            27
        }
        NodeKind::LocalVariable if reference(4) == 0 && number(3) == 0 => {
            record.extend([
                number(4),
                reference(0),
                reference(1),
                reference(2),
                number(0),
                reference(3),
                number(1),
                number(2),
            ]);
            28
        }
        NodeKind::Expression if number(0) == 0 => {
            record.extend_from_slice(raw_expression(numbers));
            29
        }
        NodeKind::ImportedEntity if [reference(3), reference(4), number(1)] == [0; 3] => {
            record.extend([number(0), reference(0), reference(1), number(2), reference(2)]);
            31
        }
        NodeKind::Module if [reference(0), number(0), number(1)] == [0; 3] => {
            record.extend((1..6).map(reference));
            32
        }
        _ => return None,
    };
    Some(code)
}
