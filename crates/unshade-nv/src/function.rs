//! A function of a cubin: its code, resources and parameters.

use crate::attribute::Attribute;
use crate::cubin::{Cubin, FunctionSections, INDEX_MASK};
use crate::elf::Section;
use crate::info::{self, Parameter, ParameterBank, Record};
use crate::relocation::{Relocation, RelocationType, Relocations};
use crate::symbol::{Symbol, SymbolType};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Escaped, Reader, Result};

/// The most threads that a block of any chip may have.
const LARGEST_BLOCK: u32 = 1024;

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FunctionKind {
    /// Launched by the host.
    Kernel,
    /// Called by other functions; it has its own section.
    Device,
    /// Called by the one function whose section contains its code: `$kernel$function`.
    Inner,
}

impl FunctionKind {
    /// Returns its name: `kernel`, `device` or `inner`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Device => "device",
            Self::Inner => "inner",
        }
    }
}

impl core::fmt::Display for FunctionKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// Its position among the functions of the cubin, from 0.
    pub index: u32,
    /// Its symbol.
    pub symbol: Symbol<'a>,
    /// How it is called.
    pub kind: FunctionKind,
    /// The section that contains its code, if it exists.
    pub section: Option<Section<'a>>,
    /// Whether the section names this function as its owner. Each section has at most one owner; only that function has
    /// the section's records, memory, constants and relocations. So a hostile file can't make a reader repeat that work
    /// for a million symbols in one section.
    pub owns_section: bool,
}

/// A symbol in a code section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// The offset from the start of the code section.
    pub offset: u64,
    /// The size of what it names, in bytes.
    pub size: u64,
    /// The name.
    pub name: &'a [u8],
    /// Whether it is a kernel.
    pub is_kernel: bool,
}

/// The resource usage of a function, as `cuobjdump --dump-resource-usage` counts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Bytes of stack per thread, including callees.
    pub stack: Option<u32>,
    /// Bytes of static shared memory per block.
    pub shared: u64,
    /// Bytes of local memory per thread that are not on the stack.
    pub local: u64,
    /// Constant banks and their sizes in bytes, sorted by bank.
    pub constants: Vec<(u8, u64)>,
    /// Barriers per block; cuobjdump's summary does not have them.
    pub barriers: Option<u32>,
    /// Number of parameters, as counted by the records; cuobjdump's summary does not have it.
    pub parameters: u32,
}

/// The numbers of references to textures, surfaces and samplers, as `cuobjdump --dump-resource-usage` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BindingCounts {
    /// Number of textures.
    pub textures: u32,
    /// Number of surfaces.
    pub surfaces: u32,
    /// Number of samplers.
    pub samplers: u32,
}

