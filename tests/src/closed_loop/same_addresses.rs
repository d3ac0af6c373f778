//! Runs the C of kernels on memory at the same addresses as in the emulator, so that pointers have the same values
//! (`cuda/cuda_case.h`).
//!
//! Many kernels form one program. A crashing kernel crashes the whole program, so after a failure each kernel is run
//! separately.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use unshade_emulate::{Argument, DevicePointer, Grid};

/// Memory regions: the start and the contents of each.
pub type Memory = Vec<(DevicePointer, Vec<u8>)>;

/// A kernel as C, its inputs, and the expected results.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name in the C.
    pub name: String,
    /// The C.
    pub text: String,
    /// Blocks and threads.
    pub grid: Grid,
    /// The memory before the run.
    pub before: Memory,
    /// The arguments.
    pub arguments: Vec<Argument>,
    /// The memory after the run in the emulator.
    pub after: Memory,
    /// Allowed difference of floats, in units in the last place.
    pub units: u64,
    /// Whether the value at this offset of a memory region can be a float.
    pub is_float: fn(usize) -> bool,
}

/// The result of running the C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The memory is identical.
    Same,
    /// The memory is identical except for the last bits of floats, or the bits of NaNs.
    Near,
    /// The memory differs, or the C could not be run; the first difference, or the reason.
    Wrong(String),
}

/// Compiles and runs programs in a folder.
pub struct HostCompiler {
    folder: PathBuf,
    optimisation: &'static str,
}

