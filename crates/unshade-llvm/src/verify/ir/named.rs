//! Named metadata that LLVM reads: module flags, the compiler's name, units, and profiles of calls.
//!
//! Knowledge: the Language Reference on module flags metadata; what LLVM 14 and 19 refuse.

use super::attachments::RULE;
use super::context::Context;
use super::debug_info;
use super::findings::{Findings, Place};
use super::metadata_view::View;
use crate::debug_info::NodeKind;
use crate::ids::MetadataId;
use crate::metadata::Metadata;
use crate::value::ValueKind;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What happens when modules with different values of a flag are linked.
mod behaviour {
    pub(super) const REQUIRE: u64 = 3;
    pub(super) const APPEND: u64 = 5;
    pub(super) const APPEND_UNIQUE: u64 = 6;
    pub(super) const MAX: u64 = 7;
    pub(super) const MIN: u64 = 8;
}

/// A flag with its parts.
struct Flag {
    behaviour: u64,
    name: Vec<u8>,
    value: Option<MetadataId>,
}

impl Context<'_, '_> {
    /// Checks all named metadata.
    pub(super) fn check_named_metadata(&self, findings: &mut Findings) {
        self.check_units(findings);
        for (index, named) in self.module.named_metadata.iter().enumerate() {
            findings.enter(Place::Named(index));
            let holds_location = named.nodes.iter().filter_map(|&id| self.view_of(None, id, NodeKind::Tuple)).any(|view| {
                view.references().flatten().any(|id| self.node_kind(None, id) == Some(NodeKind::Location))
            });
            findings.require(!holds_location, debug_info::RULE, "named metadata holds a location");
            match named.name.as_slice() {
                b"llvm.module.flags" => self.flags(&named.nodes, findings),
                b"llvm.ident" | b"llvm.commandline" => self.texts(&named.nodes, findings),
                b"llvm.dbg.cu" => self.units(&named.nodes, findings),
                name if name.starts_with(b"llvm.dbg.") && self.has_debug_info => {
                    findings.require(false, debug_info::RULE, "unknown metadata of debug information");
                }
                _ => {}
            }
        }
    }

    /// Checks that each node is one string.
    fn texts(&self, nodes: &[MetadataId], findings: &mut Findings) {
        for &node in nodes {
            let view = self.view(None, node);
            let one = view.is_some_and(|view| view.node.references == 1);
            findings.require(one, RULE, "the compiler's name or command has not one operand");
            let text = view.and_then(|view| view.reference(0)).and_then(|id| self.metadata_text(None, id));
            findings.require(text.is_some(), RULE, "the compiler's name or command is no string");
        }
    }

    fn units(&self, nodes: &[MetadataId], findings: &mut Findings) {
        if !self.has_debug_info {
            return;
        }
        for &node in nodes {
            let is_unit = self.node_kind(None, node) == Some(NodeKind::CompileUnit);
            findings.require(is_unit, debug_info::RULE, "the list of units has something else");
        }
    }

    /// Reports units that are not in the list of them. Of a file LLVM reads only the units that something refers to, so only
    /// those of a text are known.
    fn check_units(&self, findings: &mut Findings) {
        if !self.is_text {
            return;
        }
        let listed = self.module.named(b"llvm.dbg.cu");
        for (id, entry) in self.module.metadata.iter() {
            let is_unit = matches!(entry, Metadata::Node(node) if node.kind == NodeKind::CompileUnit);
            if is_unit && !listed.contains(&id) {
                findings.add_at(Place::Metadata(id), debug_info::RULE, "a unit is not listed in llvm.dbg.cu");
            }
        }
    }

    /// Reports options for linkers in a flag, where they are in files before LLVM 5.
    fn check_linker_options(&self, flag: &Flag, findings: &mut Findings) {
        let is_old = self.is_text && flag.name == b"Linker Options";
        let has_options = self.module.named_metadata.iter().any(|named| named.name == b"llvm.linker.options");
        findings.require(!is_old || has_options, RULE, "the flag 'Linker Options' is no longer supported");
    }

    fn flags(&self, nodes: &[MetadataId], findings: &mut Findings) {
        let mut values: BTreeMap<Vec<u8>, Option<MetadataId>> = BTreeMap::new();
        let mut requirements: Vec<Option<MetadataId>> = Vec::new();
        for &node in nodes {
            let Some(flag) = self.flag(node, findings) else { continue };
            self.check_linker_options(&flag, findings);
            if flag.behaviour == behaviour::REQUIRE {
                requirements.push(flag.value);
                continue;
            }
            let first = values.insert(flag.name.clone(), flag.value).is_none();
            findings.require(first, RULE, "a module flag is there twice");
            self.known_flag(&flag, findings);
        }
        for requirement in requirements {
            self.requirement(requirement, &values, findings);
        }
        let has = |name: &[u8]| values.contains_key(name);
        let both = has(b"aarch64-elf-pauthabi-platform") == has(b"aarch64-elf-pauthabi-version");
        findings.require(both, RULE, "of the two flags of pointer authentication, one is missing");
    }

