//! Prints named metadata, attachments and metadata nodes.

use super::metadata_fields::{
    CHECKSUMS, EMISSION_KINDS, FieldFormat, NAME_TABLES, POINTER_AUTHENTICATION, layout,
};
use super::metadata_slots::{GlobalLocation, MODULE, MetadataReference, MetadataSlot};
use super::text::{prefixed_range, push_metadata_name, push_number, push_signed, push_wide};
use super::{Bodies, Dialect, Entity, Printer};
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::debug_info::{self, NodeKind};
use crate::dwarf;
use crate::ids::{MetadataId, narrow};
use crate::metadata::{Metadata, MetadataTable, Node};
use crate::module::Module;
use alloc::borrow::Cow;
use alloc::rc::Rc;
use core::ops::Range;
use unshade_core::token::{Link, Token};
use unshade_core::{TokenKind, TokenSink};

/// Maximum nesting depth of inline nodes.
const MAX_DEPTH: u32 = 16;

/// The tag of variables other than parameters in LLVM 3.7.
const AUTO_VARIABLE: u64 = 0x100;

/// A node with its table, and the function that its references belong to.
#[derive(Clone, Copy)]
struct NodeContext<'t> {
    owner: u32,
    body: Option<&'t FunctionBody>,
    node: Node,
    table: &'t MetadataTable,
}

impl NodeContext<'_> {
    fn reference(&self, at: u8) -> Option<MetadataId> {
        let reference = self.table.references(self.node).get(usize::from(at))?.checked_sub(1)?;
        Some(MetadataId(narrow(reference)))
    }

    fn number(&self, at: u8) -> u64 {
        self.table.numbers(self.node).get(usize::from(at)).copied().unwrap_or(0)
    }
}

/// The behaviour of a module flag, and its name if that has changed.
struct FlagStart {
    behaviour: u64,
    name: Option<&'static str>,
}

impl<'m, S: TokenSink> Printer<'m, '_, '_, S> {
    /// Assigns slots to attached nodes.
    pub(super) fn number_attachments(&mut self, owner: u32, attachments: &[(u32, MetadataId)]) {
        match attachments {
            [] => {}
            [(_, node)] => self.slots.add(owner, *node),
            _ => {
                for &(_, node) in &*self.sorted_attachments(attachments) {
                    self.slots.add(owner, node);
                }
            }
        }
    }

