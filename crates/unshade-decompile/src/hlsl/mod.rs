//! Prints shaders as HLSL.
//!
//! | module | thing |
//! |---|---|
//! | `signature` | parameters and results of entry points, with their semantics |
//! | `declaration` | structures, constant buffers, resources, variables |
//! | `element_copy` | copies of elements of structured buffers |
//! | `function` | functions: statements |
//! | `statement` | statements, as HLSL has them |
//! | `scopes` | declarations where variables are set first |
//! | `expression` | expressions, with conversions between kinds of numbers |
//! | `constant_buffer` | members of constant buffers and structures from offsets |
//! | `offsets` | where members of constant buffers lie |
//! | `padding` | gaps in structures |
//! | `matrix`, `matrix_scalar` | products of matrices and vectors |
//! | `legacy` | the dialect of shader models 1 to 3 |
//! | `access` | operations of resources |
//! | `words` | numbers of memory in pieces of another size |
//! | `stage` | operations of stages: inputs, outputs, streams, meshes, rays |
//! | `ray_query` | ray queries |
//! | `hit_object` | hits of rays as objects |
//! | `node` | nodes of work graphs |
//! | `state` | root signatures, state objects of libraries |
//! | `spelling` | names of types and functions |
//! | `names` | identifiers that are free |
//! | `source_names` | names of the source code for variables |
//!
//! Knowledge: Microsoft's reference of HLSL, and what FXC and DXC 1.6 to 1.10 accept.

mod access;
mod allocation;
mod atomic;
mod constant_buffer;
mod declaration;
#[cfg(test)]
mod declaration_tests;
mod declared;
mod element_copy;
pub(crate) mod expression;
mod function;
mod hit_object;
mod initializer;
mod legacy;
#[cfg(test)]
mod legacy_tests;
mod matrix;
mod matrix_scalar;
mod matrix_value;
mod member;
mod member_resources;
pub(crate) mod names;
mod node;
mod offsets;
mod padding;
mod ray_query;
mod resource_struct;
mod scopes;
mod sequence;
mod signature;
mod source_names;
mod spelling;
mod stage;
mod state;
mod statement;
mod words;

use crate::Line;
use crate::ir::shader::interface::{ShaderProgram, Stage};
use crate::shader;
use names::Names;
use std::collections::BTreeSet;
use std::ops::Range;

/// A shader as HLSL.
#[derive(Clone, Debug, Default)]
pub struct Hlsl {
    /// The text. Addresses are those of the front end: offsets of tokens, numbers of instructions.
    pub lines: Vec<Line>,
    /// The name of the entry point; empty for a library.
    pub entry: String,
    /// The profile to compile it with.
    pub profile: String,
    /// Options of the compiler that change what the text means.
    pub options: Vec<String>,
    /// What has no form in HLSL, with the number of times.
    pub unknown: Vec<String>,
    /// Number of `goto` statements.
    pub gotos: usize,
    /// The functions with code, in the order of the text.
    pub functions: Vec<PrintedFunction>,
}

/// Where a function is in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedFunction {
    /// Its number among the functions of the module; 0 in token programs. The addresses of its lines are those of this
    /// function's code.
    pub number: u32,
    /// Its lines.
    pub lines: Range<usize>,
}

impl Hlsl {
    /// Returns what has no form in HLSL, each kind once, in the order of the alphabet.
    pub fn unknown_kinds(&self) -> BTreeSet<&str> {
        self.unknown.iter().map(String::as_str).collect()
    }

    /// Returns the whole text.
    pub fn text(&self) -> String {
        crate::text_of(&self.lines)
    }
}

/// Prints a program that a front end lifted.
pub fn print(mut program: ShaderProgram) -> Hlsl {
    shader::simplify_all(&mut program);
    legacy::prepare(&mut program);
    let unknown = if legacy::is_legacy(&program) { Vec::new() } else { padding::run(&mut program) };
    // Variables may have the names of functions that the text does not call.
    let mut free = declaration::function_names(&program);
    while !free.is_empty() {
        let hlsl = print_program(program.clone(), &free, unknown.clone());
        let called = called(&hlsl, &free);
        if called.is_empty() {
            return hlsl;
        }
        free.retain(|name| !called.contains(name));
    }
    print_program(program, &free, unknown)
}

