//! Instructions as typed operations, so that their operands have names.
//!
//! An [`Instruction`] keeps its operands in a list whose order depends on the opcode; the table in
//! [`crate::instruction`] gives it. [`Operation::of`] takes the list apart. What it has no form for is
//! [`Operation::Other`], with the list.

use crate::body::{Call, FunctionBody};
use crate::ids::{BlockId, TypeId, ValueId};
use crate::instruction::{Instruction, Memory, Opcode, predicate};
use crate::value::Operand;

/// A bit of the flags of a memory access: volatile.
const VOLATILE: u16 = 1;

/// What an instruction does, and with which values.
///
/// ```
/// use unshade_llvm::Module;
/// use unshade_llvm::operation::Operation;
/// # let bytes = include_bytes!("../tests/fixtures/air_like.bc");
/// let module = Module::parse(bytes, 0)?;
/// for (index, function) in module.functions_with_bodies() {
///     let body = module.body(index)?;
///     for instruction in &body.instructions {
///         if let Some(Operation::Store { value, pointer, .. }) = Operation::of(&body, instruction) {
///             assert!(value != pointer, "{:?}", function.symbol.name);
///         }
///     }
/// }
/// # Ok::<(), unshade_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Operation<'b> {
    /// `ret`
    Return(Option<ValueId>),
    /// `br label`
    Jump(BlockId),
    /// `br i1`
    Branch {
        /// The condition.
        condition: ValueId,
        /// The block if it is true.
        then: BlockId,
        /// The block if it is false.
        otherwise: BlockId,
    },
    /// `switch`
    Switch {
        /// The number that selects a block.
        condition: ValueId,
        /// The block if no case fits.
        default: BlockId,
        /// Values and blocks in turn; see [`pairs`].
        cases: &'b [Operand],
    },
    /// `call`, `invoke` and `callbr`
    Call {
        /// The function, or a pointer to it.
        callee: ValueId,
        /// The arguments.
        arguments: &'b [Operand],
        /// The blocks where an `invoke` or `callbr` goes on.
        blocks: &'b [Operand],
        /// Attributes, calling convention and type.
        call: &'b Call,
    },
    /// Arithmetic and logic
    Binary {
        /// The operation.
        opcode: Opcode,
        /// The left operand.
        left: ValueId,
        /// The right operand.
        right: ValueId,
    },
    /// `icmp` and `fcmp`
    Compare {
        /// The predicate, such as `slt` or `oeq`.
        predicate: &'static str,
        /// The left operand.
        left: ValueId,
        /// The right operand.
        right: ValueId,
    },
    /// Casts, `fneg` and `freeze`
    Unary {
        /// The operation.
        opcode: Opcode,
        /// The operand.
        value: ValueId,
    },
    /// `select`
    Select {
        /// The condition.
        condition: ValueId,
        /// The result if it is true.
        then: ValueId,
        /// The result if it is false.
        otherwise: ValueId,
    },
    /// `phi`: values and the blocks that they come from, in turn; see [`pairs`].
    Phi(&'b [Operand]),
    /// `alloca`
    Alloca {
        /// The type of an element.
        ty: TypeId,
        /// The number of elements.
        count: ValueId,
        /// The alignment.
        memory: Memory,
    },
    /// `load`
    Load {
        /// The address.
        pointer: ValueId,
        /// The alignment and the ordering.
        memory: Memory,
        /// Whether the access is volatile.
        is_volatile: bool,
    },
    /// `store`
    Store {
        /// What is stored.
        value: ValueId,
        /// The address.
        pointer: ValueId,
        /// The alignment and the ordering.
        memory: Memory,
        /// Whether the access is volatile.
        is_volatile: bool,
    },
    /// `getelementptr`
    ElementPointer {
        /// The type that the first index steps over.
        source: TypeId,
        /// The address.
        base: ValueId,
        /// The indices.
        indices: &'b [Operand],
    },
    /// `extractvalue` and `insertvalue`
    Aggregate {
        /// The struct or array.
        aggregate: ValueId,
        /// What is inserted.
        inserted: Option<ValueId>,
        /// The position of the element, from the outermost struct or array on.
        indices: &'b [u32],
    },
    /// Anything else.
    Other {
        /// The operation.
        opcode: Opcode,
        /// Its operands, as the table in [`crate::instruction`] has them.
        operands: &'b [Operand],
    },
}

