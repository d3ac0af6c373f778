//! The commands that write programs: they find out what a file is and leave the rest to the format.

use super::{dxcontainer, metallib};
use crate::Outcome;
use crate::args::{BinaryArgs, BuildArgs, Built, EditArgs, FromYamlArgs, GlobalArgs, SignArgs, ToYamlArgs};
use crate::input::{Bytes, Input};
use crate::output::write_file_of;
use anyhow::{Context, Result, bail};
use std::io::Read;
use std::path::Path;
use unshade::carve::Find;
use unshade::dxcontainer::msf::Msf;
use unshade::format::Format;

/// YAML longer than this is refused: it is that of a program of the largest size.
const MAX_YAML: u64 = 4 << 30;

pub(crate) fn to_yaml(args: &ToYamlArgs, global: &GlobalArgs) -> Result<Outcome> {
    one_program(&args.file, global, |format, data| match format {
        Format::DxContainer => dxcontainer::to_yaml(args, data),
        _ => metallib::to_yaml(args, data),
    })
}

pub(crate) fn from_yaml(args: &FromYamlArgs) -> Result<Outcome> {
    let text = read_text(&args.file)?;
    let tag = text.lines().find_map(|line| line.strip_prefix("--- ")).unwrap_or_default();
    if tag.trim_end() == unshade::metallib::document::TAG {
        metallib::from_yaml(args, &text)
    } else {
        dxcontainer::from_yaml(args, &text)
    }
}

pub(crate) fn sign(args: &SignArgs, global: &GlobalArgs) -> Result<Outcome> {
    one_program(&args.file, global, |format, data| match format {
        Format::DxContainer => dxcontainer::sign(args, data),
        _ => bail!("Metal libraries are not signed"),
    })
}

pub(crate) fn edit(args: &EditArgs, global: &GlobalArgs) -> Result<Outcome> {
    one_program(&args.file, global, |format, data| match format {
        Format::DxContainer => dxcontainer::edit(args, data),
        _ => metallib::edit(args, global, data),
    })
}

pub(crate) fn build(args: &BuildArgs) -> Result<Outcome> {
    match args.format {
        Built::Dxcontainer => dxcontainer::build(args),
        Built::Metallib => metallib::build(args),
    }
}

/// Reads a file of text, or standard input.
pub(super) fn read_text(file: &str) -> Result<String> {
    if file == "-" {
        let mut text = String::new();
        let stdin = std::io::stdin().lock();
        stdin.take(MAX_YAML).read_to_string(&mut text).context("can't read standard input")?;
        return Ok(text);
    }
    let bytes = Bytes::open(Path::new(file)).with_context(|| format!("can't read {file}"))?;
    String::from_utf8(bytes.to_vec()).with_context(|| format!("{file}: no text"))
}

/// Does `work` with the one program that an argument means, or that is in a program database.
pub(super) fn one_program(
    argument: &str,
    global: &GlobalArgs,
    mut work: impl FnMut(Format, &[u8]) -> Result<Outcome>,
) -> Result<Outcome> {
    let input = Input::open(argument)?;
    if Msf::is_msf(input.bytes()) {
        let (_, data) = Msf::parse(input.bytes())?.container()?;
        return work(Format::DxContainer, &data);
    }
    let is_written =
        |format| matches!(format, Format::DxContainer | Format::MetalLibrary | Format::MetalUniversal);
    let mut found = Vec::new();
    input.each_program(&global.limits(), |find| {
        found.extend(is_written(find.format).then_some(find.format));
        Ok(())
    })?;
    match found[..] {
        [Format::DxContainer | Format::MetalLibrary] => {}
        [] => bail!("{argument}: neither a DXContainer nor a Metal library in it"),
        [Format::MetalUniversal] => bail!(
            "{argument}: a universal file, whose slices are written by `unshade extract --only programs`"
        ),
        _ => bail!("{argument}: several programs; `unshade list` shows how to select one"),
    }
    input.will_be_read();
    let mut outcome = Outcome::Done;
    input.each_program(&global.limits(), |find| {
        if is_written(find.format) {
            outcome = work(find.format, whole(&input, find)).with_context(|| argument.to_owned())?;
        }
        Ok(())
    })?;
    Ok(outcome)
}

/// The bytes of a program; a file that is one is taken with what follows, so that nothing of it is lost.
fn whole<'d>(input: &'d Input, find: &Find<'d>) -> &'d [u8] {
    // Compared by its place: as bytes it would be read twice.
    let start = input.bytes().get(..find.data.len());
    let is_file = find.file_offset == Some(0) && start.is_some_and(|start| std::ptr::eq(start, find.data));
    if is_file { input.bytes() } else { find.data }
}

/// Writes a file, but never over one that was read.
pub(super) fn write<'d>(
    output: &BinaryArgs,
    inputs: &[&str],
    pieces: impl Iterator<Item = &'d [u8]> + Clone,
) -> Result<Outcome> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let target = real(&output.output);
    for input in inputs {
        let read = input.split('!').next().unwrap_or_default();
        if target.is_some() && target == real(Path::new(read)) {
            let which = if inputs.len() == 1 { "the" } else { "an" };
            bail!("{}: is {which} input; write to another file", output.output.display());
        }
    }
    write_file_of(&output.output, output.force, pieces)?;
    Ok(Outcome::Done)
}
