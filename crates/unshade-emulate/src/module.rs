//! A cubin, loaded: its code with relocations applied, its variables in the memory of a device, its constants.
//!
//! A kernel sees its own code from address 0 on: branches are relative, and addresses of functions that stand in the
//! kernel's own section are offsets in it. Functions in other sections come after, at addresses of their own, and behind
//! all code the functions that the host answers: `crate::host`.

use std::collections::BTreeMap;

use unshade_core::{Error, ErrorKind, Escaped, Reader};
use unshade_nv::Cubin;
use unshade_nv::cubin::Role;
use unshade_nv::function::{Function, FunctionKind, parameter_base};
use unshade_nv::info::Parameter;
use unshade_nv::relocation::{Relocation, RelocationType, Relocations};
use unshade_nv::symbol::{Symbol, SymbolType};
use unshade_sass::isa;
use unshade_sass::table::Isa;

use crate::device::{Device, DevicePointer};
use crate::host;
use crate::surface::Surface;

/// Where code begins that is not the kernel's own.
const OTHER_CODE: u64 = 0x1000_0000;

/// Code sections are kept apart by this.
const CODE_ALIGNMENT: u64 = 0x1000;

/// A code section.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) section: u32,
    /// Where it is for others than the kernel in it.
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
}

/// A kernel, as it has to be started.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name, mangled.
    pub name: String,
    /// Its parameters in their order, each with its offset in constant bank 0.
    pub parameters: Vec<(u32, Parameter)>,
    /// Bytes of shared memory of a block, besides what the launch asks for.
    pub shared: u64,
    /// Bytes of local memory of a thread that it says it needs.
    pub local: u64,
    /// The largest block that it is compiled for, or the only one, if it says so (`__launch_bounds__`).
    pub threads: Option<[u32; 3]>,
    /// The code section, an index into those of the module.
    pub(crate) code: usize,
    /// Where it starts in its section.
    pub(crate) start: u64,
    /// Constant banks of its own, by bank.
    pub(crate) constants: Vec<(u8, Vec<u8>)>,
    /// Words of constant bank 0 that hold the handle of a texture, and its name.
    pub(crate) textures: Vec<(u64, String)>,
    /// Where descriptors of surfaces belong in constant bank 0.
    pub(crate) surfaces: Vec<(u64, String)>,
}

/// A variable of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// `__device__`: where it is, and its size in bytes.
    Global(DevicePointer, u64),
    /// `__constant__`: bank, offset and size in bytes.
    Constant(u8, u64, u64),
}

/// A loaded cubin.
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) isa: &'static Isa,
    pub(crate) codes: Vec<Code>,
    pub(crate) kernels: Vec<Kernel>,
    /// Constant banks that are for all kernels.
    pub(crate) constants: BTreeMap<u8, Vec<u8>>,
    variables: BTreeMap<String, Variable>,
    bound: BTreeMap<String, u64>,
    architecture: u32,
    wide_addresses: bool,
}

