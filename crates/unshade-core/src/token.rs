//! Text as a stream of tokens.
//!
//! Printers (signatures, disassembly, decompiled code) emit tokens, never colour codes, so that one printer serves
//! plain text, a terminal, JSON and a web page. Modelled on `wasmprinter`'s `Print`.

use alloc::string::String;
use core::ops::Range;

/// The category of a token, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenKind {
    /// White space, including line ends.
    Space,
    /// Brackets, commas and the like.
    Punctuation,
    /// A keyword, or the mnemonic of an instruction.
    Keyword,
    /// A type's name.
    Type,
    /// The name of a function.
    Function,
    /// The name of a variable, parameter or field.
    Variable,
    /// A register or a numbered value.
    Register,
    /// A label or block name.
    Label,
    /// An attribute or modifier.
    Attribute,
    /// A number.
    Number,
    /// A string in quotes.
    String,
    /// An address or offset.
    Address,
    /// A comment.
    Comment,
    /// Anything else.
    Text,
}

/// The entity that a token defines or refers to, for "go to definition" and "highlight all uses". The printer assigns
/// the numbers; they are valid within one listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// The token defines this entity.
    Definition(u64),
    /// The token refers to this entity.
    Reference(u64),
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// The category.
    pub kind: TokenKind,
    /// The text, safe to show: the printer escapes names that come from files.
    pub text: &'a str,
    /// The entity that it defines or refers to.
    pub link: Option<Link>,
}

/// Receives the tokens of a listing, in order.
pub trait TokenSink {
    /// Receives the next token.
    fn token(&mut self, token: Token<'_>);

    /// Declares that the tokens from here on were decoded from these bytes of the file; from no bytes if the range is
    /// empty.
    fn source(&mut self, range: Range<u64>) {
        let _ = range;
    }

    /// Returns the current position, for [`TokenSink::insert`] and [`TokenSink::truncate`].
    fn mark(&self) -> usize;

    /// Drops everything received after a mark.
    fn truncate(&mut self, mark: usize);

    /// Inserts tokens at a mark, before everything received after it: the head of some listings depends on what
    /// follows.
    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink));

    /// Returns whether [`TokenSink::source`] should be called at all, so that printers can skip computing ranges.
    fn wants_sources(&self) -> bool {
        false
    }

    /// Returns whether only the text of tokens is kept. Printers may then merge several tokens into one.
    fn is_plain_text(&self) -> bool {
        false
    }

    /// Emits a token without a link.
    #[inline(always)]
    fn put(&mut self, kind: TokenKind, text: &str) {
        self.token(Token { kind, text, link: None });
    }
}

/// Plain text.
///
/// ```
/// use unshade_core::{TokenKind, TokenSink};
///
/// let mut text = String::new();
/// text.put(TokenKind::Type, "float");
/// text.put(TokenKind::Space, " ");
/// text.put(TokenKind::Variable, "x");
/// assert_eq!(text, "float x");
/// ```
impl TokenSink for String {
    #[inline(always)]
    fn token(&mut self, token: Token<'_>) {
        self.push_str(token.text);
    }

    fn is_plain_text(&self) -> bool {
        true
    }

    fn mark(&self) -> usize {
        self.len()
    }

    fn truncate(&mut self, mark: usize) {
        String::truncate(self, mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let mut part = String::new();
        write(&mut part);
        self.insert_str(mark, &part);
    }
}

impl<S: TokenSink + ?Sized> TokenSink for &mut S {
    fn token(&mut self, token: Token<'_>) {
        (**self).token(token);
    }

    fn source(&mut self, range: Range<u64>) {
        (**self).source(range);
    }

    fn wants_sources(&self) -> bool {
        (**self).wants_sources()
    }

    fn is_plain_text(&self) -> bool {
        (**self).is_plain_text()
    }

    fn mark(&self) -> usize {
        (**self).mark()
    }

    fn truncate(&mut self, mark: usize) {
        (**self).truncate(mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        (**self).insert(mark, write);
    }
}
