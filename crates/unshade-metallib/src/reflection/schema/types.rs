//! Function constants, layouts and bindings; the types of stitchable functions; mesh emulation.

use super::{
    ACCESS, ADDRESS_SPACE, Category, FieldKind, IMAGEBLOCK_LAYOUT, NodeSchema, NodeType, Slot, TENSOR_KIND,
    TOPOLOGY, TableSchema, nodes, slot,
};
use FieldKind::{Bitfield, Bool, BoolValue, NodeId, NodeIds, Numbers, Tables, Text, Texts, U32, UIntValue};

/// A member of a structure.
const STRUCT_FIELD: TableSchema = TableSchema {
    name: "StructTypeInfoField",
    slots: &[
        slot("struct_type_info", NodeId),
        slot("offset", U32),
        slot("size", U32),
        slot("array_entries", U32),
        slot("type_name", Text),
        slot("field_name", Text),
        slot("attribute_name", Text),
        slot("indirect_argument", NodeId),
        slot("indirect_location", UIntValue),
        slot("raster_order_group", UIntValue),
        slot("render_target_index", UIntValue),
        slot("inline_type_info", NodeId),
    ],
};

nodes! {
    INFORMATION:
    FUNCTION_CONSTANT = 0x80000, "FunctionConstant", Information, "function_constant(@)",
        &[slot("type_name", Text), slot("name", Text), slot("index", U32), slot("required", Bool)];
    STRUCT_TYPE_INFO = 0x80001, "StructTypeInfo", Information, "", &[slot("fields", Tables(&STRUCT_FIELD))];
    STITCHING_ARGUMENT = 0x80002, "StitchingArgument", Information, "",
        &[slot("type", NodeId), slot("name", Text)];
    MESH_TYPE_INFO = 0x80003, "MeshTypeInfo", Information, "", &[
        slot("vertex_types", NodeIds), slot("primitive_types", NodeIds), slot("max_vertices", U32),
        slot("max_primitives", U32), Slot { name: "topology", kind: TOPOLOGY, default: 1 },
    ];
    GLOBAL_BINDING = 0x80004, "GlobalBinding", Information, "", &[slot("name", Text), slot("argument", NodeId)];
    INLINE_TYPE_INFO = 0x80005, "InlineTypeInfo", Information, "", &[
        Slot { name: "address_space", kind: ADDRESS_SPACE, default: 255 },
        slot("inline_type_info", NodeId), slot("struct_type_info", NodeId), slot("size", U32),
        slot("alignment", U32), slot("array_entries", U32), slot("type_name", Text),
        slot("indirect_argument", NodeId), slot("indirect_location", UIntValue),
    ];
    VISIBLE_FUNCTION_REFERENCE = 0x80006, "VisibleFunctionReference", Information, "",
        &[slot("function_name", Text)];
}

/// The slots of a scalar type; its size is also its alignment.
macro_rules! scalar {
    ($size:literal) => {
        &[
            Slot { name: "size", kind: U32, default: $size },
            Slot { name: "alignment", kind: U32, default: $size },
            slot("qualifiers", NodeIds),
        ]
    };
}

/// The slots common to all types, followed by those of a specific type.
macro_rules! typed {
    ($($name:literal: $kind:expr),*) => {
        &[slot("size", U32), slot("alignment", U32), slot("qualifiers", NodeIds), $(slot($name, $kind)),*]
    };
}

/// A type without further slots.
const PLAIN: &[Slot] = typed!();
/// A pointer or reference.
const POINTEE: &[Slot] = typed!("pointee_type": NodeId);
/// An array or vector.
const ELEMENTS: &[Slot] = typed!("element_type": NodeId, "num_elements": U32);
/// A record type.
const RECORD: &[Slot] = typed!("name": Text, "members": NodeIds);

