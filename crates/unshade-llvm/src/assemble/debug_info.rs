//! Parses the nodes of debug info, `!DILocation(line: 3, scope: !5)` and so on.
//!
//! The fields of each kind, with their place in the node and their format, are those that the printer writes
//! ([`metadata_fields`](crate::print::metadata_fields)). Here is what only a reader needs to know: fields that LLVM reads
//! but no longer writes, which fields must be there, values of absent fields, and the largest values.
//!
//! Knowledge: what `llvm-as` of LLVM 14 and 19 accepts, and where it reports what it does not.

use super::Version;
use super::debug_values::WrittenInteger;
use super::error::Parsed;
use super::lexer::Token;
use super::parser::{Parser, shown};
use crate::debug_info::NodeKind;
use crate::dwarf;
use crate::metadata::Metadata;
use crate::print::metadata_fields::{self, Field, FieldFormat, POINTER_AUTHENTICATION};
use alloc::vec;
use alloc::vec::Vec;

/// Fields that are read but not written, or that the printer writes together with another one.
const READ_FIELDS: [(NodeKind, &[Field]); 3] = [
    (
        NodeKind::Subprogram,
        &[
            ("isLocal", FieldFormat::Bit(OLD_FLAGS, 2)),
            ("isDefinition", FieldFormat::Bit(OLD_FLAGS, 3)),
            ("isOptimized", FieldFormat::Bit(OLD_FLAGS, 4)),
            ("virtuality", FieldFormat::Named(6, dwarf::VIRTUALITIES)),
        ],
    ),
    (NodeKind::File, &[("checksum", FieldFormat::Text(2))]),
    (NodeKind::MacroFile, &[("type", FieldFormat::Named(0, dwarf::MACINFO))]),
];

/// Fields that LLVM 14 does not have.
const LATER_FIELDS: [(NodeKind, &str); 1] = [(NodeKind::Subprogram, "targetFuncName")];

/// Numbers of a node that are not zero if no field sets them.
const DEFAULTS: [(NodeKind, u8, u64); 4] = [
    (NodeKind::GlobalVariable, 2, 1),
    // The version of the record, as which the reader keeps it.
    (NodeKind::GlobalVariable, 4, 2),
    (NodeKind::MacroFile, 0, 3),
    (NodeKind::Subprogram, OLD_FLAGS, DEFINITION),
];

/// The same, in LLVM 3.7.
const OLD_DEFAULTS: [(NodeKind, u8, u64); 3] = [
    (NodeKind::GlobalVariable, 2, 1),
    (NodeKind::Subprogram, 5, DEFINITION),
    // The count and the lower bound are numbers.
    (NodeKind::Subrange, 0, 3),
];

/// Fields that must be there. A `!` says that they can't be null either.
const REQUIRED: [(NodeKind, &[&str]); 21] = [
    (NodeKind::Location, &["scope!"]),
    (NodeKind::GenericDebug, &["tag"]),
    (NodeKind::Enumerator, &["name", "value"]),
    (NodeKind::DerivedType, &["tag", "baseType"]),
    (NodeKind::CompositeType, &["tag"]),
    (NodeKind::SubroutineType, &["types"]),
    (NodeKind::File, &["filename", "directory"]),
    (NodeKind::CompileUnit, &["language", "file!"]),
    (NodeKind::LexicalBlock, &["scope!"]),
    (NodeKind::LexicalBlockFile, &["scope!", "discriminator"]),
    (NodeKind::CommonBlock, &["scope"]),
    (NodeKind::Namespace, &["scope"]),
    (NodeKind::Macro, &["type", "name"]),
    (NodeKind::MacroFile, &["file"]),
    (NodeKind::Module, &["scope", "name"]),
    (NodeKind::TemplateType, &["type"]),
    (NodeKind::TemplateValue, &["value"]),
    (NodeKind::LocalVariable, &["scope!"]),
    (NodeKind::Label, &["scope!", "name", "file", "line"]),
    (NodeKind::ImportedEntity, &["tag", "scope"]),
    (NodeKind::GlobalVariableExpression, &["var", "expr"]),
];

