//! Builds DXIL: DirectX shaders as LLVM modules, and the signed containers that hold them.
//!
//! | module | holds |
//! |---|---|
//! | [`target`] | stages, shader models, versions of the validator |
//! | [`resources`] | buffers, textures, samplers, and where they are bound |
//! | [`signature`] | inputs and outputs, with their semantics |
//! | [`shader`] | a module with one entry point, and its container |
//! | [`body`] | the body of a function: operations by name, inputs, outputs, handles |
//! | [`operations`] | buffers, textures, threads, atomics |
//! | [`library`] | libraries of functions, such as those of ray tracing |
//!
//! A [`Shader`](shader::Shader) gets its resources and the elements of its signatures, then a body. All metadata, the
//! registers of signatures, and the flags that say what a shader needs of a device follow from that; so do all parts of
//! the container. Instructions are built with [`unshade_llvm::build`]: arithmetic, comparisons, conversions, branches,
//! memory. Vectors are built component by component, since DXIL has none before shader model 6.9.
//!
//! ```
//! use unshade_dxcontainer::Container;
//! use unshade_dxil::resources::{Binding, Resource};
//! use unshade_dxil::shader::Shader;
//! use unshade_dxil::target::{Stage, Target};
//!
//! // RWByteAddressBuffer data : register(u0);
//! // [numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) {
//! //     data.Store(id.x * 4, asuint(sqrt(asfloat(data.Load(id.x * 4)))));
//! // }
//! let mut shader = Shader::new(Target::model(0), Stage::compute([64, 1, 1]), "main")?;
//! let data = shader.resource(Resource::rw_byte_address_buffer(Binding::at(0)).named("data"))?;
//!
//! let mut body = shader.body()?;
//! let (int, float) = (body.integer(32)?, body.float());
//! let id = body.thread_id(0)?;
//! let four = body.i32(4)?;
//! let offset = body.mul(id, four)?;
//! let buffer = body.handle(data)?;
//! let loaded = body.load_buffer(buffer, offset, None, int, 1)?;
//! let number = body.bitcast(loaded[0], float)?;
//! let root = body.operation("Sqrt", &[number])?;
//! let bits = body.bitcast(root, int)?;
//! body.store_buffer(buffer, offset, None, &[bits])?;
//! body.ret_void()?;
//! body.finish()?;
//!
//! let bytes = shader.container()?;
//! assert!(Container::parse(&bytes)?.find(b"PSV0").is_some());
//! # Ok::<(), unshade_core::Error>(())
//! ```
//!
//! What is wrong is said where it is built:
//!
//! ```
//! # use unshade_dxil::shader::Shader;
//! # use unshade_dxil::target::{Stage, Target};
//! let mut shader = Shader::new(Target::model(0), Stage::compute([64, 1, 1]), "main")?;
//! let mut body = shader.body()?;
//! let number = body.i32(1)?;
//! let error = body.operation("Sqrt", &[number]).unwrap_err();
//! assert_eq!(error.to_string(), "Sqrt does not exist for i32");
//! # Ok::<(), unshade_core::Error>(())
//! ```
//!
//! Knowledge: DirectXShaderCompiler's description of DXIL, and the modules and containers that DXC 1.6 to 1.10 write; its
//! validator accepts what the tests and examples build.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

extern crate alloc;

pub mod body;
pub mod library;
mod metadata;
pub mod operations;
mod packing;
pub mod resources;
pub mod shader;
pub mod signature;
pub mod target;
mod types;

use alloc::borrow::Cow;
use unshade_core::{Error, ErrorKind, Result};

pub use unshade_dxcontainer::dxil::ComponentType;
pub use unshade_dxcontainer::psv0::Interpolation;

/// Returns the error of a call that can't be done.
#[cold]
fn refused<T>(message: impl Into<Cow<'static, str>>) -> Result<T> {
    Err(Error::without_offset(ErrorKind::BadValue, message))
}
