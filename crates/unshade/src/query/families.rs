//! Families: functions that are instances of one template.
//!
//! A name is split into fixed text and arguments. In C++ the arguments are those of the template, or the parameters of an
//! overloaded function: `scale<float, 4>(float*)` has `float` and `4`. In a flat name they are the words for types and
//! the numbers: `gemv_float32_bm4` has `float32` and `4`. Names with the same fixed text are a family; an argument that
//! is the same in all of its names goes back into the text.

use super::response::{Family, FamilyParameter};
use crate::program::Row;
use std::collections::HashMap;
use std::ops::Range;

/// The longest name that is taken apart, in bytes.
const MAX_NAME: usize = 8 << 10;

/// The maximum number of arguments of a name; those after it stay in the text.
const MAX_ARGUMENTS: usize = 24;

/// The mark of an argument in a family's name.
const MARK: char = '*';

/// Words for types that end with a number, which may be anywhere in a flat name. Longer ones come first.
const SIZED: &[&str] = &["bfloat", "complex", "float", "uint", "int"];

/// Words for types that are between other characters than letters and digits.
const WORDS: &[&str] = &[
    "bfloat", "double", "float", "uchar", "short", "bool", "char", "half", "long", "uint", "bf", "int", "f",
    "i", "u",
];

/// Where the arguments of a name are.
type Slots = Vec<Range<usize>>;

/// Rows in families.
#[derive(Debug, Default)]
pub(super) struct Families {
    /// The families, in the order of their first rows.
    pub(super) all: Vec<Family>,
    /// The indices of the rows, family by family.
    pub(super) order: Vec<u32>,
    /// Which parameters each family has, of those of its text.
    varying: Vec<Vec<usize>>,
}

/// A family that is being collected.
#[derive(Default)]
struct Group<'r> {
    /// The first name, and where its arguments are.
    first: (&'r str, Slots),
    rows: Vec<u32>,
    size: u64,
    /// For each argument, whether it is the same in all names, and the length of the longest.
    arguments: Vec<(bool, usize)>,
}

impl Families {
    /// Collects rows, which keep their order within a family.
    pub(super) fn of<'r>(rows: impl Iterator<Item = (u32, &'r Row)>) -> Self {
        let mut groups: Vec<Group<'r>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (index, row) in rows {
            let name = row.readable_name();
            let slots = slots(name);
            let text = text(name, &slots, |_| false);
            let place = *places.entry(text).or_insert(groups.len());
            if place == groups.len() {
                let arguments = vec![(true, 0); slots.len()];
                groups.push(Group { first: (name, slots.clone()), arguments, ..Group::default() });
            }
            if let Some(group) = groups.get_mut(place) {
                group.add(index, row, &slots);
            }
        }
        let mut families = Self::default();
        groups.into_iter().for_each(|group| families.push(group));
        families
    }

    fn push(&mut self, group: Group<'_>) {
        let (first, slots) = &group.first;
        let is_alone = group.rows.len() == 1;
        let varies = |at: usize| !is_alone && group.arguments.get(at).is_some_and(|(is_same, _)| !is_same);
        let varying: Vec<usize> = (0..slots.len()).filter(|at| varies(*at)).collect();
        let parameter = |at: &usize| FamilyParameter {
            name: slots.get(*at).map_or_else(String::new, |slot| parameter_name(first, slot)),
            width: group.arguments.get(*at).map_or(0, |(_, width)| *width as u32),
        };
        self.all.push(Family {
            name: super::rows::cut(&text(first, slots, |at| !varies(at))),
            from: self.order.len() as u32,
            count: group.rows.len() as u32,
            size: group.size,
            parameters: varying.iter().map(parameter).collect(),
        });
        self.order.extend(group.rows);
        self.varying.push(varying);
    }

    /// Returns the arguments of a row by its place in the order.
    pub(super) fn arguments(&self, place: usize, row: &Row) -> Vec<String> {
        let family = self.all.partition_point(|family| family.from as usize <= place).saturating_sub(1);
        let name = row.readable_name();
        let slots = slots(name);
        let argument = |at: &usize| super::rows::cut(name.get(slots.get(*at)?.clone())?).into();
        self.varying
            .get(family)
            .map_or_else(Vec::new, |varying| varying.iter().filter_map(argument).collect())
    }
}

impl Group<'_> {
    fn add(&mut self, index: u32, row: &Row, slots: &Slots) {
        let (first, own) = &self.first;
        let name = row.readable_name();
        for ((known, slot), original) in self.arguments.iter_mut().zip(slots).zip(own) {
            let argument = name.get(slot.clone()).unwrap_or_default();
            known.0 &= first.get(original.clone()) == Some(argument);
            known.1 = known.1.max(argument.chars().count());
        }
        self.rows.push(index);
        self.size = self.size.saturating_add(size_of(row));
    }
}

/// Returns the size of an item in bytes: what its column says, or the length of its range.
pub(super) fn size_of(row: &Row) -> u64 {
    let stated = row.cells.iter().find_map(|cell| match cell {
        crate::program::Cell::Size(size) => Some(*size),
        _ => None,
    });
    stated.or_else(|| row.range.as_ref().map(|range| range.end.saturating_sub(range.start))).unwrap_or(0)
}

