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

    /// Declares that nothing received so far will be truncated, and nothing will be inserted into it.
    fn settle(&mut self) {}

    /// Returns whether the sink passes text on when it is settled. Printers then find out first what they would otherwise
    /// insert later.
    fn is_streamed(&self) -> bool {
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

/// Plain text that is passed on in chunks, so that it takes little memory.
///
/// ```
/// use unshade_core::token::{StreamedText, TokenKind, TokenSink};
///
/// let mut whole = String::new();
/// let mut write = |text: &str| whole.push_str(text);
/// let mut sink = StreamedText::new(&mut write);
/// for _ in 0..100_000 {
///     sink.put(TokenKind::Text, "word ");
///     sink.settle();
/// }
/// sink.finish();
/// assert_eq!(whole.len(), 500_000);
/// ```
pub struct StreamedText<'w> {
    write: &'w mut dyn FnMut(&str),
    /// The text that was not passed on yet.
    text: String,
    /// The length of the text that was.
    passed: usize,
}

impl<'w> StreamedText<'w> {
    /// The size of a chunk, if no single token or function is larger.
    const CHUNK: usize = 1 << 16;

    /// Creates a text that is passed to a function.
    pub fn new(write: &'w mut dyn FnMut(&str)) -> Self {
        Self { write, text: String::with_capacity(2 * Self::CHUNK), passed: 0 }
    }

    /// Passes on the rest.
    pub fn finish(mut self) {
        self.pass();
    }

    fn pass(&mut self) {
        (self.write)(&self.text);
        self.passed = self.passed.saturating_add(self.text.len());
        self.text.clear();
    }
}

impl TokenSink for StreamedText<'_> {
    #[inline(always)]
    fn token(&mut self, token: Token<'_>) {
        self.text.push_str(token.text);
    }

    fn settle(&mut self) {
        if self.text.len() >= Self::CHUNK {
            self.pass();
        }
    }

    fn is_streamed(&self) -> bool {
        true
    }

    fn is_plain_text(&self) -> bool {
        true
    }

    fn mark(&self) -> usize {
        self.passed.saturating_add(self.text.len())
    }

    // Marks are not before text that was passed on, because that is settled.
    fn truncate(&mut self, mark: usize) {
        self.text.truncate(mark.saturating_sub(self.passed));
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        TokenSink::insert(&mut self.text, mark.saturating_sub(self.passed), write);
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

    fn settle(&mut self) {
        (**self).settle();
    }

    fn is_streamed(&self) -> bool {
        (**self).is_streamed()
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
