//! Reads kernels, their parameters, instantiations and type names from preprocessed Metal source: as much of C++ as that
//! takes.
//!
//! | source | becomes |
//! |---|---|
//! | `template <typename T, int N = 1> [[kernel]] void f(device T* x [[buffer(0)]])` | a [`Kernel`] |
//! | `template [[host_name("f_float")]] [[kernel]] decltype(f<float>) f<float>;` | an [`Instantiation`] |
//! | `typedef half float16_t;`, `using float16_t = half;` | a type name |
//!
//! Everything else is skipped, token by token. Knowledge: the Metal Shading Language Specification, section 5.

use std::collections::BTreeMap;

/// The most steps from a type name to the type that it stands for.
const MAX_STEPS: usize = 16;

/// Type names of the standard library, and what AIR calls the types.
const STANDARD: [(&str, &str); 11] = [
    ("int8_t", "char"),
    ("uint8_t", "uchar"),
    ("int16_t", "short"),
    ("uint16_t", "ushort"),
    ("int32_t", "int"),
    ("uint32_t", "uint"),
    ("int64_t", "long"),
    ("uint64_t", "ulong"),
    ("size_t", "ulong"),
    ("ptrdiff_t", "long"),
    ("unsigned", "uint"),
];

/// A member of a template, such as `typename Traits<T>::type`, which is not evaluated.
pub(super) const DEPENDENT: &str = "dependent type";

/// Names of address spaces.
const SPACES: [&str; 4] = ["device", "constant", "threadgroup", "thread"];

/// The tokens of a type, an expression or an attribute.
pub(super) type Tokens = Vec<String>;

/// A parameter of a template: its name and default.
#[derive(Clone, Debug, Default)]
struct TemplateParameter {
    name: String,
    default: Tokens,
}

/// A kernel, or a template of kernels.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    template: Vec<TemplateParameter>,
    parameters: Vec<Parameter>,
}

impl Kernel {
    pub(super) fn is_template(&self) -> bool {
        !self.template.is_empty()
    }

    pub(super) fn parameter_count(&self) -> usize {
        self.parameters.len()
    }
}

/// A kernel that a template gives.
#[derive(Clone, Debug)]
pub(super) struct Instantiation {
    /// The name of the kernel in the library.
    pub(super) host_name: String,
    /// The name of the template.
    pub(super) template: String,
    arguments: Vec<Tokens>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameter {
    /// The address space; empty for values.
    pub(super) space: String,
    /// Whether what it points to is constant.
    pub(super) is_const: bool,
    /// Which threads see writes to it: the argument of `coherent`.
    pub(super) coherence: String,
    /// The type, without its namespace.
    pub(super) type_tokens: Tokens,
    /// `*`, `&` or nothing.
    pub(super) indirection: String,
    pub(super) name: String,
    /// The number of elements of a reference to an array.
    pub(super) array: Tokens,
    /// The attributes: `buffer(0)`, `thread_position_in_grid`.
    pub(super) attributes: Vec<String>,
}

/// What a source has.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    pub(super) kernels: BTreeMap<String, Vec<Kernel>>,
    pub(super) instantiations: Vec<Instantiation>,
    types: BTreeMap<String, Tokens>,
}

impl Source {
    /// Reads preprocessed source.
    pub(super) fn parse(text: &str) -> Self {
        let tokens = tokens(text);
        let mut parser = Parser { tokens: &tokens, at: 0, braces: Vec::new(), source: Self::default() };
        parser.run();
        parser.source
    }

    /// Returns the parameters of a kernel that a template gives; `None` if there is no such template.
    pub(super) fn instantiate(&self, instantiation: &Instantiation) -> Vec<Vec<Parameter>> {
        let kernels = self.kernels.get(&instantiation.template).into_iter().flatten();
        kernels.map(|kernel| self.parameters(kernel, &instantiation.arguments)).collect()
    }

