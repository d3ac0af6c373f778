//! The entities that token links refer to.
//!
//! A [`Link`] carries a number that is only meaningful within one listing. The printer encodes the entity in it,
//! so that a consumer of tokens can look the entity up in the model: the low 32 bits are the id, the high 3 bits
//! the kind of entity, and the bits between them the function that the value or block belongs to.

use super::symbols::CachedText;
use crate::ids::{BlockId, TypeId, ValueId};
use unshade_core::TokenKind;
use unshade_core::token::Link;

/// What a token defines or refers to.
///
/// ```
/// use unshade_llvm::ValueId;
/// use unshade_llvm::print::Entity;
///
/// let parameter = Entity::Value { function: 2, id: ValueId(40) };
/// assert_eq!(Entity::from_number(parameter.number()), Some(parameter));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Entity {
    /// A parameter of a function or the result of one of its instructions.
    Value {
        /// The function, as an index into [`crate::Module::functions`].
        function: u32,
        /// The value.
        id: ValueId,
    },
    /// A basic block of a function. A block without a label in the text is defined by an empty token.
    Block {
        /// The function, as an index into [`crate::Module::functions`].
        function: u32,
        /// The block.
        id: BlockId,
    },
    /// A global variable, function or alias.
    Symbol(ValueId),
    /// A metadata node, by its slot: its number in the text.
    Metadata(u32),
    /// A type. Only identified structs have a definition; [`crate::TypeTable::named_struct`] finds the one that a
    /// pointer or array refers to.
    Type(TypeId),
    /// An attribute group, by its number in the text.
    Attributes(u32),
}

/// Mask of function numbers in links. A file with more functions does not fit into memory.
const FUNCTION_MASK: u64 = (1 << 29) - 1;

impl Entity {
    /// Returns the number that links carry.
    #[inline(always)]
    pub fn number(self) -> u64 {
        let (kind, function, number) = match self {
            Self::Value { function, id } => (0, function, id.0),
            Self::Block { function, id } => (1, function, id.0),
            Self::Symbol(id) => (2, 0, id.0),
            Self::Metadata(slot) => (3, 0, slot),
            Self::Type(id) => (4, 0, id.0),
            Self::Attributes(group) => (5, 0, group),
        };
        kind << 61 | (u64::from(function) & FUNCTION_MASK) << 32 | u64::from(number)
    }

    /// Decodes the number of a link.
    pub fn from_number(number: u64) -> Option<Self> {
        let function = (number >> 32 & FUNCTION_MASK) as u32;
        let low = (number & 0xFFFF_FFFF) as u32;
        match number >> 61 {
            0 => Some(Self::Value { function, id: ValueId(low) }),
            1 => Some(Self::Block { function, id: BlockId(low) }),
            2 => Some(Self::Symbol(ValueId(low))),
            3 => Some(Self::Metadata(low)),
            4 => Some(Self::Type(TypeId(low))),
            5 => Some(Self::Attributes(low)),
            _ => None,
        }
    }

    /// Returns the entity that a link defines or refers to.
    pub fn of(link: Link) -> Option<Self> {
        let (Link::Definition(number) | Link::Reference(number)) = link;
        Self::from_number(number)
    }

    #[inline(always)]
    pub(super) fn definition(self) -> Option<Link> {
        Some(Link::Definition(self.number()))
    }

    #[inline(always)]
    pub(super) fn reference(self) -> Option<Link> {
        Some(Link::Reference(self.number()))
    }
}

/// Returns the link of a value with a cached text: symbols and the function's own values have one, constants do
/// not.
#[inline(always)]
pub(super) fn of_value(cached: CachedText, function: u32, id: ValueId) -> Option<Link> {
    match cached.kind {
        TokenKind::Register => Entity::Value { function, id }.reference(),
        TokenKind::Variable | TokenKind::Function => Entity::Symbol(id).reference(),
        _ => None,
    }
}
