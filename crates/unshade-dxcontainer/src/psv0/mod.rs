//! PSV0, pipeline state validation: the information that the runtime needs to create a pipeline.
//!
//! ```text
//! u32 size, runtime information
//! u32 count of resources; if not 0: u32 stride, resources
//! from version 1 on:
//!   u32 size of the string table, strings
//!   u32 count of semantic indices, indices
//!   if there are elements: u32 stride, input elements, output elements, patch constants or primitive elements
//!   if the view ID is used: an output mask for each stream with vectors, one for patch constants (hull, mesh)
//!   a table from inputs to outputs for each stream with vectors (not mesh)
//!   a table from inputs to patch constants (hull), or from patch constants to outputs (domain)
//! ```
//!
//! A mask has one bit per component of each vector, in 32-bit words: `(vectors + 7) / 8` words. A table has one mask
//! of what is written per component of each vector that is read: `mask words * vectors * 4` words.
//!
//! Structures are identified by their size, so that a newer version reads as an older one followed by extra bytes.
//! Sources: DXC's `DxilPipelineStateValidation.h`; 626 real parts, parsed to the last byte.

mod runtime_info;

pub use runtime_info::{
    NEWEST_SIZE, RuntimeInfo, SIZES, Stage, StageField, V1, stage_fields, stage_word, version_of_validator,
};

use crate::bytes::{Bytes, Text, len32, pad4};
use crate::cursor::Cursor;
use crate::scalar::{Record, Scalar, named, record};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

named! {
    /// The type of a resource.
    pub struct ResourceType(u32) {
        INVALID = 0 => "Invalid",
        SAMPLER = 1 => "Sampler",
        CBV = 2 => "CBV",
        SRV_TYPED = 3 => "SRVTyped",
        SRV_RAW = 4 => "SRVRaw",
        SRV_STRUCTURED = 5 => "SRVStructured",
        UAV_TYPED = 6 => "UAVTyped",
        UAV_RAW = 7 => "UAVRaw",
        UAV_STRUCTURED = 8 => "UAVStructured",
        UAV_STRUCTURED_WITH_COUNTER = 9 => "UAVStructuredWithCounter",
    }
}

named! {
    /// The shape of a resource.
    pub struct ResourceKind(u32) {
        INVALID = 0 => "Invalid",
        TEXTURE1D = 1 => "Texture1D",
        TEXTURE2D = 2 => "Texture2D",
        TEXTURE2DMS = 3 => "Texture2DMS",
        TEXTURE3D = 4 => "Texture3D",
        TEXTURE_CUBE = 5 => "TextureCube",
        TEXTURE1D_ARRAY = 6 => "Texture1DArray",
        TEXTURE2D_ARRAY = 7 => "Texture2DArray",
        TEXTURE2DMS_ARRAY = 8 => "Texture2DMSArray",
        TEXTURE_CUBE_ARRAY = 9 => "TextureCubeArray",
        TYPED_BUFFER = 10 => "TypedBuffer",
        RAW_BUFFER = 11 => "RawBuffer",
        STRUCTURED_BUFFER = 12 => "StructuredBuffer",
        CBUFFER = 13 => "CBuffer",
        SAMPLER = 14 => "Sampler",
        TBUFFER = 15 => "TBuffer",
        RT_ACCELERATION_STRUCTURE = 16 => "RTAccelerationStructure",
        FEEDBACK_TEXTURE2D = 17 => "FeedbackTexture2D",
        FEEDBACK_TEXTURE2D_ARRAY = 18 => "FeedbackTexture2DArray",
    }
}

