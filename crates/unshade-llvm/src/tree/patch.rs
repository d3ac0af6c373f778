//! Changes single operands of records.
//!
//! A record is addressed by the offset of the byte in which it begins, as `unshade dump` prints it. Short records may begin in
//! the same byte; they are numbered from 0 in file order. As text a patch is `OFFSET:opN=VALUE`, `OFFSET#NUMBER:opN=VALUE`, or
//! with `code` in place of `opN`; the offset is hexadecimal, the value decimal, negative or hexadecimal after `0x`.

use super::write::write_stream;
use super::{Block, Item, Part, Tree};
use crate::bitstream::WRAPPER_SIZE;
use crate::blocks;
use crate::metadata::code as metadata;
use crate::module::code;
use crate::verify::positions::FNENTRY;
use alloc::format;
use alloc::vec::{self, Vec};
use core::str::FromStr;
use unshade_core::{Error, ErrorKind, Result};

/// A change of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The offset of the byte in which the record begins.
    pub offset: u64,
    /// Which of the records that begin in this byte; `None` if only one does.
    pub number: Option<usize>,
    /// The operand.
    pub operand: PatchedOperand,
    /// Its new value.
    pub value: u64,
}

/// The operand that a patch changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchedOperand {
    /// The code of the record.
    Code,
    /// An operand, by its index.
    Operand(usize),
}

/// Records that state positions or a hash: block and code. Whoever patches one means it.
const STATEMENTS: [(u32, u32); 5] = [
    (blocks::MODULE, code::VSTOFFSET),
    (blocks::MODULE, code::HASH),
    (blocks::VALUE_SYMTAB, FNENTRY),
    (blocks::METADATA, metadata::INDEX_OFFSET),
    (blocks::METADATA, metadata::INDEX),
];

impl FromStr for Patch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::without_offset(ErrorKind::BadValue, format!("{text:?} is no patch"))
                .expected("OFFSET:opN=VALUE, such as 2f4:op1=7")
        };
        let (place, value) = text.split_once('=').ok_or_else(wrong)?;
        let (record, operand) = place.split_once(':').ok_or_else(wrong)?;
        let (offset, number) = match record.split_once('#') {
            Some((offset, number)) => (offset, Some(number.parse().map_err(|_| wrong())?)),
            None => (record, None),
        };
        let offset = offset.strip_prefix("0x").unwrap_or(offset);
        let operand = match operand.strip_prefix("op") {
            Some(index) => PatchedOperand::Operand(index.parse().map_err(|_| wrong())?),
            None if operand == "code" => PatchedOperand::Code,
            None => return Err(wrong()),
        };
        let value = match (value.strip_prefix("0x"), value.strip_prefix('-')) {
            (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
            (None, Some(_)) => value.parse().ok().map(i64::cast_unsigned),
            (None, None) => value.parse().ok(),
        };
        let offset = u64::from_str_radix(offset, 16).map_err(|_| wrong())?;
        Ok(Self { offset, number, operand, value: value.ok_or_else(wrong)? })
    }
}

impl Tree {
    /// Changes operands of records. Addresses are those of the tree as it is, in a file whose first byte has the offset `base`.
    /// Positions and hashes are renewed, unless a patch changes one. Returns the old values.
    ///
    /// # Errors
    /// If no record or no operand is at an address, or several records are. The tree then stays as it is, unless positions
    /// don't settle.
    ///
    /// ```
    /// use unshade_llvm::tree::{Patch, Tree};
    ///
    /// # let bytes = include_bytes!("../../tests/fixtures/air_like.bc");
    /// let mut tree = Tree::read(bytes, 0)?;
    /// assert!(tree.patch(&["0:op0=1".parse()?], 0).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn patch(&mut self, patches: &[Patch], base: u64) -> Result<Vec<u64>> {
        let mut finder = Finder { patches, found: patches.iter().map(|_| Vec::new()).collect() };
        finder.parts(&self.parts, base, &mut Vec::new())?;
        let mut old = Vec::new();
        let mut is_stated = false;
        let mut changes = Vec::new();
        for (patch, found) in patches.iter().zip(&finder.found) {
            let place = chosen(patch, found)?;
            let block = block_of(&mut self.parts, &place.path).ok_or_else(|| no_record(patch))?;
            let record = block.record(place.item).ok_or_else(|| no_record(patch))?;
            old.push(match patch.operand {
                PatchedOperand::Code => record.code.into(),
                PatchedOperand::Operand(at) => *record.operands.get(at).ok_or_else(|| {
                    Error::new(ErrorKind::OutOfRange, patch.offset, format!("the record has no operand {at}"))
                        .found(format!("{} operands", record.operands.len()))
                })?,
            });
            is_stated |= STATEMENTS.contains(&(block.id, record.code));
            changes.push((place, patch));
        }
        for (place, patch) in changes {
            if let Some(block) = block_of(&mut self.parts, &place.path) {
                apply(block, place.item, patch)?;
            }
        }
        if !is_stated {
            self.renew_positions()?;
            self.renew_hashes()?;
        }
        Ok(old)
    }
}

