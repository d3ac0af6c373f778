//! Splits the code sections of a cubin into functions.
//!
//! A code section holds a kernel and the functions inside of it, whose symbols say where they start. A function ends
//! where the next one starts; the sizes of symbols are ignored, because a kernel's covers the whole section.

use std::collections::BTreeMap;
use std::ops::Range;
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped};
use unshade_nv::Cubin;
use unshade_nv::cubin::Role;
use unshade_nv::elf::Section;
use unshade_nv::function::Function;
use unshade_sass::control_flow::{ControlFlow, jump_tables};
use unshade_sass::listing;
use unshade_sass::liveness::{LiveRow, Liveness};
use unshade_sass::table::Isa;

/// Maximum number of undecodable words that are reported per function.
const MAX_UNDECODED: usize = 8;

/// The machine code of a cubin.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    cubin: Cubin<'a>,
    isa: &'static Isa,
    /// Contents of constant banks, by bank and function. The name is empty for banks of all functions.
    constants: BTreeMap<(u8, Vec<u8>), &'a [u8]>,
}

/// A function with its machine code.
#[derive(Clone, Debug)]
pub struct FunctionCode<'a> {
    /// The function.
    pub function: Function<'a>,
    /// Its own name, escaped.
    pub name: String,
    /// Name of the function that its section belongs to, which owns the constants.
    section_name: Vec<u8>,
    isa: &'static Isa,
    bytes: &'a [u8],
    address: u64,
    file_offset: u64,
}

impl<'a> Code<'a> {
    /// Reads the machine code of a cubin with a known instruction set.
    pub fn new(cubin: &Cubin<'a>, isa: &'static Isa) -> Self {
        let mut constants = BTreeMap::new();
        for section in cubin.elf().sections() {
            if let (Role::Constant(bank), name) = Role::of(&section)
                && let Ok(bytes) = cubin.elf().bytes(&section)
            {
                constants.insert((bank, name.to_vec()), bytes.data());
            }
        }
        Self { cubin: cubin.clone(), isa, constants }
    }

    /// Returns the cubin.
    pub fn cubin(&self) -> &Cubin<'a> {
        &self.cubin
    }

    /// Returns the instruction set.
    pub fn isa(&self) -> &'static Isa {
        self.isa
    }

    /// Returns the selected functions, by section and address. Of several at one address, returns the first.
    pub fn functions(
        &self,
        wanted: &dyn Fn(&Function<'_>) -> bool,
        diagnostics: &mut Diagnostics,
    ) -> Vec<FunctionCode<'a>> {
        let all = self.sections(wanted, diagnostics).into_iter().flatten();
        all.filter(|function| wanted(&function.function)).collect()
    }

    /// Returns all functions of the sections with a selected function, by section: functions of a section may call each
    /// other.
    pub fn sections(
        &self,
        wanted: &dyn Fn(&Function<'_>) -> bool,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Vec<FunctionCode<'a>>> {
        let mut by_section: BTreeMap<u32, Vec<Function<'a>>> = BTreeMap::new();
        for function in self.cubin.functions() {
            by_section.entry(u32::from(function.symbol.section)).or_default().push(function);
        }
        let mut found = Vec::new();
        for section in self.cubin.code_sections() {
            let Some(mut inside) = by_section.remove(&section.index) else { continue };
            inside.sort_by_key(|function| (function.symbol.value, function.index));
            if inside.iter().any(wanted) {
                found.extend(self.section(&section, &inside, wanted, diagnostics));
            }
        }
        found
    }

    fn section(
        &self,
        section: &Section<'a>,
        inside: &[Function<'a>],
        wanted: &dyn Fn(&Function<'_>) -> bool,
        diagnostics: &mut Diagnostics,
    ) -> Option<Vec<FunctionCode<'a>>> {
        let bytes = diagnostics.take("sass-code", self.cubin.elf().bytes(section))?;
        let mut found = Vec::new();
        let mut rest = inside;
        while let Some(first) = rest.first() {
            let start = first.symbol.value;
            let (here, following) = rest.split_at(rest.partition_point(|other| other.symbol.value == start));
            rest = following;
            let end = following.first().map_or(bytes.data().len() as u64, |next| next.symbol.value);
            let function = here.iter().find(|function| wanted(function)).unwrap_or(first);
            let range = clamped_range(start, end, bytes.data().len());
            found.push(FunctionCode {
                function: function.clone(),
                name: Escaped(function.own_name()).to_string(),
                section_name: Role::of(section).1.to_vec(),
                isa: self.isa,
                bytes: bytes.data().get(range).unwrap_or_default(),
                address: start,
                file_offset: bytes.base().saturating_add(start),
            });
        }
        Some(found)
    }

    /// Returns the control flow of a function, including jump tables in constant banks.
    pub fn control_flow(&self, function: &FunctionCode<'_>) -> ControlFlow {
        let constants = |bank: u64| {
            let bank = u8::try_from(bank).ok()?;
            let own = self.constants.get(&(bank, function.section_name.clone()));
            own.or_else(|| self.constants.get(&(bank, Vec::new()))).copied()
        };
        let words = function.words();
        ControlFlow::new(&words, &jump_tables(&words, &constants))
    }
}

/// Returns the liveness of registers for each function of a section, in order.
pub fn lives(code: &Code<'_>, section: &[FunctionCode<'_>]) -> Vec<Vec<LiveRow>> {
    let functions: Vec<_> =
        section.iter().map(|function| (function.words(), code.control_flow(function))).collect();
    let liveness = Liveness::new(&functions);
    (0..functions.len()).map(|function| liveness.rows(function)).collect()
}

impl<'a> FunctionCode<'a> {
    /// Returns its words, to be listed.
    pub fn words(&self) -> listing::Function<'_> {
        let Self { isa, bytes, address, file_offset, .. } = *self;
        listing::Function { name: &self.name, isa, bytes, address, file_offset }
    }

    /// Returns its size in bytes.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns its machine code.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Returns a range of bytes, clamped to the length that is there.
fn clamped_range(start: u64, end: u64, length: usize) -> Range<usize> {
    let clamp = |offset: u64| usize::try_from(offset).unwrap_or(length).min(length);
    clamp(start)..clamp(end).max(clamp(start))
}

/// Reports words that decode to no instruction.
pub(crate) fn report_undecoded(function: &listing::Function<'_>, diagnostics: &mut Diagnostics) {
    let (name, isa) = (function.name, function.isa);
    let mut undecoded = function.undecoded();
    for fault in undecoded.by_ref().take(MAX_UNDECODED) {
        let message = format!("{name}: no instruction of {} has the word {:#018x}", isa.name, fault.word);
        diagnostics.warning("sass-word", Error::new(ErrorKind::BadValue, fault.file_offset, message));
    }
    let more = undecoded.count();
    if more > 0 {
        let message = format!("{name}: {more} more words that no instruction has");
        diagnostics.warning("sass-word", Error::new(ErrorKind::BadValue, function.file_offset, message));
    }
}