named! {
    /// The semantic kind of an element. LLVM calls 30 `Invalid` too; 30 to 33 have their DXIL names.
    pub struct SemanticKind(u8) {
        ARBITRARY = 0 => "Arbitrary",
        VERTEX_ID = 1 => "VertexID",
        INSTANCE_ID = 2 => "InstanceID",
        POSITION = 3 => "Position",
        RENDER_TARGET_ARRAY_INDEX = 4 => "RenderTargetArrayIndex",
        VIEWPORT_ARRAY_INDEX = 5 => "ViewPortArrayIndex",
        CLIP_DISTANCE = 6 => "ClipDistance",
        CULL_DISTANCE = 7 => "CullDistance",
        OUTPUT_CONTROL_POINT_ID = 8 => "OutputControlPointID",
        DOMAIN_LOCATION = 9 => "DomainLocation",
        PRIMITIVE_ID = 10 => "PrimitiveID",
        GS_INSTANCE_ID = 11 => "GSInstanceID",
        SAMPLE_INDEX = 12 => "SampleIndex",
        IS_FRONT_FACE = 13 => "IsFrontFace",
        COVERAGE = 14 => "Coverage",
        INNER_COVERAGE = 15 => "InnerCoverage",
        TARGET = 16 => "Target",
        DEPTH = 17 => "Depth",
        DEPTH_LESS_EQUAL = 18 => "DepthLessEqual",
        DEPTH_GREATER_EQUAL = 19 => "DepthGreaterEqual",
        STENCIL_REF = 20 => "StencilRef",
        DISPATCH_THREAD_ID = 21 => "DispatchThreadID",
        GROUP_ID = 22 => "GroupID",
        GROUP_INDEX = 23 => "GroupIndex",
        GROUP_THREAD_ID = 24 => "GroupThreadID",
        TESS_FACTOR = 25 => "TessFactor",
        INSIDE_TESS_FACTOR = 26 => "InsideTessFactor",
        VIEW_ID = 27 => "ViewID",
        BARYCENTRICS = 28 => "Barycentrics",
        SHADING_RATE = 29 => "ShadingRate",
        CULL_PRIMITIVE = 30 => "CullPrimitive",
        START_VERTEX_LOCATION = 31 => "StartVertexLocation",
        START_INSTANCE_LOCATION = 32 => "StartInstanceLocation",
        INVALID = 33 => "Invalid",
    }
}

named! {
    /// The component type of an element.
    pub struct ComponentType(u8) {
        UNKNOWN = 0 => "Unknown",
        UINT32 = 1 => "UInt32",
        SINT32 = 2 => "SInt32",
        FLOAT32 = 3 => "Float32",
        UINT16 = 4 => "UInt16",
        SINT16 = 5 => "SInt16",
        FLOAT16 = 6 => "Float16",
        UINT64 = 7 => "UInt64",
        SINT64 = 8 => "SInt64",
        FLOAT64 = 9 => "Float64",
    }
}

named! {
    /// The interpolation mode of an element.
    pub struct Interpolation(u8) {
        UNDEFINED = 0 => "Undefined",
        CONSTANT = 1 => "Constant",
        LINEAR = 2 => "Linear",
        LINEAR_CENTROID = 3 => "LinearCentroid",
        LINEAR_NOPERSPECTIVE = 4 => "LinearNoperspective",
        LINEAR_NOPERSPECTIVE_CENTROID = 5 => "LinearNoperspectiveCentroid",
        LINEAR_SAMPLE = 6 => "LinearSample",
        LINEAR_NOPERSPECTIVE_SAMPLE = 7 => "LinearNoperspectiveSample",
        INVALID = 8 => "Invalid",
    }
}

record! {
    /// The fields of a resource in version 0.
    pub struct Binding {
        /// The resource type.
        pub resource_type: ResourceType => "Type",
        /// The register space.
        pub space: u32 => "Space",
        /// The first register.
        pub lower_bound: u32 => "LowerBound",
        /// The last register; `u32::MAX` if unbounded.
        pub upper_bound: u32 => "UpperBound",
    }
}

record! {
    /// The fields that newer versions add to a resource.
    pub struct BindingKind {
        /// The shape.
        pub kind: ResourceKind => "Kind",
        /// 1 if 64-bit atomics are used on it.
        pub flags: u32 => "Flags",
    }
}

/// A resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Type and registers.
    pub binding: Binding,
    /// Shape and flags, from validator version 1.6 on.
    pub kind: Option<BindingKind>,
    /// Fields of a newer version.
    pub extra: Bytes,
}

record! {
    /// An element of a signature.
    pub struct Element {
        /// Offset of its name in the string table; system values have none.
        pub name_offset: u32 => "NameOffset",
        /// Start of its semantic indices in their table.
        pub indices_offset: u32 => "IndicesOffset",
        /// The number of rows, each of which has a semantic index.
        pub rows: u8 => "Rows",
        /// Its first row.
        pub start_row: u8 => "StartRow",
        /// Bits 0–3 number of columns, 4–5 first column, 6 whether a register is allocated.
        pub columns: u8 => "ColsAndStart",
        /// The semantic kind.
        pub kind: SemanticKind => "Kind",
        /// The component type.
        pub component_type: ComponentType => "ComponentType",
        /// The interpolation mode.
        pub interpolation: Interpolation => "Interpolation",
        /// Bits 0–3 dynamically indexed components, 4–5 stream.
        pub mask_and_stream: u8 => "DynamicMaskAndStream",
        /// 0.
        pub reserved: u8 => "Reserved",
    }
}

