//! Generates the values of operands as p-code.

use std::fmt::Write;

use super::Writer;
use crate::lower::Class;
use crate::model::{Bits, Encoding, Kind, Operand, Part, ones};

impl Writer<'_> {
    /// Returns the table that exports an operand's value; none if the encoding has no such operand.
    pub(super) fn value(
        &mut self,
        encoding: &Encoding,
        slot: &str,
        width: u32,
        lane: i32,
        class: Class,
    ) -> Option<String> {
        let operand = encoding.operands.get(encoding.operand(slot)?)?.clone();
        let label = self.isa.operations[encoding.operation]
            .operands
            .iter()
            .any(|role| role.name == slot && role.ty == "label");
        let bytes = width.div_ceil(8);
        let body = match operand.kind {
            Kind::Register | Kind::OptionalRegister => self.register(&operand, bytes, lane),
            Kind::RegisterPlus1 => self.register(&operand, bytes, lane + 1),
            Kind::RegisterPlus2 => self.register(&operand, bytes, lane + 2),
            Kind::Predicate | Kind::OptionalPredicate | Kind::Guard => self.truth(&operand),
            Kind::Constant | Kind::ConstantSpaced if label => self.constant_target(&operand),
            Kind::Constant | Kind::ConstantSpaced => self.constant(&operand, bytes, lane),
            Kind::ConstantIndexed | Kind::ConstantBranch => self.indexed(&operand),
            Kind::Memory => self.address(&operand, bytes),
            Kind::Relative | Kind::Absolute => self.target_number(&operand),
            _ => self.immediate(&operand, bytes),
        };
        let plain = self.table('v', &body);
        if class == Class::Raw || width == 1 {
            return Some(plain);
        }
        Some(self.signed(&operand, &plain, bytes, class))
    }

    fn register(&mut self, operand: &Operand, bytes: u32, lane: i32) -> String {
        let value = operand.part(Part::Value).cloned().unwrap_or_default();
        let field = self.register_field(&value, if bytes == 8 { 'w' } else { 'g' }, lane);
        let zero = self.equals(&value, ones(value.width()));
        format!("@: is {field} {{ export {field}; }}\n@: is {zero} {{ export 0:{bytes}; }}\n")
    }

    fn truth(&mut self, operand: &Operand) -> String {
        let value = operand.part(Part::Value).cloned().unwrap_or_default();
        let field = self.register_field(&value, 'p', 0);
        let always = self.equals(&value, ones(value.width()));
        match operand.part(Part::Not).cloned() {
            Some(not) => {
                let (plain, inverted) = (self.equals(&not, 0), self.equals(&not, 1));
                format!(
                    "@: is {field} & {plain} {{ export {field}; }}\n@: is {field} & {inverted} {{ local t:1 = !{field}; export t; \
                     }}\n@: is {always} & {plain} {{ export 1:1; }}\n@: is {always} & {inverted} {{ export 0:1; }}\n"
                )
            }
            None => format!("@: is {field} {{ export {field}; }}\n@: is {always} {{ export 1:1; }}\n"),
        }
    }

    /// Returns the address of a constant: the bank in the bits above a 16-bit offset.
    fn constant_address(&mut self, operand: &Operand, lane: i32) -> (String, String) {
        let (bank, mut fields) = self.number(&operand.part(Part::Bank).cloned().unwrap_or_default());
        let (offset, more) = self.number(&operand.part(Part::Offset).cloned().unwrap_or_default());
        fields.extend(more);
        (format!("(({bank}) << 16) | ((({offset}) + {}) & 0xffff)", lane * 4), fields.join(" & "))
    }

    fn constant(&mut self, operand: &Operand, bytes: u32, lane: i32) -> String {
        let (address, fields) = self.constant_address(operand, lane);
        format!("@: address is {fields} [ address = {address}; ] {{ export *[constant]:{bytes} address; }}\n")
    }

    fn constant_target(&mut self, operand: &Operand) -> String {
        let (address, fields) = self.constant_address(operand, 0);
        format!(
            "@: address is {fields} [ address = {address}; ] {{ local p:4 = address; local w:4 = *[constant]:4 p; local t:8 = zext(w); export t; }}\n"
        )
    }

    fn indexed(&mut self, operand: &Operand) -> String {
        let part = |part| operand.part(part).cloned().unwrap_or_default();
        let base = part(Part::Base);
        let (bank, mut fields) = self.number(&part(Part::Bank));
        let (offset, more) = self.number(&part(Part::Offset));
        fields.extend(more);
        let fields = fields.join(" & ");
        let register = self.register_field(&base, 'g', 0);
        let zero = self.equals(&base, ones(base.width()));
        let number = format!("(({bank}) << 16) + ({offset})");
        format!(
            "@: offset is {fields} & {register} [ offset = {number}; ] {{ local t:4 = {register} + offset; export t; }}\n@: offset is {fields} & \
             {zero} [ offset = {number}; ] {{ export *[const]:4 offset; }}\n"
        )
    }

    fn address(&mut self, operand: &Operand, bytes: u32) -> String {
        let base = operand.part(Part::Base).cloned().unwrap_or_default();
        let register = self.register_field(&base, if bytes == 8 { 'w' } else { 'g' }, 0);
        let zero = self.equals(&base, ones(base.width()));
        let Some(offset) = operand.part(Part::Offset).cloned() else {
            return format!(
                "@: is {register} {{ export {register}; }}\n@: is {zero} {{ export 0:{bytes}; }}\n"
            );
        };
        let (number, fields) = self.number(&offset);
        let (address, unsigned) = self.number(&Bits { signed: false, ..offset.clone() });
        let none = self.equals(&offset, 0);
        format!(
            "@: offset is {register} & {} [ offset = {number}; ] {{ local t:{bytes} = {register} + offset; export t; }}\n@: is {register} & \
             {none} {{ export {register}; }}\n@: offset is {zero} & {} [ offset = {address}; ] {{ export *[const]:{bytes} offset; }}\n@: is \
             {zero} & {none} {{ export 0:{bytes}; }}\n",
            fields.join(" & "),
            unsigned.join(" & ")
        )
    }

    fn target_number(&mut self, operand: &Operand) -> String {
        let (number, fields) = self.number(&operand.part(Part::Value).cloned().unwrap_or_default());
        let from = if operand.kind == Kind::Relative { "inst_next + " } else { "" };
        format!(
            "@: target is {} [ target = {from}({number}); ] {{ export *[const]:8 target; }}\n",
            fields.join(" & ")
        )
    }

    fn immediate(&mut self, operand: &Operand, bytes: u32) -> String {
        let (number, fields) = self.number(&operand.part(Part::Value).cloned().unwrap_or_default());
        format!(
            "@: value is {} [ value = {number}; ] {{ export *[const]:{bytes} value; }}\n",
            fields.join(" & ")
        )
    }

    /// Applies inversion, absolute value and negation, in this order.
    fn signed(&mut self, operand: &Operand, plain: &str, bytes: u32, class: Class) -> String {
        let parts = [Part::Invert, Part::Absolute, Part::Negate];
        let present: Vec<(Part, Bits)> =
            parts.iter().filter_map(|part| Some((*part, operand.part(*part)?.clone()))).collect();
        if present.is_empty() {
            return plain.to_owned();
        }
        let sign = 1_u128 << (bytes * 8 - 1);
        let mut body = String::new();
        for choice in 0..1_u32 << present.len() {
            let mut pattern = vec![plain.to_owned()];
            let mut code = String::new();
            for (bit, (part, bits)) in present.iter().enumerate() {
                let set = choice >> bit & 1;
                pattern.push(self.equals(bits, u128::from(set)));
                if set == 0 {
                    continue;
                }
                code.push_str(&match (part, class) {
                    (Part::Invert, _) => String::from(" t = ~t;"),
                    (Part::Absolute, Class::Float) => format!(" t = t & {:#x};", sign - 1),
                    (Part::Absolute, _) => {
                        String::from(" if (!(t s< 0)) goto <positive>; t = -t; <positive>")
                    }
                    (_, Class::Float) => format!(" t = t ^ {sign:#x};"),
                    _ => String::from(" t = -t;"),
                });
            }
            let pattern = pattern.join(" & ");
            let _ = if code.is_empty() {
                writeln!(body, "@: is {pattern} {{ export {plain}; }}")
            } else {
                writeln!(body, "@: is {pattern} {{ local t:{bytes} = {plain};{code} export t; }}")
            };
        }
        self.table('v', &body)
    }

    /// Returns the table that exports the number of a modifier's value, as declared by the operation.
    pub(super) fn choice_number(&mut self, encoding: &Encoding, slot: &str) -> Option<String> {
        let choice = encoding.choices.get(encoding.choice(slot)?)?.clone();
        let operation = &self.isa.operations[encoding.operation];
        let declared = operation.modifiers.iter().find(|entry| entry.0 == slot)?.1;
        let numbers: Vec<Option<usize>> = choice
            .order
            .iter()
            .map(|value| {
                value.map(|value| {
                    crate::rust_tables::declared_number(self.isa, declared, choice.modifier, value)
                })
            })
            .collect();
        let identity = choice.bits.ranges.len() == 1
            && numbers.iter().enumerate().all(|(index, number)| number.is_none_or(|number| number == index));
        let mut body = String::new();
        if identity {
            let (low, count) = choice.bits.ranges[0];
            let field = self.field(low, low + count - 1, false);
            let _ =
                writeln!(body, "@: value is {field} [ value = {field} + 0; ] {{ export *[const]:1 value; }}");
        } else {
            for (index, number) in numbers.iter().enumerate() {
                let Some(number) = number else { continue };
                let _ = writeln!(
                    body,
                    "@: is {} {{ export {number}:1; }}",
                    self.equals(&choice.bits, index as u128)
                );
            }
        }
        Some(self.table('n', &body))
    }

    /// Returns the table that exports the number in a part of an operand.
    pub(super) fn part_number(&mut self, encoding: &Encoding, slot: &str, part: Part) -> Option<String> {
        let operand = encoding.operands.get(encoding.operand(slot)?)?;
        let bits = operand.part(part)?.clone();
        let (number, fields) = self.number(&bits);
        let body = format!(
            "@: value is {} [ value = {number}; ] {{ export *[const]:1 value; }}\n",
            fields.join(" & ")
        );
        Some(self.table('n', &body))
    }
}
