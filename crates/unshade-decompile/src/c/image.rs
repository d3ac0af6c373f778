//! Textures and surfaces: calls of the language's functions, and the declarations of references.

use super::type_name::type_name;
use super::{Printer, identifier};
use crate::ir::{Image, ImageId, SymbolId, ValueId};
use crate::types::Type;

impl Printer<'_, '_> {
    /// Returns `tex2D(picture, x, y)`, or for an object `tex2D<float4>(param_1, x, y)`.
    pub(super) fn image_read(&mut self, id: ValueId, image: ImageId) -> String {
        let image = &self.function.images[image];
        let element = self.types.of[id];
        let Some(name) = (self.language.image)(image, false) else {
            return self.unnamed(id, &image.to_string(), element);
        };
        let arguments = self.image_arguments(id, image, element);
        // The type of a texture reference includes the element type.
        if image.reference.is_some() && !image.is_surface() {
            return format!("{name}({arguments})");
        }
        format!("{name}<{}>({arguments})", type_name(element))
    }

    /// Returns `surf2Dwrite(value, screen, x, y)`.
    pub(super) fn image_write(&mut self, id: ValueId, image: ImageId) -> String {
        let image = &self.function.images[image];
        let Some(name) = (self.language.image)(image, true) else {
            return self.unnamed(id, &image.to_string(), Type::Void);
        };
        let first = image.input_count();
        let values: Vec<ValueId> = (first..self.function.inputs(id).len())
            .map(|index| self.function.input(id, index))
            .take(usize::from(image.words))
            .collect();
        let element = match (values.as_slice(), image.bits) {
            ([value], 32) if self.has_type(*value) == Type::Float(32) => Type::Float(32),
            ([value], 32) if self.has_type(*value) == Type::Integer(32, true) => Type::Integer(32, true),
            ([_], bits) => Type::Integer(bits, image.is_signed),
            (many, _) => Type::Vector(many.len() as u8, crate::types::NumberKind::Unsigned),
        };
        let word = if image.bits < 32 { Type::Integer(32, false) } else { element.word() };
        let texts: Vec<String> = values.iter().map(|value| self.value(*value, 0, word)).collect();
        let value = match element {
            Type::Vector(..) => format!("make_{}({})", type_name(element), texts.join(", ")),
            _ => texts.concat(),
        };
        let arguments = self.image_arguments(id, image, element);
        format!("{name}<{}>({value}, {arguments})", type_name(element))
    }

    /// Returns the n-th word of a read, or of the result of a function.
    pub(super) fn image_word(&mut self, read: ValueId, word: u8) -> String {
        let text = self.plain(read, u8::MAX);
        match self.types.of[read] {
            Type::Vector(5.., _) => format!("{text}.word[{word}]"),
            Type::Vector(..) => {
                let member = ["x", "y", "z", "w"][usize::from(word & 3)];
                format!("{text}.{member}")
            }
            _ => text,
        }
    }

    /// Returns the reference or object, and the coordinates.
    fn image_arguments(&mut self, id: ValueId, image: &Image, element: Type) -> String {
        let mut list = Vec::new();
        if let Some(reference) = image.reference {
            list.push(self.image_reference(reference, image, element));
        }
        for index in 0..image.input_count() {
            let input = self.function.input(id, index);
            let wanted = image.input(index).map_or(Type::Integer(32, false), Type::of_operand);
            list.push(match wanted {
                Type::Integer(..) => self.operand(input, 0, wanted),
                wanted => self.value(input, 0, wanted),
            });
        }
        // The x coordinate of a surface is in bytes; an access outside of it traps unless another mode is given.
        list.extend((self.language.boundary)(image.boundary).map(String::from));
        list.join(", ")
    }

    /// Returns the name of a reference, and declares it before the function.
    fn image_reference(&mut self, reference: SymbolId, image: &Image, element: Type) -> String {
        let name = identifier(self.function.symbols.get(reference).map_or("", String::as_str));
        let ty = (self.language.image_type)(image, type_name(element));
        self.global(super::GlobalKind::Variable, &name, format!("{ty} {name};"));
        name
    }
}
