//! What a cubin says about the surroundings of a function: variables, constants, other functions, relocations.

use crate::demangle;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use unshade_decompile::c;
use unshade_decompile::ir::{
    InitialPointer, MemoryObject, ObjectSpace, SourceVariable, Space, VariablePlace,
};
use unshade_decompile::sass::{AddressPart, FunctionSymbol, Relocation};
use unshade_nv::Cubin;
use unshade_nv::cubin::Role;
use unshade_nv::elf::Section;
use unshade_nv::function::{Function, FunctionKind};
use unshade_nv::link::{self, Layout};
use unshade_nv::relocation::{RelocationType, Relocations};
use unshade_nv::symbol::{Binding, Symbol, SymbolType};

/// Returns the name of a function in C. Headers define some that a compiler leaves in the file as well; these are not
/// mangled, and get a name of their own.
pub(super) fn name_in_c(symbol: &Symbol<'_>) -> String {
    let name = c::identifier(&String::from_utf8_lossy(symbol.name));
    let is_own = symbol.binding == Binding::GLOBAL || symbol.section == Symbol::UNDEFINED;
    if is_own || symbol.is_kernel() || name.starts_with("_Z") { name } else { name + "_" }
}

/// Returns the initial bytes of a variable, empty if the file has none.
fn initial_bytes<'a>(cubin: &Cubin<'a>, section: &Section<'a>, offset: u64, size: u64) -> &'a [u8] {
    let (Ok(start), Ok(size)) = (usize::try_from(offset), usize::try_from(size)) else { return &[] };
    let Ok(bytes) = cubin.elf().bytes(section) else { return &[] };
    start.checked_add(size).and_then(|end| bytes.data().get(start..end)).unwrap_or(&[])
}

/// Returns the texture or surface whose handle or descriptor a relocation writes into constant bank 0.
fn image<'a>(
    cubin: &Cubin<'a>,
    section: u32,
    relocation: &unshade_nv::relocation::Relocation,
) -> Option<MemoryObject<'a>> {
    let is_texture = match relocation.kind {
        RelocationType::CUDA_TEX_HEADER_INDEX => true,
        RelocationType::CUDA_SURF_HW_DESC => false,
        _ => return None,
    };
    let section = cubin.elf().section(section).ok()?;
    let symbol = cubin.elf().symbols()?.get(relocation.symbol)?;
    let is_bank = Role::of(&section).0 == Role::Constant(0);
    is_bank.then(|| image_object(&symbol, is_texture, relocation.offset))
}

/// Returns the handle of a texture or the descriptor of a surface in constant bank 0.
fn image_object<'a>(symbol: &Symbol<'a>, is_texture: bool, offset: u64) -> MemoryObject<'a> {
    let (space, size) = if is_texture { (ObjectSpace::Texture, 4) } else { (ObjectSpace::Surface, 32) };
    MemoryObject {
        name: String::from_utf8_lossy(symbol.name),
        space,
        offset,
        size,
        bytes: Cow::Borrowed(&[]),
        pointers: Vec::new(),
    }
}

/// Returns the textures and surfaces in constant bank 0 of all kernels. Device functions read the bank of the kernel that
/// calls them; where kernels differ, no function can.
fn images_of_kernels<'a>(cubin: &Cubin<'a>) -> Vec<MemoryObject<'a>> {
    // In the order of their offsets; without a name where kernels differ.
    let mut found: Vec<MemoryObject<'a>> = Vec::new();
    for function in cubin.functions().filter(|function| function.symbol.is_kernel()) {
        for (section, relocation) in function.relocations(cubin) {
            let Some(image) = image(cubin, section, &relocation) else { continue };
            let index = found.partition_point(|other| other.offset < image.offset);
            match found.get_mut(index).filter(|other| other.offset == image.offset) {
                Some(other) if other.name != image.name => other.name = Cow::default(),
                Some(_) => {}
                None => found.insert(index, image),
            }
        }
    }
    found.retain(|image| !image.name.is_empty());
    found
}

/// Maximum number of variables that are passed to the decompiler.
const MAX_VARIABLES: usize = 4096;

/// A function in a section.
pub(super) struct InnerFunction {
    address: u64,
    pub(super) size: u64,
    pub(super) name: String,
    name_in_c: String,
}

