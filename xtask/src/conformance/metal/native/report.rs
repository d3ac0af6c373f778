//! The table of the results, the causes, and what is different.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::{Record, Verdict};

/// The largest number of kinds of causes, and of differences, that are printed.
const SHOWN: usize = 40;

/// The counts of a row.
#[derive(Default)]
struct Row {
    all: usize,
    /// Those whose source compiles, and those whose module does, too.
    sources: usize,
    built: usize,
    verdicts: [usize; 6],
    numbers: u64,
    /// The most units of the last place.
    distance: u64,
}

impl Row {
    fn add(&mut self, verdict: &Verdict) {
        self.all += 1;
        self.sources += usize::from(verdict.is_compiled());
        let column = match verdict {
            Verdict::Refused { .. } => return,
            Verdict::Same(numbers) => {
                self.numbers += numbers;
                0
            }
            Verdict::Near { distance, numbers } => {
                self.numbers += numbers;
                self.distance = self.distance.max(*distance);
                1
            }
            Verdict::Different(_) => 2,
            Verdict::Unwritten => 3,
            Verdict::Fault(_) => 4,
            Verdict::OneFaults(_) => 5,
        };
        self.built += 1;
        self.verdicts[column] += 1;
    }

    fn print(&self, name: &str) {
        let [same, near, different, unwritten, fault, one] = self.verdicts;
        println!(
            "{name:34} {:6} {:6} {:6} | {same:6} {near:6} {different:6} {one:6} | {unwritten:6} {fault:6} {:9} {:4}",
            self.all, self.sources, self.built, self.numbers, self.distance
        );
    }
}

/// Prints everything.
pub(super) fn print(records: &[Record]) {
    println!(
        "\n{:34} {:>6} {:>6} {:>6} | {:>6} {:>6} {:>6} {:>6} | {:>6} {:>6} {:>9} {:>4}",
        "set", "all", "source", "built", "same", "near", "diff", "one", "none", "fault", "numbers", "ulps"
    );
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut total = Row::default();
    for record in records {
        rows.entry(&record.case.set).or_default().add(&record.verdict);
        total.add(&record.verdict);
    }
    for (name, row) in &rows {
        row.print(name);
    }
    total.print("total");
    causes(records);
    println!("\ndifferences:");
    let different = records.iter().filter_map(|record| match &record.verdict {
        Verdict::Different(text) | Verdict::OneFaults(text) => Some((record, text)),
        _ => None,
    });
    for (record, text) in different.take(SHOWN) {
        println!("  {}/{}: {text}", record.case.set, record.case.name);
    }
}

/// Prints how often there is nothing to compare, by the step and the reason, and a kernel with it.
fn causes(records: &[Record]) {
    let mut causes: BTreeMap<(&str, String), (usize, &str)> = BTreeMap::new();
    for record in records {
        let (step, reason) = match &record.verdict {
            Verdict::Refused { step, reason } => (*step, reason.clone()),
            Verdict::Fault(reason) => ("both sides fault", reason.clone()),
            Verdict::Unwritten => ("both sides write nothing", String::new()),
            _ => continue,
        };
        causes.entry((step, reason)).or_insert((0, &record.case.name)).0 += 1;
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by(|one, other| (other.1.0, &one.0).cmp(&(one.1.0, &other.0)));
    println!("\nnot compared:");
    for ((step, reason), (count, name)) in causes.iter().take(SHOWN) {
        println!("  {count:6} {step}: {reason} ({name})");
    }
    if causes.len() > SHOWN {
        println!("  and {} more reasons", causes.len() - SHOWN);
    }
}

/// Keeps the texts of kernels that do not compile or that differ, with the reasons as comments.
pub(super) fn write_failures(records: &[Record], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for record in records {
        let (Verdict::Different(reason) | Verdict::OneFaults(reason) | Verdict::Refused { reason, .. }) =
            &record.verdict
        else {
            continue;
        };
        let name: String =
            record.case.name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).take(120).collect();
        let text = format!("// {}/{}\n// {reason}\n{}", record.case.set, record.case.name, record.text);
        fs::write(folder.join(format!("{name}.metal")), text)?;
        fs::write(folder.join(format!("{name}.air")), &record.case.module)?;
    }
    Ok(())
}
