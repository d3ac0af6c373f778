//! Names of attributes, and the order in which LLVM prints them.
//!
//! Kinds have fixed numbers in bitcode. The printing order is that of the in-memory enumeration, which differs
//! between versions. A rank of 255 means that the version has no such attribute.
//!
//! Knowledge: `AttributeKindCodes` of LLVM 22's `LLVMBitCodes.h`; the enumerations of LLVM 3.7 (as in DXC), 14,
//! 19 and 22.

/// A printing order; [`NAMES`] holds one rank for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeOrder {
    /// LLVM 3.7
    V3,
    /// LLVM 14
    V14,
    /// LLVM 19
    V19,
    /// LLVM 22
    V22,
}

/// Entry `n`: the name of kind `n + 1`, and its ranks in the orders of 3.7, 14, 19 and 22.
#[rustfmt::skip]
const NAMES: &[(&str, [u8; 4])] = &[
    ("align", [0, 72, 80, 88]),
    ("alwaysinline", [1, 0, 2, 2]),
    ("byval", [3, 67, 75, 83]),
    ("inlinehint", [7, 11, 14, 16]),
    ("inreg", [8, 8, 13, 15]),
    ("minsize", [10, 13, 16, 18]),
    ("naked", [11, 15, 18, 20]),
    ("nest", [12, 16, 19, 21]),
    ("noalias", [13, 17, 20, 22]),
    ("nobuiltin", [14, 18, 21, 23]),
    ("nocapture", [15, 20, 23, 255]),
    ("noduplicate", [16, 22, 25, 28]),
    ("noimplicitfloat", [17, 24, 27, 31]),
    ("noinline", [18, 25, 28, 32]),
    ("nonlazybind", [19, 35, 39, 43]),
    ("noredzone", [23, 29, 32, 36]),
    ("noreturn", [24, 30, 33, 37]),
    ("nounwind", [25, 34, 38, 42]),
    ("optsize", [26, 39, 44, 48]),
    ("readnone", [28, 41, 47, 51]),
    ("readonly", [29, 42, 48, 52]),
    ("returned", [31, 43, 49, 53]),
    ("returns_twice", [32, 44, 50, 54]),
    ("signext", [33, 45, 51, 55]),
    ("alignstack", [34, 76, 87, 96]),
    ("ssp", [35, 55, 63, 71]),
    ("sspreq", [36, 56, 64, 72]),
    ("sspstrong", [37, 57, 65, 73]),
    ("sret", [39, 71, 79, 87]),
    ("sanitize_address", [40, 47, 53, 57]),
    ("sanitize_thread", [41, 51, 58, 65]),
    ("sanitize_memory", [42, 50, 56, 61]),
    ("uwtable", [43, 62, 88, 97]),
    ("zeroext", [44, 65, 73, 81]),
    ("builtin", [2, 2, 3, 3]),
    ("cold", [5, 3, 4, 4]),
    ("optnone", [27, 40, 45, 49]),
    ("inalloca", [4, 69, 77, 85]),
    ("nonnull", [20, 36, 40, 44]),
    ("jumptable", [9, 12, 15, 17]),
    ("dereferenceable", [21, 74, 83, 92]),
    ("dereferenceable_or_null", [22, 75, 84, 93]),
    ("convergent", [6, 4, 5, 5]),
    ("safestack", [38, 46, 52, 56]),
    ("argmemonly", [30, 1, 255, 255]),
    ("swiftself", [255, 61, 69, 77]),
    ("swifterror", [255, 60, 68, 76]),
    ("norecurse", [255, 28, 31, 35]),
    ("inaccessiblememonly", [255, 9, 255, 255]),
    ("inaccessiblemem_or_argmemonly", [255, 10, 255, 255]),
    ("allocsize", [255, 73, 82, 90]),
    ("writeonly", [255, 64, 72, 80]),
    ("speculatable", [255, 53, 61, 69]),
    ("strictfp", [255, 58, 66, 74]),
    ("sanitize_hwaddress", [255, 48, 54, 59]),
    ("nocf_check", [255, 21, 24, 25]),
    ("optforfuzzing", [255, 38, 42, 46]),
    ("shadowcallstack", [255, 52, 59, 67]),
    ("speculative_load_hardening", [255, 54, 62, 70]),
    ("immarg", [255, 7, 12, 14]),
    ("willreturn", [255, 63, 70, 78]),
    ("nofree", [255, 23, 26, 30]),
    ("nosync", [255, 32, 36, 40]),
    ("sanitize_memtag", [255, 49, 55, 60]),
    ("preallocated", [255, 70, 78, 86]),
    ("nomerge", [255, 26, 29, 33]),
    ("null_pointer_is_valid", [255, 37, 41, 45]),
    ("noundef", [255, 33, 37, 41]),
    ("byref", [255, 66, 74, 82]),
    ("mustprogress", [255, 14, 17, 19]),
    ("nocallback", [255, 19, 22, 24]),
    ("hot", [255, 6, 10, 12]),
    ("noprofile", [255, 27, 30, 34]),
    ("vscale_range", [255, 77, 89, 98]),
    ("swiftasync", [255, 59, 67, 75]),
    ("nosanitize_coverage", [255, 31, 35, 39]),
    ("elementtype", [255, 68, 76, 84]),
    ("disable_sanitizer_instrumentation", [255, 5, 8, 10]),
    ("nosanitize_bounds", [255, 255, 34, 38]),
    ("allocalign", [255, 255, 0, 0]),
    ("allocptr", [255, 255, 1, 1]),
    ("allockind", [255, 255, 81, 89]),
    ("presplitcoroutine", [255, 255, 46, 50]),
    ("fn_ret_thunk_extern", [255, 255, 9, 11]),
    ("skipprofile", [255, 255, 60, 68]),
    ("memory", [255, 255, 85, 94]),
    ("nofpclass", [255, 255, 86, 95]),
    ("optdebug", [255, 255, 43, 47]),
    ("writable", [255, 255, 71, 79]),
    ("coro_only_destroy_when_complete", [255, 255, 6, 6]),
    ("dead_on_unwind", [255, 255, 7, 9]),
    ("range", [255, 255, 90, 99]),
    ("sanitize_numerical_stability", [255, 255, 57, 62]),
    ("initializes", [255, 255, 91, 100]),
    ("hybrid_patchable", [255, 255, 11, 13]),
    ("sanitize_realtime", [255, 255, 255, 63]),
    ("sanitize_realtime_blocking", [255, 255, 255, 64]),
    ("coro_elide_safe", [255, 255, 255, 7]),
    ("noext", [255, 255, 255, 29]),
    ("nodivergencesource", [255, 255, 255, 27]),
    ("sanitize_type", [255, 255, 255, 66]),
    ("captures", [255, 255, 255, 91]),
    ("dead_on_return", [255, 255, 255, 8]),
    ("sanitize_alloc_token", [255, 255, 255, 58]),
    ("nocreateundeforpoison", [255, 255, 255, 26]),
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
    ranks.map_or(u8::MAX, |&(_, [v3, v14, v19, v22])| match order {
        AttributeOrder::V3 => v3,
        AttributeOrder::V14 => v14,
        AttributeOrder::V19 => v19,
        AttributeOrder::V22 => v22,
    })
}
