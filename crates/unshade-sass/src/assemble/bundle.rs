//! Scheduling words with fields of the instructions after them.
//!
//! Each such word is made of the listing's line with it, or else the word that was there; then the fields of each assembled
//! instruction replace those in it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Assembled, LineParts};
use crate::control;
use crate::table::Isa;

/// The scheduling words of a listing. Without such words, all words are as they are.
pub(super) struct Bundles<'a> {
    isa: &'static Isa,
    /// The word that is at an address now.
    old: &'a dyn Fn(u64) -> Option<u128>,
    /// The scheduling words, by address.
    schedules: BTreeMap<u64, u128>,
}

impl<'a> Bundles<'a> {
    pub(super) fn new(isa: &'static Isa, old: &'a dyn Fn(u64) -> Option<u128>) -> Self {
        Self { isa, old, schedules: BTreeMap::new() }
    }

    /// Returns the address of a line that does not say it: that of a scheduling word is not for an instruction.
    pub(super) fn place(&self, next: u64, parts: &LineParts<'_>) -> u64 {
        let is_instruction = !parts.instruction.trim().is_empty();
        if self.isa.has_bundles() && is_instruction && control::slot(self.isa, next) == 0 {
            return next.wrapping_add(self.isa.word_bytes as u64);
        }
        next
    }

    /// Returns the word of a line, or else the one that is at its address now, with its scheduling information.
    pub(super) fn before(&self, address: u64, word: Option<u128>) -> Option<u128> {
        let word = word.or_else(|| (self.old)(address))?;
        let slot = control::slot(self.isa, address);
        Some(word | control::above(self.isa, self.schedule(address), slot))
    }

    /// Returns the scheduling information of an instruction that is new.
    pub(super) fn scheduling(&self, address: u64) -> u128 {
        if self.isa.has_bundles() {
            control::above(self.isa, self.schedule(address), control::slot(self.isa, address))
        } else {
            control::neutral(self.isa)
        }
    }

    /// Adds a word: an instruction with its scheduling information, or a scheduling word.
    pub(super) fn push(&mut self, found: Assembled, parts: &LineParts<'_>, words: &mut Vec<Assembled>) {
        if self.isa.has_bundles() {
            let slot = control::slot(self.isa, found.address);
            let text = parts.instruction.trim();
            let mut schedule = self.schedule(found.address);
            if slot == 0 {
                schedule = found.word;
            } else if !text.is_empty() && !text.starts_with(".word") {
                schedule = control::with_above(self.isa, schedule, slot, found.word);
            }
            self.schedules.insert(self.start(found.address), schedule);
        }
        words.push(Assembled { word: control::in_memory(self.isa, found.word), ..found });
    }

    /// Returns the words with those of bundles before their first instruction.
    pub(super) fn complete(mut self, words: Vec<Assembled>) -> Vec<Assembled> {
        if !self.isa.has_bundles() {
            return words;
        }
        let mut complete = Vec::new();
        for found in words {
            let start = self.start(found.address);
            if let Some(word) = self.schedules.remove(&start) {
                complete.push(Assembled { line: found.line, address: start, word });
            }
            if found.address != start {
                complete.push(found);
            }
        }
        complete
    }

    /// Returns the address of the scheduling word of an address.
    fn start(&self, address: u64) -> u64 {
        let size = self.isa.word_bytes as u64;
        address.wrapping_sub(control::slot(self.isa, address).wrapping_mul(size))
    }

    /// Returns the scheduling word of an address.
    fn schedule(&self, address: u64) -> u128 {
        let start = self.start(address);
        let neutral = || {
            let neutral = control::neutral(self.isa);
            (1..self.isa.schedule.every)
                .fold(0, |word, slot| control::with_above(self.isa, word, slot, neutral))
        };
        self.schedules.get(&start).copied().or_else(|| (self.old)(start)).unwrap_or_else(neutral)
    }
}
