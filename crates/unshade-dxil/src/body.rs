//! The body of a function of a shader: calls of DXIL operations, inputs and outputs, and handles of resources.

use crate::library;
use crate::refused;
use crate::resources::{Resource, ResourceId};
use crate::shader::{Direction, Interface};
use crate::target::Stage;
use crate::types;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};
use unshade_core::Result;
use unshade_dxcontainer::dxil::{ComponentType, ResourceClass};
use unshade_dxcontainer::psv0::SemanticKind;
use unshade_llvm::build::{Attr, AttributePlace, FunctionBuilder};
use unshade_llvm::constants::Constant;
use unshade_llvm::dxil_operations::{self, Effect, Operation};
use unshade_llvm::{TypeId, ValueId};

/// Makes the body of a function of a shader. It is the builder of the function too.
#[derive(Debug)]
pub struct ShaderBody<'s> {
    body: FunctionBuilder<'s>,
    pub(crate) interface: &'s mut Interface,
}

impl<'s> Deref for ShaderBody<'s> {
    type Target = FunctionBuilder<'s>;

    fn deref(&self) -> &FunctionBuilder<'s> {
        &self.body
    }
}

impl<'s> DerefMut for ShaderBody<'s> {
    fn deref_mut(&mut self) -> &mut FunctionBuilder<'s> {
        &mut self.body
    }
}

/// A handle of a resource. It is made by [`ShaderBody::handle`], and usable where its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    pub(crate) value: ValueId,
    pub(crate) resource: ResourceId,
}

impl Handle {
    /// Returns its value.
    pub fn value(self) -> ValueId {
        self.value
    }

    /// Returns its resource.
    pub fn resource(self) -> ResourceId {
        self.resource
    }
}

/// Which element of an array of resources is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayIndex {
    /// The index, from 0 on.
    pub index: ValueId,
    /// Whether threads of a wave may have different ones.
    pub non_uniform: bool,
}

/// Operations that access an element of a signature: code, signature, positions of the element's number, its row and
/// its column among the arguments.
const ELEMENT_ACCESSES: [(u32, Direction); 11] = [
    (4, Direction::Input),
    (5, Direction::Output),
    (87, Direction::Input),
    (88, Direction::Input),
    (89, Direction::Input),
    (103, Direction::Output),
    (104, Direction::Patch),
    (106, Direction::Patch),
    (137, Direction::Input),
    (171, Direction::Output),
    (172, Direction::Patch),
];

/// The class of codes that mean nothing yet.
const RESERVED: &str = "reserved";

/// Operations that tell the position of a thread.
const GROUP_POSITIONS: core::ops::RangeInclusive<u32> = 93..=96;

/// Operations that need the pixels or threads around, and the shader model that has them outside of pixel shaders.
const DERIVATIVES: [u32; 9] = [60, 61, 64, 81, 83, 84, 85, 86, 255];
const DERIVATIVE_MODEL: u32 = 6;

/// The shader model from which on handles come from bindings.
const BINDING_MODEL: u32 = 6;

impl<'s> ShaderBody<'s> {
    pub(crate) fn new(body: FunctionBuilder<'s>, interface: &'s mut Interface) -> Self {
        Self { body, interface }
    }

    /// Ends the body, which then belongs to the module.
    ///
    /// # Errors
    /// As [`FunctionBuilder::finish`].
    pub fn finish(self) -> Result<()> {
        self.body.finish()
    }

    /// Returns an `i32`.
    ///
    /// # Errors
    /// Never for numbers of 32 bits.
    pub fn i32(&mut self, number: impl Into<i128>) -> Result<ValueId> {
        let ty = self.integer(32)?;
        self.const_int(ty, number)
    }

    /// Returns an `i8`.
    pub(crate) fn i8(&mut self, number: u8) -> Result<ValueId> {
        let ty = self.integer(8)?;
        self.const_int(ty, i128::from(number))
    }

    /// Returns a `float`.
    ///
    /// # Errors
    /// If the number is no `float`.
    pub fn f32(&mut self, number: f32) -> Result<ValueId> {
        let ty = self.float();
        self.const_float(ty, number.into())
    }

