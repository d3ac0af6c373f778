//! The records that summaries within modules and combined indices have in common.
//!
//! Knowledge: the records and abbreviations that `llvm-as` of LLVM 14 and 19 writes.

use super::Version;
use super::stream::{Layout, Shape, Stream};
use super::strings::StringTable;
use crate::bitstream::{Scalar, Tail};
use crate::ids::rotate;
use crate::summary::{Edge, FunctionSummary, Reference, Summary, TypeSummary};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::Result;

pub(super) use crate::summary_reader::code;

/// Defines an abbreviation of scalars and an array.
pub(super) fn define(stream: &mut Stream, code: u32, fields: &[Scalar]) -> Layout {
    let scalars = [&[Scalar::Literal(code.into())], fields].concat();
    stream.define(&Shape(&scalars, Tail::Array(Scalar::Variable(8))))
}

/// Writes the list of stack ids, unless it is empty.
pub(super) fn stack_ids(stream: &mut Stream, ids: &[u64]) {
    if !ids.is_empty() {
        let layout = define(stream, code::STACK_IDS, &[]);
        stream.record_as(Some(&layout), code::STACK_IDS, ids);
    }
}

/// Returns the places of stack ids in their list.
pub(super) fn stack_indices(ids: &[u64]) -> BTreeMap<u64, u64> {
    ids.iter().copied().zip(0..).collect()
}

/// Writes the number of basic blocks; LLVM 19 only if there are some.
pub(super) fn block_count(stream: &mut Stream, version: Version, summary: &Summary) {
    if version == Version::Llvm14 || summary.block_count != 0 {
        stream.record(code::BLOCK_COUNT, &[summary.block_count]);
    }
}

/// Returns the numbers of all references, and of those at the end that only read and that only write.
pub(super) fn access_counts(references: &[Reference]) -> [u64; 3] {
    let count = |access: u8| references.iter().filter(|reference| reference.access == access).count() as u64;
    [references.len() as u64, count(1), count(2)]
}

/// Returns how often a call is executed, as it is stored.
pub(super) fn profile(version: Version, call: &Edge) -> u64 {
    const TAIL: u64 = 8;
    let tail = if call.tail && version != Version::Llvm14 { TAIL } else { 0 };
    u64::from(call.hotness) | tail
}

/// Writes the type tests and virtual calls of a function.
pub(super) fn type_uses(stream: &mut Stream, function: &FunctionSummary) {
    if !function.type_tests.is_empty() {
        stream.record(code::TYPE_TESTS, &function.type_tests);
    }
    for (code, calls) in [code::TEST_CALLS, code::LOAD_CALLS].into_iter().zip(&function.virtual_calls) {
        if !calls.is_empty() {
            let record: Vec<u64> = calls.iter().flat_map(|&(ty, offset)| [ty, offset]).collect();
            stream.record(code, &record);
        }
    }
    let codes = [code::TEST_CONSTANT_CALL, code::LOAD_CONSTANT_CALL];
    for (code, calls) in codes.into_iter().zip(&function.constant_calls) {
        for call in calls {
            stream.record(code, &[&[call.function.0, call.function.1], call.arguments.as_slice()].concat());
        }
    }
}

/// Returns the GUIDs of the types that a function refers to.
pub(super) fn used_types(function: &FunctionSummary) -> impl Iterator<Item = u64> + '_ {
    let calls = function.virtual_calls.iter().flatten().map(|&(ty, _)| ty);
    let constant = function.constant_calls.iter().flatten().map(|call| call.function.0);
    function.type_tests.iter().copied().chain(calls).chain(constant)
}

