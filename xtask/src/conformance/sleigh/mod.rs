//! `cargo xtask conformance sleigh`: compares the Ghidra module with our own decoder, printer and semantics.
//!
//! pypcode contains Ghidra's `sleigh` compiler, decoder and lifter. It compiles the module in `ghidra/`, without
//! warnings; disassembles every distinct word of the corpus, and the text, converted to Ghidra's form, must equal
//! ours; and for every encoding of the generations with semantics, lifts words with random fields: the effect of the p-code on random states must equal
//! ours, in registers, predicates, the condition code, memory and calls. The module keeps reconvergence addresses in
//! Ghidra's context instead of on a stack: a test program checks that the instructions which pop an address continue
//! there. Others check that pairs of `.CC` and `.X`, of which it makes one sum, have the effect of both instructions. What
//! Ghidra reads of two kernels of an article is compared with committed text ([`article`]).
//!
//! Requires python3 with pypcode 3.3.3; `UNSHADE_PYTHON` names a different Python.

pub(super) mod article;
mod machine;
mod pcode;
mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use unshade::sass::semantics::{Lifted, Next, State, execute};
use unshade::sass::table::{Flow, Isa, Kind, NONE};
use unshade::sass::{Instruction, assemble, control, isa};

use crate::sh;
use machine::HashedMemory;
use pcode::Op;

/// Number of states per word.
const STATES: u64 = 4;
/// Number of words per encoding.
const WORDS: u64 = 24;

pub(crate) fn run() -> Result<()> {
    let Some(python) = python() else {
        println!("sleigh: skipped, python3 with pypcode is missing (pip install pypcode==3.3.3)");
        return Ok(());
    };
    let folder = std::env::temp_dir().join(format!("unshade-sleigh-{}", std::process::id()));
    let result = compare(&python, &folder);
    let _ = fs::remove_dir_all(&folder);
    result
}

/// Returns a Python that has pypcode.
pub(super) fn python() -> Option<PathBuf> {
    let python = std::env::var_os("UNSHADE_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let found = Command::new(&python).args(["-c", "import pypcode"]).output().ok()?;
    found.status.success().then_some(python)
}

fn compare(python: &Path, folder: &Path) -> Result<()> {
    let languages = compiled(python, folder)?;
    let mut faults = 0;
    for isa in isa::all() {
        let reader = Reader { python, folder, ldefs: languages.join("nvidia.ldefs"), isa };
        faults += texts(&reader)?;
        if !isa.has_semantics {
            continue;
        }
        faults += meanings(&reader)?;
        faults += stacks(&reader)?;
        faults += pairs(&reader)?;
        if isa.name == article::ISA {
            faults += article::compare(&reader)?;
        }
    }
    if faults > 0 { bail!("{faults} differences") } else { Ok(()) }
}

/// Compiles the module in a separate folder. A warning is an error.
pub(super) fn compiled(python: &Path, folder: &Path) -> Result<PathBuf> {
    let languages = folder.join("languages");
    fs::create_dir_all(&languages)?;
    for entry in fs::read_dir(sh::root().join("ghidra/NVIDIA/data/languages"))? {
        let path = entry?.path();
        fs::copy(&path, languages.join(path.file_name().unwrap_or_default()))?;
    }
    let place = Command::new(python).args(["-c", "import pypcode; print(pypcode.__path__[0])"]).output()?;
    let sleigh = Path::new(String::from_utf8(place.stdout)?.trim()).join("bin/sleigh");
    for isa in isa::all() {
        let output = Command::new(&sleigh).arg(languages.join(format!("{}.slaspec", isa.name))).output()?;
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if !output.status.success() || said.contains("WARN") || said.contains("ERROR") {
            bail!("{}: sleigh reports:\n{said}", isa.name);
        }
        println!("{}: sleigh compiles the module without warnings", isa.name);
    }
    Ok(languages)
}

struct Reader<'a> {
    python: &'a Path,
    folder: &'a Path,
    ldefs: PathBuf,
    isa: &'static Isa,
}