nodes! {
    LANGUAGE_TYPES:
    OPAQUE_TYPE = 0x81000, "OpaqueType", Type, "", typed!("name": Text);
    VOID_TYPE = 0x81001, "VoidType", Type, "void", PLAIN;
    BOOL_TYPE = 0x81002, "BoolType", Type, "bool", scalar!(1);
    CHAR_TYPE = 0x81003, "CharType", Type, "char", scalar!(1);
    UCHAR_TYPE = 0x81004, "UCharType", Type, "uchar", scalar!(1);
    SHORT_TYPE = 0x81005, "ShortType", Type, "short", scalar!(2);
    USHORT_TYPE = 0x81006, "UShortType", Type, "ushort", scalar!(2);
    INT_TYPE = 0x81007, "IntType", Type, "int", scalar!(4);
    UINT_TYPE = 0x81008, "UIntType", Type, "uint", scalar!(4);
    LONG_TYPE = 0x81009, "LongType", Type, "long", scalar!(8);
    ULONG_TYPE = 0x8100a, "ULongType", Type, "ulong", scalar!(8);
    LLONG_TYPE = 0x8100b, "LLongType", Type, "long long", scalar!(16);
    ULLONG_TYPE = 0x8100c, "ULLongType", Type, "unsigned long long", scalar!(16);
    HALF_TYPE = 0x8100d, "HalfType", Type, "half", scalar!(2);
    FLOAT_TYPE = 0x8100e, "FloatType", Type, "float", scalar!(4);
    DOUBLE_TYPE = 0x8100f, "DoubleType", Type, "double", scalar!(8);
    BFLOAT_TYPE = 0x81010, "BFloatType", Type, "bfloat", scalar!(2);
    VECTOR_TYPE = 0x81011, "VectorType", Type, "", ELEMENTS;
    PACKED_VECTOR_TYPE = 0x81012, "PackedVectorType", Type, "packed_", ELEMENTS;
    MATRIX_TYPE = 0x81013, "MatrixType", Type, "",
        typed!("element_type": NodeId, "num_columns": U32, "num_rows": U32);
    FUNCTION_TYPE = 0x81014, "FunctionType", Type, "", typed!("return_type": NodeId, "param_types": NodeIds);
    POINTER_TYPE = 0x81015, "PointerType", Type, "*", POINTEE;
    LVALUE_REFERENCE_TYPE = 0x81016, "LValueReferenceType", Type, "&", POINTEE;
    RVALUE_REFERENCE_TYPE = 0x81017, "RValueReferenceType", Type, "&&", POINTEE;
    ARRAY_TYPE = 0x81018, "ArrayType", Type, "", ELEMENTS;
    ENUM_TYPE = 0x81019, "EnumType", Type, "", typed!("name": Text, "underlying_type": NodeId);
    RECORD_BASE = 0x8101a, "RecordBase", TypePart, "",
        &[slot("offset", U32), slot("alignment", U32), slot("type", NodeId)];
    RECORD_FIELD = 0x8101b, "RecordField", TypePart, "", &[
        slot("offset", U32), slot("alignment", U32), slot("type", NodeId), slot("name", Text),
        slot("attributes", NodeIds), slot("bitfield", Bitfield),
    ];
    STRUCT_TYPE = 0x8101c, "StructType", Type, "struct", RECORD;
    UNION_TYPE = 0x8101d, "UnionType", Type, "union", RECORD;
}

/// A texture type.
const TEXTURE: &[Slot] = typed!("channel_type": NodeId, "access_qualifier": ACCESS);
/// A pixel format of an imageblock, with the type that the shader uses.
const PIXEL: &[Slot] = typed!("alu_type": NodeId);

