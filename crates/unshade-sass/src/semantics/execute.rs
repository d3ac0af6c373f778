//! The p-code interpreter.

use alloc::vec::Vec;

use super::lift::{Lifted, masked};
use super::table::{Code, FIRST_PREDICATE, FLAGS};
use super::{Space, Varnode, functions};

/// The registers and flags of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// General registers; the last one, `RZ`, is neither read nor written.
    pub registers: [u32; 256],
    /// The condition code and the predicates, in the order of [`FLAGS`].
    pub flags: [bool; FLAGS.len()],
}

impl Default for State {
    fn default() -> Self {
        Self { registers: [0; 256], flags: [false; FLAGS.len()] }
    }
}

impl State {
    /// Returns a predicate; those from 7 on are true.
    pub fn predicate(&self, number: usize) -> bool {
        self.flags
            .get(number.saturating_add(usize::try_from(FIRST_PREDICATE).unwrap_or(0)))
            .copied()
            .unwrap_or(true)
    }
}

/// The environment of a thread: memory, and the functions that are not pure.
pub trait Host {
    /// Reads `width` bits.
    ///
    /// # Errors
    ///
    /// If the address can't be read.
    fn load(&mut self, space: Space, address: u64, width: u8) -> Result<u64, Fault>;

    /// Writes `width` bits.
    ///
    /// # Errors
    ///
    /// If the address can't be written.
    fn store(&mut self, space: Space, address: u64, value: u64, width: u8) -> Result<(), Fault>;

    /// Calls a function by name; the result is truncated to the function's output width.
    ///
    /// # Errors
    ///
    /// If it can't be called.
    fn call(&mut self, name: &'static str, inputs: &[u64]) -> Result<u64, Fault>;
}

/// Why an instruction could not be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The host can't access this address.
    Address(Space, u64),
    /// The host does not know this function.
    Function(&'static str),
    /// The p-code is not valid.
    Malformed,
}

/// Where execution continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At the next instruction.
    Following,
    /// At an address.
    Goto(u64),
    /// At an address, and after its return at the next instruction.
    Call(u64),
    /// After the call.
    Return,
    /// Nowhere: the thread has exited.
    Exit,
}

/// Executes an instruction's p-code.
///
/// # Errors
///
/// Errors of the host, and p-code that is not valid.
pub fn execute<H: Host + ?Sized>(lifted: &Lifted, state: &mut State, host: &mut H) -> Result<Next, Fault> {
    let temporaries = lifted
        .ops()
        .iter()
        .flat_map(|op| op.output)
        .filter(|output| output.space == Space::Temporary)
        .map(|output| output.offset);
    let count = temporaries.max().map_or(0, |last| last.saturating_add(1));
    let mut running =
        Running { state, host, temporaries: alloc::vec![0; usize::try_from(count).unwrap_or(0)] };
    let mut at = 0;
    let mut values: Vec<u64> = Vec::new();
    while let Some(op) = lifted.ops().get(at) {
        at = at.saturating_add(1);
        values.clear();
        let inputs = lifted.inputs(op);
        for input in inputs {
            values.push(running.read(*input)?);
        }
        let first = values.first().copied().unwrap_or(0);
        let width = inputs.first().map_or(32, |input| input.width);
        let result = match op.code {
            Code::Branch => {
                at = usize::from(op.to);
                continue;
            }
            Code::BranchUnless => {
                if first == 0 {
                    at = usize::from(op.to);
                }
                continue;
            }
            Code::Goto => return Ok(Next::Goto(first)),
            Code::Call => return Ok(Next::Call(first)),
            Code::Return => return Ok(Next::Return),
            Code::Exit => return Ok(Next::Exit),
            Code::Load(space) => {
                running.host.load(space, first, op.output.map_or(32, |output| output.width))?
            }
            Code::Store(space) => {
                let (value, width) =
                    (values.get(1).copied().unwrap_or(0), inputs.get(1).map_or(32, |input| input.width));
                running.host.store(space, first, value, width)?;
                continue;
            }
            Code::Function(index) => {
                let function = functions().get(usize::from(index)).ok_or(Fault::Malformed)?;
                match functions::call(function.name, &values) {
                    Some(result) if function.pure => result,
                    _ => running.host.call(function.name, &values)?,
                }
            }
            code => operate(code, &values, width, op.output.map_or(32, |output| output.width))
                .ok_or(Fault::Malformed)?,
        };
        if let Some(output) = op.output {
            running.write(output, masked(result, output.width))?;
        }
    }
    Ok(Next::Following)
}

struct Running<'a, H: ?Sized> {
    state: &'a mut State,
    host: &'a mut H,
    temporaries: Vec<u64>,
}

impl<H: Host + ?Sized> Running<'_, H> {
    fn read(&mut self, varnode: Varnode) -> Result<u64, Fault> {
        let index = usize::try_from(varnode.offset).unwrap_or(usize::MAX);
        match varnode.space {
            Space::Number => Ok(varnode.offset),
            Space::Register => {
                let low = u64::from(self.state.registers.get(index).copied().ok_or(Fault::Malformed)?);
                if varnode.width <= 32 {
                    return Ok(low);
                }
                let high =
                    self.state.registers.get(index.saturating_add(1)).copied().ok_or(Fault::Malformed)?;
                Ok(u64::from(high).wrapping_shl(32) | low)
            }
            Space::Flag => self.state.flags.get(index).copied().map(u64::from).ok_or(Fault::Malformed),
            Space::Temporary => self.temporaries.get(index).copied().ok_or(Fault::Malformed),
            space => self.host.load(space, varnode.offset, varnode.width),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "splits a 64-bit value in halves")]
    fn write(&mut self, varnode: Varnode, value: u64) -> Result<(), Fault> {
        let index = usize::try_from(varnode.offset).unwrap_or(usize::MAX);
        match varnode.space {
            Space::Register => {
                *self.state.registers.get_mut(index).ok_or(Fault::Malformed)? = value as u32;
                if varnode.width > 32 {
                    let high =
                        self.state.registers.get_mut(index.saturating_add(1)).ok_or(Fault::Malformed)?;
                    *high = value.wrapping_shr(32) as u32;
                }
            }
            Space::Flag => *self.state.flags.get_mut(index).ok_or(Fault::Malformed)? = value != 0,
            Space::Temporary => *self.temporaries.get_mut(index).ok_or(Fault::Malformed)? = value,
            _ => return Err(Fault::Malformed),
        }
        Ok(())
    }
}

