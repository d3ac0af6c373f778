//! Parses the summaries of symbols: functions, variables and aliases.
//!
//! `function: (module: ^0, flags: (…), insts: 3, funcFlags: (…), calls: (…), typeIdInfo: (…), params: (…), refs: (…))`
//!
//! Knowledge: what `llvm-as` of LLVM 14 and 19 accepts, and the order in which it stores references.

use super::error::Parsed;
use super::lexer::Token;
use super::parser::Parser;
use super::summary::Target;
use crate::summary::words::{ALLOCATIONS, FUNCTION_FLAGS, HOTNESS, LINKAGES, SYMBOL_FLAGS, VISIBILITIES};
use crate::summary::{
    Allocation, CallSite, ConstantCall, Edge, FunctionSummary, ParameterAccess, Reference, SymbolKind,
    SymbolSummary,
};
use crate::write::Version;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The optional parts of the summary of a function; the last two are new in LLVM 19.
const FUNCTION_PARTS: [&str; 7] =
    ["funcFlags", "calls", "typeIdInfo", "refs", "params", "allocs", "callsites"];
/// How many parts LLVM 14 knows.
const FUNCTION_PARTS_OF_14: usize = 5;
const TYPE_PARTS: [&str; 5] = [
    "typeTests",
    "typeTestAssumeVCalls",
    "typeCheckedLoadVCalls",
    "typeTestAssumeConstVCalls",
    "typeCheckedLoadConstVCalls",
];
/// The access of a reference.
mod access {
    pub(super) const ANY: u8 = 0;
    pub(super) const READ: u8 = 1;
    pub(super) const WRITE: u8 = 2;
}

/// Calls `visit` with every GUID in the summary of a symbol.
pub(super) fn for_each_guid(summary: &mut SymbolSummary, mut visit: impl FnMut(&mut u64)) {
    match &mut summary.kind {
        SymbolKind::Function(function) => {
            function.calls.iter_mut().for_each(|call| visit(&mut call.callee));
            function.type_tests.iter_mut().for_each(&mut visit);
            function.virtual_calls.iter_mut().flatten().for_each(|(guid, _)| visit(guid));
            function.constant_calls.iter_mut().flatten().for_each(|call| visit(&mut call.function.0));
            let passed = function.parameters.iter_mut().flat_map(|access| &mut access.calls);
            passed.for_each(|(guid, ..)| visit(guid));
            function.call_sites.iter_mut().filter_map(|site| site.callee.as_mut()).for_each(&mut visit);
        }
        SymbolKind::Variable { virtual_functions, .. } => {
            virtual_functions.iter_mut().for_each(|(guid, _)| visit(guid));
        }
        SymbolKind::Alias(target) => target.iter_mut().for_each(&mut visit),
    }
    summary.references.iter_mut().for_each(|reference| visit(&mut reference.symbol));
}

