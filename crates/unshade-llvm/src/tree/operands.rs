//! Which operands of a record refer to values and metadata.
//!
//! A pattern has a character for each operand, and others for those that repeat until the record ends:
//!
//! | character | operand |
//! |---|---|
//! | `a` | a value |
//! | `p` | a value plus one, or 0 |
//! | `u` | a value, relative to the next one from module version 1 on |
//! | `t` | the same, with its type after it if the value comes later |
//! | `s` | the same as `u`, with its sign in the lowest bit |
//! | `M` | metadata |
//! | `m` | metadata plus one, or 0 |
//! | `r` | metadata, relative to the next value like `u` |
//! | `.` | anything else |
//!
//! Knowledge: LLVM's `BitcodeWriter.cpp` and `BitcodeReader.cpp` (3.2 to 19).

use super::Block;
use crate::body::FunctionBody;
use crate::body_reader::code as instruction;
use crate::constants;
use crate::ids::{TypeId, ValueId, narrow, unrotate};
use crate::metadata::code as metadata;
use crate::module::{Module, code as module_code};
use crate::types::Type;

/// What an operand refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Referent {
    Value,
    Metadata,
}

/// Takes what an operand refers to and its number, and returns the new number.
pub(super) type Map<'f> = &'f mut dyn FnMut(Referent, u32) -> u32;

/// The characters of a record's operands, and of those that repeat after them.
pub(super) type Pattern = (&'static str, &'static str);

/// Instructions but calls: code, pattern, and whether it defines a value.
#[rustfmt::skip]
const INSTRUCTIONS: &[(u32, Pattern, bool)] = &[
    (instruction::DECLAREBLOCKS, ("", ""), false),
    (instruction::BINOP, ("tu", ""), true),
    (instruction::CAST, ("t", ""), true),
    (instruction::GEP_OLD, ("", "t"), true),
    (instruction::SELECT, ("tuu", ""), true),
    (instruction::EXTRACTELT, ("tt", ""), true),
    (instruction::INSERTELT, ("tut", ""), true),
    (instruction::SHUFFLEVEC, ("tut", ""), true),
    (instruction::CMP, ("tu", ""), true),
    (instruction::RET, ("t", ""), false),
    (instruction::BR, ("..u", ""), false),
    (instruction::SWITCH, (".u.", "a."), false),
    (instruction::UNREACHABLE, ("", ""), false),
    (instruction::PHI, (".", "s."), true),
    (instruction::ALLOCA, ("..a", ""), true),
    (instruction::LOAD, ("t", ""), true),
    (instruction::VAARG, (".u", ""), true),
    (instruction::STORE_OLD, ("tu", ""), false),
    (instruction::EXTRACTVAL, ("t", ""), true),
    (instruction::INSERTVAL, ("tt", ""), true),
    (instruction::CMP2, ("tu", ""), true),
    (instruction::VSELECT, ("tut", ""), true),
    (instruction::INBOUNDS_GEP_OLD, ("", "t"), true),
    (instruction::INDIRECTBR, (".u", ""), false),
    (instruction::FENCE, ("", ""), false),
    (instruction::CMPXCHG_OLD, ("tuu", ""), true),
    (instruction::ATOMICRMW_OLD, ("tu", ""), true),
    (instruction::RESUME, ("t", ""), false),
    (instruction::LANDINGPAD_OLD, (".t..", ".t"), true),
    (instruction::LOADATOMIC, ("t", ""), true),
    (instruction::STOREATOMIC_OLD, ("tu", ""), false),
    (instruction::GEP, ("..", "t"), true),
    (instruction::STORE, ("tt", ""), false),
    (instruction::STOREATOMIC, ("tt", ""), false),
    (instruction::CMPXCHG, ("ttu", ""), true),
    (instruction::LANDINGPAD, ("...", ".t"), true),
    (instruction::CLEANUPRET, ("u", ""), false),
    (instruction::CATCHRET, ("u", ""), false),
    (instruction::CATCHPAD, ("u.", "t"), true),
    (instruction::CLEANUPPAD, ("u.", "t"), true),
    (instruction::CATCHSWITCH, ("u", ""), true),
    (instruction::UNOP, ("t", ""), true),
    (instruction::FREEZE, ("t", ""), true),
    (instruction::ATOMICRMW, ("tt", ""), true),
    (instruction::BLOCKADDR_USERS, ("", "a"), false),
];

