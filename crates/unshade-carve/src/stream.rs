//! Unpacks compressed bytes within limits.
//!
//! A [`Decoder`] turns some input into some output; [`Carver::unpack`] calls it until it is done or reaches a limit.
//! The output's memory grows with the bytes that were really unpacked, at most doubling; the size that an archive
//! *states* only keeps the last step from overshooting. Bytes unpacked before a fault are kept and searched.
//!
//! `miniz_oxide` unpacks deflate, without unsafe code. `zlib-rs` was a third faster on a wheel of 140 MB, and is the
//! one to change to if speed matters more. bzip2 is in Rust as well, and Zstandard in `unshade-zstd`. `lzma-rust2`
//! unpacks LZMA and xz; its window grows with the output, so hostile sizes of the window cost nothing. Only the blocks of
//! xz with three or four filters have a window of the stated size at once, at most half of [`Limits::max_held_size`].

use crate::carver::Carver;
use crate::limits::{Limit, Limits};
use bzip2::Status as Bzip2Status;
use flate2::{FlushDecompress, Status as ZlibStatus};
use lzma_rust2::{Action, LzmaStream, Read as _, Status as LzmaStatus, StreamResult, XzReader, XzStream};

/// Cost of a stream from the budget for unpacked bytes, if it isn't a member of its own, whose number has a limit. It
/// bounds the time for millions of empty streams in a row.
const STREAM_COST: u64 = 64 << 10;

/// Maximum initial allocation in bytes.
const FIRST_CHUNK: usize = 1 << 20;

/// One step of a decoder.
pub(crate) struct Step {
    /// Number of consumed bytes of the input.
    pub(crate) consumed: usize,
    /// Whether the stream is complete.
    pub(crate) finished: bool,
}

/// A decoder of one stream.
pub(crate) trait Decoder {
    /// Returns the spare capacity that a step needs, in bytes.
    fn room(&self) -> usize {
        1
    }

    /// Unpacks from the beginning of `input` into the spare capacity of `output`, which is at least [`Decoder::room`].
    ///
    /// # Errors
    /// A description of the fault in the stream.
    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Step, String>;
}

/// How unpacking a stream ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The stream is complete.
    Complete,
    /// The stream is damaged, or ends early.
    Damaged(String),
    /// A limit was reached, and has been reported.
    Limit,
}

/// The result of unpacking one stream.
#[derive(Debug)]
pub(crate) struct Unpacked {
    /// Number of bytes of the input that the stream occupies.
    pub(crate) consumed: usize,
    /// How it ended.
    pub(crate) end: End,
}

impl Carver<'_> {
    /// Charges for a stream that isn't a member of its own, and returns whether it may begin.
    pub(crate) fn spend_stream(&mut self) -> bool {
        self.unpacked_total = self.unpacked_total.saturating_add(STREAM_COST);
        let is_affordable = self.unpacked_total <= self.limits.max_total_size;
        if !is_affordable {
            self.report_limit(Limit::TotalSize);
        }
        is_affordable
    }

    /// Unpacks one stream and appends it to `output`, whose earlier bytes count as held in addition to `self.held`.
    ///
    /// `packed_size` is the number of compressed bytes for the ratio; `stated` is the final size of `output` that the
    /// container states.
    pub(crate) fn unpack(
        &mut self,
        decoder: &mut dyn Decoder,
        input: &[u8],
        output: &mut Vec<u8>,
        packed_size: usize,
        stated: Option<u64>,
    ) -> Unpacked {
        let total_left = self.limits.max_total_size.saturating_sub(self.unpacked_total);
        // Maximum length of the output: the lowest of the limits.
        let (limit, ceiling) = [
            (Limit::MemberSize, self.limits.max_member_size),
            (Limit::HeldSize, self.limits.max_held_size.saturating_sub(self.held)),
            (Limit::Ratio, self.limits.ratio_allowance(packed_size)),
            (Limit::TotalSize, total_left.saturating_add(output.len() as u64)),
        ]
        .into_iter()
        .min_by_key(|&(_, ceiling)| ceiling)
        .unwrap_or((Limit::Memory, 0));
        let mut consumed = 0_usize;
        let end = loop {
            if output.len() as u64 > ceiling {
                output.truncate(usize::try_from(ceiling).unwrap_or(usize::MAX));
                self.report_limit(limit);
                break End::Limit;
            }
            let room = decoder.room();
            if output.capacity().saturating_sub(output.len()) < room
                && !grow(output, room, input.len(), stated, ceiling)
            {
                self.report_limit(Limit::Memory);
                break End::Limit;
            }
            let before = output.len();
            let rest = input.get(consumed..).unwrap_or_default();
            match decoder.step(rest, output) {
                Ok(step) => {
                    let produced = output.len().saturating_sub(before);
                    self.unpacked_total = self.unpacked_total.saturating_add(produced as u64);
                    consumed = consumed.saturating_add(step.consumed).min(input.len());
                    if step.finished {
                        // One more iteration if the last step exceeded a limit.
                        if output.len() as u64 <= ceiling {
                            break End::Complete;
                        }
                    } else if step.consumed == 0 && produced == 0 {
                        break End::Damaged("the compressed data ends early".into());
                    }
                }
                Err(fault) => {
                    self.unpacked_total =
                        self.unpacked_total.saturating_add(output.len().saturating_sub(before) as u64);
                    break End::Damaged(fault);
                }
            }
        };
        Unpacked { consumed, end }
    }
}

