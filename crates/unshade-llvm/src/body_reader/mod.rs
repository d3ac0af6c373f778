//! Reads a function's block (`FUNCTION_BLOCK_ID`).
//!
//! Values are numbered as they are defined. From module version 1 on, operands are stored relative to the number
//! of the next value. A forward reference carries its type, because the value it refers to is not known yet. A
//! record that can't be read ends the function, because all later value numbers are uncertain; the instructions
//! before it are kept.
//!
//! Knowledge: `FunctionCodes` of LLVM's `LLVMBitCodes.h` (3.2 to 22).

mod calls;
mod memory;

use crate::bitstream::{self, Cursor, Entry, Record};
use crate::blocks;
use crate::body::{Bundle, DebugRecord, FunctionBody, Location, UseList};
use crate::global::Function;
use crate::ids::{BlockId, MetadataId, Slice, TypeId, ValueId, narrow, unrotate};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::{MetadataExtras, Metadata};
use crate::module::Module;
use crate::types::Type;
use crate::value::{Operand, Value, ValueKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

impl Module<'_> {
    /// Reads the body of a function, given by its index in [`Module::functions`].
    ///
    /// # Errors
    /// If the function has no body. What can't be read is reported in [`FunctionBody::diagnostics`].
    pub fn body(&self, function: usize) -> Result<FunctionBody> {
        let mut body = FunctionBody::default();
        self.read_body(function, &mut body)?;
        Ok(body)
    }

    /// Reads the bodies of all functions that have one, in the order of [`Module::functions`].
    ///
    /// # Errors
    /// If a body is missing. What can't be read is reported in [`FunctionBody::diagnostics`].
    pub fn bodies(&self) -> Result<Vec<FunctionBody>> {
        self.functions_with_bodies().map(|(index, _)| self.body(index)).collect()
    }

    /// Returns the functions that have a body, with their index for [`Module::body`].
    pub fn functions_with_bodies(&self) -> impl Iterator<Item = (usize, &Function)> + '_ {
        self.functions.iter().enumerate().filter(|(_, function)| !function.declaration)
    }

    /// Reads the body of a function into `body`, whose buffers are reused: reading many functions allocates once.
    ///
    /// # Errors
    /// If the function has no body.
    pub fn read_body(&self, function: usize, body: &mut FunctionBody) -> Result<()> {
        BodyReader::read(self, narrow(function as u64), body)
    }
}

pub(crate) mod code {
    pub(crate) const DECLAREBLOCKS: u32 = 1;
    pub(crate) const BINOP: u32 = 2;
    pub(crate) const CAST: u32 = 3;
    pub(crate) const GEP_OLD: u32 = 4;
    pub(crate) const SELECT: u32 = 5;
    pub(crate) const EXTRACTELT: u32 = 6;
    pub(crate) const INSERTELT: u32 = 7;
    pub(crate) const SHUFFLEVEC: u32 = 8;
    pub(crate) const CMP: u32 = 9;
    pub(crate) const RET: u32 = 10;
    pub(crate) const BR: u32 = 11;
    pub(crate) const SWITCH: u32 = 12;
    pub(crate) const INVOKE: u32 = 13;
    pub(crate) const UNREACHABLE: u32 = 15;
    pub(crate) const PHI: u32 = 16;
    pub(crate) const ALLOCA: u32 = 19;
    pub(crate) const LOAD: u32 = 20;
    pub(crate) const VAARG: u32 = 23;
    pub(crate) const STORE_OLD: u32 = 24;
    pub(crate) const EXTRACTVAL: u32 = 26;
    pub(crate) const INSERTVAL: u32 = 27;
    pub(crate) const CMP2: u32 = 28;
    pub(crate) const VSELECT: u32 = 29;
    pub(crate) const INBOUNDS_GEP_OLD: u32 = 30;
    pub(crate) const INDIRECTBR: u32 = 31;
    pub(crate) const DEBUG_LOC_AGAIN: u32 = 33;
    pub(crate) const CALL: u32 = 34;
    pub(crate) const DEBUG_LOC: u32 = 35;
    pub(crate) const FENCE: u32 = 36;
    pub(crate) const CMPXCHG_OLD: u32 = 37;
    pub(crate) const ATOMICRMW_OLD: u32 = 38;
    pub(crate) const RESUME: u32 = 39;
    pub(crate) const LANDINGPAD_OLD: u32 = 40;
    pub(crate) const LOADATOMIC: u32 = 41;
    pub(crate) const STOREATOMIC_OLD: u32 = 42;
    pub(crate) const GEP: u32 = 43;
    pub(crate) const STORE: u32 = 44;
    pub(crate) const STOREATOMIC: u32 = 45;
    pub(crate) const CMPXCHG: u32 = 46;
    pub(crate) const LANDINGPAD: u32 = 47;
    pub(crate) const CLEANUPRET: u32 = 48;
    pub(crate) const CATCHRET: u32 = 49;
    pub(crate) const CATCHPAD: u32 = 50;
    pub(crate) const CLEANUPPAD: u32 = 51;
    pub(crate) const CATCHSWITCH: u32 = 52;
    pub(crate) const OPERAND_BUNDLE: u32 = 55;
    pub(crate) const UNOP: u32 = 56;
    pub(crate) const CALLBR: u32 = 57;
    pub(crate) const FREEZE: u32 = 58;
    pub(crate) const ATOMICRMW: u32 = 59;
    pub(crate) const BLOCKADDR_USERS: u32 = 60;
    pub(crate) const DEBUG_RECORD_VALUE: u32 = 61;
    pub(crate) const DEBUG_RECORD_VALUE_SIMPLE: u32 = 64;
    pub(crate) const DEBUG_RECORD_LABEL: u32 = 65;
    pub(crate) const DEBUG_RECORD_DECLARE_VALUE: u32 = 66;
}

