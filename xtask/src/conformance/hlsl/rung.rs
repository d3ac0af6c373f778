//! How far a recompiled program is the original, on a ladder of rungs: aspects of [`unshade::hlsl::compare`].

use unshade::hlsl::compare::{Aspect, Comparison};

/// The rungs above "compiles".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rung {
    Signatures,
    Layout,
    Multiset,
    Order,
    Same,
}

impl Rung {
    pub(super) const ALL: [Self; 5] =
        [Self::Signatures, Self::Layout, Self::Multiset, Self::Order, Self::Same];

    pub(super) fn name(self) -> &'static str {
        ["signatures", "layout", "multiset", "order", "same"][self as usize]
    }

    /// Returns how many rungs a program reaches.
    pub(super) fn reached(comparison: &Comparison) -> usize {
        Self::ALL.iter().filter(|rung| rung.difference(comparison).is_none()).count()
    }

    /// Returns the first difference.
    pub(super) fn difference(self, comparison: &Comparison) -> Option<&str> {
        let aspects: &[Aspect] = match self {
            Self::Signatures => &[Aspect::Signatures],
            Self::Layout => &[Aspect::Bindings, Aspect::ConstantBuffers, Aspect::Stage],
            Self::Multiset => &[Aspect::Operations],
            Self::Order => &[Aspect::Order],
            Self::Same => &[Aspect::Code],
        };
        aspects.iter().flat_map(|&aspect| comparison.differences(aspect)).next().map(String::as_str)
    }
}
