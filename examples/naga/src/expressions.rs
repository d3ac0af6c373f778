//! Expressions: access, composition, constants; operators, functions and textures have files of their own.

use crate::error::{Error, Result, unsupported};
use crate::lower::{Lower, Operand};
use crate::memory::{Place, Root};
use crate::target::Target;
use crate::types::{Shape, scalar_type};
use naga::{Expression, Handle, Literal, Scalar, ScalarKind};
use unshade_llvm::ValueId;
use unshade_llvm::build::IntPredicate;

impl<'m, T: Target<'m>> Lower<'m, '_, T> {
    /// Evaluates an expression, which is done once where the program says so.
    pub fn emit(&mut self, handle: Handle<Expression>) -> Result<()> {
        let operand = self.operand(handle)?;
        self.frame.operands.insert(handle, operand);
        Ok(())
    }

    /// Returns what an expression is.
    pub fn operand(&mut self, handle: Handle<Expression>) -> Result<Operand> {
        match self.frame.operands.get(&handle) {
            Some(known) => Ok(known.clone()),
            None => {
                let function = self.frame.function;
                self.evaluate(handle).map_err(|e| e.at(function.expressions.get_span(handle)))
            }
        }
    }

    /// Returns the scalars of an expression.
    pub fn values(&mut self, handle: Handle<Expression>) -> Result<Vec<ValueId>> {
        match self.operand(handle)? {
            Operand::Values(values) => Ok(values),
            Operand::Place(_) => unsupported("a pointer as a value"),
            Operand::Resource(_) => unsupported("a texture or sampler as a value"),
        }
    }

    /// Returns the value of an expression that is a scalar.
    pub fn value(&mut self, handle: Handle<Expression>) -> Result<ValueId> {
        match self.values(handle)?.as_slice() {
            &[value] => Ok(value),
            _ => Err(Error::new("a scalar that is none")),
        }
    }

    /// Returns what an expression points to.
    pub fn place(&mut self, handle: Handle<Expression>) -> Result<Place> {
        match self.operand(handle)? {
            Operand::Place(place) => Ok(place),
            _ => Err(Error::new("a pointer that is none")),
        }
    }

    /// Returns the scalar type of an expression.
    pub fn scalar(&self, handle: Handle<Expression>) -> Result<Scalar> {
        match self.shape(handle)? {
            Shape::Scalar(scalar)
            | Shape::Vector(scalar, _)
            | Shape::Matrix(scalar, ..)
            | Shape::Atomic(scalar) => Ok(scalar),
            _ => unsupported("arithmetic with arrays or structs"),
        }
    }