/// The contents of a function's `.nv.info` records.
#[derive(Clone, Debug, Default)]
pub struct Details<'a> {
    /// `.maxntid`: the maximum block size.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the required block size.
    pub required_threads: Option<[u32; 3]>,
    /// Blocks per cluster.
    pub cluster: Option<[u32; 3]>,
    /// The maximum number of blocks per cluster.
    pub max_cluster: Option<u32>,
    /// The register limit given to the compiler; 255 if none was given.
    pub max_registers: Option<u16>,
    /// Bytes of stack per thread, for this function alone.
    pub frame_size: Option<u32>,
    /// Minimum bytes of stack per thread, including callees.
    pub min_stack: Option<u32>,
    /// Maximum bytes of stack per thread, including callees.
    pub max_stack: Option<u32>,
    /// Bytes of the call and reconvergence stack.
    pub call_stack: Option<u32>,
    /// The total size of the parameters in bytes.
    pub parameters_size: Option<u16>,
    /// Where the parameters are.
    pub bank: Option<ParameterBank>,
    /// The parameters in their order.
    pub parameters: Vec<Parameter>,
    /// All records, in their order.
    pub records: Vec<Record<'a>>,
    /// Why the records could not be read to the end.
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

    /// Returns its mangled name.
    pub fn name(&self) -> &'a [u8] {
        self.symbol.name
    }

    /// Returns its mangled name in the source: for `$kernel$function`, what follows the second `$`.
    pub fn own_name(&self) -> &'a [u8] {
        let name = self.symbol.name;
        let Some(rest) = name.strip_prefix(b"$").filter(|_| self.kind == FunctionKind::Inner) else {
            return name;
        };
        let dollar = rest.iter().position(|byte| *byte == b'$');
        dollar.and_then(|dollar| rest.get(dollar.checked_add(1)?..)).unwrap_or(name)
    }

    /// Returns the name that messages use.
    pub fn label(&self) -> String {
        format!("function {} {}", self.index, Escaped(self.symbol.name).quoted())
    }

    /// Returns its code.
    ///
    /// # Errors
    /// If it is outside its section, or the section is outside the file.
    pub fn code(&self, cubin: &Cubin<'a>) -> Result<Reader<'a>> {
        let Some(section) = &self.section else {
            return Err(Error::new(
                ErrorKind::OutOfRange,
                self.symbol.range.0,
                "function symbol without a section",
            )
            .found(format!("section {}", self.symbol.section))
            .within(self.label()));
        };
        let bytes = cubin.elf().bytes(section).map_err(|error| error.within(self.label()))?;
        bytes.part(self.symbol.value, self.symbol.size).map_err(|error| error.within(self.label()))
    }

    /// Returns the symbols in its code section, including its own, sorted by offset.
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

    /// Returns the sections that belong to it, if it owns its code section.
    fn owned_sections<'c>(&self, cubin: &'c Cubin<'a>) -> Option<&'c FunctionSections> {
        if self.owns_section { cubin.function_sections(u32::from(self.symbol.section)) } else { None }
    }

    /// Returns its resource usage.
    pub fn resources(&self, cubin: &Cubin<'a>) -> Resources {
        let number = |attribute| cubin.number_of(self.symbol.index, attribute);
        let section = self.section.as_ref();
        // Those of ABI 8 that were assembled by other means than ptxas have it there, too, and no record.
        let in_header = section.map(|section| section.info >> 24).filter(|count| *count > 0);
        let mut resources = Resources {
            registers: number(Attribute::REGCOUNT).or(in_header),
            stack: number(Attribute::MIN_STACK_SIZE).or_else(|| number(Attribute::FRAME_SIZE)),
            ..Resources::default()
        };
        let Some(owned) = self.owned_sections(cubin) else { return resources };
        let barriers_in_flags = section
            .filter(|_| !cubin.is_abi_8())
            .and_then(|section| u32::try_from((section.flags >> 20) & 0x7f).ok());
        for record in self.records(cubin).map_while(Result::ok) {
            if record.attribute == Attribute::NUM_BARRIERS {
                resources.barriers.get_or_insert(u32::from(record.number));
            }
            resources.parameters = resources.parameters.saturating_add(record.parameter().is_some().into());
        }
        resources.barriers = resources.barriers.or(barriers_in_flags);
        let size = |index: u32| match index {
            0 => 0,
            index => cubin.elf().section_header(index).map_or(0, |section| section.size),
        };
        resources.shared = size(owned.shared);
        resources.local = size(owned.local);
        resources.constants = owned.constants.iter().map(|(bank, index)| (*bank, size(*index))).collect();
        resources.constants.sort_unstable();
        resources
    }

    /// Counts its references to textures, surfaces and samplers.
    pub fn binding_counts(&self, cubin: &Cubin<'a>) -> BindingCounts {
        let mut counts = BindingCounts::default();
        for (_, relocation) in self.relocations(cubin) {
            let count = match relocation.kind {
                RelocationType::CUDA_TEX_HEADER_INDEX => &mut counts.textures,
                RelocationType::CUDA_SURF_HEADER_INDEX => &mut counts.surfaces,
                RelocationType::CUDA_SAMP_HEADER_INDEX => &mut counts.samplers,
                _ => continue,
            };
            *count = count.saturating_add(1);
        }
        counts
    }

    /// Returns the records of `.nv.info.F`.
    pub fn records(&self, cubin: &Cubin<'a>) -> info::Records<'a> {
        let index = self.owned_sections(cubin).map_or(0, |owned| owned.info);
        let section = if index == 0 { None } else { cubin.elf().section_header(index).ok() };
        let section = section.and_then(|section| cubin.elf().bytes(&section).ok());
        info::records(section.unwrap_or(Reader::at(&[], cubin.file().base())))
    }

    /// Returns the section `.nv.info.F`.
    pub fn info_section(&self, cubin: &Cubin<'a>) -> Option<Section<'a>> {
        let index = self.owned_sections(cubin)?.info;
        if index == 0 { None } else { cubin.elf().section(index).ok() }
    }

    /// Returns the sections that belong to it: its code, then the others in the order of the section table.
    pub fn sections(&self, cubin: &Cubin<'a>) -> Vec<Section<'a>> {
        let Some(owned) = self.owned_sections(cubin) else { return Vec::new() };
        let mut indices = Vec::from([owned.info, owned.shared, owned.local]);
        indices.extend(owned.constants.iter().map(|(_, index)| *index));
        indices.extend(owned.relocations.iter());
        indices.retain(|index| *index != 0);
        indices.sort_unstable();
        indices.insert(0, owned.code);
        indices.into_iter().filter_map(|index| cubin.elf().section(index).ok()).collect()
    }

    /// Returns the relocations of its code and constants, each with the index of the section that it patches.
    pub fn relocations<'c>(
        &self,
        cubin: &'c Cubin<'a>,
    ) -> impl Iterator<Item = (u32, Relocation)> + use<'a, 'c> {
        let sections = self.owned_sections(cubin).map_or(&[][..], |owned| owned.relocations.as_slice());
        let elf = *cubin.elf();
        sections
            .iter()
            .filter_map(move |index| {
                let section = elf.section_header(*index).ok()?;
                let relocations = Relocations::of(&elf, &section).ok()??;
                Some((section.info & INDEX_MASK, relocations))
            })
            .flat_map(|(of, relocations)| relocations.iter().map(move |relocation| (of, relocation)))
    }

    /// Returns the textures, surfaces and samplers that it refers to, without duplicates.
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

    /// Returns the contents of its records.
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
                Ok(record) => details.add(record),
                Err(error) => details.fault = Some(error.within(self.label())),
            }
        }
        details.parameters.sort_by_key(|parameter| parameter.ordinal);
        details
    }

    /// Returns the parameters in order, each with its offset in constant bank 0.
    pub fn parameters(&self, cubin: &Cubin<'a>) -> Vec<(u32, Parameter)> {
        let details = self.details(cubin);
        let base = details.parameter_base(cubin);
        let offset = |parameter: &Parameter| base.saturating_add(u32::from(parameter.offset));
        details.parameters.iter().map(|parameter| (offset(parameter), *parameter)).collect()
    }
}

