//! How an instruction accesses memory, as far as the order of threads is concerned.

use unshade_sass::Instruction;

/// The kind of an instruction's accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// An ordinary load or store.
    #[default]
    Weak,
    /// A load or store of a `volatile` variable in global memory.
    Volatile,
    /// Half of an atomic operation on shared memory, which is a loop around these.
    Locked,
    /// An atomic operation with a result.
    Atomic,
    /// An atomic operation without a result.
    Reduction,
}

/// By operation; loads and stores also depend on the cache operator.
const KINDS: &[(&str, AccessKind)] = &[
    ("ATOM", AccessKind::Atomic),
    ("ATOM_CAS", AccessKind::Atomic),
    ("RED", AccessKind::Reduction),
    ("LDSLK", AccessKind::Locked),
    ("STSCUL", AccessKind::Locked),
];

impl AccessKind {
    /// Returns the kind of an instruction. Compilers translate `volatile` to `LD.CV` and `ST.WT`.
    pub(crate) fn of(instruction: &Instruction) -> Self {
        let name = instruction.operation().name;
        if matches!(name, "LD" | "ST") {
            let is_volatile = matches!(instruction.modifier("cache"), Some("cv" | "wt"));
            return if is_volatile { Self::Volatile } else { Self::Weak };
        }
        KINDS.iter().find(|kind| kind.0 == name).map_or(Self::Weak, |kind| kind.1)
    }
}
