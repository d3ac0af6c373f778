//! Runs cases on the host: C++ sources compiled by g++ with `cuda/cuda_host.h`.
//!
//! All sources become one file, each in its own namespace, and all cases are run by one process: starting compilers and
//! processes takes time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use unshade::decompiler::{Decompiled, Options};

use super::cases::{Case, Inputs, Parameter, Results};

/// Why the host could not run the cases.
#[derive(Debug)]
pub enum HostError {
    /// There is no compiler.
    NoCompiler(String),
    /// The compiler reported errors; its output.
    Compile(String),
    /// The program failed; its output.
    Run(String),
}

/// A C++ program of all sources that can run their cases.
pub struct Program {
    /// The text of the one C++ file.
    pub text: String,
}

impl Program {
    /// Generates a program from the source text of each file.
    pub fn new(cases: &[Case], sources: &BTreeMap<String, String>) -> Self {
        let mut text = String::from("#include \"cuda_host.h\"\n");
        let mut kernels = BTreeSet::new();
        let mut variables = BTreeSet::new();
        for (file, source) in sources {
            let _ = writeln!(text, "namespace in_{file} {{\n{}\n}}", prepared(source));
            for case in cases.iter().filter(|case| case.file == *file) {
                kernels.insert(entry(&case.kernel, &format!("in_{file}::{}", case.expression), source));
                for (name, variable) in &case.variables {
                    variables.insert((name.as_str(), format!("in_{file}::{name}"), variable.image.is_some()));
                }
            }
        }
        text.push_str("static const cuda_host::Kernel kernels[] = {\n");
        for kernel in kernels {
            let _ = writeln!(text, "    {kernel},");
        }
        text.push_str("    {nullptr, nullptr}};\nstatic const cuda_host::Variable variables[] = {\n");
        for (name, expression, is_image) in variables {
            let _ =
                writeln!(text, "    {{\"{name}\", (void *)&{expression}, sizeof {expression}, {is_image}}},");
        }
        text.push_str("    {nullptr, nullptr, 0, false}};\n");
        text.push_str("int main(int count, char **words) { return cuda_host::run_cases(kernels, variables, count, words); }\n");
        Self { text }
    }

    /// Compiles the program in a folder. Returns the path of the executable.
    ///
    /// # Errors
    /// If there is no compiler, or it reports errors.
    pub fn compile(&self, folder: &Path) -> Result<PathBuf, HostError> {
        super::write_headers(folder).map_err(|error| HostError::Run(error.to_string()))?;
        let (source, program) = (folder.join("kernels.cpp"), folder.join("kernels"));
        std::fs::write(&source, &self.text).map_err(|error| HostError::Run(error.to_string()))?;
        let mut command = Command::new("g++");
        command.args(["-std=c++14", "-O2", "-w", "-fwrapv", "-fno-strict-aliasing", "-frounding-math"]);
        command.args(["-ffp-contract=fast", "-fno-math-errno", "-fno-tree-vectorize"]);
        if cfg!(target_arch = "x86_64") {
            command.arg("-mfma");
        }
        let output = command.arg("-I").arg(folder).arg(&source).arg("-o").arg(&program).output();
        match output {
            Err(error) => Err(HostError::NoCompiler(format!("g++: {error}"))),
            Ok(output) if !output.status.success() => {
                Err(HostError::Compile(String::from_utf8_lossy(&output.stderr).into_owned()))
            }
            Ok(_) => Ok(program),
        }
    }
}

/// Returns the options with which to decompile for the host, whose mathematical library differs from CUDA's in some bits.
pub fn host_options() -> Options {
    Options { explicit_math: true, ..Options::default() }
}

/// Returns the options with which to decompile a function again if the host cannot run it: the host flushes subnormal
/// doubles together with floats, so only explicit calls can express what is flushed.
pub fn retry_options(found: &Decompiled) -> Option<Options> {
    let has_doubles = || found.lines.iter().any(|line| line.text.contains("double"));
    (found.flushes && has_doubles()).then(|| Options { explicit_flushes: true, ..host_options() })
}

/// Returns the entry for a kernel in the kernel list of a program: its name, and a function that launches it. Kernels
/// whose source asks for `-ftz=true` flush subnormals.
pub(super) fn entry(name: &str, expression: &str, source: &str) -> String {
    let flushes = source.contains("-ftz=true");
    format!(
        "{{\"{name}\", [](std::vector<cuda_host::Argument> &a) {{ cuda_host::launch({expression}, a, {flushes}); }}}}"
    )
}

