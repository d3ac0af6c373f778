//! Functions: what is computed before printing, and statements.

use super::declaration::{Naming, UsedTypes};
use super::expression::Text;
use super::names::Names;
use super::places::{self};
use super::signs;
use super::spelling::{Kind, kind};
use crate::Line;
use crate::counted;
use crate::edges;
use crate::ir::dominators::Graph;
use crate::ir::hash::FastMap;
use crate::ir::metal::interface::{GlobalKind, MetalFunction, MetalProgram};
use crate::ir::metal::types::{IntegerSign, ValueType};
use crate::ir::{BlockId, Function, NO_ADDRESS, Op, SymbolId, TypeId, ValueId, ValueMap};
use crate::pass;
use crate::placement::{self, Scopes};
use crate::schedule::{self, Schedule};
use crate::statements::{Output, StatementPrinter};
use crate::structure::{Statement, Structurer};
use crate::tidy;
use crate::variables::Variables;
use std::collections::BTreeSet;

pub(super) use super::places::Places;

/// A printed function.
pub(super) struct Printed {
    pub(super) lines: Vec<Line>,
    pub(super) unknown: Vec<String>,
    pub(super) gotos: usize,
    pub(super) casts: usize,
}

/// Prints one function.
pub(super) struct Printer<'p> {
    pub(super) program: &'p MetalProgram,
    pub(super) naming: &'p Naming,
    pub(super) info: &'p MetalFunction,
    pub(super) function: &'p Function,
    pub(super) places: &'p Places<'p>,
    /// Whether integers are signed.
    pub(super) signs: ValueMap<bool>,
    pub(super) schedule: &'p Schedule,
    pub(super) variables: &'p Variables,
    pub(super) names: Names,
    pub(super) unknown: Vec<String>,
    pub(super) casts: usize,
    pub(super) used: &'p mut UsedTypes,
    /// Names of parameters.
    pub(super) parameters: Vec<String>,
    /// Names of variables in memory, by their symbol.
    pub(super) symbols: FastMap<SymbolId, String>,
    /// Declarations of these.
    local_lines: Vec<String>,
    /// Parameters that the text needs besides those of the function.
    pub(super) extra: Vec<(&'static str, String)>,
    /// Those of the functions that were printed already.
    pub(super) extras: &'p [Vec<&'static str>],
    value_names: FastMap<ValueId, String>,
    declared: ValueMap<bool>,
    pub(super) output: Output,
    numbers: u32,
}

