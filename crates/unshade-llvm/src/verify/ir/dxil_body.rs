//! The instructions of a DXIL function: which there are, and how operations are called.
//!
//! A call of `dx.op.CLASS.TYPE` has the code of the operation as its first argument; [`crate::dxil_operations`] says which
//! class, types, stages and shader model a code has.
//!
//! Knowledge: DirectXShaderCompiler's `docs/DXIL.rst`; what its validator 1.10 refuses.

use super::body::BodyCheck;
use super::calls::CallParts;
use super::dxil::{CALL, LIBRARY, TYPE};
use super::findings::Place;
use crate::constants::Constant;
use crate::dxil_operations::{CORE, Operation};
use crate::ids::{BlockId, TypeId, narrow};
use crate::instruction::{Instruction, Opcode};
use alloc::vec::Vec;

const INSTRUCTION: &str = "dxil-instruction";

/// Operations that store to a UAV: code, position of the first of four values, position of the mask.
const STORES: [(u64, usize, usize); 3] = [(67, 5, 9), (69, 4, 8), (140, 4, 8)];

impl BodyCheck<'_, '_, '_> {
    /// Checks a DXIL instruction.
    pub(super) fn dxil_instruction(&mut self, of: &Instruction) {
        match of.opcode {
            Opcode::Call => self.dxil_call(of),
            Opcode::IndirectBr
            | Opcode::Invoke
            | Opcode::Resume
            | Opcode::LandingPad
            | Opcode::CallBr
            | Opcode::CatchPad
            | Opcode::CatchRet
            | Opcode::CatchSwitch
            | Opcode::CleanupPad
            | Opcode::CleanupRet
            | Opcode::VaArg
            | Opcode::Fence
            | Opcode::FNeg
            | Opcode::Freeze
            | Opcode::IntToPtr
            | Opcode::PtrToInt => {
                self.require(false, INSTRUCTION, "an instruction that DXIL does not have");
            }
            Opcode::UDiv | Opcode::URem | Opcode::SDiv | Opcode::SRem => {
                let divisor = self.value_at(of, 1).and_then(|id| self.context.integer(Some(self.body), id));
                self.require(divisor != Some(0), INSTRUCTION, "a division by zero");
            }
            Opcode::Alloca => {
                let model = self.context.shader_model;
                // Libraries are linked before they are used; from shader model 6.9 on there are vectors.
                let scalar_only = model.minor < 9 && model.stage != LIBRARY;
                let vector = scalar_only && self.context.is_vector(TypeId(of.detail));
                self.require(!vector, TYPE, "a variable that is a vector");
            }
            _ => {}
        }
    }

    fn dxil_call(&mut self, of: &Instruction) {
        let context = self.context;
        let Some(parts) = self.call_parts(of) else { return };
        let Some(function) = parts.function.and_then(|function| context.module.functions.get(function)) else {
            return;
        };
        let Some(name) = function.symbol.name.strip_prefix(b"dx.op.") else { return };
        let Some(code) = self.number(&parts, 0) else {
            self.require(false, CALL, "the code of an operation is no constant");
            return;
        };
        let operation = usize::try_from(code).ok().and_then(|code| CORE.get(code));
        let Some(operation) = operation else {
            // Codes with the highest bit are experimental.
            self.require(code >> 31 & 1 == 1, CALL, "the code of an operation does not exist");
            return;
        };
        let (class, overload) = match name.iter().position(|&c| c == b'.') {
            Some(at) => (name.get(..at).unwrap_or_default(), name.get(at.saturating_add(1)..).unwrap_or_default()),
            None => (name, &[][..]),
        };
        if class != operation.class.as_bytes() {
            let found = alloc::format!("{} for operation {code}", unshade_core::Escaped(class));
            self.findings.add_found(CALL, "the function belongs to another operation", found);
        }
        let expected = operation.operands();
        self.require(parts.arguments.len() >= expected, CALL, "an operation has fewer operands than it takes");
        self.require(overload_fits(operation, overload), CALL, "an operation does not exist for this type");
        let model = context.shader_model;
        if model.is_known {
            self.require(u64::from(operation.minor) <= model.minor, CALL, "the shader model does not have the operation");
            let staged = operation.stages == 0 || operation.stages & model.stage != 0 || model.stage == LIBRARY;
            self.require(staged, CALL, "the stage does not have the operation");
        }
        self.dxil_operands(code, &parts);
    }

    fn dxil_operands(&mut self, code: u64, parts: &CallParts<'_>) {
        /// The operation that synchronises threads, and its flags.
        const BARRIER: u64 = 80;
        if code == BARRIER
            && let Some(mode) = self.number(parts, 1)
        {
            // Flags: 1 threads, 2 UAVs of all groups, 4 UAVs of the group, 8 shared memory.
            self.require(mode & 14 != 0, CALL, "a barrier has no kind of memory");
            self.require(mode & 6 != 6, CALL, "a barrier is for UAVs of the group and of all groups");
        }
        if let Some(&(_, values, mask)) = STORES.iter().find(|(store, ..)| *store == code) {
            self.dxil_store(parts, values, mask);
        }
    }

    /// Checks the mask of a store, and the values that it selects.
    fn dxil_store(&mut self, parts: &CallParts<'_>, values: usize, mask: usize) {
        let Some(mask) = self.number(parts, mask) else { return };
        let contiguous = matches!(mask, 1 | 3 | 7 | 15);
        self.require(contiguous, CALL, "the mask of a store has a gap");
        let undefined = (0..4usize).filter(|at| mask >> at & 1 == 1).any(|at| {
            let value = self.argument(parts, values.saturating_add(at));
            let constant = value.and_then(|id| self.context.constant(Some(self.body), id));
            matches!(constant, Some((Constant::Undef | Constant::Poison, _)))
        });
        self.require(!undefined, CALL, "an undefined value is stored to a UAV");
    }

    /// Checks that every loop of the function has one entry.
    pub(super) fn dxil_flow(&mut self) {
        let entered = self.flow.entry_of_irreducible_loop(self.body.blocks.len());
        if let Some(block) = entered {
            self.findings.enter(Place::Block(BlockId(block)));
            self.require(false, INSTRUCTION, "a loop is entered in the middle");
        }
    }
}

/// Returns whether an operation exists for the type in the name of a function.
fn overload_fits(operation: &Operation, overload: &[u8]) -> bool {
    let letter = match overload {
        b"f16" => 'h',
        b"f32" => 'f',
        b"f64" => 'd',
        b"i1" => '1',
        b"i8" => '8',
        b"i16" => 'w',
        b"i32" => 'i',
        b"i64" => 'l',
        // Vectors and names of structs.
        _ => return true,
    };
    operation.types.is_empty() || operation.types == "v" || operation.types.contains(letter)
}

/// Returns the functions that a body calls, each once.
pub(super) fn collect_calls(check: &BodyCheck<'_, '_, '_>) -> Vec<u32> {
    let mut callees = Vec::new();
    for of in &check.body.instructions {
        if of.opcode == Opcode::Call
            && let Some(function) = check.call_parts(of).and_then(|parts| parts.function)
        {
            callees.push(narrow(function as u64));
        }
    }
    callees.sort_unstable();
    callees.dedup();
    callees
}
