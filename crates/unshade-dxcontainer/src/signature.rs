//! Signatures: the inputs and outputs of a program.
//!
//! | part | contents | element |
//! |---|---|---|
//! | ISGN, OSGN, PCSG | input, output, patch constants | 24 bytes |
//! | OSG5 | outputs, with streams | stream, 24 bytes |
//! | ISG1, OSG1, PSG1 | the same for DXIL programs | stream, 24 bytes, minimum precision |
//!
//! A header of two numbers (count, offset of the first element: 8) precedes the elements; their names follow. Whether
//! names are shared and padded depends on the tool that wrote the part: see [`NamePolicy`].
//!
//! Sources: DXC's `DxilContainer.h` and `DxilContainerAssembler.cpp`, vkd3d's `dxbc.c`; real files.

use crate::bytes::Text;
use crate::cursor::Cursor;
use crate::image::{FXC_FILL, Image, Layout, Slack};
use crate::scalar::{Record, Scalar, named, record};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{FourCc, Result};

named! {
    /// The system value of an element. FXC writes 0 for outputs of pixel shaders.
    pub struct SystemValue(u32) {
        UNDEFINED = 0 => "Undefined",
        POSITION = 1 => "Position",
        CLIP_DISTANCE = 2 => "ClipDistance",
        CULL_DISTANCE = 3 => "CullDistance",
        RENDER_TARGET_ARRAY_INDEX = 4 => "RenderTargetArrayIndex",
        VIEWPORT_ARRAY_INDEX = 5 => "ViewPortArrayIndex",
        VERTEX_ID = 6 => "VertexID",
        PRIMITIVE_ID = 7 => "PrimitiveID",
        INSTANCE_ID = 8 => "InstanceID",
        IS_FRONT_FACE = 9 => "IsFrontFace",
        SAMPLE_INDEX = 10 => "SampleIndex",
        FINAL_QUAD_EDGE = 11 => "FinalQuadEdgeTessfactor",
        FINAL_QUAD_INSIDE = 12 => "FinalQuadInsideTessfactor",
        FINAL_TRI_EDGE = 13 => "FinalTriEdgeTessfactor",
        FINAL_TRI_INSIDE = 14 => "FinalTriInsideTessfactor",
        FINAL_LINE_DETAIL = 15 => "FinalLineDetailTessfactor",
        FINAL_LINE_DENSITY = 16 => "FinalLineDensityTessfactor",
        BARYCENTRICS = 23 => "Barycentrics",
        SHADING_RATE = 24 => "ShadingRate",
        CULL_PRIMITIVE = 25 => "CullPrimitive",
        TARGET = 64 => "Target",
        DEPTH = 65 => "Depth",
        COVERAGE = 66 => "Coverage",
        DEPTH_GREATER_EQUAL = 67 => "DepthGE",
        DEPTH_LESS_EQUAL = 68 => "DepthLE",
        STENCIL_REF = 69 => "StencilRef",
        INNER_COVERAGE = 70 => "InnerCoverage",
    }
}

named! {
    /// The component type of an element.
    pub struct ComponentType(u32) {
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
    /// The minimum precision of an element.
    pub struct MinPrecision(u32) {
        DEFAULT = 0 => "Default",
        FLOAT16 = 1 => "Float16",
        FLOAT2_8 = 2 => "Float2_8",
        RESERVED = 3 => "Reserved",
        SINT16 = 4 => "SInt16",
        UINT16 = 5 => "UInt16",
        ANY16 = 0xf0 => "Any16",
        ANY10 = 0xf1 => "Any10",
    }
}

/// The element layout of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// 24 bytes.
    Plain,
    /// 28 bytes, with a stream.
    Streams,
    /// 32 bytes, with a stream and a minimum precision.
    Full,
}

impl Form {
    /// Returns the element layout of a part by its name.
    pub fn of(name: FourCc) -> Option<Self> {
        match &name.0 {
            b"ISGN" | b"OSGN" | b"PCSG" => Some(Self::Plain),
            b"OSG5" => Some(Self::Streams),
            b"ISG1" | b"OSG1" | b"PSG1" => Some(Self::Full),
            _ => None,
        }
    }

