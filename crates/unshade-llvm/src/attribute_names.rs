//! Names of attributes, and the order in which LLVM prints them.
//!
//! Kinds have fixed numbers in bitcode. The printing order is that of the in-memory enumeration, which differs
//! between versions. A rank of 255 means that the version has no such attribute.
//!
//! Knowledge: `AttributeKindCodes` of LLVM 19's `LLVMBitCodes.h`; the enumerations of LLVM 3.7 (as in DXC), 14
//! and 19.

/// A printing order; [`NAMES`] holds one rank for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeOrder {
    /// LLVM 3.7
    V3,
    /// LLVM 14
    V14,
    /// LLVM 19
    V19,
}

/// Entry `n`: the name of kind `n + 1`, and its ranks in the orders of 3.7, 14 and 19.
#[rustfmt::skip]
const NAMES: &[(&str, [u8; 3])] = &[
    ("align", [0, 72, 80]),
    ("alwaysinline", [1, 0, 2]),
    ("byval", [3, 67, 75]),
    ("inlinehint", [7, 11, 14]),
    ("inreg", [8, 8, 13]),
    ("minsize", [10, 13, 16]),
    ("naked", [11, 15, 18]),
    ("nest", [12, 16, 19]),
    ("noalias", [13, 17, 20]),
    ("nobuiltin", [14, 18, 21]),
    ("nocapture", [15, 20, 23]),
    ("noduplicate", [16, 22, 25]),
    ("noimplicitfloat", [17, 24, 27]),
    ("noinline", [18, 25, 28]),
    ("nonlazybind", [19, 35, 39]),
    ("noredzone", [23, 29, 32]),
    ("noreturn", [24, 30, 33]),
    ("nounwind", [25, 34, 38]),
    ("optsize", [26, 39, 44]),
    ("readnone", [28, 41, 47]),
    ("readonly", [29, 42, 48]),
    ("returned", [31, 43, 49]),
    ("returns_twice", [32, 44, 50]),
    ("signext", [33, 45, 51]),
    ("alignstack", [34, 76, 87]),
    ("ssp", [35, 55, 63]),
    ("sspreq", [36, 56, 64]),
    ("sspstrong", [37, 57, 65]),
    ("sret", [39, 71, 79]),
    ("sanitize_address", [40, 47, 53]),
    ("sanitize_thread", [41, 51, 58]),
    ("sanitize_memory", [42, 50, 56]),
    ("uwtable", [43, 62, 88]),
    ("zeroext", [44, 65, 73]),
    ("builtin", [2, 2, 3]),
    ("cold", [5, 3, 4]),
    ("optnone", [27, 40, 45]),
    ("inalloca", [4, 69, 77]),
    ("nonnull", [20, 36, 40]),
    ("jumptable", [9, 12, 15]),
    ("dereferenceable", [21, 74, 83]),
    ("dereferenceable_or_null", [22, 75, 84]),
    ("convergent", [6, 4, 5]),
    ("safestack", [38, 46, 52]),
    ("argmemonly", [30, 1, 255]),
    ("swiftself", [255, 61, 69]),
    ("swifterror", [255, 60, 68]),
    ("norecurse", [255, 28, 31]),
    ("inaccessiblememonly", [255, 9, 255]),
    ("inaccessiblemem_or_argmemonly", [255, 10, 255]),
    ("allocsize", [255, 73, 82]),
    ("writeonly", [255, 64, 72]),
    ("speculatable", [255, 53, 61]),
    ("strictfp", [255, 58, 66]),
    ("sanitize_hwaddress", [255, 48, 54]),
    ("nocf_check", [255, 21, 24]),
    ("optforfuzzing", [255, 38, 42]),
    ("shadowcallstack", [255, 52, 59]),
    ("speculative_load_hardening", [255, 54, 62]),
    ("immarg", [255, 7, 12]),
    ("willreturn", [255, 63, 70]),
    ("nofree", [255, 23, 26]),
    ("nosync", [255, 32, 36]),
    ("sanitize_memtag", [255, 49, 55]),
    ("preallocated", [255, 70, 78]),
    ("nomerge", [255, 26, 29]),
    ("null_pointer_is_valid", [255, 37, 41]),
    ("noundef", [255, 33, 37]),
    ("byref", [255, 66, 74]),
    ("mustprogress", [255, 14, 17]),
    ("nocallback", [255, 19, 22]),
    ("hot", [255, 6, 10]),
    ("noprofile", [255, 27, 30]),
    ("vscale_range", [255, 77, 89]),
    ("swiftasync", [255, 59, 67]),
    ("nosanitize_coverage", [255, 31, 35]),
    ("elementtype", [255, 68, 76]),
    ("disable_sanitizer_instrumentation", [255, 5, 8]),
    ("nosanitize_bounds", [255, 255, 34]),
    ("allocalign", [255, 255, 0]),
    ("allocptr", [255, 255, 1]),
    ("allockind", [255, 255, 81]),
    ("presplitcoroutine", [255, 255, 46]),
    ("fn_ret_thunk_extern", [255, 255, 9]),
    ("skipprofile", [255, 255, 60]),
    ("memory", [255, 255, 85]),
    ("nofpclass", [255, 255, 86]),
    ("optdebug", [255, 255, 43]),
    ("writable", [255, 255, 71]),
    ("coro_only_destroy_when_complete", [255, 255, 6]),
    ("dead_on_unwind", [255, 255, 7]),
    ("range", [255, 255, 90]),
    ("sanitize_numerical_stability", [255, 255, 57]),
    ("initializes", [255, 255, 91]),
    ("hybrid_patchable", [255, 255, 11]),
];

/// Returns the name of an attribute kind.
pub fn name(kind: u32) -> Option<&'static str> {
    NAMES.get((kind as usize).checked_sub(1)?).map(|&(name, _)| name)
}

/// Returns all attributes: kind and name.
pub(crate) fn all() -> impl Iterator<Item = (u32, &'static str)> {
    (1u32..).zip(NAMES).map(|(kind, &(name, _))| (kind, name))
}

/// Returns the rank of an attribute kind in a printing order; unknown kinds come last.
pub(crate) fn rank(kind: u32, order: AttributeOrder) -> u8 {
    let ranks = (kind as usize).checked_sub(1).and_then(|at| NAMES.get(at));
    ranks.map_or(u8::MAX, |&(_, [v3, v14, v19])| match order {
        AttributeOrder::V3 => v3,
        AttributeOrder::V14 => v14,
        AttributeOrder::V19 => v19,
    })
}
