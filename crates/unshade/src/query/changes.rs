//! Which items of two programs are different, and how much: by name first, then by similar code.
//!
//! The answer comes in steps. The first phase compares items of the same name: equal bytes are the same, other items are
//! printed and compared. The second sums up the code of the items that are left, the third pairs those by similarity and
//! compares the pairs. A cursor names the phase and the place in it; what a step needs is computed again, only the
//! summaries are kept.

use super::recorder::Printed;
use super::rows::Table;
use super::session::{Parsed, Session};
use super::*;
use crate::diff::{CodeLines, NamePairs, Sketch, pair_similar};
use crate::program::Piece;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The maximum number of changes in a step.
const MAX_STEP: usize = 2_000;

/// Summaries of items, by program and item. An item without code has none.
pub(super) type Sketches = HashMap<(u32, u32), Option<Arc<Sketch>>>;

/// Where a comparison continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    Named(usize),
    Sketched(usize),
    Similar(usize),
}

impl Cursor {
    fn parse(text: Option<&str>) -> Answer<Self> {
        let Some(text) = text else { return Ok(Self::Named(0)) };
        let parts = text.split_once('.').and_then(|(phase, at)| Some((phase, at.parse().ok()?)));
        match parts {
            Some(("named", at)) => Ok(Self::Named(at)),
            Some(("sketched", at)) => Ok(Self::Sketched(at)),
            Some(("similar", at)) => Ok(Self::Similar(at)),
            _ => Err(Fault::new("no cursor of a comparison")),
        }
    }

    fn write(self) -> String {
        match self {
            Self::Named(at) => format!("named.{at}"),
            Self::Sketched(at) => format!("sketched.{at}"),
            Self::Similar(at) => format!("similar.{at}"),
        }
    }
}

/// One of the two programs.
struct Side<'s> {
    parsed: Parsed<'s>,
    table: Arc<Table>,
    /// The number that its summaries are kept under.
    program: u32,
}

impl Side<'_> {
    fn names(&self) -> Vec<&str> {
        self.table.items().iter().map(|piece| piece.row.name.as_str()).collect()
    }

    fn piece(&self, item: usize) -> Option<&Piece> {
        self.table.items().get(item)
    }

    fn bytes(&self, item: usize) -> Option<&[u8]> {
        let range = self.piece(item)?.row.range.as_ref()?;
        let at = |offset: u64| usize::try_from(offset.checked_sub(self.parsed.base)?).ok();
        self.parsed.data.get(at(range.start)?..at(range.end)?)
    }

    fn code(&self, item: usize) -> Answer<CodeLines> {
        let piece = self.piece(item).ok_or_else(|| Fault::new("no such item"))?;
        let pane = piece.panes.first().copied().ok_or_else(|| Fault::new("it has no code"))?;
        let Printed { lines, .. } = listing::print(&self.parsed, &self.table, Some(piece), pane)?;
        // The listing of a function inside of another is that of both.
        let inner = piece.row.range.as_ref().filter(|_| piece.row.kind == "inner");
        Ok(CodeLines::new(|sink| match inner {
            Some(bytes) => lines.replay_range(bytes, sink),
            None => lines.replay(sink),
        }))
    }

    fn name(&self, item: usize) -> String {
        self.piece(item).map_or_else(String::new, |piece| piece.row.readable_name().to_owned())
    }
}

impl Session {
    /// Compares the items of two programs: of this file, or of this and another.
    ///
    /// # Errors
    /// There is no such program, it can't be read, or the two are of different kinds.
    pub fn changes(
        left: &mut Self,
        mut right: Option<&mut Self>,
        request: &Changes,
    ) -> Answer<ChangesAnswer> {
        if request.left.item.is_some() || request.right.item.is_some() {
            return Err(Fault::new("`changes` compares programs").hint("`compare` compares two items"));
        }
        left.ensure_all()?;
        let table = left.table(request.left.program)?;
        if let Some(right) = &mut right {
            right.ensure_all()?;
        }
        let other_table = match &mut right {
            Some(right) => right.table(request.right.program)?,
            None => left.table(request.right.program)?,
        };
        let clock = left.clock;
        let deadline = left.deadline(request.budget_ms);
        // Summaries are kept by the session that the items are in.
        let mut sketches = [std::mem::take(&mut left.sketches), Sketches::new()];
        if let Some(right) = &mut right {
            sketches = [std::mem::take(&mut sketches[0]), std::mem::take(&mut right.sketches)];
        }
        let is_one_file = right.is_none();
        let answer = (|| {
            let one = left.parsed(request.left.program)?;
            let two = match &right {
                Some(right) => right.parsed(request.right.program)?,
                None => left.parsed(request.right.program)?,
            };
            let is_library = |parsed: &Parsed<'_>| !parsed.program.metal_libraries().is_empty();
            if one.format.format != two.format.format && !(is_library(&one) && is_library(&two)) {
                return Err(Fault::new("programs of different kinds can't be compared"));
            }
            let sides = [
                Side { parsed: one, table: Arc::clone(&table), program: request.left.program },
                Side { parsed: two, table: Arc::clone(&other_table), program: request.right.program },
            ];
            let mut step =
                Step { sides, sketches: &mut sketches, is_one_file, answer: ChangesAnswer::default() };
            step.run(Cursor::parse(request.cursor.as_deref())?, &|| clock() >= deadline);
            Ok(step.answer)
        })();
        let [own, other] = sketches;
        left.sketches = own;
        if let Some(right) = right {
            right.sketches = other;
        }
        answer
    }
}

