//! Names that LLVM knows by number: kinds of metadata, tags of operand bundles, synchronisation scopes.
//!
//! A version of LLVM has fixed numbers for its own names; others follow in the order in which they were met. A file
//! lists all of them, so that a module's numbers have to be translated when it is written for another version.
//!
//! Knowledge: `FixedMetadataKinds.def` and `LLVMContext.cpp` of LLVM 14 and 19; kinds that
//! `llvm-as` 22 writes.

use super::Version;
use crate::bitstream;
use crate::ids::{MetadataId, narrow};
use crate::module::Module;
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// The kinds of metadata by number, as of LLVM 22. Those of LLVM 14 come first, then those of LLVM 19.
const KINDS: &[&str] = &[
    "dbg",
    "tbaa",
    "prof",
    "fpmath",
    "range",
    "tbaa.struct",
    "invariant.load",
    "alias.scope",
    "noalias",
    "nontemporal",
    "llvm.mem.parallel_loop_access",
    "nonnull",
    "dereferenceable",
    "dereferenceable_or_null",
    "make.implicit",
    "unpredictable",
    "invariant.group",
    "align",
    "llvm.loop",
    "type",
    "section_prefix",
    "absolute_symbol",
    "associated",
    "callees",
    "irr_loop",
    "llvm.access.group",
    "callback",
    "llvm.preserve.access.index",
    "vcall_visibility",
    "noundef",
    "annotation",
    "nosanitize",
    "func_sanitize",
    "exclude",
    "memprof",
    "callsite",
    "kcfi_type",
    "pcsections",
    "DIAssignID",
    "coro.outside.frame",
    "mmra",
    "noalias.addrspace",
    "callee_type",
    "nofree",
    "captures",
    "alloc_token",
    "implicit.ref",
];
/// How many kinds LLVM 3.7 has.
const KINDS_OF_3_7: usize = 14;
/// How many kinds LLVM 14 has.
const KINDS_OF_14: usize = 31;
/// How many kinds LLVM 19 has.
const KINDS_OF_19: usize = 41;

/// The tags of operand bundles by number, those of LLVM 14 first.
const TAGS: &[&str] = &[
    "deopt",
    "funclet",
    "gc-transition",
    "cfguardtarget",
    "preallocated",
    "gc-live",
    "clang.arc.attachedcall",
    "ptrauth",
    "kcfi",
    "convergencectrl",
];
/// How many tags LLVM 14 has.
const TAGS_OF_14: usize = 7;

/// The synchronisation scopes by number. The second is that of the whole system.
pub(crate) const SCOPES: &[&str] = &["singlethread", ""];

/// Returns the kinds of metadata that a version has, by number.
pub(crate) fn kinds(version: Version) -> &'static [&'static str] {
    match version {
        Version::Llvm14 => KINDS.get(..KINDS_OF_14).unwrap_or(KINDS),
        Version::Llvm19 => KINDS.get(..KINDS_OF_19).unwrap_or(KINDS),
        Version::Dxc => KINDS.get(..KINDS_OF_3_7).unwrap_or(KINDS),
    }
}

/// Returns the name of a kind of metadata as a record has it, without a copy if it is LLVM's of this number.
pub(crate) fn kind_of(number: usize, characters: &[u64]) -> Cow<'static, [u8]> {
    known(KINDS, number, characters)
}

/// Returns the name of a tag of operand bundles as a record has it, as [`kind_of`] does.
pub(crate) fn tag_of(number: usize, characters: &[u64]) -> Cow<'static, [u8]> {
    known(TAGS, number, characters)
}

fn known(names: &'static [&'static str], number: usize, characters: &[u64]) -> Cow<'static, [u8]> {
    match names.get(number).filter(|name| bitstream::is_text(characters, name.as_bytes())) {
        Some(name) => Cow::Borrowed(name.as_bytes()),
        None => Cow::Owned(bitstream::text(characters)),
    }
}

/// Returns the kinds of metadata of LLVM 22, by number.
pub(crate) fn newest_kinds() -> &'static [&'static str] {
    KINDS
}

