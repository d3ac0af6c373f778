//! Edits LLVM bitcode, alone, in Metal libraries and in DirectX containers: patches records, strips debug information,
//! renames symbols, sets triples.
//!
//! A wrapped module of Apple's keeps its form: the wrapper with the size of the stream, and zeros up to a multiple of 16
//! bytes. Hashes of containers are renewed: of a library when it is written, `HASH` of a DirectX container here.
//!
//! ```
//! use unshade::bitcode_edit::{BitcodeEdit, Rename};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/air/reduce.bc");
//! # let bytes = std::fs::read(path)?;
//! let renames = vec![Rename::new("reduce", "sum")];
//! let edit = BitcodeEdit { strip_debug: true, renames, ..BitcodeEdit::default() };
//! let edited = edit.module(&bytes, 0)?;
//! assert_eq!(edited.changes.renamed, [1]);
//! assert!(unshade::llvm::Module::parse(&edited.bytes, 0)?.functions.iter().any(|one| one.symbol.name == b"sum"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::retarget::triple_for;
use unshade_core::{Error, ErrorKind, Escaped, Reader, Result};
use unshade_dxcontainer::DxFile;
use unshade_dxcontainer::part::PartData;
use unshade_llvm::Module;
use unshade_llvm::tree::{Patch, Stripped, Tree};
use unshade_metallib::LibraryFile;
use unshade_metallib::module::{WRAPPER_SIZE, Wrapper, canonical_bitcode, wrap};
use unshade_metallib::target::Target;

/// Edits of bitcode, in the order in which they are made.
#[derive(Clone, Debug, Default)]
pub struct BitcodeEdit {
    /// Changes of operands. The offsets are those of the bitcode as it is.
    pub patches: Vec<Patch>,
    /// Whether debug information is stripped.
    pub strip_debug: bool,
    /// Symbols to rename, all at once.
    pub renames: Vec<Rename>,
    /// The target whose triple AIR modules get.
    pub target: Option<Target>,
}

/// A symbol's old and new name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    old: String,
    new: Vec<u8>,
}

impl Rename {
    /// Creates one. The old name is as in the module or as commands print it, the new one may have escapes as well: `\x01` and
    /// `\\`.
    pub fn new(old: &str, new: &str) -> Self {
        Self { old: old.to_owned(), new: unescaped(new) }
    }

    /// Returns the old name of a symbol of this name, if it is meant.
    fn means(&self, name: &[u8]) -> bool {
        name == self.old.as_bytes() || Escaped(name).to_cow() == self.old
    }

    /// Returns the new name.
    pub fn new_name(&self) -> &[u8] {
        &self.new
    }
}

/// Resolves escapes of bytes and backslashes; other backslashes stay.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escape = match after {
            [b'x', high, low, ..] if first == b'\\' => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok())
                .map(|byte| (byte, 3)),
            [b'\\', ..] if first == b'\\' => Some((b'\\', 1)),
            _ => None,
        };
        let (byte, used) = escape.unwrap_or((first, 0));
        bytes.push(byte);
        rest = &after[used..];
    }
    bytes
}

/// What was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// What was stripped.
    pub stripped: Stripped,
    /// The number of symbols that were renamed, for each of [`BitcodeEdit::renames`].
    pub renamed: Vec<u64>,
    /// The number of modules whose triple changed.
    pub retargeted: usize,
    /// Whether assembly of a module mentions an old name, and still does.
    pub in_assembly: bool,
    /// Whether `HASH` of a DirectX container includes the source, so that it stays as it was.
    pub keeps_hash: bool,
}

impl Changes {
    fn add(&mut self, other: &Self) {
        self.stripped.add(other.stripped);
        self.retargeted += other.retargeted;
        self.renamed.resize(self.renamed.len().max(other.renamed.len()), 0);
        for (sum, count) in self.renamed.iter_mut().zip(&other.renamed) {
            *sum += count;
        }
        self.in_assembly |= other.in_assembly;
        self.keeps_hash |= other.keeps_hash;
    }
}

/// A module after an edit.
#[derive(Clone, Debug, Default)]
pub struct Edited {
    /// Its bytes; those of before if nothing has changed.
    pub bytes: Vec<u8>,
    /// What was changed.
    pub changes: Changes,
}

impl BitcodeEdit {
    /// Edits bitcode whose first byte has the offset `base` in a file.
    ///
    /// # Errors
    /// If the bitcode can't be read, or an edit is not possible.
    pub fn module(&self, bytes: &[u8], base: u64) -> Result<Edited> {
        let mut tree = Tree::read(bytes, base)?;
        let mut changes = Changes { renamed: vec![0; self.renames.len()], ..Changes::default() };
        if !self.patches.is_empty() {
            tree.patch(&self.patches, base)?;
        }
        if self.strip_debug {
            changes.stripped = tree.strip_debug_info()?;
        }
        if !self.renames.is_empty() {
            self.rename(&mut tree, &mut changes)?;
        }
        if let Some(target) = self.target {
            // The platform has a triple or not, whatever the architecture is.
            triple_for(b"", target)?;
            changes.retargeted =
                tree.set_triples(|old| triple_for(old, target).unwrap_or_else(|_| old.to_vec()))?;
        }
        let mut written = tree.write()?;
        if written != bytes && canonical_bitcode(bytes).is_some() {
            written = rewrapped(&written)?;
        }
        Ok(Edited { bytes: written, changes })
    }

