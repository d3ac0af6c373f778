//! The runtime information at the start of PSV0.
//!
//! | size | version | adds |
//! |---|---|---|
//! | 24 | 0 | 16 stage-specific bytes; minimum and maximum wave lane count |
//! | 36 | 1 | stage, use of the view ID, 2 stage-specific bytes, counts of elements and vectors |
//! | 48 | 2 | thread group size |
//! | 52 | 3 | name of the entry point, as an offset into the string table |
//! | 56 | 4 | bytes of group shared memory |
//! | 60 | – | another word, zero in all 1,469 files of DXC 1.10, which DXC's listing calls `LinAlgRuntimeInfoPresent` |
//!
//! [`stage_fields`] lists the stage-specific fields. Source: DXC's `DxilPipelineStateValidation.h`.

use crate::bytes::Bytes;
use crate::cursor::Cursor;
use crate::program::ShaderKind;
use crate::scalar::{Record, Scalar, named, record};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::Result;

named! {
    /// The stage, numbered as in [`ShaderKind`].
    pub struct Stage(u8) {
        PIXEL = 0 => "Pixel",
        VERTEX = 1 => "Vertex",
        GEOMETRY = 2 => "Geometry",
        HULL = 3 => "Hull",
        DOMAIN = 4 => "Domain",
        COMPUTE = 5 => "Compute",
        LIBRARY = 6 => "Library",
        MESH = 13 => "Mesh",
        AMPLIFICATION = 14 => "Amplification",
        NODE = 15 => "Node",
    }
}

impl From<ShaderKind> for Stage {
    fn from(kind: ShaderKind) -> Self {
        Self(u8::try_from(kind.0).unwrap_or(u8::MAX))
    }
}

record! {
    /// The fields that version 1 adds.
    pub struct V1 {
        /// The stage.
        pub stage: Stage => "ShaderStage",
        /// Whether the view ID is used.
        pub uses_view_id: u8 => "UsesViewID",
        /// Two stage-specific bytes.
        pub stage_info: [u8; 2] => "StageInfo",
        /// Number of input elements.
        pub input_count: u8 => "SigInputElements",
        /// Number of output elements.
        pub output_count: u8 => "SigOutputElements",
        /// Number of patch constants or primitive elements.
        pub patch_count: u8 => "SigPatchConstOrPrimElements",
        /// Number of input vectors.
        pub input_vectors: u8 => "SigInputVectors",
        /// Number of output vectors of each stream.
        pub output_vectors: [u8; 4] => "SigOutputVectors",
    }
}

/// The runtime information.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeInfo {
    /// 16 stage-specific bytes.
    pub stage_info: [u8; 16],
    /// The minimum wave lane count.
    pub min_wave_lanes: u32,
    /// The maximum wave lane count.
    pub max_wave_lanes: u32,
    /// Version 1.
    pub v1: Option<V1>,
    /// Version 2: thread group size.
    pub threads: Option<[u32; 3]>,
    /// Version 3: offset of the entry point's name.
    pub entry_name: Option<u32>,
    /// Version 4: bytes of group shared memory.
    pub group_shared_bytes: Option<u32>,
    /// Bytes after the newest known version, or between two versions.
    pub extra: Bytes,
}

/// Sizes of the versions.
pub const SIZES: [u32; 5] = [24, 36, 48, 52, 56];

/// The size in files of DXC 1.10.
pub const NEWEST_SIZE: u32 = 60;

/// Returns the version that DXC writes at a validator version.
pub fn version_of_validator(version: (u32, u32)) -> usize {
    match version {
        (0..=1, 0) | (0, _) => 0,
        (1, 1..=5) => 1,
        (1, 6 | 7) => 2,
        (1, 8 | 9) => 3,
        _ => 4,
    }
}

impl RuntimeInfo {
    /// Returns the newest version whose fields are all present.
    pub fn version(&self) -> usize {
        [
            self.v1.is_some(),
            self.threads.is_some(),
            self.entry_name.is_some(),
            self.group_shared_bytes.is_some(),
        ]
        .iter()
        .take_while(|there| **there)
        .count()
    }

