//! Conformance of Direct3D bytecode: every token program of the corpus is decoded and encoded, printed and assembled,
//! and the listing of its container is compared with those of FXC and vkd3d. The corpus has no Shader Model 1 to 3 and
//! no debug builds; for these, our own fixtures are used, compiled by FXC or synthetic, each with FXC's text.

use super::vkd3d_text;
use crate::sh;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use unshade::core::{Diagnostics, Reader};
use unshade::dxbc::d3d9;
use unshade::dxbc::print::{Options, print};
use unshade::dxcontainer::Container;
use unshade::fxc_listing;

#[derive(Default)]
struct Counts {
    containers: u64,
    programs: u64,
    tokens_exact: u64,
    text_exact: u64,
    /// Texts of FXC, and how many of ours are identical.
    fxc: (u64, u64),
    /// Programs of Shader Model 1 to 3; how many survive a round trip through tokens and text, and match FXC's text.
    direct3d9: [u64; 4],
    /// Our own debug builds; how many listings match FXC's, including source lines and variables.
    debug: (u64, u64),
    /// Texts of vkd3d, and how many of ours are equivalent.
    vkd3d: (u64, u64),
    faults: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    let corpus = std::env::var_os("UNSHADE_CORPUS").context("UNSHADE_CORPUS is not set")?;
    let folder = PathBuf::from(corpus).join("dx");
    let mut files = Vec::new();
    collect(&folder, &mut files)?;
    files.sort();
    let mut counts = Counts::default();
    let mut own = Vec::new();
    let mut counts_of_fixtures = Counts::default();
    for fixtures in FIXTURES {
        collect(&sh::root().join(fixtures), &mut own)?;
    }
    for path in &own {
        let data = std::fs::read(path)?;
        counts_of_fixtures.direct3d9(&path.display().to_string(), path, &data);
    }
    let mut debug = Vec::new();
    collect(&sh::root().join(DEBUG_BUILDS), &mut debug)?;
    for path in &debug {
        counts_of_fixtures.debug_build(&path.display().to_string(), path)?;
    }
    counts.direct3d9 = counts_of_fixtures.direct3d9;
    counts.debug = counts_of_fixtures.debug;
    counts.faults = counts_of_fixtures.faults;
    for path in &files {
        let data = std::fs::read(path)?;
        let name = path.strip_prefix(&folder).unwrap_or(path).display().to_string();
        if let Ok(container) = Container::parse(&data) {
            counts.container(&name, path, &container);
        }
    }
    counts.faults.iter().for_each(|fault| println!("{fault}"));
    println!("containers with token programs        {:>6}", counts.containers);
    println!("token programs                        {:>6}", counts.programs);
    println!("  decoded and encoded, same tokens    {:>6}", counts.tokens_exact);
    println!("  printed and assembled, same tokens  {:>6}", counts.text_exact);
    println!("listings identical to FXC's           {:>6} of {}", counts.fxc.1, counts.fxc.0);
    println!("debug listings identical to FXC's     {:>6} of {}", counts.debug.1, counts.debug.0);
    println!("programs equivalent to vkd3d's text   {:>6} of {}", counts.vkd3d.1, counts.vkd3d.0);
    let [programs, tokens, text, files] = counts.direct3d9;
    println!("programs of Shader Model 1 to 3         {programs:>6}");
    println!("  decoded and encoded, same tokens    {tokens:>6}");
    println!("  printed and assembled, same tokens  {text:>6}");
    println!("  files with listings like FXC's      {files:>6} of {}", own.len());
    let exact = counts.tokens_exact == counts.programs && counts.text_exact == counts.programs;
    ensure!(exact && tokens == programs && text == programs, "a program does not survive a round trip");
    ensure!(files == own.len() as u64, "a listing of Shader Model 1 to 3 differs from FXC's");
    ensure!(counts.debug.0 == counts.debug.1, "a listing of a debug build differs from FXC's");
    ensure!(counts.fxc.1 * 100 >= counts.fxc.0 * 99, "fewer than 99 % of the listings match FXC's");
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| ["dxbc", "bin", "cso"].iter().any(|one| extension == *one))
        {
            files.push(path);
        }
    }
    Ok(())
}

/// The folders of fixtures of Shader Model 1 to 3, standalone and in containers.
const FIXTURES: [&str; 2] =
    ["crates/unshade-dxbc/tests/fixtures/d3d9", "crates/unshade/tests/fixtures/level9"];

/// The folder of debug builds, in containers.
const DEBUG_BUILDS: &str = "crates/unshade/tests/fixtures/debug";

impl Counts {
    /// Compares a container of a debug build with FXC's text.
    fn debug_build(&mut self, name: &str, path: &Path) -> Result<()> {
        let data = std::fs::read(path)?;
        let theirs = std::fs::read_to_string(path.with_extension("fxc.asm"))?;
        let mut ours = String::new();
        let container = Container::parse(&data)?;
        fxc_listing::print_fxc(&container, &mut ours, &mut Diagnostics::default())?;
        self.debug.0 += 1;
        self.debug.1 += u64::from(ours == theirs);
        if ours != theirs {
            self.faults.push(format!("{name}: text differs from FXC's"));
        }
        Ok(())
    }