impl Element {
    /// Returns the number of columns.
    pub fn cols(&self) -> u8 {
        self.columns & 0xf
    }

    /// Returns the first column.
    pub fn start_col(&self) -> u8 {
        self.columns >> 4 & 3
    }

    /// Returns whether a register is allocated for it.
    pub fn allocated(&self) -> bool {
        self.columns & 0x40 != 0
    }

    /// Returns the mask of its dynamically indexed components.
    pub fn dynamic_mask(&self) -> u8 {
        self.mask_and_stream & 0xf
    }

    /// Returns the stream of a geometry shader.
    pub fn stream(&self) -> u8 {
        self.mask_and_stream >> 4 & 3
    }
}

/// Dependency masks and tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependencies {
    /// Outputs of each stream that depend on the view ID.
    pub view_id_outputs: [Vec<u32>; 4],
    /// Patch constants or primitive values that depend on the view ID.
    pub view_id_patch: Vec<u32>,
    /// Outputs of each stream, by the input that they depend on.
    pub input_to_output: [Vec<u32>; 4],
    /// Patch constants, by the input that they depend on (hull).
    pub input_to_patch: Vec<u32>,
    /// Outputs, by the patch constant that they depend on (domain).
    pub patch_to_output: Vec<u32>,
}

/// What version 1 adds after the resources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signatures {
    /// The string table.
    pub strings: Bytes,
    /// The semantic indices.
    pub indices: Vec<u32>,
    /// The size of an element.
    pub stride: u32,
    /// The elements of inputs, outputs, and patch constants or primitives.
    pub elements: [Vec<Element>; 3],
    /// Bytes of each element in fields of a newer version, in the same order.
    pub extra: Vec<Bytes>,
    /// The dependencies.
    pub dependencies: Dependencies,
}

/// PSV0.
#[derive(Clone, Debug, PartialEq)]
pub struct Psv0 {
    /// The runtime information.
    pub info: RuntimeInfo,
    /// The size of a resource.
    pub resource_stride: u32,
    /// The resources.
    pub resources: Vec<Resource>,
    /// What version 1 adds.
    pub signatures: Option<Signatures>,
    /// Bytes after the last table.
    pub extra: Bytes,
}

/// The names of the three groups of elements.
pub const GROUPS: [&str; 3] = ["input", "output", "patch constant or primitive"];

impl Psv0 {
    /// Returns the stage, which version 0 does not store.
    pub fn stage(&self) -> Option<Stage> {
        self.info.v1.as_ref().map(|v1| v1.stage)
    }

    /// Returns the string at an offset of the string table.
    pub fn string(&self, offset: u32) -> Option<&[u8]> {
        let strings = self.signatures.as_ref()?.strings.0.get(offset as usize..)?;
        strings.split(|byte| *byte == 0).next().filter(|text| text.len() < strings.len())
    }

    /// Returns the name of the entry point.
    pub fn entry_name(&self) -> Option<&[u8]> {
        self.string(self.info.entry_name?)
    }

    /// Returns the semantic indices of an element.
    pub fn indices(&self, element: &Element) -> Option<&[u32]> {
        let indices = self.signatures.as_ref()?.indices.get(element.indices_offset as usize..)?;
        indices.get(..usize::from(element.rows))
    }

    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        let start = cursor.offset();
        let size: u32 = cursor.scalar("size of the runtime information")?;
        if size < SIZES[0] {
            return Err(Error::new(ErrorKind::BadValue, start, "runtime information is too small")
                .expected("at least 24 bytes")
                .found(format!("{size}")));
        }
        let info = cursor
            .group(|| "runtime information".into(), |cursor| RuntimeInfo::read(cursor, size))
            .map_err(|error| error.within("runtime information"))?;
        let (resource_stride, resources) =
            read_resources(cursor).map_err(|error| error.within("resources"))?;
        let signatures = info.v1.as_ref().map(|v1| read_signatures(cursor, &info, v1)).transpose()?;
        let extra = Bytes::from(cursor.rest("unknown")?);
        Ok(Self { info, resource_stride, resources, signatures, extra })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        len32(self.info.size()).put(&mut out);
        let mut info = self.info.clone();
        if let (Some(v1), Some(signatures)) = (&mut info.v1, &self.signatures) {
            let [inputs, outputs, patch] = &signatures.elements;
            v1.input_count = u8::try_from(inputs.len()).unwrap_or(u8::MAX);
            v1.output_count = u8::try_from(outputs.len()).unwrap_or(u8::MAX);
            v1.patch_count = u8::try_from(patch.len()).unwrap_or(u8::MAX);
        }
        info.write(&mut out);
        len32(self.resources.len()).put(&mut out);
        if !self.resources.is_empty() {
            self.resource_stride.put(&mut out);
        }
        for resource in &self.resources {
            resource.binding.write(&mut out);
            if let Some(kind) = &resource.kind {
                kind.write(&mut out);
            }
            out.extend_from_slice(&resource.extra.0);
        }
        if let Some(signatures) = &self.signatures {
            signatures.write(&mut out);
        }
        out.extend_from_slice(&self.extra.0);
        out
    }
}

