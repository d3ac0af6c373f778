//! C, HLSL and Metal as tokens: kinds for colour, and links between a name's declaration and its uses.
//!
//! The decompiler writes lines of text. They are split by the lexical grammar of C: comments, strings, numbers, names, and
//! punctuation. A name before another name is a type. A name is declared where it follows a type, stars between them, or
//! a comma of a declaration; a label where a statement begins with it and a colon follows. All names of a function are
//! different (the decompiler sees to it), so that a name is an entity, up to the end of its function.
//!
//! In HLSL, the names after the colon of a declaration are semantics, and members of `cbuffer` are global. In Metal, words in
//! double brackets are attributes.

use super::language::Language;
use super::lexeme::{Lexeme, is_name_start, next};
use super::recorder::Recorder;
use std::collections::HashMap;
use std::ops::Range;
use unshade_core::token::Link;
use unshade_core::{Token, TokenKind, TokenSink};

/// Writes lines of code.
pub(super) struct CodeText<'t> {
    language: Language,
    recorder: &'t mut Recorder,
    names: HashMap<String, u64>,
    /// Those that were declared.
    declared: Vec<bool>,
    /// Those of the function.
    local: Vec<String>,
    state: State,
    /// The depth of braces.
    braces: u32,
    /// Whether the outermost braces are those of a constant buffer.
    is_buffer: bool,
    is_in_comment: bool,
    /// Whether it is between the double brackets of attributes.
    is_attribute: bool,
    /// Whether people wrote the text: names may have several meanings, and are not linked.
    is_source: bool,
}

/// What came before in the statement.
#[derive(Clone, Copy, Default)]
struct State {
    /// Whether it has begun.
    is_begun: bool,
    /// The depth of parentheses of the names that it declares; none if it declares nothing.
    declares_at: Option<u32>,
    depth: u32,
    last: Last,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    Type,
    /// The `<` after a type, or what follows it.
    Argument,
    /// `struct`, whose name follows.
    Struct,
    /// A name that was declared, or its parameters.
    Declared,
    /// The colon after it.
    Colon,
    /// `register` or `packoffset`, or what is in its parentheses.
    Register,
    Comma,
    Goto,
    /// `.` or `->`: what follows is a field.
    Dot,
    #[default]
    Other,
}

impl<'t> CodeText<'t> {
    pub(super) fn new(language: Language, recorder: &'t mut Recorder) -> Self {
        Self {
            language,
            recorder,
            names: HashMap::new(),
            declared: Vec::new(),
            local: Vec::new(),
            state: State::default(),
            braces: 0,
            is_buffer: false,
            is_in_comment: false,
            is_attribute: false,
            is_source: false,
        }
    }

    /// Writes a source that people wrote.
    pub(super) fn of_source(language: Language, recorder: &'t mut Recorder) -> Self {
        Self { is_source: true, ..Self::new(language, recorder) }
    }

    /// Says which bytes the next line came of.
    pub(super) fn sources(&mut self, ranges: &[Range<u64>]) {
        let (first, others) =
            ranges.split_first().map_or((0..0, &[][..]), |(first, others)| (first.clone(), others));
        self.recorder.source(first);
        others.iter().for_each(|range| self.recorder.also(range.clone()));
    }

    /// Writes a line and ends it.
    pub(super) fn line(&mut self, line: &str) {
        self.is_attribute = false;
        let is_directive = (self.language == Language::Metal || self.is_source) && line.starts_with('#');
        let mut rest = if is_directive {
            self.recorder.put(TokenKind::Attribute, line);
            ""
        } else {
            line
        };
        while let Some((kind, length)) = next(rest, self.is_in_comment) {
            let (text, after) = rest.split_at(length);
            rest = after;
            self.piece(kind, text, after);
        }
        self.recorder.put(TokenKind::Space, "\n");
    }

    fn piece(&mut self, kind: Lexeme, text: &str, after: &str) {
        match kind {
            Lexeme::Space => self.recorder.put(TokenKind::Space, text),
            Lexeme::Comment => {
                self.is_in_comment = !text.starts_with("//") && !text.ends_with("*/");
                self.recorder.put(TokenKind::Comment, text);
            }
            Lexeme::String => self.other(TokenKind::String, text),
            Lexeme::Number => self.other(TokenKind::Number, text),
            Lexeme::Mark => self.mark(text, after),
            Lexeme::Word => self.word(text, after),
        }
    }

    fn other(&mut self, kind: TokenKind, text: &str) {
        self.state.is_begun = true;
        self.state.last = if self.state.last == Last::Argument { Last::Argument } else { Last::Other };
        self.recorder.put(kind, text);
    }

