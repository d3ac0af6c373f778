//! The types of the tables.
//!
//! Everything is an index into a flat array, so that an instruction set takes a few dozen kilobytes of constants:
//! an [`Encoding`] has ranges of [`Piece`]s (its text), of [`Field`]s (its bits) and of [`Operand`]s. `isa-gen`
//! generates the tables from `isa/nvidia/*.isa` and checks the invariants that this crate relies on.

/// No index.
pub const NONE: u16 = u16::MAX;

/// An invalid value of a modifier, in [`Isa::orders`].
pub const INVALID: u16 = u16::MAX;

/// An instruction set: how a family of chips encodes the operations.
#[derive(Debug)]
pub struct Isa {
    /// Its name: `sm_35`.
    pub name: &'static str,
    /// Its title, for people.
    pub title: &'static str,
    /// The architectures that use it: 35 for `sm_35`.
    pub architectures: &'static [u32],
    /// The size of an instruction in bytes.
    pub word_bytes: usize,
    /// The bit ranges (lowest bit, count) that form the index into [`Isa::buckets`].
    pub index: &'static [(u8, u8)],
    /// For each value of these bits, the start of its list in [`Isa::candidates`]; with one more entry at the end.
    pub buckets: &'static [u16],
    /// Encodings by bucket, sorted from most to least specific.
    pub candidates: &'static [u16],
    /// The encodings.
    pub encodings: &'static [Encoding],
    /// The pieces of instruction texts.
    pub pieces: &'static [Piece],
    /// Indices into `fields` and `operands`.
    pub lists: &'static [u16],
    /// The fields.
    pub fields: &'static [Field],
    /// The operands.
    pub operands: &'static [Operand],
    /// For each raw value of a modifier field, the index of the modifier's value, or [`INVALID`].
    pub orders: &'static [u16],
    /// The slots that semantics refer to, in the same order in every instruction set; then the strings of
    /// [`Piece::Text`], other slots, alternatives and latency classes.
    pub texts: &'static [&'static str],
    /// The operations. Those, pieces, fields and all other lists but encodings and buckets are shared with other generations,
    /// which may use entries that this one does not.
    pub operations: &'static [Operation],
    /// The modifiers.
    pub modifiers: &'static [Modifier],
    /// The fields of scheduling information of each instruction; `None` if it has codes instead. With scheduling words,
    /// they are in the bits above those of the instruction.
    pub control: Option<Control>,
    /// The format of scheduling words.
    pub schedule: Schedule,
    /// Whether the semantics of all its operations are known.
    pub has_semantics: bool,
}

/// Fields of scheduling information in an instruction: lowest bit and count of each.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Cycles to wait before the next instruction.
    pub stall: (u8, u8),
    /// 0 if another warp may be preferred. If it is 0 from Volta on, no register is reused.
    pub r#yield: (u8, u8),
    /// The scoreboard that is released when the results are written; all ones is none.
    pub write: (u8, u8),
    /// The scoreboard that is released when the operands are read; all ones is none.
    pub read: (u8, u8),
    /// The scoreboards to wait for, one bit each.
    pub wait: (u8, u8),
    /// The source operands that stay in the cache, one bit each.
    pub reuse: (u8, u8),
}

/// The format and position of scheduling words.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// The first word of every `every` aligned words is one; 0 if there are none.
    pub every: u64,
    /// The bits that identify a scheduling word.
    pub mask: u128,
    /// Their values.
    pub value: u128,
    /// The lowest bit of the first code.
    pub first_code: u8,
    /// The number of bits of a code.
    pub code_bits: u8,
}

/// An operation: what an instruction does, however it is encoded.
#[derive(Debug)]
pub struct Operation {
    /// Its name in the tables: the mnemonic, with a suffix where several operations share one.
    pub name: &'static str,
    /// The mnemonic.
    pub mnemonic: &'static str,
    /// A one-line description.
    pub meaning: &'static str,
    /// The kind of control flow.
    pub flow: Flow,
    /// The number of its semantics, or [`NONE`].
    pub program: u16,
    /// How it uses its operands.
    pub operands: &'static [Role],
    /// Its modifiers: slot, and index into [`Isa::modifiers`].
    pub modifiers: &'static [(&'static str, u16)],
}

