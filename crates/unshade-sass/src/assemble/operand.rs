//! Operands in the text of an instruction.

use alloc::format;

use super::attempt::{Attempt, Bits};
use crate::number::refused;
use crate::table::{Kind, NONE, Operand};

impl Attempt<'_> {
    /// Matches an operand, then the rest of the text.
    pub(super) fn operand(
        &mut self,
        operand: &Operand,
        at: usize,
        bits: Bits,
        mut follow: impl FnMut(&mut Self, usize, Bits) -> Option<Bits>,
    ) -> Option<Bits> {
        if operand.kind.is_nonzero()
            && let Some((end, bits)) = self.refused(operand.value, self.skip(at), bits)
        {
            return follow(self, end, bits);
        }
        let (next, bits) = match operand.kind {
            Kind::Guard | Kind::UniformGuard => self.guard(operand, at, bits)?,
            Kind::Register
            | Kind::UniformRegister
            | Kind::Constant
            | Kind::ConstantSpaced
            | Kind::ConstantUniform
            | Kind::ConstantBindless
            | Kind::ConstantBindlessSpaced => {
                let (position, bits) = self.signs(operand, self.skip(at), bits)?;
                let (position, bits) = match operand.kind {
                    Kind::Register => self.register(operand.value, position, 0, bits)?,
                    Kind::UniformRegister => self.uniform_register(operand.value, position, 0, bits)?,
                    Kind::ConstantUniform => self.constant_indexed(operand, position, bits)?,
                    Kind::ConstantBindless | Kind::ConstantBindlessSpaced => {
                        self.constant_bindless(operand, position, bits)?
                    }
                    _ => self.constant(operand, position, bits)?,
                };
                return self.after_signed(operand, at, position, bits, follow);
            }
            Kind::LeadingRegister | Kind::LeadingUniformRegister => {
                let start = self.skip(at);
                let read = match operand.kind {
                    Kind::LeadingRegister => self.register(operand.value, start, 0, bits),
                    _ => self.uniform_register(operand.value, start, 0, bits),
                };
                let read = read.and_then(|(end, bits)| Some((self.literal(", ", end)?, bits)));
                return self.present_or_absent(operand, read, at, bits, follow);
            }
            Kind::UniformRegisterPlus1 | Kind::UniformRegisterPlus2 => {
                self.uniform_register(operand.value, self.skip(at), operand.kind.register_offset(), bits)?
            }
            Kind::UniformAddress => self.uniform_address(operand, self.skip(at), bits)?,
            Kind::NonzeroRegister => self.register(operand.value, self.skip(at), 0, bits)?,
            Kind::NonzeroUniformRegister => self.uniform_register(operand.value, self.skip(at), 0, bits)?,
            Kind::RegisterPlus1 => self.register(operand.value, self.skip(at), 1, bits)?,
            Kind::RegisterPlus2 => self.register(operand.value, self.skip(at), 2, bits)?,
            Kind::LeadingPredicate | Kind::LeadingInversePredicate | Kind::LeadingUniformPredicate => {
                let read = self.predicate(operand, self.skip(at), bits);
                let read = read.and_then(|(end, bits)| Some((self.literal(", ", end)?, bits)));
                return self.present_or_absent(operand, read, at, bits, follow);
            }
            Kind::TrailingPredicate => match self.predicate(operand, self.skip(at), bits) {
                Some(read) => read,
                None => (at, self.absent(operand, bits)?),
            },
            Kind::BitSet => self.bit_set(operand, ", {", at, bits)?,
            Kind::TrailingBitSet => self.bit_set(operand, " {", at, bits)?,
            Kind::OptionalRegister
            | Kind::OptionalUniformRegister
            | Kind::OptionalPredicate
            | Kind::OptionalUniformPredicate
            | Kind::InversePredicate
            | Kind::InverseUniformPredicate => {
                let read = self.literal(", ", at).and_then(|position| match operand.kind {
                    Kind::OptionalRegister => self.register(operand.value, position, 0, bits),
                    Kind::OptionalUniformRegister => self.uniform_register(operand.value, position, 0, bits),
                    _ => self.predicate(operand, position, bits),
                });
                return self.present_or_absent(operand, read, at, bits, follow);
            }
            Kind::Predicate
            | Kind::NonzeroPredicate
            | Kind::FullInversePredicate
            | Kind::UniformPredicate => self.predicate(operand, self.skip(at), bits)?,
            Kind::Barrier => self.numbered("B", operand.value, self.skip(at), bits)?,
            Kind::Scoreboard => self.numbered("SB", operand.value, self.skip(at), bits)?,
            Kind::ConstantIndexed | Kind::ConstantBranch => {
                self.constant_indexed(operand, self.skip(at), bits)?
            }
            Kind::Memory
            | Kind::Address
            | Kind::ScaledAddress
            | Kind::BaseAddress
            | Kind::BaseAddressPlus1
            | Kind::HiddenDescriptor => return self.memory(operand, self.skip(at), bits, follow),
            Kind::Integer | Kind::NegatedInteger => {
                let start = self.skip(at);
                let (position, value) = self.inserted(start).or_else(|| self.integer(start))?;
                let with = self.signed_integer(operand, start, value, bits)?;
                return self.after_immediate(operand, position, with, follow);
            }
            Kind::OptionalInteger | Kind::TrailingInteger => {
                let separator = if operand.kind == Kind::OptionalInteger { ", " } else { " " };
                let read = self.literal(separator, at).and_then(|position| self.integer(position));
                match read.filter(|read| read.1 != 0) {
                    Some((position, value)) => (position, self.put(operand.value, value, at, bits)?),
                    None => (at, self.put(operand.value, 0, at, bits)?),
                }
            }
            Kind::OptionalMask => {
                let read = self.literal(", ", at).and_then(|position| self.integer(position));
                let read = match read {
                    Some((position, value)) => Some((position, self.put(operand.value, value, at, bits)?)),
                    None => None,
                };
                return self.present_or_absent(operand, read, at, bits, follow);
            }
            Kind::Float32 | Kind::Float64 | Kind::Float16 => {
                let (position, number) = self.float(operand, self.skip(at))?;
                let number = self.with_payload(operand, number);
                let with = self.put_bits(operand.value, number, at, bits)?;
                return self.after_immediate(operand, position, with, follow);
            }
            Kind::Relative | Kind::Absolute => {
                let start = self.skip(at);
                if let Some((end, addend)) = self.inserted(start) {
                    let with = self.put(operand.value, addend, start, bits)?;
                    return follow(self, end, with);
                }
                let (position, target) = self.integer(start)?;
                let next = self.address.wrapping_add(self.isa.word_bytes as u64).cast_signed();
                let value = if operand.kind == Kind::Relative { target.wrapping_sub(next) } else { target };
                (position, self.put(operand.value, value, start, bits)?)
            }
        };
        follow(self, next, bits)
    }

    /// Matches the rest after an operand that was read, or else without it.
    fn present_or_absent(
        &mut self,
        operand: &Operand,
        read: Option<(usize, Bits)>,
        at: usize,
        bits: Bits,
        mut follow: impl FnMut(&mut Self, usize, Bits) -> Option<Bits>,
    ) -> Option<Bits> {
        if let Some((next, with)) = read
            && let Some(found) = follow(self, next, with)
        {
            return Some(found);
        }
        let bits = self.absent(operand, bits)?;
        follow(self, at, bits)
    }

    /// Sets an operand that is not in the text: `PT` or `RZ`.
    fn absent(&mut self, operand: &Operand, bits: Bits) -> Option<Bits> {
        let number = if operand.kind.is_inverse() { 0 } else { u64::MAX };
        let bits = bits.with(self.field(operand.value)?, number)?;
        self.flag(operand.not, false, bits)
    }

    /// Matches `{3,1}`, or nothing.
    fn bit_set(&mut self, operand: &Operand, start: &str, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let Some(start) = self.literal(start, at) else {
            return Some((at, self.put(operand.value, 0, at, bits)?));
        };
        let rest = self.rest(start);
        let length = rest.find('}')?;
        let mut set = 0_i64;
        for number in rest.get(..length)?.split(',') {
            set |= 1_i64.checked_shl(number.trim().parse().ok()?)?;
        }
        let end = start.saturating_add(length).saturating_add(1);
        Some((end, self.put(operand.value, set, start, bits)?))
    }

    fn guard(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        match self.strip("@", at) {
            Some(position) => {
                let (position, bits) = self.predicate(operand, position, bits)?;
                Some((self.skip(position), bits))
            }
            None => {
                let bits = self.put(operand.value, 7, at, bits)?;
                Some((at, self.flag(operand.not, false, bits)?))
            }
        }
    }

    fn predicate(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let not = self.strip("!", at);
        let position = not.unwrap_or(at);
        let (prefix, what) = match operand.kind.is_uniform_predicate() {
            true => ("UP", "a uniform predicate"),
            false => ("P", "a predicate"),
        };
        let start = self.strip(prefix, position);
        let number = match start.and_then(|start| self.rest(start).bytes().next()) {
            Some(b'T') => 7,
            Some(digit @ b'0'..=b'6') => i64::from(digit.wrapping_sub(b'0')),
            _ => {
                self.furthest.expected(position, what);
                return None;
            }
        };
        let number = if operand.kind.is_inverse() { number ^ 7 } else { number };
        let bits = self.put(operand.value, number, at, bits)?;
        let end = start?.saturating_add(1);
        Some((end, self.flag(operand.not, not.is_some(), bits)?))
    }

    /// Matches what is printed for the last register or predicate of a field where it is not valid.
    fn refused(&self, part: u16, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        self.strip("???", at)?;
        let field = self.field(part)?;
        Some((self.strip(refused(field.width).as_str(), at)?, bits.with(field, u64::MAX)?))
    }

    /// Matches the signs `-`, `~` and `|` before an operand.
    fn signs(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let mut position = at;
        let mut bits = bits;
        for (part, sign) in [(operand.negate, "-"), (operand.invert, "~"), (operand.absolute, "|")] {
            let taken = self.strip(sign, position).filter(|_| part != NONE);
            bits = self.flag(part, taken.is_some(), bits)?;
            position = taken.unwrap_or(position);
        }
        Some((position, bits))
    }

    /// Matches the selected part of a register and the closing `|`, then the rest.
    fn after_signed(
        &mut self,
        operand: &Operand,
        start: usize,
        at: usize,
        bits: Bits,
        mut follow: impl FnMut(&mut Self, usize, Bits) -> Option<Bits>,
    ) -> Option<Bits> {
        let signs = self.text.get(start..at).unwrap_or("");
        let has_bars = operand.absolute != NONE && signs.trim_start_matches([' ', '-', '~']).starts_with('|');
        let finish = |attempt: &mut Self, position: usize, bits: Bits| {
            let position = if has_bars { attempt.literal("|", position)? } else { position };
            let reuse = attempt.strip(".reuse", position).filter(|_| operand.reuse != NONE);
            let bits = attempt.flag(operand.reuse, reuse.is_some(), bits)?;
            let position = reuse.unwrap_or(position);
            match attempt.field(operand.suffix) {
                Some(field) => attempt.modifier(field, position, bits, &mut follow),
                None => follow(attempt, position, bits),
            }
        };
        match self.field(operand.select) {
            Some(field) => self.modifier(field, at, bits, finish),
            None => {
                let mut finish = finish;
                finish(self, at, bits)
            }
        }
    }

    /// Matches a uniform register; `plus` is added to the encoded number.
    fn uniform_register(&mut self, part: u16, at: usize, plus: u64, bits: Bits) -> Option<(usize, Bits)> {
        let field = self.field(part)?;
        let zero = 1_u64.checked_shl(u32::from(field.width))?.wrapping_sub(1);
        if let Some(position) = self.strip("URZ", at) {
            return Some((position, bits.with_zero(field, zero, plus)?));
        }
        let (position, number) = self.number_after("UR", at)?;
        if number >= zero && plus == 0 || number > zero.wrapping_add(plus) || number < plus {
            self.furthest.expected(at, &format!("a register up to UR{}", zero.wrapping_sub(1)));
            return None;
        }
        Some((position, bits.with(field, number.wrapping_sub(plus))?))
    }

    /// Matches `[UR4+0x10]`, `[URZ]` or `[0x10]`.
    fn uniform_address(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let start = self.literal("[", at)?;
        let (position, bits) = self.uniform_terms(operand, start, bits)?;
        Some((self.literal("]", position)?, bits))
    }

    /// Matches `UR4+0x10`, or an offset without a register.
    fn uniform_terms(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        if self.rest(at).starts_with('U') {
            let (position, bits) = self.uniform_register(operand.uniform, at, 0, bits)?;
            return self.plus_offset(operand, position, bits);
        }
        let (position, offset) = self.integer(at)?;
        let bits = bits.with(self.field(operand.uniform)?, u64::MAX)?;
        Some((position, self.put(operand.offset, offset, at, bits)?))
    }

    /// Matches a register with a prefix.
    fn numbered(&mut self, prefix: &str, part: u16, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let (position, number) = self.number_after(prefix, at)?;
        Some((position, self.put(part, number.cast_signed(), at, bits)?))
    }

    /// Matches a prefix and a decimal number.
    fn number_after(&mut self, prefix: &str, at: usize) -> Option<(usize, u64)> {
        let Some(position) = self.strip(prefix, at) else {
            self.furthest.expected(at, &format!("{prefix} and a number"));
            return None;
        };
        self.decimal(position)
    }

    fn decimal(&self, at: usize) -> Option<(usize, u64)> {
        let rest = self.rest(at);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        Some((at.saturating_add(digits), rest.get(..digits)?.parse().ok()?))
    }

    fn register(&mut self, part: u16, at: usize, plus: u64, bits: Bits) -> Option<(usize, Bits)> {
        let field = self.field(part)?;
        let zero = 1_u64.checked_shl(u32::from(field.width))?.wrapping_sub(1);
        let Some(position) = self.strip("R", at) else {
            self.furthest.expected(at, "a register");
            return None;
        };
        if let Some(position) = self.strip("Z", position) {
            return Some((position, bits.with_zero(field, zero, plus)?));
        }
        let (end, number) = self.decimal(position)?;
        if number.checked_sub(plus)? >= zero {
            self.furthest.expected(at, &format!("a register up to R{}", zero.wrapping_sub(1)));
            return None;
        }
        Some((end, bits.with(field, number.wrapping_sub(plus))?))
    }

    /// Sets a field to a number, whose sign may be a separate bit.
    fn signed_integer(&mut self, operand: &Operand, at: usize, value: i64, bits: Bits) -> Option<Bits> {
        if operand.kind != Kind::NegatedInteger {
            return self.put(operand.value, value, at, bits);
        }
        let bits = self.put(operand.value, value.wrapping_abs(), at, bits)?;
        self.flag(operand.negate, value < 0, bits)
    }

    /// Matches `.INV`, `.NEG`, `.ABS` and the selected part, then the rest.
    fn after_immediate(
        &mut self,
        operand: &Operand,
        at: usize,
        bits: Bits,
        mut follow: impl FnMut(&mut Self, usize, Bits) -> Option<Bits>,
    ) -> Option<Bits> {
        let mut position = at;
        let mut bits = bits;
        if operand.kind != Kind::NegatedInteger {
            for (part, suffix) in
                [(operand.invert, ".INV"), (operand.negate, ".NEG"), (operand.absolute, ".ABS")]
            {
                // nvdisasm prints a space after infinities and NaNs.
                let taken = self.strip(suffix, self.skip(position)).filter(|_| part != NONE);
                bits = self.flag(part, taken.is_some(), bits)?;
                position = taken.unwrap_or(position);
            }
        }
        match self.field(operand.select) {
            Some(field) => self.modifier(field, position, bits, follow),
            None => follow(self, position, bits),
        }
    }

    fn constant(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let position = self.literal("c[", at)?;
        if let Some((end, addend)) = self.inserted(position) {
            let bits = self.put(operand.bank, 0, position, bits)?;
            let bits = self.put(operand.offset, addend, position, bits)?;
            return Some((self.literal("]", end)?, bits));
        }
        let (position, bank) = self.integer(position)?;
        let bits = self.put(operand.bank, bank, at, bits)?;
        let position = self.literal("] [", position)?;
        let (end, offset) = self.integer(position)?;
        let bits = self.put(operand.offset, offset, position, bits)?;
        Some((self.literal("]", end)?, bits))
    }

    /// Matches `c[0x0][R2+0x10]` or `c[0x0][UR4+0x10]`.
    fn constant_indexed(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let position = self.literal("c[", at)?;
        let (position, bank) = self.integer(position)?;
        let bits = self.put(operand.bank, bank, at, bits)?;
        let position = self.literal("][", position)?;
        let (position, bits) = match operand.kind {
            Kind::ConstantUniform => self.uniform_terms(operand, position, bits)?,
            _ => self.base_and_offset(operand, position, bits)?,
        };
        Some((self.literal("]", position)?, bits))
    }

    /// Matches `cx[UR4][0x10]`, `cx[UR4][R2+0x10]`.
    fn constant_bindless(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let position = self.literal("cx[", at)?;
        let (position, bits) = self.uniform_register(operand.uniform, position, 0, bits)?;
        let position = self.literal("] [", position)?;
        let (end, bits) = match operand.base {
            NONE => {
                let (end, offset) = self.integer(position)?;
                (end, self.put(operand.offset, offset, position, bits)?)
            }
            _ => self.base_and_offset(operand, position, bits)?,
        };
        Some((self.literal("]", end)?, bits))
    }

    /// Matches `[R2.64+UR4+0x10]` without terms that are zero, then the rest.
    fn memory(
        &mut self,
        operand: &Operand,
        at: usize,
        bits: Bits,
        mut follow: impl FnMut(&mut Self, usize, Bits) -> Option<Bits>,
    ) -> Option<Bits> {
        let (at, bits) = match operand.descriptor {
            NONE => (at, bits),
            descriptor if operand.kind == Kind::HiddenDescriptor => {
                let field = self.field(descriptor)?;
                (at, bits.with(field, field.raw(self.kept))?)
            }
            descriptor => {
                let start = self.literal("desc[", at)?;
                let (end, bits) =
                    self.uniform_register(descriptor, start, operand.kind.register_offset(), bits)?;
                (self.literal("]", end)?, bits)
            }
        };
        let start = self.literal("[", at)?;
        let refused = self.refused(operand.base, start, bits);
        let has_base = refused.is_some() || self.rest(start).starts_with('R');
        if !has_base && operand.uniform == NONE {
            let (position, bits) = self.base_and_offset(operand, start, bits)?;
            let end = self.literal("]", position)?;
            return follow(self, end, bits);
        }
        let mut finish = |attempt: &mut Self, position: usize, bits: Bits| {
            let (position, bits) = match operand.uniform {
                NONE => (position, bits),
                uniform => {
                    let position = if has_base { attempt.literal("+", position)? } else { position };
                    attempt.uniform_register(uniform, position, 0, bits)?
                }
            };
            let (position, bits) = attempt.plus_offset(operand, position, bits)?;
            let end = attempt.literal("]", position)?;
            follow(attempt, end, bits)
        };
        if !has_base {
            // What follows the register that is not there has no effect: it is kept.
            let bits = match self.field(operand.base) {
                Some(field) => bits.with(field, u64::MAX)?,
                None => bits,
            };
            let bits = match self.field(operand.select) {
                Some(field) => bits.with(field, field.raw(self.kept))?,
                None => bits,
            };
            return finish(self, start, bits);
        }
        let (position, bits) = match refused {
            Some(found) => found,
            None => self.register(operand.base, start, 0, bits)?,
        };
        match self.field(operand.select) {
            Some(field) => self.modifier(field, position, bits, finish),
            None => finish(self, position, bits),
        }
    }

    /// Matches `R2+0x10`, `R2` or `0x10`.
    fn base_and_offset(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        if self.rest(at).starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            let (position, offset) = self.integer(at)?;
            let bits = match self.field(operand.base) {
                Some(base) => bits.with(base, u64::MAX)?,
                None => bits,
            };
            // Without a base register, the offset is an unsigned address.
            let field = self.field(operand.offset)?;
            let unused = 64_u32.saturating_sub(u32::from(field.width)).saturating_sub(u32::from(field.shift));
            let offset = if field.signed && matches!(operand.kind, Kind::Memory | Kind::ConstantBindless) {
                offset.wrapping_shl(unused).wrapping_shr(unused)
            } else {
                offset
            };
            return Some((position, self.put(operand.offset, offset, at, bits)?));
        }
        let (position, bits) = self.register(operand.base, at, 0, bits)?;
        self.plus_offset(operand, position, bits)
    }

    /// Matches `+0x10`, or nothing if the offset is zero.
    fn plus_offset(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        match self.strip("+", at) {
            Some(start) => {
                let (position, offset) = self.integer(start)?;
                Some((position, self.put(operand.offset, offset, start, bits)?))
            }
            None if operand.offset == NONE => Some((at, bits)),
            None => Some((at, self.put(operand.offset, 0, at, bits)?)),
        }
    }
}
