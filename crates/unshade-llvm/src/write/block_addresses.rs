//! The functions that take addresses of blocks of other functions, which LLVM 19 lists in the function of the blocks.
//!
//! They are listed in the order of LLVM's list of uses: those after the function from the last to the first, then those
//! before it, whose references were forward references.

use super::Writer;
use super::operands;
use super::source::{Key, Scope, Source};
use crate::body_reader::code;
use crate::constants::Constant;
use crate::global::Function;
use crate::ids::ValueId;
use crate::value::{OperandKind, ValueKind};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use unshade_core::Result;

/// The functions that take addresses of blocks.
#[derive(Default)]
pub(super) struct AddressUsers {
    /// Function of the block, block, function that takes the address; by index.
    users: BTreeSet<(u32, u32, u32)>,
}

impl AddressUsers {
    /// Collects the addresses of blocks in all bodies.
    pub(super) fn of(source: &Source<'_, '_>) -> Result<Self> {
        let mut users = Self::default();
        let is_address = |constants: &crate::constants::Constants| constants.has_block_addresses();
        if !is_address(&source.module.constants) && !source.bodies.iter().any(|body| is_address(&body.constants)) {
            return Ok(users);
        }
        for (index, body) in source.bodies.iter().enumerate() {
            let scope = Scope::body(index);
            let mut seen = BTreeSet::new();
            for (_, instruction) in body.listed_instructions() {
                let mut stack = Vec::new();
                operands::for_each(body, instruction, |operand| {
                    if let OperandKind::Value(id) = operand.kind() {
                        stack.extend(source.value_key(scope, id));
                    }
                });
                while let Some(key) = stack.pop() {
                    if seen.insert(key.key) {
                        users.visit(source, key, body.function, &mut stack)?;
                    }
                }
            }
        }
        Ok(users)
    }

    fn visit(&mut self, source: &Source<'_, '_>, key: Key, user: u32, stack: &mut Vec<Key>) -> Result<()> {
        let value = source.value(key)?;
        let Some((constant, constants)) = source.constant(key, value) else { return Ok(()) };
        if let Constant::BlockAddress { function, block } = constant {
            let function = source.value(source.value_key(key.scope, function)?)?;
            if let ValueKind::Function(function) = function.kind
                && function != user
            {
                self.users.insert((function, block.0, user));
            }
            return Ok(());
        }
        for &operand in source.operands_of(constant, constants).as_slice() {
            stack.push(source.value_key(key.scope, operand)?);
        }
        Ok(())
    }

    /// Returns the functions that take addresses of blocks of a function.
    fn of_function(&self, function: u32) -> Vec<u32> {
        let all: Vec<_> = self.users.range((function, 0, 0)..(function + 1, 0, 0)).collect();
        let mut users = Vec::new();
        for of_block in all.chunk_by(|one, other| one.1 == other.1) {
            let later = of_block.iter().rev().filter(|(_, _, user)| *user > function);
            let earlier = of_block.iter().filter(|(_, _, user)| *user < function);
            for &&(_, _, user) in later.chain(earlier) {
                if !users.contains(&user) {
                    users.push(user);
                }
            }
        }
        users
    }
}

impl Writer<'_, '_> {
    /// Lists the other functions that take addresses of blocks of a function, if there are any.
    pub(super) fn address_users(&mut self, function: &Function) -> Result<()> {
        let module = self.numbering.source.module;
        let value = self.numbering.source.value_key(Scope::MODULE, function.symbol.value)?;
        let ValueKind::Function(index) = self.numbering.source.value(value)?.kind else { return Ok(()) };
        let mut users: Vec<u64> = Vec::new();
        for user in self.address_users.of_function(index) {
            let value = module.functions.get(user as usize).map_or(ValueId::NONE, |user| user.symbol.value);
            users.push(self.numbering.value(Scope::MODULE, value)?.into());
        }
        if !users.is_empty() {
            self.stream.record(code::BLOCKADDR_USERS, &users);
        }
        Ok(())
    }
}
