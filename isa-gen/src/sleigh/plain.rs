//! Generates the bodies of constructors of generations without semantics.
//!
//! An instruction without semantics is `unimpl`: Ghidra disassembles it and says so where it decompiles. Branches, calls,
//! returns and exits have p-code for where they continue, because Ghidra finds code by following them.

use super::Writer;
use crate::model::{Encoding, Flow, Kind};

impl Writer<'_> {
    /// Returns the body of the constructor: where control continues, or that the semantics are unknown.
    pub(super) fn flow(&mut self, encoding: &Encoding, tests: &[String]) -> String {
        let target =
            encoding.operands.iter().find(|operand| matches!(operand.kind, Kind::Relative | Kind::Absolute));
        let target = target.map(|operand| self.target(operand));
        let computed = "local to:8 = computed_target();";
        let what = match (self.isa.operations[encoding.operation].flow, target) {
            (Flow::Branch, Some(target)) => format!("goto {target};"),
            (Flow::Call, Some(target)) => format!("call {target};"),
            (Flow::Branch | Flow::Indirect, _) => format!("{computed} goto [to];"),
            (Flow::Call, None) => format!("{computed} call [to];"),
            (Flow::Return, _) => String::from("return [return_address];"),
            (Flow::Exit, _) => String::from("return [exit_address];"),
            (Flow::Next | Flow::Push | Flow::Pop | Flow::Trap, _) => return String::from("unimpl"),
        };
        let tests: String = tests.iter().map(|name| format!(" build {name};")).collect();
        format!("{{{tests} {what} }}")
    }
}