impl Reader<'_> {
    fn bytes(&self, words: &[u128]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes().into_iter().take(self.isa.word_bytes)).collect()
    }

    /// Returns what pypcode reads of words at addresses from 0.
    fn read(&self, words: &[u128], p_code: bool) -> Result<Vec<pcode::Lifted>> {
        // The file must not have the name of the package that it imports.
        let script = self.folder.join("read_words.py");
        fs::write(&script, include_str!("pypcode.py"))?;
        let path = self.folder.join("words");
        fs::write(&path, self.bytes(words))?;
        let mut command = Command::new(self.python);
        command.arg(&script).arg(self.isa.word_bytes.to_string());
        if p_code {
            command.arg("-p");
        } else if self.isa.has_bundles() {
            command.arg("-c");
        }
        let output =
            command.arg(&self.ldefs).arg(format!("NVIDIA:LE:64:{}", self.isa.name)).arg(&path).output()?;
        if !output.status.success() {
            bail!("pypcode failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        let read = pcode::parse(&String::from_utf8(output.stdout).context("pypcode's text")?)?;
        if read.len() != words.len() {
            bail!("pypcode read {} of {} words", read.len(), words.len());
        }
        Ok(read)
    }
}

/// Compares the text of every distinct word of the corpus.
fn texts(reader: &Reader<'_>) -> Result<usize> {
    let Some(words) = super::sass::distinct_words(reader.isa.name)? else {
        println!("{}: texts not compared, no word list (UNSHADE_CORPUS)", reader.isa.name);
        return Ok(0);
    };
    let words = scheduled(reader.isa, words);
    let read = reader.read(&words, false)?;
    let (mut same, mut different) = (0, 0);
    for ((index, word), theirs) in words.iter().enumerate().zip(&read) {
        let address = (index * reader.isa.word_bytes) as u64;
        let ours = if control::is_scheduling(reader.isa, index as u64, *word) {
            Some("SCHED".to_owned())
        } else {
            Instruction::decode(reader.isa, *word).map(|found| text::ghidra(&found, address))
        };
        if ours.as_ref() == Some(&theirs.text) {
            same += 1;
        } else {
            different += 1;
            if different <= 20 {
                println!("{word:#x}: {} is {}", ours.unwrap_or_default(), theirs.text);
            }
        }
    }
    println!("{}: equal text for {same} of {} words", reader.isa.name, words.len());
    Ok(different)
}

/// Inserts the scheduling words that an address demands, where they have a part of each instruction.
fn scheduled(isa: &Isa, words: Vec<u128>) -> Vec<u128> {
    if !isa.has_bundles() {
        return words;
    }
    words.chunks(3).flat_map(|words| std::iter::once(0).chain(words.iter().copied())).collect()
}

/// Compares the effects of words of every encoding.
fn meanings(reader: &Reader<'_>) -> Result<usize> {
    let mut random = Random(0x5eed);
    let mut words = Vec::new();
    for encoding in reader.isa.encodings {
        let mut found = 0;
        for _ in 0..WORDS * 20 {
            let free = u128::from(random.next()) & !encoding.mask;
            let word = tamed(reader.isa, encoding.value | free, &mut random);
            let usable = Instruction::decode(reader.isa, word)
                .is_some_and(|read| core::ptr::eq(read.encoding, encoding) && !has_last_register(&read));
            if usable {
                words.push(word);
                found += 1;
            }
            if found == WORDS {
                break;
            }
        }
        if found == 0 {
            println!(
                "{}: no word of an encoding of {}",
                reader.isa.name,
                reader.isa.operations[usize::from(encoding.operation)].name
            );
        }
    }
    // Words that push an address change how the following words are decoded.
    words.sort_by_key(|word| Instruction::decode(reader.isa, *word).is_some_and(|read| pushes(&read)));
    let read = reader.read(&words, true)?;
    let (mut same, mut different) = (0, 0);
    for ((index, word), theirs) in words.iter().enumerate().zip(&read) {
        match differs(reader.isa, *word, index as u64 * 8, &theirs.ops) {
            None => same += 1,
            Some(message) => {
                different += 1;
                if different <= 20 {
                    let text = Instruction::decode(reader.isa, *word).map(|read| read.text(index as u64 * 8));
                    println!("{word:#018x}: {}: {message}", text.unwrap_or_default());
                }
            }
        }
    }
    let operations: std::collections::BTreeSet<u16> =
        reader.isa.encodings.iter().map(|encoding| encoding.operation).collect();
    println!(
        "{}: equal effects for {same} of {} words of {} encodings of {} operations, on {STATES} states each",
        reader.isa.name,
        words.len(),
        reader.isa.encodings.len(),
        operations.len()
    );
    Ok(different)
}

/// Functions that push an address. If the address is in the word, the module keeps it in Ghidra's context instead.
const PUSHES: [&str; 3] = ["push_reconvergence", "push_break", "push_continue"];

/// Returns whether the context keeps the address that an instruction pushes.
fn pushes(read: &Instruction) -> bool {
    read.operation().flow == Flow::Push
        && read.operand("t").is_some_and(|operand| operand.kind == Kind::Relative)
}

/// A program with nested stacks, and the continuation of each line: an address, or a function that returns it.
const STACKS: [(&str, Result<u64, &str>); 11] = [
    ("SSY 0x48", Ok(0x8)),
    ("PBK 0x38", Ok(0x10)),
    ("BRK", Ok(0x38)),
    ("NOP.S", Ok(0x48)),
    ("PCNT 0x10", Ok(0x28)),
    ("CONT", Ok(0x10)),
    ("BRK", Ok(0x38)),
    ("BRK", Err("pop_break")),
    ("NOP.S", Ok(0x48)),
    ("NOP.S", Err("reconverge")),
    ("CONT", Err("pop_continue")),
];

/// Checks that instructions that pop continue at the pushed address, and only between push and pop.
fn stacks(reader: &Reader<'_>) -> Result<usize> {
    let mut words = Vec::new();
    for (index, (text, _)) in STACKS.iter().enumerate() {
        let word = assemble::instruction(reader.isa, text, index as u64 * 8, 0);
        words.push(word.map_err(|error| anyhow::anyhow!("{text}: {error:?}"))?);
    }
    let read = reader.read(&words, true)?;
    let mut faults = 0;
    for (index, ((text, expected), theirs)) in STACKS.iter().zip(&read).enumerate() {
        let address = index as u64 * 8;
        let (_, next, host) = machine::run(&theirs.ops, &State::default(), address, 0, reader.isa)?;
        let function = host.events.first().map(|event| event.0.as_str());
        let to = match next {
            Next::Following => Some(address + 8),
            Next::Goto(to) => Some(to),
            _ => None,
        };
        let same = match expected {
            Ok(expected) => function.is_none() && to == Some(*expected),
            Err(name) => function == Some(*name),
        };
        if !same {
            println!("{address:#x} {text}: continues at {next:x?}, calls {function:?}");
            faults += 1;
        }
    }
    println!(
        "{}: {} of {} lines of stacks continue at the right address",
        reader.isa.name,
        STACKS.len() - faults,
        STACKS.len()
    );
    Ok(faults)
}

/// Pairs of instructions that compute the halves of a 64-bit number, or look as if they did.
const PAIRS: [[&str; 2]; 14] = [
    ["ISCADD R2.CC, R0, R6, 0x2", "IMAD.U32.U32.HI.X R3, R0, 0x4, R7"],
    ["ISCADD R2.CC, R0, R6, 0x3", "IMAD.HI.X R3, R0, 0x8, R7"],
    ["ISCADD R2.CC, R0, c[0x0][0x140], 0x2", "IMAD.HI.X R3, R0, R5, c[0x0][0x144]"],
    ["IMAD R2.CC, R0, R5, R6", "IMAD.HI.X R3, R0, R5, R7"],
    ["IMAD.U32.U32 R2.CC, R0, R5, R6", "IMAD.U32.U32.HI.X R3, R0, R5, R7"],
    ["IADD R2.CC, R0, R6", "IADD.X R3, R1, R7"],
    ["IADD R0.CC, R0, R6", "IADD.X R1, R1, R7"],
    ["ISCADD R2.CC, R0, R6, 0x2", "IADD.X R3, R1, R7"],
    // The second is not about the same number.
    ["IADD R2.CC, R0, R6", "IMAD.HI.X R3, R0, R5, R7"],
    ["ISCADD R2.CC, R0, R6, 0x2", "IMAD.HI.X R3, R0, 0x8, R7"],
    ["ISCADD R2.CC, R0, R6, 0x2", "IMAD.HI.X R9, R0, 0x4, R7"],
    ["ISUB R2.CC, R0, R6", "IADD.X R3, R1, R7"],
    ["IADD R2.CC, R0, R6", "IADD.X R0, R1, R7"],
    ["IADD R2.CC, R0, R6", "ISUB.X R3, R1, R7"],
];

/// Checks that what an instruction leaves for the next one does not change the result.
fn pairs(reader: &Reader<'_>) -> Result<usize> {
    let mut faults = 0;
    for pair in PAIRS {
        let mut words = Vec::new();
        for (index, text) in pair.iter().enumerate() {
            let word = assemble::instruction(reader.isa, text, index as u64 * 8, 0);
            words.push(word.map_err(|error| anyhow::anyhow!("{text}: {error:?}"))?);
        }
        let theirs: Vec<Op> = reader.read(&words, true)?.into_iter().flat_map(|read| read.ops).collect();
        for seed in 0..STATES * 16 {
            let start = machine::random_state(&mut Random(seed), reader.isa);
            let (mut ours, mut host) = (start.clone(), HashedMemory::new(seed));
            for (index, word) in words.iter().enumerate() {
                let read = Instruction::decode(reader.isa, *word).context("an instruction")?;
                let mut lifted = Lifted::default();
                lifted.lift(&read, index as u64 * 8);
                execute(&lifted, &mut ours, &mut host)
                    .map_err(|fault| anyhow::anyhow!("{}: {fault:?}", pair[index]))?;
            }
            let (found, ..) = machine::run(&theirs, &start, 0, seed, reader.isa)?;
            if found != ours {
                println!("{}: {}: {}", pair[0], pair[1], machine::difference(&ours, &found));
                faults += 1;
                break;
            }
        }
    }
    println!(
        "{}: equal effects for {} of {} pairs of halves",
        reader.isa.name,
        PAIRS.len() - faults,
        PAIRS.len()
    );
    Ok(faults)
}

/// Makes guards and predicates true more often than random bits would.
fn tamed(isa: &'static Isa, word: u128, random: &mut Random) -> u128 {
    let Some(read) = Instruction::decode(isa, word) else { return word };
    let guard = read.operands().find(|operand| operand.kind == Kind::Guard);
    let mut word = word;
    if let (Some(guard), true) = (guard, !random.next().is_multiple_of(4)) {
        for (part, value) in [(guard.value, 7), (guard.not, 0)] {
            if let Some(field) = isa.fields.get(usize::from(part)) {
                word = word & !field.placed(u64::MAX) | field.placed(value);
            }
        }
    }
    word
}

/// Returns whether it uses the last register before RZ as a pair, which does not exist.
fn has_last_register(read: &Instruction) -> bool {
    read.operands().any(|operand| {
        let registers = [
            (operand.base, true),
            (
                operand.value,
                matches!(
                    operand.kind,
                    Kind::Register | Kind::OptionalRegister | Kind::RegisterPlus1 | Kind::RegisterPlus2
                ),
            ),
        ];
        registers.iter().any(|(part, is_register)| {
            let field = read.isa.fields.get(usize::from(*part)).filter(|_| *part != NONE && *is_register);
            field.is_some_and(|field| {
                let zero = (1_u64 << field.width) - 1;
                let number = field.raw(read.word);
                number + 4 > zero && number != zero
            })
        })
    })
}

/// Describes the first difference between p-code and our semantics of a word, if there is one.
fn differs(isa: &'static Isa, word: u128, address: u64, ops: &[Op]) -> Option<String> {
    let read = Instruction::decode(isa, word)?;
    let mut lifted = Lifted::default();
    lifted.lift(&read, address);
    for seed in 0..STATES {
        let mut random = Random(seed * 77 + word as u64);
        let start = machine::random_state(&mut random, isa);
        let (mut ours, mut host) = (start.clone(), HashedMemory::new(seed));
        let next = match execute(&lifted, &mut ours, &mut host) {
            Ok(Next::Goto(to)) if to == address + 8 => Next::Following,
            Ok(next) => next,
            Err(fault) => return Some(format!("we can't run it: {fault:?}")),
        };
        let (theirs, their_next, their_host) = match machine::run(ops, &start, address, seed, isa) {
            Ok(result) => result,
            Err(fault) => return Some(format!("theirs can't be run: {fault}")),
        };
        if ours != theirs {
            return Some(machine::difference(&ours, &theirs));
        }
        if next != their_next {
            return Some(format!("continues at {next:x?} and {their_next:x?}"));
        }
        if pushes(&read) {
            host.events.retain(|event| !PUSHES.contains(&event.0.as_str()));
        }
        if host.events != their_host.events {
            return Some(format!("accesses {:x?} and {:x?}", host.events, their_host.events));
        }
    }
    None
}

/// A reproducible random number generator.
pub(super) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }
}

/// Hashes a number.
pub(super) fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
