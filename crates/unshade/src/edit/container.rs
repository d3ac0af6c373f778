//! Edits of DirectX containers.

use super::{Edited, Refusal, Stripped};
use std::ops::Range;
use unshade_core::{FourCc, Result};
use unshade_dxcontainer::DxFile;
use unshade_dxcontainer::dxil::assemble::{Lost, replace};
use unshade_dxcontainer::edit::{DEBUG_PARTS, PRIVATE_PARTS, REFLECTION_PARTS, ROOT_SIGNATURE_PARTS};
use unshade_dxcontainer::file::sign;

/// The bytes of a container that hold its digest.
const DIGEST: Range<usize> = 4..20;

/// Removes parts of these names. Each has to name at least one.
///
/// # Errors
/// A name is not one of four characters, or there is no such part.
pub fn remove(file: &mut DxFile, names: &[String]) -> Result<(), Refusal> {
    for name in names {
        let part: [u8; 4] = name
            .as_bytes()
            .try_into()
            .map_err(|_| Refusal::new(format!("{name}: the name of a part has 4 characters")))?;
        if file.remove(&[part]) == 0 {
            return Err(Refusal::NotFound(format!("no part {}", FourCc(part))));
        }
    }
    Ok(())
}

/// Removes optional parts. Returns how many there were.
///
/// # Errors
/// If containers have no such parts.
pub fn strip(file: &mut DxFile, what: Stripped) -> Result<usize, Refusal> {
    Ok(file.remove(match what {
        Stripped::Debug => DEBUG_PARTS,
        Stripped::Reflection => REFLECTION_PARTS,
        Stripped::RootSignature => ROOT_SIGNATURE_PARTS,
        Stripped::Private => PRIVATE_PARTS,
        Stripped::Sources => return Err(Refusal::new("sources are stripped from Metal libraries")),
    }))
}

/// Returns a copy of a container with another program of DXIL; its notes say what it lost.
///
/// # Errors
/// If the container or the bitcode can't be read, or the bitcode is of another kind of shader.
pub fn put_bitcode(container: &[u8], bitcode: &[u8]) -> Result<Edited> {
    let replaced = replace(&DxFile::parse(container)?, bitcode)?;
    let note = |lost: &Lost| match lost {
        Lost::DebugInfo => "ILDB is not in the output: it describes the program that was replaced",
        Lost::Reflection => "STAT is derived anew: names that only the old one had are lost",
        Lost::RootSignature => "RTS0 is not in the output: a library has no root signature",
        _ => "the output lacks a part of the container",
    };
    let notes = replaced.lost.iter().map(|lost| note(lost).to_owned()).collect();
    Ok(Edited { bytes: replaced.bytes, notes })
}

/// Signs a container of which a range was overwritten, if the digest matched before and is not in the range.
pub(super) fn renewed(before: &[u8], mut bytes: Vec<u8>, changed: Range<usize>) -> Edited {
    let mut signed = before.to_vec();
    let matched = sign(&mut signed).is_ok() && signed == before;
    if changed.start < DIGEST.end && DIGEST.start < changed.end {
        return Edited::new(bytes).note("the digest is as given");
    }
    if matched && sign(&mut bytes).is_ok() {
        return Edited::new(bytes).note("the digest is renewed");
    }
    Edited::new(bytes).note("the digest did not match before, and stays as it is")
}
