//! Resources: what each is, where it is bound, and how a module describes it.
//!
//! Each has a type of HLSL's, whose struct the module has, and an entry in `dx.resources`. From shader model 6.6 on, code
//! that makes a handle states its properties in two words:
//!
//! | word | bits | meaning |
//! |---|---|---|
//! | 0 | 0–7 | kind |
//! | | 12, 13, 14 | unordered access view; rasterizer ordered; globally coherent |
//! | | 15 | comparison sampler, or view with a counter |
//! | 1 | all | bytes of a constant buffer, stride of a structured buffer |
//! | | 0–7, 8–15, 16–23 | of textures and typed buffers: component type, number of components, number of samples |
//!
//! Knowledge: DirectXShaderCompiler's `DxilResourceProperties.h` and `docs/DXIL.rst`; the modules that DXC writes.

use crate::refused;
use crate::types::structure;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_dxcontainer::dxil::{ComponentType, ResourceClass, SamplerKind};
use unshade_dxcontainer::psv0::ResourceKind;
use unshade_llvm::build::ModuleBuilder;
use unshade_llvm::{TypeId, ValueId};

/// The registers that a resource is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The first register.
    pub register: u32,
    /// The register space.
    pub space: u32,
    /// Number of registers; none if unbounded.
    pub count: Option<u32>,
}

impl Binding {
    /// Returns one register in space 0.
    pub const fn at(register: u32) -> Self {
        Self { register, space: 0, count: Some(1) }
    }

    /// Sets the space.
    #[must_use]
    pub const fn space(mut self, space: u32) -> Self {
        self.space = space;
        self
    }

    /// Sets the number of registers: the resource is an array.
    #[must_use]
    pub const fn array(mut self, count: u32) -> Self {
        self.count = Some(count);
        self
    }

    /// Makes the resource an array without end.
    #[must_use]
    pub const fn unbounded(mut self) -> Self {
        self.count = None;
        self
    }

    /// Returns the last register.
    pub(crate) fn last(self) -> Option<u32> {
        match self.count {
            None => Some(u32::MAX),
            Some(count) => self.register.checked_add(count.checked_sub(1)?),
        }
    }
}

/// A resource that a shader uses. There is a function for each kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    pub(crate) class: ResourceClass,
    pub(crate) kind: ResourceKind,
    pub(crate) binding: Binding,
    pub(crate) name: String,
    /// The type of a component, and how many an element has: of textures and typed buffers.
    pub(crate) component: ComponentType,
    pub(crate) components: u32,
    /// The stride of a structured buffer or the size of a constant buffer, in bytes.
    pub(crate) bytes: u32,
    pub(crate) samples: u32,
    pub(crate) sampler: SamplerKind,
    pub(crate) coherent: bool,
    pub(crate) counter: bool,
    pub(crate) rasterizer_ordered: bool,
    /// Whether there are 64-bit atomics on it.
    pub(crate) atomic_64: bool,
    /// Whether it is in a descriptor heap, and so bound to no register.
    pub(crate) in_heap: bool,
}

/// A resource of a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceId(pub(crate) usize);

/// The shape of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TextureShape {
    D1,
    D2,
    D2Multisampled,
    D3,
    Cube,
    D1Array,
    D2Array,
    D2MultisampledArray,
    CubeArray,
}

impl TextureShape {
    fn kind(self) -> ResourceKind {
        match self {
            Self::D1 => ResourceKind::TEXTURE1D,
            Self::D2 => ResourceKind::TEXTURE2D,
            Self::D2Multisampled => ResourceKind::TEXTURE2DMS,
            Self::D3 => ResourceKind::TEXTURE3D,
            Self::Cube => ResourceKind::TEXTURE_CUBE,
            Self::D1Array => ResourceKind::TEXTURE1D_ARRAY,
            Self::D2Array => ResourceKind::TEXTURE2D_ARRAY,
            Self::D2MultisampledArray => ResourceKind::TEXTURE2DMS_ARRAY,
            Self::CubeArray => ResourceKind::TEXTURE_CUBE_ARRAY,
        }
    }
}

impl Resource {
    fn new(class: ResourceClass, kind: ResourceKind, binding: Binding) -> Self {
        Self {
            class,
            kind,
            binding,
            name: String::new(),
            component: ComponentType::INVALID,
            components: 0,
            bytes: 0,
            samples: 0,
            sampler: SamplerKind::DEFAULT,
            coherent: false,
            counter: false,
            rasterizer_ordered: false,
            atomic_64: false,
            in_heap: false,
        }
    }

