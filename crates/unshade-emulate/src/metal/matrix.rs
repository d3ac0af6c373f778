//! Matrices of 8 by 8 that a simdgroup holds together: two lanes of the value in each thread.
//!
//! Thread `l` holds the elements of one row and two columns: row `(l / 4 & 4) + l / 2 % 4`, columns from
//! `(l / 4 & 2) * 2 + l % 2 * 2`. Apple documents no layout; this one is what MLX's kernels rely on. A product adds from the
//! first column on, as floats, and is rounded once.

use super::code::{Code, Operand, Step};
use super::effects::{LANES, number};
use super::fault::Reason;
use super::kind::Kind;
use super::library;
use super::machine::{World, count};
use super::number::{Undefined, converted};
use super::thread::Thread;

/// The elements of a thread.
const OWN: usize = 2;

fn row(lane: usize) -> usize {
    ((lane / 4) & 4) + lane / 2 % 4
}

fn column(lane: usize) -> usize {
    ((lane / 4) & 2) * 2 + lane % 2 * 2
}

/// Runs an operation that a thread does alone.
pub(super) fn operate(
    code: &Code,
    world: &mut World,
    thread: &mut Thread,
    step: &Step,
    stem: &str,
) -> Result<(), Reason> {
    let lane = thread.index as usize % LANES;
    let first = code.input(step, 0);
    match stem.strip_prefix("simdgroup_matrix_8x8_") {
        Some("init_filled" | "init_diag") => {
            let Some(frame) = thread.frames.last_mut() else { return Err(Reason::Unsound) };
            for own in 0..OWN {
                let is_set = stem.ends_with("filled") || row(lane) == column(lane) + own;
                let value = if is_set { frame.read(first, 0) } else { 0 };
                frame.write(step.out, own, value);
            }
        }
        // Another compiler calls other functions of the same names.
        Some("load") if code.inputs(step).len() == 4 => {
            for own in 0..OWN {
                let (kind, address) = place(code, thread, step, (0, step.out), (lane, own));
                let mut bytes = [0; 8];
                world.memory.read(&thread.locals, address, &mut bytes[..kind.bytes()])?;
                if let Some(frame) = thread.frames.last_mut() {
                    frame.write(step.out, own, u64::from_le_bytes(bytes));
                }
            }
        }
        Some("store") if code.inputs(step).len() == 5 => {
            for own in 0..OWN {
                let (kind, address) = place(code, thread, step, (1, first), (lane, own));
                let value = thread.frames.last().map_or(0, |frame| frame.read(first, own));
                world.memory.write(&mut thread.locals, address, &value.to_le_bytes()[..kind.bytes()])?;
            }
            count(world)?;
        }
        _ => return Err(Reason::Unmodelled(format!("this form of air.{stem}"))),
    }
    Ok(())
}

/// Returns the kind of a matrix, and the address of an element of a thread. The inputs are: pointer, elements per row,
/// origin, whether it is transposed.
fn place(
    code: &Code,
    thread: &Thread,
    step: &Step,
    (pointer, matrix): (usize, Operand),
    (lane, own): (usize, usize),
) -> (Kind, u64) {
    let kind = matrix.shape.kind();
    let Some(frame) = thread.frames.last() else { return (kind, 0) };
    let base = frame.read(code.input(step, pointer), 0);
    let per_row = number(code, frame, step, pointer + 1);
    let origin = code.input(step, pointer + 2);
    let [x, y] = [0, 1].map(|lane| frame.read(origin, lane).cast_signed());
    let (row, column) = (row(lane) as i64, (column(lane) + own) as i64);
    let is_transposed = frame.read(code.input(step, pointer + 3), 0) & 1 != 0;
    let (line, at) = if is_transposed {
        (y.wrapping_add(column), x.wrapping_add(row))
    } else {
        (y.wrapping_add(row), x.wrapping_add(column))
    };
    let element = line.wrapping_mul(per_row).wrapping_add(at);
    (kind, base.wrapping_add(element.wrapping_mul(kind.bytes() as i64).cast_unsigned()))
}

/// Computes a product and a sum for some lanes of a simdgroup. Lanes that take no part count as zeros.
pub(super) fn multiply(
    code: &Code,
    threads: &mut [Thread],
    lanes: &[usize],
    step: &Step,
    undefined: &mut Undefined,
) -> Result<(), Reason> {
    let [a, b, c] = [0, 1, 2].map(|index| code.input(step, index));
    let out = step.out.shape.kind();
    let kinds = [a, b, c].map(|matrix| matrix.shape.kind());
    if kinds.into_iter().chain([out]).any(|kind| !kind.is_float() || kind == Kind::Double) {
        return Err(Reason::Unmodelled("a product of matrices of such numbers".into()));
    }
    let (mut left, mut right) = ([[0_u64; 8]; 8], [[0_u64; 8]; 8]);
    for &lane in lanes {
        let Some(frame) = threads.get(lane).and_then(|thread| thread.frames.last()) else { continue };
        for own in 0..OWN {
            left[row(lane)][column(lane) + own] = converted(frame.read(a, own), kinds[0], Kind::Float);
            right[row(lane)][column(lane) + own] = converted(frame.read(b, own), kinds[1], Kind::Float);
        }
    }
    for &lane in lanes {
        let Some(frame) = threads.get_mut(lane).and_then(|thread| thread.frames.last_mut()) else { continue };
        for own in 0..OWN {
            let start = converted(frame.read(c, own), kinds[2], Kind::Float);
            let factors = left[row(lane)].iter().zip(right.iter().map(|row| row[column(lane) + own]));
            let sum = sum_of_products(start, factors.map(|(a, b)| (*a, b)), undefined);
            frame.write(step.out, own, converted(sum, Kind::Float, out));
        }
    }
    Ok(())
}

/// Adds products of floats to a float, all of them as bits.
fn sum_of_products(
    start: u64,
    factors: impl Iterator<Item = (u64, u64)> + Clone,
    undefined: &mut Undefined,
) -> u64 {
    let number = |bits: u64| f32::from_bits(bits as u32);
    let sum = factors.clone().fold(number(start), |sum, (a, b)| sum + number(a) * number(b));
    if !sum.is_nan() {
        return u64::from(sum.to_bits());
    }
    // Step by step, as NaNs that operations are given are their results.
    factors.fold(start, |sum, (a, b)| {
        undefined.count_nans(Kind::Float, &[sum, a, b]);
        library::sum(Kind::Float, sum, library::product(Kind::Float, a, b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_hold_all_elements() {
        let mut seen = [[0; 8]; 8];
        for lane in 0..LANES {
            for own in 0..OWN {
                seen[row(lane)][column(lane) + own] += 1;
            }
        }
        assert_eq!(seen, [[1; 8]; 8]);
    }
}
