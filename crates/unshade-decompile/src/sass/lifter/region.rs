//! Gathering of guarded instructions into one `if`, or into selects.

use super::{FIRST_FLAG, Lifter};
use crate::ir::{BlockId, End, Op, ValueId};
use unshade_sass::Instruction;
use unshade_sass::table::Kind;

/// The side of a region that an instruction belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sass) enum Side {
    /// None.
    Plain,
    /// The guard holds.
    Then,
    /// The guard does not hold.
    Else,
}

/// Instructions under a guard.
#[derive(Debug)]
pub(in crate::sass) struct Region {
    pub(in crate::sass) guard: ValueId,
    pub(in crate::sass) then: BlockId,
    pub(in crate::sass) otherwise: BlockId,
    /// The values of variables at the end of either side, if they differ from those before.
    pub(in crate::sass) overlay: Vec<(u32, ValueId, ValueId)>,
    pub(in crate::sass) has_effects: bool,
    pub(in crate::sass) has_writes: bool,
}

impl Lifter<'_> {
    pub(in crate::sass) fn read_variable(&mut self, variable: u32) -> ValueId {
        if let Some(found) = self.pending.iter().rev().find(|entry| entry.0 == variable) {
            return found.1;
        }
        if let Some(region) = &self.region {
            let found = region.overlay.iter().find(|entry| entry.0 == variable);
            let value = found.map_or(ValueId::NONE, |entry| match self.side {
                Side::Plain => entry.1.min(entry.2),
                Side::Then => entry.1,
                Side::Else => entry.2,
            });
            if value != ValueId::NONE {
                if self.side == Side::Plain {
                    self.close();
                } else {
                    return self.builder.function.resolve(value);
                }
            }
        }
        let block = self.block;
        let value = self.builder.read(block, variable);
        self.on_side(value)
    }

    /// Returns what a value is where the guard of the region is known: one of two that the guard selects.
    fn on_side(&self, value: ValueId) -> ValueId {
        let function = &self.builder.function;
        let input = match (&self.region, self.side) {
            (Some(region), Side::Then) if function.input(value, 0) == region.guard => 1,
            (Some(region), Side::Else) if function.input(value, 0) == region.guard => 2,
            _ => return value,
        };
        if function.op(value) == Op::Select { function.input(value, input) } else { value }
    }

    /// Writes a variable that the instruction names.
    pub(in crate::sass) fn write_variable(&mut self, variable: u32, value: ValueId) {
        if let Some(written) = self.written.get_mut(variable as usize) {
            *written = true;
        }
        self.set_variable(variable, value);
    }

    pub(in crate::sass) fn set_variable(&mut self, variable: u32, value: ValueId) {
        let block = self.block;
        match (&mut self.region, self.side) {
            (Some(region), Side::Plain) => region.overlay.retain(|entry| entry.0 != variable),
            (Some(region), side) => {
                let index = match region.overlay.iter().position(|entry| entry.0 == variable) {
                    Some(index) => index,
                    None => {
                        region.overlay.push((variable, ValueId::NONE, ValueId::NONE));
                        region.overlay.len() - 1
                    }
                };
                let entry = &mut region.overlay[index];
                if side == Side::Then {
                    entry.1 = value;
                } else {
                    entry.2 = value;
                }
                return;
            }
            _ => {}
        }
        self.builder.write(block, variable, value);
    }

    /// Records an effect: outside of the region, it must not move before the effects of the region.
    pub(in crate::sass) fn effect(&mut self, is_write: bool) {
        let Some(region) = &mut self.region else { return };
        if self.side == Side::Plain {
            if region.has_writes || is_write && region.has_effects {
                self.close();
            }
        } else {
            region.has_effects = true;
            region.has_writes |= is_write;
        }
    }

    /// Ends the region, as selects or as blocks.
    pub(in crate::sass) fn close(&mut self) {
        let Some(region) = self.region.take() else { return };
        let side = std::mem::replace(&mut self.side, Side::Plain);
        let block = self.block;
        if !region.has_effects {
            for (variable, then, otherwise) in region.overlay {
                let old = if then == ValueId::NONE || otherwise == ValueId::NONE {
                    self.builder.read(block, variable)
                } else {
                    ValueId::NONE
                };
                let then = if then == ValueId::NONE { old } else { then };
                let otherwise = if otherwise == ValueId::NONE { old } else { otherwise };
                let value = self.select(region.guard, then, otherwise);
                self.builder.write(block, variable, value);
            }
            self.side = side;
            return;
        }
        let after = self.builder.block(self.address);
        let (then, otherwise) = self.branch(&region, after);
        for (inner, used) in [(region.then, then), (region.otherwise, otherwise)] {
            if used == inner {
                self.builder.end(inner, End::Goto(after));
            }
        }
        self.builder.seal(after);
        self.block = after;
        self.side = side;
    }

    /// Ends the block with the guard of a region; an empty side is `after`.
    pub(in crate::sass) fn branch(&mut self, region: &Region, after: BlockId) -> (BlockId, BlockId) {
        let function = &self.builder.function;
        let is_used = |block: BlockId, value: fn(&(u32, ValueId, ValueId)) -> ValueId| {
            !function.blocks[block].effects.is_empty()
                || region.overlay.iter().any(|entry| value(entry) != ValueId::NONE)
        };
        let yes = if is_used(region.then, |entry| entry.1) { region.then } else { after };
        let mut no = if is_used(region.otherwise, |entry| entry.2) { region.otherwise } else { after };
        if yes == no {
            no = region.otherwise;
        }
        self.builder.end(self.block, End::Branch { condition: region.guard, yes, no });
        for block in [region.then, region.otherwise] {
            self.builder.seal(block);
        }
        for &(variable, then, otherwise) in &region.overlay {
            if then != ValueId::NONE {
                self.builder.write(region.then, variable, then);
            }
            if otherwise != ValueId::NONE {
                self.builder.write(region.otherwise, variable, otherwise);
            }
        }
        (yes, no)
    }

    pub(in crate::sass) fn select(
        &mut self,
        condition: ValueId,
        then: ValueId,
        otherwise: ValueId,
    ) -> ValueId {
        let (then, otherwise) =
            (self.builder.function.resolve(then), self.builder.function.resolve(otherwise));
        if then == otherwise {
            return then;
        }
        match self.builder.function.number(condition) {
            Some(0) => otherwise,
            Some(_) => then,
            None => {
                let width = self.builder.function.width(then);
                self.make(Op::Select, width, &[condition, then, otherwise])
            }
        }
    }

    /// Returns the side of an instruction, and whether its guard must select its results; `None` if the guard never
    /// holds.
    pub(in crate::sass) fn enter(
        &mut self,
        instruction: &Instruction,
        body: usize,
        is_pure: bool,
    ) -> Option<(Side, bool)> {
        if body == 0 {
            return Some((Side::Plain, false));
        }
        let guard = instruction.operands().find(|operand| operand.kind == Kind::Guard)?;
        let variable = FIRST_FLAG + 4 + u32::try_from(instruction.number(guard.value)).unwrap_or(0);
        let mut holds = !instruction.flag(guard.not);
        let mut value = self.read_variable(variable);
        while self.builder.function.op(value) == Op::BoolNot {
            value = self.builder.function.input(value, 0);
            holds = !holds;
        }
        if let Some(number) = self.builder.function.number(value) {
            return ((number != 0) == holds).then_some((Side::Plain, false));
        }
        let side = if holds { Side::Then } else { Side::Else };
        if let Some(region) = &self.region {
            if region.guard == value {
                return Some((side, false));
            }
            if is_pure && region.has_effects {
                return Some((Side::Plain, true));
            }
            self.close();
        }
        let then = self.builder.block(self.address);
        let otherwise = self.builder.block(self.address);
        self.region = Some(Region {
            guard: value,
            then,
            otherwise,
            overlay: Vec::new(),
            has_effects: false,
            has_writes: false,
        });
        Some((side, false))
    }

    /// Closes the region, except for one side, which stays open for its end; the current block continues after it.
    pub(in crate::sass) fn open_side(&mut self, side: Side) -> BlockId {
        let Some(region) = self.region.take() else { return self.block };
        if side == Side::Plain {
            self.region = Some(region);
            self.side = Side::Plain;
            self.close();
            return self.block;
        }
        self.side = Side::Plain;
        let after = self.builder.block(self.address);
        let condition = region.guard;
        let (mine, other) = if side == Side::Then {
            (region.then, region.otherwise)
        } else {
            (region.otherwise, region.then)
        };
        let other_overlay = region.overlay.iter().any(|entry| {
            let value = if side == Side::Then { entry.2 } else { entry.1 };
            value != ValueId::NONE
        });
        let is_other_used = other_overlay || !self.builder.function.blocks[other].effects.is_empty();
        let target = if is_other_used { other } else { after };
        let (yes, no) = if side == Side::Then { (mine, target) } else { (target, mine) };
        self.builder.end(self.block, End::Branch { condition, yes, no });
        self.builder.seal(mine);
        self.builder.seal(other);
        for &(variable, then, otherwise) in &region.overlay {
            if then != ValueId::NONE {
                self.builder.write(region.then, variable, then);
            }
            if otherwise != ValueId::NONE {
                self.builder.write(region.otherwise, variable, otherwise);
            }
        }
        if is_other_used {
            self.builder.end(other, End::Goto(after));
        }
        self.builder.seal(after);
        self.block = after;
        mine
    }
}
