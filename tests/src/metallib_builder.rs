//! A writer of Metal libraries, for tests only.
//!
//! It follows the project's notes on the format and shares no code with the parser, so that the two check each other. A
//! [`LibrarySpec`] specifies a library; [`LibrarySpec::build`] writes it like Apple's linker, the older `metallib`
//! tool or dxmt, and returns the range of each part.

mod gpu_object;
mod sources;
mod spec;

pub use gpu_object::{BuiltObject, GpuObjectSpec, SliceSpec, UniversalSpec, cpu_type};
pub use sources::{ArchiveSpec, SourceFile, SourcesSpec, tar, unpack};
pub use spec::{
    ConstantSpec, Dialect, DynamicSpec, FunctionSpec, LibrarySpec, ModuleSpec, PrivateSpec, PublicSpec,
    RawTag, ReflectionSpec, VertexAttributeSpec, function_type, library_type, platform,
};

use crate::encoder::{Encoder, Slot};
use sha2::{Digest, Sha256};
use std::ops::Range;

/// A written library, with the ranges of its parts.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The positions of numbers.
    pub fields: Vec<Range<usize>>,
    /// The header extension.
    pub extension: Range<usize>,
    /// The sections in the header; the function list includes its count.
    pub sections: [Range<usize>; 4],
    /// The sections in the extension.
    pub named_sections: Vec<([u8; 4], Range<usize>)>,
    /// Each function's group in the function list.
    pub functions: Vec<Range<usize>>,
    /// Each function's public metadata.
    pub public: Vec<Range<usize>>,
    /// Each function's private metadata.
    pub private: Vec<Range<usize>>,
    /// Each module, with wrapper and padding.
    pub modules: Vec<Range<usize>>,
    /// The code of each source archive's `SARC`.
    pub archives: Vec<usize>,
    /// Each group of the reflection list.
    pub reflections: Vec<Range<usize>>,
}

impl Built {
    /// SHA-256 of a module.
    pub fn module_hash(&self, module: usize) -> [u8; 32] {
        Sha256::digest(&self.bytes[self.modules[module].clone()]).into()
    }

    /// Returns the range of a section in the extension.
    pub fn named(&self, code: &[u8; 4]) -> Option<Range<usize>> {
        self.named_sections.iter().find(|(name, _)| name == code).map(|(_, range)| range.clone())
    }
}

/// The numbers in a function's group that are set once the later sections are written.
struct FunctionSlots {
    hash: usize,
    offsets: [Slot; 3],
    module_size: Option<Slot>,
    source: Option<Slot>,
    reflection: Option<Slot>,
}

/// A library under construction.
struct Writer<'a> {
    spec: &'a LibrarySpec,
    out: Encoder,
    built: Built,
}

impl LibrarySpec {
    /// Writes the library.
    ///
    /// # Panics
    /// If the specification is inconsistent: a function refers to a module, archive or reflection that does not exist,
    /// or there is content for the header extension in a version that has none.
    pub fn build(&self) -> Built {
        Writer { spec: self, out: Encoder::default(), built: Built::default() }.write()
    }
}

