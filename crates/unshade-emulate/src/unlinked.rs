//! Shared memory of relocatable cubins (`-rdc=true`), which a linker would lay out.
//!
//! There, the value of a shared variable's symbol is its alignment, and dynamic shared memory is an undefined symbol.
//! Variables of device functions come first, at the same place for all kernels; those of a kernel follow, then dynamic
//! shared memory.

use std::collections::BTreeMap;

use unshade_nv::Cubin;
use unshade_nv::cubin::Role;
use unshade_nv::elf::SectionType;
use unshade_nv::symbol::{Symbol, SymbolType};

/// Where shared variables of a relocatable cubin are; empty for a linked one.
#[derive(Debug, Default)]
pub(crate) struct SharedLayout {
    /// By symbol.
    offsets: BTreeMap<u32, u64>,
    /// The end of a kernel's variables, by section.
    ends: BTreeMap<u32, u64>,
    /// The size of the variables of device functions.
    common: u64,
}

impl SharedLayout {
    /// Lays out the shared variables of a cubin.
    pub(crate) fn new(cubin: &Cubin<'_>) -> Self {
        let mut layout = Self::default();
        let sections = cubin.elf().sections().filter(|section| section.kind == SectionType::CUDA_SHARED);
        let of_kernels: BTreeMap<u32, bool> =
            sections.map(|section| (section.index, !Role::of(&section).1.is_empty())).collect();
        if of_kernels.is_empty() {
            return layout;
        }
        for for_kernels in [false, true] {
            for symbol in cubin.elf().symbols().into_iter().flat_map(|symbols| symbols.iter()) {
                let section = u32::from(symbol.section);
                if symbol.kind != SymbolType::CUDA_OBJECT || of_kernels.get(&section) != Some(&for_kernels) {
                    continue;
                }
                let common = layout.common;
                let end = layout.ends.entry(section).or_insert(common);
                let end = if for_kernels { end } else { &mut layout.common };
                let offset = end.checked_next_multiple_of(symbol.value.max(1)).unwrap_or(*end);
                *end = offset.saturating_add(symbol.size);
                layout.offsets.insert(symbol.index, offset);
            }
        }
        layout
    }

    /// Returns the size of static shared memory of a kernel whose own variables are in a section of a size.
    pub(crate) fn size(&self, section: u32, bytes: u64) -> u64 {
        self.ends.get(&section).copied().unwrap_or(bytes)
    }

    /// Returns the size of static shared memory of a kernel without variables of its own.
    pub(crate) fn common(&self) -> u64 {
        self.common
    }

    /// Returns the address of a shared variable, or of dynamic shared memory, which starts at `dynamic`.
    pub(crate) fn address(&self, symbol: &Symbol<'_>, dynamic: u64) -> Option<u64> {
        let is_dynamic = symbol.section == Symbol::UNDEFINED && symbol.kind == SymbolType::CUDA_OBJECT;
        self.offsets.get(&symbol.index).copied().or(is_dynamic.then_some(dynamic))
    }
}
