//! The attributes of target-specific intrinsics that LLVM creates when it upgrades older ones.
//!
//! Files written by the version that prints them already have the right attributes; this table is for older files.
//! One row per intrinsic: the name without `llvm.` and the attributes of the function in LLVM 14 and 19. No
//! parameter has attributes.
//!
//! Knowledge: declarations of these intrinsics, passed through `llvm-as` and `llvm-dis` 14 and 19.

use super::Dialect;

const PURE_14: &str = "nofree nosync nounwind readnone willreturn";
const PURE_19: &str = "nocallback nofree nosync nounwind willreturn memory(none)";
const READS_14: &str = "argmemonly nofree nosync nounwind readonly willreturn";
const READS_19: &str = "nocallback nofree nosync nounwind willreturn memory(argmem: read)";
const EXCLUSIVE: &str = "nofree nounwind willreturn";

#[rustfmt::skip]
const TABLE: &[(&str, &str, &str)] = &[
    ("aarch64.ldaxr", EXCLUSIVE, EXCLUSIVE),
    ("aarch64.ldxr", EXCLUSIVE, EXCLUSIVE),
    ("aarch64.neon.addp", PURE_14, PURE_19),
    ("aarch64.neon.bfdot", PURE_14, PURE_19),
    ("aarch64.neon.bfmlalb", PURE_14, PURE_19),
    ("aarch64.neon.bfmlalt", PURE_14, PURE_19),
    ("aarch64.neon.bfmmla", PURE_14, PURE_19),
    ("aarch64.neon.faddp", PURE_14, PURE_19),
    ("aarch64.neon.ld2", READS_14, READS_19),
    ("aarch64.neon.ld3", READS_14, READS_19),
    ("aarch64.neon.ld4", READS_14, READS_19),
    ("aarch64.stlxr", EXCLUSIVE, EXCLUSIVE),
    ("aarch64.stxr", EXCLUSIVE, EXCLUSIVE),
    ("arm.ldaex", "nounwind", "nounwind"),
    ("arm.ldrex", "nounwind", "nounwind"),
    ("arm.neon.bfdot", "nounwind readnone", PURE_19),
    ("arm.neon.bfmlalb", "nounwind readnone", PURE_19),
    ("arm.neon.bfmlalt", "nounwind readnone", PURE_19),
    ("arm.neon.bfmmla", "nounwind readnone", PURE_19),
    ("arm.stlex", "nounwind", "nounwind"),
    ("arm.strex", "nounwind", "nounwind"),
];

/// Returns the name and attributes of an intrinsic; types may follow its name.
pub(super) fn find(dialect: Dialect, name: &str) -> Option<(&'static str, &'static str)> {
    let types = |rest: &str| rest.is_empty() || rest.starts_with('.');
    let &(name, of_14, of_19) =
        TABLE.iter().find(|(known, ..)| name.strip_prefix(known).is_some_and(types))?;
    Some((name, if dialect == Dialect::Llvm19 { of_19 } else { of_14 }))
}
