//! When each use of a value was set, which decides the order of its uses in memory.
//!
//! LLVM puts a new use at the front of the list of its value. A use of a name that is not defined yet is set a
//! second time when the name is: all uses of that name in turn, the latest first. A bitcode file stores the order of
//! uses where its reader would make another one, so the order has to be known when the file is written.

use crate::ids::ValueId;
use crate::write::UseOrder;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A use of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// An operand of an instruction.
    Operand {
        /// The body, as an index into [`super::Assembled::bodies`].
        body: u32,
        /// The operand, as an index into [`crate::FunctionBody::operands`].
        operand: u32,
    },
    /// An operand of an aggregate or constant expression.
    Element {
        /// The constant, as an index into the module's constants.
        constant: u32,
        /// Which operand it is.
        operand: u32,
    },
    /// An operand of a symbol: an initialiser, a target, or data of a function.
    Symbol {
        /// The symbol.
        symbol: ValueId,
        /// Which operand it is.
        operand: u32,
    },
}

/// Notes when uses are set.
#[derive(Default)]
pub(super) struct UseTimes {
    now: u32,
    pub(super) order: UseOrder,
}

impl UseTimes {
    /// Returns the next point in time.
    pub(super) fn tick(&mut self) -> u32 {
        self.now = self.now.saturating_add(1);
        self.now
    }

    /// Notes that uses of a name are set because it is defined now. All operands of one constant are set at once.
    pub(super) fn define(&mut self, uses: &[Use]) {
        let mut operands: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for used in uses {
            if let Use::Element { constant, operand } = *used {
                operands.entry(constant).or_default().push(operand);
            }
        }
        for &set in uses.iter().rev() {
            match set {
                Use::Operand { body, operand } => {
                    let now = self.tick();
                    self.order.forward.insert((body, operand), now);
                }
                Use::Element { constant, .. } => {
                    for operand in operands.remove(&constant).unwrap_or_default() {
                        let now = self.tick();
                        self.order.constant_operands.insert((constant, operand), now);
                    }
                }
                Use::Symbol { symbol, operand } => {
                    let now = self.tick();
                    self.order.symbol_operands.insert((symbol, operand), now);
                }
            }
        }
    }
}
