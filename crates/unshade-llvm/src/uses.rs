//! The uses of values, blocks and metadata, and the call graph.
//!
//! A body or module refers from users to what they use; this module inverts the references. As in LLVM, constants
//! are users, too: an instruction that uses an address inside a global makes two uses, of the global by a constant
//! expression and of the expression by the instruction. So the size of the table is linear in what the file
//! stores. To look through constants, follow [`User::Constant`].

use crate::body::FunctionBody;
use crate::constants::{Constant, Constants};
use crate::ids::{MetadataId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::{Metadata, MetadataTable};
use crate::module::Module;
use crate::value::{OperandKind, Value, ValueKind};
use alloc::vec::Vec;

/// Maximum number of casts and aliases between a call and its callee.
const MAX_STEPS: usize = 64;

/// A user of a value, block or metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum User {
    /// An instruction of the body.
    Instruction {
        /// Its index in [`FunctionBody::instructions`].
        index: u32,
        /// The index of the operand; the operands of bundles follow the instruction's own.
        operand: u32,
    },
    /// A constant of the same body or module.
    Constant(ValueId),
    /// Metadata of the same body or module: a wrapped value, or a node.
    Metadata(MetadataId),
    /// The initializer of a global variable, as an index into [`Module::globals`].
    Global(u32),
    /// The target of an alias or ifunc, as an index into [`Module::aliases`].
    Alias(u32),
    /// The personality, prefix or prologue of a function, as an index into [`Module::functions`].
    Function(u32),
}

/// All uses in a body, or in the module outside of bodies.
///
/// ```
/// use unshade_llvm::uses::{User, Uses};
/// use unshade_llvm::value::OperandKind;
/// # let bytes = include_bytes!("../tests/fixtures/air_like.bc");
/// let module = unshade_llvm::Module::parse(bytes, 0)?;
/// let function = module.functions.iter().position(|function| !function.declaration).unwrap();
/// let body = module.body(function)?;
/// let uses = Uses::of_body(&body);
///
/// // Who uses the result of the first instruction that has one?
/// let first = body.instructions.iter().find(|instruction| instruction.result.is_some()).unwrap();
/// for user in uses.of(OperandKind::Value(first.result)) {
///     if let User::Instruction { index, .. } = user {
///         println!("{}", body.instructions[index as usize].opcode.mnemonic());
///     }
/// }
/// # Ok::<(), unshade_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// Pairs of what is used and its user, sorted.
    uses: Vec<(u64, User)>,
}

/// Returns a number that identifies what is used.
fn key(kind: OperandKind) -> u64 {
    let (tag, number) = match kind {
        OperandKind::Value(id) => (0u64, id.0),
        OperandKind::Block(id) => (1, id.0),
        OperandKind::Metadata(id) => (2, id.0),
    };
    tag << 32 | u64::from(number)
}

impl Uses {
    /// Collects the uses by instructions, constants and metadata of a body.
    pub fn of_body(body: &FunctionBody) -> Self {
        let mut uses = Self::default();
        for (index, instruction) in (0u32..).zip(&body.instructions) {
            uses.add_instruction(body, index, instruction);
        }
        let numbered = (body.value_base..).zip(&body.values);
        uses.add_constants(numbered, &body.constants);
        uses.add_constants((FunctionBody::UNNUMBERED..).zip(&body.unnumbered), &body.constants);
        uses.add_metadata(&body.metadata);
        // Old files name the personality function in the body.
        body.personality.into_iter().for_each(|value| uses.add_value(value, User::Function(body.function)));
        uses.finish()
    }