impl HostCompiler {
    /// Precompiles the headers. The folder must exist.
    ///
    /// # Errors
    /// If there is no g++, or the folder can't be written to.
    pub fn new(folder: &Path, optimisation: &'static str) -> Result<Self, String> {
        let compiler = Self { folder: folder.to_owned(), optimisation };
        super::write_headers(folder).map_err(|error| format!("headers: {error}"))?;
        let mut command = compiler.command();
        command.args(["-x", "c++-header"]).arg(folder.join("cuda_case.h"));
        let output = command.arg("-o").arg(folder.join("cuda_case.h.gch")).output();
        match output {
            Ok(output) if output.status.success() => Ok(compiler),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Err(format!("g++ is needed: {error}")),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("g++");
        command.args(["-std=c++14", self.optimisation, "-w", "-fwrapv", "-fno-strict-aliasing"]);
        command.args(["-frounding-math", "-ffp-contract=off", "-fno-math-errno"]);
        if cfg!(target_arch = "x86_64") {
            command.arg("-mfma");
        }
        command
    }

    /// Compiles kernels into one program, runs them and compares the results. Kernels that do not compile are left out
    /// and reported. `number` distinguishes concurrent programs.
    pub fn run(&self, cases: &[Case], number: usize) -> Vec<Verdict> {
        let program = self.folder.join(format!("program{number}"));
        let mut verdicts: Vec<Option<Verdict>> = vec![None; cases.len()];
        let pending = |verdicts: &[Option<Verdict>]| -> Vec<usize> {
            (0..cases.len()).filter(|index| verdicts.get(*index).is_some_and(Option::is_none)).collect()
        };
        loop {
            let chosen = pending(&verdicts);
            let some: Vec<&Case> = chosen.iter().filter_map(|index| cases.get(*index)).collect();
            if some.is_empty() {
                break;
            }
            let errors = match self.compile(&some, &program) {
                Ok(()) => {
                    for (index, verdict) in chosen.iter().zip(run_program(&some, &program)) {
                        verdicts[*index] = Some(verdict);
                    }
                    break;
                }
                Err(errors) => errors,
            };
            let mut is_known = false;
            for line in errors.lines().filter(|line| line.contains("error")) {
                let number =
                    line.strip_prefix('k').and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
                if let Some(index) = number.and_then(|number| chosen.get(number))
                    && verdicts[*index].is_none()
                {
                    verdicts[*index] = Some(Verdict::Wrong(format!("g++ reports: {line}")));
                    is_known = true;
                }
            }
            if !is_known {
                for index in chosen {
                    verdicts[index] = Some(Verdict::Wrong(format!("g++ fails: {errors}")));
                }
            }
        }
        verdicts.into_iter().map(|verdict| verdict.unwrap_or(Verdict::Same)).collect()
    }

    /// Compiles a program. The error is the compiler's output.
    fn compile(&self, cases: &[&Case], program: &Path) -> Result<(), String> {
        let mut text = String::from("#include \"cuda_case.h\"\n");
        for (index, case) in cases.iter().enumerate() {
            // Kernels of several programs may have one name.
            let case = case.text.replace("extern \"C\" ", "");
            let _ = writeln!(text, "namespace k{index} {{\n#line 1 \"k{index}\"\n{case}\n}}");
        }
        text.push_str("#line 1 \"main\"\nstatic const cuda_host::Kernel kernels[] = {\n");
        for (index, case) in cases.iter().enumerate() {
            let _ = writeln!(
                text,
                "    {},",
                super::host::entry(&format!("k{index}"), &format!("k{index}::{}", case.name), &case.text)
            );
        }
        text.push_str("    {nullptr, nullptr}};\n");
        text.push_str(
            "int main(int count, char **words) { return cuda_host::run_placed(kernels, count, words); }\n",
        );
        let source = program.with_extension("cpp");
        fs::write(&source, text).map_err(|error| error.to_string())?;
        let mut command = self.command();
        let output = command.arg("-I").arg(&self.folder).arg(&source).arg("-o").arg(program).output();
        let output = output.map_err(|error| format!("g++ is needed: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Runs all kernels of a program; after a failure, each one separately.
fn run_program(cases: &[&Case], program: &Path) -> Vec<Verdict> {
    if let Ok(verdicts) = run_some(cases, program, 0) {
        return verdicts;
    }
    let each = (0..).zip(cases).map(|(index, case)| match run_some(&[*case], program, index) {
        Ok(mut found) => found.pop().unwrap_or(Verdict::Same),
        Err(error) => Verdict::Wrong(error),
    });
    each.collect()
}

/// Runs the cases that are the kernels of a program from number `first`.
fn run_some(cases: &[&Case], program: &Path, first: usize) -> Result<Vec<Verdict>, String> {
    let (input, output) = (program.with_extension("input"), program.with_extension("output"));
    let failed = |error: std::io::Error| error.to_string();
    let _ = fs::remove_file(&output);
    fs::write(&input, encode(cases, first)).map_err(failed)?;
    let ran = Command::new(program).arg(&input).arg(&output).output().map_err(failed)?;
    if !ran.status.success() {
        let output = String::from_utf8_lossy(&ran.stderr);
        return Err(format!("the C fails: {} {}", ran.status, output.trim()));
    }
    let found = fs::read(&output).map_err(failed)?;
    let mut rest = found.as_slice();
    Ok(cases.iter().map(|case| compare(case, &mut rest)).collect())
}

/// Encodes the input of `run_placed` in the header.
fn encode(cases: &[&Case], first: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let number =
        |out: &mut Vec<u8>, value: usize| out.extend(u32::try_from(value).unwrap_or(0).to_le_bytes());
    let bytes = |out: &mut Vec<u8>, value: &[u8]| {
        number(out, value.len());
        out.extend(value);
    };
    number(&mut out, cases.len());
    for (index, case) in (first..).zip(cases) {
        bytes(&mut out, format!("k{index}").as_bytes());
        for size in case.grid.blocks.iter().chain(&case.grid.threads) {
            out.extend(size.to_le_bytes());
        }
        number(&mut out, case.before.len());
        for (pointer, memory) in &case.before {
            out.extend(pointer.0.to_le_bytes());
            bytes(&mut out, memory);
        }
        number(&mut out, case.arguments.len());
        for argument in &case.arguments {
            bytes(&mut out, &argument.0);
        }
    }
    out
}

/// Consumes the memory of a case from the results, and compares it.
fn compare(case: &Case, rest: &mut &[u8]) -> Verdict {
    let mut verdict = Verdict::Same;
    for (pointer, expected) in &case.after {
        let Some((found, after)) = rest.split_at_checked(expected.len()) else {
            return Verdict::Wrong("results end early".into());
        };
        *rest = after;
        if found == expected.as_slice() || matches!(verdict, Verdict::Wrong(_)) {
            continue;
        }
        for (index, (left, right)) in expected.chunks(8).zip(found.chunks(8)).enumerate() {
            if left == right {
                continue;
            }
            match value_difference(left, right, case.units, (case.is_float)(8 * index)) {
                None => verdict = Verdict::Near,
                Some(what) => {
                    let at = pointer.0.wrapping_add(8 * index as u64);
                    verdict = Verdict::Wrong(format!("{what} at {at:#x}"));
                    break;
                }
            }
        }
    }
    verdict
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Describes the difference of 8 bytes, unless it is an allowed difference of floats.
fn value_difference(expected: &[u8], found: &[u8], units: u64, is_float: bool) -> Option<String> {
    let is_near = |a: u64, b: u64, width: u32| {
        let nan = |bits: u64| {
            if width == 32 { f32::from_bits(bits as u32).is_nan() } else { f64::from_bits(bits).is_nan() }
        };
        let ordered = |bits: u64| {
            let signed = (bits << (64 - width)).cast_signed();
            (if signed < 0 { i64::MIN.wrapping_sub(signed) } else { signed }) >> (64 - width)
        };
        is_float && (nan(a) && nan(b) || units > 0 && ordered(a).abs_diff(ordered(b)) <= units)
    };
    if expected.len() == 8 && is_near(number(expected), number(found), 64) {
        return None;
    }
    for (left, right) in expected.chunks(4).zip(found.chunks(4)) {
        let (a, b) = (number(left), number(right));
        if a != b && !is_near(a, b, 32) {
            let float = |bits: u64| f32::from_bits(bits as u32);
            return Some(format!("{a:#010x} ({:e}) is {b:#010x} ({:e})", float(a), float(b)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_may_differ_in_their_last_bits() {
        let words = |a: f32, b: u32| [a.to_le_bytes(), b.to_le_bytes()].concat();
        let more = |units: f32| words(1.0 + units * f32::EPSILON, 7);
        assert_eq!(value_difference(&words(1.0, 7), &more(1.0), 4, true), None);
        assert!(value_difference(&words(1.0, 7), &more(1.0), 0, true).is_some());
        assert!(value_difference(&words(1.0, 7), &more(1.0), 4, false).is_some());
        assert!(value_difference(&words(1.0, 7), &more(9.0), 4, true).is_some());
        assert_eq!(value_difference(&words(f32::NAN, 7), &words(-f32::NAN, 7), 0, true), None);
        let double = |value: f64| value.to_le_bytes();
        assert_eq!(value_difference(&double(1.0), &double(1.0 + f64::EPSILON), 4, true), None);
    }
}
