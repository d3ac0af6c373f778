//! The printer of C, in one of the languages of [`Language`].
//!
//! `expression` prints values, `access` and `region` memory accesses, `image` textures and surfaces, `structures` the types of
//! parameters, and `counted` counted loops. `declared` places declarations, `language` and `spelling` have the words
//! of each language, and `prelude` the helpers that CUDA lacks. `function` prints parameters, results and calls; this module the variables and statements.

mod access;
mod counted;
mod declared;
mod expression;
mod function;
mod image;
mod language;
mod member;
mod names;
mod prelude;
mod region;
mod spelling;
mod structures;
mod symbol;
mod type_name;
mod wrap;

use crate::Line;
use crate::alignment::Alignment;
use crate::elements::{Elements, FunctionElements};
use crate::ir::hash::FastMap;
use crate::ir::id_lists::entry;
use crate::ir::{
    BlockId, Callee, Function, IdVec, Module, NO_ADDRESS, Op, Parameter, Space, ValueId, ValueMap,
};
use crate::objects::Objects;
use crate::schedule::Schedule;
use crate::structure::{Condition, LoopKind, Statement};
use crate::types::{Type, Types};
use crate::variables::Variables;
use language::SharedMemory;
pub use language::{CPP, CUDA, Header, Language};
use names::Names;
use std::borrow::Cow;
use std::cell::RefCell;
use structures::Structures;
use type_name::TypeNames;

/// What is known of the values of a function when it is printed.
#[derive(Clone, Copy, Debug)]
pub struct Analyses<'a> {
    /// Where they are statements.
    pub schedule: &'a Schedule,
    /// Which share a variable.
    pub variables: &'a Variables,
    /// Their types.
    pub types: &'a Types,
    /// The variables in memory.
    pub objects: &'a Objects,
}

/// The state of printing a function.
pub struct Printer<'a, 'm> {
    pub(crate) function: &'a Function,
    pub(crate) schedule: &'a Schedule,
    pub(crate) variables: &'a Variables,
    pub(crate) types: &'a Types,
    objects: &'a Objects,
    pub(crate) module: &'a Module<'m>,
    language: &'static Language,
    parameters: Vec<Parameter>,
    /// The type of the first read of each offset and width of the parameters.
    read: FastMap<(u32, u8), Type>,
    /// The name of each variable, by its representative.
    names: FastMap<ValueId, String>,
    /// The names that are taken, and those of the source code.
    known_names: Names,
    /// Number of variables by prefix.
    counts: Vec<(&'static str, u32)>,
    /// The helpers in use.
    helpers: Vec<&'static str>,
    /// The fields that are read of structure parameters, in order: parameter, offset, type.
    fields: Vec<(usize, u32, Type)>,
    /// The types, functions and variables in use, in this order: kind, name and declaration.
    globals: Vec<(GlobalKind, String, String)>,
    /// The elements of variables that earlier functions have declared, by name in C.
    known_elements: &'a Elements,
    /// The same of the variables that this function has declared.
    elements: FastMap<String, Type>,
    /// The elements of variables that neither has declared, as this function accesses them.
    assumed: RefCell<Vec<(String, Type)>>,
    /// The arrays in use, and the end of the used bytes.
    pub(crate) regions: Vec<(Space, i64)>,
    /// The flags that exits of nested loops set.
    flags: Vec<String>,
    lines: Vec<BodyLine>,
    addresses: Vec<u32>,
    /// The variables named since the last line.
    named: Vec<ValueId>,
    /// The variable that the next line declares.
    declaring: Option<ValueId>,
    /// The last occurrence of each variable, and the end of each loop in the order of printing.
    last: FastMap<ValueId, u32>,
    loop_ends: Vec<u32>,
    loops_written: usize,
    indent: usize,
    /// Variables that are declared where they are first set.
    declared_later: ValueMap<bool>,
    declared: ValueMap<bool>,
    /// Which values are multiples of the size of an element, if that was asked.
    alignment: Option<Alignment>,
    /// Whether the array of shared memory is volatile.
    has_volatile_shared: bool,
    /// The type of the function's result.
    result: Type,
    /// Products that are operands of a sum.
    is_summand: ValueMap<bool>,
    /// Number of printed casts.
    pub casts: usize,
    /// The values that have no name in the language.
    unnamed: Vec<ValueId>,
}

/// What is declared before functions, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GlobalKind {
    /// A structure, and how deeply others are nested in it.
    Type(u8),
    Function,
    Variable,
    /// A variable whose initial value has addresses.
    Table,
}

