//! If-conversion: instructions with internal branches that only compute values become selects.

use super::super::lifter::Lifter;
use crate::ir::{Op, ValueId};
use unshade_sass::semantics::table::Code as Pcode;
use unshade_sass::semantics::{Lifted, Op as Step};

impl Lifter<'_> {
    /// Lifts a pure instruction with internal branches: both paths are computed, and differing values are selected.
    /// Writes are pending.
    pub(super) fn straight_branching(&mut self, lifted: &Lifted, body: usize) {
        /// A path that continues later: operation index, condition, temporaries, pending writes.
        type DeferredPath = (usize, ValueId, Vec<ValueId>, Vec<(u32, ValueId)>);
        let mut deferred: Vec<DeferredPath> = Vec::new();
        let mut path = self.number(1, 1);
        let mut is_live = true;
        let ops = lifted.ops();
        for index in body..=ops.len() {
            while let Some(variable) = deferred.iter().position(|entry| entry.0 == index) {
                let (_, condition, temporaries, writes) = deferred.swap_remove(variable);
                if is_live {
                    self.merge(condition, &temporaries, writes);
                    path = self.make(Op::BoolOr, 1, &[path, condition]);
                } else {
                    self.temporaries = temporaries;
                    self.pending = writes;
                    path = condition;
                    is_live = true;
                }
            }
            let Some(op) = ops.get(index) else { break };
            if !is_live {
                continue;
            }
            match op.code {
                Pcode::Branch => {
                    deferred.push((usize::from(op.to), path, self.temporaries.clone(), self.pending.clone()));
                    is_live = false;
                }
                Pcode::BranchUnless => {
                    let condition = self.input(&lifted.inputs(op)[0]);
                    let contrary = self.make(Op::BoolNot, 1, &[condition]);
                    let away = self.make(Op::BoolAnd, 1, &[path, contrary]);
                    match self.builder.function.number(condition) {
                        Some(1..) => {}
                        Some(0) => {
                            let (names, writes) = (self.temporaries.clone(), self.pending.clone());
                            deferred.push((usize::from(op.to), path, names, writes));
                            is_live = false;
                        }
                        None => {
                            let (names, writes) = (self.temporaries.clone(), self.pending.clone());
                            deferred.push((usize::from(op.to), away, names, writes));
                            path = self.make(Op::BoolAnd, 1, &[path, condition]);
                        }
                    }
                }
                _ => self.pending_step(op, lifted),
            }
        }
    }

    pub(super) fn merge(&mut self, condition: ValueId, temporaries: &[ValueId], writes: Vec<(u32, ValueId)>) {
        for (index, &other) in temporaries.iter().enumerate() {
            let mine = self.temporaries[index];
            if mine != other && other != ValueId::NONE {
                self.temporaries[index] =
                    if mine == ValueId::NONE { other } else { self.select(condition, other, mine) };
            }
        }
        let mut variables: Vec<u32> = writes.iter().chain(&self.pending).map(|entry| entry.0).collect();
        variables.sort_unstable();
        variables.dedup();
        let mut merged = Vec::new();
        for variable in variables {
            let of = |list: &[(u32, ValueId)]| {
                list.iter().rev().find(|entry| entry.0 == variable).map(|entry| entry.1)
            };
            let (other, mine) = (of(&writes), of(&self.pending));
            let value = match (other, mine) {
                (Some(other), Some(mine)) => self.select(condition, other, mine),
                (Some(other), None) => {
                    let old = self.read_variable(variable);
                    self.select(condition, other, old)
                }
                (None, Some(mine)) => {
                    let pending = std::mem::take(&mut self.pending);
                    let old = self.read_variable(variable);
                    self.pending = pending;
                    self.select(condition, old, mine)
                }
                (None, None) => continue,
            };
            merged.push((variable, value));
        }
        self.pending = merged;
    }

    /// Lifts an operation whose writes to variables are pending.
    pub(super) fn pending_step(&mut self, op: &Step, lifted: &Lifted) {
        let value = self.value_of(op, lifted);
        let Some(output) = op.output else { return };
        let writes = self.outputs(&output, value);
        self.pending.extend(writes.into_iter().flatten());
    }
}
