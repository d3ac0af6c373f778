use super::*;

/// A listing of machine code: words that look like registers are registers, `L3` labels.
fn listing(lines: &[String]) -> CodeLines {
    CodeLines::new(|sink| {
        for line in lines {
            for (index, word) in line.split(' ').enumerate() {
                if index > 0 {
                    sink.put(TokenKind::Space, " ");
                }
                let number = word.get(1..).and_then(|digits| digits.parse().ok());
                let (kind, link) = match (word.as_bytes().first(), number) {
                    (Some(b'L'), Some(number)) => (TokenKind::Label, Some(Link::Reference(number))),
                    (Some(b'%'), Some(number)) => (TokenKind::Register, Some(Link::Reference(number))),
                    (Some(b'R' | b'P'), Some(_)) => (TokenKind::Register, None),
                    _ => (TokenKind::Keyword, None),
                };
                sink.token(Token { kind, text: word, link });
            }
            sink.put(TokenKind::Space, "\n");
        }
    })
}

fn rows(before: &[&str], after: &[&str]) -> String {
    let lines = |lines: &[&str]| listing(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
    let diff = lines(before).compare(&lines(after));
    let sign = |row: &DiffRow| match row {
        DiffRow::Same(..) => '=',
        DiffRow::Renamed(..) => '~',
        DiffRow::Changed(..) => '!',
        DiffRow::Removed(_) => '-',
        DiffRow::Added(_) => '+',
    };
    diff.rows.iter().map(sign).collect()
}

/// Deterministic random numbers below a bound.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// A program of random instructions with values `%0` to `%9`.
fn program(random: &mut Random) -> Vec<String> {
    const WORDS: [&str; 6] = ["add", "mul", "load", "store", "neg", "cmp"];
    (0..1 + random.below(40))
        .map(|_| {
            let (a, b, c) = (random.below(10), random.below(10), random.below(10));
            format!("{} %{a} %{b} %{c}", WORDS[random.below(WORDS.len())])
        })
        .collect()
}

fn renamed(lines: &[String], names: &[usize]) -> Vec<String> {
    let name = |word: &str| match word.strip_prefix('%').and_then(|digits| digits.parse::<usize>().ok()) {
        Some(number) => format!("%{}", names[number]),
        None => word.to_owned(),
    };
    lines.iter().map(|line| line.split(' ').map(name).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn renamed_registers_are_no_change() {
    assert_eq!(rows(&["MOV R0 R2", "ADD R0 R2 R4"], &["MOV R8 R10", "ADD R8 R10 R12"]), "~~");
    assert_eq!(rows(&["MOV R0 R1", "BRA L3"], &["MOV R0 R1", "BRA L9"]), "==");
    assert_eq!(rows(&["MOV R0 R1", "EXIT"], &["MOV R0 R1", "NOP", "EXIT"]), "=+=");
}

#[test]
fn a_renaming_is_one_to_one() {
    // Another register in one line only.
    let before = ["MOV R0 R2", "ADD R0 R2 R4", "ST R0", "ST R2", "MUL R4 R0 R2"];
    assert_eq!(rows(&before, &["MOV R0 R2", "ADD R0 R2 R4", "ST R0", "ST R0", "MUL R4 R0 R2"]), "===!=");
    // Two registers that became one.
    assert_eq!(rows(&["ADD R0 R2 R4"], &["ADD R0 R2 R2"]), "!");
}

#[test]
fn registers_of_a_wide_access_stay_together() {
    // `R4` of 64 bits is `R4` and `R5`.
    let (before, after) = (["LD.64 R4", "ST R5"], ["LD.64 R6", "ST R9"]);
    assert!(rows(&before, &after).contains('!'));
    assert_eq!(rows(&before, &["LD.64 R6", "ST R7"]), "~~");
    assert!(rows(&["LD.128 R4", "ST R6"], &["LD.128 R8", "ST R12"]).contains('!'));
    assert_eq!(rows(&["LD.128 R4", "ST R6"], &["LD.128 R8", "ST R10"]), "~~");
}

#[test]
fn changed_lines_are_paired_by_what_they_have_in_common() {
    let before = ["FADD R0 R0 1.0", "BAR.SYNC", "EXIT"];
    assert_eq!(rows(&before, &["FADD R0 R0 2.0", "EXIT"]), "!-=");
    assert_eq!(rows(&["a b c d"], &["x y z w"]), "-+");
    assert_eq!(marks(&["a", " ", "b", "c"], &["a", " ", "x", "b", "c"]), (vec![], vec![2]));
}

#[test]
fn every_renaming_of_values_is_seen_through() {
    let mut random = Random(7);
    for round in 0..300 {
        let before = program(&mut random);
        let mut names: Vec<usize> = (20..30).collect();
        (1..names.len()).rev().for_each(|at| names.swap(at, random.below(at + 1)));
        let after = renamed(&before, &names);
        let diff = listing(&before).compare(&listing(&after));
        let expected: Vec<DiffRow> = (0..before.len()).map(|line| DiffRow::Renamed(line, line)).collect();
        assert_eq!(diff.rows, expected, "round {round}: {before:?}");
    }
}

#[test]
fn a_real_change_is_never_hidden() {
    let mut random = Random(3);
    for round in 0..600 {
        let before = program(&mut random);
        let names: Vec<usize> = (30..40).collect();
        let mut after = renamed(&before, &names);
        // Some edits of words, operands and lines.
        for _ in 0..random.below(4) {
            let at = random.below(after.len());
            match random.below(4) {
                0 => after[at] = format!("call %{}", random.below(10) + 30),
                1 => after.insert(at, format!("new %{}", random.below(10) + 30)),
                2 if after.len() > 1 => drop(after.remove(at)),
                _ => {
                    let mut words: Vec<String> = after[at].split(' ').map(str::to_owned).collect();
                    let word = random.below(words.len());
                    words[word] = format!("%{}", random.below(12) + 30);
                    after[at] = words.join(" ");
                }
            }
        }
        let diff = listing(&before).compare(&listing(&after));
        // Every line is in the rows once, in order.
        let (mut lines, mut others) = (Vec::new(), Vec::new());
        for row in &diff.rows {
            match *row {
                DiffRow::Same(one, two) | DiffRow::Renamed(one, two) | DiffRow::Changed(one, two) => {
                    lines.push(one);
                    others.push(two);
                }
                DiffRow::Removed(one) => lines.push(one),
                DiffRow::Added(two) => others.push(two),
            }
        }
        assert!(lines.iter().copied().eq(0..before.len()) && others.iter().copied().eq(0..after.len()));
        // The lines that count as equal have one renaming, which makes the one text of the other.
        let (mut there, mut back) = (HashMap::new(), HashMap::new());
        for row in &diff.rows {
            let (DiffRow::Same(one, two) | DiffRow::Renamed(one, two)) = *row else { continue };
            let (words, others): (Vec<&str>, Vec<&str>) =
                (before[one].split(' ').collect(), after[two].split(' ').collect());
            assert_eq!(words.len(), others.len());
            for (word, other) in words.into_iter().zip(others) {
                if word.starts_with('%') {
                    assert_eq!(*there.entry(word).or_insert(other), other, "round {round}");
                    assert_eq!(*back.entry(other).or_insert(word), word, "round {round}");
                } else {
                    assert_eq!(word, other);
                }
            }
        }
    }
}

#[test]
fn tokens_can_be_inserted_and_dropped() {
    let mut lines = listing(&["a b".to_owned()]);
    let mark = lines.mark();
    lines.put(TokenKind::Text, "d\n");
    lines.insert(mark, &mut |sink| sink.put(TokenKind::Text, "c\n"));
    assert_eq!(lines.keys(), ["a b", "c", "d"]);
    lines.truncate(mark);
    assert_eq!(lines.keys(), ["a b"]);
}
