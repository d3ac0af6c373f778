//! Inputs and outputs of operations: registers, flags, constants, special registers, relocated addresses.

use super::super::calls::memory;
use super::super::lifter::{CallResult, FIRST_FLAG, Lifter};
use super::super::{AddressPart, banks};
use crate::ir::{Intrinsic, ObjectSpace, Op, Space, Special, ValueId};
use unshade_sass::Instruction;
use unshade_sass::semantics::table::Code as Pcode;
use unshade_sass::semantics::{Lifted, Op as Step, Space as SassSpace, Varnode, functions};
use unshade_sass::table::Kind as OperandKind;

impl<'a> Lifter<'a> {
    pub(super) fn step(&mut self, op: &Step, lifted: &Lifted) {
        let value = self.value_of(op, lifted);
        let Some(output) = op.output else { return };
        for (variable, value) in self.outputs(&output, value).into_iter().flatten() {
            self.write_variable(variable, value);
        }
    }

    /// Returns the variables of an output with their values; temporaries are written at once.
    pub(super) fn outputs(&mut self, output: &Varnode, value: ValueId) -> [Option<(u32, ValueId)>; 2] {
        let value = if value == ValueId::NONE { self.unlifted(output.width) } else { value };
        let number = u32::try_from(output.offset).unwrap_or(0);
        match output.space {
            SassSpace::Temporary => {
                if let Some(slot) = self.temporaries.get_mut(number as usize) {
                    *slot = value;
                }
                [None, None]
            }
            SassSpace::Flag => [Some((FIRST_FLAG + number, value)), None],
            SassSpace::Register if output.width > 32 => {
                let low = self.make(Op::Low, 32, &[value]);
                let high = self.make(Op::High, 32, &[value]);
                [Some((number & 255, low)), Some(((number + 1) & 255, high))]
            }
            SassSpace::Register => {
                let wide = self.make(Op::ZeroExtend, 32, &[value]);
                [Some((number & 255, wide)), None]
            }
            _ => [None, None],
        }
    }

    pub(super) fn input(&mut self, varnode: &Varnode) -> ValueId {
        let number = u32::try_from(varnode.offset).unwrap_or(0);
        match varnode.space {
            SassSpace::Number => match self.relocation {
                Some(part) if varnode.width == 32 => part,
                _ => self.number(varnode.offset, varnode.width),
            },
            SassSpace::Register => {
                let low = self.read_variable(number & 255);
                match varnode.width {
                    32 => low,
                    ..32 => self.make(Op::Low, varnode.width, &[low]),
                    _ => {
                        let high = self.read_variable((number + 1) & 255);
                        self.make(Op::Concat, 64, &[high, low])
                    }
                }
            }
            SassSpace::Flag => self.read_variable(FIRST_FLAG + number),
            SassSpace::Temporary => match self.temporaries.get(number as usize).copied() {
                Some(value) if value != ValueId::NONE => self.builder.function.resolve(value),
                _ => self.leaf(Op::Undefined, varnode.width),
            },
            SassSpace::Constant => self.constant(varnode.offset, varnode.width),
            _ => self.unlifted(varnode.width),
        }
    }

    /// Returns a constant of a bank; the bank number is above 16 bits of offset.
    pub(super) fn constant(&mut self, bank_and_offset: u64, width: u8) -> ValueId {
        let (bank, offset) = ((bank_and_offset >> 16) as u8, bank_and_offset & 0xffff);
        if bank == 0 {
            if offset >= banks::PARAMETERS {
                return self.leaf(Op::Parameter((offset - banks::PARAMETERS) as u32), width);
            }
            if offset == banks::CONSTANTS || offset == banks::CONSTANTS + 4 {
                let window = self.leaf(Op::Special(Special::ConstantWindow), 64);
                return match (offset == banks::CONSTANTS, width) {
                    (true, 64) => window,
                    (true, _) => self.make(Op::Low, width, &[window]),
                    (false, _) => self.make(Op::High, width, &[window]),
                };
            }
            if (offset, width) == (banks::STACK, 32) {
                return self.number(u64::from(self.code.local_size), 32);
            }
            if let (Some(special), 32) = (banks::of_bank_0(offset), width) {
                return self.leaf(Op::Special(special), width);
            }
        }
        if let Some(value) = self.code.known_constant(bank_and_offset, width) {
            return self.number(value, width);
        }
        if let Some(address) = self.variable(bank, offset) {
            return self.make(Op::Load(Space::Constant(bank)), width, &[address]);
        }
        if bank != 0 {
            return self.unlifted(width);
        }
        let address = self.number(inside(bank, offset), 32);
        self.make(Op::Load(Space::Constant(bank)), width, &[address])
    }