    /// Builds a call of an operation by its name, such as `Sin`. The types follow from the arguments; the code of the
    /// operation is none of them.
    ///
    /// # Errors
    /// If there is no such operation, the shader model, stage or type does not have it, the arguments don't fit, or its
    /// type does not follow from them: [`ShaderBody::operation_of`] names it.
    pub fn operation(&mut self, name: &str, arguments: &[ValueId]) -> Result<ValueId> {
        let (code, operation) = find(name)?;
        let letters = operation.signature.chars().skip(1);
        let typed = letters.zip(arguments).find(|(letter, _)| matches!(letter, 'o' | 'u')).map(|(_, &id)| id);
        let overload = match typed {
            Some(value) => Some(self.type_of(value)?),
            None => match operation.types {
                "v" => None,
                "i" | "1" | "f" | "d" => Some(self.single(operation.types)?),
                _ => return refused(format!("{name}: its type does not follow from the arguments")),
            },
        };
        self.call_operation(code, operation, overload, arguments)
    }

    /// Builds a call of an operation by its name, for a type.
    ///
    /// # Errors
    /// If there is no such operation, the shader model, stage or type does not have it, or the arguments don't fit.
    pub fn operation_of(&mut self, name: &str, ty: TypeId, arguments: &[ValueId]) -> Result<ValueId> {
        let (code, operation) = find(name)?;
        self.call_operation(code, operation, Some(ty), arguments)
    }

    /// Returns the only type that an operation exists for.
    fn single(&mut self, types: &str) -> Result<TypeId> {
        match types {
            "i" => self.integer(32),
            "1" => self.integer(1),
            "f" => Ok(self.float()),
            _ => Ok(self.double()),
        }
    }

    fn call_operation(
        &mut self,
        code: u32,
        operation: &'static Operation,
        overload: Option<TypeId>,
        arguments: &[ValueId],
    ) -> Result<ValueId> {
        let name = operation.name;
        let (target, stage) = (self.interface.target, self.interface.stage);
        if u32::from(operation.minor) > target.model {
            return refused(format!("{name} needs shader model 6.{}", operation.minor));
        }
        if operation.stages != 0 && operation.stages & stage.bit() == 0 {
            return refused(format!("{name} does not exist in {} shaders", stage.prefix()));
        }
        if GROUP_POSITIONS.contains(&code) && stage == Stage::Library {
            return refused(format!("{name} does not exist in functions of ray tracing"));
        }
        let is_pixel = matches!(stage, Stage::Pixel { .. });
        if DERIVATIVES.contains(&code) && !is_pixel && target.model < DERIVATIVE_MODEL {
            return refused(format!("{name} needs shader model 6.6 in {} shaders", stage.prefix()));
        }
        let (suffix, letter) = match overload {
            None => (String::new(), 'v'),
            Some(ty) => match types::overload(&self.body, ty) {
                Some((suffix, letter)) => (suffix, letter),
                None => return refused(format!("{name} does not exist for {}", self.type_text(ty))),
            },
        };
        if !operation.types.contains(letter) {
            let shown = overload.map_or_else(|| String::from("no type"), |ty| self.type_text(ty));
            return refused(format!("{name} does not exist for {shown}"));
        }
        let letters = operation.signature.chars();
        let mut given = Vec::new();
        for letter in letters {
            match self.type_by_letter(letter, overload, &suffix)? {
                Some(ty) => given.push(ty),
                None => return refused(format!("{name} is not supported")),
            }
        }
        let Some((&result, operands)) = given.split_first() else {
            return refused(format!("{name} is not supported"));
        };
        let mut parameters = alloc::vec![self.integer(32)?];
        parameters.extend_from_slice(operands);
        let symbol = match suffix.is_empty() {
            true => format!("dx.op.{}", operation.class),
            false => format!("dx.op.{}.{suffix}", operation.class),
        };
        self.check_arguments(name, &parameters, arguments)?;
        let ty = self.function_type(result, &parameters)?;
        let mut all = alloc::vec![self.i32(code)?];
        all.extend_from_slice(arguments);
        let value = self.declare_and_call(&symbol, ty, operation.effect, &all);
        let value = value.map_err(|error| error.within(name))?;
        self.note_access(code, arguments)?;
        Ok(value)
    }

    /// Checks a call before its function is declared, so that a call that is refused leaves nothing behind.
    fn check_arguments(&self, name: &str, parameters: &[TypeId], arguments: &[ValueId]) -> Result<()> {
        if self.is_terminated() {
            return refused(format!("{name}: the block has a terminator already, or none is selected"));
        }
        let wanted = parameters.get(1..).unwrap_or_default();
        if arguments.len() != wanted.len() {
            return refused(format!("{name} takes {} arguments, not {}", wanted.len(), arguments.len()));
        }
        for (at, (&argument, &wanted)) in arguments.iter().zip(wanted).enumerate() {
            let found = self.type_of(argument)?;
            if found != wanted {
                let (found, wanted) = (self.type_text(found), self.type_text(wanted));
                return refused(format!("{name}: argument {at} has another type: {found}, not {wanted}"));
            }
        }
        Ok(())
    }