impl<'b> Operation<'b> {
    /// Returns the operation of an instruction of a body; `None` if it lacks an operand, which only damaged files do.
    pub fn of(body: &'b FunctionBody, instruction: &Instruction) -> Option<Self> {
        let operands = body.operands_of(instruction);
        let value = |at: usize| operands.get(at)?.as_value();
        let block = |at: usize| operands.get(at)?.as_block();
        let memory = instruction.memory();
        let is_volatile = instruction.flags & VOLATILE != 0;
        Some(match instruction.opcode {
            Opcode::Ret => Self::Return(value(0)),
            Opcode::Br if operands.len() == 1 => Self::Jump(block(0)?),
            Opcode::Br => Self::Branch { condition: value(0)?, then: block(1)?, otherwise: block(2)? },
            Opcode::Switch => {
                Self::Switch { condition: value(0)?, default: block(1)?, cases: operands.get(2..)? }
            }
            Opcode::Call | Opcode::Invoke | Opcode::CallBr => {
                let first = operands.iter().position(|operand| operand.as_block().is_some());
                let (values, blocks) = operands.split_at_checked(first.unwrap_or(operands.len()))?;
                let call = body.calls.get(instruction.detail as usize)?;
                Self::Call { callee: value(0)?, arguments: values.get(1..)?, blocks, call }
            }
            Opcode::ICmp | Opcode::FCmp => {
                let predicate = predicate(instruction.detail)?;
                Self::Compare { predicate, left: value(0)?, right: value(1)? }
            }
            Opcode::Select => Self::Select { condition: value(0)?, then: value(1)?, otherwise: value(2)? },
            Opcode::Phi => Self::Phi(operands),
            Opcode::Alloca => {
                Self::Alloca { ty: TypeId(instruction.detail), count: value(0)?, memory }
            }
            Opcode::Load => Self::Load { pointer: value(0)?, memory, is_volatile },
            Opcode::Store => Self::Store { value: value(0)?, pointer: value(1)?, memory, is_volatile },
            Opcode::GetElementPtr => Self::ElementPointer {
                source: TypeId(instruction.detail),
                base: value(0)?,
                indices: operands.get(1..)?,
            },
            Opcode::ExtractValue | Opcode::InsertValue => {
                let first = instruction.detail as usize;
                let indices = body.indices.get(first..first.checked_add(instruction.extra as usize)?)?;
                Self::Aggregate { aggregate: value(0)?, inserted: value(1), indices }
            }
            opcode @ (Opcode::FNeg | Opcode::Freeze) => Self::Unary { opcode, value: value(0)? },
            opcode if opcode.is_cast() => Self::Unary { opcode, value: value(0)? },
            opcode if opcode.is_binary() => Self::Binary { opcode, left: value(0)?, right: value(1)? },
            opcode => Self::Other { opcode, operands },
        })
    }
}

/// Returns the values and blocks of a `phi` or of the cases of a `switch`.
pub fn pairs(operands: &[Operand]) -> impl Iterator<Item = (ValueId, BlockId)> + '_ {
    operands.chunks_exact(2).filter_map(|pair| match pair {
        [value, block] => value.as_value().zip(block.as_block()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Module;
    use alloc::vec::Vec;

    /// The module that has every instruction.
    fn module() -> Module<'static> {
        Module::parse(include_bytes!("../tests/fixtures/instructions.bc"), 0).expect("the fixture is sound")
    }

    #[test]
    fn operations_have_all_operands() {
        let module = module();
        let mut others = Vec::new();
        for (index, _) in module.functions_with_bodies() {
            let body = module.body(index).expect("it has a body");
            for instruction in &body.instructions {
                let operation = Operation::of(&body, instruction).expect("no operand is missing");
                let listed = body.operands_of(instruction).len();
                let named = match operation {
                    Operation::Return(value) => usize::from(value.is_some()),
                    Operation::Jump(_) | Operation::Unary { .. } | Operation::Load { .. } => 1,
                    Operation::Alloca { .. } => 1,
                    Operation::Binary { .. } | Operation::Compare { .. } | Operation::Store { .. } => 2,
                    Operation::Branch { .. } | Operation::Select { .. } => 3,
                    Operation::Switch { cases, .. } => 2 + 2 * pairs(cases).count(),
                    Operation::Phi(list) => 2 * pairs(list).count(),
                    Operation::Call { arguments, blocks, .. } => 1 + arguments.len() + blocks.len(),
                    Operation::ElementPointer { indices, .. } => 1 + indices.len(),
                    Operation::Aggregate { inserted, .. } => 1 + usize::from(inserted.is_some()),
                    Operation::Other { opcode, operands } => {
                        others.push(opcode);
                        operands.len()
                    }
                };
                assert_eq!(named, listed, "{:?}", instruction.opcode);
            }
        }
        assert!(others.contains(&Opcode::ShuffleVector) && others.contains(&Opcode::CmpXchg), "{others:?}");
        assert!(!others.contains(&Opcode::Load) && !others.contains(&Opcode::Add), "{others:?}");
    }
}
