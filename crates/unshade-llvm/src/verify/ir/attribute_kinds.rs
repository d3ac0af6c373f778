//! Attributes that exclude each other, and those that are a name with a value of some form.
//!
//! Knowledge: the Language Reference on parameter and function attributes; what `llvm-as` 14 and 19 refuse.

/// The kinds that rules name.
pub(super) mod kind {
    pub(in crate::verify) const ALIGN: u32 = 1;
    pub(in crate::verify) const ALWAYS_INLINE: u32 = 2;
    pub(in crate::verify) const BY_VALUE: u32 = 3;
    pub(in crate::verify) const IN_REGISTER: u32 = 5;
    pub(in crate::verify) const MIN_SIZE: u32 = 6;
    pub(in crate::verify) const NEST: u32 = 8;
    pub(in crate::verify) const NO_INLINE: u32 = 14;
    pub(in crate::verify) const OPTIMIZE_SIZE: u32 = 19;
    pub(in crate::verify) const READ_NONE: u32 = 20;
    pub(in crate::verify) const READ_ONLY: u32 = 21;
    pub(in crate::verify) const RETURNED: u32 = 22;
    pub(in crate::verify) const SIGN_EXTEND: u32 = 24;
    pub(in crate::verify) const STACK_ALIGNMENT: u32 = 25;
    pub(in crate::verify) const STRUCT_RESULT: u32 = 29;
    pub(in crate::verify) const ZERO_EXTEND: u32 = 34;
    pub(in crate::verify) const BUILTIN: u32 = 35;
    pub(in crate::verify) const OPTIMIZE_NONE: u32 = 37;
    pub(in crate::verify) const IN_ALLOCA: u32 = 38;
    pub(in crate::verify) const JUMP_TABLE: u32 = 40;
    pub(in crate::verify) const SWIFT_SELF: u32 = 46;
    pub(in crate::verify) const SWIFT_ERROR: u32 = 47;
    pub(in crate::verify) const ALLOC_SIZE: u32 = 51;
    pub(in crate::verify) const WRITE_ONLY: u32 = 52;
    pub(in crate::verify) const SPECULATABLE: u32 = 53;
    pub(in crate::verify) const IMMEDIATE: u32 = 60;
    pub(in crate::verify) const PREALLOCATED: u32 = 65;
    pub(in crate::verify) const BY_REFERENCE: u32 = 69;
    pub(in crate::verify) const SCALE_RANGE: u32 = 74;
    pub(in crate::verify) const SWIFT_ASYNC: u32 = 75;
    pub(in crate::verify) const ELEMENT_TYPE: u32 = 77;
    pub(in crate::verify) const ALLOC_KIND: u32 = 82;
    pub(in crate::verify) const OPTIMIZE_DEBUG: u32 = 88;
    pub(in crate::verify) const WRITABLE: u32 = 89;
    pub(in crate::verify) const RANGE: u32 = 92;
}

/// Pairs of kinds that are not on the same parameter or result, nor on the same function.
pub(super) const CONFLICTS: &[(u32, u32, &str)] = &[
    (kind::IN_ALLOCA, kind::READ_ONLY, "inalloca and readonly conflict"),
    (kind::STRUCT_RESULT, kind::RETURNED, "sret and returned conflict"),
    (kind::ZERO_EXTEND, kind::SIGN_EXTEND, "zeroext and signext conflict"),
    (kind::READ_NONE, kind::READ_ONLY, "readnone and readonly conflict"),
    (kind::READ_NONE, kind::WRITE_ONLY, "readnone and writeonly conflict"),
    (kind::READ_ONLY, kind::WRITE_ONLY, "readonly and writeonly conflict"),
    (kind::NO_INLINE, kind::ALWAYS_INLINE, "noinline and alwaysinline conflict"),
    (kind::WRITABLE, kind::READ_NONE, "writable and readnone conflict"),
    (kind::WRITABLE, kind::READ_ONLY, "writable and readonly conflict"),
];

/// Kinds of which a parameter has at most one.
pub(super) const EXCLUSIVE: &[u32] =
    &[kind::BY_VALUE, kind::IN_ALLOCA, kind::PREALLOCATED, kind::NEST, kind::BY_REFERENCE];

/// Kinds that at most one parameter of a function has.
pub(super) const ONCE: &[(u32, &str)] = &[
    (kind::NEST, "several parameters are nest"),
    (kind::RETURNED, "several parameters are returned"),
    (kind::STRUCT_RESULT, "several parameters are sret"),
    (kind::SWIFT_SELF, "several parameters are swiftself"),
    (kind::SWIFT_ASYNC, "several parameters are swiftasync"),
    (kind::SWIFT_ERROR, "several parameters are swifterror"),
];

/// Attributes that are a name and a number.
pub(super) const NUMBERS: &[&[u8]] = &[b"patchable-function-prefix", b"patchable-function-entry", b"warn-stack-size"];

/// Attributes that are a name and `true`, `false` or nothing.
pub(super) const BOOLEANS: &[&[u8]] = &[
    b"less-precise-fpmad",
    b"no-infs-fp-math",
    b"no-nans-fp-math",
    b"approx-func-fp-math",
    b"no-signed-zeros-fp-math",
    b"unsafe-fp-math",
    b"no-jump-tables",
    b"no-inline-line-tables",
    b"profile-sample-accurate",
    b"use-sample-profile",
];

/// Attributes of which a function has at most one.
pub(super) const EXCLUSIVE_NAMES: &[(&[&[u8]], &str)] = &[
    (
        &[b"aarch64_new_za", b"aarch64_in_za", b"aarch64_inout_za", b"aarch64_out_za", b"aarch64_preserves_za"],
        "attributes of the ZA state conflict",
    ),
    (
        &[b"aarch64_new_zt0", b"aarch64_in_zt0", b"aarch64_inout_zt0", b"aarch64_out_zt0", b"aarch64_preserves_zt0"],
        "attributes of the ZT0 state conflict",
    ),
    (
        &[
            b"aarch64_pstate_sm_enabled",
            b"aarch64_pstate_sm_compatible",
        ],
        "attributes of the streaming mode conflict",
    ),
];