/// Variables and functions of a cubin. Owns their names, which the decompiler borrows.
pub(super) struct CubinSymbols<'a> {
    layout: Layout,
    /// The constant banks that the functions of a relocatable cubin share.
    banks: BTreeMap<u8, Vec<u8>>,
    /// The constant banks of the kernels that call a device function, by its name: linked code reads its literals there.
    banks_of_callers: BTreeMap<&'a [u8], BTreeSet<(u8, &'a [u8])>>,
    variables: Vec<MemoryObject<'a>>,
    images_of_kernels: Vec<MemoryObject<'a>>,
    /// The functions, by the section of their code.
    functions: BTreeMap<u32, Vec<InnerFunction>>,
    /// The names in C of the functions whose addresses are in variables or in code.
    pub(super) pointed: BTreeSet<String>,
}

impl<'a> CubinSymbols<'a> {
    pub(super) fn new(cubin: &Cubin<'a>) -> Self {
        let layout = Layout::new(cubin);
        let bank = |bank: u8| Some((bank, layout.bank(cubin, bank)?));
        let banks = (1..=u8::MAX).filter_map(bank).collect();
        let mut pointed = BTreeSet::new();
        let tables = pointer_tables(cubin, &mut pointed);
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
            let in_section = symbol.value..symbol.value.saturating_add(symbol.size);
            let pointers = tables.get(&section.index).into_iter().flatten();
            let pointers = pointers.filter(|pointer| in_section.contains(&pointer.offset));
            let inside = |pointer: &InitialPointer| InitialPointer {
                offset: pointer.offset - symbol.value,
                ..pointer.clone()
            };
            variables.push(MemoryObject {
                name: String::from_utf8_lossy(symbol.name),
                space: place,
                offset: layout.offset(&symbol),
                size: symbol.size,
                bytes: Cow::Borrowed(initial_bytes(cubin, &section, symbol.value, symbol.size)),
                pointers: pointers.map(inside).collect(),
            });
        }
        let mut functions: BTreeMap<u32, Vec<InnerFunction>> = BTreeMap::new();
        let outer = cubin.functions().filter(|function| function.kind != FunctionKind::Inner);
        let mut names: BTreeSet<String> = outer.map(|function| name_in_c(&function.symbol)).collect();
        for function in cubin.functions() {
            if let Some(section) = &function.section {
                let name = String::from_utf8_lossy(function.name()).into_owned();
                let mut name_in_c = name_in_c(&function.symbol);
                if function.kind == FunctionKind::Inner {
                    name_in_c = c::identifier(name.rsplit('$').next().unwrap_or_default());
                    // Several kernels may have a copy of the same function.
                    while !names.insert(name_in_c.clone()) {
                        name_in_c.push('_');
                    }
                }
                let (address, size) = (function.symbol.value, function.symbol.size);
                functions.entry(section.index).or_default().push(InnerFunction {
                    address,
                    size,
                    name,
                    name_in_c,
                });
            }
        }
        let images_of_kernels = images_of_kernels(cubin);
        let banks_of_callers = banks_of_callers(cubin, &variables);
        Self { layout, banks, banks_of_callers, variables, images_of_kernels, functions, pointed }
    }

    /// Returns whether there are other functions in the section of one.
    pub(super) fn has_inner_functions(&self, function: &Function<'a>) -> bool {
        let section = function.section.as_ref().map_or(0, |section| section.index);
        self.functions.get(&section).is_some_and(|functions| functions.len() > 1)
    }

    /// Returns the bytes of static shared memory of a kernel.
    pub(super) fn shared_size(&self, cubin: &Cubin<'a>, function: &Function<'a>) -> u64 {
        let mut sections = function.sections(cubin).into_iter();
        let own = sections.find(|section| Role::of(section).0 == Role::Shared).map(|section| section.size);
        self.layout.shared_size(function.symbol.section.into(), own)
    }

    /// Returns the variables in the static shared memory of a kernel that symbols describe.
    pub(super) fn shared_variables(&self, cubin: &Cubin<'a>, function: &Function<'a>) -> Vec<SourceVariable> {
        let mut sections = function.sections(cubin).into_iter();
        let Some(section) = sections.find(|section| Role::of(section).0 == Role::Shared) else {
            return Vec::new();
        };
        let Some(symbols) = cubin.elf().symbols() else { return Vec::new() };
        let is_inside = |symbol: &Symbol<'a>| u32::from(symbol.section) == section.index && symbol.size > 0;
        let variable = |symbol: Symbol<'a>| {
            let (offset, size) = (self.layout.offset(&symbol), symbol.size);
            Some(SourceVariable {
                place: Some(VariablePlace {
                    space: Space::Shared,
                    offset: u32::try_from(offset).ok()?,
                    size: u32::try_from(size).ok()?,
                }),
                name: local_name(symbol.name),
                is_symbol: true,
                ..SourceVariable::default()
            })
        };
        symbols.iter().filter(is_inside).filter_map(variable).take(MAX_VARIABLES).collect()
    }

    /// Returns the constant banks of a function: number and contents. Bank 0 holds parameters and is left out.
    pub(super) fn constants<'s>(&'s self, cubin: &Cubin<'a>, function: &Function<'a>) -> Vec<(u8, &'s [u8])> {
        let mut found: Vec<(u8, &'s [u8])> =
            self.banks.iter().map(|(bank, bytes)| (*bank, bytes.as_slice())).collect();
        let own = own_banks(cubin, function).into_iter();
        found.extend(own.filter(|(bank, _)| !self.banks.contains_key(bank)));
        if let Some(banks) = self.banks_of_callers.get(function.name()).filter(|_| self.banks.is_empty()) {
            found.extend(banks);
        }
        found
    }

    /// Returns the code of a function with the offsets of constants and of shared variables, which a relocatable cubin
    /// leaves to the linker. Addresses stay open: the relocations name what they are of.
    pub(super) fn patched<'b>(
        &self,
        cubin: &Cubin<'a>,
        function: &Function<'a>,
        code: &'b [u8],
    ) -> Cow<'b, [u8]> {
        let section = function.section.as_ref().map_or(0, |section| section.index);
        let mut bytes = Cow::Borrowed(code);
        for (_, relocation) in function.relocations(cubin).filter(|(of, _)| *of == section) {
            let Some(field) = link::field(relocation.kind).filter(|field| !field.is_generic()) else {
                continue;
            };
            let Some(symbol) = cubin.elf().symbol(relocation.symbol) else { continue };
            let Ok(memory) = cubin.elf().section(u32::from(symbol.section)) else { continue };
            let (offset, bank) = match (self.layout.image_at(&symbol), Role::of(&memory).0) {
                (Some(offset), _) => (offset, 0),
                (None, Role::Constant(bank)) => (self.layout.offset(&symbol), bank),
                (None, Role::Shared) => (self.layout.offset(&symbol), 0),
                _ => continue,
            };
            let value = offset.wrapping_add_signed(relocation.addend);
            field.patch(bytes.to_mut(), relocation.offset, value, bank);
        }
        bytes
    }
}

