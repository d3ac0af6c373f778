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
use unshade_nv::link::{self, Field, Layout};
use unshade_nv::relocation::{Relocation, RelocationType, Relocations};
use unshade_nv::symbol::{Symbol, SymbolType};
use unshade_sass::isa;
use unshade_sass::table::Isa;

use crate::device::{Device, DevicePointer};
use crate::host;
use crate::surface::Surface;
use crate::symbols::FunctionRange;

/// The address of the first code section, as seen by kernels of other sections.
pub(crate) const OTHER_CODE: u64 = 0x1000_0000;

/// The alignment of code sections.
const CODE_ALIGNMENT: u64 = 0x1000;

/// The constant bank of the program's variables (`__constant__`).
const USER_BANK: u8 = 3;

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
    /// The part of it below the stack.
    pub(crate) fixed_local: u64,
    /// The maximum or required block size, if it has one (`__launch_bounds__`).
    pub threads: Option<[u32; 3]>,
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
    /// References to textures and surfaces of a relocatable cubin, which all kernels see at the same place: as those of
    /// [`Kernel`].
    pub(crate) textures: Vec<(u64, String)>,
    pub(crate) surfaces: Vec<(u64, String)>,
    /// Where generic addresses find the constant bank of the program's variables.
    pub(crate) user_bank: Option<DevicePointer>,
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
        let isa = isa::by_architecture(architecture).filter(|isa| isa.has_semantics);
        let isa = isa.ok_or_else(|| {
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
            textures: Vec::new(),
            surfaces: Vec::new(),
            user_bank: None,
            functions: FunctionRange::all(&cubin),
            variables: BTreeMap::new(),
            bound: BTreeMap::new(),
            architecture,
            wide_addresses: cubin.has_64_bit_addresses(),
        };
        let places = module.place_sections(device, &cubin)?;
        module.place_variables(&cubin, &places);
        module.name_variables(device, &places.globals);
        let functions: Vec<Function<'_>> = cubin.functions().collect();
        let tables = RelocationTables::new(&cubin);
        for function in functions.iter().filter(|function| function.kind == FunctionKind::Kernel) {
            module.add_kernel(&cubin, &tables, &places, function)?;
        }
        module.relocate(device, &cubin, &tables, &places);
        module.copy_user_bank(device);
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
            isa: isa::by_architecture(architecture).filter(|isa| isa.has_semantics)?,
            codes: vec![Code { section: 0, address: OTHER_CODE, bytes: code.to_vec() }],
            kernels: vec![kernel],
            constants: BTreeMap::new(),
            textures: Vec::new(),
            surfaces: Vec::new(),
            user_bank: None,
            functions: Vec::new(),
            variables: BTreeMap::new(),
            bound: BTreeMap::new(),
            architecture,
            wide_addresses: true,
        })
    }

    /// Sets the contents of a constant bank that all kernels see. Bank 0 is that of the launch.
    pub fn set_constants(&mut self, bank: u8, bytes: &[u8]) {
        self.constants.insert(bank, bytes.to_vec());
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
                if let (USER_BANK, Some(base)) = (*bank, self.user_bank) {
                    device.write(DevicePointer(base.0.wrapping_add(*offset)), bytes)?;
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

    /// Returns the names of the texture references that kernels use.
    pub(crate) fn texture_references(&self) -> Vec<String> {
        let of_kernels = self.kernels.iter().flat_map(|kernel| &kernel.textures);
        of_kernels.chain(&self.textures).map(|(_, name)| name.clone()).collect()
    }

    /// Binds a surface to the surface reference with this name.
    pub fn bind_surface(&mut self, name: &str, surface: Surface) {
        self.bound.insert(name.to_owned(), surface.handle.0);
    }

    /// Returns the handle bound to a texture or surface reference.
    pub(crate) fn bound_handle(&self, name: &str) -> Option<u64> {
        self.bound.get(name).copied()
    }

    /// Copies the bank of variables from its place in memory, where addresses in initial values are relocated.
    fn copy_user_bank(&mut self, device: &mut Device) {
        let (Some(pointer), Some(bank)) = (self.user_bank, self.constants.get_mut(&USER_BANK)) else {
            return;
        };
        if let Ok(bytes) = device.read(pointer, bank.len()) {
            *bank = bytes;
        }
    }

    /// Loads code, variables and shared constant banks; returns where they are.
    fn place_sections(&mut self, device: &mut Device, cubin: &Cubin<'_>) -> Result<Places, Error> {
        let mut globals = BTreeMap::new();
        let layout = Layout::new(cubin);
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
                    if bank == USER_BANK {
                        let pointer =
                            device.allocate(bytes.len() as u64, ".nv.constant3").map_err(|reason| {
                                Error::new(ErrorKind::Limit, section.header_range.0, reason.to_string())
                            })?;
                        let _ = device.write(pointer, &bytes);
                        self.user_bank = Some(pointer);
                        globals.insert(section.index, pointer.0);
                    }
                    self.constants.insert(bank, bytes);
                }
                _ => {}
            }
        }
        for bank in 1..=u8::MAX {
            if let Some(bytes) = layout.bank(cubin, bank) {
                self.constants.insert(bank, bytes);
            }
        }
        for (index, offset) in layout.images() {
            let Some(symbol) = cubin.elf().symbol(index) else { continue };
            let is_texture = symbol.kind == SymbolType::CUDA_TEXTURE;
            let references = if is_texture { &mut self.textures } else { &mut self.surfaces };
            references.push((offset, String::from_utf8_lossy(symbol.name).into_owned()));
        }
        Ok(Places { layout, globals })
    }

    fn place_variables(&mut self, cubin: &Cubin<'_>, places: &Places) {
        for symbol in cubin.elf().symbols().into_iter().flat_map(|symbols| symbols.iter()) {
            if !matches!(symbol.kind, SymbolType::OBJECT | SymbolType::CUDA_OBJECT)
                || symbol.section >= Symbol::FIRST_RESERVED
            {
                continue;
            }
            let index = u32::from(symbol.section);
            let name = String::from_utf8_lossy(symbol.name).into_owned();
            let Ok(section) = cubin.elf().section(index) else { continue };
            if let (Role::Constant(bank), b"") = Role::of(&section) {
                self.variables.insert(name, Variable::Constant(bank, symbol.value, symbol.size));
            } else if let Some(base) = places.globals.get(&index) {
                let pointer = DevicePointer(base.wrapping_add(symbol.value));
                self.variables.insert(name, Variable::Global(pointer, symbol.size));
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
        places: &Places,
        function: &Function<'_>,
    ) -> Result<(), Error> {
        let section = u32::from(function.symbol.section);
        let Some(code) = self.codes.iter().position(|code| code.section == section) else { return Ok(()) };
        let details = function.details(cubin);
        let mut kernel = Kernel {
            name: String::from_utf8_lossy(function.name()).into_owned(),
            parameters: function.parameters(cubin),
            shared: places.layout.shared_size(section, None),
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
                Role::Shared => kernel.shared = places.layout.shared_size(section, Some(part.size)),
                Role::Local => {
                    kernel.local = kernel.local.saturating_add(part.size);
                    kernel.fixed_local = kernel.fixed_local.saturating_add(part.size);
                }
                Role::Constant(bank) if part.has_bytes() => {
                    let mut bytes = cubin.elf().bytes(&part)?.data().to_vec();
                    self.relocate_constants(tables, part.index, &mut bytes, &mut kernel);
                    match places.layout.constants_at(part.index).zip(self.constants.get_mut(&bank)) {
                        None => kernel.constants.push((bank, bytes)),
                        Some((start, shared)) => {
                            let start = usize::try_from(start).unwrap_or(usize::MAX);
                            let target = shared.get_mut(start..).into_iter().flatten();
                            target.zip(bytes).for_each(|(target, byte)| *target = byte);
                        }
                    }
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
                patch(bytes, &relocation, address, 0);
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
        places: &Places,
    ) {
        let sections: Vec<u32> = self.codes.iter().map(|code| code.section).collect();
        for (index, section) in sections.into_iter().enumerate() {
            let kernel = self.kernels.iter().find(|kernel| kernel.code == index);
            let has_kernel = kernel.is_some();
            let dynamic = kernel.map_or(places.layout.common_shared_size(), |kernel| kernel.shared);
            for (symbol, relocation) in tables.of(section) {
                let own = u32::from(symbol.section) == section && has_kernel;
                let is_generic = link::field(relocation.kind).is_some_and(Field::is_generic);
                let address = match places.of(cubin, &symbol, is_generic) {
                    Some(place) => Some(place),
                    // A kernel sees its own section at address 0.
                    None if own => Some((symbol.value, 0)),
                    None if is_dynamic_shared(&symbol) => Some((dynamic, 0)),
                    None => self.code_address(&symbol).map(|address| (address, 0)),
                };
                if let (Some((address, bank)), Some(code)) = (address, self.codes.get_mut(index)) {
                    patch(&mut code.bytes, &relocation, address, bank);
                }
            }
        }
        // Variables that contain addresses.
        for (section, base) in &places.globals {
            for (symbol, relocation) in tables.of(*section) {
                let place = places.of(cubin, &symbol, true).map(|place| place.0);
                let address = place.or_else(|| self.code_address(&symbol));
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
                    patch(bytes, &Relocation { offset: 0, ..relocation }, address, 0);
                }
            }
        }
    }
}

/// Where the variables of a module are.
struct Places {
    layout: Layout,
    /// The addresses of sections in device memory.
    globals: BTreeMap<u32, u64>,
}

impl Places {
    /// Returns the address of a variable, or its offset in a smaller memory and the number of its constant bank.
    fn of(&self, cubin: &Cubin<'_>, symbol: &Symbol<'_>, is_generic: bool) -> Option<(u64, u8)> {
        if let Some(offset) = self.layout.image_at(symbol) {
            return Some((offset, 0));
        }
        let index = u32::from(symbol.section);
        let section = cubin.elf().section(index).ok()?;
        let role = Role::of(&section).0;
        let is_global = role == Role::Global || is_generic;
        if let Some(base) = self.globals.get(&index).filter(|_| is_global) {
            return Some((base.wrapping_add(symbol.value), 0));
        }
        match role {
            Role::Constant(bank) => Some((self.layout.offset(symbol), bank)),
            Role::Shared | Role::Local => Some((self.layout.offset(symbol), 0)),
            _ => None,
        }
    }
}

/// Returns whether a symbol of a relocatable cubin is dynamic shared memory.
fn is_dynamic_shared(symbol: &Symbol<'_>) -> bool {
    symbol.section == Symbol::UNDEFINED && symbol.kind == SymbolType::CUDA_OBJECT
}

/// Applies a relocation.
fn patch(bytes: &mut [u8], relocation: &Relocation, address: u64, bank: u8) {
    if let Some(field) = link::field(relocation.kind) {
        field.patch(bytes, relocation.offset, address.wrapping_add_signed(relocation.addend), bank);
    }
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