    fn mark(&mut self, text: &str, after: &str) {
        let State { depth, last, .. } = self.state;
        if self.language == Language::Metal && (text == "[" || text == "]") && after.starts_with(text) {
            self.is_attribute = text == "[";
        }
        if self.is_attribute {
            return self.recorder.put(TokenKind::Punctuation, text);
        }
        match text {
            ";" if depth == 0 => self.state = State::default(),
            "{" => {
                self.braces = self.braces.saturating_add(1);
                self.state = State::default();
            }
            "}" => {
                self.braces = self.braces.saturating_sub(1);
                if self.braces == 0 {
                    self.end_scope();
                }
                self.state = State::default();
            }
            "(" | "," | "." if last == Last::Register => {}
            ")" if last == Last::Register => self.state.last = Last::Other,
            "(" => self.state = State { depth: depth.saturating_add(1), last: Last::Other, ..self.state },
            ")" => {
                // The semantic of a result follows the parameters.
                let is_outside = self.braces == 0 && depth == 1;
                let last = if is_outside { Last::Declared } else { Last::Other };
                self.state = State { depth: depth.saturating_sub(1), last, ..self.state };
            }
            "<" if last == Last::Type => self.state.last = Last::Argument,
            ">" if last == Last::Argument => self.state.last = Last::Type,
            "," if last == Last::Argument => {}
            "," => self.state.last = Last::Comma,
            "*" if last == Last::Type => {}
            "[" | "]" if last == Last::Declared => {}
            ":" if last == Last::Declared && self.language == Language::Hlsl => self.state.last = Last::Colon,
            "." | "->" => self.state.last = Last::Dot,
            // After the colon of a label or a `case` a statement begins.
            ":" if depth == 0 => self.state = State::default(),
            _ => self.state.last = Last::Other,
        }
        self.recorder.put(TokenKind::Punctuation, text);
    }

    fn word(&mut self, word: &str, after: &str) {
        let State { is_begun, declares_at, depth, last } = self.state;
        self.state.is_begun = true;
        if self.is_attribute {
            return self.recorder.put(TokenKind::Attribute, word);
        }
        if self.language == Language::Metal && after.starts_with("::") {
            return self.recorder.put(TokenKind::Type, word);
        }
        if matches!(last, Last::Colon | Last::Register) {
            let has_more = last == Last::Register || after.starts_with('(');
            self.state.last = if has_more { Last::Register } else { Last::Other };
            return self.recorder.put(TokenKind::Attribute, word);
        }
        let is_before_name = after.strip_prefix(' ').is_some_and(|rest| rest.starts_with(is_name_start));
        let is_keyword = self.language.is_keyword(word);
        if last == Last::Argument || self.language.is_type(word) || is_before_name && !is_keyword {
            self.state.last = if last == Last::Argument { last } else { Last::Type };
            self.state.declares_at = Some(depth);
            return self.recorder.put(TokenKind::Type, word);
        }
        if is_keyword {
            self.is_buffer |= word == "cbuffer" && self.braces == 0;
            self.state.last = match word {
                "goto" => Last::Goto,
                "cbuffer" => Last::Type,
                "struct" if self.language != Language::C => Last::Struct,
                _ => last,
            };
            // `for (int i`, `else x = 1;`: what follows begins anew; `const` and the like belong to the type.
            if matches!(word, "else" | "do") {
                self.state.is_begun = false;
            }
            return self.recorder.put(TokenKind::Keyword, word);
        }
        let next = after.trim_start().as_bytes();
        let is_label =
            last == Last::Goto || !is_begun && next.first() == Some(&b':') && next.get(1) != Some(&b':');
        let is_local = self.braces > 0 && !self.is_buffer || depth > 0;
        let is_declared = match last {
            Last::Type | Last::Struct => true,
            Last::Comma => declares_at == Some(depth),
            Last::Goto | Last::Dot => false,
            Last::Other | Last::Declared | Last::Argument | Last::Colon | Last::Register => is_label,
        };
        self.state.last = if is_declared && !is_label { Last::Declared } else { Last::Other };
        let kind = match next.first() {
            _ if is_label => TokenKind::Label,
            _ if last == Last::Struct => TokenKind::Type,
            Some(b'(') => TokenKind::Function,
            _ => TokenKind::Variable,
        };
        let link = (last != Last::Dot && !self.is_source).then(|| self.link(word, is_declared));
        if is_local && matches!(link, Some(Link::Definition(_))) {
            self.local.push(word.to_owned());
        }
        self.recorder.token(Token { kind, text: word, link });
    }

    /// Forgets the names of a function.
    fn end_scope(&mut self) {
        for name in self.local.drain(..) {
            self.names.remove(&name);
        }
        self.is_buffer = false;
    }