    /// Returns the size of an element.
    pub fn element_size(self) -> usize {
        match self {
            Self::Plain => Core::SIZE,
            Self::Streams => Core::SIZE.saturating_add(4),
            Self::Full => Core::SIZE.saturating_add(8),
        }
    }
}

record! {
    /// The fields that all layouts share.
    pub struct Core {
        /// Offset of the name from the start of the part.
        pub name_offset: u32 => "NameOffset",
        /// The semantic index.
        pub index: u32 => "Index",
        /// The system value.
        pub system_value: SystemValue => "SystemValue",
        /// The component type.
        pub component_type: ComponentType => "CompType",
        /// The register, or `u32::MAX` for none.
        pub register: u32 => "Register",
        /// The mask of its components.
        pub mask: u8 => "Mask",
        /// For inputs, the components that are always read; for outputs, the components that are never written.
        pub exclusive_mask: u8 => "ExclusiveMask",
        /// 0.
        pub reserved: u16 => "Reserved",
    }
}

/// A signature element.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// The stream of a geometry shader.
    pub stream: u32,
    /// The name.
    pub name: Text,
    /// The other fields.
    pub core: Core,
    /// The minimum precision.
    pub min_precision: MinPrecision,
}

/// A signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The element layout.
    pub form: Form,
    /// Offset of the first element: 8.
    pub first_offset: u32,
    /// The elements.
    pub elements: Vec<Element>,
    /// The bytes between and after the pieces.
    pub slack: Slack,
}

/// How the names of a signature are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamePolicy {
    /// Each string once, padded with zeros: DXC from validator version 1.7 on.
    Shared,
    /// A string for each element (shared by the rows of one element), no padding: DXC before 1.7.
    Separate,
    /// Each string once, padded with `0xAB`: FXC and vkd3d.
    Fxc,
}

impl NamePolicy {
    /// All policies and their names in YAML.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Shared, "shared"), (Self::Separate, "separate"), (Self::Fxc, "fxc")];

    /// Returns DXC's policy at a validator version.
    pub fn of_validator(version: (u32, u32)) -> Self {
        if version < (1, 7) { Self::Separate } else { Self::Shared }
    }
}

impl Signature {
    /// Creates a signature and assigns its offsets.
    pub fn new(form: Form, elements: Vec<Element>, policy: NamePolicy) -> Self {
        let mut signature = Self { form, first_offset: 8, elements, slack: Slack::new(0, 0) };
        signature.lay_out(policy);
        signature
    }

    /// Assigns new offsets, with the names in element order.
    pub fn lay_out(&mut self, policy: NamePolicy) {
        let order: Vec<usize> = (0..self.elements.len()).collect();
        self.lay_out_in_order(policy, &order);
    }

    /// Assigns new offsets, with the names in the given order: DXC sorts the elements by stream and register, but
    /// writes the names in declaration order.
    pub fn lay_out_in_order(&mut self, policy: NamePolicy, order: &[usize]) {
        self.first_offset = 8;
        let table = self.elements.len().saturating_mul(self.form.element_size()).saturating_add(8);
        let mut layout = Layout::starting_at(crate::bytes::len32(table));
        let mut name_offsets: BTreeMap<Text, u32> = BTreeMap::new();
        let mut previous: Option<Element> = None;
        for index in order {
            let Some(element) = self.elements.get_mut(*index) else { continue };
            let shared = match policy {
                NamePolicy::Separate => {
                    previous.filter(|p| is_next_row(p, element)).map(|p| p.core.name_offset)
                }
                _ => name_offsets.get(&element.name).copied(),
            };
            element.core.name_offset = shared.unwrap_or_else(|| layout.text(&element.name.0));
            name_offsets.insert(element.name.clone(), element.core.name_offset);
            previous = Some(element.clone());
        }
        if policy != NamePolicy::Separate {
            layout.align();
        }
        let fill = if policy == NamePolicy::Fxc { FXC_FILL } else { 0 };
        self.slack = Slack::new(layout.end(), fill);
    }

