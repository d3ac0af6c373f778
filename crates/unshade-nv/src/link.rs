//! Where symbols are in the memories of a loaded cubin, and what relocations write.
//!
//! A linked cubin states the offset of each variable. A relocatable one (`nvcc -rdc=true -cubin`, an ELF file of type
//! 1) leaves some of that to nvlink:
//!
//! - The value of a symbol in shared memory is its alignment. nvlink places the variables of a function by descending
//!   alignment. Here those of device functions come first, at the same place for all kernels; those of the kernel
//!   follow, then dynamic shared memory, which is an undefined symbol. Variables of templates are in one section for
//!   all functions (`.nv_debug.shared`): those that only one kernel refers to are of that kernel.
//! - Each function, including those that kernels call in other sections, has its own part of constant bank 2 for its
//!   literals. nvlink appends those of callees to that of the kernel; [`Layout`] appends those of all functions.
//!   Instructions have relocations for their bank and offset.
//!
//! - References to textures and surfaces are undefined symbols. nvlink appends a handle (textures) or a descriptor
//!   (surfaces) to constant bank 0 of each kernel that needs it. Here all are after the largest of these banks, at the same
//!   place for all kernels.
//!
//! A relocation adds an address to some bits of a word; the names say to which. `ABS32_HI_23` adds the upper half of an
//! address at bit 23. `CONST_FIELD19_23` adds an offset in 14 bits, in units of 4 bytes, at bit 23, and above it the
//! number of a constant bank in 5 bits. `TEX_BINDLESSOFF13_47` adds an offset in bank 0, in units of 4 bytes, at bit 47.
//!
//! Source: nvlink 11.2's output for cubins of our own kernels, compared word by word.

use crate::Cubin;
use crate::cubin::Role;
use crate::elf::{FileType, Section};
use crate::relocation::RelocationType;
use crate::symbol::{Symbol, SymbolType};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// The size of a constant bank in bytes.
const BANK: u64 = 64 << 10;

/// The size of a surface's descriptor in bytes. A texture's handle has 4.
const DESCRIPTOR: u64 = 32;

/// The offsets of variables and literals.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The offset of each variable in the shared memory of a relocatable cubin, by the index of its symbol.
    shared: BTreeMap<u32, u64>,
    /// The end of the shared variables of each kernel of a relocatable cubin, by the index of the section of its code.
    shared_ends: BTreeMap<u32, u64>,
    /// The size of the shared variables of device functions of a relocatable cubin.
    common_shared: u64,
    /// The offset of each function's part of a constant bank in a relocatable cubin, by the index of its section.
    constants: BTreeMap<u32, u64>,
    /// The size of the banks that have such parts.
    banks: BTreeMap<u8, u64>,
    /// The offset in constant bank 0 of each texture or surface of a relocatable cubin, by the index of its symbol.
    images: BTreeMap<u32, u64>,
}

/// The kernels that shared variables are of, each by the index of the section of its code.
#[derive(Debug, Default)]
struct Owners {
    /// By the index of the section of variables that names the kernel.
    of_section: BTreeMap<u32, u32>,
    /// By the index of the symbol, in sections that name no kernel; `None` if several functions, or one that is no kernel,
    /// refer to it.
    of_symbol: BTreeMap<u32, Option<u32>>,
}

impl Owners {
    fn of(&self, symbol: &Symbol<'_>) -> Option<u32> {
        let of_symbol = || self.of_symbol.get(&symbol.index).copied().flatten();
        self.of_section.get(&u32::from(symbol.section)).copied().or_else(of_symbol)
    }
}

/// Finds the owners by the names of sections, and by the relocations of code.
fn owners_of_shared(cubin: &Cubin<'_>) -> Owners {
    let mut owners = Owners::default();
    let kernels = cubin.functions().filter(|function| function.symbol.is_kernel());
    let kernels: BTreeSet<u32> = kernels.map(|function| function.symbol.section.into()).collect();
    for function in cubin.functions() {
        let code = u32::from(function.symbol.section);
        let kernel = Some(code).filter(|code| kernels.contains(code));
        if function.symbol.is_kernel() {
            let sections = function.sections(cubin).into_iter();
            let shared = sections.filter(|section| Role::of(section).0 == Role::Shared);
            owners.of_section.extend(shared.map(|section| (section.index, code)));
        }
        for (_, relocation) in function.relocations(cubin).filter(|(of, _)| *of == code) {
            let owner = owners.of_symbol.entry(relocation.symbol).or_insert(kernel);
            if *owner != kernel {
                *owner = None;
            }
        }
    }
    owners
}