/// The same, before LLVM 15.
const REQUIRED_EARLIER: [(NodeKind, &[&str]); 1] = [(NodeKind::GlobalVariable, &["name"])];

/// The same, in LLVM 3.7 alone.
const REQUIRED_OLD: [(NodeKind, &[&str]); 2] =
    [(NodeKind::Subrange, &["count"]), (NodeKind::LocalVariable, &["tag", "scope!"])];

/// Strings that can't be empty.
const NOT_EMPTY: [(NodeKind, &str); 1] = [(NodeKind::GlobalVariable, "name")];

/// The largest values of numbers, by label; of others the largest number of 32 bits.
const LIMITS: [(&str, u64); 14] = [
    ("size", u64::MAX),
    ("offset", u64::MAX),
    ("dwoId", u64::MAX),
    ("column", 0xFFFF),
    ("arg", 0xFFFF),
    ("ptrAuthKey", 7),
    ("ptrAuthExtraDiscriminator", 0xFFFF),
    ("tag", 0xFFFF),
    ("language", 0xFFFF),
    ("runtimeLang", 0xFFFF),
    ("encoding", 0xFF),
    ("cc", 0xFF),
    ("type", 0xFF),
    ("virtuality", 2),
];

/// Where the flags of a subprogram are put together that are written as fields of their own.
const OLD_FLAGS: u8 = 7;
/// The flag of subprograms that are definitions.
pub(super) const DEFINITION: u64 = 1 << 3;
/// `DW_OP_consts`
const CONSTS: u64 = 0x11;
/// The version of expressions.
const EXPRESSION_VERSION: u64 = 3;

/// A node while its fields are parsed.
pub(super) struct NodeFields {
    kind: NodeKind,
    references: Vec<u64>,
    numbers: Vec<u64>,
    /// The labels of the fields that are there.
    seen: Vec<&'static str>,
}

