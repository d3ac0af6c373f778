//! Writes output: standard output, a pager, files.
//!
//! A file appears under its name only when it is complete, an existing one is replaced only with `--force`, and nothing
//! is written through an existing link in the folder.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Buffered standard output, through a pager if that helps.
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

    /// Prints a value as JSON followed by a line feed, on one line or indented.
    pub(crate) fn json(&mut self, value: &impl Serialize, one_line: bool) -> Result<()> {
        if one_line {
            serde_json::to_writer(&mut *self, value)?;
        } else {
            serde_json::to_writer_pretty(&mut *self, value)?;
        }
        Ok(writeln!(self)?)
    }

    /// Flushes the buffer, and waits for the pager.
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
            // Nobody reads the message.
            let _ = pager.wait();
        }
    }
}

/// Starts the user's pager, or `less` with options for short output.
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

/// Returns whether an error is a closed standard output.
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
    /// Creates the folder, unless it exists.
    pub(crate) fn create(root: &Path, force: bool) -> Result<Self> {
        if is_stdout(root) {
            bail!("several files are written into a folder, not to standard output");
        }
        fs::create_dir_all(root).with_context(|| format!("can't make the folder {}", root.display()))?;
        Ok(Self { root: root.to_owned(), force, checked: std::collections::HashSet::new() })
    }

    /// Writes a file at a relative path without `..`, and creates the folders of the path.
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

    /// Writes a file in parts into an existing folder.
    pub(crate) fn write_parts<'d>(
        &self,
        path: &Path,
        parts: impl Iterator<Item = &'d [u8]> + Clone,
    ) -> Result<()> {
        write_file_of(&self.root.join(path), self.force, parts)
    }

    /// Creates the folders of a path one by one. A link among them is an error, because it may lead outside the root.
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

/// Returns whether a path leads to a device or a pipe, such as `/dev/null`, which is written to but never replaced.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Writes a file, as [`write_complete`] does.
pub(crate) fn write_file(path: &Path, force: bool, data: &[u8]) -> Result<()> {
    write_file_of(path, force, std::iter::once(data))
}

/// Writes a file in parts, in the same way.
pub(crate) fn write_file_of<'d>(
    path: &Path,
    force: bool,
    parts: impl Iterator<Item = &'d [u8]> + Clone,
) -> Result<()> {
    if is_stdout(path) {
        return write_stdout(parts);
    }
    ensure_free(path, force)?;
    let size = parts.clone().map(|part| part.len() as u64).sum();
    let mut parts = parts;
    write_complete(path, size, |file| Ok(parts.try_for_each(|part| file.write_all(part))?))
}

/// Writes a file under a temporary name beside it, then renames it. A device or a pipe is written to as it is. `size`
/// is the number of bytes, or 0 if it is not known.
fn write_complete(path: &Path, size: u64, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    if is_stream(path) {
        let file = File::options().write(true).open(path).map_err(Into::into);
        return file.and_then(|file| write_buffered(file, write)).map_err(|error| name_file(error, path));
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.part", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let write = || -> Result<()> {
        // `create_new` does not follow a link that somebody put there.
        let file = File::options().write(true).create_new(true).open(&temporary)?;
        reserve(&file, size)?;
        write_buffered(file, write)?;
        Ok(fs::rename(&temporary, path)?)
    };
    write().map_err(|error| name_file(error, path)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

/// Writes a file through a buffer, because what is written may be many small parts.
fn write_buffered(file: File, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut buffered = BufWriter::with_capacity(1 << 20, file);
    write(&mut buffered)?;
    Ok(buffered.flush()?)
}

/// Adds the name of the file to an error of writing it.
fn name_file(error: anyhow::Error, path: &Path) -> anyhow::Error {
    if error.is::<io::Error>() { error.context(format!("can't write {}", path.display())) } else { error }
}

/// Writes a file to standard output. Binary data is not written to a terminal.
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

/// Reserves the space of a large file. A full disk is detected at once. If the file replaces another one, the system
/// does not have to allocate all blocks at the rename, which takes as long as the writing.
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

/// Writes text in pieces to a file, or prints it.
pub(crate) fn write_pieces(
    args: &crate::args::FileArgs,
    write: impl FnOnce(&mut dyn fmt::Write) -> Result<()>,
) -> Result<()> {
    match &args.output {
        Some(path) if !is_stdout(path) => {
            ensure_free(path, args.force)?;
            write_complete(path, 0, |file| print_into(file, write))
        }
        _ => {
            let mut stdout = Stdout::new(false);
            print_into(&mut stdout, write)?;
            stdout.finish()
        }
    }
}

/// Calls `write` with a stream for its text.
fn print_into(stream: &mut dyn Write, write: impl FnOnce(&mut dyn fmt::Write) -> Result<()>) -> Result<()> {
    let mut printed = Printed { stream, error: None };
    let written = write(&mut printed);
    // Why it could not be printed says more than that it could not.
    printed.error.map_or(written, |error| Err(error.into()))
}

/// A stream of bytes for what writes text.
struct Printed<'s> {
    stream: &'s mut dyn Write,
    error: Option<io::Error>,
}

impl fmt::Write for Printed<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.stream.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::FileArgs;

    /// Text that fails in the middle leaves neither a file nor a temporary one, and an existing file as it was.
    #[test]
    fn text_that_is_incomplete_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let write = |text: &str, fails: bool| {
            let args = FileArgs { output: Some(path.clone()), force: true };
            write_pieces(&args, |out| {
                out.write_str(text)?;
                if fails { bail!("stopped") } else { Ok(()) }
            })
        };
        let files = || fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(write("one", true).unwrap_err().to_string(), "stopped");
        assert_eq!(files(), 0);
        write("two", false).unwrap();
        assert!(write("three", true).is_err());
        assert_eq!((files(), fs::read_to_string(&path).unwrap()), (1, "two".into()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_reported_with_its_name() {
        let args = FileArgs { output: Some("/dev/full".into()), force: false };
        let error = write_pieces(&args, |out| Ok(out.write_str("text")?)).unwrap_err();
        assert_eq!(error.to_string(), "can't write /dev/full");
    }
}
