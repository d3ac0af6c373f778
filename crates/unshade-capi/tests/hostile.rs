//! Null handles, indices out of range, damaged files: nothing crashes.

#![allow(missing_docs)]
#![expect(unsafe_code, reason = "the functions are those of C")]

use std::ffi::{CStr, c_char};
use std::ptr;
use unshade_capi::error::*;
use unshade_capi::file::*;
use unshade_capi::findings::*;
use unshade_capi::function::*;
use unshade_capi::unshade_string_free;

fn text<'t>(string: *const c_char) -> Option<&'t str> {
    // SAFETY: strings of the library are null, or end with a NUL and outlive the asserts.
    (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) }.to_str().expect("UTF-8"))
}

#[test]
fn null_is_tolerated_everywhere() {
    // SAFETY: null is allowed by each of them.
    unsafe {
        unshade_close(ptr::null_mut());
        unshade_string_free(ptr::null_mut());
        unshade_error_free(ptr::null_mut());
        unshade_findings_free(ptr::null_mut());
        assert_eq!(unshade_program_count(ptr::null()), 0);
        assert!(unshade_program(ptr::null(), 0).is_null());
        assert!(unshade_program_path(ptr::null()).is_null());
        assert!(unshade_program_format(ptr::null()).is_null());
        assert!(unshade_program_target(ptr::null()).is_null());
        assert!(!unshade_program_offset(ptr::null(), ptr::null_mut()));
        assert_eq!(unshade_function_count(ptr::null()), 0);
        assert!(unshade_function(ptr::null(), 0).is_null());
        assert!(unshade_function_name(ptr::null()).is_null());
        assert!(unshade_function_demangled(ptr::null()).is_null());
        assert!(unshade_function_kind(ptr::null()).is_null());
        assert!(unshade_function_signature(ptr::null()).is_null());
        assert!(unshade_function_text(ptr::null(), ptr::null_mut()).is_null());
        assert!(unshade_function_source(ptr::null(), ptr::null_mut()).is_null());
        assert!(unshade_verify(ptr::null(), ptr::null_mut()).is_null());
        assert_eq!(unshade_findings_count(ptr::null()), 0);
        assert_eq!(unshade_findings_suppressed(ptr::null()), 0);
        assert_eq!(unshade_finding_severity(ptr::null(), 0), UnshadeSeverity::Note);
        assert!(unshade_finding_rule(ptr::null(), 0).is_null());
        assert!(unshade_finding_message(ptr::null(), 0).is_null());
        assert!(unshade_finding_path(ptr::null(), 0).is_null());
        assert!(!unshade_finding_offset(ptr::null(), 0, ptr::null_mut()));
        assert!(unshade_error_message(ptr::null()).is_null());
        assert!(unshade_error_path(ptr::null()).is_null());
        assert!(unshade_error_hint(ptr::null()).is_null());
        assert!(!unshade_error_offset(ptr::null(), ptr::null_mut()));
        let mut error = ptr::null_mut();
        assert!(unshade_open(ptr::null(), &raw mut error).is_null());
        assert_eq!(text(unshade_error_message(error)), Some("no path: expected a pointer that is not null"));
        unshade_error_free(error);
        assert!(unshade_open(ptr::null(), ptr::null_mut()).is_null());
        assert!(unshade_open_bytes(c"x".as_ptr(), ptr::null(), 4, ptr::null_mut()).is_null());
    }
}

/// Asks everything of a file; returns how many functions have a text.
fn exercise(bytes: &[u8]) -> usize {
    let mut count = 0;
    // SAFETY: handles are used before their file is closed, strings before they are freed, each once.
    unsafe {
        let mut error = ptr::null_mut();
        let file = unshade_open_bytes(c"file".as_ptr(), bytes.as_ptr(), bytes.len(), &raw mut error);
        assert!(!file.is_null() && error.is_null());
        for index in 0..=unshade_program_count(file) {
            let program = unshade_program(file, index);
            text(unshade_program_target(program));
            let findings = unshade_verify(program, ptr::null_mut());
            for finding in 0..=unshade_findings_count(findings) {
                text(unshade_finding_message(findings, finding));
            }
            unshade_findings_free(findings);
            for index in 0..=unshade_function_count(program) {
                let function = unshade_function(program, index);
                unshade_string_free(unshade_function_signature(function));
                let listing = unshade_function_text(function, &raw mut error);
                assert_ne!(listing.is_null(), error.is_null());
                count += usize::from(text(listing).is_some_and(|text| !text.is_empty()));
                unshade_string_free(listing);
                unshade_error_free(error);
            }
        }
        unshade_close(file);
    }
    count
}

#[test]
fn damaged_files_are_read_as_far_as_they_go() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/metallib/vertex_fragment.metallib");
    let bytes = std::fs::read(path).expect("a fixture");
    assert_eq!(exercise(&bytes), 2);
    for end in (0..bytes.len()).step_by(211) {
        exercise(&bytes[..end]);
    }
}
