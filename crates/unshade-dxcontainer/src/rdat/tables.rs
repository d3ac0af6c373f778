//! The tables of RDAT: the fields of a record, by the kind of the table.
//!
//! A table stores the size of its records. A larger record than these fields has extra bytes of a newer version; a
//! smaller one ends early (functions had 44 bytes before validator version 1.8).
//!
//! Sources: DXC's `RDAT_LibraryTypes.inl`, `RDAT_SubobjectTypes.inl` and `RDAT_PdbInfoTypes.inl`.

use crate::scalar::named;

named! {
    /// The kind of a part of RDAT.
    pub struct RdatKind(u32) {
        INVALID = 0 => "Invalid",
        STRING_BUFFER = 1 => "StringBuffer",
        INDEX_ARRAYS = 2 => "IndexArrays",
        RESOURCE_TABLE = 3 => "ResourceTable",
        FUNCTION_TABLE = 4 => "FunctionTable",
        RAW_BYTES = 5 => "RawBytes",
        SUBOBJECT_TABLE = 6 => "SubobjectTable",
        NODE_ID_TABLE = 7 => "NodeIDTable",
        NODE_SHADER_IO_ATTRIB_TABLE = 8 => "NodeShaderIOAttribTable",
        NODE_SHADER_FUNC_ATTRIB_TABLE = 9 => "NodeShaderFuncAttribTable",
        IO_NODE_TABLE = 10 => "IONodeTable",
        NODE_SHADER_INFO_TABLE = 11 => "NodeShaderInfoTable",
        RESERVED_MESH_NODES = 12 => "Reserved_MeshNodesPreviewInfoTable",
        SIGNATURE_ELEMENT_TABLE = 13 => "SignatureElementTable",
        VS_INFO_TABLE = 14 => "VSInfoTable",
        PS_INFO_TABLE = 15 => "PSInfoTable",
        HS_INFO_TABLE = 16 => "HSInfoTable",
        DS_INFO_TABLE = 17 => "DSInfoTable",
        GS_INFO_TABLE = 18 => "GSInfoTable",
        CS_INFO_TABLE = 19 => "CSInfoTable",
        MS_INFO_TABLE = 20 => "MSInfoTable",
        AS_INFO_TABLE = 21 => "ASInfoTable",
        PDB_INFO_TABLE = 0x1_0001 => "DxilPdbInfoTable",
        PDB_SOURCE_TABLE = 0x1_0002 => "DxilPdbInfoSourceTable",
        PDB_LIBRARY_TABLE = 0x1_0003 => "DxilPdbInfoLibraryTable",
    }
}

/// The kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A number.
    Number,
    /// A number in hexadecimal notation: flags, versions.
    Hex,
    /// An index into these names.
    Name(&'static [&'static str]),
    /// The offset of a string in the string buffer.
    Text,
    /// The position of a list of strings in the index arrays.
    TextArray,
    /// The position of a list of numbers in the index arrays.
    NumberArray,
    /// The index of a record in a table.
    Record(RdatKind),
    /// The position of a list of record indices in the index arrays.
    RecordArray(RdatKind),
    /// The offset of bytes in the raw byte buffer; the next field is their size.
    BytesOffset,
}

/// A field of a record.
#[derive(Clone, Copy, Debug)]
pub struct TableField {
    /// Its name.
    pub name: &'static str,
    /// Its size in bytes: 1, 2 or 4.
    pub size: usize,
    /// Its kind.
    pub kind: FieldKind,
}

const fn word(name: &'static str, kind: FieldKind) -> TableField {
    TableField { name, size: 4, kind }
}

const fn half(name: &'static str, kind: FieldKind) -> TableField {
    TableField { name, size: 2, kind }
}

const fn byte(name: &'static str, kind: FieldKind) -> TableField {
    TableField { name, size: 1, kind }
}

use FieldKind::{BytesOffset, Hex, Name, Number, NumberArray, Record, RecordArray, Text, TextArray};

