//! Arguments of functions.

use super::{
    ACCESS, ADDRESS_SPACE, Category, FieldKind, INTERPOLATION, NodeSchema, NodeType, SAMPLING, Slot,
    TableSchema, nodes, slot,
};
use FieldKind::{Bool, NodeId, NodeIds, Text, UIntValue};

/// A buffer of plain data, or an argument buffer.
const BUFFER: &[Slot] = &[
    slot("function_constant", Bool),
    slot("buffer_size", UIntValue),
    slot("location_index", UIntValue),
    slot("location_count", UIntValue),
    slot("access_qualifier", ACCESS),
    Slot { name: "address_space", kind: ADDRESS_SPACE, default: 1 },
    slot("struct_type_info", NodeId),
    slot("raster_order_group", UIntValue),
    slot("type_size", UIntValue),
    slot("type_align", UIntValue),
    slot("type_name", Text),
    slot("name", Text),
    slot("unused", Bool),
    slot("inline_type_info", NodeId),
];

/// A resource that is bound at an index, without an access qualifier.
const LOCATED: &[Slot] = &[
    slot("function_constant", Bool),
    slot("location_index", UIntValue),
    slot("location_count", UIntValue),
    slot("type_name", Text),
    slot("name", Text),
    slot("unused", Bool),
];

/// A resource that is bound at an index, with an access qualifier.
const ACCESSED: &[Slot] = &[
    slot("function_constant", Bool),
    slot("location_index", UIntValue),
    slot("location_count", UIntValue),
    slot("access_qualifier", ACCESS),
    slot("raster_order_group", UIntValue),
    slot("type_name", Text),
    slot("name", Text),
    slot("unused", Bool),
];

/// An argument that the hardware provides.
pub(in crate::reflection) const BUILTIN: &[Slot] =
    &[slot("function_constant", Bool), slot("type_name", Text), slot("name", Text), slot("unused", Bool)];

nodes! {
    RESOURCES:
    BUFFER_ARG = 0x40000, "BufferArg", Resource, "buffer(@)", BUFFER;
    SAMPLER_ARG = 0x40001, "SamplerArg", Resource, "sampler(@)", LOCATED;
    TEXTURE_ARG = 0x40002, "TextureArg", Resource, "texture(@)", ACCESSED;
    CONSTANT_ARG = 0x40003, "ConstantArg", Resource, "id(@)", &[
        slot("function_constant", Bool), slot("location_index", UIntValue),
        slot("location_count", UIntValue), slot("struct_type_info", NodeId), slot("type_size", UIntValue),
        slot("type_align", UIntValue), slot("type_name", Text), slot("name", Text), slot("unused", Bool),
    ];
    INDIRECT_BUFFER_ARG = 0x40004, "IndirectBufferArg", Resource, "buffer(@)", BUFFER;
    INDIRECT_CONSTANT_ARG = 0x40005, "IndirectConstantArg", Resource, "id(@)", LOCATED;
    COMMAND_BUFFER_ARG = 0x40006, "CommandBufferArg", Resource, "id(@)", LOCATED;
    COMPUTE_PIPELINE_STATE_ARG = 0x40007, "ComputePipelineStateArg", Resource, "id(@)", LOCATED;
    RENDER_PIPELINE_STATE_ARG = 0x40008, "RenderPipelineStateArg", Resource, "id(@)", LOCATED;
    VISIBLE_FUNCTION_TABLE_ARG = 0x40009, "VisibleFunctionTableArg", Resource, "buffer(@)", ACCESSED;
    INTERSECTION_FUNCTION_TABLE_ARG = 0x4000a, "IntersectionFunctionTableArg", Resource, "buffer(@)", ACCESSED;
    INSTANCE_ACCELERATION_STRUCTURE_ARG = 0x4000b, "InstanceAccelerationStructureArg", Resource, "buffer(@)",
        ACCESSED;
    PRIMITIVE_ACCELERATION_STRUCTURE_ARG = 0x4000c, "PrimitiveAccelerationStructureArg", Resource, "buffer(@)",
        ACCESSED;
    BUFFER_STRIDE_ARG = 0x4000d, "BufferStrideArg", Resource, "buffer_stride(@)", LOCATED;
    DEPTH_STENCIL_STATE_ARG = 0x4000e, "DepthStencilStateArg", Resource, "id(@)", LOCATED;
    FUNCTION_HANDLE_ARG = 0x4000f, "FunctionHandleArg", Resource, "id(@)", LOCATED;
    TENSOR_ARG = 0x40010, "TensorArg", Resource, "buffer(@)", ACCESSED;
}

