//! The numbers to try.
//!
//! Special numbers and random ones of every magnitude; and, for functions of one number, the neighbours of all
//! constants, because formulas change there.

/// Number of random numbers of each kind.
const RANDOM: usize = 120;

/// Operands, those of one trial after the other.
pub(super) type Trials = Vec<[u64; 2]>;

/// Lists of trials, by width and number of operands.
#[derive(Debug, Default)]
pub(super) struct TrialLists {
    lists: Vec<(u8, usize, Trials)>,
}

impl TrialLists {
    /// Takes the trials for a number of operands of a width, until they are [put back](Self::put_back).
    pub(super) fn take(&mut self, width: u8, operands: usize) -> Trials {
        match self.lists.iter().position(|list| (list.0, list.1) == (width, operands)) {
            Some(index) => self.lists.swap_remove(index).2,
            None => trials(width, operands),
        }
    }

    /// Puts trials back. The one that ruled out a region comes first the next time: it rules out similar regions, too.
    pub(super) fn put_back(
        &mut self,
        width: u8,
        operands: usize,
        mut trials: Trials,
        decisive: Option<usize>,
    ) {
        if let Some(start) = decisive.and_then(|index| trials.get_mut(..=index)) {
            start.rotate_right(1);
        }
        self.lists.push((width, operands, trials));
    }
}

/// Returns a number and its neighbours, with both signs.
pub(super) fn near(number: u64, width: u8) -> impl Iterator<Item = u64> {
    let sign = 1_u64 << (width - 1);
    let all = [number, number.wrapping_add(1), number.wrapping_sub(1)];
    let both = all.into_iter().flat_map(move |number| [number, number ^ sign]);
    both.map(move |number| number & (sign | (sign - 1)))
}

fn trials(width: u8, operands: usize) -> Trials {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut numbers: Vec<u64> = Vec::new();
    // Ordinary numbers first: with these, most other expressions fail.
    for scale in [1.0, 8.0, 100.0] {
        numbers.extend((0..RANDOM / 2).map(|_| bits(random.fraction() * scale, width)));
    }
    let mut special = vec![0.0, 1.0, 0.5, 2.0, 3.0, 1.5, 10.0, 0.1, 100.0, 1e9, 3e38, f64::INFINITY];
    special.extend([1e-3, 1e-20, 1.2e-38, 1e-40, 1e-45, 126.0, 127.0, 128.0, 150.0, 88.7, 105_615.0, 1e6]);
    if width == 64 {
        // Subnormal doubles, those whose upper half is a subnormal float, and the limits of exponentials.
        special.extend([5e-324, 1e-310, 2.3e-308, 1e-306, 1e-300, 308.5, 709.7, 745.2, 1075.5, 4.3e9, 1e300]);
    }
    let special: Vec<u64> =
        special.iter().flat_map(|number| [bits(*number, width), bits(-number, width)]).collect();
    let (largest, nan) = match width {
        32 => (0x7f7f_ffff, 0x7fff_ffff),
        _ => (0x7fef_ffff_ffff_ffff, 0xfff8_0000_0000_0000),
    };
    let special: Vec<u64> = special.into_iter().chain([largest, nan, nan - 5]).collect();
    let any: Vec<u64> = (0..RANDOM).map(|_| random.next() >> (64 - u32::from(width))).collect();
    if operands == 1 {
        numbers.extend(special.iter().chain(&any));
        return numbers.into_iter().map(|number| [number, 0]).collect();
    }
    let mut pairs: Vec<[u64; 2]> = Vec::new();
    let half = numbers.len() / 2;
    for (index, number) in numbers.iter().enumerate() {
        pairs.push([*number, numbers[(index + half + 7) % numbers.len()]]);
        pairs.push([number & !(1 << (width - 1)), numbers[(index * 7 + 3) % numbers.len()]]);
        pairs.push([*number, bits(f64::from((index % 9) as u8) - 4.0, width)]);
    }
    pairs.extend(special.iter().flat_map(|a| special.iter().map(|b| [*a, *b])));
    for (index, number) in any.iter().enumerate() {
        pairs.push([*number, any[(index + 31) % any.len()]]);
        pairs.push([*number, special[index % special.len()]]);
        pairs.push([special[index % special.len()], *number]);
        pairs.push([*number, numbers[index]]);
    }
    pairs
}

fn bits(value: f64, width: u8) -> u64 {
    if width == 64 { value.to_bits() } else { u64::from((value as f32).to_bits()) }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number between -1 and 1.
    fn fraction(&mut self) -> f64 {
        self.next().cast_signed() as f64 / 9.3e18
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trial_that_ruled_out_a_region_comes_first() {
        let mut lists = TrialLists::default();
        let trials = lists.take(32, 1);
        let (first, decisive) = (trials[0], trials[7]);
        let count = trials.len();
        lists.put_back(32, 1, trials, Some(7));
        let trials = lists.take(32, 1);
        assert_eq!((trials[0], trials[1], trials.len()), (decisive, first, count));
        // A trial that is not in the list changes nothing.
        lists.put_back(32, 1, trials, Some(count));
        assert_eq!(lists.take(32, 1)[0], decisive);
    }
}
