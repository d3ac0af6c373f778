//! Instructions: 36 bytes each, with their operands in a pool of the function.
//!
//! | opcode | operands | `detail` | `extra` |
//! |---|---|---|---|
//! | `ret` | value? | | |
//! | `br` | block, or condition, then-block, else-block | | |
//! | `switch` | condition, default block, (case value, block)… | | |
//! | `indirectbr` | address, blocks… | | |
//! | `invoke` | callee, arguments…, normal block, unwind block | call | |
//! | `callbr` | callee, arguments…, default block, indirect blocks… | call | count of blocks |
//! | `call` | callee, arguments… | call | |
//! | `resume`, `freeze`, `fneg`, casts, `extractvalue`, `va_arg` | value | `extractvalue`: first index | count of indices |
//! | binary operations, `icmp`, `fcmp`, `insertvalue` | two values | predicate; first index | count of indices |
//! | `select` | condition, values | | |
//! | `extractelement`, `insertelement`, `shufflevector` | vectors, element, index, mask as in the text | | |
//! | `phi` | (value, block)… | | |
//! | `alloca` | size | type | memory |
//! | `load`, `store`, `atomicrmw`, `cmpxchg`, `fence` | pointer or as in the text | synchronisation scope | memory |
//! | `getelementptr` | pointer, indices… | type | |
//! | `landingpad` | clauses | bits: 1 is filter | 1 if cleanup |
//! | `cleanupret`, `catchret` | pad, block? | | |
//! | `catchpad`, `cleanuppad` | parent, arguments… | | |
//! | `catchswitch` | parent, handlers…, unwind block? | 1 if it unwinds | |
//! | debug records | see [`crate::FunctionBody::debug_records`] | | |
//!
//! *Memory* packs the alignment (exponent plus one, 8 bits), the ordering (4 bits) and the ordering on failure (4
//! bits); see [`Memory`].

use crate::write::Version;
use crate::ids::{Slice, TypeId, ValueId};

macro_rules! opcodes {
    ($($name:ident $text:literal)*) => {
        /// The operation of an instruction or constant expression.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Opcode {
            $($name,)*
        }

        impl Opcode {
            /// All opcodes, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the mnemonic.
            pub fn mnemonic(self) -> &'static str {
                let spaced = self.mnemonic_and_space();
                spaced.strip_suffix(' ').unwrap_or(spaced)
            }

            /// Returns the mnemonic with a trailing space.
            #[inline]
            pub(crate) fn mnemonic_and_space(self) -> &'static str {
                const NAMES: &[&str] = &[$(concat!($text, " "),)*];
                NAMES.get(self as usize).copied().unwrap_or("")
            }
        }
    };
}

opcodes! {
    Ret "ret" Br "br" Switch "switch" IndirectBr "indirectbr" Invoke "invoke" Resume "resume"
    Unreachable "unreachable" CleanupRet "cleanupret" CatchRet "catchret" CatchSwitch "catchswitch" CallBr "callbr"
    FNeg "fneg"
    Add "add" FAdd "fadd" Sub "sub" FSub "fsub" Mul "mul" FMul "fmul" UDiv "udiv" SDiv "sdiv" FDiv "fdiv"
    URem "urem" SRem "srem" FRem "frem" Shl "shl" LShr "lshr" AShr "ashr" And "and" Or "or" Xor "xor"
    Alloca "alloca" Load "load" Store "store" GetElementPtr "getelementptr" Fence "fence" CmpXchg "cmpxchg"
    AtomicRmw "atomicrmw"
    Trunc "trunc" ZExt "zext" SExt "sext" FpToUi "fptoui" FpToSi "fptosi" UiToFp "uitofp" SiToFp "sitofp"
    FpTrunc "fptrunc" FpExt "fpext" PtrToInt "ptrtoint" IntToPtr "inttoptr" BitCast "bitcast"
    PtrToAddr "ptrtoaddr" AddrSpaceCast "addrspacecast"
    CleanupPad "cleanuppad" CatchPad "catchpad" ICmp "icmp" FCmp "fcmp" Phi "phi" Call "call" Select "select"
    VaArg "va_arg" ExtractElement "extractelement" InsertElement "insertelement" ShuffleVector "shufflevector"
    ExtractValue "extractvalue" InsertValue "insertvalue" LandingPad "landingpad" Freeze "freeze"
    PtrAuth "ptrauth"
}