/// Returns a record of how a function accesses its parameters, without those that it passes to what has no number.
pub(super) fn parameter_accesses(
    function: &FunctionSummary,
    value: impl Fn(u64) -> Result<Option<u64>>,
) -> Result<Vec<u64>> {
    let offsets = |(low, high): (i64, i64)| [rotate(low.cast_unsigned()), rotate(high.cast_unsigned())];
    let mut record = Vec::new();
    for access in &function.parameters {
        let start = record.len();
        record.push(access.parameter);
        record.extend(offsets(access.offsets));
        record.push(access.calls.len() as u64);
        for &(callee, parameter, range) in &access.calls {
            let Some(callee) = value(callee)? else {
                record.truncate(start);
                break;
            };
            record.extend([parameter, callee]);
            record.extend(offsets(range));
        }
    }
    Ok(record)
}

/// Returns the record of a type id.
pub(super) fn type_id(strings: &mut StringTable, name: &[u8], ty: &TypeSummary) -> Vec<u64> {
    let mut record = alloc::vec![strings.add(name).into(), name.len() as u64, ty.kind];
    record.extend(ty.numbers);
    for (&offset, call) in &ty.calls {
        record.extend([offset, call.kind, strings.add(&call.name).into(), call.name.len() as u64]);
        record.push(call.by_arguments.len() as u64);
        for (arguments, resolution) in &call.by_arguments {
            record.push(arguments.len() as u64);
            record.extend(arguments);
            record.extend(resolution);
        }
    }
    record
}

/// The abbreviations of profiled calls and allocations.
pub(super) struct Heap {
    call: (u32, Layout),
    allocation: (u32, Layout),
    is_combined: bool,
}

/// Records of a function: whether each is of a call, and its operands.
type HeapRecords = Vec<(bool, Vec<u64>)>;

impl Heap {
    /// Defines the abbreviations of a summary within a module.
    pub(super) fn of_module(stream: &mut Stream) -> Self {
        let call = define(stream, code::CALL_SITE, &[Scalar::Variable(8)]);
        let allocation = define(stream, code::ALLOCATION, &[Scalar::Variable(4)]);
        Self { call: (code::CALL_SITE, call), allocation: (code::ALLOCATION, allocation), is_combined: false }
    }

    /// Defines the abbreviations of a combined index.
    pub(super) fn of_index(stream: &mut Stream) -> Self {
        let small = Scalar::Variable(4);
        let call = define(stream, code::COMBINED_CALL_SITE, &[Scalar::Variable(8), small, small]);
        let allocation = define(stream, code::COMBINED_ALLOCATION, &[small, small]);
        let (call, allocation) = ((code::COMBINED_CALL_SITE, call), (code::COMBINED_ALLOCATION, allocation));
        Self { call, allocation, is_combined: true }
    }

    /// Returns the records of a function.
    pub(super) fn records(
        &self,
        function: &FunctionSummary,
        callee: impl Fn(Option<u64>) -> Result<u64>,
        stack_indices: &BTreeMap<u64, u64>,
    ) -> Result<HeapRecords> {
        let index = |id: &u64| stack_indices.get(id).copied().unwrap_or_default();
        let mut records = Vec::new();
        for site in &function.call_sites {
            let mut record = alloc::vec![callee(site.callee)?];
            if self.is_combined {
                record.extend([site.stack.len() as u64, site.clones.len() as u64]);
            }
            record.extend(site.stack.iter().map(index));
            if self.is_combined {
                record.extend(&site.clones);
            }
            records.push((true, record));
        }
        for allocation in &function.allocations {
            let mut record = alloc::vec![allocation.contexts.len() as u64];
            if self.is_combined {
                record.push(allocation.versions.len() as u64);
            }
            for (kind, stack) in &allocation.contexts {
                record.extend([*kind, stack.len() as u64]);
                record.extend(stack.iter().map(index));
            }
            if self.is_combined {
                record.extend(&allocation.versions);
            }
            records.push((false, record));
        }
        Ok(records)
    }

    /// Writes the records of a function.
    pub(super) fn write(&self, stream: &mut Stream, records: &HeapRecords) {
        for (is_call, record) in records {
            let (code, layout) = if *is_call { &self.call } else { &self.allocation };
            stream.record_as(Some(layout), *code, record);
        }
    }
}
