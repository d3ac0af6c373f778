//! The function as a whole: its parameters and its result; calls of other functions.

use super::structures::Structures;
use super::type_name::type_name;
use super::{GlobalKind, Printer};
use crate::ir::{Callee, CalleeId, Module, Op, Parameter, ValueId};
use crate::types::{Type, Types};

/// Returns the type of a function's result.
pub(super) fn result(module: &Module<'_>, types: &Types) -> Type {
    let function = &module.function;
    let effects = function.blocks.iter().flat_map(|block| &block.effects);
    let mut ends = effects.filter(|effect| function.op(**effect) == Op::Return);
    let Some(end) = ends.clone().next() else { return Type::Void };
    if let Some(result) = module.result {
        return result;
    }
    let words = function.inputs(*end).len() as u8;
    if words > 1 {
        return Type::Vector(words, crate::types::NumberKind::Unsigned);
    }
    // Constants have no type of their own.
    let input = |end: &ValueId| function.input(*end, 0);
    let typed = ends.find(|end| !matches!(function.op(input(end)), Op::Constant(_) | Op::Undefined));
    match typed {
        Some(end) => types.of[input(end)],
        None => Type::Integer(function.width(input(end)), false),
    }
}

impl Printer<'_, '_> {
    pub(super) fn signature(&self, structures: &Structures) -> String {
        let thread = self.language.thread.as_ref();
        let mut list = Vec::from_iter(thread.map(|thread| format!("{}{}", thread.ty, thread.name)));
        for index in 0..self.parameters.len() {
            let name = self.parameter_name(index);
            list.push(match (self.parameter_type(index), structures.name(index)) {
                (Some(ty), _) => self.declaration(ty, &name),
                (None, ty) => format!("{} {name}", ty.unwrap_or_default()),
            });
        }
        // The name is that of the symbol, which C++ must not mangle again.
        let kind = if self.module.is_kernel { self.language.kernel } else { self.language.function };
        let bounds = self.language.launch_bounds.zip(self.module.max_threads);
        let bounds = bounds.map_or_else(String::new, |(word, threads)| format!("{word}({threads}) "));
        let head = self.declaration(self.result, &self.module.name);
        format!("{kind}{bounds}{head}({})", list.join(", "))
    }

    /// Takes the names of parameters; those that can't be names are dropped.
    pub(super) fn name_parameters(&mut self) {
        for parameter in &mut self.parameters {
            if parameter.name.as_deref().is_some_and(|name| !self.known_names.take(name)) {
                parameter.name = None;
            }
        }
    }

    /// Returns the name of a parameter: that of the source code, or `param_1`.
    pub(super) fn parameter_name(&self, index: usize) -> String {
        self.parameters[index].name.clone().unwrap_or_else(|| format!("param_{}", index + 1))
    }

    /// Returns the type of a parameter, or `None` for a structure.
    pub(super) fn parameter_type(&self, index: usize) -> Option<Type> {
        let parameter = &self.parameters[index];
        match parameter.ty {
            Some(Type::Structure(_)) => return None,
            Some(ty) => return Some(ty),
            None => {}
        }
        let bits = match parameter.size {
            1 | 2 | 4 | 8 => (parameter.size * 8) as u8,
            _ => return None,
        };
        Some(self.read.get(&(parameter.offset, bits)).copied().unwrap_or(Type::Integer(bits, false)))
    }

    /// Derives the parameters from the reads of their bank, if no metadata describes them.
    pub(super) fn find_parameters(&mut self) {
        if self.parameters.is_empty() {
            let mut reads: Vec<(u32, u32)> = Vec::new();
            for value in &self.function.values {
                if let Op::Parameter(offset) = value.op {
                    reads.push((offset, u32::from(value.width) / 8));
                }
            }
            // Of each offset the widest read.
            reads.sort_unstable_by_key(|read| (read.0, std::cmp::Reverse(read.1)));
            reads.dedup_by_key(|read| read.0);
            let mut end = 0;
            for (offset, size) in reads {
                if offset >= end {
                    // A device function's parameters are words without gaps.
                    while !self.module.is_kernel && end < offset {
                        self.parameters.push(Parameter { offset: end, size: 4, ty: None, name: None });
                        end += 4;
                    }
                    self.parameters.push(Parameter { offset, size, ty: None, name: None });
                    end = offset + size;
                }
            }
        }
        self.parameters.sort_by_key(|parameter| parameter.offset);
    }