    pub(super) fn value_of(&mut self, op: &Step, lifted: &Lifted) -> ValueId {
        let mut inputs = [ValueId::NONE; 16];
        let varnodes = lifted.inputs(op);
        for (input, varnode) in inputs.iter_mut().zip(varnodes) {
            *input = self.input(varnode);
        }
        let inputs = &inputs[..varnodes.len().min(16)];
        let width = op.output.map_or(0, |output| output.width);
        match op.code {
            Pcode::Copy => inputs.first().copied().unwrap_or(ValueId::NONE),
            Pcode::Load(SassSpace::Special) => self.special(inputs[0]),
            Pcode::Load(SassSpace::Constant) => self.constant_load(inputs[0], width),
            Pcode::Load(space) => match memory(space) {
                Some(space) => {
                    let (space, address) = self.narrowed(space, inputs[0]);
                    let load = self.make(Op::Load(space), width, &[address]);
                    // The cache operator `.CV` fetches again: `volatile` in the source.
                    let cache = self.instruction.and_then(|instruction| instruction.modifier("cache"));
                    self.builder.function.values[load].is_volatile = cache == Some("cv");
                    load
                }
                None => self.unlifted(width),
            },
            Pcode::Store(_) if self.is_stored => ValueId::NONE,
            Pcode::Store(space) => match memory(space) {
                Some(space) => {
                    let (space, address) = self.narrowed(space, inputs[0]);
                    self.make(Op::Store(space), 0, &[address, inputs[1]])
                }
                None => self.unlifted(0),
            },
            Pcode::Function(index) => {
                let Some(function) = functions().get(usize::from(index)) else { return ValueId::NONE };
                let width = if width == 0 { function.output } else { width };
                let given = if function.pure {
                    self.pure_function(function.name, inputs, width)
                } else {
                    self.other_function(function.name, inputs, width)
                };
                match given {
                    CallResult::Value(value) => value,
                    CallResult::Unsupported => self.unlifted(width),
                }
            }
            Pcode::FloatTruncate => self.truncated(inputs[0], width),
            code => match operator(code) {
                Some(op) => self.make(op, width, inputs),
                None => ValueId::NONE,
            },
        }
    }

    /// Narrows a generic address to the memory space that it is known to be in.
    fn narrowed(&self, space: Space, address: ValueId) -> (Space, ValueId) {
        let known = if space == Space::Generic { self.known_space(address) } else { None };
        known.unwrap_or((space, address))
    }

    pub(super) fn special(&mut self, address: ValueId) -> ValueId {
        let number = self.builder.function.number(address).unwrap_or(u64::MAX) / 4;
        if number == banks::STACK_LIMIT {
            return self.number(0, 32);
        }
        if let Some(special) = banks::of_register(number) {
            return self.leaf(Op::Special(special), 32);
        }
        match banks::timer(number) {
            Some(timer) => self.call(Intrinsic::Time(timer), 32, &[]),
            None => self.unlifted(32),
        }
    }

    /// Returns the address in the variable that contains a byte of a constant bank.
    fn variable(&mut self, bank: u8, offset: u64) -> Option<ValueId> {
        let mut all = self.code.variables.iter().filter(|found| found.space == ObjectSpace::Constant(bank));
        let found = all.find(|found| (found.offset..found.offset + found.size).contains(&offset))?;
        let (name, inside) = (&*found.name, offset - found.offset);
        let symbol = self.symbol(name);
        let mut address = self.leaf(Op::Symbol(symbol), 64);
        if inside > 0 {
            let inside = self.number(inside, 64);
            address = self.make(Op::Add, 64, &[address, inside]);
        }
        Some(address)
    }

    pub(super) fn constant_load(&mut self, address: ValueId, width: u8) -> ValueId {
        let function = &self.builder.function;
        if let Some(bank_and_offset) = function.number(address) {
            return self.constant(bank_and_offset, width);
        }
        let offset = function.number(function.input(address, 1));
        if let (Op::Add, Some(bank_and_offset)) = (function.op(address), offset) {
            let base = function.input(address, 0);
            // A negative offset borrows from the bank's number above it.
            let bank = self.indexed_bank().unwrap_or((bank_and_offset >> 16) as u8);
            let offset = bank_and_offset.wrapping_sub(u64::from(bank) << 16);
            // `pass::constants` finds the variable.
            if bank != 0 && !self.code.has_bank(bank) {
                return self.unlifted(width);
            }
            let offset = self.number(inside(bank, offset) & 0xffff_ffff, 32);
            let address = self.make(Op::Add, 32, &[base, offset]);
            return self.make(Op::Load(Space::Constant(bank)), width, &[address]);
        }
        let offset = self.number(inside(0, 0), 32);
        let address = self.make(Op::Add, 32, &[address, offset]);
        self.make(Op::Load(Space::Constant(0)), width, &[address])
    }

