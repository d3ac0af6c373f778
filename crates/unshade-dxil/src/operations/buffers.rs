//! Loads and stores of buffers.
//!
//! | buffer | address | operation |
//! |---|---|---|
//! | bytes | offset in bytes | `BufferLoad`, from shader model 6.2 on `RawBufferLoad` |
//! | structured | index of the struct, offset in it in bytes | the same |
//! | typed | index of the element | `BufferLoad` |
//! | constant | row of 16 bytes | `CBufferLoadLegacy` |

use super::mask;
use crate::body::{Handle, ShaderBody};
use crate::refused;
use crate::resources::{Resource, component_type};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_dxcontainer::dxil::ResourceClass;
use unshade_dxcontainer::psv0::ResourceKind;
use unshade_llvm::{TypeId, ValueId};

/// The shader model that has raw loads and stores, and that which has them for 64 bits.
const RAW_MODEL: u32 = 2;
const WIDE_MODEL: u32 = 3;

impl ShaderBody<'_> {
    /// Loads up to four numbers of one type from a buffer of bytes at an offset, or from a structured buffer at an index
    /// and an offset in the struct.
    ///
    /// # Errors
    /// If this is another resource, an offset is missing or too many, or the shader model has no loads of the type.
    pub fn load_buffer(
        &mut self,
        buffer: Handle,
        at: ValueId,
        offset: Option<ValueId>,
        ty: TypeId,
        count: usize,
    ) -> Result<Vec<ValueId>> {
        let resource = self.describe(buffer.resource)?;
        let offset = self.offset_in(&resource, offset)?;
        let bits = self.bits_in_buffer(ty)?;
        if !(1..=4).contains(&count) {
            return refused("a load is of one to four numbers");
        }
        let loaded = match self.interface.target.model >= RAW_MODEL {
            true => {
                let (mask, alignment) = (self.i8(mask(count))?, self.i32(bits / 8)?);
                self.operation_of("RawBufferLoad", ty, &[buffer.value, at, offset, mask, alignment])?
            }
            false => self.operation_of("BufferLoad", ty, &[buffer.value, at, offset])?,
        };
        self.fields(loaded, u32::try_from(count).unwrap_or(4))
    }

    /// Stores up to four numbers of one type to a buffer of bytes at an offset, or to a structured buffer at an index
    /// and an offset in the struct.
    ///
    /// # Errors
    /// If this is another resource or one that is only read, an offset is missing or too many, a value is undefined, or
    /// the shader model has no stores of the type.
    pub fn store_buffer(
        &mut self,
        buffer: Handle,
        at: ValueId,
        offset: Option<ValueId>,
        values: &[ValueId],
    ) -> Result<()> {
        let resource = self.describe(buffer.resource)?;
        let offset = self.offset_in(&resource, offset)?;
        self.check_store(&resource, values)?;
        let ty = self.type_of_first(values)?;
        let bits = self.bits_in_buffer(ty)?;
        let mut arguments = alloc::vec![buffer.value, at, offset];
        arguments.extend(self.padded(values, 4, ty)?);
        arguments.push(self.i8(mask(values.len()))?);
        match self.interface.target.model >= RAW_MODEL {
            true => {
                arguments.push(self.i32(bits / 8)?);
                self.operation_of("RawBufferStore", ty, &arguments).map(drop)
            }
            false => self.operation_of("BufferStore", ty, &arguments).map(drop),
        }
    }

    /// Loads all components of an element of a typed buffer.
    ///
    /// # Errors
    /// If this is another resource.
    pub fn load_typed_buffer(&mut self, buffer: Handle, index: ValueId) -> Result<Vec<ValueId>> {
        let resource = self.typed_buffer(buffer)?;
        let ty = component_type(self, resource.component)?;
        let offset = self.undefined_i32()?;
        let loaded = self.operation_of("BufferLoad", ty, &[buffer.value, index, offset])?;
        self.fields(loaded, resource.components)
    }

    /// Stores all components of an element of a typed buffer.
    ///
    /// # Errors
    /// If this is another resource or one that is only read, or there are more or less values than components.
    pub fn store_typed_buffer(&mut self, buffer: Handle, index: ValueId, values: &[ValueId]) -> Result<()> {
        let resource = self.typed_buffer(buffer)?;
        self.check_store(&resource, values)?;
        let (ty, values) = self.whole_element(&resource, values)?;
        let offset = self.undefined_i32()?;
        let mut arguments = alloc::vec![buffer.value, index, offset];
        arguments.extend(values);
        arguments.push(self.i8(mask(4))?);
        self.operation_of("BufferStore", ty, &arguments).map(drop)
    }

    /// Loads the numbers of a type in a row of 16 bytes of a constant buffer.
    ///
    /// # Errors
    /// If this is another resource, the row is not in it, or the type has no place there.
    pub fn load_constants(&mut self, buffer: Handle, row: ValueId, ty: TypeId) -> Result<Vec<ValueId>> {
        let resource = self.describe(buffer.resource)?;
        if resource.kind != ResourceKind::CBUFFER {
            return refused(format!("{}: it is no constant buffer", resource.shown()));
        }
        if self.constant(row).is_some_and(|row| row.saturating_mul(16) >= u64::from(resource.bytes)) {
            return refused(format!("{}: the row is behind its end", resource.shown()));
        }
        let bits = self.number_bits(ty)?;
        let loaded = self.operation_of("CBufferLoadLegacy", ty, &[buffer.value, row])?;
        let is_native = self.interface.target.native_16_bit;
        self.fields(loaded, if bits == 16 && !is_native { 4 } else { 128 / bits })
    }

    /// Adds one to the counter of a structured buffer, or subtracts one. Returns the value before an addition, or after
    /// a subtraction.
    ///
    /// # Errors
    /// If the resource has no counter.
    pub fn update_counter(&mut self, buffer: Handle, increment: bool) -> Result<ValueId> {
        let resource = self.describe(buffer.resource)?;
        if !resource.counter {
            return refused(format!("{}: it has no counter", resource.shown()));
        }
        let ty = self.integer(8)?;
        let step = self.const_int(ty, if increment { 1 } else { -1 })?;
        self.operation("BufferUpdateCounter", &[buffer.value, step])
    }

    /// Returns the bits of a number that buffers of bytes and structs hold.
    fn bits_in_buffer(&self, ty: TypeId) -> Result<u32> {
        match self.number_bits(ty)? {
            64 if self.interface.target.model < WIDE_MODEL => {
                refused("numbers of 64 bits in buffers need shader model 6.3")
            }
            bits => Ok(bits),
        }
    }

    fn typed_buffer(&self, buffer: Handle) -> Result<Resource> {
        let resource = self.describe(buffer.resource)?;
        match resource.kind == ResourceKind::TYPED_BUFFER {
            true => Ok(resource),
            false => refused(format!("{}: it is no typed buffer", resource.shown())),
        }
    }

    /// Returns the offset in a struct, which buffers of bytes do not have.
    fn offset_in(&mut self, resource: &Resource, offset: Option<ValueId>) -> Result<ValueId> {
        match (resource.kind, offset) {
            (ResourceKind::RAW_BUFFER, None) => self.undefined_i32(),
            (ResourceKind::STRUCTURED_BUFFER, Some(offset)) => Ok(offset),
            (ResourceKind::RAW_BUFFER, Some(_)) => {
                refused(format!("{}: a buffer of bytes has one offset", resource.shown()))
            }
            (ResourceKind::STRUCTURED_BUFFER, None) => {
                refused(format!("{}: a structured buffer has an index and an offset", resource.shown()))
            }
            _ => refused(format!("{}: it is no buffer of bytes or structs", resource.shown())),
        }
    }

    /// Checks that values can be stored to a resource.
    pub(super) fn check_store(&self, resource: &Resource, values: &[ValueId]) -> Result<()> {
        if resource.class != ResourceClass::UAV {
            return refused(format!("{}: it is only read", resource.shown()));
        }
        if !(1..=4).contains(&values.len()) {
            return refused("a store is of one to four numbers");
        }
        match values.iter().any(|&value| self.is_undefined(value)) {
            true => refused(format!("{}: an undefined value is stored", resource.shown())),
            false => Ok(()),
        }
    }

    /// Returns the type and the four values of a store to a texture or typed buffer. The components that an element does
    /// not have repeat the first, as DXC writes them.
    pub(super) fn whole_element(
        &mut self,
        resource: &Resource,
        values: &[ValueId],
    ) -> Result<(TypeId, [ValueId; 4])> {
        let &[first, ..] = values else { return refused("no values are stored") };
        if values.len() != resource.components as usize {
            let count = resource.components;
            return refused(format!("{}: an element has {count} components", resource.shown()));
        }
        let mut all = [first; 4];
        for (slot, &value) in all.iter_mut().zip(values) {
            *slot = value;
        }
        Ok((component_type(self, resource.component)?, all))
    }
}