/// The upper half of the first operand of old `switch` records, whose cases are numbers.
const SWITCH_MAGIC: u64 = 0x4B5;

/// Constants whose pattern depends on their code alone.
#[rustfmt::skip]
const CONSTANTS: &[(u32, Pattern)] = &[
    (constants::code::AGGREGATE, ("", "a")),
    (constants::code::CE_BINOP, (".aa", "")),
    (constants::code::CE_CAST, ("..a", "")),
    (constants::code::CE_SELECT, ("aaa", "")),
    (constants::code::CE_SHUFFLEVEC, ("aaa", "")),
    (constants::code::CE_CMP, (".aa", "")),
    (constants::code::CE_SHUFVEC_EX, (".aaa", "")),
    (constants::code::BLOCKADDRESS, (".a", "")),
    (constants::code::CE_GEP_WITH_INRANGE_INDEX, ("..", ".a")),
    (constants::code::CE_UNOP, (".a", "")),
    (constants::code::DSO_LOCAL_EQUIVALENT, (".a", "")),
    (constants::code::NO_CFI, (".a", "")),
    (constants::code::CE_GEP_WITH_INRANGE, (".....", ".a")),
    (constants::code::CE_GEP, ("..", ".a")),
    (constants::code::PTRAUTH, ("aaaa", "")),
    (constants::code::PTRAUTH2, ("aaaaa", "")),
];

/// Constants that refer to nothing.
const PLAIN_CONSTANTS: &[u32] = &[
    constants::code::SETTYPE,
    constants::code::NULL,
    constants::code::UNDEF,
    constants::code::INTEGER,
    constants::code::WIDE_INTEGER,
    constants::code::FLOAT,
    constants::code::STRING,
    constants::code::CSTRING,
    constants::code::INLINEASM_OLD,
    constants::code::DATA,
    constants::code::INLINEASM_OLD2,
    constants::code::POISON,
    constants::code::INLINEASM_OLD3,
    constants::code::INLINEASM,
];

/// Symbols of a module, after the two operands of their names.
const SYMBOLS: &[(u32, Pattern)] = &[
    (module_code::GLOBALVAR, ("..p", "")),
    (module_code::FUNCTION, ("..........p..pp", "")),
    (module_code::ALIAS_OLD, (".a", "")),
    (module_code::ALIAS, ("..a", "")),
    (module_code::IFUNC, ("..a", "")),
];

/// Metadata whose pattern depends on its code alone.
#[rustfmt::skip]
const METADATA: &[(u32, Pattern)] = &[
    (metadata::STRING_OLD, ("", "")),
    (metadata::VALUE, (".a", "")),
    (metadata::NODE, ("", "m")),
    (metadata::NAME, ("", "")),
    (metadata::DISTINCT_NODE, ("", "m")),
    (metadata::KIND, ("", "")),
    // A location's scope is never null.
    (7, ("...Mm", "")),
    (metadata::NAMED_NODE, ("", "M")),
    // GENERIC_DEBUG, ENUMERATOR, BASIC_TYPE, FILE, DERIVED_TYPE, COMPOSITE_TYPE, SUBROUTINE_TYPE, COMPILE_UNIT
    (12, ("...", "m")),
    (14, ("..m", "")),
    (15, ("..m", "")),
    (16, (".mm.mm", "")),
    (17, ("..mm.mm....m.m", "")),
    (18, ("..mm.mm....m.mmmmmmmmm", "")),
    (19, ("..m", "")),
    (20, ("..mm.m.m.mmmmm.m....mm", "")),
    // LEXICAL_BLOCK, LEXICAL_BLOCK_FILE, TEMPLATE_TYPE, EXPRESSION, OBJC_PROPERTY, MACRO, MACRO_FILE
    (22, (".mm", "")),
    (23, (".mm", "")),
    (25, (".mm", "")),
    (29, ("", "")),
    (30, (".mm.mm.m", "")),
    (33, ("...mm", "")),
    (34, ("...mm", "")),
    (metadata::STRINGS, ("", "")),
    (metadata::GLOBAL_DECL_ATTACHMENT, ("a", ".M")),
    // GLOBAL_VAR_EXPR
    (37, (".mm", "")),
    (metadata::INDEX_OFFSET, ("", "")),
    (metadata::INDEX, ("", "")),
    // LABEL, COMMON_BLOCK, GENERIC_SUBRANGE
    (40, (".mmm", "")),
    (44, (".mmmm", "")),
    (45, (".mmmm", "")),
    (metadata::ARG_LIST, ("", "M")),
    // ASSIGN_ID
    (47, ("", "")),
];

