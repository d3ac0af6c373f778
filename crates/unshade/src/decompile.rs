//! Decompiles the functions of a cubin to C: collects what the container knows about each function (constants,
//! variables, relocations, parameters) and passes it to the decompiler.

mod debug;
mod header;
mod parameters;
mod structures;
mod symbols;
mod workers;

use crate::demangle;
use debug::SourceNames;
pub use header::{Header, HeaderFault};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use symbols::{CubinSymbols, FunctionReferences};
use unshade_core::{Diagnostics, Error, ErrorKind};
use unshade_decompile::c::Language;
pub use unshade_decompile::nvidia::passes;
use unshade_decompile::nvidia::{self, decompile_observed};
pub use unshade_decompile::pass::Observer;
use unshade_decompile::sass::{self, Code, Local};
use unshade_decompile::{Cache, DecompileError, Decompiled, Functions, Line, Options, Prepared, Source};
use unshade_nv::Cubin;
use unshade_nv::function::{Function, FunctionKind, Resources};
use unshade_sass::control::is_scheduling;
use unshade_sass::table::Isa;
use unshade_sass::{Instruction, isa};

/// Maximum bytes of stack of a thread on any chip.
const MAX_STACK: u64 = 512 << 10;

/// Alignment of the stack frames of functions.
const FRAME_ALIGNMENT: u64 = 16;

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