/// A line of the body.
struct BodyLine {
    text: String,
    indent: usize,
    addresses: Vec<u32>,
    /// The variable that it sets, if it does nothing else.
    sets: Option<ValueId>,
    /// The variable that it declares.
    declares: Option<ValueId>,
    /// The variables that it names.
    names: Vec<ValueId>,
}

/// The text of a function.
#[derive(Debug)]
pub struct PrintedFunction {
    /// The helpers and variables that it needs; each entry is complete.
    pub prelude: Vec<String>,
    /// The function, preceded by the types of its parameters.
    pub lines: Vec<Line>,
    /// Number of lines of the function's body: declarations and statements, without the braces around them.
    pub body: usize,
    /// Number of casts.
    pub casts: usize,
    /// Number of operations that have no name in the language.
    pub unnamed: usize,
    /// Its parameters with their types; those of a structure are its fields.
    pub parameters: Vec<Parameter>,
    /// How others call it, if it is a device function.
    pub prototype: Option<Callee>,
    /// The names of the device functions that it refers to.
    pub callees: Vec<String>,
    /// The elements of the variables that it refers to.
    pub elements: FunctionElements,
}

/// Returns the types of the parameter reads; the first of equal reads counts.
fn reads(function: &Function, types: &Types) -> FastMap<(u32, u8), Type> {
    let mut reads = FastMap::default();
    for (value, ty) in function.values.iter().zip(&types.of) {
        if let Op::Parameter(offset) = value.op
            && *ty != Type::Void
        {
            reads.entry((offset, value.width)).or_insert(*ty);
        }
    }
    reads
}

impl<'a, 'm> Printer<'a, 'm> {
    /// Creates the printer.
    pub fn new(
        module: &'a Module<'m>,
        language: &'static Language,
        analyses: Analyses<'a>,
        known_elements: &'a Elements,
        source_names: FastMap<ValueId, String>,
    ) -> Self {
        let function = &module.function;
        let Analyses { schedule, variables, types, objects } = analyses;
        let mut printer = Self {
            function,
            schedule,
            variables,
            types,
            objects,
            module,
            language,
            parameters: module.parameters.clone(),
            read: reads(function, types),
            names: FastMap::default(),
            known_names: Names::new(module, language, source_names),
            counts: Vec::new(),
            helpers: Vec::new(),
            fields: Vec::new(),
            globals: Vec::new(),
            known_elements,
            elements: FastMap::default(),
            assumed: RefCell::default(),
            regions: Vec::new(),
            flags: Vec::new(),
            lines: Vec::new(),
            addresses: Vec::new(),
            named: Vec::new(),
            declaring: None,
            last: FastMap::default(),
            loop_ends: Vec::new(),
            loops_written: 0,
            indent: 1,
            declared_later: IdVec::filled(false, function.values.len()),
            declared: IdVec::filled(false, function.values.len()),
            alignment: None,
            has_volatile_shared: has_volatile_shared(function),
            result: function::result(module, types),
            is_summand: summands(function),
            casts: 0,
            unnamed: Vec::new(),
        };
        printer.find_parameters();
        printer.name_parameters();
        printer.find_fields();
        printer
    }

