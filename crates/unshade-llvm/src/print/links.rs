//! What the links of tokens stand for.
//!
//! A [`Link`] carries a number that means something only within one listing. The printer makes it of what it refers
//! to, so that a reader of tokens can tell one kind from another, and go on in the model: the lowest 32 bits are the
//! number of the thing, the highest three its kind, those in between the function whose value or block it is.

use super::symbols::Cached;
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
    /// A basic block of a function. A block that has no label in the text is defined by a token without text.
    Block {
        /// The function, as an index into [`crate::Module::functions`].
        function: u32,
        /// The block.
        id: BlockId,
    },
    /// A global variable, function or alias.
    Symbol(ValueId),
    /// A node of metadata, by its number in the text.
    Metadata(u32),
    /// A type. Only structs with a name are defined somewhere; [`crate::TypeTable::named_struct`] finds the one that
    /// a pointer or array is made of.
    Type(TypeId),
    /// A group of attributes, by its number in the text.
    Attributes(u32),
}

/// Functions past this number share links, which no file that fits into memory has.
const FUNCTIONS: u64 = (1 << 29) - 1;

impl Entity {
    /// The number that links carry.
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
        kind << 61 | (u64::from(function) & FUNCTIONS) << 32 | u64::from(number)
    }

    /// What a link's number stands for.
    pub fn from_number(number: u64) -> Option<Self> {
        let function = (number >> 32 & FUNCTIONS) as u32;
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

    /// What a link of a listing defines or refers to.
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

/// The link of a value whose text was made: symbols and the function's own values have one, constants none.
#[inline(always)]
pub(super) fn of_value(cached: Cached, function: u32, id: ValueId) -> Option<Link> {
    match cached.kind {
        TokenKind::Register => Entity::Value { function, id }.reference(),
        TokenKind::Variable | TokenKind::Function => Entity::Symbol(id).reference(),
        _ => None,
    }
}
