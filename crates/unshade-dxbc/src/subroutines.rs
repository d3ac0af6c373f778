//! The subroutines of a program, and which of them each calls.
//!
//! Code up to the first `label` is the main program; what follows a label is the subroutine of that name: `label0` or, of
//! an interface, `fb0`; `l0` in Shader Model 2 and 3. A call of an interface may reach the function at its place in each
//! table of that interface, whichever class is bound. Of very many tables, the interface itself is the callee.
//!
//! ```
//! use unshade_dxbc::{assemble, subroutines};
//!
//! let program = assemble("ps_4_0\ncall label0\nret\nlabel label0\nret\n").unwrap();
//! let found = subroutines::of(&program);
//! assert_eq!(found[0].name, "main");
//! assert_eq!(found[0].calls["label0"], 1);
//! assert_eq!(found[1].name, "label0");
//! ```

use crate::opcode::Opcode;
use crate::operand::Operand;
use crate::program::{Instruction, Program};
use crate::{d3d9, d3d9::opcode::Opcode as Opcode9};
use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// The maximum number of tables that are looked at for all calls of interfaces.
const MAX_TABLES: usize = 1 << 20;

/// A subroutine, or the main program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subroutine {
    /// The name of its label, or `main`.
    pub name: String,
    /// The names of what it calls or may call, and from how many places.
    pub calls: BTreeMap<String, u32>,
}

impl Subroutine {
    fn named(name: &str) -> Self {
        Self { name: name.to_owned(), calls: BTreeMap::new() }
    }

    fn call(&mut self, name: String) {
        let count = self.calls.entry(name).or_default();
        *count = count.saturating_add(1);
    }
}

/// Returns the main program and the subroutines of a program of Shader Model 4 and 5.
pub fn of(program: &Program) -> Vec<Subroutine> {
    let mut interfaces = Interfaces::of(program);
    split(&program.instructions, |instruction| match instruction.opcode() {
        Opcode::LABEL => Effect::Label(instruction.operands.first().map(label)),
        Opcode::CALL | Opcode::CALLC => {
            Effect::Calls(instruction.operands.last().map(label).into_iter().collect())
        }
        Opcode::FCALL => Effect::Calls(interfaces.reached(instruction)),
        _ => Effect::None,
    })
}

/// Returns the main program and the subroutines of a program of Shader Model 1 to 3.
pub fn of_d3d9(program: &d3d9::Program) -> Vec<Subroutine> {
    let label = |instruction: &d3d9::Instruction| {
        instruction.operands.first().map(|operand| format!("l{}", operand.number()))
    };
    split(&program.instructions, |instruction| match instruction.opcode() {
        Opcode9::LABEL => Effect::Label(label(instruction)),
        Opcode9::CALL | Opcode9::CALL_IF => Effect::Calls(label(instruction).into_iter().collect()),
        _ => Effect::None,
    })
}

/// What an instruction is for calls.
enum Effect {
    Label(Option<String>),
    Calls(Vec<String>),
    None,
}

fn split<I>(instructions: &[I], mut effect: impl FnMut(&I) -> Effect) -> Vec<Subroutine> {
    let mut subroutines = vec![Subroutine::named("main")];
    for instruction in instructions {
        match effect(instruction) {
            Effect::Label(name) => subroutines.push(Subroutine::named(name.as_deref().unwrap_or("label"))),
            Effect::Calls(names) => {
                if let Some(subroutine) = subroutines.last_mut() {
                    names.into_iter().for_each(|name| subroutine.call(name));
                }
            }
            Effect::None => {}
        }
    }
    subroutines
}

/// Returns the name of the label that an operand is.
fn label(operand: &Operand) -> String {
    let number = operand.used_indices().first().map_or(0, |index| index.number);
    format!("{}{number}", operand.kind().name().unwrap_or("label"))
}

/// The tables of interfaces, and the functions in tables.
#[derive(Default)]
struct Interfaces {
    tables_of: BTreeMap<u64, Vec<u32>>,
    functions_of: BTreeMap<u32, Vec<u32>>,
    /// The number of tables that were looked at.
    searched: usize,
}

impl Interfaces {
    fn of(program: &Program) -> Self {
        let mut interfaces = Self::default();
        for instruction in &program.instructions {
            match (instruction.opcode(), &instruction.values[..]) {
                (Opcode::DCL_INTERFACE, [number, _, _, tables @ ..]) => {
                    interfaces.tables_of.insert((*number).into(), tables.to_vec());
                }
                (Opcode::DCL_FUNCTION_TABLE, [number, _, functions @ ..]) => {
                    interfaces.functions_of.insert(*number, functions.to_vec());
                }
                _ => {}
            }
        }
        interfaces
    }

    /// Returns the names of the functions that a call may reach.
    fn reached(&mut self, instruction: &Instruction) -> Vec<String> {
        let interface = instruction.operands.first().and_then(|operand| operand.used_indices().first());
        let Some(number) = interface.map(|index| index.number) else { return Vec::new() };
        let tables = self.tables_of.get(&number).map_or(&[][..], Vec::as_slice);
        self.searched = self.searched.saturating_add(tables.len());
        if self.searched > MAX_TABLES {
            return vec![format!("fp{number}")];
        }
        let place = instruction.values.first().and_then(|place| usize::try_from(*place).ok()).unwrap_or(0);
        let function = |table: &u32| self.functions_of.get(table)?.get(place);
        let functions: BTreeSet<u32> = tables.iter().filter_map(function).copied().collect();
        functions.into_iter().map(|number| format!("fb{number}")).collect()
    }
}
