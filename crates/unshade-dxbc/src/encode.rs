//! Encodes programs as tokens.

use crate::opcode::Opcode;
use crate::operand::Operand;
use crate::program::{Instruction, Program};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// The longest instruction whose length fits the opcode token.
const MAX_LENGTH: usize = 127;

impl Program {
    /// Encodes the program.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if an instruction is too long for the length field of its opcode token.
    pub fn write(&self) -> Result<Vec<u8>> {
        let mut tokens = Vec::new();
        tokens.push(self.version.0);
        tokens.push(self.length);
        for (number, instruction) in self.instructions.iter().enumerate() {
            instruction.write(&mut tokens).map_err(|error| error.within(format!("instruction {number}")))?;
        }
        let mut bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
        bytes.extend_from_slice(&self.trailing);
        Ok(bytes)
    }

    /// Sets the length of the program to that of its instructions.
    ///
    /// # Errors
    /// Fails as [`Program::write`] does.
    pub fn update_length(&mut self) -> Result<()> {
        let mut tokens = Vec::new();
        for instruction in &self.instructions {
            instruction.write(&mut tokens)?;
        }
        self.length = u32::try_from(tokens.len().saturating_add(2)).unwrap_or(u32::MAX);
        Ok(())
    }
}

impl Instruction {
    /// Appends its tokens.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if it is too long for the length field of its opcode token.
    pub fn write(&self, out: &mut Vec<u32>) -> Result<()> {
        let start = out.len();
        out.push(self.token);
        if self.opcode() == Opcode::CUSTOM_DATA {
            out.push(u32::try_from(self.values.len().saturating_add(2)).unwrap_or(u32::MAX));
            out.extend_from_slice(&self.values);
            return Ok(());
        }
        out.extend_from_slice(&self.extended);
        self.write_fields(out);
        out.extend_from_slice(&self.rest);
        let length = out.len().saturating_sub(start);
        if self.is_long() {
            if let Some(token) = out.get_mut(start.saturating_add(1)) {
                *token = u32::try_from(length).unwrap_or(u32::MAX);
            }
            return Ok(());
        }
        if length > MAX_LENGTH {
            return Err(Error::without_offset(ErrorKind::OutOfRange, "an instruction is too long")
                .expected(format!("at most {MAX_LENGTH} tokens"))
                .found(format!("{length}")));
        }
        if let (Some(token), Ok(length)) = (out.get_mut(start), u32::try_from(length)) {
            *token = *token & 0x80ff_ffff | length << 24;
        }
        Ok(())
    }

    /// Writes the fields that the letters of the opcode stand for, as far as they are present.
    fn write_fields(&self, out: &mut Vec<u32>) {
        let mut operands = self.operands.iter();
        let mut values = self.values.iter();
        for letter in self.opcode().row().map_or("", |row| row.body).bytes() {
            match letter {
                b'd' | b'f' | b'i' | b'm' | b'o' => {
                    if let Some(operand) = operands.next() {
                        operand.write(out);
                    }
                }
                b'c' => {
                    out.extend(values.next());
                    if let Some(operand) = operands.next() {
                        operand.write(out);
                    }
                }
                b'x' | b't' | b'j' => out.extend(values.by_ref()),
                _ => out.extend(values.next()),
            }
        }
    }
}

impl Operand {
    /// Appends its tokens.
    pub fn write(&self, out: &mut Vec<u32>) {
        out.push(self.token);
        out.extend_from_slice(&self.extended);
        out.extend_from_slice(self.values());
        for (dimension, index) in self.used_indices().iter().enumerate() {
            let (words, _) = self.index_form(dimension).parts().unwrap_or((0, false));
            if words == 2 {
                out.push(word(index.number >> 32));
            }
            if words > 0 {
                out.push(word(index.number));
            }
            if let Some(relative) = &index.relative {
                relative.write(out);
            }
        }
    }
}

/// Returns the low half of a number.
#[allow(clippy::cast_possible_truncation)]
fn word(number: u64) -> u32 {
    number as u32
}
