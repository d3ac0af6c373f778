//! Loaded cubins: relocated code, variables in device memory, constant banks.
//!
//! A kernel sees its own code section at address 0: branches are relative, and addresses of functions in the same section
//! are offsets in it. Other sections have unique higher addresses, followed by the system calls of `crate::host`.

use std::collections::{BTreeMap, BTreeSet};

use unshade_core::{Error, ErrorKind, Escaped};
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
use crate::symbols::FunctionRange;
use crate::unlinked::SharedLayout;

/// The address of the first code section, as seen by kernels of other sections.
pub(crate) const OTHER_CODE: u64 = 0x1000_0000;

/// The alignment of code sections.
const CODE_ALIGNMENT: u64 = 0x1000;

/// A code section.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) section: u32,
    /// Its address as seen by kernels of other sections.
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
}

/// A kernel with its launch requirements.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its mangled name.
    pub name: String,
    /// Its parameters in order, each with its offset in constant bank 0.
    pub parameters: Vec<(u32, Parameter)>,
    /// Bytes of static shared memory per block.
    pub shared: u64,
    /// Bytes of local memory per thread.
    pub local: u64,
    /// The maximum or required block size, if it has one (`__launch_bounds__`).
    pub threads: Option<[u32; 3]>,
    /// The part of it below the stack.
    pub(crate) fixed_local: u64,
    /// The index of its code section in the module.
    pub(crate) code: usize,
    /// Its offset in the section.
    pub(crate) start: u64,
    /// Its own constant banks.
    pub(crate) constants: Vec<(u8, Vec<u8>)>,
    /// Texture references: offset of the handle in constant bank 0, and name.
    pub(crate) textures: Vec<(u64, String)>,
    /// Surface references: offset of the descriptor in constant bank 0, and name.
    pub(crate) surfaces: Vec<(u64, String)>,
}

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// `__device__`: address and size in bytes.
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
    /// Constant banks shared by all kernels.
    pub(crate) constants: BTreeMap<u8, Vec<u8>>,
    /// Sorted by section and start.
    pub(crate) functions: Vec<FunctionRange>,
    variables: BTreeMap<String, Variable>,
    bound: BTreeMap<String, u64>,
    architecture: u32,
    wide_addresses: bool,
}

