//! Statements, as HLSL has them. Loops of shader models 1 to 3 stay as they are: they have attributes.

use super::expression::literal;
use super::function::Printer;
use super::legacy;
use crate::ir::shader::data_type::ScalarKind;
use crate::ir::{BlockId, ValueId};
use crate::shader::kinds::Kind;
use crate::statements::{Output, StatementPrinter};
use crate::structure::Statement;

impl StatementPrinter for Printer<'_> {
    const HAS_BRACED_CASES: bool = false;

    fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    fn line(&mut self, text: &str) {
        Printer::line(self, text);
    }

    fn block(&mut self, block: BlockId) {
        self.values(block);
    }

    fn truth(&mut self, id: ValueId) -> String {
        self.value(id, Kind::Known(ScalarKind::Bool), 0)
    }

    fn opposite_truth(&mut self, id: ValueId) -> String {
        self.negated(id)
    }

    fn selector(&mut self, id: ValueId) -> String {
        self.value(id, Kind::Integer, 0)
    }

    fn case(&self, selector: ValueId, number: u64) -> String {
        literal(number, ScalarKind::Signed, self.function.width(selector))
    }

    fn leave(&mut self) -> Option<String> {
        self.info.result.is_none().then(|| self.return_text())
    }

    fn count_jump(&mut self) {
        self.unknown.push("a jump".into());
    }

    fn loop_attribute(&self) -> &'static str {
        legacy::loop_attribute(self.program)
    }

    fn counts_loops(&self) -> bool {
        !legacy::is_legacy(self.program)
    }

    fn scope(&mut self, body: &[Statement]) {
        let heap_objects = self.heap_objects.clone();
        self.output.indent += 1;
        self.statements(body);
        self.output.indent -= 1;
        self.heap_objects = heap_objects;
    }
}
