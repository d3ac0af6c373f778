//! Output: standard output, a pager, files.
//!
//! A file appears under its name only when it is complete. An existing file is replaced only with `--force`. Existing
//! links in the folder are never followed.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Buffered standard output, with a pager where that helps.
pub(crate) struct Stdout {
    writer: Option<BufWriter<Box<dyn Write>>>,
    pager: Option<Child>,
}

impl Stdout {
    /// Creates the output; it is paged if standard output is a terminal and `page` is set.
    pub(crate) fn new(page: bool) -> Self {
        if page
            && io::stdout().is_terminal()
            && let Some(mut pager) = start_pager()
            && let Some(stdin) = pager.stdin.take()
        {
            return Self::over(Box::new(stdin), Some(pager));
        }
        Self::over(Box::new(io::stdout().lock()), None)
    }

    fn over(stream: Box<dyn Write>, pager: Option<Child>) -> Self {
        Self { writer: Some(BufWriter::with_capacity(1 << 16, stream)), pager }
    }

    /// Prints a value as JSON on one line or indented, followed by a line end.
    pub(crate) fn json(&mut self, value: &impl Serialize, one_line: bool) -> Result<()> {
        if one_line {
            serde_json::to_writer(&mut *self, value)?;
        } else {
            serde_json::to_writer_pretty(&mut *self, value)?;
        }
        Ok(writeln!(self)?)
    }

    /// Flushes the buffer and waits for the pager.
    pub(crate) fn finish(mut self) -> Result<()> {
        let result = self.flush();
        drop(self.writer.take());
        if let Some(mut pager) = self.pager.take() {
            pager.wait()?;
        }
        Ok(result?)
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.as_mut().map_or(Ok(bytes.len()), |writer| writer.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Stdout {
    fn drop(&mut self) {
        drop(self.writer.take());
        if let Some(mut pager) = self.pager.take() {
            // A failure could not be reported any more.
            let _ = pager.wait();
        }
    }
}

/// Starts the user's pager, or `less` with options that leave short output alone.
fn start_pager() -> Option<Child> {
    let pager =
        std::env::var("UNSHADE_PAGER").or_else(|_| std::env::var("PAGER")).unwrap_or_else(|_| "less".into());
    let mut words = pager.split_whitespace();
    let mut command = Command::new(words.next()?);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    command.spawn().ok()
}

/// Returns whether an error means that the reader of standard output is gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}

/// A folder for output files.
pub(crate) struct Folder {
    root: PathBuf,
    force: bool,
    /// Folders below the root that are known not to be links.
    checked: std::collections::HashSet<PathBuf>,
}

impl Folder {
    /// Creates the folder if it is missing.
    pub(crate) fn create(root: &Path, force: bool) -> Result<Self> {
        if is_stdout(root) {
            bail!("several files are written into a folder, not to standard output");
        }
        fs::create_dir_all(root).with_context(|| format!("can't make the folder {}", root.display()))?;
        Ok(Self { root: root.to_owned(), force, checked: std::collections::HashSet::new() })
    }

    /// Writes a file at a relative path without `..`, and creates the folders on the way.
    pub(crate) fn write(&mut self, path: &Path, data: &[u8]) -> Result<()> {
        if let Some(parent) = path.parent() {
            self.make_folders(parent)?;
        }
        write_file(&self.root.join(path), self.force, data)
    }

    /// Writes a file directly into the folder.
    pub(crate) fn write_flat(&self, name: &Path, data: &[u8]) -> Result<()> {
        self.write_parts(name, std::iter::once(data))
    }

    /// Writes a file from parts into an existing folder.
    pub(crate) fn write_parts<'d>(
        &self,
        path: &Path,
        parts: impl Iterator<Item = &'d [u8]> + Clone,
    ) -> Result<()> {
        write_file_of(&self.root.join(path), self.force, parts)
    }

    /// Creates the folders of a path one by one. Refuses links, which may lead outside the root.
    pub(crate) fn make_folders(&mut self, path: &Path) -> Result<()> {
        let mut relative = PathBuf::new();
        for part in path.components() {
            relative.push(part);
            if self.checked.contains(&relative) {
                continue;
            }
            let folder = self.root.join(&relative);
            match fs::symlink_metadata(&folder) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => bail!("{} is in the way: it is no folder", folder.display()),
                Err(_) => {
                    fs::create_dir(&folder).with_context(|| format!("can't make {}", folder.display()))?;
                }
            }
            self.checked.insert(relative.clone());
        }
        Ok(())
    }
}

/// Fails if a file exists that must not be replaced.
pub(crate) fn ensure_free(path: &Path, force: bool) -> Result<()> {
    if !force && !is_stdout(path) && fs::symlink_metadata(path).is_ok() && !is_stream(path) {
        bail!("{} exists already; --force replaces it", path.display());
    }
    Ok(())
}

/// Returns whether a path means standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    let names = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
    names.iter().any(|name| path.as_os_str() == *name)
}

