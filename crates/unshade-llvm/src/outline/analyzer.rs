//! An outline as `llvm-bcanalyzer -dump` prints the file.
//!
//! The text is that of version 19, up to the statistics at its end: one line per block, record and end of a block,
//! operands as signed numbers, arrays that are printable as `record string`, blobs as text or their size, the strings of
//! metadata one by one. The content of `BLOCKINFO`, definitions of abbreviations and padding are left out. Where the file
//! is damaged, `llvm-bcanalyzer` stops; this text goes on, and has a line `<unknown …/>` in place of what can't be read.
//!
//! Knowledge: the output of `llvm-bcanalyzer` 19, and LLVM's `BitcodeAnalyzer.cpp`.

use crate::analyzer_names;
use crate::bitstream::BitReader;
use crate::blocks;
use crate::metadata::code::{INDEX, INDEX_OFFSET, STRINGS};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Field, OutlineSink, Value};

/// Prints the outline of bitcode as `llvm-bcanalyzer -dump` does.
///
/// ```
/// use unshade_core::{Diagnostics, Reader};
/// use unshade_llvm::outline::{Analyzer, bitcode};
///
/// # let bytes = include_bytes!("../../tests/fixtures/air_like.bc");
/// let mut text = String::new();
/// let mut analyzer = Analyzer::new(&mut text);
/// bitcode(Reader::new(bytes), &mut analyzer, &mut Diagnostics::new());
/// analyzer.finish()?;
/// assert!(text.contains("\n  <EPOCH abbrevid=5 op0=0/>\n</IDENTIFICATION_BLOCK_ID>\n<MODULE_BLOCK NumWords=801"));
/// # Ok::<(), core::fmt::Error>(())
/// ```
#[derive(Debug)]
pub struct Analyzer<W> {
    out: W,
    outcome: fmt::Result,
    levels: Vec<Level>,
    /// The first bit of the stream.
    base: u64,
    /// How many blocks are open.
    depth: usize,
    record: Record,
}

/// An open field.
#[derive(Debug)]
enum Level {
    Wrapper,
    /// A block or a record, which its first child decides, with its number.
    Item(Item),
    Block(Block),
    Header { words: u64, width: u64 },
    Record,
    Blob,
    Array,
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    number: u32,
    start: u64,
    end: u64,
}

#[derive(Debug)]
struct Block {
    id: u32,
    /// Where the index of metadata has to be.
    index: u64,
}

/// The record that is open.
#[derive(Debug, Default)]
struct Record {
    code: u32,
    /// Its bits of the file.
    start: u64,
    end: u64,
    operands: usize,
    first: [u64; 2],
    /// The characters of its array, as long as all of them are printable.
    array: Option<Vec<u8>>,
    /// Whether the array holds what is not printable.
    is_binary: bool,
    /// Whether the end of the operands is printed.
    closed: bool,
}

impl<W: fmt::Write> Analyzer<W> {
    /// Prints to `out`.
    pub fn new(out: W) -> Self {
        Self { out, outcome: Ok(()), levels: Vec::new(), base: 0, depth: 0, record: Record::default() }
    }

