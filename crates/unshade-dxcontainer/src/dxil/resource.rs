//! Reads bound resources: `dx.resources`.
//!
//! The tuple has four lists: shader resource views, unordered access views, constant buffers, samplers. A resource
//! starts
//! with ID, variable (of an HLSL type), name, register space, first register and number of registers. The following
//! operands depend on the class:
//!
//! | class | 6 | 7 | 8 | 9 | 10 |
//! |---|---|---|---|---|---|
//! | SRV | shape | samples | tags | | |
//! | UAV | shape | globally coherent | has a counter | rasterizer ordered | tags |
//! | CBuffer | bytes | tags | | | |
//! | Sampler | kind | tags | | | |
//!
//! Tags of views: 0 element type, 1 stride, 2 kind of sampler feedback, 3 64-bit atomics, 4 reorder coherent.

use super::nodes::Nodes;
use super::{ComponentType, Faults};
use crate::bytes::Text;
use crate::psv0::ResourceKind;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::open_enum;
use unshade_llvm::{MetadataId, TypeId, ValueId};

open_enum! {
    /// The class of a resource; numbers are positions in the tuple of lists.
    pub struct ResourceClass(u32) {
        SRV = 0 => "SRV",
        UAV = 1 => "UAV",
        CBUFFER = 2 => "CBuffer",
        SAMPLER = 3 => "Sampler",
    }
}

impl ResourceClass {
    /// Returns the letter of its registers in HLSL.
    pub fn register_letter(self) -> char {
        match self {
            Self::SRV => 't',
            Self::UAV => 'u',
            Self::CBUFFER => 'b',
            _ => 's',
        }
    }
}

open_enum! {
    /// The kind of a sampler.
    pub struct SamplerKind(u32) {
        DEFAULT = 0 => "default",
        COMPARISON = 1 => "comparison",
        MONO = 2 => "mono",
    }
}

mod tag {
    pub(super) const ELEMENT_TYPE: u32 = 0;
    pub(super) const ELEMENT_STRIDE: u32 = 1;
    pub(super) const FEEDBACK_KIND: u32 = 2;
    pub(super) const ATOMIC_64: u32 = 3;
    pub(super) const REORDER_COHERENT: u32 = 4;
    /// A tag of constant buffers.
    pub(super) const IS_TBUFFER: u32 = 0;
}

/// A resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Class.
    pub class: ResourceClass,
    /// ID in its class.
    pub id: u32,
    /// Type of its variable in the module: a pointer to the HLSL type, or to an array of it.
    pub ty: TypeId,
    /// The variable, without casts; in programs other than libraries an undefined value.
    pub variable: ValueId,
    /// Its name; empty if it was stripped.
    pub name: Text,
    /// The register space.
    pub space: u32,
    /// The first register.
    pub lower_bound: u32,
    /// Number of registers; none if unbounded.
    pub count: Option<u32>,
    /// The shape.
    pub kind: ResourceKind,
    /// Element type of textures and typed buffers.
    pub element: Option<ComponentType>,
    /// Stride of a structured buffer in bytes.
    pub stride: Option<u32>,
    /// Samples of a multisampled texture, if known.
    pub samples: u32,
    /// Size of a constant buffer in bytes.
    pub size: Option<u32>,
    /// The kind of a sampler.
    pub sampler: Option<SamplerKind>,
    /// Kind of sampler feedback.
    pub feedback: Option<u32>,
    /// Properties of an unordered access view.
    pub access: Access,
}

/// Properties of an unordered access view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Globally coherent: all groups see writes.
    pub globally_coherent: bool,
    /// It has a counter.
    pub counter: bool,
    /// Rasterizer ordered.
    pub rasterizer_ordered: bool,
    /// The program uses 64-bit atomics on it.
    pub atomic_64: bool,
    /// Reorder coherent: writes are visible after a reordering of threads.
    pub reorder_coherent: bool,
}

impl Resource {
    /// Returns the last register; all ones if unbounded.
    pub fn upper_bound(&self) -> u32 {
        match self.count {
            // Libraries have resources whose first register is not assigned yet: all ones.
            Some(count) => self.lower_bound.wrapping_add(count.wrapping_sub(1)),
            None => u32::MAX,
        }
    }

