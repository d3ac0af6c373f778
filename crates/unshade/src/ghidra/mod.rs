//! Exports kernels of cubins as programs for Ghidra: `NAME.xml` for its XML loader, and `NAME.bytes` next to it.
//!
//! Each code section becomes one program at address 0 of space `ram`, in the language of its chip:
//!
//! | cubin | Ghidra program |
//! |---|---|
//! | the code | block `.text`, disassembled |
//! | functions in it | functions with demangled names, and mangled ones in comments |
//! | constant banks | blocks `constant0` … of space `constant`; bank 0 has no contents, because the driver writes it |
//! | parameters | the kernel's prototype, with types from its name or from the decompiler, and labels in bank 0 |
//! | shared and local memory | blocks without contents |
//! | relocations | comments that name the symbols |
//! | stack of branch targets | targets of `.S`, BRK and CONT, in the context field `goes_to` |
//! | tables of branch targets | references from the indirect branch |
//! | groups of Maxwell and Pascal | the context field `is_instruction`, which tells instructions from scheduling words |
//!
//! The elements follow Ghidra's `PROGRAM.DTD` and the classes in `ghidra.app.util.xml` that read it. Names from files
//! are
//! escaped in XML, and converted to identifiers where Ghidra requires them.

mod prototype;

use std::collections::HashMap;
use std::fmt::Write;
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped};
use unshade_decompile::{Options, Parameter};
use unshade_nv::Cubin;
use unshade_nv::cubin::Role;
use unshade_nv::elf::Section;
use unshade_nv::function::{Function, Label, parameter_base};
use unshade_sass::control_flow::{Cause, ControlFlow, jump_tables};
use unshade_sass::listing;
use unshade_sass::table::Isa;

use crate::demangle;
use crate::sass_listing::instruction_set;

/// (first chip, maximum bytes of shared memory per block), ascending.
const SHARED: [(u32, u64); 5] =
    [(30, 0xc000), (70, 0x1_8000), (80, 0x2_8c00), (90, 0x3_8c00), (107, 0x3_9000)];
/// Maximum size of a constant bank in bytes.
const BANK: u64 = 0x1_0000;
/// A code section as a Ghidra program.
#[derive(Clone, Debug)]
pub struct ImportProgram<'a> {
    /// Mangled name of the section's function.
    pub name: &'a [u8],
    /// Contents of the file next to the XML.
    pub bytes: Vec<u8>,
    language: String,
    elements: String,
}

impl ImportProgram<'_> {
    /// Returns the XML. `bytes_file` is the name of the file with the bytes, next to it.
    pub fn xml(&self, bytes_file: &str) -> String {
        let name = attribute(&Escaped(self.name).to_string());
        let elements = self.elements.replace(BYTES_FILE, &attribute(bytes_file));
        format!(
            "<?xml version=\"1.0\" standalone=\"yes\"?>\n<?program_dtd version=\"1\"?>\n<PROGRAM NAME=\"{name}\" EXE_PATH=\"\" EXE_FORMAT=\"NVIDIA cubin\" \
             IMAGE_BASE=\"00000000\">\n  <INFO_SOURCE TOOL=\"unshade\"/>\n  <PROCESSOR NAME=\"NVIDIA\" LANGUAGE_PROVIDER=\"{}:default\" \
             ENDIAN=\"little\"/>\n{elements}</PROGRAM>\n",
            self.language
        )
    }
}

/// Placeholder for the name of the file with the bytes. This character can't occur in attributes.
const BYTES_FILE: &str = "\u{1}";