/// Decompiles the selected functions of a cubin on all cores, passes each to `take` in file order, and returns their number.
///
/// Functions inside another function's section are decompiled with their callers, not by themselves.
pub fn cubin(
    cubin: &Cubin<'_>,
    wanted: &dyn Fn(&Function<'_>) -> bool,
    options: &Options,
    diagnostics: &mut Diagnostics,
    take: &mut dyn FnMut(FunctionC),
) -> usize {
    cubin_with(cubin, wanted, options, None, diagnostics, None, take)
}

/// Decompiles as [`cubin`] does, with the names and types of a header. `observe` is called after each pass of each
/// function, with the name of the pass in [`passes`]; with an observer, one function comes after the other.
pub fn cubin_with(
    cubin: &Cubin<'_>,
    wanted: &dyn Fn(&Function<'_>) -> bool,
    options: &Options,
    header: Option<&Header>,
    diagnostics: &mut Diagnostics,
    observe: Option<&mut Observer<'_>>,
    take: &mut dyn FnMut(FunctionC),
) -> usize {
    let Some(isa) = isa::by_architecture(cubin.arch()) else {
        crate::nv_units::report_unknown_chips(vec![cubin.arch()], diagnostics);
        return 0;
    };
    if !isa.has_semantics {
        crate::nv_units::report_unknown_semantics(cubin, diagnostics);
        return 0;
    }
    let symbols = CubinSymbols::new(cubin);
    let names = SourceNames::new(cubin, !options.without_source, header, diagnostics);
    let file = InputFile { cubin, isa, symbols: &symbols, names: &names };
    let inputs = file.inputs(wanted, diagnostics);
    let units: Vec<Unit<'_>> = inputs.iter().flat_map(|input| input.units(diagnostics)).collect();
    let mut cache = nvidia::cache();
    for (name, element) in header.into_iter().flat_map(Header::elements) {
        cache.elements.declare(name, element);
    }
    let functions = device_functions(&units, options, &mut cache);
    let wanted: Vec<&Unit<'_>> = units.iter().filter(|unit| unit.is_wanted).collect();
    let mut take = |unit: &Unit<'_>, result| {
        let instructions = instruction_count(isa, unit.bytes);
        take(FunctionC { name: unit.name.clone(), demangled: unit.demangled.clone(), instructions, result });
    };
    if let Some(observe) = observe {
        for unit in &wanted {
            take(unit, decompile_observed(&unit.source, &functions, options, &mut cache, observe));
        }
        return wanted.len();
    }
    let (known, mut elements) = (&cache.elements, cache.elements.clone());
    workers::in_order(
        &wanted,
        |unit| unit.bytes.len(),
        nvidia::idioms,
        |idioms, unit| {
            let prepared = nvidia::prepare(&unit.source, &functions, options, idioms, &mut |_, _| {})?;
            let decompiled = prepared.print(options, known);
            let is_final = decompiled.elements.is_independent();
            Ok((decompiled, (!is_final).then_some(prepared)))
        },
        |unit, result: Result<(Decompiled, Option<Prepared<'_>>), DecompileError>| {
            let result = result.map(|(mut decompiled, prepared)| {
                if let Some(prepared) = prepared.filter(|_| !elements.agree_with(&decompiled.elements)) {
                    decompiled = prepared.print(options, &elements);
                }
                elements.add(&decompiled.elements);
                decompiled
            });
            take(unit, result);
        },
    );
    wanted.len()
}

/// Returns the device functions of a cubin as their callers see them.
fn device_functions(units: &[Unit<'_>], options: &Options, cache: &mut Cache) -> Functions {
    let sources: Vec<&Source<'_>> =
        units.iter().filter(|unit| unit.may_call).map(|unit| &unit.source).collect();
    if sources.is_empty() { Functions::default() } else { nvidia::device_functions(&sources, options, cache) }
}

/// What becomes a function in C.
struct Unit<'s> {
    /// Its name as in the file.
    name: String,
    demangled: Option<String>,
    /// Its own code.
    bytes: &'s [u8],
    source: Source<'s>,
    /// Whether it was selected.
    is_wanted: bool,
    /// Whether it is a device function, or may call one.
    may_call: bool,
}

/// A cubin, and what is known of all of its functions.
#[derive(Clone, Copy)]
struct InputFile<'a, 'c> {
    cubin: &'c Cubin<'a>,
    isa: &'static Isa,
    symbols: &'c CubinSymbols<'a>,
    names: &'c SourceNames<'c>,
}

impl<'a, 'c> InputFile<'a, 'c> {
    /// Returns the selected functions, and those that may be called or call others.
    fn inputs(
        &self,
        wanted: &dyn Fn(&Function<'_>) -> bool,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Input<'a, 'c>> {
        let has_devices = self.cubin.functions().any(|function| function.kind == FunctionKind::Device);
        // What is wrong with other functions is not reported.
        let mut ignored = Diagnostics::new();
        let functions = self.cubin.functions().filter(|function| function.kind != FunctionKind::Inner);
        let inputs = functions.filter_map(|function| {
            let is_wanted = wanted(&function);
            let may_call = has_devices || self.symbols.has_inner_functions(&function);
            let diagnostics = if is_wanted { &mut *diagnostics } else { &mut ignored };
            (is_wanted || may_call).then(|| Input::new(*self, function, is_wanted, may_call, diagnostics))?
        });
        inputs.collect()
    }
}

/// A function, and what the decompiler must know of it.
struct Input<'a, 'c> {
    file: InputFile<'a, 'c>,
    function: Function<'a>,
    demangled: Option<String>,
    bytes: Cow<'a, [u8]>,
    references: FunctionReferences<'a, 'c>,
    is_wanted: bool,
    /// Whether it may call device functions, or is one.
    may_call: bool,
}

impl<'a, 'c> Input<'a, 'c> {
    fn new(
        file: InputFile<'a, 'c>,
        function: Function<'a>,
        is_wanted: bool,
        may_call: bool,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let InputFile { cubin, symbols, .. } = file;
        let bytes = diagnostics.take("sass-code", cubin.elf().bytes(function.section.as_ref()?))?;
        let bytes = symbols.patched(cubin, &function, bytes.data());
        let references = FunctionReferences::new(cubin, &function, symbols);
        let demangled = demangle(function.name());
        Some(Self { file, function, demangled, bytes, references, is_wanted, may_call })
    }

    /// Returns the functions in C: the recursive ones in the section, and the function itself. Reports how a header
    /// contradicts the file.
    fn units(&self, diagnostics: &mut Diagnostics) -> Vec<Unit<'_>> {
        let name = String::from_utf8_lossy(self.function.name()).into_owned();
        let (source, contradictions) = self.source();
        for contradiction in contradictions.into_iter().filter(|_| self.is_wanted) {
            let error = Error::without_offset(ErrorKind::BadValue, contradiction);
            diagnostics.error("types-header", error.within(name.clone()));
        }
        let inner = Self::recursive(&source);
        let has_calls = self.references.has_functions() || !self.file.symbols.pointed.is_empty();
        let may_call = self.may_call && (!source.is_kernel || has_calls || !inner.is_empty());
        let is_wanted = self.is_wanted;
        let units = inner.into_iter().filter_map(|source| {
            let symbol = self.references.function_at(source.code.entry)?;
            Some(Unit {
                name: symbol.name.clone(),
                demangled: demangle(symbol.name.rsplit('$').next().unwrap_or_default().as_bytes()),
                bytes: self.code_of(source.code.entry, symbol.size),
                source,
                is_wanted,
                may_call,
            })
        });
        let mut units: Vec<Unit<'_>> = units.collect();
        let (demangled, bytes) = (self.demangled.clone(), &*self.bytes);
        units.push(Unit { name, demangled, bytes, source, is_wanted, may_call });
        units
    }

    /// Returns the recursive functions in the section of a function, as functions of their own.
    fn recursive<'s>(source: &Source<'s>) -> Vec<Source<'s>> {
        let inner = sass::recursive_functions(&source.code).into_iter().map(|function| Source {
            name: function.name_in_c.to_owned(),
            is_kernel: false,
            parameters: parameters::of_device_function(demangle(function.name_in_c.as_bytes()).as_deref()),
            method: parameters::of_method(demangle(function.name_in_c.as_bytes()).as_deref()),
            code: Code { entry: function.address, ..source.code.clone() },
            shared_size: source.shared_size,
            max_threads: None,
            structures: source.structures.clone(),
            is_pointed: false,
        });
        inner.collect()
    }

    /// Returns some bytes of the code; none if they are outside of it.
    fn code_of(&self, start: u64, size: u64) -> &[u8] {
        let range = usize::try_from(start).ok().zip(usize::try_from(size).ok());
        range.and_then(|(start, size)| self.bytes.get(start..)?.get(..size)).unwrap_or_default()
    }

    /// Returns the function as the decompiler takes it, and how a header contradicts the file.
    fn source(&self) -> (Source<'_>, Vec<String>) {
        let InputFile { cubin, isa, symbols, names } = self.file;
        let resources = self.function.resources(cubin);
        let locals = symbols.shared_variables(cubin, &self.function);
        let code = Code {
            isa,
            bytes: &self.bytes,
            base: 0,
            entry: self.function.symbol.value,
            local_size: stack_size(cubin, &resources),
            constants: symbols.constants(cubin, &self.function),
            functions: self.references.functions(),
            variables: self.references.variables(),
            relocations: self.references.relocations(),
            locals: locals.into_iter().map(Local::in_memory).collect(),
        };
        let name = symbols::name_in_c(&self.function.symbol);
        let (parameters, structures) = parameters::of(cubin, &self.function, self.demangled.as_deref());
        let mut source = Source {
            is_pointed: symbols.pointed.contains(&name),
            name,
            is_kernel: self.function.symbol.is_kernel(),
            parameters,
            method: parameters::of_method(self.demangled.as_deref()),
            code,
            shared_size: symbols.shared_size(cubin, &self.function),
            max_threads: self.function.details(cubin).most_threads(),
            structures,
        };
        let symbol = String::from_utf8_lossy(self.function.name());
        names.describe(&symbol, &mut source);
        let contradictions = names.declare(&symbol, self.demangled.as_deref(), &mut source);
        (source, contradictions)
    }
}

