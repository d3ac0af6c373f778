//! SPDB: a program database with one module, in the format of Visual C++.
//!
//! | stream | contents |
//! |---|---|
//! | 1 | names of streams: at 28 u32 size of the names, the names; then a hash table from name offsets to stream numbers |
//! | 2 | types |
//! | 3 | at 24 u32 size of the module list, which starts at 64; in an entry at 34 u16 stream of the module, u32 size of its symbols, u32 size of lines in an old format, u32 size of its lines |
//! | 4 | names of functions |
//! | `/names` | at 8 u32 size, the names of files |
//! | `/src/files/NAME` | the text of a source file, its name in lower case |
//!
//! A hash table: u32 number of entries, u32 capacity, two bit sets (u32 number of words, words), the entries (u32
//! key, u32 value).
//!
//! Sources: LLVM's "The PDB File Format"; programs compiled with FXC for the streams.

use super::symbols::{self, Module};
use super::types::Types;
use super::{CopyBudget, DebugInfo};
use crate::msf::Msf;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// Streams with fixed numbers.
const NAMES_OF_STREAMS: usize = 1;
const TYPES: usize = 2;
const MODULES: usize = 3;

/// Offset of the module list, and of the used fields in an entry.
const MODULE_LIST: u64 = 64;
const MODULE_FIELDS: u64 = 34;

impl DebugInfo {
    /// Parses an SPDB part.
    ///
    /// # Errors
    /// Fails if it is not a program database, or its lists are invalid. An invalid symbol ends the list of symbols.
    pub fn read_spdb(data: Reader<'_>) -> Result<Self> {
        let file = Msf::parse_at(data.data(), data.base())?;
        let mut budget = CopyBudget::of(data.data());
        let streams = file.stream(NAMES_OF_STREAMS)?;
        let streams = stream_names(&streams)?;
        let names = streams.get(&b"/names"[..]).map(|number| file.stream(*number)).transpose()?;
        let names = names.as_deref().and_then(|stream| stream.get(NAMES..)).unwrap_or_default();
        let types = file.stream(TYPES)?;
        let types = Types::read(&types)?;
        let (number, sizes) = module_fields(&file.stream(MODULES)?)?;
        let stream = file.stream(number)?;
        let module = Module::new(&stream, sizes, names)?;
        let mut info = Self { files: module.files(&mut budget), ..Self::default() };
        symbols::read(&module, &types, &mut info);
        for source in &mut info.files {
            let mut name = Vec::from(*b"/src/files/");
            name.extend(source.name.iter().map(u8::to_ascii_lowercase));
            let Some(number) = streams.get(name.as_slice()) else { continue };
            if budget.bytes_left < file.stream_size(*number) {
                break;
            }
            source.text = budget.copy(&file.stream(*number)?);
        }
        Ok(info)
    }
}

/// Offset of the file names in their stream.
const NAMES: usize = 12;

/// Returns the stream numbers by name.
fn stream_names(stream: &[u8]) -> Result<BTreeMap<&[u8], usize>> {
    let mut reader = Reader::new(stream);
    reader.skip(28)?;
    let size = reader.u32()?;
    let names = reader.bytes_u64(size.into())?;
    let count = reader.u32()?;
    reader.skip(4)?;
    for _ in 0..2 {
        let words = reader.u32()?;
        reader.skip(u64::from(words).saturating_mul(4))?;
    }
    let mut streams = BTreeMap::new();
    for _ in 0..count {
        let (offset, number) = (reader.u32()?, reader.u32()?);
        let name = usize::try_from(offset).ok().and_then(|offset| names.get(offset..)).unwrap_or_default();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        streams.insert(name, usize::try_from(number).unwrap_or(usize::MAX));
    }
    Ok(streams)
}

/// Returns the stream of the first module, and the sizes of its symbols, old lines and lines.
fn module_fields(stream: &[u8]) -> Result<(usize, [u32; 3])> {
    let mut reader = Reader::new(stream);
    reader.skip(24)?;
    if reader.u32()? == 0 {
        return Err(Error::new(ErrorKind::BadValue, 24, "the program database has no module"));
    }
    let mut reader = Reader::new(stream);
    reader.skip(MODULE_LIST.saturating_add(MODULE_FIELDS))?;
    Ok((reader.u16()?.into(), [reader.u32()?, reader.u32()?, reader.u32()?]))
}
