//! The state of a function that is built: its values, its blocks, and what all instructions have in common.
//!
//! Instructions are kept in the order of the calls, and each block has a list of its own. They come into the order of
//! blocks, which is that in which blocks were selected first, when the body ends.

use super::{FastMath, ModuleBuilder, refused};
use crate::body::{FunctionBody, Location};
use crate::ids::{BlockId, MetadataId, Slice, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::Metadata;
use crate::types::Type;
use crate::value::{Operand, OperandKind, Value, ValueKind};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};
use unshade_core::{Error, ErrorKind, Result};

/// Makes the body of a function; the [module documentation](super) has an example.
///
/// It is the builder of the module too: types, constants and metadata are made with the same methods.
#[derive(Debug)]
pub struct FunctionBuilder<'m> {
    pub(super) module: &'m mut ModuleBuilder,
    pub(super) body: FunctionBody,
    /// The type of the result.
    pub(super) result: TypeId,
    pub(super) name: String,
    pub(super) instructions: Vec<PendingInstruction>,
    pub(super) blocks: Vec<PendingBlock>,
    /// The blocks that were selected, in order.
    pub(super) order: Vec<BlockId>,
    pub(super) current: Option<BlockId>,
    pub(super) fast_math: FastMath,
    /// The location of the instructions that follow, plus one.
    location: u32,
    names: BTreeSet<Vec<u8>>,
    parameters: u32,
}

/// An instruction, with its own operands.
#[derive(Debug)]
pub(super) struct PendingInstruction {
    pub(super) instruction: Instruction,
    pub(super) operands: Vec<Operand>,
    pub(super) attached: Vec<(u32, MetadataId)>,
}

/// A block, as indices of instructions.
#[derive(Debug, Default)]
pub(super) struct PendingBlock {
    pub(super) name: Slice,
    pub(super) instructions: Vec<u32>,
    pub(super) is_selected: bool,
}

impl Deref for FunctionBuilder<'_> {
    type Target = ModuleBuilder;

    fn deref(&self) -> &ModuleBuilder {
        self.module
    }
}

impl DerefMut for FunctionBuilder<'_> {
    fn deref_mut(&mut self) -> &mut ModuleBuilder {
        self.module
    }
}

impl ModuleBuilder {
    /// Starts the body of a function.
    ///
    /// # Errors
    /// If the value is no function, or its body was started before.
    pub fn body(&mut self, function: ValueId) -> Result<FunctionBuilder<'_>> {
        let index = self.function_index(function)?;
        let symbol = &self.function_of(function)?.symbol;
        let (ty, name) = (symbol.ty, super::symbols::shown(&symbol.name));
        let Type::Function { result, parameters, .. } = self.module.types.get(ty) else {
            return refused("a function of a type that is none");
        };
        if self.is_open {
            return refused("another body is not finished");
        }
        if !self.started.insert(index) {
            return refused(alloc::format!("function @{name} has a body already"));
        }
        self.is_open = true;
        let (values, metadata) = self.bases();
        let mut body = FunctionBody::default();
        body.clear(index, values, metadata);
        let parameters = self.module.types.elements(parameters);
        let arguments = (0..).zip(parameters).map(|(at, &ty)| Value { kind: ValueKind::Argument(at), ty });
        body.values.extend(arguments);
        let parameters = narrow(body.values.len() as u64);
        Ok(FunctionBuilder {
            module: self,
            body,
            result,
            name,
            instructions: Vec::new(),
            blocks: Vec::new(),
            order: Vec::new(),
            current: None,
            fast_math: FastMath::NONE,
            location: 0,
            names: BTreeSet::new(),
            parameters,
        })
    }
}

