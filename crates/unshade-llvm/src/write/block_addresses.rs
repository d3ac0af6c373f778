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
    /// The first key of equal constants, which are one in LLVM but not in a file: each body has its own.
    first_keys: BTreeMap<Content, u32>,
}

/// What makes a constant equal to another: its tag, its type, and the first keys of its operands.
type Content = (u64, u32, Vec<u32>);

impl AddressUsers {
    /// Collects the addresses of blocks in all bodies.
    pub(super) fn of(source: &Source<'_, '_>) -> Result<Self> {
        let mut users = Self::default();
        if !source.module.constants.has_block_addresses()
            && !source.bodies.iter().any(|body| body.constants.has_block_addresses())
        {
            return Ok(users);
        }
        let mut seen = BTreeMap::new();
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
                    let first = users.visit(source, key, &mut seen)?;
                    users.add(first, User::Function(body.function));
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

    /// Notes who uses the operands of a constant, and theirs. Returns the first key of the constant.
    fn visit(&mut self, source: &Source<'_, '_>, key: Key, seen: &mut BTreeMap<u32, u32>) -> Result<u32> {
        let mut stack = alloc::vec![(key, Vec::new(), 0)];
        let mut last = key.key;
        while let Some((key, operands, next)) = stack.last_mut() {
            let key = *key;
            if *next > 0 {
                operands.push(last);
            }
            let value = source.value(key)?;
            let constant = source.constant(key, value).filter(|_| !seen.contains_key(&key.key));
            let operand = constant.and_then(|(constant, constants)| match constant {
                Constant::BlockAddress { .. } => None,
                _ => source.operands_of(constant, constants).as_slice().get(*next).copied(),
            });
            *next += 1;
            if let Some(operand) = operand {
                let operand = source.value_key(key.scope, operand)?;
                stack.push((operand, Vec::new(), 0));
                continue;
            }
            let operands = core::mem::take(operands);
            stack.pop();
            last = match seen.get(&key.key) {
                Some(&first) => first,
                None => {
                    let first = match constant {
                        Some((constant, constants)) => {
                            self.first_key(source, key, constant, constants, operands)?
                        }
                        None => key.key,
                    };
                    seen.insert(key.key, first);
                    first
                }
            };
        }
        Ok(last)
    }

    /// Returns the first key of a constant, and notes that it uses its operands if it is new.
    fn first_key(
        &mut self,
        source: &Source<'_, '_>,
        key: Key,
        constant: Constant,
        constants: &Constants,
        operands: Vec<u32>,
    ) -> Result<u32> {
        let ty = source.value(key)?.ty.0;
        let content = match constant {
            Constant::BlockAddress { function, block } => {
                let value = source.value(source.value_key(key.scope, function)?)?;
                let ValueKind::Function(function) = value.kind else { return Ok(key.key) };
                let first = *self.first_keys.entry((0, function, alloc::vec![block.0])).or_insert(key.key);
                self.addresses.insert((function, block.0, first));
                return Ok(first);
            }
            _ if operands.is_empty() => return Ok(key.key),
            Constant::Expression(index) => {
                let expression = constants.expression(index);
                let tag = expression
                    .map_or(0, |expression| (expression.opcode as u64) << 32 | u64::from(expression.flags));
                (tag | 1 << 63, ty, operands)
            }
            _ => (1, ty, operands),
        };
        let is_new = !self.first_keys.contains_key(&content);
        let operands = content.2.clone();
        let first = *self.first_keys.entry(content).or_insert(key.key);
        if is_new {
            operands.iter().for_each(|&operand| self.add(operand, User::Constant(first)));
        }
        Ok(first)
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
                        User::Function(user) if user != function && !result.contains(&user) => {
                            result.push(user);
                        }
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