/// Returns the code sections with a selected function, as programs.
pub fn programs<'a>(
    cubin: &Cubin<'a>,
    wanted: &dyn Fn(&Function<'_>) -> bool,
    diagnostics: &mut Diagnostics,
) -> Vec<ImportProgram<'a>> {
    let Some(isa) = instruction_set(cubin) else {
        let message = format!("sm_{}: the Ghidra module does not know this chip", cubin.arch());
        diagnostics.warning("sass-arch", Error::new(ErrorKind::BadValue, cubin.file().base(), message));
        return Vec::new();
    };
    let mut found = Vec::new();
    let inferred = inferred_parameters(cubin, wanted);
    for function in cubin.functions().filter(|function| function.owns_section && wanted(function)) {
        let Some(section) = function.section else { continue };
        let Some(code) = diagnostics.take("sass-code", cubin.elf().bytes(&section)) else { continue };
        let mut writer = Writer {
            cubin,
            isa,
            inferred: &inferred,
            out: String::new(),
            bytes: code.data().to_vec(),
            banks: Vec::new(),
        };
        writer.program(&function, &section);
        found.push(ImportProgram {
            name: function.name(),
            bytes: writer.bytes,
            language: format!("NVIDIA:LE:64:{}", isa.name),
            elements: writer.out,
        });
    }
    found
}

/// Decompiles the selected kernels whose names have no types. Returns their parameters, by the name of the kernel.
fn inferred_parameters(
    cubin: &Cubin<'_>,
    wanted: &dyn Fn(&Function<'_>) -> bool,
) -> HashMap<String, Vec<Parameter>> {
    let needed = |function: &Function<'_>| {
        let count = function.parameters(cubin).len();
        function.owns_section
            && function.symbol.is_kernel()
            && count > 0
            && wanted(function)
            && !prototype::has_types(demangle(function.name()).as_deref(), count)
    };
    let mut inferred = HashMap::new();
    if !cubin.functions().any(|function| needed(&function)) {
        return inferred;
    }
    // A kernel that can't be decompiled gets types of its parameters' sizes.
    let mut ignored = Diagnostics::new();
    crate::decompile::cubin(cubin, &needed, &Options::default(), &mut ignored, &mut |function| {
        if let Ok(found) = function.result {
            inferred.insert(function.name, found.parameters);
        }
    });
    inferred
}

struct Writer<'c, 'a> {
    cubin: &'c Cubin<'a>,
    isa: &'static Isa,
    /// The inferred parameters of kernels.
    inferred: &'c HashMap<String, Vec<Parameter>>,
    out: String,
    bytes: Vec<u8>,
    /// Contents of constant banks.
    banks: Vec<(u64, &'a [u8])>,
}

impl<'a> Writer<'_, 'a> {
    fn program(&mut self, function: &Function<'a>, section: &Section<'a>) {
        let code = self.bytes.clone();
        let size = code.len() as u64;
        let labels = labels(function, self.cubin, size);
        self.memory(function, size);
        let references = self.contexts(&code);
        if size > 0 {
            let end = size.saturating_sub(1);
            let _ = writeln!(
                self.out,
                "  <CODE>\n    <CODE_BLOCK START=\"00000000\" END=\"{end:08x}\"/>\n  </CODE>"
            );
        }
        self.comments(function, section);
        self.entries(&labels);
        self.symbols(function);
        self.functions(function, &labels, size);
        if !references.is_empty() {
            let _ = writeln!(self.out, "  <MARKUP>\n{references}  </MARKUP>");
        }
    }

    /// Writes a memory block. `contents` is the offset of its bytes in the file of bytes.
    fn block(&mut self, name: &str, place: &str, length: u64, permissions: &str, contents: Option<u64>) {
        if length == 0 {
            return;
        }
        let _ = write!(
            self.out,
            "    <MEMORY_SECTION NAME=\"{name}\" START_ADDR=\"{place}\" LENGTH=\"{length:#x}\" PERMISSIONS=\"{permissions}\""
        );
        let _ = match contents {
            Some(offset) => writeln!(
                self.out,
                ">\n      <MEMORY_CONTENTS FILE_NAME=\"{BYTES_FILE}\" FILE_OFFSET=\"{offset:#x}\" LENGTH=\"{length:#x}\"/>\n    \
                 </MEMORY_SECTION>"
            ),
            None => writeln!(self.out, "/>"),
        };
    }

