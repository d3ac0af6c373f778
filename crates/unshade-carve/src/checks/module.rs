//! Checks how the contents of a module of LLVM bitcode begin: with records and abbreviations, then blocks.
//!
//! | abbreviation number | item |
//! |---|---|
//! | 0 | end of the module, up to the next word |
//! | 1 | a block: vbr8 id, vbr4 width of abbreviation numbers in it, up to the next word, u32 words |
//! | 2 | definition: vbr5 count of operands, for each 1 bit: 1 a literal, vbr8; 0 an encoding of 3 bits, of which Fixed 1 and VBR 2 have a width, vbr5; Array 3 is the last but one, Char6 4 is for characters, Blob 5 is the last |
//! | 3 | record: vbr6 code, vbr6 count, vbr6 operands |
//! | 4 and more | record in the form of a definition |
//!
//! LLVM begins modules with the record of the version and two blocks. What it writes for thin links
//! (`-thin-link-bitcode-file`) has abbreviations, the name of the source file and a record for each function before the
//! first block. Random bytes rarely go on like this: codes are known, numbers have no superfluous digits, texts are of
//! bytes.
//!
//! Source: LLVM's *Bitcode File Format* manual; `BitcodeWriter.cpp`.

/// Maximum size of what is read before the blocks in bits. Longer records are sound as far as that.
const MAX_RECORDS: u64 = 32 << 10;

/// Maximum number of elements of an array: a text, such as the name of the source file.
const MAX_TEXT: u64 = 4_096;

/// Number of blocks that are looked at.
const BLOCKS: u32 = 2;

/// Maximum number of operands of an abbreviation. LLVM's own have up to a dozen.
const MAX_OPERANDS: u64 = 32;

/// The largest id of a block that LLVM has or plans.
const MAX_BLOCK: u32 = 63;

/// Abbreviation numbers that every block has.
const END_BLOCK: u32 = 0;
const ENTER_BLOCK: u32 = 1;
const DEFINE: u32 = 2;
const UNABBREVIATED: u32 = 3;

/// The code of a module's version, and its largest value.
const VERSION: u64 = 1;
const MAX_VERSION: u64 = 31;

/// The largest code of a record of a module.
const MAX_CODE: u64 = 18;

/// Codes of records that are text: triple, layout, assembly, sections, libraries, collectors, the source's name.
const TEXTS: [u64; 7] = [2, 3, 4, 5, 6, 11, 16];

/// Returns whether a module of this many words begins soundly, as far as its bytes exist. `width` is that of its
/// abbreviation numbers.
pub(super) fn begins(contents: &[u8], width: u32, words: u32) -> bool {
    let mut items = Items { bits: Bits { data: contents, position: 0 }, width, definitions: Vec::new() };
    let size = u64::from(words).saturating_mul(32);
    let mut blocks = 0_u32;
    let mut read = 0_u64;
    while blocks < BLOCKS && read < MAX_RECORDS {
        let before = items.bits.position;
        match items.next() {
            // The bytes end here.
            None => return true,
            // The module ends here, or is empty.
            Some(Item::End) => return items.bits.position == size || before == 0,
            Some(Item::Block) => blocks = blocks.saturating_add(1),
            Some(Item::Record) => read = read.saturating_add(items.bits.position.saturating_sub(before)),
            Some(Item::Text) => {}
            Some(Item::Unsound) => return false,
        }
        if items.bits.position > size {
            return false;
        }
    }
    true
}

/// What a module may begin with.
enum Item {
    /// A record that is not abbreviated.
    Record,
    /// An abbreviated record, or the definition of an abbreviation.
    Text,
    /// A block, which has been skipped.
    Block,
    /// The end of the module.
    End,
    /// Something else.
    Unsound,
}

/// An operand of an abbreviation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    Literal(u64),
    Fixed(u32),
    Variable(u32),
    Array,
    Character,
    Blob,
}

/// Reads the items of a module.
struct Items<'a> {
    bits: Bits<'a>,
    width: u32,
    definitions: Vec<Vec<Operand>>,
}

