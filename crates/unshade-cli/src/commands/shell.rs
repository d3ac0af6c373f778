//! `unshade completions` and `unshade man`: write completion scripts and manual pages.

use crate::Outcome;
use crate::args::{Args, FolderArgs};
use crate::output::{Folder, Stdout};
use anyhow::Result;
use clap::CommandFactory;
use std::io::Write;
use std::path::Path;

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Outcome> {
    // The generator panics if it can't write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "unshade", &mut script);
    let mut stdout = Stdout::new(false);
    stdout.write_all(&script)?;
    stdout.finish()?;
    Ok(Outcome::Done)
}

pub(crate) fn manual(args: &FolderArgs) -> Result<Outcome> {
    let mut folder = Folder::create(&args.output, args.force)?;
    let mut command = Args::command();
    command.build();
    write_page(&mut folder, &command, "unshade")?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        write_page(&mut folder, subcommand, &format!("unshade-{}", subcommand.get_name()))?;
    }
    Ok(Outcome::Done)
}

fn write_page(folder: &mut Folder, command: &clap::Command, name: &str) -> Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.to_owned()).render(&mut page)?;
    folder.write(Path::new(&format!("{name}.1")), &page)
}
