//! Atomic operations on views and shared memory, and the counters of views.

use super::declarations::SharedForm;
use super::lifter::Lifter;
use super::sources::Numbers;
use unshade_dxbc::Instruction;
use unshade_dxbc::operand::{Operand, OperandKind};
use unshade_ir::shader::AtomicOp;
use unshade_ir::shader::interface::Shape;
use unshade_ir::{Op, ShaderOp, ValueId};

/// Operations, by the end of the mnemonic.
const OPERATIONS: [(&str, AtomicOp); 9] = [
    ("iadd", AtomicOp::Add),
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
    ("xor", AtomicOp::Xor),
    ("exch", AtomicOp::Exchange),
    ("imax", AtomicOp::SignedMax),
    ("imin", AtomicOp::SignedMin),
    ("umax", AtomicOp::UnsignedMax),
    ("umin", AtomicOp::UnsignedMin),
];

impl Lifter<'_> {
    /// Lifts an atomic operation. Returns `None` if it is none.
    pub(super) fn atomic(&mut self, mnemonic: &str, instruction: &Instruction) -> Option<()> {
        let operands = &instruction.operands[..];
        match mnemonic {
            "imm_atomic_alloc" => return self.counter(operands, 1),
            "imm_atomic_consume" => return self.counter(operands, u32::MAX),
            _ => {}
        }
        let (result, name, operands) = match mnemonic.strip_prefix("imm_atomic_") {
            Some(name) => {
                let (result, rest) = operands.split_first()?;
                (Some(result), name, rest)
            }
            None => (None, mnemonic.strip_prefix("atomic_")?, operands),
        };
        let [memory, address, values @ ..] = operands else { return None };
        let op = OPERATIONS.iter().find(|row| row.0 == name).map(|row| row.1);
        let values: Vec<ValueId> =
            values.iter().map(|value| self.read_one(value, Numbers::Integer)).collect();
        let is_exchange = matches!(name, "cmp_store" | "cmp_exch");
        if values.len() != if is_exchange { 2 } else { 1 } || !is_exchange && op.is_none() {
            return None;
        }
        let value = if memory.kind() == OperandKind::GROUP_SHARED_MEMORY {
            let place = self.shared_address(memory, address)?;
            let inputs = [&[place], &values[..]].concat();
            let op = op.map_or(ShaderOp::CompareExchangeVariable, ShaderOp::AtomicVariable);
            self.shader(op, 1, &inputs)
        } else {
            let (handle, id) = self.bound(memory)?;
            let count = match self.shape(id) {
                // The index of the element, and the offset in it.
                Shape::StructuredBuffer => 2,
                shape => shape.coordinates(),
            };
            let coordinates = self.read_vector(address, count, Numbers::Integer);
            let inputs = [&[handle, coordinates], &values[..]].concat();
            let op = op.map_or(ShaderOp::CompareExchangeResource, ShaderOp::AtomicResource);
            self.shader(op, 1, &inputs)
        };
        if let Some(result) = result {
            self.write(result, value);
        }
        Some(())
    }

    fn counter(&mut self, operands: &[Operand], step: u32) -> Option<()> {
        let [result, view] = operands else { return None };
        let (handle, _) = self.bound(view)?;
        let step = self.number(step);
        let value = self.add(Op::Shader(ShaderOp::UpdateCounter), 32, 1, &[handle, step]);
        self.write(result, value);
        Some(())
    }

    /// Returns the place in shared memory that an address is.
    fn shared_address(&mut self, memory: &Operand, address: &Operand) -> Option<ValueId> {
        let shared = *self.interface.shared.get(&(memory.indices[0].number as u32))?;
        let first = self.read(address, &[0], Numbers::Integer);
        if shared.form == SharedForm::Raw {
            return Some(self.shared_place(shared, None, first, 0));
        }
        let offset = self.read(address, &[1], Numbers::Integer);
        Some(self.shared_place(shared, Some(first), offset, 0))
    }
}
