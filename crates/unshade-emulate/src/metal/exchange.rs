//! Operations of several lanes of a simdgroup or a quad.
//!
//! Reductions take the lanes that take part in order; each step is rounded. A lane that reads one that takes no part, which
//! the language leaves open, reads its own value, and that is counted.

use super::code::{Code, Operand, Shape, Step};
use super::effects::{LANES, combined};
use super::fault::Reason;
use super::matrix;
use super::number::Undefined;
use super::thread::Thread;
use unshade_ir::metal::MetalOp;

/// Lanes of a simdgroup that do the same.
struct Group<'t> {
    threads: &'t mut [Thread],
    lanes: Vec<usize>,
}

/// Runs an operation for these lanes of a simdgroup.
pub(super) fn operate(
    code: &Code,
    threads: &mut [Thread],
    lanes: Vec<usize>,
    step: &Step,
    op: MetalOp,
    undefined: &mut Undefined,
) -> Result<(), Reason> {
    let stem = op.row().stem;
    if stem == "simdgroup.barrier" {
        return Ok(());
    }
    if stem.starts_with("simdgroup_matrix") {
        return matrix::multiply(code, threads, &lanes, step, undefined);
    }
    let (is_quad, word) = match stem.split_once('_') {
        Some((group, word)) => (group == "quad", word),
        None => return Err(Reason::Unmodelled(format!("the function air.{op}"))),
    };
    let mut group = Group { threads, lanes };
    if let Some(votes) = group.votes(code, step, word, is_quad) {
        group.write(step.out, 0, votes);
        return Ok(());
    }
    if let Some(word) = word.strip_prefix("prefix_") {
        return group.scan(code, step, op, word, is_quad);
    }
    if ["sum", "product", "min", "max", "and", "or", "xor"].contains(&word) {
        return group.reduce(code, step, op, word, is_quad);
    }
    if let Some(word) = word.strip_prefix("shuffle_and_fill_") {
        return group.shift(code, step, word == "up", undefined);
    }
    group.shuffle(code, step, (op, word), is_quad, undefined)
}

/// Returns the first lane that a lane exchanges with, and how many there are.
fn range(lane: usize, is_quad: bool) -> std::ops::Range<usize> {
    if is_quad { lane & !3..(lane & !3) + 4 } else { 0..LANES }
}