    /// Collects the uses by module-level constants and metadata, global variables, aliases and function headers.
    pub fn of_module(module: &Module<'_>) -> Self {
        let mut uses = Self::default();
        uses.add_constants((0..).zip(&module.values), &module.constants);
        uses.add_metadata(&module.metadata);
        for (index, global) in (0u32..).zip(&module.globals) {
            global.initializer.into_iter().for_each(|value| uses.add_value(value, User::Global(index)));
        }
        for (index, alias) in (0u32..).zip(&module.aliases) {
            uses.add_value(alias.target, User::Alias(index));
        }
        for (index, function) in (0u32..).zip(&module.functions) {
            for value in [function.personality, function.prefix, function.prologue].into_iter().flatten() {
                uses.add_value(value, User::Function(index));
            }
        }
        uses.finish()
    }

    fn add(&mut self, used: OperandKind, user: User) {
        self.uses.push((key(used), user));
    }

    fn add_value(&mut self, used: ValueId, user: User) {
        self.add(OperandKind::Value(used), user);
    }

    fn add_instruction(&mut self, body: &FunctionBody, index: u32, instruction: &Instruction) {
        let bundles = match instruction.opcode {
            Opcode::Call | Opcode::Invoke | Opcode::CallBr => {
                body.calls.get(instruction.detail as usize).map(|call| call.bundles.of(&body.bundles))
            }
            _ => None,
        };
        let bundled = bundles.unwrap_or_default().iter().flat_map(|bundle| bundle.operands.of(&body.operands));
        for (operand, used) in (0u32..).zip(body.operands_of(instruction).iter().chain(bundled)) {
            self.add(used.kind(), User::Instruction { index, operand });
        }
    }

    fn add_constants<'v>(&mut self, values: impl Iterator<Item = (u32, &'v Value)>, constants: &Constants) {
        for (id, value) in values {
            let ValueKind::Constant(index) = value.kind else { continue };
            let user = User::Constant(ValueId(id));
            match constants.get(index) {
                Constant::Aggregate(elements) => {
                    constants.values(elements).iter().for_each(|&used| self.add_value(used, user));
                }
                Constant::Expression(expression) => {
                    let operands = constants.expression(expression).map(|expression| expression.operands);
                    let operands = operands.map_or(&[][..], |operands| constants.values(operands));
                    operands.iter().for_each(|&used| self.add_value(used, user));
                }
                // The block belongs to that function, so its number means nothing here.
                Constant::BlockAddress { function, .. } => self.add_value(function, user),
                Constant::DsoLocalEquivalent(used) | Constant::NoCfi(used) => self.add_value(used, user),
                _ => {}
            }
        }
    }

    fn add_metadata(&mut self, table: &MetadataTable) {
        for (id, entry) in table.iter() {
            let user = User::Metadata(id);
            match entry {
                Metadata::Value { value, .. } => self.add_value(value, user),
                Metadata::Node(node) => {
                    for id in table.references(node).iter().filter_map(|reference| reference.checked_sub(1)) {
                        self.add(OperandKind::Metadata(MetadataId(narrow(id))), user);
                    }
                }
                Metadata::String(_) | Metadata::Missing => {}
            }
        }
    }

    fn finish(mut self) -> Self {
        self.uses.sort_unstable();
        self
    }

    /// Returns the users of a value, block or metadata: instructions first, in their order.
    pub fn of(&self, used: OperandKind) -> impl Iterator<Item = User> + '_ {
        let wanted = key(used);
        let start = self.uses.partition_point(|(used, _)| *used < wanted);
        let rest = self.uses.get(start..).unwrap_or_default();
        rest.iter().take_while(move |(used, _)| *used == wanted).map(|(_, user)| *user)
    }

    /// Returns whether there are no users.
    pub fn is_unused(&self, used: OperandKind) -> bool {
        self.of(used).next().is_none()
    }
}

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Callee {
    /// A function, as an index into [`Module::functions`], possibly through casts and aliases.
    Function(u32),
    /// Inline assembly.
    Assembly,
    /// A function pointer that is only known at run time.
    Indirect,
}

