//! Atomic operations on resources and variables.

use super::expression::{Text, precedence as p};
use super::function::Printer;
use crate::ir::shader::AtomicOp;
use crate::ir::shader::data_type::{DataType, Scalar, ScalarKind};
use crate::ir::shader::interface::Shape;
use crate::ir::{Op, ValueId};
use crate::shader::kinds::Kind;
use crate::shader::signs;

/// Where the name of a method goes in the target of an atomic operation: no text has this.
const METHOD: char = '\u{1}';

impl Printer<'_> {
    /// Returns the target of an atomic operation, and its type; for a byte address buffer the method's object and offset.
    pub(super) fn atomic_target(
        &mut self,
        handle: ValueId,
        coordinates: ValueId,
        value: ValueId,
    ) -> (String, Option<Scalar>) {
        let object = self.handle(handle);
        let shape = self.found(handle).map(|resource| resource.shape);
        match shape {
            Some(Shape::ByteAddressBuffer) => {
                let offset = self.index(coordinates);
                (format!("{object}.{METHOD}{offset}, "), None)
            }
            Some(Shape::StructuredBuffer) => {
                let function = self.function;
                let parts: Vec<ValueId> = match function.op(coordinates) {
                    Op::Vector => (0..function.inputs(coordinates).len())
                        .map(|index| function.input(coordinates, index))
                        .collect(),
                    _ => vec![coordinates, coordinates],
                };
                let (index, offset) = (parts[0], parts.get(1).copied().unwrap_or(parts[0]));
                let width = self.function.width(value);
                let root = self.element_text(handle, index, None);
                let lanes = self.element_lanes(&root, handle, offset, 1, width);
                let kind = lanes.as_ref().map(|found| Scalar::new(found.1, width));
                if lanes.is_none() {
                    self.unknown.push("a member of a structured buffer".into());
                }
                (lanes.map_or(object, |found| found.0), kind)
            }
            _ => {
                let scalar = self
                    .found(handle)
                    .and_then(|resource| resource.element.as_ref())
                    .and_then(DataType::scalar);
                let place = self.coordinates(handle, coordinates);
                (format!("{object}[{place}]"), scalar)
            }
        }
    }

    /// Prints a compare and exchange: that of floats compares their bits.
    pub(super) fn compare_exchange(
        &mut self,
        id: ValueId,
        target: &(String, Option<Scalar>),
        values: &[ValueId],
    ) {
        let is_float = target.1.is_some_and(|scalar| scalar.kind == ScalarKind::Float);
        let name =
            if is_float { "InterlockedCompareExchangeFloatBitwise" } else { "InterlockedCompareExchange" };
        self.atomic(id, name, target, values, None);
    }

    /// Prints an atomic operation; its earlier value goes to a variable.
    pub(super) fn atomic(
        &mut self,
        id: ValueId,
        name: &str,
        target: &(String, Option<Scalar>),
        values: &[ValueId],
        op: Option<AtomicOp>,
    ) {
        let is_used = self.schedule.uses[id] > 0;
        let compared = op.and_then(signs::compared);
        let kind = compared.or(target.1.map(|scalar| scalar.kind)).unwrap_or(ScalarKind::Unsigned);
        // The type of the place says how numbers are compared. FXC compares unsigned numbers where only the place is signed.
        let is_chosen_by_value = self.program.model.0 < 6 && kind == ScalarKind::Unsigned;
        let is_other = target.1.is_some_and(|scalar| scalar.kind != kind);
        if compared.is_some() && is_other && !is_chosen_by_value {
            self.unknown.push(format!("{name}, which compares with another sign than that of the type"));
        }
        let is_method = target.0.contains(METHOD);
        let width = self.function.width(values[0]);
        let mut arguments: Vec<String> = Vec::new();
        for value in values {
            let least = if is_method && compared.is_some() { p::UNARY } else { 0 };
            let text = self.value(*value, Kind::Known(kind), least);
            // Of methods, the type of the argument says which operation it is.
            let is_untyped = is_method && compared.is_some() && self.function.number(*value).is_some();
            arguments.push(match is_untyped {
                true => format!("({}){text}", self.type_of(kind, width, 1)),
                false => text,
            });
        }
        let needs_original = name == "InterlockedExchange" || name.starts_with("InterlockedCompareExchange");
        // The call would convert the number, where the variable wants its bits.
        let own = self.kinds[self.variables.of(id)];
        let differs = (own == ScalarKind::Float) != (kind == ScalarKind::Float);
        let is_converted = is_used && (differs || is_method && compared.is_some() && own != kind);
        let mut original = None;
        if is_used && !is_converted {
            self.declare(id);
            arguments.push(self.name(id));
        } else if is_used || needs_original {
            let name = self.names.take("original");
            let ty = self.type_of(kind, width, 1);
            self.line(&format!("{ty} {name};"));
            arguments.push(name.clone());
            original = Some(name).filter(|_| is_used);
        }
        let arguments = arguments.join(", ");
        match target.0.split_once(METHOD) {
            Some((object, offset)) => {
                let wide = if self.function.width(values[0]) == 64 { "64" } else { "" };
                self.line(&format!("{object}{name}{wide}({offset}{arguments});"));
            }
            None => self.line(&format!("{name}({}, {arguments});", target.0)),
        }
        if let Some(original) = original {
            let text = self.converted(Text::new(original, p::POSTFIX, kind), Kind::Known(own), width, 1).text;
            self.assign(id, &text);
        }
    }
}
