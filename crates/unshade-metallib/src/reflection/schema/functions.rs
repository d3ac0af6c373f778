//! Functions, their attributes and their return values.

use super::{
    ACCESS, ADDRESS_SPACE, Category, DEPTH_QUALIFIER, FieldKind, NodeSchema, NodeType, PATCH_KIND,
    PRIMITIVE_KIND, ROUNDING_MODE, Slot, TableSchema, nodes, slot,
};
use FieldKind::{Bool, NodeId, NodeIds, Table, Text, U32, UIntValue};

/// The types of a stitchable function.
const STITCHING_INFO: TableSchema =
    TableSchema { name: "StitchingInfo", slots: &[slot("return_type", NodeId), slot("arguments", NodeIds)] };

nodes! {
    FUNCTIONS:
    FRAGMENT_FUNCTION = 1, "FragmentFunction", Function, "fragment", &[
        slot("name", Text), slot("return_types", NodeIds), slot("arguments", NodeIds),
        slot("early_fragment_tests", Bool), slot("user_annotation", NodeId),
    ];
    KERNEL_FUNCTION = 2, "KernelFunction", Function, "kernel", &[
        slot("name", Text), slot("return_types", NodeIds), slot("arguments", NodeIds),
        slot("vec_type_hint", NodeId), slot("workgroup_size", NodeId), slot("workgroup_size_hint", NodeId),
        slot("workgroup_max_size", NodeId), slot("user_annotation", NodeId),
    ];
    VERTEX_FUNCTION = 3, "VertexFunction", Function, "vertex", &[
        slot("name", Text), slot("return_types", NodeIds), slot("arguments", NodeIds), slot("patch", NodeId),
        slot("user_annotation", NodeId),
    ];
    VISIBLE_FUNCTION = 4, "VisibleFunction", Function, "visible", &[
        slot("name", Text), slot("stitching_info", Table(&STITCHING_INFO)), slot("user_annotation", NodeId),
    ];
    INTERSECTION_FUNCTION = 5, "IntersectionFunction", Function, "intersection", &[
        slot("name", Text), slot("return_types", NodeIds), slot("arguments", NodeIds),
        slot("primitive_kind", PRIMITIVE_KIND), slot("instancing", Bool), slot("triangle_data", Bool),
        slot("world_space_data", Bool), slot("primitive_motion", Bool), slot("instance_motion", Bool),
        slot("extended_limits", Bool), slot("curve_data", Bool), slot("multi_level_instancing", U32),
        slot("intersection_function_buffer", Bool), slot("user_data", Bool), slot("user_annotation", NodeId),
    ];
    MESH_FUNCTION = 6, "MeshFunction", Function, "mesh", &[
        slot("name", Text), slot("return_types", NodeIds), slot("arguments", NodeIds),
        slot("workgroup_max_size", NodeId), slot("user_annotation", NodeId), slot("workgroup_size", NodeId),
    ];
    OBJECT_FUNCTION = 7, "ObjectFunction", Function, "object", &[
        slot("name", Text), slot("return_types", NodeIds), slot("arguments", NodeIds),
        slot("workgroup_max_size", NodeId), slot("max_mesh_workgroups", NodeId),
        slot("user_annotation", NodeId), slot("workgroup_size", NodeId),
    ];
    CI_FUNCTION = 8, "CIFunction", Function, "extern", &[
        slot("name", Text), slot("return_types", NodeIds), slot("arguments", NodeIds),
        slot("user_annotation", NodeId),
    ];
}

/// Three extents of a threadgroup.
const EXTENTS: &[Slot] = &[slot("width", UIntValue), slot("height", UIntValue), slot("depth", UIntValue)];

nodes! {
    FUNCTION_ATTRIBUTES:
    VEC_TYPE_HINT_FN_ATTR = 0x1000, "VecTypeHintFnAttr", FunctionAttribute, "", &[slot("type_name", Text)];
    WORKGROUP_SIZE_FN_ATTR = 0x1001, "WorkgroupSizeFnAttr", FunctionAttribute,
        "required_threads_per_threadgroup", EXTENTS;
    WORKGROUP_SIZE_HINT_FN_ATTR = 0x1002, "WorkgroupSizeHintFnAttr", FunctionAttribute, "", EXTENTS;
    WORKGROUP_MAX_SIZE_FN_ATTR = 0x1003, "WorkgroupMaxSizeFnAttr", FunctionAttribute,
        "max_total_threads_per_threadgroup(@)", &[slot("size", UIntValue)];
    PATCH_FN_ATTR = 0x1004, "PatchFnAttr", FunctionAttribute, "patch",
        &[slot("kind", PATCH_KIND), slot("control_points", UIntValue)];
    MAX_MESH_WORKGROUPS_FN_ATTR = 0x1005, "MaxMeshWorkgroupsFnAttr", FunctionAttribute,
        "max_total_threadgroups_per_mesh_grid(@)", &[slot("workgroups", UIntValue)];
    USER_ANNOTATION_FN_ATTR = 0x1006, "UserAnnotationFnAttr", FunctionAttribute, "user_annotation",
        &[slot("annotation", Text)];
}

/// A return value with only a type and a name.
const SIMPLE: &[Slot] = &[slot("function_constant", Bool), slot("type_name", Text), slot("name", Text)];

/// [`SIMPLE`] with a flag: whether all views of a vertex amplification share the value.
const SHARED: &[Slot] =
    &[slot("function_constant", Bool), slot("shared", Bool), slot("type_name", Text), slot("name", Text)];