/// Reserves memory for more output, at least `room` bytes.
fn grow(output: &mut Vec<u8>, room: usize, packed: usize, stated: Option<u64>, ceiling: u64) -> bool {
    /// Room after the last byte, so that a decoder can detect the end, and output can exceed a limit.
    const MARGIN: usize = 64;
    let mut more = output.len().max(packed.saturating_mul(4).clamp(512, FIRST_CHUNK));
    let left = |total: u64| usize::try_from(total).unwrap_or(usize::MAX).saturating_sub(output.len());
    if let Some(stated) = stated.map(left)
        && stated > 0
    {
        more = more.min(stated);
    }
    more = more.min(left(ceiling)).saturating_add(room.max(MARGIN));
    output.try_reserve_exact(more).is_ok()
}

/// Deflate, raw or in zlib's wrapper.
pub(crate) struct Inflate(flate2::Decompress);

impl Inflate {
    /// Raw deflate, as in zip and gzip.
    pub(crate) fn raw() -> Self {
        Self(flate2::Decompress::new(false))
    }

    /// Deflate with zlib's header and Adler-32.
    pub(crate) fn zlib() -> Self {
        Self(flate2::Decompress::new(true))
    }

    /// Resets a zlib decoder for another stream, which is cheaper than creating one.
    pub(crate) fn reset_zlib(&mut self) {
        self.0.reset(true);
    }
}

impl Decoder for Inflate {
    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Step, String> {
        let before = self.0.total_in();
        let status = self.0.decompress_vec(input, output, FlushDecompress::None);
        let consumed = usize::try_from(self.0.total_in().saturating_sub(before)).unwrap_or(input.len());
        match status {
            Ok(status) => Ok(Step { consumed, finished: status == ZlibStatus::StreamEnd }),
            Err(fault) => Err(match fault.message() {
                Some(message) => format!("the deflate data is damaged: {message}"),
                None => "the deflate data is damaged".into(),
            }),
        }
    }
}

/// bzip2.
pub(crate) struct Bunzip2(bzip2::Decompress);

impl Bunzip2 {
    /// Creates a decoder for one stream.
    pub(crate) fn new() -> Self {
        Self(bzip2::Decompress::new(false))
    }
}

impl Decoder for Bunzip2 {
    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Step, String> {
        let before = self.0.total_in();
        let status = self.0.decompress_vec(input, output);
        let consumed = usize::try_from(self.0.total_in().saturating_sub(before)).unwrap_or(input.len());
        match status {
            Ok(Bzip2Status::MemNeeded) => Err("out of memory for bzip2".into()),
            Ok(status) => Ok(Step { consumed, finished: status == Bzip2Status::StreamEnd }),
            Err(fault) => Err(fault.to_string()),
        }
    }
}

/// One frame of Zstandard. What is unpacked is its window.
pub(crate) struct Unzstd(unshade_zstd::Decoder);

impl Unzstd {
    /// Creates a decoder for one frame.
    pub(crate) fn new() -> Self {
        Self(unshade_zstd::Decoder::new())
    }
}

impl Decoder for Unzstd {
    fn room(&self) -> usize {
        unshade_zstd::Decoder::ROOM
    }

    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Step, String> {
        match self.0.step(input, output) {
            Ok(step) => Ok(Step { consumed: step.consumed, finished: step.is_finished }),
            Err(fault) => Err(format!("the Zstandard data is damaged: {fault}")),
        }
    }
}

/// LZMA, with the header of a file or without.
pub(crate) struct Unlzma(LzmaStream);

impl Unlzma {
    /// A file of LZMA, with its header.
    pub(crate) fn file(limits: &Limits) -> Self {
        Self(LzmaStream::new_mem_limit(max_window(limits), None))
    }

