//! What can be assigned in blocks of states and in passes, by number.
//!
//! Source: Wine's table of properties for the numbers; words and forms were seen in the text of FXC for effects that
//! assign each.

/// How a value is written.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// An object.
    Object,
    Float,
    Floats,
    Unsigned,
    Byte,
    Bool,
    /// A number that has a word.
    Named(&'static [&'static str]),
    /// The filter of a sampler.
    Filter,
}

/// Something that can be assigned.
pub(super) struct State {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// Whether there is one for each render target.
    pub(super) is_array: bool,
}

const fn one(name: &'static str, form: Form) -> State {
    State { name, form, is_array: false }
}

const fn each(name: &'static str, form: Form) -> State {
    State { name, form, is_array: true }
}

const FILL: Form = Form::Named(&["", "", "WIREFRAME", "SOLID"]);
const CULL: Form = Form::Named(&["", "NONE", "FRONT", "BACK"]);
const WRITE: Form = Form::Named(&["ZERO", "ALL"]);
const COMPARISON: Form = Form::Named(&[
    "",
    "NEVER",
    "LESS",
    "EQUAL",
    "LESS_EQUAL",
    "GREATER",
    "NOT_EQUAL",
    "GREATER_EQUAL",
    "ALWAYS",
]);
const STENCIL: Form =
    Form::Named(&["", "KEEP", "ZERO", "REPLACE", "INCR_SAT", "DECR_SAT", "INVERT", "INCR", "DECR"]);
const BLEND: Form = Form::Named(&[
    "",
    "ZERO",
    "ONE",
    "SRC_COLOR",
    "INV_SRC_COLOR",
    "SRC_ALPHA",
    "INV_SRC_ALPHA",
    "DEST_ALPHA",
    "INV_DEST_ALPHA",
    "DEST_COLOR",
    "INV_DEST_COLOR",
    "SRC_ALPHA_SAT",
    "",
    "",
    "BLEND_FACTOR",
    "INV_BLEND_FACTOR",
    "SRC1_COLOR",
    "INV_SRC1_COLOR",
    "SRC1_ALPHA",
    "INV_SRC1_ALPHA",
]);
const BLEND_OPERATION: Form = Form::Named(&["", "ADD", "SUBTRACT", "REV_SUBTRACT", "MIN", "MAX"]);
const ADDRESS: Form = Form::Named(&["", "WRAP", "MIRROR", "CLAMP", "BORDER", "MIRROR_ONCE"]);

/// Words of filters.
pub(super) const FILTERS: [(u32, &str); 18] = [
    (0, "MIN_MAG_MIP_POINT"),
    (0x01, "MIN_MAG_POINT_MIP_LINEAR"),
    (0x04, "MIN_POINT_MAG_LINEAR_MIP_POINT"),
    (0x05, "MIN_POINT_MAG_MIP_LINEAR"),
    (0x10, "MIN_LINEAR_MAG_MIP_POINT"),
    (0x11, "MIN_LINEAR_MAG_POINT_MIP_LINEAR"),
    (0x14, "MIN_MAG_LINEAR_MIP_POINT"),
    (0x15, "MIN_MAG_MIP_LINEAR"),
    (0x55, "ANISOTROPIC"),
    (0x80, "COMPARISON_MIN_MAG_MIP_POINT"),
    (0x81, "COMPARISON_MIN_MAG_POINT_MIP_LINEAR"),
    (0x84, "COMPARISON_MIN_POINT_MAG_LINEAR_MIP_POINT"),
    (0x85, "COMPARISON_MIN_POINT_MAG_MIP_LINEAR"),
    (0x90, "COMPARISON_MIN_LINEAR_MAG_MIP_POINT"),
    (0x91, "COMPARISON_MIN_LINEAR_MAG_POINT_MIP_LINEAR"),
    (0x94, "COMPARISON_MIN_MAG_LINEAR_MIP_POINT"),
    (0x95, "COMPARISON_MIN_MAG_MIP_LINEAR"),
    (0xd5, "COMPARISON_ANISOTROPIC"),
];

/// By number, from zero on.
pub(super) const STATES: [State; 59] = [
    one("RasterizerState", Form::Object),
    one("DepthStencilState", Form::Object),
    one("BlendState", Form::Object),
    one("RenderTargets", Form::Object),
    one("DepthStencilView", Form::Object),
    one("GenerateMips", Form::Object),
    one("VertexShader", Form::Object),
    one("PixelShader", Form::Object),
    one("GeometryShader", Form::Object),
    one("DS_StencilRef", Form::Unsigned),
    one("AB_BlendFactor", Form::Floats),
    one("AB_SampleMask", Form::Unsigned),
    one("FillMode", FILL),
    one("CullMode", CULL),
    one("FrontCounterClockwise", Form::Bool),
    one("DepthBias", Form::Unsigned),
    one("DepthBiasClamp", Form::Float),
    one("SlopeScaledDepthBias", Form::Float),
    one("DepthClipEnable", Form::Bool),
    one("ScissorEnable", Form::Bool),
    one("MultisampleEnable", Form::Bool),
    one("AntialiasedLineEnable", Form::Bool),
    one("DepthEnable", Form::Bool),
    one("DepthWriteMask", WRITE),
    one("DepthFunc", COMPARISON),
    one("StencilEnable", Form::Bool),
    one("StencilReadMask", Form::Byte),
    one("StencilWriteMask", Form::Byte),
    one("FrontFaceStencilFail", STENCIL),
    one("FrontFaceStencilDepthFail", STENCIL),
    one("FrontFaceStencilPass", STENCIL),
    one("FrontFaceStencilFunc", COMPARISON),
    one("BackFaceStencilFail", STENCIL),
    one("BackFaceStencilDepthFail", STENCIL),
    one("BackFaceStencilPass", STENCIL),
    one("BackFaceStencilFunc", COMPARISON),
    one("AlphaToCoverageEnable", Form::Bool),
    each("BlendEnable", Form::Bool),
    each("SrcBlend", BLEND),
    each("DestBlend", BLEND),
    each("BlendOp", BLEND_OPERATION),
    each("SrcBlendAlpha", BLEND),
    each("DestBlendAlpha", BLEND),
    each("BlendOpAlpha", BLEND_OPERATION),
    each("RenderTargetWriteMask", Form::Byte),
    one("Filter", Form::Filter),
    one("AddressU", ADDRESS),
    one("AddressV", ADDRESS),
    one("AddressW", ADDRESS),
    one("MipLODBias", Form::Float),
    one("MaxAnisotropy", Form::Unsigned),
    one("ComparisonFunc", COMPARISON),
    one("BorderColor", Form::Floats),
    one("MinLOD", Form::Float),
    one("MaxLOD", Form::Float),
    one("Texture", Form::Object),
    one("HullShader", Form::Object),
    one("DomainShader", Form::Object),
    one("ComputeShader", Form::Object),
];
