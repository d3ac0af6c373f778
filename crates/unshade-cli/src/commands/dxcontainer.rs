//! DXContainers: conversion to and from YAML, signing, editing.

use super::bitcode::{self, note};
use super::written::{refused, write};
use crate::Outcome;
use crate::args::{
    BuildArgs, EditArgs, FileArgs, FromYamlArgs, PartFile, SignArgs, ToYamlArgs, part_argument,
};
use crate::input::{Bytes, NothingFound, shown};
use crate::output::write_pieces;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsStr;
use std::iter;
use unshade::core::FourCc;
use unshade::dxcontainer::file::OwnedPart;
use unshade::dxcontainer::{DxFile, document};
use unshade::edit;

pub(super) fn to_yaml(args: &ToYamlArgs, output: &FileArgs, data: &[u8]) -> Result<Outcome> {
    ensure!(args.modules.is_none(), "--modules is for Metal libraries");
    let file = DxFile::parse(data)?;
    write_pieces(output, |out| Ok(document::write_yaml(&file, args.llvm.into(), out)?))?;
    Ok(Outcome::Done)
}

pub(super) fn from_yaml(args: &FromYamlArgs, text: &str) -> Result<Outcome> {
    let mut file = document::from_yaml(text).with_context(|| shown(&args.file))?;
    let data =
        if args.sign { file.write_signed() } else { file.write() }.with_context(|| shown(&args.file))?;
    write(&args.output, &[&args.file], iter::once(data.as_slice()))
}

pub(super) fn sign(args: &SignArgs, data: &[u8]) -> Result<Outcome> {
    DxFile::parse(data)?;
    let mut data = data.to_vec();
    unshade::dxcontainer::file::sign(&mut data)?;
    write(&args.output, &[&args.file], iter::once(data.as_slice()))
}

pub(super) fn edit(args: &EditArgs, data: &[u8]) -> Result<Outcome> {
    refuse_options(args)?;
    let mut file = DxFile::parse(data)?;
    for stripped in &args.strip {
        edit::container::strip(&mut file, (*stripped).into()).map_err(refused)?;
    }
    edit::container::remove(&mut file, &args.remove).map_err(refused)?;
    for part in &args.set {
        file.set(part.name, &part_bytes(part)?);
    }
    for part in &args.add {
        file.add(OwnedPart::from_bytes(part.name, &part_bytes(part)?));
    }
    if let Some(private) = &args.private {
        let data = Bytes::open(private).with_context(|| format!("can't read {}", private.display()))?;
        file.set_private(Some(data.to_vec()));
    }
    let edit = bitcode::edit_of(args)?;
    if edit.strip_debug || !edit.renames.is_empty() {
        let changes = edit.container(&mut file)?;
        bitcode::report(args, &changes)?;
        if changes.keeps_hash {
            note("HASH includes the source, and stays as it is");
        }
    }
    if let Some(missing) = args.order.iter().find(|name| file.find(name).is_none()) {
        bail!(NothingFound(format!("no part {}", FourCc(*missing))));
    }
    file.reorder(&args.order)?;
    let data = if args.keep_digest { file.write()? } else { file.write_signed()? };
    write(&args.output, &[&args.file], iter::once(data.as_slice()))
}

/// Options for Metal libraries and bitcode.
fn refuse_options(args: &EditArgs) -> Result<()> {
    let given = [
        ("--keep", !args.keep.is_empty()),
        ("--merge", !args.merge.is_empty()),
        ("--module", !args.module.is_empty()),
        ("--os", args.os.is_some()),
        ("--install-name", args.install_name.is_some()),
        ("--keep-uuid", args.keep_uuid),
    ];
    ensure!(
        args.patch.is_empty(),
        "--patch is for LLVM bitcode, and this is a DXContainer; `unshade extract` writes its modules"
    );
    if let Some(option) = args.universal_option() {
        bail!("{option} is for Metal universal files, and this is a DXContainer");
    }
    if let Some(option) = args.companion_option() {
        bail!("{option} is for Metal libraries, and this is a DXContainer");
    }
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => bail!("{option} is for Metal libraries, and this is a DXContainer"),
        None => Ok(()),
    }
}

pub(super) fn build(args: &BuildArgs) -> Result<Outcome> {
    ensure!(args.os.is_none(), "--os is for Metal libraries");
    let mut file = DxFile::default();
    let mut inputs = Vec::new();
    for input in &args.inputs {
        let part = part_argument(input)?;
        file.parts.push(OwnedPart::from_bytes(part.name, &part_bytes(&part)?));
        inputs.push(part.file);
    }
    let inputs: Vec<&OsStr> = inputs.iter().map(|file| file.as_os_str()).collect();
    let data = file.write_signed()?;
    write(&args.output, &inputs, iter::once(data.as_slice()))
}

fn part_bytes(part: &PartFile) -> Result<Bytes> {
    Bytes::open(&part.file).with_context(|| format!("can't read {}", part.file.display()))
}