    fn link(&mut self, name: &str, is_declared: bool) -> Link {
        let number = match self.names.get(name) {
            Some(number) => *number,
            None => {
                let number = self.declared.len() as u64;
                self.names.insert(name.to_owned(), number);
                self.declared.push(false);
                number
            }
        };
        let slot = usize::try_from(number).ok().and_then(|number| self.declared.get_mut(number));
        match slot {
            Some(slot) if is_declared && !*slot => {
                *slot = true;
                Link::Definition(number)
            }
            _ => Link::Reference(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each name of C with its kind and whether it is declared there, a line each.
    fn names(text: &str) -> Vec<String> {
        names_in(Language::C, text)
    }

    fn names_in(language: Language, text: &str) -> Vec<String> {
        let mut recorder = Recorder::default();
        let mut c = CodeText::new(language, &mut recorder);
        text.lines().for_each(|line| c.line(line));
        let lines = recorder.finish();
        assert_eq!(lines.text(), text);
        let shown = (0..lines.len()).map(|line| {
            let tokens = lines.line(line).tokens.into_iter();
            let linked = tokens.filter_map(|token| match token {
                super::super::TokenEntry::Linked(kind, text, link) => {
                    Some(format!("{}{text}:{}", if link < 0 { "*" } else { "" }, &kind[..3]))
                }
                super::super::TokenEntry::Plain(..) => None,
            });
            linked.collect::<Vec<_>>().join(" ")
        });
        shown.collect()
    }

    #[test]
    fn sources_have_colours_and_no_links() {
        let text = "#include <metal_stdlib>\nkernel void f(device float *p [[buffer(0)]])\n{\n\tp[0] = f(1.0f); // }\n}\n";
        let mut recorder = Recorder::default();
        let mut source = CodeText::of_source(Language::Metal, &mut recorder);
        text.lines().for_each(|line| source.line(line));
        let lines = recorder.finish();
        assert_eq!(lines.text(), text);
        let tokens: Vec<_> = (0..lines.len()).flat_map(|line| lines.line(line).tokens).collect();
        let kind = |wanted: &str| {
            tokens.iter().find_map(|token| match token {
                super::super::TokenEntry::Plain(kind, text) if text == wanted => Some(*kind),
                _ => None,
            })
        };
        assert_eq!(kind("#include <metal_stdlib>"), Some("attribute"));
        assert_eq!(kind("float"), Some("type"));
        assert_eq!(kind("// }"), Some("comment"));
        assert!(tokens.iter().all(|token| matches!(token, super::super::TokenEntry::Plain(..))));
    }

    #[test]
    fn names_are_declared_once_and_used() {
        let text = "__global__ void f(const int *p, float4 q)\n{\n    unsigned int u1, u5 = max(p[0], -3);\n    \
                    for (int i = 0; i < 2; i++)\n        u1 = q.x * (int)u5 + threadIdx.x;\n    if (u1) goto L1;\nL1:\n    \
                    return;\n}\n";
        assert_eq!(
            names(text),
            [
                "*f:fun *p:var *q:var",
                "",
                "*u1:var *u5:var max:fun p:var",
                "*i:var i:var i:var",
                "u1:var q:var u5:var threadIdx:var",
                "u1:var L1:lab",
                "*L1:lab",
                "",
                ""
            ]
        );
    }

    #[test]
    fn names_of_hlsl_are_those_of_their_function() {
        let text = "cbuffer C : register(b0)\n{\n    float4x4 m[2];\n};\nStructuredBuffer<Item> items : register(t0);\n\
                    struct Output\n{\n    float4 position : SV_Position;\n};\n\
                    Output main(float3 p : POSITION0, Item q) : SV_Target\n{\n    Output v0;\n    v0.position = m[0][1] * p.x;\n\
                    }\nvoid other(int p)\n{\n    float v0 = p;\n}\n";
        assert_eq!(
            names_in(Language::Hlsl, text),
            [
                "*C:var",
                "",
                "*m:var",
                "",
                "*items:var",
                "*Output:typ",
                "",
                "*position:var",
                "",
                "*main:fun *p:var *q:var",
                "",
                "*v0:var",
                "v0:var m:var p:var",
                "",
                "*other:fun *p:var",
                "",
                "*v0:var p:var",
                ""
            ]
        );
    }

    #[test]
    fn attributes_of_metal_are_no_names() {
        let text = "#include <metal_stdlib>\nstruct main_in\n{\n    float4 color [[user(c)]];\n};\n\
                    kernel void f(device float* data [[buffer(0)]], texture2d<float> t)\n{\n    float v0 = fast::exp(data[0]);\n\
                    \x20   packed_float3 v1 = main_in{}.x + atomic_load(data[v0]);\n}\n";
        assert_eq!(
            names_in(Language::Metal, text),
            [
                "",
                "*main_in:typ",
                "",
                "*color:var",
                "",
                "*f:fun *data:var *t:var",
                "",
                "*v0:var exp:fun data:var",
                "*v1:var main_in:var atomic_load:fun data:var v0:var",
                ""
            ]
        );
    }

    #[test]
    fn text_comes_back_whatever_it_is() {
        for text in [
            "x = 1e-3f + 0x1p+4 - .5;\n",
            "/* one\ntwo */ y\n",
            "a = \"\\\"b\" 'c\n",
            "s ? t : u; // é €\n",
            "\t@#\u{202e}\n",
            "a->b.c(d)\n",
        ] {
            names(text);
        }
        assert_eq!(next("1e-3f+2", false), Some((Lexeme::Number, 5)));
        assert_eq!(next("0x1e-3", false), Some((Lexeme::Number, 4)));
    }
}
