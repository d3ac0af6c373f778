//! The symbol table for linkers: the content of `SYMTAB`.
//!
//! A header of 17 words: version; producer (offset and size in the string table); then offset and count of modules,
//! comdats, symbols, and uncommon properties; target triple, source file name (offset and size); offset and count of
//! dependent libraries. Offsets of lists are in bytes of the blob, whose words are little-endian. A symbol is six words:
//! its mangled name, its name in the module (offset and size each), comdat, flags. All modules of a stream share one table.
//!
//! Knowledge: LLVM's `llvm/Object/IRSymtab.h` (versions 1 to 3), and the tables of real files.

use crate::module::{Blob, Module};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped, Result};

/// Number of words of the header up to the list of dependent libraries, which version 2 brought.
const HEADER_WORDS: usize = 15;
/// The lists of the header: name, place of the offset in words, size of an entry in bytes.
const LISTS: [(&str, usize, usize); 4] = [("modules", 3, 12), ("comdats", 5, 8), ("symbols", 7, 24), ("uncommon properties", 9, 24)];
/// Size of an entry of the comdats from version 3 on, which store how to choose.
const COMDAT_SIZE_3: usize = 12;
/// Strings of the header: name, place of the offset in words.
const STRINGS: [(&str, usize); 3] = [("producer", 1), ("target triple", 11), ("source file name", 13)];

/// The symbols of the modules that share a table, and the table.
#[derive(Default)]
pub(super) struct Table<'a> {
    tables: Option<(Blob<'a>, Blob<'a>)>,
    names: BTreeSet<Vec<u8>>,
}

impl<'a> Table<'a> {
    /// Adds the symbols of a module. When its table is another one, the one before is checked.
    pub(super) fn add(&mut self, module: &Module<'a>, diagnostics: &mut Diagnostics) {
        let tables = module.symbol_table.zip(module.string_table);
        let place = |tables: &Option<(Blob<'_>, Blob<'_>)>| tables.map(|(symbols, _)| symbols.offset);
        if place(&self.tables) != place(&tables) {
            self.finish(diagnostics);
            self.tables = tables;
        }
        if self.tables.is_some() {
            let globals = module.globals.iter().map(|global| &global.symbol.name);
            let functions = module.functions.iter().map(|function| &function.symbol.name);
            let aliases = module.aliases.iter().map(|alias| &alias.symbol.name);
            let names = globals.chain(functions).chain(aliases);
            self.names.extend(names.filter(|name| !name.is_empty()).cloned());
        }
    }

    /// Checks the table.
    pub(super) fn finish(&mut self, diagnostics: &mut Diagnostics) {
        let names = core::mem::take(&mut self.names);
        let Some((symbols, strings)) = self.tables.take() else { return };
        match check_header(&symbols, &strings) {
            Ok(list) => check_names(&symbols, list, &strings, names, diagnostics),
            Err(error) => diagnostics.error("bitcode-symbols", error),
        }
    }
}

fn word(blob: &Blob<'_>, byte: usize) -> Option<usize> {
    let bytes = blob.bytes.get(byte..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

/// Two words from a byte on.
fn pair(blob: &Blob<'_>, byte: usize) -> Option<(usize, usize)> {
    Some((word(blob, byte)?, word(blob, byte.saturating_add(4))?))
}

/// A text of the string table.
fn string<'a>(symbols: &Blob<'_>, strings: &Blob<'a>, byte: usize) -> Option<&'a [u8]> {
    let (offset, size) = pair(symbols, byte)?;
    strings.bytes.get(offset..offset.checked_add(size)?)
}

/// Checks the ranges of the header; returns where the symbols are.
fn check_header(symbols: &Blob<'_>, strings: &Blob<'_>) -> Result<core::ops::Range<usize>> {
    let size = symbols.bytes.len();
    let wrong = |message: alloc::string::String| Error::new(ErrorKind::OutOfRange, symbols.offset, message);
    if size < HEADER_WORDS.saturating_mul(4) {
        return Err(wrong("the symbol table is too short".into()).found(format!("{size:#x} bytes")));
    }
    let version = word(symbols, 0).unwrap_or(0);
    let mut found = 0..0;
    for (name, at, entry) in LISTS {
        let entry = if name == "comdats" && version >= 3 { COMDAT_SIZE_3 } else { entry };
        let (offset, count) = pair(symbols, at.saturating_mul(4)).unwrap_or_default();
        let end = offset.saturating_add(count.saturating_mul(entry));
        if end > size {
            return Err(wrong(format!("the {name} of the symbol table are outside of it"))
                .expected(format!("at most {size:#x} bytes"))
                .found(format!("{offset:#x}..{end:#x}")));
        }
        if name == "symbols" {
            found = offset..end;
        }
    }
    for (name, at) in STRINGS {
        if string(symbols, strings, at.saturating_mul(4)).is_none() {
            return Err(wrong(format!("the {name} of the symbol table is outside of the string table")));
        }
    }
    Ok(found)
}

/// Compares the names of the table with those of the modules.
fn check_names(
    symbols: &Blob<'_>,
    list: core::ops::Range<usize>,
    strings: &Blob<'_>,
    mut names: BTreeSet<Vec<u8>>,
    diagnostics: &mut Diagnostics,
) {
    let known = names.clone();
    for at in list.step_by(24) {
        let offset = symbols.offset.saturating_add(at as u64);
        let mangled = string(symbols, strings, at);
        let name = string(symbols, strings, at.saturating_add(8));
        let (Some(_), Some(name)) = (mangled, name) else {
            let message = "a name of the symbol table is outside of the string table";
            diagnostics.error("bitcode-symbols", Error::new(ErrorKind::OutOfRange, offset, message));
            continue;
        };
        names.remove(name);
        // Symbols of assembly have no name in the module.
        if !name.is_empty() && !known.contains(name) {
            let error = Error::new(ErrorKind::BadValue, offset, "the symbol table has a symbol that no module has")
                .found(Escaped(name).quoted());
            diagnostics.warning("bitcode-symbols", error);
        }
    }
    if let Some(name) = names.first() {
        let message = "the symbol table lacks symbols of the modules";
        let error = Error::new(ErrorKind::BadValue, symbols.offset, message)
            .found(format!("{} missing, such as {}", names.len(), Escaped(name).quoted()))
            .hint("linkers make it anew from the modules, if their version is another");
        diagnostics.warning("bitcode-symbols", error);
    }
}
