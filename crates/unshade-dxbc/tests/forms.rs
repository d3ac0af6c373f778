//! Synthetic operands in every form that tokens can encode: each kind with each number and encoding of indices, with
//! each component selection, and with each modifier. They are written, decoded, printed and assembled.

#![allow(missing_docs)]

use unshade_core::token::{Link, Token};
use unshade_core::{Diagnostics, Reader, TokenKind, TokenSink};
use unshade_dxbc::d3d9;
use unshade_dxbc::operand::{Index, IndexForm, Operand, OperandKind};
use unshade_dxbc::print::{Options, print};
use unshade_dxbc::{Instruction, Program, Version, assemble, decode};

/// Returns the kinds that have a name, and one without.
fn kinds() -> Vec<OperandKind> {
    (0..=43).map(OperandKind).collect()
}

/// Returns `mov r0.xyzw, OPERAND` for each operand.
fn program(operands: Vec<Operand>) -> Program {
    const MOV: u32 = 54;
    let target = Operand { token: 0x0010_00f2, ..Operand::default() };
    let mov = |operand| Instruction {
        token: MOV,
        operands: vec![target.clone(), operand],
        ..Instruction::default()
    };
    let instructions = operands.into_iter().map(mov).collect();
    let mut program = Program { version: Version(0x50), instructions, ..Program::default() };
    program.update_length().expect("a program that is not too long");
    program
}

fn round_trips(operands: Vec<Operand>) {
    let program = program(operands);
    let bytes = program.write().expect("a program");
    let mut diagnostics = Diagnostics::default();
    let read = decode(Reader::new(&bytes), &mut diagnostics).expect("a program");
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(read.instructions.len(), program.instructions.len());
    for (read, meant) in read.instructions.iter().zip(&program.instructions) {
        assert_eq!(read.operands, meant.operands);
    }
    assert!(read.write().expect("a program") == bytes, "other tokens than were read");
    let mut text = String::new();
    print(&read, Options::default(), &mut text);
    let again = assemble(&text).unwrap_or_else(|error| panic!("{error}"));
    assert!(again.write().expect("a program") == bytes, "other tokens than were printed:\n{text}");
}

/// Returns an index with an encoding.
fn index(form: u8, number: u64) -> Index {
    let (tokens, is_relative) = IndexForm(form).parts().expect("a form that is known");
    let number = match tokens {
        0 => 0,
        1 => number,
        _ => number | 7 << 32,
    };
    let register = Operand {
        token: 0x0010_000a,
        indices: [Index { number: 2, relative: None }, Index::default(), Index::default()],
        ..Operand::default()
    };
    Index { number, relative: is_relative.then(|| Box::new(register)) }
}

#[test]
fn each_kind_with_each_index() {
    let mut operands = Vec::new();
    for kind in kinds().into_iter().filter(|kind| !kind.is_immediate()) {
        for dimensions in 0..=3u32 {
            for forms in 0..5u32.pow(dimensions) {
                let form = |dimension: u32| forms / 5u32.pow(dimension) % 5;
                let mut operand = Operand {
                    token: 0xe46 | u32::from(kind.0) << 12 | dimensions << 20,
                    ..Operand::default()
                };
                for dimension in 0..dimensions {
                    operand.token |= form(dimension) << (22 + 3 * dimension);
                    let form = u8::try_from(form(dimension)).unwrap();
                    operand.indices[dimension as usize] = index(form, 5 + u64::from(dimension));
                }
                operands.push(operand);
            }
        }
    }
    assert!(operands.len() > 6_000);
    round_trips(operands);
}

#[test]
fn each_kind_with_each_component_selection() {
    let mut operands = Vec::new();
    for kind in kinds() {
        // None, one, masks, swizzles, selects, and encodings without a meaning.
        for components in (0..=0xfff).filter(|bits| bits & 3 >= 2 || *bits < 16) {
            let token = components | u32::from(kind.0) << 12;
            let mut operand = Operand { token, ..Operand::default() };
            operand.immediate = [0x3f80_0000, 7, 0x7fc0_0001, 0x8000_0000];
            let count = operand.immediate_count();
            operand.immediate.iter_mut().skip(count).for_each(|value| *value = 0);
            operands.push(operand);
        }
    }
    operands.chunks(10_000).for_each(|operands| round_trips(operands.to_vec()));
}

#[test]
fn each_kind_with_each_modifier() {
    let mut operands = Vec::new();
    for kind in kinds() {
        for modifier in 0..1u32 << 12 {
            let token = 1 << 31 | 0xe46 | u32::from(kind.0) << 12;
            // Negation and absolute value, minimum precision, non-uniform.
            let extended = 1 | (modifier & 3) << 6 | (modifier >> 2 & 15) << 14 | (modifier >> 6 & 63) << 8;
            operands.push(Operand { token, extended: vec![extended], ..Operand::default() });
        }
    }
    operands.retain(|operand| !operand.kind().is_immediate());
    operands.chunks(10_000).for_each(|operands| round_trips(operands.to_vec()));
}