    /// Sorts attachments by LLVM's order of kinds.
    fn sorted_attachments<'l>(&self, attachments: &'l [(u32, MetadataId)]) -> Cow<'l, [(u32, MetadataId)]> {
        let mut attachments = Cow::Borrowed(attachments);
        if !attachments.is_sorted_by_key(|(kind, _)| self.kinds.rank(*kind)) {
            attachments.to_mut().sort_by_key(|(kind, _)| self.kinds.rank(*kind));
        }
        attachments
    }

    fn kind_name(&mut self, kind: u32, separator: &str) {
        // Attachments of functions are separated by spaces, without commas.
        let skip = if separator == " " { 1 } else { 0 };
        match self.kinds.text(kind) {
            Some(name) => self.sink.put(TokenKind::Attribute, name.get(skip..).unwrap_or("")),
            None => self.built(TokenKind::Attribute, |text| {
                text.push_str(separator);
                text.push_str("!<unknown kind #");
                push_number(text, u64::from(kind));
                text.push_str("> ");
            }),
        }
    }

    /// Writes the attachments of a global, function or instruction.
    pub(super) fn attachments(&mut self, owner: u32, attachments: &[(u32, MetadataId)], separator: &str) {
        match attachments {
            [] => {}
            &[(kind, node)] => self.attachment(owner, kind, node, separator),
            _ => {
                for &(kind, node) in &*self.sorted_attachments(attachments) {
                    self.attachment(owner, kind, node, separator);
                }
            }
        }
    }

    fn attachment(&mut self, owner: u32, kind: u32, node: MetadataId, separator: &str) {
        self.kind_name(kind, separator);
        self.metadata(owner, node);
    }

    fn body_of(&self, owner: u32) -> Option<Rc<FunctionBody>> {
        self.slots.body(owner).cloned()
    }

    /// Writes a slot, as `!7`.
    pub(super) fn slot_reference(&mut self, slot: u32) {
        self.slot_token(slot, Entity::Metadata(slot).reference());
    }

    #[inline]
    fn slot_token(&mut self, slot: u32, link: Option<Link>) {
        let text = if slot < 1_000 {
            let Range { start, end } = prefixed_range(slot);
            self.slot_texts.get(start as usize..end as usize).unwrap_or("")
        } else {
            self.scratch.clear();
            self.scratch.push('!');
            push_number(&mut self.scratch, u64::from(slot));
            &self.scratch
        };
        self.sink.token(Token { kind: TokenKind::Attribute, text, link });
    }

    /// Writes metadata as an operand: a slot, a string, a value, or an inline node.
    pub(super) fn metadata(&mut self, owner: u32, id: MetadataId) {
        self.metadata_reference(self.slots.reference(owner, id));
    }

    #[inline]
    fn metadata_reference(&mut self, reference: MetadataReference) {
        match self.slots.get(reference) {
            Some(slot) => self.slot_reference(slot),
            None => self.metadata_in_place(reference),
        }
    }

    /// Writes metadata without a slot.
    fn metadata_in_place(&mut self, reference: MetadataReference) {
        let body = self.body_of(reference.owner);
        let body = body.as_deref();
        match self.module.metadata(body, reference.id) {
            Some((Metadata::String(string), table)) => {
                self.scratch.clear();
                self.scratch.push_str("!\"");
                let plain = self.plain_strings.filter(|_| reference.owner == MODULE);
                match plain.and_then(|all| all.get(string.range())) {
                    Some(text) => self.scratch.push_str(text),
                    None => {
                        let old = self.rules.label_comments;
                        super::text::push_escaped_as(&mut self.scratch, table.string(string), old);
                    }
                }
                self.scratch.push('"');
                self.sink.put(TokenKind::String, &self.scratch);
            }
            Some((Metadata::Value { value, .. }, _)) => self.typed_value(body, value),
            Some((Metadata::Node(node), table)) => {
                let nodes = NodeContext { owner: reference.owner, body, node, table };
                if self.depth > MAX_DEPTH {
                    return self.unprintable("<metadata nests too deep>", "metadata in place nests too deep");
                }
                self.depth += 1;
                match node.kind {
                    NodeKind::Expression => self.expression_node(&nodes),
                    NodeKind::ArgList => self.argument_list(&nodes),
                    NodeKind::Location => self.fields(&nodes),
                    // LLVM writes an address here.
                    _ => self.unprintable("<node without a number>", "a metadata node has no number"),
                }
                self.depth -= 1;
            }
            _ => self.out(TokenKind::Text, "null"),
        }
    }

    pub(super) fn named_metadata(&mut self) {
        let module = self.module;
        if !module.named_metadata.is_empty() {
            self.punctuation("\n");
        }
        for (at, named) in module.named_metadata.iter().enumerate() {
            self.source(|map| map.named(at));
            self.built(TokenKind::Attribute, |text| {
                text.push('!');
                push_metadata_name(text, &named.name);
            });
            self.punctuation(" = !{");
            for (at, &node) in named.nodes.iter().enumerate() {
                if at > 0 {
                    self.punctuation(", ");
                }
                self.metadata(MODULE, node);
            }
            self.punctuation("}\n");
        }
        self.no_source();
    }

    /// Writes all nodes that have a slot.
    pub(super) fn metadata_nodes(&mut self) {
        if self.slots.count() == 0 {
            return;
        }
        self.punctuation("\n");
        let mut at = 0;
        let mut owner = MODULE;
        while let Some(slot) = self.slots.slot(at) {
            if let MetadataSlot::Node(reference) = slot
                && self.is_frugal()
                && reference.owner != MODULE
                && reference.owner != owner
            {
                self.slots.drop_kept(owner);
                owner = reference.owner;
                self.load_metadata(owner);
            }
            let number = narrow(at as u64);
            self.source(|map| match slot {
                MetadataSlot::Node(reference) => map.metadata(reference.owner, reference.id),
                MetadataSlot::Location(_) => 0..0,
            });
            self.slot_token(number, Entity::Metadata(number).definition());
            self.punctuation(" = ");
            match slot {
                MetadataSlot::Node(reference) => self.node(reference),
                MetadataSlot::Location(location) => self.location_node(&location),
            }
            self.punctuation("\n");
            self.sink.settle();
            at += 1;
        }
    }

    /// Returns whether the metadata of a function is dropped with its body, and read again when its nodes are printed. That
    /// takes time, but is in proportion to a text that is not kept either.
    pub(super) fn is_frugal(&self) -> bool {
        matches!(self.bodies, Bodies::Checked)
    }

    /// Reads the metadata of a function again: that of all functions would need much memory. The nodes of a function follow
    /// each other.
    fn load_metadata(&mut self, owner: u32) {
        if self.slots.body(owner).is_some() {
            return;
        }
        let mut body = core::mem::take(&mut self.body);
        // What can't be read was reported when the function was printed.
        if self.module.read_body(owner as usize, &mut body).is_ok() {
            self.slots.keep(&body);
        }
        self.body = body;
    }

    fn node(&mut self, reference: MetadataReference) {
        let body = self.body_of(reference.owner);
        let body = body.as_deref();
        let Some((Metadata::Node(node), table)) = self.module.metadata(body, reference.id) else { return };
        let nodes = NodeContext { owner: reference.owner, body, node, table };
        // LLVM makes a node that refers to itself distinct.
        let own = u64::from(reference.id.0) + 1;
        if node.distinct || table.references(node).contains(&own) || self.is_always_distinct(&nodes) {
            self.keyword("distinct ");
        }
        match node.kind {
            NodeKind::Tuple => match self.upgraded_flag(reference) {
                Some(start) => self.flag(&nodes, start),
                None => self.tuple(&nodes),
            },
            NodeKind::Expression => self.expression_node(&nodes),
            NodeKind::ArgList => self.argument_list(&nodes),
            _ => self.fields(&nodes),
        }
    }

    /// Returns how a module flag starts now, if LLVM has changed its behaviour or name since the file was written.
    fn upgraded_flag(&self, reference: MetadataReference) -> Option<FlagStart> {
        if reference.owner != MODULE || !self.rules.upgrades {
            return None;
        }
        if !self.module.named(b"llvm.module.flags").contains(&reference.id) {
            return None;
        }
        let mut operands = self.module.node_operands(reference.id);
        let (behaviour, name) = (operands.next()??, operands.next()??);
        let Some(Metadata::Value { value, .. }) = self.module.metadata.get(behaviour) else { return None };
        let behaviour = self.module.integer(None, value)?;
        let name = self.module.metadata_string(name)?;
        let (behaviour, name) = super::upgrade::flag_start(name, behaviour, self.rules.opaque_pointers)?;
        Some(FlagStart { behaviour, name })
    }

    fn flag(&mut self, nodes: &NodeContext<'_>, start: FlagStart) {
        self.punctuation("!{");
        self.built(TokenKind::Number, |text| {
            text.push_str("i32 ");
            push_number(text, start.behaviour);
            text.push_str(", ");
        });
        if let Some(name) = start.name {
            self.built(TokenKind::Text, |text| text.extend(["!\"", name, "\", "]));
        }
        self.operand_list(nodes, if start.name.is_some() { 2 } else { 1 });
        self.punctuation("}");
    }

    /// Returns whether a node is distinct even if the file does not say so: since LLVM 4, compile units and
    /// definitions of subprograms.
    fn is_always_distinct(&self, nodes: &NodeContext<'_>) -> bool {
        const FLAGS: u8 = 5;
        const DEFINITION: u64 = 1 << 3;
        self.rules.upgrades
            && match nodes.node.kind {
                NodeKind::CompileUnit => true,
                NodeKind::Subprogram => nodes.number(FLAGS) & DEFINITION != 0,
                _ => false,
            }
    }

    fn tuple(&mut self, nodes: &NodeContext<'_>) {
        self.punctuation("!{");
        self.operand_list(nodes, 0);
        self.punctuation("}");
    }

    fn operand_list(&mut self, nodes: &NodeContext<'_>, skip: usize) {
        for (at, &reference) in nodes.table.references(nodes.node).iter().skip(skip).enumerate() {
            if at > 0 {
                self.punctuation(", ");
            }
            match reference.checked_sub(1) {
                Some(id) => self.metadata(nodes.owner, MetadataId(narrow(id))),
                None => self.keyword("null"),
            }
        }
    }

    fn argument_list(&mut self, nodes: &NodeContext<'_>) {
        self.keyword("!DIArgList(");
        self.operand_list(nodes, 0);
        self.punctuation(")");
    }

    /// Writes the location of an instruction, which is not a node in the file.
    fn location_node(&mut self, location: &GlobalLocation) {
        self.keyword("!DILocation(");
        self.keyword("line: ");
        self.number(u64::from(location.line));
        if location.column != 0 {
            self.keyword(", column: ");
            self.number(u64::from(location.column));
        }
        self.keyword(", scope: ");
        self.metadata_reference(location.scope);
        if location.inlined_at.id.is_some() {
            self.keyword(", inlinedAt: ");
            self.metadata_reference(location.inlined_at);
        }
        if location.implicit {
            self.keyword(", isImplicitCode: true");
        }
        for (label, number) in
            [(", atomGroup: ", location.atom_group()), (", atomRank: ", location.atom_rank())]
        {
            if number != 0 {
                self.keyword(label);
                self.number(number);
            }
        }
        self.punctuation(")");
    }

    fn fields(&mut self, nodes: &NodeContext<'_>) {
        let Some((name, fields)) = layout(nodes.node.kind, self.rules.dialect) else { return };
        self.keyword(name);
        let mut first = true;
        for &(label, show) in fields {
            if self.is_shown(nodes, show) {
                if !first {
                    self.punctuation(", ");
                }
                first = false;
                if !label.is_empty() {
                    self.keyword(label);
                    self.punctuation(": ");
                }
                self.field(nodes, show);
            }
        }
        self.punctuation(")");
    }

    fn string_of<'t>(&self, nodes: &NodeContext<'t>, at: u8) -> &'t [u8]
    where
        'm: 't,
    {
        let module: &'t Module<'_> = self.module;
        let entry = nodes.reference(at).and_then(|id| module.metadata(nodes.body, id));
        match entry {
            Some((Metadata::String(string), table)) => table.string(string),
            _ => &[],
        }
    }

    /// Returns whether a field is written.
    fn is_shown(&self, nodes: &NodeContext<'_>, show: FieldFormat) -> bool {
        match show {
            FieldFormat::Text(at) => !self.string_of(nodes, at).is_empty(),
            FieldFormat::Ref(at) | FieldFormat::Rank(at) => nodes.reference(at).is_some(),
            FieldFormat::Number(at)
            | FieldFormat::Signed(at)
            | FieldFormat::LessOne(at)
            | FieldFormat::Flags(at)
            | FieldFormat::Named(at, _)
            | FieldFormat::NamedLessOne(at, _) => nodes.number(at) != 0,
            FieldFormat::NumberOrRef(at, reference) => match nodes.reference(reference) {
                Some(id) => self.integer_metadata(nodes, id) != Some(0),
                None => nodes.number(at) != 0,
            },
            FieldFormat::RefOrNumber(at) => {
                nodes.reference(at).is_some_and(|id| self.integer_metadata(nodes, id) != Some(0))
            }
            FieldFormat::Signed64(at) => nodes.number(at) != 0,
            FieldFormat::OldArgument(at) => nodes.number(at) != 0 || nodes.number(4) != AUTO_VARIABLE,
            FieldFormat::PointerAuthentication(at) => self.rules.opaque_pointers && nodes.number(at) != 0,
            FieldFormat::BoolUnless(at, value) => (nodes.number(at) != 0) != value,
            FieldFormat::TagUnless(at, tag) => nodes.number(at) != tag,
            FieldFormat::NameTable(at) => nodes.number(at) != 0,
            FieldFormat::Checksum(at) => nodes.number(at) != 0,
            FieldFormat::Bound(at) => nodes.reference(at).is_some() || nodes.number(0) >> at & 1 != 0,
            FieldFormat::ExpressionBound(at) => nodes.reference(at).is_some(),
            FieldFormat::Unsigned(at) => nodes.number(at) & 1 != 0,
            FieldFormat::VirtualIndex(at) => nodes.number(at) != 0 || nodes.number(6) != 0,
            FieldFormat::Operands => nodes.node.references > 1,
            _ => true,
        }
    }

    fn field(&mut self, nodes: &NodeContext<'_>, show: FieldFormat) {
        match show {
            FieldFormat::Text(at) | FieldFormat::TextAlways(at) => {
                let string = self.string_of(nodes, at);
                self.quoted(string);
            }
            FieldFormat::Ref(at) | FieldFormat::RefAlways(at) => self.optional(nodes, nodes.reference(at)),
            FieldFormat::Number(at) | FieldFormat::NumberAlways(at) => self.number(nodes.number(at)),
            FieldFormat::Signed(at) => {
                let number = i64::from(nodes.number(at) as i32);
                self.built(TokenKind::Number, |text| push_signed(text, number));
            }
            FieldFormat::Signed64(at) | FieldFormat::Signed64Always(at) => {
                let number = nodes.number(at) as i64;
                self.built(TokenKind::Number, |text| push_signed(text, number));
            }
            FieldFormat::OldArgument(at) => self.number(nodes.number(at)),
            FieldFormat::Bit(at, bit) => {
                self.keyword(if nodes.number(at) >> bit & 1 != 0 { "true" } else { "false" });
            }
            FieldFormat::LessOne(at) => self.number(nodes.number(at).wrapping_sub(1)),
            FieldFormat::Bool(at) => self.keyword(if nodes.number(at) != 0 { "true" } else { "false" }),
            FieldFormat::BoolUnless(_, value) => self.keyword(if value { "false" } else { "true" }),
            FieldFormat::Flags(at) => self.flags(nodes.number(at)),
            FieldFormat::SubprogramFlags(at) => self.subprogram_flags(nodes.number(at)),
            FieldFormat::Named(at, names) | FieldFormat::NamedAlways(at, names) => {
                self.named_number(names, nodes.number(at));
            }
            FieldFormat::NamedLessOne(at, names) => {
                self.named_number(names, nodes.number(at).wrapping_sub(1));
            }
            FieldFormat::NumberOrRef(at, reference) => match nodes.reference(reference) {
                Some(id) => match self.integer_metadata(nodes, id) {
                    Some(number) => self.number(number),
                    None => self.metadata(nodes.owner, id),
                },
                None => self.number(nodes.number(at)),
            },
            FieldFormat::RefOrNumber(at) => self.constant_or_metadata(nodes, at),
            FieldFormat::Language(at) => self.source_language(nodes.number(at)),
            FieldFormat::FixedPoint(at) => self.fixed_point(nodes, at),
            FieldFormat::TagUnless(at, _) => self.named_number(dwarf::TAGS, nodes.number(at)),
            FieldFormat::EmissionKind(at) => self.word(&EMISSION_KINDS, nodes.number(at)),
            FieldFormat::NameTable(at) => self.word(&NAME_TABLES, nodes.number(at)),
            FieldFormat::Checksum(at) => self.checksum(nodes, at),
            FieldFormat::Bound(at) => self.bound(nodes, at),
            FieldFormat::ExpressionBound(at) => self.expression_bound(nodes, at),
            FieldFormat::EnumeratorValue => self.enumerator(nodes),
            FieldFormat::Unsigned(_) => self.keyword("true"),
            FieldFormat::VirtualIndex(at) => self.number(nodes.number(at)),
            FieldFormat::Rank(at) => self.constant_or_metadata(nodes, at),
            FieldFormat::Operands => {
                self.punctuation("{");
                self.operand_list(nodes, 1);
                self.punctuation("}");
            }
            FieldFormat::PointerAuthentication(at) => self.pointer_authentication(nodes.number(at)),
        }
    }

    fn optional(&mut self, nodes: &NodeContext<'_>, id: Option<MetadataId>) {
        match id {
            Some(id) => self.metadata(nodes.owner, id),
            None => self.keyword("null"),
        }
    }

    fn word(&mut self, words: &[&str], number: u64) {
        match words.get(narrow(number) as usize) {
            Some(word) => self.keyword(word),
            None => self.number(number),
        }
    }

    fn named_number(&mut self, names: dwarf::Names, number: u64) {
        let newest = self.rules.dialect == Dialect::Llvm22;
        match dwarf::name(names, number) {
            Some(name) if newest => self.keyword(name),
            Some(name) => match dwarf::name_before_22(name) {
                Some(older) => self.keyword(older),
                None => self.number(number),
            },
            None => self.number(number),
        }
    }

    /// Writes `language:` and a name of DWARF 5, or `sourceLanguageName:` and a name of DWARF 6.
    fn source_language(&mut self, number: u64) {
        /// The bit that marks a name of DWARF 6.
        const IS_NAME: u64 = 1 << 63;
        if number & IS_NAME == 0 {
            self.keyword("language: ");
            return self.named_number(dwarf::LANGUAGES, number);
        }
        self.keyword("sourceLanguageName: ");
        self.named_number(dwarf::LANGUAGE_NAMES, number & !IS_NAME);
    }

    /// Writes the kind of a fixed-point type, and its factor or its fraction. LLVM takes the numbers of a fraction as
    /// signed, in as many bits as the file says, if the type is signed.
    fn fixed_point(&mut self, nodes: &NodeContext<'_>, at: u8) {
        const SIGNED_FIXED: u64 = 0x0D;
        const RATIONAL: u64 = 2;
        self.keyword("kind: ");
        self.word(&["Binary", "Decimal", "Rational"], nodes.number(at));
        if nodes.number(at) != RATIONAL {
            let factor = i64::from(nodes.number(at + 1) as i32);
            if factor != 0 {
                self.keyword(", factor: ");
                self.built(TokenKind::Number, |text| push_signed(text, factor));
            }
            return;
        }
        let signed = nodes.number(3) == SIGNED_FIXED;
        for (label, at) in [(", numerator: ", at + 2), (", denominator: ", at + 4)] {
            let (width, word) = (narrow(nodes.number(at)), nodes.number(at + 1));
            self.keyword(label);
            self.built(TokenKind::Number, |text| push_wide(text, &[word], width, signed));
        }
    }

    /// Returns the integer constant that metadata is.
    fn integer_metadata(&self, nodes: &NodeContext<'_>, id: MetadataId) -> Option<u64> {
        match self.module.metadata(nodes.body, id) {
            Some((Metadata::Value { value, .. }, _)) => self.module.integer(nodes.body, value),
            _ => None,
        }
    }

    fn flags(&mut self, flags: u64) {
        let mut rest = narrow(flags);
        let mut words = alloc::vec::Vec::new();
        let newest = self.rules.dialect == Dialect::Llvm22;
        if let Some(&word) = dwarf::DI_ACCESS.get((rest & 3) as usize).filter(|word| !word.is_empty()) {
            words.push(word);
            rest &= !3;
        }
        if let Some(&word) =
            dwarf::DI_INHERITANCE.get((rest >> 16 & 3) as usize).filter(|word| !word.is_empty())
        {
            words.push(word);
            rest &= !(3 << 16);
        }
        let (mask, word) = dwarf::DI_INDIRECT_VIRTUAL_BASE;
        if rest & mask == mask {
            words.push(word);
            rest &= !mask;
        }
        self.flag_words(words, rest, if newest { dwarf::DI_FLAGS } else { dwarf::DI_FLAGS_BEFORE_22 });
    }

    fn subprogram_flags(&mut self, flags: u64) {
        if flags == 0 {
            return self.out(TokenKind::Number, "0");
        }
        self.flag_words(alloc::vec::Vec::new(), narrow(flags), dwarf::SUBPROGRAM_FLAGS);
    }

    fn flag_words(&mut self, mut words: alloc::vec::Vec<&'static str>, mut rest: u32, names: dwarf::Names) {
        for &(bit, word) in names {
            if rest & bit != 0 {
                words.push(word);
                rest &= !bit;
            }
        }
        let none = words.is_empty();
        for (at, word) in words.into_iter().enumerate() {
            if at > 0 {
                self.punctuation(" | ");
            }
            self.keyword(word);
        }
        if rest != 0 || none {
            if !none {
                self.punctuation(" | ");
            }
            self.number(u64::from(rest));
        }
    }

    fn pointer_authentication(&mut self, bits: u64) {
        for (at, (label, shift, width)) in POINTER_AUTHENTICATION.into_iter().enumerate() {
            if at > 0 {
                self.punctuation(", ");
            }
            self.keyword(label);
            self.punctuation(": ");
            let value = bits >> shift & ((1 << width) - 1);
            match width {
                1 => self.keyword(if value != 0 { "true" } else { "false" }),
                _ => self.number(value),
            }
        }
    }

    fn checksum(&mut self, nodes: &NodeContext<'_>, at: u8) {
        self.word(&CHECKSUMS, nodes.number(at));
        self.punctuation(", ");
        self.keyword("checksum: ");
        let checksum = self.string_of(nodes, 2);
        self.quoted(checksum);
    }

    fn bound(&mut self, nodes: &NodeContext<'_>, at: u8) {
        if nodes.number(0) >> at & 1 != 0 {
            let number = nodes.number(at + 1) as i64;
            return self.built(TokenKind::Number, |text| push_signed(text, number));
        }
        self.constant_or_metadata(nodes, at);
    }

    /// Writes a reference, or if it is an integer constant, the integer without its type.
    fn constant_or_metadata(&mut self, nodes: &NodeContext<'_>, at: u8) {
        let Some(id) = nodes.reference(at) else { return };
        let body = nodes.body;
        if let Some((Metadata::Value { value, .. }, _)) = self.module.metadata(body, id)
            && let Some((Constant::Integer(_) | Constant::Null, _)) = self.module.constant(body, value)
        {
            return self.value(body, value);
        }
        self.metadata(nodes.owner, id);
    }

    fn expression_bound(&mut self, nodes: &NodeContext<'_>, at: u8) {
        const CONSTS: u64 = 0x11;
        let Some(id) = nodes.reference(at) else { return };
        let body = nodes.body;
        if let Some((Metadata::Node(node), table)) = self.module.metadata(body, id)
            && node.kind == NodeKind::Expression
            && let &[CONSTS, number] = debug_info::modern_expression(table.numbers(node)).as_slice()
        {
            return self.built(TokenKind::Number, |text| push_signed(text, number as i64));
        }
        self.metadata(nodes.owner, id);
    }

    fn enumerator(&mut self, nodes: &NodeContext<'_>) {
        let numbers = nodes.table.numbers(nodes.node);
        let (Some(&bits), Some(&width)) = (numbers.first(), numbers.get(1)) else { return };
        let words = numbers.get(2..).unwrap_or_default();
        let width = narrow(width).min(1 << 16);
        self.built(TokenKind::Number, |text| push_wide(text, words, width, bits & 1 == 0));
    }

    fn expression_node(&mut self, nodes: &NodeContext<'_>) {
        self.expression_body(nodes.table.numbers(nodes.node));
    }

    /// Writes an expression.
    pub(super) fn expression_body(&mut self, numbers: &[u64]) {
        self.keyword("!DIExpression(");
        let old = !self.rules.upgrades;
        let elements = if old {
            debug_info::raw_expression(numbers).to_vec()
        } else {
            debug_info::modern_expression(numbers)
        };
        if is_valid_expression(&elements, old) {
            self.operations(&elements, old);
        } else {
            for (at, &element) in elements.iter().enumerate() {
                if at > 0 {
                    self.punctuation(", ");
                }
                self.number(element);
            }
        }
        self.punctuation(")");
    }

    fn operations(&mut self, elements: &[u64], old: bool) {
        const CONVERT: u64 = 0x1001;
        let mut rest = elements;
        let mut first = true;
        while let Some((&operation, tail)) = rest.split_first() {
            if !first {
                self.punctuation(", ");
            }
            first = false;
            self.named_number(dwarf::OPERATIONS, operation);
            let (arguments, tail) = tail.split_at((operation_size(operation, old) - 1).min(tail.len()));
            for (at, &argument) in arguments.iter().enumerate() {
                self.punctuation(", ");
                if operation == CONVERT && at == 1 {
                    self.named_number(dwarf::ENCODINGS, argument);
                } else {
                    self.number(argument);
                }
            }
            rest = tail;
        }
    }
}

