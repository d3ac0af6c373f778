//! Counts of instructions, calls, memory accesses and types in function bodies.
//!
//! Everything is counted by the module's own ids, so that a library of thousands of modules is counted as fast as
//! its bodies are read. The caller looks up names where it shows them.

use crate::body::FunctionBody;
use crate::control_flow::ControlFlow;
use crate::ids::{TypeId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::module::Module;
use crate::uses::Callee;
use crate::value::Operand;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A kind of memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// `load`
    Load,
    /// `store`
    Store,
    /// `atomicrmw`, `cmpxchg`, and atomic loads and stores.
    Atomic,
}

impl Access {
    /// Returns the kind as one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
        }
    }
}

/// Accesses of one kind: their number and total size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessCount {
    /// The number of instructions.
    pub count: u64,
    /// The total size in bytes of what they load or store.
    pub bytes: u64,
}

/// A callee, with the operation code if it is a DXIL operation.
pub type CallKey = (Callee, Option<u32>);

/// Counts of one or several functions of a module.
///
/// ```
/// use unshade_llvm::Opcode;
/// use unshade_llvm::statistics::Statistics;
/// # let bytes = include_bytes!("../tests/fixtures/air_like.bc");
/// let module = unshade_llvm::Module::parse(bytes, 0)?;
/// let mut statistics = Statistics::new(&module);
/// for function in (0..module.functions.len()).filter(|&at| !module.functions[at].declaration) {
///     statistics.add(&module, &module.body(function)?);
/// }
/// assert_eq!(statistics.instructions, 21);
/// assert_eq!(statistics.opcode(Opcode::Load), 2);
/// # Ok::<(), unshade_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// The number of functions added.
    pub functions: u64,
    /// The number of basic blocks.
    pub blocks: u64,
    /// The number of instructions.
    pub instructions: u64,
    /// The number of natural loops.
    pub loops: u64,
    /// The depth of the deepest loop nest.
    pub loop_depth: u32,
    /// The total size in bytes of `alloca` instructions whose size is constant.
    pub stack_bytes: u64,
    /// Accesses by kind and address space.
    pub memory: BTreeMap<(Access, u32), AccessCount>,
    /// Calls by callee.
    pub calls: BTreeMap<CallKey, u64>,
    opcodes: Vec<u64>,
    types: Vec<u64>,
}

fn count(list: &mut [u64], at: usize) {
    if let Some(slot) = list.get_mut(at) {
        *slot = slot.saturating_add(1);
    }
}

impl Statistics {
    /// Creates empty counts for a module.
    pub fn new(module: &Module<'_>) -> Self {
        Self {
            opcodes: alloc::vec![0; Opcode::ALL.len()],
            types: alloc::vec![0; module.types.len()],
            ..Self::default()
        }
    }

    /// Returns the number of instructions with an opcode.
    pub fn opcode(&self, opcode: Opcode) -> u64 {
        self.opcodes.get(opcode as usize).copied().unwrap_or(0)
    }

    /// Returns the opcodes that occur, with their counts.
    pub fn opcodes(&self) -> impl Iterator<Item = (Opcode, u64)> + '_ {
        Opcode::ALL.iter().zip(&self.opcodes).filter(|(_, count)| **count > 0).map(|(opcode, count)| (*opcode, *count))
    }

    /// Returns the types that instructions compute or store, with their counts.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, u64)> + '_ {
        (0u32..).zip(&self.types).filter(|(_, count)| **count > 0).map(|(id, count)| (TypeId(id), *count))
    }

    /// Adds the counts of a body.
    pub fn add(&mut self, module: &Module<'_>, body: &FunctionBody) {
        self.functions = self.functions.saturating_add(1);
        self.blocks = self.blocks.saturating_add(body.blocks.len() as u64);
        self.instructions = self.instructions.saturating_add(body.instructions.len() as u64);
        for instruction in &body.instructions {
            count(&mut self.opcodes, instruction.opcode as usize);
            if instruction.result.is_some() {
                count(&mut self.types, instruction.ty.index());
            }
            self.add_memory(module, body, instruction);
            if let Some(callee) = Callee::of(module, body, instruction) {
                let operation = operation(module, body, instruction, callee);
                let calls = self.calls.entry((callee, operation)).or_default();
                *calls = calls.saturating_add(1);
            }
        }
        // A function of one block can only loop to its entry, which is invalid, so it has no loops.
        if body.blocks.len() > 1 {
            let flow = ControlFlow::new(body);
            self.loops = self.loops.saturating_add(flow.loops().all().len() as u64);
            let depth = flow.loops().all().iter().map(|natural_loop| natural_loop.depth).max().unwrap_or(0);
            self.loop_depth = self.loop_depth.max(depth);
        }
    }

    fn add_memory(&mut self, module: &Module<'_>, body: &FunctionBody, instruction: &Instruction) {
        let type_of = |operand: Option<&Operand>| {
            let value = operand.and_then(|operand| module.value(Some(body), operand.as_value()?));
            value.map_or(TypeId::NONE, |value| value.ty)
        };
        let operands = body.operands_of(instruction);
        let (access, pointer, ty) = match instruction.opcode {
            Opcode::Load => (Access::Load, type_of(operands.first()), instruction.ty),
            Opcode::Store => {
                let stored = type_of(operands.first());
                count(&mut self.types, stored.index());
                (Access::Store, type_of(operands.get(1)), stored)
            }
            Opcode::AtomicRmw | Opcode::CmpXchg => {
                (Access::Atomic, type_of(operands.first()), type_of(operands.get(1)))
            }
            Opcode::Alloca => return self.add_stack(module, body, instruction),
            _ => return,
        };
        let access = if instruction.memory().ordering() != 0 { Access::Atomic } else { access };
        let space = module.types.address_space(pointer).unwrap_or(0);
        let counted = self.memory.entry((access, space)).or_default();
        counted.count = counted.count.saturating_add(1);
        counted.bytes = counted.bytes.saturating_add(module.data_layout.store_size(&module.types, ty));
    }

    fn add_stack(&mut self, module: &Module<'_>, body: &FunctionBody, instruction: &Instruction) {
        let number = body.operands_of(instruction).first().and_then(|operand| operand.as_value());
        let number = number.map_or(Some(1), |number| module.integer(Some(body), number)).unwrap_or(0);
        let size = module.data_layout.allocation_size(&module.types, TypeId(instruction.detail));
        self.stack_bytes = self.stack_bytes.saturating_add(size.saturating_mul(number));
    }
}

/// Returns the DXIL operation code, which is the first argument of a call to a `dx.op.…` function.
fn operation(
    module: &Module<'_>,
    body: &FunctionBody,
    instruction: &Instruction,
    callee: Callee,
) -> Option<u32> {
    let Callee::Function(function) = callee else { return None };
    if !module.functions.get(function as usize)?.symbol.name.starts_with(b"dx.op.") {
        return None;
    }
    let number = body.operands_of(instruction).get(1)?.as_value()?;
    module.integer(Some(body), number).map(|number| narrow(number & 0xFFFF_FFFF))
}
