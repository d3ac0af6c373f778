//! Files, and the programs in them.

use crate::function::UnshadeFunction;
use crate::string::{bytes, c_string, pointer};
use crate::{UnshadeError, borrow, free, guard, guard_error, null_argument};
use self_cell::self_cell;
use std::ffi::{CString, c_char};
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use unshade::core::{Error, ErrorKind, Result};
use unshade::file::ProgramRef;
use unshade::{File, open, open_bytes};

/// A file and the programs in it. `unshade_close` frees it.
pub struct UnshadeFile(Contents);

type Programs<'f> = Vec<UnshadeProgram<'f>>;

self_cell!(
    /// A file, and what borrows from it.
    struct Contents {
        owner: File,
        #[not_covariant]
        dependent: Programs,
    }
);

/// A program in a file.
#[derive(Debug)]
pub struct UnshadeProgram<'f> {
    pub(crate) program: ProgramRef<'f>,
    path: CString,
    format: CString,
    target: OnceLock<Option<CString>>,
    functions: OnceLock<Result<Vec<UnshadeFunction<'f>>>>,
}

impl<'f> UnshadeProgram<'f> {
    fn new(program: ProgramRef<'f>) -> Self {
        Self {
            path: c_string(&program.path().to_string()),
            format: c_string(&program.format().to_string()),
            program,
            target: OnceLock::new(),
            functions: OnceLock::new(),
        }
    }

    /// Returns the functions, which are listed when they are first asked for.
    pub(crate) fn functions(&self) -> &Result<Vec<UnshadeFunction<'f>>> {
        self.functions.get_or_init(|| {
            let functions = self.program.functions()?;
            Ok(functions.into_iter().map(UnshadeFunction::new).collect())
        })
    }
}

impl UnshadeFile {
    fn new(file: File) -> *mut Self {
        Box::into_raw(Box::new(Self(Contents::new(file, programs))))
    }
}

fn programs(file: &File) -> Programs<'_> {
    file.programs().map(UnshadeProgram::new).collect()
}

/// Returns a path as the system has it.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
fn path_of(name: &[u8]) -> Result<&Path> {
    use std::os::unix::ffi::OsStrExt;
    Ok(Path::new(std::ffi::OsStr::from_bytes(name)))
}

/// Returns a path as the system has it.
#[cfg(not(unix))]
fn path_of(name: &[u8]) -> Result<&Path> {
    let error = |_| Error::without_offset(ErrorKind::Unreadable, "the path is not UTF-8");
    std::str::from_utf8(name).map(Path::new).map_err(error)
}

/// Opens a file and finds the GPU programs in it; null if the file can't be read. A file without programs is no error:
/// its count is 0.
///
/// # Safety
/// `path` is null or a string that ends with a NUL. `error` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_open(
    path: *const c_char,
    error: *mut *mut UnshadeError,
) -> *mut UnshadeFile {
    // SAFETY: as the caller guarantees.
    let path = unsafe { bytes(path) };
    let work = || Ok(UnshadeFile::new(open(path_of(path.ok_or_else(|| null_argument("no path"))?)?)?));
    // SAFETY: as the caller guarantees.
    unsafe { guard_error(error, ptr::null_mut(), work) }
}

/// Finds the GPU programs in `size` bytes, which are copied. `name` is what paths begin with.
///
/// # Safety
/// `name` is null or a string that ends with a NUL. `data` is valid for reads of `size` bytes, or `size` is 0. `error` is
/// null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_open_bytes(
    name: *const c_char,
    data: *const u8,
    size: usize,
    error: *mut *mut UnshadeError,
) -> *mut UnshadeFile {
    let work = || {
        // SAFETY: as the caller guarantees.
        let name = unsafe { bytes(name) }.ok_or_else(|| null_argument("no name"))?;
        let copy = if size == 0 {
            Vec::new()
        } else if data.is_null() {
            return Err(null_argument("no bytes"));
        } else if isize::try_from(size).is_err() {
            return Err(Error::without_offset(ErrorKind::OutOfRange, "more bytes than memory can have"));
        } else {
            // SAFETY: it is not null, no larger than an object may be; the caller guarantees the rest.
            unsafe { std::slice::from_raw_parts(data, size) }.to_vec()
        };
        Ok(UnshadeFile::new(open_bytes(name, copy)))
    };
    // SAFETY: as the caller guarantees.
    unsafe { guard_error(error, ptr::null_mut(), work) }
}

/// Closes a file, with its programs, functions and their strings.
///
/// # Safety
/// `file` is null, or from this library and not closed; nothing of it is used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_close(file: *mut UnshadeFile) {
    // SAFETY: files come from `Box::into_raw`; the caller guarantees the rest.
    guard((), || unsafe { free(file) });
}

/// Returns the number of programs.
///
/// # Safety
/// `file` is null, or from this library and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_program_count(file: *const UnshadeFile) -> usize {
    // SAFETY: as the caller guarantees.
    let file = unsafe { borrow(file) };
    file.map_or(0, |file| file.0.with_dependent(|_, programs| programs.len()))
}

/// Returns a program, in the order of the file; null if there is none of this index.
///
/// # Safety
/// `file` is null, or from this library and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_program(
    file: *const UnshadeFile,
    index: usize,
) -> *const UnshadeProgram<'static> {
    // SAFETY: as the caller guarantees.
    let Some(file) = (unsafe { borrow(file) }) else { return ptr::null() };
    let pointer = |program: &UnshadeProgram<'_>| ptr::from_ref(program).cast();
    file.0.with_dependent(|_, programs| programs.get(index).map_or(ptr::null(), pointer))
}

/// Returns where a program is: `app.zip!lib/libgpu.so!.nv_fatbin@0x40`.
///
/// # Safety
/// `program` is null, or of a file that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_program_path(program: *const UnshadeProgram<'_>) -> *const c_char {
    // SAFETY: as the caller guarantees.
    unsafe { borrow(program) }.map_or(ptr::null(), |program| program.path.as_ptr())
}

/// Returns the name of a program's format: `Metal library`, `DXContainer`, `cubin`.
///
/// # Safety
/// `program` is null, or of a file that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_program_format(program: *const UnshadeProgram<'_>) -> *const c_char {
    // SAFETY: as the caller guarantees.
    unsafe { borrow(program) }.map_or(ptr::null(), |program| program.format.as_ptr())
}

/// Returns what a program is compiled for: `macOS 14.0`, `ps_6_5`, `sm_90`; null if it does not say.
///
/// # Safety
/// `program` is null, or of a file that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_program_target(program: *const UnshadeProgram<'_>) -> *const c_char {
    // SAFETY: as the caller guarantees.
    let Some(program) = (unsafe { borrow(program) }) else { return ptr::null() };
    guard(ptr::null(), || {
        let target = program.target.get_or_init(|| program.program.target().map(|text| c_string(&text)));
        pointer(target.as_ref())
    })
}

/// Writes the offset of a program's first byte in the file to `offset`; returns false if it had to be unpacked.
///
/// # Safety
/// `program` is null, or of a file that is not closed. `offset` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshade_program_offset(
    program: *const UnshadeProgram<'_>,
    offset: *mut u64,
) -> bool {
    // SAFETY: as the caller guarantees.
    let found = unsafe { borrow(program) }.and_then(|program| program.program.offset());
    // SAFETY: as the caller guarantees.
    unsafe { crate::error::put(found, offset) }
}
