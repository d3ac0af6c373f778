//! Metadata kinds of attachments: their text and their order.
//!
//! The attachments of an instruction or global are sorted by LLVM's number of their kind. LLVM has fixed numbers
//! for its own kinds; other kinds follow in the order of the file.

use super::Dialect;
use super::text::push_metadata_name;
use crate::ids::narrow;
use crate::module::Module;
use crate::write::{Version, fixed_names};
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// A metadata kind of a module.
struct MetadataKind {
    /// Its number in the file.
    number: u32,
    /// Its rank in LLVM's order.
    rank: u32,
    /// Its name, preceded by `, !` and followed by a space, in the pool.
    text: Range<usize>,
}

/// All metadata kinds of a module.
#[derive(Default)]
pub(super) struct MetadataKinds {
    /// The names and the dialect that the others are of: the next module probably has the same.
    names: Vec<(u32, Cow<'static, [u8]>)>,
    dialect: Dialect,
    pool: String,
    list: Vec<MetadataKind>,
}

impl MetadataKinds {
    /// Returns the kinds of a module, which may be those of the module before.
    pub(super) fn of(module: &Module<'_>, dialect: Dialect, before: Self) -> Self {
        if before.names == module.metadata_kinds && before.dialect == dialect {
            return before;
        }
        let fixed = match dialect {
            Dialect::Llvm14 | Dialect::Dxc => fixed_names::kinds(Version::Llvm14),
            Dialect::Llvm19 => fixed_names::kinds(Version::Llvm19),
            Dialect::Llvm22 => fixed_names::newest_kinds(),
        };
        let mut pool = String::with_capacity(32 * module.metadata_kinds.len());
        let kinds = module.metadata_kinds.iter().enumerate().map(|(at, (number, name))| {
            // The kinds of most files start as LLVM's do.
            let rank = match fixed.get(at) {
                Some(fixed) if fixed.as_bytes() == &**name => Some(at),
                _ => fixed.iter().position(|fixed| fixed.as_bytes() == &**name),
            };
            let start = pool.len();
            pool.push_str(", !");
            match rank.and_then(|rank| fixed.get(rank)) {
                // These need no escapes.
                Some(name) => pool.push_str(name),
                None => push_metadata_name(&mut pool, name),
            }
            pool.push(' ');
            let rank = narrow(rank.unwrap_or(fixed.len() + at) as u64);
            MetadataKind { number: *number, rank, text: start..pool.len() }
        });
        let list = kinds.collect();
        Self { names: module.metadata_kinds.clone(), dialect, pool, list }
    }

    fn find(&self, number: u32) -> Option<&MetadataKind> {
        match self.list.get(number as usize) {
            Some(kind) if kind.number == number => Some(kind),
            _ => self.list.iter().find(|kind| kind.number == number),
        }
    }

    /// Returns the rank of a kind in LLVM's order.
    pub(super) fn rank(&self, number: u32) -> u32 {
        self.find(number).map_or(u32::MAX, |kind| kind.rank)
    }

    /// Returns the name of a kind, preceded by `, !` and followed by a space.
    pub(super) fn text(&self, number: u32) -> Option<&str> {
        self.pool.get(self.find(number)?.text.clone())
    }
}