/// How an operation uses an operand.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    /// The operand's slot in encodings.
    pub slot: &'static str,
    /// Whether it is read.
    pub read: bool,
    /// Whether it is written.
    pub written: bool,
    /// Its type: `b32`, `f64`, `pred`, `addr`, `label` …, or `?` and the slot of the modifier that selects it.
    pub ty: &'static str,
}

/// Where execution continues after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// At the next word.
    Next,
    /// At the target, or at the next word if the guard does not hold.
    Branch,
    /// At a computed target.
    Indirect,
    /// At the target, and after its return at the next word.
    Call,
    /// After the call instruction.
    Return,
    /// At the next word; a target is pushed onto the stack of addresses.
    Push,
    /// At a target popped from the stack of addresses.
    Pop,
    /// Nowhere: the thread exits.
    Exit,
    /// Nowhere: the thread stops for a debugger or a fault.
    Trap,
}

/// A modifier: a set of values with their spellings.
#[derive(Debug)]
pub struct Modifier {
    /// Its name in the tables.
    pub name: &'static str,
    /// A short description.
    pub meaning: &'static str,
    /// Name and spelling of each value.
    pub values: &'static [(&'static str, &'static str)],
}

/// The bits of one form of one operation.
#[derive(Debug)]
pub struct Encoding {
    /// Fixed bits.
    pub mask: u128,
    /// Their values.
    pub value: u128,
    /// Bits without a meaning, which are preserved.
    pub ignored: u128,
    /// If not zero, exactly one of these bits is set.
    pub one_bit: u128,
    /// If not zero, not all of these bits are set.
    pub not_ones: u128,
    /// Whether it takes precedence over encodings that fix more bits.
    pub is_first: bool,
    /// The operation, an index into [`Isa::operations`].
    pub operation: u16,
    /// The form of the operation, an index into [`Isa::texts`]; empty for the usual one.
    pub form: u16,
    /// Which alternative of its operands it is, an index into [`Isa::texts`].
    pub alternative: u16,
    /// The latency class, an index into [`Isa::texts`].
    pub latency: u16,
    /// Start and count in [`Isa::pieces`].
    pub pieces: (u16, u16),
    /// Start and count in [`Isa::lists`], of indices into [`Isa::fields`].
    pub fields: (u16, u16),
    /// Start and count in [`Isa::lists`], of indices into [`Isa::operands`].
    pub operands: (u16, u16),
    /// Whether a modifier has [`INVALID`] values, so that decoding must check them.
    pub checked: bool,
}

impl Encoding {
    /// Returns whether a word can have this encoding.
    #[inline]
    pub fn matches(&self, word: u128) -> bool {
        word & self.mask == self.value
            && (self.one_bit == 0 || (word & self.one_bit).count_ones() == 1)
            && (self.not_ones == 0 || word & self.not_ones != self.not_ones)
    }

    /// Returns the order in which the encodings that match a word are tried, lowest first: those that are marked, in the
    /// order of the table; then those that fix most bits.
    pub fn precedence(&self) -> u32 {
        if self.is_first { 0 } else { 129_u32.saturating_sub(self.mask.count_ones()) }
    }
}

/// A piece of an instruction's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The mnemonic, an index into [`Isa::texts`].
    Mnemonic(u16),
    /// Literal text, an index into [`Isa::texts`].
    Text(u16),
    /// The spelling of a modifier, an index into [`Isa::fields`].
    Modifier(u16),
    /// An operand, an index into [`Isa::operands`].
    Operand(u16),
}

