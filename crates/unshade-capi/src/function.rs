//! Functions.

use crate::string::{c_string, hand_over, pointer};
use crate::{UnshadeError, UnshadeProgram, borrow, guard, guard_error, null_argument};
use std::ffi::{CString, c_char};
use std::ptr;
use unshade::core::Result;
use unshade::file::Function;

/// A function of a program.
#[derive(Debug)]
pub struct UnshadeFunction<'f> {
    function: Function<'f>,
    name: CString,
    demangled: Option<CString>,
    kind: CString,
}

impl<'f> UnshadeFunction<'f> {
    pub(crate) fn new(function: Function<'f>) -> Self {
        Self {
            name: c_string(function.name()),
            demangled: function.demangled().map(c_string),
            kind: c_string(function.kind()),
            function,
        }
    }
}

/// Returns the functions of a program, as far as they can be read.
///
/// # Safety
/// `program` is null, or of a file that is not closed.
unsafe fn functions<'p>(program: *const UnshadeProgram<'p>) -> &'p [UnshadeFunction<'p>] {
    // SAFETY: as the caller guarantees.
    let program = unsafe { borrow(program) };
    guard(&[], || program.and_then(|program| program.functions().as_deref().ok()).unwrap_or_default())
}

/// Returns the number of functions of a program; 0 if they can't be read, and `unshade_verify` says why.
///
/// # Safety
/// `program` is null, or of a file that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_function_count(program: *const UnshadeProgram<'_>) -> usize {
    // SAFETY: as the caller guarantees.
    unsafe { functions(program) }.len()
}

/// Returns a function; null if there is none of this index.
///
/// # Safety
/// `program` is null, or of a file that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_function(
    program: *const UnshadeProgram<'_>,
    index: usize,
) -> *const UnshadeFunction<'static> {
    // SAFETY: as the caller guarantees.
    let functions = unsafe { functions(program) };
    functions.get(index).map_or(ptr::null(), |function| ptr::from_ref(function).cast())
}

/// Returns the name as it is in the file, escaped where it can't be shown.
///
/// # Safety
/// `function` is null, or of a file that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_function_name(function: *const UnshadeFunction<'_>) -> *const c_char {
    // SAFETY: as the caller guarantees.
    pointer(unsafe { borrow(function) }.map(|function| &function.name))
}

/// Returns the demangled name; null if the name is not mangled.
///
/// # Safety
/// `function` is null, or of a file that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_function_demangled(function: *const UnshadeFunction<'_>) -> *const c_char {
    // SAFETY: as the caller guarantees.
    pointer(unsafe { borrow(function) }.and_then(|function| function.demangled.as_ref()))
}

/// Returns what sort of function it is: `kernel`, `fragment`, `pixel`, `device`.
///
/// # Safety
/// `function` is null, or of a file that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_function_kind(function: *const UnshadeFunction<'_>) -> *const c_char {
    // SAFETY: as the caller guarantees.
    pointer(unsafe { borrow(function) }.map(|function| &function.kind))
}

/// Returns the declaration; `unshade_string_free` frees it.
///
/// # Safety
/// `function` is null, or of a file that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_function_signature(function: *const UnshadeFunction<'_>) -> *mut c_char {
    // SAFETY: as the caller guarantees.
    let Some(function) = (unsafe { borrow(function) }) else { return ptr::null_mut() };
    guard(ptr::null_mut(), || hand_over(&function.function.signature()))
}

/// Returns the disassembly; `unshade_string_free` frees it. Null, and an error, if the code can't be read.
///
/// # Safety
/// `function` is null, or of a file that is not closed. `error` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_function_text(
    function: *const UnshadeFunction<'_>,
    error: *mut *mut UnshadeError,
) -> *mut c_char {
    // SAFETY: as the caller guarantees.
    unsafe { print(function, error, |function| function.text()) }
}

/// Returns the source: C for Kepler machine code, otherwise what the program carries; `unshade_string_free` frees it.
/// Null, and an error, if there is none.
///
/// # Safety
/// `function` is null, or of a file that is not closed. `error` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_function_source(
    function: *const UnshadeFunction<'_>,
    error: *mut *mut UnshadeError,
) -> *mut c_char {
    // SAFETY: as the caller guarantees.
    unsafe { print(function, error, |function| Ok(function.source()?.to_string())) }
}

/// Returns a text of a function.
///
/// # Safety
/// `function` is null, or of a file that is not closed. `error` is null or valid for a write.
unsafe fn print(
    function: *const UnshadeFunction<'_>,
    error: *mut *mut UnshadeError,
    text: impl FnOnce(&Function<'_>) -> Result<String>,
) -> *mut c_char {
    // SAFETY: as the caller guarantees.
    let function = unsafe { borrow(function) };
    let work = || {
        let function = function.ok_or_else(|| null_argument("no function"))?;
        text(&function.function).map(|text| hand_over(&text))
    };
    // SAFETY: as the caller guarantees.
    unsafe { guard_error(error, ptr::null_mut(), work) }
}
