//! Types of a module that is built.

use super::{ModuleBuilder, refused};
use crate::ids::TypeId;
use crate::types::Type;
use alloc::collections::BTreeSet;
use unshade_core::Result;

/// The widest integer type, in bits.
const MAX_WIDTH: u32 = 1 << 23;
/// The largest address space.
const MAX_SPACE: u32 = (1 << 24) - 1;

/// Defines methods that return types without parameters.
macro_rules! simple {
    ($($name:ident $ty:ident $text:literal)*) => {
        impl ModuleBuilder {
            $(
                #[doc = concat!("Returns the type `", $text, "`.")]
                pub fn $name(&mut self) -> TypeId {
                    self.module.types.intern(Type::$ty)
                }
            )*
        }
    };
}

simple! {
    void Void "void" half Half "half" bfloat BFloat "bfloat" float Float "float" double Double "double"
    fp128 Fp128 "fp128" metadata_type Metadata "metadata" token Token "token"
}

impl ModuleBuilder {
    /// Returns the integer type of a width in bits.
    ///
    /// # Errors
    /// If there is no type of this width.
    pub fn integer(&mut self, bits: u32) -> Result<TypeId> {
        if bits == 0 || bits > MAX_WIDTH {
            return refused("integers have from 1 to 8388608 bits");
        }
        Ok(self.module.types.intern(Type::Integer(bits)))
    }

    /// Returns the type of a vector.
    ///
    /// # Errors
    /// If the vector has no elements, or they are no numbers or pointers.
    pub fn vector(&mut self, count: u32, element: TypeId) -> Result<TypeId> {
        let types = &self.module.types;
        let is_scalar = matches!(types.get(element), Type::Integer(_)) || types.is_pointer(element);
        let is_float = types.is_float(element) && types.scalar(element) == element;
        if count == 0 || !(is_scalar || is_float) {
            return refused("a vector has at least one element, of numbers or pointers")
                .map_err(|error: unshade_core::Error| error.found(self.type_text(element)));
        }
        Ok(self.module.types.intern(Type::Vector { count, element, scalable: false }))
    }

    /// Returns the type of an array.
    ///
    /// # Errors
    /// If the elements have no size.
    pub fn array(&mut self, count: u64, element: TypeId) -> Result<TypeId> {
        self.check_element(element)?;
        Ok(self.module.types.intern(Type::Array { count, element }))
    }

    /// Returns the type of a literal struct.
    ///
    /// # Errors
    /// If a field has no size.
    pub fn struct_type(&mut self, fields: &[TypeId]) -> Result<TypeId> {
        fields.iter().try_for_each(|&field| self.check_element(field))?;
        Ok(self.module.types.intern_struct(fields, false))
    }

    /// Returns the type of a literal struct without padding.
    ///
    /// # Errors
    /// If a field has no size.
    pub fn packed_struct(&mut self, fields: &[TypeId]) -> Result<TypeId> {
        fields.iter().try_for_each(|&field| self.check_element(field))?;
        Ok(self.module.types.intern_struct(fields, true))
    }

    /// Returns the struct of this name. It is opaque until [`ModuleBuilder::define_struct`] sets its fields, so that it
    /// can refer to itself.
    pub fn named_struct(&mut self, name: &str) -> TypeId {
        if let Some(&known) = self.structs.get(name.as_bytes()) {
            return known;
        }
        let ty = self.module.types.declare_struct(Some(name.as_bytes()));
        self.structs.insert(name.as_bytes().to_vec(), ty);
        ty
    }

    /// Sets the fields of a named struct.
    ///
    /// # Errors
    /// If the type is not a named struct or has fields already, a field has no size, or the struct would contain
    /// itself.
    pub fn define_struct(&mut self, ty: TypeId, fields: &[TypeId], packed: bool) -> Result<()> {
        match self.module.types.get(ty) {
            Type::Struct(structure) if structure.opaque && !structure.literal => {}
            _ => return refused("only an opaque struct can be defined").map_err(|e| self.with_type(e, ty)),
        }
        for &field in fields {
            self.check_element(field)?;
            if self.any_part(field, |part, _| part == ty) {
                return refused("a struct can't contain itself").map_err(|e| self.with_type(e, ty));
            }
        }
        self.module.types.define_struct(ty, fields, packed);
        Ok(())
    }

