//! Functions: what is computed before printing, and statements.

use super::declaration::Naming;
use super::declared::{declared, place_type};
use super::element_copy::ElementCopy;
use super::expression::precedence as p;
use super::matrix_value::{self, Matrices};
use super::names::Names;
use super::sequence::Element;
use super::signature::{self, Interface};
use super::spelling::Helper;
use super::{scopes, source_names};
use crate::Line;
use crate::counted;
use crate::edges;
use crate::ir::dominators::Graph;
use crate::ir::hash::FastMap;
use crate::ir::shader::data_type::{DataType, ScalarKind};
use crate::ir::shader::interface::{ShaderFunction, ShaderProgram};
use crate::ir::shader::{OperandKind, ShaderOp};
use crate::ir::{BlockId, Function, Op, ValueId, ValueMap};
use crate::pass;
use crate::placement::{self, Scopes};
use crate::schedule::{self, Schedule, TopTested};
use crate::shader::kinds::{self, Kind};
use crate::shader::users::Users;
use crate::statements::{Output, StatementPrinter};
use crate::structure::{Statement, Structurer};
use crate::tidy;
use crate::variables::Variables;
use std::collections::BTreeSet;

/// A printed function.
pub(super) struct Printed {
    pub(super) lines: Vec<Line>,
    pub(super) unknown: Vec<String>,
    pub(super) helpers: Vec<Helper>,
    pub(super) gotos: usize,
}

/// Prints one function.
pub(super) struct Printer<'p> {
    pub(super) program: &'p ShaderProgram,
    pub(super) naming: &'p Naming,
    pub(super) info: &'p ShaderFunction,
    pub(super) function: &'p Function,
    pub(super) kinds: ValueMap<ScalarKind>,
    /// The values that are matrices.
    pub(super) matrices: Matrices,
    pub(super) schedule: &'p Schedule,
    pub(super) variables: &'p Variables,
    pub(super) names: Names,
    pub(super) interface: Interface,
    /// What the language has no form for, in the order of the text.
    pub(super) unknown: Vec<String>,
    /// Number of these that the text names.
    named: usize,
    pub(super) helpers: Vec<Helper>,
    /// Objects of the descriptor heap that have a name, by type and index.
    pub(super) heap_objects: FastMap<String, String>,
    /// The elements of buffers that are being appended or consumed, by their numbers.
    pub(super) elements: FastMap<ValueId, Element>,
    /// The loads that are members of copies of elements.
    pub(super) copies: FastMap<ValueId, ElementCopy>,
    pub(super) users: Users,
    /// Lines that must precede the current one.
    pub(super) pending: Vec<String>,
    /// The variables that take the status of accesses.
    pub(super) status_of: FastMap<ValueId, String>,
    value_names: FastMap<ValueId, String>,
    /// The variables whose values have no effects, and that nothing else sets.
    pure: BTreeSet<String>,
    /// What the source code calls the variables of values.
    source_names: FastMap<ValueId, String>,
    /// Variables that are declared already.
    pub(super) declared: ValueMap<bool>,
    used: ValueMap<bool>,
    pub(super) output: Output,
}

/// Returns the name of a function without the mangling of MSVC: `?shade@@YAMM@Z` is `shade`.
pub(super) fn plain_name(name: &str) -> String {
    let name = name.trim_start_matches('\u{1}');
    match name.strip_prefix('?') {
        Some(rest) => rest.split('@').next().unwrap_or(rest).to_owned(),
        None => name.to_owned(),
    }
}

