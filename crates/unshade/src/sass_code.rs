//! The functions of a cubin as machine code: each with the words that are its own.
//!
//! A code section holds a kernel and the functions inside of it, whose symbols say where they begin. A function ends
//! where the next begins; sizes of symbols are not asked, as the kernel's is that of the whole section.

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

/// So many words that no instruction has are told of in each function.
const MAX_UNDECODED: usize = 8;

/// The machine code of a cubin.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    cubin: Cubin<'a>,
    isa: &'static Isa,
    /// By bank and function, the empty name for all functions: the bytes.
    constants: BTreeMap<(u8, Vec<u8>), &'a [u8]>,
}

/// A function with its words.
#[derive(Clone, Debug)]
pub struct FunctionCode<'a> {
    /// The function.
    pub function: Function<'a>,
    /// Its own name, safe to show.
    pub name: String,
    /// The name of its section's function, which constants belong to.
    section_name: Vec<u8>,
    isa: &'static Isa,
    bytes: &'a [u8],
    address: u64,
    file_offset: u64,
}

impl<'a> Code<'a> {
    /// Reads the machine code of a cubin of a known instruction set.
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

    /// The cubin.
    pub fn cubin(&self) -> &Cubin<'a> {
        &self.cubin
    }

    /// Its instruction set.
    pub fn isa(&self) -> &'static Isa {
        self.isa
    }

    /// The functions that are wanted, by section and address. Of several at one address the first is taken.
    pub fn functions(
        &self,
        wanted: &dyn Fn(&Function<'_>) -> bool,
        diagnostics: &mut Diagnostics,
    ) -> Vec<FunctionCode<'a>> {
        let all = self.sections(wanted, diagnostics).into_iter().flatten();
        all.filter(|function| wanted(&function.function)).collect()
    }

    /// All functions of the sections that hold one that is wanted, section by section: they may call each other.
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
            let (here, behind) = rest.split_at(rest.partition_point(|other| other.symbol.value == start));
            rest = behind;
            let end = behind.first().map_or(bytes.data().len() as u64, |next| next.symbol.value);
            let function = here.iter().find(|function| wanted(function)).unwrap_or(first);
            let range = range_of(start, end, bytes.data().len());
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

    /// The control flow of a function, with the targets that jump tables in constant banks tell.
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

/// The lives of registers of the functions of a section, in their order.
pub fn lives(code: &Code<'_>, section: &[FunctionCode<'_>]) -> Vec<Vec<LiveRow>> {
    let functions: Vec<_> =
        section.iter().map(|function| (function.words(), code.control_flow(function))).collect();
    let lives = Liveness::new(&functions);
    (0..functions.len()).map(|function| lives.rows(function)).collect()
}

impl<'a> FunctionCode<'a> {
    /// Its words.
    pub fn words(&self) -> listing::Function<'_> {
        let Self { isa, bytes, address, file_offset, .. } = *self;
        listing::Function { name: &self.name, isa, bytes, address, file_offset }
    }

    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// A part of bytes, as far as it is there.
fn range_of(start: u64, end: u64, length: usize) -> Range<usize> {
    let place = |offset: u64| usize::try_from(offset).unwrap_or(length).min(length);
    place(start)..place(end).max(place(start))
}

/// Tells of words that no instruction has.
pub(crate) fn tell_undecoded(function: &listing::Function<'_>, diagnostics: &mut Diagnostics) {
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