impl Parser<'_> {
    /// Parses a node whose name is the current token.
    pub(super) fn debug_info_node(&mut self, name: &[u8], distinct: bool) -> Parsed<Metadata> {
        if name == b"DIExpression" {
            return self.debug_expression(distinct);
        }
        let known = metadata_fields::kind_named(name, self.is_old());
        let is_later = |kind| kind == NodeKind::AssignId && self.version.has_typed_pointers();
        let Some((kind, fields)) = known.filter(|&(kind, _)| !is_later(kind)) else {
            return self.fault(alloc::format!("unknown metadata node '!{}'", shown(name)));
        };
        let at = self.at;
        if matches!(kind, NodeKind::CompileUnit | NodeKind::AssignId) && !distinct && !self.is_old() {
            return self.fault(alloc::format!("'!{}' is always distinct", shown(name)));
        }
        self.advance();
        let mut node = NodeFields::new(kind, fields, self.is_old());
        self.expect(b'(')?;
        if !self.is(b')') {
            loop {
                self.labelled_field(&mut node, fields)?;
                if !self.eat(b',') {
                    break;
                }
            }
        }
        let end = self.at;
        self.expect(b')')?;
        for label in required(kind, self.version).iter().map(|label| label.trim_end_matches('!')) {
            if !node.seen.contains(&label) {
                return self.fault_at(end, alloc::format!("missing required field '{label}'"));
            }
        }
        self.finish_node(&mut node)?;
        let is_definition = kind == NodeKind::Subprogram && node.number(5) & DEFINITION != 0;
        if is_definition && !distinct && !self.is_old() {
            return self.fault_at(at, "a '!DISubprogram' that is a definition is always distinct");
        }
        Ok(self.module.metadata.node(kind, distinct, &node.references, &node.numbers))
    }

    /// Returns whether nodes have the fields of LLVM 3.7.
    fn is_old(&self) -> bool {
        self.version == Version::Dxc
    }

    /// Parses `label: value`.
    fn labelled_field(&mut self, node: &mut NodeFields, fields: &'static [Field]) -> Parsed<()> {
        let Token::Label(label) = self.token else { return self.fault("expected the label of a field") };
        let label = label.bytes();
        let is_new =
            |known: &str| !self.version.has_typed_pointers() || !LATER_FIELDS.contains(&(node.kind, known));
        let read = READ_FIELDS
            .iter()
            .filter(|(kind, _)| *kind == node.kind && !self.is_old())
            .flat_map(|(_, fields)| *fields);
        let mut all = fields.iter().chain(read).filter(|(known, _)| !known.is_empty());
        if let Some(&(label, format)) = all.find(|(known, _)| known.as_bytes() == &*label && is_new(known)) {
            self.seen_once(node, label)?;
            return self.nested(|parser| parser.field(node, label, format));
        }
        let authentication = fields.iter().find_map(|(_, format)| match format {
            FieldFormat::PointerAuthentication(at) if !self.version.has_typed_pointers() => Some(*at),
            _ => None,
        });
        let mut parts = POINTER_AUTHENTICATION.into_iter();
        match (authentication, parts.find(|(known, ..)| known.as_bytes() == &*label)) {
            (Some(at), Some((label, shift, width))) => {
                self.seen_once(node, label)?;
                let value = match width {
                    1 => u64::from(self.boolean()?),
                    _ => self.limited(label, limit(label))?,
                };
                let bits = node.number(at) | value << shift;
                node.set_number(at, bits);
                Ok(())
            }
            _ => self.fault(alloc::format!("invalid field '{}'", shown(&label))),
        }
    }

    /// Notes a field and skips its label.
    fn seen_once(&mut self, node: &mut NodeFields, label: &'static str) -> Parsed<()> {
        if node.seen.contains(&label) {
            return self.fault(alloc::format!("field '{label}' can't be specified more than once"));
        }
        node.seen.push(label);
        self.advance();
        Ok(())
    }

    /// Parses the value of a field.
    fn field(&mut self, node: &mut NodeFields, label: &'static str, format: FieldFormat) -> Parsed<()> {
        match format {
            FieldFormat::Text(at) | FieldFormat::TextAlways(at) => {
                let position = self.at;
                let text = self.string()?;
                if text.is_empty() && NOT_EMPTY.contains(&(node.kind, label)) {
                    return self.fault_at(position, alloc::format!("'{label}' can't be empty"));
                }
                // LLVM keeps no empty string.
                let string = (!text.is_empty()).then(|| self.metadata_text(&text));
                node.set_reference(at, string.map_or(0, |id| u64::from(id.0) + 1));
            }
            FieldFormat::Ref(at) | FieldFormat::RefAlways(at) => {
                if self.is_word("null")
                    && required(node.kind, self.version).iter().any(|other| is_not_null(other, label))
                {
                    return self.fault(alloc::format!("'{label}' can't be null"));
                }
                let reference = self.metadata_reference()?;
                node.set_reference(at, reference);
            }
            FieldFormat::Bound(at) | FieldFormat::ExpressionBound(at) | FieldFormat::Rank(at) => {
                let reference = self.bound(node.kind, label)?;
                node.set_reference(at, reference);
            }
            FieldFormat::Operands => {
                self.expect(b'{')?;
                let references = &mut node.references;
                self.list(b'}', |parser| {
                    references.push(parser.metadata_reference()?);
                    Ok(())
                })?;
            }
            FieldFormat::EnumeratorValue if self.is_old() => {
                let value = self.signed(label, i64::MIN, i64::MAX)?;
                node.numbers = vec![0, 64, value];
            }
            FieldFormat::EnumeratorValue => {
                let value = self.written_integer("expected an integer")?;
                node.numbers.truncate(1);
                node.numbers.push(u64::from(value.width));
                node.numbers.extend(value.stored());
                node.set_number(0, node.number(0) | 2 | u64::from(value.signed) << 2);
            }
            FieldFormat::Unsigned(at) => {
                let unsigned = self.boolean()?;
                node.set_number(at, node.number(at) | u64::from(unsigned));
            }
            FieldFormat::Bit(at, bit) => {
                let mask = 1u64 << bit;
                let set = self.boolean()?;
                let value = if set { node.number(at) | mask } else { node.number(at) & !mask };
                node.set_number(at, value);
            }
            format => {
                let (at, value) = self.plain_field(label, format)?;
                node.set_number(at, value);
            }
        }
        Ok(())
    }

    /// Parses a field that is one number of the node, and returns which and its value.
    fn plain_field(&mut self, label: &str, format: FieldFormat) -> Parsed<(u8, u64)> {
        Ok(match format {
            FieldFormat::Number(at)
            | FieldFormat::NumberAlways(at)
            | FieldFormat::NumberOrRef(at, _)
            | FieldFormat::VirtualIndex(at) => (at, self.limited(label, limit(label))?),
            FieldFormat::OldArgument(at) => (at, self.limited(label, limit("arg"))?),
            // The largest number means that there is none.
            FieldFormat::LessOne(at) => {
                let number = self.limited(label, limit(label))?;
                (at, if number == limit(label) { 0 } else { number + 1 })
            }
            FieldFormat::Signed(at) => (at, self.signed(label, i64::from(i32::MIN), i64::from(i32::MAX))?),
            FieldFormat::Signed64(at) | FieldFormat::Signed64Always(at) => {
                (at, self.signed(label, i64::MIN, i64::MAX)?)
            }
            FieldFormat::Bool(at) | FieldFormat::BoolUnless(at, _) => (at, u64::from(self.boolean()?)),
            FieldFormat::Flags(at) => (at, self.flags()?),
            FieldFormat::SubprogramFlags(at) => (at, self.subprogram_flags()?),
            FieldFormat::Named(at, names) | FieldFormat::NamedAlways(at, names) => {
                // DXC writes larger encodings for types of its own.
                let is_limited = !self.is_old() || label != "encoding";
                let limit = if is_limited { limit(label) } else { u64::from(u32::MAX) };
                (at, self.named_number(label, names, limit)?)
            }
            FieldFormat::TagUnless(at, _) => (at, self.named_number(label, dwarf::TAGS, limit(label))?),
            FieldFormat::EmissionKind(at) => {
                (at, self.word_number(label, &metadata_fields::EMISSION_KINDS, true)?)
            }
            FieldFormat::NameTable(at) => {
                // LLVM 14 does not know the tables of Apple.
                let known = if self.version.has_typed_pointers() { 3 } else { 4 };
                let words = metadata_fields::NAME_TABLES.get(..known).unwrap_or_default();
                (at, self.word_number(label, words, true)?)
            }
            FieldFormat::Checksum(at) => (at, self.word_number(label, &metadata_fields::CHECKSUMS, false)?),
            _ => return self.fault(alloc::format!("field '{label}' can't be read")),
        })
    }

    /// Parses a bound of a range or the rank of an array: metadata, or a number, which becomes metadata.
    fn bound(&mut self, kind: NodeKind, label: &str) -> Parsed<u64> {
        if !matches!(self.token, Token::Integer(_) | Token::Hexadecimal(_)) {
            if self.is_word("null") && label == "count" && kind == NodeKind::Subrange {
                return self.fault("'count' can't be null");
            }
            return self.metadata_reference();
        }
        let least = if label == "count" && kind == NodeKind::Subrange { -1 } else { i64::MIN };
        let number = self.signed(label, least, i64::MAX)?;
        if kind == NodeKind::GenericSubrange {
            let numbers = [EXPRESSION_VERSION, CONSTS, number];
            let node = self.module.metadata.node(NodeKind::Expression, false, &[], &numbers);
            return Ok(u64::from(self.add_node(node).0) + 1);
        }
        let (ty, value) = self.long_constant(number);
        Ok(u64::from(self.metadata_value(ty, value)?.0) + 1)
    }

    /// Completes a node whose fields depend on each other.
    fn finish_node(&mut self, node: &mut NodeFields) -> Parsed<()> {
        match node.kind {
            NodeKind::Enumerator if self.is_old() => {}
            NodeKind::Enumerator => {
                // Bit 2 was the sign of the number as written.
                let bits = node.number(0);
                node.set_number(0, bits & 3);
                if bits & 1 != 0 && bits & 4 != 0 && WrittenInteger::is_negative(&node.numbers) {
                    return self.fault("unsigned enumerator with a negative value");
                }
                if bits & 5 == 0 {
                    // The highest bit of the number must not be a sign.
                    node.set_number(1, node.number(1).saturating_add(u64::from(node.number_top_bit())));
                }
            }
            NodeKind::Subprogram if self.is_old() => node.set_number(5, node.number(5) | node.number(6)),
            NodeKind::File => {
                let is_seen = |label| node.seen.contains(&label);
                if is_seen("checksumkind") != is_seen("checksum") {
                    return self.fault("'checksumkind' and 'checksum' are given together or not at all");
                }
            }
            NodeKind::Subprogram => {
                if !node.seen.contains(&"spFlags") {
                    node.set_number(5, node.number(OLD_FLAGS) | node.number(6));
                }
                node.set_number(6, node.number(5) & 3);
                node.numbers.truncate(usize::from(OLD_FLAGS));
            }
            NodeKind::DerivedType if node.number(7) & 15 == 0 => node.set_number(7, 0),
            _ => {}
        }
        Ok(())
    }

    /// Parses `!DIExpression(…)`.
    fn debug_expression(&mut self, distinct: bool) -> Parsed<Metadata> {
        self.advance();
        self.expect(b'(')?;
        let mut numbers = vec![if self.is_old() { 0 } else { EXPRESSION_VERSION }];
        self.list(b')', |parser| {
            let number = match parser.token {
                Token::Word(word) if word.starts_with(b"DW_OP_") => {
                    parser.dwarf_name(dwarf::OPERATIONS, word)?
                }
                Token::Word(word) if word.starts_with(b"DW_ATE_") => {
                    parser.dwarf_name(dwarf::ENCODINGS, word)?
                }
                _ => parser.limited("element", u64::MAX)?,
            };
            numbers.push(number);
            Ok(())
        })?;
        Ok(self.module.metadata.node(NodeKind::Expression, distinct, &[], &numbers))
    }
}

