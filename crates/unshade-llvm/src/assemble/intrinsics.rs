//! Gives intrinsics the attributes that LLVM gives every one that it knows, whatever a text says.

use super::Version;
use super::attributes::Place;
use super::error::Parsed;
use super::parser::Parser;
use crate::attributes::index;
use crate::ids::AttributeSetId;
use crate::print::{Dialect, Intrinsic};
use alloc::vec::Vec;

impl Parser<'_> {
    /// Returns the sets of attributes of an intrinsic; none for other functions.
    pub(super) fn intrinsic_attributes(
        &mut self,
        function: usize,
    ) -> Parsed<Option<Vec<(u32, AttributeSetId)>>> {
        let dialect = match self.version {
            Version::Llvm14 => Dialect::Llvm14,
            Version::Llvm19 => Dialect::Llvm19,
            Version::Dxc => Dialect::Dxc,
        };
        let Some(function) = self.module.functions.get(function) else { return Ok(None) };
        let name = function.symbol.name.as_slice();
        let Some(intrinsic) = name.starts_with(b"llvm.").then(|| Intrinsic::find(dialect, name)).flatten()
        else {
            return Ok(None);
        };
        let parameters = match self.module.types.get(function.symbol.ty) {
            crate::types::Type::Function { parameters, .. } => parameters.len(),
            _ => 0,
        };
        let mut sets = Vec::new();
        self.add_known_set(&mut sets, index::RESULT, intrinsic.result(), Place::Result)?;
        for at in 0..parameters {
            self.add_known_set(&mut sets, index::parameter(at), intrinsic.parameter(at), Place::Parameter)?;
        }
        self.add_known_set(&mut sets, index::FUNCTION, intrinsic.function(), Place::Function)?;
        Ok(Some(sets))
    }

    fn add_known_set(
        &mut self,
        sets: &mut Vec<(u32, AttributeSetId)>,
        of: u32,
        text: &'static str,
        place: Place,
    ) -> Parsed<()> {
        if text.is_empty() {
            return Ok(());
        }
        let attributes = self.within(text.as_bytes(), |parser| parser.attributes(place))?;
        let set = self.intern_set(attributes);
        sets.push((of, set));
        Ok(())
    }
}
