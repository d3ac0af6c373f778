//! Nodes of work graphs: attributes, parameters, and operations of records.
//!
//! An input is a parameter whose method `Get` returns a record; an output makes records, which are variables. Records
//! are places: their members are read and written like those of variables.

use super::declaration::Naming;
use super::expression::{Text, precedence as p};
use super::function::Printer;
use super::names::Names;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, ScalarKind};
use crate::ir::shader::interface::ShaderFunction;
use crate::ir::shader::node::{Node, NodePort, RecordScope};
use crate::ir::{Function, Op, ValueId};
use crate::shader::kinds::Kind;

/// Returns the attributes of a node, without those of its threads.
pub(super) fn attributes(node: &Node, function: &str) -> Vec<String> {
    let mut lines = vec![format!("[NodeLaunch(\"{}\")]", node.launch)];
    if node.is_program_entry {
        lines.push("[NodeIsProgramEntry]".into());
    }
    if let Some((name, index)) = node.id.as_ref().filter(|id| id.0 != function || id.1 != 0) {
        lines.push(format!("[NodeID({})]", id_text(name, *index)));
    }
    if let Some(index) = node.root_arguments_index {
        lines.push(format!("[NodeLocalRootArgumentsTableIndex({index})]"));
    }
    if let Some((name, index)) = &node.shares_input_of {
        lines.push(format!("[NodeShareInputOf({})]", id_text(name, *index)));
    }
    for (name, grid) in
        [("NodeDispatchGrid", node.dispatch_grid), ("NodeMaxDispatchGrid", node.max_dispatch_grid)]
    {
        if let Some([x, y, z]) = grid {
            lines.push(format!("[{name}({x}, {y}, {z})]"));
        }
    }
    if let Some(depth) = node.max_recursion.filter(|depth| *depth > 0) {
        lines.push(format!("[NodeMaxRecursionDepth({depth})]"));
    }
    lines
}

fn id_text(name: &str, index: u32) -> String {
    if index == 0 { format!("\"{name}\"") } else { format!("\"{name}\", {index}") }
}

/// Returns the parameters of a node, and the names of its inputs and outputs.
pub(super) fn parameters(
    node: &Node,
    naming: &Naming,
    names: &mut Names,
) -> (Vec<String>, Vec<String>, Vec<String>) {
    let inputs: Vec<String> = node.inputs.iter().map(|_| names.take("records")).collect();
    let outputs: Vec<String> = node
        .outputs
        .iter()
        .map(|port| names.take(port.target.as_ref().map_or("output", |target| target.0.as_str())))
        .collect();
    let mut parameters = Vec::new();
    for (port, name) in node.inputs.iter().zip(&inputs).chain(node.outputs.iter().zip(&outputs)) {
        let mut text = String::new();
        for attribute in port_attributes(port, name, &outputs) {
            text.push_str(&format!("[{attribute}] "));
        }
        if port.is_coherent {
            text.push_str("globallycoherent ");
        }
        parameters.push(format!("{text}{} {name}", port_type(port, naming)));
    }
    (parameters, inputs, outputs)
}

fn port_attributes(port: &NodePort, name: &str, outputs: &[String]) -> Vec<String> {
    let mut attributes = Vec::new();
    let shared = port.shares_maximum_with.and_then(|index| outputs.get(index as usize));
    match shared {
        Some(other) => attributes.push(format!("MaxRecordsSharedWith({other})")),
        None if port.max_records > 0
            && (port.is_output || port.is_empty || port.scope == RecordScope::Group) =>
        {
            attributes.push(format!("MaxRecords({})", port.max_records));
        }
        None => {}
    }
    if let Some((target, index)) = port.target.as_ref().filter(|target| target.0 != name || target.1 != 0) {
        attributes.push(format!("NodeID({})", id_text(target, *index)));
    }
    match port.array_size {
        0 => {}
        u32::MAX => attributes.push("UnboundedSparseNodes".into()),
        size => attributes.push(format!("NodeArraySize({size})")),
    }
    if port.allows_sparse && port.array_size != u32::MAX {
        attributes.push("AllowSparseNodes".into());
    }
    attributes
}