/// Binary operations by their number in bitcode: on integers, and on floating-point numbers if that exists.
const BINARY: [(Opcode, Option<Opcode>); 13] = [
    (Opcode::Add, Some(Opcode::FAdd)),
    (Opcode::Sub, Some(Opcode::FSub)),
    (Opcode::Mul, Some(Opcode::FMul)),
    (Opcode::UDiv, None),
    (Opcode::SDiv, Some(Opcode::FDiv)),
    (Opcode::URem, None),
    (Opcode::SRem, Some(Opcode::FRem)),
    (Opcode::Shl, None),
    (Opcode::LShr, None),
    (Opcode::AShr, None),
    (Opcode::And, None),
    (Opcode::Or, None),
    (Opcode::Xor, None),
];

/// Casts by their number in bitcode.
const CASTS: [Opcode; 14] = [
    Opcode::Trunc,
    Opcode::ZExt,
    Opcode::SExt,
    Opcode::FpToUi,
    Opcode::FpToSi,
    Opcode::UiToFp,
    Opcode::SiToFp,
    Opcode::FpTrunc,
    Opcode::FpExt,
    Opcode::PtrToInt,
    Opcode::IntToPtr,
    Opcode::BitCast,
    Opcode::AddrSpaceCast,
    Opcode::PtrToAddr,
];

impl Opcode {
    /// Returns a binary operation by its number in bitcode.
    pub(crate) fn binary(number: u64, float: bool) -> Option<Self> {
        let &(integer, floating) = BINARY.get(usize::try_from(number).ok()?)?;
        if float { floating } else { Some(integer) }
    }

    /// Returns a cast by its number in bitcode.
    pub(crate) fn cast(number: u64) -> Option<Self> {
        CASTS.get(usize::try_from(number).ok()?).copied()
    }

    /// Returns the number of a binary operation in bitcode.
    pub(crate) fn binary_number(self) -> Option<u64> {
        let is = |&(integer, float): &(Self, Option<Self>)| integer == self || float == Some(self);
        BINARY.iter().position(is).map(|number| number as u64)
    }

    /// Returns the number of a cast in bitcode.
    pub(crate) fn cast_number(self) -> Option<u64> {
        CASTS.iter().position(|&cast| cast == self).map(|number| number as u64)
    }

    /// Returns whether the operation ends a basic block.
    pub fn is_terminator(self) -> bool {
        (self as u8) <= Self::CallBr as u8
    }

    /// Returns whether this is a binary operation.
    pub fn is_binary(self) -> bool {
        (Self::Add as u8..=Self::Xor as u8).contains(&(self as u8))
    }

    /// Returns whether this is a cast.
    pub fn is_cast(self) -> bool {
        (Self::Trunc as u8..=Self::AddrSpaceCast as u8).contains(&(self as u8))
    }

    /// Returns whether the flags of the operation are `nuw` (1) and `nsw` (2).
    pub fn may_wrap(self) -> bool {
        matches!(self, Self::Add | Self::Sub | Self::Mul | Self::Shl)
    }

    /// Returns whether the flag of the operation is `exact`.
    pub fn may_be_exact(self) -> bool {
        matches!(self, Self::UDiv | Self::SDiv | Self::LShr | Self::AShr)
    }

    /// Returns whether the operation works on floating-point numbers and may have fast-math flags.
    pub fn is_float_operation(self) -> bool {
        matches!(
            self,
            Self::FNeg | Self::FAdd | Self::FSub | Self::FMul | Self::FDiv | Self::FRem | Self::FCmp
        )
    }
}

