//! The data model of the tables.
//!
//! Items refer to each other by index: a field's modifier is an index into [`Isa::modifiers`], an encoding's operation
//! an index into [`Isa::operations`].

use crate::lower::Program;
use crate::semantics::Statement;

/// All tables.
#[derive(Clone, Debug, Default)]
pub struct Isa {
    /// The modifiers.
    pub modifiers: Vec<Modifier>,
    /// The operations, in file order.
    pub operations: Vec<Operation>,
    /// The generations, with their encodings.
    pub generations: Vec<Generation>,
    /// The functions for what p-code operators can't express.
    pub functions: Vec<Function>,
    /// The macros: statements that several operations share.
    pub macros: Vec<Macro>,
    /// The lowered semantics of each operation, in the order of [`Isa::operations`].
    pub programs: Vec<Program>,
}

/// A named function in the semantics.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name.
    pub name: String,
    /// Whether the result only depends on the inputs.
    pub pure: bool,
    /// The widths of the inputs, in bits.
    pub inputs: Vec<u32>,
    /// The width of the result.
    pub output: Option<u32>,
    /// A one-line description.
    pub meaning: String,
    /// The line number.
    pub line: usize,
}

/// A macro: statements with parameters, which may be expressions, destinations or functions.
#[derive(Clone, Debug)]
pub struct Macro {
    /// The name.
    pub name: String,
    /// The parameters.
    pub parameters: Vec<String>,
    /// The statements.
    pub body: Vec<Statement>,
    /// The line number.
    pub line: usize,
}

impl Isa {
    /// Returns the index of the operation with this name.
    pub fn operation(&self, name: &str) -> Option<usize> {
        self.operations.iter().position(|operation| operation.name == name)
    }

    /// Returns the index of the modifier with this name.
    pub fn modifier(&self, name: &str) -> Option<usize> {
        self.modifiers.iter().position(|modifier| modifier.name == name)
    }
}

/// A modifier: a choice that is visible in the text, such as a rounding mode, a type or a special register.
#[derive(Clone, Debug)]
pub struct Modifier {
    /// The name in the tables.
    pub name: String,
    /// What it selects.
    pub meaning: String,
    /// The values, in the usual order of their encoding.
    pub values: Vec<ModifierValue>,
    /// The name of the file.
    pub file: String,
    /// The line number.
    pub line: usize,
}

/// A value of a modifier.
#[derive(Clone, Debug)]
pub struct ModifierValue {
    /// The name in the tables; `-` for a value that is invalid.
    pub name: String,
    /// The text, often with its dot; empty for a default.
    pub spelling: String,
}

/// An operation, independent of its encodings.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The mnemonic, with a suffix if several operations share it.
    pub name: String,
    /// A one-line description.
    pub meaning: String,
    /// The text, by form. The first form is the usual one.
    pub forms: Vec<Form>,
    /// The operands, in no particular order.
    pub operands: Vec<Role>,
    /// The modifiers: slot name, and index of the modifier.
    pub modifiers: Vec<(String, usize)>,
    /// The effect on control flow.
    pub flow: Flow,
    /// The semantics; empty if not defined yet.
    pub semantics: Vec<Statement>,
    /// The source of the semantics.
    pub does: String,
    /// The name of the file.
    pub file: String,
    /// The line number.
    pub line: usize,
}

impl Operation {
    /// Returns the first word of the text, which several operations may share.
    pub fn mnemonic(&self) -> &str {
        match self.forms.first().and_then(|form| form.template.first()) {
            Some(Piece::Text(text)) => text.split([' ', '.']).next().unwrap_or(&self.name),
            _ => &self.name,
        }
    }
}

/// A form: a variant of an operation's text.
#[derive(Clone, Debug)]
pub struct Form {
    /// The name; empty for the usual form.
    pub name: String,
    /// Text and slots.
    pub template: Vec<Piece>,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Literal text.
    Text(String),
    /// The value of a slot: an operand or a modifier.
    Slot(String),
}