    /// Reads a flag: behaviour, name, value.
    fn flag(&self, node: MetadataId, findings: &mut Findings) -> Option<Flag> {
        let view = self.view(None, node)?;
        if !findings.require(view.node.references == 3, RULE, "a module flag has not three operands") {
            return None;
        }
        let behaviour = view.reference(0).and_then(|id| self.metadata_integer(None, id));
        let known = behaviour.is_some_and(|number| (1..=8).contains(&number));
        findings.require(known, RULE, "a module flag has an unknown behaviour");
        let name = view.reference(1).and_then(|id| self.metadata_text(None, id));
        findings.require(name.is_some(), RULE, "the name of a module flag is no string");
        let flag = Flag { behaviour: behaviour?, name: name?.to_vec(), value: view.reference(2) };
        self.flag_value(&flag, findings);
        Some(flag)
    }

    fn flag_value(&self, flag: &Flag, findings: &mut Findings) {
        let integer = flag.value.and_then(|id| self.metadata_integer(None, id));
        let is_integer = flag.value.is_some_and(|id| self.is_metadata_integer(None, id));
        match flag.behaviour {
            behaviour::MAX => {
                findings.require(is_integer, RULE, "the value of a max flag is no integer");
            }
            behaviour::MIN => {
                let fits = integer.is_some_and(|value| value.cast_signed() >= 0);
                findings.require(fits, RULE, "the value of a min flag is no integer from 0 on");
            }
            behaviour::APPEND | behaviour::APPEND_UNIQUE => {
                let is_list = flag.value.is_some_and(|id| self.view(None, id).is_some());
                findings.require(is_list, RULE, "the value of an append flag is no list");
            }
            behaviour::REQUIRE => {
                let pair = flag.value.and_then(|id| self.view(None, id)).filter(|view| view.node.references == 2);
                findings.require(pair.is_some(), RULE, "a requirement is no pair");
                let name = pair.and_then(|view| view.reference(0)).and_then(|id| self.metadata_text(None, id));
                findings.require(name.is_some(), RULE, "a requirement names no flag");
            }
            _ => {}
        }
    }

    fn known_flag(&self, flag: &Flag, findings: &mut Findings) {
        let is_integer = flag.value.is_some_and(|id| self.is_metadata_integer(None, id));
        match flag.name.as_slice() {
            b"wchar_size" | b"SemanticInterposition" => {
                findings.require(is_integer, RULE, "a module flag is no integer");
            }
            b"CG Profile" => {
                let edges: Vec<Option<MetadataId>> = flag
                    .value
                    .and_then(|id| self.view(None, id))
                    .map(|view| view.references().collect())
                    .unwrap_or_default();
                for edge in edges {
                    self.profile_edge(edge, findings);
                }
            }
            _ => {}
        }
    }

    /// Checks an edge of the profile of calls: caller, callee, count.
    fn profile_edge(&self, edge: Option<MetadataId>, findings: &mut Findings) {
        let view = edge.and_then(|id| self.view(None, id)).filter(|view| view.node.references == 3);
        let Some(view) = view else {
            findings.require(false, RULE, "an edge of the profile of calls has not three operands");
            return;
        };
        let is_function = |view: &View<'_>, at: usize| {
            view.reference(at).is_none_or(|id| {
                let value = self.metadata_value(None, id).map(|value| self.stripped(None, value));
                let kind = value.and_then(|value| self.value(None, value)).map(|value| value.kind);
                matches!(kind, Some(ValueKind::Function(_)))
            })
        };
        let functions = is_function(&view, 0) && is_function(&view, 1);
        findings.require(functions, RULE, "an edge of the profile of calls has something that is no function");
        let count = view.reference(2).is_some_and(|id| self.is_metadata_integer(None, id));
        findings.require(count, RULE, "an edge of the profile of calls has no count");
    }

    fn requirement(
        &self,
        requirement: Option<MetadataId>,
        values: &BTreeMap<Vec<u8>, Option<MetadataId>>,
        findings: &mut Findings,
    ) {
        let Some(view) = requirement.and_then(|id| self.view(None, id)) else { return };
        let Some(name) = view.reference(0).and_then(|id| self.metadata_text(None, id)) else { return };
        match values.get(name) {
            None => {
                findings.require(false, RULE, "a requirement names a flag that the module does not have");
            }
            Some(&value) => {
                let integer = |id: Option<MetadataId>| id.and_then(|id| self.metadata_integer(None, id));
                let wanted = view.reference(1);
                let same = value == wanted || (integer(value).is_some() && integer(value) == integer(wanted));
                findings.require(same, RULE, "a requirement is not met");
            }
        }
    }
}
