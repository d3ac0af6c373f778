//! Parses the module's records of global variables, functions, aliases and comdats.
//!
//! From module version 2 on, every such record starts with the offset and size of its name in the string table;
//! before, the module's symbol table holds the names.
//!
//! Knowledge: `ModuleCodes` of LLVM's `LLVMBitCodes.h` and the growth of the records from 3.2 to 19.

use crate::attributes::index;
use crate::bitstream::text;
use crate::global::{Alias, Comdat, Function, GlobalVariable, Linkage, Symbol};
use crate::ids::{AttributeListId, TypeId, ValueId, narrow};
use crate::module::Module;
use crate::types::Type;
use crate::value::{Value, ValueKind};
use alloc::vec::Vec;

/// The operands of a record after those of the name.
struct Fields<'r> {
    name: Vec<u8>,
    values: &'r [u64],
}

impl Fields<'_> {
    fn get(&self, at: usize) -> Option<u64> {
        self.values.get(at).copied()
    }

    fn or_zero(&self, at: usize) -> u64 {
        self.get(at).unwrap_or(0)
    }

    /// Returns an operand that is at most `max`, or 0 if it is larger.
    fn at_most(&self, at: usize, max: u64) -> u8 {
        let value = self.or_zero(at);
        if value <= max { value.to_le_bytes()[0] } else { 0 }
    }
}

fn alignment(exponent: u64) -> u8 {
    // The exponent is stored plus one.
    exponent.min(64).to_le_bytes()[0]
}

/// Returns the DLL storage class that an old linkage implies: 5 import, 6 export.
fn storage_of_linkage(raw: u64) -> u8 {
    match raw {
        5 => 1,
        6 => 2,
        _ => 0,
    }
}