impl NodeFields {
    /// Returns a node without fields; its size is that of its layout.
    fn new(kind: NodeKind, fields: &[Field], old: bool) -> Self {
        let mut node = Self { kind, references: Vec::new(), numbers: Vec::new(), seen: Vec::new() };
        for &(_, format) in fields {
            match format {
                FieldFormat::Text(at)
                | FieldFormat::TextAlways(at)
                | FieldFormat::Ref(at)
                | FieldFormat::RefAlways(at)
                | FieldFormat::ExpressionBound(at)
                | FieldFormat::Rank(at) => node.set_reference(at, 0),
                FieldFormat::Bound(at) => {
                    node.set_reference(at, 0);
                    node.set_number(2, 0);
                }
                FieldFormat::Checksum(at) => {
                    node.set_reference(2, 0);
                    node.set_number(at, 0);
                }
                FieldFormat::BoolUnless(at, value) => node.set_number(at, u64::from(value)),
                FieldFormat::TagUnless(at, tag) => node.set_number(at, tag),
                FieldFormat::EnumeratorValue => node.set_number(1, 0),
                FieldFormat::Operands => node.set_reference(0, 0),
                FieldFormat::Number(at)
                | FieldFormat::NumberAlways(at)
                | FieldFormat::NumberOrRef(at, _)
                | FieldFormat::Signed(at)
                | FieldFormat::Signed64(at)
                | FieldFormat::Signed64Always(at)
                | FieldFormat::Bit(at, _)
                | FieldFormat::OldArgument(at)
                | FieldFormat::LessOne(at)
                | FieldFormat::Bool(at)
                | FieldFormat::Flags(at)
                | FieldFormat::SubprogramFlags(at)
                | FieldFormat::Named(at, _)
                | FieldFormat::NamedAlways(at, _)
                | FieldFormat::EmissionKind(at)
                | FieldFormat::NameTable(at)
                | FieldFormat::Unsigned(at)
                | FieldFormat::VirtualIndex(at)
                | FieldFormat::PointerAuthentication(at) => node.set_number(at, 0),
                // Only nodes of later versions have them.
                FieldFormat::NamedLessOne(..)
                | FieldFormat::RefOrNumber(_)
                | FieldFormat::Language(_)
                | FieldFormat::FixedPoint(_) => {}
            }
        }
        let defaults: &[_] = if old { &OLD_DEFAULTS } else { &DEFAULTS };
        for &(_, at, value) in defaults.iter().filter(|(other, ..)| *other == kind) {
            node.set_number(at, value);
        }
        node
    }

