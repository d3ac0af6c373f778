//! Parses orders of uses, `uselistorder i32 %x, { 1, 0 }` and `uselistorder_bb @f, %block, { 1, 0 }`.
//!
//! An order permutes the uses as they are when the directive is parsed, which [`super::UseTimes`] tells: it is not yet
//! the order that a bitcode file stores, whose reader sets uses at other times.
//!
//! Knowledge: LLVM's language reference, and what `llvm-as` of LLVM 14 and 19 accepts.

use super::error::Parsed;
use super::function::{FunctionState, VALUE_BASE};
use super::lexer::Token;
use super::parser::Parser;
use crate::body::{FunctionBody, UseList};
use crate::ids::{ValueId, narrow};
use crate::instruction::Opcode;
use crate::module::Module;
use crate::value::{OperandKind, Value, ValueKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The numbers of bodies, constants, variables and aliases.
pub(super) type Users = [usize; 4];

impl Parser<'_> {
    /// Parses an order of uses.
    pub(super) fn use_list_order(&mut self) -> Parsed<()> {
        if self.eat_word("uselistorder_bb") {
            return self.block_order();
        }
        let at = self.at;
        self.expect_word("uselistorder")?;
        let (block, id) = if self.is_word("label") {
            match self.label_operand()?.kind() {
                OperandKind::Block(block) => (true, block.0),
                _ => return self.fault_at(at, "expected a block"),
            }
        } else {
            let ty = self.ty()?;
            let value = self.value(ty)?;
            if self.is_undefined(value) {
                return self.fault_at(at, "value has no uses");
            }
            (false, value.0)
        };
        self.expect(b',')?;
        let order = self.use_indices()?;
        let list = UseList { block, id, order };
        let now = self.uses.tick();
        match &mut self.function {
            Some(function) => {
                function.body.use_lists.push(list);
                function.use_list_positions.push(at);
                function.use_list_times.push(now);
            }
            None => {
                self.use_list_places.push((at, self.users()));
                self.module.use_lists.push(list);
                self.uses.order.module_lists.push(now);
            }
        }
        Ok(())
    }

    /// Parses the order of the uses of a block from outside of its function.
    fn block_order(&mut self) -> Parsed<()> {
        let at = self.at;
        if !matches!(self.token, Token::Global(_) | Token::GlobalNumber(_)) {
            return self.fault("expected the name of a function");
        }
        let function = match self.known_symbol() {
            Some(value) => match self.module.values.get(value.index()).map(|value| value.kind) {
                Some(ValueKind::Function(index)) => index,
                _ => return self.fault("expected the name of a function"),
            },
            None => return self.fault("the function must be defined before"),
        };
        self.advance();
        self.expect(b',')?;
        let label = match self.token {
            Token::Local(name) => name.bytes(),
            Token::LocalNumber(_) => return self.fault("the block must have a name"),
            _ => return self.fault("expected the name of a block"),
        };
        let label_at = self.at;
        self.advance();
        self.expect(b',')?;
        let order = self.use_indices()?;
        let Some(index) = self.bodies.iter().rposition(|body| body.function == function) else {
            return self.fault_at(at, "the function is only declared");
        };
        let now = self.uses.tick();
        let Some(body) = self.bodies.get_mut(index) else { return Ok(()) };
        let block = (0u32..).zip(&body.block_names).find(|(_, name)| name.of(&body.name_bytes) == &*label);
        let Some((block, _)) = block else {
            return self.fault_at(label_at, "the function has no such block");
        };
        body.use_lists.push(UseList { block: true, id: block, order });
        if let Some(times) = self.uses.order.body_lists.get_mut(index) {
            times.push(now);
        }
        Ok(())
    }

    /// Parses `{ 1, 0 }`: each index once, and not in order.
    fn use_indices(&mut self) -> Parsed<Vec<u32>> {
        let at = self.at;
        self.expect(b'{')?;
        if self.is(b'}') {
            return self.fault("expected the indices of uses");
        }
        let mut order = Vec::new();
        self.list(b'}', |parser| {
            order.push(parser.u32()?);
            Ok(())
        })?;
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if order.len() < 2 {
            return self.fault_at(at, "expected at least two indices of uses");
        }
        if !sorted.iter().copied().eq(0..narrow(order.len() as u64)) {
            return self.fault_at(at, "expected each index of a use once");
        }
        if sorted == order {
            return self.fault_at(at, "the indices of uses change nothing");
        }
        Ok(order)
    }

    /// Returns how much there is that uses symbols.
    fn users(&self) -> Users {
        let module = &self.module;
        [self.bodies.len(), module.constants.len() as usize, module.globals.len(), module.aliases.len()]
    }

    /// Checks that the orders of symbols have as many indices as there are uses. If more was parsed after an order,
    /// there may be more uses.
    pub(super) fn finish_use_lists(&self) -> Parsed<()> {
        if self.use_list_places.is_empty() {
            return Ok(());
        }
        let counts = symbol_uses(&self.module, &self.bodies);
        let all = self.users();
        for (list, &(position, users)) in self.module.use_lists.iter().zip(&self.use_list_places) {
            let is_symbol = |value: &Value| !matches!(value.kind, ValueKind::Constant(_));
            let count = counts.get(list.id as usize).copied().unwrap_or(0);
            let fits = count == list.order.len() || (count > list.order.len() && users != all);
            if !fits && self.module.values.get(list.id as usize).is_some_and(is_symbol) {
                let message = alloc::format!("wrong number of indices, there are {count} uses");
                return self.fault_at(position, message);
            }
        }
        Ok(())
    }

    /// Checks that the orders in a function have as many indices as there are uses of values and blocks of the
    /// function.
    pub(super) fn check_use_lists(&self, function: &FunctionState) -> Parsed<()> {
        if function.use_list_positions.is_empty() {
            return Ok(());
        }
        let counts = local_uses(&function.body);
        for (list, &position) in function.body.use_lists.iter().zip(&function.use_list_positions) {
            // Constants and symbols are used elsewhere, too, and a block by its address.
            let is_local = if list.block { !self.labels.is_used } else { list.id >= VALUE_BASE };
            let count = counts.get(&(list.block, list.id)).copied().unwrap_or(0);
            if is_local && count != list.order.len() {
                let message = alloc::format!("wrong number of indices, there are {count} uses");
                return self.fault_at(position, message);
            }
        }
        Ok(())
    }
}

