//! Upgrades debug info inside functions. Since LLVM 17, entities imported in a function are listed by its
//! subprogram instead of the compile unit; since LLVM 4, `llvm.dbg.declare` of a parameter has no leading
//! dereference.
//!
//! Knowledge: the output of `llvm-dis` 19 for files of LLVM 16; LLVM 17's release notes.

use super::super::Dialect;
use crate::body::FunctionBody;
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, narrow};
use crate::metadata::{Metadata, Node};
use crate::module::Module;
use crate::value::{OperandKind, ValueKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Positions among the references of nodes.
mod at {
    pub(super) const UNIT_IMPORTS: usize = 7;
    pub(super) const ENTITY_SCOPE: usize = 0;
    pub(super) const BLOCK_SCOPE: usize = 1;
    pub(super) const RETAINED_NODES: usize = 7;
}

/// Maximum nesting depth of scopes.
const MAX_DEPTH: usize = 1 << 10;

pub(super) fn is_old(module: &Module<'_>, dialect: Dialect) -> bool {
    dialect.is_opaque() && units(module).any(|unit| !local_imports(module, unit).is_empty())
}

fn units<'m>(module: &'m Module<'_>) -> impl Iterator<Item = Node> + 'm {
    let nodes = module.named(b"llvm.dbg.cu").iter().filter_map(|&id| module.node(id));
    nodes.filter(|node| node.kind == NodeKind::CompileUnit)
}

fn reference(module: &Module<'_>, node: Node, at: usize) -> Option<MetadataId> {
    Some(MetadataId(narrow(module.metadata.references(node).get(at)?.checked_sub(1)?)))
}

/// Returns the subprogram that encloses a local scope.
fn enclosing(module: &Module<'_>, mut scope: MetadataId) -> Option<MetadataId> {
    for _ in 0..MAX_DEPTH {
        let node = module.node(scope)?;
        match node.kind {
            NodeKind::Subprogram => return Some(scope),
            NodeKind::LexicalBlock | NodeKind::LexicalBlockFile => {
                scope = reference(module, node, at::BLOCK_SCOPE)?;
            }
            _ => return None,
        }
    }
    None
}

/// Returns the imported entities of a unit that are in functions, as references, each with its subprogram.
fn local_imports(module: &Module<'_>, unit: Node) -> Vec<(u64, MetadataId)> {
    let list = reference(module, unit, at::UNIT_IMPORTS).and_then(|id| module.node(id));
    let Some(list) = list else { return Vec::new() };
    let imports = module.metadata.references(list).iter();
    imports
        .filter_map(|&import| {
            let node = module.node(MetadataId(narrow(import.checked_sub(1)?)))?;
            let scope = reference(module, node, at::ENTITY_SCOPE)?;
            Some((import, enclosing(module, scope)?))
        })
        .collect()
}

pub(super) fn upgrade(module: &mut Module<'_>) {
    let units: Vec<Node> = units(module).collect();
    for unit in units {
        let local = local_imports(module, unit);
        if local.is_empty() {
            continue;
        }
        let list = reference(module, unit, at::UNIT_IMPORTS).and_then(|id| module.node(id));
        let all = list.map_or_else(Vec::new, |list| module.metadata.references(list).to_vec());
        let kept: Vec<u64> =
            all.into_iter().filter(|import| !local.iter().any(|(other, _)| other == import)).collect();
        let imports = module.metadata.add_tuple(&kept);
        module.metadata.set_reference(unit, at::UNIT_IMPORTS, imports);
        let mut entities: BTreeMap<MetadataId, Vec<u64>> = BTreeMap::new();
        for (import, function) in local {
            entities.entry(function).or_default().push(import);
        }
        for (function, entities) in entities {
            retain(module, function, entities);
        }
    }
}

fn retain(module: &mut Module<'_>, function: MetadataId, entities: Vec<u64>) {
    let Some(node) = module.node(function) else { return };
    let list = reference(module, node, at::RETAINED_NODES).and_then(|id| module.node(id));
    let mut nodes = list.map_or_else(Vec::new, |list| module.metadata.references(list).to_vec());
    nodes.extend(entities);
    let nodes = module.metadata.add_tuple(&nodes);
    module.metadata.set_reference(node, at::RETAINED_NODES, nodes);
}

/// The function `llvm.dbg.declare`, if the module has it.
pub(super) struct DebugDeclares(Option<u32>);

impl DebugDeclares {
    pub(super) fn new(module: &Module<'_>) -> Self {
        let at = module.functions.iter().position(|function| function.symbol.name == b"llvm.dbg.declare");
        Self(at.map(|at| narrow(at as u64)))
    }

    pub(super) fn any_old(&self, module: &Module<'_>, body: &FunctionBody) -> bool {
        self.0.is_some_and(|declare| !old_declares(module, body, declare).is_empty())
    }

    pub(super) fn upgrade_body(&self, module: &mut Module<'_>, body: &mut FunctionBody) {
        if let Some(declare) = self.0 {
            upgrade_declares(module, body, declare);
        }
    }
}

/// Returns the calls of `llvm.dbg.declare` for a parameter whose expression starts with a dereference, as LLVM 3.9
/// wrote them.
fn old_declares(module: &Module<'_>, body: &FunctionBody, declare: u32) -> Vec<usize> {
    /// The first version of expressions whose dereference is at the end.
    const DEREF_AT_END: u64 = 2;
    const DEREF: u64 = 0x06;
    let is_old = |instruction: &crate::instruction::Instruction| {
        let [callee, address, _, expression] = body.operands_of(instruction) else { return false };
        let kind = callee.as_value().and_then(|id| module.value(None, id)).map(|value| value.kind);
        if kind != Some(ValueKind::Function(declare)) {
            return false;
        }
        let metadata = |operand: &crate::value::Operand| match operand.kind() {
            OperandKind::Metadata(id) => module.metadata(Some(body), id),
            _ => None,
        };
        let Some((Metadata::Value { value, .. }, _)) = metadata(address) else { return false };
        let argument = module.value(Some(body), value).map(|value| value.kind);
        let Some((Metadata::Node(node), table)) = metadata(expression) else { return false };
        let numbers = table.numbers(node);
        let elements = crate::debug_info::modern_expression(numbers);
        matches!(argument, Some(ValueKind::Argument(_)))
            && numbers.first().is_some_and(|&version| version < DEREF_AT_END)
            && elements.first() == Some(&DEREF)
    };
    let calls = body.instructions.iter().enumerate();
    calls.filter(|(_, call)| is_old(call)).map(|(at, _)| at).collect()
}

fn upgrade_declares(module: &mut Module<'_>, body: &mut FunctionBody, declare: u32) {
    const MODERN: u64 = 3;
    for at in old_declares(module, body, declare) {
        let Some(operands) = body.instructions.get(at).map(|call| call.operands) else { continue };
        let Some(OperandKind::Metadata(id)) =
            operands.of(&body.operands).get(3).map(|operand| operand.kind())
        else {
            continue;
        };
        let Some((Metadata::Node(node), table)) = module.metadata(Some(body), id) else { continue };
        let elements = crate::debug_info::modern_expression(table.numbers(node));
        let numbers: Vec<u64> = [MODERN].into_iter().chain(elements.into_iter().skip(1)).collect();
        let expression = module.metadata.node(NodeKind::Expression, false, &[], &numbers);
        let id = module.metadata.add_unnumbered(expression);
        if let Some(operand) = body.operands.get_mut(operands.start as usize + 3) {
            *operand = crate::value::Operand::metadata(MetadataId(narrow(id - 1)));
        }
    }
}