    /// Prints the function.
    pub fn run(mut self, statements: &[Statement], gotos: usize) -> PrintedFunction {
        self.find_occurrences(statements, gotos);
        self.statements(statements);
        let body = std::mem::take(&mut self.lines);
        let regions = self.regions();
        let structures = self.structures();
        let signature = self.signature(&structures);
        self.declare_named_structures(&signature, &structures, &regions, &body);
        self.helpers.sort_unstable();
        let mut prelude: Vec<String> = self.language.opening.iter().map(|line| String::from(*line)).collect();
        prelude.extend(self.helpers.iter().filter_map(|name| prelude::text(name)));
        self.globals.sort_unstable();
        prelude.extend(self.globals.iter().map(|global| global.2.clone()));
        let plain = |text: String| Line { text, addresses: Vec::new() };
        let mut lines: Vec<Line> = structures.lines.iter().cloned().map(plain).collect();
        let if_flushes = |line: Option<&str>| line.filter(|_| self.module.flushes).map(String::from);
        lines.extend(if_flushes(self.language.flush_comment).map(plain));
        lines.push(plain(signature));
        lines.push(plain(String::from("{")));
        let start = lines.len();
        lines.extend(if_flushes(self.language.flush_statement).map(|text| plain(format!("    {text}"))));
        lines.extend(regions.into_iter().map(plain));
        lines.extend(self.declarations().into_iter().map(plain));
        for line in body {
            let mut addresses = Some(line.addresses);
            wrap::lines(&line.text, line.indent * 4, |text| {
                let again = || lines.last().map_or_else(Vec::new, |first| first.addresses.clone());
                let addresses = addresses.take().unwrap_or_else(again);
                lines.push(Line { text, addresses });
            });
        }
        let body = lines.len() - start;
        lines.push(plain(String::from("}")));
        let (parameters, prototype) = (self.typed_parameters(), self.prototype());
        let functions = self.globals.iter().filter(|global| global.0 == GlobalKind::Function);
        let callees = functions.map(|function| function.1.clone()).collect();
        let elements = FunctionElements { declared: self.elements, assumed: self.assumed.into_inner() };
        let (casts, unnamed) = (self.casts, self.unnamed.len());
        PrintedFunction { prelude, lines, body, casts, unnamed, parameters, prototype, callees, elements }
    }

    fn regions(&mut self) -> Vec<String> {
        self.regions.sort_by_cached_key(|region| spelling::array(region.0));
        if !self.module.is_kernel || matches!(self.language.shared, SharedMemory::OfThread(_)) {
            let has_shared = self.regions.iter().any(|region| region.0 == Space::Shared);
            if has_shared && matches!(self.language.shared, SharedMemory::Declared) {
                self.helper("shared_memory");
            }
            return self
                .regions
                .iter()
                .flat_map(|(space, end)| self.region_declaration(*space, *end))
                .collect();
        }
        // Device functions may access shared memory that the kernel itself does not: a compiler that does not know would
        // shrink it.
        let is_kept = self.module.shared_size > 0 && !self.function.callees.is_empty();
        if is_kept {
            self.region(Space::Shared, 0);
            self.helper("keep");
        }
        // Kernels of one file may differ in the type of their dynamic shared memory, but it has one name.
        if self.module.shared_size == 0 && self.regions.iter().any(|region| region.0 == Space::Shared) {
            let declaration = "extern __shared__ __align__(16) unsigned char dynamic_shared[];";
            self.global(GlobalKind::Variable, "dynamic_shared", declaration.to_owned());
        }
        let declarations = self.regions.iter().flat_map(|(space, end)| self.region_declaration(*space, *end));
        let kept = is_kept.then(|| {
            let and = if self.objects.structure(Space::Shared).is_some() { "&" } else { "" };
            format!("    keep({and}shared);")
        });
        declarations.chain(kept).collect()
    }

