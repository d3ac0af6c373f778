//! An interpreter for Ghidra's p-code.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use unshade::sass::semantics::table::Code;
use unshade::sass::semantics::{self, Fault, Host, Next, Space, State, functions};
use unshade::sass::table::{Isa, Kind};

use super::pcode::{Node, Op, PREDICATES};
use super::{Random, mixed};

/// Memory and functions whose results are hashes of the arguments, with a record of accesses.
pub(super) struct HashedMemory {
    seed: u64,
    pub(super) events: Vec<(String, Vec<u64>)>,
}

impl HashedMemory {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, events: Vec::new() }
    }
}

impl Host for HashedMemory {
    fn load(&mut self, space: Space, address: u64, width: u8) -> Result<u64, Fault> {
        let mut value = 0;
        for byte in (0..u64::from(width / 8)).rev() {
            value = value << 8
                | mixed(self.seed ^ address.wrapping_add(byte).wrapping_mul(31) ^ space as u64) & 0xff;
        }
        Ok(value)
    }

    fn store(&mut self, space: Space, address: u64, value: u64, width: u8) -> Result<(), Fault> {
        self.events.push((format!("{space:?}"), vec![address, value, u64::from(width)]));
        Ok(())
    }

    fn call(&mut self, name: &'static str, inputs: &[u64]) -> Result<u64, Fault> {
        self.events.push((name.to_owned(), inputs.to_vec()));
        Ok(inputs.iter().fold(mixed(self.seed ^ name.len() as u64), |sum, input| mixed(sum ^ input)))
    }
}

/// Returns a random state. Some numbers are special values: zero, ones, the limits of ranges, floating-point numbers.
pub(super) fn random_state(random: &mut Random, isa: &Isa) -> State {
    let mut state = State::default();
    let zero = zero_register(isa);
    for register in &mut state.registers[..zero] {
        let number = random.next();
        *register = match number % 8 {
            0 => 0,
            1 => u32::MAX,
            2 => 0x8000_0000,
            3 => (number >> 32) as u32 & 0x3f,
            4 => f32::to_bits((number >> 40) as f32 / 64.0 - 1000.0),
            _ => (number >> 32) as u32,
        };
    }
    for flag in &mut state.flags {
        *flag = random.next() & 1 == 1;
    }
    state
}

fn zero_register(isa: &Isa) -> usize {
    // Only operands of its encodings: the chips of a family share one list.
    let used = isa.encodings.iter().flat_map(|encoding| {
        let (start, count) = encoding.operands;
        &isa.lists[usize::from(start)..usize::from(start) + usize::from(count)]
    });
    let registers =
        used.map(|index| &isa.operands[usize::from(*index)]).filter(|operand| operand.kind == Kind::Register);
    let width = registers.map(|operand| isa.fields[usize::from(operand.value)].width).max().unwrap_or(8);
    (1 << width) - 1
}

/// Describes the first register or flag that differs.
pub(super) fn difference(ours: &State, theirs: &State) -> String {
    let registers = ours.registers.iter().zip(&theirs.registers).enumerate().find(|(_, (a, b))| a != b);
    let flags = ours.flags.iter().zip(&theirs.flags).zip(semantics::table::FLAGS).find(|((a, b), _)| a != b);
    match (registers, flags) {
        (Some((number, (a, b))), _) => format!("R{number}: {a:#x} and {b:#x}"),
        (None, Some(((a, b), name))) => format!("{name} is {a} and {b}"),
        _ => String::new(),
    }
}

/// The offsets of flags and predicates in SLEIGH's registers, in our order.
const FLAG_OFFSETS: [u64; 11] = [8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6];

