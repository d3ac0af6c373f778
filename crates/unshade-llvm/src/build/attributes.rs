//! Attributes of functions, results, parameters and calls.

use super::{ModuleBuilder, refused};
use crate::attribute_names::{all, name, rank};
use crate::attribute_places::{self, Fits};
use crate::attributes::{Attribute, index, kind};
use crate::ids::{AttributeListId, AttributeSetId, TypeId};
use crate::rules;
use crate::types::Type;
use alloc::vec::Vec;
use unshade_core::Result;

/// An attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attr<'a> {
    /// An attribute without a value, such as `nounwind`.
    Flag(&'a str),
    /// An attribute with a number, such as `dereferenceable(16)`. What the number of `memory` and the like means is
    /// as in bitcode.
    Number(&'a str, u64),
    /// An attribute with a type, such as `byval`.
    Type(&'a str, TypeId),
    /// An attribute that LLVM does not know: `"name"="value"`.
    Text(&'a str, &'a str),
}

/// What attributes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AttributePlace {
    /// The result.
    Result,
    /// A parameter or argument, from 0 on.
    Parameter(u32),
    /// The function or call itself.
    Function,
}

impl AttributePlace {
    fn index(self) -> u32 {
        match self {
            Self::Result => index::RESULT,
            Self::Parameter(at) => index::parameter(at as usize),
            Self::Function => index::FUNCTION,
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::Result => attribute_places::RESULT,
            Self::Parameter(_) => attribute_places::PARAMETER,
            Self::Function => attribute_places::FUNCTION,
        }
    }
}

/// Attributes with a type.
const WITH_TYPE: [&str; 6] = ["byval", "sret", "inalloca", "preallocated", "byref", "elementtype"];
/// Attributes with a number.
const WITH_NUMBER: [&str; 9] = [
    "align",
    "alignstack",
    "dereferenceable",
    "dereferenceable_or_null",
    "allocsize",
    "vscale_range",
    "allockind",
    "memory",
    "nofpclass",
];
/// Attributes with ranges, which have no short form.
const WITH_RANGES: [&str; 2] = ["range", "initializes"];
/// The attribute that has a number from LLVM 15 on.
const UNWIND_TABLE: &str = "uwtable";

impl ModuleBuilder {
    /// Returns a list of attributes, which functions and calls have.
    ///
    /// # Errors
    /// If the version of LLVM has no such attribute, it does not belong there, or it has another kind of value.
    pub fn attributes(&mut self, list: &[(AttributePlace, &[Attr<'_>])]) -> Result<AttributeListId> {
        let mut sets: Vec<(u32, AttributeSetId)> = Vec::new();
        for &(place, attributes) in list {
            if sets.iter().any(|&(index, _)| index == place.index()) {
                return refused("attributes of one place are in two sets");
            }
            let set: Vec<Attribute> =
                attributes.iter().map(|attr| self.attribute(place, attr)).collect::<Result<_>>()?;
            if !set.is_empty() {
                let set = rules::attribute_set(&mut self.module.attributes, self.version, set);
                sets.push((place.index(), set));
            }
        }
        if sets.is_empty() {
            return Ok(AttributeListId::NONE);
        }
        sets.sort_by_key(|&(index, _)| index);
        if let Some(&known) = self.attribute_lists.get(&sets) {
            return Ok(known);
        }
        let id = self.module.attributes.add_list(&mut sets.clone());
        self.attribute_lists.insert(sets, id);
        Ok(id)
    }

    fn attribute(&mut self, place: AttributePlace, attr: &Attr<'_>) -> Result<Attribute> {
        let name = match *attr {
            Attr::Text(name, value) => {
                if name.contains('\0') || value.contains('\0') {
                    return refused("an attribute has no zero byte");
                }
                return Ok(self.module.attributes.text_attribute(name.as_bytes(), value.as_bytes()));
            }
            Attr::Flag(name) | Attr::Number(name, _) | Attr::Type(name, _) => name,
        };
        let order = self.version.attribute_order();
        let Some((kind, _)) = all().find(|&(kind, known)| known == name && rank(kind, order) != u8::MAX)
        else {
            return refused(alloc::format!("this version of LLVM has no attribute {name}"));
        };
        if attribute_places::places(kind) & place.bit() == 0 {
            return refused(alloc::format!("attribute {name} does not apply to a {}", shown(place)));
        }
        let takes_number =
            WITH_NUMBER.contains(&name) || (name == UNWIND_TABLE && !self.version.has_typed_pointers());
        let takes_type = WITH_TYPE.contains(&name);
        if WITH_RANGES.contains(&name) {
            return refused(alloc::format!("attribute {name} has ranges"));
        }
        match *attr {
            Attr::Flag(_) if !takes_number && !takes_type => Ok(Attribute::Flag(kind)),
            Attr::Number(_, number) if takes_number => {
                if matches!(kind, kind::ALIGN | kind::STACK_ALIGNMENT) {
                    super::memory::alignment(number)?;
                }
                Ok(Attribute::Integer(kind, number))
            }
            Attr::Type(_, ty) if takes_type => {
                if !self.is_sized(ty) {
                    return refused("an attribute with a type without a size")
                        .map_err(|e| self.with_type(e, ty));
                }
                Ok(Attribute::Type(kind, Some(ty)))
            }
            _ => refused(alloc::format!("attribute {name} has another kind of value")),
        }
    }

    /// Checks that a list exists, is for at most so many parameters, and fits their types and that of the result.
    pub(super) fn check_attributes(
        &self,
        list: AttributeListId,
        result: TypeId,
        parameters: &[TypeId],
        variadic: bool,
    ) -> Result<()> {
        if list == AttributeListId::NONE {
            return Ok(());
        }
        if list.index() >= self.attribute_lists.len() {
            return refused("a list of attributes that does not exist is used");
        }
        for &(of, set) in self.module.attributes.list(list) {
            let ty = match of {
                index::FUNCTION => continue,
                index::RESULT => result,
                of => match parameters.get((of as usize).saturating_sub(1)) {
                    Some(&ty) => ty,
                    // The types of further arguments are not known here.
                    None if variadic => continue,
                    None => return refused("attributes of a parameter that does not exist"),
                },
            };
            for attribute in self.module.attributes.set(set) {
                if !self.fits(attribute, ty) {
                    let name = attribute.kind().and_then(name).unwrap_or("?");
                    return refused(alloc::format!("attribute {name} does not fit the type"))
                        .map_err(|e| self.with_type(e, ty));
                }
            }
        }
        Ok(())
    }

    /// Returns whether an attribute fits values of a type.
    fn fits(&self, attribute: &Attribute, ty: TypeId) -> bool {
        let types = &self.module.types;
        let Some((_, fits)) = attribute.kind().and_then(attribute_places::of) else { return true };
        let is_integer = |ty| matches!(types.get(ty), Type::Integer(_));
        let fits = match fits {
            Fits::Any => true,
            Fits::Value => types.get(ty) != Type::Void,
            Fits::Pointer => types.is_pointer(ty),
            Fits::Pointers => types.address_space(ty).is_some(),
            Fits::Integer => is_integer(ty),
            Fits::Integers => is_integer(types.scalar(ty)),
            Fits::Float => types.is_float(ty),
        };
        match *attribute {
            Attribute::Type(_, Some(held)) => fits && types.pointee(ty).is_none_or(|of| of == held),
            _ => fits,
        }
    }
}

fn shown(place: AttributePlace) -> &'static str {
    match place {
        AttributePlace::Result => "result",
        AttributePlace::Parameter(_) => "parameter",
        AttributePlace::Function => "function",
    }
}