    fn number(&self, at: u8) -> u64 {
        self.numbers.get(usize::from(at)).copied().unwrap_or(0)
    }

    fn set_number(&mut self, at: u8, value: u64) {
        set(&mut self.numbers, at, value);
    }

    fn set_reference(&mut self, at: u8, value: u64) {
        set(&mut self.references, at, value);
    }

    /// Returns whether the highest bit of an enumerator's value is set.
    fn number_top_bit(&self) -> bool {
        WrittenInteger::is_negative(&self.numbers)
    }
}

/// Sets an element of a list, which grows as needed.
fn set(list: &mut Vec<u64>, at: u8, value: u64) {
    let at = usize::from(at);
    if list.len() <= at {
        list.resize(at + 1, 0);
    }
    if let Some(slot) = list.get_mut(at) {
        *slot = value;
    }
}

/// Returns the labels of the fields that a kind must have.
fn required(kind: NodeKind, version: Version) -> &'static [&'static str] {
    let earlier = REQUIRED_EARLIER.iter().filter(|_| version.has_typed_pointers());
    let old = REQUIRED_OLD.iter().filter(|_| version == Version::Dxc);
    old.chain(&REQUIRED).chain(earlier).find(|(other, _)| *other == kind).map_or(&[], |(_, labels)| labels)
}

