//! What the tables say.
//!
//! Names refer to each other by index: a field's modifier into [`Isa::modifiers`], an encoding's operation into
//! [`Isa::operations`].

use crate::lower::Program;
use crate::semantics::Statement;

/// All tables.
#[derive(Clone, Debug, Default)]
pub struct Isa {
    /// Sets of spellings.
    pub modifiers: Vec<Modifier>,
    /// Operations, in the order of the file.
    pub operations: Vec<Operation>,
    /// Generations, each with its encodings.
    pub generations: Vec<Generation>,
    /// What the machine does beyond p-code's operators, by name.
    pub functions: Vec<Function>,
    /// Statements that several operations share.
    pub macros: Vec<Macro>,
    /// What each operation does, lowered, in the order of [`Isa::operations`].
    pub programs: Vec<Program>,
}

/// A named function of the semantics.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether its result is made of its inputs alone.
    pub pure: bool,
    /// The widths of its inputs, in bits.
    pub inputs: Vec<u32>,
    /// The width of its result.
    pub output: Option<u32>,
    /// One line on what it does.
    pub meaning: String,
    /// Where it stands.
    pub line: usize,
}

/// Statements with parameters: expressions, places or functions.
#[derive(Clone, Debug)]
pub struct Macro {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<String>,
    /// What it stands for.
    pub body: Vec<Statement>,
    /// Where it stands.
    pub line: usize,
}

impl Isa {
    /// The operation of this name.
    pub fn operation(&self, name: &str) -> Option<usize> {
        self.operations.iter().position(|operation| operation.name == name)
    }

    /// The modifier of this name.
    pub fn modifier(&self, name: &str) -> Option<usize> {
        self.modifiers.iter().position(|modifier| modifier.name == name)
    }
}

/// A choice that is spelled in the text: a rounding, a type, a special register.
#[derive(Clone, Debug)]
pub struct Modifier {
    /// Its name in the tables.
    pub name: String,
    /// What it chooses.
    pub meaning: String,
    /// The values that there are, in the usual order of their encoding.
    pub values: Vec<ModifierValue>,
    /// Where it stands.
    pub line: usize,
}

/// One value of a modifier.
#[derive(Clone, Debug)]
pub struct ModifierValue {
    /// Its name in the tables; a `-` for a value that no instruction may have.
    pub name: String,
    /// How it is written; often with its dot, and empty where it goes without saying.
    pub spelling: String,
}

/// An operation, independent of how it is encoded.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its mnemonic, with a suffix where several operations share one.
    pub name: String,
    /// One line on what it does.
    pub meaning: String,
    /// How it is written, by form. The first is the usual one.
    pub forms: Vec<Form>,
    /// Operands, in no particular order.
    pub operands: Vec<Role>,
    /// Modifiers: the slot's name and the modifier.
    pub modifiers: Vec<(String, usize)>,
    /// Where execution goes on.
    pub flow: Flow,
    /// What it does; empty where that is not written down yet.
    pub semantics: Vec<Statement>,
    /// The same as it is written.
    pub does: String,
    /// Where it stands.
    pub line: usize,
}

impl Operation {
    /// The first word of its text, which several operations may share.
    pub fn mnemonic(&self) -> &str {
        match self.forms.first().and_then(|form| form.template.first()) {
            Some(Piece::Text(text)) => text.split([' ', '.']).next().unwrap_or(&self.name),
            _ => &self.name,
        }
    }
}

/// A way of writing an operation.
#[derive(Clone, Debug)]
pub struct Form {
    /// Its name, empty for the usual one.
    pub name: String,
    /// Text and slots.
    pub template: Vec<Piece>,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it stands.
    Text(String),
    /// The value of a slot: an operand or a modifier.
    Slot(String),
}

/// What an operation does with an operand.
#[derive(Clone, Debug)]
pub struct Role {
    /// The slot's name.
    pub name: String,
    /// Read, written or both.
    pub access: Access,
    /// Its type: `b32`, `f64`, `pred`, `addr`, `label` …, or `?` and the slot of the modifier that says.
    pub ty: String,
}

