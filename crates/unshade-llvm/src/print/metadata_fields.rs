//! The fields of debug-info nodes: label, position of the value in the node (see [`crate::debug_info::NodeKind`]),
//! and format. The printer writes them, and the assembler reads them.

use super::Dialect;
use crate::debug_info::NodeKind;
use crate::dwarf::{self, Names};

/// The format of a field. The operand is the index of a reference or number of the node.
#[derive(Clone, Copy)]
pub(crate) enum FieldFormat {
    /// A string, omitted if empty.
    Text(u8),
    /// A string, never omitted.
    TextAlways(u8),
    /// Metadata, omitted if null.
    Ref(u8),
    /// Metadata, never omitted.
    RefAlways(u8),
    /// A number, omitted if zero.
    Number(u8),
    /// A number, never omitted.
    NumberAlways(u8),
    /// A signed number, omitted if zero.
    Signed(u8),
    /// A signed 64-bit number, omitted if zero.
    Signed64(u8),
    /// A signed 64-bit number, never omitted.
    Signed64Always(u8),
    /// One bit of a number, as a boolean.
    Bit(u8, u8),
    /// The number of a parameter, omitted if zero and the variable is not a parameter.
    OldArgument(u8),
    /// A number minus one, omitted if the number is zero.
    LessOne(u8),
    /// A boolean, never omitted.
    Bool(u8),
    /// A boolean, omitted if it has this value.
    BoolUnless(u8, bool),
    /// `DIFlags`, omitted if zero.
    Flags(u8),
    /// `DISPFlags`, never omitted.
    SubprogramFlags(u8),
    /// A named number, omitted if zero.
    Named(u8, Names),
    /// A named number, never omitted.
    NamedAlways(u8, Names),
    /// A named number minus one, omitted if the number is zero.
    NamedLessOne(u8, Names),
    /// A tag, omitted if it is this one.
    TagUnless(u8, u64),
    /// An emission kind.
    EmissionKind(u8),
    /// A name-table kind, omitted if it is the default.
    NameTable(u8),
    /// A kind of checksum; reference 2 is the checksum itself.
    Checksum(u8),
    /// A bound of a range `n`: metadata, or a number if bit `n` of number 0 is set.
    Bound(u8),
    /// A bound of a range, written as a number if its expression is a constant.
    ExpressionBound(u8),
    /// The value of an enumerator.
    EnumeratorValue,
    /// `isUnsigned: true`, omitted unless bit 0 is set.
    Unsigned(u8),
    /// The virtual index, omitted if it and the virtuality are zero.
    VirtualIndex(u8),
    /// The rank of an array: a number or metadata.
    Rank(u8),
    /// The operands of a generic node.
    Operands,
    /// Pointer authentication, as of LLVM 17.
    PointerAuthentication(u8),
    /// A number, or the metadata at the index of a reference if that is not null; omitted if zero.
    NumberOrRef(u8, u8),
    /// Metadata, or an integer constant as a number; omitted if null or zero.
    RefOrNumber(u8),
    /// The source language, with its label: by its name of DWARF 5 or of DWARF 6.
    Language(u8),
    /// The kind of a fixed-point type, with its factor or its fraction, and their labels; the operand is the index of
    /// the kind.
    FixedPoint(u8),
}

