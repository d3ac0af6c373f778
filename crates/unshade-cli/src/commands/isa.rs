//! `unshade isa`: prints the reference page of an instruction.

use crate::Outcome;
use crate::args::GlobalArgs;
use crate::output::Stdout;
use crate::paint::{self, name};
use anyhow::Result;
use std::io::Write;
use unshade_sass::table::Operation;
use unshade_sass::{isa, reference};

pub(crate) fn run(mnemonic: Option<&str>, global: &GlobalArgs) -> Result<Outcome> {
    let mut stdout = Stdout::new(!global.no_pager);
    let Some(mnemonic) = mnemonic else {
        let operations: Vec<&Operation> = isa::all().flat_map(|isa| isa.operations).collect();
        for known in reference::mnemonics() {
            let operation = operations.iter().find(|operation| operation.mnemonic == known);
            writeln!(
                stdout,
                "{} {}",
                name(format!("{known:<12}")),
                operation.map_or("", |operation| operation.meaning)
            )?;
        }
        stdout.finish()?;
        return Ok(Outcome::Done);
    };
    let Some(page) = reference::page(mnemonic) else {
        anstream::eprintln!(
            "{}: no instruction is called '{mnemonic}'; `unshade isa` names them",
            paint::error("unshade")
        );
        return Ok(Outcome::Finding);
    };
    stdout.write_all(page.as_bytes())?;
    stdout.finish()?;
    Ok(Outcome::Done)
}
