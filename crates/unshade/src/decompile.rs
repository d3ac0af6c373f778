//! Decompiles the functions of a cubin to C: collects what the container knows about each function (constants,
//! variables, relocations, parameters) and passes it to the decompiler.

use crate::demangle;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use unshade_core::Diagnostics;
use unshade_decompile::ir::{MemoryObject, ObjectSpace};
use unshade_decompile::sass::{AddressPart, Code, FunctionSymbol, Relocation};
use unshade_decompile::types::{NumberKind, Type};
use unshade_decompile::{Cache, DecompileError, Decompiled, Line, Options, Parameter, Source, c};
use unshade_nv::Cubin;
use unshade_nv::cubin::Role;
use unshade_nv::elf::Section;
use unshade_nv::function::{Function, FunctionKind, Resources, parameter_base};
use unshade_nv::link::{self, Layout};
use unshade_nv::relocation::RelocationType;
use unshade_sass::control::is_scheduling;
use unshade_sass::table::Isa;
use unshade_sass::{Instruction, isa};

/// Maximum bytes of stack of a thread on any chip.
const MAX_STACK: u64 = 512 << 10;

/// A function of a cubin as C, or the reason why it could not be decompiled.
#[derive(Clone, Debug)]
pub struct FunctionC {
    /// Its name as in the file.
    pub name: String,
    /// Its demangled name, if it is mangled.
    pub demangled: Option<String>,
    /// Number of instructions, without the padding after the last one.
    pub instructions: usize,
    /// The C text, or the fault that stopped the decompiler.
    pub result: Result<Decompiled, DecompileError>,
}

