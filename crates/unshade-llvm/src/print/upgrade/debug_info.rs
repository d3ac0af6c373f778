//! Upgrades debug info of LLVM 3.7 (as in DXIL) to the form that LLVM has since version 4.
//!
//! In LLVM 3.7 subprograms refer to their functions, compile units list their subprograms, and global variables
//! refer to their values. Since LLVM 4 functions and globals have attachments, subprograms refer to their unit,
//! and units list global variable expressions. References to types by identifier became references to nodes.
//!
//! Knowledge: the output of `llvm-dis` 14 for such files, and the old record layouts in its reader.

use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, narrow};
use crate::metadata::{Metadata, MetadataTable, Node};
use crate::module::Module;
use crate::value::{Operand, OperandKind, ValueKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Positions among the references of nodes.
mod at {
    pub(super) const UNIT_SUBPROGRAMS: usize = 11;
    pub(super) const UNIT_GLOBALS: usize = 6;
    pub(super) const SUBPROGRAM_UNIT: usize = 5;
    pub(super) const SUBPROGRAM_FUNCTION: usize = 13;
    pub(super) const VARIABLE_VALUE: usize = 8;
    pub(super) const IDENTIFIER: usize = 7;
    pub(super) const DERIVED_ANNOTATIONS: usize = 5;
}

/// The index of the record version among the numbers of a global variable.
const VARIABLE_VERSION: usize = 4;

/// The index, among the numbers of a derived type, of whether its record ends with the annotations.
const DERIVED_ENDS_EARLY: usize = 8;

/// The references of each kind of node that may name a type by its identifier.
const TYPE_REFERENCES: &[(NodeKind, &[usize])] = &[
    (NodeKind::DerivedType, &[1, 3, 4]),
    (NodeKind::CompositeType, &[1, 3, 5]),
    (NodeKind::Subprogram, &[1, 8]),
    (NodeKind::GlobalVariable, &[3]),
    (NodeKind::LocalVariable, &[3]),
    (NodeKind::TemplateType, &[1]),
    (NodeKind::TemplateValue, &[1]),
    (NodeKind::ImportedEntity, &[1]),
    (NodeKind::ObjcProperty, &[4]),
];

/// Returns the derived types whose annotations LLVM 17 and later do not read, because no pointer authentication follows
/// them in the record.
fn unread_annotations(table: &MetadataTable) -> impl Iterator<Item = Node> {
    table.iter().filter_map(|(_, entry)| match entry {
        Metadata::Node(node) if node.kind == NodeKind::DerivedType => {
            let has = table.references(node).get(at::DERIVED_ANNOTATIONS).is_some_and(|&one| one != 0);
            (has && table.numbers(node).get(DERIVED_ENDS_EARLY) == Some(&1)).then_some(node)
        }
        _ => None,
    })
}

/// Returns whether metadata has such types.
pub(super) fn has_unread_annotations(table: &MetadataTable) -> bool {
    unread_annotations(table).next().is_some()
}

/// Removes annotations that LLVM does not read, and returns whether there were any.
pub(super) fn drop_unread_annotations(table: &mut MetadataTable) -> bool {
    let types: Vec<Node> = unread_annotations(table).collect();
    for &node in &types {
        table.set_reference(node, at::DERIVED_ANNOTATIONS, 0);
    }
    !types.is_empty()
}

/// Upgrades the debug info of a module, if it is old.
pub(super) fn upgrade(module: &mut Module<'_>) {
    if is_old(module) {
        DebugInfoUpgrade { module, debug_kind: 0 }.run();
    }
}

/// Returns a copy of an expression with a dereference at the end.
pub(super) fn dereference(
    module: &mut Module<'_>,
    body: &FunctionBody,
    expression: Operand,
) -> Option<MetadataId> {
    const DEREF: u64 = 0x06;
    const PLUS_UCONST: u64 = 0x23;
    const MODERN: u64 = 3;
    let OperandKind::Metadata(id) = expression.kind() else { return None };
    let (Metadata::Node(node), table) = module.metadata(Some(body), id)? else { return None };
    let mut elements = crate::debug_info::modern_expression(table.numbers(node));
    // LLVM removes the addition of zero.
    if elements.starts_with(&[PLUS_UCONST, 0]) {
        elements.drain(..2);
    }
    let numbers: Vec<u64> = [MODERN].into_iter().chain(elements).chain([DEREF]).collect();
    let node = module.metadata.node(NodeKind::Expression, false, &[], &numbers);
    Some(MetadataId(narrow(module.metadata.add_unnumbered(node) - 1)))
}

pub(super) fn is_old(module: &Module<'_>) -> bool {
    module.metadata.iter().any(|(_, entry)| match entry {
        Metadata::Node(node) => {
            let reference = |at: usize| module.metadata.references(node).get(at).copied().unwrap_or(0);
            match node.kind {
                NodeKind::CompileUnit => reference(at::UNIT_SUBPROGRAMS) != 0,
                NodeKind::Subprogram => reference(at::SUBPROGRAM_FUNCTION) != 0,
                NodeKind::GlobalVariable => module.metadata.numbers(node).get(VARIABLE_VERSION) == Some(&0),
                _ => false,
            }
        }
        _ => false,
    })
}

struct DebugInfoUpgrade<'u, 'a> {
    module: &'u mut Module<'a>,
    debug_kind: u32,
}

impl DebugInfoUpgrade<'_, '_> {
    fn run(&mut self) {
        self.debug_kind = self.module.metadata_kind(b"dbg").unwrap_or_else(|| {
            self.module.metadata_kinds.insert(0, (0, b"dbg".into()));
            0
        });
        let nodes: Vec<(MetadataId, Node)> = self
            .module
            .metadata
            .iter()
            .filter_map(|(id, entry)| match entry {
                Metadata::Node(node) => Some((id, node)),
                _ => None,
            })
            .collect();
        let types = self.types_by_identifier(&nodes);
        for &(id, node) in &nodes {
            self.resolve_types(node, &types);
            match node.kind {
                NodeKind::Subprogram => self.attach_subprogram(id, node),
                NodeKind::CompileUnit => self.set_unit_of_subprograms(id, node),
                NodeKind::GlobalVariable => self.attach_variable(id, node),
                _ => {}
            }
        }
        for &(_, node) in nodes.iter().filter(|(_, node)| node.kind == NodeKind::CompileUnit) {
            self.wrap_variables(node);
        }
        self.wrap_attached();
    }

    fn reference(&self, node: Node, at: usize) -> Option<MetadataId> {
        let reference = self.module.metadata.references(node).get(at)?.checked_sub(1)?;
        Some(MetadataId(narrow(reference)))
    }

    fn node(&self, id: MetadataId) -> Option<Node> {
        self.module.node(id)
    }

    /// Returns the composite types that have an identifier.
    fn types_by_identifier(&self, nodes: &[(MetadataId, Node)]) -> BTreeMap<Vec<u8>, MetadataId> {
        let mut types = BTreeMap::new();
        for &(id, node) in nodes.iter().filter(|(_, node)| node.kind == NodeKind::CompositeType) {
            if let Some(name) =
                self.reference(node, at::IDENTIFIER).and_then(|id| self.module.metadata_string(id))
            {
                types.entry(name.to_vec()).or_insert(id);
            }
        }
        types
    }

    fn resolve_types(&mut self, node: Node, types: &BTreeMap<Vec<u8>, MetadataId>) {
        if let Some((_, positions)) = TYPE_REFERENCES.iter().find(|(kind, _)| *kind == node.kind) {
            for &at in *positions {
                self.resolve(node, at, types);
            }
        }
        if node.kind == NodeKind::SubroutineType {
            let list = self.reference(node, 0).and_then(|id| self.node(id));
            if let Some(list) = list.filter(|list| list.kind == NodeKind::Tuple) {
                for at in 0..list.references as usize {
                    self.resolve(list, at, types);
                }
            }
        }
    }

    fn resolve(&mut self, node: Node, at: usize, types: &BTreeMap<Vec<u8>, MetadataId>) {
        let name = self.reference(node, at).and_then(|id| self.module.metadata_string(id));
        if let Some(&id) = name.and_then(|name| types.get(name)) {
            self.module.metadata.set_reference(node, at, u64::from(id.0) + 1);
        }
    }

    /// Returns the kind of the value that metadata wraps.
    fn symbol(&mut self, id: MetadataId) -> Option<ValueKind> {
        match self.module.metadata.get(id)? {
            Metadata::Value { value, .. } => Some(self.module.values.get(value.index())?.kind),
            _ => None,
        }
    }

    fn attach_subprogram(&mut self, id: MetadataId, node: Node) {
        let Some(function) = self.reference(node, at::SUBPROGRAM_FUNCTION) else { return };
        if let Some(ValueKind::Function(index)) = self.symbol(function)
            && let Some(function) = self.module.functions.get_mut(index as usize)
            && !function.declaration
        {
            function.symbol.attachments.push((self.debug_kind, id));
        }
    }

    /// Makes the subprograms that a unit lists refer to it.
    fn set_unit_of_subprograms(&mut self, id: MetadataId, node: Node) {
        let list = self.reference(node, at::UNIT_SUBPROGRAMS).and_then(|id| self.node(id));
        let Some(list) = list else { return };
        for at in 0..list.references as usize {
            let subprogram = self.reference(list, at).and_then(|id| self.node(id));
            if let Some(subprogram) = subprogram.filter(|node| node.kind == NodeKind::Subprogram) {
                self.module.metadata.set_reference(subprogram, at::SUBPROGRAM_UNIT, u64::from(id.0) + 1);
            }
        }
    }

    /// Attaches a variable to its global; if its value is a constant, replaces the variable by an expression.
    fn attach_variable(&mut self, id: MetadataId, node: Node) {
        const CONSTU: u64 = 0x10;
        const STACK_VALUE: u64 = 0x9F;
        /// The current version of expressions.
        const MODERN: u64 = 3;
        let Some(named) = self.reference(node, at::VARIABLE_VALUE) else { return };
        if self.node(named).is_some_and(|node| node.kind == NodeKind::Expression) {
            let moved = self.module.metadata.add_unnumbered(Metadata::Node(node));
            return self.replace_by_expression(id, moved, u64::from(named.0) + 1);
        }
        match self.symbol(named) {
            Some(ValueKind::Global(index)) => {
                let wrapped = self.wrap(u64::from(id.0) + 1, &[MODERN]);
                if let Some(global) = self.module.globals.get_mut(index as usize) {
                    global.symbol.attachments.push((self.debug_kind, MetadataId(narrow(wrapped - 1))));
                }
            }
            Some(ValueKind::Constant(index)) => {
                let number = match self.module.constants.get(index) {
                    Constant::Integer(number) => number,
                    Constant::Null => 0,
                    _ => return,
                };
                // The id of the variable becomes that of the expression; the variable itself moves.
                let moved = self.module.metadata.add_unnumbered(Metadata::Node(node));
                let expression = self.module.metadata.node(
                    NodeKind::Expression,
                    false,
                    &[],
                    &[MODERN, CONSTU, number, STACK_VALUE],
                );
                let expression = self.module.metadata.add_unnumbered(expression);
                self.replace_by_expression(id, moved, expression);
            }
            _ => {}
        }
    }

    /// Replaces a variable by an expression around it.
    fn replace_by_expression(&mut self, id: MetadataId, variable: u64, expression: u64) {
        let metadata = &mut self.module.metadata;
        let node = metadata.node(NodeKind::GlobalVariableExpression, true, &[variable, expression], &[]);
        metadata.replace(id, node);
    }

    /// Wraps variables that are attached to globals directly.
    fn wrap_attached(&mut self) {
        for at in 0..self.module.globals.len() {
            let attachments =
                self.module.globals.get(at).map_or_else(Vec::new, |g| g.symbol.attachments.clone());
            for (index, (kind, id)) in attachments.into_iter().enumerate() {
                let variable = self.node(id).is_some_and(|node| node.kind == NodeKind::GlobalVariable);
                if kind != self.debug_kind || !variable {
                    continue;
                }
                let wrapped = self.wrap(u64::from(id.0) + 1, &[3]);
                let global = self.module.globals.get_mut(at);
                if let Some(slot) = global.and_then(|global| global.symbol.attachments.get_mut(index)) {
                    slot.1 = MetadataId(narrow(wrapped - 1));
                }
            }
        }
    }

    /// Wraps a variable in a distinct expression, and returns a reference to it.
    fn wrap(&mut self, variable: u64, expression: &[u64]) -> u64 {
        let metadata = &mut self.module.metadata;
        let expression = metadata.node(NodeKind::Expression, false, &[], expression);
        let expression = metadata.add_unnumbered(expression);
        let node = metadata.node(NodeKind::GlobalVariableExpression, true, &[variable, expression], &[]);
        metadata.add_unnumbered(node)
    }

    /// Wraps the variables that a unit lists.
    fn wrap_variables(&mut self, unit: Node) {
        let list = self.reference(unit, at::UNIT_GLOBALS).and_then(|id| self.node(id));
        let Some(list) = list else { return };
        for at in 0..list.references as usize {
            let Some(id) = self.reference(list, at) else { continue };
            if self.node(id).is_some_and(|node| node.kind == NodeKind::GlobalVariable) {
                let wrapped = self.wrap(u64::from(id.0) + 1, &[3]);
                self.module.metadata.set_reference(list, at, wrapped);
            }
        }
    }
}