    /// Returns the bank that the instruction reads at a computed offset.
    fn indexed_bank(&self) -> Option<u8> {
        let instruction = self.instruction.as_ref()?;
        let is_indexed = |kind| matches!(kind, OperandKind::ConstantIndexed | OperandKind::ConstantBranch);
        let operand = instruction.operands().find(|operand| is_indexed(operand.kind))?;
        u8::try_from(instruction.number(operand.bank)).ok()
    }

    /// Returns the function that a call calls: that which a relocation inserts, or a recursive one.
    pub(super) fn callee_name(&self, instruction: &Instruction) -> Option<&'a str> {
        let address = u64::from(self.address);
        let external = self.code.relocations.iter().find(|entry| entry.address == address);
        if let Some(external) = external {
            return Some(external.symbol);
        }
        let callee = self.flow.recursive_callee(instruction, address)?;
        if callee == self.code.entry {
            return Some(self.name);
        }
        let mut functions = self.code.functions.iter();
        functions.find(|function| function.address == callee).map(|function| function.name_in_c)
    }

    /// Returns the part of a symbol's address that a relocation inserts into the instruction.
    pub(super) fn relocated(&mut self, instruction: &Instruction) -> Option<ValueId> {
        let address = u64::from(self.address);
        let found = self.code.relocations.iter().find(|entry| entry.address == address).copied()?;
        // A move of an immediate has only that one number.
        if relocation_is_call(found.part) || !instruction.operation().name.starts_with("MOV") {
            return None;
        }
        let symbol = self.symbol(found.symbol);
        let whole = self.leaf(Op::Symbol(symbol), 64);
        let addend = self.number(found.addend, 64);
        let whole = if found.addend == 0 { whole } else { self.make(Op::Add, 64, &[whole, addend]) };
        let op = if found.part == AddressPart::Low { Op::Low } else { Op::High };
        Some(self.make(op, 32, &[whole]))
    }
}

/// Returns an offset in a bank as printed: in bank 0 relative to the parameters.
fn inside(bank: u8, offset: u64) -> u64 {
    if bank == 0 { offset.wrapping_sub(banks::PARAMETERS) } else { offset }
}

fn operator(code: Pcode) -> Option<Op> {
    Some(match code {
        Pcode::Add => Op::Add,
        Pcode::Sub => Op::Sub,
        Pcode::Mul => Op::Mul,
        Pcode::And => Op::And,
        Pcode::Or => Op::Or,
        Pcode::Xor => Op::Xor,
        Pcode::ShiftLeft => Op::Shl,
        Pcode::ShiftRight => Op::Shr,
        Pcode::ShiftRightSigned => Op::Sar,
        Pcode::Negate => Op::Neg,
        Pcode::Not => Op::Not,
        Pcode::Equal => Op::Equal,
        Pcode::NotEqual => Op::NotEqual,
        Pcode::Less => Op::Less,
        Pcode::LessEqual => Op::LessEqual,
        Pcode::SignedLess => Op::SignedLess,
        Pcode::SignedLessEqual => Op::SignedLessEqual,
        Pcode::Carry => Op::Carry,
        Pcode::SignedCarry => Op::SignedCarry,
        Pcode::SignedBorrow => Op::SignedBorrow,
        Pcode::BoolAnd => Op::BoolAnd,
        Pcode::BoolOr => Op::BoolOr,
        Pcode::BoolXor => Op::BoolXor,
        Pcode::BoolNot => Op::BoolNot,
        Pcode::ZeroExtend => Op::ZeroExtend,
        Pcode::SignExtend => Op::SignExtend,
        Pcode::Low => Op::Low,
        Pcode::High => Op::High,
        Pcode::Concat => Op::Concat,
        Pcode::PopCount => Op::PopCount,
        Pcode::LeadingZeros => Op::LeadingZeros,
        Pcode::FloatAdd => Op::FloatAdd,
        Pcode::FloatSub => Op::FloatSub,
        Pcode::FloatMul => Op::FloatMul,
        Pcode::FloatDiv => Op::FloatDiv,
        Pcode::FloatNegate => Op::FloatNegate,
        Pcode::FloatSqrt => Op::FloatSqrt,
        Pcode::FloatEqual => Op::FloatEqual,
        Pcode::FloatNotEqual => Op::FloatNotEqual,
        Pcode::FloatLess => Op::FloatLess,
        Pcode::FloatLessEqual => Op::FloatLessEqual,
        Pcode::FloatNan => Op::FloatNan,
        Pcode::FloatToFloat => Op::FloatConvert,
        Pcode::IntegerToFloat => Op::SignedToFloat,
        _ => return None,
    })
}

fn relocation_is_call(part: AddressPart) -> bool {
    part == AddressPart::Target
}
