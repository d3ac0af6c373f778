//! The state of lifting p-code, and the operations that all parts of it share: values, constants, variables, calls.
//!
//! `calls`, `image`, `runtime_calls` and `lift` add their own methods to [`Lifter`].

mod region;

use super::flow::Flow;
use super::functions::Functions;
use super::locals::LocalStarts;
use super::{Code, Source};
use crate::ir::build::Builder;
use crate::ir::fold::{fold, masked};
use crate::ir::hash::FastMap;
use crate::ir::{BlockId, Intrinsic, NoteId, Op, SymbolId, ValueId};
use region::Region;
pub(super) use region::Side;
use unshade_sass::Instruction;
use unshade_sass::semantics::Lifted;
use unshade_sass::semantics::table::FLAGS;

/// The variable of the first flag, after 256 registers.
pub(super) const FIRST_FLAG: u32 = 256;

/// The variable for the result of a barrier.
pub(super) const BARRIER: u32 = FIRST_FLAG + FLAGS.len() as u32;

/// The variables for the lower and upper half of the value that was loaded by the last locking load (`LDSLK`).
pub(super) const LOCKED: [u32; 2] = [BARRIER + 1, BARRIER + 2];

/// The state of lifting a function.
pub(super) struct Lifter<'a> {
    pub(super) code: &'a Code<'a>,
    pub(super) flow: &'a Flow,
    /// The device functions that it may call.
    pub(super) functions: &'a Functions,
    /// The function's own name in C.
    pub(super) name: &'a str,
    pub(super) is_kernel: bool,
    /// Number of words of the function's own result.
    pub(super) result_words: u8,
    /// Whether an instruction writes a register.
    pub(super) written: [bool; FIRST_FLAG as usize],
    pub(super) builder: Builder,
    /// The first block of each node.
    pub(super) blocks: Vec<BlockId>,
    /// Number of edges into each node's block that are not created yet.
    pub(super) missing_edges: Vec<u32>,
    pub(super) lifted: Lifted,
    pub(super) temporaries: Vec<ValueId>,
    pub(super) region: Option<Region>,
    pub(super) block: BlockId,
    pub(super) side: Side,
    pub(super) address: u32,
    pub(super) instruction: Option<Instruction>,
    pub(super) constants: FastMap<(u64, u8), ValueId>,
    /// Leaf values of the function, each once.
    pub(super) leaves: FastMap<(Op, u8), ValueId>,
    pub(super) note: NoteId,
    pub(super) pending: Vec<(u32, ValueId)>,
    pub(super) relocation: Option<ValueId>,
    pub(super) image: PendingImages,
    /// Calls of `vprintf` whose arguments are still to be found, each with its comment.
    pub(super) prints: Vec<(ValueId, NoteId)>,
    /// Whether the stores of the current instruction are part of an atomic operation.
    pub(super) is_stored: bool,
    pub(super) budget: usize,
    /// The registers of variables of the source code.
    pub(super) locals: LocalStarts,
}

/// The result of lifting a p-code function.
pub(super) enum CallResult {
    /// A value; [`ValueId::NONE`] for none.
    Value(ValueId),
    /// The function cannot be expressed.
    Unsupported,
}

/// The textures and surfaces of the current instruction, and the surface accesses of the function.
#[derive(Default)]
pub(super) struct PendingImages {
    /// Registers of coordinates, then of other arguments.
    pub(super) sources: Vec<ValueId>,
    /// Words to write.
    pub(super) data: Vec<ValueId>,
    /// The last read, and the channel of each of its results.
    pub(super) read: Option<(ValueId, Vec<u8>)>,
    /// Accesses of surfaces.
    pub(super) accesses: Vec<SurfaceAccess>,
}

/// A read or write of a surface whose address is still to be traced.
pub(super) struct SurfaceAccess {
    /// The operation. Its first input is the address; a write has the words after it.
    pub(super) id: ValueId,
    /// The comment to print if the address cannot be traced.
    pub(super) note: NoteId,
}

impl<'a> Lifter<'a> {
    /// Creates the state for a function.
    pub(super) fn new(
        source: &'a Source<'a>,
        functions: &'a Functions,
        flow: &'a Flow,
        budget: usize,
    ) -> Self {
        let mut widths = vec![32; 256];
        widths.extend(FLAGS.iter().map(|_| 1));
        widths.extend([32; 1 + LOCKED.len()]);
        let mut lifter = Self {
            code: &source.code,
            flow,
            functions,
            name: &source.name,
            is_kernel: source.is_kernel,
            result_words: functions.get(&source.name).map_or(0, |callee| callee.words),
            written: [false; FIRST_FLAG as usize],
            builder: Builder::new(widths),
            blocks: vec![BlockId::NONE; flow.nodes.len()],
            missing_edges: vec![0; flow.nodes.len()],
            lifted: Lifted::default(),
            temporaries: Vec::new(),
            region: None,
            block: BlockId::ENTRY,
            side: Side::Plain,
            address: 0,
            instruction: None,
            constants: FastMap::default(),
            leaves: FastMap::default(),
            note: NoteId::NONE,
            pending: Vec::new(),
            relocation: None,
            image: PendingImages::default(),
            prints: Vec::new(),
            is_stored: false,
            budget: budget.saturating_mul(24),
            locals: LocalStarts::new(&source.code),
        };
        if !lifter.is_kernel {
            lifter.enter_function();
        }
        lifter
    }