/// Returns whether a record of this code defines an instruction, or several after an upgrade.
pub(crate) fn is_instruction(code: u32) -> bool {
    !matches!(
        code,
        code::DECLAREBLOCKS
            | code::DEBUG_LOC
            | code::DEBUG_LOC_AGAIN
            | code::OPERAND_BUNDLE
            | code::BLOCKADDR_USERS
            | code::DEBUG_RECORD_VALUE..=code::DEBUG_RECORD_DECLARE_VALUE
    )
}

/// The remaining operands of the record being decoded.
#[derive(Clone, Copy)]
struct Fields<'r> {
    values: &'r [u64],
}

impl<'r> Fields<'r> {
    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        let (&first, rest) = self.values.split_first()?;
        self.values = rest;
        Some(first)
    }

    fn len(self) -> usize {
        self.values.len()
    }

    fn is_empty(self) -> bool {
        self.values.is_empty()
    }
}

pub(crate) struct BodyReader<'m, 'a> {
    module: &'m Module<'a>,
    body: &'m mut FunctionBody,
    /// The types that forward references carry, by value number.
    forward_types: BTreeMap<u32, TypeId>,
    declared_blocks: u64,
    block_start: u32,
    bundles: Vec<Bundle>,
    last_location: u32,
    types: CommonTypes,
}

/// Types that many instructions need, looked up once.
#[derive(Clone, Copy)]
struct CommonTypes {
    void: TypeId,
    bit: TypeId,
    token: TypeId,
}

impl<'m, 'a> BodyReader<'m, 'a> {
    /// Reads the body of a function into `body`, whose buffers are reused.
    ///
    /// # Errors
    /// If the function has no body, or its block can't be entered.
    pub(crate) fn read(module: &'m Module<'a>, function: u32, body: &'m mut FunctionBody) -> Result<()> {
        let declared = module.functions.get(function as usize);
        let Some((declared, position)) = declared.and_then(|f| Some((f, f.body?))) else {
            return Err(Error::without_offset(ErrorKind::OutOfRange, "function has no body"));
        };
        let find = |ty| module.types.find(ty).unwrap_or(TypeId::NONE);
        let types =
            CommonTypes { void: find(Type::Void), bit: find(Type::Integer(1)), token: find(Type::Token) };
        let value_base = narrow(module.values.len() as u64);
        body.clear(function, value_base, narrow(module.metadata.len() as u64));
        if let Type::Function { parameters, .. } = module.types.get(declared.symbol.ty) {
            for (at, &ty) in (0u32..).zip(module.types.elements(parameters)) {
                body.values.push(Value { kind: ValueKind::Argument(at), ty });
            }
        }
        let mut reader = Self {
            module,
            body,
            forward_types: BTreeMap::new(),
            declared_blocks: 0,
            block_start: 0,
            bundles: Vec::new(),
            last_location: 0,
            types,
        };
        let mut cursor = module.cursor_at(position);
        let bits = cursor.enter_sized_block(blocks::FUNCTION)?;
        reader.reserve(bits);
        if let Err(error) = reader.read_block(&mut cursor) {
            reader.body.diagnostics.error("llvm-function", error);
        }
        reader.finish();
        Ok(())
    }

