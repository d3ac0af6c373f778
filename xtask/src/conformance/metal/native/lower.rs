//! Changes a source of Metal where macros can't make it C++. `tests/metal/include` does the rest.
//!
//! | in Metal | becomes |
//! |---|---|
//! | `[[…]]` | nothing; attributes may begin with a qualifier |
//! | `constant T x [[function_constant(n)]]` | `constant T x = host_function_constant{n}` |
//! | `template [[host_name("x")]] … f<T>;` | nothing, but `f<T>` is the kernel of that name |
//! | `threadgroup T x[n];` in a function | `HOST_THREADGROUP_VARIABLE T x[n];` |
//! | qualifiers after parameters, `f() const thread` | nothing |
//! | a function that differs from an earlier one in address spaces only | nothing |
//!
//! The text is a list of tokens; declarations are found by their brackets and semicolons.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The address spaces, which are one on the host.
const SPACES: [&str; 7] =
    ["device", "constant", "thread", "threadgroup", "threadgroup_imageblock", "ray_data", "object_data"];

/// A source for clang.
#[derive(Default)]
pub(super) struct Lowered {
    pub(super) text: String,
    /// Kernels that are instances of templates, by their names.
    pub(super) instances: BTreeMap<String, String>,
}

/// Lowers a source without macros of its own in the places above.
pub(super) fn lower(source: &str) -> Lowered {
    let mut lowering = Lowering { tokens: tokens(source), instances: BTreeMap::new() };
    lowering.attributes();
    let all = 0..lowering.tokens.len();
    lowering.scope(all);
    Lowered { text: wide_vectors(&lowering.tokens.concat()), instances: lowering.instances }
}

/// Replaces vectors of a type that is a class on the host.
fn wide_vectors(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let declared =
            line.strip_prefix("typedef bfloat ").and_then(|rest| rest.split_once(" __attribute__"));
        let lanes = declared.and_then(|(name, _)| Some((name, name.rsplit_once('_')?.1)));
        match lanes {
            Some((name, lanes)) if line.contains("ext_vector_type") => {
                format!("typedef wide_vector<bfloat, {lanes}> {name};\n")
            }
            _ => line.to_owned(),
        }
    });
    lines.collect()
}