impl Writer<'_> {
    fn write(mut self) -> Built {
        let (file_size, section_slots) = self.header();
        let functions = self.function_list();
        let named_slots = self.extension();

        for spec in &self.spec.functions {
            let range = self.metadata_group(spec.public.tags());
            self.built.public.push(range);
        }
        let public_start = self.built.extension.end;
        self.built.sections[1] = public_start..self.out.len();

        for spec in &self.spec.functions {
            let range = self.metadata_group(spec.private.tags());
            self.built.private.push(range);
        }
        self.built.sections[2] = self.built.sections[1].end..self.out.len();

        for module in &self.spec.modules {
            let start = self.out.len();
            self.module(module);
            self.built.modules.push(start..self.out.len());
            self.out.raw(&module.stray_bytes);
        }
        self.built.sections[3] = self.built.sections[2].end..self.out.len();

        for (code, offset, size) in named_slots {
            let start = self.out.len();
            self.named_section(code);
            self.out.set(offset, start);
            let end = self.out.len();
            self.out.set(size, end - start);
            self.built.named_sections.push((code, start..end));
        }

        self.link(&functions);
        for (index, (offset, size)) in section_slots.into_iter().enumerate() {
            let range = self.built.sections[index].clone();
            // The size of the function list does not include its count.
            let uncounted = if index == 0 { 4 } else { 0 };
            self.out.set(offset, range.start);
            self.out.set(size, range.len() - uncounted);
        }
        let total = self.out.len();
        self.out.set(file_size, total);
        (self.built.bytes, self.built.fields) = self.out.finish();
        self.built
    }

    fn header(&mut self) -> (Slot, [(Slot, Slot); 4]) {
        let spec = self.spec;
        let out = &mut self.out;
        out.raw(b"MTLB");
        out.u16(1 | if spec.macos_flag { 0x8000 } else { 0 });
        out.u16(2);
        out.u16(spec.version_patch);
        out.u8(spec.library_type | if spec.stub { 0x80 } else { 0 });
        out.u8(spec.platform | if spec.is_64_bit { 0x80 } else { 0 });
        out.u16(spec.os.0);
        out.u8(spec.os.1);
        out.u8(spec.os.2);
        let file_size = out.later(8);
        let sections = [(); 4].map(|()| (out.later(8), out.later(8)));
        (file_size, sections)
    }

    fn function_list(&mut self) -> Vec<FunctionSlots> {
        let start = self.out.len();
        self.out.u32(self.spec.functions.len() as u32);
        // dxmt writes one size for the whole list, and none for the groups.
        let shared_size = (self.spec.dialect == Dialect::SharedGroup).then(|| self.out.later(4));
        let mut functions = Vec::new();
        for function in &self.spec.functions {
            let first = shared_size.is_some() && functions.is_empty();
            let start = if first { self.out.len() - 4 } else { self.out.len() };
            let size = if shared_size.is_none() { Some(self.out.later(4)) } else { None };
            functions.push(self.function_tags(function));
            self.out.raw(b"ENDT");
            let end = self.out.len();
            if let Some(size) = size {
                self.out.set(size, end - start);
            }
            self.built.functions.push(start..end);
        }
        let end = self.out.len();
        if let Some(size) = shared_size {
            self.out.set(size, end - start - 4);
        }
        self.built.sections[0] = start..end;
        functions
    }

    fn function_tags(&mut self, spec: &FunctionSpec) -> FunctionSlots {
        let linker = self.spec.dialect == Dialect::Linker;
        let out = &mut self.out;
        let tag = |out: &mut Encoder, code: &[u8; 4], size: u16| {
            out.raw(code);
            out.u16(size);
        };
        tag(out, b"NAME", spec.name.len() as u16 + 1);
        out.c_string(&spec.name);
        tag(out, b"TYPE", 1);
        out.u8(spec.kind);
        tag(out, b"HASH", 32);
        let hash = out.len();
        out.zeros(32);
        let mut module_size = None;
        let mut write_module_size = |out: &mut Encoder| {
            if spec.states_module_size {
                tag(out, b"MDSZ", 8);
                module_size = Some(out.later(8));
            }
        };
        if !linker {
            write_module_size(out);
        }
        tag(out, b"OFFT", 24);
        let offsets = [out.later(8), out.later(8), out.later(8)];
        tag(out, b"VERS", 8);
        for number in spec.versions {
            out.u16(number);
        }
        for (code, value) in [(b"TESS", spec.tessellation), (b"LAYR", spec.layer_type)] {
            if let Some(value) = value {
                tag(out, code, 1);
                out.u8(value);
            }
        }
        if linker {
            write_module_size(out);
        }
        let mut offset_tag = |code: &[u8; 4], wanted: bool| {
            wanted.then(|| {
                tag(out, code, 8);
                out.later(8)
            })
        };
        let source = offset_tag(b"SOFF", spec.source_archive.is_some());
        let reflection = offset_tag(b"RFLT", spec.reflection.is_some());
        for other in &spec.other_tags {
            self.raw_tag(other);
        }
        FunctionSlots { hash, offsets, module_size, source, reflection }
    }

    fn raw_tag(&mut self, tag: &RawTag) {
        self.out.raw(&tag.code);
        self.out.u16(tag.content.len() as u16);
        self.out.raw(&tag.content);
    }

    /// Writes the header extension. Its offsets and sizes are set later.
    fn extension(&mut self) -> Vec<([u8; 4], Slot, Slot)> {
        let spec = self.spec;
        let start = self.out.len();
        let mut slots = Vec::new();
        let codes = spec.section_codes();
        if spec.has_extension() {
            for code in codes {
                self.out.raw(&code);
                self.out.u16(16);
                slots.push((code, self.out.later(8), self.out.later(8)));
            }
            for tag in &spec.other_extension_tags {
                self.raw_tag(tag);
            }
            if let Some(uuid) = &spec.uuid {
                self.out.raw(b"UUID");
                self.out.u16(16);
                self.out.raw(uuid);
            }
            self.out.raw(b"ENDT");
        } else {
            let nothing = codes.is_empty() && spec.uuid.is_none() && spec.other_extension_tags.is_empty();
            assert!(nothing, "a library of 1.2.2 has no header extension");
        }
        self.built.extension = start..self.out.len();
        slots
    }

    fn metadata_group(&mut self, tags: Vec<RawTag>) -> Range<usize> {
        let start = self.out.len();
        let size = self.out.later(4);
        for tag in &tags {
            self.raw_tag(tag);
        }
        self.out.raw(b"ENDT");
        let end = self.out.len();
        // Only the linker includes the size itself.
        let own = if self.spec.dialect == Dialect::Linker { 0 } else { 4 };
        self.out.set(size, end - start - own);
        start..end
    }

    fn module(&mut self, spec: &ModuleSpec) {
        let start = self.out.len();
        for number in [0x0b17_c0de, 0, 20, spec.bitcode.len() as u32, u32::MAX] {
            self.out.u32(number);
        }
        self.out.raw(&spec.bitcode);
        if spec.padded {
            let size = self.out.len() - start;
            self.out.zeros(size.next_multiple_of(16) - size);
        }
    }

    fn named_section(&mut self, code: [u8; 4]) {
        let spec = self.spec;
        match &code {
            b"HSRC" | b"HSRD" => {
                let sources = spec.sources.as_ref().expect("the code is only listed if there are sources");
                self.built.archives = sources.write(&mut self.out);
            }
            b"HSRP" => {
                self.raw_tag(&RawTag::new(b"LINK", &[0; 6]));
                self.out.raw(b"ENDT");
            }
            b"HDYN" => {
                let dynamic = spec.dynamic.clone().unwrap_or_default();
                let names = dynamic.name.iter().map(|name| (b"NAME", name));
                for (code, name) in names.chain(dynamic.linked.iter().map(|name| (b"DYNL", name))) {
                    self.raw_tag(&RawTag::c_string(code, name));
                }
                self.out.raw(b"ENDT");
            }
            b"VLST" => self.symbols(&spec.exported_variables),
            b"ILST" => self.symbols(&spec.imported_symbols),
            b"RLST" => {
                self.out.u32(spec.reflections.len() as u32);
                for reflection in &spec.reflections {
                    let range = self.reflection(reflection);
                    self.built.reflections.push(range);
                }
            }
            _ => {
                self.out.u32(spec.scripts.len() as u32);
                for script in &spec.scripts {
                    self.wide_group(*b"SBUF", 0, script);
                }
            }
        }
    }

    fn symbols(&mut self, names: &[Vec<u8>]) {
        self.out.u32(names.len() as u32);
        for name in names {
            let start = self.out.len();
            let size = self.out.later(4);
            self.raw_tag(&RawTag::c_string(b"NAME", name));
            self.out.raw(b"ENDT");
            let end = self.out.len();
            self.out.set(size, end - start);
        }
    }

    fn reflection(&mut self, spec: &ReflectionSpec) -> Range<usize> {
        // The flatbuffer, which follows the group's size and the tag's header, starts at a multiple of 16.
        let head = self.out.len() + 4 + 8;
        self.wide_group(spec.code, head.next_multiple_of(16) - head, &spec.content)
    }

    /// Writes a group of a single tag with a 32-bit length, with zeros before its content.
    fn wide_group(&mut self, code: [u8; 4], padding: usize, content: &[u8]) -> Range<usize> {
        let start = self.out.len();
        let size = self.out.later(4);
        self.out.raw(&code);
        self.out.u32((padding + content.len()) as u32);
        self.out.zeros(padding);
        self.out.raw(content);
        self.out.raw(b"ENDT");
        let end = self.out.len();
        self.out.set(size, end - start);
        start..end
    }

    /// Sets the references from the function list to later sections.
    fn link(&mut self, functions: &[FunctionSlots]) {
        let section = |code: &[u8; 4]| self.built.named(code).map_or(0, |range| range.start);
        let sources = section(b"HSRC").max(section(b"HSRD"));
        let reflections = section(b"RLST");
        let [_, public, private, bitcode] = self.built.sections.clone();
        for (index, (spec, slots)) in self.spec.functions.iter().zip(functions).enumerate() {
            let module = self.built.modules[spec.module].clone();
            let starts = [
                self.built.public[index].start - public.start,
                self.built.private[index].start - private.start,
                module.start - bitcode.start,
            ];
            for (slot, start) in slots.offsets.into_iter().zip(starts) {
                self.out.set(slot, start);
            }
            if let Some(slot) = slots.module_size {
                self.out.set(slot, module.len());
            }
            if let (Some(slot), Some(archive)) = (slots.source, spec.source_archive) {
                self.out.set(slot, self.built.archives[archive] - sources);
            }
            if let (Some(slot), Some(reflection)) = (slots.reflection, spec.reflection) {
                self.out.set(slot, self.built.reflections[reflection].start - reflections);
            }
        }
        let hashes: Vec<[u8; 32]> = self
            .built
            .modules
            .iter()
            .map(|range| Sha256::digest(&self.out.bytes()[range.clone()]).into())
            .collect();
        for (spec, slots) in self.spec.functions.iter().zip(functions) {
            self.out.overwrite(slots.hash, &hashes[spec.module]);
        }
    }
}

/// Returns a library of 1.2.2 with arbitrary bytes as its function list, and nothing else.
pub fn with_function_list(count: u32, list: &[u8]) -> Vec<u8> {
    let mut out = Encoder::default();
    let end = 92 + list.len() as u64;
    out.raw(b"MTLB\x01\x80\x02\x00\x02\x00\x00\x00\x00\x00\x00\x00");
    out.u64(end);
    out.u64(88);
    out.u64(list.len() as u64);
    for _ in 0..3 {
        out.u64(end);
        out.u64(0);
    }
    out.u32(count);
    out.raw(list);
    out.finish().0
}
