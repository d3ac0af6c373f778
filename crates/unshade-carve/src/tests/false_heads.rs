//! Tests that random bytes are no programs, even after the head of one.

use super::carve_with;
use crate::Limits;

/// Real programs, and how many of their first bytes are planted at most: the header, without anything that only a
/// program has.
const PROGRAMS: [(&str, &[u8], usize); 12] = [
    ("metallib", include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_7.metallib"), 88),
    ("old metallib", include_bytes!("../../../../tests/fixtures/metallib/legacy_1_2_3.metallib"), 88),
    ("universal", include_bytes!("../../../../tests/fixtures/metallib/universal_air.metallib"), 52),
    ("DXIL", include_bytes!("../../../../tests/fixtures/dxcontainer/compute.dxbc"), 128),
    ("DXBC", include_bytes!("../../../../tests/fixtures/dxcontainer/fxc_ps_5_1.dxbc"), 128),
    ("fatbin", include_bytes!("../../../../tests/fixtures/nvidia/packed_11_2.fatbin"), 80),
    ("fatbin with options", include_bytes!("../../../../tests/fixtures/nvidia/options_11_2.fatbin"), 104),
    ("cubin", include_bytes!("../../../../tests/fixtures/nvidia/add_sm_35.cubin"), 128),
    ("new cubin", include_bytes!("../../../../tests/fixtures/nvidia/add_sm_120.cubin"), 128),
    ("AIR", include_bytes!("../../../unshade-llvm/tests/fixtures/air_like.bc"), 64),
    ("bitcode", include_bytes!("../../../unshade-llvm/tests/fixtures/two_modules.bc"), 64),
    ("PTX", include_bytes!("../../../../tests/fixtures/nvidia/add.ptx"), 48),
];

/// Random numbers, always the same (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 32).unwrap() % end
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        bytes
            .chunks_mut(8)
            .for_each(|chunk| chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]));
    }
}

fn assert_nothing(data: &[u8], name: &str) {
    let (found, diagnostics) = carve_with(data, "f", &Limits::default());
    let found: Vec<&str> = found.iter().map(|found| found.text.as_str()).collect();
    assert!(found.is_empty() && diagnostics.is_empty(), "{name}: {found:?}");
}

#[test]
fn random_bytes_are_no_programs() {
    let mut random = Random(88_172_645_463_325_252);
    let mut data = vec![0; 4 << 20];
    for round in 0..8 {
        random.fill(&mut data);
        assert_nothing(&data, &format!("round {round}"));
    }
}

#[test]
fn a_head_before_random_bytes_is_no_program() {
    let mut random = Random(1);
    let mut data = vec![0; 16 << 10];
    random.fill(&mut data);
    for round in 0..6_000 {
        let (name, program, most) = PROGRAMS[round % PROGRAMS.len()];
        // Every size in turn, and other bytes each time.
        let size = 4 + round / PROGRAMS.len() % (most.min(program.len()) - 3);
        let at = 1 + random.below(2_000);
        let end = (at + 3_000).min(data.len());
        random.fill(&mut data[at..end]);
        data[at..at + size].copy_from_slice(&program[..size]);
        assert_nothing(&data[..4_096 + random.below(12 << 10)], &format!("{size} bytes of {name}"));
        random.fill(&mut data[at..at + size]);
    }
}

/// The checks refuse nothing real: each program is found in the same random bytes.
#[test]
fn programs_between_random_bytes_are_found() {
    let mut random = Random(2);
    let mut noise = vec![0; 1_001];
    for (name, program, _) in PROGRAMS {
        random.fill(&mut noise);
        let data = [&noise[..], b"\0", program, b"\0", &noise].concat();
        let (found, _) = carve_with(&data, "f", &Limits::default());
        assert_eq!(found.len(), 1, "{name}");
        assert_eq!(found[0].text, "f@0x3ea", "{name}");
        // One that is cut off is found as well, and maybe the programs in it.
        let cut = &data[..1_002 + program.len() * 3 / 4];
        let (found, _) = carve_with(cut, "f", &Limits::default());
        assert_eq!(found.first().map(|found| found.text.as_str()), Some("f@0x3ea"), "{name}");
    }
}
