//! `cargo xtask learn CHIP`: from instruction words and nvdisasm to drafts of table rows.
//!
//! Words of compiled code show which opcodes a chip has. For each opcode a learner flips bits of such words, reads the
//! results with nvdisasm, and derives the rows: operands, modifiers, bits without meaning. Then every listed word is
//! read with the rows, and so are words with one to three flipped bits; the counts of equal texts are printed. The
//! drafts are the raw material of a file in `isa/nvidia`, which a person writes.
//!
//! | module | contents |
//! |---|---|
//! | [`questions`] | one run of nvdisasm for the questions of all learners |
//! | [`text`] | the structure of a text |
//! | [`flips`] | the learner |
//! | [`row`] | what it learns, and the text of a word by it |
//! | [`draft`] | rows in the language of the tables |

mod draft;
mod flips;
mod questions;
mod row;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use flate2::read::GzDecoder;

use crate::nvdisasm::{self, Answer, Oracle};
use crate::{codegen, sh};
use flips::Learner;
use row::{Row, is_same};
use text::Text;
use unshade_tests::mutate::Random;

/// Maximum number of example words per opcode, and of each shape.
const EXAMPLES: (usize, usize) = (64, 4);

/// Maximum number of differences to print per opcode.
const SHOWN: usize = 2;

/// Options of `cargo xtask learn`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask learn 80 -o draft.isa\n  cargo xtask learn 61 --words \
                        words.tsv.gz --nvdisasm /usr/local/cuda/bin/nvdisasm --opcode 5c1")]
pub(crate) struct Args {
    /// The number of the chip: 80 for sm_80.
    chip: u32,
    /// The lists of words: hexadecimal, one per line, in the first column; compressed if the name ends in gz
    /// [default: those of the corpus].
    #[arg(long, value_name = "FILE")]
    words: Vec<PathBuf>,
    /// The nvdisasm that knows the chip [default: the first of UNSHADE_NVDISASM and PATH that does].
    #[arg(long, value_name = "PROGRAM")]
    nvdisasm: Option<PathBuf>,
    /// Learn only this opcode, in hexadecimal.
    #[arg(long, value_name = "HEX", value_parser = parse_word)]
    opcode: Option<u128>,
    /// The number of mutated words per opcode to check.
    #[arg(long, default_value_t = 200)]
    mutants: usize,
    /// Write the drafts to a file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn parse_word(text: &str) -> Result<u128, std::num::ParseIntError> {
    u128::from_str_radix(text.trim_start_matches("0x"), 16)
}

/// How the words of a family are built.
struct Format {
    is_wide: bool,
    /// The bits of the opcode, whose values separate learners.
    opcode: Range<u32>,
    /// The bits other than scheduling information.
    bits: Range<u32>,
}

impl Format {
    fn of(chip: u32) -> Self {
        if chip >= 70 {
            Self { is_wide: true, opcode: 0..12, bits: 0..105 }
        } else {
            Self { is_wide: false, opcode: 51..64, bits: 0..64 }
        }
    }

    fn opcode_mask(&self) -> u128 {
        self.opcode.clone().fold(0, |mask, bit| mask | 1 << bit)
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let found = || nvdisasm::find_for(args.chip)?.context("no nvdisasm that knows the chip is installed");
    let program = args.nvdisasm.clone().map_or_else(found, Ok)?;
    let mut lists = args.words.clone();
    if lists.is_empty() {
        let corpus = sh::env_path("UNSHADE_CORPUS").context("neither --words nor UNSHADE_CORPUS is given")?;
        lists.push(corpus.join(format!("cuda/words-modern/sm_{}.tsv.gz", args.chip)));
    }
    let mut words = Vec::new();
    for list in &lists {
        words.extend(read_list(list)?);
    }
    let format = Format::of(args.chip);
    if let Some(opcode) = args.opcode {
        let opcode = opcode << format.opcode.start;
        words.retain(|word| word & format.opcode_mask() == opcode);
    }
    if words.is_empty() {
        bail!("the lists have no such word");
    }
    let oracle = Oracle::new(program, args.chip)?;
    let isa = codegen::load(sh::root())?;
    let mut drafts = String::new();
    let mut totals = [Count::default(), Count::default()];
    for opcode in learn(&|words| oracle.read(words), &format, &words, args.mutants)? {
        let mnemonic = opcode.rows.first().map_or("?", |row| row.text.mnemonic.as_str());
        let [listed, mutated] = &opcode.counts;
        let line = format!(
            "{:#05x} {mnemonic}: {} rows{}, words {listed}, mutants {mutated}",
            opcode.number,
            opcode.rows.len(),
            if opcode.is_complete { "" } else { " and more" }
        );
        println!("{line}");
        for difference in &opcode.differences {
            println!("  {difference}");
        }
        let _ = writeln!(drafts, "# {line}");
        for row in &opcode.rows {
            drafts.push_str(&draft::row(&isa, row, format.is_wide));
        }
        drafts.push('\n');
        for (total, count) in totals.iter_mut().zip(&opcode.counts) {
            total.equal += count.equal;
            total.all += count.all;
        }
    }
    println!("all words: {}; mutants: {}", totals[0], totals[1]);
    match &args.output {
        Some(path) => std::fs::write(path, drafts).with_context(|| path.display().to_string()),
        None => Ok(()),
    }
}

/// Reads the words of a list.
fn read_list(path: &Path) -> Result<Vec<u128>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let reader: Box<dyn std::io::Read> = match path.extension() {
        Some(extension) if extension == "gz" => Box::new(GzDecoder::new(file)),
        _ => Box::new(file),
    };
    let mut words = Vec::new();
    for line in BufReader::new(reader).lines() {
        let line = line?;
        let word = line.split('\t').next().unwrap_or("");
        words.push(parse_word(word).with_context(|| format!("{}: {word:?} is no word", path.display()))?);
    }
    Ok(words)
}