/// Prints a function of a program.
pub(super) fn print(
    program: &MetalProgram,
    naming: &Naming,
    names: &Names,
    index: usize,
    read_only: &mut [Vec<bool>],
    extras: &mut [Vec<&'static str>],
    used_types: &mut UsedTypes,
) -> Printed {
    let info = &program.functions[index];
    let mut function = info.function.clone();
    let graph = Graph::new(&function);
    edges::merge_edges(&mut function, &graph);
    edges::split_critical_edges(&mut function);
    let graph = Graph::new(&function);
    pass::hoist(&mut function, &graph);
    let used = function.used();
    for block in &mut function.blocks {
        block.phis.retain(|phi| used[*phi]);
    }
    let of_callee = |name: &str| {
        let found = program.function_index(name);
        found.map(|found| read_only[found].clone()).unwrap_or_default()
    };
    // Functions that are declared before have their parameters' types already.
    let own = match read_only[index].is_empty() {
        true => places::read_only(info, &program.types, &of_callee),
        false => read_only[index].clone(),
    };
    read_only[index].clone_from(&own);
    let places = Places::new(program, info, &function, &own);
    let signs = signs::find(&function, &used, &places);
    let schedule = Schedule::new(&function, &graph, &used);
    let can_share = |a: ValueId, b: ValueId| {
        let (x, y) = (&function.values[a], &function.values[b]);
        let same = x.ty == y.ty || (x.width, y.width) == (1, 1) && x.lanes == y.lanes;
        same && places.pointee[a] == places.pointee[b] && places.is_const[a] == places.is_const[b]
    };
    let variables = Variables::new(&function, &graph, &schedule, &can_share);
    let weight = |block: BlockId| schedule.statements[block].len() + variables.copies[block].len();
    let is_preset =
        |block: BlockId| schedule.statements[block].is_empty() && variables.is_preset(&function, block);
    let (statements, gotos) = {
        let mut structurer = Structurer::new(&function, &graph, weight, is_preset);
        (structurer.run(), structurer.gotos)
    };
    let mut names = names.of_function(&|name| uses(&function, name));
    let parameters = info.parameters.iter().enumerate();
    let parameters = parameters
        .map(|(number, parameter)| match parameter.name.as_str() {
            "" => names.take(&format!("a{number}")),
            name => names.take(name),
        })
        .collect();
    let mut printer = Printer {
        program,
        naming,
        info,
        function: &function,
        places: &places,
        signs,
        schedule: &schedule,
        variables: &variables,
        names,
        unknown: Vec::new(),
        casts: 0,
        used: used_types,
        parameters,
        symbols: FastMap::default(),
        local_lines: Vec::new(),
        extra: Vec::new(),
        extras,
        value_names: FastMap::default(),
        declared: ValueMap::filled(false, function.values.len()),
        output: Output::body(),
        numbers: 0,
    };
    printer.find_symbols(&used);
    let lines = printer.run(index, &statements, &own);
    let needed = printer.extra.iter().map(|row| row.0).collect();
    let printed = Printed { lines, unknown: printer.unknown, gotos, casts: printer.casts };
    extras[index] = needed;
    printed
}

/// Functions and types of the library that texts of operators have.
const OPERATORS: [&str; 8] = ["as_type", "select", "isnan", "fabs", "sqrt", "fmod", "fast", "precise"];

/// Returns whether the text of a function may have a name of the library.
fn uses(function: &Function, name: &str) -> bool {
    let is_type = name.ends_with(['2', '3', '4']) && !name.starts_with(['l', 'e']);
    is_type
        || OPERATORS.contains(&name)
        || ["level", "bias", "array", "vec", "atomic", "sampler"].contains(&name)
        || ["simd", "atomic", "mem_", "memory"].iter().any(|start| name.starts_with(start))
        || function.values.iter().any(|value| matches!(value.op, Op::Metal(op) if op.row().name == name))
}

impl Printer<'_> {
    fn run(&mut self, index: usize, statements: &[Statement], read_only: &[bool]) -> Vec<Line> {
        let outer = placement::outer(self, statements);
        outer.iter().for_each(|class| self.declared[*class] = true);
        self.statements(statements);
        if let Some(last) = self.output.lines.last()
            && last.text == "    return;"
        {
            self.output.lines.pop();
        }
        let plain = |text: String| Line { text, addresses: Vec::new() };
        let mut lines: Vec<Line> = self.signature(index, read_only).into_iter().map(plain).collect();
        lines.push(plain("{".into()));
        let locals = std::mem::take(&mut self.local_lines);
        lines.extend(locals.into_iter().map(|text| plain(format!("    {text}"))));
        for class in outer {
            let name = self.name(class);
            let declared = self.declaration(class, &name);
            let value = if self.may_be_unset(class) { self.zero(class) } else { String::new() };
            lines.push(plain(format!("    {declared}{value};")));
        }
        for flag in &self.output.flags {
            lines.push(plain(format!("    bool {flag} = false;")));
        }
        lines.append(&mut self.output.lines);
        lines.push(plain("}".into()));
        counted::declare_counters(&mut lines, &self.output.counters);
        tidy::run(&mut lines, &BTreeSet::new());
        lines
    }

    /// Returns whether a variable may be read before it is set: AIR's undefined values have some bits, but C++ may do
    /// anything then.
    fn may_be_unset(&self, class: ValueId) -> bool {
        let function = self.function;
        let is_undefined = |phi: ValueId| {
            let mut inputs = function.inputs(phi).iter().filter(|input| **input != ValueId::NONE);
            inputs.any(|input| function.op(function.resolve(*input)) == Op::Undefined)
        };
        let phis = function.blocks.iter().flat_map(|block| &block.phis);
        phis.copied().any(|phi| self.variables.of(phi) == class && is_undefined(phi))
    }

    /// Returns an initial value of zeros for the variable of a value.
    fn zero(&self, class: ValueId) -> String {
        match (self.scalar_of(class), self.function.lanes(class)) {
            (_, 2..=4) | (ValueType::Struct(_) | ValueType::Array(..), _) => " = {}".into(),
            (_, 5..) => String::new(),
            (ValueType::Pointer(..), _) => " = nullptr".into(),
            (scalar, _) => format!(" = {}", super::spelling::literal(0, scalar, kind(scalar))),
        }
    }

    /// Returns the lines before the body: the structure of stage inputs, and the function with its parameters.
    fn signature(&mut self, index: usize, read_only: &[bool]) -> Vec<String> {
        let (program, naming) = (self.program, self.naming);
        let mut lines = Vec::new();
        let mut parameters = Vec::new();
        let mut members = Vec::new();
        for (number, parameter) in self.info.parameters.iter().enumerate() {
            let is_const = read_only.get(number) == Some(&true);
            let text = naming.parameter(program, index, number, &self.parameters[number], is_const);
            if parameter.is_stage_input {
                members.push(text);
            } else {
                parameters.push(text);
            }
            self.used.add(&program.types, parameter.ty);
            if parameter.type_name.contains("acceleration") || parameter.type_name.contains("intersection") {
                self.used.includes.insert("metal_raytracing");
            }
        }
        self.used.add(&program.types, self.info.result);
        lines.extend(self.mesh_structures());
        let name = &naming.functions[index];
        if !members.is_empty() {
            lines.push(format!("struct {name}_in"));
            lines.push("{".into());
            lines.extend(members.iter().map(|text| format!("    {text};")));
            lines.push("};".into());
            lines.push(String::new());
            parameters.insert(0, format!("{name}_in in [[stage_in]]"));
        }
        for (attribute, name) in &self.extra {
            let ty = if *attribute == "threads_per_simdgroup" { "uint" } else { "ushort" };
            let attribute =
                if self.info.kind.is_some() { format!(" [[{attribute}]]") } else { String::new() };
            parameters.push(format!("{ty} {name}{attribute}"));
        }
        let head = naming.head(program, self.info, name);
        let mut head: Vec<String> = head.lines().map(str::to_owned).collect();
        let last = head.pop().unwrap_or_default();
        lines.append(&mut head);
        let output = match &self.info.outputs[..] {
            [output] if !matches!(program.types.get(self.info.result), ValueType::Struct(_)) => {
                match output.attribute.as_str() {
                    "" | "position" | "color(0)" => String::new(),
                    attribute => format!(" [[{attribute}]]"),
                }
            }
            _ => String::new(),
        };
        if parameters.len() <= 2 {
            lines.push(format!("{last}({}){output}", parameters.join(", ")));
        } else {
            lines.push(format!("{last}("));
            let count = parameters.len();
            for (index, parameter) in parameters.iter().enumerate() {
                let end = if index + 1 == count { format!("){output}") } else { ",".into() };
                lines.push(format!("    {parameter}{end}"));
            }
        }
        lines
    }

    /// Names the variables in memory that the function uses, and declares them.
    fn find_symbols(&mut self, used: &ValueMap<bool>) {
        let function = self.function;
        for (id, value) in function.values.entries() {
            let Op::Symbol(symbol) = value.op else { continue };
            if !used[id] || function.is_replaced(id) || self.symbols.contains_key(&symbol) {
                continue;
            }
            let text = &function.symbols[symbol];
            let number = text.get(1..).and_then(|number| number.parse::<usize>().ok()).unwrap_or(usize::MAX);
            let types = &self.program.types;
            let name = if text.starts_with('g') {
                let Some(global) = self.program.globals.get(number) else { continue };
                self.used.add(types, global.ty);
                self.used.globals.insert(number);
                let name = self.naming.globals[number].clone();
                if global.kind == GlobalKind::Threadgroup {
                    let declared = self.naming.declare(types, global.ty, &name);
                    self.local_lines.insert(0, format!("threadgroup {declared};"));
                }
                name
            } else {
                let Some(local) = self.info.locals.get(number) else { continue };
                self.used.add(types, local.ty);
                let name = self.names.take(if local.name.is_empty() { "local" } else { &local.name });
                let declared = match types.pointee(local.ty) {
                    Some((space, pointee)) => {
                        self.naming.declare_pointer(types, space, pointee, false, &name)
                    }
                    None => self.naming.declare(types, self.naming.unwrapped(types, local.ty), &name),
                };
                self.local_lines.push(format!("{declared};"));
                name
            };
            self.symbols.insert(symbol, name);
        }
    }

    /// Adds a line.
    pub(super) fn line(&mut self, text: &str) {
        self.output.line(text);
    }

    /// Says that the next line comes from the instruction of a value.
    pub(super) fn comes_from(&mut self, id: ValueId) {
        let address = self.function.values[id].address;
        if address != NO_ADDRESS {
            self.output.addresses.push(address);
        }
    }

    /// Returns whether a value has a variable.
    pub(super) fn has_variable(&self, id: ValueId) -> bool {
        if matches!(self.function.op(id), Op::Phi) {
            return true;
        }
        !self.schedule.inline[id] && !schedule::is_leaf(self.function, id) && self.function.width(id) > 0
    }

    /// Returns the name of the variable of a value.
    pub(super) fn name(&mut self, id: ValueId) -> String {
        let class = self.variables.of(id);
        if let Some(name) = self.value_names.get(&class) {
            return name.clone();
        }
        let is_counter = self.function.op(class) == Op::Phi && self.kind_of(class).is_integer();
        let wanted = if is_counter {
            ["i", "j", "k", "n"][(self.numbers as usize).min(3)].to_owned()
        } else {
            format!("v{}", self.value_names.len())
        };
        self.numbers += u32::from(is_counter);
        let name = self.names.take(&wanted);
        self.value_names.insert(class, name.clone());
        name
    }

    /// Returns the scalar type of a value.
    pub(super) fn scalar_of(&self, id: ValueId) -> ValueType {
        let value = &self.function.values[id];
        match value.ty {
            TypeId::NONE if value.width == 1 => ValueType::Bool,
            TypeId::NONE => ValueType::Integer(value.width, IntegerSign::Any),
            ty => self.program.types.scalar(ty),
        }
    }

    /// Returns the kind of number of a value.
    pub(super) fn kind_of(&self, id: ValueId) -> Kind {
        match self.scalar_of(id) {
            ValueType::Integer(..) if self.signs[self.variables.of(id)] => Kind::Signed,
            ty => kind(ty),
        }
    }

    /// Returns the type of a value as text.
    pub(super) fn type_text(&mut self, id: ValueId, kind: Kind) -> String {
        let value = &self.function.values[id];
        let types = &self.program.types;
        match types.pointee(value.ty) {
            Some((space, _)) => {
                self.used.add(types, self.places.pointee[id]);
                self.naming.pointer_name(types, space, self.places.pointee[id], self.places.is_const[id])
            }
            None if value.ty == TypeId::NONE => {
                let scalar = match self.scalar_of(id) {
                    ValueType::Bool => "bool",
                    _ => super::spelling::integer(value.width, kind == Kind::Signed),
                };
                if value.lanes > 1 { format!("{scalar}{}", value.lanes) } else { scalar.into() }
            }
            None => {
                self.used.add(types, value.ty);
                self.naming.type_name(types, value.ty, kind == Kind::Signed)
            }
        }
    }

    /// Returns the declaration of the variable of a value.
    fn declaration(&mut self, id: ValueId, name: &str) -> String {
        let class = self.variables.of(id);
        let kind = self.kind_of(class);
        super::spelling::named(&self.type_text(class, kind), name)
    }

    /// Prints the values of a block, and sets the phis after it.
    pub(super) fn values(&mut self, block: BlockId) {
        let schedule = self.schedule;
        let list = &schedule.statements[block];
        let mut at = 0;
        while let Some(&id) = list.get(at) {
            let members = self.mesh_members(&list[at..]);
            if members == 0 {
                self.item(id);
            }
            at += members.max(1);
        }
        self.copies(block);
    }

    /// Prints a statement: an effect, or a value with a variable.
    fn item(&mut self, id: ValueId) {
        let function = self.function;
        self.comes_from(id);
        match function.op(id) {
            Op::Unlifted(note) => {
                let text = function.notes[note].clone();
                self.unknown.push(text.clone());
                self.line(&format!("// {}", text.escape_debug()));
                if self.schedule.uses[id] > 0 && function.width(id) > 0 {
                    self.declare(id);
                }
            }
            Op::Store(_) => self.store(id),
            Op::Return => self.return_statement(id),
            Op::Metal(op) if self.metal_statement(id, op) => {}
            Op::InsertLane if self.is_variable_used(id) => self.insert_lane(id),
            _ => self.set(id),
        }
    }

    fn return_statement(&mut self, id: ValueId) {
        let input = self.function.input(id, 0);
        let kind = kind(self.program.types.scalar(self.info.result));
        let text = if kind.is_integer() { self.value(input, kind, 0) } else { self.any(input, 0) };
        self.line(&format!("return {text};"));
    }

    fn store(&mut self, id: ValueId) {
        let function = self.function;
        let (pointer, value) = (function.input(id, 0), function.input(id, 1));
        if function.op(value) == Op::Undefined {
            return;
        }
        if let ValueType::Array(_, count) = self.program.types.get(function.values[value].ty) {
            return self.store_array(pointer, value, count);
        }
        let target = match function.values[id].is_volatile {
            true => self.volatile_place(pointer).text,
            false => self.place(pointer).text,
        };
        let declared = self.program.types.scalar(self.places.pointee[pointer]);
        let text = match (kind(declared), self.kind_of(value)) {
            // A truth in memory.
            (Kind::Bool, Kind::Signed | Kind::Unsigned) => self.truth_of_byte(value),
            (_, Kind::Signed | Kind::Unsigned) if function.lanes(value) == 1 => self.loose(value).text,
            (wanted @ (Kind::Signed | Kind::Unsigned), Kind::Signed | Kind::Unsigned) => {
                self.value(value, wanted, 0)
            }
            _ => {
                let stored = self.places.pointee[pointer];
                let pointee = self.program.types.pointee(stored).map_or(stored, |found| found.1);
                self.pointer_as(value, pointee, 0)
            }
        };
        self.line(&format!("{target} = {text};"));
    }

    /// Prints a store of an array, element by element.
    fn store_array(&mut self, pointer: ValueId, value: ValueId, count: u64) {
        let function = self.function;
        let target = self.place(pointer).wrapped(super::expression::precedence::POSTFIX);
        let ty = function.values[value].ty;
        let ValueType::Array(element, _) = self.program.types.get(ty) else { return };
        let source = match function.op(value) {
            Op::Aggregate if function.inputs(value).is_empty() => {
                let scalar = self.program.types.get(element);
                match scalar {
                    ValueType::Struct(_) | ValueType::Vector(..) | ValueType::Array(..) => "{}".to_owned(),
                    scalar => super::spelling::literal(0, scalar, kind(scalar)),
                }
            }
            Op::Aggregate => {
                for index in 0..function.inputs(value).len() {
                    let text = self.any(function.input(value, index), 0);
                    self.line(&format!("{target}[{index}] = {text};"));
                }
                return;
            }
            Op::Load(_) if !self.has_variable(value) => {
                let place = self.place(function.input(value, 0));
                format!("{}[i_]", place.wrapped(super::expression::precedence::POSTFIX))
            }
            _ => {
                self.unknown.push("an array as a value".into());
                return;
            }
        };
        self.copy_elements(&target, &source, element, count);
    }

    /// Sets a variable to an array in memory or in a structure, element by element: arrays of C are no values. Returns whether
    /// the value is one.
    fn copy_array(&mut self, id: ValueId) -> bool {
        let function = self.function;
        let ValueType::Array(element, count) = self.program.types.get(function.values[id].ty) else {
            return false;
        };
        let least = super::expression::precedence::POSTFIX;
        let source = match function.op(id) {
            Op::Load(_) => self.place(function.input(id, 0)).wrapped(least),
            Op::Result(_) => self.computed(id).wrapped(least),
            _ => return false,
        };
        self.declare(id);
        let name = self.name(id);
        self.copy_elements(&name, &format!("{source}[i_]"), element, count);
        true
    }

    /// Sets all elements of an array to a text, in which `i_` is the index.
    fn copy_elements(&mut self, target: &str, source: &str, element: TypeId, count: u64) {
        if matches!(self.program.types.get(element), ValueType::Array(..)) {
            self.unknown.push("a copy of an array of arrays".into());
        }
        self.line(&format!("for (uint i_ = 0; i_ < {count}; i_++)"));
        self.line("{");
        self.output.indent += 1;
        self.line(&format!("{target}[i_] = {source};"));
        self.output.indent -= 1;
        self.line("}");
    }

    fn is_variable_used(&self, id: ValueId) -> bool {
        self.schedule.uses[id] > 0 && self.function.width(id) > 0
    }

    /// Prints the replacement of a lane of a vector by a computed index.
    fn insert_lane(&mut self, id: ValueId) {
        let [vector, index, lane] = [0, 1, 2].map(|index| self.function.input(id, index));
        let index = self.index(index);
        let lane = self.any(lane, 0);
        let old = self.any(vector, 0);
        let kept = self.names.take("lane");
        let is_read = self.reads_text(&lane, id);
        if is_read {
            self.line(&format!("auto {kept} = {lane};"));
        }
        self.assign(id, &old);
        let name = self.name(id);
        let lane = if is_read { kept } else { lane };
        let member = if self.function.lanes(id) == 64 { ".thread_elements()" } else { "" };
        self.line(&format!("{name}{member}[{index}] = {lane};"));
    }

    fn reads_text(&mut self, text: &str, id: ValueId) -> bool {
        let name = self.name(id);
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name)
    }

    /// Prints a value as an assignment to its variable, or as a call without a result.
    fn set(&mut self, id: ValueId) {
        let is_used = self.is_variable_used(id);
        if !is_used && !self.function.is_kept(id) {
            return;
        }
        if is_used && self.copy_array(id) {
            return;
        }
        let text = self.computed(id);
        let text = self.definition(text, id);
        if !is_used {
            self.line(&format!("{text};"));
            return;
        }
        self.assign(id, &text);
    }

    /// Returns a text as the value of a variable: conversions of scalars are implicit.
    pub(super) fn definition(&mut self, text: Text, id: ValueId) -> String {
        let kind = self.kind_of(id);
        if self.function.lanes(id) == 1 || !kind.is_integer() || text.kind == kind {
            return text.text;
        }
        self.converted(text, kind, id).text
    }

    /// Sets the variable of a value, which is declared there unless it is already.
    pub(super) fn assign(&mut self, id: ValueId, text: &str) {
        let class = self.variables.of(id);
        let name = self.name(id);
        if name == text {
            return;
        }
        if std::mem::replace(&mut self.declared[class], true) {
            self.line(&format!("{name} = {text};"));
        } else {
            let declared = self.declaration(id, &name);
            self.line(&format!("{declared} = {text};"));
        }
    }

    /// Declares the variable of a value on a line of its own, unless it is declared already.
    pub(super) fn declare(&mut self, id: ValueId) {
        let class = self.variables.of(id);
        if !std::mem::replace(&mut self.declared[class], true) {
            let name = self.name(id);
            let declared = self.declaration(id, &name);
            self.line(&format!("{declared};"));
        }
    }

    /// Assigns the variables of the phis after a block.
    fn copies(&mut self, block: BlockId) {
        let mut left: Vec<(ValueId, ValueId)> = self.variables.copies[block].clone();
        while !left.is_empty() {
            // A variable is set when no other copy reads it any more.
            let free = left.iter().position(|(phi, _)| {
                let class = self.variables.of(*phi);
                left.iter().all(|(other, input)| other == phi || !self.reads(*input, class))
            });
            if let Some(index) = free {
                let (phi, input) = left.remove(index);
                self.copy(phi, input);
                continue;
            }
            // A cycle: one variable's old value is kept.
            let (phi, _) = left[0];
            let kept = self.names.take("kept");
            let name = self.name(phi);
            let declared = self.declaration(phi, &kept);
            self.line(&format!("{declared} = {name};"));
            let (phi, input) = left.remove(0);
            self.copy(phi, input);
            let class = self.variables.of(phi);
            let old = self.value_names.insert(class, kept);
            for (phi, input) in std::mem::take(&mut left) {
                if self.reads(input, class) { self.copy(phi, input) } else { left.push((phi, input)) }
            }
            if let Some(old) = old {
                self.value_names.insert(class, old);
            }
        }
    }

    fn copy(&mut self, phi: ValueId, input: ValueId) {
        self.comes_from(phi);
        let kind = self.kind_of(phi);
        let text = match kind {
            Kind::Signed | Kind::Unsigned if self.function.lanes(phi) == 1 => {
                match self.function.number(input) {
                    Some(number) => super::spelling::literal(number, self.scalar_of(phi), kind),
                    None => self.loose(input).text,
                }
            }
            Kind::Signed | Kind::Unsigned => self.value(input, kind, 0),
            _ => self.typed_as(input, phi, 0),
        };
        let name = self.name(phi);
        self.line(&format!("{name} = {text};"));
    }

    fn reads(&self, id: ValueId, class: ValueId) -> bool {
        let mut found = false;
        self.each_variable(id, &mut |variable| found |= self.variables.of(variable) == class);
        found
    }
}

impl Scopes for Printer<'_> {
    fn function(&self) -> &Function {
        self.function
    }

    fn schedule(&self) -> &Schedule {
        self.schedule
    }

    fn variables(&self) -> &Variables {
        self.variables
    }

    fn each_variable(&self, root: ValueId, visit: &mut dyn FnMut(ValueId)) {
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if self.has_variable(id) {
                visit(id);
                continue;
            }
            for index in 0..self.function.inputs(id).len() {
                let input = self.function.input(id, index);
                if input != ValueId::NONE {
                    stack.push(input);
                }
            }
        }
    }
}
