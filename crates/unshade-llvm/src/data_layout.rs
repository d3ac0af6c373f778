//! The data layout string, and the sizes and alignments that follow from it.
//!
//! The string is `e-p:64:64:64-i64:64-v64:64…`: parts separated by `-`, each a letter, a number and further
//! numbers separated by `:`. It is needed because files before LLVM 11 need not store alignments, but later
//! versions always print them.
//!
//! Knowledge: LLVM's Language Reference, *Data Layout*; LLVM 14's defaults.

use crate::ids::TypeId;
use crate::types::{Type, TypeTable};
use crate::assemble::parse_u64;
use alloc::vec::Vec;

/// The alignment of a class of types: sizes in bits, alignments in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Alignment {
    class: u8,
    bits: u64,
    required: u64,
    preferred: u64,
}

/// A parsed data layout.
#[derive(Clone, Debug)]
pub struct DataLayout {
    alignments: Vec<Alignment>,
    /// Address space, size in bits, required and preferred alignment in bytes.
    pointers: Vec<(u32, u64, u64, u64)>,
    program: u32,
    alloca: u32,
    globals: u32,
    /// The alignment of function pointers in bits, if given, and whether that of a function adds to it.
    functions: Option<(u64, bool)>,
    /// Whether vectors are aligned like their elements.
    packed_vectors: bool,
}

/// What the names of target types start with that are laid out as pointers.
const SPIRV: &[u8] = b"spirv.";

/// Maximum nesting depth of types; deeper parts have size 0.
const MAX_DEPTH: u32 = 64;
/// Maximum number of parts of a type that a query visits: a hostile type may contain itself many times.
const MAX_PARTS: u32 = 1 << 14;

#[rustfmt::skip]
const DEFAULTS: &[(u8, u64, u64, u64)] = &[
    (b'i', 1, 1, 1), (b'i', 8, 1, 1), (b'i', 16, 2, 2), (b'i', 32, 4, 4), (b'i', 64, 4, 8),
    (b'f', 16, 2, 2), (b'f', 32, 4, 4), (b'f', 64, 8, 8), (b'f', 128, 16, 16),
    (b'v', 64, 8, 8), (b'v', 128, 16, 16), (b'a', 0, 1, 8),
];

impl Default for DataLayout {
    fn default() -> Self {
        let alignments = DEFAULTS
            .iter()
            .map(|&(class, bits, required, preferred)| Alignment { class, bits, required, preferred })
            .collect();
        Self { alignments, pointers: alloc::vec![(0, 64, 8, 8)], program: 0, alloca: 0, globals: 0, functions: None, packed_vectors: false }
    }
}

impl DataLayout {
    /// Parses a layout; malformed parts are ignored.
    pub fn parse(text: &[u8]) -> Self {
        let mut layout = Self::default();
        for part in text.split(|&c| c == b'-') {
            let Some((&letter, rest)) = part.split_first() else { continue };
            if let (b'F', Some((kind @ (b'i' | b'n'), bits))) = (letter, rest.split_first()) {
                layout.functions = number(bits).map(|bits| (bits, *kind == b'n'));
                continue;
            }
            let mut numbers = rest.split(|&c| c == b':').map(number);
            let first = numbers.next().flatten();
            let mut next = || numbers.next().flatten();
            match letter {
                b'p' => {
                    let space = u32::try_from(first.unwrap_or(0)).unwrap_or(0);
                    if let (Some(bits), Some(required)) = (next(), next()) {
                        let preferred = next().unwrap_or(required);
                        layout.set_pointer(space, bits, required / 8, preferred / 8);
                    }
                }
                b'i' | b'f' | b'v' | b'a' => {
                    if let Some(required) = next() {
                        let preferred = next().unwrap_or(required);
                        layout.set(letter, first.unwrap_or(0), required / 8, preferred / 8);
                    }
                }
                b'P' => layout.program = first.and_then(|space| u32::try_from(space).ok()).unwrap_or(0),
                b'G' => layout.globals = first.and_then(|space| u32::try_from(space).ok()).unwrap_or(0),
                b'A' => layout.alloca = first.and_then(|space| u32::try_from(space).ok()).unwrap_or(0),
                _ => {}
            }
        }
        layout
    }

    /// Returns the layout with vectors aligned like their elements, as only DXC's LLVM has them.
    #[must_use]
    pub fn with_packed_vectors(mut self) -> Self {
        self.packed_vectors = true;
        self
    }

    /// Returns whether the alignments of the stack and of function pointers, where given, are powers of two.
    pub(crate) fn is_sound(text: &[u8]) -> bool {
        let alignments = text.split(|&c| c == b'-').filter_map(|part| match part {
            [b'F', b'i' | b'n', bits @ ..] | [b'S', bits @ ..] => number(bits),
            _ => None,
        });
        alignments.into_iter().all(|bits| bits.is_multiple_of(8) && (bits == 0 || bits.is_power_of_two()))
    }