/// Splits a text into words, numbers, strings, lines of the preprocessor, single characters, and what is between them.
fn tokens(source: &str) -> Vec<String> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &source[at..];
        let length = match bytes[at] {
            b'#' => line_end(rest),
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            quote @ (b'"' | b'\'') => string_end(rest.as_bytes(), quote),
            byte if byte.is_ascii_whitespace() => {
                rest.find(|c: char| !c.is_ascii_whitespace()).unwrap_or(rest.len())
            }
            byte if is_word(char::from(byte)) => rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        tokens.push(rest[..length].to_owned());
        at += length;
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_name(token: &str) -> bool {
    token.starts_with(is_word)
}

/// Returns where a line of the preprocessor ends, which may go on after a backslash.
fn line_end(text: &str) -> usize {
    let mut at = 0;
    loop {
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
        if !text[..end].ends_with('\\') || end == text.len() {
            return end;
        }
        at = end + 1;
    }
}

fn string_end(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != quote {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// Whether a token is only room: white space, a comment, or a line of the preprocessor.
fn is_room(token: &str) -> bool {
    token.trim().is_empty() || token.starts_with("//") || token.starts_with("/*") || token.starts_with('#')
}

struct Lowering {
    tokens: Vec<String>,
    instances: BTreeMap<String, String>,
}

impl Lowering {
    fn token(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", String::as_str)
    }

    /// Returns the first token at or after `at` that is no room.
    fn next(&self, mut at: usize) -> usize {
        while at < self.tokens.len() && is_room(&self.tokens[at]) {
            at += 1;
        }
        at
    }

    /// Returns the last token before `at` that is no room.
    fn previous(&self, at: usize) -> Option<usize> {
        (0..at).rev().find(|&before| !is_room(&self.tokens[before]))
    }

    /// Returns the position of the bracket that closes the one at `at`.
    fn closing(&self, at: usize) -> usize {
        let mut depth = 0_i32;
        for (place, token) in self.tokens.iter().enumerate().skip(at) {
            match token.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return place;
            }
        }
        self.tokens.len()
    }

    fn clear(&mut self, range: Range<usize>) {
        let end = range.end.min(self.tokens.len());
        for token in &mut self.tokens[range.start.min(end)..end] {
            token.clear();
        }
    }

    /// Takes out attributes, and what they say of function constants and instances.
    fn attributes(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            if self.token(at) == "template" && self.token(self.next(at + 1)) != "<" {
                at = self.instance(at);
            } else if self.token(at) == "[" && self.token(at + 1) == "[" {
                let end = self.closing(at) + 1;
                let words: Vec<&str> = self.tokens[at..end.min(self.tokens.len())]
                    .iter()
                    .map(String::as_str)
                    .filter(|token| !is_room(token))
                    .collect();
                let constant = match words.as_slice() {
                    [.., "function_constant", "(", index, ")", "]", "]"] => {
                        index.parse::<u32>().ok().map(|index| format!("= host_function_constant{{{index}}}"))
                    }
                    _ => None,
                };
                self.clear(at..end);
                self.tokens[at] = constant.unwrap_or_default();
                at = end;
            } else {
                at += 1;
            }
        }
    }

    /// Notes and takes out an instantiation with a name. Returns what follows it.
    fn instance(&mut self, start: usize) -> usize {
        let end = (start..self.tokens.len()).find(|&at| self.token(at) == ";").unwrap_or(self.tokens.len());
        let mut at = start + 1;
        let mut name = None;
        let mut words: Vec<String> = Vec::new();
        while at < end {
            if self.token(at) == "[" && self.token(at + 1) == "[" {
                let close = self.closing(at) + 1;
                let strings = self.tokens[at..close.min(end)].iter().filter(|token| token.starts_with('"'));
                let joined: String = strings.map(|token| token.trim_matches('"')).collect();
                name = name.or((!joined.is_empty()).then_some(joined));
                at = close;
            } else {
                words.push(self.token(at).to_owned());
                at += 1;
            }
        }
        let Some(name) = name else { return start + 1 };
        let text = words.concat();
        self.instances.insert(name, instance_of(&text));
        self.clear(start..end + 1);
        end + 1
    }

    /// Goes through the declarations of a file, a namespace or a structure.
    fn scope(&mut self, range: Range<usize>) {
        let mut seen = BTreeSet::new();
        let mut at = range.start;
        while at < range.end {
            at = self.declaration(at, range.end, &mut seen);
        }
    }

    /// Handles the declaration at `start`, and returns what follows it.
    fn declaration(&mut self, start: usize, end: usize, seen: &mut BTreeSet<String>) -> usize {
        let mut at = start;
        while at < end {
            match self.token(at) {
                "(" | "[" => at = self.closing(at),
                ";" => {
                    self.trailing(start..at);
                    return at + 1;
                }
                // Access specifiers, and labels.
                ":" if self.is_access(start, at) => return at + 1,
                "{" => {
                    let close = self.closing(at);
                    return self.braced(start, at, close, end, seen);
                }
                "}" => return at + 1,
                _ => {}
            }
            at += 1;
        }
        end
    }

    fn is_access(&self, start: usize, at: usize) -> bool {
        let first = self.next(start);
        ["public", "private", "protected"].contains(&self.token(first)) && self.next(first + 1) == at
    }

    fn braced(
        &mut self,
        start: usize,
        open: usize,
        close: usize,
        end: usize,
        seen: &mut BTreeSet<String>,
    ) -> usize {
        let head = start..open;
        let has = |word: &str| self.tokens[head.clone()].iter().any(|token| token == word);
        let has_parameters = has("(");
        if has("namespace") || (has("extern") && !has_parameters) {
            self.scope(open + 1..close);
            return close + 1;
        }
        let is_type = ["struct", "class", "union"].iter().any(|word| has(word));
        if is_type && !self.is_function(head.clone()) {
            if has("template") && !seen.insert(self.signature(head)) {
                let semicolon = self.next(close + 1);
                self.clear(start..semicolon + 1);
                return semicolon + 1;
            }
            self.scope(open + 1..close);
            return self.declaration(close + 1, end, &mut BTreeSet::new());
        }
        if !self.is_function(head.clone()) {
            // An initializer, or an enumeration.
            return self.declaration(close + 1, end, &mut BTreeSet::new());
        }
        // Members that are initialized with braces come before the body.
        let after = self.next(close + 1);
        if [",", "{"].contains(&self.token(after)) {
            let body = (after..end).find(|&at| self.token(at) == "{").unwrap_or(end);
            return self.braced(start, body, self.closing(body), end, seen);
        }
        if !seen.insert(self.signature(head.clone())) {
            self.clear(start..close + 1);
            return close + 1;
        }
        self.trailing(head);
        self.body(open + 1..close);
        close + 1
    }

    /// Whether the head of a declaration has parameters: parentheses after a name, outside of an initializer.
    fn is_function(&self, head: Range<usize>) -> bool {
        self.parameters(head).is_some()
    }

    /// Returns the parentheses of the parameters.
    fn parameters(&self, head: Range<usize>) -> Option<Range<usize>> {
        let (mut at, mut angles) = (head.start, 0_i32);
        while at < head.end {
            match self.token(at) {
                "<" => angles += 1,
                ">" => angles -= 1,
                "=" if angles <= 0 => return None,
                "(" if angles <= 0 => {
                    let close = self.closing(at);
                    let name = self.previous(at).map_or("", |before| self.token(before));
                    // `operator()(…)`, and attributes.
                    if name == "operator" || name.starts_with("__attribute") || name == "alignas" {
                        at = close;
                    } else {
                        return Some(at..close + 1);
                    }
                }
                "(" => at = self.closing(at),
                // Operators such as `<` and `+=` are no brackets and no initializers.
                "operator" => {
                    while at + 1 < head.end
                        && !["(", ""].contains(&self.token(at + 1))
                        && !is_name(self.token(at + 1))
                    {
                        at += 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// Returns the head of a function up to its parameters, without address spaces.
    fn signature(&self, head: Range<usize>) -> String {
        let mut end = self.parameters(head.clone()).map_or(head.end, |parameters| parameters.end);
        let next = self.next(end);
        if next < head.end && self.token(next) == "const" {
            end = next + 1;
        }
        let words = self.tokens[head.start..end].iter().map(String::as_str);
        words.filter(|word| !is_room(word) && !SPACES.contains(word)).collect::<Vec<_>>().join(" ")
    }

    /// Takes out address spaces after parameters.
    fn trailing(&mut self, head: Range<usize>) {
        let Some(parameters) = self.parameters(head.clone()) else { return };
        let mut at = parameters.end;
        while at < head.end && !["{", ":", "="].contains(&self.token(at)) {
            if SPACES.contains(&self.token(at)) {
                self.tokens[at].clear();
            }
            at += 1;
        }
    }

    /// Makes variables of threadgroups static.
    fn body(&mut self, range: Range<usize>) {
        for at in range {
            if self.token(at) == "threadgroup" && self.starts_statement(at) && self.is_variable(at) {
                "HOST_THREADGROUP_VARIABLE".clone_into(&mut self.tokens[at]);
            }
        }
    }

    fn starts_statement(&self, at: usize) -> bool {
        match self.previous(at).map(|before| self.token(before)) {
            None | Some("{" | "}" | ";") => true,
            Some("const" | "volatile") => {
                self.previous(at).is_some_and(|before| self.starts_statement(before))
            }
            _ => false,
        }
    }

    /// Whether the declaration at `at` is of a value, not of a pointer or a reference.
    fn is_variable(&self, at: usize) -> bool {
        let (mut at, mut angles) = (at + 1, 0_i32);
        loop {
            match self.token(at) {
                "" if at >= self.tokens.len() => return false,
                "<" => angles += 1,
                ">" => angles -= 1,
                "*" | "&" if angles == 0 => return false,
                "(" if self.previous(at).is_some_and(|before| self.token(before) == "alignas") => {
                    at = self.closing(at);
                }
                ";" | "=" | "[" | "{" | "(" | "," if angles == 0 => return true,
                _ => {}
            }
            at += 1;
        }
    }
}

/// Returns an expression for what an instantiation declares: `decltype(f<T>) f<T>`, or `void f<T>(…)`, whose parameters may
/// give the rest of its arguments.
fn instance_of(text: &str) -> String {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("decltype") {
        let end = outside(rest, ')', '(', ')');
        return end.map_or(rest, |end| &rest[end + 1..]).trim().to_owned();
    }
    let name = text.trim_start_matches("kernel").trim_start().trim_start_matches("void").trim_start();
    match outside(name, '(', '<', '>') {
        Some(at) => format!("static_cast<void (*){}>({})", name[at..].trim(), name[..at].trim()),
        None => name.to_owned(),
    }
}

/// Returns where a character is outside of brackets; the closing bracket itself counts as outside.
fn outside(text: &str, wanted: char, open: char, close: char) -> Option<usize> {
    let mut depth = 0_i32;
    text.find(|c| {
        depth += i32::from(c == open) - i32::from(c == close);
        c == wanted && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::lower;

    fn text(source: &str) -> String {
        lower(source).text
    }

    #[test]
    fn attributes_go() {
        assert_eq!(
            text("[[kernel]] void f(threadgroup int* x [[threadgroup(0)]]);"),
            " void f(threadgroup int* x );"
        );
        assert_eq!(
            text("typedef bfloat vector_bfloat_8 __attribute__((ext_vector_type(8)));\n"),
            "typedef wide_vector<bfloat, 8> vector_bfloat_8;\n"
        );
        let constant = "constant bool b [[function_constant(3)]];";
        assert_eq!(text(constant), "constant bool b = host_function_constant{3};");
        assert_eq!(text("void f(int a [[function_constant(b)]]);"), "void f(int a );");
    }

    #[test]
    fn instances_have_names() {
        let source = "template [[host_name(\"a\" \"b\")]] [[kernel]] decltype(f<int, 2>) f<int, 2>; int x;\n\
                      template [[host_name(\"c\")]] kernel void g<float>(device float*);";
        let lowered = lower(source);
        assert_eq!(lowered.instances["ab"], "f<int, 2>");
        assert_eq!(lowered.instances["c"], "static_cast<void (*)(device float*)>(g<float>)");
        assert_eq!(lowered.text.trim(), "int x;");
        assert_eq!(text("template struct A<int>;"), "template struct A<int>;");
    }

    #[test]
    fn variables_of_threadgroups_are_static() {
        let source = "void f() { threadgroup float x[4]; threadgroup float* p = x; { threadgroup A<1> y; } }";
        let expected = "void f() { HOST_THREADGROUP_VARIABLE float x[4]; threadgroup float* p = x; \
                        { HOST_THREADGROUP_VARIABLE A<1> y; } }";
        assert_eq!(text(source), expected);
    }

    #[test]
    fn overloads_by_address_space_are_one() {
        let source = "struct A { A() thread : x(0) {} A() threadgroup : x(0) {} int f() const device; \
                      operator float() const thread { return 0; } operator float() const device { return 1; } };";
        let expected = "struct A { A()  : x(0) {} int f() const ; operator float() const  { return 0; } };";
        assert_eq!(text(source), expected);
        assert_eq!(
            text("int f(device int* a) { return 1; } int f(thread int* a) { return 2; }")
                .matches("return")
                .count(),
            1
        );
        let operators = "A& operator+=(device A& a) { return a; } A& operator+=(thread A& a) { return a; }";
        assert_eq!(text(operators).trim(), "A& operator+=(device A& a) { return a; }");
        let structures =
            "template <class T> struct A<device T*> {}; template <class T> struct A<thread T*> {};";
        assert_eq!(text(structures).trim(), "template <class T> struct A<device T*> {};");
        let different = "int f(device int* a) { return 1; } int f(device uint* a) { return 2; }";
        assert_eq!(text(different), different);
    }

    #[test]
    fn other_text_stays() {
        for source in [
            "enum class E { a, b }; static constexpr int x[] = {1, 2}; template <int N = (1 > 0)> void f();",
            "bool operator<(A a, B b) { return true; } bool operator>(A a, B b) { return true; }",
            "#define A(x) \\\n  [[x]]\nint a = '[' + b[c[1]]; // [[text]]\n",
        ] {
            assert_eq!(text(source), source);
        }
    }
}
