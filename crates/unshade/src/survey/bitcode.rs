//! Outlines LLVM bitcode: the names of its blocks and records, and their first operands.

use unshade_core::outline::UNKNOWN;
use unshade_core::{Field, OutlineSink, Result, Value};
use unshade_llvm::bitstream::{self, Cursor, Entry, Record};
use unshade_llvm::{block_name, record_name};

/// Names of the operands of a record that are counted; further operands are ignored.
const OPERANDS: [&str; 6] = ["operand 0", "operand 1", "operand 2", "operand 3", "operand 4", "operand 5"];

/// ID of the block that defines abbreviations of other blocks.
const BLOCKINFO: u32 = 0;

/// Emits the blocks and records of a module. Ranges are whole bytes, so those of neighbours may overlap.
///
/// # Errors
/// If the stream is damaged. Everything before the fault has been emitted.
pub(super) fn outline(bytes: &[u8], base: u64, sink: &mut dyn OutlineSink) -> Result<()> {
    let range = bitstream::locate(bytes, base)?;
    let start = base.saturating_add(range.start as u64);
    let mut cursor = Cursor::new(bytes.get(range).unwrap_or_default(), start);
    let mut record = Record::default();
    let mut blocks: Vec<u32> = Vec::new();
    let result = walk(&mut cursor, &mut record, &mut blocks, sink);
    blocks.iter().for_each(|_| sink.close());
    result
}

fn walk(
    cursor: &mut Cursor<'_>,
    record: &mut Record,
    blocks: &mut Vec<u32>,
    sink: &mut dyn OutlineSink,
) -> Result<()> {
    loop {
        if blocks.is_empty() && cursor.at_end() {
            return Ok(());
        }
        match cursor.advance_entry()? {
            Entry::EndBlock => {
                blocks.pop();
                sink.close();
            }
            Entry::Block(BLOCKINFO) => cursor.read_block_info()?,
            Entry::Block(_) if blocks.len() >= Cursor::MAX_DEPTH => cursor.skip_block()?,
            Entry::Block(block) => {
                let name = match block_name(block) {
                    Some(name) => name.to_owned(),
                    None => format!("{UNKNOWN} block {block:#x}"),
                };
                let at = cursor.offset();
                cursor.enter_block(block)?;
                sink.open(Field::group(name, at..at));
                blocks.push(block);
            }
            Entry::Record(id) => {
                let start = cursor.item_offset();
                cursor.read_record(id, record)?;
                let block = blocks.last().copied().unwrap_or(u32::MAX);
                emit(block, id, record, start..cursor.end_offset(), sink);
            }
        }
    }
}

fn emit(block: u32, id: u32, record: &Record, range: std::ops::Range<u64>, sink: &mut dyn OutlineSink) {
    let name = match record_name(block, record.code) {
        Some(name) => name.to_owned(),
        None => format!("{UNKNOWN} record {:#x}", record.code),
    };
    // A name with a number makes this field a record.
    sink.open(Field::group(format!("{name} 0"), range.clone()));
    let mut number = |name: &'static str, value: u64| {
        sink.leaf(Field::new(name, Value::Number(value), range.start..range.start));
    };
    number("abbreviation", id.into());
    number("number of operands", record.values.len() as u64);
    for (name, value) in OPERANDS.iter().zip(record.values.iter()) {
        number(name, *value);
    }
    if !record.blob.is_empty() {
        number("size of the blob", record.blob.len() as u64);
    }
    sink.close();
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade_core::outline::TreeBuilder;

    #[test]
    fn blocks_and_records_have_names() {
        let bytes = include_bytes!("../../../../tests/fixtures/air/kernel.bc");
        let mut tree = TreeBuilder::default();
        outline(bytes, 0, &mut tree).unwrap();
        let roots = tree.finish();
        let names: Vec<&str> = roots.iter().map(|root| root.name.as_str()).collect();
        assert!(names.contains(&"MODULE"), "{names:?}");
        let module = roots.iter().find(|root| root.name == "MODULE").unwrap();
        assert!(module.children.iter().any(|child| child.name == "TRIPLE 0"));
        assert!(module.children.iter().all(|child| !child.name.starts_with(UNKNOWN)));
    }

    #[test]
    fn damaged_streams_close_what_they_opened() {
        let bytes = include_bytes!("../../../../tests/fixtures/air/kernel.bc");
        for end in (0..bytes.len()).step_by(7) {
            let mut tree = TreeBuilder::default();
            let _ = outline(&bytes[..end], 0, &mut tree);
            tree.finish();
        }
    }
}