impl Layout {
    /// Places the variables and literals of a cubin.
    pub fn new(cubin: &Cubin<'_>) -> Self {
        let mut layout = Self::default();
        if cubin.elf().header().file_type == FileType::RELOCATABLE {
            layout.place_shared(cubin);
            layout.place_constants(cubin);
            layout.place_images(cubin);
        }
        layout
    }

    fn place_shared(&mut self, cubin: &Cubin<'_>) {
        let owners = owners_of_shared(cubin);
        // Those of device functions, of which no kernel is the owner, come first.
        let mut variables: BTreeMap<Option<u32>, Vec<Symbol<'_>>> = BTreeMap::new();
        let symbols = cubin.elf().symbols().into_iter().flat_map(|symbols| symbols.iter());
        for symbol in symbols.filter(|symbol| symbol.kind == SymbolType::CUDA_OBJECT) {
            let is_shared = |section: Section<'_>| Role::of(&section).0 == Role::Shared;
            if cubin.elf().section(u32::from(symbol.section)).is_ok_and(is_shared) {
                let owner = owners.of(&symbol);
                variables.entry(owner).or_default().push(symbol);
            }
        }
        for (owner, mut variables) in variables {
            variables.sort_by_key(|variable| Reverse(variable.value));
            let mut end = self.common_shared;
            for variable in variables {
                let start = end.checked_next_multiple_of(variable.value.max(1)).unwrap_or(end);
                self.shared.insert(variable.index, start);
                end = start.saturating_add(variable.size);
            }
            match owner {
                Some(code) => _ = self.shared_ends.insert(code, end),
                None => self.common_shared = end,
            }
        }
    }

    fn place_constants(&mut self, cubin: &Cubin<'_>) {
        for section in cubin.elf().sections() {
            let (Role::Constant(bank), function) = Role::of(&section) else { continue };
            if bank == 0 || function.is_empty() {
                continue;
            }
            let end = self.banks.entry(bank).or_default();
            let start = end.checked_next_multiple_of(section.alignment.max(1)).unwrap_or(*end);
            // What does not fit has no place.
            if let Some(next) = start.checked_add(section.size).filter(|next| *next <= BANK) {
                self.constants.insert(section.index, start);
                *end = next;
            }
        }
    }

    fn place_images(&mut self, cubin: &Cubin<'_>) {
        let banks = cubin.elf().sections().filter(|section| Role::of(section).0 == Role::Constant(0));
        let end = banks.map(|section| section.size).max().unwrap_or(0);
        let mut next = end.checked_next_multiple_of(DESCRIPTOR).unwrap_or(BANK);
        for symbol in cubin.elf().symbols().into_iter().flat_map(|symbols| symbols.iter()) {
            let is_image = matches!(symbol.kind, SymbolType::CUDA_TEXTURE | SymbolType::CUDA_SURFACE);
            if is_image && next < BANK {
                self.images.insert(symbol.index, next);
                next = next.saturating_add(DESCRIPTOR);
            }
        }
    }

    /// Returns the offset in constant bank 0 of the handle of a texture or the descriptor of a surface.
    pub fn image_at(&self, symbol: &Symbol<'_>) -> Option<u64> {
        self.images.get(&symbol.index).copied()
    }

    /// Returns the indices of the symbols of all textures and surfaces, with their offsets in constant bank 0.
    pub fn images(&self) -> impl Iterator<Item = (u32, u64)> {
        self.images.iter().map(|(symbol, offset)| (*symbol, *offset))
    }

    /// Returns the offset of a symbol in its memory: a constant bank, the shared memory of its kernel, its section.
    pub fn offset(&self, symbol: &Symbol<'_>) -> u64 {
        if let Some(offset) = self.shared.get(&symbol.index) {
            return *offset;
        }
        let start = self.constants.get(&u32::from(symbol.section)).copied().unwrap_or(0);
        start.saturating_add(symbol.value)
    }

    /// Returns the size of the static shared memory of a kernel, from the index of the section of its code and the size of
    /// its section of shared memory, if it has one.
    pub fn shared_size(&self, code: u32, own: Option<u64>) -> u64 {
        self.shared_ends.get(&code).copied().or(own).unwrap_or(self.common_shared)
    }