/// Prints a function of a program.
pub(super) fn print(program: &ShaderProgram, naming: &Naming, names: &Names, index: usize) -> Printed {
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
    let declared_kind = |id: ValueId| declared(program, info, naming, &function, id);
    let kinds = super::legacy::known_kinds(program, &function, &declared_kind)
        .unwrap_or_else(|| kinds::find(&function, &declared_kind));
    let matrices = matrix_value::find(program, info, &function, &used);
    let top_tested = match program.model {
        _ if super::legacy::is_legacy(program) => TopTested::All,
        (6.., _) => TopTested::Found,
        _ => TopTested::Unknown,
    };
    let schedule = Schedule::of_loops(&function, &graph, &used, top_tested);
    let can_share = |a: ValueId, b: ValueId| {
        function.width(a) == function.width(b)
            && function.lanes(a) == function.lanes(b)
            && matrices.get(&a) == matrices.get(&b)
            && (kinds[a] == kinds[b] || kinds[a] != ScalarKind::Float && kinds[b] != ScalarKind::Float)
    };
    let variables = Variables::new(&function, &graph, &schedule, &can_share);
    let weight = |block: BlockId| schedule.statements[block].len() + variables.copies[block].len();
    let is_preset =
        |block: BlockId| schedule.statements[block].is_empty() && variables.is_preset(&function, block);
    let (statements, gotos) = {
        let mut structurer = Structurer::new(&function, &graph, weight, is_preset);
        (structurer.run(), structurer.gotos)
    };
    let mut names = names.of_function();
    let interface = signature::interface(program, naming, &mut names, index);
    let mut printer = Printer {
        program,
        naming,
        info,
        function: &function,
        kinds,
        matrices,
        schedule: &schedule,
        variables: &variables,
        names,
        interface,
        unknown: Vec::new(),
        named: 0,
        helpers: Vec::new(),
        heap_objects: FastMap::default(),
        elements: FastMap::default(),
        copies: FastMap::default(),
        users: Users::default(),
        pending: Vec::new(),
        status_of: FastMap::default(),
        value_names: FastMap::default(),
        source_names: FastMap::default(),
        pure: BTreeSet::new(),
        declared: ValueMap::filled(false, function.values.len()),
        used,
        output: Output::body(),
    };
    printer.unknown.append(&mut printer.interface.missing);
    printer.find_status();
    printer.find_copies();
    printer.source_names =
        source_names::find(&info.names, &function, &variables, |id| printer.has_variable(id));
    printer.check_lanes();
    let lines = printer.run(&statements);
    Printed { lines, unknown: printer.unknown, helpers: printer.helpers, gotos }
}

