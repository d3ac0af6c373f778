//! The opcodes of Shader Model 1 to 3: one table that drives decoder, printer and assembler.
//!
//! A row has the number, the mnemonic, the versions of pixel and vertex shaders that have it, the class, the tokens
//! that follow, its arithmetic and texture instruction slots, and a short description. If versions have other names
//! or operands for an opcode, it has a row for each. The tokens that follow are letters:
//!
//! | letter | tokens |
//! |---|---|
//! | `d` | a destination operand |
//! | `s` | a source operand |
//! | `u` | usage and texture kind of a declaration |
//! | `f`, `i`, `b` | four floats, four integers, a boolean |
//!
//! The slots are those of Shader Model 2 and 3 and of vertex shaders; in pixel shaders of version 1 an instruction
//! takes at most one arithmetic slot.
//!
//! Sources: Microsoft's reference of the vertex and pixel shader assembly for versions, operands and meaning;
//! `D3DSHADER_INSTRUCTION_OPCODE_TYPE` for the numbers; FXC's text for programs that have each opcode in each version
//! for names and slots.

use crate::opcode::Class;

/// A range of versions, first and last: the major version in the upper byte; `NO_VERSION` for none.
pub type Versions = (u16, u16);

/// An empty range of versions.
pub const NO_VERSION: Versions = (1, 0);

/// A row of the opcode table.
#[derive(Clone, Copy, Debug)]
pub struct OpcodeRow {
    /// The number.
    pub number: u16,
    /// The mnemonic.
    pub mnemonic: &'static str,
    /// The versions of pixel shaders that have it.
    pub pixel: Versions,
    /// The versions of vertex shaders that have it.
    pub vertex: Versions,
    /// The class.
    pub class: Class,
    /// The tokens that follow, as letters; see the module.
    pub body: &'static str,
    /// Arithmetic and texture instruction slots.
    pub slots: (u32, u32),
    /// A short description.
    pub meaning: &'static str,
}

impl OpcodeRow {
    /// Returns whether the first operand is a destination.
    pub fn has_destination(&self) -> bool {
        self.body.starts_with(['d', 'u'])
    }

    /// Returns the number of operands.
    pub fn operands(&self) -> usize {
        self.body.bytes().filter(|letter| matches!(letter, b'd' | b's')).count()
    }

    /// Returns the number of value tokens after its operands.
    pub fn values(&self) -> usize {
        match self.body.as_bytes().last() {
            Some(b'f' | b'i') => 4,
            Some(b'b') => 1,
            _ => 0,
        }
    }
}

macro_rules! versions {
    (-) => {
        NO_VERSION
    };
    ($first:literal) => {
        ($first, 0x3ff)
    };
    ($first:literal..$last:literal) => {
        ($first, $last)
    };
}

macro_rules! rows {
    ($($number:literal $mnemonic:literal ($($pixel:tt)+) ($($vertex:tt)+) $class:ident $body:literal
        $arithmetic:literal $texture:literal $meaning:literal,)*) => {
        /// Every opcode, ascending by number.
        pub const TABLE: &[OpcodeRow] = &[$(OpcodeRow {
            number: $number,
            mnemonic: $mnemonic,
            pixel: versions!($($pixel)+),
            vertex: versions!($($vertex)+),
            class: Class::$class,
            body: $body,
            slots: ($arithmetic, $texture),
            meaning: $meaning,
        }),*];
    };
}