    /// Returns the address space of functions.
    pub fn program_address_space(&self) -> u32 {
        self.program
    }

    /// Returns the address space of local variables.
    pub fn alloca_address_space(&self) -> u32 {
        self.alloca
    }

    /// Returns the address space of global variables.
    pub(crate) fn globals_address_space(&self) -> u32 {
        self.globals
    }

    fn set(&mut self, class: u8, bits: u64, required: u64, preferred: u64) {
        // The required alignment of aggregates may be zero, which means one.
        let new = Alignment { class, bits, required: required.max(1), preferred: preferred.max(1) };
        match self.alignments.iter_mut().find(|entry| entry.class == class && entry.bits == bits) {
            Some(entry) => *entry = new,
            None => self.alignments.push(new),
        }
    }

    fn set_pointer(&mut self, space: u32, bits: u64, required: u64, preferred: u64) {
        let new = (space, bits, required.max(1), preferred.max(1));
        match self.pointers.iter_mut().find(|entry| entry.0 == space) {
            Some(entry) => *entry = new,
            None => self.pointers.push(new),
        }
    }

    fn pointer(&self, space: u32) -> (u32, u64, u64, u64) {
        let of = |wanted: u32| self.pointers.iter().find(|entry| entry.0 == wanted).copied();
        of(space).or_else(|| of(0)).unwrap_or((0, 64, 8, 8))
    }

    /// Returns the ABI alignment of a type in bytes.
    pub fn required_alignment(&self, types: &TypeTable, ty: TypeId) -> u64 {
        self.alignment(types, ty, false, 0, &mut { MAX_PARTS })
    }

    /// Returns the preferred alignment of a type in bytes.
    pub fn preferred_alignment(&self, types: &TypeTable, ty: TypeId) -> u64 {
        self.alignment(types, ty, true, 0, &mut { MAX_PARTS })
    }

    /// Returns the preferred alignment in bytes of a variable of a type: large ones are aligned more.
    pub(crate) fn preferred_global_alignment(&self, types: &TypeTable, ty: TypeId) -> u64 {
        let preferred = self.preferred_alignment(types, ty);
        if self.bits(types, ty, 0, &mut { MAX_PARTS }) > 128 { preferred.max(16) } else { preferred }
    }

    /// Returns the number of low bits that are zero in the address of a function, whose own alignment is an exponent
    /// plus one.
    pub(crate) fn function_alignment(&self, own: u8) -> u32 {
        let exponent = u32::from(own.saturating_sub(1));
        match self.functions {
            // Four bytes where nothing is said.
            None | Some((0, _)) => 2,
            Some((bits, adds)) => {
                let pointers = bits.div_ceil(8).trailing_zeros();
                if adds { pointers.max(exponent) } else { pointers }
            }
        }
    }

    /// Returns the number of bytes that a store of a type writes.
    pub fn store_size(&self, types: &TypeTable, ty: TypeId) -> u64 {
        self.bits(types, ty, 0, &mut { MAX_PARTS }).div_ceil(8)
    }

    /// Returns the stride in bytes of an array of a type.
    pub fn allocation_size(&self, types: &TypeTable, ty: TypeId) -> u64 {
        self.allocation(types, ty, 0, &mut { MAX_PARTS })
    }

    /// Returns the width in bits of pointers into an address space.
    pub fn pointer_bits(&self, space: u32) -> u64 {
        self.pointer(space).1
    }

    /// Returns the offsets in bytes of the fields of a struct; empty for other types.
    ///
    /// ```
    /// use unshade_llvm::data_layout::DataLayout;
    /// use unshade_llvm::{TypeId, TypeTable};
    ///
    /// assert!(DataLayout::default().field_offsets(&TypeTable::default(), TypeId(0)).is_empty());
    /// ```
    pub fn field_offsets(&self, types: &TypeTable, ty: TypeId) -> Vec<u64> {
        let Type::Struct(structure) = types.get(ty) else { return Vec::new() };
        let (mut end, mut parts) = (0u64, MAX_PARTS);
        let offsets = types.elements(structure.fields).iter().map(|&field| {
            let alignment = if structure.packed { 1 } else { self.alignment(types, field, false, 0, &mut parts) };
            let start = round_up(end, alignment);
            end = start.saturating_add(self.allocation(types, field, 0, &mut parts));
            start
        });
        offsets.collect()
    }

    fn allocation(&self, types: &TypeTable, ty: TypeId, depth: u32, parts: &mut u32) -> u64 {
        let size = self.bits(types, ty, depth, parts).div_ceil(8);
        round_up(size, self.alignment(types, ty, false, depth, parts))
    }