impl Module<'_> {
    fn fields<'r>(&self, values: &'r [u64]) -> Option<Fields<'r>> {
        if self.version < 2 {
            return Some(Fields { name: Vec::new(), values });
        }
        let (&[offset, size], rest) = values.split_first_chunk::<2>()?;
        Some(Fields { name: self.string_table(offset, size).to_vec(), values: rest })
    }

    /// Returns a part of the string table; empty if it is out of range.
    fn string_table(&self, offset: u64, size: u64) -> &[u8] {
        let range = usize::try_from(offset).ok().zip(usize::try_from(offset.saturating_add(size)).ok());
        range.and_then(|(start, end)| self.strings.get(start..end)).unwrap_or_default()
    }

    /// Creates a symbol from what all symbol records have in common; `raw_linkage` is the stored linkage.
    fn symbol(&self, fields: &mut Fields<'_>, raw_linkage: u64, ty: TypeId, address_space: u32) -> Symbol {
        let name = core::mem::take(&mut fields.name);
        let value = ValueId(narrow(self.values.len() as u64));
        Symbol {
            linkage: Linkage::decode(raw_linkage),
            dll_storage: storage_of_linkage(raw_linkage),
            implicit_comdat: matches!(raw_linkage, 1 | 4 | 10 | 11),
            ..Symbol::new(name, ty, address_space, value)
        }
    }

    /// Returns the name of a section by its stored number, which is its index plus one.
    fn section(&self, number: u64) -> Vec<u8> {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        at.and_then(|at| self.sections.get(at)).cloned().unwrap_or_default()
    }

    fn pointer_to(&self, ty: TypeId, address_space: u32) -> TypeId {
        self.types
            .find(Type::Pointer { pointee: ty, address_space })
            .or_else(|| self.types.find(Type::OpaquePointer { address_space }))
            .unwrap_or(TypeId::NONE)
    }

    /// Parses `[type, constant and explicit-type bits, initializer + 1, linkage, align, section, visibility, tls,
    /// unnamed_addr, externally initialized, dll, comdat, attributes, dso_local, partition offset and size,
    /// sanitizer, code model]`
    pub(crate) fn parse_global(&mut self, values: &[u64]) -> Option<()> {
        let mut fields = self.fields(values)?;
        let (mut ty, bits) = (TypeId(narrow(fields.get(0)?)), fields.get(1)?);
        let address_space;
        let pointer;
        if bits & 2 != 0 {
            address_space = narrow(bits >> 2);
            pointer = self.pointer_to(ty, address_space);
        } else {
            pointer = ty;
            address_space = self.types.address_space(ty)?;
            ty = self.types.pointee(ty)?;
        }
        let raw_linkage = fields.get(3)?;
        let mut symbol = self.symbol(&mut fields, raw_linkage, ty, address_space);
        symbol.alignment = alignment(fields.get(4)?);
        symbol.section = self.section(fields.get(5)?);
        if !symbol.linkage.is_local() {
            symbol.visibility = fields.at_most(6, 2);
        }
        symbol.thread_local = match fields.or_zero(7) {
            known @ 0..=4 => known.to_le_bytes()[0],
            _ => 1,
        };
        symbol.unnamed_address = fields.at_most(8, 2);
        if fields.get(10).is_some() {
            symbol.dll_storage = fields.at_most(10, 2);
        }
        self.finish_symbol(&mut symbol, &fields, 11, 13);
        if let (Some(offset), Some(size)) = (fields.get(14), fields.get(15)) {
            symbol.partition = self.string_table(offset, size).to_vec();
        }
        let attributes = fields.get(12).and_then(|list| self.attribute_list(list));
        let attributes = attributes.and_then(|list| self.attributes.of(list, index::FUNCTION));
        let index = narrow(self.globals.len() as u64);
        self.globals.push(GlobalVariable {
            symbol,
            constant: bits & 1 != 0,
            externally_initialized: fields.or_zero(9) != 0,
            initializer: fields.get(2)?.checked_sub(1).map(|id| ValueId(narrow(id))),
            attributes,
            sanitizer: fields.or_zero(16),
            code_model: fields.or_zero(17),
        });
        self.values.push(Value { kind: ValueKind::Global(index), ty: pointer });
        Some(())
    }

    /// Sets the comdat and `dso_local`, which follow from linkage and visibility where they are not stored.
    fn finish_symbol(&self, symbol: &mut Symbol, fields: &Fields<'_>, comdat: usize, dso_local: usize) {
        if let Some(number) = fields.get(comdat) {
            symbol.comdat = number.checked_sub(1).map(narrow);
            symbol.implicit_comdat = false;
        }
        self.infer_dso_local(symbol, fields.or_zero(dso_local) == 1);
    }

    fn infer_dso_local(&self, symbol: &mut Symbol, stored: bool) {
        let implied = symbol.linkage.is_local()
            || (symbol.visibility != 0 && symbol.linkage != Linkage::ExternalWeak);
        symbol.dso_local = stored || implied;
    }

    /// Converts the stored number of an attribute list, which is its id plus one.
    pub(crate) fn attribute_list(&self, number: u64) -> Option<AttributeListId> {
        number.checked_sub(1).map(|number| AttributeListId(narrow(number)))
    }

    /// Parses `[type, calling convention, declaration, linkage, attributes, align, section, visibility, gc,
    /// unnamed_addr, prologue, dll, comdat, prefix, personality, dso_local, address space, partition offset and
    /// size]`
    pub(crate) fn parse_function(&mut self, values: &[u64]) -> Option<()> {
        let mut fields = self.fields(values)?;
        let mut ty = TypeId(narrow(fields.get(0)?));
        let mut address_space = self.data_layout.program_address_space();
        if let Type::Pointer { pointee, address_space: of_type } = self.types.get(ty) {
            ty = pointee;
            address_space = of_type;
        }
        if let Some(stored) = fields.get(16) {
            address_space = narrow(stored);
        }
        if !self.types.is_function(ty) {
            return None;
        }
        let raw_linkage = fields.get(3)?;
        let mut symbol = self.symbol(&mut fields, raw_linkage, ty, address_space);
        symbol.alignment = alignment(fields.get(5)?);
        symbol.section = self.section(fields.get(6)?);
        if !symbol.linkage.is_local() {
            symbol.visibility = fields.at_most(7, 2);
        }
        symbol.unnamed_address = fields.at_most(9, 2);
        if fields.get(11).is_some() {
            symbol.dll_storage = fields.at_most(11, 2);
        }
        self.finish_symbol(&mut symbol, &fields, 12, 15);
        if let (Some(offset), Some(size)) = (fields.get(17), fields.get(18)) {
            symbol.partition = self.string_table(offset, size).to_vec();
        }
        let collector = usize::try_from(fields.or_zero(8)).ok().and_then(|number| number.checked_sub(1));
        let data = |at: usize| fields.or_zero(at).checked_sub(1).map(|id| ValueId(narrow(id)));
        let pointer = self.pointer_to(ty, address_space);
        let index = narrow(self.functions.len() as u64);
        let function = Function {
            calling_convention: narrow(fields.get(1)?),
            declaration: fields.get(2)? != 0,
            attributes: self.attribute_list(fields.get(4)?).unwrap_or(AttributeListId::NONE),
            collector: collector.and_then(|at| self.collectors.get(at)).cloned().unwrap_or_default(),
            prologue: data(10),
            prefix: data(13),
            personality: data(14),
            ..Function::new(symbol)
        };
        self.functions.push(function);
        self.values.push(Value { kind: ValueKind::Function(index), ty: pointer });
        Some(())
    }

    /// Parses `[type, address space (not in the old form), target, linkage, visibility, dll, tls, unnamed_addr,
    /// dso_local, partition offset and size]`; of `visibility` to `unnamed_addr`, ifuncs have only `visibility`.
    pub(crate) fn parse_alias(&mut self, values: &[u64], old: bool, indirect: bool) -> Option<()> {
        let mut fields = self.fields(values)?;
        let mut ty = TypeId(narrow(fields.get(0)?));
        let mut at = 1usize;
        let address_space;
        let pointer;
        if old {
            pointer = ty;
            address_space = self.types.address_space(ty)?;
            ty = self.types.pointee(ty)?;
        } else {
            address_space = narrow(fields.get(1)?);
            at = 2;
            pointer = self.pointer_to(ty, address_space);
        }
        let mut next = || {
            at = at.wrapping_add(1);
            at.wrapping_sub(1)
        };
        let target = ValueId(narrow(fields.get(next())?));
        let raw_linkage = fields.get(next())?;
        let mut symbol = self.symbol(&mut fields, raw_linkage, ty, address_space);
        let visibility = next();
        if !symbol.linkage.is_local() {
            symbol.visibility = fields.at_most(visibility, 2);
        }
        if !indirect {
            let storage = next();
            if fields.get(storage).is_some() {
                symbol.dll_storage = fields.at_most(storage, 2);
            }
            symbol.thread_local = fields.at_most(next(), 4);
            symbol.unnamed_address = fields.at_most(next(), 2);
        }
        self.infer_dso_local(&mut symbol, fields.or_zero(next()) == 1);
        if let (Some(offset), Some(size)) = (fields.get(next()), fields.get(next())) {
            symbol.partition = self.string_table(offset, size).to_vec();
        }
        let index = narrow(self.aliases.len() as u64);
        self.aliases.push(Alias { symbol, indirect, target });
        self.values.push(Value { kind: ValueKind::Alias(index), ty: pointer });
        Some(())
    }

    /// Parses `[selection]` with the name in the string table, or `[selection, length, characters…]`.
    pub(crate) fn parse_comdat(&mut self, values: &[u64]) -> Option<()> {
        let fields = self.fields(values)?;
        let selection = fields.get(0)?;
        let name = if self.version < 2 {
            let length = usize::try_from(fields.get(1)?).ok()?;
            let characters = fields.values.get(2..)?.get(..length)?;
            text(characters)
        } else {
            fields.name
        };
        self.comdats.push(Comdat { name, selection });
        Some(())
    }
}
