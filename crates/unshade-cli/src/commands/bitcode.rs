//! LLVM bitcode: editing, alone and in containers.

use super::programs::{outcome_of, print_diagnostics};
use super::written::{Whole, write};
use crate::Outcome;
use crate::args::{EditArgs, Stripped};
use crate::input::{NothingFound, shown};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::iter;
use unshade::bitcode_edit::{BitcodeEdit, Changes, Rename};
use unshade::core::{Diagnostics, Reader};
use unshade::llvm::{tree, verify};
use unshade::retarget;

pub(super) fn edit(args: &EditArgs, whole: Whole<'_>) -> Result<Outcome> {
    refuse_options(args)?;
    let edit = edit_of(args)?;
    let edited = match args.os {
        Some(target) => retarget::bitcode(&edit, whole.bytes, whole.base, target)?,
        None => edit.module(whole.bytes, whole.base)?,
    };
    report(args, &edited.changes)?;
    let new = new_findings(&whole, &edited.bytes);
    write(&args.output, &[&args.file], iter::once(edited.bytes.as_slice()))?;
    print_diagnostics(&shown(args.output.output.as_os_str()), &new);
    Ok(outcome_of(&new))
}

/// Returns the edits of bitcode that were asked for.
pub(super) fn edit_of(args: &EditArgs) -> Result<BitcodeEdit> {
    let rename = |text: &String| {
        let (old, new) = text.split_once('=').context("--rename takes OLD=NEW")?;
        Ok(Rename::new(old, new))
    };
    Ok(BitcodeEdit {
        patches: args.patch.clone(),
        strip_debug: args.strip_debug,
        renames: args.rename.iter().map(rename).collect::<Result<_>>()?,
        ..BitcodeEdit::default()
    })
}

/// Says what was not done. A symbol that is not there is an error.
pub(super) fn report(args: &EditArgs, changes: &Changes) -> Result<()> {
    if args.strip_debug {
        note_stripped(&changes.stripped);
    }
    let missing = args.rename.iter().zip(&changes.renamed).find(|(_, count)| **count == 0);
    if let Some((rename, _)) = missing {
        let old = rename.split_once('=').map_or(rename.as_str(), |(old, _)| old);
        bail!(NothingFound(format!("no symbol {old}")));
    }
    if changes.in_assembly {
        note("assembly of a module mentions a symbol that was renamed, and keeps the old name");
    }
    Ok(())
}

pub(super) fn note_stripped(stripped: &tree::Stripped) {
    if stripped.is_empty() {
        note("no module has debug information");
    }
}

/// A remark about a file that is written.
pub(super) fn note(text: &str) {
    anstream::eprintln!("unshade: note: {text}");
}

/// Options for containers.
fn refuse_options(args: &EditArgs) -> Result<()> {
    let given = [
        ("--remove", !args.remove.is_empty()),
        ("--strip", !args.strip.is_empty()),
        ("--keep", !args.keep.is_empty()),
        ("--merge", !args.merge.is_empty()),
        ("--module", !args.module.is_empty()),
        ("--install-name", args.install_name.is_some()),
        ("--keep-uuid", args.keep_uuid),
        ("--set", !args.set.is_empty()),
        ("--add", !args.add.is_empty()),
        ("--order", !args.order.is_empty()),
        ("--private", args.private.is_some()),
        ("--keep-digest", args.keep_digest),
    ];
    if let Some(option) = args.universal_option().or(args.companion_option()) {
        bail!("{option} is for Metal libraries, and this is LLVM bitcode");
    }
    match given.iter().find(|(_, given)| *given) {
        Some(("--strip", _)) if args.strip == [Stripped::Debug] => {
            bail!("--strip is for containers, and this is LLVM bitcode; --strip-debug strips it")
        }
        Some((option, _)) => bail!("{option} is for containers, and this is LLVM bitcode"),
        None => Ok(()),
    }
}

/// Returns the findings of the result that the input does not have.
fn new_findings(whole: &Whole<'_>, result: &[u8]) -> Diagnostics {
    let mut new = Diagnostics::new();
    if result == whole.bytes {
        return new;
    }
    // Offsets may be other ones.
    let mut known: BTreeMap<(&str, String), u64> = BTreeMap::new();
    let before = verify::bitcode(Reader::at(whole.bytes, whole.base));
    for finding in &before {
        *known.entry((finding.rule, finding.error.message().to_owned())).or_default() += 1;
    }
    for finding in &verify::bitcode(Reader::new(result)) {
        match known.get_mut(&(finding.rule, finding.error.message().to_owned())) {
            Some(count) if *count > 0 => *count -= 1,
            _ => new.push(finding.clone()),
        }
    }
    new
}
