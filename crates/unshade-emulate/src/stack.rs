//! The reconvergence stack, which lets diverged lanes of a warp reconverge.
//!
//! A warp executes one instruction at a time, for its active lanes. An entry has a mask of lanes and the address where they
//! continue:
//!
//! | entry | pushed by | lanes start to wait at |
//! |---|---|---|
//! | join | `SSY` | `.S` |
//! | break | `PBK` | `BRK` |
//! | continue | `PCNT` | `CONT` |
//! | return | `CAL`, `PRET` | `RET` |
//! | long jump | `PLONGJMP` | `LONGJMP` |
//! | divergence | a branch that only some lanes take | nothing: these lanes are ready to run |
//!
//! Lanes that start to wait for an entry are removed from the active mask and from the masks of all entries above it. When
//! no lane is active, the topmost entry is popped, and its lanes continue at its address. So all diverged paths run before
//! the join below them is popped, and all lanes continue together from there.
//!
//! Source: US patents 7,353,369 and 8,667,256 describe such stacks; code of NVIDIA's compiler shows which instruction uses
//! which kind of entry.

use crate::fault::Reason;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// `SSY`: lanes reconverge.
    Join,
    /// `PBK`: lanes leave a loop.
    Break,
    /// `PCNT`: lanes start the next iteration of a loop.
    Continue,
    /// `CAL`, `PRET`: lanes return.
    Return,
    /// `PLONGJMP`.
    LongJump,
    /// The other side of a divergent branch.
    Divergence,
}

impl Token {
    /// Returns the instruction that waits for such an entry.
    pub(crate) fn taken_by(self) -> &'static str {
        match self {
            Self::Join => ".S",
            Self::Break => "BRK",
            Self::Continue => "CONT",
            Self::Return => "RET",
            Self::LongJump => "LONGJMP",
            Self::Divergence => "BRA",
        }
    }
}

/// An entry of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its kind.
    pub token: Token,
    /// The lanes, as a mask.
    pub lanes: u32,
    /// Where they continue.
    pub address: u64,
}

/// The reconvergence stack of a warp.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    entries: Vec<Entry>,
}

impl Stack {
    /// Returns the entries, topmost last.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Pushes an entry.
    ///
    /// # Errors
    /// If the stack has `limit` entries.
    pub(crate) fn push(&mut self, entry: Entry, limit: usize) -> Result<(), Reason> {
        if self.entries.len() >= limit {
            return Err(Reason::StackTooDeep(limit));
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Makes lanes wait for the topmost entry of a kind that contains them, and removes them from the entries above.
    ///
    /// # Errors
    /// If a lane is in no such entry.
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

    /// Returns the lanes that are in some entry of a kind.
    pub(crate) fn has(&self, token: Token, lanes: u32) -> u32 {
        let of_kind = self.entries.iter().filter(|entry| entry.token == token);
        of_kind.fold(0, |found, entry| found | entry.lanes) & lanes
    }

    /// Removes exited lanes from all entries.
    pub(crate) fn remove(&mut self, lanes: u32) {
        for entry in &mut self.entries {
            entry.lanes &= !lanes;
        }
    }

    /// Pops the topmost entry with lanes; empty ones above it are dropped.
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
    fn both_sides_run_before_the_join() {
        let mut stack = Stack::default();
        stack.push(entry(Token::Join, 0b1111, 0x100), 8).unwrap();
        stack.push(entry(Token::Divergence, 0b0011, 0x40), 8).unwrap();
        // Lanes 2 and 3 arrive, then lanes 0 and 1 run the other side.
        stack.wait(Token::Join, 0b1100).unwrap();
        assert_eq!(stack.pop(), Some(entry(Token::Divergence, 0b0011, 0x40)));
        stack.wait(Token::Join, 0b0011).unwrap();
        assert_eq!(stack.pop(), Some(entry(Token::Join, 0b1111, 0x100)));
        assert_eq!(stack.pop(), None);
    }

    #[test]
    fn break_leaves_joins_inside_the_loop() {
        let mut stack = Stack::default();
        stack.push(entry(Token::Break, 0b1111, 0x200), 8).unwrap();
        stack.push(entry(Token::Join, 0b1111, 0x100), 8).unwrap();
        stack.wait(Token::Break, 0b0001).unwrap();
        assert_eq!(stack.pop(), Some(entry(Token::Join, 0b1110, 0x100)));
        stack.wait(Token::Break, 0b1110).unwrap();
        assert_eq!(stack.pop(), Some(entry(Token::Break, 0b1111, 0x200)));
    }

    #[test]
    fn missing_entry_and_overflow_are_reported() {
        let mut stack = Stack::default();
        assert_eq!(stack.wait(Token::Break, 1), Err(Reason::StackEmpty("BRK")));
        stack.push(entry(Token::Join, 1, 0), 1).unwrap();
        assert_eq!(stack.push(entry(Token::Join, 1, 0), 1), Err(Reason::StackTooDeep(1)));
    }
}
