//! Metadata kinds of attachments: their text and their order.
//!
//! The attachments of an instruction or global are sorted by LLVM's number of their kind. LLVM has fixed numbers
//! for its own kinds; other kinds follow in the order of the file.

use super::text::push_metadata_name;
use crate::ids::narrow;
use crate::module::Module;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// The kinds that have fixed numbers in LLVM, by number.
const FIXED_KINDS: &[&[u8]] = &[
    b"dbg",
    b"tbaa",
    b"prof",
    b"fpmath",
    b"range",
    b"tbaa.struct",
    b"invariant.load",
    b"alias.scope",
    b"noalias",
    b"nontemporal",
    b"llvm.mem.parallel_loop_access",
    b"nonnull",
    b"dereferenceable",
    b"dereferenceable_or_null",
    b"make.implicit",
    b"unpredictable",
    b"invariant.group",
    b"align",
    b"llvm.loop",
    b"type",
    b"section_prefix",
    b"absolute_symbol",
    b"associated",
    b"callees",
    b"irr_loop",
    b"llvm.access.group",
    b"callback",
    b"llvm.preserve.access_index",
    b"vcall_visibility",
    b"noundef",
    b"annotation",
];

/// The kinds that versions after 14 added, by number.
const LATER_FIXED_KINDS: &[&[u8]] = &[
    b"nosanitize",
    b"func_sanitize",
    b"exclude",
    b"memprof",
    b"callsite",
    b"kcfi_type",
    b"pcsections",
    b"DIAssignID",
    b"coro.outside.frame",
    b"mmra",
];

/// Returns the kinds that every module of a version has, by number.
pub(crate) fn fixed_metadata_kinds(is_later: bool) -> impl Iterator<Item = &'static [u8]> {
    let later = LATER_FIXED_KINDS.iter().filter(move |_| is_later);
    FIXED_KINDS.iter().chain(later).copied()
}

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
pub(super) struct MetadataKinds {
    pool: String,
    list: Vec<MetadataKind>,
}

impl MetadataKinds {
    pub(super) fn new(module: &Module<'_>) -> Self {
        let mut pool = String::with_capacity(32 * module.metadata_kinds.len());
        let kinds = module.metadata_kinds.iter().enumerate().map(|(at, (number, name))| {
            let fixed = FIXED_KINDS.iter().position(|fixed| fixed == name);
            let start = pool.len();
            pool.push_str(", !");
            push_metadata_name(&mut pool, name);
            pool.push(' ');
            let rank = narrow(fixed.unwrap_or(FIXED_KINDS.len() + at) as u64);
            MetadataKind { number: *number, rank, text: start..pool.len() }
        });
        let list = kinds.collect();
        Self { pool, list }
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
