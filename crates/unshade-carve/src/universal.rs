//! Reads the architectures of Mach-O universal files.
//!
//! Layout, big-endian: u32 magic, u32 count, entries {u32 CPU type, u32 CPU subtype, offset, size, u32 alignment}. In
//! the 64-bit form, offset and size have 64 bits, and 4 reserved bytes end each entry. Source: Apple's `mach-o/fat.h`.

use crate::carver::{Carver, Entry, Flow, Occurrences, Run};
use crate::checks::object::MAX_ARCHITECTURES;
use crate::fields::{Fields, offset};
use crate::format::mach_cpu_name;
use std::ops::ControlFlow::Continue;
use unshade_core::{Error, ErrorKind};

/// Visits the architectures of a universal file.
pub(crate) fn carve(carver: &mut Carver<'_>, run: &mut Run<'_>) -> Flow {
    let data = run.data;
    let fields = Fields::big(data);
    let is_64 = fields.u32(0) == Some(0xcafe_babf);
    let entry_size = if is_64 { 32 } else { 20 };
    let count = fields.u32(4).unwrap_or_default().min(MAX_ARCHITECTURES);
    let mut slices: Vec<(u64, u64, u32, u32)> = Vec::new();
    let mut at = 8_usize;
    for _ in 0..count {
        let place = at.saturating_add(8);
        let size_place = place.saturating_add(if is_64 { 8 } else { 4 });
        let slice = (
            fields.word(place, is_64),
            fields.word(size_place, is_64),
            fields.u32(at),
            fields.u32(at.saturating_add(4)),
        );
        let (Some(start), Some(size), Some(cpu), Some(subtype)) = slice else { break };
        slices.push((start, size, cpu, subtype));
        at = at.saturating_add(entry_size);
    }
    slices.sort_unstable();
    // Slices follow the table and do not overlap. Overlapping slices would be searched many times, or contain
    // themselves.
    let mut free = at;
    let mut occurrences = Occurrences::default();
    for (start, size, cpu, subtype) in slices {
        let name = architecture_name(cpu, subtype);
        let (from, end) = (offset(0, start), offset(0, start.saturating_add(size)));
        let content = data.get(from..end).or_else(|| data.get(from..));
        let Some(content) = content.filter(|content| from >= free && !content.is_empty()) else {
            let message = "the architecture is outside of the file or overlaps another";
            let error =
                Error::new(ErrorKind::OutOfRange, start, message).within(carver.place_of(name.as_bytes()));
            carver.error("mach-o-architecture", error);
            continue;
        };
        if end > data.len() {
            let error = Error::new(ErrorKind::Truncated, start, "the architecture is cut off")
                .expected(format!("{size} bytes"))
                .found(content.len().to_string())
                .within(carver.place_of(name.as_bytes()));
            carver.error("mach-o-architecture", error);
        }
        free = end;
        carver.cover(run, from)?;
        match carver.enter(name.as_bytes(), &mut occurrences) {
            Entry::Entered => {
                let flow = carver.run(content, run.file_offset(from));
                carver.leave();
                flow?;
                run.skip_to(end);
            }
            Entry::Unwanted => run.skip_to(end),
            Entry::Refused => {}
        }
    }
    Continue(())
}

/// Returns the name of an architecture in Apple's tools.
fn architecture_name(cpu: u32, subtype: u32) -> String {
    match (cpu, subtype & 0x00ff_ffff) {
        (0x0100_000c, 2) => "arm64e".into(),
        (0x0100_0007, 8) => "x86_64h".into(),
        (12, 9) => "armv7".into(),
        (12, 11) => "armv7s".into(),
        (12, 12) => "armv7k".into(),
        _ => mach_cpu_name(cpu).map_or_else(|| format!("cpu_{cpu:#x}"), String::from),
    }
}