    fn declare_and_call(
        &mut self,
        symbol: &str,
        ty: TypeId,
        effect: Effect,
        arguments: &[ValueId],
    ) -> Result<ValueId> {
        let function = self.body.function(symbol, ty)?;
        let attributes = self.attributes(&[(AttributePlace::Function, attributes(effect))])?;
        self.set_attributes(function, attributes)?;
        self.call(function, arguments)
    }

    /// Returns a type by its letter in the table of operations; none if it is not supported.
    fn type_by_letter(
        &mut self,
        letter: char,
        overload: Option<TypeId>,
        suffix: &str,
    ) -> Result<Option<TypeId>> {
        let ty = match letter {
            'v' => self.void(),
            '1' => self.integer(1)?,
            'b' => self.integer(8)?,
            'w' => self.integer(16)?,
            'i' => self.integer(32)?,
            'l' => self.integer(64)?,
            'h' => self.half(),
            'f' => self.float(),
            'd' => self.double(),
            'R' => types::handle(&mut self.body)?,
            'B' => types::resource_binding(&mut self.body)?,
            'P' => types::resource_properties(&mut self.body)?,
            'o' | 'u' => return Ok(overload),
            'r' => match overload {
                Some(ty) => types::loaded(&mut self.body, ty, suffix)?,
                None => return Ok(None),
            },
            'c' => match overload {
                Some(ty) => types::row(&mut self.body, ty, suffix, self.interface.target.native_16_bit)?,
                None => return Ok(None),
            },
            'V' => match overload {
                Some(ty) => types::four(&mut self.body, ty, suffix)?,
                None => return Ok(None),
            },
            _ => return types::result(&mut self.body, letter),
        };
        Ok(Some(ty))
    }

    /// Notes which components of a signature are loaded or stored.
    fn note_access(&mut self, code: u32, arguments: &[ValueId]) -> Result<()> {
        let Some(&(_, direction)) = ELEMENT_ACCESSES.iter().find(|(known, _)| *known == code) else {
            return Ok(());
        };
        let &[element, row, column, ..] = arguments else { return Ok(()) };
        let (Some(element), Some(column)) = (self.constant(element), self.constant(column)) else {
            return refused("the element and column of a signature are constants");
        };
        let row = self.constant(row);
        // A domain shader takes the control points of a hull shader.
        let signature = self.interface.signature_mut(direction);
        let Some(placed) = usize::try_from(element).ok().and_then(|at| signature.get_mut(at)) else {
            return refused("the signature has no such element");
        };
        let is_there = column < u64::from(placed.element.columns)
            && row.is_none_or(|row| row < u64::from(placed.element.rows));
        if !is_there {
            return refused(format!("{}: it has no such component", placed.element.semantic));
        }
        if placed.kind == SemanticKind::SAMPLE_INDEX {
            return refused("the operation SampleIndex gives the number of the sample");
        }
        let bit = 1u8 << column;
        placed.used |= bit;
        if row.is_none() {
            placed.dynamic |= bit;
        }
        Ok(())
    }

    /// Returns the number that a value is, if it is a constant.
    pub(crate) fn constant(&self, value: ValueId) -> Option<u64> {
        self.module().integer(None, value)
    }

    /// Returns whether a value is undefined.
    pub(crate) fn is_undefined(&self, value: ValueId) -> bool {
        matches!(self.module().constant(None, value), Some((Constant::Undef, _)))
    }

    /// Returns fields of a struct, from the first on.
    ///
    /// # Errors
    /// If the struct does not have so many.
    pub fn fields(&mut self, value: ValueId, count: u32) -> Result<Vec<ValueId>> {
        (0..count).map(|at| self.extract_value(value, &[at])).collect()
    }

    /// Loads a component of an element of the input signature: in a pixel shader interpolated, in a vertex shader of the
    /// vertex.
    ///
    /// # Errors
    /// If there is no such component.
    pub fn load_input(&mut self, element: u32, column: u8) -> Result<ValueId> {
        let row = self.i32(0)?;
        self.load_input_row(element, row, column, None)
    }