    /// Returns the registers, such as `t0`, `t0–t3` or `t5–∞`.
    pub fn register_range(&self) -> String {
        let letter = self.class.register_letter();
        let first = self.lower_bound;
        match self.count {
            Some(0 | 1) => format!("{letter}{first}"),
            Some(count) => {
                format!("{letter}{first}–{letter}{}", first.saturating_add(count.saturating_sub(1)))
            }
            None => format!("{letter}{first}–∞"),
        }
    }
}

/// Reads all resources from the tuple of four lists.
pub(super) fn read_all(nodes: &Nodes<'_, '_>, id: MetadataId, faults: &mut Faults) -> Vec<Resource> {
    let mut resources = Vec::new();
    let Some(classes) = faults.take(nodes.operands(id), || "resources".into()) else { return resources };
    for (&(class, name), operand) in ResourceClass::NAMED.iter().zip(classes) {
        let Some(id) = operand else { continue };
        let Some(all) = faults.take(nodes.operands(id), || format!("resources of {name}")) else { continue };
        for (index, operand) in all.into_iter().enumerate() {
            let read = operand.and_then(|id| read(nodes, class, id));
            if nodes.is_exhausted() {
                return resources;
            }
            resources.extend(faults.take(read, || format!("{name} {index}")));
        }
    }
    resources
}

fn read(nodes: &Nodes<'_, '_>, class: ResourceClass, id: MetadataId) -> Option<Resource> {
    let operands = nodes.operands(id)?;
    let (&[id, variable, name, space, lower_bound, count], own) = operands.split_first_chunk()?;
    let count = nodes.number(count)?;
    let mut resource = Resource {
        class,
        id: nodes.number(id)?,
        ty: nodes.value(variable)?.0,
        variable: nodes.without_casts(nodes.value(variable)?.1),
        name: nodes.text(name)?,
        space: nodes.number(space)?,
        lower_bound: nodes.number(lower_bound)?,
        count: (count != u32::MAX).then_some(count),
        kind: ResourceKind::INVALID,
        element: None,
        stride: None,
        samples: 0,
        size: None,
        sampler: None,
        feedback: None,
        access: Access::default(),
    };
    resource.read_own(nodes, own)?;
    Some(resource)
}

impl Resource {
    /// Reads the operands that depend on the class.
    fn read_own(&mut self, nodes: &Nodes<'_, '_>, own: &[Option<MetadataId>]) -> Option<()> {
        let flag = |operand| Some(nodes.integer(operand)? != 0);
        match (self.class, own) {
            (ResourceClass::SRV, &[kind, samples, tags]) => {
                self.kind = ResourceKind(nodes.number(kind)?);
                self.samples = nodes.number(samples)?;
                self.read_tags(nodes, tags)
            }
            (ResourceClass::UAV, &[kind, globally_coherent, counter, rasterizer_ordered, tags]) => {
                self.kind = ResourceKind(nodes.number(kind)?);
                self.access.globally_coherent = flag(globally_coherent)?;
                self.access.counter = flag(counter)?;
                self.access.rasterizer_ordered = flag(rasterizer_ordered)?;
                self.read_tags(nodes, tags)
            }
            (ResourceClass::CBUFFER, &[size, tags]) => {
                self.kind = ResourceKind::CBUFFER;
                self.size = Some(nodes.number(size)?);
                for (tag, value) in nodes.tagged(tags)? {
                    if tag == tag::IS_TBUFFER && flag(value)? {
                        self.kind = ResourceKind::TBUFFER;
                    }
                }
                Some(())
            }
            (ResourceClass::SAMPLER, &[kind, _]) => {
                self.kind = ResourceKind::SAMPLER;
                self.sampler = Some(SamplerKind(nodes.number(kind)?));
                Some(())
            }
            _ => None,
        }
    }

    fn read_tags(&mut self, nodes: &Nodes<'_, '_>, tags: Option<MetadataId>) -> Option<()> {
        for (tag, value) in nodes.tagged(tags)? {
            let value = nodes.number(value)?;
            match tag {
                tag::ELEMENT_TYPE => self.element = Some(ComponentType(value)),
                tag::ELEMENT_STRIDE => self.stride = Some(value),
                tag::FEEDBACK_KIND => self.feedback = Some(value),
                tag::ATOMIC_64 => self.access.atomic_64 = value != 0,
                tag::REORDER_COHERENT => self.access.reorder_coherent = value != 0,
                _ => {}
            }
        }
        Some(())
    }
}