/// Runs p-code on a state. Returns the next address and the accesses.
pub(super) fn run(
    ops: &[Op],
    start: &State,
    address: u64,
    seed: u64,
    isa: &Isa,
) -> Result<(State, Next, HashedMemory)> {
    let zero = zero_register(isa);
    let mut running = Running { bytes: HashMap::new(), host: HashedMemory::new(seed) };
    for (number, value) in start.registers.iter().enumerate().take(zero) {
        running.set("register", number as u64 * 4, u64::from(*value), 4);
    }
    for (offset, flag) in FLAG_OFFSETS.iter().zip(&start.flags) {
        running.set("register", PREDICATES + offset, u64::from(*flag), 1);
    }
    let next = running.run(ops, address)?;
    let mut state = State::default();
    for number in 0..zero {
        state.registers[number] = running.get("register", number as u64 * 4, 4) as u32;
    }
    for (offset, flag) in FLAG_OFFSETS.iter().zip(&mut state.flags) {
        *flag = running.get("register", PREDICATES + offset, 1) != 0;
    }
    Ok((state, next, running.host))
}

struct Running {
    bytes: HashMap<(String, u64), u8>,
    host: HashedMemory,
}

impl Running {
    fn get(&self, space: &str, offset: u64, bytes: usize) -> u64 {
        (0..bytes as u64).rev().fold(0, |value, byte| {
            value << 8 | u64::from(self.bytes.get(&(space.to_owned(), offset + byte)).copied().unwrap_or(0))
        })
    }

    fn set(&mut self, space: &str, offset: u64, value: u64, bytes: usize) {
        for (byte, value) in value.to_le_bytes().into_iter().enumerate().take(bytes) {
            self.bytes.insert((space.to_owned(), offset + byte as u64), value);
        }
    }

    fn read(&mut self, node: &Node) -> Result<u64> {
        Ok(match node.space.as_str() {
            "const" => node.offset & mask(node.bytes),
            "register" | "unique" => self.get(&node.space, node.offset, node.bytes),
            name => self.host.load(space(name)?, node.offset, node.bytes as u8 * 8).map_err(fault)?,
        })
    }

    fn run(&mut self, ops: &[Op], address: u64) -> Result<Next> {
        let mut at = 0_usize;
        let place = |to: u64| if to == address + 8 { Next::Following } else { Next::Goto(to) };
        while let Some(op) = ops.get(at) {
            let first = op.inputs.first();
            match op.name.as_str() {
                "BRANCH" | "CBRANCH" => {
                    let target = first.context("a target")?.clone();
                    let taken = match op.inputs.get(1) {
                        Some(condition) => self.read(condition)? & 0xff != 0,
                        None => true,
                    };
                    match (taken, target.space.as_str()) {
                        (false, _) => at += 1,
                        (true, "const") => {
                            let by = i32::try_from(target.offset.cast_signed())
                                .unwrap_or(target.offset as u32 as i32);
                            at = usize::try_from(at as i64 + i64::from(by))?;
                        }
                        (true, _) => return Ok(place(target.offset)),
                    }
                    continue;
                }
                "BRANCHIND" => {
                    let to = self.read(first.context("a target")?)?;
                    return Ok(place(to));
                }
                "CALL" => return Ok(Next::Call(first.context("a target")?.offset)),
                "CALLIND" => {
                    let to = self.read(first.context("a target")?)?;
                    return Ok(Next::Call(to));
                }
                // The second of the two registers that hold return addresses.
                "RETURN" => {
                    return Ok(if first.is_some_and(|node| node.offset % 16 == 8) {
                        Next::Exit
                    } else {
                        Next::Return
                    });
                }
                _ => {}
            }
            let result = self.operation(op)?;
            if let (Some(output), Some(result)) = (&op.output, result) {
                self.set(&output.space, output.offset, result, output.bytes);
            }
            at += 1;
        }
        Ok(Next::Following)
    }

