//! Checks a whole reflection without building anything.

use super::schema::FieldKind;
use super::{FieldValue, NodeId, Record, Reflection};
use alloc::format;
use unshade_core::{Error, ErrorKind, Result};

impl Reflection<'_> {
    /// Parses every field of every node, and checks that every referenced node exists.
    ///
    /// The work is limited by the size of the payload: a list shared by several nodes counts once for each of them.
    ///
    /// # Errors
    /// The first field that is malformed or refers to a missing node; [`ErrorKind::Limit`] if there are more references
    /// than bytes in the payload.
    pub fn check(&self) -> Result<()> {
        let mut check = Check {
            nodes: self.node_count(),
            budget: self.buffer().data().len(),
            offset: self.range().start,
        };
        check.record(&self.root(), Depth::Node)?;
        for node in self.nodes() {
            if let Some(body) = node?.body() {
                check.record(&body, Depth::Node)?;
            }
        }
        Ok(())
    }
}

/// The nesting level of a table. In the schema, the tables of nodes contain tables, but those contain none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Node,
    Inner,
}

struct Check {
    nodes: usize,
    budget: usize,
    offset: u64,
}

impl Check {
    fn record(&mut self, record: &Record<'_>, depth: Depth) -> Result<()> {
        for slot in 0..record.table.slot_count() {
            if record.table.entry(slot) != 0 {
                self.slot(record, slot, depth).map_err(|error| error.within(record.schema.name))?;
            }
        }
        Ok(())
    }

    /// Checks a field that is present. Most are numbers, whose position is all that can be wrong.
    fn slot(&mut self, record: &Record<'_>, slot: usize, depth: Depth) -> Result<()> {
        let Some(known) = record.schema.slots.get(slot) else {
            return record.table.extent(slot).map(|_| ());
        };
        let buffer = record.table.buffer();
        let Some(position) = record.table.field(slot, known.kind.width())? else { return Ok(()) };
        let offset = buffer.offset_of(position);
        let checked = match known.kind {
            FieldKind::NodeId => buffer.u32(position).and_then(|id| self.node(NodeId(id), offset)),
            FieldKind::Text => buffer.target(position).and_then(|at| buffer.string(at)).map(|_| ()),
            kind if !kind.is_reference() => Ok(()),
            kind => FieldValue::read(buffer, kind, position)
                .and_then(|(value, _)| self.value(value, offset, depth)),
        };
        checked.map_err(|error| error.within(known.name))
    }

    /// Checks the target of a field.
    fn value(&mut self, value: FieldValue<'_>, offset: u64, depth: Depth) -> Result<()> {
        match value {
            FieldValue::Nodes(ids) => {
                self.spend(ids.len())?;
                ids.iter().try_for_each(|id| self.node(id, offset))
            }
            FieldValue::Texts(texts) => {
                self.spend(texts.iter().len())?;
                texts.iter().try_for_each(|text| text.map(|_| ()))
            }
            FieldValue::Table(record) if depth == Depth::Node => self.record(&record, Depth::Inner),
            FieldValue::Tables(records) if depth == Depth::Node => {
                self.spend(records.len())?;
                records.iter().try_for_each(|record| self.record(&record?, Depth::Inner))
            }
            _ => Ok(()),
        }
    }

    fn node(&self, id: NodeId, offset: u64) -> Result<()> {
        if usize::try_from(id.0).is_ok_and(|id| id < self.nodes) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::OutOfRange, offset, "reference to a node that does not exist")
            .expected(format!("a number below {}", self.nodes))
            .found(format!("{}", id.0)))
    }

    fn spend(&mut self, count: usize) -> Result<()> {
        self.budget = self.budget.checked_sub(count).ok_or_else(|| {
            Error::new(ErrorKind::Limit, self.offset, "reflection has more references than bytes")
        })?;
        Ok(())
    }
}