/// A field: bits of a word that form a number.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Lowest bit and count of each range, lowest range first; unused ranges have count 0.
    pub ranges: [(u8, u8); 3],
    /// The total number of bits.
    pub width: u8,
    /// Whether the highest bit is the sign.
    pub signed: bool,
    /// The number of bits that the value is shifted left by.
    pub shift: u8,
    /// Whether the bits belong to other fields, of which this is a second interpretation.
    pub view: bool,
    /// The slot, an index into [`Isa::texts`].
    pub slot: u16,
    /// The modifier, an index into [`Isa::modifiers`], or [`NONE`].
    pub modifier: u16,
    /// The start of its values in [`Isa::orders`].
    pub order: u16,
}

/// An operand. Its parts are indices into [`Isa::fields`], or [`NONE`].
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// What it is and how it is printed.
    pub kind: Kind,
    /// The slot, an index into [`Isa::texts`].
    pub slot: u16,
    /// The value.
    pub value: u16,
    /// The sign bit `-`.
    pub negate: u16,
    /// The absolute-value bit `|…|`.
    pub absolute: u16,
    /// The bit `~`, which inverts every bit.
    pub invert: u16,
    /// The bit `!`, which inverts a predicate.
    pub not: u16,
    /// The modifier that selects a part of the register.
    pub select: u16,
    /// A modifier after the operand, outside of the bars of an absolute value.
    pub suffix: u16,
    /// The base register of an address.
    pub base: u16,
    /// The offset of an address.
    pub offset: u16,
    /// The bank of a constant.
    pub bank: u16,
    /// The uniform register of an address or a constant.
    pub uniform: u16,
    /// The bit `.reuse`: the register stays in the cache for the next instruction.
    pub reuse: u16,
    /// The uniform register of a descriptor before an address.
    pub descriptor: u16,
}

