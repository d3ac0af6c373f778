//! Signatures: what a stage takes from the one before and gives to the next.
//!
//! What a semantic means depends on where it is: `SV_Position` is data like any other for a vertex shader's input, and
//! a system value in its output. [`Point`] names the places, and a table says what each semantic is there.
//!
//! Knowledge: DirectXShaderCompiler's `docs/DXIL.rst` and description of signature points (`hctdb`); the signatures
//! of the modules that DXC 1.6 to 1.10 write.

use crate::refused;
use alloc::format;
use alloc::string::{String, ToString};
use unshade_core::Result;
use unshade_dxcontainer::dxil::ComponentType;
use unshade_dxcontainer::psv0::{Interpolation, SemanticKind};

/// An element of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// The semantic, as `TEXCOORD` or `SV_Position`.
    pub semantic: String,
    /// The index of the semantic; rows count up from it.
    pub index: u32,
    /// The type of a component.
    pub component: ComponentType,
    /// Number of rows: of elements of an array.
    pub rows: u32,
    /// Number of components of a row, from 1 to 4.
    pub columns: u8,
    /// How it is interpolated [default: by semantic and type].
    pub interpolation: Option<Interpolation>,
    /// The stream of a geometry shader's output.
    pub stream: u32,
}

impl Element {
    /// Returns an element of one row.
    pub fn new(semantic: &str, index: u32, component: ComponentType, columns: u8) -> Self {
        let semantic = semantic.to_string();
        Self { semantic, index, component, rows: 1, columns, interpolation: None, stream: 0 }
    }

    /// Sets the number of rows.
    #[must_use]
    pub fn rows(mut self, rows: u32) -> Self {
        self.rows = rows;
        self
    }

    /// Sets how it is interpolated.
    #[must_use]
    pub fn interpolation(mut self, interpolation: Interpolation) -> Self {
        self.interpolation = Some(interpolation);
        self
    }

    /// Sets the stream that a geometry shader emits it to.
    #[must_use]
    pub fn stream(mut self, stream: u32) -> Self {
        self.stream = stream;
        self
    }

    /// Returns the kind of the semantic.
    ///
    /// # Errors
    /// If there is no such system value.
    pub fn kind(&self) -> Result<SemanticKind> {
        const PREFIX: &str = "SV_";
        let Some((prefix, name)) = self.semantic.split_at_checked(PREFIX.len()) else {
            return Ok(SemanticKind::ARBITRARY);
        };
        if !prefix.eq_ignore_ascii_case(PREFIX) {
            return Ok(SemanticKind::ARBITRARY);
        }
        let mut kinds = SemanticKind::NAMED.iter();
        let known = kinds.find(|(kind, known)| {
            known.eq_ignore_ascii_case(name)
                && ![SemanticKind::ARBITRARY, SemanticKind::INVALID].contains(kind)
        });
        match known {
            Some(&(kind, _)) => Ok(kind),
            None => refused(format!("there is no system value {}", self.semantic)),
        }
    }
}

/// A signature, by stage and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Point {
    VertexInput,
    VertexOutput,
    HullInput,
    HullOutput,
    PatchConstantOutput,
    DomainInput,
    PatchConstantInput,
    DomainOutput,
    GeometryInput,
    GeometryOutput,
    PixelInput,
    PixelOutput,
    MeshVertexOutput,
    MeshPrimitiveOutput,
}

/// What a semantic is at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpretation {
    /// Data of the program.
    Arbitrary,
    /// A system value that a program passes.
    SystemValue,
    /// A system value that the system makes.
    Generated,
    /// A distance to a clip or cull plane.
    ClipCull,
    /// A tessellation factor.
    TessellationFactor,
    /// A render target.
    Target,
    /// It is in the signature but in no register.
    NotPacked,
}

/// The meanings of semantics at each point, in the order of [`Point`]: `a` arbitrary, `s` system value, `g` generated,
/// `c` clip and cull, `f` tessellation factor, `t` target, `n` not packed, `-` none: an operation gives it, or it does
/// not exist there.
#[rustfmt::skip]
const MEANINGS: &[(SemanticKind, &[u8; 14])] = &[
    (SemanticKind::ARBITRARY, b"aaaaaaaaaaa-aa"),
    (SemanticKind::VERTEX_ID, b"s-------------"),
    (SemanticKind::INSTANCE_ID, b"saaa-a-aaaa---"),
    (SemanticKind::POSITION, b"asssasassss-s-"),
    (SemanticKind::RENDER_TARGET_ARRAY_INDEX, b"asssasassss--s"),
    (SemanticKind::VIEWPORT_ARRAY_INDEX, b"asssasassss--s"),
    (SemanticKind::CLIP_DISTANCE, b"acccacacccc-c-"),
    (SemanticKind::CULL_DISTANCE, b"acccacacccc-c-"),
    (SemanticKind::PRIMITIVE_ID, b"---------gg--s"),
    (SemanticKind::SAMPLE_INDEX, b"----------n---"),
    (SemanticKind::IS_FRONT_FACE, b"---------gg---"),
    (SemanticKind::COVERAGE, b"-----------n--"),
    (SemanticKind::TARGET, b"-----------t--"),
    (SemanticKind::DEPTH, b"-----------n--"),
    (SemanticKind::DEPTH_LESS_EQUAL, b"-----------n--"),
    (SemanticKind::DEPTH_GREATER_EQUAL, b"-----------n--"),
    (SemanticKind::STENCIL_REF, b"-----------n--"),
    (SemanticKind::TESS_FACTOR, b"----f-f-------"),
    (SemanticKind::INSIDE_TESS_FACTOR, b"----f-f-------"),
    (SemanticKind::BARYCENTRICS, b"----------n---"),
    (SemanticKind::SHADING_RATE, b"-s-----s-ss--s"),
    (SemanticKind::CULL_PRIMITIVE, b"-------------n"),
];

