//! Describes token programs: their counts, and the properties of programs of Shader Model 1 to 3.

use super::{NameCount, shown};
use crate::disassembly::TokenProgram;
use serde::Serialize;
use unshade_core::{Diagnostics, Reader, Result};
use unshade_dxbc::d3d9::{self, ConstantTable, DebugInfo};
use unshade_dxbc::statistics::Statistics;
use unshade_dxcontainer::stat::COUNTERS;

/// Counts of a token program.
#[derive(Clone, Debug, Serialize)]
pub struct TokenStatisticsView {
    /// Path of the program.
    pub path: String,
    /// The target profile, such as `ps_5_0`.
    pub profile: String,
    /// Number of blocks of its control-flow graph.
    pub blocks: u64,
    /// Counters by name, without those that are 0.
    pub counters: Vec<NameCount>,
    /// Instructions by category.
    pub classes: Vec<NameCount>,
    /// Instructions by mnemonic, most frequent first.
    pub opcodes: Vec<NameCount>,
}

impl TokenStatisticsView {
    /// Counts a program.
    pub fn new(path: &str, program: &TokenProgram) -> Self {
        let (counters, classes, opcodes): (Vec<(&str, u32)>, _, _) = match program {
            TokenProgram::Direct3d10(program) => {
                let counted = Statistics::of(program);
                let counters = COUNTERS.iter().copied().zip(counted.counters).collect();
                (counters, counted.classes, counted.opcodes)
            }
            TokenProgram::Direct3d9(program) => {
                let counted = d3d9::statistics::Statistics::of(program);
                let counters = vec![
                    ("instructions", counted.instructions),
                    ("arithmetic slots", counted.arithmetic_slots),
                    ("texture slots", counted.texture_slots),
                    ("temporary registers", counted.temporaries),
                ];
                (counters, counted.classes, counted.opcodes)
            }
        };
        let named = |(name, count): (&str, u32)| NameCount { name: name.into(), count: count.into() };
        Self {
            path: path.into(),
            profile: program.profile(),
            blocks: program.control_flow().blocks.len() as u64,
            counters: counters.into_iter().filter(|(_, count)| *count > 0).map(named).collect(),
            classes: classes.iter().map(|(class, count)| named((class.name(), *count))).collect(),
            opcodes: opcodes.into_iter().map(named).collect(),
        }
    }
}

/// Properties of a program of Shader Model 1 to 3.
#[derive(Clone, Debug, Serialize)]
pub struct Direct3d9View {
    /// The target profile, such as `ps_2_0`.
    pub profile: String,
    /// The compiler, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// Number of instructions, without declarations.
    pub instructions: u32,
    /// Slots of arithmetic instructions.
    pub arithmetic_slots: u32,
    /// Slots of texture instructions.
    pub texture_slots: u32,
    /// Constants and samplers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<ConstantRow>,
    /// Source files, from debug information.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

/// A constant of a program of Shader Model 1 to 3.
#[derive(Clone, Debug, Serialize)]
pub struct ConstantRow {
    /// Its name.
    pub name: String,
    /// Its type, such as `float4x4`.
    pub data_type: String,
    /// Registers, such as `c4` or `c4–c7`.
    pub registers: String,
}

impl Direct3d9View {
    /// Describes a program.
    ///
    /// # Errors
    /// If the data is not such a program.
    pub fn new(data: Reader<'_>, diagnostics: &mut Diagnostics) -> Result<Self> {
        let program = d3d9::decode(data, diagnostics)?;
        let counted = d3d9::statistics::Statistics::of(&program);
        let table = ConstantTable::of(&program);
        let table =
            table.and_then(|table| diagnostics.take("dxbc-legacy-constants", table)).unwrap_or_default();
        let row = |constant: &d3d9::constants::Constant| {
            let (letter, first) = (constant.set.letter(), constant.register);
            let last = first.saturating_add(constant.count.saturating_sub(1));
            let registers = if last == first {
                format!("{letter}{first}")
            } else {
                format!("{letter}{first}–{letter}{last}")
            };
            let elements = constant.data_type.elements;
            let array = if elements > 1 { format!("[{elements}]") } else { String::new() };
            ConstantRow {
                name: shown(&constant.name),
                data_type: format!("{}{array}", constant.data_type.name()),
                registers,
            }
        };
        Ok(Self {
            profile: program.version.to_string(),
            compiler: Some(shown(&table.creator)).filter(|creator| !creator.is_empty()),
            instructions: counted.instructions,
            arithmetic_slots: counted.arithmetic_slots,
            texture_slots: counted.texture_slots,
            constants: table.constants.iter().map(row).collect(),
            sources: DebugInfo::of(&program).map(|debug| debug.files).unwrap_or_default(),
        })
    }
}
