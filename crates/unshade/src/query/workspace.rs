//! Several files, asked by number.

use super::extract::Taken;
use super::{
    Answer, CloseAnswer, EditAnswer, EditProgram, EditedFile, Extract, Fault, FileEntry, FilesAnswer,
    Parameters, Request, Response, Run, Session, Source,
};
use super::{MAX_REQUEST, MAX_RESPONSE};
use crate::run::RunJob;
use crate::view::SCHEMA;
use serde::Serialize;

/// Files that are open.
#[derive(Debug, Default)]
pub struct Workspace {
    files: Vec<Option<Session>>,
}

impl Workspace {
    /// Adds a file whose bytes are in memory; returns its number.
    pub fn open_bytes(&mut self, name: &str, bytes: impl AsRef<[u8]> + Send + 'static) -> u32 {
        self.open(Session::new(name, Source::resident(bytes)))
    }

    /// Adds a file; returns its number.
    pub fn open(&mut self, session: Session) -> u32 {
        self.files.push(Some(session));
        u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX)
    }

    /// Closes a file. Its number is not used again.
    pub fn close(&mut self, file: u32) {
        if let Some(session) = self.files.get_mut(file as usize) {
            *session = None;
        }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// There is no such file, program or item, or it can't be read.
    pub fn handle(&mut self, request: &Request) -> Answer<Response> {
        match request {
            Request::Files {} => Ok(Response::Files(FilesAnswer { files: self.entries() })),
            Request::Edit(edit) => self.edit(edit).map(Response::Edit),
            Request::Save(_) => {
                Err(Fault::new("this front end can't write files")
                    .hint("`extract` returns the bytes of `file`"))
            }
            Request::Close(close) => {
                self.session(close.file)?;
                self.close(close.file);
                Ok(Response::Close(CloseAnswer { closed: true }))
            }
            Request::Run(run) => {
                let job = self.run_job(run)?;
                self.session(run.at.file)?.run(&job)
            }
            request => {
                let file = request.file();
                let Some(other) = request.other_file() else {
                    return self.session(file)?.handle(file, request);
                };
                let [left, right] = self.two(file, other)?;
                left.handle_with(right, request)
            }
        }
    }

    fn edit(&mut self, request: &EditProgram) -> Answer<EditAnswer> {
        let session = self.session(request.file)?;
        let EditedFile { name, bytes, notes, faults } = session.edit(request)?;
        if !faults.is_empty() {
            return Ok(EditAnswer { file: None, notes, faults });
        }
        let edited = session.sibling(&name, bytes);
        let file = self.open(edited);
        let entry = self.session(file)?.entry(file);
        Ok(EditAnswer { file: Some(entry), notes, faults })
    }

    /// Returns what a launch needs, with the contents of the files that it refers to.
    ///
    /// # Errors
    /// As [`Workspace::handle`].
    pub fn run_job(&mut self, run: &Run) -> Answer<RunJob> {
        let mut job = self.session(run.at.file)?.run_job(run)?;
        for file in job.wanted_files() {
            job.files.insert(file, self.session(file)?.contents()?);
        }
        Ok(job)
    }

    /// Returns what is needed to describe the parameters of a launch.
    ///
    /// # Errors
    /// As [`Workspace::handle`].
    pub fn parameters_job(&mut self, request: &Parameters) -> Answer<RunJob> {
        self.session(request.at.file)?.parameters_job(request)
    }

    /// Returns bytes to save, with a safe file name.
    ///
    /// # Errors
    /// As [`Workspace::handle`].
    pub fn extract(&mut self, request: &Extract) -> Answer<Taken> {
        self.session(request.at.file)?.extract(request)
    }

    /// Answers a request that is JSON with JSON.
    pub fn handle_json(&mut self, request: &str) -> String {
        response_json(parse_request(request).and_then(|request| self.handle(&request)))
    }

    /// Returns two files.
    fn two(&mut self, left: u32, right: u32) -> Answer<[&mut Session; 2]> {
        let files = self.files.get_disjoint_mut([left as usize, right as usize]).ok();
        let files = files.and_then(|[left, right]| Some([left.as_mut()?, right.as_mut()?]));
        files.ok_or_else(|| Fault::new("no such file"))
    }

    fn session(&mut self, file: u32) -> Answer<&mut Session> {
        let session = self.files.get_mut(file as usize).and_then(Option::as_mut);
        session.ok_or_else(|| Fault::new(format!("no file {file}")))
    }

    fn entries(&self) -> Vec<FileEntry> {
        let files = (0..).zip(&self.files).filter_map(|(file, session)| Some((file, session.as_ref()?)));
        files.map(|(file, session)| session.entry(file)).collect()
    }
}

/// Reads a request.
///
/// # Errors
/// It is too long, no JSON, or no request.
pub fn parse_request(text: &str) -> Answer<Request> {
    if text.len() > MAX_REQUEST {
        return Err(Fault::new("the request is too long").expected(format!("at most {MAX_REQUEST} bytes")));
    }
    serde_json::from_str(text).map_err(|error| Fault::new(format!("no request: {error}")))
}

#[derive(Serialize)]
struct Envelope<T: Serialize> {
    schema: u32,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
struct FaultContent<'f> {
    error: &'f Fault,
}

/// Returns a fault as JSON.
pub fn fault_json(fault: &Fault) -> String {
    let envelope = Envelope { schema: SCHEMA, content: FaultContent { error: fault } };
    serde_json::to_string(&envelope).unwrap_or_default()
}

/// Returns an answer as JSON.
pub fn response_json(answer: Answer<Response>) -> String {
    let response = match answer {
        Ok(response) => response,
        Err(fault) => return fault_json(&fault),
    };
    match serde_json::to_string(&Envelope { schema: SCHEMA, content: response }) {
        Ok(text) if text.len() <= MAX_RESPONSE => text,
        Ok(text) => fault_json(
            &Fault::new(format!("the answer has {} bytes", text.len()))
                .expected(format!("at most {MAX_RESPONSE}"))
                .hint("ask for less at a time"),
        ),
        Err(error) => fault_json(&Fault::new(format!("the answer can't be written: {error}"))),
    }
}
