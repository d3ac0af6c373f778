//! Statements: control flow, stores, calls, atomics, barriers.

use crate::error::{Error, Result, unsupported};
use crate::lower::{Lower, Operand, Targets};
use crate::target::Target;
use crate::types::Shape;
use naga::{AtomicFunction, Block, Expression, Handle, Statement, SwitchCase, SwitchValue};
use unshade_llvm::build::IntPredicate;
use unshade_llvm::{BlockId, ValueId};

impl<'m, 'a, T: Target<'m>> Lower<'m, 'a, T> {
    /// Lowers the statements of a block. Returns whether its end is reached; what follows is dead otherwise.
    pub fn block(&mut self, block: &'a Block) -> Result<bool> {
        for (statement, span) in block.span_iter() {
            if !self.statement(statement).map_err(|e| e.at(*span))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn statement(&mut self, statement: &'a Statement) -> Result<bool> {
        match statement {
            Statement::Emit(range) => {
                for expression in range.clone() {
                    self.emit(expression)?;
                }
            }
            Statement::Block(block) => return self.block(block),
            Statement::If { condition, accept, reject } => return self.branch(*condition, accept, reject),
            Statement::Switch { selector, cases } => return self.switch(*selector, cases),
            Statement::Loop { body, continuing, break_if } => {
                return self.repeat(body, continuing, *break_if);
            }
            Statement::Break => {
                let targets =
                    self.frame.loops.last_mut().ok_or_else(|| Error::new("break outside a loop"))?;
                targets.breaks = true;
                let merge = targets.merge;
                self.b.br(merge)?;
                return Ok(false);
            }
            Statement::Continue => {
                let targets = self.frame.loops.iter_mut().rev().find(|targets| targets.next.is_some());
                let targets = targets.ok_or_else(|| Error::new("continue outside a loop"))?;
                targets.continues = true;
                if let Some(next) = targets.next {
                    self.b.br(next)?;
                }
                return Ok(false);
            }
            &Statement::Return { value } => {
                if let (Some(value), Some(place)) = (value, self.frame.result.clone()) {
                    let values = self.values(value)?;
                    self.store(&place, &values)?;
                }
                self.frame.returns = true;
                self.b.br(self.frame.exit)?;
                return Ok(false);
            }
            Statement::Kill => self.target.discard(&mut self.b)?,
            &Statement::ControlBarrier(memory) => self.target.barrier(&mut self.b, memory, true)?,
            &Statement::MemoryBarrier(memory) => self.target.barrier(&mut self.b, memory, false)?,
            &Statement::Store { pointer, value } => {
                let (place, values) = (self.place(pointer)?, self.values(value)?);
                self.store(&place, &values)?;
            }
            store @ Statement::ImageStore { .. } => self.image_store(store)?,
            Statement::Atomic { pointer, fun, value, result } => {
                self.atomic(*pointer, fun, *value, *result)?
            }
            &Statement::WorkGroupUniformLoad { pointer, result } => {
                self.target.barrier(&mut self.b, naga::Barrier::WORK_GROUP, true)?;
                let place = self.place(pointer)?;
                let values = self.load(&place)?;
                self.frame.operands.insert(result, Operand::Values(values));
                self.target.barrier(&mut self.b, naga::Barrier::WORK_GROUP, true)?;
            }
            Statement::Call { function, arguments, result } => {
                let mut operands = Vec::new();
                for &argument in arguments {
                    operands.push(self.operand(argument)?);
                }
                let (values, returns) = self.inline(*function, operands)?;
                if let (Some(result), Some(values)) = (*result, values) {
                    self.frame.operands.insert(result, Operand::Values(values));
                }
                return Ok(returns);
            }
            Statement::ImageAtomic { .. } => return unsupported("atomic operations on textures"),
            Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => {
                return unsupported("ray queries");
            }
            Statement::SubgroupBallot { .. }
            | Statement::SubgroupGather { .. }
            | Statement::SubgroupCollectiveOperation { .. } => return unsupported("subgroup operations"),
            Statement::CooperativeStore { .. } => return unsupported("cooperative matrices"),
        }
        Ok(true)
    }

    fn branch(
        &mut self,
        condition: Handle<Expression>,
        accept: &'a Block,
        reject: &'a Block,
    ) -> Result<bool> {
        let condition = self.value(condition)?;
        let (then, merge) = (self.b.block("then"), self.b.block("merge"));
        let otherwise = if reject.is_empty() { merge } else { self.b.block("else") };
        self.b.cond_br(condition, then, otherwise)?;
        let mut reaches = reject.is_empty();
        for (start, block) in [(then, accept), (otherwise, reject)] {
            if start == merge {
                continue;
            }
            self.b.select_block(start)?;
            if self.block(block)? {
                self.b.br(merge)?;
                reaches = true;
            }
        }
        if reaches {
            self.b.select_block(merge)?;
        }
        Ok(reaches)
    }

    fn switch(&mut self, selector: Handle<Expression>, cases: &'a [SwitchCase]) -> Result<bool> {
        let (scalar, selector) = (self.scalar(selector)?, self.value(selector)?);
        let merge = self.b.block("merge");
        let blocks: Vec<BlockId> = cases.iter().map(|_| self.b.block("case")).collect();
        let mut default = merge;
        let mut targets = Vec::new();
        for (case, &block) in cases.iter().zip(&blocks) {
            let number = match case.value {
                SwitchValue::I32(number) => i128::from(number),
                SwitchValue::U32(number) => i128::from(number),
                SwitchValue::Default => {
                    default = block;
                    continue;
                }
            };
            targets.push((self.integer(scalar, number)?, block));
        }
        self.b.switch(selector, default, &targets)?;
        self.frame.loops.push(Targets { merge, next: None, breaks: default == merge, continues: false });
        for (at, case) in cases.iter().enumerate() {
            self.b.select_block(blocks[at])?;
            if self.block(&case.body)? {
                let next = if case.fall_through { blocks.get(at + 1).copied() } else { None };
                match next {
                    Some(next) => self.b.br(next)?,
                    None => {
                        self.broken();
                        self.b.br(merge)?;
                    }
                }
            }
        }
        self.leave(merge)
    }

    /// Says that something goes to the end of the innermost loop or `switch`.
    fn broken(&mut self) {
        if let Some(targets) = self.frame.loops.last_mut() {
            targets.breaks = true;
        }
    }

    /// Ends the innermost loop or `switch`. Returns whether anything comes after it.
    fn leave(&mut self, merge: BlockId) -> Result<bool> {
        let breaks = self.frame.loops.pop().is_some_and(|targets| targets.breaks);
        if breaks {
            self.b.select_block(merge)?;
        }
        Ok(breaks)
    }

    fn repeat(
        &mut self,
        body: &'a Block,
        continuing: &'a Block,
        break_if: Option<Handle<Expression>>,
    ) -> Result<bool> {
        let (head, next, merge) = (self.b.block("loop"), self.b.block("continue"), self.b.block("merge"));
        self.b.br(head)?;
        self.b.select_block(head)?;
        self.frame.loops.push(Targets { merge, next: Some(next), breaks: false, continues: false });
        if self.block(body)? {
            self.b.br(next)?;
            if let Some(targets) = self.frame.loops.last_mut() {
                targets.continues = true;
            }
        }
        if self.frame.loops.last().is_some_and(|targets| targets.continues) {
            self.b.select_block(next)?;
            if self.block(continuing)? {
                match break_if {
                    Some(condition) => {
                        let condition = self.value(condition)?;
                        self.broken();
                        self.b.cond_br(condition, merge, head)?;
                    }
                    None => self.b.br(head)?,
                }
            }
        }
        self.leave(merge)
    }

    fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        function: &AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        let place = self.place(pointer)?;
        let Shape::Atomic(scalar) = place.shape else {
            return Err(Error::new("an atomic that is none"));
        };
        let value = self.value(value)?;
        let at = self.atomic_place(&place)?;
        let values: Vec<ValueId> = match *function {
            AtomicFunction::Exchange { compare: Some(expected) } => {
                let expected = self.value(expected)?;
                let old = self.target.compare_exchange(&mut self.b, &at, scalar, expected, value)?;
                let is_exchanged = self.b.icmp(IntPredicate::Eq, old, expected)?;
                vec![old, is_exchanged]
            }
            function => vec![self.target.atomic(&mut self.b, &at, function, scalar, value)?],
        };
        if let Some(result) = result {
            self.frame.operands.insert(result, Operand::Values(values));
        }
        Ok(())
    }
}
