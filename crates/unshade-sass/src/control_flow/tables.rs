//! Jump tables: the targets of `BRX` and `JMX`.
//!
//! For a switch, the compiler loads an entry of a table in a constant bank with `LDC Ra, c[bank][Rb+offset]`, and branches
//! to `Ra` plus a displacement; or the branch itself refers to the table. The length of a table is not stored: it ends at
//! the next table, at the end of the bank, or at the first entry that is not an address in the function.

use alloc::vec::Vec;

use crate::Instruction;
use crate::listing::{Function, Word};
use crate::print;
use crate::table::{Flow, Kind, Operand};

/// The maximum number of targets per function.
const MAX_TARGETS: usize = 1 << 16;

/// The size of an entry in bytes.
const ENTRY_SIZE: u64 = 4;

/// The location of a table: constant bank and offset.
type Location = (u64, u64);

/// Returns the targets of indirect branches that use a table in a constant bank: pairs of branch address and target, in
/// ascending order. `constants` returns the bytes of a bank.
pub fn jump_tables<'c>(
    function: &Function<'_>,
    constants: &dyn Fn(u64) -> Option<&'c [u8]>,
) -> Vec<(u64, u64)> {
    let tables = tables(function);
    let mut starts: Vec<Location> = tables.iter().map(|table| table.location).collect();
    starts.sort_unstable();
    let mut targets = Vec::new();
    for table in &tables {
        let (bank, offset) = table.location;
        let next = starts.partition_point(|start| *start <= table.location);
        let end = starts.get(next).filter(|start| start.0 == bank).map_or(u64::MAX, |start| start.1);
        let first = targets.len();
        let entries = constants(bank).unwrap_or_default();
        let entries =
            usize::try_from(offset).ok().and_then(|offset| entries.get(offset..)).unwrap_or_default();
        let offsets = (0..).map(|index: u64| offset.saturating_add(index.saturating_mul(ENTRY_SIZE)));
        for (entry, offset) in entries.chunks_exact(4).zip(offsets) {
            let Ok(bytes) = <[u8; 4]>::try_from(entry) else { break };
            let target = table.base.wrapping_add(i64::from(i32::from_le_bytes(bytes)).cast_unsigned());
            // Tables are often followed by zeros, and no switch branches to the start of its function.
            if offset >= end
                || target == function.address
                || !is_inside(function, target)
                || targets.len() >= MAX_TARGETS
            {
                break;
            }
            targets.push((table.branch, target));
        }
        if let Some(own) = targets.get_mut(first..) {
            own.sort_unstable();
        }
    }
    targets.sort_unstable();
    targets.dedup();
    targets
}

fn is_inside(function: &Function<'_>, address: u64) -> bool {
    let distance = address.wrapping_sub(function.address);
    distance < function.bytes.len() as u64 && distance.is_multiple_of(function.isa.word_bytes.max(1) as u64)
}

struct Table {
    /// The address of the branch that uses it.
    branch: u64,
    location: Location,
    /// The displacement that is added to an entry.
    base: u64,
}

fn tables(function: &Function<'_>) -> Vec<Table> {
    // By register: the table that its value was loaded from.
    let mut loaded: [Option<Location>; 256] = [None; 256];
    let mut tables = Vec::new();
    for (address, word) in function.words() {
        let Word::Instruction(instruction) = word else { continue };
        let indexed = instruction.operands().find_map(|operand| indexed_constant(&instruction, operand));
        if instruction.operation().flow == Flow::Indirect {
            let register = instruction.operand("a").and_then(|operand| register(&instruction, operand));
            let location = indexed.or_else(|| loaded.get(register?).copied().flatten());
            let Some(location) = location else { continue };
            let target = instruction
                .operands()
                .find(|operand| matches!(operand.kind, Kind::Relative | Kind::Absolute))
                .map_or(0, |operand| print::target(&instruction, operand, address).cast_unsigned());
            tables.push(Table { branch: address, location, base: target });
        } else if let Some(number) =
            instruction.operand("d").and_then(|operand| register(&instruction, operand))
            && let Some(slot) = loaded.get_mut(number)
        {
            *slot = indexed;
        }
    }
    tables
}

/// Returns bank and offset of `c[bank][Ra+offset]`.
fn indexed_constant(instruction: &Instruction, operand: &Operand) -> Option<Location> {
    let is_indexed = matches!(operand.kind, Kind::ConstantIndexed | Kind::ConstantBranch);
    let number = |part| u64::try_from(instruction.number(part)).ok();
    Some((number(operand.bank)?, number(operand.offset)?)).filter(|_| is_indexed)
}

fn register(instruction: &Instruction, operand: &Operand) -> Option<usize> {
    let is_register = matches!(operand.kind, Kind::Register);
    usize::try_from(instruction.number(operand.value)).ok().filter(|_| is_register)
}
