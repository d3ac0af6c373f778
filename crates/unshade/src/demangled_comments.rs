//! Listings in which mangled names are explained.
//!
//! Behind every line that names a mangled function or variable stands a comment with what the name means. What follows
//! `;` is a comment in LLVM assembly, so the text stays one that assemblers take.

use crate::demangle;
use std::collections::HashMap;
use unshade_core::escape::is_plain;
use unshade_core::{Token, TokenKind, TokenSink};
use unshade_llvm::Module;

/// Whether a module has names that would be explained; for others the plain listing is the same, and cheaper.
pub fn has_mangled_names(module: &Module<'_>) -> bool {
    let functions = module.functions.iter().map(|function| &function.symbol);
    let globals = module.globals.iter().map(|global| &global.symbol);
    let mut symbols = functions.chain(globals).chain(module.aliases.iter().map(|alias| &alias.symbol));
    symbols.any(|symbol| [&b"_Z"[..], b"?", b"\x01?"].iter().any(|mark| symbol.name.starts_with(mark)))
}

/// How many names of a line are explained.
const MAX_NAMES: usize = 4;

/// Passes tokens on, and adds comments at the ends of lines.
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
    /// The names of the line.
    names: Vec<String>,
    /// What names mean that were met: most are met often.
    known: HashMap<String, Option<String>>,
}

impl<'s, S: TokenSink> DemangledComments<'s, S> {
    /// Passes tokens on to a sink.
    pub fn new(sink: &'s mut S) -> Self {
        Self { sink, names: Vec::new(), known: HashMap::new() }
    }

    /// A token that may be a name or the end of a line with names.
    #[inline(never)]
    fn unusual(&mut self, token: Token<'_>) {
        if !self.names.is_empty()
            && let Some(at) = token.text.find('\n')
        {
            return self.end_line(token, at);
        }
        if matches!(token.kind, TokenKind::Function | TokenKind::Variable) && token.text.starts_with("@") {
            self.note(token.text);
        }
        self.sink.token(token);
    }

    fn note(&mut self, symbol: &str) {
        // Names in quotes hold characters that mangled names of C++ do not have, or escapes of them.
        let Some(name) = symbol.strip_prefix("@").map(|name| name.trim_matches('"')) else { return };
        // The byte in front of names of DirectX libraries is written as an escape.
        let name = name.strip_prefix("\\01").unwrap_or(name);
        if !name.starts_with("_Z") && !name.starts_with('?') || self.names.len() >= MAX_NAMES {
            return;
        }
        if !self.known.contains_key(name) {
            let meaning = demangle(name.as_bytes()).filter(|meaning| meaning.chars().all(is_plain));
            self.known.insert(name.to_owned(), meaning);
        }
        if let Some(Some(meaning)) = self.known.get(name)
            && !self.names.contains(meaning)
        {
            self.names.push(meaning.clone());
        }
    }

    /// Writes the comment in front of the end of the line that a token holds.
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
    // Inlined into the printer, which knows the kinds of most tokens, little of this is left.
    #[inline(always)]
    fn token(&mut self, token: Token<'_>) {
        if matches!(token.kind, TokenKind::Function | TokenKind::Variable) || !self.names.is_empty() {
            return self.unusual(token);
        }
        self.sink.token(token);
    }

    fn source(&mut self, range: core::ops::Range<u64>) {
        self.sink.source(range);
    }

    fn wants_sources(&self) -> bool {
        self.sink.wants_sources()
    }

    fn mark(&self) -> usize {
        self.sink.mark()
    }

    fn truncate(&mut self, mark: usize) {
        self.names.clear();
        self.sink.truncate(mark);
    }

    /// What is put in late is a list of types, which has no mangled names of functions.
    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        self.sink.insert(mark, write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(tokens: &[(TokenKind, &str)]) -> String {
        let mut text = String::new();
        let mut sink = DemangledComments::new(&mut text);
        tokens.iter().for_each(|(kind, text)| sink.put(*kind, text));
        text
    }

    #[test]
    fn once_a_line() {
        let name = (TokenKind::Function, "@_Z1fv");
        let text = explained(&[name, (TokenKind::Space, " "), name, (TokenKind::Punctuation, "{\n  ")]);
        assert_eq!(text, "@_Z1fv @_Z1fv{  ; f()\n  ");
    }

    #[test]
    fn other_names_are_left_alone() {
        assert_eq!(
            explained(&[(TokenKind::Function, "@\"\\01?f@n@@YAXXZ\""), (TokenKind::Punctuation, "\n")]),
            "@\"\\01?f@n@@YAXXZ\"  ; n::f\n"
        );
        for name in ["@kernel", "@_Z", "@\"_Z 1\"", "%_Z1fv"] {
            let text = explained(&[(TokenKind::Function, name), (TokenKind::Punctuation, "\n")]);
            assert_eq!(text, format!("{name}\n"));
        }
        assert_eq!(explained(&[(TokenKind::String, "@_Z1fv"), (TokenKind::Space, "\n")]), "@_Z1fv\n");
    }
}