nodes! {
    KERNEL:
    THREAD_POSITION_IN_GRID_ARG = 0x41000, "ThreadPositionInGridArg", Builtin, "thread_position_in_grid", BUILTIN;
    THREADS_PER_GRID_ARG = 0x41001, "ThreadsPerGridArg", Builtin, "threads_per_grid", BUILTIN;
    THREADGROUP_POSITION_IN_GRID_ARG = 0x41002, "ThreadgroupPositionInGridArg", Builtin,
        "threadgroup_position_in_grid", BUILTIN;
    THREADGROUPS_PER_GRID_ARG = 0x41003, "ThreadgroupsPerGridArg", Builtin, "threadgroups_per_grid", BUILTIN;
    THREAD_POSITION_IN_THREADGROUP_ARG = 0x41004, "ThreadPositionInThreadgroupArg", Builtin,
        "thread_position_in_threadgroup", BUILTIN;
    THREADS_PER_THREADGROUP_ARG = 0x41005, "ThreadsPerThreadgroupArg", Builtin, "threads_per_threadgroup", BUILTIN;
    DISPATCH_THREADS_PER_THREADGROUP_ARG = 0x41006, "DispatchThreadsPerThreadgroupArg", Builtin,
        "dispatch_threads_per_threadgroup", BUILTIN;
    THREAD_INDEX_IN_THREADGROUP_ARG = 0x41007, "ThreadIndexInThreadgroupArg", Builtin,
        "thread_index_in_threadgroup", BUILTIN;
    THREAD_EXECUTION_WIDTH_ARG = 0x41008, "ThreadExecutionWidthArg", Builtin, "thread_execution_width", BUILTIN;
    STAGE_IN_ARG = 0x41009, "StageInArg", StageInput, "attribute(@)", LOCATED;
    STAGE_IN_GRID_ORIGIN_ARG = 0x4100a, "StageInGridOriginArg", Builtin, "grid_origin", BUILTIN;
    STAGE_IN_GRID_SIZE_ARG = 0x4100b, "StageInGridSizeArg", Builtin, "grid_size", BUILTIN;
    THREAD_INDEX_IN_SIMDGROUP_ARG = 0x4100c, "ThreadIndexInSimdgroupArg", Builtin, "thread_index_in_simdgroup",
        BUILTIN;
    THREADS_PER_SIMDGROUP_ARG = 0x4100d, "ThreadsPerSimdgroupArg", Builtin, "threads_per_simdgroup", BUILTIN;
    SIMDGROUP_INDEX_IN_THREADGROUP_ARG = 0x4100e, "SimdgroupIndexInThreadgroupArg", Builtin,
        "simdgroup_index_in_threadgroup", BUILTIN;
    SIMDGROUPS_PER_THREADGROUP_ARG = 0x4100f, "SimdgroupsPerThreadgroupArg", Builtin,
        "simdgroups_per_threadgroup", BUILTIN;
    DISPATCH_SIMDGROUPS_PER_THREADGROUP_ARG = 0x41010, "DispatchSimdgroupsPerThreadgroupArg", Builtin,
        "dispatch_simdgroups_per_threadgroup", BUILTIN;
    THREAD_INDEX_IN_QUADGROUP_ARG = 0x41011, "ThreadIndexInQuadgroupArg", Builtin, "thread_index_in_quadgroup",
        BUILTIN;
    QUADGROUP_INDEX_IN_THREADGROUP_ARG = 0x41012, "QuadgroupIndexInThreadgroupArg", Builtin,
        "quadgroup_index_in_threadgroup", BUILTIN;
    QUADGROUPS_PER_THREADGROUP_ARG = 0x41013, "QuadgroupsPerThreadgroupArg", Builtin,
        "quadgroups_per_threadgroup", BUILTIN;
    DISPATCH_QUADGROUPS_PER_THREADGROUP_ARG = 0x41014, "DispatchQuadgroupsPerThreadgroupArg", Builtin,
        "dispatch_quadgroups_per_threadgroup", BUILTIN;
}