impl Module {
    /// Loads a cubin: its variables go to the memory of the device.
    ///
    /// # Errors
    /// If it can't be read, is of a chip whose code is not known, or its variables don't fit in memory.
    ///
    /// ```no_run
    /// use unshade_emulate::{Device, Module};
    ///
    /// let mut device = Device::new();
    /// let module = Module::load(&mut device, &std::fs::read("axpy.cubin")?)?;
    /// for kernel in module.kernels() {
    ///     println!("{} takes {} parameters", kernel.name, kernel.parameters.len());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(device: &mut Device, cubin: &[u8]) -> Result<Self, Error> {
        let cubin = Cubin::read(Reader::new(cubin))?;
        let architecture = cubin.arch();
        let isa = isa::by_architecture(architecture).ok_or_else(|| {
            Error::new(ErrorKind::BadValue, cubin.file().base(), "the code of this chip is not known")
                .expected("sm_30, sm_32, sm_35 or sm_37")
                .found(format!("sm_{architecture}"))
        })?;
        let mut module = Self {
            isa,
            codes: Vec::new(),
            kernels: Vec::new(),
            constants: BTreeMap::new(),
            variables: BTreeMap::new(),
            bound: BTreeMap::new(),
            architecture,
            wide_addresses: cubin.has_64_bit_addresses(),
        };
        let globals = module.place_sections(device, &cubin)?;
        module.place_variables(&cubin, &globals);
        let functions: Vec<Function<'_>> = cubin.functions().collect();
        let tables = Tables::new(&cubin);
        for function in functions.iter().filter(|function| function.kind == FunctionKind::Kernel) {
            module.add_kernel(&cubin, &tables, function)?;
        }
        module.relocate(device, &cubin, &tables, &globals);
        Ok(module)
    }

    /// A module that is no cubin: the code of one kernel, which is entered at its beginning, and the sizes of its
    /// parameters, each at a multiple of its own. None if the code of the chip is not known.
    pub fn of_code(architecture: u32, name: &str, code: &[u8], sizes: &[u16]) -> Option<Self> {
        let base = parameter_base(architecture);
        let mut parameters = Vec::new();
        let mut offset = 0_u16;
        for (ordinal, &size) in (0..).zip(sizes) {
            offset = offset.checked_next_multiple_of(size)?;
            let parameter = Parameter {
                index: 0,
                ordinal,
                offset,
                size,
                log_alignment: 0,
                space: 0,
                bank: None,
                in_shared_memory: false,
            };
            parameters.push((base.checked_add(offset.into())?, parameter));
            offset = offset.checked_add(size)?;
        }
        let kernel = Kernel {
            name: name.to_owned(),
            parameters,
            shared: 0,
            local: 0,
            threads: None,
            code: 0,
            start: 0,
            constants: Vec::new(),
            textures: Vec::new(),
            surfaces: Vec::new(),
        };
        Some(Self {
            isa: isa::by_architecture(architecture)?,
            codes: vec![Code { section: 0, address: OTHER_CODE, bytes: code.to_vec() }],
            kernels: vec![kernel],
            constants: BTreeMap::new(),
            variables: BTreeMap::new(),
            bound: BTreeMap::new(),
            architecture,
            wide_addresses: true,
        })
    }

    /// The chip, such as 35.
    pub fn architecture(&self) -> u32 {
        self.architecture
    }

    /// Whether addresses have 64 bits; memory of others is [`Device::with_32_bit_addresses`].
    pub fn has_64_bit_addresses(&self) -> bool {
        self.wide_addresses
    }

    /// The kernels, in the order of the symbols.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel of a name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The variables by their names, mangled.
    pub fn variables(&self) -> &BTreeMap<String, Variable> {
        &self.variables
    }

    /// Writes a variable from its beginning, as `cudaMemcpyToSymbol` does.
    ///
    /// # Errors
    /// If there is no such variable, or it is smaller.
    pub fn write_variable(
        &mut self,
        device: &mut Device,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), crate::Fault> {
        let Some(variable) = self.variables.get(name) else {
            return Err(crate::Fault::launch(format!("there is no variable {}", Escaped(name.as_bytes()))));
        };
        match variable {
            Variable::Global(pointer, size) if bytes.len() as u64 <= *size => {
                Ok(device.write(*pointer, bytes)?)
            }
            Variable::Constant(bank, offset, size) if bytes.len() as u64 <= *size => {
                let start = usize::try_from(*offset).unwrap_or(usize::MAX);
                let place = self
                    .constants
                    .get_mut(bank)
                    .and_then(|constants| constants.get_mut(start..)?.get_mut(..bytes.len()));
                if let Some(place) = place {
                    place.copy_from_slice(bytes);
                }
                Ok(())
            }
            Variable::Global(_, size) | Variable::Constant(_, _, size) => Err(crate::Fault::launch(format!(
                "{} has {size} bytes, not {}",
                Escaped(name.as_bytes()),
                bytes.len()
            ))),
        }
    }

    /// Binds a texture to a texture reference of the program, by the name of the variable.
    pub fn bind_texture(&mut self, name: &str, handle: u64) {
        self.bound.insert(name.to_owned(), handle);
    }

    /// Binds a surface to a surface reference of the program, by the name of the variable.
    pub fn bind_surface(&mut self, name: &str, surface: Surface) {
        self.bound.insert(name.to_owned(), surface.handle.0);
    }

    /// The handle that was bound to a texture or surface reference.
    pub(crate) fn bound_handle(&self, name: &str) -> Option<u64> {
        self.bound.get(name).copied()
    }

    /// Code, memory and constants that are for all; the result is where sections of variables are.
    fn place_sections(
        &mut self,
        device: &mut Device,
        cubin: &Cubin<'_>,
    ) -> Result<BTreeMap<u32, u64>, Error> {
        let mut globals = BTreeMap::new();
        let mut next = OTHER_CODE;
        // Sections may overlap in a file that was made to take all memory.
        let mut room = cubin.file().data().len() as u64;
        for section in cubin.elf().sections() {
            let (role, of) = Role::of(&section);
            if matches!(role, Role::Code | Role::Constant(_)) && section.has_bytes() {
                room = room.checked_sub(section.size).ok_or_else(|| {
                    let message = "sections have more bytes than the file";
                    Error::new(ErrorKind::OutOfRange, section.header_range.0, message)
                })?;
            }
            match role {
                Role::Code => {
                    let bytes = cubin.elf().bytes(&section)?.data().to_vec();
                    let end = next.saturating_add(bytes.len() as u64);
                    self.codes.push(Code { section: section.index, address: next, bytes });
                    next = end.checked_next_multiple_of(CODE_ALIGNMENT).unwrap_or(end);
                }
                Role::Global => {
                    let name = Escaped(section.name).to_string();
                    let pointer = device.allocate(section.size, &name).map_err(|reason| {
                        Error::new(ErrorKind::Limit, section.header_range.0, format!("{name}: {reason}"))
                    })?;
                    if section.has_bytes() {
                        let bytes = cubin.elf().bytes(&section)?;
                        // The allocation has just been made of this size.
                        let _ = device.write(pointer, bytes.data());
                    }
                    globals.insert(section.index, pointer.0);
                }
                Role::Constant(bank) if of.is_empty() && section.has_bytes() => {
                    let bytes = cubin.elf().bytes(&section)?.data().to_vec();
                    self.constants.insert(bank, bytes);
                }
                _ => {}
            }
        }
        Ok(globals)
    }

    fn place_variables(&mut self, cubin: &Cubin<'_>, globals: &BTreeMap<u32, u64>) {
        for symbol in cubin.elf().symbols().into_iter().flat_map(|symbols| symbols.iter()) {
            if symbol.kind != SymbolType::OBJECT || symbol.section >= Symbol::FIRST_RESERVED {
                continue;
            }
            let index = u32::from(symbol.section);
            let name = String::from_utf8_lossy(symbol.name).into_owned();
            if let Some(base) = globals.get(&index) {
                let pointer = DevicePointer(base.wrapping_add(symbol.value));
                self.variables.insert(name, Variable::Global(pointer, symbol.size));
            } else if let Ok(section) = cubin.elf().section(index)
                && let (Role::Constant(bank), b"") = Role::of(&section)
            {
                self.variables.insert(name, Variable::Constant(bank, symbol.value, symbol.size));
            }
        }
    }

    fn add_kernel(
        &mut self,
        cubin: &Cubin<'_>,
        tables: &Tables<'_, '_>,
        function: &Function<'_>,
    ) -> Result<(), Error> {
        let section = u32::from(function.symbol.section);
        let Some(code) = self.codes.iter().position(|code| code.section == section) else { return Ok(()) };
        let details = function.details(cubin);
        let mut kernel = Kernel {
            name: String::from_utf8_lossy(function.name()).into_owned(),
            parameters: function.parameters(cubin),
            shared: 0,
            local: [details.frame_size, details.min_stack, details.max_stack]
                .into_iter()
                .flatten()
                .filter(|size| *size < 1 << 24)
                .max()
                .unwrap_or(0)
                .into(),
            threads: details.required_threads.or(details.max_threads),
            code,
            start: function.symbol.value,
            constants: Vec::new(),
            textures: Vec::new(),
            surfaces: Vec::new(),
        };
        for part in function.sections(cubin) {
            match Role::of(&part).0 {
                Role::Shared => kernel.shared = part.size,
                Role::Local => kernel.local = kernel.local.saturating_add(part.size),
                Role::Constant(bank) if part.has_bytes() => {
                    let mut bytes = cubin.elf().bytes(&part)?.data().to_vec();
                    self.relocate_constants(tables, part.index, &mut bytes, &mut kernel);
                    kernel.constants.push((bank, bytes));
                }
                _ => {}
            }
        }
        self.kernels.push(kernel);
        Ok(())
    }

    /// Handles of textures stand in constant bank 0, where the loader puts them.
    fn relocate_constants(
        &self,
        tables: &Tables<'_, '_>,
        section: u32,
        bytes: &mut [u8],
        kernel: &mut Kernel,
    ) {
        for (symbol, relocation) in tables.of(section) {
            let references = match relocation.kind {
                RelocationType::CUDA_TEX_HEADER_INDEX => Some(&mut kernel.textures),
                RelocationType::CUDA_SURF_HW_DESC => Some(&mut kernel.surfaces),
                _ => None,
            };
            if let Some(references) = references {
                references.push((relocation.offset, String::from_utf8_lossy(symbol.name).into_owned()));
            } else if let Some(address) = self.code_address(&symbol) {
                patch(bytes, relocation.offset, relocation.kind, relocation.addend, address);
            }
        }
    }

    /// Where a function is.
    fn code_address(&self, symbol: &Symbol<'_>) -> Option<u64> {
        if symbol.section == Symbol::UNDEFINED {
            return host::address_of(symbol.name);
        }
        let code = self.codes.iter().find(|code| code.section == u32::from(symbol.section))?;
        Some(code.address.wrapping_add(symbol.value))
    }

    fn relocate(
        &mut self,
        device: &mut Device,
        cubin: &Cubin<'_>,
        tables: &Tables<'_, '_>,
        globals: &BTreeMap<u32, u64>,
    ) {
        let sections: Vec<u32> = self.codes.iter().map(|code| code.section).collect();
        for (index, section) in sections.into_iter().enumerate() {
            let has_kernel = self.kernels.iter().any(|kernel| kernel.code == index);
            for (symbol, relocation) in tables.of(section) {
                let global = globals.get(&u32::from(symbol.section));
                let own = u32::from(symbol.section) == section && has_kernel;
                let address = match global {
                    Some(base) => Some(base.wrapping_add(symbol.value)),
                    // A kernel sees its own section from 0 on.
                    None if own => Some(symbol.value),
                    None => self.code_address(&symbol).or_else(|| plain_value(cubin, &symbol)),
                };
                if let (Some(address), Some(code)) = (address, self.codes.get_mut(index)) {
                    patch(&mut code.bytes, relocation.offset, relocation.kind, relocation.addend, address);
                }
            }
        }
        // Variables that hold addresses.
        for (section, base) in globals {
            for (symbol, relocation) in tables.of(*section) {
                let global = globals.get(&u32::from(symbol.section));
                let address = match global {
                    Some(base) => Some(base.wrapping_add(symbol.value)),
                    None => self.code_address(&symbol),
                };
                let size = match relocation.kind {
                    RelocationType::CUDA_64
                    | RelocationType::CUDA_G64
                    | RelocationType::CUDA_FUNC_DESC_64 => 8,
                    RelocationType::CUDA_32
                    | RelocationType::CUDA_G32
                    | RelocationType::CUDA_FUNC_DESC_32 => 4,
                    _ => 1,
                };
                let place = base.wrapping_add(relocation.offset);
                if let (Some(address), Ok(bytes)) = (address, device.slice(place, size)) {
                    patch(bytes, 0, relocation.kind, relocation.addend, address);
                }
            }
        }
    }
}

