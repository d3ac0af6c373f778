//! Prints programs in the Metal Shading Language.
//!
//! | module | thing |
//! |---|---|
//! | `bounds` | conditions of counted loops |
//! | `places` | what pointers point to, and whether it may be written |
//! | `signs` | signs of integers |
//! | `handles` | types of textures that helper functions take |
//! | `declaration` | structures, variables, parameters and results with their attributes |
//! | `function` | functions: signatures, variables, assignments |
//! | `statement` | statements, as Metal has them |
//! | `expression` | expressions, with conversions between numbers |
//! | `composite` | vectors, structures, arrays, calls |
//! | `address` | pointers as names with indices and members |
//! | `operation` | operations of the library |
//! | `texture` | textures and samplers |
//! | `mesh` | vertices and primitives of meshes |
//! | `spelling` | texts of types and numbers |
//! | `names` | identifiers that are free |
//!
//! Knowledge: Apple's Metal Shading Language specification, and sources of functions beside what Apple's compiler made of
//! them.

mod address;
mod bounds;
mod composite;
mod declaration;
mod expression;
mod function;
mod handles;
mod mesh;
mod names;
mod operation;
mod places;
mod signs;
mod spelling;
mod statement;
#[cfg(test)]
mod tests;
mod texture;

use crate::Line;
use crate::ir::dominators::Graph;
use crate::ir::metal::interface::{MetalFunction, MetalProgram};
use crate::pass;
use names::Names;
use std::collections::BTreeSet;
use std::ops::Range;

/// A program in Metal.
#[derive(Clone, Debug, Default)]
pub struct Metal {
    /// The text. Addresses are numbers of instructions.
    pub lines: Vec<Line>,
    /// What has no form in the language, with the number of times.
    pub unknown: Vec<String>,
    /// Number of `goto` statements.
    pub gotos: usize,
    /// Number of casts.
    pub casts: usize,
    /// The functions with code, in the order of the text.
    pub functions: Vec<PrintedFunction>,
}

/// Where a function is in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedFunction {
    /// Its number among the functions of the module.
    pub number: u32,
    /// Its name as in the module.
    pub name: String,
    /// Its lines.
    pub lines: Range<usize>,
    /// How many things in it have no form in the language.
    pub unknown: usize,
}

impl Metal {
    /// Returns what has no form in the language, each kind once, in the order of the alphabet.
    pub fn unknown_kinds(&self) -> BTreeSet<&str> {
        self.unknown.iter().map(String::as_str).collect()
    }

    /// Returns the whole text.
    pub fn text(&self) -> String {
        crate::text_of(&self.lines)
    }
}

/// Maximum number of passes over loops: a loop that contained another one is transformed in the next pass.
const MAX_NESTED: usize = 4;

/// Runs the passes on a function.
fn simplify(function: &mut MetalFunction) {
    let function = &mut function.function;
    if function.blocks.is_empty() {
        return;
    }
    pass::sweep(function);
    for _ in 0..MAX_NESTED {
        pass::graph::clean(function);
        function.settle();
        pass::sweep(function);
        let graph = Graph::new(function);
        pass::hoist(function, &graph);
        bounds::run(function, &graph);
        if !pass::loops::run(function, &graph) {
            break;
        }
    }
    function.settle();
    pass::sweep(function);
    let graph = Graph::new(function);
    pass::hoist(function, &graph);
}

/// Prints a program that a front end lifted.
pub fn print(mut program: MetalProgram) -> Metal {
    program.functions.iter_mut().for_each(simplify);
    let order = print_order(&program);
    handles::name(&mut program, &order);
    let mut names = Names::global();
    let naming = declaration::Naming::new(&program, &mut names);
    let mut metal = Metal { unknown: program.missing.clone(), ..Metal::default() };
    let mut bodies: Vec<Line> = Vec::new();
    let mut read_only: Vec<Vec<bool>> = vec![Vec::new(); program.functions.len()];
    let mut extras: Vec<Vec<&'static str>> = vec![Vec::new(); program.functions.len()];
    let early = called_early(&program, &order);
    for &index in &early {
        read_only[index] = vec![false; program.functions[index].parameters.len()];
        bodies.extend(naming.prototype(&program, index, &[]).lines().map(line));
    }
    let mut used = declaration::UsedTypes::default();
    for index in order {
        let function = &program.functions[index];
        if !bodies.is_empty() {
            bodies.push(line(""));
        }
        // Code that can't be read is named at the start of the text.
        if function.is_declared || function.function.blocks.is_empty() {
            bodies.extend(naming.prototype(&program, index, &[]).lines().map(line));
            continue;
        }
        let printed =
            function::print(&program, &naming, &names, index, &mut read_only, &mut extras, &mut used);
        metal.gotos += printed.gotos;
        metal.casts += printed.casts;
        let start = bodies.len();
        bodies.extend(printed.lines);
        metal.functions.push(PrintedFunction {
            number: function.number,
            name: function.name.clone(),
            lines: start..bodies.len(),
            unknown: printed.unknown.len(),
        });
        metal.unknown.extend(printed.unknown);
        if early.contains(&index) && !extras[index].is_empty() {
            metal.unknown.push("what the hardware knows, in a recursive function".into());
        }
    }
    let mut head = vec![line("#include <metal_stdlib>")];
    head.extend(used.includes.iter().map(|name| line(&format!("#include <{name}>"))));
    head.extend([line(""), line("using namespace metal;"), line("")]);
    if program.has_fast_math {
        head.extend([line("#pragma METAL fp math_mode(fast)"), line("")]);
    }
    // Memory that is accessed as two types.
    head.extend(
        used.aliases
            .iter()
            .map(|(name, plain)| line(&format!("typedef {plain} {name} __attribute__((may_alias));"))),
    );
    if !used.aliases.is_empty() {
        head.push(line(""));
    }
    head.extend(
        program.missing.iter().map(|what| line(&format!("// not in this text: {}", what.escape_debug()))),
    );
    let declared = naming.declarations(&program, &used, &mut metal.unknown);
    head.extend(declared.iter().map(|text| line(text)));
    for function in &mut metal.functions {
        function.lines = function.lines.start + head.len()..function.lines.end + head.len();
    }
    metal.lines = head;
    metal.lines.extend(bodies);
    metal
}

/// Returns the functions in the order in which they are printed: each after those that it calls.
fn print_order(program: &MetalProgram) -> Vec<usize> {
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
            stack.extend(called(program, index).map(|index| (index, false)));
        }
    }
    order
}

/// Returns the functions of the program that a function calls.
fn called(program: &MetalProgram, index: usize) -> impl Iterator<Item = usize> {
    let callees = program.functions[index].function.callees.iter();
    callees.filter_map(|callee| program.function_index(&callee.name))
}

/// Returns the functions that one before them in the order calls: functions that call each other.
fn called_early(program: &MetalProgram, order: &[usize]) -> BTreeSet<usize> {
    let mut printed = vec![false; program.functions.len()];
    let mut early = BTreeSet::new();
    for &index in order {
        printed[index] = true;
        early.extend(
            called(program, index)
                .filter(|callee| !printed[*callee] && !program.functions[*callee].is_declared),
        );
    }
    early
}

fn line(text: &str) -> Line {
    Line { text: text.to_owned(), addresses: Vec::new() }
}
