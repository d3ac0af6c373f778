//! Generates reference pages: one page per mnemonic, with a bit diagram for every encoding.

use std::fmt::Write;

use crate::lower::{Code, Step};
use crate::model::{Access, Encoding, Flow, Generation, Isa, Operation, Part, Piece};
use crate::rust_tables::mnemonic;

/// Generates the name and text of the page for every mnemonic, in alphabetical order.
pub fn pages(isa: &Isa) -> Vec<(String, String)> {
    let mut mnemonics: Vec<&str> = isa.operations.iter().map(mnemonic).collect();
    mnemonics.sort_unstable();
    mnemonics.dedup();
    mnemonics.into_iter().map(|name| (name.to_owned(), page(isa, name))).collect()
}

/// Generates the page of the named functions: what an emulator or a decompiler must implement besides p-code operators.
pub fn functions(isa: &Isa) -> String {
    let mut users: Vec<Vec<&str>> = vec![Vec::new(); isa.functions.len()];
    for (operation, program) in isa.operations.iter().zip(&isa.programs) {
        called(&program.steps, &mut |index| users[index].push(mnemonic(operation)));
    }
    for (index, function) in isa.functions.iter().enumerate() {
        // Used by every instruction with `.S`.
        if function.name == "reconverge" {
            users[index].push("`.S`");
        }
        users[index].sort_unstable();
        users[index].dedup();
    }
    let mut out = String::from(
        "<!-- Written by `cargo xtask codegen` from isa/nvidia/operations.isa. Do not edit. -->\n\n# Named functions of the \
         semantics\n\nWhat instructions do is p-code ([isa.md](isa.md#semantics)); what p-code has no operator for is a named \
         function. Inputs are told by their bits, in the order in which the meaning names them; 1 bit is a truth value, and 8 bits \
         are the number of a modifier's value or a small number. The roundings of floating-point numbers are 0 to nearest even, 1 \
         down, 2 up, 3 towards zero. The Ghidra module has the same functions by the same names.\n",
    );
    let kinds = [
        (true, "Numbers made of numbers", "`unshade_sass::semantics::functions::call` computes them."),
        (
            false,
            "What sees or changes more than the thread's registers",
            "`unshade_sass::semantics::Host::call` is asked for them.",
        ),
    ];
    for (pure, title, text) in kinds {
        let _ = write!(
            out,
            "\n## {title}\n\n{text}\n\n| function | inputs | result | meaning | of |\n|---|---|---|---|---|\n"
        );
        for (function, users) in isa.functions.iter().zip(&users).filter(|entry| entry.0.pure == pure) {
            let inputs: Vec<String> = function.inputs.iter().map(u32::to_string).collect();
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {} | {} |",
                function.name,
                inputs.join(", "),
                function.output.map(|width| width.to_string()).unwrap_or_default(),
                function.meaning,
                users.join(", ")
            );
        }
    }
    out
}

fn called(steps: &[Step], found: &mut impl FnMut(usize)) {
    for step in steps {
        match step {
            Step::Do(pcode) => {
                if let Code::Function(index) = pcode.code {
                    found(index);
                }
            }
            Step::When(_, yes, no) | Step::If(_, yes, no) => {
                called(yes, found);
                called(no, found);
            }
        }
    }
}

fn page(isa: &Isa, name: &str) -> String {
    let mut out = format!("# {name}\n");
    for (index, operation) in isa.operations.iter().enumerate().filter(|entry| mnemonic(entry.1) == name) {
        let _ = write!(out, "\n{}\n", operation.meaning);
        syntax(&mut out, operation);
        if !operation.does.is_empty() {
            let _ = write!(out, "\n```text\n{}```\n", operation.does);
        }
        operands(&mut out, operation);
        modifiers(&mut out, isa, operation);
        for generation in &isa.generations {
            for encoding in generation.encodings.iter().filter(|encoding| encoding.operation == index) {
                diagram(&mut out, operation, generation, encoding);
            }
        }
    }
    out
}

fn syntax(out: &mut String, operation: &Operation) {
    out.push_str("\n```text\n");
    for form in &operation.forms {
        for piece in &form.template {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Slot(slot) => {
                    let _ = write!(out, "{{{slot}}}");
                }
            }
        }
        out.push('\n');
    }
    out.push_str("```\n");
    if operation.flow != Flow::Next {
        let _ = write!(out, "\nControl flow: {}.\n", flow_text(operation.flow));
    }
}

