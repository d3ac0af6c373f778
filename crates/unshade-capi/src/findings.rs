//! Checks of a program: structure, sizes, hashes.

use crate::error::{message, path, put};
use crate::string::{c_string, pointer};
use crate::{UnshadeError, UnshadeProgram, borrow, free, guard, guard_error, null_argument};
use std::ffi::{CString, c_char};
use std::ptr;
use unshade::core::{Diagnostics, Severity};

/// How bad a finding is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnshadeSeverity {
    /// Worth knowing.
    Note = 0,
    /// Odd, but the program works.
    Warning = 1,
    /// Damaged.
    Error = 2,
}

/// What a check found. `unshade_findings_free` frees it.
#[derive(Debug)]
pub struct UnshadeFindings {
    findings: Vec<Finding>,
    suppressed: usize,
}

#[derive(Debug)]
struct Finding {
    severity: UnshadeSeverity,
    rule: CString,
    message: CString,
    path: CString,
    offset: Option<u64>,
}

impl UnshadeFindings {
    fn new(diagnostics: &Diagnostics) -> Self {
        let finding = |one: &unshade::core::Diagnostic| Finding {
            severity: match one.severity {
                Severity::Error => UnshadeSeverity::Error,
                Severity::Warning => UnshadeSeverity::Warning,
                _ => UnshadeSeverity::Note,
            },
            rule: c_string(one.rule),
            message: message(&one.error),
            path: path(&one.error),
            offset: one.error.offset(),
        };
        Self { findings: diagnostics.iter().map(finding).collect(), suppressed: diagnostics.suppressed() }
    }
}

/// Checks a program. Null, and an error, if its header can't be read.
///
/// # Safety
/// `program` is null, or of a file that is not closed. `error` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_verify(
    program: *const UnshadeProgram<'_>,
    error: *mut *mut UnshadeError,
) -> *mut UnshadeFindings {
    // SAFETY: as the caller guarantees.
    let program = unsafe { borrow(program) };
    let work = || {
        let verdict = program.ok_or_else(|| null_argument("no program"))?.program.verify()?;
        Ok(Box::into_raw(Box::new(UnshadeFindings::new(&verdict.diagnostics))))
    };
    // SAFETY: as the caller guarantees.
    unsafe { guard_error(error, ptr::null_mut(), work) }
}

/// Returns the number of findings.
///
/// # Safety
/// `findings` is null, or from this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_findings_count(findings: *const UnshadeFindings) -> usize {
    // SAFETY: as the caller guarantees.
    unsafe { borrow(findings) }.map_or(0, |findings| findings.findings.len())
}

/// Returns the number of findings that were left out because there are too many.
///
/// # Safety
/// `findings` is null, or from this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_findings_suppressed(findings: *const UnshadeFindings) -> usize {
    // SAFETY: as the caller guarantees.
    unsafe { borrow(findings) }.map_or(0, |findings| findings.suppressed)
}

/// Returns a finding, if there is one of this index.
///
/// # Safety
/// `findings` is null, or from this library and not freed.
unsafe fn get<'h>(findings: *const UnshadeFindings, index: usize) -> Option<&'h Finding> {
    // SAFETY: as the caller guarantees.
    unsafe { borrow(findings) }?.findings.get(index)
}

/// Returns how bad a finding is.
///
/// # Safety
/// `findings` is null, or from this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_finding_severity(
    findings: *const UnshadeFindings,
    index: usize,
) -> UnshadeSeverity {
    // SAFETY: as the caller guarantees.
    unsafe { get(findings, index) }.map_or(UnshadeSeverity::Note, |finding| finding.severity)
}

/// Returns the name of the rule that is broken: `module-hash`.
///
/// # Safety
/// `findings` is null, or from this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_finding_rule(
    findings: *const UnshadeFindings,
    index: usize,
) -> *const c_char {
    // SAFETY: as the caller guarantees.
    pointer(unsafe { get(findings, index) }.map(|finding| &finding.rule))
}

/// Returns what is wrong, and what was expected and found.
///
/// # Safety
/// `findings` is null, or from this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_finding_message(
    findings: *const UnshadeFindings,
    index: usize,
) -> *const c_char {
    // SAFETY: as the caller guarantees.
    pointer(unsafe { get(findings, index) }.map(|finding| &finding.message))
}

/// Returns what it is in, outermost first; may be empty.
///
/// # Safety
/// `findings` is null, or from this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_finding_path(
    findings: *const UnshadeFindings,
    index: usize,
) -> *const c_char {
    // SAFETY: as the caller guarantees.
    pointer(unsafe { get(findings, index) }.map(|finding| &finding.path))
}

/// Writes the offset in the file to `offset`; returns whether there is one.
///
/// # Safety
/// `findings` is null, or from this library and not freed. `offset` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_finding_offset(
    findings: *const UnshadeFindings,
    index: usize,
    offset: *mut u64,
) -> bool {
    // SAFETY: as the caller guarantees.
    let found = unsafe { get(findings, index) }.and_then(|finding| finding.offset);
    // SAFETY: as the caller guarantees.
    unsafe { put(found, offset) }
}

/// Frees findings and their strings.
///
/// # Safety
/// `findings` is null, or from this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_findings_free(findings: *mut UnshadeFindings) {
    // SAFETY: findings come from `Box::into_raw`; the caller guarantees the rest.
    guard((), || unsafe { free(findings) });
}