const RESOURCE_CLASSES: &[&str] = &["SRV", "UAV", "CBuffer", "Sampler", "Invalid"];

const RESOURCE_KINDS: &[&str] = &[
    "Invalid",
    "Texture1D",
    "Texture2D",
    "Texture2DMS",
    "Texture3D",
    "TextureCube",
    "Texture1DArray",
    "Texture2DArray",
    "Texture2DMSArray",
    "TextureCubeArray",
    "TypedBuffer",
    "RawBuffer",
    "StructuredBuffer",
    "CBuffer",
    "Sampler",
    "TBuffer",
    "RTAccelerationStructure",
    "FeedbackTexture2D",
    "FeedbackTexture2DArray",
];

const SHADER_KINDS: &[&str] = &[
    "Pixel",
    "Vertex",
    "Geometry",
    "Hull",
    "Domain",
    "Compute",
    "Library",
    "RayGeneration",
    "Intersection",
    "AnyHit",
    "ClosestHit",
    "Miss",
    "Callable",
    "Mesh",
    "Amplification",
    "Node",
    "Invalid",
];

const SUBOBJECT_KINDS: &[&str] = &[
    "StateObjectConfig",
    "GlobalRootSignature",
    "LocalRootSignature",
    "3",
    "4",
    "5",
    "6",
    "7",
    "SubobjectToExportsAssociation",
    "RaytracingShaderConfig",
    "RaytracingPipelineConfig",
    "HitGroup",
    "RaytracingPipelineConfig1",
];

const NODE_FUNC_ATTRIBS: &[&str] = &[
    "None",
    "ID",
    "NumThreads",
    "ShareInputOf",
    "DispatchGrid",
    "MaxRecursionDepth",
    "LocalRootArgumentsTableIndex",
    "MaxDispatchGrid",
    "Reserved_MeshNodePreview1",
    "Reserved_MeshNodePreview2",
];

const NODE_IO_ATTRIBS: &[&str] = &[
    "None",
    "OutputID",
    "MaxRecords",
    "MaxRecordsSharedWith",
    "RecordSizeInBytes",
    "RecordDispatchGrid",
    "OutputArraySize",
    "AllowSparseNodes",
    "RecordAlignmentInBytes",
    "MaxRecordsPerNode",
];

const LAUNCH_TYPES: &[&str] = &["Invalid", "Broadcasting", "Coalescing", "Thread", "Reserved_Mesh"];

const RESOURCE: &[TableField] = &[
    word("Class", Name(RESOURCE_CLASSES)),
    word("Kind", Name(RESOURCE_KINDS)),
    word("ID", Number),
    word("Space", Number),
    word("LowerBound", Number),
    word("UpperBound", Number),
    word("Name", Text),
    word("Flags", Hex),
];

const FUNCTION: &[TableField] = &[
    word("Name", Text),
    word("UnmangledName", Text),
    word("Resources", RecordArray(RdatKind::RESOURCE_TABLE)),
    word("FunctionDependencies", TextArray),
    word("ShaderKind", Name(SHADER_KINDS)),
    word("PayloadSizeInBytes", Number),
    word("AttributeSizeInBytes", Number),
    word("FeatureInfo1", Hex),
    word("FeatureInfo2", Hex),
    word("ShaderStageFlag", Hex),
    word("MinShaderTarget", Hex),
    byte("MinimumExpectedWaveLaneCount", Number),
    byte("MaximumExpectedWaveLaneCount", Number),
    half("ShaderFlags", Hex),
    word("ShaderRef", Number),
];

const SUBOBJECT: &[TableField] = &[
    word("Kind", Name(SUBOBJECT_KINDS)),
    word("Name", Text),
    word("Value0", Hex),
    word("Value1", Hex),
    word("Value2", Hex),
    word("Value3", Hex),
];

const NODE_ID: &[TableField] = &[word("Name", Text), word("Index", Number)];