fn apply(block: &mut Block, item: usize, patch: &Patch) -> Result<()> {
    let Some(record) = block.record(item) else { return Ok(()) };
    let (mut code, mut operands) = (record.code, record.operands.to_vec());
    match patch.operand {
        PatchedOperand::Code => {
            code = u32::try_from(patch.value).map_err(|_| {
                Error::new(ErrorKind::OutOfRange, patch.offset, "a code has 32 bits").found(format!("{}", patch.value))
            })?;
        }
        PatchedOperand::Operand(at) => operands.get_mut(at).into_iter().for_each(|operand| *operand = patch.value),
    }
    block.replace(item, code, &operands);
    Ok(())
}

#[cold]
fn no_record(patch: &Patch) -> Error {
    Error::new(ErrorKind::BadValue, patch.offset, "no record begins here")
        .hint("`unshade dump` prints the offsets of records")
}

/// Returns the place that a patch means.
fn chosen<'p>(patch: &Patch, found: &'p [Place]) -> Result<&'p Place> {
    match (patch.number, found) {
        (None, [place]) => Ok(place),
        (None, [_, _, ..]) => {
            let message = format!("{} records begin in this byte", found.len());
            let hint = format!("{:x}#0 is the first of them", patch.offset);
            Err(Error::new(ErrorKind::BadValue, patch.offset, message).hint(hint))
        }
        (number, _) => number.and_then(|number| found.get(number)).ok_or_else(|| no_record(patch)),
    }
}

/// Where a record is: the parts and blocks that it is in, by their indices, and the item.
struct Place {
    path: Path,
    item: usize,
}

/// Indices: of parts down to a stream, then of blocks.
#[derive(Clone, Default)]
struct Path {
    parts: Vec<usize>,
    blocks: Vec<usize>,
}

fn block_of<'t>(parts: &'t mut [Part], path: &Path) -> Option<&'t mut Block> {
    let (last, outer) = path.parts.split_last()?;
    let mut parts = parts;
    for index in outer {
        let Part::Wrapper(wrapper) = parts.get_mut(*index)? else { return None };
        parts = &mut wrapper.content;
    }
    let Part::Stream(stream) = parts.get_mut(*last)? else { return None };
    let (first, inner) = path.blocks.split_first()?;
    let mut block = stream.blocks.get_mut(*first)?;
    for index in inner {
        let Item::Block(found) = block.items.get_mut(*index)? else { return None };
        block = found;
    }
    Some(block)
}

/// Looks for the records that patches are for.
struct Finder<'p> {
    patches: &'p [Patch],
    /// For each patch, the records that begin at its offset.
    found: Vec<Vec<Place>>,
}

impl Finder<'_> {
    /// Looks in parts, the first of which is at an offset of the file. Returns the offset after the last.
    fn parts(&mut self, parts: &[Part], offset: u64, path: &mut Vec<usize>) -> Result<u64> {
        let mut offset = offset;
        for (index, part) in parts.iter().enumerate() {
            path.push(index);
            offset = match part {
                Part::Wrapper(wrapper) => {
                    self.parts(&wrapper.content, offset.saturating_add(WRAPPER_SIZE as u64), path)?
                }
                Part::Bytes(bytes) => offset.saturating_add(bytes.len() as u64),
                Part::Stream(stream) => {
                    let mut positions = Some(Vec::new());
                    let size = write_stream(stream, &mut positions)?.len();
                    let mut positions = positions.unwrap_or_default().into_iter();
                    for (index, block) in stream.blocks.iter().enumerate() {
                        let mut path = Path { parts: path.clone(), blocks: alloc::vec![index] };
                        self.block(block, offset, &mut positions, &mut path);
                    }
                    offset.saturating_add(size as u64)
                }
            };
            path.pop();
        }
        Ok(offset)
    }

    fn block(&mut self, block: &Block, base: u64, positions: &mut vec::IntoIter<usize>, path: &mut Path) {
        positions.next();
        for (index, item) in block.items.iter().enumerate() {
            if let Item::Block(inner) = item {
                path.blocks.push(index);
                self.block(inner, base, positions, path);
                path.blocks.pop();
                continue;
            }
            let Some(position) = positions.next() else { return };
            if !matches!(item, Item::Record(_)) {
                continue;
            }
            let offset = base.saturating_add((position >> 3) as u64);
            for (patch, found) in self.patches.iter().zip(&mut self.found) {
                if patch.offset == offset {
                    found.push(Place { path: path.clone(), item: index });
                }
            }
        }
        positions.next();
    }
}
