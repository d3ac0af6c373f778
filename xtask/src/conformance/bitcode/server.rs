//! Runs a program many times for little more than the cost of one startup.
//!
//! `serve.c`, loaded with LD_PRELOAD, stops the program before its `main` and forks there for every input. Where that
//! is impossible (it requires Linux and a C compiler), the program is started for each input.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use anyhow::{Context as _, Result};

use crate::sh;

/// The preloaded library, if it could be compiled.
static LIBRARY: LazyLock<Option<PathBuf>> = LazyLock::new(|| match compile() {
    Ok(library) => Some(library),
    Err(error) => {
        println!("slow: llvm-dis is started for every module: {error:#}");
        None
    }
});

fn compile() -> Result<PathBuf> {
    anyhow::ensure!(cfg!(target_os = "linux"), "serving requires Linux");
    let folder = sh::root().join("target/conformance");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // Another process may be using the existing library, so replace it atomically.
    let (fresh, library) = (folder.join(format!("serve-{}.so", std::process::id())), folder.join("serve.so"));
    let source = sh::root().join("xtask/src/conformance/bitcode/serve.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&fresh).arg(source);
    sh::capture(&mut compiler)?;
    fs::rename(&fresh, &library).with_context(|| format!("cannot make {}", library.display()))?;
    Ok(library)
}

/// A program with its arguments, and its idle servers.
pub(super) struct Servers {
    command: Vec<String>,
    idle: Mutex<Vec<Server>>,
}

impl Servers {
    pub(super) fn new(command: &[&str]) -> Self {
        let command = command.iter().map(ToString::to_string).collect();
        Self { command, idle: Mutex::new(Vec::new()) }
    }

    /// Runs the program on one input.
    pub(super) fn run(&self, input: &[u8]) -> Result<Output> {
        let Some(library) = LIBRARY.as_deref() else { return run_once(&self.command, input) };
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        let mut server = match idle {
            Some(server) => server,
            None => Server::start(&self.command, library)?,
        };
        let output = server.run(input).with_context(|| format!("`{}`", self.command.join(" ")))?;
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(server);
        }
        Ok(output)
    }
}

/// A process that waits before its `main`, and a folder for its files.
struct Server {
    child: Child,
    folder: PathBuf,
}

impl Server {
    fn start(command: &[String], library: &Path) -> Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("serve-{}-{count}", std::process::id());
        let folder = sh::root().join("target/conformance").join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let child = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(&folder)
            .env("LD_PRELOAD", library)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{}`", command.join(" ")))?;
        Ok(Self { child, folder })
    }

    fn run(&mut self, input: &[u8]) -> Result<Output> {
        fs::write(self.folder.join("in"), input)?;
        let mut status = [0; 4];
        self.child.stdin.as_mut().context("no pipe to the server")?.write_all(b"\n")?;
        self.child.stdout.as_mut().context("no pipe from the server")?.read_exact(&mut status)?;
        Ok(Output {
            status: ExitStatus::from_raw(i32::from_ne_bytes(status)),
            stdout: fs::read(self.folder.join("out"))?,
            stderr: fs::read(self.folder.join("err"))?,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process exits at the end of its input. Files that can't be removed do no harm.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Starts a program for one input.
pub(super) fn run_once(command: &[impl AsRef<str>], input: &[u8]) -> Result<Output> {
    let words: Vec<&str> = command.iter().map(AsRef::as_ref).collect();
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", words.join(" ")))?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    std::thread::scope(|scope| {
        // A program that rejects its input does not read all of it.
        scope.spawn(move || stdin.write_all(input));
        Ok(child.wait_with_output()?)
    })
}