    /// Returns the type of a pointer: for LLVM 14 to `pointee`, for later versions to anything.
    ///
    /// # Errors
    /// If nothing can point to the type, or the address space is larger than 24 bits.
    pub fn pointer(&mut self, pointee: TypeId, address_space: u32) -> Result<TypeId> {
        if address_space > MAX_SPACE {
            return refused("address space is larger than 24 bits");
        }
        if !self.version.has_typed_pointers() {
            return Ok(self.module.types.intern(Type::OpaquePointer { address_space }));
        }
        match self.module.types.get(pointee) {
            Type::Void | Type::Label | Type::Metadata | Type::Token | Type::Unknown => {
                refused("pointer to what has no address; a pointer to anything is i8*")
                    .map_err(|e| self.with_type(e, pointee))
            }
            _ => Ok(self.module.types.intern(Type::Pointer { pointee, address_space })),
        }
    }

    /// Returns the type of a function.
    ///
    /// # Errors
    /// If it can't return the result or take a parameter.
    pub fn function_type(&mut self, result: TypeId, parameters: &[TypeId]) -> Result<TypeId> {
        self.any_function_type(result, parameters, false)
    }

    /// Returns the type of a function that takes further arguments.
    ///
    /// # Errors
    /// If it can't return the result or take a parameter.
    pub fn variadic_function_type(&mut self, result: TypeId, parameters: &[TypeId]) -> Result<TypeId> {
        self.any_function_type(result, parameters, true)
    }

    fn any_function_type(&mut self, result: TypeId, parameters: &[TypeId], variadic: bool) -> Result<TypeId> {
        let types = &self.module.types;
        if matches!(types.get(result), Type::Function { .. } | Type::Label | Type::Metadata | Type::Unknown) {
            return refused("a function can't return this type").map_err(|e| self.with_type(e, result));
        }
        for &parameter in parameters {
            if matches!(
                types.get(parameter),
                Type::Void | Type::Function { .. } | Type::Label | Type::Unknown
            ) {
                return refused("a function can't take this type").map_err(|e| self.with_type(e, parameter));
            }
        }
        Ok(self.module.types.intern_function(result, parameters, variadic))
    }

    fn check_element(&self, ty: TypeId) -> Result<()> {
        match is_unsized(self.module.types.get(ty)) {
            true => refused("an element of a type without a size").map_err(|e| self.with_type(e, ty)),
            false => Ok(()),
        }
    }

    /// Returns whether a predicate holds for a type or one that its values contain.
    fn any_part(&self, ty: TypeId, mut is: impl FnMut(TypeId, Type) -> bool) -> bool {
        let types = &self.module.types;
        let (mut visited, mut pending) = (BTreeSet::new(), alloc::vec![ty]);
        while let Some(ty) = pending.pop() {
            let of = types.get(ty);
            if is(ty, of) {
                return true;
            }
            match of {
                Type::Array { element, .. } if visited.insert(ty) => pending.push(element),
                Type::Struct(structure) if visited.insert(ty) => {
                    pending.extend_from_slice(types.elements(structure.fields));
                }
                _ => {}
            }
        }
        false
    }

    /// Returns whether values of a type have a size.
    pub(super) fn is_sized(&self, ty: TypeId) -> bool {
        !self.any_part(ty, |_, of| match of {
            Type::Struct(structure) => structure.opaque,
            of => is_unsized(of),
        })
    }

    /// Says in an error which type was found.
    #[cold]
    pub(super) fn with_type(&self, error: unshade_core::Error, ty: TypeId) -> unshade_core::Error {
        error.found(alloc::format!("'{}'", self.type_text(ty)))
    }
}

/// Returns whether a type has no size, whatever its parts.
fn is_unsized(ty: Type) -> bool {
    matches!(
        ty,
        Type::Void | Type::Label | Type::Metadata | Type::Token | Type::Function { .. } | Type::Unknown
    )
}
