//! Generates the texts of operands.

use std::fmt::Write;

use super::Writer;
use crate::model::{Bits, Kind, Operand, Part, ones};

impl Writer<'_> {
    /// Returns the table of an operand's text.
    pub(super) fn display(&mut self, operand: &Operand) -> String {
        let value = operand.part(Part::Value).cloned().unwrap_or_default();
        let all = ones(value.width());
        let body = match operand.kind {
            Kind::Relative | Kind::Absolute => return self.target(operand),
            Kind::Guard => self.guard(operand, 'p'),
            Kind::UniformGuard => self.guard(operand, 'q'),
            Kind::Register
            | Kind::NonzeroRegister
            | Kind::NonzeroUniformRegister
            | Kind::RegisterPlus1
            | Kind::RegisterPlus2
            | Kind::UniformRegister
            | Kind::UniformRegisterPlus1
            | Kind::UniformRegisterPlus2 => {
                let (set, lane) = match operand.kind {
                    Kind::UniformRegister | Kind::NonzeroUniformRegister => ('u', 0),
                    Kind::UniformRegisterPlus1 => ('u', 1),
                    Kind::UniformRegisterPlus2 => ('u', 2),
                    Kind::RegisterPlus1 => ('g', 1),
                    Kind::RegisterPlus2 => ('g', 2),
                    _ => ('g', 0),
                };
                let field = self.register_field(&value, set, lane);
                self.with_signs(operand, &(field.clone(), field), ["-", "~", "|"])
            }
            Kind::Constant | Kind::ConstantSpaced => {
                let core = self.core(operand);
                self.with_signs(operand, &core, ["-", "~", "|"])
            }
            Kind::ConstantUniform | Kind::ConstantBindless | Kind::ConstantBindlessSpaced => {
                let inner = self.uniform_constant(operand);
                let inner = self.table('o', &inner);
                self.with_signs(operand, &(inner.clone(), inner), ["-", "~", "|"])
            }
            Kind::ConstantIndexed | Kind::ConstantBranch => self.constant_indexed(operand),
            Kind::Integer | Kind::Float32 | Kind::Float64 | Kind::Float16 => {
                let core = self.core(operand);
                self.with_signs(operand, &core, [".NEG", ".INV", ".ABS"])
            }
            Kind::NegatedInteger => self.negated(operand),
            Kind::OptionalInteger => self.optional_integer(operand, ", "),
            Kind::TrailingInteger => self.optional_integer(operand, " "),
            Kind::OptionalMask => self.optional_mask(&value),
            Kind::OptionalRegister => self.omitted(&value, all, 'g', "\", \"^", ""),
            Kind::OptionalUniformRegister => self.omitted(&value, all, 'u', "\", \"^", ""),
            Kind::LeadingRegister => self.omitted(&value, all, 'g', "", "^\", \""),
            Kind::LeadingUniformRegister => self.omitted(&value, all, 'u', "", "^\", \""),
            Kind::Barrier => self.numbered(&value, 'b'),
            Kind::Scoreboard => self.numbered(&value, 's'),
            Kind::BitSet => self.bit_set(&value, ", "),
            Kind::TrailingBitSet => self.bit_set(&value, " "),
            Kind::Predicate | Kind::NonzeroPredicate => self.predicate(operand, 'p', None),
            Kind::UniformPredicate => self.predicate(operand, 'q', None),
            Kind::OptionalPredicate => self.predicate(operand, 'p', Some(("\", \"^", ""))),
            Kind::OptionalUniformPredicate => self.predicate(operand, 'q', Some(("\", \"^", ""))),
            Kind::InversePredicate => self.predicate(operand, 'i', Some(("\", \"^", ""))),
            Kind::FullInversePredicate => self.predicate(operand, 'i', None),
            Kind::LeadingInversePredicate => self.predicate(operand, 'i', Some(("", "^\", \""))),
            Kind::InverseUniformPredicate => self.predicate(operand, 'k', Some(("\", \"^", ""))),
            Kind::LeadingPredicate => self.predicate(operand, 'p', Some(("", "^\", \""))),
            Kind::LeadingUniformPredicate => self.predicate(operand, 'q', Some(("", "^\", \""))),
            Kind::TrailingPredicate => self.predicate(operand, 'p', Some(("\" \"^", ""))),
            Kind::Memory
            | Kind::Address
            | Kind::ScaledAddress
            | Kind::HiddenDescriptor
            | Kind::BaseAddress
            | Kind::BaseAddressPlus1 => self.address_text(operand),
            Kind::UniformAddress => self.uniform_terms(operand, "\"[\"", "", ""),
        };
        self.table('o', &body)
    }

    fn numbered(&mut self, value: &Bits, set: char) -> String {
        let field = self.register_field(value, set, 0);
        format!("@: {field} is {field} {{ export 0:1; }}\n")
    }

    /// A register that is omitted if its number is `none`.
    fn omitted(&mut self, value: &Bits, none: u128, set: char, before: &str, after: &str) -> String {
        let field = self.register_field(value, set, 0);
        let none = self.equals(value, none);
        format!("@: is {none} {{ export 0:1; }}\n@: {before}{field}{after} is {field} {{ export 0:1; }}\n")
    }

    /// A predicate, with what surrounds it if it is omitted where it is true.
    fn predicate(&mut self, operand: &Operand, set: char, around: Option<(&str, &str)>) -> String {
        let value = operand.part(Part::Value).cloned().unwrap_or_default();
        let field = self.register_field(&value, set, 0);
        let not = operand.part(Part::Not).cloned();
        let mut body = String::new();
        let (before, after) = around.unwrap_or_default();
        if around.is_some() {
            let always = if matches!(set, 'i' | 'k') { 0 } else { ones(value.width()) };
            let mut pattern = self.equals(&value, always);
            if let Some(not) = &not {
                pattern = format!("{pattern} & {}", self.equals(not, 0));
            }
            let _ = writeln!(body, "@: is {pattern} {{ export 0:1; }}");
        }
        let signs: &[(u128, &str, &str)] =
            if not.is_some() { &[(0, "", "!"), (1, "\"!\"^", "")] } else { &[(0, "", "!")] };
        for (number, sign, skips_if) in signs {
            let pattern = match &not {
                Some(not) => format!("{field} & {}", self.equals(not, *number)),
                None => field.clone(),
            };
            // Without semantics, branches build this table to test the predicate.
            let test = if self.has_semantics {
                String::new()
            } else {
                format!("if ({skips_if}{field}) goto inst_next; ")
            };
            let _ = writeln!(body, "@: {before}{sign}{field}{after} is {pattern} {{ {test}export 0:1; }}");
        }
        body
    }

    /// `{3,1}`: the numbers of the bits that are set.
    fn bit_set(&mut self, value: &Bits, before: &str) -> String {
        let mut body = String::new();
        for number in 0..=ones(value.width()) {
            let bits: Vec<String> = (0..value.width())
                .rev()
                .filter(|bit| number >> bit & 1 == 1)
                .map(|bit| bit.to_string())
                .collect();
            let text = match bits.as_slice() {
                [] => String::new(),
                bits => format!("\"{before}{{{}}}\" ", bits.join(",")),
            };
            let _ = writeln!(body, "@: {text}is {} {{ export 0:1; }}", self.equals(value, number));
        }
        body
    }

    /// `c[0x0][UR4+0x10]` and `cx[UR4][0x10]`.
    fn uniform_constant(&mut self, operand: &Operand) -> String {
        let part = |part| operand.part(part).cloned().unwrap_or_default();
        let (uniform, offset) = (part(Part::Uniform), part(Part::Offset));
        let register = self.register_field(&uniform, 'u', 0);
        if operand.kind != Kind::ConstantUniform {
            let (number, fields) = self.number(&offset);
            let fields = fields.join(" & ");
            let between = if operand.kind == Kind::ConstantBindless { "][" } else { "] [" };
            return format!(
                "@: \"cx[\"^{register}^\"{between}\"^offset^\"]\" is {register} & {fields} [ offset = {number}; ] {{ export 0:1; }}\n"
            );
        }
        let (bank, banks) = self.number(&part(Part::Bank));
        let (banks, bank) = (format!("{} & ", banks.join(" & ")), format!("bank = {bank}; "));
        self.uniform_terms(operand, "\"c[\"^bank^\"][\"", &banks, &bank)
    }

    /// `[UR4+0x10]`, without a register that is `URZ` if there is an offset.
    fn uniform_terms(&mut self, operand: &Operand, open: &str, fields: &str, actions: &str) -> String {
        let part = |part| operand.part(part).cloned().unwrap_or_default();
        let (uniform, offset) = (part(Part::Uniform), part(Part::Offset));
        let register = self.register_field(&uniform, 'u', 0);
        let (number, offsets) = self.number(&offset);
        let (offsets, no_offset) = (offsets.join(" & "), self.equals(&offset, 0));
        let no_register = self.equals(&uniform, ones(uniform.width()));
        let only = if actions.is_empty() { String::new() } else { format!("[ {actions}] ") };
        format!(
            "@: {open}^{register}^\"+\"^offset^\"]\" is {fields}{register} & {offsets} [ {actions}offset = {number}; ] {{ export 0:1; }}\n\
             @: {open}^{register}^\"]\" is {fields}{register} & {no_offset} {only}{{ export 0:1; }}\n\
             @: {open}^offset^\"]\" is {fields}{no_register} & {offsets} [ {actions}offset = {number}; ] {{ export 0:1; }}\n\
             @: {open}^{register}^\"]\" is {fields}{register} & {no_register} & {no_offset} {only}{{ export 0:1; }}\n"
        )
    }

    /// A mask that is omitted if all of its bits are set.
    fn optional_mask(&mut self, value: &Bits) -> String {
        let (number, fields) = self.number(value);
        let all = self.equals(value, ones(value.width()));
        format!(
            "@: is {all} {{ export 0:1; }}\n@: \", \"^value is {} [ value = {number}; ] {{ export 0:1; }}\n",
            fields.join(" & ")
        )
    }

    /// `desc[UR4][R2.64+UR6+0x10]`, without terms that are zero, as the kind has it.
    fn address_text(&mut self, operand: &Operand) -> String {
        let plus = i32::from(operand.kind == Kind::BaseAddressPlus1);
        let descriptor =
            operand.part(Part::Descriptor).cloned().map(|bits| self.register_field(&bits, 'u', plus));
        let descriptor = descriptor.filter(|_| operand.kind != Kind::HiddenDescriptor);
        let uniform = operand.part(Part::Uniform).cloned().map(|bits| self.register_field(&bits, 'u', 0));
        let base = operand.part(Part::Base).cloned();
        let register = base.as_ref().map(|bits| self.register_field(bits, 'g', 0));
        let select = operand.part(Part::Select).cloned().zip(operand.modifier(Part::Select).cloned());
        let spelling =
            select.as_ref().map(|(bits, entry)| self.spellings(bits, entry.modifier, &entry.order));
        let open = descriptor
            .as_ref()
            .map_or_else(|| "\"[\"".to_owned(), |field| format!("\"desc[\"^{field}^\"][\""));
        let offset = operand.part(Part::Offset).cloned();
        // The conditions under which the base register is omitted.
        let hidden: Vec<String> = match (&base, operand.kind) {
            (None, _) => vec![String::new()],
            (_, Kind::BaseAddress | Kind::BaseAddressPlus1 | Kind::HiddenDescriptor) => Vec::new(),
            (Some(bits), kind) => {
                let zero = self.equals(bits, ones(bits.width()));
                match (&select, kind) {
                    (Some((bits, entry)), Kind::ScaledAddress) => {
                        let values = &self.isa.modifiers[entry.modifier].values;
                        let empty: Vec<u128> = (0..)
                            .zip(&entry.order)
                            .filter(|(_, value)| value.is_some_and(|value| values[value].spelling.is_empty()))
                            .map(|(number, _)| number)
                            .collect();
                        empty
                            .into_iter()
                            .map(|number| format!("{zero} & {}", self.equals(bits, number)))
                            .collect()
                    }
                    _ => vec![zero],
                }
            }
        };
        let mut body = String::new();
        let mut line = |base_text: Option<&str>,
                        condition: &str,
                        with_offset: Option<(String, Vec<String>)>,
                        no_offset: &str| {
            let terms: Vec<&str> = base_text.into_iter().chain(uniform.as_deref()).collect();
            let mut text = format!("{open}^{}", terms.join("^\"+\"^"));
            if terms.is_empty() {
                open.clone_into(&mut text);
            }
            let mut pattern: Vec<String> = descriptor.iter().cloned().collect();
            if base_text.is_some() {
                pattern.extend(register.iter().cloned());
                pattern.extend(spelling.iter().cloned());
            }
            pattern.extend(uniform.iter().cloned());
            if !condition.is_empty() {
                pattern.push(condition.to_owned());
            }
            let mut action = String::new();
            match with_offset {
                Some((number, fields)) => {
                    text.push_str(if terms.is_empty() { "^offset" } else { "^\"+\"^offset" });
                    pattern.extend(fields);
                    action = format!(" [ offset = {number}; ]");
                }
                None if !no_offset.is_empty() => pattern.push(no_offset.to_owned()),
                None => {}
            }
            let _ = writeln!(body, "@: {text}^\"]\" is {}{action} {{ export 0:1; }}", pattern.join(" & "));
        };
        let shown = register.as_ref().map(|field| match &spelling {
            Some(spelling) => format!("{field}^{spelling}"),
            None => field.clone(),
        });
        let Some(offset) = offset else {
            line(shown.as_deref(), "", None, "");
            for condition in hidden.iter().filter(|_| base.is_some() && uniform.is_some()) {
                line(None, condition, None, "");
            }
            return body;
        };
        let number = self.number(&offset);
        let unsigned = self.number(&Bits { signed: false, ..offset.clone() });
        let zero = self.equals(&offset, 0);
        if shown.is_some() {
            line(shown.as_deref(), "", Some(number.clone()), "");
            line(shown.as_deref(), "", None, &zero);
        }
        for condition in &hidden {
            let number = if operand.kind == Kind::Memory { &unsigned } else { &number };
            line(None, condition, Some(number.clone()), "");
            // Without any other term, the register is printed.
            let alone = if operand.kind == Kind::Memory { register.as_deref() } else { shown.as_deref() };
            line(alone.filter(|_| uniform.is_none()), condition, None, &zero);
        }
        body
    }
}