/// An instruction; the table in the [module documentation](self) gives the meaning of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The operation.
    pub opcode: Opcode,
    /// Fast-math flags as stored, or `nuw` 1, `nsw` 2, `exact` 1, `samesign` 1, `inbounds` 1 (and 2 `nusw`, 4 `nuw`),
    /// `volatile` 1, `weak` 2, `inalloca` 1, `swifterror` 2, and the operation of `atomicrmw` from bit 8.
    pub flags: u16,
    /// The type of the result; `void` if there is none.
    pub ty: TypeId,
    /// The value id of the result.
    pub result: ValueId,
    /// The operands, in [`crate::FunctionBody::operands`].
    pub operands: Slice,
    /// See the table in the [module documentation](self).
    pub detail: u32,
    /// See the table in the [module documentation](self).
    pub extra: u32,
    /// The source location plus one, in [`crate::FunctionBody::locations`]; 0 is none.
    pub location: u32,
}

impl Instruction {
    /// The size of an instruction in bytes.
    pub const SIZE: usize = size_of::<Self>();

    /// Creates an instruction without operands, flags, result and location.
    pub(crate) fn new(opcode: Opcode, ty: TypeId) -> Self {
        Self {
            opcode,
            flags: 0,
            ty,
            result: ValueId::NONE,
            operands: Slice::default(),
            detail: 0,
            extra: 0,
            location: 0,
        }
    }

    /// Returns the alignment and orderings of a memory instruction.
    pub fn memory(&self) -> Memory {
        Memory(self.extra)
    }
}

/// The alignment and orderings of a memory access, packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory(pub(crate) u32);

impl Memory {
    pub(crate) fn new(alignment: u64, ordering: u64, failure: u64) -> Self {
        let clamp = |value: u64, max: u64| u32::from(value.min(max).to_le_bytes()[0]);
        Self(clamp(alignment, 64) | clamp(ordering, 6) << 8 | clamp(failure, 6) << 12)
    }

    /// Returns the exponent of the alignment, if it is stored.
    pub fn alignment(self) -> Option<u32> {
        (self.0 & 0xFF).checked_sub(1)
    }

    /// Returns the ordering, as an index into [`ORDERINGS`].
    pub fn ordering(self) -> u32 {
        self.0 >> 8 & 15
    }

    /// Returns the failure ordering of a `cmpxchg`.
    pub fn failure(self) -> u32 {
        self.0 >> 12 & 15
    }
}

/// The names of atomic orderings, by number.
pub const ORDERINGS: [&str; 7] =
    ["not_atomic", "unordered", "monotonic", "acquire", "release", "acq_rel", "seq_cst"];

/// Returns the name of a comparison predicate: 0 to 15 for floating-point numbers, from 32 on for integers.
pub fn predicate(number: u32) -> Option<&'static str> {
    const FLOAT: [&str; 16] = [
        "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "uno", "ueq", "ugt", "uge", "ult", "ule", "une",
        "true",
    ];
    const INTEGER: [&str; 10] = ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"];
    match number {
        0..32 => FLOAT.get(number as usize).copied(),
        _ => INTEGER.get(number.wrapping_sub(32) as usize).copied(),
    }
}

/// The operations of `atomicrmw`, by their number in bitcode.
pub const ATOMIC_OPERATIONS: [&str; 21] = [
    "xchg", "add", "sub", "and", "nand", "or", "xor", "max", "min", "umax", "umin", "fadd", "fsub", "fmax", "fmin",
    "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat", "fmaximum", "fminimum",
];

/// Returns the operations of `atomicrmw` that a version has.
pub(crate) fn atomic_operations(version: Version) -> &'static [&'static str] {
    let count = match version {
        Version::Dxc => 11,
        Version::Llvm14 => 13,
        Version::Llvm19 => 17,
    };
    ATOMIC_OPERATIONS.get(..count).unwrap_or(&ATOMIC_OPERATIONS)
}
