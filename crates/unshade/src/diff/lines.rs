//! Computes the difference of two sequences of lines, as hunks with context.
//!
//! Lines are compared by a *key*, so lines with different text can count as equal. The algorithm is imara-diff's
//! histogram diff, whose time stays near linear on hostile input. Sequences longer than [`MAX_LINES`] are not compared.

use imara_diff::{Algorithm, Diff, InternedInput};
use serde::Serialize;

/// Maximum number of lines of a sequence; longer ones are not compared.
pub const MAX_LINES: usize = 1 << 20;

/// Maximum number of lines of hunks that are kept; the others are counted.
pub const MAX_SHOWN: usize = 10_000;

/// The kind of change of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// In both sequences.
    Same,
    /// Only in the first sequence.
    Removed,
    /// Only in the second sequence.
    Added,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HunkLine {
    /// Kind of change.
    pub change: Change,
    /// Text; if the line is in both sequences, that of the second.
    pub text: String,
}

/// Changed lines with context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// Number of its first line in the first sequence, from 1.
    pub before: usize,
    /// Number of its first line in the second sequence, from 1.
    pub after: usize,
    /// The lines.
    pub lines: Vec<HunkLine>,
}

/// The difference of two sequences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineDiff {
    /// Number of lines that are only in the second sequence.
    pub added: usize,
    /// Number of lines that are only in the first sequence.
    pub removed: usize,
    /// Changes, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<Hunk>,
    /// Whether there were more lines than can be compared or kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl LineDiff {
    /// Returns whether there is no difference.
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0 && !self.cut
    }

    /// Compares two texts line by line, exactly.
    ///
    /// ```
    /// let diff = unshade::diff::LineDiff::of_texts("a\nb\nc", "a\nc\nd", 0);
    /// assert_eq!((diff.added, diff.removed, diff.hunks.len()), (1, 1, 2));
    /// ```
    pub fn of_texts(before: &str, after: &str, context: usize) -> Self {
        let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        let Some(steps) = align(before.iter().copied(), after.iter().copied()) else {
            return Self { cut: before != after, ..Self::default() };
        };
        Self::new(&steps, |at| before.get(at).copied(), |at| after.get(at).copied(), context)
    }

    /// Creates hunks from an alignment. `before` and `after` return the text of a line by index.
    pub(super) fn new<'t>(
        steps: &[AlignedLine],
        before: impl Fn(usize) -> Option<&'t str>,
        after: impl Fn(usize) -> Option<&'t str>,
        context: usize,
    ) -> Self {
        let mut diff = Self::default();
        // Lines from here on belong to no hunk yet; `place` counts the lines before them.
        let (mut free, mut passed) = (0, LineCounts::default());
        let mut shown = 0;
        while let Some(change) =
            steps.get(free..).and_then(|rest| rest.iter().position(|step| !step.is_same()))
        {
            let first = free + change;
            // The hunk continues across at most twice the context of equal lines.
            let mut end = first + 1;
            let mut same = 0;
            while let Some(step) = steps.get(end).filter(|_| same <= context.saturating_mul(2)) {
                same = if step.is_same() { same + 1 } else { 0 };
                end += 1;
            }
            end -= same.saturating_sub(context);
            let start = first.saturating_sub(context).max(free);
            passed.pass(steps.get(free..start).unwrap_or_default());
            let inside = steps.get(start..end).unwrap_or_default();
            diff.removed += inside.iter().filter(|step| matches!(step, AlignedLine::Removed(_))).count();
            diff.added += inside.iter().filter(|step| matches!(step, AlignedLine::Added(_))).count();
            if shown + inside.len() <= MAX_SHOWN {
                shown += inside.len();
                let lines = inside.iter().map(|step| step.line(&before, &after)).collect();
                diff.hunks.push(Hunk { before: passed.before + 1, after: passed.after + 1, lines });
            } else {
                diff.cut = true;
            }
            passed.pass(inside);
            free = end;
        }
        diff
    }
}

/// Number of lines of each sequence that were passed.
#[derive(Default)]
struct LineCounts {
    before: usize,
    after: usize,
}

impl LineCounts {
    fn pass(&mut self, steps: &[AlignedLine]) {
        for step in steps {
            self.before += usize::from(!matches!(step, AlignedLine::Added(_)));
            self.after += usize::from(!matches!(step, AlignedLine::Removed(_)));
        }
    }
}

