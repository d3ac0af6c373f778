//! Contents of buffers that are invented: a plausible number for each member of a type.
//!
//! Floats are between -1 and 2, integers small, so that they may be indices; only odd rounds have negative integers.
//! Memory without a type has integers, floats or both, depending on the round.

use super::hash::{hash, unit};
use super::number::encode;
use unshade_ir::shader::data_type::{DataType, Packing, Scalar, ScalarKind, StructTypes};

/// Maximum number of numbers that are described.
const MAX_LEAVES: usize = 1 << 16;

/// A number in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) offset: u32,
    pub(super) scalar: Scalar,
}

/// Returns the numbers that a type consists of, by offset.
pub(super) fn leaves(ty: &DataType, packing: Packing, structs: &StructTypes) -> Vec<Leaf> {
    let mut found = Vec::new();
    add(ty, 0, packing, structs, &mut found, 0);
    found
}

fn add(ty: &DataType, offset: u32, packing: Packing, structs: &StructTypes, out: &mut Vec<Leaf>, depth: u32) {
    if out.len() >= MAX_LEAVES || depth > 32 {
        return;
    }
    let mut line = |scalar: Scalar, offset: u32, count: u32| {
        for index in 0..count {
            out.push(Leaf { offset: offset.saturating_add(index * scalar.bytes()), scalar });
        }
    };
    match ty {
        DataType::Scalar(scalar) => line(*scalar, offset, 1),
        DataType::Vector(scalar, lanes) => line(*scalar, offset, u32::from(*lanes)),
        DataType::Matrix { scalar, rows, columns, is_row_major } => {
            let is_row_major = *is_row_major || packing == Packing::Structured;
            let (major, minor) = if is_row_major { (*rows, *columns) } else { (*columns, *rows) };
            let bytes = scalar.bytes() * u32::from(minor);
            let stride = if packing == Packing::Constant { bytes.next_multiple_of(16) } else { bytes };
            for index in 0..u32::from(major) {
                line(*scalar, offset.saturating_add(index * stride), u32::from(minor));
            }
        }
        DataType::Array(element, count) => {
            let stride = packing.stride(element, structs);
            for index in 0..*count {
                if out.len() >= MAX_LEAVES {
                    break;
                }
                let at = offset.saturating_add(index.saturating_mul(stride));
                let before = out.len();
                add(element, at, packing, structs, out, depth + 1);
                if out.len() == before {
                    break;
                }
            }
        }
        DataType::Struct(id) => {
            for field in structs.get(*id).map_or(&[][..], |structure| &structure.fields) {
                add(&field.ty, offset.saturating_add(field.offset), packing, structs, out, depth + 1);
            }
        }
        DataType::Named(_) => {}
    }
}

/// Returns a plausible number of a type.
pub(super) fn number(scalar: Scalar, seed: u64, hash: u64) -> u64 {
    let width = scalar.bits;
    match scalar.kind {
        ScalarKind::Float => encode(unit(hash) * 3.0 - 1.0, width),
        ScalarKind::Bool => hash >> 7 & 1,
        ScalarKind::Signed if seed % 3 == 2 => {
            unshade_ir::fold::masked(((hash >> 9) % 9).wrapping_sub(4), width)
        }
        ScalarKind::Signed | ScalarKind::Unsigned => (hash >> 9) % 8,
    }
}

/// Returns a plausible word of memory without a type.
pub(super) fn word(seed: u64, hash: u64) -> u32 {
    let is_float = match seed % 3 {
        0 => false,
        1 => true,
        _ => hash & 1 == 0,
    };
    number(if is_float { Scalar::FLOAT } else { Scalar::UINT }, seed, hash) as u32
}

/// Returns the bytes of elements with these numbers; of elements without any, words.
pub(super) fn bytes(leaves: &[Leaf], stride: u32, count: u32, seed: u64, of: u64) -> Vec<u8> {
    let size = stride.saturating_mul(count).min(1 << 20) as usize;
    let mut bytes = vec![0; size];
    if leaves.is_empty() {
        for (index, chunk) in bytes.chunks_exact_mut(4).enumerate() {
            chunk.copy_from_slice(&word(seed, hash(&[seed, of, index as u64])).to_le_bytes());
        }
        return bytes;
    }
    for element in 0..count {
        for leaf in leaves {
            let at = u64::from(element) * u64::from(stride) + u64::from(leaf.offset);
            let number = number(leaf.scalar, seed, hash(&[seed, of, at])).to_le_bytes();
            let count = leaf.scalar.bytes().min(8) as usize;
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            if let Some(slot) = bytes.get_mut(at..at.saturating_add(count)) {
                slot.copy_from_slice(&number[..count]);
            }
        }
    }
    bytes
}