/// An operand of an operation.
#[derive(Clone, Debug)]
pub struct Role {
    /// The slot name.
    pub name: String,
    /// Whether it is read, written or both.
    pub access: Access,
    /// The type: `b32`, `f64`, `pred`, `addr`, `label` …, or `?` and the slot of the modifier that determines it.
    pub ty: String,
    /// Whether some encodings of a form that shows it do not have it.
    pub is_optional: bool,
}

/// The access to an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read.
    In,
    /// Written.
    Out,
    /// Read, then written.
    InOut,
}

/// The effect of an operation on control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continues with the next word.
    Next,
    /// Branches to the target, in threads whose guard is true.
    Branch,
    /// Branches to a computed target.
    Indirect,
    /// Calls the target.
    Call,
    /// Returns from a call.
    Return,
    /// Pushes a target on the reconvergence stack.
    Push,
    /// Branches to the target on top of the reconvergence stack.
    Pop,
    /// Ends the thread.
    Exit,
    /// Stops the thread for a debugger, or faults.
    Trap,
}

impl Flow {
    /// The names in the tables, in the order of the variants.
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

/// A generation: how a family of chips encodes operations.
#[derive(Clone, Debug)]
pub struct Generation {
    /// The name, such as `sm_35`.
    pub name: String,
    /// A description.
    pub title: String,
    /// The numbers of its architectures.
    pub architectures: Vec<u32>,
    /// The size of an instruction in bits.
    pub word_bits: u32,
    /// The bits that the decoder uses to look up candidates.
    pub index: Vec<(u32, u32)>,
    /// The fields of scheduling information in each instruction; empty if it is in words of its own.
    pub control: Vec<ControlField>,
    /// The position of scheduling words among instructions.
    pub schedule: Schedule,
    /// Whether the semantics of all its operations are described.
    pub has_semantics: bool,
    /// The encodings, in file order.
    pub encodings: Vec<Encoding>,
    /// The name of the file.
    pub file: String,
}

impl Generation {
    /// Returns the bits of an instruction: those of its word, and those that a scheduling word has for it.
    pub fn bits(&self) -> u128 {
        self.control.iter().fold(ones(self.word_bits), |bits, field| bits | ones(field.count) << field.low)
    }

    /// Returns whether a scheduling word has bits of each of the instructions that follow it.
    pub fn has_bundles(&self) -> bool {
        self.schedule.every != 0 && !self.control.is_empty()
    }
}

/// A field of scheduling information: lowest bit and count.
#[derive(Clone, Debug)]
pub struct ControlField {
    /// `stall`, `yield`, `write`, `read`, `wait` or `reuse`.
    pub name: String,
    /// The lowest bit.
    pub low: u32,
    /// The number of bits.
    pub count: u32,
}

/// The names of all fields of scheduling information.
pub const CONTROL_FIELDS: [&str; 6] = ["stall", "yield", "write", "read", "wait", "reuse"];

/// Scheduling words among the instructions.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The distance between scheduling words in words; 0 if there are none.
    pub every: u32,
    /// The mask of the bits that identify a scheduling word.
    pub mask: u128,
    /// The values of these bits.
    pub value: u128,
    /// The lowest bit of the first code.
    pub first_code: u32,
    /// The number of bits per code.
    pub code_bits: u32,
}

/// An encoding: the bits of one form of an operation.
#[derive(Clone, Debug)]
pub struct Encoding {
    /// The operation, as an index into [`Isa::operations`].
    pub operation: usize,
    /// The form, as an index into [`Operation::forms`].
    pub form: usize,
    /// The name of the operand alternative (`reg`, `const`, `imm`), for documentation.
    pub alternative: String,
    /// The mask of the fixed bits.
    pub mask: u128,
    /// The values of the fixed bits.
    pub value: u128,
    /// The mask of the bits that have no meaning but are preserved.
    pub ignored: u128,
    /// If not zero, exactly one of these bits is set.
    pub one_bit: u128,
    /// If not zero, not all of these bits are set.
    pub not_ones: u128,
    /// Whether it takes precedence over encodings that fix more bits.
    pub is_first: bool,
    /// The modifier slots.
    pub choices: Vec<Choice>,
    /// The operand slots.
    pub operands: Vec<Operand>,
    /// The latency class.
    pub latency: String,
    /// The examples.
    pub examples: Vec<Example>,
    /// The line number.
    pub line: usize,
}