/// Returns whether a path leads to a device or pipe, such as `/dev/null`, which is written to and never replaced.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Writes a file under a temporary name in the same folder, then renames it. A device or pipe is written to directly.
pub(crate) fn write_file(path: &Path, force: bool, data: &[u8]) -> Result<()> {
    write_file_of(path, force, std::iter::once(data))
}

/// Writes a file from parts, like [`write_file`].
pub(crate) fn write_file_of<'d>(
    path: &Path,
    force: bool,
    parts: impl Iterator<Item = &'d [u8]> + Clone,
) -> Result<()> {
    if is_stdout(path) {
        return write_stdout(parts);
    }
    ensure_free(path, force)?;
    if is_stream(path) {
        let mut parts = parts;
        let mut write = || {
            File::options()
                .write(true)
                .open(path)
                .and_then(|mut file| parts.try_for_each(|part| file.write_all(part)))
        };
        return write().with_context(|| format!("can't write {}", path.display()));
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.part", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let size = parts.clone().map(|part| part.len() as u64).sum();
    let mut parts = parts;
    let mut write = || -> io::Result<()> {
        // `create_new` does not follow an existing link.
        let mut file = File::options().write(true).create_new(true).open(&temporary)?;
        reserve(&file, size)?;
        // There may be many small parts.
        let mut buffered = BufWriter::with_capacity(1 << 20, &mut file);
        parts.try_for_each(|part| buffered.write_all(part))?;
        buffered.flush()?;
        drop(buffered);
        fs::rename(&temporary, path)
    };
    write().with_context(|| format!("can't write {}", path.display())).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

/// Writes a file to standard output, but no binary data to a terminal.
fn write_stdout<'d>(parts: impl Iterator<Item = &'d [u8]> + Clone) -> Result<()> {
    let is_text =
        || parts.clone().all(|part| std::str::from_utf8(part).is_ok_and(|text| !text.contains('\0')));
    if io::stdout().is_terminal() && !is_text() {
        bail!("binary data is not written to a terminal; name a file with -o, or use a pipe");
    }
    let mut stdout = Stdout::new(false);
    let mut parts = parts;
    parts.try_for_each(|part| stdout.write_all(part))?;
    stdout.finish()
}

/// Reserves the space of a large file, so that a full disk fails at once. When the file replaces another, this also
/// spares the system from allocating all blocks before the rename, which would take as long as the writing.
#[cfg(target_os = "linux")]
fn reserve(file: &File, size: u64) -> io::Result<()> {
    const RESERVE_FROM: u64 = 1 << 20;
    if size < RESERVE_FROM {
        return Ok(());
    }
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, size) {
        Err(rustix::io::Errno::NOSPC) => Err(rustix::io::Errno::NOSPC.into()),
        // Not every file system supports this.
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

/// Writes text to a file, or prints it.
pub(crate) fn write_text(args: &crate::args::FileArgs, text: &str) -> Result<()> {
    write_pieces(args, |out| Ok(out.write_str(text)?))
}

/// Writes text that comes in pieces to a file, or prints it.
pub(crate) fn write_pieces(
    args: &crate::args::FileArgs,
    write: impl FnOnce(&mut dyn fmt::Write) -> Result<()>,
) -> Result<()> {
    match &args.output {
        Some(path) if !is_stdout(path) => {
            let mut text = String::new();
            write(&mut text)?;
            write_file(path, args.force, text.as_bytes())
        }
        _ => {
            let mut printed = Printed { stdout: Stdout::new(false), error: None };
            let written = write(&mut printed);
            // Prefer the cause of the failure to the fact that printing failed.
            if let Some(error) = printed.error {
                return Err(error.into());
            }
            written?;
            printed.stdout.finish()
        }
    }
}

/// A text writer for standard output.
struct Printed {
    stdout: Stdout,
    error: Option<io::Error>,
}

impl fmt::Write for Printed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.stdout.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}
