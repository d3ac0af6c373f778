//! Reads and edits the text of LLVM 14, as far as a module of AIR needs it to run on the host.
//!
//! The text is that of `unshade dis --raw`: one definition, declaration or node of metadata per line.

use std::collections::BTreeMap;

/// A parameter or a result: its type, as it is written.
pub(super) type Type = String;

/// A function that the module declares or defines.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) result: Type,
    pub(super) parameters: Vec<Type>,
}

/// Reads the function of a line that begins with `define` or `declare`.
pub(super) fn function(line: &str) -> Option<Function> {
    let at = name_start(line)?;
    let (name, rest) = name(line.get(at + 1..)?)?;
    // The type is the last thing before the name that is not a word of linkage.
    let before = line.get(..at)?.trim_end();
    let result = last_type(before.split_once(' ')?.1)?;
    let list = inside(rest)?;
    let parameters = split(list, ',').into_iter().map(str::trim).filter(|one| !one.is_empty());
    Some(Function {
        name,
        result,
        parameters: parameters.map(|one| type_prefix(one).map_or(one, |(ty, _)| ty).to_owned()).collect(),
    })
}

/// Returns where the `@` of the function's name is: the first outside of quotes and parentheses.
fn name_start(line: &str) -> Option<usize> {
    let mut is_quoted = false;
    line.char_indices().find_map(|(at, c)| {
        is_quoted ^= c == '"';
        (c == '@' && !is_quoted).then_some(at)
    })
}

/// Splits off a name, which may be quoted.
fn name(text: &str) -> Option<(String, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (name, rest) = quoted.split_once('"')?;
        return Some((name.to_owned(), rest));
    }
    let end = text.find(|c: char| !(c.is_alphanumeric() || "._$-".contains(c))).unwrap_or(text.len());
    Some((text[..end].to_owned(), &text[end..]))
}

/// Returns the type that `text` ends with, after words such as `internal` and `noundef`.
fn last_type(mut text: &str) -> Option<Type> {
    loop {
        text = text.trim_start();
        match type_prefix(text) {
            Some((ty, rest)) if rest.trim().is_empty() => return Some(ty.to_owned()),
            _ => text = after_word(text)?,
        }
    }
}

/// Returns what follows a word of attributes, such as `align 4` or `dereferenceable(8)`.
fn after_word(text: &str) -> Option<&str> {
    let end = text.find([' ', '(']).filter(|&end| end > 0)?;
    match text.as_bytes()[end] {
        b'(' => {
            let list = inside(&text[end..])?;
            text.get(end + list.len() + 2..)
        }
        _ => text.get(end + 1..),
    }
}

/// Splits off the type at the start, with its address space and stars.
pub(super) fn type_prefix(text: &str) -> Option<(&str, &str)> {
    let mut end = base_type(text)?;
    loop {
        let rest = text.get(end..)?;
        if rest.starts_with('*') {
            end += 1;
        } else if rest.starts_with(" addrspace(") {
            let number = rest.find(')')?;
            if !rest.get(number + 1..)?.starts_with('*') {
                break;
            }
            end += number + 1;
        } else if rest.starts_with(" (") {
            end += 1 + inside(&rest[1..])?.len() + 2;
        } else {
            break;
        }
    }
    Some((&text[..end], &text[end..]))
}

/// Returns the length of a type without stars.
fn base_type(text: &str) -> Option<usize> {
    match text.as_bytes().first()? {
        b'<' | b'[' | b'{' => Some(inside(text)?.len() + 2),
        b'%' => {
            let rest = text.get(1..)?;
            let (_, after) = name(rest)?;
            Some(text.len() - after.len())
        }
        _ => {
            let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
            let word = &text[..end];
            let is_integer = word.strip_prefix('i').is_some_and(|digits| digits.parse::<u32>().is_ok());
            let is_type = is_integer || ["void", "half", "bfloat", "float", "double"].contains(&word);
            is_type.then_some(end)
        }
    }
}