    /// Returns the order of the names in the part.
    pub fn name_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.elements.len()).collect();
        order.sort_by_key(|index| {
            self.elements.get(*index).map(|element| (element.core.name_offset, element.core.index))
        });
        order
    }

    pub(crate) fn read(cursor: &mut Cursor<'_, '_>, form: Form) -> Result<Self> {
        let count: u32 = cursor.scalar("count")?;
        let first_offset: u32 = cursor.scalar("offset of the first element")?;
        let mut table = cursor.at(first_offset)?;
        table.check_count(count, form.element_size())?;
        let mut elements = Vec::new();
        for index in 0..count {
            let element = table.group(
                || format!("element {index}").into(),
                |table| {
                    let stream = if form == Form::Plain { 0 } else { table.scalar("Stream")? };
                    let core = Core::read(table)?;
                    let min_precision = if form == Form::Full {
                        table.scalar("MinPrecision")?
                    } else {
                        MinPrecision::DEFAULT
                    };
                    let name = Text::default();
                    Ok(Element { stream, name, core, min_precision })
                },
            );
            elements.push(element?);
        }
        for (index, element) in elements.iter_mut().enumerate() {
            let name = cursor.text_at(element.core.name_offset, "name");
            element.name = name.map_err(|error| error.within(format!("element {index}")))?;
        }
        let slack = Slack::from_gaps(cursor.part_size(), &cursor.gaps());
        Ok(Self { form, first_offset, elements, slack })
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let mut image = Image::default();
        let mut header = Vec::new();
        crate::bytes::len32(self.elements.len()).put(&mut header);
        self.first_offset.put(&mut header);
        image.put(0, header);
        let mut table = Vec::new();
        for element in &self.elements {
            if self.form != Form::Plain {
                element.stream.put(&mut table);
            }
            element.core.write(&mut table);
            if self.form == Form::Full {
                element.min_precision.put(&mut table);
            }
            image.put_text(element.core.name_offset, &element.name.0);
        }
        image.put(self.first_offset, table);
        image.finish(&self.slack)
    }
}

/// Returns whether an element shares the name of the one before it. Rows of one element do so in every file, and so
/// do targets with different types.
fn is_next_row(previous: &Element, next: &Element) -> bool {
    let unallocated = next.core.register == u32::MAX;
    let alike =
        previous.core.mask == next.core.mask && previous.core.component_type == next.core.component_type;
    previous.name == next.name
        && (alike || next.core.system_value == SystemValue::TARGET)
        && previous.stream == next.stream
        && previous.core.index.checked_add(1) == Some(next.core.index)
        && (unallocated || previous.core.register.checked_add(1) == Some(next.core.register))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    pub(crate) fn element(name: &str, index: u32, register: u32) -> Element {
        let core = Core {
            name_offset: 0,
            index,
            system_value: SystemValue::UNDEFINED,
            component_type: ComponentType::FLOAT32,
            register,
            mask: 15,
            exclusive_mask: 0,
            reserved: 0,
        };
        Element { stream: 0, name: Text::from(name), core, min_precision: MinPrecision::DEFAULT }
    }

    #[test]
    fn name_policies() {
        let elements = vec![element("A", 0, 0), element("A", 1, 1), element("B", 0, 3), element("A", 5, 4)];
        let size = |policy| {
            let signature = Signature::new(Form::Full, elements.clone(), policy);
            let bytes = signature.write().unwrap();
            let read = crate::cursor::read_part(unshade_core::Reader::new(&bytes), |c| {
                Signature::read(c, Form::Full)
            });
            assert_eq!(read.unwrap().write().unwrap(), bytes);
            bytes.len() - 8 - 4 * 32
        };
        assert_eq!(size(NamePolicy::Shared), 4);
        assert_eq!(size(NamePolicy::Fxc), 4);
        assert_eq!(size(NamePolicy::Separate), 6);
    }
}
