//! The files that the page may read: files from the command line, files in those folders that may contain a program,
//! and bytes dropped on the page. Nothing else is opened: requests contain file numbers, not paths. Nothing is written
//! but files made by edits, beside the file that they were made from, under a new name.

use super::super::walk::list_files;
use crate::input::{Bytes, NothingFound};
use crate::runner::WithoutProgress;
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use unshade::carve::{GPUTRACE_INDEX, GPUTRACE_STORE};
use unshade::format::{Kind, detect};
use unshade::llvm::bitstream;
use unshade::query::{Extract, Extracted, Fault, FileEntry, Pane, Save, Session, Source};

/// Maximum number of files from folders.
const MAX_FILES: usize = 10_000;

/// Maximum total size of the files dropped on the page, which are kept in memory.
pub(super) const MAX_DROPPED: usize = 2 << 30;

/// Number of bytes of a file that are read to detect whether it may contain a program.
const HEAD: u64 = 64 << 10;

/// A file, which is opened at its first request.
pub(in crate::commands) struct Slot {
    path: PathBuf,
    /// Of a file that was made by an edit, the folder that it may be saved to.
    folder: Option<PathBuf>,
    name: String,
    size: u64,
    state: Mutex<State>,
}

enum State {
    Closed,
    Open(Box<Session>),
    Failed(Fault),
    /// It was dropped or made here, and is forgotten.
    Gone,
}

/// All files in order.
#[derive(Default)]
pub(in crate::commands) struct Files {
    slots: RwLock<Vec<Arc<Slot>>>,
    /// Total size of the files dropped on the page.
    dropped: Mutex<usize>,
}

impl Files {
    /// Lists files, and the contents of folders.
    pub(in crate::commands) fn list(paths: &[PathBuf]) -> Result<Self> {
        let mut slots = Vec::new();
        for path in paths {
            let metadata = path.metadata().with_context(|| format!("can't read {}", path.display()))?;
            if !metadata.is_dir() || is_capture(path) {
                slots.push(Slot::new(
                    path.clone(),
                    path.file_name().map_or_else(|| path.as_path(), Path::new),
                ));
                continue;
            }
            let (found, _) = list_files(std::slice::from_ref(path));
            for file in found.into_iter().filter(|file| may_have_programs(file)) {
                ensure!(slots.len() < MAX_FILES, "{}: more than {MAX_FILES} files", path.display());
                let name = file.strip_prefix(path).unwrap_or(&file).to_path_buf();
                slots.push(Slot::new(file, &name));
            }
        }
        if !paths.is_empty() && slots.is_empty() {
            let message = "no file that may hold a GPU program; `unshade scan` looks at every byte";
            bail!(NothingFound(message.to_owned()));
        }
        let slots = RwLock::new(slots.into_iter().map(Arc::new).collect());
        Ok(Self { slots, ..Self::default() })
    }

    /// Adds a file whose bytes came from the page. If the name is taken, a number makes it unique, as on the page.
    ///
    /// # Errors
    /// There are already too many files, or too many bytes.
    pub(super) fn add(&self, name: &str, bytes: Vec<u8>) -> Result<FileEntry, Fault> {
        self.insert(name, bytes, None)
    }

