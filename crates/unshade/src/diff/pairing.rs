//! Pairs the functions of two programs: by name, by equal code, and by similar code.
//!
//! The code of a function is summed up in a *sketch*: a one-permutation MinHash of all runs of three consecutive lines,
//! without names of values, registers and functions. The share of equal places of two sketches estimates the share of runs that both
//! functions have. To find similar functions among thousands, sketches are split into bands; only functions with an equal
//! band are compared, and at most [`MAX_BUCKET`] of a band, so the cost grows with the number of functions.

use super::tokens::CodeLines;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Number of places of a sketch.
const PLACES: usize = 64;

/// Number of places of a band.
const BAND: usize = 4;

/// Lines of a run that is hashed.
const RUN: usize = 3;

/// Maximum number of functions with an equal band that are compared with each other.
const MAX_BUCKET: usize = 24;

/// Up to this product of both numbers of functions, all are compared with all.
const MAX_ALL: usize = 1 << 16;

/// The similarity, in thousandths, from which functions of different names are paired.
const MIN_SIMILARITY: u32 = 500;

/// A summary of a function's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    places: [u32; PLACES],
    /// A hash of all lines, with the number of lines.
    whole: (u64, u32),
}

impl Sketch {
    /// Sums up a listing.
    pub fn new(lines: &CodeLines) -> Self {
        let hash = |value: &dyn Fn(&mut DefaultHasher)| {
            let mut hasher = DefaultHasher::new();
            value(&mut hasher);
            hasher.finish()
        };
        let keys: Vec<u64> = lines.deeds().iter().map(|key| hash(&|hasher| key.hash(hasher))).collect();
        let mut places = [u32::MAX; PLACES];
        let mut take = |run: &[u64]| {
            let hash = hash(&|hasher| run.hash(hasher));
            let place = (hash >> 32) as usize % PLACES;
            if let Some(place) = places.get_mut(place) {
                *place = (*place).min(hash as u32);
            }
        };
        if keys.len() < RUN {
            take(&keys);
        }
        keys.windows(RUN).for_each(&mut take);
        Self { places, whole: (hash(&|hasher| keys.hash(hasher)), keys.len() as u32) }
    }

    /// Estimates the share of equal runs of lines, in thousandths.
    pub fn similarity(&self, other: &Self) -> u32 {
        let (mut equal, mut used) = (0, 0);
        for (one, two) in self.places.iter().zip(&other.places) {
            used += u32::from(*one != u32::MAX || *two != u32::MAX);
            equal += u32::from(one == two && *one != u32::MAX);
        }
        (1000 * equal).checked_div(used).unwrap_or(0)
    }

    /// Returns the hashes of its bands. A band without a run has none.
    fn bands(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.places
            .chunks(BAND)
            .enumerate()
            .filter(|(_, band)| band.iter().any(|place| *place != u32::MAX))
            .map(|(at, band)| {
                let mut hasher = DefaultHasher::new();
                band.hash(&mut hasher);
                (at, hasher.finish())
            })
    }
}

/// The functions of two programs, paired by name.
#[derive(Clone, Debug, Default)]
pub struct NamePairs {
    /// Indices of functions of the same name, in the order of the first program.
    pub pairs: Vec<(usize, usize)>,
    /// Functions that only the first program has by name.
    pub removed: Vec<usize>,
    /// Functions that only the second program has by name.
    pub added: Vec<usize>,
}

impl NamePairs {
    /// Pairs functions by name. Functions with the same name are paired in order.
    ///
    /// ```
    /// let pairs = unshade::diff::NamePairs::new(&["a", "b"], &["b", "c"]);
    /// assert_eq!((pairs.pairs, pairs.removed, pairs.added), (vec![(1, 0)], vec![0], vec![1]));
    /// ```
    pub fn new(before: &[impl AsRef<str>], after: &[impl AsRef<str>]) -> Self {
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, name) in after.iter().enumerate().rev() {
            by_name.entry(name.as_ref()).or_default().push(at);
        }
        let mut found = Self::default();
        for (at, name) in before.iter().enumerate() {
            match by_name.get_mut(name.as_ref()).and_then(Vec::pop) {
                Some(other) => found.pairs.push((at, other)),
                None => found.removed.push(at),
            }
        }
        found.added = by_name.into_values().flatten().collect();
        found.added.sort_unstable();
        found
    }
}