    /// LZMA without a header. `size` is the unpacked size, if an end marker does not end the data.
    ///
    /// # Errors
    /// A description of what is wrong with the properties.
    pub(crate) fn raw(properties: u8, window: u32, size: Option<u64>) -> Result<Self, String> {
        let stream = LzmaStream::new_with_props(size.unwrap_or(u64::MAX), properties, window, None);
        stream.map(Self).map_err(|error| lzma_fault(&error))
    }
}

impl Decoder for Unlzma {
    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Step, String> {
        let mut step = lzma_step(input, output, |input, room, action| self.0.process(input, room, action))?;
        if step.finished {
            // The stream keeps some input that it did not need.
            step.consumed = step.consumed.saturating_sub(self.0.unused_input().len());
        }
        Ok(step)
    }
}

/// One stream of xz, whose blocks have LZMA2 and at most one more filter.
pub(crate) struct Unxz(XzStream);

/// Creates a decoder for the stream of xz at the start of `data`.
pub(crate) fn unxz<'a>(data: &'a [u8], limits: &Limits) -> Box<dyn Decoder + 'a> {
    /// The offset of the flags of the first block, after the header of the stream and the size of the block's header.
    const FLAGS: usize = 13;
    let filters = data.get(FLAGS).map_or(1, |flags| (flags & 3).saturating_add(1));
    if filters > 2 {
        Box::new(UnxzChain::new(data, limits))
    } else {
        Box::new(Unxz(XzStream::new_mem_limit(false, max_window(limits))))
    }
}

/// One stream of xz whose blocks have three or four filters, which the library reads only if it has all input at once.
struct UnxzChain<'a> {
    reader: XzReader<&'a [u8]>,
    /// Number of bytes of the stream and of what follows it.
    size: usize,
}

impl<'a> UnxzChain<'a> {
    fn new(data: &'a [u8], limits: &Limits) -> Self {
        Self { reader: XzReader::new_mem_limit(data, false, max_window(limits)), size: data.len() }
    }
}

impl Decoder for UnxzChain<'_> {
    fn step(&mut self, _: &[u8], output: &mut Vec<u8>) -> Result<Step, String> {
        let mut room = [0; LZMA_OUTPUT];
        let most = output.capacity().saturating_sub(output.len());
        let room = room.get_mut(..most.min(LZMA_OUTPUT)).unwrap_or_default();
        let produced = self.reader.read(room).map_err(|error| lzma_fault(&error))?;
        output.extend(room.get(..produced).unwrap_or_default());
        // What the reader has consumed counts at the end only, as it keeps its own place.
        let finished = produced == 0;
        let consumed = if finished { self.size.saturating_sub(self.reader.inner().len()) } else { 0 };
        Ok(Step { consumed, finished })
    }
}

impl Decoder for Unxz {
    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Step, String> {
        lzma_step(input, output, |input, room, action| self.0.process(input, room, action))
    }
}

/// Returns the maximum size of the window of LZMA in KiB: half of the memory for unpacked bytes.
fn max_window(limits: &Limits) -> u32 {
    u32::try_from(limits.max_held_size >> 11).unwrap_or(u32::MAX)
}

/// Maximum output of a step of LZMA or xz, which is lost if there is a fault in it.
const LZMA_OUTPUT: usize = 1 << 10;

/// Unpacks a little of LZMA or xz.
fn lzma_step(
    input: &[u8],
    output: &mut Vec<u8>,
    process: impl FnOnce(&[u8], &mut [u8], Action) -> Result<StreamResult, lzma_rust2::Error>,
) -> Result<Step, String> {
    /// Maximum input of a step: the library copies what it does not need yet.
    const INPUT: usize = 64 << 10;
    let chunk = input.get(..INPUT).unwrap_or(input);
    let action = if chunk.len() == input.len() { Action::Finish } else { Action::Run };
    let before = output.len();
    output.resize(before.saturating_add(LZMA_OUTPUT).min(output.capacity()), 0);
    let result = process(chunk, output.get_mut(before..).unwrap_or_default(), action);
    output.truncate(before.saturating_add(result.as_ref().map_or(0, |result| result.bytes_produced)));
    let result = result.map_err(|error| lzma_fault(&error))?;
    Ok(Step { consumed: result.bytes_consumed, finished: result.status == LzmaStatus::StreamEnd })
}

fn lzma_fault(error: &lzma_rust2::Error) -> String {
    use lzma_rust2::Error;
    match error {
        Error::Eof => "the LZMA data is cut off".into(),
        Error::OutOfMemory(_) => "the LZMA data needs too much memory; raise --max-held-size".into(),
        Error::InvalidData(fault)
        | Error::InvalidInput(fault)
        | Error::Other(fault)
        | Error::Unsupported(fault)
        | Error::WriteZero(fault) => format!("the LZMA data is damaged: {fault}"),
        Error::Interrupted => "the LZMA data is damaged".into(),
    }
}