nodes! {
    METAL_TYPES:
    ARRAY_OF_TYPE = 0x82000, "ArrayOfType", Type, "array", ELEMENTS;
    ARRAY_REF_OF_TYPE = 0x82001, "ArrayRefOfType", Type, "array_ref", typed!("element_type": NodeId);
    TEXTURE_1D_TYPE = 0x82002, "Texture1dType", Type, "texture1d", TEXTURE;
    TEXTURE_1D_ARRAY_TYPE = 0x82003, "Texture1dArrayType", Type, "texture1d_array", TEXTURE;
    TEXTURE_2D_TYPE = 0x82004, "Texture2dType", Type, "texture2d", TEXTURE;
    TEXTURE_2D_ARRAY_TYPE = 0x82005, "Texture2dArrayType", Type, "texture2d_array", TEXTURE;
    TEXTURE_3D_TYPE = 0x82006, "Texture3dType", Type, "texture3d", TEXTURE;
    TEXTURE_CUBE_TYPE = 0x82007, "TextureCubeType", Type, "texturecube", TEXTURE;
    TEXTURE_CUBE_ARRAY_TYPE = 0x82008, "TextureCubeArrayType", Type, "texturecube_array", TEXTURE;
    TEXTURE_2D_MS_TYPE = 0x82009, "Texture2dMsType", Type, "texture2d_ms", TEXTURE;
    TEXTURE_2D_MS_ARRAY_TYPE = 0x8200a, "Texture2dMsArrayType", Type, "texture2d_ms_array", TEXTURE;
    TEXTURE_BUFFER_1D_TYPE = 0x8200b, "TextureBuffer1dType", Type, "texture_buffer", TEXTURE;
    DEPTH_2D_TYPE = 0x8200c, "Depth2dType", Type, "depth2d", TEXTURE;
    DEPTH_2D_ARRAY_TYPE = 0x8200d, "Depth2dArrayType", Type, "depth2d_array", TEXTURE;
    DEPTH_CUBE_TYPE = 0x8200e, "DepthCubeType", Type, "depthcube", TEXTURE;
    DEPTH_CUBE_ARRAY_TYPE = 0x8200f, "DepthCubeArrayType", Type, "depthcube_array", TEXTURE;
    DEPTH_2D_MS_TYPE = 0x82010, "Depth2dMsType", Type, "depth2d_ms", TEXTURE;
    DEPTH_2D_MS_ARRAY_TYPE = 0x82011, "Depth2dMsArrayType", Type, "depth2d_ms_array", TEXTURE;
    SAMPLER_TYPE = 0x82012, "SamplerType", Type, "sampler", PLAIN;
    PATCH_CONTROL_POINT_TYPE = 0x82013, "PatchControlPointType", Type, "patch_control_point",
        typed!("control_point_type": NodeId);
    IMAGEBLOCK_TYPE = 0x82014, "ImageblockType", Type, "imageblock",
        typed!("layout": IMAGEBLOCK_LAYOUT, "data_type": NodeId);
    R8UNORM_TYPE = 0x82015, "R8UNormType", Type, "r8unorm", PIXEL;
    R8SNORM_TYPE = 0x82016, "R8SNormType", Type, "r8snorm", PIXEL;
    R16UNORM_TYPE = 0x82017, "R16UNormType", Type, "r16unorm", PIXEL;
    R16SNORM_TYPE = 0x82018, "R16SNormType", Type, "r16snorm", PIXEL;
    RG8UNORM_TYPE = 0x82019, "RG8UNormType", Type, "rg8unorm", PIXEL;
    RG8SNORM_TYPE = 0x8201a, "RG8SNormType", Type, "rg8snorm", PIXEL;
    RG16UNORM_TYPE = 0x8201b, "RG16UNormType", Type, "rg16unorm", PIXEL;
    RG16SNORM_TYPE = 0x8201c, "RG16SNormType", Type, "rg16snorm", PIXEL;
    RGBA8UNORM_TYPE = 0x8201d, "RGBA8UNormType", Type, "rgba8unorm", PIXEL;
    RGBA8SNORM_TYPE = 0x8201e, "RGBA8SNormType", Type, "rgba8snorm", PIXEL;
    RGBA16UNORM_TYPE = 0x8201f, "RGBA16UNormType", Type, "rgba16unorm", PIXEL;
    RGBA16SNORM_TYPE = 0x82020, "RGBA16SNormType", Type, "rgba16snorm", PIXEL;
    SRGBA8UNORM_TYPE = 0x82021, "SRGBA8UNormType", Type, "srgba8unorm", PIXEL;
    RGB10A2_TYPE = 0x82022, "RGB10A2Type", Type, "rgb10a2", PIXEL;
    RG11B10F_TYPE = 0x82023, "RG11B10FType", Type, "rg11b10f", PIXEL;
    RGB9E5_TYPE = 0x82024, "RGB9E5Type", Type, "rgb9e5", PIXEL;
    COMMAND_BUFFER_TYPE = 0x82025, "CommandBufferType", Type, "command_buffer", PLAIN;
    COMPUTE_PIPELINE_STATE_TYPE = 0x82026, "ComputePipelineStateType", Type, "compute_pipeline_state", PLAIN;
    RENDER_PIPELINE_STATE_TYPE = 0x82027, "RenderPipelineStateType", Type, "render_pipeline_state", PLAIN;
    INTERPOLANT_TYPE = 0x82028, "InterpolantType", Type, "interpolant",
        typed!("perspective": Bool, "value_type": NodeId);
    VISIBLE_FUNCTION_TABLE_TYPE = 0x82029, "VisibleFunctionTableType", Type, "visible_function_table",
        typed!("function_type": NodeId);
    INTERSECTION_FUNCTION_TABLE_TYPE = 0x8202a, "IntersectionFunctionTableType", Type,
        "intersection_function_table", typed!(
            "instancing": Bool, "triangle_data": Bool, "world_space_data": Bool, "primitive_motion": Bool,
            "instance_motion": Bool, "extended_limits": Bool, "curve_data": Bool, "multi_level_instancing": U32
        );
    ACCELERATION_STRUCTURE_TYPE = 0x8202b, "AccelerationStructureType", Type, "acceleration_structure",
        typed!("instancing": Bool, "primitive_motion": Bool, "instance_motion": Bool);
    MESH_TYPE = 0x8202c, "MeshType", Type, "mesh", typed!(
        "vertex_type": NodeId, "primitive_type": NodeId, "max_vertices": U32, "max_primitives": U32,
        "topology": TOPOLOGY
    );
    MESH_GRID_PROPERTIES_TYPE = 0x8202d, "MeshGridPropertiesType", Type, "mesh_grid_properties", PLAIN;
    VERTEX_VALUE_TYPE = 0x8202f, "VertexValueType", Type, "vertex_value", typed!("underlying_type": NodeId);
    DEPTH_STENCIL_STATE_TYPE = 0x82030, "DepthStencilStateType", Type, "depth_stencil_state", PLAIN;
    FUNCTION_HANDLE_TYPE = 0x82031, "FunctionHandleType", Type, "function_handle", PLAIN;
    INTERSECTION_FUNCTION_HANDLE_TYPE = 0x82032, "IntersectionFunctionHandleType", Type,
        "intersection_function_handle", typed!(
            "intersection_function_buffer": Bool, "instancing": Bool, "multi_level_instancing": U32,
            "triangle_data": Bool, "curve_data": Bool, "world_space_data": Bool, "user_data": Bool,
            "primitive_motion": Bool, "instance_motion": Bool, "extended_limits": Bool
        );
    EXTENTS_TYPE = 0x82033, "ExtentsType", Type, "extents", typed!("index_type": NodeId, "extents": Numbers);
    TENSOR_TYPE = 0x82034, "TensorType", Type, "tensor",
        typed!("element_type": NodeId, "extents_type": NodeId, "kind": TENSOR_KIND);
}

