//! Describes NVIDIA machine code, instruction by instruction.

use super::shown;
use crate::demangle;
use crate::sass_code::FunctionCode;
use serde::Serialize;
use unshade_core::Diagnostics;
use unshade_sass::control::{self, Code};
use unshade_sass::listing::{Word, instruction_target};
use unshade_sass::liveness::{Effect, LiveRow, Pressure, Set};
use unshade_sass::table::{Kind, NONE, Operand, Role};
use unshade_sass::{Instruction, print};

/// A function of a cubin.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SassFunctionView {
    /// Index among the functions of the cubin.
    pub index: u32,
    /// Its name as in the file.
    pub name: String,
    /// Its demangled name, if it is mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// The address of its first word in its section.
    pub address: u64,
    /// Offset of that word in the cubin.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Register pressure, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<PressureView>,
    /// Its words.
    pub instructions: Vec<InstructionView>,
}

/// Maximum number of live registers and predicates, and where it occurs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PressureView {
    /// Maximum number of live registers.
    pub registers: u32,
    /// First address with this number.
    pub registers_at: u64,
    /// Maximum number of live predicates.
    pub predicates: u32,
    /// First address with this number.
    pub predicates_at: u64,
}

impl From<Pressure> for PressureView {
    fn from(pressure: Pressure) -> Self {
        Self {
            registers: pressure.registers.0,
            registers_at: pressure.registers.1,
            predicates: pressure.predicates.0,
            predicates_at: pressure.predicates.1,
        }
    }
}

/// A word of machine code: an instruction, a scheduling word, or an undecodable word.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InstructionView {
    /// Its address.
    pub address: u64,
    /// The word, in hexadecimal.
    pub word: String,
    /// Text as in a listing, without a semicolon; absent for scheduling words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Control of each instruction after a scheduling word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<String>,
    /// The mnemonic; absent if the word can't be decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<&'static str>,
    /// The guard predicate, if there is one: `P0` or `!P0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// Its modifiers, without those that have no spelling.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modifiers: Vec<ModifierView>,
    /// Its operands in the order of the tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<OperandView>,
    /// Address that it branches to or pushes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
    /// Its scheduling control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// Liveness of registers, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life: Option<LifeView>,
}

/// A modifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModifierView {
    /// The name of the modifier.
    pub slot: &'static str,
    /// The name of its value.
    pub value: &'static str,
    /// Its spelling in listings.
    pub text: &'static str,
}

/// An operand.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OperandView {
    /// Its role in the operation.
    pub slot: &'static str,
    /// `register`, `predicate`, `constant`, `memory`, `integer`, `float` or `address`.
    pub kind: &'static str,
    /// Text as in a listing.
    pub text: String,
    /// Whether it is read.
    pub read: bool,
    /// Whether it is written.
    pub written: bool,
    /// Its type: `b32`, `f64`, `pred` ….
    #[serde(skip_serializing_if = "str::is_empty", rename = "type")]
    pub ty: &'static str,
    /// Number of the register or predicate, or of an address register; absent for constant ones (`RZ`, `PT`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<u64>,
    /// The constant bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank: Option<i64>,
    /// Offset in the bank or from the address register.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// The value of an immediate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<i64>,
}

/// Liveness of registers at an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LifeView {
    /// Number of live registers.
    pub registers: u32,
    /// Number of live predicates.
    pub predicates: u32,
    /// Number of live uniform registers.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub uniform_registers: u32,
    /// Number of live uniform predicates.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub uniform_predicates: u32,
    /// Whether the condition code is live.
    pub condition_code: bool,
    /// Registers that become live.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub begins: Vec<String>,
    /// Registers that are read for the last time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<String>,
}

/// Returns the names of the members of a set: registers, predicates, `CC`.
pub fn names(set: Set) -> Vec<String> {
    let registers = set.registers().map(|number| format!("R{number}"));
    let predicates = set.predicates().map(|number| format!("P{number}"));
    let uniform_registers = set.uniform_registers().map(|number| format!("UR{number}"));
    let uniform_predicates = set.uniform_predicates().map(|number| format!("UP{number}"));
    let code = set.has_condition_code().then(|| String::from("CC"));
    registers.chain(predicates).chain(uniform_registers).chain(uniform_predicates).chain(code).collect()
}