    /// Compares a file with programs of Shader Model 1 to 3 with FXC's text.
    fn direct3d9(&mut self, name: &str, path: &Path, data: &[u8]) {
        let mut ours = String::new();
        let mut diagnostics = Diagnostics::default();
        match Container::parse(data) {
            Ok(container) => {
                self.level9(name, &container);
                let result = fxc_listing::print_fxc(&container, &mut ours, &mut diagnostics);
                self.faults.extend(result.err().map(|error| format!("{name}: {error}")));
            }
            Err(_) => {
                if let Some(program) = self.direct3d9_program(name, Reader::new(data)) {
                    d3d9::listing::print_fxc(&program, 0, &mut ours, &mut diagnostics);
                }
            }
        }
        let theirs = std::fs::read_to_string(path.with_extension("fxc.asm")).unwrap_or_default();
        self.direct3d9[3] += u64::from(theirs == ours);
        if theirs != ours {
            self.faults.push(format!("{name}: text differs from FXC's"));
        }
    }

    fn level9(&mut self, name: &str, container: &Container<'_>) {
        for part in container.found_parts().filter(|part| part.name.0 == *b"LIBF") {
            if let Ok(inner) = Container::read(part.data) {
                self.level9(name, &inner);
            }
        }
        for part in fxc_listing::level9_programs(container) {
            match d3d9::Level9::read(part.data).and_then(|level9| level9.code(part.data)) {
                Ok(code) => drop(self.direct3d9_program(name, code)),
                Err(error) => self.faults.push(format!("{name}: {error}")),
            }
        }
    }

    fn direct3d9_program(&mut self, name: &str, data: Reader<'_>) -> Option<d3d9::Program> {
        self.direct3d9[0] += 1;
        let program = match d3d9::decode(data, &mut Diagnostics::default()) {
            Ok(program) => program,
            Err(error) => {
                self.faults.push(format!("{name}: {error}"));
                return None;
            }
        };
        self.direct3d9[1] += u64::from(program.write().is_ok_and(|bytes| bytes == data.data()));
        let mut text = String::new();
        d3d9::print::print(&program, d3d9::print::Options::default(), &mut text);
        let again = d3d9::assemble(&text).and_then(|program| program.write());
        self.direct3d9[2] += u64::from(again.is_ok_and(|bytes| bytes == data.data()));
        Some(program)
    }

    fn container(&mut self, name: &str, path: &Path, container: &Container<'_>) {
        let before = self.programs;
        self.programs_of(name, container);
        let beside = |extension: &str| {
            let text = std::fs::read(format!("{}.{extension}", path.display())).ok()?;
            let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
            Some(text.trim_end_matches(['\0', '\n', ' ']).to_owned())
        };
        if let Some(theirs) = beside("fxc.asm") {
            let mut ours = String::new();
            let result = fxc_listing::print_fxc(container, &mut ours, &mut Diagnostics::default());
            self.fxc.0 += 1;
            if result.is_ok() && ours.trim_end() == theirs {
                self.fxc.1 += 1;
            } else {
                let line = theirs.lines().zip(ours.lines()).position(|(theirs, ours)| theirs != ours);
                let line = line.unwrap_or(0);
                let of = |text: &str| text.lines().nth(line).unwrap_or_default().to_owned();
                let (theirs, ours) = (of(&theirs), of(&ours));
                self.faults.push(format!("{name}: line {}:\n  FXC  {theirs}\n  ours {ours}", line + 1));
            }
        }
        if let (Some(theirs), Some(part)) = (beside("vkd3d.asm"), fxc_listing::token_program(container)) {
            self.vkd3d.0 += 1;
            match vkd3d_text::compare(part.data, &theirs) {
                Ok(()) => self.vkd3d.1 += 1,
                Err(difference) => self.faults.push(format!("{name}: {difference}")),
            }
        }
        self.containers += u64::from(self.programs > before);
    }

    fn programs_of(&mut self, name: &str, container: &Container<'_>) {
        for part in container.found_parts() {
            match &part.name.0 {
                b"LIBF" => {
                    if let Ok(inner) = Container::read(part.data) {
                        self.programs_of(name, &inner);
                    }
                }
                b"SHDR" | b"SHEX" => self.program(name, part.data),
                _ => {}
            }
        }
    }

    fn program(&mut self, name: &str, data: Reader<'_>) {
        self.programs += 1;
        let mut diagnostics = Diagnostics::default();
        let program = match unshade::dxbc::decode(data, &mut diagnostics) {
            Ok(program) => program,
            Err(error) => return self.faults.push(format!("{name}: {error}")),
        };
        self.faults.extend(diagnostics.iter().map(|finding| format!("{name}: {}", finding.error)));
        if program.write().is_ok_and(|bytes| bytes == data.data()) {
            self.tokens_exact += 1;
        } else {
            self.faults.push(format!("{name}: encoding changes tokens"));
        }
        let mut text = String::new();
        print(&program, Options::default(), &mut text);
        match unshade::dxbc::assemble(&text).and_then(|program| program.write()) {
            Ok(bytes) if bytes == data.data() => self.text_exact += 1,
            Ok(_) => self.faults.push(format!("{name}: assembling changes tokens")),
            Err(error) => self.faults.push(format!("{name}: {error}")),
        }
    }
}
