//! Parses files of operations: modifiers, functions, macros and operations.

use crate::lex::{Block, Line, blocks, error};
use crate::model::{
    Access, Flow, Form, Function, Isa, Macro, Modifier, ModifierValue, Operation, Piece, Role,
};
use crate::{Result, semantics};

/// Parses the files of operations: names and texts. What a file defines is known in those after it.
///
/// # Errors
///
/// The first line that violates the grammar.
pub fn parse(files: &[(&str, &str)]) -> Result<Isa> {
    let mut parser = Parser { file: "", isa: Isa::default(), common: Common::default() };
    for &(file, text) in files {
        parser.file = file;
        for block in blocks(file, text)? {
            parser.block(&block)?;
        }
    }
    Ok(parser.isa)
}

/// The operands and templates common to all operations.
#[derive(Default)]
struct Common {
    operands: Vec<Role>,
    before: Vec<Piece>,
    after_mnemonic: Vec<Piece>,
}

struct Parser<'a> {
    file: &'a str,
    isa: Isa,
    common: Common,
}

impl Parser<'_> {
    fn block(&mut self, block: &Block<'_>) -> Result<()> {
        match block.head.split().0 {
            "modifier" => self.modifier(block),
            "common" => self.common(block),
            "operation" => self.operation(block),
            "pure" => self.function(block, true),
            "function" => self.function(block, false),
            "macro" => self.shared_statements(block),
            other => {
                let expected = "modifier, pure, function, macro, common or operation";
                Err(self.error(&block.head, format!("expected {expected}, found '{other}'")))
            }
        }
    }

    fn modifier(&mut self, block: &Block<'_>) -> Result<()> {
        let words = block.head.words();
        let name = words.get(1).ok_or_else(|| self.error(&block.head, "modifier: missing name"))?;
        let base = words.get(3).filter(|_| words.get(2) == Some(&":"));
        let mut values = match base {
            Some(base) => {
                let base =
                    self.isa.modifier(base).ok_or_else(|| self.error(&block.head, "unknown modifier"))?;
                self.isa.modifiers[base].values.clone()
            }
            None => Vec::new(),
        };
        let meaning = words.get(if base.is_some() { 4 } else { 2 }).map_or("", |word| unquoted(word));
        for line in &block.body {
            let words = line.words();
            for pair in words.chunks(2) {
                let &[name, spelling] = pair else {
                    return Err(self.error(line, "values are pairs of a name and a spelling"));
                };
                let spelling = unquoted(spelling);
                // `..8 .INVALID#` names the values up to number 7.
                let end = name.strip_prefix("..").and_then(|end| end.parse::<usize>().ok());
                for number in values.len()..end.unwrap_or_default() {
                    let (name, spelling) = (format!("i{number}"), spelling.replace('#', &number.to_string()));
                    values.push(ModifierValue { name, spelling });
                }
                let replaced = values.iter_mut().find(|value| base.is_some() && value.name == name);
                if let Some(value) = replaced {
                    spelling.clone_into(&mut value.spelling);
                } else if end.is_none() {
                    values.push(ModifierValue { name: name.to_owned(), spelling: spelling.to_owned() });
                }
            }
        }
        let (name, meaning) = ((*name).to_owned(), meaning.to_owned());
        let (file, line) = (self.file.to_owned(), block.head.number);
        self.isa.modifiers.push(Modifier { name, meaning, values, file, line });
        Ok(())
    }

    fn common(&mut self, block: &Block<'_>) -> Result<()> {
        for line in &block.body {
            let (key, rest) = line.split();
            match key {
                "operands" => self.common.operands = self.roles(line, rest)?,
                "before" => self.common.before = self.template(line, rest)?,
                "after_mnemonic" => self.common.after_mnemonic = self.template(line, rest)?,
                _ => return Err(self.error(line, "expected operands, before or after_mnemonic")),
            }
        }
        Ok(())
    }

    /// Parses `function NAME WIDTH … -> WIDTH "MEANING"`.
    fn function(&mut self, block: &Block<'_>, pure: bool) -> Result<()> {
        let words = block.head.words();
        let arrow = words.iter().position(|word| *word == "->");
        let (Some(name), Some(arrow)) = (words.get(1), arrow) else {
            return Err(self.error(&block.head, "expected function: NAME WIDTH … -> WIDTH \"MEANING\""));
        };
        let width = |word: &&str| word.parse::<u32>().ok();
        let inputs: Option<Vec<u32>> = words.get(2..arrow).unwrap_or(&[]).iter().map(width).collect();
        let inputs = inputs.ok_or_else(|| self.error(&block.head, "widths are numbers of bits"))?;
        let output = words.get(arrow + 1).and_then(width);
        let meaning = words.get(arrow + 2).map_or("", |word| unquoted(word)).to_owned();
        let (name, line) = ((*name).to_owned(), block.head.number);
        self.isa.functions.push(Function { name, pure, inputs, output, meaning, line });
        Ok(())
    }

    /// Parses `macro NAME PARAMETER …`, with statements below.
    fn shared_statements(&mut self, block: &Block<'_>) -> Result<()> {
        let words = block.head.words();
        let name = words.get(1).ok_or_else(|| self.error(&block.head, "a macro has a name"))?;
        let text: String = block.body.iter().map(|line| format!("{}\n", line.text)).collect();
        let body = semantics::parse(&text).map_err(|(offset, message)| {
            let line = block
                .body
                .get(text[..offset].matches('\n').count())
                .map_or(block.head.number, |line| line.number);
            error(self.file, line, message)
        })?;
        let parameters = words[2..].iter().map(|word| (*word).to_owned()).collect();
        self.isa.macros.push(Macro { name: (*name).to_owned(), parameters, body, line: block.head.number });
        Ok(())
    }

    fn operation(&mut self, block: &Block<'_>) -> Result<()> {
        let words = block.head.words();
        let (Some(name), Some(meaning)) = (words.get(1), words.get(2)) else {
            return Err(self.error(&block.head, "operation: missing name or quoted meaning"));
        };
        let mut operation = Operation {
            name: (*name).to_owned(),
            meaning: unquoted(meaning).to_owned(),
            forms: Vec::new(),
            operands: self.common.operands.clone(),
            modifiers: Vec::new(),
            flow: Flow::Next,
            semantics: Vec::new(),
            does: String::new(),
            file: self.file.to_owned(),
            line: block.head.number,
        };
        let mut does = String::new();
        let mut does_line = 0;
        for line in &block.body {
            let (key, rest) = line.split();
            match key {
                "text" => operation.forms.push(self.form(line, rest)?),
                "operands" => operation.operands.extend(self.roles(line, rest)?),
                "modifiers" => self.declared_modifiers(line, rest, &mut operation)?,
                "flow" => {
                    let found = Flow::NAMES.iter().find(|entry| entry.0.eq_ignore_ascii_case(rest));
                    operation.flow = found.ok_or_else(|| self.error(line, "no such flow"))?.1;
                }
                "does" => {
                    if does.is_empty() {
                        does_line = line.number;
                    }
                    does.push_str(rest);
                    does.push('\n');
                }
                _ => return Err(self.error(line, "expected text, operands, modifiers, flow or does")),
            }
        }
        self.implied_modifiers(&mut operation);
        operation.semantics = semantics::parse(&does).map_err(|(offset, message)| {
            error(self.file, does_line + does[..offset].matches('\n').count(), message)
        })?;
        operation.does = does;
        self.isa.operations.push(operation);
        Ok(())
    }

    /// Parses `text [/FORM] TEMPLATE`. Adds the common templates before it and after its mnemonic.
    fn form(&self, line: &Line<'_>, rest: &str) -> Result<Form> {
        let (name, rest) = match rest.strip_prefix('/') {
            Some(named) => named.split_once(' ').unwrap_or((named, "")),
            None => ("", rest),
        };
        let mut template = self.common.before.clone();
        let written = self.template(line, unquoted_whole(rest))?;
        // The common template after the mnemonic may also be placed explicitly.
        let mut mnemonic = !self.common.after_mnemonic.iter().any(|piece| written.contains(piece));
        for piece in written {
            match piece {
                Piece::Text(text) if mnemonic => match text.find([' ', '[']) {
                    Some(end) => {
                        mnemonic = false;
                        push_text(&mut template, &text[..end]);
                        template.extend(self.common.after_mnemonic.iter().cloned());
                        push_text(&mut template, &text[end..]);
                    }
                    None => push_text(&mut template, &text),
                },
                other => template.push(other),
            }
        }
        if mnemonic {
            template.extend(self.common.after_mnemonic.iter().cloned());
        }
        Ok(Form { name: name.to_owned(), template })
    }

    fn template(&self, line: &Line<'_>, text: &str) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            push_text(&mut pieces, &rest[..open]);
            let close = rest.find('}').ok_or_else(|| self.error(line, "a '{' is not closed"))?;
            pieces.push(Piece::Slot(rest[open + 1..close].to_owned()));
            rest = &rest[close + 1..];
        }
        push_text(&mut pieces, rest);
        Ok(pieces)
    }

    /// Parses `name:access:type[?]` ….
    fn roles(&self, line: &Line<'_>, rest: &str) -> Result<Vec<Role>> {
        rest.split_whitespace()
            .map(|word| {
                let mut parts = word.split(':');
                let (Some(name), Some(access), Some(ty)) = (parts.next(), parts.next(), parts.next()) else {
                    return Err(self.error(line, format!("'{word}': expected name:access:type")));
                };
                let access = match access {
                    "in" => Access::In,
                    "out" => Access::Out,
                    "inout" => Access::InOut,
                    _ => return Err(self.error(line, format!("'{word}': access must be in, out or inout"))),
                };
                let (ty, is_optional) = ty.strip_suffix('?').map_or((ty, false), |ty| (ty, true));
                Ok(Role { name: name.to_owned(), access, ty: ty.to_owned(), is_optional })
            })
            .collect()
    }

    /// Parses `slot:modifier` ….
    fn declared_modifiers(&self, line: &Line<'_>, rest: &str, operation: &mut Operation) -> Result<()> {
        for word in rest.split_whitespace() {
            let (slot, name) = word.split_once(':').unwrap_or((word, word));
            let modifier = self
                .isa
                .modifier(name)
                .ok_or_else(|| self.error(line, format!("unknown modifier '{name}'")))?;
            operation.modifiers.push((slot.to_owned(), modifier));
        }
        Ok(())
    }

    /// Adds the undeclared slots of a template that have the name of a modifier.
    fn implied_modifiers(&self, operation: &mut Operation) {
        let slots: Vec<String> = operation
            .forms
            .iter()
            .flat_map(|form| &form.template)
            .filter_map(|piece| match piece {
                Piece::Slot(slot) => Some(slot.clone()),
                Piece::Text(_) => None,
            })
            .collect();
        for slot in slots {
            let known = operation.modifiers.iter().any(|entry| entry.0 == slot)
                || operation.operands.iter().any(|role| role.name == slot);
            if let (false, Some(modifier)) = (known, self.isa.modifier(&slot)) {
                operation.modifiers.push((slot, modifier));
            }
        }
    }

    fn error(&self, line: &Line<'_>, message: impl Into<String>) -> crate::Error {
        error(self.file, line.number, message)
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(before)) => before.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// Returns a word of [`Line::words`] without its opening quote.
fn unquoted(word: &str) -> &str {
    word.strip_prefix('"').unwrap_or(word)
}

/// Returns a template without its quotes, which preserve trailing white space.
fn unquoted_whole(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
