//! `cargo xtask package`: packs every crate as crates.io would receive it, then builds and runs the program from the
//! packages alone.
//!
//! A package contains only the folder of its crate, so a file that is embedded from elsewhere is missing. The check is
//! a build in an empty folder: the packages are unpacked side by side, and the program built from them must serve its
//! page, open a file and write the Ghidra module.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::package_files::LICENCES;
use crate::sh;
use crate::workspace::{self, Member};

/// The package of the program.
const PROGRAM: &str = "unshade-cli";

/// The licence of every crate.
const LICENCE: &str = "MIT OR Apache-2.0";

/// The file that the program opens.
const FIXTURE: &str = "tests/fixtures/metallib/vertex_fragment.metallib";

/// Maximum size of a package on crates.io.
const MAX_PACKAGE: u64 = 10 << 20;

/// Timeout for an answer of the server.
const PATIENCE: Duration = Duration::from_secs(60);

/// Manifest fields that crates.io shows.
const TEXTS: [&str; 6] = ["description", "license", "repository", "documentation", "readme", "rust_version"];

/// Options of `cargo xtask package`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask package\n  cargo xtask package --list\n\nExit status: 0 if all packages are \
                  complete and the program built from them works, 1 otherwise."
)]
pub(crate) struct Args {
    /// Check the manifests and print the packages in publication order; pack nothing.
    #[arg(long)]
    list: bool,
    /// Pack, but do not build the program from the packages.
    #[arg(long, conflicts_with = "list")]
    no_build: bool,
}

/// Packs, unpacks, builds and tests.
pub(crate) fn run(args: &Args) -> Result<()> {
    let members = workspace::members()?;
    let (published, private): (Vec<_>, Vec<_>) = members.into_iter().partition(|member| member.is_published);
    check_manifests(&published)?;
    let published = in_order(published)?;
    if args.list {
        published.iter().for_each(|member| println!("{}", member.name));
        return Ok(());
    }
    let folder = sh::target().join("package-check");
    pack(&private)?;
    let unpacked = folder.join("unpacked");
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked).with_context(|| unpacked.display().to_string())?;
    }
    for member in &published {
        let size = unpack(member, &unpacked)?;
        println!("{:>10}  {} {}", sh::megabytes(size), member.name, member.version);
    }
    if args.no_build {
        return Ok(());
    }
    let program = build(&published, &unpacked, &folder.join("build"))?;
    try_explore(&program)?;
    try_ghidra(&program, &folder.join("ghidra"))?;
    println!(
        "{} packages; the program built from them serves its page and writes the module",
        published.len()
    );
    Ok(())
}

/// Checks that every manifest has the fields that crates.io requires or shows.
fn check_manifests(published: &[Member]) -> Result<()> {
    let mut faults = Vec::new();
    for member in published {
        let mut fault = |text: String| faults.push(format!("{}: {text}", member.name));
        for field in TEXTS.iter().filter(|field| member.text(field).is_empty()) {
            fault(format!("the manifest has no {field}"));
        }
        for field in ["keywords", "categories"] {
            if !(1..=5).contains(&member.count(field)) {
                fault(format!("the manifest has to have one to five {field}"));
            }
        }
        if member.text("license") != LICENCE {
            fault(format!("the licence is not {LICENCE}"));
        }
        for name in LICENCES.iter().filter(|name| !member.folder.join(name).is_file()) {
            fault(format!("{name} is missing; `cargo xtask codegen` copies it"));
        }
    }
    faults.iter().for_each(|fault| eprintln!("{fault}"));
    ensure!(faults.is_empty(), "{} faults in manifests", faults.len());
    Ok(())
}

/// Sorts packages after their dependencies.
fn in_order(mut members: Vec<Member>) -> Result<Vec<Member>> {
    let mut ordered: Vec<Member> = Vec::new();
    while !members.is_empty() {
        let waiting: BTreeSet<String> = members.iter().map(|member| member.name.clone()).collect();
        let ready = members.iter().position(|member| {
            let dependencies = member.metadata["dependencies"].as_array().into_iter().flatten();
            !dependencies.filter_map(|one| one["name"].as_str()).any(|name| waiting.contains(name))
        });
        let ready = ready.with_context(|| format!("packages depend on each other: {waiting:?}"))?;
        ordered.push(members.remove(ready));
    }
    Ok(ordered)
}

/// Packs all crates except the private ones. Cargo resolves dependencies between them from the packages.
fn pack(private: &[Member]) -> Result<()> {
    let mut command = sh::cargo();
    command.args(["package", "--workspace", "--no-verify", "--allow-dirty", "--locked"]);
    for member in private {
        command.args(["--exclude", &member.name]);
    }
    let output = sh::capture(&mut command)?;
    let messages = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = messages.lines().filter(|line| line.starts_with("warning:")).collect();
    // Such as yanked dependencies, missing fields, or targets whose files are excluded.
    ensure!(complaints.is_empty(), "cargo package warns:\n{}", complaints.join("\n"));
    Ok(())
}

/// Unpacks a package, checks its files, and returns its size.
fn unpack(member: &Member, folder: &Path) -> Result<u64> {
    let name = format!("{}-{}", member.name, member.version);
    let packed = sh::target().join("package").join(format!("{name}.crate"));
    let bytes = fs::read(&packed).with_context(|| packed.display().to_string())?;
    let size = bytes.len() as u64;
    ensure!(size <= MAX_PACKAGE, "{name}: {} are more than crates.io takes", sh::megabytes(size));
    tar::Archive::new(flate2::read::GzDecoder::new(&bytes[..]))
        .unpack(folder)
        .with_context(|| packed.display().to_string())?;
    for file in LICENCES.into_iter().chain(["Cargo.toml", "README.md"]) {
        ensure!(folder.join(&name).join(file).is_file(), "{name} has no {file}");
    }
    Ok(size)
}

