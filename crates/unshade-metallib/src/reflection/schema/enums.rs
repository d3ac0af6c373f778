//! The enumerations of the schema, one byte each.

use unshade_core::open_enum;

open_enum! {
    /// The access to a resource.
    pub struct Access(u8) {
        INVALID = 0 => "invalid",
        READ = 1 => "read",
        WRITE = 2 => "write",
        READ_WRITE = 3 => "read_write",
        SAMPLE = 4 => "sample",
    }
}

open_enum! {
    /// The address space of memory, as spelled in Metal source (AIR's address space numbers).
    pub struct AddressSpace(u8) {
        THREAD = 0 => "thread",
        DEVICE = 1 => "device",
        CONSTANT = 2 => "constant",
        THREADGROUP = 3 => "threadgroup",
        THREADGROUP_IMAGEBLOCK = 4 => "threadgroup_imageblock",
        RAY_DATA = 5 => "ray_data",
        OBJECT_DATA = 6 => "object_data",
        MESH_DATA = 7 => "mesh_data",
        GENERIC = 8 => "generic",
        INTERSECTION_RESULT = 9 => "intersection_result",
        INVALID = 255 => "invalid",
    }
}

open_enum! {
    /// Where in a pixel a fragment input is sampled.
    pub struct Sampling(u8) {
        NONE = 0 => "none",
        CENTER = 1 => "center",
        CENTROID = 2 => "centroid",
        SAMPLE = 3 => "sample",
        /// The shader calls a member function of `interpolant<…>`.
        INTERPOLATION_FUNCTION = 4 => "interpolation_function",
    }
}

open_enum! {
    /// The interpolation of a fragment input between vertices.
    pub struct Interpolation(u8) {
        NONE = 0 => "none",
        PERSPECTIVE = 1 => "perspective",
        FLAT = 2 => "flat",
        NO_PERSPECTIVE = 3 => "no_perspective",
        /// The shader reads the values of the vertices (`vertex_value<…>`).
        VERTEX_VALUE = 4 => "vertex_value",
    }
}

open_enum! {
    /// The relation of a depth written by a fragment function to the interpolated depth.
    pub struct DepthQualifier(u8) {
        INVALID = 0 => "invalid",
        ANY = 1 => "any",
        GREATER = 2 => "greater",
        LESS = 3 => "less",
    }
}

open_enum! {
    /// The patch type of a post-tessellation vertex function.
    pub struct PatchKind(u8) {
        TRIANGLE = 0 => "triangle",
        QUAD = 1 => "quad",
    }
}

open_enum! {
    /// The type of primitive that an intersection function tests.
    pub struct PrimitiveKind(u8) {
        TRIANGLE = 0 => "triangle",
        BOUNDING_BOX = 1 => "bounding_box",
        CURVE = 2 => "curve",
    }
}

open_enum! {
    /// The rounding of a colour when it is written.
    pub struct RoundingMode(u8) {
        NATIVE = 0 => "native",
        TO_NEAREST_EVEN = 1 => "rtne",
        TO_ZERO = 2 => "rtz",
    }
}

open_enum! {
    /// The primitives of a mesh.
    pub struct Topology(u8) {
        INVALID = 0 => "invalid",
        POINT = 1 => "point",
        LINE = 2 => "line",
        TRIANGLE = 3 => "triangle",
    }
}

open_enum! {
    /// The layout of an imageblock.
    pub struct ImageblockLayout(u8) {
        INVALID = 0 => "invalid",
        EXPLICIT = 1 => "imageblock_layout_explicit",
        IMPLICIT = 2 => "imageblock_layout_implicit",
    }
}

open_enum! {
    /// The representation of a tensor.
    pub struct TensorKind(u8) {
        HANDLE = 0 => "tensor_handle",
        INLINE = 1 => "tensor_inline",
    }
}