/// Returns the name in the source code of a variable in a function, of which a symbol is the mangled name.
fn local_name(symbol: &[u8]) -> String {
    let name = demangle(symbol).unwrap_or_else(|| String::from_utf8_lossy(symbol).into_owned());
    c::identifier(name.rsplit("::").next().unwrap_or_default())
}

/// Returns the addresses in the initial values of variables, by section, and adds the names of functions among them, and of
/// those that code refers to, to `pointed`.
fn pointer_tables(cubin: &Cubin<'_>, pointed: &mut BTreeSet<String>) -> BTreeMap<u32, Vec<InitialPointer>> {
    let mut found: BTreeMap<u32, Vec<InitialPointer>> = BTreeMap::new();
    for table in cubin.elf().sections().filter(|section| section.is_relocations()) {
        let target = table.info & 0xff_ffff;
        let Ok(section) = cubin.elf().section(target) else { continue };
        let Ok(Some(relocations)) = Relocations::of(cubin.elf(), &table) else { continue };
        for relocation in relocations.iter() {
            let Some(symbol) = cubin.elf().symbol(relocation.symbol) else { continue };
            let is_function = symbol.kind == SymbolType::FUNCTION && !symbol.is_kernel();
            let name = match is_function {
                true => name_in_c(&symbol),
                false => String::from_utf8_lossy(symbol.name).into_owned(),
            };
            let is_address = match Role::of(&section).0 {
                Role::Global => true,
                Role::Constant(_) => Role::of(&section).1.is_empty(),
                // A jump needs only the lower half. In its own section, a function has return addresses.
                Role::Code => {
                    part(relocation.kind) == AddressPart::High
                        || is_lower_half(relocation.kind) && u32::from(symbol.section) != target
                }
                _ => false,
            };
            if is_function && is_address {
                pointed.insert(name.clone());
            }
            if is_address && Role::of(&section).0 != Role::Code {
                let (offset, addend) = (relocation.offset, relocation.addend);
                found.entry(target).or_default().push(InitialPointer { offset, symbol: name, addend });
            }
        }
    }
    found
}