nodes! {
    VERTEX:
    BASE_INSTANCE_ARG = 0x42000, "BaseInstanceArg", Builtin, "base_instance", BUILTIN;
    BASE_VERTEX_ARG = 0x42001, "BaseVertexArg", Builtin, "base_vertex", BUILTIN;
    INSTANCE_ID_ARG = 0x42002, "InstanceIDArg", Builtin, "instance_id", BUILTIN;
    VERTEX_ID_ARG = 0x42003, "VertexIDArg", Builtin, "vertex_id", BUILTIN;
    VERTEX_INPUT_ARG = 0x42004, "VertexInputArg", StageInput, "attribute(@)", LOCATED;
    CONTROL_POINT_INDEX_BUFFER_ARG = 0x42005, "ControlPointIndexBufferArg", Builtin, "control_point_index_buffer",
        BUILTIN;
    PATCH_ID_ARG = 0x42006, "PatchIDArg", Builtin, "patch_id", BUILTIN;
    POSITION_IN_PATCH_ARG = 0x42007, "PositionInPatchArg", Builtin, "position_in_patch", BUILTIN;
    PATCH_INPUT_ARG = 0x42008, "PatchInputArg", StageInput, "attribute(@)", LOCATED;
    CONTROL_POINT_INPUT_ARG = 0x42009, "ControlPointInputArg", StageInput, "",
        &[slot("function_constant", Bool), slot("fields", NodeIds), slot("unused", Bool)];
    CONTROL_POINT_FIELD = 0x4200a, "ControlPointField", StageInput, "attribute(@)", LOCATED;
    AMPLIFICATION_COUNT_ARG = 0x4200e, "AmplificationCountArg", Builtin, "amplification_count", BUILTIN;
    AMPLIFICATION_ID_ARG = 0x4200f, "AmplificationIDArg", Builtin, "amplification_id", BUILTIN;
}

nodes! {
    FRAGMENT:
    FRAGMENT_INPUT_ARG = 0x43000, "FragmentInputArg", StageInput, "", &[
        slot("function_constant", Bool), slot("attribute_name", Text), slot("location", UIntValue),
        slot("sampling_qualifier", SAMPLING), slot("interpolation_qualifier", INTERPOLATION),
        slot("type_name", Text), slot("name", Text), slot("unused", Bool),
    ];
    FRONT_FACING_ARG = 0x43001, "FrontFacingArg", Builtin, "front_facing", BUILTIN;
    POSITION_ARG = 0x43002, "PositionArg", Builtin, "position", &[
        slot("function_constant", Bool),
        Slot { name: "sampling_qualifier", kind: SAMPLING, default: 1 },
        Slot { name: "interpolation_qualifier", kind: INTERPOLATION, default: 3 },
        slot("type_name", Text), slot("name", Text), slot("unused", Bool),
    ];
    POINT_COORD_ARG = 0x43003, "PointCoordArg", Builtin, "point_coord", BUILTIN;
    RENDER_TARGET_ARG = 0x43004, "RenderTargetArg", Builtin, "color(@)", &[
        slot("function_constant", Bool), slot("render_target_index", UIntValue),
        slot("raster_order_group", UIntValue), slot("type_name", Text), slot("name", Text),
        slot("unused", Bool),
    ];
    RENDER_TARGET_ARRAY_INDEX_ARG = 0x43005, "RenderTargetArrayIndexArg", Builtin, "render_target_array_index",
        BUILTIN;
    SAMPLE_ID_ARG = 0x43006, "SampleIDArg", Builtin, "sample_id", BUILTIN;
    SAMPLE_MASK_ARG = 0x43007, "SampleMaskArg", Builtin, "sample_mask", &[
        slot("function_constant", Bool), slot("post_depth_coverage", Bool), slot("type_name", Text),
        slot("name", Text), slot("unused", Bool),
    ];
    VIEWPORT_ARRAY_INDEX_ARG = 0x43008, "ViewportArrayIndexArg", Builtin, "viewport_array_index", BUILTIN;
    BARYCENTRIC_COORD_ARG = 0x4300d, "BarycentricCoordArg", Builtin, "barycentric_coord", &[
        slot("function_constant", Bool), slot("sampling_qualifier", SAMPLING),
        slot("interpolation_qualifier", INTERPOLATION), slot("type_name", Text), slot("name", Text),
        slot("unused", Bool),
    ];
    PRIMITIVE_ID_ARG = 0x4300e, "PrimitiveIDArg", Builtin, "primitive_id", BUILTIN;
}

