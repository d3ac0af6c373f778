//! Reconvergence: SSY, PBK and PCNT push an address; `.S`, BRK and CONT jump to it.
//!
//! The address is known where it is pushed, and compilers place the instructions that pop it between the push and the
//! address. So it is kept in Ghidra's context, which associates values with addresses: from the pushing instruction
//! on, the address is in a field of the context, and `.S`, BRK or CONT are plain branches to it. At the address
//! itself, the context returns to its value before the push, which handles nesting. If the context has no address,
//! `.S`, BRK and CONT call named functions. Code with a different layout would be misinterpreted; therefore an
//! importer that has traced all paths can set the target of the instruction at an address, which takes precedence
//! (`goes_to`; docs/ghidra.md).

use super::pieces::ResolvedStep;
use super::{Writer, bundles};
use crate::lower::{Code, Pcode, Step, Value};
use crate::model::{Bits, Encoding, Kind, Operand, Part};

/// A stack: the functions that push and pop, the context field, and its lowest bit.
pub(super) struct Stack {
    push: &'static str,
    pop: &'static str,
    field: &'static str,
    low: u32,
}

const STACKS: [Stack; 3] = [
    Stack { push: "push_reconvergence", pop: "reconverge", field: "join_at", low: 0 },
    Stack { push: "push_break", pop: "pop_break", field: "break_at", low: 32 },
    Stack { push: "push_continue", pop: "pop_continue", field: "continue_at", low: 64 },
];

/// The field in which importers set the target of the instruction at an address.
const GOES_TO: &str = "goes_to";
/// The lowest bit of that field.
const GOES_TO_LOW: u32 = 96;

/// The size of a field in bits; the three lowest bits of addresses, which are always zero, are not stored.
const FIELD_BITS: u32 = 30;

/// Writes the context register and its fields.
pub(super) fn context(out: &mut String, offset: u32, has_bundles: bool) {
    out.push_str(&format!("define register offset={offset:#x} size=16 [ stacks ];\ndefine context stacks\n"));
    for stack in &STACKS {
        out.push_str(&format!("  {}=({},{})\n", stack.field, stack.low, stack.low + FIELD_BITS - 1));
    }
    // Unlike a pushed address, this applies to one instruction.
    out.push_str(&format!("  {GOES_TO}=({GOES_TO_LOW},{}) noflow\n", GOES_TO_LOW + FIELD_BITS - 1));
    if has_bundles {
        out.push_str(&format!("  {}=(126,126)\n", bundles::IS_INSTRUCTION));
    }
    out.push_str(";\n");
}

/// A source of the target of a jump.
pub(super) struct TargetSource {
    /// The context field with the target; none if only a function returns it.
    pub(super) by: Option<&'static str>,
    /// The fields that must be empty.
    pub(super) unset: Vec<&'static str>,
}

/// Returns the sources of the target of a jump that pops the stack with this field, by priority.
pub(super) fn target_sources(field: &'static str) -> [TargetSource; 3] {
    [
        TargetSource { by: Some(GOES_TO), unset: Vec::new() },
        TargetSource { by: Some(field), unset: vec![GOES_TO] },
        TargetSource { by: None, unset: vec![GOES_TO, field] },
    ]
}