impl Items<'_> {
    /// Reads an item; `None` if its bytes are missing.
    fn next(&mut self) -> Option<Item> {
        let (item, is_sound) = match self.bits.take(self.width)? {
            END_BLOCK => (Item::End, self.bits.align()? == 0),
            ENTER_BLOCK => (Item::Block, self.skip_block()?),
            DEFINE => (Item::Text, self.define()?),
            UNABBREVIATED => (Item::Record, self.record()?),
            number => {
                let index = usize::try_from(number.saturating_sub(UNABBREVIATED + 1)).ok()?;
                match self.definitions.get(index).cloned() {
                    Some(operands) => (Item::Text, self.abbreviated(&operands)?),
                    None => return Some(Item::Unsound),
                }
            }
        };
        Some(if is_sound { item } else { Item::Unsound })
    }

    /// Skips a block, and returns whether its header is sound.
    fn skip_block(&mut self) -> Option<bool> {
        let bits = &mut self.bits;
        let (id, width, padding, words) = (bits.take(8)?, bits.take(4)?, bits.align()?, bits.take(32)?);
        bits.position = bits.position.saturating_add(u64::from(words).saturating_mul(32));
        Some(id <= MAX_BLOCK && (2..=7).contains(&width) && padding == 0)
    }

    /// Reads the definition of an abbreviation, and returns whether it is sound. Its first operand is the code.
    fn define(&mut self) -> Option<bool> {
        let Some(count) = self.bits.variable(5)?.filter(|count| (1..=MAX_OPERANDS).contains(count)) else {
            return Some(false);
        };
        let mut operands = Vec::new();
        for _ in 0..count {
            match self.operand()? {
                Some(operand) => operands.push(operand),
                None => return Some(false),
            }
        }
        let last = operands.len().saturating_sub(1);
        let is_placed = |(index, operand): (usize, &Operand)| match operand {
            Operand::Array => index > 0 && index.saturating_add(1) == last,
            Operand::Blob => index > 0 && index == last,
            _ => true,
        };
        let is_element = |operand: &Operand| !matches!(operand, Operand::Array | Operand::Blob);
        let is_array = operands.get(last.wrapping_sub(1)) == Some(&Operand::Array);
        let is_sound = operands.iter().enumerate().all(is_placed)
            && (!is_array || operands.last().is_some_and(is_element));
        self.definitions.push(operands);
        Some(is_sound)
    }

    /// Reads an operand of a definition; the inner `None` if there is no such encoding.
    fn operand(&mut self) -> Option<Option<Operand>> {
        /// Maximum width of a number, as in LLVM.
        const WIDEST: u64 = 32;
        let bits = &mut self.bits;
        if bits.take(1)? == 1 {
            return Some(bits.variable(8)?.map(Operand::Literal));
        }
        Some(match bits.take(3)? {
            form @ (1 | 2) => {
                let width = bits.variable(5)?.filter(|&width| width <= WIDEST);
                width.and_then(|width| u32::try_from(width).ok()).and_then(|width| match form {
                    1 => Some(Operand::Fixed(width)),
                    // A number of one bit at a time has no digits.
                    _ => (width != 1).then_some(Operand::Variable(width)),
                })
            }
            3 => Some(Operand::Array),
            4 => Some(Operand::Character),
            5 => Some(Operand::Blob),
            _ => None,
        })
    }

    /// Reads a record that is not abbreviated, and returns whether it is sound.
    fn record(&mut self) -> Option<bool> {
        let (Some(code), Some(count)) = (self.bits.variable(6)?, self.bits.variable(6)?) else {
            return Some(false);
        };
        if !(1..=MAX_CODE).contains(&code) || (code == VERSION && count != 1) {
            return Some(false);
        }
        self.values(count, |bits| bits.variable(6), code)
    }

    /// Reads a record in the form of a definition, and returns whether it is sound.
    fn abbreviated(&mut self, operands: &[Operand]) -> Option<bool> {
        let code = match operands.first() {
            Some(&Operand::Literal(code)) => code,
            _ => return Some(false),
        };
        let mut operands = operands.iter();
        while let Some(&operand) = operands.next() {
            match operand {
                Operand::Array => {
                    let count = self.bits.variable(6)?.filter(|&count| count <= MAX_TEXT);
                    let (Some(count), Some(&element)) = (count, operands.next()) else {
                        return Some(false);
                    };
                    return self.values(count, |bits| bits.value(element), code);
                }
                Operand::Blob => {
                    let Some(size) = self.bits.variable(6)? else { return Some(false) };
                    return Some(self.bits.align()? == 0 && self.bits.skip(size));
                }
                operand => {
                    if self.bits.value(operand)?.is_none() {
                        return Some(false);
                    }
                }
            }
        }
        Some(true)
    }

    /// Reads the operands of a record, as many as count, and returns whether they are sound.
    fn values(
        &mut self,
        count: u64,
        mut value: impl FnMut(&mut Bits<'_>) -> Option<Option<u64>>,
        code: u64,
    ) -> Option<bool> {
        let most = match code {
            VERSION => MAX_VERSION,
            code if TEXTS.contains(&code) => 0xff,
            _ => u64::MAX,
        };
        let start = self.bits.position;
        for _ in 0..count {
            if value(&mut self.bits)?.is_none_or(|value| value > most) {
                return Some(false);
            }
            let size = self.bits.position.saturating_sub(start);
            // All operands of no bits are the same.
            if size == 0 || size > MAX_RECORDS {
                break;
            }
        }
        Some(true)
    }
}