/// Returns whether a relocation inserts the lower half of an address, rather than an address of 32 bits or a target.
fn is_lower_half(kind: RelocationType) -> bool {
    matches!(
        kind,
        RelocationType::CUDA_ABS32_LO_23
            | RelocationType::CUDA_ABS32_LO_26
            | RelocationType::CUDA_ABS32_LO_20
    )
}

/// Returns the part of an address that a relocation inserts.
fn part(kind: RelocationType) -> AddressPart {
    match kind {
        kind if is_lower_half(kind) => AddressPart::Low,
        RelocationType::CUDA_ABS32_HI_23
        | RelocationType::CUDA_ABS32_HI_26
        | RelocationType::CUDA_ABS32_HI_20 => AddressPart::High,
        RelocationType::CUDA_ABS32_23 | RelocationType::CUDA_ABS32_26 => AddressPart::Low,
        _ => AddressPart::Target,
    }
}

/// Returns the constant banks of a function: number and contents. Bank 0 holds parameters and is left out.
fn own_banks<'a>(cubin: &Cubin<'a>, function: &Function<'a>) -> Vec<(u8, &'a [u8])> {
    let bank = |section: Section<'a>| match Role::of(&section).0 {
        Role::Constant(bank) if bank != 0 => Some((bank, cubin.elf().bytes(&section).ok()?.data())),
        _ => None,
    };
    function.sections(cubin).into_iter().filter_map(bank).collect()
}

/// Returns the constant banks of the kernels that call each device function: directly, through others, or through pointers
/// in variables that they refer to.
fn banks_of_callers<'a>(
    cubin: &Cubin<'a>,
    variables: &[MemoryObject<'a>],
) -> BTreeMap<&'a [u8], BTreeSet<(u8, &'a [u8])>> {
    let functions = cubin.functions().filter(|function| function.kind != FunctionKind::Inner);
    let functions: Vec<_> = functions.map(|function| (name_in_c(&function.symbol), function)).collect();
    let mut found: BTreeMap<&'a [u8], BTreeSet<(u8, &'a [u8])>> = BTreeMap::new();
    if !functions.iter().any(|(_, function)| function.kind == FunctionKind::Device) {
        return found;
    }
    // What functions and variables refer to, by name.
    let mut referenced: BTreeMap<&[u8], BTreeSet<&[u8]>> = BTreeMap::new();
    for variable in variables.iter().filter(|variable| !variable.pointers.is_empty()) {
        let names = variable.pointers.iter().map(|pointer| pointer.symbol.as_bytes());
        referenced.entry(variable.name.as_bytes()).or_default().extend(names);
    }
    for (in_c, function) in &functions {
        // Variables have the name in C.
        if in_c.as_bytes() != function.name() {
            referenced.entry(in_c.as_bytes()).or_default().insert(function.name());
        }
        let symbols = function.relocations(cubin);
        let symbols = symbols.filter_map(|(_, relocation)| cubin.elf().symbol(relocation.symbol));
        let named = symbols
            .filter(|symbol| matches!(symbol.kind, SymbolType::FUNCTION | SymbolType::OBJECT))
            .map(|symbol| symbol.name);
        referenced.entry(function.name()).or_default().extend(named);
    }
    for (_, kernel) in functions.iter().filter(|(_, function)| function.kind == FunctionKind::Kernel) {
        let banks = own_banks(cubin, kernel);
        let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
        let mut list = vec![kernel.name()];
        while let Some(name) = list.pop() {
            let new = referenced.get(name).into_iter().flatten().filter(|name| seen.insert(**name));
            list.extend(new);
        }
        for (_, function) in functions.iter().filter(|(_, function)| seen.contains(function.name())) {
            found.entry(function.name()).or_default().extend(&banks);
        }
    }
    found
}