fn is_not_null(required: &str, label: &str) -> bool {
    required.strip_suffix('!') == Some(label)
}

fn limit(label: &str) -> u64 {
    LIMITS.iter().find(|(known, _)| *known == label).map_or(u64::from(u32::MAX), |&(_, limit)| limit)
}

#[cfg(test)]
mod tests {
    use super::super::{AssembleOptions, Assembled, assemble};
    use super::*;
    use crate::ids::MetadataId;
    use crate::metadata::Node;
    use alloc::string::String;

    fn parse(node: &str, version: Version) -> Result<Assembled, (usize, String)> {
        let text = alloc::format!("!n = !{{!1}}\n!0 = !{{}}\n!1 = {node}\n");
        assemble(text.as_bytes(), &AssembleOptions { version }).map_err(|error| (error.column, error.message))
    }

    /// Returns references, as strings where they are, and numbers of a node.
    fn node(node: &str) -> (Vec<Option<String>>, Vec<u64>) {
        let assembled = parse(node, Version::Llvm19).unwrap();
        let table = &assembled.module.metadata;
        let entry = |id: MetadataId| match table.get(id) {
            Some(Metadata::String(string)) => String::from_utf8_lossy(table.string(string)).into_owned(),
            Some(Metadata::Node(Node { kind, .. })) => alloc::format!("{kind:?}"),
            other => alloc::format!("{other:?}"),
        };
        let id = assembled.module.named_metadata[0].nodes[0];
        let Some(Metadata::Node(node)) = table.get(id) else { panic!("no node") };
        let references = table.references(node).iter();
        let references =
            references.map(|reference| Some(entry(MetadataId(reference.checked_sub(1)? as u32))));
        (references.collect(), table.numbers(node).to_vec())
    }

