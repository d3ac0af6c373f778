//! One function of a module.
//!
//! Only its own body is read, and those whose blocks it takes the addresses of. What follows from the module alone is
//! numbered as in the text of the whole module: parameters, blocks and results, symbols, groups of attributes of
//! functions, metadata that named lists refer to. What the whole text numbers function by function is numbered as if
//! this were the first: groups that only calls have, the rest of metadata, structs without a name that only bodies
//! use.

use super::{Bodies, PrintOptions, Printer, Rules, upgrade};
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::module::Module;
use crate::value::ValueKind;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Result, TokenSink};

/// Prints a function, given by its index in [`Module::functions`], as it stands in the text of the module: from the
/// comment on its attributes to the closing brace. What could not be read on the way is returned.
///
/// Functions before it are not read, so that the numbers of metadata and of groups of attributes that only calls have
/// may be others than in the whole text.
///
/// # Errors
/// If the module has no such function, or its body can't be entered.
pub fn function<S: TokenSink>(
    module: &Module<'_>,
    index: usize,
    options: &PrintOptions<'_>,
    sink: &mut S,
) -> Result<Diagnostics> {
    let Some(function) = module.functions.get(index) else {
        return Err(Error::without_offset(ErrorKind::OutOfRange, "no function of this number"));
    };
    let rules = options.dialect.rules();
    let mut needs = upgrade::Needs::new(module, rules.dialect);
    let mut findings = Diagnostics::new();
    let mut bodies: Vec<Option<FunctionBody>> = Vec::new();
    bodies.resize_with(module.functions.len(), || None);
    if !function.declaration {
        let mut body = module.body(index)?;
        findings.append(core::mem::take(&mut body.diagnostics));
        for other in other_functions(module, &body) {
            if let Some(slot) = bodies.get_mut(other) {
                *slot = findings.take("llvm-function", module.body(other));
            }
        }
        if let Some(slot) = bodies.get_mut(index) {
            *slot = Some(body);
        }
    }
    bodies.iter().flatten().for_each(|body| needs.look_at(body));
    let found = if needs.found() {
        let mut upgraded = upgrade::upgrade(module, rules.dialect, bodies);
        let bodies = core::mem::take(&mut upgraded.bodies);
        print(&upgraded.module, bodies, index, rules, sink)
    } else {
        print(module, bodies, index, rules, sink)
    };
    findings.append(found);
    Ok(findings)
}

fn print<S: TokenSink>(
    module: &Module<'_>,
    bodies: Vec<Option<FunctionBody>>,
    index: usize,
    rules: Rules,
    sink: &mut S,
) -> Diagnostics {
    let mut printer = Printer::new(module, rules, Bodies::Upgraded(bodies), sink);
    printer.number_module();
    printer.function(index);
    printer.findings
}

/// Functions whose blocks a body takes the addresses of.
fn other_functions(module: &Module<'_>, body: &FunctionBody) -> Vec<usize> {
    let mut functions: Vec<usize> = body
        .values
        .iter()
        .filter_map(|value| match value.kind {
            ValueKind::Constant(index) => Some(body.constants.get(index)),
            _ => None,
        })
        .filter_map(|constant| match constant {
            Constant::BlockAddress { function, .. } => module.value(None, function),
            _ => None,
        })
        .filter_map(|value| match value.kind {
            ValueKind::Function(index) => Some(index as usize),
            _ => None,
        })
        .filter(|&index| index != body.function as usize)
        .collect();
    functions.sort_unstable();
    functions.dedup();
    functions
}