impl Encoding {
    /// Returns the index of the operand in this slot.
    pub fn operand(&self, slot: &str) -> Option<usize> {
        self.operands.iter().position(|operand| operand.slot == slot)
    }

    /// Returns whether a word can have this encoding.
    pub fn matches(&self, word: u128) -> bool {
        word & self.mask == self.value
            && (self.one_bit == 0 || (word & self.one_bit).count_ones() == 1)
            && (self.not_ones == 0 || word & self.not_ones != self.not_ones)
    }

    /// Returns the order in which the encodings that match a word are tried, lowest first: those that are marked, in file
    /// order; then those that fix most bits.
    pub fn precedence(&self) -> u32 {
        if self.is_first { 0 } else { 129 - self.mask.count_ones() }
    }

    /// Returns the mask of the bits that are fixed or part of a slot.
    pub fn claimed(&self) -> u128 {
        let choices = self.choices.iter().map(|choice| &choice.bits);
        let parts = self.operands.iter().flat_map(|operand| operand.parts.iter().map(|part| &part.1));
        choices.chain(parts).fold(self.mask, |mask, bits| mask | bits.mask())
    }

    /// Returns the index of the modifier in this slot.
    pub fn choice(&self, slot: &str) -> Option<usize> {
        self.choices.iter().position(|choice| choice.slot == slot)
    }
}

/// An example: a word and its text.
#[derive(Clone, Debug)]
pub struct Example {
    /// The address, for branches.
    pub address: u64,
    /// The word.
    pub word: u128,
    /// The text.
    pub text: String,
    /// The line number.
    pub line: usize,
}

/// Bits of a word that form a number, lowest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    /// The lowest bit and the size of each range.
    pub ranges: Vec<(u32, u32)>,
    /// Whether the highest bit is the sign.
    pub signed: bool,
    /// The left shift of the number.
    pub shift: u32,
    /// Whether the bits belong to other fields, and this is a second interpretation of them.
    pub view: bool,
}

impl Bits {
    /// Returns the number of bits.
    pub fn width(&self) -> u32 {
        self.ranges.iter().map(|range| range.1).sum()
    }

    /// Returns the bits as a mask of the word.
    pub fn mask(&self) -> u128 {
        self.ranges.iter().fold(0, |mask, &(low, count)| mask | ones(count) << low)
    }

    /// Returns the raw number in a word, neither shifted nor extended.
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

/// Returns a mask of `count` ones.
pub fn ones(count: u32) -> u128 {
    if count >= 128 { u128::MAX } else { (1 << count) - 1 }
}

/// A modifier slot and its bits.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The slot.
    pub slot: String,
    /// The bits.
    pub bits: Bits,
    /// The modifier, as an index into [`Isa::modifiers`].
    pub modifier: usize,
    /// For each number in the bits, the value of the modifier; none if the number is invalid.
    pub order: Vec<Option<usize>>,
}

/// An operand slot and its bits.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The slot.
    pub slot: String,
    /// The kind of operand.
    pub kind: Kind,
    /// The bits of its parts.
    pub parts: Vec<(Part, Bits)>,
    /// The modifiers of [`Part::Select`] and [`Part::Suffix`].
    pub modifiers: Vec<(Part, PartModifier)>,
}