/// Read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read.
    In,
    /// Written.
    Out,
    /// Read, then written.
    InOut,
}

/// Where execution goes on after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// With the next word.
    Next,
    /// At the target, or with the next word where the guard says so.
    Branch,
    /// At a target that is computed.
    Indirect,
    /// At the target, and later after this word.
    Call,
    /// After the call.
    Return,
    /// A target is pushed on the reconvergence stack.
    Push,
    /// At the target on top of the reconvergence stack.
    Pop,
    /// The thread ends.
    Exit,
    /// The thread stops for a debugger or in a fault.
    Trap,
}

impl Flow {
    /// The names in the tables, in the order of the enumeration.
    pub const NAMES: [(&'static str, Self); 9] = [
        ("Next", Self::Next),
        ("Branch", Self::Branch),
        ("Indirect", Self::Indirect),
        ("Call", Self::Call),
        ("Return", Self::Return),
        ("Push", Self::Push),
        ("Pop", Self::Pop),
        ("Exit", Self::Exit),
        ("Trap", Self::Trap),
    ];
}

/// How one family of chips encodes the operations.
#[derive(Clone, Debug)]
pub struct Generation {
    /// Its name, `sm_35`.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The numbers of the architectures that share it.
    pub architectures: Vec<u32>,
    /// Bits of an instruction.
    pub word_bits: u32,
    /// The bits by which the decoder looks up candidates.
    pub index: Vec<(u32, u32)>,
    /// Where words that steer the scheduler stand among instructions.
    pub schedule: Schedule,
    /// Encodings, in the order of the file.
    pub encodings: Vec<Encoding>,
    /// The file.
    pub file: String,
}

/// Scheduling words among the instructions.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// A scheduling word stands before every so many instructions, aligned; 0 for none.
    pub every: u32,
    /// Bits that make it out.
    pub mask: u128,
    /// Their values.
    pub value: u128,
    /// The lowest bit of the first code.
    pub first_code: u32,
    /// Bits of a code.
    pub code_bits: u32,
}

/// One row, expanded: these bits, for this form of this operation.
#[derive(Clone, Debug)]
pub struct Encoding {
    /// Into [`Isa::operations`].
    pub operation: usize,
    /// Into [`Operation::forms`].
    pub form: usize,
    /// Which alternative of its operands it is (`reg`, `const`, `imm`), for people.
    pub alternative: String,
    /// Fixed bits.
    pub mask: u128,
    /// Their values.
    pub value: u128,
    /// Bits that mean nothing and are kept.
    pub ignored: u128,
    /// Modifier slots.
    pub choices: Vec<Choice>,
    /// Operand slots.
    pub operands: Vec<Operand>,
    /// The class of its latency.
    pub latency: String,
    /// Words and what they read.
    pub examples: Vec<Example>,
    /// Where it stands.
    pub line: usize,
}

impl Encoding {
    /// The operand of this slot.
    pub fn operand(&self, slot: &str) -> Option<usize> {
        self.operands.iter().position(|operand| operand.slot == slot)
    }

    /// The modifier of this slot.
    pub fn choice(&self, slot: &str) -> Option<usize> {
        self.choices.iter().position(|choice| choice.slot == slot)
    }
}

/// A word and its text.
#[derive(Clone, Debug)]
pub struct Example {
    /// The address at which it stands, for branches.
    pub address: u64,
    /// The word.
    pub word: u128,
    /// How it is written.
    pub text: String,
    /// Where it stands.
    pub line: usize,
}

/// Bits of a word that make a number, the lowest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    /// The lowest bit and the count of each range.
    pub ranges: Vec<(u32, u32)>,
    /// Whether the highest bit is the sign.
    pub signed: bool,
    /// By how much it is shifted to the left.
    pub shift: u32,
    /// Whether other fields own the bits, and this is a second reading of them.
    pub view: bool,
}

impl Bits {
    /// How many.
    pub fn width(&self) -> u32 {
        self.ranges.iter().map(|range| range.1).sum()
    }

    /// As a mask on the word.
    pub fn mask(&self) -> u128 {
        self.ranges.iter().fold(0, |mask, &(low, count)| mask | ones(count) << low)
    }