    /// Returns whether all of it could be written.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(self) -> fmt::Result {
        self.outcome
    }

    fn print(&mut self, text: fmt::Arguments<'_>) {
        if self.outcome.is_ok() {
            self.outcome = self.out.write_fmt(text);
        }
    }

    fn indent(&mut self) {
        self.print(format_args!("{:1$}", "", self.depth.saturating_mul(2)));
    }

    fn block(&mut self) -> Option<&mut Block> {
        self.levels.iter_mut().rev().find_map(|level| match level {
            Level::Block(block) => Some(block),
            _ => None,
        })
    }

    fn block_id(&mut self) -> u32 {
        self.block().map_or(u32::MAX, |block| block.id)
    }

    fn block_name(&mut self, id: u32) {
        match analyzer_names::block(id) {
            Some(name) => self.print(format_args!("{name}")),
            None => self.print(format_args!("UnknownBlock{id}")),
        }
    }

    /// What a field is, from those around it.
    fn level(&mut self, field: &Field<'_>) -> Level {
        let name = field.name.as_ref();
        let value = number(&field.value);
        let bits = field.bit_range();
        let item = Item { number: small(value), start: bits.start, end: bits.end };
        match self.levels.last_mut() {
            None if name == "wrapper header" => Level::Wrapper,
            None if matches!(name, "padding" | UNKNOWN) => Level::Other,
            None if name == "magic" => {
                self.base = bits.start;
                Level::Other
            }
            None => Level::Item(item),
            Some(Level::Wrapper) => {
                self.wrapper_word(name, value);
                Level::Other
            }
            Some(level @ Level::Item(_)) => {
                let item = if let Level::Item(item) = *level { item } else { item };
                if name == "ENTER_SUBBLOCK" {
                    *level = Level::Block(Block { id: item.number, index: 0 });
                    return Level::Header { words: 0, width: 0 };
                }
                *level = Level::Record;
                self.start_record(item, value);
                Level::Other
            }
            Some(Level::Block(_)) => match name {
                "DEFINE_ABBREV" | "END_BLOCK" => Level::Other,
                UNKNOWN => {
                    self.indent();
                    let bits = bits.end.saturating_sub(bits.start);
                    self.print(format_args!("<unknown {bits} bits/>\n"));
                    Level::Other
                }
                _ => Level::Item(item),
            },
            Some(Level::Header { words, width }) => {
                match name {
                    "words" => *words = value,
                    "abbreviation id width" => *width = value,
                    _ => {}
                }
                Level::Other
            }
            Some(Level::Record) => match name {
                "array" => {
                    self.record.array = Some(Vec::new());
                    Level::Array
                }
                "blob" => Level::Blob,
                _ if name.starts_with("op") && name != "operand count" => {
                    self.operand(value);
                    Level::Other
                }
                _ => Level::Other,
            },
            Some(Level::Array) => {
                if name != "length" {
                    self.operand(value);
                }
                Level::Other
            }
            Some(Level::Blob) => {
                if let Value::Bytes(bytes) = field.value {
                    self.blob(bytes);
                }
                Level::Other
            }
            Some(Level::Other) => Level::Other,
        }
    }

    fn wrapper_word(&mut self, name: &str, value: u64) {
        let (label, end) = match name {
            "magic" => ("<BITCODE_WRAPPER_HEADER Magic", ""),
            "version" => (" Version", ""),
            "offset" => (" Offset", ""),
            "size" => (" Size", ""),
            _ => (" CPUType", "/>\n"),
        };
        self.print(format_args!("{label}={value:#010x}{end}"));
    }

    /// The line at the start of a block.
    fn start_block(&mut self, words: u64, width: u64) {
        let id = self.block_id();
        self.indent();
        self.print(format_args!("<"));
        self.block_name(id);
        match id {
            blocks::BLOCKINFO => self.print(format_args!("/>\n")),
            _ => self.print(format_args!(" NumWords={words} BlockCodeSize={width}>\n")),
        }
        self.depth = self.depth.saturating_add(1);
    }

    fn end_block(&mut self, id: u32) {
        self.depth = self.depth.saturating_sub(1);
        if id != blocks::BLOCKINFO {
            self.indent();
            self.print(format_args!("</"));
            self.block_name(id);
            self.print(format_args!(">\n"));
        }
    }

    fn start_record(&mut self, item: Item, abbreviation: u64) {
        let id = self.block_id();
        self.record = Record { code: item.number, start: item.start, end: item.end, ..Record::default() };
        self.indent();
        match analyzer_names::record(id, item.number) {
            Some(name) => self.print(format_args!("<{name}")),
            None => self.print(format_args!("<UnknownCode{}", item.number)),
        }
        if abbreviation != 3 {
            self.print(format_args!(" abbrevid={abbreviation}"));
        }
    }

    fn operand(&mut self, value: u64) {
        let index = self.record.operands;
        self.record.operands = index.saturating_add(1);
        if let Some(slot) = self.record.first.get_mut(index) {
            *slot = value;
        }
        let byte = value.to_le_bytes()[0];
        match &mut self.record.array {
            Some(text) if is_printable(byte) => text.push(byte),
            Some(_) => self.record.is_binary = true,
            None => {}
        }
        let signed = i64::from_le_bytes(value.to_le_bytes());
        self.print(format_args!(" op{index}={signed}"));
    }

    /// What `llvm-bcanalyzer` says of the index of metadata.
    fn index(&mut self) {
        let Record { code, operands, first: [low, high], .. } = self.record;
        let [start, end] = [self.record.start, self.record.end].map(|bit| bit.saturating_sub(self.base));
        let Some(block) = self.block() else { return };
        match code {
            INDEX_OFFSET if operands != 2 => self.print(format_args!("(Invalid record)")),
            INDEX_OFFSET => {
                let offset = low.wrapping_add(high.wrapping_shl(32));
                block.index = end.wrapping_add(offset);
            }
            INDEX => {
                let index = block.index;
                if index == start {
                    self.print(format_args!(" (offset match)"));
                } else {
                    self.print(format_args!(" (offset mismatch: {index} vs {start})"));
                }
            }
            _ => {}
        }
    }

    fn blob(&mut self, bytes: &[u8]) {
        self.end_operands();
        if self.block_id() == blocks::METADATA && self.record.code == STRINGS {
            self.strings(bytes);
        } else if bytes.iter().all(|byte| is_printable(*byte)) {
            let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
            self.print(format_args!(" blob data = '{text}'"));
        } else {
            self.print(format_args!(" blob data = unprintable, {} bytes.", bytes.len()));
        }
    }

    /// The strings of metadata: their lengths, and from the offset on their characters.
    fn strings(&mut self, bytes: &[u8]) {
        let [count, offset] = self.record.first;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let (Some(lengths), Some(mut characters)) = (bytes.get(..offset), bytes.get(offset..)) else { return };
        self.print(format_args!(" num-strings = {count} {{\n"));
        let mut lengths = BitReader::new(lengths, 0);
        for _ in 0..count {
            let size = usize::try_from(lengths.variable(6)).unwrap_or(usize::MAX);
            let (Some(string), Some(rest)) = (characters.get(..size), characters.get(size..)) else { break };
            if lengths.overrun() {
                break;
            }
            self.indent();
            self.print(format_args!("  '{}'\n", Quoted(string)));
            characters = rest;
        }
        self.indent();
        self.print(format_args!("}}"));
    }

    /// The end of a record's operands.
    fn end_operands(&mut self) {
        if self.record.closed {
            return;
        }
        self.record.closed = true;
        if self.block_id() == blocks::METADATA {
            self.index();
        }
        self.print(format_args!("/>"));
        if let Some(text) = self.record.array.take().filter(|_| !self.record.is_binary) {
            let text: String = text.into_iter().map(char::from).collect();
            self.print(format_args!(" record string = '{text}'"));
        }
    }
}

