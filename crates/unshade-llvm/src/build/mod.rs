//! Makes modules by calls: what a compiler uses to emit bitcode.
//!
//! | type | makes |
//! |---|---|
//! | [`ModuleBuilder`] | types, constants, variables, functions, attributes, metadata |
//! | [`FunctionBuilder`] | the body of a function: blocks and instructions |
//! | [`BuiltModule`] | a module that is complete, and its bitcode |
//!
//! Types, values, blocks and metadata are ids, which are copied and compared like numbers. Every call checks its
//! operands, so that a mistake is an error where it is made: operands of different types, a store through a pointer
//! to something else, an instruction after a terminator, a value of another function. What only shows at the end of a
//! body is checked by [`FunctionBuilder::finish`]: every block has a terminator, every `phi` has one value for each
//! predecessor, and every value dominates its uses.
//!
//! ```
//! use unshade_llvm::Module;
//! use unshade_llvm::build::{IntPredicate, ModuleBuilder, Version};
//! use unshade_llvm::print::{self, PrintOptions};
//!
//! let mut module = ModuleBuilder::new(Version::Llvm14);
//! let int = module.integer(32)?;
//! let ty = module.function_type(int, &[int])?;
//! let function = module.add_function("factorial", ty)?;
//!
//! let mut body = module.body(function)?;
//! let (entry, head, exit) = (body.block("entry"), body.block("loop"), body.block("exit"));
//! let n = body.parameter(0)?;
//! let one = body.const_int(int, 1)?;
//!
//! body.select_block(entry)?;
//! body.br(head)?;
//!
//! // A phi gets its values when they exist.
//! body.select_block(head)?;
//! let (i, product) = (body.phi(int)?, body.phi(int)?);
//! let next_product = body.mul(product, i)?;
//! let next = body.add(i, one)?;
//! let more = body.icmp(IntPredicate::Ule, next, n)?;
//! body.cond_br(more, head, exit)?;
//! for (phi, first, later) in [(i, one, next), (product, one, next_product)] {
//!     body.add_incoming(phi, first, entry)?;
//!     body.add_incoming(phi, later, head)?;
//! }
//!
//! body.select_block(exit)?;
//! body.ret(next_product)?;
//! body.finish()?;
//!
//! let bitcode = module.finish()?.write()?;
//! let read = Module::parse(&bitcode, 0)?;
//! let mut text = String::new();
//! print::module(&read, &PrintOptions::default(), &mut text);
//! assert!(text.contains("%1 = phi i32 [ 1, %entry ], [ %4, %loop ]"), "{text}");
//! # Ok::<(), unshade_core::Error>(())
//! ```
//!
//! A mistake is found where it is made:
//!
//! ```
//! use unshade_llvm::build::{ModuleBuilder, Version};
//!
//! let mut module = ModuleBuilder::new(Version::Llvm19);
//! let (int, float) = (module.integer(32)?, module.float());
//! let ty = module.function_type(int, &[int, float])?;
//! let function = module.add_function("f", ty)?;
//! let mut body = module.body(function)?;
//! let entry = body.block("");
//! body.select_block(entry)?;
//! let (x, y) = (body.parameter(0)?, body.parameter(1)?);
//! let error = body.add(x, y).unwrap_err();
//! assert_eq!(error.to_string(), "function @f: add: operands don't fit the operation: found 'i32', 'float'");
//! # Ok::<(), unshade_core::Error>(())
//! ```
//!
//! Nothing is folded or optimised: what is called is what is written. The pointers of [`Version::Llvm14`] have a type
//! that they point to; those of later versions have none, and what they point to is ignored.

mod attributes;
mod constants;
mod exceptions;
mod finish;
mod function;
mod instructions;
mod memory;
mod metadata;
mod module;
mod symbols;
mod types;

use alloc::borrow::Cow;
use unshade_core::{Error, ErrorKind, Result};

pub use crate::write::Version;
pub use attributes::{Attr, AttributePlace};
pub use function::FunctionBuilder;
pub use instructions::{
    CallOptions, FastMath, FloatPredicate, IntPredicate, NO_SIGNED_WRAP, NO_UNSIGNED_WRAP,
};
pub use memory::{Access, AtomicOperation, Ordering};
pub use module::{BuiltModule, ModuleBuilder};
pub use symbols::GlobalOptions;

/// Returns the error of a call that can't be done.
#[cold]
fn refused<T>(message: impl Into<Cow<'static, str>>) -> Result<T> {
    Err(Error::without_offset(ErrorKind::BadValue, message))
}