nodes! {
    VERTEX_RETURNS:
    CLIP_DISTANCE_RET = 0x20000, "ClipDistanceRet", Return, "clip_distance", &[
        slot("function_constant", Bool), slot("array_size", UIntValue), slot("shared", Bool),
        slot("type_name", Text), slot("name", Text),
    ];
    POINT_SIZE_RET = 0x20001, "PointSizeRet", Return, "point_size", SHARED;
    POSITION_RET = 0x20002, "PositionRet", Return, "position", &[
        slot("function_constant", Bool), slot("invariant", Bool), slot("shared", Bool),
        slot("type_name", Text), slot("name", Text),
    ];
    RENDER_TARGET_ARRAY_INDEX_RET = 0x20003, "RenderTargetArrayIndexRet", Return, "render_target_array_index",
        SHARED;
    VERTEX_OUTPUT_RET = 0x20004, "VertexOutputRet", Return, "", &[
        slot("function_constant", Bool), slot("attribute_name", Text), slot("location", UIntValue),
        slot("shared", Bool), slot("type_name", Text), slot("name", Text),
    ];
    VIEWPORT_ARRAY_INDEX_RET = 0x20005, "ViewportArrayIndexRet", Return, "viewport_array_index", SHARED;
}

nodes! {
    FRAGMENT_RETURNS:
    RENDER_TARGET_RET = 0x21000, "RenderTargetRet", Return, "color(@)", &[
        slot("function_constant", Bool), slot("render_target_index", UIntValue),
        slot("blend_source_index", UIntValue), slot("raster_order_group", UIntValue),
        slot("rounding_mode", ROUNDING_MODE), slot("type_name", Text), slot("name", Text),
    ];
    DEPTH_RET = 0x21001, "DepthRet", Return, "depth", &[
        slot("function_constant", Bool), slot("depth_qualifier", DEPTH_QUALIFIER), slot("type_name", Text),
        slot("name", Text),
    ];
    STENCIL_RET = 0x21002, "StencilRet", Return, "stencil", SIMPLE;
    SAMPLE_MASK_RET = 0x21003, "SampleMaskRet", Return, "sample_mask", SIMPLE;
    IMAGEBLOCK_DATA_RET = 0x21004, "ImageblockDataRet", Return, "imageblock_data", &[
        slot("function_constant", Bool), slot("data_size", UIntValue), slot("struct_type_info", NodeId),
        slot("master", NodeId), slot("alias_all_render_targets", Bool),
        slot("alias_render_target_index", UIntValue), slot("type_align", UIntValue), slot("type_name", Text),
        slot("name", Text),
    ];
}

nodes! {
    INTERSECTION_RETURNS:
    ACCEPT_INTERSECTION_RET = 0x22000, "AcceptIntersectionRet", Return, "accept_intersection", SIMPLE;
    CONTINUE_SEARCH_RET = 0x22001, "ContinueSearchRet", Return, "continue_search", SIMPLE;
    DISTANCE_RET = 0x22002, "DistanceRet", Return, "distance", SIMPLE;
}

/// A member of a mesh's vertex or primitive.
const MESH_DATA: &[Slot] = &[
    slot("function_constant", Bool),
    slot("id", U32),
    slot("attribute_name", Text),
    slot("shared", Bool),
    slot("type_name", Text),
    slot("name", Text),
];

nodes! {
    MESH_RETURNS:
    MESH_PRIMITIVE_DATA_RET = 0x23000, "MeshPrimitiveDataRet", Return, "", MESH_DATA;
    MESH_VERTEX_DATA_RET = 0x23001, "MeshVertexDataRet", Return, "", MESH_DATA;
    PRIMITIVE_CULLED_RET = 0x23002, "PrimitiveCulledRet", Return, "primitive_culled", SHARED;
    PRIMITIVE_ID_RET = 0x23003, "PrimitiveIDRet", Return, "primitive_id", SHARED;
}

/// A Core Image value with a type and a name.
const CORE_IMAGE: &[Slot] = &[slot("type_name", Text), slot("name", Text)];

nodes! {
    CORE_IMAGE_RETURNS:
    CI_POINTER_RET = 0x24000, "CIPointerRet", Return, "", &[
        slot("access_qualifier", ACCESS),
        Slot { name: "address_space", kind: ADDRESS_SPACE, default: 1 },
        slot("inline_type_info", NodeId), slot("struct_type_info", NodeId), slot("type_size", UIntValue),
        slot("type_align", UIntValue), slot("type_name", Text),
    ];
    CI_STRUCT_RET = 0x24001, "CIStructRet", Return, "",
        &[slot("struct_type_info", NodeId), slot("type_name", Text)];
    CI_TEXTURE_RET = 0x24002, "CITextureRet", Return, "",
        &[slot("location_count", UIntValue), slot("access_qualifier", ACCESS), slot("type_name", Text)];
    CI_BUILTIN_RET = 0x24003, "CIBuiltinRet", Return, "", CORE_IMAGE;
    CI_MATRIX_RET = 0x24004, "CIMatrixRet", Return, "", CORE_IMAGE;
    CI_SAMPLER_RET = 0x24005, "CISamplerRet", Return, "", CORE_IMAGE;
    CI_IMAGEBLOCK_RET = 0x24006, "CIImageblockRet", Return, "", CORE_IMAGE;
}
