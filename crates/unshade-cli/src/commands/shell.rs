//! `unshade completions` and `unshade man`.

use crate::Outcome;
use crate::args::{Args, FolderArgs};
use crate::output::{Folder, Stdout};
use anyhow::Result;
use clap::CommandFactory;
use std::path::Path;

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Outcome> {
    let mut stdout = Stdout::new(false);
    clap_complete::generate(shell, &mut Args::command(), "unshade", &mut stdout);
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