#[test]
fn each_register_of_shader_model_1_to_3_in_each_form() {
    let versions = [0xfffe_0101, 0xfffe_0200, 0xfffe_0300, 0xffff_0104, 0xffff_0200, 0xffff_0300];
    for version in versions.map(d3d9::Version) {
        let mut instructions = Vec::new();
        for kind in 0..32u32 {
            // Destinations: masks, modifiers, shifts.
            for form in 0..1u32 << 12 {
                let target = operand(kind, 1) | form << 16;
                instructions.push(mov(version, target, operand(0, 2) | 0xe4 << 16));
            }
            // Sources: swizzles, modifiers.
            for form in 0..1u32 << 12 {
                let source = operand(kind, 1) | form << 16;
                instructions.push(mov(version, operand(0, 2) | 15 << 16, source));
            }
        }
        let program = d3d9::Program { version, instructions, end: Some(0xffff), trailing: Vec::new() };
        let bytes = program.write().expect("a program");
        let read = d3d9::decode(Reader::new(&bytes), &mut Diagnostics::default()).expect("a program");
        assert!(read.write().expect("a program") == bytes, "other tokens than were read");
        let mut text = String::new();
        d3d9::print::print(&read, d3d9::print::Options::default(), &mut text);
        let again = d3d9::assemble(&text).unwrap_or_else(|error| panic!("{error}"));
        assert!(again.write().expect("a program") == bytes, "other tokens than were printed");
    }
}

/// Returns the token of a register by kind and number.
fn operand(kind: u32, number: u32) -> u32 {
    1 << 31 | d3d9::operand::register_bits(d3d9::operand::RegisterKind(kind), number)
}

fn mov(version: d3d9::Version, target: u32, source: u32) -> d3d9::Instruction {
    let length = if version.has_lengths() { 2 << 24 } else { 0 };
    let operands = [target, source].map(|token| d3d9::operand::Operand { token, relative: None });
    d3d9::Instruction { token: 1 | length, operands: operands.to_vec(), ..d3d9::Instruction::default() }
}

/// Records which registers are linked.
#[derive(Default)]
struct Links(Vec<(String, Link)>);

impl TokenSink for Links {
    fn token(&mut self, token: Token<'_>) {
        if let Some(link) = token.link {
            assert_eq!(token.kind, TokenKind::Register);
            self.0.push((token.text.to_owned(), link));
        }
    }
    fn mark(&self) -> usize {
        self.0.len()
    }
    fn truncate(&mut self, mark: usize) {
        self.0.truncate(mark);
    }
    fn insert(&mut self, _: usize, _: &mut dyn FnMut(&mut dyn TokenSink)) {
        panic!("nothing is inserted into listings of token programs");
    }
}

impl Links {
    /// Counts the definitions of and references to the register that a name first links to.
    fn count(&self, name: &str) -> (usize, usize) {
        let number = |link: &Link| match link {
            Link::Definition(number) | Link::Reference(number) => *number,
        };
        let wanted = self.0.iter().find(|(text, _)| text == name).map(|(_, link)| number(link));
        let same = self.0.iter().filter(|(_, link)| Some(number(link)) == wanted);
        let definitions = same.clone().filter(|(_, link)| matches!(link, Link::Definition(_))).count();
        (definitions, same.count() - definitions)
    }
}

#[test]
fn registers_are_cross_referenced() {
    let text = "vs_5_0\ndcl_constantbuffer CB1[5], dynamicIndexed\ndcl_input v0.xyz\ndcl_temps 2\n\
                mov r0.x, v0.y\nmad r0.yz, v0.xxyx, cb1[r0.x + 2].xyzw, -r0.xxxx\nadd r1.x, r0.x, cb1[3].x\n";
    let mut links = Links::default();
    print(&assemble(text).expect("a program"), Options::default(), &mut links);
    assert_eq!(links.count("r0"), (2, 3));
    assert_eq!(links.count("r1"), (1, 0));
    assert_eq!(links.count("v0"), (1, 2));
    assert_eq!(links.count("CB1[5]"), (1, 2));

    let text = "vs_3_0\ndcl_position v0\ndcl_position o0\nmova a0.x, c2.x\nmul r0, v0, c3[a0.x]\nmad o0, r0, c2, -r0\n";
    let mut links = Links::default();
    let program = d3d9::assemble(text).expect("a program");
    d3d9::print::print(&program, d3d9::print::Options::default(), &mut links);
    assert_eq!(links.count("r0"), (1, 2));
    assert_eq!(links.count("a0"), (1, 1));
    assert_eq!(links.count("c2"), (0, 2));
    assert_eq!(links.count("v0"), (1, 1));
}