    /// Returns the size of the static shared memory of device functions.
    pub fn common_shared_size(&self) -> u64 {
        self.common_shared
    }

    /// Returns the size of a bank that all functions share parts of.
    pub fn bank_size(&self, bank: u8) -> Option<u64> {
        self.banks.get(&bank).copied()
    }

    /// Returns the offset of a section in a bank that all functions share parts of.
    pub fn constants_at(&self, section: u32) -> Option<u64> {
        self.constants.get(&section).copied()
    }

    /// Returns the contents of a bank that all functions share parts of; `None` if each function has its own.
    pub fn bank(&self, cubin: &Cubin<'_>, bank: u8) -> Option<Vec<u8>> {
        let size = usize::try_from(*self.banks.get(&bank)?).ok()?;
        let mut contents = vec![0; size];
        for (section, start) in &self.constants {
            let Ok(section) = cubin.elf().section(*section) else { continue };
            let is_of_bank = Role::of(&section).0 == Role::Constant(bank);
            let bytes = cubin.elf().bytes(&section).ok().filter(|_| is_of_bank && section.has_bytes());
            let target = usize::try_from(*start).ok().and_then(|start| contents.get_mut(start..));
            if let (Some(bytes), Some(target)) = (bytes, target) {
                target.iter_mut().zip(bytes.data()).for_each(|(target, byte)| *target = *byte);
            }
        }
        Some(contents)
    }
}

/// What a relocation adds to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// An address, or an offset in a memory.
    Address {
        /// The first bit in the word.
        bit: u32,
        /// The number of bits.
        count: u32,
        /// The first bit of the address.
        from: u32,
    },
    /// An offset in a constant bank, and above it the number of the bank in 5 bits.
    Constant {
        /// The first bit in the word.
        bit: u32,
        /// The number of bits of the offset: 14 in units of 4 bytes, 16 in bytes.
        count: u32,
    },
}

const fn address(bit: u32, count: u32, from: u32) -> Field {
    Field::Address { bit, count, from }
}

const fn constant(bit: u32, count: u32) -> Field {
    Field::Constant { bit, count }
}

/// The bits that each type of relocation patches.
const FIELDS: &[(RelocationType, Field)] = &[
    (RelocationType::CUDA_32, address(0, 32, 0)),
    (RelocationType::CUDA_G32, address(0, 32, 0)),
    (RelocationType::CUDA_FUNC_DESC_32, address(0, 32, 0)),
    (RelocationType::CUDA_64, address(0, 64, 0)),
    (RelocationType::CUDA_G64, address(0, 64, 0)),
    (RelocationType::CUDA_FUNC_DESC_64, address(0, 64, 0)),
    (RelocationType::CUDA_ABS32_20, address(20, 32, 0)),
    (RelocationType::CUDA_ABS32_LO_20, address(20, 32, 0)),
    (RelocationType::CUDA_ABS32_HI_20, address(20, 32, 32)),
    (RelocationType::CUDA_ABS32_23, address(23, 32, 0)),
    (RelocationType::CUDA_ABS32_LO_23, address(23, 32, 0)),
    (RelocationType::CUDA_ABS32_HI_23, address(23, 32, 32)),
    (RelocationType::CUDA_ABS32_26, address(26, 32, 0)),
    (RelocationType::CUDA_ABS32_LO_26, address(26, 32, 0)),
    (RelocationType::CUDA_ABS32_HI_26, address(26, 32, 32)),
    (RelocationType::CUDA_FUNC_DESC32_23, address(23, 32, 0)),
    (RelocationType::CUDA_FUNC_DESC32_LO_23, address(23, 32, 0)),
    (RelocationType::CUDA_FUNC_DESC32_HI_23, address(23, 32, 32)),
    (RelocationType::CUDA_ABS24_20, address(20, 24, 0)),
    (RelocationType::CUDA_ABS24_23, address(23, 24, 0)),
    (RelocationType::CUDA_ABS24_26, address(26, 24, 0)),
    (RelocationType::CUDA_ABS16_20, address(20, 16, 0)),
    (RelocationType::CUDA_ABS16_23, address(23, 16, 0)),
    (RelocationType::CUDA_ABS16_26, address(26, 16, 0)),
    (RelocationType::CUDA_TEX_BINDLESSOFF13_32, address(32, 13, 2)),
    (RelocationType::CUDA_TEX_BINDLESSOFF13_41, address(41, 13, 2)),
    (RelocationType::CUDA_TEX_BINDLESSOFF13_45, address(45, 13, 2)),
    (RelocationType::CUDA_TEX_BINDLESSOFF13_47, address(47, 13, 2)),
    (RelocationType::CUDA_CONST_FIELD19_20, constant(20, 14)),
    (RelocationType::CUDA_CONST_FIELD19_23, constant(23, 14)),
    (RelocationType::CUDA_CONST_FIELD19_26, constant(26, 14)),
    (RelocationType::CUDA_CONST_FIELD19_28, constant(28, 14)),
    (RelocationType::CUDA_CONST_FIELD21_20, constant(20, 16)),
    (RelocationType::CUDA_CONST_FIELD21_23, constant(23, 16)),
    (RelocationType::CUDA_CONST_FIELD21_26, constant(26, 16)),
];