/// Returns the registers whose live ranges start and end at an instruction.
pub fn begins_and_ends(row: &LiveRow) -> (Set, Set) {
    let Effect { writes, .. } = row.effect;
    let begins = row.after.union(writes).without(row.before);
    (begins, row.before.without(row.after).union(writes.without(row.after).intersection(row.before)))
}

impl LifeView {
    fn new(row: &LiveRow) -> Self {
        let occupied = row.occupied();
        let (begins, ends) = begins_and_ends(row);
        Self {
            registers: occupied.register_count(),
            predicates: occupied.predicate_count(),
            uniform_registers: occupied.uniform_register_count(),
            uniform_predicates: occupied.uniform_predicate_count(),
            condition_code: occupied.has_condition_code(),
            begins: names(begins),
            ends: names(ends),
        }
    }
}

impl SassFunctionView {
    /// Describes a function, with liveness if `rows` is given. Reports words that can't be decoded.
    pub fn new(function: &FunctionCode<'_>, rows: Option<&[LiveRow]>, diagnostics: &mut Diagnostics) -> Self {
        let words = function.words();
        crate::sass_code::report_undecoded(&words, diagnostics);
        let mut instructions = Vec::new();
        let mut codes: Vec<Code> = Vec::new();
        let mut rows_left = rows.unwrap_or_default().iter();
        for (address, word) in words.words() {
            let mut view = InstructionView::new(address, &word, words.isa.word_bytes);
            match word {
                Word::Schedule(bits) => {
                    codes = control::codes(words.isa, bits).collect();
                    view.schedule = control::parts(words.isa, bits).map(|part| part.1).collect();
                    codes.reverse();
                }
                Word::Instruction(instruction) => {
                    let code = codes.pop().map(Code::describe);
                    view.control = code.or_else(|| control::describe(words.isa, instruction.word));
                    view.life = rows_left.next().map(LifeView::new);
                }
                Word::Unknown(_) => drop(codes.pop()),
            }
            instructions.push(view);
        }
        Self {
            index: function.function.index,
            name: shown(function.function.name()),
            demangled: demangle(function.function.own_name()),
            address: words.address,
            offset: words.file_offset,
            size: function.size(),
            pressure: rows.map(|rows| Pressure::of(rows).into()),
            instructions,
        }
    }
}

impl InstructionView {
    fn new(address: u64, word: &Word, bytes: usize) -> Self {
        let mut view = Self {
            address,
            word: format!("0x{:0width$x}", word.bits(), width = bytes * 2),
            ..Self::default()
        };
        match word {
            Word::Schedule(_) => {}
            Word::Unknown(bits) => view.text = Some(format!(".word {bits:#x}")),
            Word::Instruction(instruction) => view.describe(instruction),
        }
        view
    }

    fn describe(&mut self, instruction: &Instruction) {
        self.text = Some(instruction.text(self.address));
        self.operation = Some(instruction.operation().mnemonic);
        self.target = instruction_target(instruction, self.address);
        for operand in instruction.operands() {
            if operand.kind.is_guard() {
                let mut text = String::new();
                print::operand(instruction, operand, self.address, &mut text);
                self.guard =
                    Some(text.trim_start_matches('@').trim_end().to_owned()).filter(|it| !it.is_empty());
            } else {
                self.operands.push(OperandView::new(instruction, operand, self.address));
            }
        }
        for field in instruction.fields().filter(|field| field.modifier != NONE) {
            let modifier = instruction.isa.modifiers.get(usize::from(field.modifier));
            let choice = instruction.choice(field).map(usize::from);
            if let (Some(modifier), Some(choice)) = (modifier, choice)
                && let Some((value, text)) = modifier.values.get(choice)
                && !text.is_empty()
            {
                self.modifiers.push(ModifierView { slot: instruction.isa.text(field.slot), value, text });
            }
        }
    }
}