    /// Returns a constant, each once.
    pub(super) fn number(&mut self, value: u64, width: u8) -> ValueId {
        let value = masked(value, width);
        if let Some(&id) = self.constants.get(&(value, width)) {
            return id;
        }
        let id = self.builder.function.constant(value, width);
        self.constants.insert((value, width), id);
        id
    }

    pub(super) fn leaf(&mut self, op: Op, width: u8) -> ValueId {
        if let Some(&id) = self.leaves.get(&(op, width)) {
            return id;
        }
        let id = self.builder.function.raw(op, width, BlockId::ENTRY, self.address, &[]);
        self.leaves.insert((op, width), id);
        id
    }

    /// Adds a value to the current block, with simple folding.
    pub(super) fn make(&mut self, op: Op, width: u8, inputs: &[ValueId]) -> ValueId {
        if inputs.contains(&ValueId::NONE) {
            return self.unlifted(width);
        }
        let function = &self.builder.function;
        let first = inputs.first().copied().unwrap_or(ValueId::NONE);
        if inputs.len() <= 2 && !inputs.is_empty() {
            let a = function.number(first);
            let b = inputs.get(1).map_or(Some(0), |input| function.number(*input));
            if let (Some(a), Some(b)) = (a, b)
                && let Some(value) = fold(op, &[a, b], function.width(first), width)
            {
                return self.number(value, width);
            }
            match (op, a, inputs.get(1).and_then(|input| function.number(*input))) {
                (Op::BoolAnd, _, Some(1)) | (Op::BoolOr | Op::BoolXor, _, Some(0)) => return first,
                (Op::BoolAnd, _, Some(0)) | (Op::BoolOr, _, Some(1)) => return inputs[1],
                (Op::BoolAnd, Some(1), _) | (Op::BoolOr | Op::BoolXor, Some(0), _) => return inputs[1],
                (Op::BoolAnd, Some(0), _) | (Op::BoolOr, Some(1), _) => return first,
                (Op::BoolXor, _, Some(1)) => return self.make(Op::BoolNot, 1, &[first]),
                (Op::BoolXor, Some(1), _) => return self.make(Op::BoolNot, 1, &[inputs[1]]),
                _ => {}
            }
        }
        match op {
            Op::BoolNot if function.op(first) == Op::BoolNot => return function.input(first, 0),
            Op::Low
                if function.op(first) == Op::Concat && function.width(function.input(first, 1)) == width =>
            {
                return function.input(first, 1);
            }
            Op::High
                if function.op(first) == Op::Concat && function.width(function.input(first, 0)) == width =>
            {
                return function.input(first, 0);
            }
            Op::Concat => {
                let low = function.resolve(inputs[1]);
                let high = function.resolve(first);
                if function.op(low) == Op::Low
                    && function.op(high) == Op::High
                    && function.input(low, 0) == function.input(high, 0)
                    && function.width(function.input(low, 0)) == width
                {
                    return function.input(low, 0);
                }
            }
            Op::ZeroExtend | Op::SignExtend | Op::Low if function.width(first) == width => return first,
            _ => {}
        }
        if op.is_effect() {
            self.effect(op.is_barrier());
        }
        let block = if op.is_effect() { self.effect_block() } else { self.block };
        self.builder.function.add(op, width, block, self.address, inputs)
    }

    /// Returns the block in which effects are placed.
    pub(super) fn effect_block(&self) -> BlockId {
        match (&self.region, self.side) {
            (Some(region), Side::Then) => region.then,
            (Some(region), Side::Else) => region.otherwise,
            _ => self.block,
        }
    }

    /// Returns the comment for the current instruction.
    pub(super) fn instruction_note(&mut self) -> NoteId {
        if self.note == NoteId::NONE {
            let address = u64::from(self.address);
            let mut text = self.instruction.map_or(String::new(), |found| found.text(address));
            if let Some(relocation) = self.code.relocations.iter().find(|entry| entry.address == address) {
                text.push_str(&format!(" of {}", relocation.symbol));
            }
            self.note_text(text);
        }
        self.note
    }

    /// Adds a placeholder for an instruction that cannot be lifted.
    pub(super) fn unlifted(&mut self, width: u8) -> ValueId {
        self.instruction_note();
        self.effect(true);
        let block = self.effect_block();
        self.builder.function.add(Op::Unlifted(self.note), width, block, self.address, &[])
    }

    pub(super) fn note_text(&mut self, text: String) {
        self.note = self.builder.function.notes.push(text);
    }

    pub(super) fn set_barrier_result(&mut self, value: ValueId) {
        self.write_variable(BARRIER, value);
    }

    pub(super) fn barrier_result(&mut self) -> ValueId {
        self.read_variable(BARRIER)
    }

    pub(super) fn call(&mut self, intrinsic: Intrinsic, width: u8, inputs: &[ValueId]) -> ValueId {
        self.make(Op::Call(intrinsic), width, inputs)
    }

    pub(super) fn known(&self, id: ValueId) -> u64 {
        self.builder.function.number(id).unwrap_or(0)
    }

    pub(super) fn symbol(&mut self, name: &str) -> SymbolId {
        self.builder.function.symbol(name)
    }
}
