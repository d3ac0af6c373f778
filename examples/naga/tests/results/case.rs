//! A compute shader that is run: its source, and what comments at its head say.
//!
//! ```text
//! // groups 4 1 1                      workgroups
//! // tolerance 8                       how many floats results may be away; 0 if this line is missing
//! // buffer 0 1: f32 ramp 8 -1 0.25    group, binding: type, and values: a count, a start and a step,
//! // buffer 0 2: u32 iota 64           the numbers from 0 on,
//! // buffer 0 3: i32 1 -2 3            the values themselves,
//! // buffer 1 0: zero 16               or so many words of zero
//! ```
//!
//! What the buffers hold afterwards is in a file beside the source, `NAME.expected`, as hexadecimal words.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use unshade_naga::Source;

/// A compute shader with its buffers.
pub struct Case {
    pub name: String,
    pub source: Source,
    pub entry: String,
    pub workgroup: [u32; 3],
    pub groups: [u32; 3],
    pub tolerance: u32,
    /// Group, binding, words.
    pub buffers: Vec<Buffer>,
    path: PathBuf,
}

/// A buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub group: u32,
    pub binding: u32,
    pub words: Vec<u32>,
}

impl Case {
    /// Reads all shaders of a folder.
    pub fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders/compute");
        let entries = std::fs::read_dir(folder).expect("the folder of shaders");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "wgsl"));
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Self {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).expect("a shader");
        let source =
            Source::parse(&name, &text).unwrap_or_else(|error| panic!("{}", error.text(&name, &text)));
        let point = &source.module.entry_points[0];
        let (entry, workgroup) = (point.name.clone(), point.workgroup_size);
        let mut case = Self {
            name,
            source,
            entry,
            workgroup,
            groups: [1; 3],
            tolerance: 0,
            buffers: Vec::new(),
            path: path.to_path_buf(),
        };
        for line in text.lines().map_while(|line| line.strip_prefix("// ")) {
            case.directive(line);
        }
        case.buffers.sort_by_key(|buffer| (buffer.group, buffer.binding));
        case
    }

    fn directive(&mut self, line: &str) {
        let numbers = |text: &str| -> Vec<u32> {
            text.split_whitespace().map(|word| word.parse().expect("a number")).collect()
        };
        if let Some(groups) = line.strip_prefix("groups ") {
            self.groups = numbers(groups).try_into().expect("three numbers of groups");
        } else if let Some(tolerance) = line.strip_prefix("tolerance ") {
            self.tolerance = tolerance.parse().expect("a tolerance");
        } else if let Some((place, values)) = line.strip_prefix("buffer ").and_then(|l| l.split_once(": ")) {
            let place = numbers(place);
            self.buffers.push(Buffer { group: place[0], binding: place[1], words: words(values) });
        } else {
            panic!("{}: unknown line {line}", self.name);
        }
    }

    fn expected_path(&self) -> PathBuf {
        self.path.with_extension("expected")
    }

    /// Returns what the buffers hold afterwards.
    pub fn expected(&self) -> Vec<Buffer> {
        let path = self.expected_path();
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut buffers = Vec::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let mut number = || words.next().expect("a number").parse().expect("a number");
            let (group, binding) = (number(), number());
            let words = words.map(|word| u32::from_str_radix(word, 16).expect("a word")).collect();
            buffers.push(Buffer { group, binding, words });
        }
        buffers
    }

    /// Writes what the buffers hold afterwards.
    #[cfg_attr(not(feature = "vulkan"), allow(dead_code))]
    pub fn bless(&self, buffers: &[Buffer]) {
        let mut text = String::new();
        for buffer in buffers {
            let _ = write!(text, "{} {}", buffer.group, buffer.binding);
            buffer.words.iter().for_each(|word| _ = write!(text, " {word:x}"));
            text.push('\n');
        }
        std::fs::write(self.expected_path(), text).expect("a file beside the shader");
    }

    /// Returns the first word that is not as expected.
    pub fn difference(&self, found: &[Buffer], expected: &[Buffer]) -> Option<String> {
        if found.len() != expected.len() {
            return Some(format!("{} buffers instead of {}", found.len(), expected.len()));
        }
        for (found, expected) in found.iter().zip(expected) {
            let place = format!("buffer {} {}", found.group, found.binding);
            let is_same = (found.group, found.binding) == (expected.group, expected.binding);
            if !is_same || found.words.len() != expected.words.len() {
                return Some(format!("{place}: another buffer is expected"));
            }
            for (at, (&a, &b)) in found.words.iter().zip(&expected.words).enumerate() {
                if !is_near(a, b, self.tolerance) {
                    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
                    return Some(format!("{place} word {at}: {a:#x} ({x}), expected {b:#x} ({y})"));
                }
            }
        }
        None
    }
}

/// Returns whether two words are equal, or floats so close to each other.
fn is_near(a: u32, b: u32, tolerance: u32) -> bool {
    // Floats in order as integers.
    let order = |bits: u32| {
        let size = i64::from(bits & 0x7FFF_FFFF);
        if bits >> 31 == 1 { -size } else { size }
    };
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let is_small = (x - y).abs() <= f32::EPSILON * 0.25 * tolerance as f32;
    a == b || (tolerance > 0 && (is_small || order(a).abs_diff(order(b)) <= u64::from(tolerance)))
}

/// Returns the words of a buffer as a directive gives them.
fn words(text: &str) -> Vec<u32> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let float = |field: &str| field.parse::<f32>().expect("a float");
    let count = |field: &str| field.parse::<u32>().expect("a count");
    match fields.as_slice() {
        ["zero", number] => vec![0; count(number) as usize],
        ["u32", "iota", number] => (0..count(number)).collect(),
        ["f32", "ramp", number, start, step] => {
            (0..count(number)).map(|at| (float(start) + float(step) * at as f32).to_bits()).collect()
        }
        ["f32", values @ ..] => values.iter().map(|value| float(value).to_bits()).collect(),
        ["u32", values @ ..] => values.iter().map(|value| count(value)).collect(),
        ["i32", values @ ..] => {
            values.iter().map(|value| value.parse::<i32>().expect("an integer").cast_unsigned()).collect()
        }
        _ => panic!("unknown values {text}"),
    }
}