    /// A constant buffer of so many bytes.
    pub fn constant_buffer(binding: Binding, bytes: u32) -> Self {
        Self { bytes, ..Self::new(ResourceClass::CBUFFER, ResourceKind::CBUFFER, binding) }
    }

    /// A buffer of bytes that is only read.
    pub fn byte_address_buffer(binding: Binding) -> Self {
        Self::new(ResourceClass::SRV, ResourceKind::RAW_BUFFER, binding)
    }

    /// A buffer of bytes.
    pub fn rw_byte_address_buffer(binding: Binding) -> Self {
        Self::new(ResourceClass::UAV, ResourceKind::RAW_BUFFER, binding)
    }

    /// A buffer of structs of so many bytes that is only read.
    pub fn structured_buffer(binding: Binding, stride: u32) -> Self {
        Self { bytes: stride, ..Self::new(ResourceClass::SRV, ResourceKind::STRUCTURED_BUFFER, binding) }
    }

    /// A buffer of structs of so many bytes.
    pub fn rw_structured_buffer(binding: Binding, stride: u32) -> Self {
        Self { bytes: stride, ..Self::new(ResourceClass::UAV, ResourceKind::STRUCTURED_BUFFER, binding) }
    }

    /// A buffer of elements of so many components that is only read.
    pub fn buffer(binding: Binding, component: ComponentType, components: u32) -> Self {
        let resource = Self::new(ResourceClass::SRV, ResourceKind::TYPED_BUFFER, binding);
        Self { component, components, ..resource }
    }

    /// A buffer of elements of so many components.
    pub fn rw_buffer(binding: Binding, component: ComponentType, components: u32) -> Self {
        let resource = Self::new(ResourceClass::UAV, ResourceKind::TYPED_BUFFER, binding);
        Self { component, components, ..resource }
    }

    /// A texture that is only read.
    pub fn texture(binding: Binding, shape: TextureShape, component: ComponentType, components: u32) -> Self {
        Self { component, components, ..Self::new(ResourceClass::SRV, shape.kind(), binding) }
    }

    /// A texture.
    pub fn rw_texture(
        binding: Binding,
        shape: TextureShape,
        component: ComponentType,
        components: u32,
    ) -> Self {
        Self { component, components, ..Self::new(ResourceClass::UAV, shape.kind(), binding) }
    }

    /// A sampler.
    pub fn sampler(binding: Binding) -> Self {
        Self::new(ResourceClass::SAMPLER, ResourceKind::SAMPLER, binding)
    }

    /// A sampler that compares.
    pub fn comparison_sampler(binding: Binding) -> Self {
        Self { sampler: SamplerKind::COMPARISON, ..Self::sampler(binding) }
    }

    /// An acceleration structure for ray tracing.
    pub fn acceleration_structure(binding: Binding) -> Self {
        let resource = Self::new(ResourceClass::SRV, ResourceKind::RT_ACCELERATION_STRUCTURE, binding);
        Self { component: ComponentType::I32, ..resource }
    }