    fn declarations(&self) -> Vec<String> {
        let flags = self.flags.iter().map(|name| (self.type_name(Type::Bool), name.as_str()));
        let others = self.names.iter().filter(|(id, _)| !self.declared_later[**id]);
        let others = others.map(|(id, name)| (self.type_name(self.types.of[*id]), name.as_str()));
        let mut names: Vec<(Cow<'static, str>, &str)> = flags.chain(others).collect();
        names.sort_unstable_by(|(ty, name), (other_ty, other)| {
            (ty, name.len(), name).cmp(&(other_ty, other.len(), other))
        });
        let mut lines = Vec::new();
        for of_type in names.chunk_by(|one, other| one.0 == other.0) {
            let ty = &of_type[0].0;
            let separator = if ty.ends_with('*') { ", *" } else { ", " };
            let space = if ty.ends_with('*') { "" } else { " " };
            let names: Vec<&str> = of_type.iter().map(|entry| entry.1).collect();
            let text = format!("{ty}{space}{};", names.join(separator));
            wrap::lines(&text, 4, |line| lines.push(line));
        }
        lines
    }

    /// Returns the name of a value's variable.
    pub(crate) fn name(&mut self, id: ValueId) -> String {
        let class = self.variables.of(id);
        self.named.push(class);
        if let Some(name) = self.names.get(&class) {
            return name.clone();
        }
        let name = self.known_names.of(class).unwrap_or_else(|| self.invented_name(class));
        self.names.insert(class, name.clone());
        name
    }

    /// Returns a new name that begins with a letter for its type.
    fn invented_name(&mut self, class: ValueId) -> String {
        let prefix = match self.types.of[class] {
            Type::Bool => "b",
            Type::Float(64) => "d",
            Type::Float(_) => "f",
            Type::Pointer(..) | Type::StructurePointer(_) => "p",
            Type::Vector(..) => "v",
            Type::Integer(64, _) => "l",
            Type::Integer(_, true) => "i",
            _ => "u",
        };
        loop {
            let count = entry(&mut self.counts, prefix);
            *count += 1;
            let name = format!("{prefix}{count}");
            if self.known_names.take(&name) {
                return name;
            }
        }
    }

    /// Returns the name of a type in C.
    fn type_name(&self, ty: Type) -> Cow<'static, str> {
        TypeNames::new(self.module).of(ty)
    }

    /// Returns a declaration: `float *name`, `int name`.
    fn declaration(&self, ty: Type, name: &str) -> String {
        TypeNames::new(self.module).declaration(ty, name)
    }

    /// Declares the structures that the text of the function names.
    fn declare_named_structures(
        &mut self,
        signature: &str,
        parameters: &Structures,
        regions: &[String],
        body: &[BodyLine],
    ) {
        if self.module.structures.is_empty() {
            return;
        }
        let declarations = self.declarations();
        let lines = body.iter().map(|line| line.text.as_str());
        let declared = declarations.iter().chain(regions).chain(&parameters.lines).map(String::as_str);
        let text: Vec<&str> = lines.chain(declared).chain([signature]).collect();
        self.declare_structures(&|name| {
            let name = format!("struct {name} ");
            text.iter().any(|line| line.contains(&name))
        });
    }

    /// Requires a function, if it is a helper that no header declares.
    fn helper(&mut self, name: &str) {
        if self.language.header.is_some() {
            return;
        }
        let needed = if name == "shuffle_inside" { &[name, "laneid"][..] } else { &[name] };
        for name in needed.iter().filter_map(|name| prelude::names().find(|helper| helper == name)) {
            if !self.helpers.contains(&name) {
                self.helpers.push(name);
            }
        }
    }

    /// Declares a type, function or variable, or replaces its declaration.
    fn global(&mut self, kind: GlobalKind, name: &str, declaration: String) {
        self.globals.retain(|global| global.1 != name);
        self.globals.push((kind, name.to_owned(), declaration));
    }

    // Statements.