/// Returns the bits that a type of relocation patches; `None` if the type is not known.
pub fn field(kind: RelocationType) -> Option<Field> {
    FIELDS.iter().find(|row| row.0 == kind).map(|row| row.1)
}

impl Field {
    /// Returns whether it holds an address of the generic address space, not an offset in a smaller memory.
    pub fn is_generic(self) -> bool {
        matches!(self, Self::Address { count: 32.., .. })
    }

    /// Returns the lowest bit that it patches.
    pub fn lowest_bit(self) -> u32 {
        let (Self::Address { bit, .. } | Self::Constant { bit, .. }) = self;
        bit
    }

    /// Adds a value to the bits of the word at an offset: an address, an offset in a memory, or, for
    /// [`Field::Constant`], an offset in bank `bank`. Words outside of the bytes are left alone.
    pub fn patch(self, bytes: &mut [u8], offset: u64, value: u64, bank: u8) {
        let size = if matches!(self, Self::Address { bit: 0, count: 32, .. }) { 4 } else { 8 };
        let target = usize::try_from(offset).ok().and_then(|start| bytes.get_mut(start..)?.get_mut(..size));
        let Some(target) = target else { return };
        let word = target.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
        let word = match self {
            Self::Address { bit, count, from } => added(word, bit, count, value >> from),
            Self::Constant { bit, count } => {
                let offset = if count == 14 { value >> 2 } else { value };
                added(added(word, bit, count, offset), bit.saturating_add(count), 5, bank.into())
            }
        };
        target.iter_mut().zip(word.to_le_bytes()).for_each(|(byte, new)| *byte = new);
    }
}

/// Adds a value to some bits of a word.
fn added(word: u64, bit: u32, count: u32, value: u64) -> u64 {
    let mask = u64::MAX >> 64_u32.saturating_sub(count);
    let sum = (word >> bit & mask).wrapping_add(value) & mask;
    word & !(mask << bit) | sum << bit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_patched() {
        let patched = |word: u64, kind, value, bank| {
            let mut bytes = word.to_le_bytes();
            field(kind).expect("a known type").patch(&mut bytes, 0, value, bank);
            u64::from_le_bytes(bytes)
        };
        let word = 0x7400_0000_001f_c012;
        assert_eq!(patched(word, RelocationType::CUDA_ABS32_HI_23, 0x7_0000_1234, 0), word | 7 << 23);
        assert_eq!(patched(word | 4 << 23, RelocationType::CUDA_ABS32_LO_23, 0x1234, 0), word | 0x1238 << 23);
        // MOV R4, c[0x3][0x38] and LDC.U8 R0, c[0x3][0x75].
        let word = 0x64c0_3c00_001c_0012;
        let with = |offset: u64| word & !(0x7_ffff << 23) | offset << 23 | 3 << 37;
        assert_eq!(
            patched(word & !(0x7_ffff << 23), RelocationType::CUDA_CONST_FIELD19_23, 0x38, 3),
            with(0x38 / 4)
        );
        assert_eq!(patched(0, RelocationType::CUDA_CONST_FIELD21_23, 0x75, 3), 0x75 << 23 | 3 << 39);
        // Outside of the bytes nothing is touched.
        let mut bytes = [0; 8];
        field(RelocationType::CUDA_64).expect("a known type").patch(&mut bytes, 4, 1, 0);
        assert_eq!(bytes, [0; 8]);
    }
}