/// Returns the number of elements of an operation with its arguments.
fn operation_size(operation: u64, old: bool) -> usize {
    const PLUS: u64 = 0x22;
    const BIT_PIECE: u64 = 0x9D;
    match operation {
        PLUS if old => 2,
        BIT_PIECE if old => 3,
        _ if old => 1,
        0x1001 | 0x1000 | 0x92 | 0x1006 | 0x1007 => 3,
        0x70..=0x8F | 0x10 | 0x11 | 0x94 | 0x23 | 0x1002 | 0x1003 | 0x1005 | 0x90 => 2,
        _ => 1,
    }
}

/// Returns whether an expression is valid. LLVM prints an invalid one as numbers.
fn is_valid_expression(elements: &[u64], old: bool) -> bool {
    const DEREF: u64 = 0x06;
    const PLUS: u64 = 0x22;
    const BIT_PIECE: u64 = 0x9D;
    const STACK_VALUE: u64 = 0x9F;
    const FRAGMENT: u64 = 0x1000;
    const SWAP: u64 = 0x16;
    const ENTRY_VALUE: u64 = 0x1003;
    let mut rest = elements;
    let mut first = true;
    while let Some(&operation) = rest.first() {
        let Some(tail) = rest.get(operation_size(operation, old)..) else { return false };
        match operation {
            BIT_PIECE if old => return tail.is_empty(),
            PLUS | DEREF if old => {}
            _ if old => return false,
            0x50..=0x8F => return true,
            FRAGMENT => return tail.is_empty(),
            STACK_VALUE if !tail.is_empty() && tail.first() != Some(&FRAGMENT) => return false,
            SWAP if elements.len() == 1 => return false,
            ENTRY_VALUE => return first && rest.get(1) == Some(&1),
            _ if !is_known_operation(operation) => return false,
            _ => {}
        }
        first = false;
        rest = tail;
    }
    true
}

/// Returns whether LLVM allows an operation in expressions.
fn is_known_operation(operation: u64) -> bool {
    matches!(
        operation,
        0x06 | 0x10..=0x12 | 0x14 | 0x16 | 0x18 | 0x1A..=0x1E | 0x20..=0x27 | 0x29..=0x2E | 0x30 | 0x90 | 0x92
            | 0x94 | 0x97 | 0x9F | 0x1000..=0x1007
    )
}
