//! The tables of the results, and what fails most often.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::input::Inputs;
use super::oracle::Compiler;
use super::recompile;
use super::rung::Rung;
use super::{Record, State};

/// How many kinds of failures are printed for each step.
const SHOWN: usize = 40;
/// How many kinds of differences are printed for each rung.
const DIFFERENCES_SHOWN: usize = 10;
/// The length at which messages are cut off.
const WIDTH: usize = 200;

/// The counts of a row.
#[derive(Clone, Default)]
struct Row {
    total: usize,
    whole: usize,
    gotos: usize,
    compiled: usize,
    rungs: [usize; 5],
    psv0: usize,
    /// Instructions of the recompiled programs by those of the originals.
    ratios: Vec<f64>,
}

impl Row {
    fn add(&mut self, record: &Record) {
        self.total += 1;
        self.whole += usize::from(record.is_whole());
        self.gotos += record.hlsl.as_ref().map_or(0, |hlsl| hlsl.gotos);
        self.compiled += usize::from(matches!(record.state, State::Compiled(_) | State::NotCompared(_)));
        let State::Compiled(comparison) = &record.state else { return };
        for (count, rung) in self.rungs.iter_mut().zip(Rung::ALL) {
            *count += usize::from(rung.difference(comparison).is_none());
        }
        self.psv0 += usize::from(comparison.psv0_same == Some(true));
        let [original, recompiled] = comparison.instructions.map(|count| count.max(1) as f64);
        self.ratios.push(recompiled / original);
    }

    fn print(&mut self, name: &str) {
        self.ratios.sort_by(f64::total_cmp);
        let ratio = self.ratios.get(self.ratios.len() / 2);
        let ratio = ratio.map_or_else(|| "–".into(), |ratio| format!("{ratio:.2}"));
        let [signatures, layout, multiset, order, same] = self.rungs;
        println!(
            "{name:20} {:6} {:6} {:6} {:7} {signatures:10} {layout:7} {multiset:8} {order:6} {same:6} {:6} {ratio:>6}",
            self.total, self.whole, self.gotos, self.compiled, self.psv0
        );
    }
}

impl Inputs {
    /// Prints what the files are.
    pub(super) fn print(&self) {
        println!(
            "{} distinct shaders; {} files repeat one, {} containers have no program, {} are damaged",
            self.shaders.len(),
            self.repeated,
            self.without_program,
            self.damaged.len()
        );
        let mut compilers: BTreeMap<Compiler, [usize; 2]> = BTreeMap::new();
        for shader in &self.shaders {
            let (compiler, is_exact) = recompile::compiler(&shader.target);
            let counts = compilers.entry(compiler).or_default();
            counts[0] += 1;
            counts[1] += usize::from(is_exact);
        }
        for (compiler, [all, exact]) in compilers {
            println!("{:20} {all:6}, {exact} by this very version", compiler.name());
        }
    }
}

/// Prints a table for each set, and the failures.
pub(super) fn print(records: &[Record]) {
    let mut sets: BTreeMap<&str, BTreeMap<&str, Row>> = BTreeMap::new();
    for record in records {
        let rows = sets.entry(&record.shader.set).or_default();
        rows.entry(&record.shader.target.profile).or_default().add(record);
    }
    let mut total = Row::default();
    records.iter().for_each(|record| total.add(record));
    for (set, rows) in sets {
        heading(set);
        let mut all = Row::default();
        records.iter().filter(|record| record.shader.set == set).for_each(|record| all.add(record));
        for (profile, mut row) in rows {
            row.print(profile);
        }
        all.print("all");
    }
    heading("");
    total.print("all sets");
    print_failures(records);
    print_differences(records);
}

fn heading(set: &str) {
    println!(
        "\n{set:20}  total  whole  gotos compile signatures  layout multiset  order   same   PSV0  ratio"
    );
}

/// Kinds of failures: the number of shaders, and one of them.
type Kinds = BTreeMap<String, (usize, String)>;

fn print_failures(records: &[Record]) {
    let (mut undecompiled, mut refused, mut uncompared) = (Kinds::new(), Kinds::new(), Kinds::new());
    for record in records {
        let name = format!("{}/{}", record.shader.set, record.shader.name);
        match &record.state {
            State::NotDecompiled(reason) => count(&mut undecompiled, normalised(reason), name),
            State::NotCompared(reason) => count(&mut uncompared, normalised(reason), name),
            State::Refused(messages) => {
                let error = first_error(messages);
                let text = record.hlsl.as_ref().map_or("", |hlsl| hlsl.text.as_str());
                let line = line_of(error, text).map_or_else(String::new, |line| format!(": {line}"));
                count(&mut refused, normalised(error), format!("{name}{line}"));
            }
            State::NoCompiler | State::Compiled(_) => {}
        }
    }
    print_kinds("not decompiled", undecompiled, SHOWN);
    print_kinds("does not compile", refused, SHOWN);
    print_kinds("cannot be compared", uncompared, SHOWN);
}