    /// Sets its name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.to_string();
        self
    }

    /// Sets the number of samples of a multisampled texture.
    #[must_use]
    pub fn samples(mut self, samples: u32) -> Self {
        self.samples = samples;
        self
    }

    /// Makes the writes of an unordered access view visible to all groups.
    #[must_use]
    pub fn globally_coherent(mut self) -> Self {
        self.coherent = true;
        self
    }

    /// Gives a structured buffer a counter.
    #[must_use]
    pub fn with_counter(mut self) -> Self {
        self.counter = true;
        self
    }

    /// Makes accesses of pixel shaders to an unordered access view ordered.
    #[must_use]
    pub fn rasterizer_ordered(mut self) -> Self {
        self.rasterizer_ordered = true;
        self
    }

    /// Takes the resource from a descriptor heap by its index there, from shader model 6.6 on. Its binding means nothing.
    #[must_use]
    pub fn in_heap(mut self) -> Self {
        self.in_heap = true;
        self
    }

    pub(crate) fn is_typed(&self) -> bool {
        (ResourceKind::TEXTURE1D.0..=ResourceKind::TYPED_BUFFER.0).contains(&self.kind.0)
    }

    pub(crate) fn is_texture(&self) -> bool {
        self.is_typed() && self.kind != ResourceKind::TYPED_BUFFER
    }

    pub(crate) fn is_multisampled(&self) -> bool {
        matches!(self.kind, ResourceKind::TEXTURE2DMS | ResourceKind::TEXTURE2DMS_ARRAY)
    }

    fn is_cube(&self) -> bool {
        matches!(self.kind, ResourceKind::TEXTURE_CUBE | ResourceKind::TEXTURE_CUBE_ARRAY)
    }

    /// Returns how a resource is called in messages.
    pub(crate) fn shown(&self) -> String {
        if self.in_heap {
            return String::from("resource in a heap");
        }
        let register = format!("{}{}", self.class.register_letter(), self.binding.register);
        match self.name.is_empty() {
            true => format!("resource {register}"),
            false => format!("resource {} ({register})", self.name),
        }
    }

    /// Checks what does not depend on the shader.
    pub(crate) fn check(&self) -> Result<()> {
        let is_uav = self.class == ResourceClass::UAV;
        let is_structured = self.kind == ResourceKind::STRUCTURED_BUFFER;
        let rules = [
            (self.binding.last().is_some(), "it has no registers, or more than there are"),
            (!self.is_typed() || element(self.component).is_some(), "elements have no such components"),
            (!self.is_typed() || (1..=4).contains(&self.components), "elements have from 1 to 4 components"),
            (
                !self.is_typed() || width(self.component) * self.components <= 128,
                "elements have at most 16 bytes",
            ),
            (
                !is_structured || (self.bytes > 0 && self.bytes.is_multiple_of(4) && self.bytes <= 2048),
                "a stride is a multiple of 4 of at most 2048",
            ),
            (
                self.class != ResourceClass::CBUFFER || (1..=65536).contains(&self.bytes),
                "a constant buffer has from 1 to 65536 bytes",
            ),
            (
                is_uav || !(self.coherent || self.rasterizer_ordered),
                "only unordered access views have an order",
            ),
            (!self.counter || (is_uav && is_structured), "only writable structured buffers have a counter"),
            (!(is_uav && self.is_cube()), "cubes can't be written"),
            (self.samples == 0 || self.is_multisampled(), "only multisampled textures have samples"),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            Some((_, message)) => refused(format!("{}: {message}", self.shown())),
            None => Ok(()),
        }
    }

    /// Returns the words that describe a handle.
    pub(crate) fn properties(&self) -> [u32; 2] {
        let bits = [
            (12, self.class == ResourceClass::UAV),
            (13, self.rasterizer_ordered),
            (14, self.coherent),
            (15, self.counter || self.sampler == SamplerKind::COMPARISON),
        ];
        let first = bits.iter().fold(self.kind.0, |word, &(bit, is_set)| word | u32::from(is_set) << bit);
        let second = match self.kind {
            _ if self.is_typed() => self.component.0 | self.components << 8 | self.samples << 16,
            _ => self.bytes,
        };
        [first, second]
    }

    /// Returns the constant that the variable of the resource is: an undefined pointer to its type.
    pub(crate) fn variable(&self, module: &mut ModuleBuilder) -> Result<ValueId> {
        let ty = self.ty(module)?;
        let ty = self.ranged(module, ty)?;
        let pointer = module.pointer(ty, 0)?;
        module.const_undef(pointer)
    }

    /// Returns a type, or an array of it if the resource is one.
    pub(crate) fn ranged(&self, module: &mut ModuleBuilder, ty: TypeId) -> Result<TypeId> {
        match self.binding.count {
            Some(1) => Ok(ty),
            Some(count) => module.array(count.into(), ty),
            None => module.array(0, ty),
        }
    }

    /// Returns the struct that stands for the resource.
    pub(crate) fn ty(&self, module: &mut ModuleBuilder) -> Result<TypeId> {
        let word = module.integer(32)?;
        let (name, fields) = match self.kind {
            ResourceKind::SAMPLER if self.sampler == SamplerKind::COMPARISON => {
                (String::from("struct.SamplerComparisonState"), [Some(word), None])
            }
            ResourceKind::SAMPLER => (String::from("struct.SamplerState"), [Some(word), None]),
            ResourceKind::RT_ACCELERATION_STRUCTURE => {
                (String::from("struct.RaytracingAccelerationStructure"), [Some(word), None])
            }
            ResourceKind::RAW_BUFFER => {
                (format!("struct.{}ByteAddressBuffer", self.prefix()), [Some(word), None])
            }
            ResourceKind::CBUFFER => {
                let float = module.float();
                let row = module.vector(4, float)?;
                let rows = module.array(u64::from(self.bytes.div_ceil(16)), row)?;
                let name = match self.name.is_empty() {
                    true => format!("cb{}", self.binding.register),
                    false => self.name.clone(),
                };
                (format!("hostlayout.{name}"), [Some(rows), None])
            }
            ResourceKind::STRUCTURED_BUFFER => {
                let words = module.array(u64::from(self.bytes / 4), word)?;
                let content = structure(module, &format!("struct.Words{}", self.bytes / 4), &[words])?;
                let name = format!("class.{}StructuredBuffer<Words{}>", self.prefix(), self.bytes / 4);
                (name, [Some(content), None])
            }
            _ => self.typed(module)?,
        };
        let fields: Vec<TypeId> = fields.into_iter().flatten().collect();
        structure(module, &name, &fields)
    }

    fn prefix(&self) -> &'static str {
        match self.class == ResourceClass::UAV {
            true if self.rasterizer_ordered => "RasterizerOrdered",
            true => "RW",
            false => "",
        }
    }

    /// Returns the name and fields of a texture or typed buffer.
    fn typed(&self, module: &mut ModuleBuilder) -> Result<(String, [Option<TypeId>; 2])> {
        let scalar = component_type(module, self.component)?;
        let (scalar_name, _) = element(self.component).unwrap_or_default();
        let (element, element_name) = match self.components {
            1 => (scalar, scalar_name.to_string()),
            count => (module.vector(count, scalar)?, format!("vector<{scalar_name}, {count}>")),
        };
        let shape = match self.kind {
            ResourceKind::TYPED_BUFFER => "Buffer",
            kind => kind.name().unwrap_or_default(),
        };
        let space = if element_name.ends_with('>') { " " } else { "" };
        let samples = if self.is_multisampled() { format!(", {}", self.samples) } else { String::new() };
        let end = if samples.is_empty() { space } else { "" };
        let name = format!("class.{}{shape}<{element_name}{samples}{end}>", self.prefix());
        let inner = match self.class == ResourceClass::SRV && self.is_texture() {
            true if self.is_multisampled() => Some("sample_type"),
            true if !self.is_cube() => Some("mips_type"),
            _ => None,
        };
        let inner = match inner {
            Some(inner) => {
                let word = module.integer(32)?;
                Some(structure(module, &format!("{name}::{inner}"), &[word])?)
            }
            None => None,
        };
        Ok((name, [Some(element), inner]))
    }
}