/// Adapts a source to a host compiler: dynamic shared memory, assembly, CUDA headers.
fn prepared(source: &str) -> String {
    let mut text = String::new();
    for line in source.lines() {
        if line.trim_start().starts_with("#include") {
            continue;
        }
        // Files are namespaces here, and may have kernels of the same name.
        let line = special_registers(line.strip_prefix("extern \"C\" ").unwrap_or(line));
        let mut line = line.replace("asm volatile(", "CUDA_HOST_ASM(").replace("asm(", "CUDA_HOST_ASM(");
        while let Some(start) = line.find("extern __shared__ ") {
            let end = line[start..].find(';').map_or(line.len(), |end| start + end);
            let declared = line[start + "extern __shared__ ".len()..end].trim();
            if declared.ends_with(" dynamic_shared[]") {
                line.replace_range(start..end, "");
                continue;
            }
            let (ty, name) = declared.rsplit_once(char::is_whitespace).unwrap_or(("int", declared));
            let name = name.trim_end_matches("[]");
            let pointer = format!("static {ty} *const {name} = ({ty} *)::dynamic_shared");
            line.replace_range(start..end, &pointer);
        }
        text.push_str(&line);
        text.push('\n');
    }
    // Undefine the macros that a source defines.
    for line in source.lines() {
        if let Some(name) =
            line.trim_start().strip_prefix("#define ").and_then(|rest| rest.split(['(', ' ']).next())
        {
            let _ = writeln!(text, "#undef {name}");
        }
    }
    text
}

/// Replaces assembly that only reads special registers, `asm volatile("mov.u32 %0,%laneid;":"=r"(l))`, with C
/// statements.
fn special_registers(line: &str) -> String {
    let read = |asm: &str| -> Option<String> {
        let (code, outputs) = asm.strip_prefix('"')?.split_once("\":")?;
        let names: Vec<&str> = outputs
            .split(',')
            .map(|output| output.strip_prefix("\"=r\"(")?.strip_suffix(')'))
            .collect::<Option<_>>()?;
        let mut text = String::new();
        for statement in code.split(';').filter(|statement| !statement.is_empty()) {
            let (number, register) = statement.strip_prefix("mov.u32 %")?.split_once(",%")?;
            let _ = write!(text, "{} = cuda_host::{register}();", names.get(number.parse::<usize>().ok()?)?);
        }
        Some(text)
    };
    let Some((before, asm)) = line.split_once("asm volatile(") else { return line.to_owned() };
    let Some((asm, after)) = asm.split_once(");") else { return line.to_owned() };
    read(asm).map_or_else(|| line.to_owned(), |text| format!("{before}{text}{after}"))
}

/// Runs cases. Returns the results of each.
///
/// # Errors
/// If the program fails.
pub fn run(program: &Path, folder: &Path, cases: &[(&Case, Inputs)]) -> Result<Vec<Results>, HostError> {
    let failed = |error: &dyn std::fmt::Display| HostError::Run(error.to_string());
    let (input, output) = (folder.join("inputs"), folder.join("results"));
    std::fs::write(&input, encode(cases)).map_err(|error| failed(&error))?;
    let run = Command::new(program).arg(&input).arg(&output).output().map_err(|error| failed(&error))?;
    if !run.status.success() {
        return Err(HostError::Run(format!("{}: {}", run.status, String::from_utf8_lossy(&run.stderr))));
    }
    let bytes = std::fs::read(&output).map_err(|error| failed(&error))?;
    let mut rest = bytes.as_slice();
    let mut results = Vec::new();
    for (case, _) in cases {
        let buffers = case.parameters.iter().filter(|parameter| parameter.count.is_some()).count();
        let take = |rest: &mut &[u8]| -> Result<Vec<u8>, HostError> {
            let cut = || HostError::Run("the program's results end early".into());
            let (size, after) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
            let (bytes, after) =
                after.split_at_checked(u32::from_le_bytes(*size) as usize).ok_or_else(cut)?;
            *rest = after;
            Ok(bytes.to_vec())
        };
        results.push(Results {
            buffers: (0..buffers).map(|_| take(&mut rest)).collect::<Result<_, _>>()?,
            variables: case.variables.iter().map(|_| take(&mut rest)).collect::<Result<_, _>>()?,
            printed: take(&mut rest)?,
        });
    }
    Ok(results)
}

fn encode(cases: &[(&Case, Inputs)]) -> Vec<u8> {
    let mut out = Vec::new();
    let number =
        |out: &mut Vec<u8>, value: usize| out.extend(u32::try_from(value).unwrap_or(0).to_le_bytes());
    let bytes = |out: &mut Vec<u8>, value: &[u8]| {
        number(out, value.len());
        out.extend(value);
    };
    // For textures and surfaces, the sizes and the number of words per element; zeros otherwise.
    let shape = |out: &mut Vec<u8>, parameter: &Parameter| {
        let size = parameter.image.map_or([0; 3], |image| image.size);
        size.iter().for_each(|size| number(out, *size as usize));
        number(out, parameter.members.len());
    };
    number(&mut out, cases.len());
    for (case, inputs) in cases {
        bytes(&mut out, case.kernel.as_bytes());
        for size in case.blocks.iter().chain(&case.threads) {
            number(&mut out, *size as usize);
        }
        number(&mut out, case.variables.len());
        for ((name, variable), value) in case.variables.iter().zip(&inputs.variables) {
            bytes(&mut out, name.as_bytes());
            shape(&mut out, variable);
            bytes(&mut out, value);
        }
        number(&mut out, case.parameters.len());
        for (parameter, value) in case.parameters.iter().zip(&inputs.parameters) {
            number(&mut out, if parameter.image.is_some() { 2 } else { parameter.count.is_some().into() });
            shape(&mut out, parameter);
            bytes(&mut out, value);
        }
    }
    out
}
