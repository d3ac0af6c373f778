//! Variables of a module: constants, memory of threadgroups, samplers, function constants.
//!
//! A function constant is two variables: one that the pipeline sets, `@_Z1n.MTL_FC_INIT_3_b`, and the one that code reads,
//! `@_ZL1n`, to which a function in the section `air.static_init` copies it. Both are the constant.

use super::names;
use super::node::{Item, items};
use super::shared::Shared;
use super::types::same;
use crate::ir::hash::FastMap;
use crate::ir::metal::interface::{Global, GlobalKind, Initial};
use std::collections::BTreeSet;
use unshade_llvm::body::FunctionBody;
use unshade_llvm::constants::Constant;
use unshade_llvm::instruction::Opcode;
use unshade_llvm::operation::Operation;
use unshade_llvm::value::ValueKind;
use unshade_llvm::{Module, ValueId};

/// The deepest nesting of initial values.
const MAX_DEPTH: u32 = 16;

/// The most parts of all initial values.
const MAX_PARTS: usize = 1 << 20;

/// The most steps from a constant to the variable that code reads.
const MAX_STEPS: usize = 8;

/// A function constant in metadata.
struct FunctionConstant {
    index: u32,
    name: String,
    type_name: String,
}

/// Adds the variables of a module to its program.
pub(super) fn add(shared: &mut Shared<'_, '_>) {
    let module = shared.module;
    let constants = function_constants(module);
    let Initialized { copies, computed } = initialized(module, &constants);
    let samplers = samplers(module);
    let mut parts = MAX_PARTS;
    for (number, global) in (0..).zip(&module.globals) {
        let symbol = &global.symbol;
        if symbol.name.starts_with(b"llvm.") {
            continue;
        }
        let name = String::from_utf8_lossy(&symbol.name).into_owned();
        let mut ty = same(symbol.ty);
        let constant = copies.get(&number).or(Some(&number)).and_then(|number| constants.get(number));
        let (name, kind) = if let Some(constant) = constant {
            ty = shared.with_name(ty, &constant.type_name);
            (constant.name.clone(), GlobalKind::FunctionConstant(constant.index))
        } else if samplers.contains(&number) {
            let words = match initial(module, global.initializer, &mut parts, 0) {
                Initial::Number(word) => vec![word],
                Initial::List(words) => words
                    .iter()
                    .map(|word| if let Initial::Number(word) = word { *word } else { 0 })
                    .collect(),
                _ => Vec::new(),
            };
            ("smp".to_owned(), GlobalKind::Sampler(words))
        } else if symbol.address_space == 3 {
            (names::of_variable(&name).to_owned(), GlobalKind::Threadgroup)
        } else {
            let value = match computed.contains(&number) {
                true => Initial::Unknown,
                false => initial(module, global.initializer, &mut parts, 0),
            };
            (names::of_variable(&name).to_owned(), GlobalKind::Constant(value))
        };
        // A function constant is there twice.
        let known = match kind {
            GlobalKind::FunctionConstant(_) => {
                shared.program.globals.iter().position(|global| global.kind == kind)
            }
            _ => None,
        };
        if let Some(known) = known {
            shared.globals.insert(number, known as u32);
            continue;
        }
        shared.globals.insert(number, shared.program.globals.len() as u32);
        shared.program.globals.push(Global { name, ty, kind });
    }
}

/// Returns the function constants of a module, by the number of the variable that a pipeline sets.
fn function_constants(module: &Module<'_>) -> FastMap<u32, FunctionConstant> {
    let mut constants = FastMap::default();
    for &node in module.named(b"air.function_constants") {
        let items = items(module, node);
        let [Item::Value(value), Item::Text(type_name), Item::Text(name), Item::Number(index), ..] =
            items[..]
        else {
            continue;
        };
        let Some(ValueKind::Global(number)) = module.value(None, value).map(|value| value.kind) else {
            continue;
        };
        let constant = FunctionConstant {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            name: name.to_owned(),
            type_name: type_name.to_owned(),
        };
        constants.insert(number, constant);
    }
    constants
}