nodes! {
    QUALIFIERS:
    ADDRESS_SPACE_TYPE_QUAL = 0x83000, "AddressSpaceTypeQual", TypePart, "",
        &[slot("address_space", ADDRESS_SPACE)];
}

nodes! {
    FIELD_ATTRIBUTES:
    CLIP_DISTANCE_ATTR = 0x84000, "ClipDistanceAttr", TypePart, "clip_distance", &[];
    FUNCTION_CONSTANT_PREDICATE_ATTR = 0x84001, "FunctionConstantPredicateAttr", TypePart, "function_constant",
        &[slot("predicate", BoolValue)];
    LOCATION_INDEX_ATTR = 0x84002, "LocationIndexAttr", TypePart, "id(@)",
        &[slot("index", UIntValue), slot("count", UIntValue)];
    POINT_SIZE_ATTR = 0x84003, "PointSizeAttr", TypePart, "point_size", &[];
    POSITION_ATTR = 0x84004, "PositionAttr", TypePart, "position", &[];
    PRIMITIVE_CULLED_ATTR = 0x84005, "PrimitiveCulledAttr", TypePart, "primitive_culled", &[];
    PRIMITIVE_ID_ATTR = 0x84006, "PrimitiveIDAttr", TypePart, "primitive_id", &[];
    RENDER_TARGET_ATTR = 0x84007, "RenderTargetAttr", TypePart, "color(@)", &[slot("index", UIntValue)];
    RENDER_TARGET_ARRAY_INDEX_ATTR = 0x84008, "RenderTargetArrayIndexAttr", TypePart, "render_target_array_index",
        &[];
    VIEWPORT_ARRAY_INDEX_ATTR = 0x84009, "ViewportArrayIndexAttr", TypePart, "viewport_array_index", &[];
    USER_ATTR = 0x8400a, "UserAttr", TypePart, "user", &[slot("name", Text)];
    INVARIANT_ATTR = 0x8400b, "InvariantAttr", TypePart, "invariant", &[];
    SHARED_ATTR = 0x8400c, "SharedAttr", TypePart, "shared", &[];
}