/// The kind of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A general register; all ones is `RZ`.
    Register,
    /// A general register other than `RZ`, which is printed as `???255`.
    NonzeroRegister,
    /// A uniform register other than `URZ`, which is printed as `???63`, or `???255` in a field of 8 bits.
    NonzeroUniformRegister,
    /// A predicate other than `PT`, which is printed as `???7`.
    NonzeroPredicate,
    /// A general register, omitted together with its comma if it is `RZ`.
    OptionalRegister,
    /// A general register, omitted together with the comma after it if it is `RZ`.
    LeadingRegister,
    /// A uniform register, omitted together with the comma after it if it is `URZ`.
    LeadingUniformRegister,
    /// A uniform register, omitted together with the comma before it if it is `URZ`.
    OptionalUniformRegister,
    /// The uniform register after the one that is encoded; `URZ` if that is `URZ`.
    UniformRegisterPlus1,
    /// The second uniform register after the one that is encoded; `URZ` if that is `URZ`.
    UniformRegisterPlus2,
    /// The register after the one that is encoded.
    RegisterPlus1,
    /// The register two after the one that is encoded.
    RegisterPlus2,
    /// A predicate; all ones is `PT`.
    Predicate,
    /// A predicate, omitted together with its comma if it is `PT`.
    OptionalPredicate,
    /// A predicate, omitted together with the comma after it if it is `PT`.
    LeadingPredicate,
    /// A predicate, omitted together with the space before it if it is `PT`.
    TrailingPredicate,
    /// A predicate whose number is inverted, omitted together with its comma if it is `PT`.
    InversePredicate,
    /// A predicate whose number is inverted, omitted together with the comma after it if it is `PT`.
    LeadingInversePredicate,
    /// A predicate whose number is inverted, never omitted.
    FullInversePredicate,
    /// A uniform predicate whose number is inverted, omitted together with its comma if it is `UPT`.
    InverseUniformPredicate,
    /// A uniform register; all ones is `URZ`.
    UniformRegister,
    /// A uniform predicate; all ones is `UPT`.
    UniformPredicate,
    /// A barrier for convergence: `B0`.
    Barrier,
    /// A scoreboard: `SB0`.
    Scoreboard,
    /// The numbers of the bits that are set, omitted together with its comma if there is none.
    BitSet,
    /// The numbers of the bits that are set, omitted together with the space before it if there is none.
    TrailingBitSet,
    /// A uniform predicate, omitted together with the comma after it if it is `UPT`.
    LeadingUniformPredicate,
    /// A uniform predicate, omitted together with its comma if it is `UPT`.
    OptionalUniformPredicate,
    /// `@P0` before the instruction.
    Guard,
    /// `@UP0` before the instruction.
    UniformGuard,
    /// `c[bank][offset]`.
    Constant,
    /// `c[bank] [offset]`, as nvdisasm prints it for some Kepler operations.
    ConstantSpaced,
    /// `c[bank][register+offset]`.
    ConstantIndexed,
    /// `c[bank][register+offset]`, with `RZ` printed if there is no offset.
    ConstantBranch,
    /// `c[bank][uniform register+offset]`; a register that is `URZ` is omitted if there is an offset.
    ConstantUniform,
    /// `cx[uniform register][offset]`.
    ConstantBindless,
    /// `cx[uniform register] [offset]`.
    ConstantBindlessSpaced,
    /// `[register+offset]`.
    Memory,
    /// `[register+uniform register+offset]`; terms that are zero are omitted.
    Address,
    /// An address whose base register is omitted only if it is `RZ` and has no factor.
    ScaledAddress,
    /// An address whose base register is never omitted.
    BaseAddress,
    /// The same, with its descriptor in the uniform register after the encoded one.
    BaseAddressPlus1,
    /// An address whose base register is never omitted, with a descriptor that is not printed.
    HiddenDescriptor,
    /// `[uniform register+offset]`; a register that is `URZ` is omitted if there is an offset.
    UniformAddress,
    /// A hexadecimal number.
    Integer,
    /// A hexadecimal number with a separate sign bit.
    NegatedInteger,
    /// A hexadecimal number, omitted together with its comma if it is zero.
    OptionalInteger,
    /// A mask, omitted together with its comma if all of its bits are set.
    OptionalMask,
    /// A hexadecimal number, omitted together with its space if it is zero.
    TrailingInteger,
    /// A single-precision number.
    Float32,
    /// A double-precision number.
    Float64,
    /// A half-precision number.
    Float16,
    /// A branch target, relative to the next word.
    Relative,
    /// An absolute branch target.
    Absolute,
}

impl Kind {
    /// Returns whether this is a uniform predicate.
    pub(crate) fn is_uniform_predicate(self) -> bool {
        matches!(
            self,
            Self::UniformPredicate
                | Self::LeadingUniformPredicate
                | Self::OptionalUniformPredicate
                | Self::InverseUniformPredicate
                | Self::UniformGuard
        )
    }

    /// Returns whether this is a predicate whose number is inverted.
    pub(crate) fn is_inverse(self) -> bool {
        matches!(
            self,
            Self::InversePredicate
                | Self::LeadingInversePredicate
                | Self::FullInversePredicate
                | Self::InverseUniformPredicate
        )
    }

    /// Returns whether this is a general register.
    pub(crate) fn is_register(self) -> bool {
        matches!(
            self,
            Self::Register
                | Self::NonzeroRegister
                | Self::OptionalRegister
                | Self::LeadingRegister
                | Self::RegisterPlus1
                | Self::RegisterPlus2
        )
    }

    /// Returns whether this is a uniform register.
    pub(crate) fn is_uniform_register(self) -> bool {
        matches!(
            self,
            Self::UniformRegister
                | Self::NonzeroUniformRegister
                | Self::OptionalUniformRegister
                | Self::LeadingUniformRegister
                | Self::UniformRegisterPlus1
                | Self::UniformRegisterPlus2
        )
    }