    /// Reserves what a block of this size usually holds, so that the tables are not reallocated step by step.
    fn reserve(&mut self, bits: usize) {
        const BITS_PER_INSTRUCTION: usize = 64;
        let instructions = bits / BITS_PER_INSTRUCTION;
        self.body.instructions.reserve(instructions);
        self.body.values.reserve(instructions);
        self.body.operands.reserve(instructions.saturating_mul(2));
    }

    fn read_block(&mut self, cursor: &mut Cursor<'a>) -> Result<()> {
        let mut record = Record::default();
        loop {
            match cursor.advance_entry()? {
                Entry::EndBlock => return Ok(()),
                Entry::Block(block) => self.read_inner_block(cursor, block)?,
                Entry::Record(id) => {
                    cursor.read_record(id, &mut record)?;
                    if self.read_record(&record).is_none() {
                        return Err(Self::unreadable(&record));
                    }
                }
            }
        }
    }

    #[cold]
    fn unreadable(record: &Record) -> Error {
        Error::new(ErrorKind::BadValue, record.offset, "instruction can't be read")
            .found(alloc::format!("code {} of {} operands", record.code, record.values.len()))
    }

    fn read_inner_block(&mut self, cursor: &mut Cursor<'a>, block: u32) -> Result<()> {
        let body = &mut *self.body;
        match block {
            blocks::CONSTANTS => {
                let types = &self.module.types;
                body.constants.read(cursor, block, types, &mut body.values, &mut body.diagnostics)
            }
            blocks::METADATA => {
                let mut extras = MetadataExtras::default();
                let types = self.module.metadata_types();
                body.metadata.read(cursor, block, types, &mut extras, &mut body.diagnostics)
            }
            blocks::METADATA_ATTACHMENT => self.read_attachments(cursor, block),
            blocks::VALUE_SYMTAB => self.read_names(cursor, block),
            blocks::USELIST => self.read_use_lists(cursor, block),
            _ => cursor.skip_block(),
        }
    }

    /// Calls `take` for every record of a block; `None` ends the block with an error.
    fn for_records(
        cursor: &mut Cursor<'a>,
        block: u32,
        mut take: impl FnMut(&Record) -> Option<()>,
    ) -> Result<()> {
        cursor.for_records(block, |_, record| take(record).ok_or_else(|| Self::unreadable(record)))
    }

    fn read_attachments(&mut self, cursor: &mut Cursor<'a>, block: u32) -> Result<()> {
        let body = &mut *self.body;
        Self::for_records(cursor, block, |record| {
            if record.values.len() % 2 == 0 {
                body.function_attachments.extend(crate::metadata::attachments(&record.values));
            } else {
                let (&instruction, rest) = record.values.split_first()?;
                let attached = Slice::extend(&mut body.attached, crate::metadata::attachments(rest));
                body.attachments.push((narrow(instruction), attached));
            }
            Some(())
        })?;
        if !body.attachments.is_sorted_by_key(|(instruction, _)| *instruction) {
            body.attachments.sort_by_key(|(instruction, _)| *instruction);
        }
        Ok(())
    }

