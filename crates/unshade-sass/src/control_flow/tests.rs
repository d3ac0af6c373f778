use super::*;
use crate::{assemble, isa};
use alloc::string::String;

/// Assembles instructions, the first at address 0.
fn words(chip: u32, lines: &[&str]) -> Vec<u8> {
    let isa = isa::by_architecture(chip).unwrap();
    let words = lines.iter().zip((0..).step_by(isa.word_bytes)).map(|(line, address)| {
        assemble::instruction(isa, line, address, 0).unwrap_or_else(|error| panic!("{line}: {error}"))
    });
    words.flat_map(|word| word.to_le_bytes().into_iter().take(isa.word_bytes)).collect()
}

/// Assembles instructions of sm_35.
fn bytes(lines: &[&str]) -> Vec<u8> {
    words(35, lines)
}

fn flow(lines: &[&str], indirect: &[(u64, u64)]) -> ControlFlow {
    flow_on(35, lines, indirect)
}

fn flow_on(chip: u32, lines: &[&str], indirect: &[(u64, u64)]) -> ControlFlow {
    let isa = isa::by_architecture(chip).unwrap();
    let bytes = words(chip, lines);
    ControlFlow::new(&Function { name: "f", isa, bytes: &bytes, address: 0, file_offset: 0 }, indirect)
}

/// The edges as text: `0-taken->2`.
fn edges(flow: &ControlFlow) -> Vec<String> {
    flow.edges()
        .iter()
        .map(|edge| alloc::format!("{}-{}->{}", edge.from, edge.cause.name(), edge.to))
        .collect()
}

#[test]
fn joins_lead_to_the_target_of_ssy() {
    let flow = flow(&["SSY 0x28", "@P0 BRA 0x20", "MOV R0, R1", "@P1 NOP.S", "MOV.S R0, R2", "EXIT"], &[]);
    assert_eq!(edges(&flow), ["0-not taken->1", "0-taken->2", "1-not taken->2", "1-join->3", "2-join->3"]);
    assert_eq!(flow.exits(), [(3, FunctionExit::Exit)]);
    assert_eq!(flow.blocks()[2].addresses, 0x20..0x28);
    assert_eq!((flow.block_at(0x18), flow.block_at(0x30)), (Some(1), None));
}

#[test]
fn sync_leads_to_the_target_of_ssy() {
    let isa = isa::by_architecture(52).unwrap();
    // The first word of each group of four is a scheduling word.
    let lines =
        [(0x8, "SSY 0x30"), (0x10, "@P0 BRA 0x28"), (0x18, "@P1 SYNC"), (0x28, "SYNC"), (0x30, "EXIT")];
    let mut bytes = alloc::vec![0; 0x38];
    for (address, line) in lines {
        let word = assemble::instruction(isa, line, address as u64, 0).unwrap();
        bytes[address..address + 8].copy_from_slice(&word.to_le_bytes()[..8]);
    }
    let function = Function { name: "f", isa, bytes: &bytes, address: 0, file_offset: 0 };
    let flow = ControlFlow::new(&function, &[]);
    assert_eq!(
        edges(&flow),
        ["0-not taken->1", "0-taken->3", "1-not taken->2", "1-join->4", "2-next->3", "3-join->4"]
    );
    assert_eq!(flow.exits(), [(4, FunctionExit::Exit)]);
}

#[test]
fn break_pops_later_entries() {
    let lines =
        ["PBK 0x38", "PCNT 0x28", "SSY 0x20", "@P0 BRK", "@P1 CONT", "@P2 BRA 0x8", "BRA 0x28", "RET"];
    let flow = flow(&lines, &[]);
    assert_eq!(
        edges(&flow),
        [
            "0-next->1",
            "1-not taken->2",
            "1-break->5",
            "2-not taken->3",
            "2-continue->3",
            "3-not taken->4",
            "3-taken->1",
            "4-always->3"
        ]
    );
    // Every iteration of the loop over PCNT leaves an entry on the stack.
    assert!(flow.is_incomplete());
    assert_eq!(flow.exits(), [(5, FunctionExit::Return)]);
    assert_eq!(flow.loops().all().len(), 2);
}

#[test]
fn returns_lead_to_the_target_of_pret() {
    let flow = flow(&["PRET 0x18", "BRA 0x100", "NOP", "EXIT"], &[]);
    assert_eq!(edges(&flow), ["0-return->2", "1-next->2"]);
    assert_eq!(flow.exits(), [(0, FunctionExit::Outside(0x100)), (2, FunctionExit::Exit)]);
    assert!(!flow.dominators().is_reached(1));
}

