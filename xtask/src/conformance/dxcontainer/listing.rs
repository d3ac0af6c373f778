//! Compares the output of `dis --raw --dialect dxc` for a container, including tables, with DXC's own `.dxc.ll`.
//!
//! Ours has the form of the newest DXC. Known differences of older versions are normalised on both sides, and counted
//! by cause: see [`OLD_FORMS`]. Everything else must be identical.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use unshade::dxcontainer::{Container, program};
use unshade::llvm::Module;
use unshade::llvm::print::{Dialect, PrintOptions, module};
use unshade::{dxc_tables, dxil};

/// A difference of an older DXC.
struct OldForm {
    cause: &'static str,
    /// Whether it applies to a text.
    is_so: fn(&str) -> bool,
    /// Converts a text to the newest form, or to what both forms have in common.
    renew: fn(&str) -> String,
}

const OLD_FORMS: &[OldForm] = &[
    OldForm {
        cause: "DXC 1.6 omits PSVRuntimeInfo",
        is_so: |theirs| theirs.contains(PIPELINE) && !theirs.contains(";PSVRuntimeInfo:\n"),
        renew: without_pipeline,
    },
    OldForm {
        cause: "DXC 1.6 prints \"Patch Constant signature signature\"",
        is_so: |theirs| theirs.contains("; Patch Constant signature signature:\n"),
        renew: |text| text.replacen(" signature signature:\n", " signature:\n", 1),
    },
];

const PIPELINE: &str = "; Pipeline Runtime Information: \n;\n";

/// Returns a text without the content of the pipeline table.
fn without_pipeline(text: &str) -> String {
    let Some((before, after)) = text.split_once(PIPELINE) else { return text.to_owned() };
    let rest = after.split_inclusive('\n').skip_while(|line| *line != ";\n");
    before.split_inclusive('\n').chain(rest).collect()
}

/// The results of comparing texts.
#[derive(Default)]
pub(super) struct Counts {
    compared: u64,
    identical: u64,
    /// Identical after normalisation, by cause.
    normalised: BTreeMap<String, u64>,
    /// Different, by the table with the first difference, with an example.
    different: BTreeMap<String, (u64, String)>,
}

impl Counts {
    /// Compares the listing of a container with DXC's text, if there is one.
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
        for form in OLD_FORMS.iter().filter(|form| (form.is_so)(&theirs)) {
            (ours, renewed) = ((form.renew)(&ours), (form.renew)(&renewed));
            causes.push(form.cause);
        }
        if ours == renewed {
            *self.normalised.entry(causes.join("; ")).or_default() += 1;
            return Ok(());
        }
        let (table, lines) = first_difference(&ours, &renewed);
        let (count, _) = self.different.entry(table).or_insert_with(|| (0, format!("{name}\n{lines}")));
        *count += 1;
        Ok(())
    }

    /// Adds the counts of another run.
    pub(super) fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.identical += other.identical;
        for (cause, count) in other.normalised {
            *self.normalised.entry(cause).or_default() += count;
        }
        for (table, (count, example)) in other.different {
            self.different.entry(table).or_insert((0, example)).0 += count;
        }
    }

    /// Returns a fault unless all texts are the same.
    pub(super) fn fault(&self) -> Option<String> {
        let different: u64 = self.different.values().map(|(count, _)| count).sum();
        (different > 0).then(|| format!("{different} of {} texts differ from DXC's", self.compared))
    }

    pub(super) fn print(&self) {
        if self.compared == 0 {
            return;
        }
        let normalised: u64 = self.normalised.values().sum();
        let same = self.identical + normalised;
        let share = 100.0 * same as f64 / self.compared as f64;
        println!("texts with DXC's    {same} of {} identical ({share:.2} %)", self.compared);
        println!("  {:>5}  exactly", self.identical);
        for (cause, count) in &self.normalised {
            println!("  {count:>5}  after normalisation: {cause}");
        }
        for (table, (count, example)) in &self.different {
            println!("  {count:>5}  different in {table}, for example {example}");
        }
    }
}

/// Returns the output of `dis --raw --dialect dxc`.
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

/// Returns the table or module with the first difference of two texts, and the lines.
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