    fn memory(&mut self, function: &Function<'a>, size: u64) {
        self.out.push_str("  <MEMORY_MAP>\n");
        self.block(".text", "00000000", size, "rx", Some(0));
        let common = self.cubin.elf().sections();
        let mut banks: Vec<(u8, bool, Section<'a>)> = Vec::new();
        for (is_common, section) in function
            .sections(self.cubin)
            .into_iter()
            .map(|section| (false, section))
            .chain(common.map(|section| (true, section)))
        {
            // Banks of other functions belong to their programs.
            if let (Role::Constant(bank), owner) = Role::of(&section)
                && (!is_common || owner.is_empty())
                && !banks.iter().any(|entry| entry.0 == bank)
            {
                banks.push((bank, is_common, section));
            }
        }
        banks.sort_by_key(|entry| entry.0);
        let parameters = banks.iter().find(|entry| entry.0 == 0).map_or(0, |entry| entry.2.size);
        // The driver's values.
        let before_parameters = u64::from(parameter_base(self.cubin.arch()));
        self.block("constant0", "constant:00000000", parameters.clamp(before_parameters, BANK), "rw", None);
        for (bank, is_common, section) in banks.iter().filter(|entry| entry.0 != 0) {
            let place = format!("constant:{bank:04x}0000");
            let name = format!("constant{bank}");
            // Shared banks hold `__constant__` variables, which the host may write.
            let permissions = if *is_common { "rw" } else { "r" };
            let contents = self.cubin.elf().bytes(section).ok().filter(|_| section.has_bytes());
            match contents.and_then(|contents| contents.data().get(..section.size.min(BANK) as usize)) {
                Some(contents) => {
                    let at = self.bytes.len() as u64;
                    self.bytes.extend_from_slice(contents);
                    self.banks.push((u64::from(*bank), contents));
                    self.block(&name, &place, contents.len() as u64, permissions, Some(at));
                }
                None => self.block(&name, &place, section.size.min(BANK), "rw", None),
            }
        }
        let arch = self.cubin.arch();
        let shared = SHARED.iter().rev().find(|(first, _)| *first <= arch).map_or(0, |(_, size)| *size);
        self.block("shared", "shared:00000000", shared, "rw", None);
        let resources = function.resources(self.cubin);
        let local = resources.local.max(u64::from(resources.stack.unwrap_or(0))).min(1 << 24);
        self.block("local", "local_memory:00000000", local, "rw", None);
        self.out.push_str("  </MEMORY_MAP>\n");
    }

    /// Writes the context of instructions: the target of one that pops an address, where there is only one, and whether a
    /// word is an instruction, where only its address tells. Returns the references of indirect branches.
    fn contexts(&mut self, code: &[u8]) -> String {
        let function = listing::Function { name: "", isa: self.isa, bytes: code, address: 0, file_offset: 0 };
        let constant = |bank| self.banks.iter().find(|entry| entry.0 == bank).map(|entry| entry.1);
        let tables = jump_tables(&function, &constant);
        let flow = ControlFlow::new(&function, &tables);
        let (mut ranges, mut references) = (String::new(), String::new());
        let mut range = |register: &str, value: u64, start: u64, length: u64| {
            let _ = writeln!(
                ranges,
                "    <REGISTER_VALUE_RANGE REGISTER=\"{register}\" VALUE=\"{value:#x}\" START_ADDRESS=\"{start:08x}\" LENGTH=\"{length:#x}\"/>"
            );
        };
        if self.isa.has_bundles() {
            let size = code.len() as u64;
            let starts = (8..size).step_by(32);
            starts.for_each(|start| range("is_instruction", 1, start, 24.min(size.saturating_sub(start))));
        }
        for (number, block) in flow.blocks().iter().enumerate() {
            let Ok(number) = u32::try_from(number) else { break };
            let last = block.addresses.end.saturating_sub(self.isa.word_bytes as u64);
            let targets = |causes: &'static [Cause]| {
                let edges = flow.edges_from(number).iter().filter(move |edge| causes.contains(&edge.cause));
                edges
                    .filter_map(|edge| flow.blocks().get(edge.to as usize))
                    .map(|block| block.addresses.start)
            };
            for target in targets(&[Cause::Indirect]) {
                let _ = writeln!(
                    references,
                    "    <MEMORY_REFERENCE ADDRESS=\"{last:08x}\" TO_ADDRESS=\"{target:08x}\" USER_DEFINED=\"y\" PRIMARY=\"n\"/>"
                );
            }
            let mut popped = targets(&[Cause::Join, Cause::Break, Cause::Continue]);
            if let (true, Some(target), None) = (self.isa.has_semantics, popped.next(), popped.next()) {
                range("goes_to", target / 8, last, 8);
            }
        }
        if !ranges.is_empty() {
            let _ = writeln!(self.out, "  <REGISTER_VALUES>\n{ranges}  </REGISTER_VALUES>");
        }
        references
    }