#[test]
fn unmatched_pops_are_reported() {
    let flow = flow(&["@P0 BRK", "NOP.S", "BRX R0 0x20", "@!PT EXIT"], &[(0x10, 0), (0x10, 0x18)]);
    assert_eq!(edges(&flow), ["0-not taken->1", "2-indirect->0", "2-indirect->3"]);
    let unmatched = FunctionExit::Unmatched;
    assert_eq!(
        flow.exits(),
        [(0, unmatched(Cause::Break)), (1, unmatched(Cause::Join)), (3, FunctionExit::End)]
    );
}

#[test]
fn jump_tables_are_found() {
    let lines = ["LDC R4, c[0x2][R5+0x8]", "BRX R4 -0x10", "NOP", "EXIT", "EXIT"];
    let bytes = bytes(&lines);
    let isa = isa::by_architecture(35).unwrap();
    let function = Function { name: "f", isa, bytes: &bytes, address: 0, file_offset: 0 };
    let bank: Vec<u8> =
        [7_u32, 7, 0x10, 0x20, 0x10, 0x11].iter().flat_map(|word| word.to_le_bytes()).collect();
    let targets = jump_tables(&function, &|number| (number == 2).then_some(&bank[..]));
    assert_eq!(targets, [(8, 0x10), (8, 0x20)]);
    assert_eq!(edges(&ControlFlow::new(&function, &targets))[..2], ["0-indirect->1", "0-indirect->2"]);
    assert_eq!(jump_tables(&function, &|_| None), []);
}

#[test]
fn hostile_code_takes_linear_time() {
    // Every word pushes and branches back: the number of stacks is unbounded.
    let isa = isa::by_architecture(35).unwrap();
    let word = |line, address| assemble::instruction(isa, line, address, 0).unwrap();
    let (push, back) = (word("SSY 0x10", 0), word("@P0 BRA 0x0", 8));
    let words = (0..1 << 16).map(|index| u64::try_from(if index % 2 == 0 { push } else { back }).unwrap());
    let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    let flow = ControlFlow::new(&Function { name: "f", isa, bytes: &bytes, address: 0, file_offset: 0 }, &[]);
    assert!(flow.is_incomplete() && flow.edges().len() < 1 << 17);
    let half = Function { name: "f", isa, bytes: &bytes[..12], address: 3, file_offset: 0 };
    assert_eq!(ControlFlow::new(&half, &[]).blocks().len(), 1);
    assert!(ControlFlow::new(&Function { bytes: &[], ..half }, &[]).blocks().is_empty());
}

#[test]
fn threads_of_a_barrier_reconverge_at_its_address() {
    let lines = [
        "BSSY B0, 0x90",
        "@P0 BRA 0x80",
        "BSSY B1, 0x70",
        "@!P0 BREAK B0",
        "@P1 BRA 0x60",
        "WARPSYNC 0xffffffff",
        "BSYNC B1",
        "@P2 BRA 0x20",
        "BSYNC B0",
        "EXIT",
    ];
    let flow = flow_on(80, &lines, &[]);
    assert_eq!(
        edges(&flow),
        [
            "0-not taken->1",
            "0-taken->5",
            "1-not taken->2",
            "1-taken->3",
            "2-next->3",
            "3-join->4",
            "4-not taken->5",
            "4-taken->1",
            "5-join->6"
        ]
    );
    assert!(!flow.is_incomplete());
    assert_eq!(flow.exits(), [(6, FunctionExit::Exit)]);
}

#[test]
fn a_second_predicate_is_a_condition() {
    let flow =
        flow_on(80, &["BRA P0, 0x20", "BRA.DIV ~URZ, 0x30", "EXIT P1", "BSYNC B0", "@!PT BSYNC B1"], &[]);
    assert_eq!(
        edges(&flow),
        ["0-not taken->1", "0-taken->2", "1-not taken->2", "1-taken->3", "2-not taken->3"]
    );
    let unmatched = FunctionExit::Unmatched(Cause::Join);
    assert_eq!(flow.exits(), [(2, FunctionExit::Exit), (3, unmatched), (4, FunctionExit::End)]);
}

#[test]
fn hostile_barriers_take_linear_time() {
    // Every third word sets a barrier to another address.
    let isa = isa::by_architecture(80).unwrap();
    let line = |number: u64| match number % 3 {
        0 => alloc::format!("BSSY B{}, {:#x}", number / 3 % 16, number % 999 * 16),
        1 => alloc::format!("@P0 BRA {:#x}", number * 7 % 9_999 * 16),
        _ => alloc::format!("@P1 BSYNC B{}", number / 5 % 16),
    };
    let words = (0..1 << 14).map(|number| assemble::instruction(isa, &line(number), number * 16, 0).unwrap());
    let bytes: Vec<u8> = words.flat_map(u128::to_le_bytes).collect();
    let flow = ControlFlow::new(&Function { name: "f", isa, bytes: &bytes, address: 0, file_offset: 0 }, &[]);
    assert!(flow.is_incomplete() && flow.edges().len() < 1 << 16);
}