impl FunctionBuilder<'_> {
    /// Returns a parameter, from 0 on.
    ///
    /// # Errors
    /// If the function has no such parameter.
    pub fn parameter(&self, at: u32) -> Result<ValueId> {
        match at < self.parameters {
            true => Ok(ValueId(self.body.value_base.saturating_add(at))),
            false => self.fail("a parameter that does not exist is used"),
        }
    }

    /// Returns the type of a value of the function or the module.
    ///
    /// # Errors
    /// If there is no such value.
    pub fn type_of(&self, value: ValueId) -> Result<TypeId> {
        match self.module.module.value(Some(&self.body), value) {
            Some(value) => Ok(value.ty),
            None => self.fail("a value that is not of this function is used"),
        }
    }

    /// Adds a block; an empty name is none. Blocks are written in the order in which they are selected first.
    pub fn block(&mut self, name: &str) -> BlockId {
        let id = BlockId(narrow(self.blocks.len() as u64));
        let name = self.unique_name(name);
        self.blocks.push(PendingBlock { name, ..PendingBlock::default() });
        id
    }

    /// Makes a block the one that instructions are appended to. The first block that is selected is the entry.
    ///
    /// # Errors
    /// If there is no such block.
    pub fn select_block(&mut self, block: BlockId) -> Result<()> {
        let Some(selected) = self.blocks.get_mut(block.index()) else {
            return self.fail("a block that does not exist is used");
        };
        if !selected.is_selected {
            selected.is_selected = true;
            self.order.push(block);
        }
        self.current = Some(block);
        Ok(())
    }

    /// Returns the block that instructions are appended to.
    pub fn current_block(&self) -> Option<BlockId> {
        self.current
    }

    /// Returns whether the current block has a terminator, or there is none.
    pub fn is_terminated(&self) -> bool {
        let last = self.current_state().map(|block| block.instructions.last());
        match last {
            None => true,
            Some(last) => last.is_some_and(|&last| {
                self.instructions
                    .get(last as usize)
                    .is_some_and(|last| last.instruction.opcode.is_terminator())
            }),
        }
    }

    fn current_state(&self) -> Option<&PendingBlock> {
        self.blocks.get(self.current?.index())
    }

    /// Names a value of the function. A name that is taken gets a number.
    ///
    /// # Errors
    /// If this is no value of the function.
    pub fn set_name(&mut self, value: ValueId, name: &str) -> Result<()> {
        let at = value.0.wrapping_sub(self.body.value_base) as usize;
        if at >= self.body.values.len() {
            return self.fail("a value that is not of this function is named");
        }
        let name = self.unique_name(name);
        if self.body.value_names.len() <= at {
            self.body.value_names.resize(at + 1, Slice::default());
        }
        if let Some(slot) = self.body.value_names.get_mut(at) {
            *slot = name;
        }
        Ok(())
    }

    /// Stores a name that no other value or block has.
    fn unique_name(&mut self, name: &str) -> Slice {
        if name.is_empty() {
            return Slice::default();
        }
        let mut unique = name.as_bytes().to_vec();
        let mut number = 1u32;
        while self.names.contains(&unique) {
            unique = alloc::format!("{name}{number}").into_bytes();
            number += 1;
        }
        let slice = Slice::extend(&mut self.body.name_bytes, unique.iter().copied());
        self.names.insert(unique);
        slice
    }

    /// Sets the fast-math flags of the floating-point instructions and calls that follow.
    pub fn set_fast_math(&mut self, flags: FastMath) {
        self.fast_math = flags.of_version(self.module.version);
    }

    /// Sets the source location of the instructions that follow: line, column, and a scope, which is a node of debug
    /// info such as a subprogram.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn set_location(&mut self, line: u32, column: u32, scope: MetadataId) -> Result<()> {
        self.check_node(scope)?;
        let location = Location {
            line,
            column,
            scope,
            inlined_at: MetadataId::NONE,
            implicit: false,
            atom_group: 0,
            atom_rank: 0,
        };
        if self.body.locations.last() != Some(&location) {
            self.body.locations.push(location);
        }
        self.location = narrow(self.body.locations.len() as u64);
        Ok(())
    }

    /// Ends the source location: the instructions that follow have none.
    pub fn clear_location(&mut self) {
        self.location = 0;
    }

    /// Attaches metadata such as `range` to the instruction that was added last.
    ///
    /// # Errors
    /// If there is no instruction or no such node.
    pub fn attach_to_last(&mut self, kind: &str, node: MetadataId) -> Result<()> {
        self.check_node(node)?;
        let kind = self.metadata_kind(kind);
        let Some(last) = self.instructions.last_mut() else {
            return self.fail("metadata is attached to nothing");
        };
        last.attached.retain(|&(known, _)| known != kind);
        last.attached.push((kind, node));
        Ok(())
    }

    /// Returns a value of the function as metadata, which only is an argument of a call.
    ///
    /// # Errors
    /// If there is no such value.
    pub fn local_metadata(&mut self, value: ValueId) -> Result<Operand> {
        if value.index() < self.module.module.values.len() {
            return Ok(Operand::metadata(self.metadata_value(value)?));
        }
        let ty = self.type_of(value)?;
        let entry = Metadata::Value { ty, value };
        let known = self.body.metadata.iter().find(|(_, known)| *known == entry).map(|(id, _)| id);
        Ok(Operand::metadata(known.unwrap_or_else(|| self.body.metadata.add(entry))))
    }

    /// Appends an instruction to the current block, and returns its result.
    pub(super) fn append(&mut self, parts: Instruction, operands: Vec<Operand>) -> Result<ValueId> {
        let mnemonic = parts.opcode.mnemonic();
        if self.current.is_none() {
            return self.fail_in(parts.opcode, "no block is selected");
        }
        if self.is_terminated() {
            return self.fail_in(parts.opcode, "the block has a terminator already");
        }
        for operand in &operands {
            match operand.kind() {
                OperandKind::Block(block) if block.index() >= self.blocks.len() => {
                    return self.fail_in(parts.opcode, "a block that does not exist is used");
                }
                OperandKind::Value(value) => {
                    self.type_of(value).map_err(|error| error.within(mnemonic))?;
                }
                _ => {}
            }
        }
        let index = narrow(self.instructions.len() as u64);
        let mut result = ValueId::NONE;
        if self.module.module.types.get(parts.ty) != Type::Void {
            let id = self.body.value_base.saturating_add(narrow(self.body.values.len() as u64));
            if id >= FunctionBody::UNNUMBERED {
                return self.fail_in(parts.opcode, "module has too many values");
            }
            result = ValueId(id);
            self.body.values.push(Value { kind: ValueKind::Instruction(index), ty: parts.ty });
        }
        let instruction = Instruction { result, location: self.location, ..parts };
        self.instructions.push(PendingInstruction { instruction, operands, attached: Vec::new() });
        if let Some(block) = self.current.and_then(|block| self.blocks.get_mut(block.index())) {
            block.instructions.push(index);
        }
        Ok(result)
    }

    /// Appends an instruction that has values as operands.
    pub(super) fn append_of(&mut self, parts: Instruction, operands: &[ValueId]) -> Result<ValueId> {
        self.append(parts, operands.iter().map(|&id| Operand::value(id)).collect())
    }

    /// Adds a value to a phi: the one that it has when control comes from this block.
    ///
    /// # Errors
    /// If this is no phi, the value has another type, or there is no such block.
    pub fn add_incoming(&mut self, phi: ValueId, value: ValueId, from: BlockId) -> Result<()> {
        let index = match self.body.value(phi).map(|value| value.kind) {
            Some(ValueKind::Instruction(index)) => index as usize,
            _ => return self.fail_in(Opcode::Phi, "a value that is no phi is used as one"),
        };
        let found = self.type_of(value)?;
        if from.index() >= self.blocks.len() {
            return self.fail_in(Opcode::Phi, "a block that does not exist is used");
        }
        match self.instructions.get_mut(index) {
            Some(known) if known.instruction.opcode == Opcode::Phi => {
                if known.instruction.ty != found {
                    return self.fail_types(Opcode::Phi, "a value has another type than the phi", &[found]);
                }
                known.operands.extend([Operand::value(value), Operand::block(from)]);
                Ok(())
            }
            _ => self.fail_in(Opcode::Phi, "a value that is no phi is used as one"),
        }
    }

    /// Returns whether only phis are in the current block.
    pub(super) fn is_at_start(&self) -> bool {
        self.current_state().is_some_and(|block| {
            block.instructions.iter().all(|&at| {
                self.instructions.get(at as usize).is_some_and(|i| i.instruction.opcode == Opcode::Phi)
            })
        })
    }

    /// Returns an error of this function.
    #[cold]
    pub(super) fn fail<T>(&self, message: impl Into<alloc::borrow::Cow<'static, str>>) -> Result<T> {
        Err(self.within(Error::without_offset(ErrorKind::BadValue, message)))
    }

    /// Returns an error of an instruction.
    #[cold]
    pub(super) fn fail_in<T>(
        &self,
        opcode: Opcode,
        message: impl Into<alloc::borrow::Cow<'static, str>>,
    ) -> Result<T> {
        let error = Error::without_offset(ErrorKind::BadValue, message).within(opcode.mnemonic());
        Err(self.within(error))
    }

    /// Returns an error of an instruction, with the types that were found.
    #[cold]
    pub(super) fn fail_types<T>(&self, opcode: Opcode, message: &'static str, types: &[TypeId]) -> Result<T> {
        let found: Vec<String> = types.iter().map(|&ty| alloc::format!("'{}'", self.type_text(ty))).collect();
        let error = Error::without_offset(ErrorKind::BadValue, message).found(found.join(", "));
        Err(self.within(error.within(opcode.mnemonic())))
    }

    fn within(&self, error: Error) -> Error {
        error.within(alloc::format!("function @{}", self.name))
    }
}
