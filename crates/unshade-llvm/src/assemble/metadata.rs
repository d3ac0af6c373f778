//! Parses metadata: tuples, strings and values, named metadata, attachments, and metadata as an operand.
//!
//! A number may be used before it is defined; its entry exists from the first use on. Nodes of debug info are parsed
//! by `debug_info`.

use super::Version;
use super::error::Parsed;
use super::function::VALUE_BASE;
use super::lexer::Token;
use super::names::{NameTable, NumberTable};
use super::parser::Parser;
use super::strip::states_version;
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, TypeId, ValueId, narrow};
use crate::metadata::{Metadata, NamedMetadata};
use crate::types::Type;
use crate::value::Operand;
use crate::write::fixed_names;
use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// The metadata of a text.
#[derive(Default)]
pub(super) struct MetadataState {
    /// Entries by their number in the text.
    numbers: NumberTable<MetadataId>,
    /// Numbers that are used but not defined yet, with the position of the first use.
    undefined: BTreeMap<u32, usize>,
    strings: NameTable<MetadataId>,
    values: BTreeMap<ValueId, MetadataId>,
    /// Values of functions, by the body.
    local_values: BTreeMap<(u32, ValueId), MetadataId>,
    kinds: NameTable<u32>,
    /// The kinds that are attached to anything.
    used_kinds: BTreeSet<u32>,
    /// Nodes in the order in which they are complete.
    pub(super) complete: Vec<MetadataId>,
    /// The `!dbg` attachments by body.
    pub(super) locations: Vec<Vec<DebugLocation>>,
    /// Whether there were debug records, and calls of the functions that they replace.
    pub(super) debug_records: bool,
    pub(super) debug_intrinsics: bool,
    /// Whether the location of an instruction is another node, so that all debug info is dropped.
    pub(super) wrong_location: bool,
}

/// A `!dbg` attachment.
#[derive(Clone, Copy, Debug)]
pub(super) struct DebugLocation {
    pub(super) instruction: u32,
    pub(super) node: MetadataId,
    /// Where it is in the text.
    pub(super) position: usize,
}

/// The kinds that DXC has besides those of LLVM 3.7, in the order in which most compilations meet them, and whether a
/// module has them without a use. The text of a module doesn't tell the order.
const KINDS_OF_DXC: [(&str, bool); 7] = [
    ("dx.temp", true),
    ("dx.precise", false),
    ("dx.controlflow.hints", false),
    ("llvm.loop", false),
    ("dx.dbg.varlayout", true),
    ("dx.break.br", false),
    ("dx.nonuniform", false),
];

/// The number of the metadata kind `dbg`.
const DEBUG_LOCATION: u32 = 0;