    fn read_names(&mut self, cursor: &mut Cursor<'a>, block: u32) -> Result<()> {
        let body = &mut *self.body;
        let declared = self.declared_blocks;
        Self::for_records(cursor, block, |record| {
            let (&number, name) = record.values.split_first()?;
            let (list, at, most) = match record.code {
                1 => {
                    let at = narrow(number).checked_sub(body.value_base)?;
                    (&mut body.value_names, at, body.values.len() as u64)
                }
                2 => (&mut body.block_names, narrow(number), declared),
                _ => return Some(()),
            };
            if u64::from(at) >= most {
                return None;
            }
            let name = Slice::extend(&mut body.name_bytes, bitstream::characters(name));
            let at = at as usize;
            if list.len() <= at {
                list.resize(at.saturating_add(1).min(1 << 26), Slice::default());
            }
            list.get_mut(at).map(|slot| *slot = name)
        })
    }

    fn read_use_lists(&mut self, cursor: &mut Cursor<'a>, block: u32) -> Result<()> {
        let body = &mut *self.body;
        Self::for_records(cursor, block, |record| {
            let (&id, order) = record.values.split_last()?;
            let order = order.iter().map(|&index| narrow(index)).collect();
            body.use_lists.push(UseList { block: record.code == 2, id: narrow(id), order });
            Some(())
        })
    }

    fn finish(&mut self) {
        let end = narrow(self.body.instructions.len() as u64);
        if end > self.block_start {
            self.body.blocks.push(Slice { start: self.block_start, count: end.saturating_sub(self.block_start) });
        }
        if (self.body.blocks.len() as u64) < self.declared_blocks && self.body.diagnostics.is_empty() {
            let error = Error::without_offset(ErrorKind::BadValue, "function has fewer blocks than it declares");
            self.body.diagnostics.error("llvm-function", error);
        }
        self.check_forward_types();
        let defined = u64::from(self.body.value_base).saturating_add(self.body.values.len() as u64);
        if self.forward_types.keys().next_back().is_some_and(|&id| u64::from(id) >= defined) {
            let message = "instruction uses a value that is never defined";
            let error = Error::without_offset(ErrorKind::OutOfRange, message);
            self.body.diagnostics.error("llvm-unresolved", error);
        }
    }

    /// Reports values whose type differs from that of a forward reference or of metadata that wraps them.
    fn check_forward_types(&mut self) {
        let types = &self.module.types;
        let differs = |id: ValueId, expected: TypeId| match self.body.value(id) {
            Some(value) if value.ty != expected => {
                types.address_space(value.ty).is_none()
                    || types.address_space(value.ty) != types.address_space(expected)
            }
            _ => false,
        };
        let wrong = self.forward_types.iter().any(|(&id, &expected)| differs(ValueId(id), expected))
            || self.body.metadata.iter().any(|(_, entry)| match entry {
                Metadata::Value { ty, value } => differs(value, ty),
                _ => false,
            });
        if wrong {
            let message = "type of a value differs from the type of a forward reference to it";
            let error = Error::without_offset(ErrorKind::BadValue, message);
            self.body.diagnostics.error("llvm-function", error);
        }
    }

    /// Returns the number of the next value.
    #[inline(always)]
    fn next_value(&self) -> u32 {
        self.body.value_base.wrapping_add(narrow(self.body.values.len() as u64))
    }

    #[inline]
    fn type_of(&self, id: ValueId) -> TypeId {
        if let Some(value) = self.body.values.get(id.0.wrapping_sub(self.body.value_base) as usize) {
            return value.ty;
        }
        if let Some(value) = self.module.values.get(id.index()) {
            return value.ty;
        }
        if let Some(value) = self.body.value(id) {
            return value.ty;
        }
        self.forward_types.get(&id.0).copied().unwrap_or(TypeId::NONE)
    }

    /// Converts a stored value number to an absolute one.
    #[inline(always)]
    fn absolute(&self, stored: u64) -> u32 {
        let stored = (stored & 0xFFFF_FFFF) as u32;
        if self.module.version >= 1 { self.next_value().wrapping_sub(stored) } else { stored }
    }

    /// Reads an operand with its type, which is stored if the operand is a forward reference.
    #[inline(always)]
    fn typed(&mut self, fields: &mut Fields<'_>) -> Option<(ValueId, TypeId)> {
        let id = self.absolute(fields.next()?);
        if id < self.next_value() {
            return Some((ValueId(id), self.type_of(ValueId(id))));
        }
        let ty = TypeId(narrow(fields.next()?));
        self.add_forward_reference(id, ty)?;
        Some((ValueId(id), ty))
    }