const NODE_IO_ATTRIB: &[TableField] = &[word("AttribKind", Name(NODE_IO_ATTRIBS)), word("Value", Number)];

const NODE_FUNC_ATTRIB: &[TableField] = &[word("AttribKind", Name(NODE_FUNC_ATTRIBS)), word("Value", Number)];

const IO_NODE: &[TableField] =
    &[word("IOFlagsAndKind", Hex), word("Attribs", RecordArray(RdatKind::NODE_SHADER_IO_ATTRIB_TABLE))];

const NODE_SHADER_INFO: &[TableField] = &[
    word("LaunchType", Name(LAUNCH_TYPES)),
    word("GroupSharedBytesUsed", Number),
    word("Attribs", RecordArray(RdatKind::NODE_SHADER_FUNC_ATTRIB_TABLE)),
    word("Outputs", RecordArray(RdatKind::IO_NODE_TABLE)),
    word("Inputs", RecordArray(RdatKind::IO_NODE_TABLE)),
];

const SIGNATURE_ELEMENT: &[TableField] = &[
    word("SemanticName", Text),
    word("SemanticIndices", NumberArray),
    byte("SemanticKind", Number),
    byte("ComponentType", Number),
    byte("InterpolationMode", Number),
    byte("StartRow", Number),
    byte("ColsAndStream", Hex),
    byte("UsageAndDynIndexMasks", Hex),
    half("Reserved", Number),
];

const ELEMENTS: FieldKind = RecordArray(RdatKind::SIGNATURE_ELEMENT_TABLE);

const VS_INFO: &[TableField] = &[
    word("SigInputElements", ELEMENTS),
    word("SigOutputElements", ELEMENTS),
    word("ViewIDOutputMask", BytesOffset),
    word("ViewIDOutputMaskSize", Number),
];

const PS_INFO: &[TableField] = &[word("SigInputElements", ELEMENTS), word("SigOutputElements", ELEMENTS)];

const HS_INFO: &[TableField] = &[
    word("SigInputElements", ELEMENTS),
    word("SigOutputElements", ELEMENTS),
    word("SigPatchConstOutputElements", ELEMENTS),
    word("ViewIDOutputMask", BytesOffset),
    word("ViewIDOutputMaskSize", Number),
    word("ViewIDPatchConstOutputMask", BytesOffset),
    word("ViewIDPatchConstOutputMaskSize", Number),
    word("InputToOutputMasks", BytesOffset),
    word("InputToOutputMasksSize", Number),
    word("InputToPatchConstOutputMasks", BytesOffset),
    word("InputToPatchConstOutputMasksSize", Number),
    byte("InputControlPointCount", Number),
    byte("OutputControlPointCount", Number),
    byte("TessellatorDomain", Number),
    byte("TessellatorOutputPrimitive", Number),
];

const DS_INFO: &[TableField] = &[
    word("SigInputElements", ELEMENTS),
    word("SigOutputElements", ELEMENTS),
    word("SigPatchConstInputElements", ELEMENTS),
    word("ViewIDOutputMask", BytesOffset),
    word("ViewIDOutputMaskSize", Number),
    word("InputToOutputMasks", BytesOffset),
    word("InputToOutputMasksSize", Number),
    word("PatchConstInputToOutputMasks", BytesOffset),
    word("PatchConstInputToOutputMasksSize", Number),
    byte("InputControlPointCount", Number),
    byte("TessellatorDomain", Number),
    half("Reserved", Number),
];

const GS_INFO: &[TableField] = &[
    word("SigInputElements", ELEMENTS),
    word("SigOutputElements", ELEMENTS),
    word("ViewIDOutputMask", BytesOffset),
    word("ViewIDOutputMaskSize", Number),
    word("InputToOutputMasks", BytesOffset),
    word("InputToOutputMasksSize", Number),
    byte("InputPrimitive", Number),
    byte("OutputTopology", Number),
    byte("MaxVertexCount", Number),
    byte("OutputStreamMask", Hex),
];

