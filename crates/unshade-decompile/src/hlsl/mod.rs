//! Prints shaders as HLSL.
//!
//! | module | thing |
//! |---|---|
//! | [`signature`] | parameters and results of entry points, with their semantics |
//! | [`declaration`] | structures, constant buffers, resources, variables |
//! | [`function`] | functions: statements |
//! | [`expression`] | expressions, with conversions between kinds of numbers |
//! | [`constant_buffer`] | members of constant buffers and structures from offsets |
//! | [`access`] | operations of resources |
//! | [`stage`] | operations of stages: inputs, outputs, streams, meshes, rays |
//! | [`spelling`] | names of types and functions |
//! | [`names`] | identifiers that are free |
//!
//! Knowledge: Microsoft's reference of HLSL, and what FXC and DXC 1.6 to 1.10 accept.

mod access;
mod constant_buffer;
mod declaration;
mod expression;
mod function;
mod names;
mod signature;
mod spelling;
mod stage;

use crate::Line;
use crate::ir::shader::interface::{ShaderProgram, Stage};
use crate::shader;
use names::Names;

/// A shader as HLSL.
#[derive(Clone, Debug, Default)]
pub struct Hlsl {
    /// The text. Addresses are those of the front end: offsets of tokens, numbers of instructions.
    pub lines: Vec<Line>,
    /// The name of the entry point; empty for a library.
    pub entry: String,
    /// The profile to compile it with.
    pub profile: String,
    /// What has no form in HLSL, with the number of times.
    pub unknown: Vec<String>,
    /// Number of `goto` statements.
    pub gotos: usize,
}

impl Hlsl {
    /// Returns the whole text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }
}

/// Prints a program that a front end lifted.
pub fn print(mut program: ShaderProgram) -> Hlsl {
    shader::simplify_all(&mut program);
    let mut hlsl = Hlsl { profile: program.profile(), ..Hlsl::default() };
    if program.stage != Stage::Library {
        hlsl.entry = program.functions.first().map(|entry| entry.name.clone()).unwrap_or_default();
    }
    let mut names = Names::new();
    let naming = declaration::Naming::new(&program, &mut names);
    let mut bodies = Vec::new();
    let mut helpers = Vec::new();
    // The functions that others call come first; a patch-constant function before its shader.
    for index in (0..program.functions.len()).rev() {
        let printed = function::print(&program, &naming, &names, index);
        hlsl.unknown.extend(printed.unknown);
        hlsl.gotos += printed.gotos;
        helpers.extend(printed.helpers);
        if !bodies.is_empty() {
            bodies.push(line(""));
        }
        bodies.extend(printed.lines);
    }
    let declared = declaration::print(&program, &naming, &mut hlsl.unknown);
    hlsl.lines.extend(declared.into_iter().map(|text| line(&text)));
    helpers.sort_unstable();
    helpers.dedup();
    for helper in helpers {
        hlsl.lines.extend(spelling::helper(helper).lines().map(line));
        hlsl.lines.push(line(""));
    }
    hlsl.lines.extend(bodies);
    hlsl
}

fn line(text: &str) -> Line {
    Line { text: text.to_owned(), addresses: Vec::new() }
}
