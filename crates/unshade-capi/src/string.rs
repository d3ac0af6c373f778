//! Strings.

use std::ffi::{CStr, CString, c_char};
use std::ptr;

/// The version, as C has it.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// Returns a C string. Text of the library has no NUL; if there is one, it is escaped.
pub(crate) fn c_string(text: &str) -> CString {
    match CString::new(text) {
        Ok(text) => text,
        Err(_) => CString::new(text.replace('\0', "\\0")).unwrap_or_default(),
    }
}

/// Returns a pointer to a string; null if there is none.
pub(crate) fn pointer(text: Option<&CString>) -> *const c_char {
    text.map_or(ptr::null(), |text| text.as_ptr())
}

/// Hands a string to the caller, who frees it.
pub(crate) fn hand_over(text: &str) -> *mut c_char {
    c_string(text).into_raw()
}

/// Returns the bytes of a string; none if it is null.
///
/// # Safety
/// `text` is null, or points to a string that ends with a NUL and outlives `'t`.
pub(crate) unsafe fn bytes<'t>(text: *const c_char) -> Option<&'t [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: it is not null; the caller guarantees the rest.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Returns the version of the library, such as `0.1.0`; valid forever.
#[unsafe(no_mangle)]
pub extern "C" fn unshade_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Frees a string that was returned as `char *`.
///
/// # Safety
/// `string` is null, or a `char *` from this library that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_string_free(string: *mut c_char) {
    if !string.is_null() {
        // SAFETY: the caller guarantees that it is from `CString::into_raw` and not freed.
        drop(unsafe { CString::from_raw(string) });
    }
}