/// What is neither code nor a variable has the value that its symbol says: offsets in shared and local memory.
fn plain_value(cubin: &Cubin<'_>, symbol: &Symbol<'_>) -> Option<u64> {
    let section = cubin.elf().section(u32::from(symbol.section)).ok()?;
    matches!(Role::of(&section).0, Role::Shared | Role::Local | Role::Constant(_)).then_some(symbol.value)
}

/// The relocations of the sections that have some.
struct Tables<'c, 'a> {
    cubin: &'c Cubin<'a>,
    /// By the section that they are of.
    by_section: BTreeMap<u32, Vec<Relocations<'a>>>,
}

impl<'c, 'a> Tables<'c, 'a> {
    fn new(cubin: &'c Cubin<'a>) -> Self {
        let elf = cubin.elf();
        let mut by_section: BTreeMap<u32, Vec<Relocations<'a>>> = BTreeMap::new();
        for table in elf.sections().filter(|table| table.is_relocations()) {
            if let Ok(Some(relocations)) = Relocations::of(elf, &table) {
                by_section.entry(table.info & 0xff_ffff).or_default().push(relocations);
            }
        }
        Self { cubin, by_section }
    }

    /// The relocations of a section, each with its symbol.
    fn of(&self, section: u32) -> impl Iterator<Item = (Symbol<'a>, Relocation)> {
        let tables = self.by_section.get(&section).into_iter().flatten();
        tables.flat_map(Relocations::iter).filter_map(|relocation| {
            let symbol = self.cubin.elf().symbol(relocation.symbol)?;
            Some((symbol, relocation))
        })
    }
}