/// A field: label and format.
pub(crate) type Field = (&'static str, FieldFormat);

/// The name and fields of a kind of node.
pub(crate) type Layout = (&'static str, &'static [Field]);

use FieldFormat::*;

#[rustfmt::skip]
const LOCATION: Layout = ("!DILocation(", &[
    ("line", NumberAlways(0)), ("column", Number(1)), ("scope", RefAlways(0)), ("inlinedAt", Ref(1)),
    ("isImplicitCode", BoolUnless(2, false)),
]);
#[rustfmt::skip]
const COMPILE_UNIT: Layout = ("!DICompileUnit(", &[
    ("language", NamedAlways(0, dwarf::LANGUAGES)), ("file", RefAlways(0)), ("producer", Text(1)),
    ("isOptimized", Bool(1)), ("flags", Text(2)), ("runtimeVersion", NumberAlways(2)),
    ("splitDebugFilename", Text(3)), ("emissionKind", EmissionKind(3)), ("enums", Ref(4)),
    ("retainedTypes", Ref(5)), ("globals", Ref(6)), ("imports", Ref(7)), ("macros", Ref(8)), ("dwoId", Number(4)),
    ("splitDebugInlining", BoolUnless(5, true)), ("debugInfoForProfiling", BoolUnless(6, false)),
    ("nameTableKind", NameTable(7)), ("rangesBaseAddress", BoolUnless(8, false)), ("sysroot", Text(9)),
    ("sdk", Text(10)),
]);
#[rustfmt::skip]
const SUBPROGRAM: Layout = ("!DISubprogram(", &[
    ("name", Text(2)), ("linkageName", Text(3)), ("scope", RefAlways(1)), ("file", Ref(0)), ("line", Number(0)),
    ("type", Ref(4)), ("scopeLine", Number(1)), ("containingType", Ref(8)), ("virtualIndex", VirtualIndex(2)),
    ("thisAdjustment", Signed(3)), ("flags", Flags(4)), ("spFlags", SubprogramFlags(5)), ("unit", Ref(5)),
    ("templateParams", Ref(9)), ("declaration", Ref(6)), ("retainedNodes", Ref(7)), ("thrownTypes", Ref(10)),
    ("annotations", Ref(11)), ("targetFuncName", Text(12)),
]);
#[rustfmt::skip]
const COMPOSITE_TYPE: Layout = ("!DICompositeType(", &[
    ("tag", NamedAlways(0, dwarf::TAGS)), ("name", Text(2)), ("scope", Ref(1)), ("file", Ref(0)),
    ("line", Number(1)), ("baseType", Ref(3)), ("size", NumberOrRef(2, 14)), ("align", Number(3)),
    ("offset", NumberOrRef(4, 15)),
    ("flags", Flags(5)), ("elements", Ref(4)), ("runtimeLang", Named(6, dwarf::LANGUAGES)),
    ("vtableHolder", Ref(5)), ("templateParams", Ref(6)), ("identifier", Text(7)), ("discriminator", Ref(8)),
    ("dataLocation", Ref(9)), ("associated", Ref(10)), ("allocated", Ref(11)), ("rank", Rank(12)),
    ("annotations", Ref(13)),
]);
#[rustfmt::skip]
const DERIVED_TYPE: Layout = ("!DIDerivedType(", &[
    ("tag", NamedAlways(0, dwarf::TAGS)), ("name", Text(2)), ("scope", Ref(1)), ("file", Ref(0)),
    ("line", Number(1)), ("baseType", RefAlways(3)), ("size", NumberOrRef(2, 6)), ("align", Number(3)),
    ("offset", NumberOrRef(4, 7)), ("flags", Flags(5)), ("extraData", Ref(4)), ("dwarfAddressSpace", LessOne(6)),
    ("annotations", Ref(5)), ("", PointerAuthentication(7)),
]);
#[rustfmt::skip]
const GLOBAL_VARIABLE: Layout = ("!DIGlobalVariable(", &[
    ("name", Text(1)), ("linkageName", Text(4)), ("scope", RefAlways(0)), ("file", Ref(2)), ("line", Number(0)),
    ("type", Ref(3)), ("isLocal", Bool(1)), ("isDefinition", Bool(2)), ("declaration", Ref(5)),
    ("templateParams", Ref(6)), ("align", Number(3)), ("annotations", Ref(7)),
]);
#[rustfmt::skip]
const LOCAL_VARIABLE: Layout = ("!DILocalVariable(", &[
    ("name", Text(1)), ("arg", Number(1)), ("scope", RefAlways(0)), ("file", Ref(2)), ("line", Number(0)),
    ("type", Ref(3)), ("flags", Flags(2)), ("align", Number(3)), ("annotations", Ref(4)),
]);
#[rustfmt::skip]
const BASIC_TYPE: Layout = ("!DIBasicType(", &[
    ("tag", TagUnless(0, 0x24)), ("name", Text(0)), ("size", NumberOrRef(1, 1)), ("align", Number(2)),
    ("encoding", Named(3, dwarf::ENCODINGS)), ("flags", Flags(4)),
]);
#[rustfmt::skip]
const STRING_TYPE: Layout = ("!DIStringType(", &[
    ("tag", TagUnless(0, 0x12)), ("name", Text(0)), ("stringLength", Ref(1)), ("stringLengthExpression", Ref(2)),
    ("stringLocationExpression", Ref(3)), ("size", NumberOrRef(1, 4)), ("align", Number(2)),
    ("encoding", Named(3, dwarf::ENCODINGS)),
]);
#[rustfmt::skip]
const MODULE: Layout = ("!DIModule(", &[
    ("scope", RefAlways(1)), ("name", Text(2)), ("configMacros", Text(3)), ("includePath", Text(4)),
    ("apinotes", Text(5)), ("file", Ref(0)), ("line", Number(0)), ("isDecl", BoolUnless(1, false)),
]);
#[rustfmt::skip]
const IMPORTED_ENTITY: Layout = ("!DIImportedEntity(", &[
    ("tag", NamedAlways(0, dwarf::TAGS)), ("name", Text(2)), ("scope", RefAlways(0)), ("entity", Ref(1)),
    ("file", Ref(3)), ("line", Number(1)), ("elements", Ref(4)),
]);
#[rustfmt::skip]
const OBJC_PROPERTY: Layout = ("!DIObjCProperty(", &[
    ("name", Text(0)), ("file", Ref(1)), ("line", Number(0)), ("setter", Text(3)), ("getter", Text(2)),
    ("attributes", Number(1)), ("type", Ref(4)),
]);
#[rustfmt::skip]
const OTHER_LAYOUTS: &[(NodeKind, Layout)] = &[
    (NodeKind::GenericDebug, ("!GenericDINode(", &[
        ("tag", NamedAlways(0, dwarf::TAGS)), ("header", Text(0)), ("operands", Operands),
    ])),
    (NodeKind::Subrange, ("!DISubrange(", &[
        ("count", Bound(0)), ("lowerBound", Bound(1)), ("upperBound", Bound(2)), ("stride", Bound(3)),
    ])),
    (NodeKind::GenericSubrange, ("!DIGenericSubrange(", &[
        ("count", ExpressionBound(0)), ("lowerBound", ExpressionBound(1)), ("upperBound", ExpressionBound(2)),
        ("stride", ExpressionBound(3)),
    ])),
    (NodeKind::Enumerator, ("!DIEnumerator(", &[
        ("name", TextAlways(0)), ("value", EnumeratorValue), ("isUnsigned", Unsigned(0)),
    ])),
    (NodeKind::SubroutineType, ("!DISubroutineType(", &[
        ("flags", Flags(0)), ("cc", Named(1, dwarf::CONVENTIONS)), ("types", RefAlways(0)),
    ])),
    (NodeKind::File, ("!DIFile(", &[
        ("filename", TextAlways(0)), ("directory", TextAlways(1)), ("checksumkind", Checksum(0)), ("source", Text(3)),
    ])),
    (NodeKind::LexicalBlock, ("!DILexicalBlock(", &[
        ("scope", RefAlways(1)), ("file", Ref(0)), ("line", Number(0)), ("column", Number(1)),
    ])),
    (NodeKind::LexicalBlockFile, ("!DILexicalBlockFile(", &[
        ("scope", RefAlways(1)), ("file", Ref(0)), ("discriminator", NumberAlways(0)),
    ])),
    (NodeKind::Namespace, ("!DINamespace(", &[
        ("name", Text(1)), ("scope", RefAlways(0)), ("exportSymbols", BoolUnless(0, false)),
    ])),
    (NodeKind::CommonBlock, ("!DICommonBlock(", &[
        ("scope", RefAlways(0)), ("declaration", RefAlways(1)), ("name", Text(2)), ("file", Ref(3)),
        ("line", Number(0)),
    ])),
    (NodeKind::TemplateType, ("!DITemplateTypeParameter(", &[
        ("name", Text(0)), ("type", RefAlways(1)), ("defaulted", BoolUnless(0, false)),
    ])),
    (NodeKind::TemplateValue, ("!DITemplateValueParameter(", &[
        ("tag", TagUnless(0, 0x30)), ("name", Text(0)), ("type", Ref(1)), ("defaulted", BoolUnless(1, false)),
        ("value", RefAlways(2)),
    ])),
    (NodeKind::Label, ("!DILabel(", &[
        ("scope", RefAlways(0)), ("name", Text(1)), ("file", Ref(2)), ("line", Number(0)),
    ])),
    (NodeKind::Macro, ("!DIMacro(", &[
        ("type", NamedAlways(0, dwarf::MACINFO)), ("line", Number(1)), ("name", Text(0)), ("value", Text(1)),
    ])),
    (NodeKind::MacroFile, ("!DIMacroFile(", &[
        ("line", Number(1)), ("file", RefAlways(0)), ("nodes", Ref(1)),
    ])),
    (NodeKind::GlobalVariableExpression, ("!DIGlobalVariableExpression(", &[("var", Ref(0)), ("expr", Ref(1))])),
    (NodeKind::AssignId, ("!DIAssignID(", &[])),
];

/// Layouts that differ in LLVM 3.7.
#[rustfmt::skip]
const LLVM_3_7_LAYOUTS: &[(NodeKind, Layout)] = &[
    (NodeKind::CompileUnit, ("!DICompileUnit(", &[
        ("language", NamedAlways(0, dwarf::LANGUAGES)), ("file", RefAlways(0)), ("producer", Text(1)),
        ("isOptimized", Bool(1)), ("flags", Text(2)), ("runtimeVersion", NumberAlways(2)),
        ("splitDebugFilename", Text(3)), ("emissionKind", NumberAlways(3)), ("enums", Ref(4)),
        ("retainedTypes", Ref(5)), ("subprograms", Ref(11)), ("globals", Ref(6)), ("imports", Ref(7)),
        ("dwoId", Number(4)),
    ])),
    (NodeKind::Subprogram, ("!DISubprogram(", &[
        ("name", Text(2)), ("linkageName", Text(3)), ("scope", RefAlways(1)), ("file", Ref(0)), ("line", Number(0)),
        ("type", Ref(4)), ("isLocal", Bit(5, 2)), ("isDefinition", Bit(5, 3)), ("scopeLine", Number(1)),
        ("containingType", Ref(8)), ("virtuality", Named(6, dwarf::VIRTUALITIES)), ("virtualIndex", Number(2)),
        ("flags", Flags(4)), ("isOptimized", Bit(5, 4)), ("function", Ref(13)), ("templateParams", Ref(9)),
        ("declaration", Ref(6)), ("variables", Ref(7)),
    ])),
    (NodeKind::GlobalVariable, ("!DIGlobalVariable(", &[
        ("name", Text(1)), ("linkageName", Text(4)), ("scope", RefAlways(0)), ("file", Ref(2)), ("line", Number(0)),
        ("type", Ref(3)), ("isLocal", Bool(1)), ("isDefinition", Bool(2)), ("variable", Ref(8)),
        ("declaration", Ref(5)),
    ])),
    (NodeKind::LocalVariable, ("!DILocalVariable(", &[
        ("tag", NamedAlways(4, OLD_VARIABLE_TAGS)), ("name", Text(1)), ("arg", OldArgument(1)),
        ("scope", RefAlways(0)), ("file", Ref(2)), ("line", Number(0)), ("type", Ref(3)), ("flags", Flags(2)),
    ])),
    (NodeKind::Subrange, ("!DISubrange(", &[("count", Signed64Always(1)), ("lowerBound", Signed64(2))])),
    (NodeKind::SubroutineType, ("!DISubroutineType(", &[("flags", Flags(0)), ("types", RefAlways(0))])),
    (NodeKind::File, ("!DIFile(", &[("filename", TextAlways(0)), ("directory", TextAlways(1))])),
    (NodeKind::Namespace, ("!DINamespace(", &[
        ("name", Text(1)), ("scope", RefAlways(0)), ("file", Ref(2)), ("line", Number(1)),
    ])),
    (NodeKind::Module, ("!DIModule(", &[
        ("scope", RefAlways(1)), ("name", Text(2)), ("configMacros", Text(3)), ("includePath", Text(4)),
        ("isysroot", Text(5)),
    ])),
    (NodeKind::ImportedEntity, ("!DIImportedEntity(", &[
        ("tag", NamedAlways(0, dwarf::TAGS)), ("name", Text(2)), ("scope", RefAlways(0)), ("entity", Ref(1)),
        ("line", Number(2)),
    ])),
];

const LARGE_LAYOUTS: &[(NodeKind, Layout)] = &[
    (NodeKind::Location, LOCATION),
    (NodeKind::CompileUnit, COMPILE_UNIT),
    (NodeKind::Subprogram, SUBPROGRAM),
    (NodeKind::CompositeType, COMPOSITE_TYPE),
    (NodeKind::DerivedType, DERIVED_TYPE),
    (NodeKind::GlobalVariable, GLOBAL_VARIABLE),
    (NodeKind::LocalVariable, LOCAL_VARIABLE),
    (NodeKind::BasicType, BASIC_TYPE),
    (NodeKind::StringType, STRING_TYPE),
    (NodeKind::Module, MODULE),
    (NodeKind::ImportedEntity, IMPORTED_ENTITY),
    (NodeKind::ObjcProperty, OBJC_PROPERTY),
];

/// Pointer authentication: label, and position and width of the value in the number.
pub(crate) const POINTER_AUTHENTICATION: [(&str, u32, u32); 5] = [
    ("ptrAuthKey", 0, 4),
    ("ptrAuthIsAddressDiscriminated", 4, 1),
    ("ptrAuthExtraDiscriminator", 5, 16),
    ("ptrAuthIsaPointer", 21, 1),
    ("ptrAuthAuthenticatesNullValues", 22, 1),
];

/// The emission kinds of compile units, the kinds of name tables, and the kinds of checksums, by number.
pub(crate) const EMISSION_KINDS: [&str; 4] =
    ["NoDebug", "FullDebug", "LineTablesOnly", "DebugDirectivesOnly"];
pub(crate) const NAME_TABLES: [&str; 4] = ["Default", "GNU", "None", "Apple"];
pub(crate) const CHECKSUMS: [&str; 4] = ["", "CSK_MD5", "CSK_SHA1", "CSK_SHA256"];

/// Layouts that LLVM 20 to 22 changed or added.
#[rustfmt::skip]
const LLVM_22_LAYOUTS: &[(NodeKind, Layout)] = &[
    (NodeKind::Location, ("!DILocation(", &[
        ("line", NumberAlways(0)), ("column", Number(1)), ("scope", RefAlways(0)), ("inlinedAt", Ref(1)),
        ("isImplicitCode", BoolUnless(2, false)), ("atomGroup", Number(3)), ("atomRank", Number(4)),
    ])),
    (NodeKind::CompileUnit, ("!DICompileUnit(", &[
        ("", Language(0)), ("sourceLanguageVersion", Number(9)), ("file", RefAlways(0)), ("producer", Text(1)),
        ("isOptimized", Bool(1)), ("flags", Text(2)), ("runtimeVersion", NumberAlways(2)),
        ("splitDebugFilename", Text(3)), ("emissionKind", EmissionKind(3)), ("enums", Ref(4)),
        ("retainedTypes", Ref(5)), ("globals", Ref(6)), ("imports", Ref(7)), ("macros", Ref(8)), ("dwoId", Number(4)),
        ("splitDebugInlining", BoolUnless(5, true)), ("debugInfoForProfiling", BoolUnless(6, false)),
        ("nameTableKind", NameTable(7)), ("rangesBaseAddress", BoolUnless(8, false)), ("sysroot", Text(9)),
        ("sdk", Text(10)),
    ])),
    (NodeKind::Subprogram, ("!DISubprogram(", &[
        ("name", Text(2)), ("linkageName", Text(3)), ("scope", RefAlways(1)), ("file", Ref(0)), ("line", Number(0)),
        ("type", Ref(4)), ("scopeLine", Number(1)), ("containingType", Ref(8)), ("virtualIndex", VirtualIndex(2)),
        ("thisAdjustment", Signed(3)), ("flags", Flags(4)), ("spFlags", SubprogramFlags(5)), ("unit", Ref(5)),
        ("templateParams", Ref(9)), ("declaration", Ref(6)), ("retainedNodes", Ref(7)), ("thrownTypes", Ref(10)),
        ("annotations", Ref(11)), ("targetFuncName", Text(12)), ("keyInstructions", BoolUnless(7, false)),
    ])),
    (NodeKind::BasicType, ("!DIBasicType(", &[
        ("tag", TagUnless(0, 0x24)), ("name", Text(0)), ("size", NumberOrRef(1, 1)), ("align", Number(2)),
        ("dataSize", Number(6)), ("encoding", Named(3, dwarf::ENCODINGS)), ("num_extra_inhabitants", Number(5)),
        ("flags", Flags(4)),
    ])),
    (NodeKind::CompositeType, ("!DICompositeType(", &[
        ("tag", NamedAlways(0, dwarf::TAGS)), ("name", Text(2)), ("scope", Ref(1)), ("file", Ref(0)),
        ("line", Number(1)), ("baseType", Ref(3)), ("size", NumberOrRef(2, 14)), ("align", Number(3)),
        ("offset", NumberOrRef(4, 15)), ("num_extra_inhabitants", Number(7)), ("flags", Flags(5)),
        ("elements", Ref(4)), ("runtimeLang", Named(6, dwarf::LANGUAGES)), ("vtableHolder", Ref(5)),
        ("templateParams", Ref(6)), ("identifier", Text(7)), ("discriminator", Ref(8)), ("dataLocation", Ref(9)),
        ("associated", Ref(10)), ("allocated", Ref(11)), ("rank", Rank(12)), ("annotations", Ref(13)),
        ("specification", Ref(16)), ("enumKind", NamedLessOne(8, dwarf::ENUMERATION_KINDS)),
        ("bitStride", RefOrNumber(17)),
    ])),
    (NodeKind::SubrangeType, ("!DISubrangeType(", &[
        ("name", Text(2)), ("scope", Ref(1)), ("file", Ref(0)), ("line", Number(0)), ("size", NumberOrRef(1, 8)),
        ("align", Number(2)), ("flags", Flags(3)), ("baseType", Ref(3)), ("lowerBound", Ref(4)),
        ("upperBound", Ref(5)), ("stride", Ref(6)), ("bias", Ref(7)),
    ])),
    (NodeKind::FixedPointType, ("!DIFixedPointType(", &[
        ("tag", TagUnless(0, 0x24)), ("name", Text(0)), ("size", NumberOrRef(1, 1)), ("align", Number(2)),
        ("encoding", Named(3, dwarf::ENCODINGS)), ("flags", Flags(4)), ("", FixedPoint(5)),
    ])),
    // LLVM 22 exchanged the two names in the record, and reads older records the same way.
    (NodeKind::ObjcProperty, ("!DIObjCProperty(", &[
        ("name", Text(0)), ("file", Ref(1)), ("line", Number(0)), ("setter", Text(2)), ("getter", Text(3)),
        ("attributes", Number(1)), ("type", Ref(4)),
    ])),
    (NodeKind::Label, ("!DILabel(", &[
        ("scope", RefAlways(0)), ("name", Text(1)), ("file", Ref(2)), ("line", Number(0)), ("column", Number(1)),
        ("isArtificial", BoolUnless(2, false)), ("coroSuspendIdx", LessOne(3)),
    ])),
];

/// The tags that distinguished parameters from other variables before LLVM 3.8.
const OLD_VARIABLE_TAGS: Names = &[(0x100, "DW_TAG_auto_variable"), (0x101, "DW_TAG_arg_variable")];

/// Returns whether LLVM 20 to 22 added a kind of node.
fn is_later_kind(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::SubrangeType | NodeKind::FixedPointType)
}

