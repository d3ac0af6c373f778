//! Adds demangled names to listings.
//!
//! Every line with a mangled function or variable gets a comment with the demangled names. `;` starts a comment in LLVM
//! assembly, so assemblers still accept the text.

use crate::demangle;
use std::cell::RefCell;
use std::collections::HashMap;
use unshade_core::escape::is_plain;
use unshade_core::{Token, TokenKind, TokenSink};
use unshade_llvm::Module;

/// Returns whether a module has mangled names. For others the plain listing is the same, and cheaper.
pub fn has_mangled_names(module: &Module<'_>) -> bool {
    let functions = module.functions.iter().map(|function| &function.symbol);
    let globals = module.globals.iter().map(|global| &global.symbol);
    let mut symbols = functions.chain(globals).chain(module.aliases.iter().map(|alias| &alias.symbol));
    symbols.any(|symbol| [&b"_Z"[..], b"?", b"\x01?"].iter().any(|mark| symbol.name.starts_with(mark)))
}

/// Maximum number of demangled names in one comment.
const MAX_NAMES: usize = 4;

/// Maximum number of names whose demangled forms are kept.
const MAX_CACHED: usize = 2048;

/// Maximum length of such a name.
const MAX_CACHED_NAME: usize = 2048;

thread_local! {
    /// Demangled forms of names: most occur often, in one module and in many of a library.
    static CACHE: RefCell<HashMap<String, Option<String>>> = RefCell::default();
}

/// Returns the demangled form of a name.
fn meaning<'c>(name: &str, cache: &'c mut HashMap<String, Option<String>>) -> Option<&'c String> {
    if !cache.contains_key(name) {
        let meaning = demangle(name.as_bytes()).filter(|meaning| meaning.chars().all(is_plain));
        let is_long = name.len() > MAX_CACHED_NAME;
        if cache.len() >= MAX_CACHED || is_long {
            cache.clear();
        }
        cache.insert(name.to_owned(), meaning);
    }
    cache.get(name)?.as_ref()
}

/// Forwards tokens to another sink and adds a comment to each line with mangled names.
///
/// ```
/// use unshade::DemangledComments;
/// use unshade::core::{TokenKind, TokenSink};
///
/// let mut text = String::new();
/// let mut sink = DemangledComments::new(&mut text);
/// sink.put(TokenKind::Keyword, "call void ");
/// sink.put(TokenKind::Function, "@_ZN5tools3addEff");
/// sink.put(TokenKind::Punctuation, "()\n");
/// assert_eq!(text, "call void @_ZN5tools3addEff()  ; tools::add(float, float)\n");
/// ```
pub struct DemangledComments<'s, S> {
    sink: &'s mut S,
    /// Demangled names of the current line.
    names: Vec<String>,
}

impl<'s, S: TokenSink> DemangledComments<'s, S> {
    /// Creates a sink that forwards to `sink`.
    pub fn new(sink: &'s mut S) -> Self {
        Self { sink, names: Vec::new() }
    }

    /// Handles a token that may be a name or end a line with names.
    #[inline(never)]
    fn name_or_line_end(&mut self, token: Token<'_>) {
        if !self.names.is_empty()
            && let Some(at) = token.text.find('\n')
        {
            return self.end_line(token, at);
        }
        if matches!(token.kind, TokenKind::Function | TokenKind::Variable) && token.text.starts_with("@") {
            self.add_name(token.text);
        }
        self.sink.token(token);
    }

    fn add_name(&mut self, symbol: &str) {
        // Names with characters outside of identifiers are quoted.
        let Some(name) = symbol.strip_prefix("@").map(|name| name.trim_matches('"')) else { return };
        // The byte 1 before names of DirectX libraries is written as an escape.
        let name = name.strip_prefix("\\01").unwrap_or(name);
        if !name.starts_with("_Z") && !name.starts_with('?') || self.names.len() >= MAX_NAMES {
            return;
        }
        CACHE.with_borrow_mut(|cache| {
            if let Some(meaning) = meaning(name, cache)
                && !self.names.contains(meaning)
            {
                self.names.push(meaning.clone());
            }
        });
    }

    /// Writes the comment before the newline at byte `at` of a token.
    fn end_line(&mut self, token: Token<'_>, at: usize) {
        let (before, after) = token.text.split_at(at);
        if !before.is_empty() {
            self.sink.token(Token { text: before, ..token });
        }
        let comment = format!("  ; {}", self.names.join(", "));
        self.sink.put(TokenKind::Comment, &comment);
        self.names.clear();
        self.sink.token(Token { text: after, ..token });
    }
}

impl<S: TokenSink> TokenSink for DemangledComments<'_, S> {
    // The printer passes constant kinds, so that inlining removes most of this.
    #[inline(always)]
    fn token(&mut self, token: Token<'_>) {
        if matches!(token.kind, TokenKind::Function | TokenKind::Variable) || !self.names.is_empty() {
            return self.name_or_line_end(token);
        }
        self.sink.token(token);
    }

    fn source(&mut self, range: core::ops::Range<u64>) {
        self.sink.source(range);
    }

    fn wants_sources(&self) -> bool {
        self.sink.wants_sources()
    }

    fn settle(&mut self) {
        self.sink.settle();
    }

    fn is_streamed(&self) -> bool {
        self.sink.is_streamed()
    }

    fn mark(&self) -> usize {
        self.sink.mark()
    }

    fn truncate(&mut self, mark: usize) {
        self.names.clear();
        self.sink.truncate(mark);
    }

    // Only a list of types is inserted, which has no mangled function names.
    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        self.sink.insert(mark, write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_comments(tokens: &[(TokenKind, &str)]) -> String {
        let mut text = String::new();
        let mut sink = DemangledComments::new(&mut text);
        tokens.iter().for_each(|(kind, text)| sink.put(*kind, text));
        text
    }

    #[test]
    fn one_comment_per_name_and_line() {
        let name = (TokenKind::Function, "@_Z1fv");
        let text = with_comments(&[name, (TokenKind::Space, " "), name, (TokenKind::Punctuation, "{\n  ")]);
        assert_eq!(text, "@_Z1fv @_Z1fv{  ; f()\n  ");
    }

    #[test]
    fn other_names_are_left_alone() {
        assert_eq!(
            with_comments(&[(TokenKind::Function, "@\"\\01?f@n@@YAXXZ\""), (TokenKind::Punctuation, "\n")]),
            "@\"\\01?f@n@@YAXXZ\"  ; n::f\n"
        );
        for name in ["@kernel", "@_Z", "@\"_Z 1\"", "%_Z1fv"] {
            let text = with_comments(&[(TokenKind::Function, name), (TokenKind::Punctuation, "\n")]);
            assert_eq!(text, format!("{name}\n"));
        }
        assert_eq!(with_comments(&[(TokenKind::String, "@_Z1fv"), (TokenKind::Space, "\n")]), "@_Z1fv\n");
    }
}
