//! The compiled units of one of NVIDIA's programs: a cubin and PTX are one, a fat binary has one in each entry.

use crate::program::Program;
use unshade_core::Diagnostics;
use unshade_nv::fatbin::{Entry, EntryKind};
use unshade_nv::{Cubin, Ptx};

/// A unit of a program. One that had to be unpacked is gone after the visit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Unit<'d> {
    /// Compiled code.
    Cubin(Cubin<'d>),
    /// Text.
    Ptx(Ptx<'d>),
    /// PTX that nobody wanted unpacked, or an entry of a kind that is not known.
    Unread,
}

/// Calls `visit` for each unit of a program with the entry that it is in, if it is in one. Entries that can't be read go to
/// `diagnostics` and are visited as [`Unit::Unread`]. PTX is unpacked only if that is wanted.
pub fn each_unit<'a>(
    program: &Program<'a>,
    unpack_ptx: bool,
    diagnostics: &mut Diagnostics,
    visit: &mut dyn FnMut(Option<&Entry<'a>>, &Unit<'_>),
) {
    match program {
        Program::Cubin(cubin) => visit(None, &Unit::Cubin(cubin.clone())),
        Program::Ptx(ptx) => visit(None, &Unit::Ptx(*ptx)),
        Program::Fatbin(fatbin) => {
            for entry in fatbin.entries() {
                if let Some(entry) = diagnostics.take("nv-entry-header", entry) {
                    each_entry(&entry, unpack_ptx, diagnostics, visit);
                }
            }
        }
        _ => {}
    }
}

fn each_entry<'a>(
    entry: &Entry<'a>,
    unpack_ptx: bool,
    diagnostics: &mut Diagnostics,
    visit: &mut dyn FnMut(Option<&Entry<'a>>, &Unit<'_>),
) {
    let is_wanted = match entry.kind {
        EntryKind::ELF => true,
        EntryKind::PTX => unpack_ptx,
        _ => false,
    };
    if !is_wanted {
        return visit(Some(entry), &Unit::Unread);
    }
    let Some(data) = diagnostics.take("nv-entry-data", entry.data()) else {
        return visit(Some(entry), &Unit::Unread);
    };
    if entry.kind == EntryKind::PTX {
        return visit(Some(entry), &Unit::Ptx(entry.ptx(&data)));
    }
    match diagnostics.take("nv-elf-header", entry.cubin(&data)) {
        Some(cubin) => visit(Some(entry), &Unit::Cubin(cubin)),
        None => visit(Some(entry), &Unit::Unread),
    }
}