/// Counts the uses of values and blocks by the instructions of a body.
fn local_uses(body: &FunctionBody) -> BTreeMap<(bool, u32), usize> {
    let mut counts = BTreeMap::new();
    for operand in &body.operands {
        if let OperandKind::Value(id) = operand.kind() {
            *counts.entry((false, id.0)).or_insert(0) += 1;
        }
    }
    // The blocks of a phi are no uses in LLVM.
    for instruction in body.instructions.iter().filter(|instruction| instruction.opcode != Opcode::Phi) {
        for block in body.operands_of(instruction).iter().filter_map(|operand| operand.as_block()) {
            *counts.entry((true, block.0)).or_insert(0) += 1;
        }
    }
    counts
}

/// Counts the uses of the values of a module.
fn symbol_uses(module: &Module<'_>, bodies: &[FunctionBody]) -> Vec<usize> {
    let mut counts = alloc::vec![0; module.values.len()];
    let mut note = |id: ValueId| {
        if let Some(count) = counts.get_mut(id.index()) {
            *count += 1;
        }
    };
    let operands = bodies.iter().flat_map(|body| &body.operands);
    operands.filter_map(|operand| operand.as_value()).for_each(&mut note);
    for constant in 0..module.constants.len() {
        module.constants.content(constant).operands().iter().copied().for_each(&mut note);
    }
    module.globals.iter().filter_map(|global| global.initializer).for_each(&mut note);
    module.aliases.iter().map(|alias| alias.target).for_each(&mut note);
    for function in &module.functions {
        let data = [function.personality, function.prefix, function.prologue];
        data.into_iter().flatten().for_each(&mut note);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::{AssembleOptions, assemble};
    use super::*;
    use alloc::string::String;

    fn orders(text: &str) -> Result<(Vec<UseList>, Vec<UseList>), (usize, String)> {
        let assembled = assemble(text.as_bytes(), &AssembleOptions::default());
        let assembled = assembled.map_err(|error| (error.line, error.message))?;
        let of_body = assembled.bodies.first().map(|body| body.use_lists.clone()).unwrap_or_default();
        Ok((assembled.module.use_lists, of_body))
    }

    fn function(directive: &str) -> String {
        alloc::format!(
            "define i32 @f(i32 %a) {{\n  %b = add i32 %a, %a\n  br label %x\nx:\n  br i1 true, label %x, label %x\n\
             {directive}\n}}\n"
        )
    }

    #[test]
    fn values_and_blocks() {
        let (_, of_body) = orders(&function("uselistorder i32 %a, { 1, 0 }")).unwrap();
        assert_eq!(of_body, [UseList { block: false, id: VALUE_BASE, order: alloc::vec![1, 0] }]);
        let (_, of_body) = orders(&function("uselistorder label %x, { 2, 0, 1 }")).unwrap();
        assert_eq!(of_body, [UseList { block: true, id: 1, order: alloc::vec![2, 0, 1] }]);
        let text = alloc::format!("{}uselistorder_bb @f, %x, {{ 2, 0, 1 }}\n", function(""));
        assert_eq!(orders(&text).unwrap().1.len(), 1);
        let symbol = "@g = global i32 0\n@a = alias i32, i32* @g\n@b = alias i32, i32* @g\n";
        let text = alloc::format!("{symbol}uselistorder i32* @g, {{ 1, 0 }}\n");
        assert_eq!(orders(&text).unwrap().0.len(), 1);
    }

    #[test]
    fn wrong_indices_are_reported() {
        for indices in ["{}", "{ 0 }", "{ 0, 1 }", "{ 1, 1 }", "{ 2, 0 }", "{ 2, 1, 0 }"] {
            let fault = orders(&function(&alloc::format!("uselistorder i32 %a, {indices}"))).unwrap_err();
            assert_eq!(fault.0, 6, "{indices}");
        }
        assert!(orders(&function("uselistorder i32 %unknown, { 1, 0 }")).is_err());
    }
}
