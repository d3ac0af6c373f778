//! Lists the code sections of a cubin.
//!
//! A code section is a kernel or a function that other sections call, with the functions inside of it. cuobjdump prints
//! one listing per section.

use crate::nv_units::report_unknown_chips;
use crate::sass_code::report_undecoded;
use crate::sass_lines::{LineInfo, SourceLines};
use std::collections::BTreeMap;
use std::ops::Range;
use unshade_core::{Diagnostics, Escaped, Reader, TokenKind, TokenSink};
use unshade_nv::Cubin;
use unshade_nv::cubin::Role;
use unshade_nv::elf::Section;
use unshade_nv::fatbin::{Entry, EntryKind, Flags};
use unshade_nv::function::{Function, FunctionKind};
use unshade_nv::link;
use unshade_nv::relocation::RelocationType;
use unshade_nv::symbol::Symbol;
use unshade_sass::isa;
use unshade_sass::listing::{self, Context, Insertion};
use unshade_sass::raw_listing::RawLines;
use unshade_sass::table::Isa;

/// How a listing is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SassOptions {
    /// Prints as `cuobjdump -sass` does.
    pub raw: bool,
    /// Prints the scheduling control after each instruction.
    pub control: bool,
    /// Prints the source lines before the instructions.
    pub lines: Option<LineInfo>,
}

/// Returns the instruction set of a cubin, or `None` if the encoding of its chip is not known.
pub fn instruction_set(cubin: &Cubin<'_>) -> Option<&'static Isa> {
    isa::by_architecture(cubin.arch())
}

/// The listing of a cubin. Its sections can be made and printed one by one, on any thread.
pub struct Listing<'a> {
    cubin: &'a Cubin<'a>,
    isa: &'static Isa,
    options: SassOptions,
    /// The code sections that are printed, and the others.
    sections: Vec<CodeSection<'a>>,
    others: Vec<CodeSection<'a>>,
    lines: Option<SourceLines<'a>>,
}

/// A code section with its name.
struct CodeSection<'a> {
    section: Section<'a>,
    name: String,
    bytes: Reader<'a>,
    /// The functions inside of it.
    inside: Vec<Function<'a>>,
}

impl<'a> CodeSection<'a> {
    fn code(&self, isa: &'static Isa) -> listing::Function<'_> {
        let Self { name, bytes, .. } = self;
        listing::Function { name, isa, bytes: bytes.data(), address: 0, file_offset: bytes.base() }
    }
}

impl<'a> Listing<'a> {
    /// Finds the code sections that contain a selected function; `None` if the chip is not known. A raw listing has sections
    /// without functions too.
    pub fn new(
        cubin: &'a Cubin<'a>,
        wanted: &dyn Fn(&Function<'_>) -> bool,
        options: SassOptions,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let Some(isa) = instruction_set(cubin) else {
            report_unknown_chips(vec![cubin.arch()], diagnostics);
            return None;
        };
        let mut by_section: BTreeMap<u32, Vec<Function<'a>>> = BTreeMap::new();
        for function in cubin.functions() {
            by_section.entry(u32::from(function.symbol.section)).or_default().push(function);
        }
        let lines = options.lines.map(|info| SourceLines::new(cubin, info, diagnostics));
        let mut listing = Self { cubin, isa, options, sections: Vec::new(), others: Vec::new(), lines };
        for section in cubin.code_sections() {
            let inside = by_section.remove(&section.index).unwrap_or_default();
            let is_wanted = inside.iter().any(wanted) || inside.is_empty() && options.raw;
            let bytes = cubin.elf().bytes(&section);
            let bytes = if is_wanted { diagnostics.take("sass-code", bytes) } else { bytes.ok() };
            let Some(bytes) = bytes else { continue };
            let name = Escaped(Role::of(&section).1).to_string();
            let found = CodeSection { section, name, bytes, inside };
            if is_wanted { &mut listing.sections } else { &mut listing.others }.push(found);
        }
        Some(listing)
    }

    /// Returns the number of sections that are printed.
    pub fn section_count(&self) -> usize {
        self.sections.len()
    }

    /// Prints what comes before the sections.
    pub fn put_head<S: TokenSink>(&self, sink: &mut S) {
        if self.options.raw {
            let target = self.cubin.target();
            sink.put(TokenKind::Text, &format!("\n\tcode for {target}\n"));
            if self.cubin.is_abi_8() {
                sink.put(TokenKind::Text, &format!("\t.target\t{target}\n\n"));
            }
        }
    }

    /// Makes the lines of a section of a raw listing; `None` if it isn't one, or there is no such section.
    pub fn raw_lines(&self, index: usize, is_plain_text: bool) -> Option<RawLines<'_>> {
        let section = self.sections.get(index).filter(|_| self.options.raw)?;
        Some(section.code(self.isa).raw_lines(is_plain_text))
    }