const CS_INFO: &[TableField] = &[word("NumThreads", NumberArray), word("GroupSharedBytesUsed", Number)];

const MS_INFO: &[TableField] = &[
    word("SigOutputElements", ELEMENTS),
    word("SigPrimOutputElements", ELEMENTS),
    word("ViewIDOutputMask", BytesOffset),
    word("ViewIDOutputMaskSize", Number),
    word("ViewIDPrimOutputMask", BytesOffset),
    word("ViewIDPrimOutputMaskSize", Number),
    word("NumThreads", NumberArray),
    word("GroupSharedBytesUsed", Number),
    word("GroupSharedBytesDependentOnViewID", Number),
    word("PayloadSizeInBytes", Number),
    half("MaxOutputVertices", Number),
    half("MaxOutputPrimitives", Number),
    byte("MeshOutputTopology", Number),
    byte("Reserved0", Number),
    half("Reserved1", Number),
];

const AS_INFO: &[TableField] = &[
    word("NumThreads", NumberArray),
    word("GroupSharedBytesUsed", Number),
    word("PayloadSizeInBytes", Number),
];

const PDB_INFO: &[TableField] = &[
    word("Entry", Text),
    word("TargetProfile", Text),
    word("MainFileName", Text),
    word("SourceNames", TextArray),
    word("SourceContents", TextArray),
    word("ArgPairs", TextArray),
    word("Libraries", RecordArray(RdatKind::PDB_LIBRARY_TABLE)),
    word("LibraryNames", TextArray),
    word("Hash", BytesOffset),
    word("HashSize", Number),
    word("PdbName", Text),
    word("CustomToolchainId", Number),
    word("CustomToolchainData", BytesOffset),
    word("CustomToolchainDataSize", Number),
    word("WholeDxil", BytesOffset),
    word("WholeDxilSize", Number),
];

const PDB_LIBRARY: &[TableField] = &[word("Data", BytesOffset), word("DataSize", Number)];

/// Returns the fields of a table's records; empty for buffers and unknown tables.
pub fn fields(kind: RdatKind) -> &'static [TableField] {
    match kind {
        RdatKind::RESOURCE_TABLE => RESOURCE,
        RdatKind::FUNCTION_TABLE => FUNCTION,
        RdatKind::SUBOBJECT_TABLE => SUBOBJECT,
        RdatKind::NODE_ID_TABLE => NODE_ID,
        RdatKind::NODE_SHADER_IO_ATTRIB_TABLE => NODE_IO_ATTRIB,
        RdatKind::NODE_SHADER_FUNC_ATTRIB_TABLE => NODE_FUNC_ATTRIB,
        RdatKind::IO_NODE_TABLE => IO_NODE,
        RdatKind::NODE_SHADER_INFO_TABLE => NODE_SHADER_INFO,
        RdatKind::SIGNATURE_ELEMENT_TABLE => SIGNATURE_ELEMENT,
        RdatKind::VS_INFO_TABLE => VS_INFO,
        RdatKind::PS_INFO_TABLE => PS_INFO,
        RdatKind::HS_INFO_TABLE => HS_INFO,
        RdatKind::DS_INFO_TABLE => DS_INFO,
        RdatKind::GS_INFO_TABLE => GS_INFO,
        RdatKind::CS_INFO_TABLE => CS_INFO,
        RdatKind::MS_INFO_TABLE => MS_INFO,
        RdatKind::AS_INFO_TABLE => AS_INFO,
        RdatKind::PDB_INFO_TABLE => PDB_INFO,
        RdatKind::PDB_LIBRARY_TABLE => PDB_LIBRARY,
        _ => &[],
    }
}

