//! Writes the tables of part IFCE: classes, their instances, interface slots.
//!
//! ```text
//! 0   u32 number of instances, u32 number of classes, u32 number of slot records, u32 slots in all
//! 16  u32 offset of the instances, u32 of the classes, u32 of the slot records, u32 0, u32
//! class     12 bytes: u32 offset of the name, u16, u16 stride in constant buffers, u16 textures, u16 samplers
//! instance  16 bytes: u32 offset of the name, u16 class, u16, u16 constant buffer, u16 offset, u16 texture, u16
//! sampler
//! slots     16 bytes: u32 slots, u32 number of classes, u32 offset of class numbers (u16), u32 of table numbers (u32)
//! ```
//!
//! Offsets are relative to the start of the part. No public description is known; the layout was derived by comparing
//! real parts with FXC's listings.

use super::shown;
use std::fmt::Write;

struct Part<'a>(&'a [u8]);

impl<'a> Part<'a> {
    fn at(&self, offset: u32) -> Option<&'a [u8]> {
        self.0.get(usize::try_from(offset).ok()?..)
    }

    fn word(&self, offset: u32) -> Option<u32> {
        self.at(offset)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn half(&self, offset: u32) -> Option<u16> {
        self.at(offset)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
    }

    fn name(&self, offset: u32) -> Option<String> {
        let bytes = self.at(offset)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(shown(bytes.get(..end)?).into_owned())
    }

    /// Returns the offsets of a table's records, or `None` if they don't fit in the part.
    fn records(&self, count: u32, start: u32, size: u32) -> Option<impl Iterator<Item = u32> + use<>> {
        let bytes = count.checked_mul(size)?;
        let end = usize::try_from(start.checked_add(bytes)?).ok()?;
        (end <= self.0.len()).then(|| (0..count).map(move |number| start + number * size))
    }
}

/// Writes the tables. Returns `None` if the part can't be read.
pub(super) fn write(text: &mut String, data: &[u8]) -> Option<()> {
    let part = Part(data);
    let mut tables = String::new();
    classes(&mut tables, &part)?;
    instances(&mut tables, &part)?;
    slots(&mut tables, &part)?;
    text.push_str(&tables);
    Some(())
}

fn classes(text: &mut String, part: &Part<'_>) -> Option<()> {
    text.push_str("//\n// Available Class Types:\n//\n");
    text.push_str("// Name                             ID CB Stride Texture Sampler\n");
    text.push_str("// ------------------------------ ---- --------- ------- -------\n");
    for (number, offset) in part.records(part.word(4)?, part.word(20)?, 12)?.enumerate() {
        let name = part.name(part.word(offset)?)?;
        let (stride, textures, samplers) =
            (part.half(offset + 6)?, part.half(offset + 8)?, part.half(offset + 10)?);
        let _ = writeln!(text, "// {name:30} {number:4} {stride:9} {textures:7} {samplers:7}");
    }
    text.push_str("//\n");
    Some(())
}

fn instances(text: &mut String, part: &Part<'_>) -> Option<()> {
    let count = part.word(0)?;
    if count == 0 {
        return Some(());
    }
    let binding = |offset| match part.half(offset) {
        Some(u16::MAX) => Some("-".to_owned()),
        number => number.map(|number| number.to_string()),
    };
    text.push_str("// Available Class Instances:\n//\n");
    text.push_str("// Name                        Type CB CB Offset Texture Sampler\n");
    text.push_str("// --------------------------- ---- -- --------- ------- -------\n");
    for offset in part.records(count, part.word(16)?, 16)? {
        let name = part.name(part.word(offset)?)?;
        let class = part.half(offset + 4)?;
        let (buffer, start) = (binding(offset + 8)?, binding(offset + 10)?);
        let (texture, sampler) = (binding(offset + 12)?, binding(offset + 14)?);
        let _ = writeln!(text, "// {name:27} {class:4} {buffer:>2} {start:>9} {texture:>7} {sampler:>7}");
    }
    text.push_str("//\n");
    Some(())
}

fn slots(text: &mut String, part: &Part<'_>) -> Option<()> {
    const LINE: &str = "// +----------+---------+---------------------------------------\n";
    let _ = write!(text, "// Interface slots, {} total:\n//\n//             Slots\n", part.word(12)?);
    text.push_str(LINE);
    let mut first = 0u32;
    for offset in part.records(part.word(8)?, part.word(24)?, 16)? {
        let (span, count) = (part.word(offset)?, part.word(offset + 4)?);
        let last = first.checked_add(span)?.checked_sub(1)?;
        let range = if span == 1 { format!("{first}") } else { format!("{first}-{last}") };
        let _ = write!(text, "// | Type ID  |   {range:6}|");
        for class in part.records(count, part.word(offset + 8)?, 2)? {
            let _ = write!(text, "{:<5}", part.half(class)?);
        }
        text.push_str("\n// | Table ID |         |");
        for table in part.records(count, part.word(offset + 12)?, 4)? {
            let _ = write!(text, "{:<5}", part.word(table)?);
        }
        text.push('\n');
        text.push_str(LINE);
        first = last.checked_add(1)?;
    }
    Some(())
}