    fn operation(&mut self, op: &Op) -> Result<Option<u64>> {
        let out = op.output.as_ref().map_or(4, |node| node.bytes);
        let bits = |bytes: usize| bytes as u8 * 8;
        match op.name.as_str() {
            "LOAD" => {
                let address = self.read(&op.inputs[1])?;
                return self
                    .host
                    .load(space(&op.inputs[0].space)?, address, bits(out))
                    .map(Some)
                    .map_err(fault);
            }
            "STORE" => {
                let (address, value) = (self.read(&op.inputs[1])?, self.read(&op.inputs[2])?);
                let width = bits(op.inputs[2].bytes);
                self.host.store(space(&op.inputs[0].space)?, address, value, width).map_err(fault)?;
                return Ok(None);
            }
            _ => {}
        }
        let values = op.inputs.iter().map(|input| self.read(input)).collect::<Result<Vec<u64>>>()?;
        if op.name == "CALLOTHER" {
            let function = functions().get(values[0] as usize).context("a function")?;
            let result = match functions::call(function.name, &values[1..]) {
                Some(result) if function.pure => result,
                _ => self.host.call(function.name, &values[1..]).map_err(fault)?,
            };
            return Ok(Some(if function.output == 1 { result & 1 } else { result }));
        }
        if op.name == "SUBPIECE" {
            return Ok(Some(values[0] >> (values[1] * 8)));
        }
        let code = operator(&op.name).with_context(|| op.name.clone())?;
        let width = bits(op.inputs[0].bytes);
        Ok(Some(semantics::operate(code, &values, width, bits(out)).with_context(|| op.name.clone())?))
    }
}

fn fault(fault: Fault) -> anyhow::Error {
    anyhow::anyhow!("{fault:?}")
}

fn mask(bytes: usize) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (bytes * 8)) - 1 }
}

fn space(name: &str) -> Result<Space> {
    Ok(match name {
        "ram" => Space::Ram,
        "local_memory" => Space::Local,
        "shared" => Space::Shared,
        "constant" => Space::Constant,
        "special" => Space::Special,
        _ => bail!("unknown space '{name}'"),
    })
}

/// Maps Ghidra's operator names to ours.
fn operator(name: &str) -> Option<Code> {
    Some(match name {
        "COPY" => Code::Copy,
        "INT_ADD" => Code::Add,
        "INT_SUB" => Code::Sub,
        "INT_MULT" => Code::Mul,
        "INT_AND" => Code::And,
        "INT_OR" => Code::Or,
        "INT_XOR" => Code::Xor,
        "INT_LEFT" => Code::ShiftLeft,
        "INT_RIGHT" => Code::ShiftRight,
        "INT_SRIGHT" => Code::ShiftRightSigned,
        "INT_2COMP" => Code::Negate,
        "INT_NEGATE" => Code::Not,
        "INT_EQUAL" => Code::Equal,
        "INT_NOTEQUAL" => Code::NotEqual,
        "INT_LESS" => Code::Less,
        "INT_LESSEQUAL" => Code::LessEqual,
        "INT_SLESS" => Code::SignedLess,
        "INT_SLESSEQUAL" => Code::SignedLessEqual,
        "INT_CARRY" => Code::Carry,
        "INT_SCARRY" => Code::SignedCarry,
        "INT_SBORROW" => Code::SignedBorrow,
        "BOOL_AND" => Code::BoolAnd,
        "BOOL_OR" => Code::BoolOr,
        "BOOL_XOR" => Code::BoolXor,
        "BOOL_NEGATE" => Code::BoolNot,
        "INT_ZEXT" => Code::ZeroExtend,
        "INT_SEXT" => Code::SignExtend,
        "POPCOUNT" => Code::PopCount,
        "LZCOUNT" => Code::LeadingZeros,
        "FLOAT_ADD" => Code::FloatAdd,
        "FLOAT_SUB" => Code::FloatSub,
        "FLOAT_MULT" => Code::FloatMul,
        "FLOAT_DIV" => Code::FloatDiv,
        "FLOAT_EQUAL" => Code::FloatEqual,
        "FLOAT_NOTEQUAL" => Code::FloatNotEqual,
        "FLOAT_LESS" => Code::FloatLess,
        "FLOAT_LESSEQUAL" => Code::FloatLessEqual,
        "FLOAT_NAN" => Code::FloatNan,
        "FLOAT_FLOAT2FLOAT" => Code::FloatToFloat,
        "FLOAT_INT2FLOAT" => Code::IntegerToFloat,
        "FLOAT_TRUNC" => Code::FloatTruncate,
        _ => return None,
    })
}
