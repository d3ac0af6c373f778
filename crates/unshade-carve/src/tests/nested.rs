//! Tests containers in containers, three deep.

use super::carve_with;
use crate::samples::kinds::{KINDS, holders};
use crate::{Condition, Limits};

fn assert_found(file: &[u8], program: &[u8], kinds: &[&str]) {
    let (found, diagnostics) = carve_with(file, "f", &Limits::default());
    let faults: Vec<String> = diagnostics.iter().map(|diagnostic| diagnostic.error.to_string()).collect();
    assert!(faults.is_empty(), "{kinds:?}: {faults:?}");
    assert_eq!(found.len(), 1, "{kinds:?}");
    assert_eq!((found[0].condition, &found[0].data[..]), (Condition::Whole, program), "{kinds:?}");
}

/// Every kind, in every other kind, in every seventh kind, around a real program.
#[test]
fn containers_three_deep() {
    let program = include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_7.metallib");
    let mut count = 0;
    for (index, (inner, wrap_inner)) in KINDS.into_iter().enumerate() {
        let one = wrap_inner(program);
        for (place, (middle, wrap_middle)) in holders(inner).enumerate() {
            let two = wrap_middle(&one);
            assert_found(&two, program, &[inner, middle]);
            for (outer, wrap_outer) in holders(middle).skip((index + place) % 7).step_by(7) {
                assert_found(&wrap_outer(&two), program, &[inner, middle, outer]);
                count += 1;
            }
        }
    }
    assert!(count > 3_000, "{count} combinations");
}

/// Every format of programs, in every kind.
#[test]
fn each_format_in_each_kind() {
    let programs: [&[u8]; 6] = [
        include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_7.metallib"),
        include_bytes!("../../../../tests/fixtures/dxcontainer/compute.dxbc"),
        include_bytes!("../../../../tests/fixtures/nvidia/packed_11_2.fatbin"),
        include_bytes!("../../../../tests/fixtures/nvidia/add_sm_35.cubin"),
        include_bytes!("../../../../tests/fixtures/nvidia/add.ptx"),
        include_bytes!("../../../unshade-llvm/tests/fixtures/air_like.bc"),
    ];
    for program in programs {
        for (kind, wrap) in KINDS {
            assert_found(&wrap(program), program, &[kind]);
        }
    }
}
