//! Sorts as the C++ library that LLVM is built with does, whose order of equal elements shows in files.
//!
//! Above 16 elements it parts them around the median of three until the parts are small, and then sorts all by insertion.
//!
//! Knowledge: the algorithm of `std::sort` in GNU's libstdc++, by its published description and by what `llvm-as` writes.

/// Up to this many elements are sorted by insertion alone, which keeps the order of equal ones.
const SMALL: usize = 16;

/// Sorts elements by a small key.
pub(crate) fn introsort_by_key<T>(elements: &mut [T], key: impl Fn(&T) -> u8) {
    part(elements, &key, 2 * elements.len().checked_ilog2().unwrap_or_default());
    // Insertion into what is sorted but for small parts gives the order that a stable sort of it has.
    elements.sort_by_key(key);
}

/// Parts elements until the parts are small, at most `depth` times in a row. LLVM sorts what is left as a heap, in an order
/// of equal elements that is not reproduced here.
fn part<T>(mut elements: &mut [T], key: &impl Fn(&T) -> u8, mut depth: u32) {
    while elements.len() > SMALL && depth > 0 {
        depth -= 1;
        median_first(elements, key);
        let cut = partition(elements, key).clamp(1, elements.len() - 1);
        let (lower, upper) = elements.split_at_mut(cut);
        part(upper, key, depth);
        elements = lower;
    }
}

/// Swaps the first element with the median of the second, the middle and the last.
fn median_first<T>(elements: &mut [T], key: &impl Fn(&T) -> u8) {
    let (second, middle, last) = (1, elements.len() / 2, elements.len() - 1);
    let less = |a: usize, b: usize| match (elements.get(a), elements.get(b)) {
        (Some(a), Some(b)) => key(a) < key(b),
        _ => false,
    };
    let median = match (less(second, middle), less(middle, last), less(second, last)) {
        (true, true, _) => middle,
        (true, false, true) => last,
        (true, false, false) => second,
        (false, _, true) => second,
        (false, true, false) => last,
        (false, false, false) => middle,
    };
    elements.swap(0, median);
}

/// Parts the elements after the first by it, and returns where the upper part begins.
fn partition<T>(elements: &mut [T], key: &impl Fn(&T) -> u8) -> usize {
    let Some(pivot) = elements.first().map(key) else { return 0 };
    let (mut low, mut high) = (1, elements.len());
    loop {
        while elements.get(low).is_some_and(|element| key(element) < pivot) {
            low += 1;
        }
        high -= 1;
        while elements.get(high).is_some_and(|element| pivot < key(element)) {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        elements.swap(low, high);
        low += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn sorts() {
        for count in [0, 1, 5, 16, 17, 40, 500] {
            let mut elements: Vec<(u8, usize)> = (0..count).map(|at| ((at * 7 % 3) as u8, at)).collect();
            introsort_by_key(&mut elements, |element| element.0);
            assert!(elements.is_sorted_by_key(|element| element.0), "{count}");
            let mut places: Vec<usize> = elements.iter().map(|element| element.1).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..count));
        }
    }

    #[test]
    fn few_elements_keep_their_order() {
        let mut elements: Vec<(u8, usize)> = (0..16).map(|at| ((at % 3) as u8, at)).collect();
        let mut stable = elements.clone();
        stable.sort_by_key(|element| element.0);
        introsort_by_key(&mut elements, |element| element.0);
        assert_eq!(elements, stable);
    }
}
