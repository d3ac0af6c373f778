//! Runs what was compiled on this machine: LLVM's disassembler gives the text, two lines are dropped (triple and data
//! layout), a function that takes arguments from arrays is appended, and clang compiles it with `runtime.c`.

use crate::case::{Buffer, Case};
use naga::{AddressSpace, StorageAccess};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use unshade_air::entry::{Argument, Builtin};
use unshade_air::shader::Shader;
use unshade_llvm::types::Type;
use unshade_naga::{Bindings, Options};

/// Where each value of the hardware is in the array of `runtime.c`.
const IDS: [(Builtin, u32); 5] = [
    (Builtin::ThreadPositionInGrid, 0),
    (Builtin::ThreadPositionInThreadgroup, 3),
    (Builtin::ThreadIndexInThreadgroup, 6),
    (Builtin::ThreadgroupPositionInGrid, 7),
    (Builtin::ThreadgroupsPerGrid, 10),
];

/// A tool that is installed, by a variable of the environment or its name.
pub fn tool(variable: &str, name: &str) -> Option<String> {
    let tool = std::env::var(variable).unwrap_or_else(|_| name.to_string());
    let runs = Command::new(&tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    runs.is_ok_and(|status| status.success()).then_some(tool)
}

/// The tools that are needed.
pub struct Tools {
    pub disassembler: String,
    pub clang: String,
    pub folder: PathBuf,
}

impl Tools {
    /// Finds the tools; none if one is missing.
    pub fn find(what: &str) -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("unshade-naga-{what}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).ok()?;
        Some(Self {
            disassembler: tool("UNSHADE_LLVM_DIS_14", "llvm-dis-14")?,
            clang: tool("UNSHADE_CLANG_14", "clang-14")?,
            folder,
        })
    }
}

/// Compiles a shader to AIR, runs it, and returns what the buffers hold afterwards.
pub fn run_air(case: &Case, tools: &Tools) -> Result<Vec<Buffer>, String> {
    let options = Options::default();
    let shader = case.source.air(naga::ShaderStage::Compute, &case.entry, &options);
    let shader = shader.map_err(|error| error.to_string())?;
    let caller = caller(&shader)?;
    let bitcode = shader.finish().and_then(|module| module.write()).map_err(|error| error.to_string())?;
    let path = tools.folder.join(format!("{}.air", case.name));
    std::fs::write(&path, bitcode).map_err(|error| error.to_string())?;
    let text = output(Command::new(&tools.disassembler).arg(&path).args(["-o", "-"]), &[])?;
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    run_text(case, tools, "air", &format!("{text}\n{caller}"), &[])
}

/// Compiles a shader to DXIL, runs it, and returns what the buffers hold afterwards. A folder in the variable
/// `UNSHADE_DXC_TEXT` has DXC's disassembly of each, `NAME.ll`; without it, LLVM 14 disassembles.
pub fn run_dxil(case: &Case, tools: &Tools) -> Result<Vec<Buffer>, String> {
    let shader = case.source.dxil(naga::ShaderStage::Compute, &case.entry, &Options::default());
    let shader = shader.map_err(|error| error.to_string())?;
    let text = match std::env::var_os("UNSHADE_DXC_TEXT") {
        Some(folder) => {
            let path = Path::new(&folder).join(format!("{}.ll", case.name));
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?
        }
        None => {
            let bitcode = shader.bitcode().map_err(|error| error.to_string())?;
            let path = tools.folder.join(format!("{}.dxil", case.name));
            std::fs::write(&path, bitcode).map_err(|error| error.to_string())?;
            let text = output(Command::new(&tools.disassembler).arg(&path).args(["-o", "-"]), &[])?;
            String::from_utf8(text).map_err(|error| error.to_string())?
        }
    };
    let caller = format!(
        "define void @run_thread(i64* %buffers, i32* %ids) {{\n  call void @{}()\n  ret void\n}}\n",
        case.entry
    );
    run_text(case, tools, "dxil", &format!("{text}\n{caller}"), &handles(case))
}

/// Returns the handles of DXIL: class, number in it, buffer. Numbers count up in the order of bindings; last are the
/// constants with the numbers of groups.
fn handles(case: &Case) -> Vec<u32> {
    let module = &case.source.module;
    let mut globals: Vec<_> = module.global_variables.iter().map(|(_, global)| global).collect();
    globals.retain(|global| global.binding.is_some());
    globals.sort_by_key(|global| global.binding);
    let (mut counts, mut list) = ([0; 3], Vec::new());
    for global in globals {
        let class = match global.space {
            AddressSpace::Uniform => 2,
            AddressSpace::Storage { access } => u32::from(access.contains(StorageAccess::STORE)),
            _ => continue,
        };
        let place = global.binding.map(|binding| (binding.group, binding.binding));
        let buffer = case.buffers.iter().position(|buffer| Some((buffer.group, buffer.binding)) == place);
        list.extend([class, counts[class as usize], buffer.unwrap_or(0) as u32]);
        counts[class as usize] += 1;
    }
    list.extend([2, counts[2], u32::MAX]);
    list
}

/// Compiles the text of a module and runs it.
fn run_text(
    case: &Case,
    tools: &Tools,
    kind: &str,
    text: &str,
    handles: &[u32],
) -> Result<Vec<Buffer>, String> {
    let is_kept = |line: &&str| !line.starts_with("target ");
    let text: Vec<&str> = text.lines().filter(is_kept).collect();
    let module = tools.folder.join(format!("{}-{kind}.ll", case.name));
    let program = tools.folder.join(format!("{}-{kind}", case.name));
    std::fs::write(&module, text.join("\n")).map_err(|error| error.to_string())?;
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/results");
    let mut clang = Command::new(&tools.clang);
    clang.args(["-w", "-O1", "-mf16c", "-ffp-contract=off", "-x", "ir"]).arg(&module);
    clang.arg(runtime.join("runtime_dxil.ll")).args(["-x", "c"]).arg(runtime.join("runtime.c"));
    output(clang.args(["-lm", "-o"]).arg(&program), &[])?;
    let found = output(&mut Command::new(&program), &job(case, handles))?;
    let mut rest = found.as_slice();
    let mut buffers = case.buffers.clone();
    for word in buffers.iter_mut().flat_map(|buffer| &mut buffer.words) {
        let (bytes, others) = rest.split_first_chunk().ok_or("too little output")?;
        (*word, rest) = (u32::from_le_bytes(*bytes), others);
    }
    Ok(buffers)
}

/// Returns what the program reads: groups, size of a workgroup, number of buffers, each with its size, and last the
/// buffer of sizes; then the number of handles and these.
fn job(case: &Case, handles: &[u32]) -> Vec<u8> {
    let mut words: Vec<u32> = Vec::new();
    words.extend(case.groups);
    words.extend(case.workgroup);
    words.push(case.buffers.len() as u32 + 1);
    for buffer in &case.buffers {
        words.push(buffer.words.len() as u32);
        words.extend(&buffer.words);
    }
    let mut sizes = Vec::new();
    for (binding, _, _, size) in Bindings::new(&case.source.module).iter() {
        let place = (binding.group, binding.binding);
        let buffer = case.buffers.iter().find(|buffer| (buffer.group, buffer.binding) == place);
        if let (Some(_), Some(buffer)) = (size, buffer) {
            sizes.push(buffer.words.len() as u32 * 4);
        }
    }
    words.push(sizes.len() as u32);
    words.extend(sizes);
    words.push(handles.len() as u32 / 3);
    words.extend(handles);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns a function that calls the kernel with arguments out of arrays.
fn caller(shader: &Shader) -> Result<String, String> {
    let function = shader.function_of(shader.function()).map_err(|error| error.to_string())?;
    let types = &shader.module().types;
    let Type::Function { parameters, .. } = types.get(function.symbol.ty) else {
        return Err("no function".to_string());
    };
    let mut text = String::from("define void @run_thread(i64* %buffers, i32* %ids) {\n");
    let (mut buffers, mut arguments) = (0, Vec::new());
    let list = &shader.signature().arguments;
    let is_buffer = |argument: &Argument| matches!(argument, Argument::Buffer { .. });
    let has_sizes = |name: &str| name == "buffer_sizes";
    let sizes_at = list.iter().filter(|(name, argument)| is_buffer(argument) && !has_sizes(name)).count();
    for (at, ((name, argument), &ty)) in list.iter().zip(types.elements(parameters)).enumerate() {
        let ty = shader.type_text(ty);
        match argument {
            Argument::Buffer { .. } => {
                let index = if has_sizes(name) { sizes_at } else { buffers };
                buffers += usize::from(!has_sizes(name));
                let _ = writeln!(text, "  %p{at} = getelementptr i64, i64* %buffers, i64 {index}");
                let _ = writeln!(text, "  %i{at} = load i64, i64* %p{at}");
                let _ = writeln!(text, "  %a{at} = inttoptr i64 %i{at} to {ty}");
            }
            Argument::Builtin { builtin, .. } => {
                let row = IDS.iter().find(|row| row.0 == *builtin).ok_or("a value that the runtime lacks")?;
                let _ = writeln!(text, "  %p{at} = getelementptr i32, i32* %ids, i64 {}", row.1);
                let _ = writeln!(text, "  %q{at} = bitcast i32* %p{at} to {ty}*");
                let _ = writeln!(text, "  %a{at} = load {ty}, {ty}* %q{at}, align 4");
            }
            _ => return Err(format!("argument {name} has no value here")),
        }
        arguments.push(format!("{ty} %a{at}"));
    }
    let name = &shader.signature().name;
    let _ = writeln!(text, "  call void @{name}({})\n  ret void\n}}", arguments.join(", "));
    Ok(text)
}

/// Runs a command, and returns its output.
pub fn output(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| error.to_string();
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(failed)?;
    let mut stdin = child.stdin.take().ok_or("no input")?;
    let written = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().map_err(failed)?;
    match output.status.success() {
        true => written.map_err(failed).map(|()| output.stdout),
        false => Err(String::from_utf8_lossy(&output.stderr).chars().take(2000).collect()),
    }
}