    fn comments(&mut self, function: &Function<'a>, section: &Section<'a>) {
        let symbols = self.cubin.elf().symbols();
        let mut comments = String::new();
        for (of, relocation) in function.relocations(self.cubin) {
            if of != section.index || relocation.offset >= section.size {
                continue;
            }
            let symbol = symbols.and_then(|symbols| symbols.get(relocation.symbol));
            let named = symbol.map(|symbol| readable(symbol.name)).unwrap_or_default();
            let _ = writeln!(
                comments,
                "    <COMMENT ADDRESS=\"{:08x}\" TYPE=\"end-of-line\">{} {}</COMMENT>",
                relocation.offset & !(self.isa.word_bytes as u64).saturating_sub(1),
                escaped(&relocation.kind.to_string()),
                escaped(&named)
            );
        }
        if !comments.is_empty() {
            let _ = writeln!(self.out, "  <COMMENTS>\n{comments}  </COMMENTS>");
        }
    }

    fn entries(&mut self, labels: &[Entry<'a>]) {
        self.out.push_str("  <PROGRAM_ENTRY_POINTS>\n");
        for label in labels.iter().filter(|label| label.is_kernel) {
            let _ = writeln!(self.out, "    <PROGRAM_ENTRY_POINT ADDRESS=\"{:08x}\"/>", label.start);
        }
        self.out.push_str("  </PROGRAM_ENTRY_POINTS>\n");
    }

    fn symbols(&mut self, function: &Function<'a>) {
        let mut symbols = String::new();
        for (offset, parameter) in function.parameters(self.cubin) {
            let name = prototype::parameter_name(&parameter);
            let _ = writeln!(
                symbols,
                "    <SYMBOL ADDRESS=\"constant:{offset:08x}\" NAME=\"{name}\" NAMESPACE=\"\" TYPE=\"global\" SOURCE_TYPE=\"IMPORTED\" \
                 PRIMARY=\"y\"/>"
            );
        }
        if !symbols.is_empty() {
            let _ = writeln!(self.out, "  <SYMBOL_TABLE>\n{symbols}  </SYMBOL_TABLE>");
        }
    }

    fn functions(&mut self, function: &Function<'a>, labels: &[Entry<'a>], size: u64) {
        self.out.push_str("  <FUNCTIONS>\n");
        for label in labels.iter().filter(|label| label.start < size) {
            let demangled = demangle(label.name);
            let scoped = demangled.as_deref().and_then(|name| prototype::plain_name(name, true));
            let name = scoped.unwrap_or_else(|| identifier(label.name));
            let _ = writeln!(
                self.out,
                "    <FUNCTION ENTRY_POINT=\"{:08x}\" NAME=\"{name}\" LIBRARY_FUNCTION=\"n\">\n      <ADDRESS_RANGE START=\"{:08x}\" \
                 END=\"{:08x}\"/>\n      <REGULAR_CMT>{}</REGULAR_CMT>",
                label.start,
                label.start,
                label.end.saturating_sub(1),
                escaped(&comment(label.name, demangled.as_deref()))
            );
            if label.is_kernel && label.name == function.name() {
                let plain = demangled.as_deref().and_then(|name| prototype::plain_name(name, false));
                let plain = plain.unwrap_or_else(|| identifier(label.name));
                let base = function.details(self.cubin).parameter_base(self.cubin);
                let inferred = self.inferred.get(String::from_utf8_lossy(function.name()).as_ref());
                let text = prototype::prototype(
                    &plain,
                    demangled.as_deref(),
                    base,
                    &function.parameters(self.cubin),
                    inferred.map_or(&[], Vec::as_slice),
                );
                let _ = writeln!(self.out, "      <TYPEINFO_CMT>{}</TYPEINFO_CMT>", escaped(&text));
            }
            self.out.push_str("    </FUNCTION>\n");
        }
        self.out.push_str("  </FUNCTIONS>\n");
    }
}

