//! Parses what summaries say about type ids: how tests of them and virtual calls are resolved, and their vtables.
//!
//! Knowledge: what `llvm-as` of LLVM 14 and 19 accepts.

use super::error::Parsed;
use super::parser::Parser;
use crate::md5;
use crate::summary::words::{CALLS, CALLS_BY_ARGUMENTS, TEST_NUMBERS, TESTS};
use crate::summary::{CallResolution, TypeSummary};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

impl Parser<'_> {
    /// Parses `(name: "t", summary: (typeTestRes: (…), wpdResolutions: (…)))`, and returns the GUID of the type.
    pub(super) fn type_entry(&mut self) -> Parsed<u64> {
        let (name, guid) = self.type_name()?;
        self.expect(b'(')?;
        let types = &mut self.summary.summary.types;
        let known = types.iter().position(|(_, known, _)| *known == name);
        let mut ty = known.map_or_else(TypeSummary::default, |at| types.swap_remove(at).2);
        self.type_test(&mut ty)?;
        if self.eat(b',') {
            self.expect_field("wpdResolutions")?;
            self.summary_list(|parser| parser.call_resolution(&mut ty))?;
        }
        self.expect(b')')?;
        self.expect(b')')?;
        self.summary.summary.types.push((guid, name, ty));
        Ok(guid)
    }

    /// Parses `typeTestRes: (kind: single, sizeM1BitWidth: 7, alignLog2: 3…)`.
    fn type_test(&mut self, ty: &mut TypeSummary) -> Parsed<()> {
        self.expect_field("typeTestRes")?;
        self.expect(b'(')?;
        self.expect_field("kind")?;
        ty.kind = self.summary_word(&TESTS)?;
        self.expect(b',')?;
        let mut is_first = true;
        loop {
            let allowed = if is_first { TEST_NUMBERS.get(..1) } else { TEST_NUMBERS.get(1..) };
            let Some(field) = self.summary_field(allowed.unwrap_or_default())? else {
                return self.fault("expected a property of a type test");
            };
            let field = if is_first { 0 } else { field + 1 };
            is_first = false;
            let number = match TEST_NUMBERS.get(field) {
                Some(&"sizeM1BitWidth") => self.u32()?.into(),
                // LLVM stores the mask in one byte.
                Some(&"bitMask") => u64::from(self.u32()? & 0xFF),
                _ => self.u64()?,
            };
            if let Some(slot) = ty.numbers.get_mut(field) {
                *slot = number;
            }
            if !self.eat(b',') {
                return self.expect(b')');
            }
        }
    }

    /// Parses `(offset: 0, wpdRes: (kind: singleImpl, singleImplName: "f", resByArg: (…)))`.
    fn call_resolution(&mut self, ty: &mut TypeSummary) -> Parsed<()> {
        self.expect(b'(')?;
        self.expect_field("offset")?;
        let offset = self.u64()?;
        self.expect(b',')?;
        self.expect_field("wpdRes")?;
        self.expect(b'(')?;
        self.expect_field("kind")?;
        let mut call = CallResolution { kind: self.summary_word(&CALLS)?, ..CallResolution::default() };
        while self.eat(b',') {
            match self.summary_field(&["singleImplName", "resByArg"])? {
                Some(0) => call.name = self.string()?,
                Some(_) => {
                    self.summary_list(|parser| parser.resolution_by_arguments(&mut call.by_arguments))?;
                }
                None => return self.fault("expected 'singleImplName:' or 'resByArg:'"),
            }
        }
        self.expect(b')')?;
        self.expect(b')')?;
        ty.calls.insert(offset, call);
        Ok(())
    }

    /// Parses `args: (1, 2), byArg: (kind: uniformRetVal, info: 1, byte: 2, bit: 3)`.
    fn resolution_by_arguments(&mut self, resolutions: &mut BTreeMap<Vec<u64>, [u64; 4]>) -> Parsed<()> {
        self.expect_field("args")?;
        let arguments = self.summary_numbers()?;
        self.expect(b',')?;
        self.expect_field("byArg")?;
        self.expect(b'(')?;
        self.expect_field("kind")?;
        let mut resolution = [self.summary_word(&CALLS_BY_ARGUMENTS)?, 0, 0, 0];
        let [_, info, byte, bit] = &mut resolution;
        while self.eat(b',') {
            match self.summary_field(&["info", "byte", "bit"])? {
                Some(0) => *info = self.u64()?,
                Some(1) => *byte = self.u32()?.into(),
                Some(_) => *bit = self.u32()?.into(),
                None => return self.fault("expected 'info:', 'byte:' or 'bit:'"),
            }
        }
        self.expect(b')')?;
        resolutions.insert(arguments, resolution);
        Ok(())
    }

    /// Parses `(name: "t", summary:`, and returns the name and the GUID of the type.
    fn type_name(&mut self) -> Parsed<(Vec<u8>, u64)> {
        self.expect(b'(')?;
        self.expect_field("name")?;
        let name = self.string()?;
        let guid = md5::low64(&name);
        self.expect(b',')?;
        self.expect_field("summary")?;
        Ok((name, guid))
    }

    /// Parses `(name: "t", summary: ((offset: 16, ^3)…))`, and returns the GUID of the type.
    pub(super) fn table_entry(&mut self) -> Parsed<u64> {
        let (name, guid) = self.type_name()?;
        let mut tables = Vec::new();
        self.summary_list(|parser| {
            parser.expect(b'(')?;
            parser.expect_field("offset")?;
            let offset = parser.u64()?;
            parser.expect(b',')?;
            tables.push((offset, parser.gv_reference()?));
            parser.expect(b')')
        })?;
        self.expect(b')')?;
        self.summary.summary.tables.entry(name).or_default().extend(tables);
        Ok(guid)
    }
}
