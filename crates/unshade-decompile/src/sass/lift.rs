//! Lifts p-code to values.
//!
//! Registers and flags are the variables of [`Builder`]; an instruction's temporaries are in a list. A branch inside
//! an instruction with only pure operations becomes a select.
//!
//! Guarded instructions are gathered: consecutive instructions with the same guard, its negation, or none and no
//! conflicting effects belong to one [`Region`]. A region becomes one `if`, or selects if it has no effects.

mod choice;
mod instruction;
mod operand;

use super::Source;
use super::flow::{self, Flow, Node};
use super::functions::Functions;
use super::lifter::Lifter;
use super::{convention, pointers, runtime_calls, stack};
use crate::DecompileError;
use crate::ir::{BlockId, End, Function, NoteId};
use unshade_sass::listing::Word;

/// Average number of values per instruction.
const VALUES: usize = 4;

/// Lifts a function. Also returns the registers that its instructions write.
pub(super) fn lift(
    source: &Source<'_>,
    functions: &Functions,
    flow: &Flow,
    budget: usize,
) -> Result<(Function, Vec<u32>), DecompileError> {
    let mut lifter = Lifter::new(source, functions, flow, budget);
    let mut instructions = 0;
    for node in &flow.nodes {
        instructions += node.end - node.start;
        for &to in edges(node).iter() {
            lifter.missing_edges[to as usize] += 1;
        }
    }
    lifter.builder.reserve(4 * flow.nodes.len(), VALUES * instructions);
    lifter.builder.seal(BlockId::ENTRY);
    let first = lifter.node_block(0);
    lifter.builder.end(BlockId::ENTRY, End::Goto(first));
    lifter.edge_created(0);
    for node in order(flow) {
        lifter.node(node)?;
    }
    let mut function = lifter.builder.finish();
    Lifter::settle_images(&mut function, &lifter.image, source.code.variables);
    runtime_calls::settle_prints(&mut function, &lifter.prints, source.code.variables);
    if !source.is_kernel {
        stack::run(&mut function, source.code.local_size);
    }
    pointers::run(&mut function, source.is_kernel);
    convention::settle_pointer_calls(&mut function, functions);
    let written = (0..).zip(lifter.written).filter(|register| register.1).map(|register| register.0);
    Ok((function, written.collect()))
}

/// Returns the successors of a node, each once.
fn edges(node: &Node) -> Vec<u32> {
    let mut edges: Vec<u32> = node.table.iter().map(|entry| entry.1).collect();
    edges.extend([node.taken, node.next].into_iter().filter(|edge| *edge != flow::NONE));
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Returns the nodes in reverse postorder.
fn order(flow: &Flow) -> Vec<u32> {
    let mut seen = vec![false; flow.nodes.len()];
    let mut order = Vec::new();
    let mut stack = vec![(0_u32, edges(&flow.nodes[0]))];
    seen[0] = true;
    while let Some((node, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(next) if !seen[next as usize] => {
                seen[next as usize] = true;
                stack.push((next, edges(&flow.nodes[next as usize])));
            }
            Some(_) => {}
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

impl Lifter<'_> {
    fn node_block(&mut self, node: u32) -> BlockId {
        if self.blocks[node as usize] == BlockId::NONE {
            let address = self.address_of(self.flow.nodes[node as usize].start);
            self.blocks[node as usize] = self.builder.block(address);
        }
        self.blocks[node as usize]
    }

    fn address_of(&self, slot: usize) -> u32 {
        (self.code.base + (slot * self.code.isa.word_bytes) as u64) as u32
    }

    /// Records that an edge into a node exists; after the last one its block is sealed. The entry has one more.
    fn edge_created(&mut self, node: u32) {
        let missing_edges = &mut self.missing_edges[node as usize];
        if node == 0 && *missing_edges > 0 {
            return;
        }
        *missing_edges = missing_edges.saturating_sub(1);
        if *missing_edges == 0 {
            let block = self.node_block(node);
            self.builder.seal(block);
        }
    }

    fn node(&mut self, index: u32) -> Result<(), DecompileError> {
        self.block = self.node_block(index);
        let flow = self.flow;
        let node = &flow.nodes[index as usize];
        for slot in node.start..node.end {
            self.address = self.address_of(slot);
            if self.builder.function.values.len() > self.budget {
                return Err(DecompileError::Budget { limit: self.budget / 24 });
            }
            match flow.words[slot] {
                Word::Schedule(_) => {}
                Word::Unknown(word) => {
                    self.close();
                    self.note_text(format!(".word {word:#x}"));
                    self.unlifted(0);
                }
                Word::Instruction(instruction) => {
                    self.instruction = Some(instruction);
                    self.note = NoteId::NONE;
                    self.instruction(&instruction, node, slot + 1 == node.end);
                    self.name_locals();
                }
            }
            if self.block == BlockId::NONE {
                break;
            }
        }
        if self.block != BlockId::NONE {
            self.close();
            self.address = self.address_of(node.end.saturating_sub(1));
            let end = self.end_at(node, node.next);
            self.builder.end(self.block, end);
        }
        for edge in edges(node) {
            self.edge_created(edge);
        }
        Ok(())
    }

    /// Returns the end of a block that continues at a node.
    fn end_at(&mut self, node: &Node, to: u32) -> End {
        if to != flow::NONE {
            return End::Goto(self.node_block(to));
        }
        if let Some(fault) = node.fault {
            self.note_text(String::from(fault));
            self.unlifted(0);
        }
        End::Return
    }
}