/// A function in the section.
struct Entry<'a> {
    start: u64,
    end: u64,
    /// Its own name from the source, mangled.
    name: &'a [u8],
    is_kernel: bool,
}

/// Returns the functions of a section, without overlaps.
fn labels<'a>(function: &Function<'a>, cubin: &Cubin<'a>, size: u64) -> Vec<Entry<'a>> {
    let mut found: Vec<Label<'a>> = function.labels(cubin);
    found.retain(|label| label.offset < size && label.offset.is_multiple_of(8));
    found.dedup_by_key(|label| label.offset);
    let ends: Vec<u64> = found.iter().skip(1).map(|label| label.offset).chain([size]).collect();
    found
        .iter()
        .zip(ends)
        .map(|(label, next)| {
            let end = if label.size == 0 { next } else { label.offset.saturating_add(label.size).min(next) };
            let own = label.name.strip_prefix(b"$").and_then(|rest| {
                let mark = rest.iter().position(|byte| *byte == b'$')?;
                rest.get(mark.saturating_add(1)..)
            });
            let name = own.filter(|own| !own.is_empty()).unwrap_or(label.name);
            Entry { start: label.offset, end, name, is_kernel: label.is_kernel }
        })
        .collect()
}

/// Converts a name to one that is valid as a Ghidra symbol and a C identifier.
fn identifier(name: &[u8]) -> String {
    let mut text: String = name
        .iter()
        .take(500)
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(*byte) } else { '_' })
        .collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        text.insert(0, '_');
    }
    text
}

/// Returns a readable name: demangled if it is mangled, and escaped.
fn readable(name: &[u8]) -> String {
    demangle(name).map_or_else(|| Escaped(name).to_string(), |text| Escaped(text.as_bytes()).to_string())
}

fn comment(name: &[u8], demangled: Option<&str>) -> String {
    let mangled = Escaped(name).to_string();
    match demangled {
        Some(demangled) => format!("{}\n{mangled}", Escaped(demangled.as_bytes())),
        None => mangled,
    }
}

/// Escapes the text of an element. Characters that XML does not allow are escaped as in other output.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Escapes the text of an attribute, which can't contain line breaks.
fn attribute(text: &str) -> String {
    escaped(text).replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::{attribute, escaped, identifier};

    #[test]
    fn names_are_no_markup() {
        assert_eq!(escaped("a<b>&\"'\u{1b}\u{0}"), "a&lt;b&gt;&amp;&quot;&apos;\\u{1b}\\u{0}");
        assert_eq!(attribute("a\n\"/>"), "a\\n&quot;/&gt;");
        assert_eq!(identifier(b"3\x00../<x>"), "_3_____x_");
    }
}