/// Returns the name and fields of a kind of node.
pub(crate) fn layout(kind: NodeKind, dialect: Dialect) -> Option<Layout> {
    let own = match dialect {
        Dialect::Dxc => LLVM_3_7_LAYOUTS,
        // Kinds of nodes that LLVM 22 added have no form in older versions.
        Dialect::Llvm22 => LLVM_22_LAYOUTS,
        Dialect::Llvm14 | Dialect::Llvm19 if is_later_kind(kind) => LLVM_22_LAYOUTS,
        Dialect::Llvm14 | Dialect::Llvm19 => &[],
    };
    if let Some((_, layout)) = own.iter().find(|(other, _)| *other == kind) {
        return Some(*layout);
    }
    layouts().find(|(other, _)| *other == kind).map(|(_, layout)| *layout)
}

fn layouts() -> impl Iterator<Item = &'static (NodeKind, Layout)> {
    LARGE_LAYOUTS.iter().chain(OTHER_LAYOUTS)
}

/// Returns the kind of node with a name (`DILocation`) and its fields, which differ in LLVM 3.7 (`old`).
pub(crate) fn kind_named(name: &[u8], old: bool) -> Option<(NodeKind, &'static [Field])> {
    let start = |label: &'static str| label.trim_start_matches('!').trim_end_matches('(').as_bytes();
    let of_3_7 = LLVM_3_7_LAYOUTS.iter().filter(|_| old);
    of_3_7
        .chain(layouts())
        .find(|(_, (label, _))| start(label) == name)
        .map(|&(kind, (_, fields))| (kind, fields))
}