    /// Returns the column of the words that all sections share in a raw listing; 0 if each section has its own.
    pub fn word_column<'l>(&self, lines: impl Iterator<Item = &'l RawLines<'l>>) -> usize {
        if self.isa.control.is_none() || !self.options.raw {
            return 0;
        }
        let others = self.others.iter().map(|section| section.code(self.isa).word_column());
        lines.map(RawLines::column).chain(others).max().unwrap_or(0)
    }

    /// Prints a section. A raw listing needs its lines and the column of their words.
    pub fn put_section<S: TokenSink>(
        &self,
        index: usize,
        raw: Option<(&RawLines<'_>, usize)>,
        diagnostics: &mut Diagnostics,
        sink: &mut S,
    ) {
        let Some(found) = self.sections.get(index) else { return };
        let (section, name, code) = (&found.section, &found.name, found.code(self.isa));
        let lines = self.lines.as_ref();
        let comments = lines.map_or_else(Vec::new, |lines| lines.comments(section.index, self.options.raw));
        if let Some((lines, column)) = raw {
            sink.put(TokenKind::Text, "\t\tFunction : ");
            sink.put(TokenKind::Function, name);
            sink.put(TokenKind::Text, &headerflags(self.cubin));
            lines.put(column, &comments, sink);
            sink.put(TokenKind::Text, "\t\t..........\n\n\n");
        } else {
            let header = format!("// {name}, sm_{}, {} bytes\n", self.cubin.arch(), code.bytes.len());
            sink.put(TokenKind::Comment, &header);
            self.put_annotated(found, &code, &comments, sink);
        }
        report_undecoded(&code, diagnostics);
    }

    fn put_annotated<S: TokenSink>(
        &self,
        CodeSection { section, inside, .. }: &CodeSection<'_>,
        code: &listing::Function<'_>,
        comments: &[(u64, String)],
        sink: &mut S,
    ) {
        let names = symbols(inside);
        let parameters = parameters(self.cubin, inside);
        let relocations = relocations(self.cubin, section, inside, code);
        let symbols: Vec<(u64, &str)> =
            names.iter().map(|(address, name)| (*address, name.as_str())).collect();
        let parameters: Vec<(Range<u64>, &str)> =
            parameters.iter().map(|(range, name)| (range.clone(), name.as_str())).collect();
        let insertions: Vec<Insertion<'_>> = relocations
            .iter()
            .map(|(address, lowest_bit, text)| Insertion { address: *address, lowest_bit: *lowest_bit, text })
            .collect();
        let context = Context {
            symbols: &symbols,
            parameters: &parameters,
            insertions: &insertions,
            comments,
            control: self.options.control,
        };
        code.annotated(&context, sink);
    }
}

/// Prints the code sections that contain a selected function, and returns their number.
pub fn cubin<S: TokenSink>(
    cubin: &Cubin<'_>,
    wanted: &dyn Fn(&Function<'_>) -> bool,
    options: SassOptions,
    diagnostics: &mut Diagnostics,
    sink: &mut S,
) -> usize {
    let Some(listing) = Listing::new(cubin, wanted, options, diagnostics) else { return 0 };
    let sections = 0..listing.section_count();
    let is_plain_text = sink.is_plain_text();
    let lines: Vec<_> = sections.clone().map(|index| listing.raw_lines(index, is_plain_text)).collect();
    let column = listing.word_column(lines.iter().flatten());
    listing.put_head(sink);
    for (index, lines) in sections.zip(&lines) {
        let raw = lines.as_ref().map(|lines| (lines, column));
        listing.put_section(index, raw, diagnostics, sink);
    }
    listing.section_count()
}

/// Returns the address and name of a section's functions, by address.
fn symbols(inside: &[Function<'_>]) -> Vec<(u64, String)> {
    let mut symbols: Vec<(u64, String)> = inside
        .iter()
        .map(|function| (function.symbol.value, Escaped(function.own_name()).to_string()))
        .collect();
    symbols.sort();
    symbols.dedup_by_key(|symbol| symbol.0);
    symbols
}

/// Returns what relocations insert into the instructions of a section: address, lowest bit and text, by address. Targets
/// within the section are final, so their relocations are left out.
fn relocations(
    cubin: &Cubin<'_>,
    section: &Section<'_>,
    inside: &[Function<'_>],
    code: &listing::Function<'_>,
) -> Vec<(u64, Option<u8>, String)> {
    let outer = inside.iter().find(|function| function.kind != FunctionKind::Inner);
    let all = outer.into_iter().flat_map(|function| function.relocations(cubin));
    let of_code = all.filter(|(of, _)| *of == section.index);
    let mut found: Vec<(u64, Option<u8>, String)> = of_code
        .filter_map(|(_, relocation)| {
            let symbol = cubin.elf().symbol(relocation.symbol)?;
            let is_final = u32::from(symbol.section) == section.index;
            let bit = link::field(relocation.kind).and_then(|field| u8::try_from(field.lowest_bit()).ok());
            let addend = if relocation.addend == 0 {
                bit.and_then(|bit| code.addend(relocation.offset, bit)).unwrap_or(0)
            } else {
                relocation.addend
            };
            let text = || relocated_text(cubin, relocation.kind, &symbol, addend);
            (!is_final).then(|| (relocation.offset, bit, text()))
        })
        .collect();
    found.sort();
    found
}

/// Returns what a relocation inserts, as nvdisasm prints it: `` `(free) ``, `32@lo(table)`, `32@hi(fun@fdesc(free))`. A
/// symbol of a section has the section's name.
fn relocated_text(cubin: &Cubin<'_>, kind: RelocationType, symbol: &Symbol<'_>, addend: i64) -> String {
    let mut text = Escaped(symbol.name).to_string();
    if symbol.name.is_empty()
        && let Ok(section) = cubin.elf().section(u32::from(symbol.section))
    {
        text = Escaped(section.name).to_string();
    }
    if addend != 0 {
        let sign = if addend < 0 { "-" } else { "" };
        text = format!("({text} + {sign}{:#x})", addend.unsigned_abs());
    }
    let kind = kind.to_string();
    let is_descriptor = kind.contains("_FUNC_DESC");
    if is_descriptor {
        text = format!("fun@fdesc({text})");
    }
    match () {
        () if kind.contains("_LO_") => format!("32@lo({text})"),
        () if kind.contains("_HI_") => format!("32@hi({text})"),
        () if is_descriptor => text,
        () => format!("`({text})"),
    }
}

/// Returns the parameters of the section's kernel, by their range in constant bank 0.
fn parameters(cubin: &Cubin<'_>, inside: &[Function<'_>]) -> Vec<(Range<u64>, String)> {
    let Some(kernel) = inside.iter().find(|function| function.symbol.is_kernel()) else { return Vec::new() };
    let mut parameters: Vec<(Range<u64>, String)> = kernel
        .parameters(cubin)
        .into_iter()
        .map(|(offset, parameter)| {
            let start = u64::from(offset);
            (start..start + u64::from(parameter.size), format!("param_{}", u32::from(parameter.ordinal) + 1))
        })
        .collect();
    parameters.sort_by_key(|parameter| parameter.0.start);
    parameters
}

/// The flags of a cubin up to toolkit 12 that cuobjdump has no names for.
const UNKNOWN_FLAGS: u32 = 0x7f00_a000;

/// Returns the line after a function's name. cuobjdump names the chip twice, even if the code was compiled for an older
/// one.
fn headerflags(cubin: &Cubin<'_>) -> String {
    let arch = cubin.arch();
    if instruction_set(cubin).is_some_and(|isa| isa.control.is_some()) {
        let accelerators = cubin.has_accelerators().then_some("EF_CUDA_ACCELERATORS");
        let named = [
            (0x100, "EF_CUDA_TEXMODE_UNIFIED"),
            (0x200, "EF_CUDA_TEXMODE_INDEPENDENT"),
            (0x400, "EF_CUDA_64BIT_ADDRESS"),
            (0x800, accelerators.unwrap_or("EF_CUDA_SW_1729687")),
            (0x1000, "EF_CUDA_SW_1729687_v2"),
        ];
        let target = |arch: u32| format!("EF_CUDA_VIRTUAL_SM(EF_CUDA_SM{arch})");
        let flags = cubin.elf().header().flags;
        let mut names: Vec<String> = Vec::new();
        if cubin.is_abi_8() {
            names.extend(accelerators.map(str::to_owned));
            names.push(format!("EF_CUDA_SM{arch}"));
            names.push(target(cubin.virtual_arch().unwrap_or(arch)));
        } else {
            let named = named.into_iter().filter(|(flag, _)| flags & flag != 0);
            names.extend(named.map(|(_, name)| name.to_owned()));
            names.push(format!("EF_CUDA_SM{arch}"));
            names.extend(cubin.virtual_arch().map(|arch| match isa::by_architecture(arch) {
                Some(_) => target(arch),
                None => format!("unrecognized:{arch:x}"),
            }));
            let unknown = flags & UNKNOWN_FLAGS;
            names.extend((unknown != 0).then(|| format!("unrecognized:{unknown:x}")));
        }
        return format!("\n\t.headerflags\t@\"{}\"\n", names.join(" "));
    }
    format!("\n\t.headerflags    @\"EF_CUDA_SM{arch} EF_CUDA_PTX_SM(EF_CUDA_SM{arch})\"\n")
}

/// Returns the text that `cuobjdump -sass` prints before an entry of a fat binary.
pub fn entry_heading(entry: &Entry<'_>) -> String {
    let flags = entry.flags;
    let first = |named: &[(u64, &'static str)]| {
        named.iter().find(|(flag, _)| flags.has(*flag)).map_or("<unknown>", |(_, name)| name)
    };
    let producer = first(&[(Flags::CUDA, "cuda"), (Flags::OPENCL, "opencl")]);
    let host = first(&[(Flags::LINUX, "linux"), (Flags::MACOS, "mac"), (Flags::WINDOWS, "windows")]);
    let kind = if entry.kind == EntryKind::PTX { "ptx" } else { "elf" };
    let bits = if flags.has(Flags::BITS_64) { 64 } else { 32 };
    let mut text = format!(
        "\nFatbin {kind} code:\n================\narch = sm_{}\ncode version = [{},{}]\nproducer = {producer}\n\
         host = {host}\ncompile_size = {bits}bit\n",
        entry.arch, entry.major, entry.minor
    );
    if flags.has(Flags::DEBUG) {
        text.push_str("has debug info\n");
    }
    if flags.has(Flags::LZ4) || flags.has(Flags::ZSTD) {
        text.push_str("compressed\n");
    }
    if let Some(name) = entry.name() {
        text.push_str(&format!("identifier = {}\n", Escaped(name)));
    }
    if let Ok(Some(options)) = entry.options()
        && !flags.has(Flags::COMPATIBILITY)
    {
        let end = options.data().iter().position(|byte| *byte == 0).unwrap_or(options.data().len());
        text.push_str(&format!(
            "ptxasOptions = {}\n",
            Escaped(options.data().get(..end).unwrap_or_default())
        ));
    }
    text
}
