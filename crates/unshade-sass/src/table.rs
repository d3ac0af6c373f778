//! What the generated tables are made of.
//!
//! Everything is an index into a flat array, so that an instruction set is a few dozen kilobytes of constants: an
//! [`Encoding`] names a range of [`Piece`]s (its text), of [`Field`]s (its bits) and of [`Operand`]s. `isa-gen` writes
//! them from `isa/nvidia/*.isa` and checks there what is relied on here.

/// No index.
pub const NONE: u16 = u16::MAX;

/// A value that no instruction may have, in [`Isa::orders`].
pub const INVALID: u16 = u16::MAX;

/// How one family of chips encodes the operations.
#[derive(Debug)]
pub struct Isa {
    /// Its name: `sm_35`.
    pub name: &'static str,
    /// What it is, in words.
    pub title: &'static str,
    /// The numbers of the architectures that share it: 35 for `sm_35`.
    pub architectures: &'static [u32],
    /// Bytes of an instruction.
    pub word_bytes: usize,
    /// Lowest bit and count of the ranges of bits by which candidates are looked up.
    pub index: &'static [(u8, u8)],
    /// For each value of these bits, where its candidates begin; one more at the end.
    pub buckets: &'static [u16],
    /// Encodings by bucket, the more special before the less.
    pub candidates: &'static [u16],
    /// Every encoding.
    pub encodings: &'static [Encoding],
    /// Pieces of text.
    pub pieces: &'static [Piece],
    /// Indices into the two arrays below.
    pub lists: &'static [u16],
    /// Bits.
    pub fields: &'static [Field],
    /// Operands.
    pub operands: &'static [Operand],
    /// For each number in the bits of a modifier, the value that it stands for, or [`INVALID`].
    pub orders: &'static [u16],
    /// Slots that semantics name, in the same order in every instruction set; then strings of [`Piece::Text`], other slots,
    /// alternatives, classes of latency.
    pub texts: &'static [&'static str],
    /// Words that steer the scheduler.
    pub schedule: Schedule,
}

/// Where scheduling words stand, and what they look like.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// One stands first in every so many words, aligned; 0 if there are none.
    pub every: u64,
    /// The bits that make it out.
    pub mask: u128,
    /// Their values.
    pub value: u128,
    /// The lowest bit of the first code.
    pub first_code: u8,
    /// Bits of a code.
    pub code_bits: u8,
}

/// An operation: what an instruction does, however it is encoded.
#[derive(Debug)]
pub struct Operation {
    /// Its name in the tables; the mnemonic, with a suffix where several share one.
    pub name: &'static str,
    /// The mnemonic.
    pub mnemonic: &'static str,
    /// One line on what it does.
    pub meaning: &'static str,
    /// Where execution goes on.
    pub flow: Flow,
    /// What it does with its operands.
    pub operands: &'static [Role],
    /// Its modifiers: the slot, and into the table of modifiers.
    pub modifiers: &'static [(&'static str, u16)],
}

/// What an operation does with an operand.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    /// The slot that it has in encodings.
    pub slot: &'static str,
    /// Whether it is read.
    pub read: bool,
    /// Whether it is written.
    pub written: bool,
    /// Its type: `b32`, `f64`, `pred`, `addr`, `label` …, or `?` and the slot of the modifier that says.
    pub ty: &'static str,
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
    /// With the next word; a target is pushed on the reconvergence stack.
    Push,
    /// At the target on top of the reconvergence stack.
    Pop,
    /// The thread ends.
    Exit,
    /// The thread stops for a debugger or in a fault.
    Trap,
}

/// A set of spellings.
#[derive(Debug)]
pub struct Modifier {
    /// Its name in the tables.
    pub name: &'static str,
    /// What it chooses, in words.
    pub meaning: &'static str,
    /// Name and spelling of each value.
    pub values: &'static [(&'static str, &'static str)],
}