fn flow_text(flow: Flow) -> &'static str {
    match flow {
        Flow::Next => "goes on with the next word",
        Flow::Branch => "goes on at the target, in the threads whose guard holds",
        Flow::Indirect => "goes on at a target that is computed",
        Flow::Call => "calls the target",
        Flow::Return => "returns to after the call",
        Flow::Push => "pushes the target on the reconvergence stack",
        Flow::Pop => "goes on at the target on top of the reconvergence stack",
        Flow::Exit => "ends the thread",
        Flow::Trap => "stops the thread",
    }
}

fn operands(out: &mut String, operation: &Operation) {
    out.push_str("\n| operand | is | type |\n|---|---|---|\n");
    for role in &operation.operands {
        let access = match role.access {
            Access::In => "read",
            Access::Out => "written",
            Access::InOut => "read and written",
        };
        let _ = writeln!(out, "| `{}` | {access} | {} |", role.name, role.ty);
    }
}

fn modifiers(out: &mut String, isa: &Isa, operation: &Operation) {
    if operation.modifiers.is_empty() {
        return;
    }
    out.push_str("\n| modifier | chooses | spellings |\n|---|---|---|\n");
    for (slot, modifier) in &operation.modifiers {
        let modifier = &isa.modifiers[*modifier];
        let spellings: Vec<String> = modifier
            .values
            .iter()
            .filter(|value| value.name != "-")
            .map(|value| {
                if value.spelling.is_empty() {
                    String::from("(nothing)")
                } else {
                    format!("`{}`", value.spelling)
                }
            })
            .take(32)
            .collect();
        let _ = writeln!(out, "| `{slot}` | {} | {} |", modifier.meaning, spellings.join(" "));
    }
}

/// Writes the bit diagram: the field of each bit, from the highest, 32 bits per row.
fn diagram(out: &mut String, operation: &Operation, generation: &Generation, encoding: &Encoding) {
    let names: Vec<&str> = [operation.forms[encoding.form].name.as_str(), &encoding.alternative]
        .into_iter()
        .filter(|name| !name.is_empty())
        .collect();
    let title = [&[generation.name.as_str()], names.as_slice()].concat().join(" ");
    let _ = write!(out, "\n## {title}\n\n```text\n");
    let owners = owners(encoding, generation.word_bits);
    for row in (0..generation.word_bits / 32).rev() {
        let (low, high) = (row * 32, row * 32 + 31);
        let mut bit = high;
        let (mut numbers, mut texts) = (String::new(), String::new());
        loop {
            let owner = &owners[bit as usize];
            let mut end = bit;
            while end > low && owners[end as usize - 1] == *owner {
                end -= 1;
            }
            let fixed = owner == "=";
            let text = if fixed {
                (end..=bit).rev().map(|bit| if encoding.value >> bit & 1 == 1 { '1' } else { '0' }).collect()
            } else {
                owner.clone()
            };
            let range = if bit == end { format!("{bit}") } else { format!("{bit}:{end}") };
            let width = text.len().max(range.len());
            let _ = write!(numbers, " {range:^width$} ");
            let _ = write!(texts, "|{text:^width$}|");
            if end == low {
                break;
            }
            bit = end - 1;
        }
        let _ = writeln!(out, "{}\n{}", numbers.trim_end(), texts.replace("||", "|"));
    }
    out.push_str("```\n");
    for example in &encoding.examples {
        let _ = write!(out, "\n    {:#018x}  {}\n", example.word, example.text);
    }
}

fn owners(encoding: &Encoding, word_bits: u32) -> Vec<String> {
    let mut owners = vec![String::from("-"); word_bits as usize];
    let mut own = |mask: u128, name: &str| {
        for (bit, owner) in owners.iter_mut().enumerate() {
            if mask >> bit & 1 == 1 {
                name.clone_into(owner);
            }
        }
    };
    own(encoding.mask, "=");
    for choice in encoding.choices.iter().filter(|choice| !choice.bits.view) {
        own(choice.bits.mask(), &choice.slot);
    }
    for operand in &encoding.operands {
        for (part, bits) in operand.parts.iter().filter(|part| !part.1.view) {
            let name = match part {
                Part::Value => operand.slot.clone(),
                _ => format!("{}.{}", operand.slot, part.name()),
            };
            own(bits.mask(), &name);
        }
    }
    owners
}