/// A number of equal texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    equal: usize,
    all: usize,
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.equal, self.all)
    }
}

/// What was learned about an opcode.
struct Opcode {
    number: u128,
    rows: Vec<Row>,
    /// Whether no row was left out.
    is_complete: bool,
    /// Equal texts of the listed words, and of mutants.
    counts: [Count; 2],
    /// Some words whose text differs.
    differences: Vec<String>,
}

/// Learns the rows of all opcodes in a list of words.
fn learn(
    read: &dyn Fn(&[u128]) -> Result<Vec<Answer>>,
    format: &Format,
    words: &[u128],
    mutants: usize,
) -> Result<Vec<Opcode>> {
    let mut by_opcode: BTreeMap<u128, Vec<u128>> = BTreeMap::new();
    for word in words {
        by_opcode.entry(word & format.opcode_mask()).or_default().push(*word);
    }
    let opcodes: Vec<(u128, Vec<u128>)> = by_opcode.into_iter().collect();
    questions::run(read, &opcodes, |(opcode, words), line| {
        let mut learner = Learner::new(line, format.bits.clone());
        let answers = line.read(words)?;
        learner.learn(&examples(words, &answers), format.opcode_mask())?;
        let mut found = Opcode {
            number: opcode >> format.opcode.start,
            rows: learner.rows,
            is_complete: learner.is_complete,
            counts: [Count::default(); 2],
            differences: Vec::new(),
        };
        found.check(0, words, &answers);
        let mutated = mutants_of(words, mutants, format);
        let answers = line.read(&mutated)?;
        found.check(1, &mutated, &answers);
        Ok(found)
    })
}

/// Chooses words of different shapes.
fn examples(words: &[u128], answers: &[Answer]) -> Vec<u128> {
    let mut shapes: BTreeMap<String, Vec<u128>> = BTreeMap::new();
    for (word, answer) in words.iter().zip(answers) {
        let Some(text) = &answer.text else { continue };
        let found = shapes.entry(Text::parse(text).shape()).or_default();
        if found.len() < EXAMPLES.1 {
            found.push(*word);
        }
    }
    shapes.into_values().flatten().take(EXAMPLES.0).collect()
}

/// Flips one to three bits of words, but none of the opcode.
fn mutants_of(words: &[u128], count: usize, format: &Format) -> Vec<u128> {
    let bits: Vec<u32> = format.bits.clone().filter(|bit| !format.opcode.contains(bit)).collect();
    let mut random = Random::new(1);
    let mutant = |_| {
        let word = words[random.below(words.len())];
        (0..=random.below(3)).fold(word, |word, _| word ^ 1 << bits[random.below(bits.len())])
    };
    (0..count).map(mutant).collect()
}

impl Opcode {
    /// Compares the texts by the rows with those of the oracle.
    fn check(&mut self, list: usize, words: &[u128], answers: &[Answer]) {
        for (word, answer) in words.iter().zip(answers) {
            let theirs = answer.text.as_deref().map(Text::parse);
            let ours = self.read(*word, answer.address);
            let is_equal = match (&ours, &theirs) {
                (Some(ours), Some(theirs)) => is_same(ours, theirs),
                (ours, theirs) => ours.is_none() && theirs.is_none(),
            };
            self.counts[list].all += 1;
            self.counts[list].equal += usize::from(is_equal);
            if !is_equal && self.differences.len() < SHOWN * (list + 1) {
                let ours = ours.map_or_else(|| String::from("invalid"), |text| text.to_string());
                let theirs = answer.text.as_deref().unwrap_or("invalid");
                self.differences.push(format!("{word:#x}: `{ours}`, nvdisasm `{theirs}`"));
            }
        }
    }

    /// Returns the text of a word by the most specific row.
    fn read(&self, word: u128, address: u64) -> Option<Text> {
        let rows = self.rows.iter().filter(|row| row.matches(word));
        rows.max_by_key(|row| row.mask.count_ones())?.read(word, address)
    }
}
