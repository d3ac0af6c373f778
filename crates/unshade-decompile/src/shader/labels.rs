//! Labels of values, which say what the source code calls them, follow the passes.
//!
//! A component of a variable is a lane of a vector once scalars became vectors. Then the label moves from the lane, which may
//! have no use left, to the vector.

use crate::ir::{Function, Lanes, Op};

/// Moves labels of components from lanes to the vectors that they are in.
pub fn follow(function: &mut Function) {
    let mut labels = std::mem::take(&mut function.labels);
    for label in &mut labels {
        label.value = function.resolve(label.value);
        let Some(lane) = label.lane.filter(|_| function.lanes(label.value) == 1) else { continue };
        if function.op(label.value) == Op::Lanes(Lanes::one(lane)) {
            label.value = function.input(label.value, 0);
        }
    }
    function.labels = labels;
}
