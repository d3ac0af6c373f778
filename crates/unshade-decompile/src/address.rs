//! Addresses as a base pointer, scaled terms and a byte offset.

use crate::ir::{Function, Op, ValueId};

/// A sum that forms an address.
#[derive(Clone, Debug, Default)]
pub struct Address {
    /// The base pointer; `None` in memory without pointers.
    pub base: Option<ValueId>,
    /// Values and their scale factors.
    pub terms: Vec<(ValueId, u64)>,
    /// The byte offset.
    pub offset: i64,
}

/// Maximum number of terms of an address.
const MAX_TERMS: usize = 8;

impl Address {
    /// Splits an address into its terms. The base is the term that is a pointer by itself.
    pub fn new(function: &Function, id: ValueId) -> Self {
        Self::down_to(function, id, &|_| false)
    }

    /// Splits an address into its terms, but not the values for which `is_whole` holds.
    pub fn down_to(function: &Function, id: ValueId, is_whole: &dyn Fn(ValueId) -> bool) -> Self {
        let mut address = Self::default();
        let width = function.width(id);
        let mut list = [(id, 1_u64); MAX_TERMS + 1];
        let mut waiting = 1;
        while waiting > 0 {
            waiting -= 1;
            let (id, scale) = list[waiting];
            let constant = function.number(function.input_or_self(id, 1));
            let op = if is_whole(id) { Op::Copy } else { function.op(id) };
            match (op, constant) {
                (Op::Constant(number), _) => {
                    let bytes = crate::ir::fold::signed(number, width).wrapping_mul(scale.cast_signed());
                    address.offset = address.offset.wrapping_add(bytes);
                }
                (Op::Add, _) if waiting + address.terms.len() < MAX_TERMS => {
                    list[waiting] = (function.input(id, 1), scale);
                    list[waiting + 1] = (function.input(id, 0), scale);
                    waiting += 2;
                }
                (Op::Mul, Some(factor)) if factor < 1 << 31 && scale < 1 << 31 => {
                    list[waiting] = (function.input(id, 0), scale * factor);
                    waiting += 1;
                }
                (Op::Shl, Some(shift)) if shift < 31 && scale < 1 << 31 => {
                    list[waiting] = (function.input(id, 0), scale << shift);
                    waiting += 1;
                }
                _ => match address.terms.iter_mut().find(|term| term.0 == id) {
                    Some(term) => term.1 = term.1.saturating_add(scale),
                    None => address.terms.push((id, scale)),
                },
            }
        }
        if width == 64 {
            let index = address.terms.iter().position(|(id, scale)| *scale == 1 && is_base(function, *id));
            address.base = index.map(|index| address.terms.remove(index).0);
        }
        address
    }
}

/// Returns whether a 64-bit value may be a pointer, i.e. is not a widened index.
fn is_base(function: &Function, id: ValueId) -> bool {
    !matches!(
        function.op(id),
        Op::ZeroExtend | Op::SignExtend | Op::Mul | Op::Sub | Op::Neg | Op::And | Op::Shl | Op::Not
    )
}
