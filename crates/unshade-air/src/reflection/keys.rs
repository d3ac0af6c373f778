//! The keywords of argument and return nodes, and the fields of the reflection that they set.

use unshade_metallib::reflection::schema::{Access, DepthQualifier, Interpolation, RoundingMode, Sampling};

/// What follows a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing: the field is true.
    Flag,
    /// Nothing: the field has this value.
    Is(u8),
    /// A number, or one of an enumeration.
    Number,
    /// A number, and one for this field.
    Pair(&'static str),
    /// A string.
    Text,
    /// The layout of a structure.
    Structure,
    /// Nothing, and nothing is set: another keyword follows.
    Marker,
}

/// A keyword without `air.`, the field that it sets, and what follows it.
pub(super) type Key = (&'static str, &'static str, Form);

/// All keywords. Of those with one name, that counts whose field the node has.
#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    ("buffer_size", "buffer_size", Form::Number),
    ("location_index", "location_index", Form::Pair("location_count")),
    ("read", "access_qualifier", Form::Is(Access::READ.0)),
    ("write", "access_qualifier", Form::Is(Access::WRITE.0)),
    ("read_write", "access_qualifier", Form::Is(Access::READ_WRITE.0)),
    ("sample", "access_qualifier", Form::Is(Access::SAMPLE.0)),
    ("address_space", "address_space", Form::Number),
    ("raster_order_group", "raster_order_group", Form::Number),
    ("struct_type_info", "struct_type_info", Form::Structure),
    ("arg_type_size", "type_size", Form::Number),
    ("arg_type_align_size", "type_align", Form::Number),
    ("arg_type_name", "type_name", Form::Text),
    ("arg_name", "name", Form::Text),
    ("arg_unused", "unused", Form::Flag),
    ("center", "sampling_qualifier", Form::Is(Sampling::CENTER.0)),
    ("centroid", "sampling_qualifier", Form::Is(Sampling::CENTROID.0)),
    ("sample", "sampling_qualifier", Form::Is(Sampling::SAMPLE.0)),
    ("perspective", "interpolation_qualifier", Form::Is(Interpolation::PERSPECTIVE.0)),
    ("flat", "interpolation_qualifier", Form::Is(Interpolation::FLAT.0)),
    ("no_perspective", "interpolation_qualifier", Form::Is(Interpolation::NO_PERSPECTIVE.0)),
    ("depth_qualifier", "depth_qualifier", Form::Marker),
    ("any", "depth_qualifier", Form::Is(DepthQualifier::ANY.0)),
    ("greater", "depth_qualifier", Form::Is(DepthQualifier::GREATER.0)),
    ("less", "depth_qualifier", Form::Is(DepthQualifier::LESS.0)),
    ("rtne", "rounding_mode", Form::Is(RoundingMode::TO_NEAREST_EVEN.0)),
    ("rtz", "rounding_mode", Form::Is(RoundingMode::TO_ZERO.0)),
    ("invariant", "invariant", Form::Flag),
    ("shared", "shared", Form::Flag),
    ("post_depth_coverage", "post_depth_coverage", Form::Flag),
    ("clip_distance_array_size", "array_size", Form::Number),
    ("imageblock_data_size", "data_size", Form::Number),
    ("alias_all_render_targets", "alias_all_render_targets", Form::Flag),
    ("alias_render_target", "alias_render_target_index", Form::Number),
];
