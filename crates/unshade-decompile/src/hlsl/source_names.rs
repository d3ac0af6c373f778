//! Names of the source code for the variables of a function.
//!
//! Values have labels from debug information. A variable of the text gets the name that its values have in the outermost
//! function, or that most of them have; a component that is alone has its letter in the name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::names::identifier;
use crate::ir::hash::FastMap;
use crate::ir::shader::interface::LocalName;
use crate::ir::{Function, ValueId};
use crate::variables::Variables;

/// The letters of components.
const LETTERS: [char; 4] = ['x', 'y', 'z', 'w'];

/// The length from which a name is of no help.
const LONGEST: usize = 64;

/// Returns the names of classes of values.
pub(super) fn find(
    names: &[LocalName],
    function: &Function,
    variables: &Variables,
    has_variable: impl Fn(ValueId) -> bool,
) -> FastMap<ValueId, String> {
    let mut counts: BTreeMap<(ValueId, u32, Option<u8>), u32> = BTreeMap::new();
    for label in &function.labels {
        if !has_variable(label.value) {
            continue;
        }
        // Components of a vector vote for the vector.
        let lane = label.lane.filter(|_| function.lanes(label.value) == 1);
        *counts.entry((variables.of(label.value), label.variable, lane)).or_default() += 1;
    }
    let depth = |variable: u32| names.get(variable as usize).map_or(u32::MAX, |name| name.depth);
    let mut votes: Vec<_> = counts.into_iter().collect();
    votes.sort_by_key(|&((class, variable, lane), count)| {
        (class, depth(variable), Reverse(count), variable, lane)
    });
    votes.dedup_by_key(|((class, ..), _)| *class);
    let named = |((class, variable, lane), _): ((ValueId, u32, Option<u8>), u32)| {
        let name = identifier(&names.get(variable as usize)?.name);
        let letter = lane.and_then(|lane| LETTERS.get(usize::from(lane)));
        let name = letter.map_or_else(|| name.clone(), |letter| format!("{name}_{letter}"));
        (name.len() <= LONGEST).then_some((class, name))
    };
    votes.into_iter().filter_map(named).collect()
}