/// Decompiles the selected functions of a cubin in file order, passes each to `take`, and returns their number.
///
/// Functions inside another function's section are decompiled with their callers, not by themselves.
pub fn cubin(
    cubin: &Cubin<'_>,
    wanted: &dyn Fn(&Function<'_>) -> bool,
    options: &Options,
    diagnostics: &mut Diagnostics,
    take: &mut dyn FnMut(FunctionC),
) -> usize {
    let Some(isa) = isa::by_architecture(cubin.arch()) else {
        crate::nv_units::report_unknown_chips(vec![cubin.arch()], diagnostics);
        return 0;
    };
    let mut count = 0;
    let symbols = CubinSymbols::new(cubin);
    let mut cache = Cache::default();
    for function in cubin.functions() {
        if function.kind == FunctionKind::Inner || !wanted(&function) {
            continue;
        }
        let Some(section) = &function.section else { continue };
        let Some(bytes) = diagnostics.take("sass-code", cubin.elf().bytes(section)) else { continue };
        count += 1;
        let name = String::from_utf8_lossy(function.name()).into_owned();
        let references = FunctionReferences::new(cubin, &function, &symbols);
        let resources = function.resources(cubin);
        let bytes = symbols.patched(cubin, &function, bytes.data());
        let code = Code {
            isa,
            bytes: &bytes,
            base: 0,
            entry: function.symbol.value,
            local_size: stack_size(&resources),
            constants: symbols.constants(cubin, &function),
            functions: references.functions(),
            variables: references.variables(),
            relocations: references.relocations(),
        };
        let demangled = demangle(function.name());
        let source = Source {
            name: c::identifier(&name),
            is_kernel: function.symbol.is_kernel(),
            parameters: parameters(cubin, &function, demangled.as_deref()),
            code,
            shared_size: resources.shared,
        };
        let result = unshade_decompile::decompile_cached(&source, options, &mut cache);
        take(FunctionC { name, demangled, instructions: instruction_count(isa, &bytes), result });
    }
    count
}

/// Returns the definitions that functions need before them, each once, dependencies first.
pub fn prelude(functions: &[FunctionC]) -> Vec<String> {
    let mut seen = HashSet::new();
    let decompiled = functions.iter().filter_map(|function| function.result.as_ref().ok());
    let all = decompiled.flat_map(|decompiled| &decompiled.prelude);
    all.filter(|definition| seen.insert(definition.as_str())).cloned().collect()
}

/// Returns functions as one file: the definitions that they need, then each function below its readable name.
pub fn text(functions: &[FunctionC]) -> String {
    text_with(functions, false)
}

/// Returns the text of [`text`], optionally with the addresses of the instructions of each line.
pub fn text_with(functions: &[FunctionC], with_addresses: bool) -> String {
    let mut text = String::new();
    for definition in prelude(functions) {
        let _ = writeln!(text, "{definition}");
    }
    for function in functions {
        let Ok(decompiled) = &function.result else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        if let Some(name) = &function.demangled {
            let _ = writeln!(text, "// {}", name.escape_debug());
        }
        for line in &decompiled.lines {
            if with_addresses && !line.addresses.is_empty() {
                let _ = writeln!(text, "{:<80}{}", line.text, addresses(line));
            } else {
                let _ = writeln!(text, "{}", line.text);
            }
        }
    }
    text
}

/// Formats addresses as `// 0038 0040`.
fn addresses(line: &Line) -> String {
    let mut text = String::new();
    for address in &line.addresses {
        text.push_str(if text.is_empty() { " // " } else { " " });
        let _ = write!(text, "{address:04x}");
    }
    text
}

/// Counts the instructions of a function's code, without scheduling words and the padding at the end.
fn instruction_count(isa: &'static Isa, bytes: &[u8]) -> usize {
    let words = bytes.chunks_exact(isa.word_bytes.max(1)).filter_map(|bytes| isa.word(bytes));
    let code: Vec<u128> = (0..)
        .zip(words)
        .filter(|(index, word)| !is_scheduling(isa, *index, *word))
        .map(|pair| pair.1)
        .collect();
    let is_padding =
        |word: &u128| Instruction::decode(isa, *word).is_none_or(|found| found.operation().name == "NOP");
    let padding = code.iter().rev().take_while(|word| is_padding(word)).count();
    code.len() - padding
}

/// Returns the bytes of stack of a thread, including those of the functions that it calls.
fn stack_size(resources: &Resources) -> u32 {
    let size = u64::from(resources.stack.unwrap_or(0)).max(resources.local).min(MAX_STACK);
    u32::try_from(size).unwrap_or(0)
}

/// Returns the parameters with their offsets and sizes, and with types where the mangled name gives them.
fn parameters(cubin: &Cubin<'_>, function: &Function<'_>, demangled: Option<&str>) -> Vec<Parameter> {
    let base = parameter_base(cubin.arch());
    let types: Vec<&str> = demangled.map(argument_types).unwrap_or_default();
    let found = function.parameters(cubin);
    let has_types = types.len() == found.len();
    found
        .into_iter()
        .enumerate()
        .map(|(index, (offset, parameter))| {
            let size = u32::from(parameter.size);
            let ty = if has_types { types.get(index).and_then(|name| type_of(name)) } else { None };
            Parameter {
                offset: offset.saturating_sub(base),
                size,
                ty: ty.filter(|ty| u32::from(ty.bits()) == size * 8),
            }
        })
        .collect()
}

/// Returns the types between the last parentheses of a demangled name.
fn argument_types(name: &str) -> Vec<&str> {
    let Some(end) = name.rfind(')') else { return Vec::new() };
    let mut depth = 0_usize;
    let mut parts = Vec::new();
    let mut last = end;
    for (index, byte) in name.bytes().enumerate().take(end).collect::<Vec<_>>().into_iter().rev() {
        match byte {
            b')' | b'>' | b']' => depth += 1,
            b'(' if depth == 0 => {
                parts.push(name[index + 1..last].trim());
                parts.reverse();
                return parts;
            }
            b'(' | b'<' | b'[' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(name[index + 1..last].trim());
                last = index;
            }
            _ => {}
        }
    }
    Vec::new()
}

/// Returns the C type with a name in C++; none for classes and for types of unknown size.
fn type_of(name: &str) -> Option<Type> {
    let name = name.trim();
    if let Some(target) = name.strip_suffix('*') {
        let target = target.trim().trim_end_matches("const").trim().trim_start_matches("const ").trim();
        return scalar(target.trim_end_matches("volatile").trim()).map(Type::pointer);
    }
    scalar(name.trim_start_matches("const ").trim_end_matches(" const"))
}

fn scalar(name: &str) -> Option<Type> {
    Some(match name {
        "float" => Type::of(32, NumberKind::Float),
        "double" => Type::of(64, NumberKind::Float),
        "bool" | "unsigned char" => Type::of(8, NumberKind::Unsigned),
        "char" | "signed char" => Type::of(8, NumberKind::Signed),
        "short" => Type::of(16, NumberKind::Signed),
        "unsigned short" => Type::of(16, NumberKind::Unsigned),
        "int" => Type::of(32, NumberKind::Signed),
        "unsigned int" | "unsigned" => Type::of(32, NumberKind::Unsigned),
        "long" | "long long" => Type::of(64, NumberKind::Signed),
        "unsigned long" | "unsigned long long" => Type::of(64, NumberKind::Unsigned),
        _ => return None,
    })
}

