//! What a module says of itself: versions, resources and the entry point.
//!
//! Knowledge: DirectXShaderCompiler's `docs/DXIL.rst`; the modules that DXC writes.

use crate::library::{self, Exported};
use crate::resources::Resource;
use crate::shader::{Derived, Direction, Interface, WAVE_RANGE_MODEL};
use crate::signature::Placed;
use crate::target::Stage;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_dxcontainer::dxil::{ComponentType, ResourceClass};
use unshade_dxcontainer::psv0::ResourceKind;
use unshade_llvm::build::ModuleBuilder;
use unshade_llvm::{MetadataId, ValueId};

/// What wrote a module.
const IDENT: &str = concat!("unshade ", env!("CARGO_PKG_VERSION"));

/// The tags of the properties of an entry point.
mod property {
    pub(super) const FLAGS: u32 = 0;
    pub(super) const GEOMETRY: u32 = 1;
    pub(super) const DOMAIN: u32 = 2;
    pub(super) const HULL: u32 = 3;
    pub(super) const THREADS: u32 = 4;
    pub(super) const SPACE: u32 = 5;
    pub(super) const PAYLOAD_SIZE: u32 = 6;
    pub(super) const ATTRIBUTE_SIZE: u32 = 7;
    pub(super) const KIND: u32 = 8;
    pub(super) const MESH: u32 = 9;
    pub(super) const AMPLIFICATION: u32 = 10;
    pub(super) const WAVE_LANES: u32 = 11;
    pub(super) const WAVE_LANES_RANGE: u32 = 23;
}

/// The tags of an element of a signature.
mod element_tag {
    pub(super) const STREAM: u32 = 0;
    pub(super) const DYNAMIC_MASK: u32 = 2;
    pub(super) const USED_MASK: u32 = 3;
}

/// The tags of a view.
mod view_tag {
    pub(super) const ELEMENT_TYPE: u32 = 0;
    pub(super) const ELEMENT_STRIDE: u32 = 1;
    pub(super) const ATOMIC_64: u32 = 3;
}

/// Adds all metadata of a module.
pub(crate) fn describe(
    module: &mut ModuleBuilder,
    interface: &Interface,
    entry: Option<(ValueId, &str)>,
    derived: &Derived,
) -> Result<()> {
    let mut nodes = Nodes { module, interface };
    let ident = nodes.module.metadata_string(IDENT);
    nodes.named("llvm.ident", &[Some(ident)])?;
    let target = interface.target;
    nodes.pair("dx.version", 1, target.model)?;
    nodes.pair("dx.valver", target.validator.0, target.validator.1)?;
    let kind = nodes.module.metadata_string(interface.stage.prefix());
    let (major, minor) = (nodes.word(6), nodes.word(target.model));
    nodes.named("dx.shaderModel", &[kind, major, minor].map(Some))?;
    let resources = nodes.resources()?;
    if let Some(resources) = resources {
        nodes.module.add_named_metadata("dx.resources", &[resources])?;
    }
    if !derived.view_id_state.is_empty() {
        let state = nodes.array(&derived.view_id_state)?;
        nodes.named("dx.viewIdState", &[Some(state)])?;
    }
    let signatures = nodes.signatures()?;
    let properties = nodes.properties(derived.flags)?;
    let (function, name) = match entry {
        Some((function, name)) => (Some(nodes.module.metadata_value(function)?), name),
        None => (None, ""),
    };
    let name = nodes.module.metadata_string(name);
    nodes.named("dx.entryPoints", &[function, Some(name), signatures, resources, properties])?;
    interface.exports.iter().try_for_each(|export| nodes.export(export))
}

struct Nodes<'m, 'i> {
    module: &'m mut ModuleBuilder,
    interface: &'i Interface,
}

impl Nodes<'_, '_> {
    fn word(&mut self, number: u32) -> MetadataId {
        self.module.metadata_i32(number)
    }

    fn integer(&mut self, bits: u32, number: u64) -> Result<MetadataId> {
        let ty = self.module.integer(bits)?;
        let value = self.module.const_int(ty, i128::from(number))?;
        self.module.metadata_value(value)
    }

    fn byte(&mut self, number: u8) -> Result<MetadataId> {
        self.integer(8, number.into())
    }

    fn flag(&mut self, is_set: bool) -> Result<MetadataId> {
        let value = self.module.const_bool(is_set);
        self.module.metadata_value(value)
    }

    fn named(&mut self, name: &str, elements: &[Option<MetadataId>]) -> Result<()> {
        let node = self.module.metadata_tuple_with_nulls(elements)?;
        self.module.add_named_metadata(name, &[node])
    }

    fn pair(&mut self, name: &str, major: u32, minor: u32) -> Result<()> {
        let (major, minor) = (self.word(major), self.word(minor));
        self.named(name, &[Some(major), Some(minor)])
    }

