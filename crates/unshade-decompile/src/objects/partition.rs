//! The division of a memory by its accesses.
//!
//! An access at a constant offset makes an object of its bytes; those that overlap are one. An access with an index reaches
//! everything from its constant offset on that may be its elements: up to the next bytes that are accessed with another width,
//! or not at a multiple of its elements. Two indexed accesses with the same scale are of one object, because `a[i + 4]` can't be
//! told from `b[i]`. Where this leaves a doubt, objects are joined: one array that is really two is still
//! right.

use super::{Access, Object};

/// Maximum number of objects in a memory.
const MAX_OBJECTS: usize = 1 << 12;

/// Returns the objects of a memory of `size` bytes in order. `known` are its known variables; `is_open` says whether there are
/// others. Returns `None` if an access can't be placed.
pub(super) fn objects(
    accesses: &[&Access],
    known: &[Object],
    size: u32,
    is_open: bool,
) -> Option<Vec<Object>> {
    let mut objects = known.to_vec();
    objects.iter_mut().for_each(|object| object.unit = 0);
    let mut free: Vec<Cell> = Vec::new();
    for access in accesses {
        let start = match u32::try_from(access.offset).ok().filter(|start| *start < size) {
            Some(start) => start,
            None if access.scales.is_empty() => return None,
            // An index that never is 0, as in `a[i - 1]`, doesn't tell where an object begins.
            None => continue,
        };
        let end = start.checked_add(access.bytes).filter(|end| *end <= size)?;
        let unit = unit(access)?;
        match super::at(&objects, access.offset) {
            Some(number) => {
                let object = &mut objects[number];
                if end > object.end {
                    return None;
                }
                object.unit = smaller(object.unit, unit);
            }
            None => free.push(Cell { start, end, unit, bytes: access.bytes }),
        }
    }
    if !free.is_empty() && !is_open {
        return None;
    }
    let found = divide(free, &objects, size)?;
    objects.extend(found);
    objects.sort_by_key(|object| object.start);
    (objects.len() <= MAX_OBJECTS && objects.windows(2).all(|pair| pair[0].end <= pair[1].start))
        .then_some(objects)
}

/// Bytes that an access reaches; more with an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    start: u32,
    end: u32,
    /// The smallest scale; 0 without an index.
    unit: u32,
    /// The width of its accesses.
    bytes: u32,
}

/// Returns the smallest scale of an access: 0 without an index, and `None` if its elements overlap.
fn unit(access: &Access) -> Option<u32> {
    let Some(&least) = access.scales.iter().min() else { return Some(0) };
    let is_regular = access.scales.iter().all(|scale| scale.is_multiple_of(least));
    u32::try_from(least).ok().filter(|least| is_regular && least.is_multiple_of(access.bytes))
}

/// Returns the smaller of two scales, of which 0 is none.
fn smaller(one: u32, other: u32) -> u32 {
    match (one, other) {
        (0, unit) | (unit, 0) => unit,
        (one, other) => one.min(other),
    }
}

/// Divides what isn't known. `known` are the other objects.
fn divide(mut cells: Vec<Cell>, known: &[Object], size: u32) -> Option<Vec<Object>> {
    cells.sort_by_key(|cell| (cell.start, cell.end));
    join_parts(&mut cells);
    let mut found: Vec<Cell> = Vec::new();
    for cell in cells {
        let next_known = |start: u32| known.partition_point(|object| object.start <= start);
        match found.last_mut() {
            // An array reaches up to what can't be one of its elements.
            Some(last)
                if last.unit > 0
                    && is_element(last, &cell)
                    && next_known(last.start) == next_known(cell.start) =>
            {
                last.end = last.end.max(cell.end);
                last.unit = smaller(last.unit, cell.unit);
            }
            Some(last) if last.end > cell.start => {
                last.end = last.end.max(cell.end);
                last.unit = smaller(last.unit, cell.unit);
                last.bytes = last.bytes.max(cell.bytes);
            }
            _ => found.push(cell),
        }
    }
    let starts: Vec<u32> = found.iter().skip(1).map(|cell| cell.start).chain([size]).collect();
    let mut objects = Vec::new();
    for (cell, next) in found.iter().zip(starts) {
        let after = known.get(known.partition_point(|object| object.start < cell.end));
        let limit = after.map_or(size, |object| object.start).min(next);
        // An array has as many elements as there is room for.
        let count = (limit - cell.start).checked_div(cell.unit);
        let end = count.map_or(cell.end, |count| cell.start + count * cell.unit);
        if end < cell.end {
            return None;
        }
        objects.push(Object { start: cell.start, end, unit: cell.unit, variable: None });
    }
    Some(objects)
}

/// Joins cells without an index that overlap: halves of an element are accessed, too.
fn join_parts(cells: &mut Vec<Cell>) {
    let mut joined: Vec<Cell> = Vec::with_capacity(cells.len());
    // The last cell without an index.
    let mut whole = None;
    for cell in cells.drain(..) {
        match whole.and_then(|index: usize| joined.get_mut(index)) {
            Some(last) if cell.unit == 0 && cell.start < last.end => {
                last.end = last.end.max(cell.end);
                last.bytes = last.bytes.max(cell.bytes);
            }
            _ => {
                if cell.unit == 0 {
                    whole = Some(joined.len());
                }
                joined.push(cell);
            }
        }
    }
    *cells = joined;
}

/// Returns whether an access may be of an array's element.
fn is_element(array: &Cell, cell: &Cell) -> bool {
    let is_same = cell.bytes == array.bytes && (cell.start - array.start).is_multiple_of(cell.bytes);
    // The members of an array of structures have several widths.
    is_same || array.unit > array.bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{NO_ADDRESS, Space, ValueId};

    /// Returns the ranges of the objects in 16 bytes of local memory, from offsets, widths and scales.
    fn found(accesses: &[(i64, u32, &[u64])]) -> Vec<(u32, u32)> {
        let access = |&(offset, bytes, scales): &(i64, u32, &[u64])| Access {
            space: Space::Local,
            id: ValueId::NONE,
            address: ValueId::NONE,
            offset,
            scales: scales.to_vec(),
            bytes,
            instruction: NO_ADDRESS,
            is_store: false,
        };
        let accesses: Vec<Access> = accesses.iter().map(access).collect();
        let objects = objects(&accesses.iter().collect::<Vec<_>>(), &[], 16, true);
        objects.expect("all are in the memory").iter().map(|object| (object.start, object.end)).collect()
    }

    #[test]
    fn an_array_contains_elements_whose_halves_are_accessed() {
        assert_eq!(found(&[(0, 8, &[8]), (8, 4, &[]), (8, 8, &[]), (12, 4, &[])]), [(0, 16)]);
        // Nothing accesses the second element as a whole.
        assert_eq!(found(&[(0, 8, &[8]), (8, 4, &[]), (12, 4, &[])]), [(0, 8), (8, 12), (12, 16)]);
    }
}