/// Returns the initial bytes of a variable, empty if the file has none.
fn initial_bytes<'a>(cubin: &Cubin<'a>, section: &Section<'a>, offset: u64, size: u64) -> &'a [u8] {
    let (Ok(start), Ok(size)) = (usize::try_from(offset), usize::try_from(size)) else { return &[] };
    let Ok(bytes) = cubin.elf().bytes(section) else { return &[] };
    start.checked_add(size).and_then(|end| bytes.data().get(start..end)).unwrap_or(&[])
}

/// A variable: its name, memory space, offset in that space, size in bytes, and initial bytes.
type NamedVariable<'a> = (String, ObjectSpace, u64, u64, &'a [u8]);

/// Returns the texture or surface whose handle or descriptor a relocation writes into constant bank 0.
fn image<'a>(
    cubin: &Cubin<'a>,
    section: u32,
    relocation: &unshade_nv::relocation::Relocation,
) -> Option<NamedVariable<'a>> {
    let (place, size) = match relocation.kind {
        RelocationType::CUDA_TEX_HEADER_INDEX => (ObjectSpace::Texture, 4),
        RelocationType::CUDA_SURF_HW_DESC => (ObjectSpace::Surface, 32),
        _ => return None,
    };
    let section = cubin.elf().section(section).ok()?;
    let symbol = cubin.elf().symbols()?.get(relocation.symbol)?;
    let name = String::from_utf8_lossy(symbol.name).into_owned();
    (Role::of(&section).0 == Role::Constant(0)).then_some((name, place, relocation.offset, size, &[][..]))
}

/// Maximum number of variables that are passed to the decompiler.
const MAX_VARIABLES: usize = 4096;

/// Variables and functions of a cubin. Owns their names, which the decompiler borrows.
struct CubinSymbols<'a> {
    layout: Layout,
    /// The constant banks that the functions of a relocatable cubin share.
    banks: BTreeMap<u8, Vec<u8>>,
    variables: Vec<NamedVariable<'a>>,
    /// Address and name of each function, by the section of its code.
    functions: BTreeMap<u32, Vec<(u64, String)>>,
}

impl<'a> CubinSymbols<'a> {
    fn new(cubin: &Cubin<'a>) -> Self {
        let layout = Layout::new(cubin);
        let bank = |bank: u8| Some((bank, layout.bank(cubin, bank)?));
        let banks = (1..=u8::MAX).filter_map(bank).collect();
        let mut variables = Vec::new();
        for symbol in cubin.elf().symbols().iter().flat_map(|symbols| symbols.iter()) {
            if symbol.size == 0 || variables.len() >= MAX_VARIABLES {
                continue;
            }
            let Ok(section) = cubin.elf().section(u32::from(symbol.section)) else { continue };
            let place = match Role::of(&section) {
                // Constants of a function are its literals.
                (Role::Constant(bank), b"") if bank != 0 => ObjectSpace::Constant(bank),
                (Role::Global, _) => ObjectSpace::Global,
                (Role::Shared, _) => ObjectSpace::Shared,
                _ => continue,
            };
            let name = String::from_utf8_lossy(symbol.name).into_owned();
            let bytes = initial_bytes(cubin, &section, symbol.value, symbol.size);
            variables.push((name, place, layout.offset(&symbol), symbol.size, bytes));
        }
        let mut functions: BTreeMap<u32, Vec<(u64, String)>> = BTreeMap::new();
        for function in cubin.functions() {
            if let Some(section) = &function.section {
                let name = String::from_utf8_lossy(function.name()).into_owned();
                functions.entry(section.index).or_default().push((function.symbol.value, name));
            }
        }
        Self { layout, banks, variables, functions }
    }

