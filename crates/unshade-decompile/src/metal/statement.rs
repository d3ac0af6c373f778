//! Statements, as Metal has them.

use super::function::Printer;
use super::spelling::literal;
use crate::ir::metal::types::ValueType;
use crate::ir::{BlockId, ValueId};
use crate::statements::{Output, StatementPrinter};

impl StatementPrinter for Printer<'_> {
    const HAS_BRACED_CASES: bool = true;

    fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    fn line(&mut self, text: &str) {
        self.output.line(text);
    }

    fn block(&mut self, block: BlockId) {
        self.values(block);
    }

    fn truth(&mut self, id: ValueId) -> String {
        Printer::truth(self, id, 0)
    }

    fn opposite_truth(&mut self, id: ValueId) -> String {
        self.negated(id, 0)
    }

    fn selector(&mut self, id: ValueId) -> String {
        let kind = self.kind_of(id);
        self.value(id, kind, 0)
    }

    fn case(&self, selector: ValueId, number: u64) -> String {
        literal(number, self.scalar_of(selector), self.kind_of(selector))
    }

    fn leave(&mut self) -> Option<String> {
        (self.program.types.get(self.info.result) == ValueType::Void).then(|| "return;".to_owned())
    }

    fn count_jump(&mut self) {
        self.unknown.push("a jump".into());
    }
}