    /// Returns a constant array.
    fn array(&mut self, numbers: &[u32]) -> Result<MetadataId> {
        let word = self.module.integer(32)?;
        let ty = self.module.array(numbers.len() as u64, word)?;
        let elements: Result<Vec<ValueId>> =
            numbers.iter().map(|&number| self.module.const_int(word, i128::from(number))).collect();
        let value = self.module.const_aggregate(ty, &elements?)?;
        self.module.metadata_value(value)
    }

    fn words(&mut self, numbers: &[u32]) -> Result<MetadataId> {
        let words: Vec<MetadataId> = numbers.iter().map(|&number| self.word(number)).collect();
        self.module.metadata_tuple(&words)
    }

    /// Returns a list of tags and values; none if there are none.
    fn tags(&mut self, list: &[(u32, MetadataId)]) -> Result<Option<MetadataId>> {
        let mut elements = Vec::new();
        for &(tag, value) in list {
            elements.extend([self.word(tag), value]);
        }
        if elements.is_empty() { Ok(None) } else { self.module.metadata_tuple(&elements).map(Some) }
    }

    /// Returns a tuple, or none if its elements are none.
    fn unless_empty(&mut self, elements: &[Option<MetadataId>]) -> Result<Option<MetadataId>> {
        match elements.iter().all(Option::is_none) {
            true => Ok(None),
            false => self.module.metadata_tuple_with_nulls(elements).map(Some),
        }
    }

    /// Adds the entry of a function of a library.
    fn export(&mut self, export: &Exported) -> Result<()> {
        let mut tags = alloc::vec![(property::KIND, self.word(export.kind.0.into()))];
        for (tag, bytes) in
            [(property::PAYLOAD_SIZE, export.payload), (property::ATTRIBUTE_SIZE, export.attributes)]
        {
            if let Some(bytes) = bytes {
                tags.push((tag, self.word(bytes)));
            }
        }
        tags.push((property::SPACE, self.words(&[0])?));
        let function = self.module.metadata_value(export.function)?;
        let name = self.module.metadata_string(&export.name);
        let properties = self.tags(&tags)?;
        self.named("dx.entryPoints", &[Some(function), Some(name), None, None, properties])
    }

    fn resources(&mut self) -> Result<Option<MetadataId>> {
        let mut lists = Vec::new();
        for &(class, _) in ResourceClass::NAMED {
            let mut list = Vec::new();
            let interface = self.interface;
            let bound = interface.resources.iter().zip(&interface.variables);
            let resources = bound.filter(|(resource, _)| !resource.in_heap && resource.class == class);
            for (id, (resource, &variable)) in (0u32..).zip(resources) {
                list.push(Some(self.resource(id, resource, variable)?));
            }
            lists.push(self.unless_empty(&list)?);
        }
        self.unless_empty(&lists)
    }

    fn resource(&mut self, id: u32, resource: &Resource, variable: Option<ValueId>) -> Result<MetadataId> {
        let variable = match variable {
            Some(variable) => library::reference(self.module, resource, variable)?,
            None => resource.variable(self.module)?,
        };
        let binding = resource.binding;
        let mut elements = alloc::vec![
            Some(self.word(id)),
            Some(self.module.metadata_value(variable)?),
            Some(self.module.metadata_string(&resource.name)),
            Some(self.word(binding.space)),
            Some(self.word(binding.register)),
            Some(self.word(binding.count.unwrap_or(u32::MAX))),
        ];
        match resource.class {
            ResourceClass::SRV => {
                let (kind, samples) = (self.word(resource.kind.0), self.word(resource.samples));
                elements.extend([Some(kind), Some(samples), self.view_tags(resource)?]);
            }
            ResourceClass::UAV => {
                elements.push(Some(self.word(resource.kind.0)));
                for is_set in [resource.coherent, resource.counter, resource.rasterizer_ordered] {
                    elements.push(Some(self.flag(is_set)?));
                }
                elements.push(self.view_tags(resource)?);
            }
            ResourceClass::CBUFFER => elements.extend([Some(self.word(resource.bytes)), None]),
            _ => elements.extend([Some(self.word(resource.sampler.0)), None]),
        }
        self.module.metadata_tuple_with_nulls(&elements)
    }

    fn view_tags(&mut self, resource: &Resource) -> Result<Option<MetadataId>> {
        let mut tags = Vec::new();
        if resource.component != ComponentType::INVALID {
            tags.push((view_tag::ELEMENT_TYPE, self.word(resource.component.0)));
        }
        if resource.kind == ResourceKind::STRUCTURED_BUFFER {
            tags.push((view_tag::ELEMENT_STRIDE, self.word(resource.bytes)));
        }
        if resource.atomic_64 {
            tags.push((view_tag::ATOMIC_64, self.flag(true)?));
        }
        self.tags(&tags)
    }

