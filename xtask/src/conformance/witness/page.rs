//! The page `docs/isa-witnesses.md`.

use std::fmt::Write as _;

use super::census::Census;
use super::coverage::{Coverage, KINDS, Known};

const INTRODUCTION: &str = "# Witnesses of the semantics of NVIDIA's instructions

Lifter, emulator and Ghidra module all read the `does` lines of the [tables](isa.md), so a wrong line passes every test that only
compares them with each other. This page counts the *forms* of instructions whose results are also compared with something else.
A form is an operation with one choice of modifiers and signs: `IADD.X -a`. The forms counted are those in the cubins of sm_30 to
sm_37 of the corpus and of TensorFlow 0.12.0 and CNTK 2.5.

| witness | what it is | test |
|---|---|---|
| PTX ISA | short PTX programs, compiled by ptxas 11.2 and run in the emulator, beside an interpreter written from NVIDIA's *PTX ISA* with exact arithmetic | `tests/tests/witness.rs` |
| ptxas | the same programs on literals, whose result ptxas computed itself | `tests/tests/witness.rs` |
| recompiled | machine code of the packages by an older ptxas, beside the PTX in the same file, compiled by ptxas 11.2, on invented inputs; only for forms without another witness that the new code does not have | `cargo xtask conformance witness` |
| C++ | CUDA kernels, compiled by NVRTC and ptxas and run in the emulator, beside the same source compiled by g++ | `tests/tests/closed_loop.rs` |

A witness counts for a form if it notices when the instruction is missing: with a `NOP` in its place the result is wrong. It
should also tell the form from others: with another value of one modifier, or another sign, the result should be wrong.

Written by `cargo xtask conformance witness --write`.
";

/// Returns the text of the page.
pub(super) fn text(census: &Census, coverage: &Coverage) -> String {
    let known = |form: &str| coverage.get(form).filter(|known| !known.kinds.is_empty());
    let instructions = |is: &dyn Fn(&str) -> bool| -> (usize, u64) {
        let found: Vec<u64> = census.iter().filter(|(form, _)| is(form)).map(|(_, count)| *count).collect();
        (found.len(), found.iter().sum())
    };
    let total = instructions(&|_| true).1;
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n| forms | number | share of the instructions |\n|---|---|---|\n");
    let mut row = |name: &str, (forms, count): (usize, u64)| {
        let _ = writeln!(text, "| {name} | {forms} | {:.3} % |", 100.0 * count as f64 / total as f64);
    };
    row("that compilers emit", instructions(&|_| true));
    row("with a witness", instructions(&|form| known(form).is_some()));
    for (kind, name) in KINDS.iter().enumerate() {
        row(
            &format!("with the witness {name}"),
            instructions(&|form| known(form).is_some_and(|known| known.kinds.contains(&kind))),
        );
    }
    row("without", instructions(&|form| known(form).is_none()));
    let apart = |known: &Known| known.was_changed() && known.alike().next().is_none();
    row(
        "with a witness that tells them from all others",
        instructions(&|form| known(form).is_some_and(apart)),
    );
    text.push_str("\n## Without a witness\n\n| form | instructions |\n|---|---|\n");
    for (form, count) in census.iter().filter(|(form, _)| known(form).is_none()) {
        let _ = writeln!(text, "| `{}` | {count} |", escaped(form));
    }
    text.push_str("\n## Not told apart\n\nForms for which no witness notices that they are exchanged for others; some of these are equivalent.\n\n");
    text.push_str("| form | others |\n|---|---|\n");
    for form in census.keys() {
        let Some(known) = known(form).filter(|known| !apart(known)) else { continue };
        let others: Vec<String> = known.alike().map(|other| format!("`{}`", escaped(other))).collect();
        let _ = writeln!(text, "| `{}` | {} |", escaped(form), others.join(" "));
    }
    text
}

/// Escapes the bars of absolute values for a table.
fn escaped(form: &str) -> String {
    form.replace('|', "\\|")
}