nodes! {
    TILE:
    PIXEL_POSITION_IN_TILE_ARG = 0x44000, "PixelPositionInTileArg", Builtin, "pixel_position_in_tile", BUILTIN;
    PIXELS_PER_TILE_ARG = 0x44001, "PixelsPerTileArg", Builtin, "pixels_per_tile", BUILTIN;
    TILE_INDEX_ARG = 0x44002, "TileIndexArg", Builtin, "tile_index", BUILTIN;
    IMAGEBLOCK_ARG = 0x44003, "ImageblockArg", Builtin, "", &[
        slot("function_constant", Bool), slot("data_size", UIntValue), slot("struct_type_info", NodeId),
        slot("alias_all_render_targets", Bool), slot("alias_render_target_index", UIntValue),
        slot("type_align", UIntValue), slot("type_name", Text), slot("name", Text), slot("unused", Bool),
    ];
    IMAGEBLOCK_DATA_ARG = 0x44004, "ImageblockDataArg", Builtin, "imageblock_data", &[
        slot("function_constant", Bool), slot("data_size", UIntValue), slot("struct_type_info", NodeId),
        slot("master", NodeId), slot("alias_all_render_targets", Bool),
        slot("alias_render_target_index", UIntValue), slot("type_align", UIntValue), slot("type_name", Text),
        slot("name", Text), slot("unused", Bool),
    ];
}

nodes! {
    INTERSECTION:
    PAYLOAD_ARG = 0x45000, "PayloadArg", Builtin, "payload", &[
        slot("function_constant", Bool), slot("struct_type_info", NodeId), slot("type_size", UIntValue),
        slot("type_align", UIntValue), slot("type_name", Text), slot("name", Text), slot("unused", Bool),
        slot("inline_type_info", NodeId),
    ];
    ORIGIN_ARG = 0x45001, "OriginArg", Builtin, "origin", BUILTIN;
    DIRECTION_ARG = 0x45002, "DirectionArg", Builtin, "direction", BUILTIN;
    MIN_DISTANCE_ARG = 0x45003, "MinDistanceArg", Builtin, "min_distance", BUILTIN;
    MAX_DISTANCE_ARG = 0x45004, "MaxDistanceArg", Builtin, "max_distance", BUILTIN;
    DISTANCE_ARG = 0x45005, "DistanceArg", Builtin, "distance", BUILTIN;
    WORLD_SPACE_ORIGIN_ARG = 0x45006, "WorldSpaceOriginArg", Builtin, "world_space_origin", BUILTIN;
    WORLD_SPACE_DIRECTION_ARG = 0x45007, "WorldSpaceDirectionArg", Builtin, "world_space_direction", BUILTIN;
    GEOMETRY_ID_ARG = 0x45008, "GeometryIDArg", Builtin, "geometry_id", BUILTIN;
    USER_INSTANCE_ID_ARG = 0x45009, "UserInstanceIDArg", Builtin, "user_instance_id", BUILTIN;
    GEOMETRY_INTERSECTION_FUNCTION_TABLE_OFFSET_ARG = 0x4500a, "GeometryIntersectionFunctionTableOffsetArg",
        Builtin, "geometry_intersection_function_table_offset", BUILTIN;
    INSTANCE_INTERSECTION_FUNCTION_TABLE_OFFSET_ARG = 0x4500b, "InstanceIntersectionFunctionTableOffsetArg",
        Builtin, "instance_intersection_function_table_offset", BUILTIN;
    OPAQUE_PRIMITIVE_ARG = 0x4500c, "OpaquePrimitiveArg", Builtin, "opaque", BUILTIN;
    OBJECT_TO_WORLD_TRANSFORM_ARG = 0x4500d, "ObjectToWorldTransformArg", Builtin, "object_to_world_transform",
        BUILTIN;
    WORLD_TO_OBJECT_TRANSFORM_ARG = 0x4500e, "WorldToObjectTransformArg", Builtin, "world_to_object_transform",
        BUILTIN;
    TIME_ARG = 0x4500f, "TimeArg", Builtin, "time", BUILTIN;
    KEY_FRAME_COUNT_ARG = 0x45010, "KeyFrameCountArg", Builtin, "key_frame_count", BUILTIN;
    MOTION_START_TIME_ARG = 0x45011, "MotionStartTimeArg", Builtin, "motion_start_time", BUILTIN;
    MOTION_END_TIME_ARG = 0x45012, "MotionEndTimeArg", Builtin, "motion_end_time", BUILTIN;
    PRIMITIVE_DATA_ARG = 0x45013, "PrimitiveDataArg", Builtin, "primitive_data", BUILTIN;
    INSTANCE_ID_COUNT_ARG = 0x45014, "InstanceIDCountArg", Builtin, "instance_id_count", BUILTIN;
    USER_INSTANCE_ID_COUNT_ARG = 0x45015, "UserInstanceIDCountArg", Builtin, "user_instance_id_count", BUILTIN;
    CURVE_PARAMETER_ARG = 0x45016, "CurveParameterArg", Builtin, "curve_parameter", BUILTIN;
    FUNCTION_ID_ARG = 0x45017, "FunctionIDArg", Builtin, "function_id", BUILTIN;
    USER_DATA_BUFFER_ARG = 0x45018, "UserDataBufferArg", Builtin, "user_data_buffer", &[
        slot("function_constant", Bool), slot("access_qualifier", ACCESS), slot("inline_type_info", NodeId),
        slot("struct_type_info", NodeId), slot("type_size", UIntValue), slot("type_align", UIntValue),
        slot("type_name", Text), slot("name", Text), slot("unused", Bool),
    ];
}