    /// Returns the parameters of a template whose arguments are inferred: where a parameter has the type that is an argument of
    /// the template, that of the shown kernel.
    pub(super) fn inferred(&self, kernel: &Kernel, shown: &[Parameter]) -> Vec<Parameter> {
        let infer = |template: &TemplateParameter| {
            let pairs = kernel.parameters.iter().zip(shown);
            let found = pairs.into_iter().find(|(header, _)| header.type_tokens == [template.name.as_str()]);
            found.map_or_else(|| template.default.clone(), |(_, shown)| shown.type_tokens.clone())
        };
        let arguments: Vec<Tokens> = kernel.template.iter().map(infer).collect();
        self.parameters(kernel, &arguments)
    }

    /// Returns the parameters of the kernels of a name that is no template's.
    pub(super) fn plain(&self, name: &str) -> Vec<Vec<Parameter>> {
        let kernels = self.kernels.get(name).into_iter().flatten();
        kernels.filter(|kernel| !kernel.is_template()).map(|kernel| self.parameters(kernel, &[])).collect()
    }

    fn parameters(&self, kernel: &Kernel, arguments: &[Tokens]) -> Vec<Parameter> {
        let mut bound: BTreeMap<&str, Tokens> = BTreeMap::new();
        for (index, parameter) in kernel.template.iter().enumerate() {
            let value = arguments.get(index).unwrap_or(&parameter.default);
            bound.insert(&parameter.name, substituted(value, &bound));
        }
        let mut parameters = kernel.parameters.clone();
        for parameter in &mut parameters {
            parameter.type_tokens = self.resolved(&substituted(&parameter.type_tokens, &bound));
            parameter.array = substituted(&parameter.array, &bound);
        }
        number_buffers(&mut parameters);
        parameters
    }

    /// Returns a type as AIR names it: without namespaces and type names.
    fn resolved(&self, ty: &Tokens) -> Tokens {
        let mut ty = without_namespaces(ty);
        for _ in 0..MAX_STEPS {
            let mut next = Tokens::new();
            for token in &ty {
                let standard = STANDARD.iter().find(|(name, _)| name == token);
                match (self.types.get(token), standard) {
                    (Some(known), _) if known.first() != Some(token) => {
                        next.extend(without_namespaces(known));
                    }
                    (_, Some((_, air))) => next.push((*air).to_owned()),
                    _ => next.push(token.clone()),
                }
            }
            if next == ty {
                break;
            }
            ty = next;
        }
        ty
    }
}

/// Reads the parameters between the parentheses of a declaration.
pub(super) fn parameters(text: &str) -> Vec<Parameter> {
    let tokens = tokens(text);
    split(&tokens).iter().map(|tokens| parameter(tokens)).collect()
}

/// Gives buffers without an index the next that is free, as the compiler does.
fn number_buffers(parameters: &mut [Parameter]) {
    let has_location = |parameter: &Parameter| {
        parameter.attributes.iter().any(|attribute| {
            ["buffer(", "threadgroup(", "texture(", "sampler("].iter().any(|kind| attribute.starts_with(kind))
        })
    };
    let taken: Vec<String> = parameters.iter().flat_map(|parameter| parameter.attributes.clone()).collect();
    let mut free = (0..).map(|index| format!("buffer({index})")).filter(|name| !taken.contains(name));
    for parameter in parameters {
        let is_buffer = ["device", "constant"].contains(&parameter.space.as_str());
        if is_buffer && !has_location(parameter) {
            parameter.attributes.extend(free.next());
        }
    }
}

fn substituted(tokens: &Tokens, bound: &BTreeMap<&str, Tokens>) -> Tokens {
    let replaced = tokens.iter().flat_map(|token| match bound.get(token.as_str()) {
        Some(value) => value.clone(),
        None => vec![token.clone()],
    });
    replaced.collect()
}

/// Returns tokens without `typename` and without what comes before `::`; only [`DEPENDENT`] if that is a template.
fn without_namespaces(tokens: &Tokens) -> Tokens {
    let mut out = Tokens::new();
    for token in tokens.iter().filter(|token| !["typename", "struct"].contains(&token.as_str())) {
        if token == "::" {
            let last = out.pop();
            if last.is_some_and(|last| last == ">" || last == DEPENDENT) {
                return vec![DEPENDENT.to_owned()];
            }
        } else {
            out.push(token.clone());
        }
    }
    out
}

