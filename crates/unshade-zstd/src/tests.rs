//! Tests of the decoder, with frames that `ruzstd` compresses, and frames by hand.

use super::*;
use alloc::string::String;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Decompresses with the decoder that we compare with.
fn reference(frame: &[u8]) -> Option<Vec<u8>> {
    let mut rest = frame;
    let mut decoder = FrameDecoder::new();
    decoder.init(&mut rest).ok()?;
    decoder.decode_blocks(&mut rest, BlockDecodingStrategy::All).ok()?;
    decoder.collect()
}

/// Returns bytes from a generator with a fixed seed.
fn random(size: usize, values: u64) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..size)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) % values) as u8
        })
        .collect()
}

/// Returns something like code: records of 16 bytes, of which some fields vary.
fn records(count: usize) -> Vec<u8> {
    let noise = random(count * 2, 23);
    let mut bytes = Vec::new();
    for (index, pair) in noise.chunks(2).enumerate() {
        let (a, b) = (pair[0], pair[1]);
        bytes.extend([
            0x24,
            0x76,
            a,
            0xff,
            index as u8 & 0x3f,
            b,
            0,
            0,
            0xff,
            0,
            0x8e,
            7,
            a ^ b,
            0xc2,
            0x0f,
            0,
        ]);
    }
    bytes
}

/// Returns inputs of many kinds: empty, short, of one value, random, text, records, larger than a block.
fn inputs() -> Vec<Vec<u8>> {
    let mut text = String::new();
    for index in 0..9_000_u32 {
        text.push_str(
            [".text.", "kernel", "_ZN5block", " add ", "mul", "\n"][index.wrapping_mul(index) as usize % 6],
        );
    }
    let mut all = alloc::vec![
        Vec::new(),
        b"a".to_vec(),
        alloc::vec![7; 1_000_000],
        random(300_000, 256),
        random(300_000, 3),
        random(200, 5),
        text.into_bytes(),
        records(40_000),
        [records(9_000), random(140_000, 90), records(9_000)].concat(),
    ];
    // Matches at every small distance, which repeat what they write.
    let mut periods = Vec::new();
    for period in 1..40 {
        periods.extend(random(period, 250).iter().copied().cycle().take(period * 3 + 211));
    }
    all.push(periods);
    all
}

#[test]
fn frames_decompress_to_what_was_compressed() {
    for (index, input) in inputs().iter().enumerate() {
        for level in [CompressionLevel::Uncompressed, CompressionLevel::Fastest] {
            let frame = compress_to_vec(input.as_slice(), level);
            assert!(decode(&frame, input.len()).as_ref() == Ok(input), "input {index}");
            // With room for more than there is.
            assert!(decode(&frame, input.len() + 300_000).as_ref() == Ok(input), "input {index}");
            if !input.is_empty() {
                assert_eq!(decode(&frame, input.len() - 1), Err(Error::Size), "input {index}");
            }
        }
    }
}

#[test]
fn damaged_frames_are_refused_or_read_as_the_reference_does() {
    let input = [records(150), random(80, 9), records(20)].concat();
    let mut frame = compress_to_vec(input.as_slice(), CompressionLevel::Fastest);
    assert!(frame.len() < input.len() / 2);
    // Without the checksum, which would find nearly every change.
    assert_eq!(frame[4] & 4, 4);
    frame[4] ^= 4;
    frame.truncate(frame.len() - 4);
    for size in 0..frame.len() {
        assert!(decode(&frame[..size], input.len()).is_err(), "{size} bytes");
    }
    let (mut equal, mut refused) = (0, 0);
    for index in 0..frame.len() {
        for bit in 0..8 {
            let mut changed = frame.clone();
            changed[index] ^= 1 << bit;
            let ours = decode(&changed, 1 << 20);
            match (ours, reference(&changed)) {
                (Ok(ours), Some(theirs)) => {
                    assert!(ours == theirs, "byte {index}, bit {bit}");
                    equal += 1;
                }
                (Err(_), _) => refused += 1,
                (Ok(_), None) => {}
            }
        }
    }
    assert!(equal > 100 && refused > 100, "{equal} equal, {refused} refused");
}

#[test]
fn every_block_type_is_read() {
    // Magic, a window; blocks: three bytes raw, a run of five, the last one empty.
    let mut frame = Vec::from(MAGIC);
    frame.extend([0, 0x58]);
    frame.extend([3 << 3, 0, 0, b'a', b'b', b'c']);
    frame.extend([5 << 3 | 1 << 1, 0, 0, b'x']);
    frame.extend([1, 0, 0]);
    assert_eq!(decode(&frame, 8).unwrap(), b"abcxxxxx");
    // A reserved block type, and a block larger than the format permits.
    for head in [[3 << 1 | 1, 0, 0], [1 | 1 << 1, 0, 0x20]] {
        let frame = [&frame[..6], &head, &[0; 8]].concat();
        assert_eq!(decode(&frame, 1 << 20), Err(Error::BlockHeader));
    }
}

