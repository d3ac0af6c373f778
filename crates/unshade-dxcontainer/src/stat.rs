//! FXC's STAT: instruction counters of a program.
//!
//! The counters are 32-bit numbers: 29 for shader model 4 (116 bytes), 37 for model 5 (148 bytes). DXC's STAT is
//! different: a [`Program`](crate::program::Program) without function bodies.
//!
//! Sources: `D3D11_SHADER_DESC` in Microsoft's documentation, Wine's `d3dcompiler_43/reflection.c`.

use crate::bytes::Bytes;
use crate::cursor::Cursor;
use crate::scalar::Scalar;
use crate::yaml::{MapReader, MapWriter, Node, Yaml};
use alloc::vec::Vec;
use unshade_core::Result;

/// The names of the counters, in order.
pub const COUNTERS: [&str; 37] = [
    "InstructionCount",
    "TempRegisterCount",
    "DefCount",
    "DclCount",
    "FloatInstructionCount",
    "IntInstructionCount",
    "UintInstructionCount",
    "StaticFlowControlCount",
    "DynamicFlowControlCount",
    "MacroInstructionCount",
    "TempArrayCount",
    "ArrayInstructionCount",
    "CutInstructionCount",
    "EmitInstructionCount",
    "TextureNormalInstructions",
    "TextureLoadInstructions",
    "TextureCompInstructions",
    "TextureBiasInstructions",
    "TextureGradientInstructions",
    "MovInstructionCount",
    "MovcInstructionCount",
    "ConversionInstructionCount",
    "BitwiseInstructionCount",
    "InputPrimitive",
    "GSOutputTopology",
    "GSMaxOutputVertexCount",
    "Unknown26",
    "Unknown27",
    "SampleFrequency",
    "GSInstanceCount",
    "ControlPoints",
    "HSOutputPrimitive",
    "HSPartitioning",
    "TessellatorDomain",
    "BarrierInstructions",
    "InterlockedInstructions",
    "TextureStoreInstructions",
];

/// FXC's STAT.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// The counters, as many of [`COUNTERS`] as the part has.
    pub counters: Vec<u32>,
    /// The bytes after them.
    pub extra: Bytes,
}

impl Statistics {
    /// Returns the counters with their names.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        COUNTERS.iter().copied().zip(self.counters.iter().copied())
    }

    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        let mut counters = Vec::new();
        for name in COUNTERS {
            if cursor.remaining() < 4 {
                break;
            }
            counters.push(cursor.scalar(name)?);
        }
        Ok(Self { counters, extra: Bytes::from(cursor.rest("unknown")?) })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.counters.iter().for_each(|counter| counter.put(&mut out));
        out.extend_from_slice(&self.extra.0);
        out
    }
}

impl Yaml for Statistics {
    fn node(&self) -> Node<'_> {
        let mut map = MapWriter::default();
        for (name, value) in self.named() {
            map.node(name, Node::number(value.into()));
        }
        map.field("Extra", &self.extra);
        map.finish()
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        let mut map = MapReader::new(node)?;
        let mut counters = Vec::new();
        for name in COUNTERS {
            match map.take(name) {
                Some(value) => counters.push(u32::from_node(value).map_err(|error| error.within(name))?),
                None => break,
            }
        }
        let extra = map.field("Extra")?;
        map.finish()?;
        Ok(Self { counters, extra })
    }
}