/// Returns the names that are called in a text.
fn called(hlsl: &Hlsl, names: &BTreeSet<String>) -> Vec<String> {
    let is_called = |name: &&String| {
        let call = format!("{name}(");
        let is_start = |text: &str, at: usize| {
            !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'))
        };
        hlsl.lines.iter().any(|line| line.text.match_indices(&call).any(|(at, _)| is_start(&line.text, at)))
    };
    names.iter().filter(is_called).cloned().collect()
}

/// Prints a program. It calls no function of those that are `free`.
fn print_program(mut program: ShaderProgram, free: &BTreeSet<String>, unknown: Vec<String>) -> Hlsl {
    let mut hlsl = Hlsl { profile: profile(&program), unknown, ..Hlsl::default() };
    if program.stage != Stage::Library {
        hlsl.entry = program.functions.first().map(|entry| entry.name.clone()).unwrap_or_default();
    }
    let mut names = Names::global(program.model.0 < 6, free);
    // State objects refer to each other by name: theirs come first.
    let state_objects = state::declare(&program, &mut names, &mut hlsl.unknown);
    let naming = declaration::Naming::new(&program, &mut names);
    matrix::run(&mut program, &naming);
    let mut bodies = Vec::new();
    let mut helpers = Vec::new();
    for index in print_order(&program) {
        if program.functions[index].is_declared {
            bodies.push(line(&declaration::prototype(&naming, &program.functions[index])));
            continue;
        }
        let printed = function::print(&program, &naming, &names, index);
        hlsl.unknown.extend(printed.unknown);
        hlsl.gotos += printed.gotos;
        helpers.extend(printed.helpers);
        if !bodies.is_empty() {
            bodies.push(line(""));
        }
        let start = bodies.len();
        bodies.extend(printed.lines);
        let number = program.functions[index].number;
        hlsl.functions.push(PrintedFunction { number, lines: start..bodies.len() });
        if program.functions[index].is_constructor {
            let (variable, name) =
                (names.take("constructed"), naming.function(&program.functions[index].name));
            bodies.extend([line(""), line(&format!("static int {variable} = {name}();"))]);
        }
    }
    let declared = declaration::print(&program, &naming, &mut hlsl.unknown);
    hlsl.lines.extend(legacy::remarks(&program).iter().map(|text| line(text)));
    hlsl.lines.extend(program.source_files.iter().map(|name| line(&source_line(name))));
    if !program.options.is_empty() {
        hlsl.lines.push(line(&format!("// options: {}", program.options.join(" "))));
    }
    hlsl.options.extend(program.options.iter().flat_map(|option| option.split(' ')).map(str::to_owned));
    hlsl.lines.extend(program.missing.iter().map(|what| line(&format!("// not in this text: {what}"))));
    hlsl.lines.extend(naming.missing.iter().map(|what| line(&format!("// not in this text: {what}"))));
    hlsl.unknown.extend(program.missing.iter().chain(&naming.missing).cloned());
    hlsl.lines.extend(state_objects.into_iter().chain(declared).map(|text| line(&text)));
    helpers.sort_unstable();
    helpers.dedup();
    for helper in helpers {
        hlsl.lines.extend(spelling::helper(helper).lines().map(line));
        hlsl.lines.push(line(""));
    }
    let before = hlsl.lines.len();
    for function in &mut hlsl.functions {
        function.lines = function.lines.start + before..function.lines.end + before;
    }
    hlsl.lines.extend(bodies);
    hlsl
}

/// Returns a comment with the name of a source file. The quotes keep a backslash at the end from continuing the line.
fn source_line(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("// source: \"{name}\"")
}

/// Returns the profile to compile a program with.
fn profile(program: &ShaderProgram) -> String {
    if legacy::is_legacy(program) { legacy::profile(program) } else { program.profile() }
}

/// Returns the functions in the order in which they are printed: each after those that it calls, and after the one that
/// computes its patch constants.
fn print_order(program: &ShaderProgram) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; program.functions.len()];
    for root in 0..program.functions.len() {
        let mut stack = vec![(root, false)];
        while let Some((index, is_done)) = stack.pop() {
            if is_done {
                order.push(index);
                continue;
            }
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            stack.push((index, true));
            let function = &program.functions[index];
            let called =
                function.function.callees.iter().filter_map(|callee| {
                    program.functions.iter().position(|other| other.name == callee.name)
                });
            stack.extend(called.chain(function.attributes.patch_function).map(|index| (index, false)));
        }
    }
    order
}

fn line(text: &str) -> Line {
    Line { text: text.to_owned(), addresses: Vec::new() }
}
