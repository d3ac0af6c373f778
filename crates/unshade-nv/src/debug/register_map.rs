//! `.nv_debug_info_reg_sass`: the machine registers that hold a register of PTX.
//!
//! The section lists functions: the name, ended by a zero, and u32 number of entries. An entry is a u32 index of the
//! part of the register (0 is the lowest 32 bits), the register's name in PTX ended by a zero, u32 place, u32 start and
//! u32 end of the code for which it holds. Bits 24–31 of a place are its class (5 is a whole register), bits 0–23 its
//! number.
//!
//! Source: cuda-gdb's documentation of the table; the output of ptxas 11.2.

use crate::cubin::Cubin;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::Reader;

/// The class of a whole 32-bit register.
const WHOLE_REGISTER: u32 = 5;

/// The maximum number of entries of all functions.
const MAX_RANGES: usize = 1 << 20;

/// The registers of a cubin's functions.
#[derive(Clone, Debug, Default)]
pub struct RegisterMap {
    functions: Vec<(String, Vec<RegisterRange>)>,
}

/// A machine register that holds 32 bits of a register of PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterRange {
    /// The name of the register of PTX.
    pub ptx: String,
    /// Which 32 bits of it: 0 for the lowest.
    pub part: u32,
    /// The number of the machine register.
    pub register: u8,
    /// The offset of the first instruction of the range.
    pub start: u64,
    /// The offset after its last instruction.
    pub end: u64,
}

impl RegisterMap {
    /// Reads the map of a cubin; it is empty if the cubin has none. Entries after a fault are missing.
    pub fn of(cubin: &Cubin<'_>) -> Self {
        let mut map = Self::default();
        let section = cubin.elf().section_named(b".nv_debug_info_reg_sass");
        if let Some(mut reader) = section.and_then(|section| cubin.elf().bytes(&section).ok()) {
            while map.functions.len() < MAX_RANGES && map.read_function(&mut reader).is_some() {}
        }
        map
    }

    /// Returns the registers of a function, in the order of the file.
    pub fn function(&self, symbol: &str) -> &[RegisterRange] {
        self.functions.iter().find(|function| function.0 == symbol).map_or(&[], |function| &function.1)
    }

    fn read_function(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let name = text(reader)?;
        let count = reader.u32().ok()?;
        self.functions.push((name, Vec::new()));
        let ranges = &mut self.functions.last_mut()?.1;
        for _ in 0..count {
            let part = reader.u32().ok()?;
            let ptx = text(reader)?;
            let place = reader.u32().ok()?;
            let (start, end) = (u64::from(reader.u32().ok()?), u64::from(reader.u32().ok()?));
            if place >> 24 == WHOLE_REGISTER
                && let Ok(register) = u8::try_from(place & 0xff_ffff)
            {
                ranges.push(RegisterRange { ptx, part, register, start, end });
            }
        }
        Some(())
    }
}

/// Reads a text that a zero ends.
fn text(reader: &mut Reader<'_>) -> Option<String> {
    Some(String::from_utf8_lossy(reader.c_string().ok()?).into_owned())
}