impl Printer<'_> {
    fn run(&mut self, statements: &[Statement]) -> Vec<Line> {
        let outer = placement::outer(self, statements);
        outer.iter().for_each(|class| self.declared[*class] = true);
        self.statements(statements);
        if self.interface.result.is_some()
            && self.output.lines.last().is_none_or(|line| line.text.trim() != self.return_text())
        {
            let text = self.return_text();
            self.line(&text);
        }
        for comment in self.unnamed("") {
            self.line(&comment);
        }
        let plain = |text: &str| Line { text: text.to_owned(), addresses: Vec::new() };
        let mut lines: Vec<Line> =
            self.interface.structs.iter().chain(&self.interface.head).map(|text| plain(text)).collect();
        lines.push(plain("{"));
        for text in &self.interface.prologue {
            lines.push(plain(&format!("    {text}")));
        }
        let precise_variables = self.precise_variables();
        for class in outer {
            let ty = self.variable_type(class);
            let name = self.name(class);
            let precise = if precise_variables.contains(&class) { "precise " } else { "" };
            lines.push(plain(&format!("    {precise}{ty} {name};")));
        }
        for variable in self.local_variables() {
            lines.push(plain(&format!("    {variable};")));
        }
        let mut status: Vec<&String> = self.status_of.values().collect();
        status.sort();
        for name in status {
            lines.push(plain(&format!("    uint {name} = 0;")));
        }
        for flag in &self.output.flags {
            lines.push(plain(&format!("    bool {flag} = false;")));
        }
        lines.append(&mut self.output.lines);
        lines.push(plain("}"));
        counted::declare_counters(&mut lines, &self.output.counters);
        scopes::declare_outside(&mut lines, &self.element_names());
        scopes::return_at_once(&mut lines);
        scopes::declare_where_set(&mut lines);
        if !super::legacy::is_legacy(self.program) {
            tidy::run(&mut lines, &self.pure);
        }
        lines
    }

    /// Reports vectors that shader models before 6.9 lack, where they are no matrices.
    fn check_lanes(&mut self) {
        let is_long = |id: ValueId| {
            let is_row = matches!(self.function.op(id), Op::Shader(ShaderOp::LoadConstant) | Op::Undefined);
            let is_named = self.matrices.contains_key(&id) || is_row;
            self.used[id] && !self.function.is_replaced(id) && self.function.lanes(id) > 4 && !is_named
        };
        if self.program.model < (6, 9) && self.function.values.keys().any(is_long) {
            self.unknown.push("a matrix as a vector".into());
        }
    }

    /// Names the variables for the status of accesses.
    fn find_status(&mut self) {
        for (id, value) in self.function.values.entries() {
            if matches!(value.op, Op::Result(1)) && self.used[id] && !self.function.is_replaced(id) {
                let access = self.function.input(id, 0);
                if !self.status_of.contains_key(&access) {
                    let name = self.names.take("status");
                    self.status_of.insert(access, name);
                }
            }
        }
    }

    /// Returns the declarations of the variables of the thread that the function uses.
    fn local_variables(&self) -> Vec<String> {
        let places =
            self.function.values.keys().filter(|value| {
                self.used[*value] && self.function.op(*value) == Op::Shader(ShaderOp::Variable)
            });
        let here: BTreeSet<u64> =
            places.filter_map(|place| self.function.number(self.function.input(place, 0))).collect();
        let mut declared = Vec::new();
        for (id, variable) in self.program.variables.entries() {
            let is_local = variable.space == crate::ir::shader::interface::VariableSpace::Thread;
            if is_local && here.contains(&u64::from(id.number())) {
                declared.push(self.naming.declare(&variable.ty, self.naming.variable(id)));
            }
        }
        declared
    }

    pub(super) fn return_text(&self) -> String {
        match &self.interface.result {
            Some(result) => format!("return {result};"),
            None => "return;".into(),
        }
    }

    /// Adds a line, after those that must precede it.
    pub(super) fn line(&mut self, text: &str) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend(self.unnamed(text));
        let addresses = std::mem::take(&mut self.output.addresses);
        for text in pending.iter().map(String::as_str).chain([text]) {
            self.output.addresses.clone_from(&addresses);
            self.output.line(text);
        }
    }

    /// Returns comments that name what a line, or the code before it, has no form for.
    fn unnamed(&mut self, text: &str) -> Vec<String> {
        let unnamed = self.unknown[self.named..].iter().filter(|what| !text.contains(what.as_str()));
        let comments = unnamed.map(|what| format!("// no HLSL for {what}")).collect();
        self.named = self.unknown.len();
        comments
    }

    /// Returns whether a value has a variable.
    pub(super) fn has_variable(&self, id: ValueId) -> bool {
        if matches!(self.function.op(id), Op::Phi) {
            return true;
        }
        !self.schedule.inline[id]
            && !self.copies.contains_key(&id)
            && !schedule::is_leaf(self.function, id)
            && self.function.width(id) > 0
    }

    /// Returns the name of the variable of a value.
    pub(super) fn name(&mut self, id: ValueId) -> String {
        let class = self.variables.of(id);
        if let Some(name) = self.value_names.get(&class) {
            return name.clone();
        }
        if let Some(wanted) = self.source_names.get(&class) {
            let name = self.names.take(wanted);
            self.value_names.insert(class, name.clone());
            return name;
        }
        let wanted = match self.function.op(class) {
            Op::Phi if self.kinds[class] != ScalarKind::Float && self.function.lanes(class) == 1 => "n",
            Op::Shader(ShaderOp::Dimensions) => "size",
            Op::Shader(ShaderOp::NewRayQuery) => "query",
            Op::Shader(ShaderOp::AllocateRecords) => "records",
            _ => "v",
        };
        let name = self.names.take(&format!("{wanted}{}", self.value_names.len()));
        self.value_names.insert(class, name.clone());
        name
    }

    /// Returns the type of the variable of a value.
    pub(super) fn variable_type(&mut self, id: ValueId) -> String {
        match self.function.op(id) {
            Op::Shader(ShaderOp::Dimensions) => "uint4".into(),
            Op::Shader(ShaderOp::NewRayQuery) => self.query_type(id),
            Op::Shader(ShaderOp::AllocateRecords) => self.records_type(id),
            _ if self.is_hit_object(id) => super::hit_object::HIT_OBJECT.into(),
            _ => {
                if let Some(matrix) = self.matrix_type(id) {
                    return matrix;
                }
                let class = self.variables.of(id);
                self.type_of(self.kinds[class], self.function.width(id), self.function.lanes(id))
            }
        }
    }

    /// Returns whether the variable of a value is declared already.
    pub(super) fn is_declared(&self, id: ValueId) -> bool {
        self.declared[self.variables.of(id)]
    }

    /// Returns the type at a place.
    pub(super) fn place_type(&self, place: ValueId) -> Option<&DataType> {
        place_type(self.program, self.info, self.function, place, 0)
    }

    /// Sets the variable of a value, which is declared there unless it is already.
    pub(super) fn assign(&mut self, id: ValueId, text: &str) {
        let class = self.variables.of(id);
        let name = self.name(id);
        if std::mem::replace(&mut self.declared[class], true) {
            self.line(&format!("{name} = {text};"));
        } else {
            let ty = self.variable_type(id);
            self.line(&format!("{ty} {name} = {text};"));
        }
    }

    /// Declares the variable of a value on a line of its own, unless it is declared already.
    pub(super) fn declare(&mut self, id: ValueId) {
        let class = self.variables.of(id);
        if !std::mem::replace(&mut self.declared[class], true) {
            let name = self.name(id);
            let ty = self.variable_type(id);
            self.line(&format!("{ty} {name};"));
        }
    }

    /// Returns the opposite of a condition.
    pub(super) fn negated(&mut self, id: ValueId) -> String {
        let function = self.function;
        let bool = Kind::Known(ScalarKind::Bool);
        if !self.has_variable(id) {
            if function.op(id) == Op::BoolNot {
                return self.value(function.input(id, 0), bool, 0);
            }
            if let Some((_, text)) = self.opposite(id) {
                return text;
            }
        }
        format!("!{}", self.value(id, bool, p::UNARY))
    }

    /// Returns the opposite of a comparison as a comparison.
    fn opposite(&mut self, id: ValueId) -> Option<(Op, String)> {
        let op = self.function.op(id);
        let operator = match op {
            Op::Equal => "!=",
            Op::NotEqual => "==",
            Op::Less | Op::SignedLess => ">=",
            Op::LessEqual | Op::SignedLessEqual => ">",
            _ => return None,
        };
        let text = self.value(id, Kind::Known(ScalarKind::Bool), 0);
        let old = match op {
            Op::Equal => " == ",
            Op::NotEqual => " != ",
            Op::Less | Op::SignedLess => " < ",
            _ => " <= ",
        };
        let (left, right) = split_once_at_top(&text, old)?;
        Some((op, format!("{left} {operator} {right}")))
    }

    /// Prints the values of a block, and sets the phis after it.
    pub(super) fn values(&mut self, block: BlockId) {
        let schedule = self.schedule;
        for &id in &schedule.statements[block] {
            self.item(id);
        }
        self.copies(block);
    }

    /// Prints a statement: an effect, or a value with a variable.
    fn item(&mut self, id: ValueId) {
        let address = self.function.values[id].address;
        if self.copy_statement(id) {
            return;
        }
        if address != crate::ir::NO_ADDRESS {
            self.output.addresses.push(address);
        }
        let function = self.function;
        match function.op(id) {
            Op::Unlifted(note) => {
                let text = function.notes[note].clone();
                self.unknown.push(text.clone());
                self.line(&format!("// {text}"));
                if self.schedule.uses[id] > 0 && function.width(id) > 0 {
                    self.declare(id);
                }
            }
            Op::Store(_) if self.is_aggregate(id) => self.store_aggregate(id),
            Op::Store(_) => {
                let (target, scalar) = self.place(function.input(id, 0));
                let want = scalar.map_or(Kind::Any, |scalar| Kind::Known(scalar.kind));
                let value = match self.matrix_input(id, 1) {
                    Some(matrix) => matrix,
                    None => self.exact(function.input(id, 1), want),
                };
                self.line(&format!("{target} = {value};"));
            }
            Op::Return => {
                let want = self.info.result.as_ref().and_then(DataType::scalar);
                let want = want.map_or(Kind::Any, |scalar| Kind::Known(scalar.kind));
                let value = match self.matrix_input(id, 0) {
                    Some(matrix) => matrix,
                    None => self.exact(function.input(id, 0), want),
                };
                self.line(&format!("return {value};"));
            }
            Op::Shader(op) => {
                if !self.stage_statement(id, op)
                    && !self.resource_statement(id, op)
                    && !self.query_statement(id, op)
                    && !self.node_statement(id, op)
                    && !self.hit_statement(id, op)
                    && !self.lane_statement(id, op)
                {
                    self.set(id);
                }
            }
            _ => self.set(id),
        }
    }

    /// Returns whether a store sets an array or structure to a constant.
    fn is_aggregate(&self, id: ValueId) -> bool {
        let (place, value) = (self.function.input(id, 0), self.function.input(id, 1));
        let ty = self.place_type(place);
        let is_constant = matches!(self.function.op(value), Op::Constant(_) | Op::Undefined);
        let is_part = self.function.op(place) == Op::Shader(ShaderOp::Element);
        is_constant && !is_part && matches!(ty, Some(DataType::Array(..) | DataType::Struct(_)))
    }

    /// Prints a store of zeros to an array or structure; one of an undefined value changes nothing.
    fn store_aggregate(&mut self, id: ValueId) {
        let (place, value) = (self.function.input(id, 0), self.function.input(id, 1));
        if self.function.op(value) == Op::Undefined {
            return;
        }
        let Some(ty) = self.place_type(place).map(|ty| self.naming.type_name(ty)) else { return };
        if self.function.number(value) != Some(0) {
            self.unknown.push("a store of a whole array".into());
        }
        let target = self.place(place).0;
        self.line(&format!("{target} = ({ty})0;"));
    }

    /// Prints a value as an assignment to its variable, or as a call without a result.
    fn set(&mut self, id: ValueId) {
        // DXC fails on new records that have no name.
        let is_named = self.function.op(id) == Op::Shader(ShaderOp::AllocateRecords);
        let is_used = is_named || self.schedule.uses[id] > 0 && self.function.width(id) > 0;
        if !is_used && !self.function.is_kept(id) && !self.status_of.contains_key(&id) {
            return;
        }
        let class = self.variables.of(id);
        let kind = self.kinds[class];
        let text = self.definition(id, Kind::Known(kind));
        if !is_used {
            self.line(&format!("{text};"));
            return;
        }
        let name = self.name(id);
        let is_declared = std::mem::replace(&mut self.declared[class], true);
        if is_declared {
            self.line(&format!("{name} = {text};"));
        } else {
            let precise = if self.is_precise(id) { "precise " } else { "" };
            let ty = self.variable_type(id);
            self.line(&format!("{precise}{ty} {name} = {text};"));
            if !self.function.op(id).is_effect() {
                self.pure.insert(name);
            }
        }
    }

    /// Returns whether the text of a value has operations that must be done as the code says: those of other variables do not
    /// count.
    fn is_precise(&self, id: ValueId) -> bool {
        let mut stack = vec![id];
        let mut count = 0;
        while let Some(at) = stack.pop() {
            let value = &self.function.values[at];
            if value.is_precise && self.function.width(at) > 1 {
                return true;
            }
            count += 1;
            for index in 0..self.function.inputs(at).len() {
                let input = self.function.input(at, index);
                if input != ValueId::NONE && !self.has_variable(input) && count < 1_000 {
                    stack.push(input);
                }
            }
        }
        false
    }

    /// Returns the variables that take a value that is precise.
    fn precise_variables(&self) -> BTreeSet<ValueId> {
        let own = self.function.values.keys().filter(|id| self.used[*id] && self.has_variable(*id));
        own.filter(|&id| {
            if self.function.op(id) == Op::Phi {
                let inputs = self.function.inputs(id).iter().filter(|input| **input != ValueId::NONE);
                return inputs
                    .map(|input| self.function.resolve(*input))
                    .any(|input| !self.has_variable(input) && self.is_precise(input));
            }
            self.is_precise(id)
        })
        .map(|id| self.variables.of(id))
        .collect()
    }

    /// Returns the text of a value that is stored. A precise one is computed in a variable of its own, which says so.
    pub(super) fn exact(&mut self, id: ValueId, want: Kind) -> String {
        let text = self.value(id, want, 0);
        if self.has_variable(id) || !self.is_precise(id) {
            return text;
        }
        let kind = match want {
            Kind::Known(kind) => kind,
            _ => self.kinds[id],
        };
        let name = self.names.take("exact");
        let ty = self.type_of(kind, self.function.width(id), self.function.lanes(id));
        self.line(&format!("precise {ty} {name} = {text};"));
        name
    }

    /// Prints the replacement of a lane of a vector by a computed index. Returns whether it is one.
    fn lane_statement(&mut self, id: ValueId, op: ShaderOp) -> bool {
        if op != ShaderOp::InsertLane {
            return false;
        }
        if self.schedule.uses[id] == 0 {
            return true;
        }
        let [vector, index, lane] = [0, 1, 2].map(|index| self.function.input(id, index));
        let class = self.variables.of(id);
        let want = Kind::Known(self.kinds[class]);
        let index_text = self.value(index, Kind::Known(ScalarKind::Unsigned), 0);
        let mut text = self.value(lane, want, 0);
        // The variable's old contents may be a part of the new lane.
        if self.reads(lane, class) {
            let kept = self.names.take("kept");
            let ty = self.type_of(self.kinds[class], self.function.width(id), 1);
            self.line(&format!("{ty} {kept} = {text};"));
            text = kept;
        }
        let old = self.value(vector, want, 0);
        self.declare(id);
        let name = self.name(id);
        if old != name {
            self.line(&format!("{name} = {old};"));
        }
        self.line(&format!("{name}[{index_text}] = {text};"));
        true
    }

    /// Returns the text that computes a value which has a variable.
    fn definition(&mut self, id: ValueId, want: Kind) -> String {
        if let Some(matrix) = self.computed_matrix(id) {
            return matrix;
        }
        let text = self.computed(id, want);
        if matches!(self.function.op(id), Op::Shader(op) if op.result() == OperandKind::Object) {
            return text.text;
        }
        let (width, lanes) = (self.function.width(id), self.function.lanes(id));
        self.converted(text, want, width, lanes).text
    }

    /// Assigns the variables of the phis after a block.
    fn copies(&mut self, block: BlockId) {
        let copies = self.variables.copies[block].clone();
        let mut left: Vec<(ValueId, ValueId)> = copies;
        while !left.is_empty() {
            // A variable is set when no other copy reads it any more.
            let free = left.iter().position(|(phi, _)| {
                let class = self.variables.of(*phi);
                left.iter().all(|(other, input)| other == phi || !self.reads(*input, class))
            });
            match free {
                Some(index) => {
                    let (phi, input) = left.remove(index);
                    self.copy(phi, input);
                }
                None => {
                    // A cycle: one variable's old value is kept.
                    let (phi, input) = left[0];
                    let kept = self.names.take("kept");
                    let ty = self.variable_type(phi);
                    let name = self.name(phi);
                    self.line(&format!("{ty} {kept} = {name};"));
                    left.remove(0);
                    self.copy(phi, input);
                    let class = self.variables.of(phi);
                    let old = self.value_names.insert(class, kept);
                    let rest = std::mem::take(&mut left);
                    for (phi, input) in rest {
                        let reads = self.reads(input, class);
                        if reads {
                            self.copy(phi, input);
                        } else {
                            left.push((phi, input));
                        }
                    }
                    if let Some(old) = old {
                        self.value_names.insert(class, old);
                    }
                }
            }
        }
    }

    fn copy(&mut self, phi: ValueId, input: ValueId) {
        let text = match self.matrix_copy(phi, input) {
            Some(matrix) => matrix,
            None => {
                let kind = self.kinds[self.variables.of(phi)];
                self.value(input, Kind::Known(kind), 0)
            }
        };
        let name = self.name(phi);
        self.line(&format!("{name} = {text};"));
    }

    /// Returns whether the text of a value contains a variable.
    fn reads(&self, id: ValueId, class: ValueId) -> bool {
        let mut found = false;
        self.each_variable(id, &mut |variable| found |= self.variables.of(variable) == class);
        found
    }

    /// Visits the variables in the text of a value.
    pub(super) fn each_variable(&self, root: ValueId, visit: &mut dyn FnMut(ValueId)) {
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
        Self::each_variable(self, root, visit);
    }
}

/// Splits a text at an operator that is outside of parentheses, if that occurs once.
fn split_once_at_top<'t>(text: &'t str, operator: &str) -> Option<(&'t str, &'t str)> {
    let mut depth = 0_i32;
    let mut found = None;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '?' if depth == 0 => return None,
            _ if depth == 0 && text[at..].starts_with(operator) && found.replace(at).is_some() => {
                return None;
            }
            _ => {}
        }
    }
    let at = found?;
    Some((&text[..at], &text[at + operator.len()..]))
}