nodes! {
    MESH:
    MESH_ARG = 0x46000, "MeshArg", Builtin, "", &[
        slot("function_constant", Bool), slot("mesh_type_info", NodeId), slot("type_name", Text),
        slot("name", Text), slot("unused", Bool),
    ];
}

nodes! {
    MESH_GRID:
    MESH_GRID_PROPERTIES_ARG = 0x47000, "MeshGridPropertiesArg", Builtin, "", BUILTIN;
}

/// A Core Image value with a type and a name.
const NAMED: &[Slot] = &[slot("type_name", Text), slot("name", Text)];

nodes! {
    CORE_IMAGE:
    CI_ARRAY_ARG = 0x48000, "CIArrayArg", CoreImageArgument, "", &[
        slot("inline_type_info", NodeId), slot("struct_type_info", NodeId), slot("type_size", UIntValue),
        slot("type_align", UIntValue), slot("type_name", Text), slot("name", Text),
    ];
    CI_PADDING_ARG = 0x48001, "CIPaddingArg", CoreImageArgument, "", &[];
    CI_POINTER_ARG = 0x48002, "CIPointerArg", CoreImageArgument, "", &[
        slot("access_qualifier", ACCESS),
        Slot { name: "address_space", kind: ADDRESS_SPACE, default: 1 },
        slot("inline_type_info", NodeId), slot("struct_type_info", NodeId), slot("type_size", UIntValue),
        slot("type_align", UIntValue), slot("type_name", Text), slot("name", Text),
    ];
    CI_STRUCT_ARG = 0x48003, "CIStructArg", CoreImageArgument, "",
        &[slot("struct_type_info", NodeId), slot("type_name", Text), slot("name", Text)];
    CI_TEXTURE_ARG = 0x48004, "CITextureArg", CoreImageArgument, "", &[
        slot("location_count", UIntValue), slot("access_qualifier", ACCESS), slot("type_name", Text),
        slot("name", Text),
    ];
    CI_BUILTIN_ARG = 0x48005, "CIBuiltinArg", CoreImageArgument, "", NAMED;
    CI_MATRIX_ARG = 0x48006, "CIMatrixArg", CoreImageArgument, "", NAMED;
    CI_SAMPLER_ARG = 0x48007, "CISamplerArg", CoreImageArgument, "", NAMED;
    CI_IMAGEBLOCK_ARG = 0x48008, "CIImageblockArg", CoreImageArgument, "", NAMED;
}