    /// The raw number in a word: neither shifted nor extended.
    pub fn extract(&self, word: u128) -> u128 {
        let mut number = 0;
        let mut at = 0;
        for &(low, count) in &self.ranges {
            number |= (word >> low & ones(count)) << at;
            at += count;
        }
        number
    }
}

/// So many ones.
pub fn ones(count: u32) -> u128 {
    if count >= 128 { u128::MAX } else { (1 << count) - 1 }
}

/// A modifier slot, bound to bits.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The slot.
    pub slot: String,
    /// Its bits.
    pub bits: Bits,
    /// Into [`Isa::modifiers`].
    pub modifier: usize,
    /// For each number in the bits, the value of the modifier; none where no instruction is.
    pub order: Vec<Option<usize>>,
}

/// An operand slot, bound to bits.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The slot.
    pub slot: String,
    /// What stands there.
    pub kind: Kind,
    /// Its parts by [`Part`].
    pub parts: Vec<(Part, Bits)>,
    /// For each number of [`Part::Select`], the value of the modifier.
    pub select: Option<(usize, Vec<Option<usize>>)>,
}

impl Operand {
    /// The bits of a part.
    pub fn part(&self, part: Part) -> Option<&Bits> {
        self.parts.iter().find(|entry| entry.0 == part).map(|entry| &entry.1)
    }
}

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$item_doc])* $item,)* }

        impl $name {
            /// By its name in the tables.
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$item),)*
                    _ => None,
                }
            }

            /// Its name in the tables.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$item => $text,)*
                }
            }
        }
    };
}

names! {
    /// What an operand is. `unshade-sass` knows how each is written.
    Kind {
        /// A general register; all ones is `RZ`.
        Register = "gpr",
        /// A general register that is left out, with the comma before it, if it is `RZ`.
        OptionalRegister = "opt_gpr",
        /// The register after the one that is encoded.
        RegisterPlus1 = "gpr+1",
        /// The register two after the one that is encoded.
        RegisterPlus2 = "gpr+2",
        /// A predicate; all ones is `PT`.
        Predicate = "pred",
        /// A predicate that is left out, with the comma before it, if it is `PT`.
        OptionalPredicate = "opt_pred",
        /// `@P0` before the instruction.
        Guard = "guard",
        /// `c[bank][offset]`.
        Constant = "const",
        /// `c[bank] [offset]`, as some operations of Kepler have it.
        ConstantSpaced = "const_spaced",
        /// `c[bank][register+offset]`.
        ConstantIndexed = "const_indexed",
        /// The same; `RZ` is written if there is no offset.
        ConstantBranch = "const_branch",
        /// `[register+offset]`.
        Memory = "mem",
        /// A number in hexadecimal.
        Integer = "int",
        /// A number in hexadecimal, whose sign stands before it.
        NegatedInteger = "int_neg",
        /// A number in hexadecimal that is left out, with the comma before it, when zero.
        OptionalInteger = "opt_int",
        /// A number in hexadecimal that is left out, with the space before it, when zero.
        TrailingInteger = "trail_int",
        /// A single-precision number, of which the high bits are encoded.
        Float32 = "f32",
        /// A double-precision number, of which the high bits are encoded.
        Float64 = "f64",
        /// A half-precision number.
        Float16 = "f16",
        /// An address relative to the next word.
        Relative = "rel",
        /// An address.
        Absolute = "abs",
    }
}

names! {
    /// A part of an operand.
    Part {
        /// The number itself: register, predicate, immediate, displacement.
        Value = "value",
        /// Negated: `-`.
        Negate = "neg",
        /// Its absolute value: `|…|`.
        Absolute = "abs",
        /// Every bit inverted: `~`.
        Invert = "inv",
        /// The predicate inverted: `!`.
        Not = "not",
        /// A part of the register: `.H1`, `.B2`, `.0123`.
        Select = "sel",
        /// The register of an address.
        Base = "base",
        /// The offset of an address.
        Offset = "offset",
        /// The bank of a constant.
        Bank = "bank",
    }
}