/// Marks an operand of a bundle that is metadata.
const BUNDLE_METADATA: u64 = 0x8000_0000;

/// Metadata whose pattern depends on a version in its first operand, or on its length.
fn debug_pattern(code: u32, operands: &[u64]) -> Option<Pattern> {
    let head = *operands.first()?;
    let count = operands.len();
    let first = match (code, head >> 1) {
        // SUBRANGE, from bounds as numbers to bounds as metadata.
        (13, 0) => "",
        (13, 1) => ".m",
        (13, _) => ".mmmm",
        // SUBPROGRAM: bit 2 of the first operand says that its flags are one operand.
        (21, bits) if bits & 2 != 0 => ".mmmm.m.m...mmmm.mmm",
        (21, _) if count < 19 => ".mmmm.m...m...mmmm",
        (21, _) if count < 21 => ".mmmm.m...m....mmmm",
        (21, _) => ".mmmm.m...m....mmmm.m",
        // NAMESPACE had a file until LLVM 5.
        (24, _) if count <= 3 => ".mm",
        (24, _) => ".mmm",
        (26, _) if count >= 6 => "..mm.m",
        (26, _) => "..mmm",
        // GLOBAL_VAR
        (27, 0) => ".mmmm.m..mm",
        (27, 1) => ".mmmm.m...m",
        (27, 2) => ".mmmm.m..mm.m",
        // LOCAL_VAR: bit 1 of the first operand says that it has an alignment; before, some had a tag.
        (28, bits) if bits & 1 != 0 => ".mmm.m...m",
        (28, _) if count > 8 => "..mmm.m",
        (28, _) => ".mmm.m",
        (31, _) if count >= 7 => "..mm.mmm",
        (31, _) => "..mm.m",
        // MODULE has had a file since LLVM 11.
        (32, _) if count >= 8 => ".mmmmmm",
        (32, _) => ".mmmmm",
        // STRING_TYPE has had an expression of its place since LLVM 13.
        (41, _) if count > 8 => "..mmmm",
        (41, _) => "..mmm",
        _ => return None,
    };
    Some((first, ""))
}

fn find(table: &[(u32, Pattern)], code: u32) -> Option<Pattern> {
    table.iter().find(|(known, _)| *known == code).map(|(_, pattern)| *pattern)
}

/// Returns the pattern of a constant; `None` if it is unknown.
pub(super) fn of_constant(code: u32, operands: &[u64]) -> Option<Pattern> {
    let is_odd = operands.len() % 2 == 1;
    match code {
        constants::code::CE_GEP_OLD | constants::code::CE_INBOUNDS_GEP => {
            Some((if is_odd { "." } else { "" }, ".a"))
        }
        constants::code::CE_EXTRACTELT => Some((if is_odd { ".aa" } else { ".a.a" }, "")),
        constants::code::CE_INSERTELT => Some((if is_odd { "aaa" } else { "aa.a" }, "")),
        // Bounds of more than 64 bits take more operands.
        constants::code::CE_GEP_WITH_INRANGE if operands.get(2).is_some_and(|width| *width > 64) => None,
        _ if PLAIN_CONSTANTS.contains(&code) => Some(("", "")),
        _ => find(CONSTANTS, code),
    }
}

/// Returns the pattern of a record of metadata but `OLD_NODE`; `None` if it is unknown.
pub(super) fn of_metadata(code: u32, operands: &[u64]) -> Option<Pattern> {
    later_pattern(code, operands).or_else(|| find(METADATA, code)).or_else(|| debug_pattern(code, operands))
}

