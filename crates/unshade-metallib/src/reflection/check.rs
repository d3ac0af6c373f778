//! Checking a whole reflection without building anything of it.

use super::{FieldValue, Fields, NodeId, Reflection};
use alloc::format;
use unshade_core::{Error, ErrorKind, Result};

impl Reflection<'_> {
    /// Reads every field of every node, and follows every reference to a node as far as its number.
    ///
    /// The work is bounded by the payload's size: lists that are shared by many nodes count once for each.
    ///
    /// # Errors
    /// The first field that can't be read, or that refers to a node that is not there; [`ErrorKind::Limit`] if there
    /// are more references than the payload has bytes.
    pub fn check(&self) -> Result<()> {
        let mut check = Check {
            nodes: self.node_count(),
            budget: self.buffer().data().len(),
            offset: self.range().start,
        };
        check.fields(self.root().fields())?;
        for node in self.nodes() {
            check.fields(node?.fields())?;
        }
        Ok(())
    }
}

struct Check {
    nodes: usize,
    budget: usize,
    offset: u64,
}

impl Check {
    /// Fields of a node, or of a table inside of one. Tables of tables do not occur in the schema, so one level is all.
    fn fields(&mut self, fields: Fields<'_>) -> Result<()> {
        for field in fields {
            let field = field?;
            match field.value {
                FieldValue::Table(record) => self.scalars(record.fields())?,
                FieldValue::Tables(records) => {
                    self.spend(records.len())?;
                    for record in records.iter() {
                        self.scalars(record?.fields())?;
                    }
                }
                value => self.value(value, field.range.start)?,
            }
        }
        Ok(())
    }

    fn scalars(&mut self, fields: Fields<'_>) -> Result<()> {
        for field in fields {
            let field = field?;
            self.value(field.value, field.range.start)?;
        }
        Ok(())
    }

    fn value(&mut self, value: FieldValue<'_>, offset: u64) -> Result<()> {
        match value {
            FieldValue::Node(id) => self.node(id, offset),
            FieldValue::Nodes(ids) => {
                self.spend(ids.len())?;
                ids.iter().try_for_each(|id| self.node(id, offset))
            }
            FieldValue::Texts(texts) => {
                self.spend(texts.iter().len())?;
                texts.iter().try_for_each(|text| text.map(|_| ()))
            }
            _ => Ok(()),
        }
    }

    fn node(&self, id: NodeId, offset: u64) -> Result<()> {
        if usize::try_from(id.0).is_ok_and(|id| id < self.nodes) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::OutOfRange, offset, "reference to a node that is not there")
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
