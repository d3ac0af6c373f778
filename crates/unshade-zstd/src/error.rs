//! What is wrong with a frame.

use core::fmt;

/// What is wrong with a frame. Its text is a clause, to follow "the Zstandard data is damaged: ".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The frame header is cut off or invalid.
    Header,
    /// The frame needs a dictionary.
    Dictionary,
    /// A block header is cut off or invalid.
    BlockHeader,
    /// A block is cut off.
    Block,
    /// Literals are cut off or invalid.
    Literals,
    /// A table of probabilities is invalid.
    Table,
    /// A stream of bits has no end.
    Bits,
    /// Huffman codes are invalid, or don't fill their stream.
    Huffman,
    /// Sequences are invalid.
    Sequences,
    /// The output is larger than the frame or the caller permits.
    Size,
    /// The output is smaller than the frame states.
    Content,
    /// The checksum is cut off.
    Checksum,
    /// The checksum does not match.
    Mismatch,
    /// The system is out of memory.
    Memory,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Header => "the frame header is truncated or has a wrong magic number",
            Self::Dictionary => "the frame needs a dictionary",
            Self::BlockHeader => "a block header is truncated or invalid",
            Self::Block => "a block is truncated",
            Self::Literals => "the literals of a block are truncated or invalid",
            Self::Table => "a table of probabilities is invalid",
            Self::Bits => "a stream of bits is empty or has no end",
            Self::Huffman => "the Huffman codes of a block are invalid",
            Self::Sequences => "the sequences of a block are invalid",
            Self::Size => "it decompresses to more than the stated size",
            Self::Content => "it decompresses to less than the stated size",
            Self::Checksum => "the checksum is truncated",
            Self::Mismatch => "the checksum does not match",
            Self::Memory => "there is not enough memory for it",
        })
    }
}

impl core::error::Error for Error {}