/// An aligned line, with its indices in the sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AlignedLine {
    Same(usize, usize),
    Removed(usize),
    Added(usize),
}

impl AlignedLine {
    fn is_same(&self) -> bool {
        matches!(self, Self::Same(..))
    }

    /// Returns it with the indices that the lines have in the modules which they are taken from.
    pub(super) fn of_lines(&self, before: &[usize], after: &[usize]) -> Option<Self> {
        Some(match *self {
            Self::Same(at, other) => Self::Same(*before.get(at)?, *after.get(other)?),
            Self::Removed(at) => Self::Removed(*before.get(at)?),
            Self::Added(at) => Self::Added(*after.get(at)?),
        })
    }

    fn line<'t>(
        &self,
        before: impl Fn(usize) -> Option<&'t str>,
        after: impl Fn(usize) -> Option<&'t str>,
    ) -> HunkLine {
        let (change, text) = match *self {
            Self::Same(_, at) => (Change::Same, after(at)),
            Self::Removed(at) => (Change::Removed, before(at)),
            Self::Added(at) => (Change::Added, after(at)),
        };
        HunkLine { change, text: text.unwrap_or_default().to_owned() }
    }
}

/// Aligns two sequences by their keys; `None` if they are too long.
pub(super) fn align<'t>(
    before: impl ExactSizeIterator<Item = &'t str>,
    after: impl ExactSizeIterator<Item = &'t str>,
) -> Option<Vec<AlignedLine>> {
    if before.len().max(after.len()) > MAX_LINES {
        return None;
    }
    let mut input = InternedInput::default();
    input.update_before(before);
    input.update_after(after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    let mut steps = Vec::with_capacity(input.before.len().max(input.after.len()));
    let (mut at, mut other) = (0, 0);
    for hunk in diff.hunks() {
        same(&mut steps, &mut at, &mut other, hunk.before.start as usize);
        steps.extend(hunk.before.clone().map(|line| AlignedLine::Removed(line as usize)));
        steps.extend(hunk.after.clone().map(|line| AlignedLine::Added(line as usize)));
        (at, other) = (hunk.before.end as usize, hunk.after.end as usize);
    }
    same(&mut steps, &mut at, &mut other, input.before.len());
    Some(steps)
}

fn same(steps: &mut Vec<AlignedLine>, at: &mut usize, other: &mut usize, end: usize) {
    while *at < end {
        steps.push(AlignedLine::Same(*at, *other));
        *at += 1;
        *other += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies the hunks of a difference to the first text.
    fn apply(before: &str, diff: &LineDiff) -> String {
        let lines: Vec<&str> = before.lines().collect();
        let mut out: Vec<&str> = Vec::new();
        let mut at = 0;
        for hunk in &diff.hunks {
            out.extend(&lines[at..hunk.before - 1]);
            at = hunk.before - 1;
            for line in &hunk.lines {
                match line.change {
                    Change::Same => {
                        assert_eq!(lines[at], line.text);
                        out.push(lines[at]);
                        at += 1;
                    }
                    Change::Removed => {
                        assert_eq!(lines[at], line.text);
                        at += 1;
                    }
                    Change::Added => out.push(&line.text),
                }
            }
        }
        out.extend(&lines[at..]);
        out.join("\n")
    }

    #[test]
    fn hunks_make_one_text_of_the_other() {
        let texts = [
            "",
            "a",
            "a\nb\nc\nd\ne\nf\ng\nh\ni\nj",
            "b\nc\nd\ne\nx\ng\nh\ni\nj\nk",
            "a\nb\nb\nb\na",
            "j\ni\nh\na\nb",
        ];
        for before in texts {
            for after in texts {
                for context in [0, 1, 3] {
                    let diff = LineDiff::of_texts(before, after, context);
                    assert_eq!(diff.is_empty(), before == after);
                    assert_eq!(apply(before, &diff), after, "{before:?} {after:?} {context}: {diff:?}");
                }
            }
        }
    }

    #[test]
    fn much_text_is_counted_but_not_kept() {
        let many = |word: &str| vec![word; MAX_SHOWN].join("\n");
        let diff = LineDiff::of_texts(&many("a"), &many("b"), 3);
        assert_eq!((diff.added, diff.removed, diff.cut), (MAX_SHOWN, MAX_SHOWN, true));
        let diff = LineDiff::of_texts(&"\n".repeat(MAX_LINES + 1), "a", 3);
        assert!(diff.cut && !diff.is_empty() && diff.hunks.is_empty());
    }
}