impl OperandView {
    fn new(instruction: &Instruction, operand: &Operand, address: u64) -> Self {
        let slot = instruction.isa.text(operand.slot);
        let role = instruction.operation().operands.iter().find(|role| role.slot == slot);
        let mut text = String::new();
        print::operand(instruction, operand, address, &mut text);
        let mut view = Self {
            slot,
            text: text.trim_start_matches(", ").trim().to_owned(),
            read: role.is_some_and(|role| role.read),
            written: role.is_some_and(|role| role.written),
            ty: role.map_or("", |role| type_of(instruction, role)),
            ..Self::default()
        };
        let number = |part: u16| (part != NONE).then(|| instruction.number(part));
        // All ones is the constant register or predicate.
        let register = |part: u16| {
            let field = instruction.isa.fields.get(usize::from(part))?;
            let zero = 1_u64.wrapping_shl(u32::from(field.width)).wrapping_sub(1);
            Some(field.raw(instruction.word)).filter(|register| *register < zero)
        };
        match operand.kind {
            Kind::Register
            | Kind::NonzeroRegister
            | Kind::OptionalRegister
            | Kind::LeadingRegister
            | Kind::RegisterPlus1
            | Kind::RegisterPlus2 => {
                view.kind = "register";
                let plus = match operand.kind {
                    Kind::RegisterPlus1 => 1,
                    Kind::RegisterPlus2 => 2,
                    _ => 0,
                };
                view.register = register(operand.value).map(|number| number + plus);
            }
            Kind::UniformRegister
            | Kind::NonzeroUniformRegister
            | Kind::LeadingUniformRegister
            | Kind::OptionalUniformRegister
            | Kind::UniformRegisterPlus1
            | Kind::UniformRegisterPlus2 => {
                view.kind = "uniform register";
                let plus = match operand.kind {
                    Kind::UniformRegisterPlus1 => 1,
                    Kind::UniformRegisterPlus2 => 2,
                    _ => 0,
                };
                view.register = register(operand.value).map(|number| number + plus);
            }
            Kind::Predicate
            | Kind::NonzeroPredicate
            | Kind::OptionalPredicate
            | Kind::LeadingPredicate
            | Kind::TrailingPredicate
            | Kind::Guard => {
                view.kind = "predicate";
                view.register = register(operand.value);
            }
            Kind::InversePredicate
            | Kind::LeadingInversePredicate
            | Kind::FullInversePredicate
            | Kind::InverseUniformPredicate => {
                let is_uniform = operand.kind == Kind::InverseUniformPredicate;
                view.kind = if is_uniform { "uniform predicate" } else { "predicate" };
                let number = number(operand.value).and_then(|number| u64::try_from(number ^ 7).ok());
                view.register = number.filter(|number| *number < 7);
            }
            Kind::UniformPredicate
            | Kind::LeadingUniformPredicate
            | Kind::OptionalUniformPredicate
            | Kind::UniformGuard => {
                view.kind = "uniform predicate";
                view.register = register(operand.value);
            }
            Kind::Barrier | Kind::Scoreboard | Kind::BitSet | Kind::TrailingBitSet => {
                view.kind = "barrier";
                view.value = number(operand.value);
            }
            Kind::ConstantUniform | Kind::ConstantBindless | Kind::ConstantBindlessSpaced => {
                view.kind = "constant";
                (view.bank, view.offset) = (number(operand.bank), number(operand.offset));
            }
            Kind::Constant | Kind::ConstantSpaced | Kind::ConstantIndexed | Kind::ConstantBranch => {
                view.kind = "constant";
                (view.bank, view.offset) = (number(operand.bank), number(operand.offset));
                view.register = register(operand.base);
            }
            Kind::Memory
            | Kind::Address
            | Kind::UniformAddress
            | Kind::ScaledAddress
            | Kind::HiddenDescriptor
            | Kind::BaseAddress
            | Kind::BaseAddressPlus1 => {
                view.kind = "memory";
                view.offset = number(operand.offset);
                view.register = register(operand.base);
            }
            Kind::Integer
            | Kind::NegatedInteger
            | Kind::OptionalInteger
            | Kind::OptionalMask
            | Kind::TrailingInteger => {
                view.kind = "integer";
                view.value = number(operand.value);
            }
            Kind::Float32 | Kind::Float64 | Kind::Float16 => view.kind = "float",
            Kind::Relative | Kind::Absolute => {
                view.kind = "address";
                view.value = Some(print::target(instruction, operand, address));
            }
        }
        view
    }
}

/// Returns the type of an operand. If a modifier decides the type, looks it up by the name of the modifier's value.
fn type_of(instruction: &Instruction, role: &Role) -> &'static str {
    match role.ty.strip_prefix('?') {
        Some(slot) => instruction.modifier(slot).unwrap_or(role.ty),
        None => role.ty,
    }
}
