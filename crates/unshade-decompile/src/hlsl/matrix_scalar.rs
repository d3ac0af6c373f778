//! Products of matrices and vectors in code without vectors.
//!
//! DXC writes each lane of a product as a chain of sums, in the order of the vector's lanes:
//! `mad(v.w, r3, mad(v.z, r2, mad(v.y, r1, v.x * r0)))`. What `r0` … are says which product it is:
//!
//! | lane `i` has as `r0`, `r1` … | product |
//! |---|---|
//! | lanes 0, 1 … of row `i` | [`ShaderOp::DotRows`] |
//! | lane `i` of rows 0, 1 … | [`ShaderOp::CombineRows`] |
//!
//! Rows are those of the constant buffer. Chains for lanes from the first on, with the same vector, become one product, and
//! the chains its lanes.

use super::constant_buffer::Offset;
use super::matrix::{Finder, ONE, Row};
use crate::ir::shader::ShaderOp;
use crate::ir::shader::interface::resource_of;
use crate::ir::shader::vector::{lane, source};
use crate::ir::{BlockId, Op, ValueId};
use std::collections::BTreeSet;

/// A lane of a product.
struct Chain {
    /// The sum.
    id: ValueId,
    /// The row and the lane of each term, and the number that it is multiplied with; 1 if there is none.
    terms: Vec<(Row, u8, Option<ValueId>)>,
}

impl Chain {
    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.terms.iter().map(|term| &term.0)
    }

    fn lanes(&self) -> impl Iterator<Item = u8> {
        self.terms.iter().map(|term| term.1)
    }
}

/// Maximum number of chains among which products are searched.
const MAX_CHAINS: usize = 2_048;

