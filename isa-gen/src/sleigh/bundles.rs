//! Maxwell and Pascal: each group of four words begins with a scheduling word.
//!
//! Nothing in a scheduling word tells it from an instruction, only its address does. SLEIGH has no patterns of addresses, so
//! a bit of the context says which of the two a word is: 0 at an address that nothing has been decoded for, such as the
//! start of a function. Each word sets it for the next one, and each branch for its target, from their addresses. The
//! part of the scheduling word that belongs to an instruction is not shown: a token has no bits of other words.

/// The context field that is set where a word is an instruction.
pub(super) const IS_INSTRUCTION: &str = "is_instruction";

/// The address of the next word. The compiler does not accept `inst_next` where the context is set.
pub(super) const NEXT: &str = "(inst_start + 8)";

/// Returns the disassembly actions that set the field at an address, which is an expression and a symbol.
pub(super) fn marks(address: &str, symbol: &str) -> String {
    format!(
        "{IS_INSTRUCTION} = (({address} >> 3) | ({address} >> 4)) & 1; globalset({symbol}, {IS_INSTRUCTION});"
    )
}

/// Returns the constructor of scheduling words, and the start of the block of all instructions.
/// `word` is a field of the token, which gives the word its length.
pub(super) fn scheduling(word: &str) -> String {
    let marks = marks(NEXT, "inst_next");
    format!(
        ":SCHED is {IS_INSTRUCTION}=0 & {word} & nothing [ {marks} ] {{ build nothing; }}\nwith : {IS_INSTRUCTION}=1 [ {marks} ] {{\n"
    )
}
