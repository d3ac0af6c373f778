//! Prints one function of a module.
//!
//! Only the function's own body is read, and those of functions whose block addresses it takes. What does not
//! depend on other bodies is numbered as in the text of the whole module: parameters, blocks and results, symbols,
//! attribute groups of functions, metadata reachable from named metadata. The rest is numbered as if this function
//! were the first: attribute groups of calls, other metadata, unnamed structs that only bodies use.

use super::{Bodies, PrintMemory, PrintOptions, Printer, Rules, upgrade};
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::module::Module;
use crate::value::ValueKind;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Result, TokenSink};

/// Prints a function, given by its index in [`Module::functions`], as in the text of the module: from the comment
/// with its attributes to the closing brace. Returns diagnostics of what could not be read.
///
/// Functions before it are not read, so the numbers of metadata and of attribute groups that only calls use may
/// differ from those in the whole text.
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
        return Err(Error::without_offset(ErrorKind::OutOfRange, "function index is out of range"));
    };
    let rules = options.dialect.rules();
    let mut check = upgrade::UpgradeCheck::new(module, rules.dialect);
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
    bodies.iter().flatten().for_each(|body| check.check_body(body));
    let found = if check.needs_upgrade() {
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
    let mut printer =
        Printer::new(module, rules, Bodies::Upgraded(bodies), sink, &mut PrintMemory::default());
    printer.number_module();
    printer.function(index);
    printer.findings
}

/// Returns the functions whose block addresses a body takes.
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
