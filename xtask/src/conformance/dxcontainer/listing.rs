//! What `dis --raw --dialect dxc` writes of a container, tables and all, beside DXC's own `.dxc.ll`.
//!
//! Ours is the form of the newest DXC. What older ones are known to have written otherwise is put into that form on
//! both sides, and counted by cause: see [`AGES`]. Everything else has to be the same to the byte.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use unshade::dxcontainer::{Container, program};
use unshade::llvm::Module;
use unshade::llvm::print::{Dialect, PrintOptions, module};
use unshade::{dxc_tables, dxil};

/// What an older DXC writes otherwise.
struct Age {
    cause: &'static str,
    /// Whether it holds for a text.
    is_so: fn(&str) -> bool,
    /// The newest form, or what both forms have in common.
    renew: fn(&str) -> String,
}

const AGES: &[Age] = &[
    Age {
        cause: "DXC 1.6 prints no PSVRuntimeInfo",
        is_so: |theirs| theirs.contains(PIPELINE) && !theirs.contains(";PSVRuntimeInfo:\n"),
        renew: without_pipeline,
    },
    Age {
        cause: "DXC 1.6 says \"Patch Constant signature signature\"",
        is_so: |theirs| theirs.contains("; Patch Constant signature signature:\n"),
        renew: |text| text.replacen(" signature signature:\n", " signature:\n", 1),
    },
];

const PIPELINE: &str = "; Pipeline Runtime Information: \n;\n";

/// A text without what stands between the title of the pipeline's table and the empty line after it.
fn without_pipeline(text: &str) -> String {
    let Some((before, after)) = text.split_once(PIPELINE) else { return text.to_owned() };
    let rest = after.split_inclusive('\n').skip_while(|line| *line != ";\n");
    before.split_inclusive('\n').chain(rest).collect()
}

/// How texts of ours and of DXC compare.
#[derive(Default)]
pub(super) struct Counts {
    compared: u64,
    identical: u64,
    /// Identical once put into the newest form, by the causes.
    aged: BTreeMap<String, u64>,
    /// Different, by the table in which they first differ, with the first of them.
    different: BTreeMap<String, (u64, String)>,
}

impl Counts {
    /// Compares what is printed of a container with DXC's text, if there is one beside it.
    pub(super) fn compare(&mut self, path: &Path, name: &str, data: &[u8]) -> Result<()> {
        let beside = format!("{}.dxc.ll", path.display());
        let Ok(theirs) = std::fs::read_to_string(&beside) else { return Ok(()) };
        self.compared += 1;
        let ours = listing(data)?;
        if ours == theirs {
            self.identical += 1;
            return Ok(());
        }
        let (mut ours, mut renewed) = (ours, theirs.clone());
        let mut causes = Vec::new();
        for age in AGES.iter().filter(|age| (age.is_so)(&theirs)) {
            (ours, renewed) = ((age.renew)(&ours), (age.renew)(&renewed));
            causes.push(age.cause);
        }
        if ours == renewed {
            *self.aged.entry(causes.join("; ")).or_default() += 1;
            return Ok(());
        }
        let (table, lines) = first_difference(&ours, &renewed);
        let (count, _) = self.different.entry(table).or_insert_with(|| (0, format!("{name}\n{lines}")));
        *count += 1;
        Ok(())
    }

    /// The counts of both.
    pub(super) fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.identical += other.identical;
        for (cause, count) in other.aged {
            *self.aged.entry(cause).or_default() += count;
        }
        for (table, (count, example)) in other.different {
            self.different.entry(table).or_insert((0, example)).0 += count;
        }
    }

    /// Whether all are the same.
    pub(super) fn fault(&self) -> Option<String> {
        let different: u64 = self.different.values().map(|(count, _)| count).sum();
        (different > 0).then(|| format!("{different} of {} texts are not those of DXC", self.compared))
    }

    pub(super) fn print(&self) {
        if self.compared == 0 {
            return;
        }
        let aged: u64 = self.aged.values().sum();
        let same = self.identical + aged;
        let share = 100.0 * same as f64 / self.compared as f64;
        println!("texts beside DXC's  {same} of {} the same ({share:.2} %)", self.compared);
        println!("  {:>5}  to the byte", self.identical);
        for (cause, count) in &self.aged {
            println!("  {count:>5}  in the newest form: {cause}");
        }
        for (table, (count, example)) in &self.different {
            println!("  {count:>5}  different in {table}, first in {example}");
        }
    }
}

/// What `dis --raw --dialect dxc` writes.
fn listing(data: &[u8]) -> Result<String> {
    let container = Container::parse(data)?;
    let part = dxil::main_part(&container).context("no program")?;
    let (_, bitcode) = program::bitcode(part.data)?;
    let parsed = Module::parse(bitcode.data(), bitcode.base())?;
    let mut text = String::new();
    dxc_tables::put(&container, &parsed, bitcode.base(), &mut text);
    module(&parsed, &PrintOptions { dialect: Dialect::Dxc, module_id: None }, &mut text);
    Ok(text)
}

/// The table, or the module, in which two texts first differ, and the lines.
fn first_difference(ours: &str, theirs: &str) -> (String, String) {
    let mut table = String::from("the start");
    let (mut ours, mut theirs) = (ours.lines(), theirs.lines());
    loop {
        let (one, other) = (ours.next(), theirs.next());
        if one != other || one.is_none() {
            let lines =
                format!("         ours   {}\n         theirs {}", one.unwrap_or("–"), other.unwrap_or("–"));
            return (table, lines);
        }
        match one.unwrap_or_default() {
            line if !line.starts_with(';') => table = "the module".into(),
            line if line.ends_with(':') && line.starts_with("; ") && !line.starts_with(";  ") => {
                table = line.trim_matches([';', ' ', ':']).to_owned();
            }
            _ => {}
        }
    }
}