    /// Loads a component of a row of an element of the input signature; for geometry, hull and domain shaders of a
    /// vertex or control point.
    ///
    /// # Errors
    /// If there is no such component.
    pub fn load_input_row(
        &mut self,
        element: u32,
        row: ValueId,
        column: u8,
        vertex: Option<ValueId>,
    ) -> Result<ValueId> {
        let ty = self.element_type(Direction::Input, element)?;
        let has_vertices = matches!(
            self.interface.stage,
            Stage::Geometry { .. } | Stage::Hull { .. } | Stage::Domain { .. }
        );
        let vertex = match vertex {
            Some(_) if !has_vertices => return refused("the inputs of the stage are of one vertex"),
            None if has_vertices => return refused("the inputs of the stage are of several vertices"),
            Some(vertex) => vertex,
            None => self.undefined_i32()?,
        };
        let (element, column) = (self.i32(element)?, self.i8(column)?);
        self.operation_of("LoadInput", ty, &[element, row, column, vertex])
    }

    /// Stores a component of an element of the output signature.
    ///
    /// # Errors
    /// If there is no such component, or the value has another type.
    pub fn store_output(&mut self, element: u32, column: u8, value: ValueId) -> Result<()> {
        let row = self.i32(0)?;
        self.store_output_row(element, row, column, value)
    }

    /// Stores a component of a row of an element of the output signature.
    ///
    /// # Errors
    /// If there is no such component, or the value has another type.
    pub fn store_output_row(&mut self, element: u32, row: ValueId, column: u8, value: ValueId) -> Result<()> {
        let ty = self.element_type(Direction::Output, element)?;
        let (element, column) = (self.i32(element)?, self.i8(column)?);
        self.operation_of("StoreOutput", ty, &[element, row, column, value]).map(drop)
    }

    /// Returns the type of a component of an element.
    pub(crate) fn element_type(&mut self, direction: Direction, element: u32) -> Result<TypeId> {
        let component = match self.interface.signature(direction).get(element as usize) {
            Some(placed) => placed.element.component,
            None => return refused("the signature has no such element"),
        };
        match component {
            // Booleans are words outside of the code.
            ComponentType::I1 => self.integer(32),
            component => crate::resources::component_type(&mut self.body, component),
        }
    }

    /// Returns an undefined `i32`.
    pub(crate) fn undefined_i32(&mut self) -> Result<ValueId> {
        let ty = self.integer(32)?;
        self.const_undef(ty)
    }

    /// Makes a handle of a resource that is no array.
    ///
    /// # Errors
    /// If it is an array.
    pub fn handle(&mut self, resource: ResourceId) -> Result<Handle> {
        let description = self.describe(resource)?;
        if description.in_heap || description.binding.count != Some(1) {
            let shown = description.shown();
            return refused(format!("{shown}: it is one of several, so that its handle needs an index"));
        }
        let index = self.i32(0)?;
        self.handle_at(resource, ArrayIndex { index, non_uniform: false })
    }

    /// Makes a handle of an element of an array of resources, or of a resource in a heap.
    ///
    /// # Errors
    /// If the index is no `i32`.
    pub fn handle_at(&mut self, resource: ResourceId, at: ArrayIndex) -> Result<Handle> {
        let description = self.describe(resource)?;
        if description.in_heap {
            let is_sampler = self.const_bool(description.class == ResourceClass::SAMPLER);
            let non_uniform = self.const_bool(at.non_uniform);
            let handle = self.operation("CreateHandleFromHeap", &[at.index, is_sampler, non_uniform])?;
            let properties = self.properties_constant(&description)?;
            let value = self.operation("AnnotateHandle", &[handle, properties])?;
            return Ok(Handle { value, resource });
        }
        let is_outside = description.binding.count.zip(self.constant(at.index));
        if is_outside.is_some_and(|(count, index)| index >= u64::from(count)) {
            return refused(format!("{}: the index is behind its end", description.shown()));
        }
        if let Some(variable) = self.interface.variables.get(resource.0).copied().flatten() {
            let value = self.library_handle(&description, variable, at)?;
            self.interface.uses_view |= description.class == ResourceClass::UAV;
            return Ok(Handle { value, resource });
        }
        let first = self.i32(description.binding.register)?;
        let index = match (self.constant(at.index), description.binding.register) {
            (_, 0) => at.index,
            (Some(index), register) => self.i32(i128::from(index) + i128::from(register))?,
            (None, _) => self.add(at.index, first)?,
        };
        let non_uniform = self.const_bool(at.non_uniform);
        let value = match self.interface.target.model >= BINDING_MODEL {
            true => self.annotated_handle(&description, index, non_uniform)?,
            false => {
                let range = self.range_of(resource);
                let (class, range) = (self.i8(class_number(description.class))?, self.i32(range)?);
                self.operation("CreateHandle", &[class, range, index, non_uniform])?
            }
        };
        self.interface.uses_view |= description.class == ResourceClass::UAV;
        Ok(Handle { value, resource })
    }