/// The modifier of a part of an operand.
#[derive(Clone, Debug)]
pub struct PartModifier {
    /// The modifier, as an index into [`Isa::modifiers`].
    pub modifier: usize,
    /// For each number in the bits, the value of the modifier; none if the number is invalid.
    pub order: Vec<Option<usize>>,
}

impl Operand {
    /// Returns the modifier of a part.
    pub fn modifier(&self, part: Part) -> Option<&PartModifier> {
        self.modifiers.iter().find(|entry| entry.0 == part).map(|entry| &entry.1)
    }

    /// Returns the bits of a part.
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
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$item,)*];

            /// Returns the value with this name in the tables.
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$item),)*
                    _ => None,
                }
            }

            /// Returns the name in the tables.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$item => $text,)*
                }
            }
        }
    };
}

names! {
    /// The kind of an operand, which determines its text in `unshade-sass`.
    Kind {
        /// A general register; all ones is `RZ`.
        Register = "gpr",
        /// A general register other than `RZ`, which is printed as `???255`.
        NonzeroRegister = "gpr_nonzero",
        /// A uniform register other than `URZ`, which is printed as `???63`, or `???255` in a field of 8 bits.
        NonzeroUniformRegister = "ugpr_nonzero",
        /// A predicate other than `PT`, which is printed as `???7`.
        NonzeroPredicate = "pred_nonzero",
        /// A general register; if it is `RZ`, it is omitted with the preceding comma.
        OptionalRegister = "opt_gpr",
        /// A general register; if it is `RZ`, it is omitted with the following comma.
        LeadingRegister = "lead_gpr",
        /// A uniform register; if it is `URZ`, it is omitted with the following comma.
        LeadingUniformRegister = "lead_ugpr",
        /// A uniform register; if it is `URZ`, it is omitted with the preceding comma.
        OptionalUniformRegister = "opt_ugpr",
        /// The uniform register after the encoded one; `URZ` if that is `URZ`.
        UniformRegisterPlus1 = "ugpr+1",
        /// The second uniform register after the encoded one; `URZ` if that is `URZ`.
        UniformRegisterPlus2 = "ugpr+2",
        /// The register after the encoded one.
        RegisterPlus1 = "gpr+1",
        /// The second register after the encoded one.
        RegisterPlus2 = "gpr+2",
        /// A predicate; all ones is `PT`.
        Predicate = "pred",
        /// A predicate; if it is `PT`, it is omitted with the preceding comma.
        OptionalPredicate = "opt_pred",
        /// A predicate; if it is `PT`, it is omitted with the following comma.
        LeadingPredicate = "lead_pred",
        /// A predicate; if it is `PT`, it is omitted with the preceding space.
        TrailingPredicate = "trail_pred",
        /// A predicate whose number is inverted; if it is `PT`, it is omitted with the preceding comma.
        InversePredicate = "inverse_pred",
        /// A predicate whose number is inverted; if it is `PT`, it is omitted with the following comma.
        LeadingInversePredicate = "lead_inverse_pred",
        /// A predicate whose number is inverted, never omitted.
        FullInversePredicate = "full_inverse_pred",
        /// A uniform predicate whose number is inverted; if it is `UPT`, it is omitted with the preceding comma.
        InverseUniformPredicate = "inverse_upred",
        /// A uniform register; all ones is `URZ`.
        UniformRegister = "ugpr",
        /// A uniform predicate; all ones is `UPT`.
        UniformPredicate = "upred",
        /// A barrier for convergence: `B0`.
        Barrier = "barrier",
        /// A scoreboard: `SB0`.
        Scoreboard = "sb",
        /// The numbers of the bits that are set, `{3,1}`; if there is none, it is omitted with the preceding comma.
        BitSet = "bit_set",
        /// The numbers of the bits that are set, `{3,1}`; if there is none, it is omitted with the preceding space.
        TrailingBitSet = "trail_bit_set",
        /// A uniform predicate; if it is `UPT`, it is omitted with the following comma.
        LeadingUniformPredicate = "lead_upred",
        /// A uniform predicate; if it is `UPT`, it is omitted with the preceding comma.
        OptionalUniformPredicate = "opt_upred",
        /// The guard `@P0` before the instruction.
        Guard = "guard",
        /// The guard `@UP0` before an instruction of the uniform datapath.
        UniformGuard = "uguard",
        /// `c[bank][offset]`.
        Constant = "const",
        /// `c[bank] [offset]`, as in some operations of Kepler.
        ConstantSpaced = "const_spaced",
        /// `c[bank][register+offset]`.
        ConstantIndexed = "const_indexed",
        /// `c[bank][register+offset]`; `RZ` is written if there is no offset.
        ConstantBranch = "const_branch",
        /// `c[bank][uniform register+offset]`; a register that is `URZ` is omitted if there is an offset.
        ConstantUniform = "const_uniform",
        /// `cx[uniform register][offset]`: a constant of a bank without a number.
        ConstantBindless = "cx",
        /// `cx[uniform register] [offset]`.
        ConstantBindlessSpaced = "cx_spaced",
        /// `[register+offset]`.
        Memory = "mem",
        /// `[register+uniform register+offset]`; terms that are zero are omitted.
        Address = "addr",
        /// An address whose base register is omitted only if it is `RZ` and has no factor. `RZ` of 64 bits is printed as `???255`.
        ScaledAddress = "addr_scaled",
        /// An address whose base register is never omitted.
        BaseAddress = "addr_base",
        /// The same, with its descriptor in the uniform register after the encoded one.
        BaseAddressPlus1 = "addr_base+1",
        /// An address whose base register is never omitted, with a descriptor that is not printed.
        HiddenDescriptor = "addr_hidden",
        /// `[uniform register+offset]`; a register that is `URZ` is omitted if there is an offset.
        UniformAddress = "addr_uniform",
        /// A hexadecimal number.
        Integer = "int",
        /// A hexadecimal number with a sign before it.
        NegatedInteger = "int_neg",
        /// A hexadecimal number; if it is zero, it is omitted with the preceding comma.
        OptionalInteger = "opt_int",
        /// A mask; if all of its bits are set, it is omitted with the preceding comma.
        OptionalMask = "opt_mask",
        /// A hexadecimal number; if it is zero, it is omitted with the preceding space.
        TrailingInteger = "trail_int",
        /// A single-precision number, of which only the high bits are encoded.
        Float32 = "f32",
        /// A double-precision number, of which only the high bits are encoded.
        Float64 = "f64",
        /// A half-precision number.
        Float16 = "f16",
        /// An address relative to the next word.
        Relative = "rel",
        /// An address.
        Absolute = "abs",
    }
}

impl Kind {
    /// Returns whether this is a number in the instruction word.
    pub fn is_immediate(self) -> bool {
        matches!(self, Self::Integer | Self::Float16 | Self::Float32 | Self::Float64)
    }
}

names! {
    /// A part of an operand.
    Part {
        /// The number itself: register, predicate, immediate, displacement.
        Value = "value",
        /// Negation: `-`.
        Negate = "neg",
        /// Absolute value: `|…|`.
        Absolute = "abs",
        /// Bitwise inversion: `~`.
        Invert = "inv",
        /// Inversion of a predicate: `!`.
        Not = "not",
        /// The selected part of the register: `.H1`, `.B2`, `.0123`.
        Select = "sel",
        /// A modifier after the operand, outside of the bars of an absolute value: `.H0_H0`.
        Suffix = "suffix",
        /// The register of an address.
        Base = "base",
        /// The offset of an address.
        Offset = "offset",
        /// The bank of a constant.
        Bank = "bank",
        /// The uniform register of an address or a constant.
        Uniform = "uniform",
        /// The uniform register of a descriptor before an address: `desc[UR4]`.
        Descriptor = "desc",
        /// Whether the register stays in the cache for the next instruction: `.reuse`.
        Reuse = "reuse",
    }
}