impl Parser<'_> {
    /// Parses the summary of a symbol by one module.
    pub(super) fn symbol_summary(&mut self) -> Parsed<SymbolSummary> {
        let kind = self.summary_field(&["function", "variable", "alias"])?;
        let Some(kind) = kind else { return self.fault("expected 'function:', 'variable:' or 'alias:'") };
        self.expect(b'(')?;
        let module = self.module_reference()?;
        self.expect(b',')?;
        let flags = self.symbol_flags()?;
        self.expect(b',')?;
        let mut references = Vec::new();
        let kind = match kind {
            0 => SymbolKind::Function(Box::new(self.function_summary(&mut references)?)),
            1 => self.variable_summary(&mut references)?,
            _ => {
                self.expect_field("aliasee")?;
                SymbolKind::Alias(Some(self.gv_aliasee()?))
            }
        };
        self.expect(b')')?;
        Ok(SymbolSummary { module, flags, kind, references })
    }

    /// Parses `flags: (linkage: external, visibility: default, live: 1…)`.
    fn symbol_flags(&mut self) -> Parsed<u64> {
        const VISIBILITY: u32 = 8;
        const IMPORT: u32 = 10;
        const FIRST_FLAG: u32 = 4;
        self.expect_field("flags")?;
        let (mut linkage, mut visibility, mut import, mut flags) = (0, 0, 0, 0);
        self.summary_list(|parser| {
            if let Some(flag) = parser.summary_field(&SYMBOL_FLAGS)? {
                let bit = FIRST_FLAG + flag as u32;
                flags = flags & !(1 << bit) | u64::from(parser.summary_flag()?) << bit;
                return Ok(());
            }
            let names: &[&str] = match parser.version {
                Version::Llvm14 => &["linkage", "visibility"],
                _ => &["linkage", "visibility", "importType"],
            };
            match parser.summary_field(names)? {
                Some(0) => linkage = parser.summary_word(&LINKAGES)?,
                Some(1) => visibility = parser.eat_one_of(&VISIBILITIES).unwrap_or_default() as u64,
                Some(_) => import = parser.summary_word(&["definition", "declaration"])?,
                None => return parser.fault("expected a flag of a symbol"),
            }
            Ok(())
        })?;
        Ok(linkage | flags | visibility << VISIBILITY | import << IMPORT)
    }

    /// Parses a number that is taken for zero or one.
    fn summary_flag(&mut self) -> Parsed<bool> {
        match self.token {
            Token::Integer(digits) if !digits.starts_with(b"-") => {
                self.advance();
                Ok(digits.iter().any(|&digit| digit != b'0'))
            }
            _ => self.fault("expected 0 or 1"),
        }
    }

    /// Parses `(name: 1, …)`, where each name stands for a bit.
    fn summary_flags(&mut self, names: &[&str]) -> Parsed<u64> {
        let mut flags = 0;
        self.summary_list(|parser| {
            let Some(bit) = parser.summary_field(names)? else { return parser.fault("expected a flag") };
            flags = flags & !(1 << bit) | u64::from(parser.summary_flag()?) << bit;
            Ok(())
        })?;
        Ok(flags)
    }

    fn variable_summary(&mut self, references: &mut Vec<Reference>) -> Parsed<SymbolKind> {
        self.expect_field("varFlags")?;
        let flags = self.summary_flags(&["readonly", "writeonly", "constant", "vcall_visibility"])?;
        let mut virtual_functions = Vec::new();
        while self.eat(b',') {
            match self.summary_field(&["vTableFuncs", "refs"])? {
                Some(0) => self.summary_list(|parser| {
                    parser.expect(b'(')?;
                    parser.expect_field("virtFunc")?;
                    let function = parser.gv_reference()?;
                    parser.expect(b',')?;
                    parser.expect_field("offset")?;
                    virtual_functions.push((function, parser.u64()?));
                    parser.expect(b')')
                })?,
                Some(_) => self.references(references)?,
                None => return self.fault("expected 'vTableFuncs:' or 'refs:'"),
            }
        }
        Ok(SymbolKind::Variable { flags, virtual_functions })
    }

    /// Parses `(^3, readonly ^4, writeonly ^5)`, and sorts the references by access.
    fn references(&mut self, references: &mut Vec<Reference>) -> Parsed<()> {
        let mut found = Vec::new();
        self.summary_list(|parser| {
            let access = match parser.eat_one_of(&["readonly", "writeonly"]) {
                None => access::ANY,
                Some(0) => access::READ,
                Some(_) => access::WRITE,
            };
            found.push(Reference { symbol: parser.gv_reference()?, access });
            Ok(())
        })?;
        crate::sort::introsort_by_key(&mut found, |reference| reference.access);
        references.extend(found);
        Ok(())
    }

    fn function_summary(&mut self, references: &mut Vec<Reference>) -> Parsed<FunctionSummary> {
        self.expect_field("insts")?;
        let mut function = FunctionSummary { instructions: self.u32()?.into(), ..FunctionSummary::default() };
        let parts = match self.version {
            Version::Llvm14 => FUNCTION_PARTS.get(..FUNCTION_PARTS_OF_14).unwrap_or_default(),
            _ => &FUNCTION_PARTS,
        };
        while self.eat(b',') {
            match self.summary_field(parts)? {
                Some(0) => function.flags = self.summary_flags(&FUNCTION_FLAGS)?,
                Some(1) => self.summary_list(|parser| {
                    function.calls.push(parser.edge()?);
                    Ok(())
                })?,
                Some(2) => self.type_uses(&mut function)?,
                Some(3) => self.references(references)?,
                Some(4) => self.summary_list(|parser| {
                    function.parameters.push(parser.parameter_access()?);
                    Ok(())
                })?,
                Some(5) => self.summary_list(|parser| {
                    function.allocations.push(parser.allocation()?);
                    Ok(())
                })?,
                Some(_) => self.summary_list(|parser| {
                    function.call_sites.push(parser.call_site()?);
                    Ok(())
                })?,
                None => return self.fault("expected a part of the summary of a function"),
            }
        }
        Ok(function)
    }

    /// Parses `(callee: ^3, hotness: hot, tail: 1)`. LLVM 14 takes only one property.
    fn edge(&mut self) -> Parsed<Edge> {
        self.expect(b'(')?;
        self.expect_field("callee")?;
        let mut edge = Edge { callee: self.gv_reference()?, hotness: 0, frequency: 0, tail: false };
        let is_old = self.version == Version::Llvm14;
        while self.eat(b',') {
            let names: &[&str] = if is_old { &["hotness", "relbf"] } else { &["hotness", "relbf", "tail"] };
            match self.summary_field(names)? {
                Some(0) => edge.hotness = self.summary_word(&HOTNESS)?.to_le_bytes()[0],
                Some(1) => edge.frequency = self.u32()?.into(),
                Some(_) => edge.tail = self.summary_flag()?,
                None => return self.fault("expected a property of a call"),
            }
            if is_old {
                break;
            }
        }
        if edge.hotness != 0 && edge.frequency != 0 {
            return self.fault("expected only one of hotness and relbf");
        }
        self.expect(b')')?;
        Ok(edge)
    }

    fn type_uses(&mut self, function: &mut FunctionSummary) -> Parsed<()> {
        self.summary_list(|parser| match parser.summary_field(&TYPE_PARTS)? {
            Some(0) => parser.summary_list(|parser| {
                let ty = match parser.type_reference() {
                    Some(ty) => ty,
                    None => parser.type_by_guid()?,
                };
                function.type_tests.push(ty);
                Ok(())
            }),
            Some(part @ (1 | 2)) => parser.summary_list(|parser| {
                let call = parser.virtual_function()?;
                function.virtual_calls.get_mut(part - 1).into_iter().for_each(|list| list.push(call));
                Ok(())
            }),
            Some(part) => parser.summary_list(|parser| {
                parser.expect(b'(')?;
                let function_of_call = parser.virtual_function()?;
                let mut arguments = Vec::new();
                if parser.eat(b',') {
                    parser.expect_field("args")?;
                    arguments = parser.summary_numbers()?;
                }
                let call = ConstantCall { function: function_of_call, arguments };
                function
                    .constant_calls
                    .get_mut(part - 3)
                    .into_iter()
                    .for_each(|list| list.push(call.clone()));
                parser.expect(b')')
            }),
            None => parser.fault("expected a list of uses of types"),
        })
    }

    fn type_by_guid(&mut self) -> Parsed<u64> {
        let at = self.at;
        let guid = self.u64()?;
        Ok(self.use_of(Target::Guid(guid), at))
    }

    /// Parses `vFuncId: (^3, offset: 16)` or `vFuncId: (guid: 7, offset: 16)`.
    fn virtual_function(&mut self) -> Parsed<(u64, u64)> {
        self.expect_field("vFuncId")?;
        self.expect(b'(')?;
        let ty = match self.type_reference() {
            Some(ty) => ty,
            None => {
                self.expect_field("guid")?;
                self.type_by_guid()?
            }
        };
        self.expect(b',')?;
        self.expect_field("offset")?;
        let offset = self.u64()?;
        self.expect(b')')?;
        Ok((ty, offset))
    }

    /// Parses `(param: 0, offset: [0, 7], calls: (…))`.
    fn parameter_access(&mut self) -> Parsed<ParameterAccess> {
        self.expect(b'(')?;
        let (parameter, offsets) = self.parameter()?;
        let mut calls = Vec::new();
        if self.eat(b',') {
            self.expect_field("calls")?;
            self.summary_list(|parser| {
                parser.expect(b'(')?;
                parser.expect_field("callee")?;
                let callee = parser.gv_reference()?;
                parser.expect(b',')?;
                let (parameter, offsets) = parser.parameter()?;
                calls.push((callee, parameter, offsets));
                parser.expect(b')')
            })?;
        }
        self.expect(b')')?;
        Ok(ParameterAccess { parameter, offsets, calls })
    }

    /// Parses `param: 0, offset: [0, 7]`. The end of the range is stored as exclusive.
    fn parameter(&mut self) -> Parsed<(u64, (i64, i64))> {
        self.expect_field("param")?;
        let parameter = self.u64()?;
        self.expect(b',')?;
        self.expect_field("offset")?;
        self.expect(b'[')?;
        let low = self.offset()?;
        self.expect(b',')?;
        let high = self.offset()?.wrapping_add(1);
        self.expect(b']')?;
        // An end before the start is no offset at all, but all of them if both are the largest number.
        let is_empty = low == high && low != -1;
        Ok((parameter, if is_empty { (0, 0) } else { (low, high) }))
    }

    /// Parses an integer, of which the low 64 bits count.
    fn offset(&mut self) -> Parsed<i64> {
        let Token::Integer(digits) = self.token else { return self.fault("expected an integer") };
        self.advance();
        let (negative, digits) = match digits.strip_prefix(b"-") {
            Some(digits) => (true, digits),
            None => (false, digits),
        };
        let magnitude = digits.iter().fold(0i64, |number, &digit| {
            number.wrapping_mul(10).wrapping_add(i64::from(digit.wrapping_sub(b'0')))
        });
        Ok(if negative { magnitude.wrapping_neg() } else { magnitude })
    }

    /// Parses `(versions: (none), memProf: ((type: cold, stackIds: (1, 2))))`.
    fn allocation(&mut self) -> Parsed<Allocation> {
        self.expect(b'(')?;
        self.expect_field("versions")?;
        let mut versions = Vec::new();
        self.summary_list(|parser| {
            versions.push(parser.summary_word(&ALLOCATIONS)?);
            Ok(())
        })?;
        self.expect(b',')?;
        self.expect_field("memProf")?;
        let mut contexts = Vec::new();
        self.summary_list(|parser| {
            parser.expect(b'(')?;
            parser.expect_field("type")?;
            let kind = parser.summary_word(&ALLOCATIONS)?;
            parser.expect(b',')?;
            contexts.push((kind, parser.stack_ids()?));
            parser.expect(b')')
        })?;
        self.expect(b')')?;
        Ok(Allocation { versions, contexts })
    }

    /// Parses `(callee: ^3, clones: (0), stackIds: (1, 2))`; the callee may be `null`.
    fn call_site(&mut self) -> Parsed<CallSite> {
        self.expect(b'(')?;
        self.expect_field("callee")?;
        let callee = match self.eat_word("null") {
            true => None,
            false => Some(self.gv_reference()?),
        };
        self.expect(b',')?;
        self.expect_field("clones")?;
        let mut clones = Vec::new();
        self.summary_list(|parser| {
            clones.push(parser.u32()?.into());
            Ok(())
        })?;
        self.expect(b',')?;
        let stack = self.stack_ids()?;
        self.expect(b')')?;
        Ok(CallSite { callee, clones, stack })
    }
}
