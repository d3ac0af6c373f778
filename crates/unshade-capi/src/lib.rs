//! The C interface of `unshade`: `include/unshade.h`, for C, C++, Swift and whatever else calls C.
//!
//! ```c
//! UnshadeError *error = NULL;
//! UnshadeFile *file = unshade_open("library.metallib", &error);
//! for (size_t i = 0; i < unshade_program_count(file); i++) {
//!     const UnshadeProgram *program = unshade_program(file, i);
//!     for (size_t j = 0; j < unshade_function_count(program); j++) {
//!         printf("%s\n", unshade_function_name(unshade_function(program, j)));
//!     }
//! }
//! unshade_close(file);
//! ```
//!
//! | module | what it exports |
//! |---|---|
//! | [`mod@file`] | files, and the programs in them |
//! | [`function`] | functions: name, kind, signature, text, source |
//! | [`findings`] | checks of a program |
//! | [`error`] | errors |
//! | `string` | strings |
//!
//! # Ownership
//!
//! | what | valid until |
//! |---|---|
//! | `UnshadeFile *` | `unshade_close` |
//! | `const UnshadeProgram *`, `const UnshadeFunction *`, their `const char *` | their file is closed |
//! | `char *` | `unshade_string_free` |
//! | `UnshadeFindings *`, its `const char *` | `unshade_findings_free` |
//! | `UnshadeError *`, its `const char *` | `unshade_error_free` |
//!
//! # Rules of all functions
//!
//! - A handle may be null: the function does nothing, and returns null, zero or false.
//! - An index may be out of range: the function returns null, zero or false.
//! - A function that can fail has an argument `UnshadeError **error`, which may be null. It receives null, or an error
//!   that the caller frees.
//! - No panic leaves the library: it becomes an error, or null.
//! - Handles are read-only and may be used by several threads at a time, until one of them frees the handle.
//! - Strings are UTF-8 that ends with a NUL; what can't be shown is escaped.
#![expect(unsafe_code, reason = "C passes pointers, and only unsafe code follows them")]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

pub mod error;
pub mod file;
pub mod findings;
pub mod function;
mod string;

pub use error::UnshadeError;
pub use file::{UnshadeFile, UnshadeProgram};
pub use findings::{UnshadeFindings, UnshadeSeverity};
pub use function::UnshadeFunction;
pub use string::{unshade_string_free, unshade_version};

use std::panic::{AssertUnwindSafe, catch_unwind};
use unshade::core::{Error, ErrorKind, Result};

/// Returns what `work` returns, or `otherwise` if it panics.
fn guard<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

/// Returns what `work` returns, or `otherwise` if it fails or panics; then `error` receives why.
///
/// # Safety
/// `error` is null or valid for a write.
unsafe fn guard_error<T>(error: *mut *mut UnshadeError, otherwise: T, work: impl FnOnce() -> Result<T>) -> T {
    let panicked = || {
        let error = Error::without_offset(ErrorKind::Unsupported, "the library failed in itself");
        Err(error.hint("this is a fault of unshade, not of the file: please report it"))
    };
    let (value, fault) = match catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| panicked()) {
        Ok(value) => (value, std::ptr::null_mut()),
        Err(fault) => (otherwise, Box::into_raw(Box::new(UnshadeError::new(&fault)))),
    };
    if error.is_null() {
        // SAFETY: the pointer is null or comes from `Box::into_raw` above.
        unsafe { error::unshade_error_free(fault) };
    } else {
        // SAFETY: the caller guarantees that it is valid for a write.
        unsafe { error.write(fault) };
    }
    value
}

/// Returns the handle, unless it is null.
///
/// # Safety
/// `handle` is null, or from this library and not freed.
unsafe fn borrow<'h, T>(handle: *const T) -> Option<&'h T> {
    // SAFETY: as the caller guarantees.
    unsafe { handle.as_ref() }
}

/// Frees a handle, unless it is null.
///
/// # Safety
/// `handle` is null, or comes from `Box::into_raw` and is not freed.
unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: as the caller guarantees.
        let handle = unsafe { Box::from_raw(handle) };
        guard((), || drop(handle));
    }
}

/// The error of a null argument.
fn null_argument(what: &'static str) -> Error {
    Error::without_offset(ErrorKind::BadValue, what).expected("a pointer that is not null")
}