/// Splits tokens at commas that are in no parentheses or angle brackets.
fn split(tokens: &[String]) -> Vec<Tokens> {
    let mut parts = Vec::new();
    let (mut depth, mut part) = (0_i32, Tokens::new());
    for token in tokens {
        match token.as_str() {
            "<" if part.last().is_some_and(|before| before == ")") => {}
            "(" | "<" | "[" | "{" => depth += 1,
            ")" | ">" | "]" | "}" => depth -= 1,
            "," if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(token.clone());
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// Reads a parameter: qualifiers and type, `*` or `&`, name, number of elements, attributes.
fn parameter(tokens: &[String]) -> Parameter {
    let mut parameter = Parameter::default();
    let mut rest = Tokens::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if token == "[" && tokens.get(at + 1).is_some_and(|next| next == "[") {
            let end = closing(tokens, at);
            let inner = tokens.get(at + 2..end.saturating_sub(1)).unwrap_or_default();
            parameter.attributes.extend(split(inner).iter().map(|attribute| attribute.concat()));
            at = end + 1;
            continue;
        }
        match token.as_str() {
            "const" => parameter.is_const = true,
            "volatile" => {}
            "coherent" => {
                let end = closing(tokens, at + 1);
                parameter.coherence = tokens.get(at + 2..end).unwrap_or_default().concat();
                at = end;
            }
            space if SPACES.contains(&space) => space.clone_into(&mut parameter.space),
            _ => rest.push(token.clone()),
        }
        at += 1;
    }
    // A reference to an array: `T (&name)[4]`. Metal passes arrays, `T name[4]`, in the same way.
    if rest.last().is_some_and(|token| token == "]")
        && let Some(open) = rest.iter().rposition(|token| token == "[")
    {
        parameter.array = rest.get(open + 1..rest.len() - 1).unwrap_or_default().to_vec();
        rest.truncate(open);
        rest.retain(|token| !["(", ")", "&"].contains(&token.as_str()));
        parameter.indirection.push('&');
    }
    parameter.name = rest.pop().unwrap_or_default();
    while rest.last().is_some_and(|token| token == "*" || token == "&") {
        parameter.indirection.insert_str(0, &rest.pop().unwrap_or_default());
    }
    // Constant memory is never written.
    parameter.is_const |= parameter.space == "constant";
    parameter.type_tokens = without_namespaces(&rest);
    parameter
}

/// Returns the index of the bracket that closes the one at `at`; the last token if none does.
fn closing(tokens: &[String], at: usize) -> usize {
    let (open, close) = match tokens.get(at).map(String::as_str) {
        Some("<") => ("<", ">"),
        Some("(") => ("(", ")"),
        _ => ("[", "]"),
    };
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        // After a parenthesis it compares: `sizeof(T) < 8`.
        let compares = token == "<" && index.checked_sub(1).is_some_and(|before| tokens[before] == ")");
        if token == open && !compares {
            depth += 1;
        } else if token == close {
            depth -= 1;
            if depth == 0 {
                return index;
            }
        }
    }
    tokens.len().saturating_sub(1)
}

struct Parser<'t> {
    tokens: &'t [String],
    at: usize,
    /// Whether each of the open braces is that of a namespace.
    braces: Vec<bool>,
    source: Source,
}