    fn line(&mut self, text: &str) {
        self.write(String::from(text), None);
    }

    /// Writes a line. `sets` is the variable that it sets, if it does nothing else.
    fn write(&mut self, text: String, sets: Option<ValueId>) {
        let mut addresses = std::mem::take(&mut self.addresses);
        addresses.sort_unstable();
        addresses.dedup();
        addresses.retain(|address| *address != NO_ADDRESS);
        let mut names = std::mem::take(&mut self.named);
        names.sort_unstable();
        names.dedup();
        let declares = self.declaring.take();
        self.lines.push(BodyLine { text, indent: self.indent, addresses, sets, declares, names });
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    /// Writes a head and its body. Returns whether the body is in braces, which are left open; a single line needs
    /// none.
    fn braced(&mut self, head: &str, body: &[Statement]) -> bool {
        let head_index = self.lines.len();
        self.line(head);
        self.indent += 1;
        self.statements(body);
        self.indent -= 1;
        let is_one = self.lines.len() == head_index + 2 && self.stands_alone(head_index + 1);
        if !is_one {
            self.lines[head_index].text.push_str(" {");
        }
        !is_one
    }

    /// Returns whether a line declares a variable, which requires braces.
    fn is_declaration(&self, line: &str) -> bool {
        [
            "unsigned ",
            "int ",
            "float ",
            "double ",
            "bool ",
            "long ",
            "short ",
            "signed ",
            "float4 ",
            "float2 ",
            "uint4 ",
            "uint3 ",
            "words",
            "uint2 ",
            "int4 ",
            "int2 ",
            "struct ",
            "longlong2 ",
            "ulonglong2 ",
            "double2 ",
            "/*",
        ]
        .iter()
        .any(|ty| line.starts_with(ty))
    }

    fn close(&mut self, is_open: bool) {
        if is_open {
            self.line("}");
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Block(block) => self.block(*block),
            Statement::If { condition, then, otherwise } => {
                let text = self.condition(*condition);
                let mut is_open = self.braced(&format!("if ({text})"), then);
                let mut rest = otherwise.as_slice();
                // `else if` chains stay at one level of indentation.
                while !rest.is_empty() {
                    let close = if is_open { "} " } else { "" };
                    match rest {
                        [Statement::Block(block), Statement::If { condition, then, otherwise }]
                            if self.weight(*block) == 0 =>
                        {
                            let text = self.condition(*condition);
                            is_open = self.braced(&format!("{close}else if ({text})"), then);
                            rest = otherwise;
                        }
                        others => {
                            is_open = self.braced(&format!("{close}else"), others);
                            rest = &[];
                        }
                    }
                }
                self.close(is_open);
            }
            Statement::Loop { kind: LoopKind::Endless, body } => {
                self.loops_written += 1;
                let is_open = self.braced("for (;;)", body);
                self.close(is_open);
            }
            Statement::Loop { kind: LoopKind::Once, body } => {
                self.loops_written += 1;
                let is_open = self.braced("do", body);
                self.line(if is_open { "} while (false);" } else { "while (false);" });
            }
            Statement::Loop { kind: LoopKind::While(condition, holds), body } => {
                self.loops_written += 1;
                self.counted((*condition, *holds), body);
            }
            Statement::Loop { kind: LoopKind::DoWhile(condition, holds), body } => {
                self.loops_written += 1;
                let is_open = self.braced("do", body);
                let text = self.condition((*condition, *holds));
                let close = if is_open { "} " } else { "" };
                self.line(&format!("{close}while ({text});"));
            }
            Statement::Switch { selector, cases } => {
                let text = self.value(*selector, 0, Type::Integer(32, false));
                self.line(&format!("switch ({text}) {{"));
                for (numbers, is_default, body) in cases {
                    for number in numbers {
                        self.line(&format!("case {number}:"));
                    }
                    if *is_default {
                        self.line("default:");
                    }
                    self.indent += 1;
                    self.statements(body);
                    self.indent -= 1;
                }
                self.line("}");
            }
            Statement::Break => self.line("break;"),
            Statement::Continue => self.line("continue;"),
            // `Op::Return` has written the statement.
            Statement::Return if self.result == Type::Void => self.line("return;"),
            Statement::Return => {}
            Statement::Goto(block) => self.line(&format!("goto {};", self.label(*block))),
            Statement::Set(flag, is_set) => {
                let name = self.flag(*flag);
                self.line(&format!("{name} = {is_set};"));
            }
            Statement::Label(block) => {
                let text = format!("{}:;", self.label(*block));
                let indent = std::mem::take(&mut self.indent);
                self.line(&text);
                self.indent = indent;
            }
        }
    }

    /// Returns the label of a block.
    fn label(&self, block: BlockId) -> String {
        format!("at_{:x}_{}", self.function.blocks[block].address, block.number())
    }

    fn weight(&self, block: BlockId) -> usize {
        self.schedule.statements[block].len() + self.variables.copies[block].len()
    }

    /// Returns the name of a flag.
    fn flag(&mut self, flag: u32) -> String {
        let name = format!("skip{}", flag + 1);
        if !self.flags.contains(&name) {
            self.flags.push(name.clone());
        }
        name
    }

    fn condition(&mut self, (test, holds): (Condition, bool)) -> String {
        let id = match test {
            Condition::Value(id) => id,
            Condition::Flag(flag) => return format!("{}{}", if holds { "" } else { "!" }, self.flag(flag)),
        };
        if holds { self.value(id, 0, Type::Bool) } else { self.negated(id, 0) }
    }

    pub(crate) fn is_volatile(&self, id: ValueId) -> bool {
        self.function.values[id].is_volatile
    }

    fn block(&mut self, block: BlockId) {
        let schedule = self.schedule;
        for &id in &schedule.statements[block] {
            self.item(id);
        }
        self.copies(block);
    }

    fn item(&mut self, id: ValueId) {
        self.addresses.push(self.function.values[id].address);
        let is_used = self.schedule.uses[id] > 0 && self.function.width(id) != 0;
        match self.function.op(id) {
            Op::Store(space) => {
                let value = self.function.input(id, 1);
                let address = self.function.input(id, 0);
                let stored = self.stored_type(space, address, value);
                let (target, ty) = self.lvalue(space, address, stored, self.is_volatile(id));
                let text = self.assigned(value, ty);
                self.assign(&target, &text, None);
            }
            Op::Unlifted(note) => {
                let note = self.function.notes.get(note).map_or("", String::as_str);
                let note = note.replace("*/", "* /");
                if is_used {
                    let name = self.name(id);
                    let declared = self.declared(id);
                    self.line(&format!("{declared}{name} = 0; /* {note} */"));
                } else {
                    self.line(&format!("/* {note} */"));
                }
            }
            Op::ImageWrite(image) => {
                let text = self.image_write(id, image);
                self.line(&format!("{text};"));
            }
            Op::Return => {
                let text = self.returned(id);
                self.line(&format!("return {text};"));
            }
            _ if is_used => {
                let ty = self.types.of[id];
                let name = self.name(id);
                let declared = self.declared(id);
                let text = self.set_to(id, ty);
                let sets = (!self.function.op(id).is_effect()).then(|| self.variables.of(id));
                self.assign(&format!("{declared}{name}"), &text, sets);
            }
            _ => {
                let text = self.computed(id, 0, self.types.of[id]);
                self.line(&format!("{text};"));
            }
        }
    }

    /// Returns a value that is assigned to a type: C converts sign and width of integers implicitly.
    fn assigned(&mut self, id: ValueId, ty: Type) -> String {
        if matches!(ty, Type::Integer(64, _)) && self.is_widened(id) {
            return self.value(self.function.input(id, 0), 0, self.has_type(self.function.input(id, 0)));
        }
        let ty = match (ty, self.has_type(id)) {
            (Type::Integer(bits, _), Type::Integer(have, sign))
                if have >= bits && self.function.number(id).is_none() =>
            {
                Type::Integer(have, sign)
            }
            (ty, _) => ty,
        };
        self.value(id, 0, ty)
    }

    /// Writes an assignment; `x = x + 1` becomes `x += 1`, and so does `x = 1 + x`.
    fn assign(&mut self, target: &str, text: &str, sets: Option<ValueId>) {
        const OPERATORS: [&str; 8] = ["+", "-", "*", "&", "|", "^", "<<", ">>"];
        if let Some(rest) = text.strip_prefix(target).and_then(|rest| rest.strip_prefix(' ')) {
            for operator in OPERATORS {
                if let Some(other) = rest.strip_prefix(operator).and_then(|other| other.strip_prefix(' '))
                    && (is_one_operand(other) || matches!(operator, "+" | "-") && is_product(other))
                {
                    return self.write(
                        [target, " ", operator, "= ", without_outer_parentheses(other), ";"].concat(),
                        sets,
                    );
                }
            }
        }
        if let Some(other) = text.strip_suffix(target).and_then(|rest| rest.strip_suffix(" + "))
            && is_product(other)
        {
            return self.write([target, " += ", other, ";"].concat(), sets);
        }
        self.write([target, " = ", text, ";"].concat(), sets);
    }

    /// Returns the type to print before a variable that is declared where it is set.
    fn declared(&mut self, id: ValueId) -> String {
        let class = self.variables.of(id);
        if !self.declared_later[class] || std::mem::replace(&mut self.declared[class], true) {
            return String::new();
        }
        self.declaring = Some(class);
        self.declaration(self.types.of[class], "")
    }

    /// Writes the copies at the end of a block. They are simultaneous: none may read a variable that another one has
    /// already set.
    fn copies(&mut self, block: BlockId) {
        let variables = self.variables;
        let mut rest: Vec<(ValueId, ValueId)> = variables.copies[block].clone();
        while !rest.is_empty() {
            let free = rest.iter().position(|(phi, _)| {
                let class = variables.of(*phi);
                rest.iter().all(|(other, input)| other == phi || !self.reads(*input, class))
            });
            let index = match free {
                Some(index) => index,
                None => {
                    let texts: Vec<(ValueId, String)> = rest
                        .iter()
                        .map(|(phi, input)| (*phi, self.value(*input, 0, self.types.of[*phi])))
                        .collect();
                    return self.copy_cycle(&texts);
                }
            };
            let (phi, input) = rest.swap_remove(index);
            let class = variables.of(phi);
            let text = self.assigned(input, self.types.of[class]);
            let name = self.name(phi);
            let declared = self.declared(phi);
            self.addresses.push(self.function.values[input].address);
            self.assign(&format!("{declared}{name}"), &text, Some(class));
        }
    }

    /// Writes copies that read each other in a cycle, through temporaries.
    fn copy_cycle(&mut self, texts: &[(ValueId, String)]) {
        for (phi, _) in texts {
            let name = self.name(*phi);
            let declared = self.declared(*phi);
            if !declared.is_empty() {
                self.line(&format!("{declared}{name};"));
            }
        }
        self.line("{");
        self.indent += 1;
        for (index, (phi, text)) in texts.iter().enumerate() {
            let ty = self.types.of[self.variables.of(*phi)];
            let declared = self.declaration(ty, &format!("next_{index}"));
            self.line(&format!("{declared} = {text};"));
        }
        for (index, (phi, _)) in texts.iter().enumerate() {
            let name = self.name(*phi);
            self.line(&format!("{name} = next_{index};"));
        }
        self.indent -= 1;
        self.line("}");
    }

    /// Returns whether an expression reads the variable of a class.
    fn reads(&self, id: ValueId, class: ValueId) -> bool {
        let mut found = false;
        self.each_variable(id, &mut |id| found |= self.variables.of(id) == class);
        found
    }

    fn each_variable(&self, id: ValueId, visit: &mut dyn FnMut(ValueId)) {
        if self.has_variable(id) {
            return visit(id);
        }
        let mut list = Vec::with_capacity(8);
        list.push(id);
        while let Some(id) = list.pop() {
            if self.has_variable(id) {
                visit(id);
            } else if !crate::schedule::is_leaf(self.function, id) {
                let inputs = 0..self.function.inputs(id).len();
                list.extend(
                    inputs.map(|index| self.function.input(id, index)).filter(|id| *id != ValueId::NONE),
                );
            }
        }
    }

    pub(crate) fn has_variable(&self, id: ValueId) -> bool {
        !self.schedule.inline[id] && !crate::schedule::is_leaf(self.function, id)
    }
}

/// Returns whether text is a single operand, or a sum or product that can be the whole right-hand side.
fn is_one_operand(text: &str) -> bool {
    let mut depth = 0_i32;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b' ' if depth == 0 => return false,
            _ => {}
        }
    }
    true
}