/// Returns the type of an input or output.
fn port_type(port: &NodePort, naming: &Naming) -> String {
    let written = if port.is_written { "RW" } else { "" };
    let name = match (port.is_output, port.is_empty) {
        (false, true) => return "EmptyNodeInput".into(),
        (true, true) => {
            return if port.is_array { "EmptyNodeOutputArray".into() } else { "EmptyNodeOutput".into() };
        }
        (true, false) if port.is_array => "NodeOutputArray".into(),
        (true, false) => "NodeOutput".into(),
        (false, false) => match port.scope {
            RecordScope::Group => format!("{written}GroupNodeInputRecords"),
            RecordScope::Thread => format!("{written}ThreadNodeInputRecord"),
            _ => format!("{written}DispatchNodeInputRecord"),
        },
    };
    let record = port.record.as_ref().map_or_else(|| "void".into(), |record| naming.type_name(record));
    format!("{name}<{record}>")
}

/// Returns the input or output that records are of.
fn port_of<'f>(info: &'f ShaderFunction, function: &Function, records: ValueId) -> Option<&'f NodePort> {
    let node = info.attributes.node.as_ref()?;
    let source = match function.op(records) {
        Op::Shader(ShaderOp::AllocateRecords) => function.input(records, 0),
        _ => records,
    };
    let ports = match function.op(source) {
        Op::Shader(ShaderOp::NodeInput) => &node.inputs,
        Op::Shader(ShaderOp::NodeOutput) => &node.outputs,
        _ => return None,
    };
    ports.get(usize::try_from(function.number(function.input(source, 0))?).ok()?)
}

/// Returns the type of the record at a place.
pub(super) fn record_type<'f>(
    info: &'f ShaderFunction,
    function: &Function,
    place: ValueId,
) -> Option<&'f DataType> {
    port_of(info, function, function.input(place, 0))?.record.as_ref()
}

