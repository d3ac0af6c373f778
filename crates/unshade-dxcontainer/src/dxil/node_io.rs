//! Reads the inputs and outputs of a work graph node: properties 20 and 21 of an entry point.
//!
//! Each is a list of tags and values: 0 name and index of the node that an output goes to, 1 flags, 2 record type, 3
//! maximum number of records, 4 index of the output that shares this maximum, 5 size of an array of outputs, 6 whether
//! the array may be sparse. A record type is such a list too: 0 size, 1 dispatch grid (offset, component type, number
//! of components), 2 alignment.
//!
//! Source: DXC's `DxilMetadataHelper.cpp`.

use super::nodes::Nodes;
use crate::bytes::Text;
use alloc::vec::Vec;
use unshade_llvm::MetadataId;

mod tag {
    pub(super) const OUTPUT_ID: u32 = 0;
    pub(super) const FLAGS: u32 = 1;
    pub(super) const RECORD_TYPE: u32 = 2;
    pub(super) const MAX_RECORDS: u32 = 3;
    pub(super) const MAX_RECORDS_SHARED_WITH: u32 = 4;
    pub(super) const ARRAY_SIZE: u32 = 5;
    pub(super) const ALLOW_SPARSE: u32 = 6;
    pub(super) const RECORD_SIZE: u32 = 0;
    pub(super) const DISPATCH_GRID: u32 = 1;
    pub(super) const ALIGNMENT: u32 = 2;
}

/// The flag of inputs, and that of outputs.
const INPUT: u32 = 1;
const OUTPUT: u32 = 2;

/// An input or output of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeIo {
    /// Flags and kind: bit 0 input, bit 1 output, and so on, as RDAT holds them.
    pub flags: u32,
    /// Name and index of the node that an output goes to.
    pub output_id: (Text, u32),
    /// Maximum number of records; 0 if unknown.
    pub max_records: u32,
    /// The output that this one shares its maximum with.
    pub max_records_shared_with: Option<u32>,
    /// Number of nodes of an array of outputs; 0 if it is none.
    pub array_size: u32,
    /// Whether nodes of the array may be missing.
    pub allow_sparse: bool,
    /// Size of a record in bytes; 0 if it is empty.
    pub record_size: u32,
    /// Alignment of a record in bytes; 0 if unknown.
    pub alignment: u32,
    /// The dispatch grid in the record: its offset, component type and number of components.
    pub dispatch_grid: Option<[u32; 3]>,
}

impl NodeIo {
    /// Whether it is an input.
    pub fn is_input(&self) -> bool {
        self.flags & INPUT != 0
    }

    /// Whether it is an output.
    pub fn is_output(&self) -> bool {
        self.flags & OUTPUT != 0
    }
}

/// Reads a tuple of inputs or outputs.
pub(super) fn read_all(nodes: &Nodes<'_, '_>, operand: Option<MetadataId>) -> Option<Vec<NodeIo>> {
    nodes.operands(operand?)?.into_iter().map(|one| read(nodes, one?)).collect()
}

fn read(nodes: &Nodes<'_, '_>, id: MetadataId) -> Option<NodeIo> {
    let mut io = NodeIo::default();
    for (tag, value) in nodes.tagged(Some(id))? {
        match tag {
            tag::OUTPUT_ID => {
                let &[name, index] = nodes.operands(value?)?.as_slice() else { return None };
                io.output_id = (nodes.text(name)?, nodes.number(index)?);
            }
            tag::FLAGS => io.flags = nodes.number(value)?,
            tag::RECORD_TYPE => io.read_record(nodes, value)?,
            tag::MAX_RECORDS => io.max_records = nodes.number(value)?,
            tag::MAX_RECORDS_SHARED_WITH => {
                io.max_records_shared_with = Some(nodes.number(value)?).filter(|index| *index != u32::MAX);
            }
            tag::ARRAY_SIZE => io.array_size = nodes.number(value)?,
            tag::ALLOW_SPARSE => io.allow_sparse = nodes.integer(value)? != 0,
            _ => {}
        }
    }
    Some(io)
}

impl NodeIo {
    fn read_record(&mut self, nodes: &Nodes<'_, '_>, record: Option<MetadataId>) -> Option<()> {
        for (tag, value) in nodes.tagged(record)? {
            match tag {
                tag::RECORD_SIZE => self.record_size = nodes.number(value)?,
                tag::DISPATCH_GRID => self.dispatch_grid = Some(nodes.numbers(value)?.try_into().ok()?),
                tag::ALIGNMENT => self.alignment = nodes.number(value)?,
                _ => {}
            }
        }
        Some(())
    }
}