impl Module {
    /// Loads a cubin, and allocates its variables in device memory.
    ///
    /// # Errors
    /// If it can't be read, is for an unsupported chip, or its variables don't fit in memory.
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
        let cubin = Cubin::parse(cubin)?;
        let architecture = cubin.arch();
        let isa = isa::by_architecture(architecture).ok_or_else(|| {
            Error::new(
                ErrorKind::BadValue,
                cubin.file().base(),
                "instruction set of this chip is not supported",
            )
            .expected("sm_30, sm_32, sm_35 or sm_37")
            .found(format!("sm_{architecture}"))
        })?;
        let mut module = Self {
            isa,
            codes: Vec::new(),
            kernels: Vec::new(),
            constants: BTreeMap::new(),
            functions: FunctionRange::all(&cubin),
            variables: BTreeMap::new(),
            bound: BTreeMap::new(),
            architecture,
            wide_addresses: cubin.has_64_bit_addresses(),
        };
        let globals = module.place_sections(device, &cubin)?;
        module.place_variables(&cubin, &globals);
        module.name_variables(device, &globals);
        let functions: Vec<Function<'_>> = cubin.functions().collect();
        let tables = RelocationTables::new(&cubin);
        let shared = SharedLayout::new(&cubin);
        for function in functions.iter().filter(|function| function.kind == FunctionKind::Kernel) {
            module.add_kernel(&cubin, &tables, &shared, function)?;
        }
        module.relocate(device, &cubin, &tables, &shared, &globals);
        Ok(module)
    }

    /// Creates a module without a cubin: the code of one kernel, which starts at its first word, and the sizes of its
    /// parameters, each aligned to its size. Returns `None` if the chip is not supported.
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
            fixed_local: 0,
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
            functions: Vec::new(),
            variables: BTreeMap::new(),
            bound: BTreeMap::new(),
            architecture,
            wide_addresses: true,
        })
    }

    /// Returns the chip: 35 for sm_35.
    pub fn architecture(&self) -> u32 {
        self.architecture
    }

    /// Returns whether addresses have 64 bits; otherwise use [`Device::with_32_bit_addresses`].
    pub fn has_64_bit_addresses(&self) -> bool {
        self.wide_addresses
    }

    /// Returns the kernels in symbol order.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Returns the kernel with this name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Returns the variables by mangled name.
    pub fn variables(&self) -> &BTreeMap<String, Variable> {
        &self.variables
    }

    /// Writes bytes to the start of a variable, as `cudaMemcpyToSymbol` does.
    ///
    /// # Errors
    /// If there is no such variable, or it is too small.
    pub fn write_variable(
        &mut self,
        device: &mut Device,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), crate::Fault> {
        let Some(variable) = self.variables.get(name) else {
            return Err(crate::Fault::launch(format!("no variable is named {}", Escaped(name.as_bytes()))));
        };
        match variable {
            Variable::Global(pointer, size) if bytes.len() as u64 <= *size => {
                Ok(device.write(*pointer, bytes)?)
            }
            Variable::Constant(bank, offset, size) if bytes.len() as u64 <= *size => {
                let start = usize::try_from(*offset).unwrap_or(usize::MAX);
                let target = self
                    .constants
                    .get_mut(bank)
                    .and_then(|constants| constants.get_mut(start..)?.get_mut(..bytes.len()));
                if let Some(target) = target {
                    target.copy_from_slice(bytes);
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

    /// Binds a texture to the texture reference with this name.
    pub fn bind_texture(&mut self, name: &str, handle: u64) {
        self.bound.insert(name.to_owned(), handle);
    }

    /// Binds a surface to the surface reference with this name.
    pub fn bind_surface(&mut self, name: &str, surface: Surface) {
        self.bound.insert(name.to_owned(), surface.handle.0);
    }

    /// Returns the handle bound to a texture or surface reference.
    pub(crate) fn bound_handle(&self, name: &str) -> Option<u64> {
        self.bound.get(name).copied()
    }

    /// Loads code, variables and shared constant banks; returns the addresses of the variables' sections.
    fn place_sections(
        &mut self,
        device: &mut Device,
        cubin: &Cubin<'_>,
    ) -> Result<BTreeMap<u32, u64>, Error> {
        let mut globals = BTreeMap::new();
        let mut next = OTHER_CODE;
        // In a hostile file many sections can share the same bytes, to exhaust memory.
        let mut room = cubin.file().data().len() as u64;
        for section in cubin.elf().sections() {
            let (role, function) = Role::of(&section);
            if matches!(role, Role::Code | Role::Constant(_)) && section.has_bytes() {
                room = room.checked_sub(section.size).ok_or_else(|| {
                    let message = "sections are larger than the file";
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
                        // Can't fail: the allocation above has this size.
                        let _ = device.write(pointer, bytes.data());
                    }
                    globals.insert(section.index, pointer.0);
                }
                Role::Constant(bank) if function.is_empty() && section.has_bytes() => {
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

    /// Names the variables of each section for messages.
    fn name_variables(&self, device: &mut Device, globals: &BTreeMap<u32, u64>) {
        let bases: BTreeSet<u64> = globals.values().copied().collect();
        let mut by_section: BTreeMap<u64, Vec<(u64, u64, String)>> = BTreeMap::new();
        for (name, variable) in &self.variables {
            if let Variable::Global(pointer, size) = variable
                && let Some(base) = bases.range(..=pointer.0).next_back()
            {
                let name = Escaped(name.as_bytes()).to_string();
                by_section.entry(*base).or_default().push((pointer.0.wrapping_sub(*base), *size, name));
            }
        }
        for (base, variables) in by_section {
            device.name_variables(DevicePointer(base), variables);
        }
    }

    fn add_kernel(
        &mut self,
        cubin: &Cubin<'_>,
        tables: &RelocationTables<'_, '_>,
        shared: &SharedLayout,
        function: &Function<'_>,
    ) -> Result<(), Error> {
        let section = u32::from(function.symbol.section);
        let Some(code) = self.codes.iter().position(|code| code.section == section) else { return Ok(()) };
        let details = function.details(cubin);
        let mut kernel = Kernel {
            name: String::from_utf8_lossy(function.name()).into_owned(),
            parameters: function.parameters(cubin),
            shared: shared.common(),
            local: [details.frame_size, details.min_stack, details.max_stack]
                .into_iter()
                .flatten()
                .filter(|size| *size < 1 << 24)
                .max()
                .unwrap_or(0)
                .into(),
            fixed_local: 0,
            threads: details.required_threads.or(details.max_threads),
            code,
            start: function.symbol.value,
            constants: Vec::new(),
            textures: Vec::new(),
            surfaces: Vec::new(),
        };
        for part in function.sections(cubin) {
            match Role::of(&part).0 {
                Role::Shared => kernel.shared = shared.size(part.index, part.size),
                Role::Local => {
                    kernel.local = kernel.local.saturating_add(part.size);
                    kernel.fixed_local = kernel.fixed_local.saturating_add(part.size);
                }
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

    /// Collects references to textures and surfaces, whose handles the launch writes to constant bank 0, and applies the
    /// other relocations of a constant bank.
    fn relocate_constants(
        &self,
        tables: &RelocationTables<'_, '_>,
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

    /// Returns the address of a function.
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
        tables: &RelocationTables<'_, '_>,
        shared: &SharedLayout,
        globals: &BTreeMap<u32, u64>,
    ) {
        let sections: Vec<u32> = self.codes.iter().map(|code| code.section).collect();
        for (index, section) in sections.into_iter().enumerate() {
            let kernel = self.kernels.iter().find(|kernel| kernel.code == index);
            let has_kernel = kernel.is_some();
            let dynamic = kernel.map_or(shared.common(), |kernel| kernel.shared);
            for (symbol, relocation) in tables.of(section) {
                let global = globals.get(&u32::from(symbol.section));
                let own = u32::from(symbol.section) == section && has_kernel;
                let address = match global {
                    Some(base) => Some(base.wrapping_add(symbol.value)),
                    // A kernel sees its own section at address 0.
                    None if own => Some(symbol.value),
                    None => self
                        .code_address(&symbol)
                        .or_else(|| shared.address(&symbol, dynamic))
                        .or_else(|| plain_value(cubin, &symbol)),
                };
                if let (Some(address), Some(code)) = (address, self.codes.get_mut(index)) {
                    patch(&mut code.bytes, relocation.offset, relocation.kind, relocation.addend, address);
                }
            }
        }
        // Variables that contain addresses.
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
                let target = base.wrapping_add(relocation.offset);
                if let (Some(address), Ok(bytes)) = (address, device.slice(target, size)) {
                    patch(bytes, 0, relocation.kind, relocation.addend, address);
                }
            }
        }
    }
}

/// Returns the value of symbols in shared, local and constant memory, which are offsets.
fn plain_value(cubin: &Cubin<'_>, symbol: &Symbol<'_>) -> Option<u64> {
    let section = cubin.elf().section(u32::from(symbol.section)).ok()?;
    matches!(Role::of(&section).0, Role::Shared | Role::Local | Role::Constant(_)).then_some(symbol.value)
}

/// The relocations of a cubin by section.
struct RelocationTables<'c, 'a> {
    cubin: &'c Cubin<'a>,
    /// By index of the patched section.
    by_section: BTreeMap<u32, Vec<Relocations<'a>>>,
}

impl<'c, 'a> RelocationTables<'c, 'a> {
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

    /// Returns the relocations of a section, each with its symbol.
    fn of(&self, section: u32) -> impl Iterator<Item = (Symbol<'a>, Relocation)> {
        let tables = self.by_section.get(&section).into_iter().flatten();
        tables.flat_map(Relocations::iter).filter_map(|relocation| {
            let symbol = self.cubin.elf().symbol(relocation.symbol)?;
            Some((symbol, relocation))
        })
    }
}

/// (type, first bit in the word, number of bits, first bit of the address). The names encode this: `ABS32_HI_23` writes
/// the upper half of an address at bit 23.
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

/// Applies a relocation: adds an address to the bits that its type selects.
fn patch(bytes: &mut [u8], offset: u64, kind: RelocationType, addend: i64, address: u64) {
    let Some((_, bit, count, from)) = FIELDS.iter().find(|field| field.0 == kind).copied() else { return };
    let size = if bit == 0 && count == 32 { 4 } else { 8 };
    let target = usize::try_from(offset).ok().and_then(|start| bytes.get_mut(start..)?.get_mut(..size));
    let Some(target) = target else { return };
    let word = target.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    let mask = if count == 64 { u64::MAX } else { (1_u64 << count) - 1 };
    let old = word >> bit & mask;
    let value = (address.wrapping_add_signed(addend) >> from).wrapping_add(old) & mask;
    let word = word & !(mask << bit) | value << bit;
    for (byte, new) in target.iter_mut().zip(word.to_le_bytes()) {
        *byte = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_writes_the_bits_of_the_relocation_type() {
        let mut word = 0x7400_0000_001f_c012_u64.to_le_bytes();
        patch(&mut word, 0, RelocationType::CUDA_ABS32_HI_23, 0, 0x7_0000_1234);
        assert_eq!(u64::from_le_bytes(word), 0x7400_0000_001f_c012 | 7 << 23);
        let mut word = 0x7400_0000_021f_c012_u64.to_le_bytes();
        patch(&mut word, 0, RelocationType::CUDA_ABS32_LO_23, 0, 0x7_0000_1234);
        assert_eq!(u64::from_le_bytes(word), 0x7400_0000_001f_c012 | 0x1238 << 23);
        // Intrinsic of the bytes nothing is touched.
        patch(&mut word, 4, RelocationType::CUDA_64, 0, 1);
    }
}