/// Which bits make which form of which operation.
#[derive(Debug)]
pub struct Encoding {
    /// Fixed bits.
    pub mask: u128,
    /// Their values.
    pub value: u128,
    /// Bits that mean nothing and are kept.
    pub ignored: u128,
    /// Into the table of operations.
    pub operation: u16,
    /// Into [`Isa::texts`]: the form of the operation, empty for the usual one.
    pub form: u16,
    /// Into [`Isa::texts`]: which alternative of its operands it is.
    pub alternative: u16,
    /// Into [`Isa::texts`]: the class of its latency.
    pub latency: u16,
    /// First of [`Isa::pieces`], and how many.
    pub pieces: (u16, u16),
    /// First of [`Isa::lists`], and how many: [`Isa::fields`].
    pub fields: (u16, u16),
    /// First of [`Isa::lists`], and how many: [`Isa::operands`].
    pub operands: (u16, u16),
    /// Whether some value of its modifiers is [`INVALID`].
    pub checked: bool,
}

/// A piece of an instruction's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The mnemonic: into [`Isa::texts`].
    Mnemonic(u16),
    /// Text as it stands: into [`Isa::texts`].
    Text(u16),
    /// The spelling of a modifier: into [`Isa::fields`].
    Modifier(u16),
    /// An operand: into [`Isa::operands`].
    Operand(u16),
}

/// Bits of a word that make a number.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Lowest bit and count of each range, the lowest first; counts of 0 at the end.
    pub ranges: [(u8, u8); 3],
    /// All bits together.
    pub width: u8,
    /// Whether the highest is the sign.
    pub signed: bool,
    /// By how much the number is shifted to the left.
    pub shift: u8,
    /// Whether other fields own the bits.
    pub view: bool,
    /// Into [`Isa::texts`]: the slot.
    pub slot: u16,
    /// The set of spellings, or [`NONE`].
    pub modifier: u16,
    /// Where its values begin in [`Isa::orders`].
    pub order: u16,
}

/// An operand: its parts as indices into [`Isa::fields`], or [`NONE`].
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// What it is and how it is written.
    pub kind: Kind,
    /// Into [`Isa::texts`]: the slot.
    pub slot: u16,
    /// The number itself.
    pub value: u16,
    /// Negated.
    pub negate: u16,
    /// Its absolute value.
    pub absolute: u16,
    /// Every bit inverted.
    pub invert: u16,
    /// The predicate inverted.
    pub not: u16,
    /// The part of the register.
    pub select: u16,
    /// The register of an address.
    pub base: u16,
    /// The offset of an address.
    pub offset: u16,
    /// The bank of a constant.
    pub bank: u16,
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A general register; all ones is `RZ`.
    Register,
    /// A general register that is left out, with the comma before it, if it is `RZ`.
    OptionalRegister,
    /// The register after the one that is encoded.
    RegisterPlus1,
    /// The register two after the one that is encoded.
    RegisterPlus2,
    /// A predicate; all ones is `PT`.
    Predicate,
    /// A predicate that is left out, with the comma before it, if it is `PT`.
    OptionalPredicate,
    /// `@P0` before the instruction.
    Guard,
    /// `c[bank][offset]`.
    Constant,
    /// `c[bank] [offset]`, as some operations of Kepler have it.
    ConstantSpaced,
    /// `c[bank][register+offset]`.
    ConstantIndexed,
    /// The same; `RZ` is written if there is no offset.
    ConstantBranch,
    /// `[register+offset]`.
    Memory,
    /// A number in hexadecimal.
    Integer,
    /// The same, with its sign before it.
    NegatedInteger,
    /// The same, left out with the comma before it when zero.
    OptionalInteger,
    /// The same, left out with the space before it when zero.
    TrailingInteger,
    /// A single-precision number.
    Float32,
    /// A double-precision number.
    Float64,
    /// A half-precision number.
    Float16,
    /// An address relative to the next word.
    Relative,
    /// An address.
    Absolute,
}
