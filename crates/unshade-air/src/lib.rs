//! Builds Apple's AIR: Metal shaders as LLVM modules, and the Metal libraries that hold them.
//!
//! | module | holds |
//! |---|---|
//! | [`target`] | what an OS version reads: versions of AIR and of the language |
//! | [`types`] | the types of the Metal language: names, sizes, and how LLVM holds them |
//! | [`entry`] | signatures of kernels, vertex and fragment functions |
//! | [`shader`] | a module with one entry point |
//! | [`intrinsics`] | calls of `air.*` functions |
//! | [`library`] | the Metal library |
//! | [`reflection`] | the reflection that follows from metadata, of any module |
//!
//! A [`Signature`](entry::Signature) says what a Metal programmer writes: names, types, and `[[attributes]]`. The
//! function's type and all metadata follow from it. The body is built with [`unshade_llvm::build`].
//!
//! ```
//! use unshade_air::entry::{Access, Argument, Builtin, Signature};
//! use unshade_air::library::LibraryBuilder;
//! use unshade_air::shader::Shader;
//! use unshade_air::types::MetalType;
//! use unshade_metallib::{Library, Platform, target::Target};
//!
//! // kernel void double_all(device float* data [[buffer(0)]], uint id [[thread_position_in_grid]])
//! let signature = Signature::kernel("double_all")
//!     .argument("data", Argument::device(0, MetalType::FLOAT, Access::ReadWrite))
//!     .argument("id", Argument::builtin(Builtin::ThreadPositionInGrid, MetalType::UINT));
//! let target = Target { platform: Platform::MACOS, os: (14, 0, 0) };
//! let mut shader = Shader::new(target, &signature)?;
//!
//! let mut body = shader.body()?;
//! let (float, long) = (body.float(), body.integer(64)?);
//! let (data, id) = (body.parameter(0)?, body.parameter(1)?);
//! let index = body.zext(id, long)?;
//! let element = body.element_ptr(float, data, &[index])?;
//! let value = body.load(float, element)?;
//! let doubled = body.fadd(value, value)?;
//! body.store(doubled, element)?;
//! body.ret_void()?;
//! body.finish()?;
//!
//! let mut library = LibraryBuilder::new(target)?;
//! library.add(shader)?;
//! let bytes = library.write()?;
//! assert_eq!(Library::parse(&bytes)?.functions().count(), 1);
//! # Ok::<(), unshade_core::Error>(())
//! ```
//!
//! Knowledge: the modules of Apple's compilers from AIR 2.4 to 2.8, and what other writers of AIR emit.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

extern crate alloc;

pub mod entry;
pub mod intrinsics;
pub mod library;
mod metadata;
pub mod reflection;
pub mod samplers;
pub mod shader;
pub mod target;
pub mod textures;
pub mod types;

use alloc::borrow::Cow;
use unshade_core::{Error, ErrorKind, Result};

/// Returns the error of a call that can't be done.
#[cold]
fn refused<T>(message: impl Into<Cow<'static, str>>) -> Result<T> {
    Err(Error::without_offset(ErrorKind::BadValue, message))
}
