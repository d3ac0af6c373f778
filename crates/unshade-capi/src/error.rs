//! Errors: what is wrong, and where.

use crate::string::{c_string, pointer};
use crate::{borrow, free, guard};
use std::ffi::{CString, c_char};
use std::ptr;
use unshade::core::Error;

/// An error. The function that received it frees it with `unshade_error_free`.
#[derive(Debug)]
pub struct UnshadeError {
    message: CString,
    path: CString,
    hint: Option<CString>,
    offset: Option<u64>,
}

/// Returns what is wrong, without the place: `bad version: expected 1, found 7`.
pub(crate) fn message(error: &Error) -> CString {
    let mut text = error.message().to_owned();
    let expected = error.expectation().map(|expected| format!("expected {expected}"));
    let found = error.finding().map(|found| format!("found {found}"));
    let more: Vec<String> = expected.into_iter().chain(found).collect();
    if !more.is_empty() {
        text = format!("{text}: {}", more.join(", "));
    }
    c_string(&text)
}

/// Returns the names of what the fault is in, outermost first.
pub(crate) fn path(error: &Error) -> CString {
    c_string(&error.path().collect::<Vec<_>>().join(": "))
}

impl UnshadeError {
    pub(crate) fn new(error: &Error) -> Self {
        Self {
            message: message(error),
            path: path(error),
            hint: error.advice().map(c_string),
            offset: error.offset(),
        }
    }
}

/// Returns what is wrong, and what was expected and found.
///
/// # Safety
/// `error` is null, or from this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_error_message(error: *const UnshadeError) -> *const c_char {
    // SAFETY: as the caller guarantees.
    unsafe { borrow(error) }.map_or(ptr::null(), |error| error.message.as_ptr())
}

/// Returns what the fault is in, outermost first: `app.zip!a.metallib: function 3 "blur"`; may be empty.
///
/// # Safety
/// `error` is null, or from this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_error_path(error: *const UnshadeError) -> *const c_char {
    // SAFETY: as the caller guarantees.
    unsafe { borrow(error) }.map_or(ptr::null(), |error| error.path.as_ptr())
}

/// Returns what to do about it; null if nothing is known.
///
/// # Safety
/// `error` is null, or from this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_error_hint(error: *const UnshadeError) -> *const c_char {
    // SAFETY: as the caller guarantees.
    pointer(unsafe { borrow(error) }.and_then(|error| error.hint.as_ref()))
}

/// Writes the offset in the file to `offset`; returns whether there is one.
///
/// # Safety
/// `error` is null, or from this library and not freed. `offset` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_error_offset(error: *const UnshadeError, offset: *mut u64) -> bool {
    // SAFETY: as the caller guarantees.
    let found = unsafe { borrow(error) }.and_then(|error| error.offset);
    // SAFETY: as the caller guarantees.
    unsafe { put(found, offset) }
}

/// Writes a number to `out`; returns whether there is one.
///
/// # Safety
/// `out` is null or valid for a write.
pub(crate) unsafe fn put(number: Option<u64>, out: *mut u64) -> bool {
    if let Some(number) = number
        && !out.is_null()
    {
        // SAFETY: it is not null; the caller guarantees the rest.
        unsafe { out.write(number) };
    }
    number.is_some()
}

/// Frees an error.
///
/// # Safety
/// `error` is null, or from this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_error_free(error: *mut UnshadeError) {
    // SAFETY: errors come from `Box::into_raw`; the caller guarantees the rest.
    guard((), || unsafe { free(error) });
}