impl<'a> Details<'a> {
    /// Returns the most threads of a block, 1 to 1,024, if the function limits or requires them.
    pub fn most_threads(&self) -> Option<u32> {
        let threads = self.required_threads.or(self.max_threads)?;
        let most = threads.into_iter().try_fold(1_u32, u32::checked_mul)?;
        (1..=LARGEST_BLOCK).contains(&most).then_some(most)
    }

    fn add(&mut self, record: Record<'a>) {
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

    /// Returns the offset of the parameters in constant bank 0: from a record, or else the chip's default.
    pub fn parameter_base(&self, cubin: &Cubin<'_>) -> u32 {
        self.bank.map_or_else(|| parameter_base(cubin.arch()), |bank| u32::from(bank.offset))
    }
}

/// (first chip, offset of the parameters in constant bank 0), ascending.
const PARAMETER_BASES: &[(u32, u32)] = &[(0, 0x20), (30, 0x140), (70, 0x160), (90, 0x210), (100, 0x380)];

/// Returns the default offset of a kernel's parameters in constant bank 0 on a chip.
pub fn parameter_base(arch: u32) -> u32 {
    let bases = PARAMETER_BASES.iter().rev();
    bases.into_iter().find(|(first, _)| *first <= arch).map_or(0, |(_, base)| *base)
}
