//! Signs of integers: values that are moved into each other have one sign, which their uses decide.
//!
//! AIR's integers have no signs, but operators, conversions and the types of memory do. Values that a phi, a choice or
//! arithmetic joins are one class; each operator that wants a sign is a vote for it. Types in metadata decide.

use super::function::Places;
use super::spelling::{Kind, kind};
use crate::ir::metal::Class;
use crate::ir::{Function, Op, ShaderOp, ValueId, ValueMap};

/// A vote that outweighs all others.
const CERTAIN: i32 = 1 << 20;

/// Returns whether each value is signed.
pub(super) fn find(function: &Function, used: &ValueMap<bool>, places: &Places<'_>) -> ValueMap<bool> {
    let mut classes: ValueMap<ValueId> = function.values.keys().collect();
    let mut votes: ValueMap<i32> = ValueMap::filled(0, function.values.len());
    let values = || function.values.keys().filter(|id| used[*id] && !function.is_replaced(*id));
    for id in values() {
        let joined: &[usize] = match function.op(id) {
            Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Xor => &[0, 1],
            Op::Select => &[1, 2],
            Op::Shl | Op::Not | Op::Neg | Op::Copy | Op::Lanes(_) | Op::ExtractLane | Op::InsertLane => &[0],
            Op::Phi | Op::Vector => {
                for index in 0..function.inputs(id).len() {
                    join(function, &mut classes, id, function.input(id, index));
                }
                &[]
            }
            _ => &[],
        };
        for &index in joined {
            join(function, &mut classes, id, function.input(id, index));
        }
    }
    for id in values() {
        let mut vote = |value: ValueId, number: i32| {
            if value != ValueId::NONE && function.number(value).is_none() {
                let class = root(&mut classes, value);
                votes[class] = votes[class].saturating_add(number);
            }
        };
        let input = |index: usize| function.input(id, index);
        match function.op(id) {
            Op::Sdiv | Op::Srem => [id, input(0), input(1)].into_iter().for_each(|id| vote(id, 2)),
            Op::Udiv | Op::Urem => [id, input(0), input(1)].into_iter().for_each(|id| vote(id, -2)),
            Op::Sar => [id, input(0)].into_iter().for_each(|id| vote(id, 2)),
            Op::Shr => [id, input(0)].into_iter().for_each(|id| vote(id, -2)),
            Op::SignedLess | Op::SignedLessEqual => {
                [input(0), input(1)].into_iter().for_each(|id| vote(id, 2));
            }
            Op::Less | Op::LessEqual => [input(0), input(1)].into_iter().for_each(|id| vote(id, -2)),
            Op::SignExtend | Op::SignedToFloat => {
                vote(input(0), 2);
                vote(id, 1);
            }
            Op::ZeroExtend | Op::UnsignedToFloat => {
                vote(input(0), -2);
                vote(id, -1);
            }
            Op::Shader(ShaderOp::FloatToSigned) => vote(id, 2),
            Op::Shader(ShaderOp::FloatToUnsigned) => vote(id, -2),
            Op::Shader(ShaderOp::Argument) | Op::Load(_) | Op::Invoke(_) => {
                if let Some(declared) = places.declared_kind(id) {
                    vote(id, certain(declared));
                }
            }
            Op::Store(_) => {
                if let Some(declared) = places.place_kind(input(0)) {
                    vote(input(1), if declared == Kind::Signed { 4 } else { -4 });
                }
            }
            Op::Metal(op) => {
                let sign = match op.class {
                    Class::Signed => 2,
                    Class::Unsigned => -2,
                    _ => 0,
                };
                let of_letter = |letter: char| match letter {
                    'c' | 'a' => sign,
                    'i' => 2,
                    'u' => -2,
                    _ => 0,
                };
                vote(id, of_letter(op.result()));
                for index in 0..function.inputs(id).len() {
                    vote(input(index), of_letter(op.input(index)));
                }
            }
            _ => {}
        }
    }
    for &id in &function.signed {
        let id = function.resolve(id);
        let class = root(&mut classes, id);
        votes[class] = votes[class].saturating_add(1);
    }
    function.values.keys().map(|id| votes[root(&mut classes, id)] > 0).collect()
}

fn certain(declared: Kind) -> i32 {
    match declared {
        Kind::Signed => CERTAIN,
        Kind::Unsigned => -CERTAIN,
        _ => 0,
    }
}

fn root(classes: &mut ValueMap<ValueId>, id: ValueId) -> ValueId {
    let mut at = id;
    while classes[at] != at {
        classes[at] = classes[classes[at]];
        at = classes[at];
    }
    at
}

fn join(function: &Function, classes: &mut ValueMap<ValueId>, a: ValueId, b: ValueId) {
    if b == ValueId::NONE || function.number(b).is_some() || function.width(a) != function.width(b) {
        return;
    }
    let (a, b) = (root(classes, a), root(classes, b));
    if a != b {
        classes[b] = a;
    }
}

impl Places<'_> {
    /// Returns the kind of what a pointer points to, if that is an integer with a sign.
    pub(super) fn place_kind(&self, pointer: ValueId) -> Option<Kind> {
        self.signed_kind(self.pointee[pointer])
    }

    /// Returns the kind that a value is declared with, if that is an integer with a sign.
    fn declared_kind(&self, id: ValueId) -> Option<Kind> {
        match self.function.op(id) {
            Op::Load(_) => self.place_kind(self.function.input(id, 0)),
            Op::Shader(ShaderOp::Argument) => {
                let number = self.function.number(self.function.input(id, 0))?;
                self.signed_kind(self.info.parameters.get(usize::try_from(number).ok()?)?.ty)
            }
            Op::Invoke(_) => Some(Kind::Unsigned),
            _ => None,
        }
    }

    fn signed_kind(&self, ty: crate::ir::TypeId) -> Option<Kind> {
        use crate::ir::metal::types::{IntegerSign, ValueType};
        match self.types.scalar(ty) {
            ty @ ValueType::Integer(_, IntegerSign::Signed | IntegerSign::Unsigned) => Some(kind(ty)),
            _ => None,
        }
    }
}