/// Symbols that a function's code refers to. Owns their names, which the decompiler borrows.
pub(super) struct FunctionReferences<'a, 'c> {
    relocations: Vec<(u64, String, u64, AddressPart)>,
    has_functions: bool,
    /// The textures and surfaces in constant bank 0, and the variables of the cubin; empty if there are no images.
    with_images: Vec<MemoryObject<'a>>,
    cubin_symbols: &'c CubinSymbols<'a>,
    /// The functions in the same section, including the function itself.
    functions: &'c [InnerFunction],
    /// Address of the function in its section.
    entry: u64,
}

impl<'a, 'c> FunctionReferences<'a, 'c> {
    pub(super) fn new(
        cubin: &Cubin<'a>,
        function: &Function<'_>,
        cubin_symbols: &'c CubinSymbols<'a>,
    ) -> Self {
        let code = function.section.as_ref().map_or(0, |section| section.index);
        let symbols = cubin.elf().symbols();
        let mut relocations = Vec::new();
        let (mut images, mut placed) = (Vec::new(), BTreeSet::new());
        let mut has_functions = false;
        for (section, relocation) in function.relocations(cubin) {
            if section != code {
                images.extend(image(cubin, section, &relocation));
                continue;
            }
            let symbol = symbols.and_then(|symbols| symbols.get(relocation.symbol));
            if let Some(symbol) = &symbol
                && let Some(offset) = cubin_symbols.layout.image_at(symbol)
                && placed.insert(offset)
            {
                images.push(image_object(symbol, symbol.kind == SymbolType::CUDA_TEXTURE, offset));
            }
            // Offsets in smaller memories are in the code: see `CubinSymbols::patched`.
            if link::field(relocation.kind).is_some_and(|field| !field.is_generic()) {
                continue;
            }
            let part = part(relocation.kind);
            // The encoded target of a call within the section is already final.
            if part == AddressPart::Target && symbol.is_some_and(|symbol| u32::from(symbol.section) == code) {
                continue;
            }
            let name = match symbol {
                Some(symbol) if symbol.kind == SymbolType::FUNCTION => {
                    has_functions = true;
                    name_in_c(&symbol)
                }
                Some(symbol) => String::from_utf8_lossy(symbol.name).into_owned(),
                None => String::new(),
            };
            relocations.push((relocation.offset, name, relocation.addend.cast_unsigned(), part));
        }
        if images.is_empty() && !function.symbol.is_kernel() {
            images.clone_from(&cubin_symbols.images_of_kernels);
        }
        let functions = cubin_symbols.functions.get(&code).map_or(&[][..], Vec::as_slice);
        let mut with_images = images;
        if !with_images.is_empty() {
            with_images.extend_from_slice(&cubin_symbols.variables);
            with_images.truncate(MAX_VARIABLES);
        }
        let entry = function.symbol.value;
        Self { relocations, has_functions, with_images, cubin_symbols, functions, entry }
    }

    /// Returns whether the function refers to others outside of its section.
    pub(super) fn has_functions(&self) -> bool {
        self.has_functions
    }

    /// Returns the other functions of the section.
    pub(super) fn functions(&self) -> Vec<FunctionSymbol<'_>> {
        let others = self.functions.iter().filter(|function| function.address != self.entry);
        let symbol = |function: &'c InnerFunction| FunctionSymbol {
            address: function.address,
            name: &function.name,
            name_in_c: &function.name_in_c,
        };
        others.map(symbol).collect()
    }

    /// Returns the function of the section at an address.
    pub(super) fn function_at(&self, address: u64) -> Option<&InnerFunction> {
        self.functions.iter().find(|function| function.address == address)
    }

    pub(super) fn relocations(&self) -> Vec<Relocation<'_>> {
        let all = self.relocations.iter();
        all.map(|(address, symbol, addend, part)| Relocation {
            address: *address,
            symbol,
            addend: *addend,
            part: *part,
        })
        .collect()
    }

    /// Returns the variables of the cubin, and the images that the function refers to.
    pub(super) fn variables(&self) -> &[MemoryObject<'a>] {
        if self.with_images.is_empty() { &self.cubin_symbols.variables } else { &self.with_images }
    }
}