fn print_differences(records: &[Record]) {
    for rung in Rung::ALL {
        let mut kinds = Kinds::new();
        for record in records {
            let State::Compiled(comparison) = &record.state else { continue };
            if let Some(difference) = rung.difference(comparison) {
                let name = format!("{}/{}: {}", record.shader.set, record.shader.name, cut(difference));
                count(&mut kinds, normalised(difference), name);
            }
        }
        print_kinds(&format!("differs in {}", rung.name()), kinds, DIFFERENCES_SHOWN);
    }
}

fn count(kinds: &mut Kinds, kind: String, example: String) {
    kinds.entry(kind).or_insert((0, example)).0 += 1;
}

fn print_kinds(what: &str, kinds: Kinds, shown: usize) {
    if kinds.is_empty() {
        return;
    }
    let total: usize = kinds.values().map(|(count, _)| count).sum();
    println!("\n{what}: {total} shaders, {} kinds", kinds.len());
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (kind, (count, example)) in kinds.into_iter().take(shown) {
        println!("{count:6} × {kind}\n         {example}");
    }
}

/// Returns the first line with an error of a compiler's messages.
fn first_error(messages: &str) -> &str {
    let lines = || messages.lines().map(str::trim).filter(|line| !line.is_empty());
    lines().find(|line| line.contains("error")).or_else(|| lines().next()).unwrap_or("no message")
}

/// Returns a message without its place, and with `N` instead of numbers.
fn normalised(message: &str) -> String {
    let message = message.find("error").map_or(message, |at| &message[at..]);
    let mut text = String::new();
    let mut in_number = false;
    for character in message.chars() {
        if !character.is_ascii_digit() {
            text.push(character);
        } else if !in_number {
            text.push('N');
        }
        in_number = character.is_ascii_digit();
    }
    cut(&text)
}

fn cut(text: &str) -> String {
    text.chars().take(WIDTH).collect()
}

/// Returns the line of the source that an error is about: `FILE(12,3-8): error` or `FILE:12:3: error`.
fn line_of(error: &str, source: &str) -> Option<String> {
    let (_, place) = error.split_once(".hlsl")?;
    let digits: String = place.get(1..)?.chars().take_while(char::is_ascii_digit).collect();
    let number: usize = digits.parse().ok()?;
    Some(cut(source.lines().nth(number.checked_sub(1)?)?.trim()))
}

/// Writes the text, the message and the differences of each shader that fails, in a folder for the step where it fails.
pub(super) fn write_failures(records: &[Record], folder: &Path) -> Result<()> {
    for record in records {
        let Some((step, report)) = failure(record) else { continue };
        let folder = folder.join(step);
        std::fs::create_dir_all(&folder)?;
        let name = format!("{}-{}", record.shader.set, record.shader.name).replace('/', "-");
        let path = folder.join(&name);
        let origin = format!("{}\n{}\n", record.shader.path.display(), record.shader.target.profile);
        let write = |extension: &str, text: &str| {
            let path = format!("{}.{extension}", path.display());
            std::fs::write(&path, text).context(path)
        };
        write("txt", &(origin + &report))?;
        if let Some(hlsl) = &record.hlsl {
            write("hlsl", &hlsl.text)?;
        }
    }
    Ok(())
}

/// Returns the step at which a shader fails, and what is said of it.
fn failure(record: &Record) -> Option<(&'static str, String)> {
    match &record.state {
        State::NotDecompiled(reason) => Some(("not-decompiled", reason.clone())),
        State::Refused(messages) => Some(("refused", messages.clone())),
        State::NotCompared(reason) => Some(("not-compared", reason.clone())),
        State::NoCompiler => None,
        State::Compiled(comparison) => {
            let mut report = String::new();
            let mut first = None;
            for rung in Rung::ALL {
                if let Some(difference) = rung.difference(comparison) {
                    first = first.or(Some(rung.name()));
                    let _ = writeln!(report, "{}: {difference}", rung.name());
                }
            }
            Some((first?, report))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{first_error, line_of, normalised};

    const FXC: &str =
        "z:/t/12.hlsl(1,3-8): warning X3206: truncation\nz:/t/12.hlsl(2,5-8): error X3000: unexpected 'x1'\n";
    const DXC: &str = "z:/t/12.hlsl:2:5: error: use of undeclared identifier 'x12'\n    x12;\n    ^\n";

    #[test]
    fn errors_are_found_and_grouped() {
        assert_eq!(normalised(first_error(FXC)), "error XN: unexpected 'xN'");
        assert_eq!(normalised(first_error(DXC)), "error: use of undeclared identifier 'xN'");
        assert_eq!(first_error(""), "no message");
    }

    #[test]
    fn the_line_of_an_error_is_found() {
        for messages in [FXC, DXC] {
            assert_eq!(line_of(first_error(messages), "one\n  two;\n").as_deref(), Some("two;"));
        }
        assert_eq!(line_of("error X1507: no file", "one"), None);
    }
}
