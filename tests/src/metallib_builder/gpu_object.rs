//! Universal files, and the GPU Mach-O slices in them.

use crate::encoder::Encoder;
use std::ops::Range;

/// The CPU types.
pub mod cpu_type {
    /// AIR: a Metal library.
    pub const AIR64: u32 = 0x0100_0017;
    /// An Apple GPU: a Mach-O file.
    pub const APPLE_GPU: u32 = 0x0100_0013;
}

/// A universal file.
#[derive(Clone, Debug)]
pub struct UniversalSpec {
    /// The slices.
    pub slices: Vec<SliceSpec>,
}

/// A slice of a universal file.
#[derive(Clone, Debug)]
pub struct SliceSpec {
    /// See [`cpu_type`].
    pub cpu_type: u32,
    /// The variant of the architecture.
    pub cpu_subtype: u32,
    /// The bytes.
    pub data: Vec<u8>,
}

/// The alignment of slices, as a power of two.
const SLICE_ALIGNMENT: u32 = 4;

impl UniversalSpec {
    /// Writes the file. Also returns the positions of numbers, and the range of each slice.
    pub fn build(&self) -> (Vec<u8>, Vec<Range<usize>>, Vec<Range<usize>>) {
        let mut out = Encoder::default();
        out.u32_be(0xcbfe_babe);
        out.u32_be(self.slices.len() as u32);
        let mut start = (8 + 20 * self.slices.len()).next_multiple_of(1 << SLICE_ALIGNMENT);
        let mut places = Vec::new();
        for slice in &self.slices {
            for number in [slice.cpu_type, slice.cpu_subtype, start as u32, slice.data.len() as u32] {
                out.u32_be(number);
            }
            out.u32_be(SLICE_ALIGNMENT);
            places.push(start..start + slice.data.len());
            start = (start + slice.data.len()).next_multiple_of(1 << SLICE_ALIGNMENT);
        }
        for slice in &self.slices {
            out.align(1 << SLICE_ALIGNMENT);
            out.raw(&slice.data);
        }
        let (bytes, fields) = out.finish();
        (bytes, fields, places)
    }
}

/// A GPU Mach-O, as in binary archives.
#[derive(Clone, Debug)]
pub struct GpuObjectSpec {
    /// The GPU generation.
    pub cpu_subtype: u32,
    /// The embedded library.
    pub library: Vec<u8>,
    /// The content of `__reflection`.
    pub reflection: Vec<u8>,
    /// The SHA-256 of the module, the key in the cache.
    pub module_hash: [u8; 32],
    /// The UUID.
    pub uuid: [u8; 16],
}

/// A written GPU Mach-O.
#[derive(Clone, Debug)]
pub struct BuiltObject {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The offset of the library.
    pub library: usize,
}