/// A step of a comparison.
struct Step<'s, 'k> {
    sides: [Side<'s>; 2],
    sketches: &'k mut [Sketches; 2],
    is_one_file: bool,
    answer: ChangesAnswer,
}

impl Step<'_, '_> {
    fn run(&mut self, from: Cursor, is_over: &dyn Fn() -> bool) {
        let [one, two] = &self.sides;
        let named = NamePairs::new(&one.names(), &two.names());
        // The items without a partner are summed up, and compared once they are paired.
        let open = named.removed.len() + named.added.len();
        let has_both = !named.removed.is_empty() && !named.added.is_empty();
        self.answer.total = (named.pairs.len() + open) as u64;
        let is_full = |step: &Self| is_over() || step.answer.changes.len() >= MAX_STEP;
        let mut cursor = from;
        loop {
            cursor = match cursor {
                Cursor::Named(at) => match named.pairs.get(at) {
                    Some(&(one, two)) => {
                        self.compare("changed", one, two);
                        Cursor::Named(at + 1)
                    }
                    None if has_both => Cursor::Sketched(0),
                    None => Cursor::Similar(0),
                },
                Cursor::Sketched(at) => {
                    let place = match at.checked_sub(named.removed.len()) {
                        None => named.removed.get(at).map(|item| (0, *item)),
                        Some(at) => named.added.get(at).map(|item| (1, *item)),
                    };
                    match place {
                        Some((side, item)) => {
                            self.sketch(side, item);
                            Cursor::Sketched(at + 1)
                        }
                        None => Cursor::Similar(0),
                    }
                }
                Cursor::Similar(at) => {
                    let next = self.similar(&named, at, has_both, &|step| is_full(step));
                    let Some(next) = next else {
                        self.answer.searched = self.answer.total;
                        return;
                    };
                    Cursor::Similar(next)
                }
            };
            if is_full(self) {
                let done = match cursor {
                    Cursor::Named(at) => at,
                    Cursor::Sketched(at) => named.pairs.len() + at / 2,
                    Cursor::Similar(_) => named.pairs.len() + open / 2,
                };
                self.answer.searched = (done as u64).min(self.answer.total);
                self.answer.cursor = Some(cursor.write());
                return;
            }
        }
    }

    /// Compares items that are paired by similarity, and lists the others. Returns the next place, `None` at the end.
    fn similar(
        &mut self,
        named: &NamePairs,
        from: usize,
        has_both: bool,
        is_full: &dyn Fn(&Self) -> bool,
    ) -> Option<usize> {
        let mut sketched = |side: usize, items: &[usize]| -> Vec<(usize, Arc<Sketch>)> {
            let sketch = |item: &usize| Some((*item, self.sketch(side, *item)?));
            if has_both { items.iter().filter_map(sketch).collect() } else { Vec::new() }
        };
        let (old, new) = (sketched(0, &named.removed), sketched(1, &named.added));
        let only = |all: &[(usize, Arc<Sketch>)]| all.iter().map(|(_, sketch)| Arc::clone(sketch)).collect();
        let (old_sketches, new_sketches): (Vec<Arc<Sketch>>, Vec<Arc<Sketch>>) = (only(&old), only(&new));
        let pairs = pair_similar(
            &old_sketches.iter().map(Arc::as_ref).collect::<Vec<_>>(),
            &new_sketches.iter().map(Arc::as_ref).collect::<Vec<_>>(),
        );
        let pairs: Vec<(usize, usize)> =
            pairs.iter().filter_map(|(one, two, _)| Some((old.get(*one)?.0, new.get(*two)?.0))).collect();
        let mut at = from;
        while let Some(&(one, two)) = pairs.get(at) {
            self.compare("renamed", one, two);
            at += 1;
            if is_full(self) {
                return Some(at);
            }
        }
        let paired: [HashSet<usize>; 2] =
            [pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()];
        let is_alone =
            |side: usize, item: &usize| paired.get(side).is_some_and(|paired| !paired.contains(item));
        let alone: Vec<(usize, usize)> = [&named.removed, &named.added]
            .iter()
            .enumerate()
            .flat_map(|(side, items)| items.iter().map(move |item| (side, *item)))
            .filter(|(side, item)| is_alone(*side, item))
            .collect();
        while let Some(&(side, item)) = alone.get(at - pairs.len()) {
            self.alone(side, item);
            at += 1;
            if is_full(self) {
                return Some(at);
            }
        }
        None
    }