/// Metadata in the form of LLVM 20 to 22: a bit of the first operand says that sizes and offsets are metadata, and composite
/// types are longer.
fn later_pattern(code: u32, operands: &[u64]) -> Option<Pattern> {
    let has = |bit: u64| operands.first().is_some_and(|head| head & bit != 0);
    let first = match code {
        15 if has(2) => "..mm",
        17 if has(2) => "..mm.mmm.m.m.m",
        18 if has(4) => "..mm.mmm.m.m.mmmmmmmmm.m.m",
        18 if operands.len() > 22 => "..mm.mm....m.mmmmmmmmm.m.m",
        41 if has(2) => "..mmmmm",
        48 if has(2) => ".mm.mm..mmmmm",
        48 => ".mm.m...mmmmm",
        49 if has(2) => "..mm",
        49 => "..m",
        _ => return None,
    };
    Some((first, ""))
}

/// Returns the pattern of a symbol of a module, after its name.
pub(super) fn of_symbol(code: u32) -> Option<Pattern> {
    find(SYMBOLS, code)
}

/// Operands that are visited one after another.
pub(super) struct Operands<'o> {
    rest: core::slice::IterMut<'o, u64>,
    numbering: Numbering,
}

/// How operands of instructions number values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbering {
    /// Whether operands count back from the next value.
    pub(super) is_relative: bool,
    /// The number of the next value.
    pub(super) next: u32,
    /// What is subtracted from the numbers of all values of functions.
    pub(super) shift: u32,
}

impl<'o> Operands<'o> {
    pub(super) fn new(operands: &'o mut [u64], numbering: Numbering) -> Self {
        Self { rest: operands.iter_mut(), numbering }
    }

    /// Visits the operands by a pattern.
    pub(super) fn visit(&mut self, pattern: Pattern, map: Map<'_>) {
        let (first, rest) = pattern;
        for kind in first.bytes() {
            self.one(kind, map);
        }
        while self.rest.len() > 0 && !rest.is_empty() {
            for kind in rest.bytes() {
                self.one(kind, map);
            }
        }
    }

    /// Visits the operands of a bundle. Since LLVM 22 one may be metadata, after a mark.
    fn visit_bundle(&mut self, map: Map<'_>) {
        self.skip();
        while let Some(first) = self.rest.as_slice().first() {
            if *first == BUNDLE_METADATA {
                self.skip();
                self.one(b'r', map);
            } else {
                self.one(b't', map);
            }
        }
    }

    fn skip(&mut self) -> Option<u64> {
        self.rest.next().map(|operand| *operand)
    }

    /// Visits one operand. Returns the old number of what it refers to.
    fn one(&mut self, kind: u8, map: Map<'_>) -> Option<u32> {
        let numbering = self.numbering;
        let operand = self.rest.next()?;
        let stored = *operand;
        let (low, signed) = ((stored & 0xFFFF_FFFF) as u32, (unrotate(stored) & 0xFFFF_FFFF) as u32);
        let is_relative = numbering.is_relative && b"utsr".contains(&kind);
        let referent = if b"Mmr".contains(&kind) { Referent::Metadata } else { Referent::Value };
        let number = match kind {
            b'a' | b'M' => narrow(stored),
            b'p' | b'm' => narrow(stored.checked_sub(1)?),
            b's' if is_relative => numbering.next.wrapping_sub(signed),
            _ if is_relative => numbering.next.wrapping_sub(low),
            b'u' | b't' | b's' | b'r' => narrow(stored),
            _ => return None,
        };
        let new = map(referent, number);
        let distance = numbering.next.wrapping_sub(numbering.shift).wrapping_sub(new);
        if !is_relative {
            if new != number {
                *operand = u64::from(new).saturating_add(u64::from(matches!(kind, b'p' | b'm')));
            }
        } else if kind == b's' {
            if distance != signed {
                *operand = rotate(distance.cast_signed());
            }
        } else if distance != low {
            *operand = distance.into();
        }
        if kind == b't' && number >= numbering.next {
            self.skip();
        }
        Some(number)
    }
}

