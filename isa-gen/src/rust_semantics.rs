//! What operations do, as constants of `unshade-sass`.

use std::fmt::Write;

use crate::lower::{Code, NATIVE, Step, Value};
use crate::model::Isa;

/// The module `semantics` of the generated tables.
pub fn semantics(isa: &Isa) -> String {
    let mut out = String::from(
        "// Written by `cargo xtask codegen` from isa/nvidia. Do not edit.\n\nuse crate::semantics::table::{Class, Code, \
         Function, Program, Step, Value};\nuse crate::semantics::Space;\nuse Step::{Do, Otherwise, Unless, When};\nuse \
         Value::{Choice, Flag, Negated, Next, Number, Operand, Select, Temporary};\n\n",
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
            flatten(step, &mut steps);
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

/// Nested steps one after the other: a test says how many follow that are its own, and at their end how many to leave out.
fn flatten(step: &Step, out: &mut Vec<String>) {
    let nested = |steps: &[Step]| {
        let mut inner = Vec::new();
        steps.iter().for_each(|step| flatten(step, &mut inner));
        inner
    };
    let (head, yes, no) = match step {
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
        Step::When(test, _, no) if test.slot == crate::lower::BACKEND => return out.extend(nested(no)),
        Step::When(test, yes, no) => {
            (format!("When({:?}, &{:?}", test.slot, test.values), nested(yes), nested(no))
        }
        Step::If(condition, yes, no) => (format!("Unless({}", value(condition)), nested(yes), nested(no)),
    };
    let skipped = yes.len() + usize::from(!no.is_empty());
    out.push(format!("{head}, {skipped})"));
    out.extend(yes);
    if !no.is_empty() {
        out.push(format!("Otherwise({})", no.len()));
        out.extend(no);
    }
}

fn title(space: &str) -> String {
    let mut letters = space.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

fn value(value: &Value) -> String {
    match value {
        Value::Temporary(index) => format!("Temporary({index})"),
        Value::Number(number, width) => {
            format!("Number({:#x}, {width})", number & crate::model::ones(*width))
        }
        Value::Operand { slot, width, lane, class } => {
            format!("Operand({slot:?}, {width}, {lane}, Class::{})", class.name())
        }
        Value::Flag(name) => {
            let number = crate::lower::FLAGS.iter().position(|flag| flag == name).unwrap_or(0);
            format!("Flag({number})")
        }
        Value::Next => String::from("Next"),
        Value::Choice(slot) => format!("Choice({slot:?})"),
        Value::Select(slot) => format!("Select({slot:?})"),
        Value::Negated(slot) => format!("Negated({slot:?})"),
    }
}
