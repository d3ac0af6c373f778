//! Reads the XML that `unshade ghidra --import` writes, as far as the decompiler needs it.

use anyhow::{Context as _, Result};
use unshade::ghidra::ImportProgram;

use super::console::{Chunk, Context, Program};

/// An element: its name, its attributes, and the text up to the next tag.
struct Element<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    text: &'a str,
}

impl<'a> Element<'a> {
    fn get(&self, name: &str) -> &'a str {
        self.attributes.iter().find(|attribute| attribute.0 == name).map_or("", |attribute| attribute.1)
    }

    fn number(&self, name: &str) -> Result<u64> {
        hexadecimal(self.get(name)).with_context(|| format!("{} of {}", name, self.name))
    }
}

fn hexadecimal(text: &str) -> Result<u64> {
    Ok(u64::from_str_radix(text.trim_start_matches("0x"), 16)?)
}

fn elements(xml: &str) -> Vec<Element<'_>> {
    let tags = xml.split('<').skip(1).filter_map(|rest| rest.split_once('>'));
    let tags = tags.filter(|(tag, _)| !tag.starts_with(['?', '/']));
    tags.map(|(tag, text)| {
        let (name, mut rest) = tag.trim_end_matches('/').split_once(' ').unwrap_or((tag, ""));
        let mut attributes = Vec::new();
        while let Some((key, after)) = rest.split_once("=\"") {
            let (value, after) = after.split_once('"').unwrap_or((after, ""));
            attributes.push((key.trim(), value));
            rest = after;
        }
        Element { name, attributes, text }
    })
    .collect()
}

/// Returns a program for the decompiler.
pub(super) fn program(import: &ImportProgram<'_>) -> Result<Program> {
    let xml = import.xml("bytes");
    let mut program = Program::default();
    let mut section = None;
    for element in elements(&xml) {
        match element.name {
            "PROCESSOR" => program.language = element.get("LANGUAGE_PROVIDER").to_owned(),
            "MEMORY_SECTION" => {
                let address = element.get("START_ADDR");
                let (space, offset) = address.split_once(':').unwrap_or(("ram", address));
                section =
                    Some((space.to_owned(), hexadecimal(offset)?, !element.get("PERMISSIONS").contains('w')));
            }
            "MEMORY_CONTENTS" => {
                let (space, offset, is_read_only) = section.take().context("contents without a section")?;
                let at = usize::try_from(element.number("FILE_OFFSET")?)?;
                let length = usize::try_from(element.number("LENGTH")?)?;
                let bytes = import.bytes.get(at..).and_then(|bytes| bytes.get(..length));
                let bytes = bytes.context("contents outside of the file")?.to_vec();
                program.chunks.push(Chunk { space, offset, is_read_only, bytes });
            }
            "REGISTER_VALUE_RANGE" => program.contexts.push(Context {
                register: element.get("REGISTER").to_owned(),
                value: element.number("VALUE")?,
                start: element.number("START_ADDRESS")?,
                length: element.number("LENGTH")?,
            }),
            "FUNCTION" => {
                let name = element.get("NAME").rsplit("::").next().unwrap_or_default().to_owned();
                program.functions.push((element.number("ENTRY_POINT")?, name));
            }
            "TYPEINFO_CMT" => program.prototype = element.text.to_owned(),
            _ => {}
        }
    }
    Ok(program)
}
