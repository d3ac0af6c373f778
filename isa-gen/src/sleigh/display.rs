//! Generates the texts of modifiers, and the parts of those of operands.

use std::fmt::Write;

use super::{Writer, bundles};
use crate::model::{Bits, Choice, Kind, Operand, Part};

impl Writer<'_> {
    /// Returns the table of a modifier's spellings.
    pub(super) fn modifier(&mut self, choice: &Choice) -> String {
        if choice.bits.ranges.iter().any(|(low, _)| *low >= self.word_bits) {
            // Of the scheduling word, which is not shown: the text of its value 0.
            let value = choice.order.first().copied().flatten();
            let spelling =
                value.map_or("", |value| &self.isa.modifiers[choice.modifier].values[value].spelling);
            return self.table('m', &format!("@: \"{spelling}\" is epsilon {{ export 0:1; }}\n"));
        }
        self.spellings(&choice.bits, choice.modifier, &choice.order)
    }

    pub(super) fn spellings(&mut self, bits: &Bits, modifier: usize, order: &[Option<usize>]) -> String {
        let mut body = String::new();
        for (number, value) in order.iter().enumerate() {
            let Some(value) = value else { continue };
            let spelling = self.isa.modifiers[modifier].values[*value].spelling.clone();
            let text = if spelling.is_empty() { String::new() } else { format!("\"{spelling}\" ") };
            let _ = writeln!(body, "@: {text}is {} {{ export 0:1; }}", self.equals(bits, number as u128));
        }
        self.table('m', &body)
    }

    /// Returns the text and pattern between the signs.
    pub(super) fn core(&mut self, operand: &Operand) -> (String, String) {
        let value = operand.part(Part::Value).cloned().unwrap_or_default();
        match operand.kind {
            Kind::Constant | Kind::ConstantSpaced => {
                let between = if operand.kind == Kind::Constant { "][" } else { "] [" };
                let (bank, mut fields) = self.number(&operand.part(Part::Bank).cloned().unwrap_or_default());
                let (offset, more) = self.number(&operand.part(Part::Offset).cloned().unwrap_or_default());
                fields.extend(more);
                (
                    format!("\"c[\"^bank^\"{between}\"^offset^\"]\""),
                    format!("{} [ bank = {bank}; offset = {offset}; ]", fields.join(" & ")),
                )
            }
            _ => {
                let (number, fields) = self.number(&value);
                (String::from("value"), format!("{} [ value = {number}; ]", fields.join(" & ")))
            }
        }
    }

    /// Returns a constructor for every combination of signs. Register patterns come first, immediates last.
    pub(super) fn with_signs(
        &mut self,
        operand: &Operand,
        core: &(String, String),
        texts: [&str; 3],
    ) -> String {
        let parts = [Part::Negate, Part::Invert, Part::Absolute];
        let present: Vec<(usize, Bits)> = parts
            .iter()
            .enumerate()
            .filter_map(|(index, part)| Some((index, operand.part(*part)?.clone())))
            .collect();
        let select = operand
            .part(Part::Select)
            .cloned()
            .zip(operand.modifier(Part::Select))
            .map(|(bits, entry)| self.spellings(&bits, entry.modifier, &entry.order));
        let ends = [self.reused(operand), self.suffix(operand)];
        let behind = texts[0].starts_with('.');
        let mut body = String::new();
        for choice in 0..1_u32 << present.len() {
            let (mut before, mut after) = (String::new(), String::new());
            let mut pattern = Vec::new();
            let mut has = [false; 3];
            for (bit, (index, bits)) in present.iter().enumerate() {
                let set = choice >> bit & 1;
                pattern.push(self.equals(bits, u128::from(set)));
                has[*index] = set == 1;
            }
            if behind {
                // In the order of printing: inverted, negated, absolute.
                for index in [1, 0, 2] {
                    if has[index] {
                        let _ = write!(after, "^\"{}\"", texts[index]);
                    }
                }
                if let Some(select) = &select {
                    let _ = write!(after, "^{select}");
                }
            } else {
                for index in [0, 1, 2] {
                    if has[index] {
                        let _ = write!(before, "\"{}\"^", texts[index]);
                    }
                }
                if let Some(select) = &select {
                    let _ = write!(after, "^{select}");
                }
                if has[2] {
                    after.push_str("^\"|\"");
                }
            }
            // Disassembly actions follow the whole pattern.
            let (fields, actions) = match core.1.split_once(" [") {
                Some((fields, actions)) => (fields, format!(" [{actions}")),
                None => (core.1.as_str(), String::new()),
            };
            pattern.push(fields.to_owned());
            pattern.extend(select.clone());
            for end in ends.iter().flatten() {
                let _ = write!(after, "^{end}");
                pattern.push(end.clone());
            }
            let _ = writeln!(
                body,
                "@: {before}{}{after} is {}{actions} {{ export 0:1; }}",
                core.0,
                pattern.join(" & ")
            );
        }
        body
    }

    /// Returns the table of `.reuse`, which is printed if the bit of the yield is set, too.
    fn reused(&mut self, operand: &Operand) -> Option<String> {
        let bits = operand.part(Part::Reuse)?.clone();
        let enabled = self.reuse_enabled.clone()?;
        let fields: Vec<String> =
            bits.ranges.iter().map(|&(low, count)| self.field(low, low + count - 1, false)).collect();
        let mut body = format!("@: is {} {{ export 0:1; }}\n", fields.join(" & "));
        for number in 1..=crate::model::ones(bits.width()) {
            let on = self.equals(&bits, number);
            let _ = writeln!(body, "@: \".reuse\" is {on} & {enabled} {{ export 0:1; }}");
        }
        Some(self.table('m', &body))
    }

    fn suffix(&mut self, operand: &Operand) -> Option<String> {
        let bits = operand.part(Part::Suffix)?.clone();
        let entry = operand.modifier(Part::Suffix)?;
        Some(self.spellings(&bits, entry.modifier, &entry.order))
    }

    pub(super) fn guard(&mut self, operand: &Operand, set: char) -> String {
        let (Some(value), Some(not)) = (operand.part(Part::Value).cloned(), operand.part(Part::Not).cloned())
        else {
            return String::new();
        };
        let field = self.register_field(&value, set, 0);
        let all = crate::model::ones(value.width());
        let (plain, inverted) = (self.equals(&not, 0), self.equals(&not, 1));
        let none = self.equals(&value, all);
        let always = if set == 'q' { "UPT" } else { "PT" };
        format!(
            "@: is {none} & {plain} {{ export 0:1; }}\n@: \"@\"^{field}^\"_\" is {field} & {plain} {{ if (!{field}) goto inst_next; export 0:1; }}\n@: \
             \"@!\"^{field}^\"_\" is {field} & {inverted} {{ if ({field}) goto inst_next; export 0:1; }}\n@: \"@!{always}_\" is {none} & \
             {inverted} {{ goto inst_next; export 0:1; }}\n"
        )
    }

    pub(super) fn optional_integer(&mut self, operand: &Operand, before: &str) -> String {
        let value = operand.part(Part::Value).cloned().unwrap_or_default();
        let (number, fields) = self.number(&value);
        let zero = self.equals(&value, 0);
        format!(
            "@: is {zero} {{ export 0:1; }}\n@: \"{before}\"^value is {} [ value = {number}; ] {{ export 0:1; }}\n",
            fields.join(" & ")
        )
    }

    pub(super) fn negated(&mut self, operand: &Operand) -> String {
        let value = operand.part(Part::Value).cloned().unwrap_or_default();
        let (number, fields) = self.number(&value);
        let fields = fields.join(" & ");
        match operand.part(Part::Negate).cloned() {
            Some(negate) => {
                let (plain, minus) = (self.equals(&negate, 0), self.equals(&negate, 1));
                format!(
                    "@: value is {fields} & {plain} [ value = {number}; ] {{ export 0:1; }}\n@: value is {fields} & {minus} [ value = \
                     -({number}); ] {{ export 0:1; }}\n"
                )
            }
            None => format!("@: value is {fields} [ value = {number}; ] {{ export 0:1; }}\n"),
        }
    }

    pub(super) fn constant_indexed(&mut self, operand: &Operand) -> String {
        let part = |part| operand.part(part).cloned().unwrap_or_default();
        let (base, offset) = (part(Part::Base), part(Part::Offset));
        let (bank, mut fields) = self.number(&part(Part::Bank));
        let (number, more) = self.number(&offset);
        let register = self.register_field(&base, 'g', 0);
        let (no_register, no_offset) =
            (self.equals(&base, crate::model::ones(base.width())), self.equals(&offset, 0));
        fields.extend(more);
        let (all, actions) = (fields.join(" & "), format!("[ bank = {bank}; offset = {number}; ]"));
        let with_zero = format!(
            "@: \"c[\"^bank^\"][\"^{register}^\"]\" is {all} & {register} & {no_offset} [ bank = {bank}; ] {{ export 0:1; }}\n"
        );
        let mut body = format!(
            "@: \"c[\"^bank^\"][\"^{register}^\"+\"^offset^\"]\" is {all} & {register} {actions} {{ export 0:1; }}\n{with_zero}\
             @: \"c[\"^bank^\"][\"^offset^\"]\" is {all} & {no_register} {actions} {{ export 0:1; }}\n"
        );
        if operand.kind == Kind::ConstantBranch {
            let _ = writeln!(
                body,
                "@: \"c[\"^bank^\"][\"^{register}^\"]\" is {all} & {register} & {no_register} & {no_offset} [ bank = {bank}; ] {{ export 0:1; }}"
            );
        } else {
            let _ = writeln!(
                body,
                "@: \"c[\"^bank^\"][\"^offset^\"]\" is {all} & {no_register} & {no_offset} {actions} {{ export 0:1; }}"
            );
        }
        body
    }

    /// Returns the table of a branch target, which is an address.
    pub(super) fn target(&mut self, operand: &Operand) -> String {
        let (number, fields) = self.number(&operand.part(Part::Value).cloned().unwrap_or_default());
        let next = if self.has_bundles { bundles::NEXT } else { "inst_next" };
        let address = if operand.kind == Kind::Relative {
            format!("{next} + ({number})")
        } else {
            format!("({number})")
        };
        let marks = if self.has_bundles {
            format!(" {}", bundles::marks(&format!("({address})"), "target"))
        } else {
            String::new()
        };
        let body = format!(
            "@: target is {} [ target = {address};{marks} ] {{ export *[ram]:8 target; }}\n",
            fields.join(" & ")
        );
        self.table('a', &body)
    }
}