/// Returns the name in HLSL and the bits of a component of an element.
fn element(component: ComponentType) -> Option<(&'static str, u32)> {
    Some(match component {
        ComponentType::I16 => ("short", 16),
        ComponentType::U16 => ("unsigned short", 16),
        ComponentType::I32 => ("int", 32),
        ComponentType::U32 => ("unsigned int", 32),
        ComponentType::I64 => ("long long", 64),
        ComponentType::U64 => ("unsigned long long", 64),
        ComponentType::F16 => ("half", 16),
        ComponentType::F32 => ("float", 32),
        ComponentType::F64 => ("double", 64),
        ComponentType::SNORM_F32 => ("snorm float", 32),
        ComponentType::UNORM_F32 => ("unorm float", 32),
        _ => return None,
    })
}

fn width(component: ComponentType) -> u32 {
    element(component).map_or(0, |(_, bits)| bits)
}

/// Returns LLVM's type of a component.
pub(crate) fn component_type(module: &mut ModuleBuilder, component: ComponentType) -> Result<TypeId> {
    Ok(match component {
        ComponentType::F16 => module.half(),
        ComponentType::F32 | ComponentType::SNORM_F32 | ComponentType::UNORM_F32 => module.float(),
        ComponentType::F64 => module.double(),
        ComponentType::I1 => module.integer(1)?,
        ComponentType::I16 | ComponentType::U16 => module.integer(16)?,
        ComponentType::I64 | ComponentType::U64 => module.integer(64)?,
        _ => module.integer(32)?,
    })
}