/// A function of an emulated mesh pipeline.
const EMULATED: &[Slot] =
    &[slot("function", Text), slot("emulation_buffer_index", U32), slot("layout", NodeId)];

nodes! {
    MESH_EMULATION:
    MESH_EMULATION_VALUE_GROUP = 0x85000, "MeshEmulationValueGroup", MeshEmulation, "", &[
        slot("value_alignment", U32), slot("value_size", U32), slot("max_value_count", U32),
        slot("member_type", NodeId), slot("member_index", U32),
    ];
    MESH_EMULATION_BLOCK = 0x85001, "MeshEmulationBlock", MeshEmulation, "", &[slot("value_groups", NodeIds)];
    MESH_EMULATION_MESH_LAYOUT = 0x85002, "MeshEmulationMeshLayout", MeshEmulation, "", &[
        slot("max_vertices", U32), slot("max_primitives", U32), slot("max_indices", U32),
        slot("max_indices_padding", U32), slot("vertices_primitives_block", NodeId),
        slot("primitive_culled_block", NodeId),
    ];
    MESH_EMULATION_MESH_KERNEL = 0x85003, "MeshEmulationMeshKernel", MeshEmulation, "", EMULATED;
    MESH_EMULATION_MESH_VERTEX = 0x85004, "MeshEmulationMeshVertex", MeshEmulation, "", EMULATED;
    MESH_EMULATION_OBJECT_KERNEL = 0x85005, "MeshEmulationObjectKernel", MeshEmulation, "",
        &[slot("function", Text), slot("emulation_buffer_index", U32), slot("max_mesh_workgroups", NodeId)];
    MESH_EMULATION_FRAGMENT_ANALYSIS_RESULT = 0x85006, "MeshEmulationFragmentAnalysisResult", MeshEmulation, "",
        &[slot("function", Text), slot("used_inputs", Texts)];
}