    /// Reads an operand whose type follows from the instruction.
    #[inline]
    fn untyped(&mut self, fields: &mut Fields<'_>, ty: TypeId) -> Option<ValueId> {
        let id = self.absolute(fields.next()?);
        if id >= self.next_value() {
            self.add_forward_reference(id, ty)?;
        }
        Some(ValueId(id))
    }

    /// Records the type of a forward reference.
    fn add_forward_reference(&mut self, id: u32, ty: TypeId) -> Option<()> {
        if id >= FunctionBody::UNNUMBERED {
            return None;
        }
        self.forward_types.insert(id, ty);
        Some(())
    }

    fn block_operand(&self, stored: u64) -> Option<Operand> {
        (stored < self.declared_blocks).then(|| Operand::block(BlockId(narrow(stored))))
    }

    #[inline(always)]
    fn operands<const N: usize>(&mut self, operands: &[Operand; N]) -> Slice {
        let start = narrow(self.body.operands.len() as u64);
        self.body.operands.extend_from_slice(operands);
        Slice { start, count: narrow(N as u64) }
    }

    fn ty(&self, stored: u64) -> Option<TypeId> {
        let ty = TypeId(narrow(stored));
        self.module.types.contains(ty).then_some(ty)
    }

    /// Appends an instruction; unless it is `void`, its result is the next value.
    fn push(&mut self, mut instruction: Instruction) {
        if instruction.ty != self.types.void {
            instruction.result = ValueId(self.next_value());
            let kind = ValueKind::Instruction(narrow(self.body.instructions.len() as u64));
            self.body.values.push(Value { kind, ty: instruction.ty });
        }
        self.append(instruction);
    }

    /// Appends an instruction whose result has no number in the file, and returns the id of the result.
    fn push_unnumbered(&mut self, mut instruction: Instruction) -> ValueId {
        let id = FunctionBody::UNNUMBERED.saturating_add(narrow(self.body.unnumbered.len() as u64));
        let kind = ValueKind::Instruction(narrow(self.body.instructions.len() as u64));
        self.body.unnumbered.push(Value { kind, ty: instruction.ty });
        instruction.result = ValueId(id);
        self.append(instruction);
        ValueId(id)
    }

    fn append(&mut self, instruction: Instruction) {
        self.body.instructions.push(instruction);
        if instruction.opcode.is_terminator() {
            let end = narrow(self.body.instructions.len() as u64);
            self.body.blocks.push(Slice { start: self.block_start, count: end.wrapping_sub(self.block_start) });
            self.block_start = end;
        }
    }

    fn plain(&self, opcode: Opcode, ty: TypeId, operands: Slice) -> Instruction {
        Instruction { operands, ..Instruction::new(opcode, ty) }
    }

