//! The kinds of metadata attachments: how they are written, and in which order.
//!
//! Attachments of one thing are written in the order of LLVM's own numbers of their kinds, which are fixed for those
//! that LLVM itself knows and follow the file for others.

use super::text::push_metadata_name;
use crate::ids::narrow;
use crate::module::Module;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// Kinds of attachments that LLVM has numbered for good.
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

/// One kind of a module.
struct Kind {
    /// Its number in the file.
    number: u32,
    /// Where LLVM sorts it.
    rank: u32,
    /// Its name between `, !` and a space, in the pool.
    text: Range<usize>,
}

/// All kinds of a module.
pub(super) struct Kinds {
    pool: String,
    list: Vec<Kind>,
}

impl Kinds {
    pub(super) fn new(module: &Module<'_>) -> Self {
        let mut pool = String::with_capacity(32 * module.metadata_kinds.len());
        let kinds = module.metadata_kinds.iter().enumerate().map(|(at, (number, name))| {
            let fixed = FIXED_KINDS.iter().position(|fixed| fixed == name);
            let start = pool.len();
            pool.push_str(", !");
            push_metadata_name(&mut pool, name);
            pool.push(' ');
            let rank = narrow(fixed.unwrap_or(FIXED_KINDS.len() + at) as u64);
            Kind { number: *number, rank, text: start..pool.len() }
        });
        let list = kinds.collect();
        Self { pool, list }
    }

    fn find(&self, number: u32) -> Option<&Kind> {
        match self.list.get(number as usize) {
            Some(kind) if kind.number == number => Some(kind),
            _ => self.list.iter().find(|kind| kind.number == number),
        }
    }

    /// Where LLVM sorts a kind.
    pub(super) fn rank(&self, number: u32) -> u32 {
        self.find(number).map_or(u32::MAX, |kind| kind.rank)
    }

    /// The name of a kind between `, !` and a space.
    pub(super) fn text(&self, number: u32) -> Option<&str> {
        self.pool.get(self.find(number)?.text.clone())
    }
}
