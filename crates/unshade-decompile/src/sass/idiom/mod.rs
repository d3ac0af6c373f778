//! The idioms of NVIDIA's compilers.
//!
//! | module | idiom |
//! |---|---|
//! | [`pairs`] | 64-bit values, computed as halves in 32-bit registers |
//! | `reciprocal` | 32-bit quotients, computed with a reciprocal and corrected twice |
//! | [`quotient`] | divisions and roots of any form, recognised by their results |
//! | [`library`] | functions of the mathematical library, recognised by their results |
//! | [`flush`] | flushes of subnormal floats around each operation, for `-ftz=true` |
//! | [`states`] | the states of random number generators |

pub mod flush;
pub mod library;
pub mod pairs;
pub mod quotient;
mod reciprocal;
pub mod states;

use crate::ir::{Function, Op, ValueId};
use crate::pass::idiom::{Idioms, Search};
use crate::pass::simplify::Rewriter;
use pairs::Pairs;

/// Returns the idioms. Searches remember results for the other functions of a program.
pub fn idioms() -> Idioms {
    let mut quotients = quotient::Cache::default();
    let quotient = Search {
        name: "quotient",
        about: "inlined divisions and roots become operators",
        finds_library: false,
        run: Box::new(move |module, graph| quotient::run(&mut module.function, graph, &mut quotients)),
    };
    let mut calls = library::Cache::default();
    let library = Search {
        name: "library",
        about: "inlined functions of the mathematical library become calls",
        finds_library: true,
        run: Box::new(move |module, graph| library::run(module, graph, &mut calls)),
    };
    Idioms {
        rewrite,
        searches: vec![quotient, library],
        remove_flushes: flush::run,
        depends_on_flushes: flush::is_sensitive,
        structures: states::STATES,
    }
}

/// Returns the replacement of a value that is the end of an idiom.
fn rewrite(function: &mut Function, id: ValueId) -> Option<ValueId> {
    let value = function.values[id];
    match value.op {
        Op::Concat => (Pairs { function }).concat(id),
        Op::Add if value.width == 64 => {
            let mut pairs = Pairs { function };
            pairs.whole_term(id).or_else(|| pairs.whole_multiple(id))
        }
        Op::BoolAnd | Op::BoolOr | Op::BoolXor => (Pairs { function }).comparison(id),
        Op::Select if value.width == 32 => Rewriter { function, id }.quotient_by_value(),
        _ => None,
    }
}
