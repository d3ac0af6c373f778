//! The table of states that can be assigned in state blocks and passes, by number.
//!
//! Source: Wine's table of properties for the numbers; FXC's listings of effects that assign each state for names and
//! formats.

/// The format of a value.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// An object.
    Object,
    Float,
    Floats,
    Unsigned,
    Byte,
    Bool,
    /// A number with a name.
    Named(&'static [&'static str]),
    /// The filter of a sampler.
    Filter,
}

/// A state that can be assigned.
pub(super) struct State {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// Whether there is one per render target.
    pub(super) is_array: bool,
}

const fn single(name: &'static str, form: Form) -> State {
    State { name, form, is_array: false }
}

const fn per_target(name: &'static str, form: Form) -> State {
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

/// Names of filters.
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

/// States by number, from 0.
pub(super) const STATES: [State; 59] = [
    single("RasterizerState", Form::Object),
    single("DepthStencilState", Form::Object),
    single("BlendState", Form::Object),
    single("RenderTargets", Form::Object),
    single("DepthStencilView", Form::Object),
    single("GenerateMips", Form::Object),
    single("VertexShader", Form::Object),
    single("PixelShader", Form::Object),
    single("GeometryShader", Form::Object),
    single("DS_StencilRef", Form::Unsigned),
    single("AB_BlendFactor", Form::Floats),
    single("AB_SampleMask", Form::Unsigned),
    single("FillMode", FILL),
    single("CullMode", CULL),
    single("FrontCounterClockwise", Form::Bool),
    single("DepthBias", Form::Unsigned),
    single("DepthBiasClamp", Form::Float),
    single("SlopeScaledDepthBias", Form::Float),
    single("DepthClipEnable", Form::Bool),
    single("ScissorEnable", Form::Bool),
    single("MultisampleEnable", Form::Bool),
    single("AntialiasedLineEnable", Form::Bool),
    single("DepthEnable", Form::Bool),
    single("DepthWriteMask", WRITE),
    single("DepthFunc", COMPARISON),
    single("StencilEnable", Form::Bool),
    single("StencilReadMask", Form::Byte),
    single("StencilWriteMask", Form::Byte),
    single("FrontFaceStencilFail", STENCIL),
    single("FrontFaceStencilDepthFail", STENCIL),
    single("FrontFaceStencilPass", STENCIL),
    single("FrontFaceStencilFunc", COMPARISON),
    single("BackFaceStencilFail", STENCIL),
    single("BackFaceStencilDepthFail", STENCIL),
    single("BackFaceStencilPass", STENCIL),
    single("BackFaceStencilFunc", COMPARISON),
    single("AlphaToCoverageEnable", Form::Bool),
    per_target("BlendEnable", Form::Bool),
    per_target("SrcBlend", BLEND),
    per_target("DestBlend", BLEND),
    per_target("BlendOp", BLEND_OPERATION),
    per_target("SrcBlendAlpha", BLEND),
    per_target("DestBlendAlpha", BLEND),
    per_target("BlendOpAlpha", BLEND_OPERATION),
    per_target("RenderTargetWriteMask", Form::Byte),
    single("Filter", Form::Filter),
    single("AddressU", ADDRESS),
    single("AddressV", ADDRESS),
    single("AddressW", ADDRESS),
    single("MipLODBias", Form::Float),
    single("MaxAnisotropy", Form::Unsigned),
    single("ComparisonFunc", COMPARISON),
    single("BorderColor", Form::Floats),
    single("MinLOD", Form::Float),
    single("MaxLOD", Form::Float),
    single("Texture", Form::Object),
    single("HullShader", Form::Object),
    single("DomainShader", Form::Object),
    single("ComputeShader", Form::Object),
];