/// Reads numbers of some bits, lowest bits first. `None` if the bytes are missing.
struct Bits<'a> {
    data: &'a [u8],
    /// The number of bits before the next one.
    position: u64,
}

impl Bits<'_> {
    /// Reads a number of at most 32 bits.
    fn take(&mut self, count: u32) -> Option<u32> {
        let byte = usize::try_from(self.position >> 3).ok()?;
        let rest = self.data.get(byte..)?;
        let mut word = [0; 8];
        let near = rest.get(..8).unwrap_or(rest);
        word.get_mut(..near.len())?.copy_from_slice(near);
        let shift = u32::try_from(self.position & 7).ok()?;
        let end = self.position.checked_add(u64::from(count))?;
        if end > (self.data.len() as u64).saturating_mul(8) {
            return None;
        }
        self.position = end;
        let bits = u64::from_le_bytes(word).checked_shr(shift)?;
        u32::try_from(bits & !u64::MAX.checked_shl(count)?).ok()
    }

    /// Reads a number of digits of `width` bits; the inner `None` if it has more than 64 bits or a superfluous digit.
    fn variable(&mut self, width: u32) -> Option<Option<u64>> {
        let more = 1_u32.checked_shl(width.saturating_sub(1))?;
        let mut value = 0_u64;
        let mut shift = 0_u32;
        loop {
            let digit = self.take(width)?;
            let bits = u64::from(digit & !more);
            let shifted = bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits);
            let Some(shifted) = shifted else { return Some(None) };
            value |= shifted;
            if digit & more == 0 {
                return Some((bits != 0 || shift == 0).then_some(value));
            }
            shift = shift.saturating_add(width.saturating_sub(1));
        }
    }

    /// Reads the value of an operand that is one number.
    fn value(&mut self, operand: Operand) -> Option<Option<u64>> {
        match operand {
            Operand::Literal(value) => Some(Some(value)),
            Operand::Fixed(0) | Operand::Variable(0) => Some(Some(0)),
            Operand::Fixed(width) => self.take(width).map(|value| Some(u64::from(value))),
            Operand::Variable(width) => self.variable(width),
            Operand::Character => self.take(6).map(|value| Some(u64::from(value))),
            Operand::Array | Operand::Blob => Some(None),
        }
    }

    /// Returns the bits up to the next multiple of 32.
    fn align(&mut self) -> Option<u32> {
        let left = u32::try_from(self.position.wrapping_neg() & 31).ok()?;
        self.take(left)
    }

    /// Skips a blob of this many bytes and its padding, and returns whether it exists.
    fn skip(&mut self, size: u64) -> bool {
        let size = size.checked_next_multiple_of(4).and_then(|size| size.checked_mul(8));
        match size.and_then(|size| self.position.checked_add(size)) {
            Some(end) => {
                self.position = end;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade_llvm::bitstream::BitWriter;

    const WIDTH: u32 = 3;

    /// Writes a record of 6-bit digits.
    fn record(bits: &mut BitWriter, code: u64, operands: &[u64]) {
        bits.fixed(3, WIDTH).variable(code, 6).variable(operands.len() as u64, 6);
        operands.iter().for_each(|&operand| {
            bits.variable(operand, 6);
        });
    }

    /// Writes the header of an empty block.
    fn block(bits: &mut BitWriter, id: u64) {
        bits.fixed(1, WIDTH).variable(id, 8).variable(4, 4).align().fixed(0, 32);
    }

    /// Writes a module as for a thin link: version, an abbreviation, the name of the source in its form, functions.
    fn thin(name: &[u8], functions: u64) -> BitWriter {
        let mut bits = BitWriter::new();
        record(&mut bits, 1, &[2]);
        // A literal code, an array of Fixed(8).
        bits.fixed(2, WIDTH).variable(3, 5).fixed(1, 1).variable(16, 8);
        bits.fixed(0, 1).fixed(3, 3).fixed(0, 1).fixed(1, 3).variable(8, 5);
        bits.fixed(4, WIDTH).variable(name.len() as u64, 6);
        name.iter().for_each(|&byte| {
            bits.fixed(u64::from(byte), 8);
        });
        for function in 0..functions {
            record(&mut bits, 8, &[function * 7, 9, 1 << 33, 0]);
        }
        bits
    }

    fn is_sound(bits: BitWriter) -> bool {
        let bytes = bits.finish();
        let words = u32::try_from(bytes.len().div_ceil(4)).unwrap();
        begins(&bytes, WIDTH, words)
    }

    #[test]
    fn records_and_abbreviations_before_blocks() {
        for functions in [0, 1, 5, 2_000] {
            let mut bits = thin(b"kernel.ll", functions);
            block(&mut bits, 20);
            block(&mut bits, 21);
            assert!(is_sound(bits), "{functions} functions");
        }
        // One block, the hash and the end, as after a summary.
        let mut bits = thin(b"kernel.ll", 3);
        block(&mut bits, 20);
        record(&mut bits, 17, &[1, 2, 3, 4, 5]);
        bits.fixed(0, WIDTH).align();
        assert!(is_sound(bits.clone()));
        bits.fixed(0, 32);
        assert!(!is_sound(bits), "the end is not that of the module");
    }

    #[test]
    fn other_items_are_refused() {
        let after = |add: &dyn Fn(&mut BitWriter)| {
            let mut bits = thin(b"kernel.ll", 1);
            add(&mut bits);
            // What follows is no reason to refuse.
            block(&mut bits, 20);
            block(&mut bits, 21);
            is_sound(bits)
        };
        assert!(after(&|_| {}));
        assert!(!after(&|bits| block(bits, 64)), "an unknown block");
        assert!(!after(&|bits| record(bits, 1, &[2, 2])), "a version of two numbers");
        assert!(!after(&|bits| record(bits, 1, &[32])), "a version that is too new");
        assert!(!after(&|bits| record(bits, 19, &[1])), "an unknown record");
        assert!(!after(&|bits| record(bits, 2, &[256])), "a triple that is no text");
        assert!(
            !after(&|bits| {
                bits.fixed(3, WIDTH).variable(8, 6).variable(1, 6).fixed(0x20, 6).fixed(0, 6);
            }),
            "a superfluous digit"
        );
        assert!(
            !after(&|bits| {
                bits.fixed(5, WIDTH);
            }),
            "an abbreviation that is not defined"
        );
        assert!(
            !after(&|bits| {
                bits.fixed(2, WIDTH).variable(0, 5);
            }),
            "an abbreviation of nothing"
        );
        assert!(
            !after(&|bits| {
                bits.fixed(2, WIDTH).variable(2, 5).fixed(0, 1).fixed(3, 3).fixed(0, 1).fixed(4, 3);
            }),
            "an array without a code"
        );
        let mut bits = thin(b"kernel.ll", 1);
        block(&mut bits, 20);
        let bytes = bits.finish();
        assert!(!begins(&bytes, WIDTH, 4), "records that leave the module");
        assert!((0..bytes.len()).all(|end| begins(&bytes[..end], WIDTH, 100)), "what is cut off is sound");
    }

    #[test]
    fn arrays_of_nothing_take_no_time() {
        let mut bits = BitWriter::new();
        bits.fixed(2, WIDTH).variable(3, 5).fixed(1, 1).variable(8, 8);
        bits.fixed(0, 1).fixed(3, 3).fixed(0, 1).fixed(1, 3).variable(0, 5);
        for _ in 0..1_000 {
            bits.fixed(4, WIDTH).variable(MAX_TEXT, 6);
        }
        assert!(is_sound(bits));
    }
}