    /// Returns the size of the structure.
    pub fn size(&self) -> usize {
        let known = SIZES.get(self.version()).copied().unwrap_or_default();
        (known as usize).saturating_add(self.extra.0.len())
    }

    /// Returns whether there is linear algebra information, which DXC 1.10 stores in the extra word.
    pub fn linear_algebra(&self) -> Option<bool> {
        self.group_shared_bytes?;
        self.extra.0.first_chunk().map(|word| u32::from_le_bytes(*word) != 0)
    }

    pub(super) fn read(cursor: &mut Cursor<'_, '_>, size: u32) -> Result<Self> {
        let mut cursor = cursor.split(u64::from(size))?;
        let stage_info = cursor.scalar("stage information")?;
        let (min_wave_lanes, max_wave_lanes) =
            (cursor.scalar("MinimumWaveLaneCount")?, cursor.scalar("MaximumWaveLaneCount")?);
        let version = SIZES.iter().skip(1).take_while(|known| **known <= size).count();
        Ok(Self {
            stage_info,
            min_wave_lanes,
            max_wave_lanes,
            v1: (version >= 1).then(|| V1::read(&mut cursor)).transpose()?,
            threads: (version >= 2).then(|| cursor.scalar("NumThreads")).transpose()?,
            entry_name: (version >= 3).then(|| cursor.scalar("EntryName offset")).transpose()?,
            group_shared_bytes: (version >= 4)
                .then(|| cursor.scalar("NumBytesGroupSharedMemory"))
                .transpose()?,
            extra: Bytes::from(cursor.rest("fields of a newer version")?),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        self.stage_info.put(out);
        self.min_wave_lanes.put(out);
        self.max_wave_lanes.put(out);
        if let Some(v1) = &self.v1 {
            v1.write(out);
        }
        if let Some(threads) = &self.threads {
            threads.put(out);
        }
        for word in [self.entry_name, self.group_shared_bytes].into_iter().flatten() {
            word.put(out);
        }
        out.extend_from_slice(&self.extra.0);
    }

    /// Returns the value of a stage-specific field.
    pub fn stage_value(&self, field: &StageField) -> u32 {
        let bytes: &[u8] = match (field.second, &self.v1) {
            (false, _) => &self.stage_info,
            (true, Some(v1)) => &v1.stage_info,
            (true, None) => &[],
        };
        let bytes = bytes.get(field.offset..).and_then(|bytes| bytes.get(..field.size)).unwrap_or_default();
        bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte))
    }

    /// Sets a stage-specific field; values that do not fit are truncated.
    pub fn set_stage_value(&mut self, field: &StageField, value: u32) {
        let bytes: &mut [u8] = match (field.second, &mut self.v1) {
            (false, _) => &mut self.stage_info,
            (true, Some(v1)) => &mut v1.stage_info,
            (true, None) => &mut [],
        };
        let target = bytes.get_mut(field.offset..).and_then(|bytes| bytes.get_mut(..field.size));
        for (target, byte) in target.into_iter().flatten().zip(value.to_le_bytes()) {
            *target = byte;
        }
    }

    /// Returns the names and values of the stage-specific fields.
    pub fn stage_values(&self, stage: Stage) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        let known = stage_fields(stage).iter().filter(|field| !field.second || self.v1.is_some());
        known.map(|field| (field.name, self.stage_value(field)))
    }

    /// Returns the number of vectors of patch constants or of a primitive.
    pub fn patch_vectors(&self) -> u8 {
        match &self.v1 {
            Some(v1) if matches!(v1.stage, Stage::HULL | Stage::DOMAIN | Stage::MESH) => v1.stage_info[0],
            _ => 0,
        }
    }
}

/// A stage-specific field.
#[derive(Clone, Copy, Debug)]
pub struct StageField {
    /// LLVM's name.
    pub name: &'static str,
    /// Whether it is in the 2 bytes of version 1 instead of the first 16.
    pub second: bool,
    /// Its offset in these bytes.
    pub offset: usize,
    /// Its size.
    pub size: usize,
}

const fn first(name: &'static str, offset: usize, size: usize) -> StageField {
    StageField { name, second: false, offset, size }
}

const fn second(name: &'static str, offset: usize, size: usize) -> StageField {
    StageField { name, second: true, offset, size }
}