/// Returns the name with marks for arguments, except those that are `kept`.
fn text(name: &str, slots: &Slots, kept: impl Fn(usize) -> bool) -> String {
    let (mut text, mut from) = (String::with_capacity(name.len()), 0);
    for (_, slot) in slots.iter().enumerate().filter(|(at, _)| !kept(*at)) {
        text.push_str(name.get(from..slot.start).unwrap_or_default());
        text.push(MARK);
        from = slot.end;
    }
    text.push_str(name.get(from..).unwrap_or_default());
    text
}

/// Names a parameter after the letters before it: `bm` in `bm4` and `bm_4`. Types are called `type`.
fn parameter_name(name: &str, slot: &Range<usize>) -> String {
    let argument = name.get(slot.clone()).unwrap_or_default();
    if !argument.starts_with(|letter: char| letter.is_ascii_digit()) {
        return "type".to_owned();
    }
    let before = name.get(..slot.start).unwrap_or_default();
    let before = before.strip_suffix('_').unwrap_or(before);
    let start = before.rfind(|letter: char| !letter.is_ascii_alphabetic()).map_or(0, |at| at + 1);
    before.get(start..).unwrap_or_default().to_owned()
}

/// Returns the places of the arguments of a name.
fn slots(name: &str) -> Slots {
    if name.len() > MAX_NAME {
        return Slots::new();
    }
    let mut slots = of_helper(name).or_else(|| of_template(name)).unwrap_or_else(|| of_flat_name(name));
    slots.truncate(MAX_ARGUMENTS);
    slots
}

/// A function inside of a kernel: `$kernel(int)$helper`. The kernel is the argument.
fn of_helper(name: &str) -> Option<Slots> {
    let inside = name.strip_prefix('$')?;
    let end = inside.find('$')? + 1;
    Some(std::iter::once(1..end).collect())
}

/// The arguments of `scale<float, 4>(float*)`, or the parameters of `scale(float*)`.
fn of_template(name: &str) -> Option<Slots> {
    let bytes = name.as_bytes();
    let (mut depth, mut open, mut parameters) = (0_usize, None, None);
    let mut last = None;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' | b'(' | b'[' | b'{' => {
                // A qualified name may begin with `(anonymous namespace)`.
                if depth == 0 && *byte == b'(' && !name.get(at..)?.starts_with("(anonymous namespace)") {
                    parameters = Some(at);
                    break;
                }
                if depth == 0 && *byte == b'<' {
                    open = Some(at);
                }
                depth += 1;
            }
            b'>' if at > 0 && bytes.get(at - 1) == Some(&b'-') => {}
            b'>' | b')' | b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 && *byte == b'>' {
                    last = open.map(|open| open + 1..at);
                }
            }
            _ => {}
        }
    }
    let end = parameters.unwrap_or(name.len());
    if let Some(last) = last.filter(|last| last.end + 1 == end) {
        let mut slots = split(name, last);
        slots.extend(parameters.and_then(|start| in_brackets(name, start)));
        return Some(slots);
    }
    parameters.and_then(|start| in_brackets(name, start)).map(|slot| vec![slot])
}

/// Returns what is in the brackets that open at a place and are closed at the end of the name, as one argument.
fn in_brackets(name: &str, start: usize) -> Option<Range<usize>> {
    let end = name.rfind(')')?;
    (end > start + 1).then_some(start + 1..end)
}

/// Splits a list at its commas.
fn split(name: &str, list: Range<usize>) -> Slots {
    let (mut slots, mut start, mut depth) = (Slots::new(), list.start, 0_usize);
    for at in list.clone() {
        match name.as_bytes().get(at) {
            Some(b'<' | b'(' | b'[' | b'{') => depth += 1,
            Some(b'>' | b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            Some(b',') if depth == 0 => {
                slots.push(start..at);
                let spaces =
                    name.get(at + 1..list.end).map_or(0, |rest| rest.len() - rest.trim_start().len());
                start = at + 1 + spaces;
            }
            _ => {}
        }
    }
    slots.push(start..list.end);
    slots
}

/// The words for types and the numbers of `gemv_float32_bm4`.
fn of_flat_name(name: &str) -> Slots {
    let bytes = name.as_bytes();
    let (mut slots, mut at) = (Slots::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'0'..=b'9' => Some(at + digits(bytes, at)),
            b'b' | b'c' | b'd' | b'f' | b'h' | b'i' | b'l' | b's' | b'u' => {
                type_at(bytes, at, slots.last().is_some_and(|slot| slot.end == at))
            }
            _ => None,
        };
        if let Some(end) = end {
            slots.push(at..end);
        }
        at = end.unwrap_or(at + 1);
    }
    slots
}