impl<W: fmt::Write> OutlineSink for Analyzer<W> {
    fn open(&mut self, field: Field<'_>) {
        // What is inside of BLOCKINFO is left out.
        let inside = self.block_id() == blocks::BLOCKINFO && !matches!(self.levels.last(), Some(Level::Header { .. }));
        let level = if inside { Level::Other } else { self.level(&field) };
        self.levels.push(level);
    }

    fn close(&mut self) {
        match self.levels.pop() {
            Some(Level::Header { words, width }) => self.start_block(words, width),
            Some(Level::Block(block)) => self.end_block(block.id),
            Some(Level::Record) => {
                self.end_operands();
                self.print(format_args!("\n"));
            }
            _ => {}
        }
    }
}

/// Text with escapes in the manner of `llvm-bcanalyzer`.
struct Quoted<'a>(&'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &byte in self.0 {
            match byte {
                b'\\' => f.write_str("\\\\")?,
                b'\t' => f.write_str("\\t")?,
                b'\n' => f.write_str("\\n")?,
                b'"' => f.write_str("\\\"")?,
                byte if is_printable(byte) => write!(f, "{}", char::from(byte))?,
                byte => write!(f, "\\x{byte:02X}")?,
            }
        }
        Ok(())
    }
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

fn number(value: &Value<'_>) -> u64 {
    match value {
        Value::Number(number) | Value::Hex(number) => *number,
        _ => 0,
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
