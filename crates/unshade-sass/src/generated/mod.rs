//! Written by `cargo xtask codegen`, but for this file.

#[rustfmt::skip]
pub(crate) mod operations;
#[cfg(feature = "reference")]
#[rustfmt::skip]
pub(crate) mod reference;
#[rustfmt::skip]
pub(crate) mod semantics;
#[rustfmt::skip]
pub(crate) mod sm_30;
#[rustfmt::skip]
pub(crate) mod sm_35;
