//! Addresses as they are written: a base, what is added to it, and how many bytes each counts.

use crate::ir::{Function, Id, Op};

/// A sum that is an address.
#[derive(Clone, Debug, Default)]
pub struct Address {
    /// What the others are added to: a pointer; none in memory that has no pointers.
    pub base: Option<Id>,
    /// Values and by how much each is multiplied.
    pub terms: Vec<(Id, u64)>,
    /// Bytes.
    pub offset: i64,
}

/// So many summands are told apart.
const MAX_TERMS: usize = 8;

impl Address {
    /// Takes an address apart. The base is the summand that is a pointer by itself.
    pub fn new(function: &Function, id: Id) -> Self {
        Self::down_to(function, id, &|_| false)
    }

    /// The same, where some values are not taken apart.
    pub fn down_to(function: &Function, id: Id, is_whole: &dyn Fn(Id) -> bool) -> Self {
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
            let place = address.terms.iter().position(|(id, scale)| *scale == 1 && is_base(function, *id));
            address.base = place.map(|place| address.terms.remove(place).0);
        }
        address
    }
}

/// Whether a value of 64 bits can be a pointer: it is not an index that was widened.
fn is_base(function: &Function, id: Id) -> bool {
    !matches!(
        function.op(id),
        Op::ZeroExtend | Op::SignExtend | Op::Mul | Op::Sub | Op::Neg | Op::And | Op::Shl | Op::Not
    )
}

impl Function {
    /// An input, or the value itself if it has not so many.
    pub fn input_or_self(&self, id: Id, index: usize) -> Id {
        if index < self.inputs(id).len() { self.input(id, index) } else { id }
    }
}