impl Callee {
    /// Returns the target of a call instruction; `None` for other instructions.
    pub fn of(module: &Module<'_>, body: &FunctionBody, instruction: &Instruction) -> Option<Self> {
        if !matches!(instruction.opcode, Opcode::Call | Opcode::Invoke | Opcode::CallBr) {
            return None;
        }
        let mut id = body.operands_of(instruction).first()?.as_value()?;
        for _ in 0..MAX_STEPS {
            match module.value(Some(body), id)?.kind {
                ValueKind::Function(index) => return Some(Self::Function(index)),
                ValueKind::Alias(index) => match module.aliases.get(index as usize) {
                    Some(alias) if !alias.indirect => id = alias.target,
                    _ => break,
                },
                ValueKind::Constant(_) => {
                    let (constant, constants) = module.constant(Some(body), id)?;
                    match constant {
                        Constant::Assembly(_) => return Some(Self::Assembly),
                        Constant::DsoLocalEquivalent(target) | Constant::NoCfi(target) => id = target,
                        Constant::Expression(index) => match constants.expression(index) {
                            Some(expression) if expression.opcode.is_cast() => {
                                id = *constants.values(expression.operands).first()?;
                            }
                            _ => break,
                        },
                        _ => break,
                    }
                }
                _ => break,
            }
        }
        Some(Self::Indirect)
    }
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The calling function, as an index into [`Module::functions`].
    pub caller: u32,
    /// The index of the call in the caller's instructions.
    pub instruction: u32,
    /// The target.
    pub callee: Callee,
}

/// The call graph of a module.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    /// Sorted by caller and instruction.
    sites: Vec<CallSite>,
    /// Indices into `sites`, sorted by callee.
    by_callee: Vec<u32>,
}

impl CallGraph {
    /// Collects the calls in these bodies.
    pub fn new<'b>(module: &Module<'_>, bodies: impl IntoIterator<Item = &'b FunctionBody>) -> Self {
        let mut sites = Vec::new();
        for body in bodies {
            for (instruction, call) in (0u32..).zip(&body.instructions) {
                if let Some(callee) = Callee::of(module, body, call) {
                    sites.push(CallSite { caller: body.function, instruction, callee });
                }
            }
        }
        sites.sort_by_key(|site| (site.caller, site.instruction));
        let mut by_callee: Vec<u32> = (0..narrow(sites.len() as u64)).collect();
        by_callee.sort_by_key(|&at| sites.get(at as usize).map(|site| site.callee));
        Self { sites, by_callee }
    }

    /// Returns all calls, sorted by caller and instruction.
    pub fn sites(&self) -> &[CallSite] {
        &self.sites
    }

    /// Returns the calls that a function makes.
    pub fn calls_of(&self, caller: u32) -> &[CallSite] {
        let start = self.sites.partition_point(|site| site.caller < caller);
        let end = self.sites.partition_point(|site| site.caller <= caller);
        self.sites.get(start..end).unwrap_or_default()
    }

    /// Returns the calls to a target.
    pub fn calls_to(&self, callee: Callee) -> impl Iterator<Item = &CallSite> {
        let site = |at: u32| self.sites.get(at as usize);
        let start = self.by_callee.partition_point(|&at| site(at).is_some_and(|site| site.callee < callee));
        let rest = self.by_callee.get(start..).unwrap_or_default();
        rest.iter().filter_map(move |&at| site(at)).take_while(move |site| site.callee == callee)
    }

    /// Returns the targets that a function calls, without duplicates.
    pub fn callees(&self, caller: u32) -> Vec<Callee> {
        let mut callees: Vec<Callee> = self.calls_of(caller).iter().map(|site| site.callee).collect();
        callees.sort_unstable();
        callees.dedup();
        callees
    }

    /// Returns the functions that call a target, without duplicates.
    pub fn callers(&self, callee: Callee) -> Vec<u32> {
        let mut callers: Vec<u32> = self.calls_to(callee).map(|site| site.caller).collect();
        callers.dedup();
        callers
    }
}
