//! Text as a stream of tokens.
//!
//! Printers (signatures, disassembly, decompiled code) emit tokens, never colour codes, so that one printer serves
//! plain text, a terminal, JSON and a page. The model is `wasmprinter`'s `Print`.

use alloc::string::String;
use core::ops::Range;

/// What a token is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenKind {
    /// White space, including line ends.
    Space,
    /// Brackets, commas and the like.
    Punctuation,
    /// A word of the language, an instruction's mnemonic.
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

/// A word that a token refers to or defines, for "go to definition" and "highlight all uses". The numbers are given
/// out by the printer and mean something only within one listing.
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
    /// What it is.
    pub kind: TokenKind,
    /// Its text. Safe to show: names from files are escaped by the printer.
    pub text: &'a str,
    /// What it defines or refers to.
    pub link: Option<Link>,
}

/// Takes the tokens of a listing, in order.
pub trait TokenSink {
    /// The next token.
    fn token(&mut self, token: Token<'_>);

    /// The tokens from here on were decoded from these bytes of the file; from none of them, if the range is empty.
    fn source(&mut self, range: Range<u64>) {
        let _ = range;
    }

    /// How much was taken so far: a place for [`TokenSink::insert`].
    fn mark(&self) -> usize;

    /// Forgets what was taken since a mark.
    fn truncate(&mut self, mark: usize);

    /// Takes tokens that belong at a mark, before what was put since then: some listings have a head that depends on
    /// what follows it.
    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink));

    /// Whether [`TokenSink::source`] is to be called at all: printers need not find out what nobody wants.
    fn wants_sources(&self) -> bool {
        false
    }

    /// Whether it keeps nothing but the text of tokens: printers may then give many as one.
    fn is_plain_text(&self) -> bool {
        false
    }

    /// A token without a link.
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

/// What a sink takes, a reference to it takes.
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