impl Finder<'_> {
    /// Replaces the chains of all products. Returns whether there are any.
    pub(super) fn scalar_products(&mut self) -> bool {
        let mut chains: Vec<Chain> = Vec::new();
        let mut inner = BTreeSet::new();
        for id in self.function.values.keys().rev().collect::<Vec<_>>() {
            if !self.function.is_replaced(id)
                && !inner.contains(&id)
                && chains.len() < MAX_CHAINS
                && let Some(terms) = self.chain(id, &mut inner)
            {
                chains.push(Chain { id, terms });
            }
        }
        // In the order of the code.
        chains.reverse();
        let mut is_done = vec![false; chains.len()];
        for first in 0..chains.len() {
            let Some((op, found)) = (!is_done[first]).then(|| self.group(&chains, &is_done, first)).flatten()
            else {
                continue;
            };
            for &at in &found {
                is_done[at] = true;
            }
            let group: Vec<&Chain> = found.iter().map(|at| &chains[*at]).collect();
            self.join(op, &group);
        }
        is_done.contains(&true)
    }

    /// Returns the terms of a chain that ends with a value. The sums in it are `inner`.
    fn chain(&self, id: ValueId, inner: &mut BTreeSet<ValueId>) -> Option<Vec<(Row, u8, Option<ValueId>)>> {
        let function = &*self.function;
        let mut terms = Vec::new();
        let mut sums = Vec::new();
        let mut at = id;
        loop {
            let value = &function.values[at];
            if value.is_precise || value.width != 32 || value.lanes != 1 || terms.len() == 4 {
                return None;
            }
            let input = |index| function.input(at, index);
            match function.op(at) {
                Op::Shader(ShaderOp::MultiplyAdd) => {
                    terms.push(self.scaled(input(0), input(1))?);
                    at = input(2);
                }
                Op::FloatMul if !terms.is_empty() => {
                    terms.push(self.scaled(input(0), input(1))?);
                    break;
                }
                Op::FloatAdd => {
                    let (entry, rest) = match (self.entry(input(0)), self.entry(input(1))) {
                        (_, Some(entry)) => (entry, input(0)),
                        (Some(entry), _) => (entry, input(1)),
                        _ => return None,
                    };
                    terms.push((entry.0, entry.1, None));
                    at = rest;
                }
                _ => return None,
            }
            sums.push(at);
        }
        terms.reverse();
        inner.extend(sums);
        Some(terms)
    }

    /// Returns a product of an entry of a constant buffer and a number.
    fn scaled(&self, a: ValueId, b: ValueId) -> Option<(Row, u8, Option<ValueId>)> {
        let (found, number) = match (self.entry(a), self.entry(b)) {
            (Some(found), None) => (found, b),
            (None, Some(found)) => (found, a),
            _ => return None,
        };
        Some((found.0, found.1, Some(number)))
    }

    /// Returns a lane of a row of a constant buffer.
    fn entry(&self, id: ValueId) -> Option<(Row, u8)> {
        let function = &*self.function;
        let (load, number) = source(function, id)?;
        if function.op(load) != Op::Shader(ShaderOp::LoadConstant) || function.width(load) != 32 {
            return None;
        }
        let (handle, row) = (function.input(load, 0), function.input(load, 1));
        let resource = resource_of(function, handle)?;
        let lanes = function.lanes(load);
        Some((Row { handle, row, resource, offset: Offset::of(function, row, 16), lanes }, number))
    }

    /// Returns the product that a chain is the first lane of, and the chains that are its lanes.
    fn group(&self, chains: &[Chain], is_done: &[bool], first: usize) -> Option<(ShaderOp, Vec<usize>)> {
        let start = &chains[first];
        let row = &start.terms.first()?.0;
        let (count, minor) = self.matrix(row)?;
        let is_one_row = start.rows().all(|other| self.are_rows(row, [other].into_iter()));
        let (op, wanted, limit) = if is_one_row && start.lanes().eq(0..minor) {
            (ShaderOp::DotRows, start.terms.len(), count)
        } else if start.lanes().all(|lane| lane == 0) && self.are_rows(row, start.rows()) {
            (ShaderOp::CombineRows, start.terms.len(), minor)
        } else {
            return None;
        };
        if op == ShaderOp::CombineRows && wanted > usize::from(count) {
            return None;
        }
        let block = self.function.values[start.id].block;
        let mut found = vec![first];
        for number in 1..limit {
            let is_next = |at: &usize| {
                let chain = &chains[*at];
                !is_done[*at]
                    && self.function.values[chain.id].block == block
                    && chain.terms.len() == wanted
                    && self.has_same_numbers(start, chain)
                    && match op {
                        ShaderOp::DotRows => {
                            chain.lanes().eq(start.lanes())
                                && chain.rows().all(|other| self.is_row(row, other, number))
                        }
                        _ => chain.lanes().all(|lane| lane == number) && self.are_rows(row, chain.rows()),
                    }
            };
            match (0..chains.len()).find(is_next) {
                Some(at) => found.push(at),
                None => break,
            }
        }
        (found.len() > 1).then_some((op, found))
    }

    /// Returns whether a row is that many rows after the first one.
    fn is_row(&self, first: &Row, row: &Row, number: u8) -> bool {
        let mut moved = row.clone();
        moved.offset.constant = row.offset.constant.wrapping_sub(16 * u32::from(number));
        self.are_rows(first, [&moved].into_iter())
    }

    /// Returns whether the terms of two chains have the same numbers.
    fn has_same_numbers(&self, a: &Chain, b: &Chain) -> bool {
        a.terms.iter().zip(&b.terms).all(|(a, b)| match (a.2, b.2) {
            (Some(a), Some(b)) => self.is_same(a, b),
            (None, None) => true,
            _ => false,
        })
    }

    /// Makes chains the lanes of one product.
    fn join(&mut self, op: ShaderOp, chains: &[&Chain]) {
        let [first, ..] = chains else { return };
        let Some((row, ..)) = first.terms.first() else { return };
        let (block, address): (BlockId, u32) =
            (self.function.values[first.id].block, self.function.values[first.id].address);
        let numbers: Vec<Option<ValueId>> = first.terms.iter().map(|term| term.2).collect();
        let scalars: Vec<ValueId> = numbers
            .into_iter()
            .map(|number| number.unwrap_or_else(|| self.function.constant(ONE, 32)))
            .collect();
        let vector = self.vector(first.id, &scalars);
        let (handle, from) = (row.handle, row.row);
        let product = self.function.raw(Op::Shader(op), 32, block, address, &[handle, from, vector]);
        self.function.with_lanes(product, chains.len() as u16);
        for (number, chain) in (0..).zip(chains) {
            let part = lane(self.function, block, address, product, number);
            self.function.replace(chain.id, part);
        }
    }
}
