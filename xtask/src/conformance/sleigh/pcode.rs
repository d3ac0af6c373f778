//! Ghidra's p-code: the operations of an instruction, as pypcode lists them and as people read them.
//!
//! | varnode | text |
//! |---|---|
//! | general registers, pairs of them | `R2:4`, `R2:8` |
//! | predicates, flags, and what the module adds | `P0:1`, `CF:1`, `sum_lower:4` |
//! | temporaries, numbered in each instruction | `u0:4` |
//! | constants | `0x4:4` |
//! | everything else | `constant[0x150]:4` |
//! | the space of a load or store | `ram[0x0]:8` |
//!
//! An operation is a line: `R2:4 = INT_ADD u0:4, constant[0x150]:4`.

use std::fmt;

use anyhow::{Context, Result, bail};

/// The offset of predicates and flags in the space of registers.
pub(super) const PREDICATES: u64 = 0x1000;
/// The names of predicates and flags, from that offset on.
const PREDICATE_NAMES: [&str; 12] = ["P0", "P1", "P2", "P3", "P4", "P5", "P6", "PT", "CF", "ZF", "SF", "OF"];

/// The names of registers of the module that the chip does not have, and their offsets.
const OTHER_NAMES: [(&str, u64); 11] = [
    ("return_address", 0x1110),
    ("exit_address", 0x1118),
    ("left_lower", 0x1120),
    ("left_upper", 0x1124),
    ("right_lower", 0x1128),
    ("right_upper", 0x112c),
    ("sum_lower", 0x1130),
    ("sum_place", 0x1134),
    ("product_place", 0x1138),
    ("product_factor", 0x113c),
    ("product_power", 0x1140),
];

/// A varnode: a space, an offset in it, and a size in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) space: String,
    pub(super) offset: u64,
    pub(super) bytes: usize,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) name: String,
    pub(super) output: Option<Node>,
    pub(super) inputs: Vec<Node>,
}

/// An instruction as Ghidra disassembles and lifts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lifted {
    /// The mnemonic and the operands; `!` and a message if Ghidra can't decode the word.
    pub(super) text: String,
    pub(super) ops: Vec<Op>,
}

/// Parses the output of `pypcode.py`.
pub(super) fn parse(text: &str) -> Result<Vec<Lifted>> {
    let mut found: Vec<Lifted> = Vec::new();
    for line in text.lines() {
        if let Some(read) = line.strip_prefix("= ") {
            let text = match read.split_once('|') {
                Some((mnemonic, "")) => mnemonic.to_owned(),
                Some((mnemonic, operands)) => format!("{mnemonic} {operands}"),
                None => read.to_owned(),
            };
            found.push(Lifted { text, ops: Vec::new() });
        } else if line.starts_with("! ") {
            found.push(Lifted { text: line.to_owned(), ops: Vec::new() });
        } else {
            let last = found.last_mut().context("no instruction before the operation")?;
            last.ops.push(Op::of_pypcode(line)?);
        }
    }
    Ok(found)
}

impl Op {
    fn of_pypcode(line: &str) -> Result<Self> {
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        let name = words.next().context("an operation")?.to_owned();
        let output = words.next().filter(|word| *word != "-").map(Node::of_pypcode).transpose()?;
        let inputs = words.map(Node::of_pypcode).collect::<Result<_>>()?;
        Ok(Self { name, output, inputs })
    }

    /// Parses the text of an operation.
    pub(super) fn parse(line: &str) -> Result<Self> {
        let (output, rest) = match line.split_once(" = ") {
            Some((output, rest)) => (Some(Node::parse(output)?), rest),
            None => (None, line),
        };
        let (name, inputs) = rest.split_once(' ').unwrap_or((rest, ""));
        let inputs = inputs.split(", ").filter(|text| !text.is_empty()).map(Node::parse);
        Ok(Self { name: name.to_owned(), output, inputs: inputs.collect::<Result<_>>()? })
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(output) = &self.output {
            write!(f, "{output} = ")?;
        }
        f.write_str(&self.name)?;
        for (index, input) in self.inputs.iter().enumerate() {
            write!(f, "{}{input}", if index == 0 { " " } else { ", " })?;
        }
        Ok(())
    }
}