impl Printer<'_> {
    /// Returns the type of records that an output made.
    pub(super) fn records_type(&self, id: ValueId) -> String {
        let is_of_thread = self.function.number(self.function.input(id, 2)) != Some(0);
        let scope = if is_of_thread { "Thread" } else { "Group" };
        let record = port_of(self.info, self.function, id).and_then(|port| port.record.as_ref());
        let record = record.map_or_else(|| "void".into(), |record| self.naming.type_name(record));
        format!("{scope}NodeOutputRecords<{record}>")
    }

    /// Returns the text of an input, an output, or records.
    fn records(&mut self, id: ValueId) -> String {
        let function = self.function;
        let number = function.number(function.input_or_self(id, 0)).map(|number| number as usize);
        let name = |names: &[String]| number.and_then(|number| names.get(number)).cloned();
        let found = match function.op(id) {
            Op::Shader(ShaderOp::NodeInput) => name(&self.interface.node_inputs),
            Op::Shader(ShaderOp::NodeOutput) => match name(&self.interface.node_outputs) {
                Some(name) if function.op(function.input(id, 1)) == Op::Undefined => Some(name),
                Some(name) => {
                    let index = self.value(function.input(id, 1), Kind::Integer, 0);
                    Some(format!("{name}[{index}]"))
                }
                None => None,
            },
            Op::Shader(ShaderOp::AllocateRecords) => Some(self.name(id)),
            _ => None,
        };
        found.unwrap_or_else(|| {
            self.unknown.push("records that are chosen while the shader runs".into());
            "records".into()
        })
    }

    /// Returns the text of the place of a record.
    pub(super) fn record(&mut self, id: ValueId) -> String {
        let function = self.function;
        let (records, index) = (function.input(id, 0), function.input(id, 1));
        let is_one = port_of(self.info, function, records).is_some_and(|port| {
            !port.is_output && matches!(port.scope, RecordScope::Dispatch | RecordScope::Thread)
        });
        let text = self.records(records);
        if is_one || function.number(index) == Some(0) {
            return format!("{text}.Get()");
        }
        format!("{text}.Get({})", self.value(index, Kind::Integer, 0))
    }

    /// Returns the value of an operation of a node.
    pub(super) fn node_value(&mut self, id: ValueId, op: ShaderOp) -> Option<Text> {
        let function = self.function;
        let (text, kind) = match op {
            ShaderOp::RecordCount => {
                (format!("{}.Count()", self.records(function.input(id, 0))), ScalarKind::Unsigned)
            }
            ShaderOp::HasTarget => {
                (format!("{}.IsValid()", self.records(function.input(id, 0))), ScalarKind::Bool)
            }
            ShaderOp::FinishSharing => (
                format!("{}.FinishedCrossGroupSharing()", self.records(function.input(id, 0))),
                ScalarKind::Bool,
            ),
            ShaderOp::RemainingRecursion => ("GetRemainingRecursionLevels()".into(), ScalarKind::Unsigned),
            ShaderOp::AllocateRecords => {
                let output = self.records(function.input(id, 0));
                let is_of_thread = function.number(function.input(id, 2)) != Some(0);
                let scope = if is_of_thread { "Thread" } else { "Group" };
                let count = self.value(function.input(id, 1), Kind::Known(ScalarKind::Unsigned), 0);
                (format!("{output}.Get{scope}NodeOutputRecords({count})"), ScalarKind::Unsigned)
            }
            _ => return None,
        };
        Some(Text::new(text, p::POSTFIX, kind))
    }

    /// Prints an operation of a node that is a statement. Returns whether it is one.
    pub(super) fn node_statement(&mut self, id: ValueId, op: ShaderOp) -> bool {
        let function = self.function;
        let input = |index: usize| function.input(id, index);
        match op {
            ShaderOp::CompleteRecords => {
                let records = self.records(input(0));
                self.line(&format!("{records}.OutputComplete();"));
            }
            ShaderOp::SendEmptyRecords => {
                let output = self.records(input(0));
                let scope = if function.number(input(2)) != Some(0) { "Thread" } else { "Group" };
                let count = self.value(input(1), Kind::Known(ScalarKind::Unsigned), 0);
                self.line(&format!("{output}.{scope}IncrementOutputCount({count});"));
            }
            ShaderOp::BarrierByRecord => {
                let records = self.records(input(0));
                let meaning = self.value(input(1), Kind::Integer, 0);
                self.line(&format!("Barrier({records}, {meaning});"));
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_say_what_the_metadata_says() {
        let shared = NodePort {
            is_output: true,
            is_empty: true,
            is_array: true,
            target: Some(("child".into(), 2)),
            shares_maximum_with: Some(0),
            array_size: u32::MAX,
            allows_sparse: true,
            ..NodePort::default()
        };
        let first = NodePort { target: Some(("first".into(), 0)), max_records: 7, ..shared.clone() };
        let first = NodePort { shares_maximum_with: None, array_size: 4, ..first };
        let node = Node { launch: "thread", outputs: vec![first, shared], ..Node::default() };
        let (parameters, _, outputs) = parameters(&node, &Naming::default(), &mut Names::members());
        assert_eq!(outputs, ["first", "child"]);
        assert_eq!(
            parameters[0],
            "[MaxRecords(7)] [NodeArraySize(4)] [AllowSparseNodes] EmptyNodeOutputArray first"
        );
        assert_eq!(
            parameters[1],
            "[MaxRecordsSharedWith(first)] [NodeID(\"child\", 2)] [UnboundedSparseNodes] EmptyNodeOutputArray child"
        );
        assert_eq!(attributes(&node, "main"), ["[NodeLaunch(\"thread\")]"]);
    }
}
