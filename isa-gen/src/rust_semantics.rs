//! Generates the semantics of operations as constants of `unshade-sass`.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::lower::{BACKEND, Code, NATIVE, Step, Value};
use crate::model::Isa;

/// The slot for tests of an instruction's form.
const FORM: &str = "form";

/// The slot of the modifier that pops the reconvergence stack.
const JOIN: &str = "join";

/// Returns the distinct slots that programs use. The texts of every generation begin with them, so that a slot has the
/// same number in all generations.
pub(crate) fn slots(isa: &Isa) -> Vec<&str> {
    let mut slots = BTreeSet::from([FORM, JOIN]);
    isa.programs.iter().for_each(|program| steps_slots(&program.steps, &mut slots));
    slots.into_iter().collect()
}

fn steps_slots<'a>(steps: &'a [Step], slots: &mut BTreeSet<&'a str>) {
    for step in steps {
        match step {
            Step::Do(pcode) => {
                slots.extend(pcode.inputs.iter().chain(&pcode.output).filter_map(value_slot));
            }
            Step::When(test, yes, no) => {
                if test.slot != BACKEND {
                    slots.insert(&test.slot);
                    steps_slots(yes, slots);
                }
                steps_slots(no, slots);
            }
            Step::If(condition, yes, no) => {
                slots.extend(value_slot(condition));
                steps_slots(yes, slots);
                steps_slots(no, slots);
            }
        }
    }
}

fn value_slot(value: &Value) -> Option<&str> {
    match value {
        Value::Operand { slot, .. } | Value::Choice(slot) | Value::Select(slot) | Value::Negated(slot) => {
            Some(slot)
        }
        Value::Temporary(_) | Value::Number(..) | Value::Flag(_) | Value::Next => None,
    }
}

/// Generates the module `semantics`.
pub fn semantics(isa: &Isa) -> String {
    let mut out = String::from(
        "// Written by `cargo xtask codegen` from isa/nvidia. Do not edit.\n\nuse crate::semantics::table::{Class, Code, \
         Function, Program, Step, Value};\nuse crate::semantics::Space;\nuse Step::{Do, Jump, Otherwise, Unless, When};\nuse \
         Value::{Choice, Flag, Negated, Next, Number, Operand, Select, Temporary};\n\n",
    );
    let slots = slots(isa);
    let number = |slot: &str| slots.iter().position(|other| *other == slot).unwrap_or(slots.len());
    let _ = writeln!(
        out,
        "/// The slots that are named here by their number; the texts of each instruction set begin with these.\n\
         #[cfg(test)]\npub(crate) static SLOTS: [&str; {}] = {slots:?};\n\n\
         /// The number of the slot of tests of an instruction's form.\npub(crate) const FORM: u16 = {};\n\n\
         /// The number of the slot of the modifier that pops the reconvergence stack.\npub(crate) const JOIN: u16 =
         /// {};\n",
        slots.len(),
        number(FORM),
        number(JOIN),
    );
    let _ = writeln!(
        out,
        "/// What the machine does beyond the operators of p-code.\npub(crate) static FUNCTIONS: [Function; {}] = [",
        isa.functions.len()
    );
    for function in &isa.functions {
        let _ = writeln!(
            out,
            "    Function {{ name: {:?}, pure: {}, inputs: &{:?}, output: {}, meaning: {:?} }},",
            function.name,
            function.pure,
            function.inputs,
            function.output.unwrap_or(0),
            function.meaning
        );
    }
    let _ = writeln!(
        out,
        "];\n\n/// What each operation does, in the order of the operations.\npub(crate) static PROGRAMS: [Program; {}] = [",
        isa.programs.len()
    );
    for (program, operation) in isa.programs.iter().zip(&isa.operations) {
        let mut steps = Vec::new();
        for step in &program.steps {
            flatten(step, &number, &mut steps);
        }
        let _ = writeln!(
            out,
            "    // {}\n    Program {{ temporaries: &{:?}, steps: &[{}] }},",
            operation.name,
            program.temporaries,
            steps.join(", ")
        );
    }
    out.push_str("];\n");
    out
}

/// Flattens nested steps: a test has the number of steps in its body, and the body ends with the number of steps to
/// skip.
fn flatten(step: &Step, number: &impl Fn(&str) -> usize, out: &mut Vec<String>) {
    let nested = |steps: &[Step]| {
        let mut inner = Vec::new();
        steps.iter().for_each(|step| flatten(step, number, &mut inner));
        inner
    };
    let value = |given: &Value| value(given, number);
    let (head, yes, over, no) = match step {
        Step::Do(pcode) => {
            let code = match &pcode.code {
                Code::Native(index) => NATIVE[*index].variant.to_owned(),
                Code::Function(index) => format!("Function({index})"),
                Code::Load(space) => format!("Load(Space::{})", title(space)),
                Code::Store(space) => format!("Store(Space::{})", title(space)),
                Code::Goto => String::from("Goto"),
                Code::Call => String::from("Call"),
                Code::Return => String::from("Return"),
                Code::Exit => String::from("Exit"),
            };
            let inputs: Vec<String> = pcode.inputs.iter().map(value).collect();
            let output = pcode
                .output
                .as_ref()
                .map_or_else(|| String::from("None"), |output| format!("Some({})", value(output)));
            return out.push(format!("Do(Code::{code}, {output}, &[{}])", inputs.join(", ")));
        }
        Step::When(test, _, no) if test.slot == BACKEND => return out.extend(nested(no)),
        Step::When(test, yes, no) => {
            let head = format!("When({}, &{:?}", number(&test.slot), test.values);
            (head, nested(yes), "Otherwise", nested(no))
        }
        Step::If(condition, yes, no) => {
            (format!("Unless({}", value(condition)), nested(yes), "Jump", nested(no))
        }
    };
    let skipped = yes.len() + usize::from(!no.is_empty());
    out.push(format!("{head}, {skipped})"));
    out.extend(yes);
    if !no.is_empty() {
        out.push(format!("{over}({})", no.len()));
        out.extend(no);
    }
}

fn title(space: &str) -> String {
    let mut letters = space.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

fn value(value: &Value, slot_number: &impl Fn(&str) -> usize) -> String {
    match value {
        Value::Temporary(index) => format!("Temporary({index})"),
        Value::Number(number, width) => {
            format!("Number({:#x}, {width})", number & crate::model::ones(*width))
        }
        Value::Operand { slot, width, lane, class } => {
            format!("Operand({}, {width}, {lane}, Class::{})", slot_number(slot), class.name())
        }
        Value::Flag(name) => {
            let number = crate::lower::FLAGS.iter().position(|flag| flag == name).unwrap_or(0);
            format!("Flag({number})")
        }
        Value::Next => String::from("Next"),
        Value::Choice(slot) => format!("Choice({})", slot_number(slot)),
        Value::Select(slot) => format!("Select({})", slot_number(slot)),
        Value::Negated(slot) => format!("Negated({})", slot_number(slot)),
    }
}