/// Where a relocation puts which bits of the address: the first bit in the word, how many, and the first bit of the
/// address. The names say so: `ABS32_HI_23` puts the upper half of an address at bit 23.
const FIELDS: &[(RelocationType, u32, u32, u32)] = &[
    (RelocationType::CUDA_32, 0, 32, 0),
    (RelocationType::CUDA_G32, 0, 32, 0),
    (RelocationType::CUDA_FUNC_DESC_32, 0, 32, 0),
    (RelocationType::CUDA_64, 0, 64, 0),
    (RelocationType::CUDA_G64, 0, 64, 0),
    (RelocationType::CUDA_FUNC_DESC_64, 0, 64, 0),
    (RelocationType::CUDA_ABS32_20, 20, 32, 0),
    (RelocationType::CUDA_ABS32_LO_20, 20, 32, 0),
    (RelocationType::CUDA_ABS32_HI_20, 20, 32, 32),
    (RelocationType::CUDA_ABS32_23, 23, 32, 0),
    (RelocationType::CUDA_ABS32_LO_23, 23, 32, 0),
    (RelocationType::CUDA_ABS32_HI_23, 23, 32, 32),
    (RelocationType::CUDA_ABS32_26, 26, 32, 0),
    (RelocationType::CUDA_ABS32_LO_26, 26, 32, 0),
    (RelocationType::CUDA_ABS32_HI_26, 26, 32, 32),
    (RelocationType::CUDA_FUNC_DESC32_23, 23, 32, 0),
    (RelocationType::CUDA_FUNC_DESC32_LO_23, 23, 32, 0),
    (RelocationType::CUDA_FUNC_DESC32_HI_23, 23, 32, 32),
    (RelocationType::CUDA_ABS24_20, 20, 24, 0),
    (RelocationType::CUDA_ABS24_23, 23, 24, 0),
    (RelocationType::CUDA_ABS24_26, 26, 24, 0),
    (RelocationType::CUDA_ABS16_20, 20, 16, 0),
    (RelocationType::CUDA_ABS16_23, 23, 16, 0),
    (RelocationType::CUDA_ABS16_26, 26, 16, 0),
];