    fn signatures(&mut self) -> Result<Option<MetadataId>> {
        let mut lists = Vec::new();
        for direction in [Direction::Input, Direction::Output, Direction::Patch] {
            let mut list = Vec::new();
            let interface = self.interface;
            for (id, placed) in (0u32..).zip(interface.signature(direction)) {
                list.push(Some(self.element(id, placed)?));
            }
            lists.push(self.unless_empty(&list)?);
        }
        self.unless_empty(&lists)
    }

    fn element(&mut self, id: u32, placed: &Placed) -> Result<MetadataId> {
        let element = &placed.element;
        let indices: Vec<u32> = (0..element.rows).map(|row| element.index.saturating_add(row)).collect();
        let (row, column) = match placed.start {
            Some((row, column)) => (row, column),
            None => (u32::MAX, u8::MAX),
        };
        let mut tags = Vec::new();
        if element.stream > 0 {
            tags.push((element_tag::STREAM, self.word(element.stream)));
        }
        for (tag, mask) in
            [(element_tag::DYNAMIC_MASK, placed.dynamic), (element_tag::USED_MASK, placed.used)]
        {
            if mask != 0 {
                tags.push((tag, self.word(mask.into())));
            }
        }
        let elements = [
            Some(self.word(id)),
            Some(self.module.metadata_string(&element.semantic)),
            Some(self.byte(element.component.0.to_le_bytes()[0])?),
            Some(self.byte(placed.kind.0)?),
            Some(self.words(&indices)?),
            Some(self.byte(placed.interpolation.0)?),
            Some(self.word(element.rows)),
            Some(self.byte(element.columns)?),
            Some(self.word(row)),
            Some(self.byte(column)?),
            self.tags(&tags)?,
        ];
        self.module.metadata_tuple_with_nulls(&elements)
    }

    fn properties(&mut self, flags: u64) -> Result<Option<MetadataId>> {
        let mut tags = Vec::new();
        if flags != 0 {
            tags.push((property::FLAGS, self.integer(64, flags)?));
        }
        let stage = match self.interface.stage {
            Stage::Vertex | Stage::Pixel { .. } | Stage::Library => None,
            Stage::Compute { threads } => Some((property::THREADS, self.words(&threads)?)),
            Stage::Geometry { input, output, max_vertices, instances } => {
                let streams = self.interface.signature(Direction::Output).iter();
                let streams = streams.fold(0, |mask, placed| mask | 1 << placed.element.stream).max(1);
                let numbers = [input as u32, max_vertices, streams, output as u32, instances];
                Some((property::GEOMETRY, self.words(&numbers)?))
            }
            Stage::Domain { domain, points } => {
                Some((property::DOMAIN, self.words(&[domain as u32, points])?))
            }
            Stage::Hull { .. } => Some((property::HULL, self.hull()?)),
            Stage::Mesh { threads, max_vertices, max_primitives, topology, payload_bytes } => {
                let threads = self.words(&threads)?;
                let numbers = [max_vertices, max_primitives, topology as u32, payload_bytes];
                let rest = numbers.map(|number| self.word(number));
                let elements = [&[threads][..], &rest].concat();
                Some((property::MESH, self.module.metadata_tuple(&elements)?))
            }
            Stage::Amplification { threads, payload_bytes } => {
                let elements = [self.words(&threads)?, self.word(payload_bytes)];
                Some((property::AMPLIFICATION, self.module.metadata_tuple(&elements)?))
            }
        };
        tags.extend(stage);
        match self.interface.wave_lanes {
            Some([least, most, _]) if least == most && self.interface.target.model < WAVE_RANGE_MODEL => {
                tags.push((property::WAVE_LANES, self.words(&[least])?));
            }
            Some([least, most, _]) if least == most => {
                tags.push((property::WAVE_LANES_RANGE, self.words(&[least, 0, 0])?));
            }
            Some(range) => tags.push((property::WAVE_LANES_RANGE, self.words(&range)?)),
            None => {}
        }
        self.tags(&tags)
    }

    fn hull(&mut self) -> Result<MetadataId> {
        let Stage::Hull { domain, partitioning, output, input_points, output_points, max_factor } =
            self.interface.stage
        else {
            return self.module.metadata_tuple(&[]);
        };
        let function = match self.interface.patch_constant_function {
            Some(function) => Some(self.module.metadata_value(function)?),
            None => None,
        };
        let numbers = [input_points, output_points, domain as u32, partitioning as u32, output as u32];
        let mut elements = alloc::vec![function];
        elements.extend(numbers.map(|number| Some(self.word(number))));
        let float = self.module.float();
        let factor = self.module.const_float(float, max_factor.into())?;
        elements.push(Some(self.module.metadata_value(factor)?));
        self.module.metadata_tuple_with_nulls(&elements)
    }
}
