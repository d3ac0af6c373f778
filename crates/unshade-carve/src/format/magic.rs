//! The formats of GPU programs that begin with a magic number: one row each.
//!
//! A row has the first bytes of a program, and a function that checks what follows and returns the size that the
//! program states, or [`None`] if it is no program. A new format is a new row.

use super::{Format, Signature};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::checks::{bitcode, cubin, direct3d9, dxcontainer, fatbin, metal, ptx};

/// A format that its first bytes identify.
pub(crate) struct Magic {
    /// The first bytes of a program.
    pub(crate) bytes: &'static [u8],
    /// The format.
    pub(crate) format: Format,
    /// Returns the size that the program states, or [`None`] if it is no program. The argument is all bytes from the
    /// magic number to the end of the run; the time must not grow with their number.
    pub(crate) check: fn(&[u8]) -> Option<u64>,
    /// Whether nothing else begins with this magic number, so that a file has this format even if the check fails.
    pub(crate) unmistakable: bool,
    /// Returns how many bytes before the magic number belong to the program, and its size with them. The arguments are
    /// the run, the first offset that no other program covers, the offset of the magic number, and the size from there
    /// on.
    pub(crate) lead: fn(&[u8], usize, usize, u64) -> (usize, u64),
}

/// Returns no bytes before the magic number: the program begins with it.
pub(crate) fn no_lead(_: &[u8], _: usize, _: usize, size: u64) -> (usize, u64) {
    (0, size)
}

/// The formats that were registered before the first search.
static REGISTERED: Mutex<Vec<&'static Signature>> = Mutex::new(Vec::new());

/// Returns all formats: the built-in ones, then the registered ones.
pub(crate) static MAGICS: LazyLock<Vec<Magic>> = LazyLock::new(|| {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let magic = |signature: &&'static Signature| Magic {
        bytes: signature.magic,
        format: Format::Registered(signature),
        check: signature.size,
        unmistakable: true,
        lead: no_lead,
    };
    BUILT_IN.into_iter().chain(registered.iter().map(magic)).collect()
});

/// Adds a format to those that carving finds. A program calls this once, before its first search; a format that is
/// registered later is not found.
pub fn register(signature: &'static Signature) {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).push(signature);
}

/// The built-in formats.
const BUILT_IN: [Magic; 7] = [
    Magic {
        bytes: b"MTLB",
        format: Format::MetalLibrary,
        check: metal::library_size,
        unmistakable: true,
        lead: no_lead,
    },
    Magic {
        bytes: &[0xcb, 0xfe, 0xba, 0xbe],
        format: Format::MetalUniversal,
        check: metal::universal_size,
        unmistakable: true,
        lead: no_lead,
    },
    Magic {
        bytes: b"DXBC",
        format: Format::DxContainer,
        check: dxcontainer::size,
        unmistakable: true,
        lead: no_lead,
    },
    Magic {
        bytes: &[0x50, 0xed, 0x55, 0xba],
        format: Format::Fatbin,
        check: fatbin::size,
        unmistakable: true,
        lead: no_lead,
    },
    Magic {
        bytes: cubin::MAGIC,
        format: Format::Cubin,
        check: cubin::size,
        unmistakable: false,
        lead: no_lead,
    },
    Magic {
        bytes: bitcode::MAGIC,
        format: Format::Bitcode,
        check: bitcode::stream_size,
        unmistakable: true,
        lead: bitcode::with_wrapper,
    },
    Magic {
        bytes: ptx::MAGIC,
        format: Format::Ptx,
        check: ptx::size,
        unmistakable: false,
        lead: ptx::with_lead,
    },
];

/// Returns the format of a run that begins with a program, or with a magic number that no other format has.
pub(crate) fn format_at_start(bytes: &[u8]) -> Option<Format> {
    if ptx::starts(bytes) {
        return Some(Format::Ptx);
    }
    if direct3d9::is_program(bytes) {
        return Some(Format::Direct3d9);
    }
    if bitcode::starts_wrapper(bytes) {
        return Some(Format::Bitcode);
    }
    let magic = MAGICS.iter().find(|magic| bytes.starts_with(magic.bytes))?;
    (magic.unmistakable || (magic.check)(bytes).is_some()).then_some(magic.format)
}