    fn fault(text: &str) -> (usize, String) {
        parse(text, Version::Llvm19).unwrap_err()
    }

    #[test]
    fn fields_and_their_defaults() {
        let (references, numbers) = node(
            "!DILocalVariable(name: \"x\", scope: !0, arg: 2, flags: DIFlagArtificial | DIFlagProtected)",
        );
        assert_eq!(references, [Some("Tuple".into()), Some("x".into()), None, None, None]);
        assert_eq!(numbers, [0, 2, 1 << 6 | 2, 0]);
        assert_eq!(node("!DIBasicType(encoding: DW_ATE_signed)").1, [0x24, 0, 0, 5, 0]);
        assert_eq!(node("!DIGlobalVariable(name: \"g\")").1, [0, 0, 1, 0, 2]);
        assert_eq!(node("!DIFile(filename: \"\", directory: \"d\")").0[..2], [None, Some("d".into())]);
    }

    #[test]
    fn old_fields_of_subprograms_are_flags() {
        let (_, numbers) = node("distinct !DISubprogram(isLocal: true, virtuality: DW_VIRTUALITY_virtual)");
        assert_eq!(numbers[5..], [1 | 1 << 2 | 1 << 3, 1]);
        let (_, numbers) = node("!DISubprogram(isDefinition: true, spFlags: DISPFlagPureVirtual)");
        assert_eq!(numbers[5..], [2, 2]);
    }

    #[test]
    fn enumerators_have_the_width_that_they_need() {
        assert_eq!(node("!DIEnumerator(name: \"a\", value: 5)").1, [2, 4, 5]);
        assert_eq!(node("!DIEnumerator(name: \"a\", value: 5, isUnsigned: true)").1, [3, 3, 5]);
        assert_eq!(node("!DIEnumerator(name: \"a\", value: -1)").1, [2, 1, 1]);
        assert_eq!(node("!DIEnumerator(name: \"a\", value: 36893488147419103232)").1, [2, 67, 0, 2]);
        let (column, _) = fault("!DIEnumerator(name: \"a\", value: -1, isUnsigned: true)");
        // LLVM reports it at what follows.
        assert_eq!(column, 1);
    }

    #[test]
    fn expressions() {
        assert_eq!(
            node("!DIExpression(DW_OP_LLVM_convert, 8, DW_ATE_signed)").1,
            [EXPRESSION_VERSION, 0x1001, 8, 5]
        );
        assert!(parse("!DIExpression(DW_OP_LLVM_extract_bits_sext)", Version::Llvm14).is_err());
    }

    #[test]
    fn faults_are_where_llvm_reports_them() {
        assert_eq!(fault("!DILocation(line: 3)"), (25, "missing required field 'scope'".into()));
        assert_eq!(fault("!DILocation(scope: null)").0, 25);
        assert_eq!(fault("!DILocation(bad: 3)"), (18, "invalid field 'bad'".into()));
        assert_eq!(fault("!DILocation(line: 3, line: 3)").0, 27);
        assert_eq!(fault("!DILocation(line: 4294967296, scope: !0)").0, 24);
        assert_eq!(fault("!DICompileUnit()").0, 6);
        assert_eq!(fault("!DIGlobalVariable(name: \"\")").0, 30);
        assert_eq!(fault("!DIFile(filename: \"a\", directory: \"b\", checksum: \"c\")").0, 1);
        assert!(parse("distinct !DIAssignID()", Version::Llvm14).is_err());
        assert!(parse("distinct !DIAssignID()", Version::Llvm19).is_ok());
    }
}