    fn read_record(&mut self, record: &Record) -> Option<()> {
        let fields = Fields { values: &record.values };
        if record.code > code::DECLAREBLOCKS && self.body.blocks.len() as u64 >= self.declared_blocks {
            // After the last block, only records that belong to the last instruction are valid.
            if !matches!(
                record.code,
                code::DEBUG_LOC | code::DEBUG_LOC_AGAIN | code::BLOCKADDR_USERS | code::DEBUG_RECORD_VALUE..
            ) {
                return None;
            }
        }
        match record.code {
            code::BINOP => self.binary(fields),
            code::CAST => self.cast(fields),
            code::GEP | code::GEP_OLD | code::INBOUNDS_GEP_OLD => self.element_pointer(fields, record.code),
            code::LOAD | code::LOADATOMIC => self.load(fields, record.code == code::LOADATOMIC),
            code::STORE | code::STORE_OLD | code::STOREATOMIC | code::STOREATOMIC_OLD => {
                self.store(fields, record.code)
            }
            code::BR => self.branch(fields),
            code::PHI => self.phi(fields),
            code::CMP | code::CMP2 => self.compare(fields),
            code::CALL => self.call(fields),
            code::DEBUG_LOC => self.debug_location(fields),
            code::DEBUG_LOC_AGAIN => self.locate_last(self.last_location),
            code::SELECT | code::VSELECT => self.select(fields, record.code),
            code::EXTRACTELT => self.extract_element(fields),
            code::INSERTELT => self.insert_element(fields),
            code::SHUFFLEVEC => self.shuffle(fields),
            code::EXTRACTVAL => self.extract_value(fields),
            code::INSERTVAL => self.insert_value(fields),
            code::UNOP => self.unary(fields),
            code::FREEZE => self.freeze(fields),
            code::RET => self.ret(fields),
            code::SWITCH => self.switch(fields),
            code::INDIRECTBR => self.indirect_branch(fields),
            code::UNREACHABLE => {
                self.push(self.plain(Opcode::Unreachable, self.types.void, Slice::default()));
                Some(())
            }
            code::ALLOCA => self.alloca(fields),
            code::DECLAREBLOCKS => {
                self.declared_blocks = *record.values.first()?;
                Some(())
            }
            code::OPERAND_BUNDLE => self.bundle(fields),
            code::INVOKE => self.invoke(fields),
            code::CALLBR => self.call_branch(fields),
            code::VAARG => self.va_arg(fields),
            code::FENCE => self.fence(fields),
            code::CMPXCHG | code::CMPXCHG_OLD => self.compare_exchange(fields, record.code),
            code::ATOMICRMW | code::ATOMICRMW_OLD => self.atomic_operation(fields, record.code),
            code::RESUME => self.one_operand(fields, Opcode::Resume),
            code::LANDINGPAD | code::LANDINGPAD_OLD => self.landing_pad(fields, record.code),
            code::CLEANUPRET | code::CATCHRET => self.pad_return(fields, record.code),
            code::CATCHPAD | code::CLEANUPPAD => self.pad(fields, record.code),
            code::CATCHSWITCH => self.catch_switch(fields),
            // Lists the functions that take the address of a block of this one; the reader does not need it.
            code::BLOCKADDR_USERS => Some(()),
            code::DEBUG_RECORD_VALUE..=code::DEBUG_RECORD_DECLARE_VALUE => self.debug_record(record),
            _ => None,
        }
    }

    fn binary(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (left, ty) = self.typed(&mut fields)?;
        let right = self.untyped(&mut fields, ty)?;
        let float = self.module.types.is_float(ty);
        if !float && !matches!(self.module.types.get(self.module.types.scalar(ty)), Type::Integer(_)) {
            return None;
        }
        let opcode = Opcode::binary(fields.next()?, float)?;
        let flags = fields.next().unwrap_or(0);
        let operands = self.operands(&[Operand::value(left), Operand::value(right)]);
        let mut instruction = self.plain(opcode, ty, operands);
        instruction.flags = (flags & 0xFFFF) as u16;
        self.push(instruction);
        Some(())
    }

    fn unary(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (value, ty) = self.typed(&mut fields)?;
        if fields.next()? != 0 {
            return None;
        }
        let flags = fields.next().unwrap_or(0);
        let operands = self.operands(&[Operand::value(value)]);
        let mut instruction = self.plain(Opcode::FNeg, ty, operands);
        instruction.flags = (flags & 0xFFFF) as u16;
        self.push(instruction);
        Some(())
    }

    fn cast(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (value, from) = self.typed(&mut fields)?;
        let ty = self.ty(fields.next()?)?;
        let opcode = Opcode::cast(fields.next()?)?;
        let flags = fields.next().unwrap_or(0);
        let mut operands = self.operands(&[Operand::value(value)]);
        let mut opcode = opcode;
        if opcode == Opcode::BitCast && self.changes_address_space(from, ty) {
            // Such bitcasts are no longer valid; LLVM upgrades them to a pair of casts through an integer.
            let word = self.module.types.find(Type::Integer(64))?;
            let middle = self.push_unnumbered(self.plain(Opcode::PtrToInt, word, operands));
            operands = self.operands(&[Operand::value(middle)]);
            opcode = Opcode::IntToPtr;
        }
        let mut instruction = self.plain(opcode, ty, operands);
        instruction.flags = (flags & 0xFFFF) as u16;
        self.push(instruction);
        Some(())
    }

