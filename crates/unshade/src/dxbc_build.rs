//! Puts token programs into containers: writes SHEX or SHDR, and the counters of STAT that follow from the program.

use unshade_core::{Error, ErrorKind, Reader, Result};
use unshade_dxbc::Program;
use unshade_dxbc::d3d9::{self, Level9};
use unshade_dxbc::statistics::{COUNTERS, COUNTERS_4, Statistics};
use unshade_dxcontainer::DxFile;
use unshade_dxcontainer::bytes::Bytes;
use unshade_dxcontainer::file::OwnedPart;
use unshade_dxcontainer::part::PartData;
use unshade_dxcontainer::stat;

/// Indices of the counters that can't be derived from a program, because FXC counts them in the source.
const SOURCE_COUNTERS: [usize; 4] = [9, 26, 27, 28];

/// Replaces the program of a container, or adds it, and updates the counters. The digest is updated when the container
/// is written signed.
///
/// # Errors
/// If the program can't be written.
pub fn put_program(file: &mut DxFile, program: &Program) -> Result<()> {
    let bytes = program.write()?;
    let (major, _) = program.version.model();
    let name = match (file.find(b"SHEX"), file.find(b"SHDR")) {
        (Some(_), _) => *b"SHEX",
        (None, Some(_)) => *b"SHDR",
        (None, None) if major >= 5 => *b"SHEX",
        (None, None) => *b"SHDR",
    };
    let is_same = file.find(&name).is_some_and(|part| part.data.write().is_ok_and(|old| old == bytes));
    if is_same {
        return Ok(());
    }
    file.set(name, &bytes);
    let old = match file.find(b"STAT").map(|part| &part.data) {
        Some(PartData::Statistics(old)) => Some(old.clone()),
        _ => None,
    };
    let count = old.as_ref().map_or(if major >= 5 { COUNTERS } else { COUNTERS_4 }, |old| old.counters.len());
    let mut counters: Vec<u32> = Statistics::of(program).counters.into_iter().take(count).collect();
    for index in SOURCE_COUNTERS {
        let kept = old.as_ref().and_then(|old| old.counters.get(index)).copied().unwrap_or(0);
        if let Some(counter) = counters.get_mut(index) {
            *counter = kept;
        }
    }
    let extra = old.map_or_else(|| Bytes(Vec::new()), |old| old.extra);
    let statistics = PartData::Statistics(stat::Statistics { counters, extra });
    match file.parts.iter_mut().find(|part| part.name.0 == *b"STAT") {
        Some(part) => *part = OwnedPart::new(*b"STAT", statistics),
        None => file.add(OwnedPart::new(*b"STAT", statistics)),
    }
    Ok(())
}

/// Replaces the program in a container's part for feature level 9. `number` is the index of the part among those.
///
/// # Errors
/// If there is no such part, or the program can't be written.
pub fn put_level9(file: &mut DxFile, number: usize, program: &d3d9::Program) -> Result<()> {
    let is_level9 = |part: &&mut OwnedPart| matches!(&part.name.0, b"Aon9" | b"XNAS" | b"XNAP");
    let part = file.parts.iter_mut().filter(is_level9).nth(number).ok_or_else(|| {
        Error::without_offset(ErrorKind::BadValue, "the container has too few parts for feature level 9")
            .expected(format!("at least {}", number.saturating_add(1)))
    })?;
    let old = part.data.write()?;
    let level9 = Level9::read(Reader::new(&old)).map_err(|error| error.within(part.name.to_string()))?;
    let written = level9.with_program(&old, program)?;
    *part = OwnedPart::new(part.name.0, PartData::Raw(Bytes(written)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_put_into_a_container() {
        let program = unshade_dxbc::assemble("ps_5_0\ndcl_temps 2\nmov r0.x, l(1)\nret").unwrap();
        let mut file = DxFile::default();
        put_program(&mut file, &program).unwrap();
        let bytes = file.write_signed().unwrap();
        let container = unshade_dxcontainer::Container::parse(&bytes).unwrap();
        let mut text = String::new();
        let mut diagnostics = unshade_core::Diagnostics::new();
        crate::fxc_listing::print_fxc(&container, &mut text, &mut diagnostics).unwrap();
        assert!(
            text.ends_with("mov r0.x, l(1)\nret \n// Approximately 2 instruction slots used\n"),
            "{text}"
        );
        assert!(diagnostics.is_empty());
    }
}
