//! Facts and tables of an entry point's reflection, for functions of Metal libraries and of loose modules.

use super::{Cell, Column, Fact, Table};
use crate::quantity::{dimensions, grouped};
use crate::view::{ConstantView, ReflectionView};

const CONSTANTS: &[Column] = &[
    Column::left("type", "type"),
    Column::left("name", "name"),
    Column::left("attribute", "attribute"),
    Column::left("used", "used"),
];

const ARGUMENTS: &[Column] = &[
    Column::left("name", "name"),
    Column::left("kind", "kind"),
    Column::left("type", "type"),
    Column::left("attribute", "attribute"),
    Column::right("index", "index"),
    Column::left("access", "access"),
    Column::left("used", "used"),
];

/// Returns the facts about threads.
pub(super) fn thread_facts(reflection: &ReflectionView) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(threads) = reflection.required_threads {
        facts.push(Fact::new("threads", format!("{} required", dimensions(threads))));
    }
    if let Some(threads) = reflection.max_total_threads {
        facts.push(Fact::new("threads", format!("at most {threads} in a threadgroup")));
    }
    if reflection.static_threadgroup_memory > 0 {
        let text = format!("{} bytes of static memory", grouped(reflection.static_threadgroup_memory));
        facts.push(Fact::new("threadgroup", text));
    }
    facts
}

/// Returns the table of function constants.
pub(super) fn constants_table(constants: &[ConstantView]) -> Option<Table> {
    Table::of("function constants", CONSTANTS, constants, |one| {
        vec![
            Cell::text(one.data_type.clone()),
            Cell::text(one.name.clone()),
            Cell::text(format!("[[function_constant({})]]", one.index)),
            yes(one.active),
        ]
    })
}

/// Returns the table of arguments.
pub(super) fn arguments_table(reflection: &ReflectionView) -> Option<Table> {
    Table::of("arguments", ARGUMENTS, &reflection.arguments, |one| {
        vec![
            Cell::text(one.name.clone()),
            Cell::text(one.kind.clone()),
            Cell::text(one.type_name.clone()),
            Cell::text(one.attribute.clone()),
            Cell::number(one.index),
            Cell::text(one.access.clone()),
            yes(!one.unused),
        ]
    })
}

/// Returns a cell with yes or no.
pub(super) fn yes(flag: bool) -> Cell {
    Cell::Text(if flag { "yes" } else { "no" }.into())
}
