//! A function of a cubin: where its code is, what it needs, and what it takes.

use crate::attribute::Attribute;
use crate::cubin::{Cubin, INDEX_MASK, Parts};
use crate::elf::Section;
use crate::info::{self, Parameter, ParameterBank, Record};
use crate::relocation::{Relocation, RelocationType, Relocations};
use crate::symbol::{Symbol, SymbolType};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Escaped, Reader, Result};

/// How a function is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FunctionKind {
    /// By the host.
    Kernel,
    /// By other functions; it has a section of its own.
    Device,
    /// By the function whose code it is a part of: `$kernel$function`.
    Inner,
}

impl core::fmt::Display for FunctionKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Self::Kernel => "kernel",
            Self::Device => "device",
            Self::Inner => "inner",
        })
    }
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// Its place among the functions of the cubin, from 0.
    pub index: u32,
    /// Its symbol.
    pub symbol: Symbol<'a>,
    /// How it is started.
    pub kind: FunctionKind,
    /// The section that its code is in, if there is one.
    pub section: Option<Section<'a>>,
    /// Whether the section says that it is this function's. One function of each section is it, and has what belongs to
    /// the section: records, memory, constants, relocations. So nothing is read once for each of a million symbols.
    pub owns_section: bool,
}

/// A name inside of a function's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// The offset from the start of the code section.
    pub offset: u64,
    /// How many bytes it names.
    pub size: u64,
    /// The name.
    pub name: &'a [u8],
    /// Whether the host can start it.
    pub is_kernel: bool,
}

/// What a function needs of the chip, as `cuobjdump --dump-resource-usage` counts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes of stack of a thread, with what it calls.
    pub stack: Option<u32>,
    /// Bytes of shared memory of a block, besides what is asked for at the launch.
    pub shared: u64,
    /// Bytes of local memory of a thread that are not on the stack.
    pub local: u64,
    /// Constant banks, and the bytes in each, by bank.
    pub constants: Vec<(u8, u64)>,
    /// Textures whose headers are bound.
    pub textures: u32,
    /// Surfaces whose headers are bound.
    pub surfaces: u32,
    /// Samplers whose headers are bound.
    pub samplers: u32,
    /// Barriers of a block; not told by cuobjdump's summary.
    pub barriers: Option<u32>,
}

/// What the records of a function tell.
#[derive(Clone, Debug, Default)]
pub struct Details<'a> {
    /// `.maxntid`: the largest block that it is compiled for.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the one block that it is compiled for.
    pub required_threads: Option<[u32; 3]>,
    /// Blocks of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// The most blocks that a cluster may have.
    pub max_cluster: Option<u32>,
    /// The most registers that the compiler was to use; 255 if it was not told.
    pub max_registers: Option<u16>,
    /// Bytes of stack of a thread, of this function.
    pub frame_size: Option<u32>,
    /// Bytes of stack of a thread, of what it calls as well, at least.
    pub min_stack: Option<u32>,
    /// The same, at most.
    pub max_stack: Option<u32>,
    /// Bytes of the stack of calls and joins.
    pub call_stack: Option<u32>,
    /// The sizes of all parameters together.
    pub parameters_size: Option<u16>,
    /// Where the parameters are.
    pub bank: Option<ParameterBank>,
    /// The parameters in their order.
    pub parameters: Vec<Parameter>,
    /// All records, in their order.
    pub records: Vec<Record<'a>>,
    /// What ended the records early.
    pub fault: Option<Error>,
}

impl<'a> Function<'a> {
    pub(crate) fn new(cubin: &Cubin<'a>, index: u32, symbol: Symbol<'a>) -> Self {
        let section = cubin.elf().section(u32::from(symbol.section)).ok();
        let owns_section = section.as_ref().is_some_and(|section| section.info & INDEX_MASK == symbol.index);
        let kind = match (symbol.is_kernel(), owns_section) {
            (true, _) => FunctionKind::Kernel,
            (false, true) => FunctionKind::Device,
            (false, false) => FunctionKind::Inner,
        };
        Self { index, symbol, kind, section, owns_section }
    }