#[test]
fn headers_of_every_form_are_read() {
    let body = [1 | 2 << 3, 0, 0, b'h', b'i'];
    // Descriptor, and the fields after it: window, dictionary, content size.
    let heads: [(u8, &[u8], Option<usize>); 6] = [
        (0x00, &[0x58], None),
        (0x20, &[2], Some(2)),
        (0x60, &[2, 0], Some(258)),
        (0xa0, &[2, 0, 0, 0], Some(2)),
        (0xe3, &[0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0], Some(2)),
        (0x41, &[0x58, 0, 3, 0], Some(259)),
    ];
    for (descriptor, fields, content) in heads {
        let frame = [&MAGIC[..], &[descriptor], fields, &body].concat();
        assert_eq!(Header::read(&mut &frame[..]).unwrap().content, content, "{descriptor:#x}");
        let expected =
            if content.is_some_and(|content| content > 2) { Err(Error::Content) } else { Ok(&b"hi"[..]) };
        assert_eq!(decode(&frame, 300).as_deref().map_err(|error| *error), expected, "{descriptor:#x}");
    }
    // A block larger than the window, and more than the stated size.
    let too_small = [&MAGIC[..], &[0x20, 1], &body].concat();
    assert_eq!(decode(&too_small, 2), Err(Error::Size));
    let with_dictionary = [&MAGIC[..], &[0x21, 9, 2], &body].concat();
    assert_eq!(decode(&with_dictionary, 2), Err(Error::Dictionary));
    let reserved = [&MAGIC[..], &[0x28, 2], &body].concat();
    assert_eq!(decode(&reserved, 2), Err(Error::Header));
    assert_eq!(decode(b"\x28\xb5\x2f\xfe", 2), Err(Error::Header));
}

#[test]
fn lengths_and_offsets_of_codes_are_those_of_the_format() {
    use super::sequences::{literal_lengths, match_lengths};
    let literal = |code: usize| literal_lengths().get(code).map(|meaning| (meaning.base, meaning.extra));
    let matched = |code: usize| match_lengths().get(code).map(|meaning| (meaning.base, meaning.extra));
    assert_eq!(
        [0, 15, 16, 24, 25, 35].map(literal),
        [Some((0, 0)), Some((15, 0)), Some((16, 1)), Some((48, 4)), Some((64, 6)), Some((65_536, 16)),]
    );
    assert_eq!(
        [0, 31, 32, 42, 43, 52].map(matched),
        [Some((3, 0)), Some((34, 0)), Some((35, 1)), Some((99, 5)), Some((131, 7)), Some((65_539, 16)),]
    );
    assert_eq!((literal(36), matched(53)), (None, None));
}

/// Decompresses step by step after `before`, with as little memory as possible.
fn decode_in_steps(frame: &[u8], before: &[u8]) -> Result<(Vec<u8>, usize), Error> {
    let mut decoder = Decoder::new();
    let mut output = before.to_vec();
    let mut consumed = 0;
    loop {
        output.reserve_exact(Decoder::ROOM);
        let capacity = output.capacity();
        let step = decoder.step(&frame[consumed..], &mut output)?;
        assert_eq!(output.capacity(), capacity, "the decoder does not allocate");
        consumed += step.consumed;
        if step.is_finished {
            return Ok((output.split_off(before.len()), consumed));
        }
    }
}

#[test]
fn steps_decompress_what_the_whole_does() {
    for (index, input) in inputs().iter().enumerate() {
        let mut frame = compress_to_vec(input.as_slice(), CompressionLevel::Fastest);
        let size = frame.len();
        frame.extend(b"after");
        for before in [&b""[..], b"before"] {
            assert!(decode_in_steps(&frame, before) == Ok((input.clone(), size)), "input {index}");
        }
        assert!(decode_in_steps(&frame[..size - 5], b"").is_err(), "input {index}");
    }
    let mut small = Vec::with_capacity(Decoder::ROOM - 1);
    let step = Decoder::new().step(&[], &mut small);
    assert_eq!(step, Ok(Step { consumed: 0, is_finished: false }));
}

/// A match before the start of the frame copies nothing of what the caller had before.
#[test]
fn frames_do_not_see_what_is_before_them() {
    // One sequence with predefined tables: four literals, then a match at a distance of 1 or more.
    let body = [0x55, 0, 0, 0x20, b'a', b'b', b'c', b'd', 1, 0, 0x44, 0x12, 0x89, 0x35];
    let mut refused = 0;
    for offset in 0..=255 {
        let mut frame = [&MAGIC[..], &[0, 0], &body].concat();
        let last = frame.len() - 2;
        frame[last] = offset;
        let alone = decode_in_steps(&frame, b"").map(|(output, _)| output);
        let after = decode_in_steps(&frame, b"0123456789").map(|(output, _)| output);
        assert_eq!(alone, after, "{offset}");
        refused += u32::from(alone == Err(Error::Sequences));
    }
    assert!(refused > 0);
}

#[test]
fn checksums_are_compared() {
    let frame = compress_to_vec(&b"some text"[..], CompressionLevel::Fastest);
    for index in frame.len() - 4..frame.len() {
        let mut changed = frame.clone();
        changed[index] ^= 1;
        assert_eq!(decode(&changed, 100), Err(Error::Mismatch));
    }
    assert_eq!(decode(&frame[..frame.len() - 1], 100), Err(Error::Checksum));
}