/// The variables that initialisers set.
#[derive(Default)]
struct Initialized {
    /// To a function constant, with the variable of that.
    copies: FastMap<u32, u32>,
    /// To something that they compute.
    computed: BTreeSet<u32>,
}

/// Returns the variables that initialisers set.
fn initialized(module: &Module<'_>, constants: &FastMap<u32, FunctionConstant>) -> Initialized {
    let mut found = Initialized::default();
    for (index, function) in module.functions_with_bodies() {
        if function.symbol.section != b"air.static_init" {
            continue;
        }
        let Ok(body) = module.body(index) else { continue };
        for instruction in &body.instructions {
            if let Some(Operation::Store { value, pointer, .. }) = Operation::of(&body, instruction)
                && let Some(ValueKind::Global(to)) =
                    module.value(Some(&body), pointer).map(|value| value.kind)
            {
                match loaded(module, &body, value).filter(|from| constants.contains_key(from)) {
                    Some(from) => {
                        found.copies.insert(to, from);
                    }
                    None => {
                        found.computed.insert(to);
                    }
                }
            }
        }
    }
    found
}

/// Returns the variable whose value a value is, but for a conversion.
fn loaded(module: &Module<'_>, body: &FunctionBody, value: ValueId) -> Option<u32> {
    let mut at = value;
    for _ in 0..MAX_STEPS {
        let ValueKind::Instruction(index) = module.value(Some(body), at)?.kind else { return None };
        let instruction = body.instructions.get(index as usize)?;
        match Operation::of(body, instruction)? {
            Operation::Load { pointer, .. } => {
                let ValueKind::Global(number) = module.value(Some(body), pointer)?.kind else { return None };
                return Some(number);
            }
            Operation::Unary { opcode: Opcode::ZExt | Opcode::Trunc | Opcode::Freeze, value } => at = value,
            // A truth, normalised.
            Operation::Compare { predicate: "ne", left, right }
                if module.integer(Some(body), right) == Some(0) =>
            {
                at = left;
            }
            Operation::Binary { opcode: Opcode::And, left, right }
                if module.integer(Some(body), right) == Some(1) =>
            {
                at = left;
            }
            _ => return None,
        }
    }
    None
}

/// Returns the numbers of the variables that are samplers.
fn samplers(module: &Module<'_>) -> Vec<u32> {
    let nodes = module.named(b"air.sampler_states").iter();
    nodes
        .filter_map(|node| match items(module, *node)[..] {
            [Item::Text("air.sampler_state"), Item::Value(value), ..] => {
                match module.value(None, value)?.kind {
                    ValueKind::Global(number) => Some(number),
                    _ => None,
                }
            }
            _ => None,
        })
        .collect()
}

/// Returns an initial value.
fn initial(module: &Module<'_>, value: Option<ValueId>, parts: &mut usize, depth: u32) -> Initial {
    let Some(value) = value else { return Initial::Unknown };
    let Some((constant, constants)) = module.constant(None, value) else { return Initial::Unknown };
    let mut take = |count: usize| {
        let fits = *parts >= count && depth < MAX_DEPTH;
        *parts = parts.saturating_sub(count);
        fits
    };
    match constant {
        Constant::Null => Initial::Zero,
        Constant::Integer(number) | Constant::Float(number) => Initial::Number(number),
        Constant::Aggregate(slice) if take(slice.len()) => {
            let values = constants.values(slice);
            Initial::List(values.iter().map(|part| initial(module, Some(*part), parts, depth + 1)).collect())
        }
        Constant::Data(slice) if take(slice.len()) => {
            Initial::List(constants.words(slice).iter().map(|word| Initial::Number(*word)).collect())
        }
        Constant::Text(slice) if take(slice.len()) => Initial::List(
            constants.bytes(slice).iter().map(|byte| Initial::Number(u64::from(*byte))).collect(),
        ),
        _ => Initial::Unknown,
    }
}