impl Node {
    fn of_pypcode(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let (Some(space), Some(offset), Some(bytes)) = (parts.next(), parts.next(), parts.next()) else {
            bail!("'{text}' is not a varnode");
        };
        // The space of a load is a name, not a number.
        let (space, offset) = match offset.parse() {
            Ok(number) => (space.to_owned(), number),
            Err(_) => (offset.to_owned(), 0),
        };
        Ok(Self { space, offset, bytes: bytes.parse()? })
    }

    fn parse(text: &str) -> Result<Self> {
        let (name, bytes) = text.rsplit_once(':').with_context(|| format!("'{text}' has no size"))?;
        let (space, offset) = place(name).with_context(|| format!("'{text}' is not a varnode"))?;
        Ok(Self { space: space.to_owned(), offset, bytes: bytes.parse()? })
    }
}

/// Returns the space and offset of a name.
fn place(name: &str) -> Option<(&str, u64)> {
    let hexadecimal = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    if let Some(value) = hexadecimal(name) {
        return Some(("const", value));
    }
    if let Some((space, offset)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        return Some((space, hexadecimal(offset)?));
    }
    if let Some(index) = PREDICATE_NAMES.iter().position(|known| *known == name) {
        return Some(("register", PREDICATES + index as u64));
    }
    if let Some((_, offset)) = OTHER_NAMES.iter().find(|known| known.0 == name) {
        return Some(("register", *offset));
    }
    let (kind, number) = (name.get(..1)?, name.get(1..)?.parse::<u64>().ok()?);
    match kind {
        "R" => Some(("register", number * 4)),
        "u" => Some(("unique", number * 16)),
        _ => None,
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { space, offset, bytes } = self;
        match space.as_str() {
            "const" => write!(f, "{offset:#x}")?,
            "unique" => write!(f, "u{}", offset / 16)?,
            "register" if *offset < PREDICATES => write!(f, "R{}", offset / 4)?,
            "register" => {
                let predicate = PREDICATE_NAMES.get((*offset - PREDICATES) as usize);
                let other = || OTHER_NAMES.iter().find(|known| known.1 == *offset).map(|known| &known.0);
                match predicate.or_else(other) {
                    Some(name) => f.write_str(name)?,
                    None => write!(f, "register[{offset:#x}]")?,
                }
            }
            _ => write!(f, "{space}[{offset:#x}]")?,
        }
        write!(f, ":{bytes}")
    }
}

impl Lifted {
    /// Numbers the temporaries in the order of their first use; Ghidra's offsets depend on the whole module.
    pub(super) fn with_numbered_temporaries(mut self) -> Self {
        let mut known: Vec<u64> = Vec::new();
        let nodes = self.ops.iter_mut().flat_map(|op| op.output.iter_mut().chain(&mut op.inputs));
        for node in nodes.filter(|node| node.space == "unique") {
            let number = known.iter().position(|offset| *offset == node.offset).unwrap_or_else(|| {
                known.push(node.offset);
                known.len() - 1
            });
            node.offset = number as u64 * 16;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Op, parse};

    #[test]
    fn operations_are_read_as_they_are_written() {
        let lifted = parse("= MOV|R1, 0x4\nINT_ADD register:4:4 unique:512:4 constant:336:4\nLOAD unique:64:8 space:ram:8 const:7:8\nBRANCH - ram:96:8\n")
            .unwrap()
            .remove(0)
            .with_numbered_temporaries();
        let written: Vec<String> = lifted.ops.iter().map(Op::to_string).collect();
        assert_eq!(written[0], "R1:4 = INT_ADD u0:4, constant[0x150]:4");
        assert_eq!(written[1], "u1:8 = LOAD ram[0x0]:8, 0x7:8");
        assert_eq!(written[2], "BRANCH ram[0x60]:8");
        let read: Vec<Op> = written.iter().map(|line| Op::parse(line).unwrap()).collect();
        assert_eq!(read, lifted.ops);
    }
}
