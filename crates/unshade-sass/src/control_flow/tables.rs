//! Jump tables: the targets of `BRX` and `JMX`.
//!
//! A compiler loads the target of a switch from a table in a constant bank, by `LDC Ra, c[bank][Rb+offset]`, and branches
//! to `Ra` and a displacement that makes addresses of the function of the table's entries; or the branch itself names the
//! table. How long a table is, is told nowhere: it ends at the next table, at the end of the bank, or at an entry that is
//! no address of the function.

use alloc::vec::Vec;

use crate::Instruction;
use crate::listing::{Function, Word};
use crate::print;
use crate::table::{Flow, Kind, Operand};

/// So many targets of one function are told.
const MAX_TARGETS: usize = 1 << 16;

/// Bytes of an entry.
const ENTRY: u64 = 4;

/// A table: its constant bank, its offset there.
type Place = (u64, u64);

/// The targets of branches that are computed, as far as tables in constant banks tell: the addresses of branches with
/// each of their targets, in ascending order. `constants` gives the bytes of a bank.
pub fn jump_tables<'c>(
    function: &Function<'_>,
    constants: &dyn Fn(u64) -> Option<&'c [u8]>,
) -> Vec<(u64, u64)> {
    let tables = tables(function);
    let mut starts: Vec<Place> = tables.iter().map(|table| table.place).collect();
    starts.sort_unstable();
    let mut targets = Vec::new();
    for table in &tables {
        let (bank, offset) = table.place;
        let next = starts.partition_point(|start| *start <= table.place);
        let end = starts.get(next).filter(|start| start.0 == bank).map_or(u64::MAX, |start| start.1);
        let first = targets.len();
        let entries = constants(bank).unwrap_or_default();
        let entries =
            usize::try_from(offset).ok().and_then(|offset| entries.get(offset..)).unwrap_or_default();
        let places = (0..).map(|index: u64| offset.saturating_add(index.saturating_mul(ENTRY)));
        for (entry, place) in entries.chunks_exact(4).zip(places) {
            let Ok(bytes) = <[u8; 4]>::try_from(entry) else { break };
            let target = table.base.wrapping_add(i64::from(i32::from_le_bytes(bytes)).cast_unsigned());
            // Nobody goes back to the beginning of a function; behind tables there are often zeros.
            if place >= end
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
    /// The branch that goes by it.
    branch: u64,
    place: Place,
    /// What is added to an entry.
    base: u64,
}

fn tables(function: &Function<'_>) -> Vec<Table> {
    // By register: the table that its value was loaded from.
    let mut loaded: [Option<Place>; 256] = [None; 256];
    let mut tables = Vec::new();
    for (address, word) in function.words() {
        let Word::Instruction(instruction) = word else { continue };
        let indexed = instruction.operands().find_map(|operand| indexed_constant(&instruction, operand));
        if instruction.operation().flow == Flow::Indirect {
            let register = instruction.operand("a").and_then(|operand| register(&instruction, operand));
            let place = indexed.or_else(|| loaded.get(register?).copied().flatten());
            let Some(place) = place else { continue };
            let target = instruction
                .operands()
                .find(|operand| matches!(operand.kind, Kind::Relative | Kind::Absolute))
                .map_or(0, |operand| print::target(&instruction, operand, address).cast_unsigned());
            tables.push(Table { branch: address, place, base: target });
        } else if let Some(number) =
            instruction.operand("d").and_then(|operand| register(&instruction, operand))
            && let Some(slot) = loaded.get_mut(number)
        {
            *slot = indexed;
        }
    }
    tables
}

/// Where `c[bank][Ra+offset]` begins.
fn indexed_constant(instruction: &Instruction, operand: &Operand) -> Option<Place> {
    let is_indexed = matches!(operand.kind, Kind::ConstantIndexed | Kind::ConstantBranch);
    let number = |part| u64::try_from(instruction.number(part)).ok();
    Some((number(operand.bank)?, number(operand.offset)?)).filter(|_| is_indexed)
}

fn register(instruction: &Instruction, operand: &Operand) -> Option<usize> {
    let is_register = matches!(operand.kind, Kind::Register);
    usize::try_from(instruction.number(operand.value)).ok().filter(|_| is_register)
}