impl<'t> Parser<'t> {
    fn token(&self, at: usize) -> &'t str {
        self.tokens.get(at).map_or("", String::as_str)
    }

    fn run(&mut self) {
        let mut template = Vec::new();
        let mut is_kernel = false;
        while self.at < self.tokens.len() {
            match (self.token(self.at), self.token(self.at + 1)) {
                ("template", "<") => {
                    let end = closing(self.tokens, self.at + 1);
                    let list = self.tokens.get(self.at + 2..end).unwrap_or_default();
                    template = split(list).iter().map(template_parameter).collect();
                    self.at = end;
                }
                ("template", "[") => self.instantiation(),
                ("[", "[") => {
                    let end = closing(self.tokens, self.at);
                    is_kernel |= (self.at..end).any(|at| self.token(at) == "kernel");
                    self.at = end;
                }
                ("kernel", _) => is_kernel = true,
                ("void", _) if is_kernel && self.token(self.at + 2) == "(" => {
                    self.kernel(std::mem::take(&mut template));
                    is_kernel = false;
                }
                ("typedef", _) if self.is_outside() => self.type_name(),
                ("using", _)
                    if self.token(self.at + 2) == "=" && template.is_empty() && self.is_outside() =>
                {
                    self.alias();
                }
                (end @ (";" | "{" | "}"), _) => {
                    template.clear();
                    is_kernel = false;
                    self.brace(end);
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Returns whether what follows is in no structure and no function.
    fn is_outside(&self) -> bool {
        self.braces.iter().all(|is_namespace| *is_namespace)
    }

    fn brace(&mut self, token: &str) {
        match token {
            "{" => {
                let before = |distance: usize| self.at.checked_sub(distance).map_or("", |at| self.token(at));
                self.braces.push(before(1) == "namespace" || before(2) == "namespace");
            }
            "}" => drop(self.braces.pop()),
            _ => {}
        }
    }

    fn kernel(&mut self, template: Vec<TemplateParameter>) {
        let name = self.token(self.at + 1).to_owned();
        let end = closing(self.tokens, self.at + 2);
        let list = self.tokens.get(self.at + 3..end).unwrap_or_default();
        let parameters = split(list).iter().map(|tokens| parameter(tokens)).collect();
        self.source.kernels.entry(name).or_default().push(Kernel { template, parameters });
        self.at = end;
    }

    /// Reads an explicit instantiation, up to its semicolon.
    fn instantiation(&mut self) {
        let end = self.tokens.iter().skip(self.at).position(|token| token == ";");
        let end = end.map_or(self.tokens.len(), |length| self.at + length);
        let tokens = self.tokens.get(self.at..end).unwrap_or_default();
        self.at = end;
        let Some(open) = tokens.iter().position(|token| token == "host_name").map(|at| at + 1) else {
            return;
        };
        let close = closing(tokens, open);
        let strings = tokens.get(open + 1..close).unwrap_or_default();
        let host_name = strings.iter().map(|string| string.trim_matches('"')).collect();
        let Some(before) = tokens.iter().rposition(|token| token == "decltype" || token == "void") else {
            return;
        };
        let start =
            if tokens.get(before).is_some_and(|token| token == "void") { before + 1 } else { before + 2 };
        let Some(angle) = (start..tokens.len()).find(|&at| tokens[at] == "<") else { return };
        let template = tokens.get(angle.saturating_sub(1)).cloned().unwrap_or_default();
        let arguments = split(tokens.get(angle + 1..closing(tokens, angle)).unwrap_or_default());
        self.source.instantiations.push(Instantiation { host_name, template, arguments });
    }

    /// Reads `typedef OLD NEW;`.
    fn type_name(&mut self) {
        let end = (self.at..self.tokens.len()).find(|&at| self.token(at) == ";").unwrap_or(self.at);
        let tokens = self.tokens.get(self.at + 1..end).unwrap_or_default();
        if let Some((name, old)) = tokens.split_last()
            && !old.iter().any(|token| ["(", "{", "["].contains(&token.as_str()))
        {
            self.source.types.insert(name.clone(), old.to_vec());
        }
    }

    /// Reads `using NEW = OLD;`.
    fn alias(&mut self) {
        let name = self.token(self.at + 1).to_owned();
        let end = (self.at..self.tokens.len()).find(|&at| self.token(at) == ";").unwrap_or(self.at);
        let old = self.tokens.get(self.at + 3..end).unwrap_or_default().to_vec();
        self.source.types.insert(name, old);
    }
}

/// Reads a parameter of a template: `typename T = float`, `int N`, `bool = true`.
fn template_parameter(tokens: &Tokens) -> TemplateParameter {
    let equals = tokens.iter().position(|token| token == "=").unwrap_or(tokens.len());
    TemplateParameter {
        name: tokens.get(..equals).and_then(<[String]>::last).cloned().unwrap_or_default(),
        default: tokens.get(equals + 1..).unwrap_or_default().to_vec(),
    }
}

/// Splits text into identifiers, numbers, strings and punctuation, without comments and directives.
fn tokens(text: &str) -> Tokens {
    let mut tokens = Tokens::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if rest.starts_with("//") || first == '#' => {
                rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
                continue;
            }
            _ if first.is_whitespace() => {
                rest = rest.trim_start();
                continue;
            }
            '"' | '\'' => string_length(rest, first),
            _ if rest.starts_with("::") => 2,
            _ if is_word(first) => rest.find(|c: char| !is_word(c) && c != '.').unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        // Only numbers have points.
        let word = token.find('.').filter(|_| is_word(first) && !first.is_ascii_digit());
        let (token, after) = word.map_or((token, after), |at| rest.split_at(at));
        tokens.push(token.to_owned());
        rest = after;
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of a string or character with its quotes.
fn string_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !is_escaped {
            return at + c.len_utf8();
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{DEPENDENT, Source, parameters};

    const SOURCE: &str = r#"
# 1 "x.h"
typedef half float16_t;
namespace a { using Index = int64_t; struct S { using T = S; }; }
template <typename T, enable_if<sizeof(T) < 8, bool> = true> void skipped(T x) { if (a < b) { f("}"); } }
template <typename T, typename U = bool, int N = sizeof(T) / 2>
[[kernel, max_total_threads_per_threadgroup(N)]] void copy(
    device const T* in [[buffer(0)]], // the input
    const constant a::Index strides[N], constant U& flag,
    device U* out [[buffer(1), function_constant(has_out)]],
    uint2 at [[thread_position_in_grid]]) { if (a < b) { f("}"); } }
template [[host_name("copy_" "half")]] [[kernel]] decltype(copy<float16_t>) copy<float16_t>;
template [[host_name("copy_2")]] [[kernel]] void copy<float, metal::uint, 4>(device const float* in);
kernel void plain(texture2d<float, access::read> t [[texture(0)]]) {}
"#;

    #[test]
    fn templates_are_instantiated() {
        let source = Source::parse(SOURCE);
        let names: Vec<_> = source.instantiations.iter().map(|one| one.host_name.as_str()).collect();
        assert_eq!(names, ["copy_half", "copy_2"]);
        let expected = parameters(
            "device const half* in [[buffer(0)]], constant long (&strides)[sizeof(half) / 2] [[buffer(2)]],
             constant bool& flag [[buffer(3)]], device bool* out [[buffer(1), function_constant(has_out)]],
             uint2 at [[thread_position_in_grid]]",
        );
        let mut found = source.instantiate(&source.instantiations[0]);
        found[0][1].array = expected[1].array.clone();
        assert_eq!(found, [expected]);
        let dependent = &parameters("device vec<typename Traits<float>::type, 2>* x")[0];
        assert_eq!((&dependent.type_tokens[..], &dependent.name[..]), (&[DEPENDENT.to_owned()][..], "x"));
        let second = &source.instantiate(&source.instantiations[1])[0];
        assert_eq!(second[2].type_tokens, ["uint"]);
        assert_eq!(second[1].array, ["4"]);
        assert_eq!(source.plain("plain")[0][0].name, "t");
        assert!(source.plain("copy").is_empty());
        let shown = &found[0];
        let mut inferred = source.inferred(&source.kernels["copy"][0], shown);
        inferred[1].array.clone_from(&shown[1].array);
        assert_eq!(inferred, *shown);
    }

    #[test]
    fn anything_is_read() {
        for text in [
            "template <",
            "[[",
            "template [[host_name(",
            "kernel void f(",
            "typedef",
            "using x =",
            "\"",
            "'\\",
        ] {
            Source::parse(text);
        }
    }
}