/// Sign-extends a number of a width.
fn signed(value: u64, width: u8) -> i64 {
    let unused = 64_u32.saturating_sub(u32::from(width));
    value.wrapping_shl(unused).cast_signed().wrapping_shr(unused)
}

/// Evaluates a p-code operator on inputs of `width` bits. The caller truncates the result to `out` bits.
///
/// Returns `None` if the code is not an operator on values.
#[inline]
pub fn operate(code: Code, inputs: &[u64], width: u8, out: u8) -> Option<u64> {
    let first = inputs.first().copied().unwrap_or(0);
    let second = inputs.get(1).copied().unwrap_or(0);
    let (a, b) = (signed(first, width), signed(second, width));
    let bits = u32::from(width);
    let shift = u32::try_from(second).unwrap_or(u32::MAX);
    let truth = u64::from;
    Some(match code {
        Code::Copy | Code::ZeroExtend | Code::Low => first,
        Code::Add => first.wrapping_add(second),
        Code::Sub => first.wrapping_sub(second),
        Code::Mul => first.wrapping_mul(second),
        Code::And => first & second,
        Code::Or => first | second,
        Code::Xor => first ^ second,
        Code::ShiftLeft => {
            if shift < bits {
                first.wrapping_shl(shift)
            } else {
                0
            }
        }
        Code::ShiftRight => {
            if shift < bits {
                first.wrapping_shr(shift)
            } else {
                0
            }
        }
        Code::ShiftRightSigned => a.wrapping_shr(shift.min(bits.saturating_sub(1))).cast_unsigned(),
        Code::Negate => first.wrapping_neg(),
        Code::Not => !first,
        Code::Equal => truth(first == second),
        Code::NotEqual => truth(first != second),
        Code::Less => truth(first < second),
        Code::LessEqual => truth(first <= second),
        Code::SignedLess => truth(a < b),
        Code::SignedLessEqual => truth(a <= b),
        Code::Carry => truth(masked(first.wrapping_add(second), width) < first),
        Code::SignedCarry => truth(
            signed(first.wrapping_add(second), width).wrapping_sub(a) != b || a.checked_add(b).is_none(),
        ),
        Code::SignedBorrow => {
            truth(a.checked_sub(b).is_none_or(|exact| exact != signed(first.wrapping_sub(second), width)))
        }
        Code::BoolAnd => truth(first != 0 && second != 0),
        Code::BoolOr => truth(first != 0 || second != 0),
        Code::BoolXor => truth((first != 0) != (second != 0)),
        Code::BoolNot => truth(first == 0),
        Code::SignExtend => a.cast_unsigned(),
        Code::High => first.wrapping_shr(u32::from(out)),
        Code::Concat => first.wrapping_shl(bits) | second,
        Code::PopCount => u64::from(first.count_ones()),
        Code::LeadingZeros => u64::from(first.leading_zeros().saturating_sub(64_u32.saturating_sub(bits))),
        _ => return floating(code, first, second, width, out),
    })
}

#[expect(clippy::cast_possible_truncation, reason = "32-bit values in a u64")]
fn floating(code: Code, first: u64, second: u64, width: u8, out: u8) -> Option<u64> {
    let truth = u64::from;
    let (a, b) = (functions::wide(first, width), functions::wide(second, width));
    Some(match code {
        Code::FloatEqual => truth(a == b),
        Code::FloatNotEqual => truth(a != b),
        Code::FloatLess => truth(a < b),
        Code::FloatLessEqual => truth(a <= b),
        Code::FloatNan => truth(a.is_nan()),
        Code::FloatToFloat => functions::narrow(a, out),
        Code::IntegerToFloat if out == 32 => functions::single(signed(first, width) as f32),
        Code::IntegerToFloat => functions::double(signed(first, width) as f64),
        Code::FloatTruncate if out == 32 => u64::from((a as i32).cast_unsigned()),
        Code::FloatTruncate => (a as i64).cast_unsigned(),
        Code::FloatNegate => first ^ 1_u64.wrapping_shl(u32::from(width).wrapping_sub(1)),
        Code::FloatSqrt if width == 32 => functions::single(libm::sqrtf(f32::from_bits(first as u32))),
        Code::FloatSqrt => functions::double_of(libm::sqrt(a), &[first]),
        _ if width == 32 => {
            let (a, b) = (f32::from_bits(first as u32), f32::from_bits(second as u32));
            functions::single(match code {
                Code::FloatAdd => a + b,
                Code::FloatSub => a - b,
                Code::FloatMul => a * b,
                Code::FloatDiv => a / b,
                _ => return None,
            })
        }
        _ => {
            let value = match code {
                Code::FloatAdd => a + b,
                Code::FloatSub => a - b,
                Code::FloatMul => a * b,
                Code::FloatDiv => a / b,
                _ => return None,
            };
            functions::double_of(value, &[first, second])
        }
    })
}