rows! {
    0 "nop" (0x100) (0x100) Flow "" 0 0 "does nothing",
    1 "mov" (0x100) (0x100) Move "ds" 1 0 "copies components",
    2 "add" (0x100) (0x100) Float "dss" 1 0 "component-wise sum",
    3 "sub" (0x100) (0x100) Float "dss" 1 0 "component-wise difference",
    4 "mad" (0x100) (0x100) Float "dsss" 1 0 "product of two operands, plus a third",
    5 "mul" (0x100) (0x100) Float "dss" 1 0 "component-wise product",
    6 "rcp" (0x200) (0x100) Float "ds" 1 0 "reciprocal of one component",
    7 "rsq" (0x200) (0x100) Float "ds" 1 0 "reciprocal square root of the magnitude of one component",
    8 "dp3" (0x100) (0x100) Float "dss" 1 0 "dot product of three components",
    9 "dp4" (0x102) (0x100) Float "dss" 1 0 "dot product of four components",
    10 "min" (0x200) (0x100) Float "dss" 1 0 "lesser of each component",
    11 "max" (0x200) (0x100) Float "dss" 1 0 "greater of each component",
    12 "slt" (-) (0x100) Float "dss" 1 0 "one where the first operand is less, else zero",
    13 "sge" (-) (0x100) Float "dss" 1 0 "one where the first operand is greater or equal, else zero",
    14 "exp" (0x200) (0x100) Float "ds" 1 0 "two to the power of one component, exactly",
    15 "log" (0x200) (0x100) Float "ds" 1 0 "logarithm to base two of one component, exactly",
    16 "lit" (-) (0x100) Float "ds" 1 0 "coefficients of diffuse and specular light",
    17 "dst" (-) (0x100) Float "dss" 1 0 "vector of distances: 1, d, d squared, 1/d",
    18 "lrp" (0x100) (0x200) Float "dsss" 1 0 "blends the second and third operand by the first",
    19 "frc" (0x200) (0x100) Float "ds" 1 0 "fraction of each component",
    20 "m4x4" (0x200) (0x100) Float "dss" 4 0 "product of a vector of four with a matrix of four rows",
    21 "m4x3" (0x200) (0x100) Float "dss" 3 0 "product of a vector of four with a matrix of three rows",
    22 "m3x4" (0x200) (0x100) Float "dss" 4 0 "product of a vector of three with a matrix of four rows",
    23 "m3x3" (0x200) (0x100) Float "dss" 3 0 "product of a vector of three with a matrix of three rows",
    24 "m3x2" (0x200) (0x100) Float "dss" 2 0 "product of a vector of three with a matrix of two rows",
    25 "call" (0x201) (0x200) Flow "s" 2 0 "calls a subroutine",
    26 "callnz" (0x201) (0x200) Flow "ss" 3 0 "calls a subroutine, if the condition holds",
    27 "loop" (0x300) (0x200) Flow "ss" 3 0 "starts a loop that counts in aL",
    28 "ret" (0x201) (0x200) Flow "" 1 0 "returns",
    29 "endloop" (0x300) (0x200) Flow "" 2 0 "ends a loop",
    30 "label" (0x201) (0x200) Flow "s" 0 0 "starts a subroutine",
    31 "dcl" (0x200) (0x100) Declaration "ud" 0 0 "declares a register: its usage, or the kind of its texture",
    32 "pow" (0x200) (0x200) Float "dss" 3 0 "power of the magnitude of one component",
    33 "crs" (0x200) (0x200) Float "dss" 2 0 "cross product",
    34 "sgn" (-) (0x200) Float "dsss" 3 0 "sign of each component; the last operands are scratch registers",
    35 "abs" (0x200) (0x200) Float "ds" 1 0 "magnitude of each component",
    36 "nrm" (0x200) (0x200) Float "ds" 3 0 "vector of three, normalised",
    37 "sincos" (0x200..0x2ff) (0x200..0x2ff) Float "dsss" 8 0 "cosine and sine; the last operands are constants of the series",
    37 "sincos" (0x300) (0x300) Float "ds" 8 0 "cosine and sine",
    38 "rep" (0x201) (0x200) Flow "s" 3 0 "starts a loop that repeats so many times",
    39 "endrep" (0x201) (0x200) Flow "" 2 0 "ends a repetition",
    40 "if" (0x201) (0x200) Flow "s" 3 0 "what is done if a truth value or predicate holds",
    41 "if" (0x201) (0x201) Flow "ss" 3 0 "what is done if a comparison holds",
    42 "else" (0x201) (0x200) Flow "" 1 0 "what is done if the condition does not hold",
    43 "endif" (0x201) (0x200) Flow "" 1 0 "ends an if",
    44 "break" (0x201) (0x201) Flow "" 1 0 "leaves the innermost loop",
    45 "break" (0x201) (0x201) Flow "ss" 3 0 "leaves the innermost loop, if a comparison holds",
    46 "mova" (-) (0x200) Move "ds" 1 0 "rounds to the nearest integer, into an address register",
    47 "defb" (0x201) (0x200) Declaration "db" 0 0 "defines a constant truth value",
    48 "defi" (0x201) (0x200) Declaration "di" 0 0 "defines a constant of four integers",
    64 "texcoord" (0x100..0x103) (-) Texture "d" 0 1 "texture coordinates as colours, clamped to 0 to 1",
    64 "texcrd" (0x104..0x104) (-) Texture "ds" 0 1 "texture coordinates as they are",
    65 "texkill" (0x100) (-) Flow "d" 1 0 "discards the pixel, if a component is negative",
    66 "tex" (0x100..0x103) (-) Texture "d" 0 1 "samples the texture of the same number",
    66 "texld" (0x104..0x104) (-) Texture "ds" 0 1 "samples the texture of the number of the destination",
    66 "texld" (0x200) (-) Texture "dss" 0 1 "samples a texture",
    67 "texbem" (0x100..0x103) (-) Texture "ds" 0 1 "samples at coordinates that a bump map displaces",
    68 "texbeml" (0x100..0x103) (-) Texture "ds" 0 1 "the same, with luminance",
    69 "texreg2ar" (0x100..0x103) (-) Texture "ds" 0 1 "samples at alpha and red as coordinates",
    70 "texreg2gb" (0x100..0x103) (-) Texture "ds" 0 1 "samples at green and blue as coordinates",
    71 "texm3x2pad" (0x100..0x103) (-) Texture "ds" 0 1 "first row of a product with a matrix of two rows",
    72 "texm3x2tex" (0x100..0x103) (-) Texture "ds" 0 1 "last row of such a product, and samples at it",
    73 "texm3x3pad" (0x100..0x103) (-) Texture "ds" 0 1 "first or second row of a product with a matrix of three rows",
    74 "texm3x3tex" (0x100..0x103) (-) Texture "ds" 0 1 "last row of such a product, and samples at it",
    75 "reserved0" (-) (-) Texture "dss" 0 0 "a number that was never given out",
    76 "texm3x3spec" (0x100..0x103) (-) Texture "dss" 0 1 "samples at the reflection of a constant eye vector",
    77 "texm3x3vspec" (0x100..0x103) (-) Texture "ds" 0 1 "samples at the reflection of an eye vector that varies",
    78 "expp" (-) (0x100) Float "ds" 1 0 "two to the power of one component, with 10 bits",
    79 "logp" (-) (0x100) Float "ds" 1 0 "logarithm to base two of one component, with 10 bits",
    80 "cnd" (0x100..0x104) (-) Move "dsss" 1 0 "chooses by whether the first operand is greater than a half",
    81 "def" (0x100) (0x100) Declaration "df" 0 0 "defines a constant of four floats",
    82 "texreg2rgb" (0x102..0x103) (-) Texture "ds" 0 1 "samples at red, green and blue as coordinates",
    83 "texdp3tex" (0x102..0x103) (-) Texture "ds" 0 1 "dot product, and samples a texture of one dimension at it",
    84 "texm3x2depth" (0x103..0x103) (-) Texture "ds" 0 1 "depth from a product with a matrix of two rows",
    85 "texdp3" (0x102..0x103) (-) Texture "ds" 0 1 "dot product of texture coordinates",
    86 "texm3x3" (0x102..0x103) (-) Texture "ds" 0 1 "last row of a product with a matrix of three rows",
    87 "texdepth" (0x104..0x104) (-) Texture "d" 1 0 "depth from red divided by green",
    88 "cmp" (0x102) (-) Move "dsss" 1 0 "chooses by whether the first operand is not negative",
    89 "bem" (0x104..0x104) (-) Float "dss" 2 0 "displaces coordinates by a bump map",
    90 "dp2add" (0x200) (-) Float "dsss" 2 0 "dot product of two components, plus a third operand",
    91 "dsx" (0x201) (-) Float "ds" 2 0 "derivative along the screen's x",
    92 "dsy" (0x201) (-) Float "ds" 2 0 "derivative along the screen's y",
    93 "texldd" (0x201) (-) Texture "dssss" 2 1 "samples a texture with given derivatives",
    94 "setp" (0x201) (0x201) Float "dss" 1 0 "sets predicates by a comparison",
    95 "texldl" (0x300) (0x300) Texture "dss" 0 2 "samples a texture at a given level of detail",
    96 "break" (0x201) (0x201) Flow "s" 3 0 "leaves the innermost loop, if a predicate holds",
    97 "trunc" (-) (-) Float "ds" 1 0 "rounds towards zero; no published version has it",
    98 "sin" (-) (-) Float "ds" 1 0 "sine; no published version has it",
    99 "cos" (-) (-) Float "ds" 1 0 "cosine; no published version has it",
    0xfffd "phase" (0x104..0x104) (-) Flow "" 0 0 "starts the second phase of a pixel shader of version 1.4",
}