/// Returns the number of digits at a place.
fn digits(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Returns the end of the word for a type at a place.
fn type_at(bytes: &[u8], at: usize, is_after_argument: bool) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let is_letter = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_alphanumeric);
    // `float16_t` is one word.
    let with_suffix = |end: usize| {
        let has_suffix = bytes.get(end..end + 2) == Some(b"_t") && !is_letter(end + 2);
        if has_suffix { end + 2 } else { end }
    };
    for word in SIZED.iter().filter(|word| rest.starts_with(word.as_bytes())) {
        let end = at + word.len();
        let number = digits(bytes, end);
        if number > 0 {
            return Some(with_suffix(end + number));
        }
    }
    if rest.starts_with(b"bool_") {
        return Some(at + 5);
    }
    if !is_after_argument && at.checked_sub(1).is_some_and(is_letter) {
        return None;
    }
    WORDS.iter().filter(|word| rest.starts_with(word.as_bytes())).find_map(|word| {
        let end = at + word.len();
        let number = digits(bytes, end);
        // One or two letters are a type only with a number.
        (!is_letter(end + number) && (word.len() > 2 || number > 0)).then(|| with_suffix(end + number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families(names: &[&str]) -> Vec<(String, u32, String, Vec<Vec<String>>)> {
        let rows: Vec<Row> =
            names.iter().map(|name| Row { name: (*name).to_owned(), ..Row::default() }).collect();
        let families = Families::of((0..).zip(&rows));
        let shown = |family: &Family| {
            let parameters: Vec<&str> = family.parameters.iter().map(|one| one.name.as_str()).collect();
            let places = family.from as usize..(family.from + family.count) as usize;
            let arguments = places
                .map(|place| families.arguments(place, &rows[families.order[place] as usize]))
                .collect();
            (family.name.clone(), family.count, parameters.join(" "), arguments)
        };
        families.all.iter().map(shown).collect()
    }

    fn strings(all: &[&[&str]]) -> Vec<Vec<String>> {
        all.iter().map(|some| some.iter().map(|one| (*one).to_owned()).collect()).collect()
    }

    #[test]
    fn flat_names() {
        let found = families(&[
            "gemv_float32_bm4_bn1",
            "copy",
            "gemv_bfloat16_bm8_bn1",
            "gg1_copyuint8bool_",
            "gg2_copyint64complex64",
        ]);
        assert_eq!(
            found,
            [
                (
                    "gemv_*_bm*_bn1".to_owned(),
                    2,
                    "type bm".to_owned(),
                    strings(&[&["float32", "4"], &["bfloat16", "8"]])
                ),
                ("copy".to_owned(), 1, String::new(), strings(&[&[]])),
                (
                    "gg*_copy**".to_owned(),
                    2,
                    "gg type type".to_owned(),
                    strings(&[&["1", "uint8", "bool_"], &["2", "int64", "complex64"]])
                ),
            ]
        );
        // Words that only contain the word for a type have no argument.
        assert_eq!(
            families(&["interleave", "halfway", "print_int", "print_half"])[2],
            ("print_*".to_owned(), 2, "type".to_owned(), strings(&[&["int"], &["half"]]))
        );
    }

    #[test]
    fn templates_and_overloads() {
        let found = families(&[
            "void ns::scale<float, 4, std::pair<int, int> >(float*)",
            "void ns::scale<half, 4, std::pair<int, int> >(half*)",
            "add(float, float)",
            "add(int, int)",
            "ns::(anonymous namespace)::f<1>()",
            "ns::(anonymous namespace)::f<2>()",
        ]);
        assert_eq!(
            found,
            [
                (
                    "void ns::scale<*, 4, std::pair<int, int> >(*)".to_owned(),
                    2,
                    "type type".to_owned(),
                    strings(&[&["float", "float*"], &["half", "half*"]])
                ),
                ("add(*)".to_owned(), 2, "type".to_owned(), strings(&[&["float, float"], &["int, int"]])),
                (
                    "ns::(anonymous namespace)::f<*>()".to_owned(),
                    2,
                    String::new(),
                    strings(&[&["1"], &["2"]])
                ),
            ]
        );
    }

    #[test]
    fn helpers_are_called_after_what_they_do() {
        let found = families(&["$ns::a<int>(int)$__cuda_div", "$b$__cuda_div", "$b$__cuda_rem"]);
        assert_eq!(
            found[0],
            ("$*$__cuda_div".to_owned(), 2, "type".to_owned(), strings(&[&["ns::a<int>(int)"], &["b"]]))
        );
        assert_eq!(found[1].0, "$b$__cuda_rem");
    }

    #[test]
    fn every_name_is_in_one_family() {
        let hostile = [
            "",
            "<",
            ">",
            "a<",
            "a>",
            "(",
            ")",
            "a)(",
            "<<>",
            "$",
            "$$",
            "é9",
            "f(",
            "->",
            "a<b>c",
            "\u{202e}int8",
            "int8int8int8",
        ];
        let found = families(&hostile);
        assert_eq!(found.iter().map(|family| family.1).sum::<u32>(), hostile.len() as u32);
        let long = "int8".repeat(100_000);
        assert_eq!(families(&[&long])[0].2, "");
        assert!(slots(&"int8".repeat(1_000)).len() <= MAX_ARGUMENTS);
    }
}
