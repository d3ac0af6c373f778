//! Where threads meet again: SSY, PBK and PCNT push an address; `.S`, BRK and CONT go there.
//!
//! The address is known where it was pushed, and code is laid out so that what pops it stands between. So it is kept in
//! Ghidra's context, which tells instructions what was said of their addresses: from an instruction that pushes on, the
//! address is in a field of the context, and `.S`, BRK or CONT are plain branches to it. At the address itself, the
//! context is again what it was before the push: that is how they nest. Where nothing is in the context, they are the
//! named functions. Code that is laid out otherwise goes wrong by this; so an importer that has followed all ways
//! may say of an address where its instruction goes, which is preferred (`goes_to`; docs/ghidra.md).

use super::Writer;
use super::pieces::Decided;
use crate::lower::{Code, Pcode, Step, Value};
use crate::model::{Bits, Encoding, Kind, Operand, Part};

/// A stack: the functions that push and pop, the field of the context, and the bit that it begins at.
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

/// The field by which importers say where the instruction at an address goes.
const GOES_TO: &str = "goes_to";
/// The bit that it begins at.
const GOES_TO_LOW: u32 = 96;

/// The bits of a field; addresses are in it without the three bits that are always zero.
const FIELD_BITS: u32 = 30;

/// The context register and its fields, where registers are defined.
pub(super) fn context(out: &mut String, offset: u32) {
    out.push_str(&format!("define register offset={offset:#x} size=16 [ stacks ];\ndefine context stacks\n"));
    for stack in &STACKS {
        out.push_str(&format!("  {}=({},{})\n", stack.field, stack.low, stack.low + FIELD_BITS - 1));
    }
    // Unlike what is pushed, this is of one instruction.
    out.push_str(&format!("  {GOES_TO}=({GOES_TO_LOW},{}) noflow\n;\n", GOES_TO_LOW + FIELD_BITS - 1));
}

/// A way to know where something goes.
pub(super) struct Way {
    /// The field of the context that says it; none if only a function does.
    pub(super) by: Option<&'static str>,
    /// The fields that say nothing.
    pub(super) unset: Vec<&'static str>,
}

/// The ways to know where something goes by a stack of this field.
pub(super) fn ways(field: &'static str) -> [Way; 3] {
    [
        Way { by: Some(GOES_TO), unset: Vec::new() },
        Way { by: Some(field), unset: vec![GOES_TO] },
        Way { by: None, unset: vec![GOES_TO, field] },
    ]
}

impl Writer<'_> {
    /// `.S` comes after everything else.
    pub(super) fn join(&mut self, encoding: &Encoding) -> Option<String> {
        let choice = encoding.choices.get(encoding.choice("join")?)?;
        let bits = choice.bits.clone();
        let (off, on) = (self.equals(&bits, 0), self.equals(&bits, 1));
        let Stack { pop, field, .. } = STACKS[0];
        let mut body = format!("@: is {off} {{ export 0:1; }}\n");
        for way in ways(field) {
            let (when, what) = match way.by {
                Some(by) => {
                    let to = self.popped(by);
                    (format!(" & {to}"), format!("goto {to};"))
                }
                None => (String::new(), format!("{pop}();")),
            };
            let unset: String = way.unset.iter().map(|field| format!(" & {field}=0")).collect();
            body.push_str(&format!("@: is {on}{unset}{when} {{ {what} export 0:1; }}\n"));
        }
        Some(self.table('s', &body))
    }

    /// The table of the address that a field of the context holds.
    fn popped(&mut self, field: &str) -> String {
        self.table('j', &format!("@: to is {field} [ to = {field} << 3; ] {{ export *[ram]:8 to; }}\n"))
    }

    /// The table that keeps what an instruction pushes, if that stands in its word.
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
        // What is pushed by a loop's head, to go on there, holds from here on.
        Some(self.table(
            'c',
            &format!(
                "@: to is {fields} & {forward} [ to = {to}; {restores}{sets} ] {{ export 0:1; }}\n@: is {fields} & {backward} [ {sets} ] \
                 {{ export 0:1; }}\n"
            ),
        ))
    }

    /// The stack that a step pushes to, and the operand that is pushed.
    pub(super) fn pushed(&self, encoding: &Encoding, pcode: &Pcode) -> Option<(&'static Stack, Operand)> {
        let Code::Function(index) = pcode.code else { return None };
        let stack = STACKS.iter().find(|stack| stack.push == self.isa.functions[index].name)?;
        let Some(Value::Operand { slot, .. }) = pcode.inputs.first() else { return None };
        let operand = encoding.operands.get(encoding.operand(slot)?)?;
        (operand.kind == Kind::Relative).then(|| (stack, operand.clone()))
    }

    /// If these steps go where a stack says: the field of the context.
    pub(super) fn pops(&self, first: &Decided, second: Option<&Decided>) -> Option<&'static str> {
        let (Decided::Do(pop), Some(Decided::Do(go))) = (first, second) else { return None };
        let Code::Function(index) = pop.code else { return None };
        let stack = STACKS.iter().find(|stack| stack.pop == self.isa.functions[index].name)?;
        (go.code == Code::Goto && go.inputs.first() == pop.output.as_ref()).then_some(stack.field)
    }

    /// The field of the context that some of these steps, or steps in them, go by.
    pub(super) fn goes_by(&self, steps: &[Decided]) -> Option<&'static str> {
        steps.iter().enumerate().find_map(|(index, step)| match step {
            Decided::If(_, yes, no) => self.goes_by(yes).or_else(|| self.goes_by(no)),
            Decided::Do(_) => self.pops(step, steps.get(index + 1)),
        })
    }

    /// The branch to where the context says, and the table that it needs.
    pub(super) fn goto_popped(&mut self, field: &str) -> (String, String) {
        let to = self.popped(field);
        (format!(" goto {to};"), to)
    }
}