/// An opcode, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opcode(pub u16);

impl Opcode {
    /// `call`.
    pub const CALL: Self = Self(25);
    /// `callnz`.
    pub const CALL_IF: Self = Self(26);
    /// `loop`.
    pub const LOOP: Self = Self(27);
    /// `ret`.
    pub const RETURN: Self = Self(28);
    /// `endloop`.
    pub const END_LOOP: Self = Self(29);
    /// `label`.
    pub const LABEL: Self = Self(30);
    /// `dcl`.
    pub const DECLARE: Self = Self(31);
    /// `rep`.
    pub const REPEAT: Self = Self(38);
    /// `endrep`.
    pub const END_REPEAT: Self = Self(39);
    /// `if` with a boolean.
    pub const IF: Self = Self(40);
    /// `if` with a comparison.
    pub const IF_COMPARE: Self = Self(41);
    /// `else`.
    pub const ELSE: Self = Self(42);
    /// `endif`.
    pub const END_IF: Self = Self(43);
    /// `break`.
    pub const BREAK: Self = Self(44);
    /// `break` with a comparison.
    pub const BREAK_COMPARE: Self = Self(45);
    /// `texld` and `tex`.
    pub const SAMPLE: Self = Self(66);
    /// `def`.
    pub const DEFINE: Self = Self(81);
    /// `setp`.
    pub const SET_PREDICATE: Self = Self(94);
    /// `break` with a predicate.
    pub const BREAK_PREDICATE: Self = Self(96);
    /// A comment, which may hold a table.
    pub const COMMENT: Self = Self(0xfffe);
    /// The end of the program.
    pub const END: Self = Self(0xffff);