fn read_resources(cursor: &mut Cursor<'_, '_>) -> Result<(u32, Vec<Resource>)> {
    let count: u32 = cursor.scalar("number of resources")?;
    if count == 0 {
        return Ok((0, Vec::new()));
    }
    let file_offset = cursor.offset();
    let stride: u32 = cursor.scalar("size of a resource")?;
    let least = Binding::SIZE;
    check_stride(stride, least, file_offset)?;
    cursor.check_count(count, stride as usize)?;
    let read = |index: u32| {
        cursor.group(
            || format!("resource {index}").into(),
            |cursor| {
                let mut cursor = cursor.split(u64::from(stride))?;
                let binding = Binding::read(&mut cursor)?;
                let kind = (cursor.remaining() >= BindingKind::SIZE)
                    .then(|| BindingKind::read(&mut cursor))
                    .transpose()?;
                Ok(Resource { binding, kind, extra: Bytes::from(cursor.rest("fields of a newer version")?) })
            },
        )
    };
    Ok((stride, (0..count).map(read).collect::<Result<_>>()?))
}

fn check_stride(stride: u32, least: usize, file_offset: u64) -> Result<()> {
    if (stride as usize) < least {
        return Err(Error::new(ErrorKind::BadValue, file_offset, "entries are too small")
            .expected(format!("at least {least} bytes"))
            .found(format!("{stride}")));
    }
    Ok(())
}

fn read_signatures(cursor: &mut Cursor<'_, '_>, info: &RuntimeInfo, v1: &V1) -> Result<Signatures> {
    let size: u32 = cursor.scalar("size of the string table")?;
    let strings =
        Bytes::from(cursor.bytes(size as usize, "string table").map_err(|e| e.within("string table"))?);
    let count: u32 = cursor.scalar("number of semantic indices")?;
    let indices =
        cursor.scalars(count, "semantic index").map_err(|error| error.within("semantic indices"))?;
    let mut signatures = Signatures { strings, indices, ..Signatures::default() };
    let counts = [v1.input_count, v1.output_count, v1.patch_count];
    if counts.iter().any(|count| *count > 0) {
        let file_offset = cursor.offset();
        signatures.stride = cursor.scalar("size of an element")?;
        check_stride(signatures.stride, Element::SIZE, file_offset)
            .map_err(|error| error.within("elements"))?;
    }
    for ((elements, count), group) in signatures.elements.iter_mut().zip(counts).zip(GROUPS) {
        for index in 0..count {
            let read = cursor.group(
                || format!("{group} element {index}").into(),
                |cursor| {
                    let mut cursor = cursor.split(u64::from(signatures.stride))?;
                    Ok((Element::read(&mut cursor)?, Bytes::from(cursor.rest("fields of a newer version")?)))
                },
            );
            let (element, extra) = read.map_err(|error| error.within(format!("{group} element {index}")))?;
            elements.push(element);
            signatures.extra.push(extra);
        }
    }
    signatures.dependencies =
        read_dependencies(cursor, info, v1).map_err(|error| error.within("dependencies"))?;
    Ok(signatures)
}

/// Returns the number of words of a mask for `vectors` vectors.
pub fn mask_words(vectors: u8) -> u32 {
    u32::from(vectors).div_ceil(8)
}

/// Returns the number of words of a table from `read` vectors to masks of `written` vectors.
pub fn table_words(written: u8, read: u8) -> u32 {
    mask_words(written).saturating_mul(u32::from(read)).saturating_mul(4)
}

fn read_dependencies(cursor: &mut Cursor<'_, '_>, info: &RuntimeInfo, v1: &V1) -> Result<Dependencies> {
    let mut found = Dependencies::default();
    let shape = DependencyShape::new(info, v1);
    for (mask, words) in found.view_id_outputs.iter_mut().zip(shape.view_id_outputs) {
        *mask = cursor.scalars(words, "outputs that depend on the view ID")?;
    }
    found.view_id_patch =
        cursor.scalars(shape.view_id_patch, "patch constants that depend on the view ID")?;
    for (table, words) in found.input_to_output.iter_mut().zip(shape.input_to_output) {
        *table = cursor.scalars(words, "outputs that depend on an input")?;
    }
    found.input_to_patch = cursor.scalars(shape.input_to_patch, "patch constants that depend on an input")?;
    found.patch_to_output =
        cursor.scalars(shape.patch_to_output, "outputs that depend on a patch constant")?;
    Ok(found)
}

