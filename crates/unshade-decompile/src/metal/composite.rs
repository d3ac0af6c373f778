//! Values of several parts: vectors, structures, arrays, and the arguments of calls.

use super::expression::{Text, precedence as p};
use super::function::Printer;
use super::spelling::{Kind, kind};
use crate::ir::metal::types::ValueType;
use crate::ir::{CalleeId, Lanes, Op, ValueId};

/// The names of lanes.
const LANES: [char; 4] = ['x', 'y', 'z', 'w'];

impl Printer<'_> {
    /// Returns a vector that is put together.
    pub(super) fn vector(&mut self, id: ValueId, own: Kind) -> Text {
        let name = self.type_text(id, own);
        if let Some(scalar) = self.splatted(id) {
            let text = self.value(scalar, own, 0);
            return Text::new(format!("{name}({text})"), p::POSTFIX, own);
        }
        let inputs = (0..self.function.inputs(id).len()).map(|index| self.function.input(id, index));
        let inputs: Vec<ValueId> = inputs.collect();
        let parts: Vec<String> = inputs.into_iter().map(|input| self.value(input, own, 0)).collect();
        Text::new(format!("{name}({})", parts.join(", ")), p::POSTFIX, own)
    }

    /// Returns lanes of a vector.
    pub(super) fn lanes(&mut self, id: ValueId, lanes: Lanes, own: Kind) -> Text {
        let vector = self.function.input(id, 0);
        let count = self.function.lanes(vector);
        if count == 1 {
            return self.vector(id, own);
        }
        let text = self.expression(vector);
        let kind = if own.is_integer() { text.kind } else { own };
        let text = text.wrapped(p::POSTFIX);
        match lanes.numbers() {
            [number] if count == 64 => {
                Text::new(format!("{text}.thread_elements()[{number}]"), p::POSTFIX, kind)
            }
            numbers if count <= 4 && numbers.iter().all(|number| *number < 4) => {
                let names: String = numbers.iter().map(|number| LANES[usize::from(*number)]).collect();
                Text::new(format!("{text}.{names}"), p::POSTFIX, kind)
            }
            [number] => Text::new(format!("{text}[{number}]"), p::POSTFIX, kind),
            numbers => {
                let member = if count == 64 { ".thread_elements()" } else { "" };
                let parts: Vec<String> =
                    numbers.iter().map(|number| format!("{text}{member}[{number}]")).collect();
                let name = self.type_text(id, kind);
                Text::new(format!("{name}({})", parts.join(", ")), p::POSTFIX, kind)
            }
        }
    }

    /// Returns a structure that is put together.
    pub(super) fn aggregate(&mut self, id: ValueId) -> Text {
        let function = self.function;
        let ty = function.values[id].ty;
        let name = self.type_text(id, Kind::Other);
        let count = match self.program.types.get(ty) {
            ValueType::Struct(_) => self.program.types.structure(ty).map_or(0, |found| found.fields.len()),
            ValueType::Array(_, count) => usize::try_from(count).unwrap_or(0).min(1 << 12),
            _ => 0,
        };
        let mut parts: Vec<Option<ValueId>> = vec![None; count];
        let mut at = id;
        let base = loop {
            match function.op(at) {
                Op::WithMember(number) if at == id || !self.has_variable(at) => {
                    self.comes_from(at);
                    if let Some(part) = parts.get_mut(usize::from(number)) {
                        part.get_or_insert(function.input(at, 1));
                    }
                    at = function.input(at, 0);
                }
                Op::Aggregate if at == id || !self.has_variable(at) => {
                    for (part, index) in parts.iter_mut().zip(0..function.inputs(at).len()) {
                        part.get_or_insert(function.input(at, index));
                    }
                    break None;
                }
                Op::Undefined => break None,
                _ => break Some(at),
            }
        };
        if let (Some(_), [Some(columns)]) = (self.naming.matrix_name(&self.program.types, ty), &parts[..])
            && function.op(*columns) == Op::Aggregate
        {
            let columns = function.inputs(*columns).to_vec();
            let texts: Vec<String> =
                columns.into_iter().map(|column| self.any(function.resolve(column), 0)).collect();
            return Text::other(format!("{name}({})", texts.join(", ")), p::POSTFIX);
        }
        if parts.iter().all(Option::is_none) && base.is_none() {
            return Text::other(format!("{name}{{}}"), p::POSTFIX);
        }
        let base = base.map(|base| self.any(base, p::POSTFIX));
        let texts: Vec<String> = parts
            .into_iter()
            .enumerate()
            .map(|(index, part)| match (part, &base) {
                (Some(part), _) if self.is_list(part) => self.list(part),
                (Some(part), _) => {
                    let kind = self.member_kind(ty, index).unwrap_or(Kind::Other);
                    let kind = if kind.is_integer() { kind } else { self.kind_of(part) };
                    self.exact(part, kind)
                }
                (None, Some(base)) => match self.program.types.get(ty) {
                    ValueType::Struct(structure) => {
                        format!("{base}.{}", self.naming.members[structure as usize][index])
                    }
                    _ => format!("{base}[{index}]"),
                },
                (None, None) => "{}".into(),
            })
            .collect();
        Text::other(format!("{name}{{{}}}", texts.join(", ")), p::POSTFIX)
    }

    /// Returns whether a member is an array that is put together: members have no constructors.
    fn is_list(&self, id: ValueId) -> bool {
        let is_array = matches!(self.program.types.get(self.function.values[id].ty), ValueType::Array(..));
        let is_built = matches!(self.function.op(id), Op::Aggregate | Op::WithMember(_));
        is_array && is_built && !self.has_variable(id)
    }

    /// Returns such an array as a list in braces.
    fn list(&mut self, id: ValueId) -> String {
        let text = self.aggregate(id).text;
        text.split_once('{').map_or_else(|| text.clone(), |(_, list)| format!("{{{list}"))
    }

    pub(super) fn invocation(&mut self, id: ValueId, callee: CalleeId) -> Text {
        let function = self.function;
        let name = &function.callees[callee].name;
        let program = self.program;
        let Some(index) = program.function_index(name) else {
            self.unknown.push(format!("the function {name}"));
            return Text::other("unknown()", p::POSTFIX);
        };
        let target = &program.functions[index];
        if target.is_declared && super::declaration::is_intrinsic(name) {
            self.unknown.push(format!("the function {name}"));
        }
        let arguments: Vec<String> = (0..function.inputs(id).len())
            .map(|number| {
                let input = function.input(id, number);
                let Some(parameter) = target.parameters.get(number) else { return self.any(input, 0) };
                let wanted = kind(program.types.scalar(parameter.ty));
                match program.types.pointee(parameter.ty) {
                    Some((_, pointee)) => self.pointer_as(input, pointee, 0),
                    None if wanted.is_integer() && function.lanes(input) > 1 => self.exact(input, wanted),
                    None if wanted.is_integer() => self.loose(input).text,
                    None => self.any(input, 0),
                }
            })
            .collect();
        let mut arguments = arguments;
        for attribute in self.extras[index].clone() {
            let (name, width) = super::operation::extra(attribute);
            arguments.push(self.extra_parameter(attribute, name, width).text);
        }
        let own = kind(program.types.scalar(target.result));
        let name = &self.naming.functions[index];
        Text::new(format!("{name}({})", arguments.join(", ")), p::POSTFIX, own)
    }
}