    fn bits(&self, types: &TypeTable, ty: TypeId, depth: u32, parts: &mut u32) -> u64 {
        *parts = parts.saturating_sub(1);
        if depth > MAX_DEPTH || *parts == 0 {
            return 0;
        }
        let deeper = depth.saturating_add(1);
        match types.get(ty) {
            Type::Pointer { address_space, .. } | Type::OpaquePointer { address_space } => {
                self.pointer(address_space).1
            }
            Type::Label => self.pointer(0).1,
            Type::Target { name, .. } if types.name(name).starts_with(SPIRV) => self.pointer(0).1,
            Type::Array { count, element } => {
                count.saturating_mul(self.allocation(types, element, deeper, parts)).saturating_mul(8)
            }
            Type::Vector { count, element, .. } => {
                u64::from(count).saturating_mul(self.bits(types, element, deeper, parts))
            }
            Type::Struct(structure) => {
                let mut size = 0u64;
                let mut largest = 1;
                for &field in types.elements(structure.fields) {
                    let align = if structure.packed { 1 } else { self.alignment(types, field, false, deeper, parts) };
                    size = round_up(size, align).saturating_add(self.allocation(types, field, deeper, parts));
                    largest = largest.max(align);
                }
                round_up(size, largest).saturating_mul(8)
            }
            number => number.number_bits().map_or(0, u64::from),
        }
    }

    fn entry(&self, class: u8, bits: u64) -> Option<&Alignment> {
        self.alignments.iter().find(|entry| entry.class == class && entry.bits == bits)
    }

    fn alignment(&self, types: &TypeTable, ty: TypeId, preferred: bool, depth: u32, parts: &mut u32) -> u64 {
        *parts = parts.saturating_sub(1);
        if depth > MAX_DEPTH || *parts == 0 {
            return 1;
        }
        let deeper = depth.saturating_add(1);
        let pick = |entry: &Alignment| if preferred { entry.preferred } else { entry.required };
        match types.get(ty) {
            Type::Pointer { address_space, .. } | Type::OpaquePointer { address_space } => {
                let (_, _, required, wanted) = self.pointer(address_space);
                if preferred { wanted } else { required }
            }
            Type::Array { element, .. } => self.alignment(types, element, preferred, deeper, parts),
            Type::Struct(structure) => {
                if structure.packed && !preferred {
                    return 1;
                }
                let fields = types.elements(structure.fields).iter();
                let of_fields = fields
                    .map(|&field| if structure.packed { 1 } else { self.alignment(types, field, false, deeper, parts) })
                    .max();
                self.entry(b'a', 0).map_or(1, pick).max(of_fields.unwrap_or(1))
            }
            Type::Integer(width) => {
                let width = u64::from(width);
                let integers = || self.alignments.iter().filter(|entry| entry.class == b'i');
                // Use the next larger integer in the layout, else the largest.
                let fit = integers().filter(|entry| entry.bits >= width).min_by_key(|entry| entry.bits);
                fit.or_else(|| integers().max_by_key(|entry| entry.bits)).map_or(1, pick)
            }
            Type::Half | Type::BFloat | Type::Float | Type::Double | Type::X86Fp80 | Type::Fp128 | Type::PpcFp128 => {
                let bits = self.bits(types, ty, depth, parts);
                match self.entry(b'f', bits) {
                    Some(entry) => pick(entry),
                    None => bits.div_ceil(8).checked_next_power_of_two().unwrap_or(1),
                }
            }
            Type::Vector { element, .. } if self.packed_vectors => {
                self.alignment(types, element, preferred, deeper, parts)
            }
            Type::X86Mmx | Type::Vector { .. } => {
                let bits = self.bits(types, ty, depth, parts);
                match self.entry(b'v', bits) {
                    Some(entry) => pick(entry),
                    None => bits.div_ceil(8).checked_next_power_of_two().unwrap_or(1),
                }
            }
            Type::X86Amx => 64,
            Type::Label => self.pointer(0).2,
            Type::Target { name, .. } if types.name(name).starts_with(SPIRV) => {
                let (_, _, required, wanted) = self.pointer(0);
                if preferred { wanted } else { required }
            }
            _ => 1,
        }
    }
}

fn round_up(size: u64, alignment: u64) -> u64 {
    size.checked_next_multiple_of(alignment.max(1)).unwrap_or(u64::MAX)
}

fn number(text: &[u8]) -> Option<u64> {
    parse_u64(text).filter(|_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_by_address_space() {
        let layout = DataLayout::parse(b"e-p:32:32-p1:64:64:64-i64:64-P200-A5");
        assert_eq!(layout.pointer(1), (1, 64, 8, 8));
        assert_eq!(layout.pointer(7), (0, 32, 4, 4));
        assert_eq!((layout.program_address_space(), layout.alloca_address_space()), (200, 5));
    }

    #[test]
    fn recursive_types_terminate() {
        // Struct 0 contains itself eight times: its size is infinite, and plain recursion takes 8^64 steps.
        let mut table = TypeTable::default();
        table.push_cyclic_struct(8);
        assert!(DataLayout::default().required_alignment(&table, TypeId(0)) >= 1);
    }
}