/// Builds the program from unpacked packages, with the locked versions of its dependencies.
fn build(published: &[Member], unpacked: &Path, target: &Path) -> Result<PathBuf> {
    let program =
        published.iter().find(|member| member.name == PROGRAM).context("no package of the program")?;
    let mut manifest =
        String::from("[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[patch.crates-io]\n");
    for member in published {
        let line = format!("{} = {{ path = \"{0}-{}\" }}\n", member.name, member.version);
        manifest.push_str(&line);
    }
    fs::write(unpacked.join("Cargo.toml"), manifest)?;
    let lock = unpacked.join(format!("{PROGRAM}-{}", program.version)).join("Cargo.lock");
    fs::copy(&lock, unpacked.join("Cargo.lock")).with_context(|| lock.display().to_string())?;

    let mut command = sh::cargo();
    command.current_dir(unpacked).args(["build", "--package", PROGRAM, "--target-dir"]).arg(target);
    // Nobody debugs this build.
    command.env("CARGO_PROFILE_DEV_DEBUG", "none").env("CARGO_INCREMENTAL", "0");
    sh::capture(&mut command)?;
    Ok(target.join("debug").join(format!("unshade{}", std::env::consts::EXE_SUFFIX)))
}

/// A server that ends when it is dropped.
struct Server {
    child: Child,
    host: String,
    path: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(program: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["explore", "--no-open"]).arg(sh::root().join(FIXTURE));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.with_context(|| program.display().to_string())?;
        let output = child.stdout.take().context("the program has no output")?;
        let mut server = Self { child, host: String::new(), path: String::new() };
        let mut address = String::new();
        BufReader::new(output).read_line(&mut address)?;
        let address =
            address.trim().strip_prefix("http://").with_context(|| format!("no address: {address:?}"))?;
        let (host, path) = address.split_once('/').context("an address without a token")?;
        (server.host, server.path) = (host.to_owned(), format!("/{path}"));
        Ok(server)
    }

    /// Returns the body of an answer. A status other than 200 is an error.
    fn ask(&self, method: &str, name: &str, body: &str) -> Result<String> {
        let mut stream = TcpStream::connect(&self.host)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "{method} {}{name} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.path,
            self.host,
            body.len()
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8(answer).with_context(|| format!("{name:?} is no text"))?;
        let (head, body) = answer.split_once("\r\n\r\n").with_context(|| format!("{name:?}: no answer"))?;
        let status = head.lines().next().unwrap_or_default();
        ensure!(status.starts_with("HTTP/1.1 200"), "{name:?} is answered by {status:?}");
        Ok(body.to_owned())
    }
}

/// Serves a file, loads the page with all its modules, and requests the list of functions.
fn try_explore(program: &Path) -> Result<()> {
    let server = Server::start(program)?;
    let mut wanted = vec![String::new()];
    let mut loaded = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !loaded.insert(name.clone()) {
            continue;
        }
        let text = server.ask("GET", &name, "")?;
        ensure!(text.len() > 100, "the page's {name:?} is empty");
        wanted.extend(asked_for(&text));
    }
    ensure!(loaded.contains("app.js") && loaded.len() > 10, "the page asks for {loaded:?} only");
    let answer: Value = serde_json::from_str(&server.ask("POST", "api", "{\"query\":\"overview\"}")?)?;
    ensure!(answer["error"].is_null() && answer["programs"][0].is_object(), "the overview is {answer}");
    println!("the page has {} files, and its server opens {FIXTURE}", loaded.len());
    Ok(())
}

/// Returns the names of the files that a file of the page refers to: `import … from './x.js'`, `href` and `src`.
fn asked_for(text: &str) -> Vec<String> {
    let starts = ["from './", "import './", "import('./", "href=\"", "src=\""];
    let names = starts.iter().flat_map(|start| text.split(start).skip(1));
    let names = names.filter_map(|rest| rest.split(['\'', '"']).next());
    let names = names.map(|name| name.trim_start_matches("./"));
    let is_file = |name: &&str| {
        let stem = name.strip_suffix(".js").or_else(|| name.strip_suffix(".css"));
        stem.is_some_and(|stem| !stem.is_empty() && stem.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)))
            // The module of the static page, which has no server.
            && !name.starts_with("unshade_web")
    };
    names.filter(is_file).map(str::to_owned).collect()
}

/// Writes the Ghidra module and compares it with that of the repository.
fn try_ghidra(program: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    sh::capture(Command::new(program).args(["ghidra", "-o"]).arg(folder))?;
    let own = sh::root().join("ghidra/NVIDIA");
    let mut files = Vec::new();
    sh::files_below(&own, &mut files)?;
    for file in &files {
        let written = folder.join("NVIDIA").join(file.strip_prefix(&own)?);
        if fs::read(&written).with_context(|| written.display().to_string())? != fs::read(file)? {
            bail!("{} is not {}", written.display(), file.display());
        }
    }
    println!("the Ghidra module has {} files", files.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::asked_for;

    #[test]
    fn names_of_files() {
        let text = "import { a } from './a.js';\nimport './b.js';\n<link href=\"app.css\"> <a href=\"https://x/c.js\">\n\
                    const m = await import('./unshade_web.js');";
        assert_eq!(asked_for(text), ["a.js", "b.js", "app.css"]);
    }
}
