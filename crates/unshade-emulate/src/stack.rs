//! The reconvergence stack: where the threads of a warp meet again after they went different ways.
//!
//! A warp runs one instruction at a time, for those of its lanes that are active. An entry is a mask of lanes and the
//! address at which they go on:
//!
//! | entry | pushed by | lanes come to wait by |
//! |---|---|---|
//! | join | `SSY` | `.S` |
//! | break | `PBK` | `BRK` |
//! | continue | `PCNT` | `CONT` |
//! | return | `CAL`, `PRET` | `RET` |
//! | long jump | `PLONGJMP` | `LONGJMP` |
//! | way | a branch that only some lanes take | nothing: these lanes have not gone on yet |
//!
//! Lanes that come to wait for an entry leave the active mask, and the masks of all entries above it, for they will not be
//! there. When no lane is active, the topmost entry is popped: its lanes go on at its address. So a way is walked before
//! the join below it is passed, and the join is passed by all lanes together.
//!
//! Source: US patents 7,353,369 and 8,667,256 describe such stacks; which instruction takes which entry was read from
//! code that NVIDIA's compiler makes.

use crate::fault::Reason;

/// What an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// `SSY`: lanes meet again.
    Join,
    /// `PBK`: lanes leave a loop.
    Break,
    /// `PCNT`: lanes begin the next round of a loop.
    Continue,
    /// `CAL`, `PRET`: lanes return.
    Return,
    /// `PLONGJMP`.
    LongJump,
    /// The other way of a branch.
    Way,
}

impl Token {
    /// The instruction that takes the entry.
    pub(crate) fn taken_by(self) -> &'static str {
        match self {
            Self::Join => ".S",
            Self::Break => "BRK",
            Self::Continue => "CONT",
            Self::Return => "RET",
            Self::LongJump => "LONGJMP",
            Self::Way => "BRA",
        }
    }
}

/// An entry of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is for.
    pub token: Token,
    /// The lanes, a bit each.
    pub lanes: u32,
    /// Where they go on.
    pub address: u64,
}

/// The stack of a warp.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    entries: Vec<Entry>,
}

impl Stack {
    /// The entries, the topmost last.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Puts an entry on top.
    ///
    /// # Errors
    /// If there are as many as the limit allows.
    pub(crate) fn push(&mut self, entry: Entry, limit: usize) -> Result<(), Reason> {
        if self.entries.len() >= limit {
            return Err(Reason::StackTooDeep(limit));
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Lanes come to wait for the topmost entry of a kind that has them. They leave the entries above.
    ///
    /// # Errors
    /// If a lane has no such entry.
    pub(crate) fn wait(&mut self, token: Token, lanes: u32) -> Result<(), Reason> {
        let mut rest = lanes;
        for entry in self.entries.iter_mut().rev() {
            let here = if entry.token == token { entry.lanes & rest } else { 0 };
            rest &= !here;
            entry.lanes &= !rest;
            if rest == 0 {
                return Ok(());
            }
        }
        Err(Reason::StackEmpty(token.taken_by()))
    }

    /// Whether a lane has an entry of a kind.
    pub(crate) fn has(&self, token: Token, lanes: u32) -> u32 {
        let of_kind = self.entries.iter().filter(|entry| entry.token == token);
        of_kind.fold(0, |found, entry| found | entry.lanes) & lanes
    }

    /// Lanes have ended: they are taken out of all entries.
    pub(crate) fn remove(&mut self, lanes: u32) {
        for entry in &mut self.entries {
            entry.lanes &= !lanes;
        }
    }

    /// The topmost entry that has lanes; those above are dropped.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        while let Some(entry) = self.entries.pop() {
            if entry.lanes != 0 {
                return Some(entry);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(token: Token, lanes: u32, address: u64) -> Entry {
        Entry { token, lanes, address }
    }

    #[test]
    fn both_ways_are_walked_before_the_join() {
        let mut stack = Stack::default();
        stack.push(entry(Token::Join, 0b1111, 0x100), 8).unwrap();
        stack.push(entry(Token::Way, 0b0011, 0x40), 8).unwrap();
        // The lanes 2 and 3 arrive, then 0 and 1 go on at the other way.
        stack.wait(Token::Join, 0b1100).unwrap();
        assert_eq!(stack.pop(), Some(entry(Token::Way, 0b0011, 0x40)));
        stack.wait(Token::Join, 0b0011).unwrap();
        assert_eq!(stack.pop(), Some(entry(Token::Join, 0b1111, 0x100)));
        assert_eq!(stack.pop(), None);
    }

    #[test]
    fn a_break_leaves_the_joins_inside_of_the_loop() {
        let mut stack = Stack::default();
        stack.push(entry(Token::Break, 0b1111, 0x200), 8).unwrap();
        stack.push(entry(Token::Join, 0b1111, 0x100), 8).unwrap();
        stack.wait(Token::Break, 0b0001).unwrap();
        assert_eq!(stack.pop(), Some(entry(Token::Join, 0b1110, 0x100)));
        stack.wait(Token::Break, 0b1110).unwrap();
        assert_eq!(stack.pop(), Some(entry(Token::Break, 0b1111, 0x200)));
    }

    #[test]
    fn what_was_never_pushed_and_what_is_too_deep_are_told() {
        let mut stack = Stack::default();
        assert_eq!(stack.wait(Token::Break, 1), Err(Reason::StackEmpty("BRK")));
        stack.push(entry(Token::Join, 1, 0), 1).unwrap();
        assert_eq!(stack.push(entry(Token::Join, 1, 0), 1), Err(Reason::StackTooDeep(1)));
    }
}