    /// Returns its row in a version: that of the version if there is one, else that of the same version for the other
    /// shader kind, else the last one.
    pub fn row(self, version: super::Version) -> Option<&'static OpcodeRow> {
        let number = version.number();
        let start = TABLE.partition_point(|row| row.number < self.0);
        let rows = TABLE.get(start..)?;
        let same = || rows.iter().take_while(|row| row.number == self.0);
        let has = |versions: Versions| (versions.0..=versions.1).contains(&number);
        let own = same().find(|row| has(if version.is_pixel() { row.pixel } else { row.vertex }));
        own.or_else(|| same().find(|row| has(row.pixel))).or_else(|| same().last())
    }

    /// Returns its row in a version, or `None` if that version lacks the opcode.
    pub fn row_of(self, version: super::Version) -> Option<&'static OpcodeRow> {
        let number = version.number();
        let has = |row: &&OpcodeRow| {
            let versions = if version.is_pixel() { row.pixel } else { row.vertex };
            (versions.0..=versions.1).contains(&number)
        };
        self.row(version).filter(has)
    }

    /// Returns whether its controls hold a comparison.
    pub fn compares(self) -> bool {
        matches!(self, Self::IF_COMPARE | Self::BREAK_COMPARE | Self::SET_PREDICATE)
    }
}

/// Comparisons, by their number in the controls of an opcode token.
pub const COMPARISONS: crate::names::Names = &["", "gt", "eq", "ge", "lt", "ne", "le"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::d3d9::Version;

    #[test]
    fn the_table_is_consistent() {
        assert!(TABLE.is_sorted_by_key(|row| row.number));
        for row in TABLE {
            assert!(row.body.bytes().all(|letter| b"dsufib".contains(&letter)), "{}", row.mnemonic);
            assert!(!row.meaning.is_empty());
        }
    }

    #[test]
    fn versions_have_their_own_rows() {
        let name = |number, version| Opcode(number).row(Version(version)).unwrap();
        assert_eq!(name(66, 0xffff_0101).mnemonic, "tex");
        assert_eq!(name(66, 0xffff_0104).body, "ds");
        assert_eq!(name(66, 0xffff_0300).body, "dss");
        assert_eq!(name(66, 0xfffe_0101).mnemonic, "tex");
        assert_eq!(name(64, 0xfffe_0200).mnemonic, "texcrd");
        assert_eq!(name(37, 0xfffe_0300).body, "ds");
        assert!(Opcode(49).row(Version(0xffff_0200)).is_none());
    }
}