    /// Adds a file that was made from another one by an edit.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(super) fn add_edited(&self, from: &Slot, name: &str, bytes: Vec<u8>) -> Result<FileEntry, Fault> {
        let on_disk = || from.path.parent().filter(|_| from.path.is_file()).map(Path::to_path_buf);
        self.insert(name, bytes, from.folder.clone().or_else(on_disk))
    }

    /// Writes a file that was made here into the folder of the one that it was made from, but never over another file.
    /// Returns its path.
    ///
    /// # Errors
    /// The file was not made from a file of the disk, the name is not a plain one or taken, or the file can't be written.
    pub(super) fn save(&self, request: &Save) -> Result<PathBuf, Fault> {
        let slot = self.get(request.file).ok_or_else(|| Fault::new("no such file"))?;
        let folder = slot.folder.as_deref().ok_or_else(|| {
            Fault::new("only files that were made from a file of the disk are saved")
                .hint("download it instead")
        })?;
        let name = Path::new(&request.name);
        let is_plain =
            name.file_name().is_some_and(|plain| plain == name) && !request.name.contains(['/', '\\', '\0']);
        if !is_plain {
            return Err(Fault::new("no name for a file").expected("a name without folders"));
        }
        let place =
            Extract { at: Pane { file: request.file, ..Pane::default() }, what: Extracted::File, name: None };
        let bytes = slot.lock().session()?.extract(&place)?.bytes;
        let path = folder.join(name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(&bytes));
        written.map_err(|error| {
            let fault = Fault::new(format!("can't write {}: {error}", path.display()));
            if error.kind() == ErrorKind::AlreadyExists { fault.hint("choose another name") } else { fault }
        })?;
        Ok(path)
    }

    /// Forgets a file that was dropped or made here. Returns whether it was.
    pub(super) fn close(&self, file: u32) -> bool {
        let Some(slot) = self.get(file).filter(|slot| slot.path.as_os_str().is_empty()) else { return false };
        let mut state = slot.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(std::mem::replace(&mut *state, State::Gone), State::Gone) {
            return false;
        }
        let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        *dropped = dropped.saturating_sub(usize::try_from(slot.size).unwrap_or(usize::MAX));
        true
    }

    fn insert(&self, name: &str, bytes: Vec<u8>, folder: Option<PathBuf>) -> Result<FileEntry, Fault> {
        let size = bytes.len();
        let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        if size > MAX_DROPPED - *dropped {
            return Err(Fault::new("the files that were dropped here fill the memory that they may have")
                .expected(format!("at most {MAX_DROPPED} bytes together"))
                .hint("run `unshade explore` on the file itself, which reads it where it is"));
        }
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let number = slots.len();
        if number >= MAX_FILES {
            return Err(Fault::new(format!("there are {MAX_FILES} files already")));
        }
        let is_known = slots.iter().any(|slot| slot.name == name);
        let name = if is_known { format!("{name} ({number})") } else { name.to_owned() };
        let session = threaded(Session::new(&name, Source::resident(bytes)));
        let slot = Slot {
            path: PathBuf::new(),
            folder,
            name,
            size: size as u64,
            state: Mutex::new(State::Open(Box::new(session))),
        };
        let entry = slot.entry(u32::try_from(number).unwrap_or(u32::MAX));
        slots.push(Arc::new(slot));
        *dropped += size;
        Ok(entry)
    }

    pub(in crate::commands) fn len(&self) -> usize {
        self.all().len()
    }

    /// Returns all files that are present.
    pub(in crate::commands) fn all(&self) -> Vec<Arc<Slot>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(in crate::commands) fn get(&self, file: u32) -> Option<Arc<Slot>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).get(file as usize).cloned()
    }

    /// Returns the description of the files for the page.
    pub(in crate::commands) fn entries(&self) -> Vec<FileEntry> {
        let all = self.all();
        (0..).zip(&all).filter(|(_, slot)| !slot.is_gone()).map(|(file, slot)| slot.entry(file)).collect()
    }
}

impl Slot {
    fn new(path: PathBuf, name: &Path) -> Self {
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        Self {
            name: name.to_string_lossy().into_owned(),
            size,
            path,
            folder: None,
            state: Mutex::new(State::Closed),
        }
    }

    fn is_gone(&self) -> bool {
        matches!(self.state.try_lock().as_deref(), Ok(State::Gone))
    }

    fn entry(&self, file: u32) -> FileEntry {
        let mut entry = FileEntry {
            file,
            name: unshade::core::Escaped(self.name.as_bytes()).to_string(),
            size: self.size,
            ..FileEntry::default()
        };
        // If another request holds the file, it has opened it.
        match self.state.try_lock().as_deref() {
            Ok(State::Closed) => {}
            Ok(State::Failed(fault)) => entry.error = Some(fault.clone()),
            _ => entry.opened = true,
        }
        entry
    }

    pub(in crate::commands) fn name(&self) -> &str {
        &self.name
    }

    /// Waits for the file, and opens it at the first request.
    pub(in crate::commands) fn lock(&self) -> Locked<'_> {
        // A panic in an earlier request left no state: the next one parses the file again.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Closed) {
            *state = match self.open() {
                Ok(session) => State::Open(Box::new(session)),
                Err(error) => State::Failed(Fault::new(format!("{error:#}"))),
            };
        }
        Locked(state)
    }

    fn open(&self) -> Result<Session> {
        let source = |path: &Path| {
            let bytes = Bytes::open(path).with_context(|| format!("can't read {}", self.name))?;
            anyhow::Ok(Source::resident(bytes))
        };
        if is_capture(&self.path) {
            let index = source(&self.path.join(GPUTRACE_INDEX))?;
            let store = source(&self.path.join(GPUTRACE_STORE))?;
            return Ok(threaded(Session::of_capture(&self.name, index, store)));
        }
        Ok(threaded(Session::new(&self.name, source(&self.path)?)))
    }
}

/// Makes a file's listings searched on all processors.
fn threaded(session: Session) -> Session {
    session.with_threads(&WithoutProgress, rayon::current_num_threads())
}

/// A file locked by one request.
pub(in crate::commands) struct Locked<'s>(MutexGuard<'s, State>);

impl Locked<'_> {
    pub(in crate::commands) fn session(&mut self) -> Result<&mut Session, Fault> {
        match &mut *self.0 {
            State::Open(session) => Ok(session),
            State::Failed(fault) => Err(fault.clone()),
            State::Closed | State::Gone => Err(Fault::new("the file is closed")),
        }
    }
}

fn is_capture(path: &Path) -> bool {
    path.is_dir() && path.extension().is_some_and(|extension| extension == "gputrace")
}

/// Returns whether a file begins like a program, or like a container of programs.
fn may_have_programs(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    is_capture(path)
        || read.is_ok() && (detect(&head) != Kind::Unknown || bitstream::locate(&head, 0).is_ok())
}
