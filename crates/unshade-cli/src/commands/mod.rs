//! The subcommands, one file per command.

mod assemble;
mod bitcode;
mod check;
mod decompile;
mod diff;
mod disassemble;
mod dump;
mod dxcontainer;
mod explore;
mod extract;
mod ghidra;
mod html;
mod info;
mod isa;
mod link;
mod list;
mod manual;
mod metallib;
mod programs;
mod run;
mod sanitize;
mod scan;
mod shell;
mod show;
mod survey;
mod symbols;
mod types;
mod universal;
mod verify;
mod walk;
mod written;

use crate::Outcome;
use crate::args::{Args, Command, Deferred};
use anyhow::Result;
use unshade::core::Diagnostics;
use unshade::view::FindingView;

/// Runs the command of the command line.
pub(crate) fn run(args: Args) -> Result<Outcome> {
    let global = args.global;
    match args.command.unwrap_or(Command::Info(Deferred(args.info))) {
        Command::Info(Deferred(args)) => info::run(&args, &global),
        Command::List(Deferred(args)) => list::run(&args, &global),
        Command::Show(Deferred(args)) => show::run(&args, &global),
        Command::Symbols(Deferred(args)) => symbols::run(&args, &global),
        Command::Extract(Deferred(args)) => extract::run(&args, &global),
        Command::Explore(Deferred(args)) => explore::run(&args, &global),
        Command::Html(Deferred(args)) => html::run(&args),
        Command::Verify(Deferred(args)) => verify::run(&args, &global),
        Command::Check(Deferred(args)) => check::run(&args, &global),
        Command::Diff(Deferred(args)) => diff::run(&args, &global),
        Command::Disassemble(Deferred(args)) => disassemble::run(&args, &global),
        Command::Decompile(Deferred(args)) => decompile::run(&args, &global),
        Command::Run(Deferred(args)) => run::run(&args, &global),
        Command::Sanitize(Deferred(args)) => sanitize::run(&args, &global),
        Command::Assemble(Deferred(args)) => assemble::run(&args, &global),
        Command::Ghidra(Deferred(args)) => ghidra::run(&args, &global),
        Command::Isa { mnemonic } => isa::run(mnemonic.as_deref(), &global),
        Command::Dump(Deferred(args)) => dump::run(&args, &global),
        Command::Scan(Deferred(args)) => scan::run(&args, &global),
        Command::Survey(Deferred(args)) => survey::run(&args, &global),
        Command::ToYaml(Deferred(args)) => written::to_yaml(&args, &global),
        Command::FromYaml(Deferred(args)) => written::from_yaml(&args),
        Command::Sign(Deferred(args)) => written::sign(&args, &global),
        Command::Edit(args) => written::edit(&args.0, &global),
        Command::Link(Deferred(args)) => link::run(&args, &global),
        Command::Build(Deferred(args)) => written::build(&args, &global),
        Command::Types(Deferred(args)) => types::run(&args, &global),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { output } => manual::run(&output),
    }
}

fn findings(diagnostics: &Diagnostics) -> Vec<FindingView> {
    diagnostics.iter().map(FindingView::from).collect()
}
