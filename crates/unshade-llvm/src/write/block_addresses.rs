//! The functions that take addresses of blocks of other functions, which LLVM 19 lists in the function of the blocks.
//!
//! LLVM walks from each address to its users, and through constants to theirs, those that were made last first. Users of
//! an address before its function come after all others in the order of the file, because their references were forward
//! references.
//!
//! Knowledge: the writer of functions in LLVM 19's `BitcodeWriter.cpp`.

use super::Writer;
use super::operands;
use super::source::{Key, Scope, Source};
use crate::body_reader::code;
use crate::constants::{Constant, Constants};
use crate::global::Function;
use crate::ids::ValueId;
use crate::value::{OperandKind, ValueKind};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use unshade_core::Result;

/// A user of a constant: another constant, by its key, or a function with an instruction that uses it, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Constant(u32),
    Function(u32),
}

/// The users of addresses of blocks.
#[derive(Default)]
pub(super) struct AddressUsers {
    /// The keys of addresses, by function and block.
    addresses: BTreeSet<(u32, u32, u32)>,
    /// The users of each constant, in the order of the file.
    users: BTreeMap<u32, Vec<User>>,
}

impl AddressUsers {
    /// Collects the addresses of blocks in all bodies.
    pub(super) fn of(source: &Source<'_, '_>) -> Result<Self> {
        let mut users = Self::default();
        if !source.module.constants.has_block_addresses()
            && !source.bodies.iter().any(|body| body.constants.has_block_addresses())
        {
            return Ok(users);
        }
        let mut seen = BTreeSet::new();
        for (index, body) in source.bodies.iter().enumerate() {
            let scope = Scope::body(index);
            for (_, instruction) in body.listed_instructions() {
                let mut used = Vec::new();
                operands::for_each(body, instruction, |operand| {
                    if let OperandKind::Value(id) = operand.kind() {
                        used.extend(source.value_key(scope, id));
                    }
                });
                for key in used {
                    users.add(key.key, User::Function(body.function));
                    users.visit(source, key, &mut seen)?;
                }
            }
        }
        Ok(users)
    }

    fn add(&mut self, used: u32, user: User) {
        let users = self.users.entry(used).or_default();
        if users.last() != Some(&user) {
            users.push(user);
        }
    }

    /// Notes who uses the operands of a constant, and theirs.
    fn visit(&mut self, source: &Source<'_, '_>, key: Key, seen: &mut BTreeSet<u32>) -> Result<()> {
        let mut stack = alloc::vec![key];
        while let Some(key) = stack.pop() {
            let value = source.value(key)?;
            let Some((constant, constants)) = source.constant(key, value) else { continue };
            if !seen.insert(key.key) {
                continue;
            }
            if let Constant::BlockAddress { function, block } = constant {
                let function = source.value(source.value_key(key.scope, function)?)?;
                if let ValueKind::Function(function) = function.kind {
                    self.addresses.insert((function, block.0, key.key));
                }
                continue;
            }
            self.visit_operands(source, key, constant, constants, &mut stack)?;
        }
        Ok(())
    }

    fn visit_operands<'i>(
        &mut self,
        source: &Source<'i, '_>,
        key: Key,
        constant: Constant,
        constants: &'i Constants,
        stack: &mut Vec<Key>,
    ) -> Result<()> {
        for &operand in source.operands_of(constant, constants).as_slice() {
            let operand = source.value_key(key.scope, operand)?;
            self.add(operand.key, User::Constant(key.key));
            stack.push(operand);
        }
        Ok(())
    }

    /// Returns the functions that take addresses of blocks of a function.
    fn of_function(&self, function: u32) -> Vec<u32> {
        let mut result = Vec::new();
        for &(.., address) in self.addresses.range((function, 0, 0)..(function + 1, 0, 0)) {
            let mut visited = BTreeSet::from([address]);
            let mut stack = alloc::vec![address];
            while let Some(used) = stack.pop() {
                let users = self.users.get(&used).map_or(&[][..], Vec::as_slice);
                let is_earlier = |user: &&User| {
                    used == address && matches!(**user, User::Function(user) if user < function)
                };
                let later = users.iter().rev().filter(|user| !is_earlier(user));
                for user in later.chain(users.iter().filter(is_earlier)) {
                    match *user {
                        User::Function(user) if user != function && !result.contains(&user) => result.push(user),
                        User::Constant(user) if visited.insert(user) => stack.push(user),
                        _ => {}
                    }
                }
            }
        }
        result
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