    fn evaluate(&mut self, handle: Handle<Expression>) -> Result<Operand> {
        let function = self.frame.function;
        let values = match &function.expressions[handle] {
            &Expression::FunctionArgument(index) => {
                let argument = self.frame.arguments.get(index as usize).cloned();
                return argument.ok_or_else(|| Error::new("an argument that does not exist"));
            }
            &Expression::GlobalVariable(global) => return self.global(global),
            Expression::LocalVariable(local) => {
                let storage = self.frame.locals.get(local).cloned();
                let storage = storage.ok_or_else(|| Error::new("a variable that does not exist"))?;
                let shape = self.types.shape(function.local_variables[*local].ty)?;
                return Ok(Operand::Place(Place::new(Root::Memory(storage), shape)));
            }
            &Expression::Access { base, index } => return self.access(base, index),
            &Expression::AccessIndex { base, index } => return self.access_index(base, index),
            Expression::Literal(_)
            | Expression::Constant(_)
            | Expression::ZeroValue(_)
            | Expression::Override(_) => self.constant_in(&function.expressions, handle)?,
            Expression::Compose { components, .. } => {
                let mut values = Vec::new();
                for &component in components {
                    values.extend(self.values(component)?);
                }
                values
            }
            &Expression::Splat { size, value } => vec![self.value(value)?; size as usize],
            Expression::Swizzle { size, vector, pattern } => {
                let of = self.values(*vector)?;
                let selected = pattern[..*size as usize].iter().map(|&at| of.get(at as usize).copied());
                selected
                    .collect::<Option<_>>()
                    .ok_or_else(|| Error::new("a component that does not exist"))?
            }
            &Expression::Load { pointer } => {
                let place = self.place(pointer)?;
                self.load(&place)?
            }
            &Expression::Unary { op, expr } => self.unary(op, expr)?,
            &Expression::Binary { op, left, right } => self.binary(op, left, right)?,
            &Expression::Select { condition, accept, reject } => self.select(condition, accept, reject)?,
            &Expression::Relational { fun, argument } => self.relational(fun, argument)?,
            &Expression::As { expr, kind, convert } => self.convert(expr, kind, convert)?,
            &Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let arguments: Vec<_> = [Some(arg), arg1, arg2, arg3].into_iter().flatten().collect();
                self.math(fun, &arguments)?
            }
            &Expression::Derivative { axis, ctrl, expr } => self.derivative(axis, ctrl, expr)?,
            &Expression::ArrayLength(array) => vec![self.array_length(array)?],
            sample @ Expression::ImageSample { .. } => self.image_sample(sample)?,
            load @ Expression::ImageLoad { .. } => self.image_load(load)?,
            &Expression::ImageQuery { image, query } => self.image_query(image, query)?,
            Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. } => {
                return Err(Error::new("a result is used before the statement that it is of"));
            }
            Expression::SubgroupBallotResult | Expression::SubgroupOperationResult { .. } => {
                return unsupported("subgroup operations");
            }
            Expression::RayQueryProceedResult
            | Expression::RayQueryGetIntersection { .. }
            | Expression::RayQueryVertexPositions { .. } => return unsupported("ray queries"),
            Expression::CooperativeLoad { .. } | Expression::CooperativeMultiplyAdd { .. } => {
                return unsupported("cooperative matrices");
            }
        };
        Ok(Operand::Values(values))
    }

    /// Returns the scalars of a constant of the module.
    pub fn constant(&mut self, handle: Handle<Expression>) -> Result<Vec<ValueId>> {
        self.constant_in(&self.module.global_expressions, handle)
    }

    fn constant_in(
        &mut self,
        arena: &naga::Arena<Expression>,
        handle: Handle<Expression>,
    ) -> Result<Vec<ValueId>> {
        match &arena[handle] {
            &Expression::Literal(literal) => Ok(vec![self.literal(literal)?]),
            &Expression::Constant(constant) => self.constant(self.module.constants[constant].init),
            &Expression::ZeroValue(ty) => {
                let shape = self.types.shape(ty)?;
                let mut values = Vec::new();
                for scalar in self.types.scalars(shape)? {
                    let ty = scalar_type(&mut self.b, scalar)?;
                    values.push(self.b.const_null(ty)?);
                }
                Ok(values)
            }
            Expression::Compose { components, .. } => {
                let mut values = Vec::new();
                for &component in components {
                    values.extend(self.constant_in(arena, component)?);
                }
                Ok(values)
            }
            &Expression::Splat { size, value } => {
                let value = self.constant_in(arena, value)?;
                Ok(value.repeat(size as usize))
            }
            Expression::Override(_) => unsupported("an override without a value"),
            _ => unsupported("this constant expression"),
        }
    }

    fn literal(&mut self, literal: Literal) -> Result<ValueId> {
        let scalar = literal.scalar();
        let ty = scalar_type(&mut self.b, scalar)?;
        Ok(match literal {
            Literal::F64(number) => self.b.const_float(ty, number)?,
            Literal::F32(number) => self.b.const_float(ty, f64::from(number))?,
            Literal::F16(number) => self.b.const_float(ty, number.to_f64())?,
            Literal::U16(number) => self.b.const_int(ty, number)?,
            Literal::I16(number) => self.b.const_int(ty, number)?,
            Literal::U32(number) => self.b.const_int(ty, number)?,
            Literal::I32(number) => self.b.const_int(ty, number)?,
            Literal::U64(number) => self.b.const_int(ty, number)?,
            Literal::I64(number) => self.b.const_int(ty, number)?,
            Literal::Bool(value) => self.b.const_bool(value),
            Literal::AbstractInt(_) | Literal::AbstractFloat(_) => return unsupported("an abstract number"),
        })
    }

    /// Returns a float constant of a type.
    pub fn float(&mut self, scalar: Scalar, number: f64) -> Result<ValueId> {
        let ty = scalar_type(&mut self.b, scalar)?;
        Ok(self.b.const_float(ty, number)?)
    }

    /// Returns an integer constant of a type.
    pub fn integer(&mut self, scalar: Scalar, number: i128) -> Result<ValueId> {
        let ty = scalar_type(&mut self.b, scalar)?;
        Ok(self.b.const_int(ty, number)?)
    }

    fn access(&mut self, base: Handle<Expression>, index: Handle<Expression>) -> Result<Operand> {
        match self.operand(base)? {
            Operand::Place(place) => {
                let index = self.index(index)?;
                Ok(Operand::Place(self.place_of(&place, index)?))
            }
            Operand::Values(values) => {
                let (shape, index) = (self.shape(base)?, self.index(index)?);
                Ok(Operand::Values(self.extract(shape, &values, index)?))
            }
            Operand::Resource(_) => unsupported("binding arrays"),
        }
    }

    /// Returns an index as an `i32`.
    fn index(&mut self, index: Handle<Expression>) -> Result<ValueId> {
        let (scalar, value) = (self.scalar(index)?, self.value(index)?);
        let int = self.b.integer(32)?;
        Ok(match (scalar.width, scalar.kind) {
            (4, _) => value,
            (8, _) => self.b.trunc(value, int)?,
            (_, ScalarKind::Sint) => self.b.sext(value, int)?,
            _ => self.b.zext(value, int)?,
        })
    }

    fn access_index(&mut self, base: Handle<Expression>, index: u32) -> Result<Operand> {
        match self.operand(base)? {
            Operand::Place(place) => Ok(Operand::Place(self.place_at(&place, index)?)),
            Operand::Values(values) => {
                let shape = self.shape(base)?;
                let part = self.types.part(shape, index)?;
                let (start, count) = (part.scalars as usize, self.types.count(part.shape)? as usize);
                let selected = values.get(start..start + count);
                let selected = selected.ok_or_else(|| Error::new("a value of too few numbers"))?;
                Ok(Operand::Values(selected.to_vec()))
            }
            Operand::Resource(_) => unsupported("binding arrays"),
        }
    }

    /// Selects an element of a value by a dynamic index: of a vector by comparisons, of others in memory.
    fn extract(&mut self, shape: Shape, values: &[ValueId], index: ValueId) -> Result<Vec<ValueId>> {
        if let (Shape::Vector(..), Some((&first, others))) = (shape, values.split_first()) {
            let mut selected = first;
            for (at, &value) in (1..).zip(others) {
                let at = self.word(at)?;
                let is_this = self.b.icmp(IntPredicate::Eq, index, at)?;
                selected = self.b.select(is_this, value, selected)?;
            }
            return Ok(vec![selected]);
        }
        let storage = self.variable(shape, false, "indexed")?;
        let whole = Place::new(Root::Memory(storage), shape);
        self.store(&whole, values)?;
        let element = self.place_of(&whole, index)?;
        self.load(&element)
    }

    /// Returns the number of elements of an array whose size the buffer decides.
    fn array_length(&mut self, array: Handle<Expression>) -> Result<ValueId> {
        let place = self.place(array)?;
        let (Root::Buffer(buffer), Shape::Array(_, None, stride)) = (&place.root, place.shape) else {
            return unsupported("the length of this array");
        };
        let bytes = self.target.byte_length(&mut self.b, *buffer)?;
        let (before, stride) = (self.word(place.offset.bytes)?, self.word(stride)?);
        let rest = self.b.sub(bytes, before)?;
        Ok(self.b.udiv(rest, stride)?)
    }
}