impl Point {
    /// Returns what a semantic is there; none if it can't be there.
    pub fn interpretation(self, kind: SemanticKind) -> Option<Interpretation> {
        let meanings = MEANINGS.iter().find(|(known, _)| *known == kind)?.1;
        Some(match meanings.get(self as usize)? {
            b'a' => Interpretation::Arbitrary,
            b's' => Interpretation::SystemValue,
            b'g' => Interpretation::Generated,
            b'c' => Interpretation::ClipCull,
            b'f' => Interpretation::TessellationFactor,
            b't' => Interpretation::Target,
            b'n' => Interpretation::NotPacked,
            _ => return None,
        })
    }

    /// Returns whether elements are interpolated between here and the pixel shader.
    fn is_interpolated(self) -> bool {
        !matches!(
            self,
            Self::VertexInput | Self::PixelOutput | Self::PatchConstantOutput | Self::PatchConstantInput
        )
    }
}

/// An element where it is, which has a place in the registers unless it is not packed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placed {
    pub(crate) element: Element,
    /// The kind of the semantic there: that of data if it means nothing special.
    pub(crate) kind: SemanticKind,
    pub(crate) interpretation: Interpretation,
    pub(crate) interpolation: Interpolation,
    /// The first row and column.
    pub(crate) start: Option<(u32, u8)>,
    /// The mask of components that the program loads or stores.
    pub(crate) used: u8,
    /// The mask of components in rows that are only known at run time.
    pub(crate) dynamic: u8,
}

/// Types of components that signatures have.
const COMPONENTS: [ComponentType; 7] = [
    ComponentType::I1,
    ComponentType::I16,
    ComponentType::U16,
    ComponentType::I32,
    ComponentType::U32,
    ComponentType::F16,
    ComponentType::F32,
];

/// Returns whether a type of component is of a floating-point number.
fn is_float(component: ComponentType) -> bool {
    matches!(component, ComponentType::F16 | ComponentType::F32)
}

impl Placed {
    /// Checks an element for a signature.
    pub(crate) fn new(element: Element, point: Point) -> Result<Self> {
        let name = || format!("{}{}", element.semantic, element.index);
        let kind = element.kind()?;
        if element.semantic.is_empty() {
            return refused("an element of a signature has a semantic");
        }
        if !(1..=4).contains(&element.columns) || !(1..=MAX_ROWS).contains(&element.rows) {
            return refused(format!("{}: an element has from 1 to 4 columns and from 1 to 32 rows", name()));
        }
        if !COMPONENTS.contains(&element.component) {
            return refused(format!("{}: signatures have numbers of 16 and 32 bits", name()));
        }
        let Some(interpretation) = point.interpretation(kind) else {
            return refused(format!("{}: the signature can't have this semantic", name()));
        };
        if element.stream > 3 || (element.stream > 0 && point != Point::GeometryOutput) {
            return refused(format!("{}: only geometry shaders have streams, from 0 to 3", name()));
        }
        let kind = if interpretation == Interpretation::Arbitrary { SemanticKind::ARBITRARY } else { kind };
        let interpolation = match (point.is_interpolated(), element.interpolation) {
            (false, None) => Interpolation::UNDEFINED,
            (false, Some(_)) => return refused(format!("{}: it is not interpolated here", name())),
            (true, Some(interpolation)) => interpolation,
            (true, None) => default_interpolation(kind, element.component, point),
        };
        if !is_float(element.component) && interpolation.0 > Interpolation::CONSTANT.0 {
            return refused(format!("{}: integers can't be interpolated", name()));
        }
        Ok(Self { element, kind, interpretation, interpolation, start: None, used: 0, dynamic: 0 })
    }
}

/// Number of registers of a signature.
pub(crate) const MAX_ROWS: u32 = 32;

fn default_interpolation(kind: SemanticKind, component: ComponentType, point: Point) -> Interpolation {
    match kind {
        _ if !is_float(component) || point == Point::MeshPrimitiveOutput => Interpolation::CONSTANT,
        SemanticKind::POSITION => Interpolation::LINEAR_NOPERSPECTIVE,
        _ => Interpolation::LINEAR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semantics_mean_something_by_place() {
        let position = || Element::new("sv_position", 0, ComponentType::F32, 4);
        let input = Placed::new(position(), Point::VertexInput).unwrap();
        assert_eq!((input.kind, input.interpolation), (SemanticKind::ARBITRARY, Interpolation::UNDEFINED));
        let output = Placed::new(position(), Point::VertexOutput).unwrap();
        assert_eq!(output.kind, SemanticKind::POSITION);
        assert_eq!(output.interpolation, Interpolation::LINEAR_NOPERSPECTIVE);
        assert!(Placed::new(position(), Point::PixelOutput).is_err());
        assert!(Element::new("SV_Nothing", 0, ComponentType::F32, 1).kind().is_err());
        assert!(Placed::new(Element::new("A", 0, ComponentType::F64, 1), Point::VertexInput).is_err());
        assert!(Placed::new(Element::new("A", 0, ComponentType::F32, 5), Point::VertexInput).is_err());
    }
}