impl Writer<'_> {
    /// Returns the table for `.S`, which is executed last.
    pub(super) fn join(&mut self, encoding: &Encoding) -> Option<String> {
        let choice = encoding.choices.get(encoding.choice("join")?)?;
        let bits = choice.bits.clone();
        let (off, on) = (self.equals(&bits, 0), self.equals(&bits, 1));
        let Stack { pop, field, .. } = STACKS[0];
        let mut body = format!("@: is {off} {{ export 0:1; }}\n");
        for source in target_sources(field) {
            let (when, what) = match source.by {
                Some(by) => {
                    let to = self.popped(by);
                    (format!(" & {to}"), format!("goto {to};"))
                }
                None => (String::new(), format!("{pop}();")),
            };
            let unset: String = source.unset.iter().map(|field| format!(" & {field}=0")).collect();
            body.push_str(&format!("@: is {on}{unset}{when} {{ {what} export 0:1; }}\n"));
        }
        Some(self.table('s', &body))
    }

    /// Returns the table of the address in a context field.
    fn popped(&mut self, field: &str) -> String {
        self.table('j', &format!("@: to is {field} [ to = {field} << 3; ] {{ export *[ram]:8 to; }}\n"))
    }

    /// Returns the table that stores a pushed address in the context, if the address is encoded in the word.
    pub(super) fn push(&mut self, encoding: &Encoding, steps: &[Step]) -> Option<String> {
        let found = steps.iter().find_map(|step| match step {
            Step::Do(pcode) => self.pushed(encoding, pcode),
            _ => None,
        });
        let (stack, operand) = found?;
        let bits = operand.part(Part::Value).cloned().unwrap_or_default();
        let (number, fields) = self.number(&bits);
        let fields = fields.join(" & ");
        let to = format!("inst_start + 8 + ({number})");
        let field = stack.field;
        let sets = format!("{field} = ({to}) >> 3; globalset(inst_next, {field});");
        let restores: String =
            STACKS.iter().map(|stack| format!("globalset(to, {}); ", stack.field)).collect();
        let top = bits.ranges.last().map_or(0, |&(low, count)| low + count - 1);
        let sign = Bits { ranges: vec![(top, 1)], ..Bits::default() };
        let (forward, backward) = (self.equals(&sign, 0), self.equals(&sign, 1));
        // An address pushed by the head of a loop, for a jump back to it, is valid from here on.
        Some(self.table(
            'c',
            &format!(
                "@: to is {fields} & {forward} [ to = {to}; {restores}{sets} ] {{ export 0:1; }}\n@: is {fields} & {backward} [ {sets} ] \
                 {{ export 0:1; }}\n"
            ),
        ))
    }

    /// Returns the stack that a step pushes to, and the pushed operand.
    pub(super) fn pushed(&self, encoding: &Encoding, pcode: &Pcode) -> Option<(&'static Stack, Operand)> {
        let Code::Function(index) = pcode.code else { return None };
        let stack = STACKS.iter().find(|stack| stack.push == self.isa.functions[index].name)?;
        let Some(Value::Operand { slot, .. }) = pcode.inputs.first() else { return None };
        let operand = encoding.operands.get(encoding.operand(slot)?)?;
        (operand.kind == Kind::Relative).then(|| (stack, operand.clone()))
    }

    /// Returns the context field if these steps jump to a popped address.
    pub(super) fn pops(&self, first: &ResolvedStep, second: Option<&ResolvedStep>) -> Option<&'static str> {
        let (ResolvedStep::Do(pop), Some(ResolvedStep::Do(go))) = (first, second) else { return None };
        let Code::Function(index) = pop.code else { return None };
        let stack = STACKS.iter().find(|stack| stack.pop == self.isa.functions[index].name)?;
        (go.code == Code::Goto && go.inputs.first() == pop.output.as_ref()).then_some(stack.field)
    }

    /// Returns the context field that any of these steps, including nested ones, jump by.
    pub(super) fn goes_by(&self, steps: &[ResolvedStep]) -> Option<&'static str> {
        steps.iter().enumerate().find_map(|(index, step)| match step {
            ResolvedStep::If(_, yes, no) => self.goes_by(yes).or_else(|| self.goes_by(no)),
            ResolvedStep::Do(_) => self.pops(step, steps.get(index + 1)),
        })
    }

    /// Returns the branch to the address in the context, and the table that it needs.
    pub(super) fn goto_popped(&mut self, field: &str) -> (String, String) {
        let to = self.popped(field);
        (format!(" goto {to};"), to)
    }
}
