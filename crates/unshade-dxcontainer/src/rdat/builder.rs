//! Builds RDAT as DXC does: buffers and tables grow while records are added.
//!
//! Each string, list and run of bytes is stored once. From validator version 1.7 on, so is each record. Tables and
//! buffers without contents are left out, except that the string buffer always has the empty string.

use super::build::BufferPool;
use super::{Rdat, RdatContent, RdatKind, RdatPart, Row, Table, fields};
use crate::bytes::{Bytes, len32};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The order of the parts: that in which DXC declares them.
const ORDER: [RdatKind; 20] = [
    RdatKind::STRING_BUFFER,
    RdatKind::RESOURCE_TABLE,
    RdatKind::FUNCTION_TABLE,
    RdatKind::INDEX_ARRAYS,
    RdatKind::RAW_BYTES,
    RdatKind::SUBOBJECT_TABLE,
    RdatKind::NODE_ID_TABLE,
    RdatKind::NODE_SHADER_FUNC_ATTRIB_TABLE,
    RdatKind::NODE_SHADER_IO_ATTRIB_TABLE,
    RdatKind::IO_NODE_TABLE,
    RdatKind::NODE_SHADER_INFO_TABLE,
    RdatKind::SIGNATURE_ELEMENT_TABLE,
    RdatKind::VS_INFO_TABLE,
    RdatKind::PS_INFO_TABLE,
    RdatKind::HS_INFO_TABLE,
    RdatKind::DS_INFO_TABLE,
    RdatKind::GS_INFO_TABLE,
    RdatKind::CS_INFO_TABLE,
    RdatKind::MS_INFO_TABLE,
    RdatKind::AS_INFO_TABLE,
];

/// RDAT that is being built.
pub(crate) struct RdatBuilder {
    pool: BufferPool,
    tables: BTreeMap<u32, Vec<Vec<u32>>>,
    seen: BTreeMap<(u32, Vec<u32>), u32>,
    shares_records: bool,
    /// The number of fields of a function.
    function_fields: usize,
}

impl RdatBuilder {
    /// Starts with empty tables. Functions have as many fields as given.
    pub(crate) fn new(shares_records: bool, function_fields: usize) -> Self {
        let mut pool = BufferPool::default();
        pool.text(&[]);
        Self { pool, tables: BTreeMap::new(), seen: BTreeMap::new(), shares_records, function_fields }
    }

    /// Adds a string and returns its offset.
    pub(crate) fn text(&mut self, text: &[u8]) -> u32 {
        self.pool.text(text)
    }

    /// Adds a list and returns its position.
    pub(crate) fn list(&mut self, list: &[u32]) -> u32 {
        self.pool.list(list)
    }

    /// Adds bytes and returns their offset.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> u32 {
        self.pool.bytes(bytes)
    }

    /// Adds a record with the values of its fields and returns its index.
    pub(crate) fn record(&mut self, kind: RdatKind, mut values: Vec<u32>) -> u32 {
        if kind == RdatKind::FUNCTION_TABLE {
            values.truncate(self.function_fields);
        }
        let rows = self.tables.entry(kind.0).or_default();
        let index = len32(rows.len());
        if self.shares_records {
            let first = *self.seen.entry((kind.0, values.clone())).or_insert(index);
            if first != index {
                return first;
            }
        }
        rows.push(values);
        index
    }

    /// Returns what was built.
    pub(crate) fn finish(mut self) -> Rdat {
        let mut parts = Vec::new();
        for kind in ORDER {
            let content = match self.tables.remove(&kind.0) {
                Some(rows) => RdatContent::Table(self.table(kind, rows)),
                None if super::build::is_buffer(kind) && self.pool.holds(kind) => self.pool.take(kind),
                None => continue,
            };
            parts.push(RdatPart { offset: 0, kind, content });
        }
        Rdat::new(parts)
    }

    fn table(&self, kind: RdatKind, rows: Vec<Vec<u32>>) -> Table {
        let count = if kind == RdatKind::FUNCTION_TABLE { self.function_fields } else { usize::MAX };
        let sizes = fields(kind).iter().take(count).map(|field| field.size);
        let stride = len32(sizes.fold(0, usize::saturating_add));
        let row = |values| Row { values, extra: Bytes::default() };
        Table { stride, rows: rows.into_iter().map(row).collect(), tail: Bytes::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn equal_records_are_shared() {
        let mut counts = Vec::new();
        for shares in [false, true] {
            let mut builder = RdatBuilder::new(shares, 11);
            for _ in 0..2 {
                let name = builder.text(b"n");
                builder.record(RdatKind::NODE_ID_TABLE, vec![name, 0]);
            }
            let rdat = builder.finish();
            assert_eq!(rdat.strings(), b"\0n\0\0");
            counts.push(rdat.table(RdatKind::NODE_ID_TABLE).unwrap().rows.len());
        }
        assert_eq!(counts, [2, 1]);
    }
}
