//! Exchange between lanes of a warp: shuffles, votes, quad swizzles.
//!
//! Source: NVIDIA's documentation of PTX (`shfl`, `vote`); for quad swizzles (`FSWZ`), Mesa's compiler, which
//! uses them for derivatives.

use unshade_sass::semantics::functions;

use crate::lanes::{Bits, Values};

/// Returns the lane that a shuffle reads, and whether it is in range of the segment.
///
/// `clamp` has the last lane in bits 0 to 4, and in bits 8 to 12 the mask of lane index bits that identify the segment.
fn source(lane: u64, distance: u64, clamp: u64, mode: u64) -> (u64, bool) {
    let (distance, last, segment) = (distance & 31, clamp & 31, clamp >> 8 & 31);
    let most = lane & segment | last & !segment;
    let least = lane & segment;
    let (other, inside) = match mode {
        0 => {
            let other = least | distance & !segment;
            (other, other <= most)
        }
        1 => (lane.wrapping_sub(distance), lane.checked_sub(distance).is_some_and(|other| other >= most)),
        2 => (lane.wrapping_add(distance), lane.wrapping_add(distance) <= most),
        _ => (lane ^ distance, lane ^ distance <= most),
    };
    (if inside { other & 31 } else { lane }, inside)
}

fn argument(values: &[Values], index: usize, lane: usize) -> u64 {
    values.get(index).map_or(0, |value| value[lane])
}

/// Implements `shuffle(value, lane, clamp, mode)`. Reading an inactive lane is undefined; `absent` is its value here.
pub(crate) fn shuffle(values: &[Values], lanes: u32, absent: u64, out: &mut Values) {
    for lane in Bits(lanes) {
        let (distance, clamp) = (argument(values, 1, lane), argument(values, 2, lane));
        let (from, _) = source(lane as u64, distance, clamp, argument(values, 3, lane));
        let active = lanes >> from & 1 != 0;
        out[lane] = if active { argument(values, 0, from as usize & 31) } else { absent };
    }
}

/// Implements `shuffle_inside(lane, clamp, mode)`.
pub(crate) fn shuffle_inside(values: &[Values], lanes: u32, out: &mut Values) {
    for lane in Bits(lanes) {
        let (distance, clamp) = (argument(values, 0, lane), argument(values, 1, lane));
        out[lane] = source(lane as u64, distance, clamp, argument(values, 2, lane)).1.into();
    }
}

fn mask(values: &[Values], lanes: u32) -> u32 {
    Bits(lanes).filter(|lane| argument(values, 0, *lane) & 1 != 0).fold(0, |mask, lane| mask | 1 << lane)
}

/// Implements `ballot(predicate)`: the active lanes whose predicate holds.
pub(crate) fn ballot(values: &[Values], lanes: u32, out: &mut Values) {
    *out = [mask(values, lanes).into(); 32];
}

/// Implements `vote(predicate, mode)`: all, any, or all equal.
pub(crate) fn vote(values: &[Values], lanes: u32, out: &mut Values) {
    let set = mask(values, lanes);
    let mode = argument(values, 1, lanes.trailing_zeros() as usize & 31);
    let holds = match mode {
        0 => set == lanes,
        1 => set != 0,
        _ => set == lanes || set == 0,
    };
    *out = [holds.into(); 32];
}

/// Implements `swizzle_add(a, b, s3, s2, s1, s0, pattern, rounding, …)`: adds `a` of another lane of the quad and `b` of
/// this lane, with signs for each lane of the quad.
pub(crate) fn swizzle_add(values: &[Values], lanes: u32, out: &mut Values) {
    for lane in Bits(lanes) {
        let quad = lane & !3;
        let from = match argument(values, 6, lane) {
            pattern @ 0..=3 => quad | pattern as usize,
            4 => lane ^ 1,
            _ => lane ^ 2,
        };
        let sign = argument(values, 5 - (lane & 3), lane);
        let (a, b) = (argument(values, 0, from & 31), argument(values, 1, lane));
        let negative = 0x8000_0000;
        // PP, NP, PN, ZP: signs of both sources; Z replaces the first source with zero.
        let (a, b) = match sign {
            1 => (a ^ negative, b),
            2 => (a, b ^ negative),
            3 => (0, b),
            _ => (a, b),
        };
        out[lane] = functions::call("fadd_round", &[a, b, argument(values, 7, lane)]).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_follow_the_ptx_documentation() {
        // Up, in segments of 8: the first lane of a segment keeps its value.
        assert_eq!(source(8, 1, 0x1800, 1), (8, false));
        assert_eq!(source(9, 1, 0x1800, 1), (8, true));
        // Down stops at the last lane.
        assert_eq!(source(31, 1, 0x1f, 2), (31, false));
        assert_eq!(source(3, 4, 0x1f, 2), (7, true));
        assert_eq!(source(5, 16, 0x1f, 3), (21, true));
        assert_eq!(source(9, 3, 0x181f, 0), (11, true));
    }

    #[test]
    fn votes_count_active_lanes_only() {
        let mut predicate = [0; 32];
        predicate[1] = 1;
        predicate[2] = 1;
        let mut out = [0; 32];
        ballot(&[predicate], 0b110, &mut out);
        assert_eq!(out[1], 0b110);
        vote(&[predicate, [0; 32]], 0b110, &mut out);
        assert_eq!(out[1], 1);
        vote(&[predicate, [0; 32]], 0b111, &mut out);
        assert_eq!(out[1], 0);
    }
}