impl Parser<'_> {
    /// Parses `!5 = …`, at the `!`.
    pub(super) fn metadata_definition(&mut self) -> Parsed<()> {
        self.expect(b'!')?;
        let at = self.at;
        let number = self.u32()?;
        self.expect(b'=')?;
        let distinct = self.eat_word("distinct");
        let id = match self.metadata.numbers.get(number) {
            Some(id) => id,
            None => {
                let id = self.module.metadata.add(Metadata::Missing);
                self.metadata.numbers.insert(number, id);
                self.metadata.undefined.insert(number, at);
                id
            }
        };
        let node = self.node(distinct)?;
        if self.metadata.undefined.remove(&number).is_none() {
            return self.fault(alloc::format!("metadata !{number} is defined twice"));
        }
        self.module.metadata.replace(id, node);
        self.metadata.complete.push(id);
        self.positions.nodes.push((id, at));
        Ok(())
    }

    /// Parses a node: a tuple or a node of debug info.
    fn node(&mut self, distinct: bool) -> Parsed<Metadata> {
        match self.token {
            Token::Punctuation(b'!') => {
                self.advance();
                let references = self.tuple()?;
                Ok(self.module.metadata.node(NodeKind::Tuple, distinct, &references, &[]))
            }
            Token::Metadata(name) => {
                let name = name.bytes();
                self.nested(|parser| parser.debug_info_node(&name, distinct))
            }
            _ => self.fault("expected a metadata node"),
        }
    }

    /// Parses `{ … }` and returns its references: number plus one, or zero for null.
    fn tuple(&mut self) -> Parsed<Vec<u64>> {
        self.expect(b'{')?;
        let mut references = Vec::new();
        self.list(b'}', |parser| {
            references.push(parser.metadata_reference()?);
            Ok(())
        })?;
        Ok(references)
    }

    /// Parses metadata or `null`, and returns number plus one, or zero.
    pub(super) fn metadata_reference(&mut self) -> Parsed<u64> {
        if self.eat_word("null") {
            return Ok(0);
        }
        Ok(u64::from(self.metadata()?.0) + 1)
    }

    /// Parses any metadata: a number, string, tuple, value or node.
    pub(super) fn metadata(&mut self) -> Parsed<MetadataId> {
        match self.token {
            Token::Punctuation(b'!') => {
                self.advance();
                match self.token {
                    Token::Integer(_) => self.metadata_number(),
                    Token::Text(text) => {
                        self.advance();
                        Ok(self.metadata_text(&text.bytes()))
                    }
                    _ => {
                        let references = self.nested(Self::tuple)?;
                        let node = self.module.metadata.node(NodeKind::Tuple, false, &references, &[]);
                        Ok(self.add_node(node))
                    }
                }
            }
            Token::Metadata(_) => {
                let node = self.node(false)?;
                Ok(self.add_node(node))
            }
            _ => {
                let ty = self.type_of_metadata_value()?;
                let value = self.constant_value(ty)?;
                self.metadata_value(ty, value)
            }
        }
    }

    /// Parses a node: a number, a tuple or a node of debug info.
    pub(super) fn metadata_node(&mut self) -> Parsed<MetadataId> {
        let token = self.token;
        match token {
            Token::Metadata(_) => self.metadata(),
            Token::Punctuation(b'!') if matches!(self.peek(), Token::Text(_)) => {
                self.advance();
                self.fault("expected a metadata node")
            }
            Token::Punctuation(b'!') => self.metadata(),
            _ => self.fault("expected a metadata node"),
        }
    }

    /// Parses a type and a value, which may be of the function, as metadata.
    pub(super) fn typed_metadata_value(&mut self) -> Parsed<MetadataId> {
        let ty = self.type_of_metadata_value()?;
        let value = self.value(ty)?;
        self.metadata_value(ty, value)
    }

    fn type_of_metadata_value(&mut self) -> Parsed<TypeId> {
        let at = self.at;
        let ty = self.ty()?;
        if matches!(self.module.types.get(ty), Type::Metadata) {
            return self.fault_at(at, "metadata is not a value");
        }
        Ok(ty)
    }

    /// Adds a node that is written where it is used.
    pub(super) fn add_node(&mut self, node: Metadata) -> MetadataId {
        let id = self.module.metadata.add(node);
        self.metadata.complete.push(id);
        self.positions.nodes.push((id, self.at));
        id
    }

    fn metadata_number(&mut self) -> Parsed<MetadataId> {
        let at = self.at;
        let number = self.u32()?;
        if let Some(id) = self.metadata.numbers.get(number) {
            return Ok(id);
        }
        let id = self.module.metadata.add(Metadata::Missing);
        self.metadata.numbers.insert(number, id);
        self.metadata.undefined.insert(number, at);
        Ok(id)
    }

    /// Returns the entry of a string.
    pub(super) fn metadata_text(&mut self, text: &[u8]) -> MetadataId {
        if let Some(id) = self.metadata.strings.get(text) {
            return id;
        }
        let entry = self.module.metadata.text(text);
        let id = self.module.metadata.add(entry);
        self.metadata.strings.insert(text, id);
        id
    }

    /// Returns the entry of a value, which is of the function if the value is.
    pub(super) fn metadata_value(&mut self, ty: TypeId, value: ValueId) -> Parsed<MetadataId> {
        let entry = Metadata::Value { ty, value };
        if value.0 >= VALUE_BASE {
            let key = (narrow(self.bodies.len() as u64), value);
            if let Some(&id) = self.metadata.local_values.get(&key) {
                return Ok(id);
            }
            let id = self.state()?.body.metadata.add(entry);
            self.metadata.local_values.insert(key, id);
            return Ok(id);
        }
        if let Some(&id) = self.metadata.values.get(&value) {
            return Ok(id);
        }
        let id = self.module.metadata.add(entry);
        self.metadata.values.insert(value, id);
        Ok(id)
    }

    /// Parses metadata as an argument of a call.
    pub(super) fn metadata_operand(&mut self) -> Parsed<Operand> {
        Ok(Operand::metadata(self.metadata_argument()?))
    }

    /// Parses metadata that may be a value of the function or a list of them.
    pub(super) fn metadata_argument(&mut self) -> Parsed<MetadataId> {
        match self.token {
            Token::Metadata(name) if &*name.bytes() == b"DIArgList" => self.argument_list(),
            Token::Metadata(_) | Token::Punctuation(b'!') => self.metadata(),
            _ => self.typed_metadata_value(),
        }
    }

    /// Parses `!name = !{!1, !2}`.
    pub(super) fn named_metadata(&mut self) -> Parsed<()> {
        let Token::Metadata(name) = self.token else { return self.fault("expected the name of metadata") };
        let at = self.at;
        self.advance();
        self.expect(b'=')?;
        self.expect(b'!')?;
        self.expect(b'{')?;
        let mut nodes = Vec::new();
        self.list(b'}', |parser| {
            nodes.push(parser.named_node()?);
            Ok(())
        })?;
        let name = name.bytes();
        match self.module.named_metadata.iter_mut().find(|named| named.name == *name) {
            Some(named) => named.nodes.append(&mut nodes),
            None => {
                self.module.named_metadata.push(NamedMetadata { name: name.into_owned(), nodes });
                self.positions.named.push(at);
            }
        }
        Ok(())
    }

    /// Parses a node of named metadata: a number, or an expression.
    fn named_node(&mut self) -> Parsed<MetadataId> {
        match self.token {
            Token::Metadata(name) if &*name.bytes() == b"DIExpression" => self.metadata(),
            Token::Punctuation(b'!') => {
                self.advance();
                self.metadata_number()
            }
            _ => self.fault("expected the number of a metadata node"),
        }
    }

    /// Parses `!kind !5`, and returns the number of the kind and the node.
    pub(super) fn attachment(&mut self) -> Parsed<(u32, MetadataId)> {
        let Token::Metadata(name) = self.token else { return self.fault("expected a metadata attachment") };
        self.advance();
        let kind = self.metadata_kind(&name.bytes());
        Ok((kind, self.metadata_node()?))
    }

    /// Returns the number of a metadata kind.
    pub(super) fn metadata_kind(&mut self, name: &[u8]) -> u32 {
        self.add_metadata_kinds();
        if let Some(kind) = self.metadata.kinds.get(name) {
            self.metadata.used_kinds.insert(kind);
            return kind;
        }
        let kind = narrow(self.module.metadata_kinds.len() as u64);
        self.module.metadata_kinds.push((kind, Cow::Owned(name.to_vec())));
        self.metadata.kinds.insert(name, kind);
        kind
    }

    /// Adds the kinds that every module has.
    fn add_metadata_kinds(&mut self) {
        if self.module.metadata_kinds.is_empty() {
            let of_dxc = KINDS_OF_DXC.iter().filter(|_| self.version == Version::Dxc);
            let of_dxc = of_dxc.map(|(name, _)| name);
            for (kind, name) in (0u32..).zip(fixed_names::kinds(self.version).iter().chain(of_dxc)) {
                self.module.metadata_kinds.push((kind, name.as_bytes().into()));
                self.metadata.kinds.insert(name.as_bytes(), kind);
            }
        }
    }

    /// Parses the attachments of the instruction that was parsed last.
    pub(super) fn instruction_attachments(&mut self) -> Parsed<()> {
        if !self.is(b',') {
            return Ok(());
        }
        let start = self.state()?.body.attached.len();
        let mut location = None;
        while self.eat(b',') {
            let position = self.at;
            let mut attachment = self.attachment()?;
            if attachment.0 == DEBUG_LOCATION {
                // The last one is the location.
                match location.replace((attachment.1, position)) {
                    Some((earlier, _)) => attachment.1 = earlier,
                    None => continue,
                }
            }
            self.state()?.body.attached.push(attachment);
        }
        let function = self.state()?;
        let instruction = narrow(function.body.instructions.len() as u64 - 1);
        if let Some((node, position)) = location {
            function.debug_locations.push(DebugLocation { instruction, node, position });
        }
        let attached = function.body.attached.get_mut(start..).unwrap_or_default();
        if !attached.is_empty() {
            // In LLVM's order, by number of the kind.
            attached.sort_by_key(|&(kind, _)| kind);
            let slice =
                crate::ids::Slice { start: narrow(start as u64), count: narrow(attached.len() as u64) };
            function.body.attachments.push((instruction, slice));
        }
        Ok(())
    }

    /// Removes the kinds that DXC only has in modules that use them.
    fn remove_unused_kinds(&mut self) {
        let used = &self.metadata.used_kinds;
        let is_unused = |name: &[u8]| {
            self.version == Version::Dxc
                && KINDS_OF_DXC.iter().any(|&(known, always)| !always && known.as_bytes() == name)
        };
        self.module.metadata_kinds.retain(|(kind, name)| used.contains(kind) || !is_unused(name));
    }

    /// Adds the kind that LLVM names when it strips debug info, which it does for every module that doesn't state the
    /// version of its debug info: from the first instruction with attachments.
    fn add_stripped_kind(&mut self) {
        if !states_version(&self.module) && self.bodies.iter().any(|body| !body.attachments.is_empty()) {
            self.metadata_kind(b"heapallocsite");
        }
    }

    /// Reports numbers that are used but never defined, and completes the tables of names.
    pub(super) fn finish_metadata(&mut self) -> Parsed<()> {
        if let Some((number, &position)) = self.metadata.undefined.first_key_value() {
            return self.fault_at(position, alloc::format!("use of undefined metadata '!{number}'"));
        }
        self.add_metadata_kinds();
        if self.version == Version::Dxc {
            self.remove_unused_kinds();
        } else {
            self.add_stripped_kind();
        }
        self.add_bundle_tags();
        self.add_scopes();
        self.unite_metadata();
        self.finish_locations()?;
        self.finish_debug_records();
        Ok(())
    }
}