/// Encodes a signed number with its sign in the lowest bit.
fn rotate(number: i32) -> u64 {
    let magnitude = u64::from(number.unsigned_abs()) << 1;
    magnitude | u64::from(number < 0)
}

/// A walk over the records of a function, which numbers its values.
pub(super) struct Walk<'m, 'a> {
    module: &'m Module<'a>,
    body: &'m FunctionBody,
    numbering: Numbering,
}

impl<'m, 'a> Walk<'m, 'a> {
    /// Starts after the arguments. `shift` is subtracted from the numbers of all values of the function.
    pub(super) fn new(module: &'m Module<'a>, body: &'m FunctionBody, function: usize, shift: u32) -> Self {
        let ty = module.functions.get(function).map(|function| module.types.get(function.symbol.ty));
        let arguments = match ty {
            Some(Type::Function { parameters, .. }) => parameters.count,
            _ => 0,
        };
        let globals = narrow(module.values.len() as u64);
        let next = globals.saturating_add(arguments);
        Self { module, body, numbering: Numbering { is_relative: module.version >= 1, next, shift } }
    }

    /// Returns whether all values of the function were seen.
    pub(super) fn is_complete(&self) -> bool {
        let globals = self.module.values.len();
        self.numbering.next as usize == globals.saturating_add(self.body.values.len())
    }

    fn define(&mut self) {
        self.numbering.next = self.numbering.next.saturating_add(1);
    }

    /// Counts the values of a block of constants.
    pub(super) fn constants(&mut self, block: &Block) {
        let count = block.records().filter(|(_, record)| constants::is_entry(record.code)).count();
        self.numbering.next = self.numbering.next.saturating_add(narrow(count as u64));
    }

    /// Visits the operands of an instruction, the callee of a call first; `None` if it is unknown.
    pub(super) fn instruction(&mut self, code: u32, operands: &mut [u64], map: Map<'_>) -> Option<()> {
        let defines = match code {
            instruction::CALL | instruction::INVOKE | instruction::CALLBR => self.call(code, operands, map)?,
            instruction::SWITCH if operands.first().is_some_and(|first| first >> 16 == SWITCH_MAGIC) => {
                Operands::new(operands, self.numbering).visit(("..u", ""), map);
                false
            }
            instruction::OPERAND_BUNDLE => {
                Operands::new(operands, self.numbering).visit_bundle(map);
                false
            }
            _ => {
                let (_, pattern, defines) = INSTRUCTIONS.iter().find(|(known, ..)| *known == code)?;
                Operands::new(operands, self.numbering).visit(*pattern, map);
                *defines
            }
        };
        if defines {
            self.define();
        }
        Some(())
    }

    /// Visits the operands of a call. Returns whether it has a result.
    fn call(&self, code: u32, operands: &mut [u64], map: Map<'_>) -> Option<bool> {
        let mut operands = Operands::new(operands, self.numbering);
        operands.skip()?;
        let bits = operands.skip()?;
        let is_explicit = match code {
            instruction::INVOKE => {
                operands.skip()?;
                operands.skip()?;
                bits >> 13 & 1 != 0
            }
            instruction::CALLBR => {
                operands.skip()?;
                for _ in 0..operands.skip()? {
                    operands.skip()?;
                }
                bits >> 15 & 1 != 0
            }
            _ => {
                if bits >> 17 & 1 != 0 {
                    operands.skip()?;
                }
                bits >> 15 & 1 != 0
            }
        };
        let explicit = if is_explicit { Some(TypeId(narrow(operands.skip()?))) } else { None };
        let callee = operands.one(b't', map)?;
        let types = &self.module.types;
        let ty = match explicit {
            Some(ty) => ty,
            None => types.pointee(self.module.value(Some(self.body), ValueId(callee))?.ty)?,
        };
        let Type::Function { result, parameters, variadic } = types.get(ty) else { return None };
        for parameter in types.elements(parameters) {
            let kind = match types.get(*parameter) {
                Type::Metadata => b'r',
                Type::Label => b'.',
                _ => b'u',
            };
            operands.one(kind, map);
        }
        if variadic {
            operands.visit(("", "t"), map);
        }
        Some(types.get(result) != Type::Void)
    }
}