    fn rename(&self, tree: &mut Tree, changes: &mut Changes) -> Result<()> {
        let bytes = tree.write()?;
        let modules: Vec<Module<'_>> = Module::parse_all(&bytes, 0)?.collect::<Result<_>>()?;
        let globals = modules.iter().flat_map(|module| module.globals.iter().map(|global| &global.symbol));
        let functions =
            modules.iter().flat_map(|module| module.functions.iter().map(|function| &function.symbol));
        let aliases = modules.iter().flat_map(|module| module.aliases.iter().map(|alias| &alias.symbol));
        let names: Vec<&[u8]> =
            globals.chain(functions).chain(aliases).map(|symbol| symbol.name.as_slice()).collect();
        let mut meant = Vec::new();
        for (index, rename) in self.renames.iter().enumerate() {
            let old = names.iter().find(|name| rename.means(name));
            meant.extend(old.map(|old| (index, *old, rename.new.as_slice())));
        }
        let pairs: Vec<(&[u8], &[u8])> = meant.iter().map(|(_, old, new)| (*old, *new)).collect();
        let renamed = tree.rename_symbols(&pairs)?;
        for ((index, ..), count) in meant.iter().zip(renamed.symbols) {
            changes.renamed[*index] += count;
        }
        changes.in_assembly |= renamed.in_assembly;
        Ok(())
    }

    /// Edits the modules of a library for which `is_meant` returns true, given their index. Their hashes will be recomputed.
    ///
    /// # Errors
    /// As [`BitcodeEdit::module`]; or if there are patches, whose offsets are those of a module alone.
    pub fn library(&self, file: &mut LibraryFile<'_>, is_meant: impl Fn(usize) -> bool) -> Result<Changes> {
        self.refuse_patches("--module")?;
        let mut changes = Changes { renamed: vec![0; self.renames.len()], ..Changes::default() };
        for index in (0..file.modules.len()).filter(|index| is_meant(*index)) {
            let user = file.functions.iter().position(|function| function.module == index);
            let Some(user) = user else { continue };
            let within = |error: Error| error.within(file.functions[user].label(user));
            let edited = self.module(&file.modules[index].bytes, 0).map_err(within)?;
            changes.add(&edited.changes);
            if edited.bytes != *file.modules[index].bytes {
                file.replace_module(user, &edited.bytes)?;
            }
        }
        Ok(changes)
    }

    /// Edits the programs of a container: DXIL, and DXC's STAT; symbols are renamed in ILDB, too. `HASH` is renewed.
    ///
    /// # Errors
    /// As [`BitcodeEdit::module`]; if there are patches; or if RDAT has the old name of a symbol.
    pub fn container(&self, file: &mut DxFile) -> Result<Changes> {
        self.refuse_patches("--set DXIL")?;
        let mut changes = Changes { renamed: vec![0; self.renames.len()], ..Changes::default() };
        let mut has_changed = false;
        for part in &mut file.parts {
            let PartData::Program(program) = &mut part.data else { continue };
            let is_debug_part = part.name.0 == *b"ILDB";
            let edit = Self { strip_debug: self.strip_debug && !is_debug_part, ..self.clone() };
            let edited = edit
                .module(&program.bitcode.0, 0)
                .map_err(|error| error.within(format!("part {}", part.name)))?;
            changes.add(&edited.changes);
            if edited.bytes != program.bitcode.0 {
                program.set_bitcode(edited.bytes);
                has_changed = true;
            }
        }
        if changes.renamed.iter().any(|count| *count > 0) {
            self.refuse_listed(file)?;
        }
        if has_changed {
            file.layout = None;
            changes.keeps_hash = file.renew_hash();
        }
        Ok(changes)
    }

    fn refuse_patches(&self, option: &str) -> Result<()> {
        if self.patches.is_empty() {
            return Ok(());
        }
        let message = "patches are for bitcode that is no part of a container";
        let hint = format!("`unshade extract` writes it, and `unshade edit {option}=FILE` puts it back");
        Err(Error::without_offset(ErrorKind::Unsupported, message).hint(hint))
    }

    /// Refuses new names for functions that RDAT lists.
    fn refuse_listed(&self, file: &DxFile) -> Result<()> {
        let Some(part) = file.find(b"RDAT") else { return Ok(()) };
        let bytes = part.data.write()?;
        for rename in &self.renames {
            let old = unescaped(&rename.old);
            // Names there have no mark of a name that is not to be changed.
            let name = old.strip_prefix(&[1]).unwrap_or(&old);
            let text = [&[0], name, &[0]].concat();
            if bytes.windows(text.len()).any(|window| window == text) {
                let message = format!("RDAT lists {}, and would keep the old name", Escaped(&old).quoted());
                return Err(Error::without_offset(ErrorKind::Unsupported, message)
                    .hint("RDAT can be changed in YAML, or removed"));
            }
        }
        Ok(())
    }
}

/// Returns a wrapped module with the usual wrapper and padding.
fn rewrapped(written: &[u8]) -> Result<Vec<u8>> {
    let wrapper = Wrapper::read(&mut Reader::new(written))?;
    let start = WRAPPER_SIZE as usize;
    let end = start.saturating_add(wrapper.size as usize);
    wrap(written.get(start..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_new_names() {
        assert_eq!(unescaped(r"\x01?main@@YAXXZ"), b"\x01?main@@YAXXZ");
        assert_eq!(unescaped(r"a\\x41\x4"), br"a\x41\x4");
        assert_eq!(unescaped(r"\xzz\"), br"\xzz\");
    }
}