/// Returns whether some functions need the compiler option `-ftz=true` and others must not have it: then
/// [`Options::explicit_flushes`] makes a text that is right without it. In a language where functions set the mode
/// themselves, this matters only if they call others.
pub fn mixes_flushes(functions: &[FunctionC], language: &Language) -> bool {
    if language.flushes_by_itself() {
        let results = functions.iter().filter_map(|function| function.result.as_ref().ok());
        if results.into_iter().all(|one| one.callees.is_empty()) {
            return false;
        }
    }
    let has = |wanted: &dyn Fn(&Decompiled) -> bool| {
        functions.iter().filter_map(|function| function.result.as_ref().ok()).any(wanted)
    };
    has(&|one| one.flushes) && has(&|one| one.keeps_subnormals)
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

/// Returns the bytes of stack of a thread, including those of the functions that it calls. The compiler doesn't know how
/// deep a recursion is, and states the maximum; but recursive functions are functions in C, so each frame is there once.
fn stack_size(cubin: &Cubin<'_>, resources: &Resources) -> u32 {
    let mut size = u64::from(resources.stack.unwrap_or(0)).max(resources.local).min(MAX_STACK);
    if size == MAX_STACK {
        let frames = cubin.functions().filter_map(|function| function.details(cubin).frame_size);
        size = frames.map(|frame| u64::from(frame).next_multiple_of(FRAME_ALIGNMENT)).sum::<u64>().min(size);
    }
    u32::try_from(size).unwrap_or(0)
}