impl GpuObjectSpec {
    /// Returns the sections of `__TEXT`, in file order, with their content.
    fn sections(&self) -> [(&'static str, Vec<u8>); 4] {
        let mut nested = Encoder::default();
        for number in [0xfeed_facf, cpu_type::APPLE_GPU, self.cpu_subtype, 2, 0, 0, 0, 0] {
            nested.u32(number);
        }
        // A placeholder for machine code, not valid on any GPU.
        nested.raw(&[0xee; 32]);
        let mut descriptor = Encoder::default();
        descriptor.u32(12);
        descriptor.raw(b"AIRP");
        for number in [4u16, 4] {
            descriptor.u16(number);
        }
        descriptor.u32(4);
        let mut library = self.library.clone();
        library.resize(library.len().next_multiple_of(16), 0);
        [
            ("__reflection", self.reflection.clone()),
            ("__compute", nested.finish().0),
            ("__descriptor", descriptor.finish().0),
            ("__metallib", library),
        ]
    }

    /// Returns the records of each note. The record for the library is completed later.
    fn notes(&self) -> [(&'static str, Vec<u8>); 8] {
        let module = [self.module_hash.as_slice(), &[0; 8]].concat();
        [
            ("AIR_METALLIB", [self.uuid.as_slice(), &[0; 24]].concat()),
            ("AIR_MODULE", module),
            ("AIR_DESCRIPTOR", [self.module_hash.as_slice(), &[0; 24]].concat()),
            ("AIR_OBJECT", vec![0; 36]),
            ("AIR_OBJECT_INDEX", vec![0; 8]),
            ("AIR_PIPELINE", vec![0; 8]),
            ("AIR_HASHES", [self.module_hash.as_slice(), &[0; 104]].concat()),
            ("AIR_STRTABLE", b"\0scale\0\0".to_vec()),
        ]
    }

    /// Writes the file.
    pub fn build(&self) -> BuiltObject {
        let (sections, notes) = (self.sections(), self.notes());
        let commands_size = 72 + notes.len() * 40 + (72 + sections.len() * 80) + 24 + 24;
        let note_ranges = places(32 + commands_size, 1, notes.iter().map(|_| 16));
        let records = places(note_ranges.end, 1, notes.iter().map(|(_, record)| record.len()));
        let section_places = places(records.end, 16, sections.iter().map(|(_, content)| content.len()));
        let (data_end, at) = (records.end, section_places.end);
        let (note_ranges, records, section_starts) =
            (note_ranges.starts, records.starts, section_places.starts);

        let mut out = Encoder::default();
        for number in [0xfeed_facf, cpu_type::APPLE_GPU, self.cpu_subtype, 0xd] {
            out.u32(number);
        }
        for number in [1 + notes.len() + 1 + 2, commands_size, 0, 0] {
            out.u32(number as u32);
        }
        segment(&mut out, "__AIR_DATA", 0..data_end, 0);
        for ((name, _), start) in notes.iter().zip(&note_ranges) {
            out.u32(0x31);
            out.u32(40);
            fixed_name(&mut out, name);
            out.u64(*start as u64);
            out.u64(16);
        }
        segment(&mut out, "__TEXT", section_starts[0]..at, sections.len());
        for ((name, content), start) in sections.iter().zip(&section_starts) {
            fixed_name(&mut out, name);
            fixed_name(&mut out, "__TEXT");
            out.u64(0);
            out.u64(content.len() as u64);
            out.u32(*start as u32);
            for number in [4, 0, 0, 0, 0, 0, 0] {
                out.u32(number);
            }
        }
        for number in [0x32, 24, 1, 26 << 16, 26 << 16, 0] {
            out.u32(number);
        }
        out.u32(0x1b);
        out.u32(24);
        out.raw(&self.uuid);
        for ((name, record), start) in notes.iter().zip(&records) {
            out.u64(*start as u64);
            // The string table is a single run of bytes; every other note has one record.
            out.u64(if *name == "AIR_STRTABLE" { record.len() as u64 } else { 1 });
        }
        for (name, record) in &notes {
            if *name == "AIR_METALLIB" {
                out.raw(&record[..16]);
                out.u64(section_starts[3] as u64);
                out.u64(self.library.len() as u64);
                out.u64(0);
            } else {
                out.raw(record);
            }
        }
        for (_, content) in &sections {
            out.align(16);
            out.raw(content);
        }
        BuiltObject { bytes: out.finish().0, library: section_starts[3] }
    }
}

/// The offsets of parts with given sizes, and the end of the last part.
struct Places {
    starts: Vec<usize>,
    end: usize,
}

/// Lays out parts one after the other.
fn places(start: usize, alignment: usize, sizes: impl Iterator<Item = usize>) -> Places {
    let mut end = start;
    let mut starts = Vec::new();
    for size in sizes {
        let start = end.next_multiple_of(alignment);
        starts.push(start);
        end = start + size;
    }
    Places { starts, end }
}

/// The load command of a segment, up to its sections.
fn segment(out: &mut Encoder, name: &str, range: Range<usize>, section_count: usize) {
    out.u32(0x19);
    out.u32(72 + 80 * section_count as u32);
    fixed_name(out, name);
    for number in [0, range.len(), range.start, range.len()] {
        out.u64(number as u64);
    }
    for number in [1, 1, section_count, 0] {
        out.u32(number as u32);
    }
}

/// Writes a 16-byte name.
fn fixed_name(out: &mut Encoder, name: &str) {
    out.raw(name.as_bytes());
    out.zeros(16 - name.len());
}