    /// Returns the constant banks of a function: number and contents. Bank 0 holds parameters and is left out.
    fn constants<'s>(&'s self, cubin: &Cubin<'a>, function: &Function<'a>) -> Vec<(u8, &'s [u8])> {
        let mut found: Vec<(u8, &'s [u8])> =
            self.banks.iter().map(|(bank, bytes)| (*bank, bytes.as_slice())).collect();
        for section in function.sections(cubin) {
            if let (Role::Constant(bank), _) = Role::of(&section)
                && bank != 0
                && !self.banks.contains_key(&bank)
                && let Ok(bytes) = cubin.elf().bytes(&section)
            {
                found.push((bank, bytes.data()));
            }
        }
        found
    }

    /// Returns the code of a function with the offsets of constants and of shared variables, which a relocatable cubin
    /// leaves to the linker. Addresses stay open: the relocations name what they are of.
    fn patched<'b>(&self, cubin: &Cubin<'a>, function: &Function<'a>, code: &'b [u8]) -> Cow<'b, [u8]> {
        let section = function.section.as_ref().map_or(0, |section| section.index);
        let mut bytes = Cow::Borrowed(code);
        for (_, relocation) in function.relocations(cubin).filter(|(of, _)| *of == section) {
            let Some(field) = link::field(relocation.kind).filter(|field| !field.is_generic()) else {
                continue;
            };
            let Some(symbol) = cubin.elf().symbol(relocation.symbol) else { continue };
            let Ok(memory) = cubin.elf().section(u32::from(symbol.section)) else { continue };
            let bank = match Role::of(&memory).0 {
                Role::Constant(bank) => bank,
                Role::Shared => 0,
                _ => continue,
            };
            let value = self.layout.offset(&symbol).wrapping_add_signed(relocation.addend);
            field.patch(bytes.to_mut(), relocation.offset, value, bank);
        }
        bytes
    }
}

/// Symbols that a function's code refers to. Owns their names, which the decompiler borrows.
struct FunctionReferences<'a, 'c> {
    relocations: Vec<(u64, String, u64, AddressPart)>,
    images: Vec<NamedVariable<'a>>,
    cubin_symbols: &'c CubinSymbols<'a>,
    /// Address and name of the functions in the same section, including the function itself.
    functions: &'c [(u64, String)],
    /// Address of the function in its section.
    entry: u64,
}

impl<'a, 'c> FunctionReferences<'a, 'c> {
    fn new(cubin: &Cubin<'a>, function: &Function<'_>, cubin_symbols: &'c CubinSymbols<'a>) -> Self {
        let code = function.section.as_ref().map_or(0, |section| section.index);
        let symbols = cubin.elf().symbols();
        let mut relocations = Vec::new();
        let mut images = Vec::new();
        for (section, relocation) in function.relocations(cubin) {
            if section != code {
                images.extend(image(cubin, section, &relocation));
                continue;
            }
            // Offsets in smaller memories are in the code: see `CubinSymbols::patched`.
            if link::field(relocation.kind).is_some_and(|field| !field.is_generic()) {
                continue;
            }
            let part = match relocation.kind {
                RelocationType::CUDA_ABS32_LO_23
                | RelocationType::CUDA_ABS32_LO_26
                | RelocationType::CUDA_ABS32_LO_20 => AddressPart::Low,
                RelocationType::CUDA_ABS32_HI_23
                | RelocationType::CUDA_ABS32_HI_26
                | RelocationType::CUDA_ABS32_HI_20 => AddressPart::High,
                RelocationType::CUDA_ABS32_23 | RelocationType::CUDA_ABS32_26 => AddressPart::Low,
                _ => AddressPart::Target,
            };
            let symbol = symbols.and_then(|symbols| symbols.get(relocation.symbol));
            // The encoded target of a call within the section is already final.
            if part == AddressPart::Target && symbol.is_some_and(|symbol| u32::from(symbol.section) == code) {
                continue;
            }
            let name =
                symbol.map_or(String::new(), |symbol| String::from_utf8_lossy(symbol.name).into_owned());
            relocations.push((relocation.offset, name, relocation.addend.cast_unsigned(), part));
        }
        let functions = cubin_symbols.functions.get(&code).map_or(&[][..], Vec::as_slice);
        Self { relocations, images, cubin_symbols, functions, entry: function.symbol.value }
    }

    /// Returns the other functions of the section.
    fn functions(&self) -> Vec<FunctionSymbol<'_>> {
        let others = self.functions.iter().filter(|function| function.0 != self.entry);
        others.map(|(address, name)| FunctionSymbol { address: *address, name }).collect()
    }

    fn relocations(&self) -> Vec<Relocation<'_>> {
        let all = self.relocations.iter();
        all.map(|(address, symbol, addend, part)| Relocation {
            address: *address,
            symbol,
            addend: *addend,
            part: *part,
        })
        .collect()
    }

    fn variables(&self) -> Vec<MemoryObject<'_>> {
        let all = self.images.iter().chain(&self.cubin_symbols.variables).take(MAX_VARIABLES);
        all.map(|(name, place, offset, size, bytes)| MemoryObject {
            name: Cow::Borrowed(name),
            space: *place,
            offset: *offset,
            size: *size,
            bytes: Cow::Borrowed(bytes),
        })
        .collect()
    }
}