    /// Its name, mangled.
    pub fn name(&self) -> &'a [u8] {
        self.symbol.name
    }

    /// The name that a programmer gave it, mangled: of `$kernel$function` what follows the second mark.
    pub fn own_name(&self) -> &'a [u8] {
        let name = self.symbol.name;
        let Some(rest) = name.strip_prefix(b"$").filter(|_| self.kind == FunctionKind::Inner) else {
            return name;
        };
        let place = rest.iter().position(|byte| *byte == b'$');
        place.and_then(|place| rest.get(place.checked_add(1)?..)).unwrap_or(name)
    }

    /// How it is called in messages.
    pub fn label(&self) -> String {
        format!("function {} {}", self.index, Escaped(self.symbol.name).quoted())
    }

    /// Its code.
    ///
    /// # Errors
    /// If it is not inside of its section, or that not inside of the file.
    pub fn code(&self, cubin: &Cubin<'a>) -> Result<Reader<'a>> {
        let Some(section) = &self.section else {
            return Err(Error::new(ErrorKind::OutOfRange, self.symbol.range.0, "symbol of no section")
                .found(format!("section {}", self.symbol.section))
                .within(self.label()));
        };
        let bytes = cubin.elf().bytes(section).map_err(|error| error.within(self.label()))?;
        bytes.part(self.symbol.value, self.symbol.size).map_err(|error| error.within(self.label()))
    }

    /// The names inside of its code section, its own included, by their offsets.
    pub fn labels(&self, cubin: &Cubin<'a>) -> Vec<Label<'a>> {
        let Some(symbols) = cubin.elf().symbols() else { return Vec::new() };
        let inside = symbols.iter().filter(|symbol| {
            symbol.section == self.symbol.section
                && matches!(symbol.kind, SymbolType::FUNCTION | SymbolType::NONE)
                && !symbol.name.is_empty()
        });
        let mut labels: Vec<Label<'a>> = inside
            .map(|symbol| Label {
                offset: symbol.value,
                size: symbol.size,
                name: symbol.name,
                is_kernel: symbol.is_kernel(),
            })
            .collect();
        labels.sort_by_key(|label| (label.offset, core::cmp::Reverse(label.size)));
        labels
    }

    /// What belongs to its section, if that is its own.
    fn parts<'c>(&self, cubin: &'c Cubin<'a>) -> Option<&'c Parts> {
        if self.owns_section { cubin.parts(u32::from(self.symbol.section)) } else { None }
    }

    /// What it needs of the chip.
    pub fn resources(&self, cubin: &Cubin<'a>) -> Resources {
        let number = |attribute| cubin.number_of(self.symbol.index, attribute);
        let section = self.section.as_ref();
        let in_header = section
            .filter(|_| !cubin.is_abi_8())
            .map(|section| section.info >> 24)
            .filter(|count| *count > 0);
        let mut resources = Resources {
            registers: number(Attribute::REGCOUNT).or(in_header),
            stack: number(Attribute::MIN_STACK_SIZE).or_else(|| number(Attribute::FRAME_SIZE)),
            ..Resources::default()
        };
        let Some(parts) = self.parts(cubin) else { return resources };
        // Bits 20 to 26 of the flags.
        let barriers = section
            .filter(|_| !cubin.is_abi_8())
            .and_then(|section| u32::try_from((section.flags >> 20) & 0x7f).ok());
        resources.barriers = self.barriers_of_records(cubin).or(barriers);
        let size = |index: u32| match index {
            0 => 0,
            index => cubin.elf().section(index).map_or(0, |section| section.size),
        };
        resources.shared = size(parts.shared);
        resources.local = size(parts.local);
        resources.constants = parts.constants.iter().map(|(bank, index)| (*bank, size(*index))).collect();
        resources.constants.sort_unstable();
        for relocation in self.relocations(cubin).map(|(_, relocation)| relocation) {
            let count = match relocation.kind {
                RelocationType::CUDA_TEX_HEADER_INDEX => &mut resources.textures,
                RelocationType::CUDA_SURF_HEADER_INDEX => &mut resources.surfaces,
                RelocationType::CUDA_SAMP_HEADER_INDEX => &mut resources.samplers,
                _ => continue,
            };
            *count = count.saturating_add(1);
        }
        resources
    }

    fn barriers_of_records(&self, cubin: &Cubin<'a>) -> Option<u32> {
        let record = self
            .records(cubin)
            .map_while(Result::ok)
            .find(|record| record.attribute == Attribute::NUM_BARRIERS)?;
        Some(u32::from(record.number))
    }

    /// The records of `.nv.info.F`.
    pub fn records(&self, cubin: &Cubin<'a>) -> info::Records<'a> {
        let section = self.info_section(cubin).and_then(|section| cubin.elf().bytes(&section).ok());
        info::records(section.unwrap_or(Reader::at(&[], cubin.file().base())))
    }

    /// The section `.nv.info.F`.
    pub fn info_section(&self, cubin: &Cubin<'a>) -> Option<Section<'a>> {
        let index = self.parts(cubin)?.info;
        if index == 0 { None } else { cubin.elf().section(index).ok() }
    }

    /// The sections that belong to it: its code first, then in the order of the table.
    pub fn sections(&self, cubin: &Cubin<'a>) -> Vec<Section<'a>> {
        let Some(parts) = self.parts(cubin) else { return Vec::new() };
        let mut indices = Vec::from([parts.info, parts.shared, parts.local]);
        indices.extend(parts.constants.iter().map(|(_, index)| *index));
        indices.extend(parts.relocations.iter());
        indices.retain(|index| *index != 0);
        indices.sort_unstable();
        indices.insert(0, parts.code);
        indices.into_iter().filter_map(|index| cubin.elf().section(index).ok()).collect()
    }

    /// The relocations of its code and its constants, each with the section that it is of.
    pub fn relocations<'c>(
        &self,
        cubin: &'c Cubin<'a>,
    ) -> impl Iterator<Item = (u32, Relocation)> + use<'a, 'c> {
        let sections = self.parts(cubin).map_or(&[][..], |parts| parts.relocations.as_slice());
        let elf = *cubin.elf();
        sections
            .iter()
            .filter_map(move |index| {
                let section = elf.section(*index).ok()?;
                let relocations = Relocations::of(&elf, &section).ok()??;
                Some((section.info & INDEX_MASK, relocations))
            })
            .flat_map(|(of, relocations)| relocations.iter().map(move |relocation| (of, relocation)))
    }

    /// The textures, surfaces and samplers that it refers to, each once.
    pub fn bound(&self, cubin: &Cubin<'a>) -> Vec<Symbol<'a>> {
        let symbols = cubin.elf().symbols();
        let mut indices: Vec<u32> =
            self.relocations(cubin).map(|(_, relocation)| relocation.symbol).collect();
        indices.sort_unstable();
        indices.dedup();
        let found = indices.into_iter().filter_map(|index| symbols?.get(index));
        found
            .filter(|symbol| {
                matches!(
                    symbol.kind,
                    SymbolType::CUDA_TEXTURE | SymbolType::CUDA_SURFACE | SymbolType::CUDA_SAMPLER
                )
            })
            .collect()
    }

    /// Everything that its records tell.
    pub fn details(&self, cubin: &Cubin<'a>) -> Details<'a> {
        let number = |attribute| cubin.number_of(self.symbol.index, attribute);
        let mut details = Details {
            frame_size: number(Attribute::FRAME_SIZE),
            min_stack: number(Attribute::MIN_STACK_SIZE),
            max_stack: number(Attribute::MAX_STACK_SIZE),
            ..Details::default()
        };
        for record in self.records(cubin) {
            match record {
                Ok(record) => details.take(record),
                Err(error) => details.fault = Some(error.within(self.label())),
            }
        }
        details.parameters.sort_by_key(|parameter| parameter.ordinal);
        details
    }

    /// The parameters in their order, each with its offset in constant bank 0.
    pub fn parameters(&self, cubin: &Cubin<'a>) -> Vec<(u32, Parameter)> {
        let details = self.details(cubin);
        let base = details.parameter_base(cubin);
        let place = |parameter: &Parameter| base.saturating_add(u32::from(parameter.offset));
        details.parameters.iter().map(|parameter| (place(parameter), *parameter)).collect()
    }
}

impl<'a> Details<'a> {
    fn take(&mut self, record: Record<'a>) {
        let dimensions = || {
            let mut numbers = record.numbers();
            let mut next = || numbers.next().unwrap_or(1);
            [next(), next(), next()]
        };
        match record.attribute {
            Attribute::MAX_THREADS => self.max_threads = Some(dimensions()),
            Attribute::REQNTID => self.required_threads = Some(dimensions()),
            Attribute::CTA_PER_CLUSTER => self.cluster = Some(dimensions()),
            Attribute::MAX_CLUSTER_RANK => self.max_cluster = record.numbers().next(),
            Attribute::MAXREG_COUNT => self.max_registers = Some(record.number),
            Attribute::CRS_STACK_SIZE => self.call_stack = record.numbers().next(),
            Attribute::CBANK_PARAM_SIZE => self.parameters_size = Some(record.number),
            Attribute::PARAM_CBANK => self.bank = record.parameter_bank(),
            Attribute::KPARAM_INFO | Attribute::KPARAM_INFO_V2 => self.parameters.extend(record.parameter()),
            _ => {}
        }
        self.records.push(record);
    }

    /// The offset of the parameters in constant bank 0: what a record tells, or what it is on this chip.
    pub fn parameter_base(&self, cubin: &Cubin<'_>) -> u32 {
        self.bank.map_or_else(|| parameter_base(cubin.arch()), |bank| u32::from(bank.offset))
    }
}

/// Where the parameters start in constant bank 0, by the first chip that has them there.
const PARAMETER_BASES: &[(u32, u32)] = &[(0, 0x20), (30, 0x140), (70, 0x160), (90, 0x210), (100, 0x380)];

/// Where the parameters of a kernel start in constant bank 0 on a chip.
pub fn parameter_base(arch: u32) -> u32 {
    let bases = PARAMETER_BASES.iter().rev();
    bases.into_iter().find(|(first, _)| *first <= arch).map_or(0, |(_, base)| *base)
}
