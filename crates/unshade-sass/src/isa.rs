//! The list of instruction sets.

use alloc::boxed::Box;
use alloc::vec::Vec;

use once_cell::race::OnceBox;

use crate::generated::tables::{FAMILIES, TABLES};
use crate::packed::{self, Pool};
use crate::table::Isa;

/// Returns the packed tables of a file: `sm_70` for `sm_70.bin`.
pub type Loader = fn(&str) -> Option<Vec<u8>>;

static LOADER: OnceBox<Loader> = OnceBox::new();

/// A file of packed tables.
pub(crate) struct Family {
    name: &'static str,
    /// The tables, if they are part of the program.
    bytes: Option<&'static [u8]>,
    /// The tables that were read; `None` if they can't be read.
    pool: OnceBox<Option<Pool>>,
}

impl Family {
    pub(crate) const fn new(name: &'static str, bytes: Option<&'static [u8]>) -> Self {
        Self { name, bytes, pool: OnceBox::new() }
    }

    fn pool(&'static self) -> Option<&'static Pool> {
        if self.is_readable() { self.pool.get_or_init(|| Box::new(self.read())).as_ref() } else { None }
    }

    fn read(&self) -> Option<Pool> {
        let load = || Some(&*(LOADER.get()?)(self.name)?.leak());
        packed::read(self.bytes.or_else(load)?)
    }

    /// Returns whether the tables were read or may be read.
    fn is_readable(&self) -> bool {
        match self.pool.get() {
            Some(pool) => pool.is_some(),
            None => self.bytes.is_some() || LOADER.get().is_some(),
        }
    }
}

/// The tables of an instruction set, which are read when they are needed.
pub(crate) struct Table {
    /// The file, an index into [`FAMILIES`].
    family: usize,
    /// Which generation of the file.
    number: usize,
    architectures: &'static [u32],
    has_semantics: bool,
    isa: OnceBox<Isa>,
}

impl Table {
    pub(crate) const fn new(
        family: usize,
        number: usize,
        architectures: &'static [u32],
        has_semantics: bool,
    ) -> Self {
        Self { family, number, architectures, has_semantics, isa: OnceBox::new() }
    }

    fn isa(&'static self) -> Option<&'static Isa> {
        let read = || FAMILIES.get(self.family)?.pool()?.isa(self.number).map(Box::new);
        self.isa.get_or_try_init(|| read().ok_or(())).ok()
    }

    fn is_readable(&self) -> bool {
        FAMILIES.get(self.family).is_some_and(Family::is_readable)
    }
}

/// Sets the function that returns tables that are not part of the program, which is built without the feature `tables`. It is
/// called once for each file, when the first of its instruction sets is needed. Only the first call has an effect.
pub fn set_loader(loader: Loader) {
    // Another loader was set before.
    let _ = LOADER.set(Box::new(loader));
}

/// Reads the instruction sets of a file that `cargo xtask codegen` packed; `None` if it is not of this version. They are never
/// freed.
pub fn load(tables: Vec<u8>) -> Option<Vec<&'static Isa>> {
    let pool = packed::read(tables.leak())?;
    (0..pool.count()).map(|number| Some(&*Box::leak(Box::new(pool.isa(number)?)))).collect()
}

/// Returns all instruction sets, oldest first.
pub fn all() -> impl Iterator<Item = &'static Isa> {
    TABLES.iter().filter_map(Table::isa)
}

/// Returns the architectures of all instruction sets: 35 for `sm_35`.
pub fn architectures() -> impl Iterator<Item = u32> {
    TABLES.iter().filter(|table| table.is_readable()).flat_map(|table| table.architectures).copied()
}

/// Returns the architectures of the instruction sets with semantics: 35 for `sm_35`.
pub fn architectures_with_semantics() -> impl Iterator<Item = u32> {
    let tables = TABLES.iter().filter(|table| table.has_semantics && table.is_readable());
    tables.flat_map(|table| table.architectures).copied()
}

/// Returns the instruction set of an architecture: 35 for `sm_35`.
pub fn by_architecture(architecture: u32) -> Option<&'static Isa> {
    TABLES.iter().find(|table| table.architectures.contains(&architecture))?.isa()
}

#[cfg(test)]
mod tests {
    use super::{all, load};

    #[test]
    fn a_file_has_the_tables_of_a_family() {
        let read = load(include_bytes!("generated/sm_30.bin").to_vec()).unwrap();
        let names: alloc::vec::Vec<&str> = read.iter().map(|isa| isa.name).collect();
        assert_eq!(names, ["sm_30", "sm_35"]);
        let counts = read.iter().map(|isa| isa.encodings.len());
        assert!(counts.eq(all().take(2).map(|isa| isa.encodings.len())));
        assert!(load(b"USIA".to_vec()).is_none());
    }
}