    /// Returns the parameters with their types, and the fields of those that are structures.
    pub(super) fn typed_parameters(&self) -> Vec<Parameter> {
        let mut typed = Vec::new();
        for (index, parameter) in self.parameters.iter().enumerate() {
            if let Some(ty) = self.parameter_type(index) {
                typed.push(Parameter { ty: Some(ty), ..parameter.clone() });
                continue;
            }
            let fields = self.fields.iter().filter(|field| field.0 == index);
            typed.extend(fields.map(|(_, offset, ty)| Parameter {
                offset: parameter.offset + offset,
                size: u32::from(ty.bits()).max(8) / 8,
                ty: Some(*ty),
                name: None,
            }));
        }
        typed
    }

    /// Returns how others call the function, if it is a device function.
    pub(super) fn prototype(&self) -> Option<Callee> {
        if self.module.is_kernel {
            return None;
        }
        let typed =
            |index: usize| Parameter { ty: self.parameter_type(index), ..self.parameters[index].clone() };
        Some(Callee {
            name: self.module.name.clone(),
            parameters: (0..self.parameters.len()).map(typed).collect(),
            words: match self.result {
                Type::Vector(words, _) => words,
                ty => ty.bits().div_ceil(32),
            },
            result: Some(self.result),
        })
    }

    /// Declares the structure of a result that has no type in CUDA.
    fn declare_result(&mut self, ty: Type) {
        if let Type::Vector(words @ 5.., _) = ty {
            let name = type_name(ty);
            self.global(
                GlobalKind::Type(0),
                name,
                format!("struct {name} {{\n    unsigned int word[{words}];\n}};"),
            );
        }
    }

    /// Returns the result that a device function ends with.
    pub(super) fn returned(&mut self, id: ValueId) -> String {
        let words: Vec<ValueId> =
            (0..self.function.inputs(id).len()).map(|index| self.function.input(id, index)).collect();
        self.declare_result(self.result);
        match words[..] {
            [value] => self.value(value, 0, self.result),
            _ => {
                let words: Vec<String> =
                    words.into_iter().map(|word| self.value(word, 0, self.result.word())).collect();
                let (name, words) = (type_name(self.result), words.join(", "));
                if matches!(self.result, Type::Vector(5.., _)) {
                    format!("{name}{{{{{words}}}}}")
                } else {
                    format!("make_{name}({words})")
                }
            }
        }
    }

    /// Declares a device function, and the structure of its result.
    pub(super) fn declare_function(&mut self, callee: &Callee) {
        let head = self.declaration(callee.result_type(), &callee.name);
        self.declare_result(callee.result_type());
        let text = format!("{}{head}({});", self.language.function, self.parameter_types(callee));
        self.global(GlobalKind::Function, &callee.name, text);
    }

    /// Returns a call of a device function, which is declared before, or through a pointer.
    pub(super) fn invocation(&mut self, id: ValueId, callee: CalleeId) -> String {
        let function = self.function;
        let callee = &function.callees[callee];
        let first = usize::from(callee.is_pointer());
        let mut arguments =
            Vec::from_iter(self.language.thread.as_ref().map(|thread| thread.name.to_owned()));
        for (index, parameter) in callee.parameters.iter().enumerate() {
            let ty = type_of(parameter);
            arguments.push(self.value(function.input(id, index + first), 0, ty));
        }
        if callee.is_pointer() {
            let pointer = self.value(function.input(id, 0), 15, Type::Integer(64, false));
            self.declare_result(callee.result_type());
            if let Some(addresses) = &self.language.addresses {
                let types = type_names(Some(type_name(callee.result_type())), callee);
                let after_thread = usize::from(self.language.thread.is_some());
                arguments.insert(after_thread, pointer);
                return format!("{}<{types}>({})", addresses.call, arguments.join(", "));
            }
            self.casts += 1;
            let head = self.declaration(callee.result_type(), "(*)");
            let arguments = arguments.join(", ");
            return format!("(({head}({})){pointer})({arguments})", self.parameter_types(callee));
        }
        self.declare_function(callee);
        format!("{}({})", callee.name, arguments.join(", "))
    }

    /// Returns the types of a function's parameters.
    fn parameter_types(&self, callee: &Callee) -> String {
        type_names(self.language.thread.as_ref().map(|thread| thread.ty), callee)
    }
}

/// Returns a type, if there is one, and those of a function's parameters.
fn type_names(first: Option<&'static str>, callee: &Callee) -> String {
    let types = callee.parameters.iter().map(|parameter| type_name(type_of(parameter)));
    first.into_iter().chain(types).map(str::trim_end).collect::<Vec<_>>().join(", ")
}

/// Returns the type of a parameter; words if it is not known.
fn type_of(parameter: &Parameter) -> Type {
    parameter.ty.unwrap_or(Type::Integer(if parameter.size > 4 { 64 } else { 32 }, false))
}