/// Returns what is inside of the brackets that `text` begins with.
fn inside(text: &str) -> Option<&str> {
    let mut depth = 0_i32;
    let mut is_quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text.get(1..at);
        }
    }
    None
}

/// Splits a list at the separators that are outside of brackets and quotes.
pub(super) fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut depth, mut is_quoted, mut start, mut parts) = (0_i32, false, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            _ if c == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// An operand of a node of metadata.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Text(String),
    Number(i64),
    Node(u32),
    Function(String),
    Other,
}

/// The nodes of metadata that have a number, by it, and the lists that have a name.
#[derive(Default)]
pub(super) struct Metadata {
    nodes: BTreeMap<u32, Vec<Operand>>,
    lists: BTreeMap<String, Vec<u32>>,
}

impl Metadata {
    pub(super) fn read(text: &str) -> Self {
        let mut metadata = Self::default();
        for line in text.lines().filter(|line| line.starts_with('!')) {
            metadata.line(line);
        }
        metadata
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (name, node) = line[1..].split_once(" = ")?;
        let list = inside(node.trim_start_matches("distinct ").strip_prefix('!')?)?;
        let operands = || split(list, ',').into_iter().map(str::trim);
        if let Ok(number) = name.parse() {
            self.nodes.insert(number, operands().map(operand).collect());
        } else {
            let numbers = operands().filter_map(|one| one.strip_prefix('!')?.parse().ok());
            self.lists.insert(name.to_owned(), numbers.collect());
        }
        Some(())
    }

    pub(super) fn list(&self, name: &str) -> &[u32] {
        self.lists.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn node(&self, number: u32) -> &[Operand] {
        self.nodes.get(&number).map_or(&[], Vec::as_slice)
    }
}

fn operand(text: &str) -> Operand {
    if let Some(string) = text.strip_prefix("!\"") {
        return Operand::Text(string.trim_end_matches('"').to_owned());
    }
    if let Some(number) = text.strip_prefix('!').and_then(|number| number.parse().ok()) {
        return Operand::Node(number);
    }
    if let Some(value) = text.strip_prefix("i32 ").and_then(|value| value.parse().ok()) {
        return Operand::Number(value);
    }
    match text.rsplit_once('@').and_then(|(_, rest)| name(rest)) {
        Some((name, _)) => Operand::Function(name),
        None => Operand::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_read_with_their_types() {
        let line = "define weak_odr void @k(float addrspace(1)* noundef \"a,b\" %0, %\"struct.a::B<int, 2>\" \
                    addrspace(2)* noundef align 4 dereferenceable(4) %1, <3 x i32> noundef %2) #0 {";
        let function = function(line).unwrap();
        assert_eq!((function.name.as_str(), function.result.as_str()), ("k", "void"));
        let expected = ["float addrspace(1)*", "%\"struct.a::B<int, 2>\" addrspace(2)*", "<3 x i32>"];
        assert_eq!(function.parameters, expected);
    }

    #[test]
    fn declarations_have_results_after_attributes() {
        let read =
            function("declare dereferenceable(8) { <4 x float>, i8 } @air.x.v4f32(i32, i1) #1").unwrap();
        assert_eq!(read.result, "{ <4 x float>, i8 }");
        assert_eq!(read.parameters, ["i32", "i1"]);
    }

    #[test]
    fn metadata_has_operands() {
        let text = "!air.kernel = !{!1}\n!1 = !{void (i32)* @\"a b\", !2, i32 7, !\"x, y\"}\n";
        let metadata = Metadata::read(text);
        assert_eq!(metadata.list("air.kernel"), [1]);
        let expected = [
            Operand::Function("a b".into()),
            Operand::Node(2),
            Operand::Number(7),
            Operand::Text("x, y".into()),
        ];
        assert_eq!(metadata.node(1), expected);
    }
}
