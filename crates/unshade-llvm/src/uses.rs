//! Who uses what: the uses of values, blocks and metadata, and which functions call which.
//!
//! A body or module refers from users to what they use; here it is the other way round. As in LLVM, constants are
//! users, too: that an instruction uses an address inside of a global is two uses, of the global by a constant
//! expression and of that by the instruction. So everything is as large as what the file stores, and whoever wants to
//! look through constants follows [`User::Constant`].

use crate::body::FunctionBody;
use crate::constants::{Constant, Constants};
use crate::ids::{MetadataId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::{Metadata, MetadataTable};
use crate::module::Module;
use crate::value::{OperandKind, Value, ValueKind};
use alloc::vec::Vec;

/// How many casts and aliases may stand between a call and the function that it calls.
const MAX_STEPS: usize = 64;

/// What uses something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum User {
    /// An instruction of the body.
    Instruction {
        /// Its index in [`FunctionBody::instructions`].
        index: u32,
        /// Which of its operands; those of operand bundles are counted on from its own.
        operand: u32,
    },
    /// A constant of the same body or module.
    Constant(ValueId),
    /// Metadata of the same body or module that wraps a value.
    Metadata(MetadataId),
    /// The initial value of a variable, as an index into [`Module::globals`].
    Global(u32),
    /// The target of an alias or ifunc, as an index into [`Module::aliases`].
    Alias(u32),
    /// The personality, prefix or prologue of a function, as an index into [`Module::functions`].
    Function(u32),
}

/// All uses of a body, or of the module outside of bodies.
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
    /// What is used and by whom, sorted.
    uses: Vec<(u64, User)>,
}

/// A number for what is used, different for different things.
fn key(kind: OperandKind) -> u64 {
    let (tag, number) = match kind {
        OperandKind::Value(id) => (0u64, id.0),
        OperandKind::Block(id) => (1, id.0),
        OperandKind::Metadata(id) => (2, id.0),
    };
    tag << 32 | u64::from(number)
}

impl Uses {
    /// What the instructions, constants and metadata of a body use.
    pub fn of_body(body: &FunctionBody) -> Self {
        let mut uses = Self::default();
        for (index, instruction) in (0u32..).zip(&body.instructions) {
            uses.add_instruction(body, index, instruction);
        }
        let numbered = (body.value_base..).zip(&body.values);
        uses.add_constants(numbered, &body.constants);
        uses.add_constants((FunctionBody::UNNUMBERED..).zip(&body.unnumbered), &body.constants);
        uses.add_metadata(&body.metadata);
        // Old files name the personality inside of the body.
        body.personality.into_iter().for_each(|value| uses.add_value(value, User::Function(body.function)));
        uses.finish()
    }

    /// What constants, metadata, variables, aliases and the heads of functions use.
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
                // The block is one of that function, whose numbers mean nothing here.
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

    /// The users of a value, block or piece of metadata: instructions first, in their order.
    pub fn of(&self, used: OperandKind) -> impl Iterator<Item = User> + '_ {
        let wanted = key(used);
        let start = self.uses.partition_point(|(used, _)| *used < wanted);
        let rest = self.uses.get(start..).unwrap_or_default();
        rest.iter().take_while(move |(used, _)| *used == wanted).map(|(_, user)| *user)
    }

    /// Whether nothing uses it.
    pub fn is_unused(&self, used: OperandKind) -> bool {
        self.of(used).next().is_none()
    }
}

/// What a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Callee {
    /// A function, as an index into [`Module::functions`]; casts and aliases are looked through.
    Function(u32),
    /// Inline assembly.
    Assembly,
    /// A function that is only known when the program runs.
    Indirect,
}

impl Callee {
    /// What an instruction calls; nothing if it is no call.
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

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The function that calls, as an index into [`Module::functions`].
    pub caller: u32,
    /// Which of its instructions.
    pub instruction: u32,
    /// What is called.
    pub callee: Callee,
}

/// Which functions of a module call which.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    /// By caller and instruction.
    sites: Vec<CallSite>,
    /// Indices into `sites`, by callee.
    by_callee: Vec<u32>,
}

impl CallGraph {
    /// Finds the calls in these bodies.
    pub fn new<'b>(module: &Module<'_>, bodies: impl IntoIterator<Item = &'b FunctionBody>) -> Self {
        let mut sites = Vec::new();
        for body in bodies {
            for (instruction, one) in (0u32..).zip(&body.instructions) {
                if let Some(callee) = Callee::of(module, body, one) {
                    sites.push(CallSite { caller: body.function, instruction, callee });
                }
            }
        }
        sites.sort_by_key(|site| (site.caller, site.instruction));
        let mut by_callee: Vec<u32> = (0..narrow(sites.len() as u64)).collect();
        by_callee.sort_by_key(|&at| sites.get(at as usize).map(|site| site.callee));
        Self { sites, by_callee }
    }

    /// All calls, by caller and in the order of its instructions.
    pub fn sites(&self) -> &[CallSite] {
        &self.sites
    }

    /// The calls that a function makes.
    pub fn calls_of(&self, caller: u32) -> &[CallSite] {
        let start = self.sites.partition_point(|site| site.caller < caller);
        let end = self.sites.partition_point(|site| site.caller <= caller);
        self.sites.get(start..end).unwrap_or_default()
    }

    /// The calls of a function.
    pub fn calls_to(&self, callee: Callee) -> impl Iterator<Item = &CallSite> {
        let site = |at: u32| self.sites.get(at as usize);
        let start = self.by_callee.partition_point(|&at| site(at).is_some_and(|site| site.callee < callee));
        let rest = self.by_callee.get(start..).unwrap_or_default();
        rest.iter().filter_map(move |&at| site(at)).take_while(move |site| site.callee == callee)
    }

    /// What a function calls, each once.
    pub fn callees(&self, caller: u32) -> Vec<Callee> {
        let mut callees: Vec<Callee> = self.calls_of(caller).iter().map(|site| site.callee).collect();
        callees.sort_unstable();
        callees.dedup();
        callees
    }

    /// The functions that call a function, each once.
    pub fn callers(&self, callee: Callee) -> Vec<u32> {
        let mut callers: Vec<u32> = self.calls_to(callee).map(|site| site.caller).collect();
        callers.dedup();
        callers
    }
}
