//! The emulator on real kernels: TensorFlow's package carries the same kernels for sm_30 and for sm_35, two encodings of
//! the same operations. Both are run on the same random inputs, and have to leave the same memory behind.
//!
//! Nothing says what parameters mean, so that is found out by running: every word of 8 bytes is a small number at first;
//! where a kernel reads outside of memory, the word is made a pointer to a buffer with which it comes furthest. Kernels
//! that end on both chips and have written something count; those that can't be made to run do not.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Result, ensure};
use unshade::core::Reader;
use unshade::nv::Fatbin;
use unshade::nv::fatbin::EntryKind;
use unshade_emulate::{Argument, Device, DevicePointer, Grid, Limits, Module, Reason};

/// So many kernels are tried.
const SAMPLE: usize = 1_000;

/// At least so many have to agree.
const LEAST: u64 = 200;

/// What a run may take.
const STEPS: u64 = 20_000;

/// Kernels with more words of parameters are left out.
const MOST_WORDS: usize = 64;

/// The bytes of a buffer.
const BUFFER: usize = 8 << 10;

/// A pair of cubins of one fat binary.
struct Pair {
    older: Loaded,
    newer: Loaded,
}

/// What a word of the parameters is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Number(u32),
    Pointer,
}

#[derive(Default)]
struct Counts {
    tried: u64,
    agree: u64,
    differ: u64,
    /// Kernels that say of blocks or shared memory other things on the two chips: their source chose by chip.
    chosen: u64,
    /// Runs that ended but wrote nothing.
    silent: u64,
    /// Why kernels could not be run, by kind of reason.
    faults: BTreeMap<String, u64>,
    /// Kernels whose two versions end differently.
    uneven: u64,
    steps: u64,
}

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let mut counts = Counts::default();
    let mut kernels: BTreeMap<u64, (usize, String)> = BTreeMap::new();
    let pairs = pairs()?;
    for (index, pair) in pairs.iter().enumerate() {
        let names = pair.older.module.kernels().iter().map(|kernel| &kernel.name);
        for name in names.filter(|name| pair.newer.module.kernel(name).is_some()) {
            kernels.entry(hash(name)).or_insert((index, name.clone()));
        }
    }
    println!("fat binaries with both chips: {}, kernels by name: {}", pairs.len(), kernels.len());
    for (index, name) in kernels.values().take(sample.unwrap_or(SAMPLE)) {
        if let Some(pair) = pairs.get(*index) {
            counts.kernel(pair, name);
        }
    }
    counts.print();
    ensure!(
        counts.tried > 0,
        "there is nothing to run: `cargo xtask corpus --only tensorflow-gpu` fetches it"
    );
    ensure!(counts.differ == 0, "{} kernels differ", counts.differ);
    ensure!(sample.is_some() || counts.agree >= LEAST, "only {} kernels agree", counts.agree);
    Ok(())
}

/// The fat binaries of the corpus that have a cubin for each chip.
fn pairs() -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for path in super::nv::collect()? {
        let data = fs::read(&path)?;
        let Ok(fatbin) = Fatbin::read(Reader::new(&data)) else { continue };
        let mut cubins = BTreeMap::new();
        for entry in fatbin.entries().flatten().filter(|entry| entry.kind == EntryKind::ELF) {
            if let Ok(data) = entry.data()
                && let Ok(cubin) = entry.cubin(&data)
            {
                cubins.insert(cubin.arch(), Loaded::new(cubin.file().data()));
            }
        }
        if let (Some(Some(older)), Some(Some(newer))) = (cubins.remove(&30), cubins.remove(&35)) {
            pairs.push(Pair { older, newer });
        }
    }
    Ok(pairs)
}

/// FNV-1a: the order in which kernels are tried has nothing to do with their names.
fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// How a run ended.
struct Outcome {
    steps: u64,
    result: Result<Vec<u8>, Reason>,
    changed: bool,
}

impl Counts {
    fn kernel(&mut self, pair: &Pair, name: &str) {
        self.tried += 1;
        let says = |loaded: &Loaded| loaded.module.kernel(name).map(|kernel| (kernel.threads, kernel.shared));
        if says(&pair.older) != says(&pair.newer) {
            self.chosen += 1;
            return;
        }
        let mut last = None;
        // Numbers that are floats or indices: one of both often does.
        for floats in [true, false] {
            let Some(words) = infer(&pair.older, name, floats) else { continue };
            let older = pair.older.attempt(name, &words, floats);
            let newer = pair.newer.attempt(name, &words, floats);
            match (older.result, newer.result) {
                (Ok(left), Ok(right)) => {
                    self.steps += older.steps + newer.steps;
                    if left != right {
                        self.differ += 1;
                        println!("differs: {name}: {}", first_difference(&left, &right));
                        return;
                    }
                    if older.changed {
                        self.agree += 1;
                        return;
                    }
                    last = Some("wrote nothing".to_owned());
                }
                (Err(reason), Err(_)) => last = Some(kind(&reason)),
                (Err(reason), Ok(_)) | (Ok(_), Err(reason)) => {
                    self.uneven += 1;
                    println!("one chip alone: {name}: {reason}");
                    return;
                }
            }
        }
        match last {
            Some(text) if text == "wrote nothing" => self.silent += 1,
            Some(text) => *self.faults.entry(text).or_default() += 1,
            None => *self.faults.entry("no such parameters".into()).or_default() += 1,
        }
    }