/// Adds an address to what stands in the bits that a relocation means.
fn patch(bytes: &mut [u8], offset: u64, kind: RelocationType, addend: i64, address: u64) {
    let Some((_, bit, count, from)) = FIELDS.iter().find(|field| field.0 == kind).copied() else { return };
    let size = if bit == 0 && count == 32 { 4 } else { 8 };
    let place = usize::try_from(offset).ok().and_then(|start| bytes.get_mut(start..)?.get_mut(..size));
    let Some(place) = place else { return };
    let word = place.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    let mask = if count == 64 { u64::MAX } else { (1_u64 << count) - 1 };
    let before = word >> bit & mask;
    let value = (address.wrapping_add_signed(addend) >> from).wrapping_add(before) & mask;
    let word = word & !(mask << bit) | value << bit;
    for (byte, new) in place.iter_mut().zip(word.to_le_bytes()) {
        *byte = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_to_the_bits_that_the_relocation_names() {
        let mut word = 0x7400_0000_001f_c012_u64.to_le_bytes();
        patch(&mut word, 0, RelocationType::CUDA_ABS32_HI_23, 0, 0x7_0000_1234);
        assert_eq!(u64::from_le_bytes(word), 0x7400_0000_001f_c012 | 7 << 23);
        let mut word = 0x7400_0000_021f_c012_u64.to_le_bytes();
        patch(&mut word, 0, RelocationType::CUDA_ABS32_LO_23, 0, 0x7_0000_1234);
        assert_eq!(u64::from_le_bytes(word), 0x7400_0000_001f_c012 | 0x1238 << 23);
        // Outside of the bytes nothing is touched.
        patch(&mut word, 4, RelocationType::CUDA_64, 0, 1);
    }
}
