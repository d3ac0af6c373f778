//! A function with everything that its text depends on, up to the printer.
//!
//! Nothing here needs the other functions of the program, so they can be prepared in any order, or at the same time.
//! [`elements`](crate::elements) is about what their texts share.

use crate::elements::Elements;
use crate::ir::code::Code;
use crate::ir::dominators::Graph;
use crate::ir::hash::FastMap;
use crate::ir::{BlockId, Function, Module, Number, Op, Operand, SourceVariable, ValueId, ValueMap};
use crate::named::NamedValues;
use crate::objects::Objects;
use crate::pass::idiom::Idioms;
use crate::pass::{self, Observer};
use crate::schedule::{self, Schedule};
use crate::structure::{Statement, Structurer};
use crate::types::{self, Hints, Type, Types};
use crate::variables::{self, Variables};
use crate::{Decompiled, Options, c, edges, layout, linear};

/// A function that is ready to be printed.
#[derive(Debug)]
pub struct Prepared<'m> {
    module: Module<'m>,
    schedule: Schedule,
    variables: Variables,
    types: Types,
    objects: Objects,
    statements: Vec<Statement>,
    /// The names of the source code, by the representative of a variable.
    names: FastMap<ValueId, String>,
    /// The variables of the source code that have values, with the types that were inferred.
    source_variables: Vec<SourceVariable>,
    code: Option<Code>,
    unlifted: usize,
    gotos: usize,
    is_reducible: bool,
    keeps_subnormals: bool,
}

impl<'m> Prepared<'m> {
    /// Prepares what a front end produced. `observe` is called after each pass.
    pub fn new(
        mut module: Module<'m>,
        options: &Options,
        idioms: &mut Idioms,
        observe: &mut Observer<'_>,
    ) -> Self {
        types::record_signed(&mut module.function);
        observe("lift", &module);
        pass::run(&mut module, idioms, options.explicit_math, observe);
        let is_explicit =
            options.explicit_flushes || options.language.flushes_by_itself() && has_doubles(&module.function);
        module.flushes |= !is_explicit && (idioms.remove_flushes)(&mut module.function);
        let keeps_subnormals = !module.flushes && (idioms.depends_on_flushes)(&module.function);
        observe("flush", &module);
        if pass::entries::run(&mut module.function) {
            observe("entries", &module);
        }
        let graph = Graph::new(&module.function);
        edges::merge_edges(&mut module.function, &graph);
        edges::split_critical_edges(&mut module.function);
        observe("edges", &module);
        let graph = Graph::new(&module.function);
        pass::hoist(&mut module.function, &graph);
        observe("hoist", &module);
        let named = NamedValues::take(&mut module.function);
        let used = module.function.used();
        // Phis that only had a name are not computed.
        for block in &mut module.function.blocks {
            block.phis.retain(|phi| used[*phi]);
        }
        let hints = Hints {
            parameters: layout::parameter_types(&module),
            values: if options.without_source { Vec::new() } else { named.hints(&module) },
        };
        let mut objects = Objects::new(&module, &used, options.without_source);
        let mut types = Types::new(&module.function, &used, &hints, &objects);
        layout::infer(&mut module, &used, &mut types, idioms.structures);
        objects.declare(&mut module, &used, &types);
        let function = &module.function;
        let schedule = Schedule::new(function, &graph, &used);
        let can_share = |a: ValueId, b: ValueId| variables::can_share(types.of[a], types.of[b]);
        let variables = Variables::new(function, &graph, &schedule, &can_share);
        let weight = |block: BlockId| schedule.statements[block].len() + variables.copies[block].len();
        let is_preset =
            |block: BlockId| schedule.statements[block].is_empty() && variables.is_preset(function, block);
        let (statements, gotos) = {
            let mut structurer = Structurer::new(function, &graph, weight, is_preset);
            (structurer.run(), structurer.gotos)
        };
        let code = options.with_code.then(|| linear::code(&module, &schedule, &variables, &statements));
        let effects = graph.order.iter().flat_map(|block| &function.blocks[*block].effects);
        let unlifted = effects.filter(|effect| matches!(function.op(**effect), Op::Unlifted(_))).count();
        let has_variable = |id: ValueId| {
            used[id] && !schedule.inline[id] && !schedule::is_leaf(function, id) && function.width(id) > 0
        };
        let names = match options.without_source {
            true => FastMap::default(),
            false => named.names(&module, &variables, has_variable),
        };
        let type_of = |id: ValueId| if used[id] { types.of[id] } else { Type::Void };
        let source_variables = named.types(&module, &objects, type_of);
        let unlifted = unlifted + undefined(&module, &used);
        let is_reducible = graph.is_reducible(function);
        Self {
            module,
            schedule,
            variables,
            types,
            objects,
            statements,
            names,
            source_variables,
            code,
            unlifted,
            gotos,
            is_reducible,
            keeps_subnormals,
        }
    }

    /// Prints the function. `known` are the types of the elements of variables that others decided.
    pub fn print(&self, options: &Options, known: &Elements) -> Decompiled {
        let Self { module, schedule, variables, types, objects, names, .. } = self;
        let analyses = c::Analyses { schedule, variables, types, objects };
        let printer = c::Printer::new(module, options.language, analyses, known, names.clone());
        let c::PrintedFunction {
            prelude,
            lines,
            body,
            casts,
            unnamed,
            parameters,
            prototype,
            callees,
            elements,
        } = printer.run(&self.statements, self.gotos);
        Decompiled {
            prelude,
            lines,
            body,
            unlifted: self.unlifted + unnamed,
            gotos: self.gotos,
            casts,
            is_reducible: self.is_reducible,
            flushes: module.flushes,
            keeps_subnormals: self.keeps_subnormals,
            parameters,
            prototype,
            callees,
            elements,
            code: self.code.clone(),
            variables: self.source_variables.clone(),
        }
    }
}

/// Returns whether a function computes with doubles.
fn has_doubles(function: &Function) -> bool {
    let is_wide = |id: ValueId| function.width(id) == 64;
    function.values.entries().any(|(id, value)| match value.op {
        Op::FloatAdd | Op::FloatSub | Op::FloatMul | Op::FloatDiv | Op::FloatSqrt | Op::FloatConvert => {
            is_wide(id) || is_wide(function.input(id, 0))
        }
        Op::FloatEqual | Op::FloatNotEqual | Op::FloatLess | Op::FloatLessEqual => {
            is_wide(function.input(id, 0))
        }
        Op::Call(call) => call.signature().has(Operand::Number(Number::F64)),
        _ => false,
    })
}

/// Counts the uses of registers that a call has left undefined, or that a device function's caller has not set: the
/// functions don't keep to the calling convention. Kernels without calls only read registers that their source has not
/// initialized.
fn undefined(module: &Module<'_>, used: &ValueMap<bool>) -> usize {
    if module.has_calls() { pass::unneeded::undefined(&module.function, used).len() } else { 0 }
}