impl Group<'_> {
    fn read(&self, operand: Operand, lane: usize, component: usize) -> u64 {
        self.threads
            .get(lane)
            .and_then(|thread| thread.frames.last())
            .map_or(0, |frame| frame.read(operand, component))
    }

    /// Sets all components of a value in each lane, to what a function computes from the lane and the component.
    fn set(
        &mut self,
        out: Operand,
        mut value: impl FnMut(&Self, usize, usize) -> Result<u64, Reason>,
    ) -> Result<(), Reason> {
        for component in 0..out.shape.lanes() {
            let values = self.lanes.iter().map(|&lane| Ok((lane, value(self, lane, component)?)));
            let values = values.collect::<Result<Vec<_>, Reason>>()?;
            self.write(out, component, values);
        }
        Ok(())
    }

    /// Sets a component of a value in each lane.
    fn write(&mut self, out: Operand, component: usize, values: Vec<(usize, u64)>) {
        for (lane, value) in values {
            if let Some(frame) = self.threads.get_mut(lane).and_then(|thread| thread.frames.last_mut()) {
                frame.write(out, component, value);
            }
        }
    }

    /// Returns the result of each lane, if it is an operation on truths or on the set of lanes.
    fn votes(&self, code: &Code, step: &Step, word: &str, is_quad: bool) -> Option<Vec<(usize, u64)>> {
        let set = |holds: &dyn Fn(usize) -> bool| -> u64 {
            self.lanes.iter().filter(|lane| holds(**lane)).fold(0, |set, lane| set | 1 << *lane)
        };
        let mask = set(&|_| true);
        let input = code.input(step, 0);
        let votes = set(&|lane| self.read(input, lane, 0) & 1 != 0);
        let of = |lane: usize, set: u64| if is_quad { set >> (lane & !3) & 15 } else { set };
        let one = |lane: usize| {
            Some(match word {
                "ballot" => of(lane, votes),
                "active_threads_mask" => mask,
                "all" => u64::from(of(lane, votes) == of(lane, mask)),
                "any" => u64::from(of(lane, votes) != 0),
                "is_first" => {
                    u64::from(of(lane, mask).trailing_zeros() as usize == lane - range(lane, is_quad).start)
                }
                "is_helper_thread" => 0,
                _ => return None,
            })
        };
        self.lanes.iter().map(|lane| Some((*lane, one(*lane)?))).collect()
    }

    fn reduce(
        &mut self,
        code: &Code,
        step: &Step,
        op: MetalOp,
        word: &str,
        is_quad: bool,
    ) -> Result<(), Reason> {
        let input = code.input(step, 0);
        let kind = input.shape.kind();
        // All lanes of a simdgroup have the same result.
        let mut known = None;
        self.set(step.out, |group, lane, component| {
            if let Some((_, result)) = known.filter(|(of, _)| !is_quad && *of == component) {
                return Ok(result);
            }
            let range = range(lane, is_quad);
            let mut result = None;
            for &other in group.lanes.iter().filter(|other| range.contains(other)) {
                let value = group.read(input, other, component);
                result = Some(match result {
                    Some(result) => combined(word, op.class, kind, result, value)?,
                    None => value,
                });
            }
            let result = result.unwrap_or(0);
            known = Some((component, result));
            Ok(result)
        })
    }

    fn scan(
        &mut self,
        code: &Code,
        step: &Step,
        op: MetalOp,
        word: &str,
        is_quad: bool,
    ) -> Result<(), Reason> {
        let Some((form, word)) = word.split_once('_') else { return Err(Reason::Unsound) };
        let input = code.input(step, 0);
        let kind = input.shape.kind();
        let start = match (word, kind.is_float()) {
            ("product", true) => kind.encode_single(1.0),
            ("product", false) => 1,
            _ => 0,
        };
        self.set(step.out, |group, lane, component| {
            let range = range(lane, is_quad);
            let takes = |other: &usize| {
                range.contains(other) && (*other < lane || *other == lane && form == "inclusive")
            };
            let mut result = start;
            for &other in group.lanes.iter().filter(|other| takes(other)) {
                result = combined(word, op.class, kind, result, group.read(input, other, component))?;
            }
            Ok(result)
        })
    }

    /// Returns the value of another lane; the own one if that takes no part.
    fn other(
        &self,
        input: Operand,
        (own, lane): (usize, i64),
        component: usize,
        undefined: &mut Undefined,
    ) -> u64 {
        let lane = usize::try_from(lane).ok().filter(|lane| self.lanes.contains(lane));
        undefined.lanes += u64::from(lane.is_none());
        self.read(input, lane.unwrap_or(own), component)
    }

    /// Gives each lane the value of another one.
    fn shuffle(
        &mut self,
        code: &Code,
        step: &Step,
        (op, word): (MetalOp, &str),
        is_quad: bool,
        undefined: &mut Undefined,
    ) -> Result<(), Reason> {
        let (input, second) = (code.input(step, 0), code.input(step, 1));
        self.set(step.out, |group, own, component| {
            let range = range(own, is_quad);
            let (from, size) = (range.start as i64, range.len() as i64);
            let number = group.read(second, own, 0) as i64 & 0xffff;
            let at = own as i64;
            let lane = match word {
                "broadcast_first" if is_quad => from,
                "broadcast_first" => group.lanes.first().map_or(-1, |first| *first as i64),
                "broadcast" | "shuffle" => from + number,
                "shuffle_xor" => at ^ number,
                "shuffle_up" => at - number,
                "shuffle_down" => at + number,
                "shuffle_rotate_up" => from + ((at - from - number) & (size - 1)),
                "shuffle_rotate_down" => from + ((at - from + number) & (size - 1)),
                _ => return Err(Reason::Unmodelled(format!("the function air.{op}"))),
            };
            let lane = if range.contains(&usize::try_from(lane).unwrap_or(usize::MAX)) { lane } else { -1 };
            Ok(group.other(input, (own, lane), component, undefined))
        })
    }

    /// Moves values up or down in groups of lanes; what comes in is from the second input.
    fn shift(
        &mut self,
        code: &Code,
        step: &Step,
        is_up: bool,
        undefined: &mut Undefined,
    ) -> Result<(), Reason> {
        let [input, filling, delta, modulo] = [0, 1, 2, 3].map(|index| code.input(step, index));
        if matches!(input.shape, Shape::Bytes(_)) {
            return Err(Reason::Unsound);
        }
        self.set(step.out, |group, own, component| {
            let modulo = match group.read(modulo, own, 0) as i64 & 0xffff {
                0 => return Err(Reason::DivisionByZero),
                modulo => modulo,
            };
            let delta = group.read(delta, own, 0) as i64 & 0xffff;
            let start = own as i64 / modulo * modulo;
            let wanted = own as i64 - start + if is_up { -delta } else { delta };
            let within = wanted.rem_euclid(modulo);
            let from = if wanted == within { input } else { filling };
            let lane = start + within;
            let is_there = usize::try_from(lane).is_ok_and(|lane| group.lanes.contains(&lane));
            let from = if is_there { from } else { input };
            Ok(group.other(from, (own, lane), component, undefined))
        })
    }
}