    /// Makes a handle of what the variable of a resource in a library holds.
    fn library_handle(&mut self, of: &Resource, variable: ValueId, at: ArrayIndex) -> Result<ValueId> {
        let target = self.interface.target;
        let ty = library::object_type(&mut self.body, of, target)?;
        let mut pointer = variable;
        if of.binding.count != Some(1) {
            let array = of.ranged(&mut self.body, ty)?;
            let zero = self.i32(0)?;
            pointer = self.element_ptr(array, variable, &[zero, at.index])?;
            if at.non_uniform {
                let one = self.metadata_i32(1);
                let node = self.metadata_tuple(&[one])?;
                self.attach_to_last("dx.nonuniform", node)?;
            }
        }
        let object = self.load(ty, pointer)?;
        let handle = self.operation_of("CreateHandleForLib", ty, &[object])?;
        if target.model < library::HANDLE_MODEL {
            return Ok(handle);
        }
        let properties = self.properties_constant(of)?;
        self.operation("AnnotateHandle", &[handle, properties])
    }

    /// Returns the number of a resource in its class.
    fn range_of(&self, resource: ResourceId) -> u32 {
        let class = self.interface.resources.get(resource.0).map(|resource| resource.class);
        let before = self.interface.resources.iter().take(resource.0).filter(|other| !other.in_heap);
        u32::try_from(before.filter(|other| Some(other.class) == class).count()).unwrap_or(u32::MAX)
    }

    fn annotated_handle(&mut self, of: &Resource, index: ValueId, non_uniform: ValueId) -> Result<ValueId> {
        let ty = types::resource_binding(&mut self.body)?;
        let last = of.binding.last().unwrap_or(u32::MAX);
        let fields = [
            self.i32(of.binding.register)?,
            // The constant is the same for a signed number.
            self.i32(last)?,
            self.i32(of.binding.space)?,
            self.i8(class_number(of.class))?,
        ];
        let bind = self.const_aggregate(ty, &fields)?;
        let handle = self.operation("CreateHandleFromBinding", &[bind, index, non_uniform])?;
        let properties = self.properties_constant(of)?;
        self.operation("AnnotateHandle", &[handle, properties])
    }

    fn properties_constant(&mut self, of: &Resource) -> Result<ValueId> {
        let ty = types::resource_properties(&mut self.body)?;
        let [first, second] = of.properties();
        let words = [self.i32(first)?, self.i32(second)?];
        self.const_aggregate(ty, &words)
    }

    pub(crate) fn describe(&self, resource: ResourceId) -> Result<Resource> {
        match self.interface.resources.get(resource.0) {
            Some(resource) => Ok(resource.clone()),
            None => refused("the shader has no such resource"),
        }
    }
}

fn class_number(class: ResourceClass) -> u8 {
    class.0.to_le_bytes()[0]
}

fn find(name: &str) -> Result<(u32, &'static Operation)> {
    match dxil_operations::by_name(name) {
        Some(found) if found.1.class != RESERVED => Ok(found),
        _ => refused(format!("DXIL has no operation {name}")),
    }
}

fn attributes(effect: Effect) -> &'static [Attr<'static>] {
    match effect {
        Effect::ReadNone => &[Attr::Flag("nounwind"), Attr::Flag("readnone")],
        Effect::ReadOnly => &[Attr::Flag("nounwind"), Attr::Flag("readonly")],
        Effect::ArgumentMemory => &[Attr::Flag("argmemonly"), Attr::Flag("nounwind")],
        Effect::Any => &[Attr::Flag("nounwind")],
        Effect::NoDuplicate => &[Attr::Flag("noduplicate"), Attr::Flag("nounwind")],
        Effect::NoReturn => &[Attr::Flag("noreturn"), Attr::Flag("nounwind")],
    }
}