/// Pairs functions by their code, each with one other at most: the most similar first. Returns indices and similarities
/// in thousandths, in the order of the first.
pub fn pair_similar(before: &[&Sketch], after: &[&Sketch]) -> Vec<(usize, usize, u32)> {
    let mut candidates: Vec<(u32, u32, usize, usize)> = Vec::new();
    let mut add = |one: usize, two: usize| {
        if let (Some(old), Some(new)) = (before.get(one), after.get(two)) {
            let similarity = if old.whole == new.whole { 1000 } else { old.similarity(new).min(999) };
            if similarity >= MIN_SIMILARITY {
                // Of functions that are equally similar, those of about the same length come first.
                candidates.push((1000 - similarity, old.whole.1.abs_diff(new.whole.1), one, two));
            }
        }
    };
    if before.len().saturating_mul(after.len()) <= MAX_ALL {
        for one in 0..before.len() {
            (0..after.len()).for_each(|two| add(one, two));
        }
    } else {
        let mut buckets: HashMap<(usize, u64), Vec<usize>> = HashMap::new();
        for (at, sketch) in after.iter().enumerate() {
            // The whole code is a band of its own, so that equal functions meet even among many similar ones.
            for band in sketch.bands().chain([(PLACES, sketch.whole.0)]) {
                buckets.entry(band).or_default().push(at);
            }
        }
        let mut used: HashMap<(usize, u64), usize> = HashMap::new();
        for (one, sketch) in before.iter().enumerate() {
            let mut found: Vec<usize> = Vec::new();
            for band in sketch.bands().chain([(PLACES, sketch.whole.0)]) {
                let Some(bucket) = buckets.get(&band) else { continue };
                // Functions with equal bands start at different places of a large bucket, so that each finds a partner.
                let turn = used.entry(band).or_default();
                let start = *turn % bucket.len().max(1);
                *turn += 1;
                found.extend(bucket.iter().cycle().skip(start).take(MAX_BUCKET.min(bucket.len())));
            }
            found.sort_unstable();
            found.dedup();
            found.into_iter().for_each(|two| add(one, two));
        }
    }
    candidates.sort_unstable();
    let (mut old, mut new) = (vec![false; before.len()], vec![false; after.len()]);
    let mut pairs = Vec::new();
    for (distance, _, one, two) in candidates {
        if let (Some(old), Some(new)) = (old.get_mut(one), new.get_mut(two))
            && !*old
            && !*new
        {
            (*old, *new) = (true, true);
            pairs.push((one, two, 1000 - distance));
        }
    }
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade_core::TokenKind;

    fn sketch(lines: &[String]) -> Sketch {
        Sketch::new(&CodeLines::new(|sink| {
            for line in lines {
                sink.put(TokenKind::Keyword, line);
                sink.put(TokenKind::Space, "\n");
            }
        }))
    }

    fn code(seed: usize, length: usize) -> Vec<String> {
        (0..length).map(|line| format!("op{}", (seed * 7919 + line * line * 31 + line) % 4001)).collect()
    }

    #[test]
    fn similar_functions_are_paired_whatever_they_are_called() {
        let old: Vec<Vec<String>> = (0..40).map(|seed| code(seed, 60)).collect();
        let mut new: Vec<Vec<String>> = old.iter().rev().cloned().collect();
        for (at, lines) in new.iter_mut().enumerate() {
            lines[at % 60] = "changed".to_owned();
            lines.insert(30, "inserted".to_owned());
        }
        let (old, new): (Vec<Sketch>, Vec<Sketch>) =
            (old.iter().map(|one| sketch(one)).collect(), new.iter().map(|one| sketch(one)).collect());
        let pairs = pair_similar(&old.iter().collect::<Vec<_>>(), &new.iter().collect::<Vec<_>>());
        assert_eq!(pairs.len(), 40);
        assert!(pairs.iter().all(|(one, two, similarity)| one + two == 39 && *similarity > 700), "{pairs:?}");
    }

    #[test]
    fn different_functions_are_not_paired() {
        let (one, two) = (sketch(&code(1, 50)), sketch(&code(2, 50)));
        assert!(one.similarity(&two) < 200);
        assert!(pair_similar(&[&one], &[&two]).is_empty());
        assert_eq!(pair_similar(&[&one], &[&one]), [(0, 0, 1000)]);
    }

    #[test]
    fn thousands_of_functions_take_linear_time() {
        // The worst case for the bands: all functions of one program are equal.
        let (same, other) = (sketch(&code(1, 50)), sketch(&code(1, 49)));
        let (before, after) = (vec![&same; 17_248], vec![&other; 17_248]);
        let pairs = pair_similar(&before, &after);
        assert!(pairs.len() > 17_000, "{}", pairs.len());
    }
}