    fn changes_address_space(&self, from: TypeId, to: TypeId) -> bool {
        let types = &self.module.types;
        matches!((types.address_space(from), types.address_space(to)), (Some(a), Some(b)) if a != b)
    }

    fn phi(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let ty = self.ty(fields.next()?)?;
        let start = self.body.operands.len();
        while fields.len() >= 2 {
            let stored = fields.next()?;
            let id = if self.module.version >= 1 {
                self.next_value().wrapping_sub((unrotate(stored) & 0xFFFF_FFFF) as u32)
            } else {
                narrow(stored)
            };
            if id >= self.next_value() {
                self.add_forward_reference(id, ty)?;
            }
            let block = self.block_operand(fields.next()?)?;
            self.body.operands.push(Operand::value(ValueId(id)));
            self.body.operands.push(block);
        }
        let count = narrow(self.body.operands.len().wrapping_sub(start) as u64);
        let mut instruction =
            self.plain(Opcode::Phi, ty, Slice { start: narrow(start as u64), count });
        instruction.flags = (fields.next().unwrap_or(0) & 0xFFFF) as u16;
        self.push(instruction);
        Some(())
    }

    fn compare(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (left, ty) = self.typed(&mut fields)?;
        let right = self.untyped(&mut fields, ty)?;
        let predicate = fields.next()?;
        let flags = fields.next().unwrap_or(0);
        let types = &self.module.types;
        let result = match self.lanes(ty) {
            Some((count, scalable)) => types.find(Type::Vector { count, element: self.types.bit, scalable })?,
            None => self.types.bit,
        };
        let opcode = if types.is_float(ty) { Opcode::FCmp } else { Opcode::ICmp };
        let operands = self.operands(&[Operand::value(left), Operand::value(right)]);
        let mut instruction = self.plain(opcode, result, operands);
        instruction.flags = (flags & 0xFFFF) as u16;
        instruction.detail = narrow(predicate);
        self.push(instruction);
        Some(())
    }

    fn select(&mut self, mut fields: Fields<'_>, code: u32) -> Option<()> {
        let (then, ty) = self.typed(&mut fields)?;
        let otherwise = self.untyped(&mut fields, ty)?;
        let condition = match code {
            code::SELECT => self.untyped(&mut fields, self.types.bit)?,
            _ => self.typed(&mut fields)?.0,
        };
        let operands =
            self.operands(&[Operand::value(condition), Operand::value(then), Operand::value(otherwise)]);
        let mut instruction = self.plain(Opcode::Select, ty, operands);
        instruction.flags = (fields.next().unwrap_or(0) & 0xFFFF) as u16;
        self.push(instruction);
        Some(())
    }

    fn extract_element(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (vector, vector_type) = self.typed(&mut fields)?;
        let (index, _) = self.typed(&mut fields)?;
        let ty = self.module.types.child(vector_type, 0)?;
        let operands = self.operands(&[Operand::value(vector), Operand::value(index)]);
        self.push(self.plain(Opcode::ExtractElement, ty, operands));
        Some(())
    }

    fn insert_element(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (vector, ty) = self.typed(&mut fields)?;
        let element_type = self.module.types.child(ty, 0)?;
        let element = self.untyped(&mut fields, element_type)?;
        let (index, _) = self.typed(&mut fields)?;
        let operands =
            self.operands(&[Operand::value(vector), Operand::value(element), Operand::value(index)]);
        self.push(self.plain(Opcode::InsertElement, ty, operands));
        Some(())
    }

    fn shuffle(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (first, ty) = self.typed(&mut fields)?;
        let second = self.untyped(&mut fields, ty)?;
        let (mask, mask_type) = self.typed(&mut fields)?;
        let (count, scalable) = self.lanes(mask_type)?;
        let element = self.module.types.child(ty, 0)?;
        let result = self.module.types.find(Type::Vector { count, element, scalable })?;
        let operands = self.operands(&[Operand::value(first), Operand::value(second), Operand::value(mask)]);
        self.push(self.plain(Opcode::ShuffleVector, result, operands));
        Some(())
    }