/// Returns the tags of operand bundles that a version has, by number.
pub(crate) fn tags(version: Version) -> &'static [&'static str] {
    match version {
        Version::Llvm14 => TAGS.get(..TAGS_OF_14).unwrap_or(TAGS),
        Version::Llvm19 => TAGS,
        Version::Dxc => &[],
    }
}

/// The names that are written, and the numbers of those of the module.
pub(super) struct Names {
    /// All names, by the number that is written.
    pub(super) all: Vec<Cow<'static, [u8]>>,
    /// The number that is written, by the number in the module.
    numbers: Vec<Option<u32>>,
    message: &'static str,
}

/// Maximum number of a metadata kind.
const MAX_KIND: u32 = 1 << 20;

impl Names {
    fn new(
        fixed: &[&'static str],
        names: impl Iterator<Item = (u32, Cow<'static, [u8]>)>,
        message: &'static str,
    ) -> Result<Self> {
        let all: Vec<_> = fixed.iter().map(|name| Cow::Borrowed(name.as_bytes())).collect();
        let mut known: BTreeMap<_, u32> = all.iter().cloned().zip(0..).collect();
        let mut result = Self { all, numbers: Vec::new(), message };
        for (number, name) in names {
            if number > MAX_KIND {
                return Err(Error::without_offset(
                    ErrorKind::Limit,
                    "number of a metadata kind is too large",
                ));
            }
            let next = narrow(result.all.len() as u64);
            let at = *known.entry(name.clone()).or_insert(next);
            if at == next {
                result.all.push(name);
            }
            let number = number as usize;
            if result.numbers.len() <= number {
                result.numbers.resize(number + 1, None);
            }
            match result.numbers.get_mut(number) {
                Some(slot @ None) => *slot = Some(at),
                _ => {
                    return Err(Error::without_offset(
                        ErrorKind::BadValue,
                        "two metadata kinds have one number",
                    ));
                }
            }
        }
        Ok(result)
    }

    /// Collects the kinds of metadata of a module.
    pub(super) fn kinds(version: Version, module: &Module<'_>) -> Result<Self> {
        let mut kinds = module.metadata_kinds.clone();
        kinds.sort_by_key(|&(number, _)| number);
        Self::new(self::kinds(version), kinds.into_iter(), "metadata of an unknown kind is attached")
    }

    /// Collects the tags of operand bundles of a module.
    pub(super) fn tags(version: Version, module: &Module<'_>) -> Result<Self> {
        Self::new(
            tags(version),
            (0..).zip(module.bundle_tags.iter().cloned()),
            "operand bundle has an unknown tag",
        )
    }

    /// Collects the synchronisation scopes of a module.
    pub(super) fn scopes(module: &Module<'_>) -> Result<Self> {
        let message = "instruction has an unknown synchronisation scope";
        match module.sync_scopes.as_slice() {
            // Before LLVM 7 there were only the fixed ones.
            [] => {
                let fixed = (0..).zip(SCOPES.iter().map(|name| Cow::Borrowed(name.as_bytes())));
                Self::new(SCOPES, fixed, message)
            }
            scopes => Self::new(SCOPES, (0..).zip(scopes.iter().cloned().map(Cow::Owned)), message),
        }
    }

    /// Returns the number that is written for a number of the module.
    pub(super) fn number(&self, number: u32) -> Result<u64> {
        let known = self.numbers.get(number as usize).copied().flatten();
        known.map(u64::from).ok_or_else(|| Error::without_offset(ErrorKind::BadValue, self.message))
    }

    /// Returns attached metadata in the order of the numbers that are written.
    pub(super) fn sorted(&self, attachments: &[(u32, MetadataId)]) -> Result<Vec<(u64, MetadataId)>> {
        let numbered = attachments.iter().map(|&(kind, id)| Ok((self.number(kind)?, id)));
        let mut sorted: Vec<(u64, MetadataId)> = numbered.collect::<Result<_>>()?;
        sorted.sort_by_key(|&(kind, _)| kind);
        Ok(sorted)
    }
}