/// The kinds of the four words of a subobject, by its kind.
const SUBOBJECT_VALUES: &[(u32, [FieldKind; 4])] = &[
    (0, [Hex, Hex, Hex, Hex]),
    (1, [BytesOffset, Number, Hex, Hex]),
    (2, [BytesOffset, Number, Hex, Hex]),
    (8, [Text, TextArray, Hex, Hex]),
    (9, [Number, Number, Hex, Hex]),
    (10, [Number, Hex, Hex, Hex]),
    (11, [Number, Text, Text, Text]),
    (12, [Number, Hex, Hex, Hex]),
];

/// The kind of the value of a node function attribute, by its kind.
const FUNC_ATTRIB_VALUES: &[(u32, FieldKind)] = &[
    (1, Record(RdatKind::NODE_ID_TABLE)),
    (2, NumberArray),
    (3, Record(RdatKind::NODE_ID_TABLE)),
    (4, NumberArray),
    (7, NumberArray),
];

/// The kind of the value of a node I/O attribute, by its kind.
const IO_ATTRIB_VALUES: &[(u32, FieldKind)] = &[(1, Record(RdatKind::NODE_ID_TABLE)), (5, Hex)];

/// The table that a function's `ShaderRef` refers to, by shader kind.
const SHADER_TABLES: &[(u32, RdatKind)] = &[
    (0, RdatKind::PS_INFO_TABLE),
    (1, RdatKind::VS_INFO_TABLE),
    (2, RdatKind::GS_INFO_TABLE),
    (3, RdatKind::HS_INFO_TABLE),
    (4, RdatKind::DS_INFO_TABLE),
    (5, RdatKind::CS_INFO_TABLE),
    (13, RdatKind::MS_INFO_TABLE),
    (14, RdatKind::AS_INFO_TABLE),
    (15, RdatKind::NODE_SHADER_INFO_TABLE),
];

/// The indices of `ShaderKind` and `ShaderRef` in a function's record.
const SHADER_KIND: usize = 4;
const SHADER_REF: usize = 14;

/// Returns the index of the field that selects the kind of other fields of the record.
pub fn selector(table: RdatKind) -> usize {
    if table == RdatKind::FUNCTION_TABLE { SHADER_KIND } else { 0 }
}

/// Returns the kind of a field: that of [`fields`], or the one that depends on the value of the record's
/// [`selector`].
pub fn field_kind(table: RdatKind, index: usize, selected: u32) -> FieldKind {
    let plain = fields(table).get(index).map_or(Number, |field| field.kind);
    let of = |values: &[(u32, FieldKind)]| {
        values.iter().find(|(kind, _)| *kind == selected && index == 1).map_or(plain, |(_, kind)| *kind)
    };
    match table {
        RdatKind::FUNCTION_TABLE if index == SHADER_REF => SHADER_TABLES
            .iter()
            .find(|(kind, _)| *kind == selected)
            .map_or(plain, |(_, table)| Record(*table)),
        RdatKind::SUBOBJECT_TABLE => SUBOBJECT_VALUES
            .iter()
            .find(|(kind, _)| *kind == selected)
            .and_then(|(_, kinds)| kinds.get(index.checked_sub(2)?))
            .map_or(plain, |kind| *kind),
        RdatKind::NODE_SHADER_FUNC_ATTRIB_TABLE => of(FUNC_ATTRIB_VALUES),
        RdatKind::NODE_SHADER_IO_ATTRIB_TABLE => of(IO_ATTRIB_VALUES),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shader_references_depend_on_the_shader_kind() {
        assert_eq!(fields(RdatKind::FUNCTION_TABLE)[SHADER_KIND].name, "ShaderKind");
        assert_eq!(fields(RdatKind::FUNCTION_TABLE)[SHADER_REF].name, "ShaderRef");
        assert_eq!(field_kind(RdatKind::FUNCTION_TABLE, SHADER_REF, 13), Record(RdatKind::MS_INFO_TABLE));
        assert_eq!(field_kind(RdatKind::FUNCTION_TABLE, SHADER_REF, 7), Number);
    }
}