    /// Stores indices into an aggregate, and returns the type that they select, their start and their number.
    fn take_indices(&mut self, fields: Fields<'_>, aggregate: TypeId) -> Option<(TypeId, u32, u32)> {
        let start = narrow(self.body.indices.len() as u64);
        let mut ty = aggregate;
        for &index in fields.values {
            if matches!(self.module.types.get(ty), Type::Vector { .. }) {
                return None;
            }
            ty = self.module.types.child(ty, index)?;
            self.body.indices.push(narrow(index));
        }
        Some((ty, start, narrow(fields.len() as u64)))
    }

    fn extract_value(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (aggregate, aggregate_type) = self.typed(&mut fields)?;
        let (ty, start, count) = self.take_indices(fields, aggregate_type)?;
        let operands = self.operands(&[Operand::value(aggregate)]);
        let mut instruction = self.plain(Opcode::ExtractValue, ty, operands);
        (instruction.detail, instruction.extra) = (start, count);
        self.push(instruction);
        Some(())
    }

    fn insert_value(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (aggregate, ty) = self.typed(&mut fields)?;
        let (value, _) = self.typed(&mut fields)?;
        let (_, start, count) = self.take_indices(fields, ty)?;
        let operands = self.operands(&[Operand::value(aggregate), Operand::value(value)]);
        let mut instruction = self.plain(Opcode::InsertValue, ty, operands);
        (instruction.detail, instruction.extra) = (start, count);
        self.push(instruction);
        Some(())
    }

    fn freeze(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (value, ty) = self.typed(&mut fields)?;
        let operands = self.operands(&[Operand::value(value)]);
        self.push(self.plain(Opcode::Freeze, ty, operands));
        Some(())
    }

    fn ret(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let mut operands = Slice::default();
        if !fields.is_empty() {
            let (value, _) = self.typed(&mut fields)?;
            operands = self.operands(&[Operand::value(value)]);
        }
        self.push(self.plain(Opcode::Ret, self.types.void, operands));
        Some(())
    }

    fn one_operand(&mut self, mut fields: Fields<'_>, opcode: Opcode) -> Option<()> {
        let (value, _) = self.typed(&mut fields)?;
        let operands = self.operands(&[Operand::value(value)]);
        self.push(self.plain(opcode, self.types.void, operands));
        Some(())
    }

    fn operands_from(&self, start: usize) -> Slice {
        let count = narrow(self.body.operands.len().wrapping_sub(start) as u64);
        Slice { start: narrow(start as u64), count }
    }

    /// Reads `[line, column, scope + 1, inlined-at + 1, implicit?, atom group?, atom rank?]`.
    fn debug_location(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let line = narrow(fields.next()?);
        let column = narrow(fields.next()?);
        let mut reference =
            || Some(fields.next()?.checked_sub(1).map_or(MetadataId::NONE, |id| MetadataId(narrow(id))));
        let (scope, inlined_at) = (reference()?, reference()?);
        let implicit = fields.next().unwrap_or(0) != 0;
        let atom_group = fields.next().unwrap_or(0);
        let atom_rank = fields.next().unwrap_or(0).to_le_bytes()[0];
        let location = Location { line, column, scope, inlined_at, implicit, atom_group, atom_rank };
        self.body.locations.push(location);
        self.last_location = narrow(self.body.locations.len() as u64);
        self.locate_last(self.last_location)
    }

    fn locate_last(&mut self, location: u32) -> Option<()> {
        self.body.instructions.last_mut()?.location = location;
        Some(())
    }

    fn debug_record(&mut self, record: &Record) -> Option<()> {
        let mut operands = record.values.to_vec();
        // Only the simple form refers to a value; the others refer to metadata.
        if record.code == code::DEBUG_RECORD_VALUE_SIMPLE {
            let mut fields = Fields { values: record.values.get(3..)? };
            let (value, _) = self.typed(&mut fields)?;
            operands.truncate(3);
            operands.push(u64::from(value.0));
        }
        // A debug record precedes, in the text, the instruction that it follows in the file.
        let before = narrow(self.body.instructions.len().checked_sub(1)? as u64);
        self.body.debug_records.push(DebugRecord { before, code: record.code, operands });
        Some(())
    }
}