    /// Returns whether this is a predicate, also of the uniform datapath.
    pub(crate) fn is_predicate(self) -> bool {
        self.is_uniform_predicate()
            || self.is_inverse()
            || matches!(
                self,
                Self::Predicate
                    | Self::NonzeroPredicate
                    | Self::OptionalPredicate
                    | Self::LeadingPredicate
                    | Self::TrailingPredicate
                    | Self::Guard
            )
    }

    /// Returns how far a register is after the encoded one.
    pub(crate) fn register_offset(self) -> u64 {
        match self {
            Self::RegisterPlus1 | Self::UniformRegisterPlus1 | Self::BaseAddressPlus1 => 1,
            Self::RegisterPlus2 | Self::UniformRegisterPlus2 => 2,
            _ => 0,
        }
    }

    /// Returns whether this is the predicate before an instruction.
    pub fn is_guard(self) -> bool {
        matches!(self, Self::Guard | Self::UniformGuard)
    }

    /// Returns whether the last register or predicate (`RZ`, `URZ`, `PT`) is not valid.
    pub(crate) fn is_nonzero(self) -> bool {
        matches!(self, Self::NonzeroRegister | Self::NonzeroUniformRegister | Self::NonzeroPredicate)
    }

    /// The names of all kinds in the tables.
    pub const NAMES: [(&'static str, Self); 54] = [
        ("gpr", Self::Register),
        ("gpr_nonzero", Self::NonzeroRegister),
        ("ugpr_nonzero", Self::NonzeroUniformRegister),
        ("pred_nonzero", Self::NonzeroPredicate),
        ("opt_gpr", Self::OptionalRegister),
        ("lead_gpr", Self::LeadingRegister),
        ("lead_ugpr", Self::LeadingUniformRegister),
        ("opt_ugpr", Self::OptionalUniformRegister),
        ("ugpr+1", Self::UniformRegisterPlus1),
        ("ugpr+2", Self::UniformRegisterPlus2),
        ("addr_uniform", Self::UniformAddress),
        ("addr_scaled", Self::ScaledAddress),
        ("addr_base", Self::BaseAddress),
        ("addr_hidden", Self::HiddenDescriptor),
        ("addr_base+1", Self::BaseAddressPlus1),
        ("gpr+1", Self::RegisterPlus1),
        ("gpr+2", Self::RegisterPlus2),
        ("pred", Self::Predicate),
        ("opt_pred", Self::OptionalPredicate),
        ("lead_pred", Self::LeadingPredicate),
        ("trail_pred", Self::TrailingPredicate),
        ("inverse_pred", Self::InversePredicate),
        ("lead_inverse_pred", Self::LeadingInversePredicate),
        ("full_inverse_pred", Self::FullInversePredicate),
        ("inverse_upred", Self::InverseUniformPredicate),
        ("ugpr", Self::UniformRegister),
        ("upred", Self::UniformPredicate),
        ("barrier", Self::Barrier),
        ("sb", Self::Scoreboard),
        ("bit_set", Self::BitSet),
        ("trail_bit_set", Self::TrailingBitSet),
        ("lead_upred", Self::LeadingUniformPredicate),
        ("opt_upred", Self::OptionalUniformPredicate),
        ("cx_spaced", Self::ConstantBindlessSpaced),
        ("guard", Self::Guard),
        ("uguard", Self::UniformGuard),
        ("const", Self::Constant),
        ("const_spaced", Self::ConstantSpaced),
        ("const_indexed", Self::ConstantIndexed),
        ("const_branch", Self::ConstantBranch),
        ("const_uniform", Self::ConstantUniform),
        ("cx", Self::ConstantBindless),
        ("mem", Self::Memory),
        ("addr", Self::Address),
        ("int", Self::Integer),
        ("int_neg", Self::NegatedInteger),
        ("opt_int", Self::OptionalInteger),
        ("opt_mask", Self::OptionalMask),
        ("trail_int", Self::TrailingInteger),
        ("f32", Self::Float32),
        ("f64", Self::Float64),
        ("f16", Self::Float16),
        ("rel", Self::Relative),
        ("abs", Self::Absolute),
    ];
}