    fn sketch(&mut self, side: usize, item: usize) -> Option<Arc<Sketch>> {
        let place = (self.sides.get(side)?.program, item as u32);
        // Both programs are in one file if there is one session.
        let kept = self.sketches.get_mut(if self.is_one_file { 0 } else { side })?;
        if let Some(sketch) = kept.get(&place) {
            return sketch.clone();
        }
        let sketch = self.sides.get(side)?.code(item).ok().map(|code| Arc::new(Sketch::new(&code)));
        kept.insert(place, sketch.clone());
        sketch
    }

    fn alone(&mut self, side: usize, item: usize) {
        let Some(of) = self.sides.get(side) else { return };
        let lines = of.code(item).map_or(0, |code| code.len() as u64);
        let (left, right) = if side == 0 { (Some(item as u32), None) } else { (None, Some(item as u32)) };
        self.answer.changes.push(ItemChange {
            kind: if side == 0 { "removed" } else { "added" },
            name: of.name(item),
            left,
            right,
            measure: 1000,
            lines,
            added: if side == 0 { 0 } else { lines },
            removed: if side == 0 { lines } else { 0 },
            ..ItemChange::default()
        });
    }

    /// Compares two items, and adds them if they are different.
    fn compare(&mut self, kind: &'static str, left: usize, right: usize) {
        let [one, two] = &self.sides;
        let bytes = one.bytes(left).zip(two.bytes(right));
        let (has_bytes, has_equal_bytes) = (bytes.is_some(), bytes.is_some_and(|(one, two)| one == two));
        if kind == "changed" && has_equal_bytes {
            self.answer.same = self.answer.same.saturating_add(1);
            return;
        }
        let mut change = ItemChange {
            kind,
            name: two.name(right),
            before: (kind == "renamed").then(|| one.name(left)),
            left: Some(left as u32),
            right: Some(right as u32),
            ..ItemChange::default()
        };
        match one.code(left).and_then(|one| Ok((one, two.code(right)?))) {
            Ok((one, two)) => {
                let diff = one.compare(&two);
                let counts = diff.counts();
                change.measure = if diff.cut { 1000 } else { counts.measure() };
                change.lines = one.len().max(two.len()) as u64;
                change.changed = counts.changed;
                change.added = counts.added;
                change.removed = counts.removed;
                change.renamed = counts.renamed;
                if diff.cut {
                    change.fault = Some("the listings are too long to be compared".to_owned());
                }
                // Packed code has no bytes in the file. Where these are known, their difference is one that the listing does
                // not show.
                let is_same = counts.measure() == 0 && counts.renamed == 0 && !diff.cut;
                if kind == "changed" && is_same && !has_bytes {
                    self.answer.same = self.answer.same.saturating_add(1);
                    return;
                }
            }
            Err(fault) => {
                change.measure = if has_equal_bytes { 0 } else { 1000 };
                change.fault = Some(fault.message);
            }
        }
        self.answer.changes.push(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back() {
        for cursor in [Cursor::Named(3), Cursor::Sketched(0), Cursor::Similar(17_248)] {
            assert_eq!(Cursor::parse(Some(&cursor.write())).unwrap(), cursor);
        }
        assert_eq!(Cursor::parse(None).unwrap(), Cursor::Named(0));
        assert!(Cursor::parse(Some("named")).is_err() && Cursor::parse(Some("other.1")).is_err());
    }
}