    fn print(&self) {
        println!("kernels tried: {}", self.tried);
        println!(
            "both chips leave the same memory behind: {} ({} instructions of warps)",
            self.agree, self.steps
        );
        println!("they differ: {}; only one of them ends: {}", self.differ, self.uneven);
        println!("made for other blocks or shared memory: {}", self.chosen);
        println!("ended without writing: {}", self.silent);
        for (reason, count) in &self.faults {
            println!("  could not be run: {reason}: {count}");
        }
    }
}

fn first_difference(left: &[u8], right: &[u8]) -> String {
    let at = left.iter().zip(right).position(|(left, right)| left != right).unwrap_or(0) & !3;
    let word = |bytes: &[u8]| {
        let bytes = bytes.get(at..at + 4).unwrap_or(&[]);
        bytes.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
    };
    format!("{:#010x} and {:#010x} at {at:#x}", word(left), word(right))
}

fn kind(reason: &Reason) -> String {
    match reason {
        Reason::OutOfBounds { memory, .. } => format!("outside of {memory}"),
        Reason::Misaligned { memory, .. } => format!("misaligned in {memory}"),
        Reason::Steps(_) => "too many steps".into(),
        other => other.to_string(),
    }
}

/// Finds out which words of the parameters are pointers.
fn infer(loaded: &Loaded, name: &str, floats: bool) -> Option<Vec<Word>> {
    let kernel = loaded.module.kernel(name)?;
    let sizes: usize =
        kernel.parameters.iter().map(|(_, parameter)| usize::from(parameter.size).div_ceil(8)).sum();
    if sizes > MOST_WORDS {
        return None;
    }
    let numbers = (1..).map(|index: u32| Word::Number(3 + index * 7 % 23));
    let mut words: Vec<Word> = numbers.take(sizes).collect();
    let mut best = loaded.attempt(name, &words, floats);
    for _ in 0..sizes {
        if !matches!(best.result, Err(Reason::OutOfBounds { .. } | Reason::Misaligned { .. })) {
            break;
        }
        let mut chosen = None;
        for index in 0..sizes {
            if words[index] == Word::Pointer {
                continue;
            }
            let before = std::mem::replace(&mut words[index], Word::Pointer);
            let outcome = loaded.attempt(name, &words, floats);
            words[index] = before;
            if outcome.result.is_ok() && best.result.is_err() || outcome.steps > best.steps {
                best = outcome;
                chosen = Some(index);
            }
        }
        words[chosen?] = Word::Pointer;
    }
    Some(words)
}

/// A cubin in the memory of a device, which is copied for each run.
struct Loaded {
    device: Device,
    module: Module,
}

impl Loaded {
    fn new(cubin: &[u8]) -> Option<Self> {
        let mut device = Device::new();
        let module = Module::load(&mut device, cubin).ok()?;
        Some(Self { device, module })
    }

    /// Runs a kernel with these words; the result is what is in all buffers.
    fn attempt(&self, name: &str, words: &[Word], floats: bool) -> Outcome {
        let (mut steps, mut changed) = (0, false);
        let result = self.run(name, words, floats, &mut steps, &mut changed);
        Outcome { steps, result, changed }
    }

    fn run(
        &self,
        name: &str,
        words: &[Word],
        floats: bool,
        steps: &mut u64,
        changed: &mut bool,
    ) -> Result<Vec<u8>, Reason> {
        let mut device = self.device.clone();
        let kernel = self.module.kernel(name).ok_or(Reason::Launch("no such kernel".into()))?;
        let mut buffers: Vec<(DevicePointer, Vec<u8>)> = Vec::new();
        let mut arguments = Vec::new();
        let mut words = words.iter();
        let mut state = hash(name) | 1;
        for (_, parameter) in &kernel.parameters {
            let size = usize::from(parameter.size);
            let mut bytes = Vec::new();
            for _ in 0..size.div_ceil(8) {
                let value = match words.next() {
                    Some(Word::Number(number)) => u64::from(*number),
                    _ => {
                        let content = content(&mut state, floats);
                        let pointer = device.allocate(BUFFER as u64, "buffer")?;
                        device.write(pointer, &content)?;
                        buffers.push((pointer, content));
                        pointer.0
                    }
                };
                bytes.extend(value.to_le_bytes());
            }
            bytes.truncate(size);
            arguments.push(Argument(bytes));
        }
        let limits = Limits { steps: STEPS, ..Limits::default() };
        let mut count = |_: &unshade_emulate::Step<'_>| *steps += 1;
        // Kernels that say how many threads a block has count on it.
        let grid = Grid { blocks: [2, 1, 1], threads: kernel.threads.unwrap_or([64, 1, 1]), shared: 1024 };
        let launched = self.module.launch(&mut device, name, grid, &arguments, limits, Some(&mut count));
        launched.map_err(|fault| fault.reason)?;
        let mut all = Vec::new();
        for (pointer, before) in &buffers {
            let after = device.read(*pointer, BUFFER)?;
            *changed |= after != *before;
            all.extend(after);
        }
        Ok(all)
    }
}

/// Floats from 0.5 to 2 or numbers below 16.
fn content(state: &mut u64, floats: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BUFFER);
    while bytes.len() < BUFFER {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        let bits = (*state >> 32) as u32;
        let word = if floats { 0x3f00_0000 | bits & 0x00ff_ffff } else { bits & 15 };
        bytes.extend(word.to_le_bytes());
    }
    bytes
}