const PIXEL: &[StageField] = &[first("DepthOutput", 0, 1), first("SampleFrequency", 1, 1)];
const VERTEX: &[StageField] = &[first("OutputPositionPresent", 0, 1)];
const GEOMETRY: &[StageField] = &[
    first("InputPrimitive", 0, 4),
    first("OutputTopology", 4, 4),
    first("OutputStreamMask", 8, 4),
    first("OutputPositionPresent", 12, 1),
    second("MaxVertexCount", 0, 2),
];
const HULL: &[StageField] = &[
    first("InputControlPointCount", 0, 4),
    first("OutputControlPointCount", 4, 4),
    first("TessellatorDomain", 8, 4),
    first("TessellatorOutputPrimitive", 12, 4),
    second("SigPatchConstOrPrimVectors", 0, 1),
];
const DOMAIN: &[StageField] = &[
    first("InputControlPointCount", 0, 4),
    first("OutputPositionPresent", 4, 1),
    first("TessellatorDomain", 8, 4),
    second("SigPatchConstOrPrimVectors", 0, 1),
];
const MESH: &[StageField] = &[
    first("GroupSharedBytesUsed", 0, 4),
    first("GroupSharedBytesDependentOnViewID", 4, 4),
    first("PayloadSizeInBytes", 8, 4),
    first("MaxOutputVertices", 12, 2),
    first("MaxOutputPrimitives", 14, 2),
    second("SigPrimVectors", 0, 1),
    second("MeshOutputTopology", 1, 1),
];
const AMPLIFICATION: &[StageField] = &[first("PayloadSizeInBytes", 0, 4)];

/// Returns the stage-specific fields.
pub fn stage_fields(stage: Stage) -> &'static [StageField] {
    match stage {
        Stage::PIXEL => PIXEL,
        Stage::VERTEX => VERTEX,
        Stage::GEOMETRY => GEOMETRY,
        Stage::HULL => HULL,
        Stage::DOMAIN => DOMAIN,
        Stage::MESH => MESH,
        Stage::AMPLIFICATION => AMPLIFICATION,
        _ => &[],
    }
}

/// The meaning of the values of stage-specific fields, in the words of DXC's listing.
const WORDS: &[(&str, &[(u32, &str)])] = &[
    ("TessellatorDomain", &[(1, "isoline"), (2, "tri"), (3, "quad")]),
    ("TessellatorOutputPrimitive", &[(1, "point"), (2, "line"), (3, "triangle_cw"), (4, "triangle_ccw")]),
    ("InputPrimitive", &[(1, "point"), (2, "line"), (3, "triangle"), (6, "lineadj"), (7, "triangleadj")]),
    ("OutputTopology", &[(1, "point"), (3, "line"), (5, "triangle")]),
    ("MeshOutputTopology", &[(0, "undefined"), (1, "line"), (2, "triangle")]),
];

/// The number of the input primitive `patch1`; there are 32 patches.
const FIRST_PATCH: u32 = 8;
const PATCHES: u32 = 32;

/// Returns the meaning of the value of a stage-specific field, or `None` for a plain number.
///
/// ```
/// use unshade_dxcontainer::psv0::stage_word;
///
/// assert_eq!(stage_word("InputPrimitive", 7).as_deref(), Some("triangleadj"));
/// assert_eq!(stage_word("InputPrimitive", 10).as_deref(), Some("patch3"));
/// assert_eq!(stage_word("InputPrimitive", 99).as_deref(), Some("invalid"));
/// assert_eq!(stage_word("MaxVertexCount", 3), None);
/// ```
pub fn stage_word(field: &str, value: u32) -> Option<String> {
    let (_, words) = WORDS.iter().find(|(known, _)| *known == field)?;
    if let Some((_, word)) = words.iter().find(|(number, _)| *number == value) {
        return Some((*word).into());
    }
    let points = value.checked_sub(FIRST_PATCH).and_then(|index| index.checked_add(1));
    let patch = points.filter(|points| field == "InputPrimitive" && *points <= PATCHES);
    Some(patch.map_or_else(|| "invalid".into(), |points| format!("patch{points}")))
}