/// Returns text without parentheses around all of it.
fn without_outer_parentheses(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return text };
    let mut depth = 1_i32;
    for byte in inner.bytes() {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        if depth == 0 {
            return text;
        }
    }
    inner
}

/// Returns whether text consists of operands that bind more tightly than a sum, without a conditional.
fn is_product(text: &str) -> bool {
    let mut depth = 0_i32;
    let bytes = text.as_bytes();
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b' ' if depth == 0
                && ![index + 1, index.wrapping_sub(1)]
                    .into_iter()
                    .any(|at| matches!(bytes.get(at), Some(b'*' | b'/' | b'%'))) =>
            {
                return false;
            }
            _ => {}
        }
    }
    true
}

fn expression_wrapped(text: String, level: u8, precedence: u8) -> String {
    if level < precedence { format!("({text})") } else { text }
}

/// Returns a name as a C identifier.
pub fn identifier(name: &str) -> String {
    let mut text: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    text
}

/// Returns whether accesses of shared memory are volatile: all or none.
fn has_volatile_shared(function: &Function) -> bool {
    let mut effects = function.blocks.iter().flat_map(|block| &block.effects);
    effects.any(|effect| {
        let is_shared = match function.op(*effect) {
            Op::Load(Space::Shared) | Op::Store(Space::Shared) => true,
            Op::Load(Space::Generic) | Op::Store(Space::Generic) => {
                function.width(function.input(*effect, 0)) == 32
            }
            _ => false,
        };
        is_shared && function.values[*effect].is_volatile
    })
}

/// Returns the products that a compiler would fuse with a sum: its operands, with or without a sign, and those that
/// reach other functions or local memory, which compilers inline.
fn summands(function: &Function) -> ValueMap<bool> {
    let mut found = IdVec::filled(false, function.values.len());
    let is_passed_on = |op| matches!(op, Op::FloatNegate | Op::FloatAbs | Op::Low | Op::High);
    let mut mark = |mut input: ValueId| {
        while input != ValueId::NONE && is_passed_on(function.op(input)) {
            input = function.input(input, 0);
        }
        // Also through a variable.
        if input != ValueId::NONE && function.op(input) == Op::FloatMul {
            found[input] = true;
        }
    };
    for id in function.values.keys().filter(|id| !function.is_replaced(*id)) {
        let reaches_sum = matches!(
            function.op(id),
            Op::FloatAdd | Op::FloatSub | Op::Store(Space::Local) | Op::Invoke(_) | Op::Return
        );
        if reaches_sum {
            (0..function.inputs(id).len()).for_each(|index| mark(function.input(id, index)));
        }
    }
    found
}