/// The number of words of each mask and table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DependencyShape {
    /// See [`Dependencies::view_id_outputs`].
    pub view_id_outputs: [u32; 4],
    /// See [`Dependencies::view_id_patch`].
    pub view_id_patch: u32,
    /// See [`Dependencies::input_to_output`].
    pub input_to_output: [u32; 4],
    /// See [`Dependencies::input_to_patch`].
    pub input_to_patch: u32,
    /// See [`Dependencies::patch_to_output`].
    pub patch_to_output: u32,
}

impl DependencyShape {
    /// Computes the number of words from the vectors of a program.
    pub fn new(info: &RuntimeInfo, v1: &V1) -> Self {
        let mut shape = Self::default();
        let (stage, inputs, patch) = (v1.stage, v1.input_vectors, info.patch_vectors());
        let streams = if stage == Stage::GEOMETRY { 4 } else { 1 };
        let outputs = v1.output_vectors;
        if v1.uses_view_id != 0 {
            for (words, vectors) in shape.view_id_outputs.iter_mut().zip(outputs).take(streams) {
                *words = mask_words(vectors);
            }
            if matches!(stage, Stage::HULL | Stage::MESH) {
                shape.view_id_patch = mask_words(patch);
            }
        }
        if stage != Stage::MESH {
            for (words, vectors) in shape.input_to_output.iter_mut().zip(outputs).take(streams) {
                *words = table_words(vectors, inputs);
            }
        }
        if stage == Stage::HULL {
            shape.input_to_patch = table_words(patch, inputs);
        }
        if stage == Stage::DOMAIN {
            shape.patch_to_output = table_words(outputs[0], patch);
        }
        shape
    }
}

impl Signatures {
    /// Returns all elements, inputs first.
    pub fn all(&self) -> impl Iterator<Item = &Element> {
        self.elements.iter().flatten()
    }

    fn write(&self, out: &mut Vec<u8>) {
        len32(self.strings.0.len()).put(out);
        out.extend_from_slice(&self.strings.0);
        len32(self.indices.len()).put(out);
        self.indices.iter().for_each(|index| index.put(out));
        if self.all().next().is_some() {
            self.stride.put(out);
        }
        let mut extra = self.extra.iter();
        for element in self.all() {
            element.write(out);
            out.extend(extra.next().into_iter().flat_map(|bytes| &bytes.0));
        }
        let found = &self.dependencies;
        let outputs = found.view_id_outputs.iter().chain([&found.view_id_patch]);
        let tables = found.input_to_output.iter().chain([&found.input_to_patch, &found.patch_to_output]);
        outputs.chain(tables).flatten().for_each(|word| word.put(out));
    }

    /// Builds the string table and the table of semantic indices from names and indices, as DXC does: a string of its
    /// own for each name, and indices shared with any equal run.
    pub fn rebuild_tables(
        &mut self,
        names: &[Text],
        indices: &[Vec<u32>],
        entry_name: Option<&Text>,
    ) -> Option<u32> {
        let mut strings = alloc::vec![0u8];
        let mut table: Vec<u32> = Vec::new();
        for ((element, name), indices) in self.elements.iter_mut().flatten().zip(names).zip(indices) {
            element.name_offset = if name.0.is_empty() { 0 } else { push_text(&mut strings, name) };
            element.rows = u8::try_from(indices.len()).unwrap_or(u8::MAX);
            element.indices_offset = len32(find_run(&table, indices).unwrap_or(table.len()));
            if element.indices_offset as usize == table.len() {
                table.extend_from_slice(indices);
            }
        }
        let entry = entry_name.map(|name| push_text(&mut strings, name));
        pad4(&mut strings, 0);
        self.strings = Bytes(strings);
        self.indices = table;
        entry
    }
}

fn push_text(strings: &mut Vec<u8>, text: &Text) -> u32 {
    let offset = len32(strings.len());
    strings.extend_from_slice(&text.0);
    strings.push(0);
    offset
}

/// Finds a run of numbers in a table.
fn find_run(table: &[u32], run: &[u32]) -> Option<usize> {
    match run {
        [] => Some(0),
        _ => table.windows(run.len()).position(|window| window == run),
    }
}
