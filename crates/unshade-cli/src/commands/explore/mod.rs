//! `unshade explore`: serves the page to a browser on this computer.
//!
//! | module | thing |
//! |---|---|
//! | `guard` | who may send requests |
//! | `http` | requests and responses |
//! | `files` | which files may be read |
//! | `page` | the files of the page |
//!
//! Each connection has a thread, and their number is small. Requests for the same file run one after another. A request
//! whose client is gone does not start; searches are split into requests of at most a second.

pub(super) mod files;
mod guard;
mod http;
pub(super) mod page;

use crate::Outcome;
use crate::args::{ExploreArgs, GlobalArgs};
use crate::output::Stdout;
use anyhow::{Context, Result, anyhow, ensure};
use files::{Files, MAX_DROPPED, Slot};
use guard::{From, Refusal, Token, admit};
use http::{Answer, Connection, Next, Refused, percent_decoded};
use std::io::{BufRead, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use unshade::core::Escaped;
use unshade::query::{
    CloseAnswer, EditAnswer, EditedFile, Fault, FilesAnswer, MAX_REQUEST, Request, Response, Run, SaveAnswer,
    fault_json, parse_request, response_json, run_answer, system_clock,
};

/// Maximum number of connections; further clients are asked to try again later.
const MAX_CONNECTIONS: usize = 128;

/// Maximum length of the name of a file dropped on the page, with its folders.
const MAX_NAME: usize = 4096;

/// Stack size of a thread: printing modules needs about as much as the main thread has.
const STACK: usize = 8 << 20;

/// Paths that browsers request by themselves, without the token.
const FAVICON: &str = "/favicon.ico";

pub(crate) fn run(args: &ExploreArgs, global: &GlobalArgs) -> Result<Outcome> {
    let files = Files::list(&args.paths)?;
    if global.json {
        return answer_lines(&files);
    }
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).context("can't listen on 127.0.0.1")?;
    let token = Token::random().map_err(|error| anyhow!("the system gives no random numbers: {error}"))?;
    let port = listener.local_addr()?.port();
    let address = format!("http://127.0.0.1:{port}/{}/", token.as_str());
    let count = match files.len() {
        0 => "no file yet: drop some on the page".to_owned(),
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    anstream::println!("{address}");
    anstream::eprintln!("{count}; only this computer can open the address. Ctrl-C ends.");
    if !args.no_open {
        open_browser(&address);
    }
    let server = Arc::new(Server { files, token, port, connections: AtomicUsize::new(0) });
    server.serve(&listener);
    Ok(Outcome::Done)
}

/// Starts the browser. If there is none, the printed address can be pasted.
fn open_browser(address: &str) {
    let (program, arguments): (_, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(address);
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if started.is_err() {
        anstream::eprintln!("open the address in a browser");
    }
}

struct Server {
    files: Files,
    token: Token,
    port: u16,
    connections: AtomicUsize,
}

impl Server {
    fn serve(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            // A connection that can't be accepted is gone; the next one may succeed.
            let Ok(stream) = stream else { continue };
            if self.connections.fetch_add(1, Ordering::AcqRel) >= MAX_CONNECTIONS {
                self.connections.fetch_sub(1, Ordering::AcqRel);
                turn_away(stream);
                continue;
            }
            let server = Arc::clone(self);
            let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
                let _count = Counted(&server.connections);
                server.converse(stream);
            });
            if thread.is_err() {
                self.connections.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// Answers the requests of a connection.
    fn converse(&self, stream: TcpStream) {
        let Ok(mut connection) = Connection::new(stream) else { return };
        loop {
            let mut request = match connection.next(|head| self.max_body(head)) {
                Next::Request(request) => request,
                Next::End => return,
                Next::Refused(refused) => {
                    let _ = connection.answer(&refuse(refused), false, false);
                    return connection.close();
                }
            };
            let answer = match self.answer(&mut request, &connection) {
                Ok(Some(answer)) => answer,
                // The client is gone.
                Ok(None) => return,
                Err(refused) => refuse(refused),
            };
            let keep = answer.status < 400 && !matches!(request.header("connection"), Ok(Some("close")));
            if connection.answer(&answer, request.method == "HEAD", keep).is_err() {
                return;
            }
            if !keep {
                return connection.close();
            }
        }
    }

    /// Returns the response to a request, or [`None`] if the client is gone before the work starts.
    fn answer(
        &self,
        request: &mut http::Request,
        connection: &Connection,
    ) -> Result<Option<Answer>, Refused> {
        if request.path == FAVICON {
            return Ok(Some(Answer::new(204, "image/x-icon", "")));
        }
        match (request.method.as_str(), self.admit(request)?) {
            ("POST", "open") => self.open(request).map(Some),
            ("POST", name @ ("api" | "bytes")) => {
                let media_type = request.header("content-type")?.unwrap_or_default();
                if media_type.split(';').next().map(str::trim) != Some("application/json") {
                    return Err(Refused(415, "requests are application/json"));
                }
                let text =
                    std::str::from_utf8(&request.body).map_err(|_| Refused(400, "the request is no text"))?;
                let question = match parse_request(text) {
                    Ok(question) => question,
                    Err(fault) => return Ok(Some(Answer::json(400, fault_json(&fault)))),
                };
                Ok(if name == "api" {
                    ask(&self.files, &question, Some(connection))
                } else {
                    self.take(&question, connection)
                })
            }
            (_, "api" | "bytes" | "open") => Err(Refused(405, "ask by POST")),
            ("GET" | "HEAD", name) => {
                let (media_type, bytes) =
                    page::file(name).ok_or(Refused(404, "the page has no such file"))?;
                Ok(Some(Answer::new(200, media_type, bytes)))
            }
            _ => Err(Refused(405, "only GET, HEAD and POST are known")),
        }
    }

    /// Returns the maximum size of a request's body: none is read of a refused request.
    fn max_body(&self, head: &http::Request) -> Result<usize, Refused> {
        if head.path == FAVICON {
            return Ok(0);
        }
        let name = self.admit(head)?;
        Ok(if (head.method.as_str(), name) == ("POST", "open") { MAX_DROPPED } else { MAX_REQUEST })
    }

    /// Returns the route of a request, if it is allowed.
    fn admit<'r>(&self, request: &'r http::Request) -> Result<&'r str, Refused> {
        let from = From {
            host: request.header("host")?,
            origin: request.header("origin")?,
            site: request.header("sec-fetch-site")?,
        };
        admit(&request.path, from, self.port, &self.token).map_err(|refusal| match refusal {
            Refusal::Host => Refused(403, "this is another host"),
            Refusal::Origin => Refused(403, "another page may not ask here"),
            Refusal::Token => Refused(403, "open the address that `unshade explore` printed, all of it"),
        })
    }

    /// Accepts a file that was dropped on the page.
    fn open(&self, request: &mut http::Request) -> Result<Answer, Refused> {
        if request.header("content-type")? != Some("application/octet-stream") {
            return Err(Refused(415, "files are application/octet-stream"));
        }
        let name = request.header("x-unshade-file-name")?.and_then(percent_decoded);
        let name = name.filter(|name| !name.is_empty() && name.len() <= MAX_NAME);
        let name = name.ok_or(Refused(400, "the file has no name"))?;
        Ok(match self.files.add(&name, std::mem::take(&mut request.body)) {
            Ok(entry) => {
                Answer::json(200, response_json(Ok(Response::Files(FilesAnswer { files: vec![entry] }))))
            }
            Err(fault) => Answer::json(422, fault_json(&fault)),
        })
    }

    /// Returns bytes as a download.
    fn take(&self, request: &Request, connection: &Connection) -> Option<Answer> {
        let Request::Extract(extract) = request else {
            return Some(Answer::json(400, fault_json(&Fault::new("only `extract` gives bytes"))));
        };
        let Some(slot) = self.files.get(extract.at.file) else { return Some(no_file()) };
        let mut file = slot.lock();
        if connection.is_gone() {
            return None;
        }
        Some(match file.session().and_then(|session| session.extract(extract)) {
            Ok(taken) => Answer {
                file_name: Some(taken.name),
                ..Answer::new(200, "application/octet-stream", taken.bytes)
            },
            Err(fault) => Answer::json(422, fault_json(&fault)),
        })
    }
}

/// Answers requests from standard input on standard output, one line of JSON each.
fn answer_lines(files: &Files) -> Result<Outcome> {
    let mut out = Stdout::new(false);
    let mut line = Vec::new();
    let mut input = std::io::stdin().lock();
    loop {
        line.clear();
        if input.by_ref().take(MAX_REQUEST as u64 + 2).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        // The rest of an oversized line would be read as another request.
        ensure!(line.len() <= MAX_REQUEST + 1, "a request has at most {MAX_REQUEST} bytes");
        let text = String::from_utf8_lossy(line.trim_ascii());
        if text.is_empty() {
            continue;
        }
        let answer = match parse_request(&text) {
            Ok(request) => ask(files, &request, None).map(|answer| answer.body).unwrap_or_default(),
            Err(fault) => fault_json(&fault).into_bytes(),
        };
        out.write_all(&answer)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    out.finish()?;
    Ok(Outcome::Done)
}

/// Returns the answer about one or two files, or [`None`] if the client is gone before the work starts.
fn ask(files: &Files, request: &Request, connection: Option<&Connection>) -> Option<Answer> {
    let is_gone = || connection.is_some_and(Connection::is_gone);
    let answer = match request {
        Request::Files {} => Ok(Response::Files(FilesAnswer { files: files.entries() })),
        request if request.other_file().is_some() => {
            let other = request.other_file().unwrap_or_default();
            let (Some(left), Some(right)) = (files.get(request.file()), files.get(other)) else {
                return Some(no_file());
            };
            // Locked in the order of their numbers, so that two requests never wait for each other.
            let is_ordered = request.file() < other;
            let (first, second) = if is_ordered { (left, right) } else { (right, left) };
            let (mut first, mut second) = (first.lock(), second.lock());
            if is_gone() {
                return None;
            }
            let (left, right) =
                if is_ordered { (&mut first, &mut second) } else { (&mut second, &mut first) };
            left.session().and_then(|left| left.handle_with(right.session()?, request))
        }
        Request::Edit(edit) => {
            let Some(slot) = files.get(edit.file) else { return Some(no_file()) };
            let mut file = slot.lock();
            if is_gone() {
                return None;
            }
            let edited = file.session().and_then(|session| session.edit(edit));
            drop(file);
            edited.and_then(|edited| keep(files, &slot, edited)).map(Response::Edit)
        }
        Request::Save(save) => files.save(save).map(|path| {
            Response::Save(SaveAnswer { path: Escaped(path.as_os_str().as_encoded_bytes()).to_string() })
        }),
        Request::Close(close) => Ok(Response::Close(CloseAnswer { closed: files.close(close.file) })),
        Request::Run(run) => launch(files, run, connection),
        request => {
            let Some(slot) = files.get(request.file()) else { return Some(no_file()) };
            let mut file = slot.lock();
            if is_gone() {
                return None;
            }
            file.session().and_then(|session| session.handle(request.file(), request))
        }
    };
    Some(Answer::json(200, response_json(answer)))
}

/// Adds a file that an edit has made.
fn keep(files: &Files, from: &Slot, edited: EditedFile) -> Result<EditAnswer, Fault> {
    let EditedFile { name, bytes, notes, faults } = edited;
    let file = faults.is_empty().then(|| files.add_edited(from, &name, bytes)).transpose()?;
    Ok(EditAnswer { file, notes, faults })
}

/// Runs a kernel or shader. No file is locked meanwhile, and the launch ends when the client is gone.
fn launch(files: &Files, run: &Run, connection: Option<&Connection>) -> Result<Response, Fault> {
    let slot = |file| files.get(file).ok_or_else(|| Fault::new(format!("no file {file}")));
    let mut job = slot(run.at.file)?.lock().session()?.run_job(run)?;
    for file in job.wanted_files() {
        job.files.insert(file, slot(file)?.lock().session()?.contents()?);
    }
    let is_gone = connection.map_or_else(|| Box::new(|| false) as Box<dyn Fn() -> bool>, Connection::watcher);
    run_answer(&job, system_clock, is_gone)
}

/// Counts a connection while it exists.
struct Counted<'c>(&'c AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn no_file() -> Answer {
    Answer::json(404, fault_json(&Fault::new("no such file")))
}

fn refuse(Refused(status, message): Refused) -> Answer {
    Answer::json(status, fault_json(&Fault::new(message)))
}

/// Responds that there are too many connections.
fn turn_away(stream: TcpStream) {
    if let Ok(mut connection) = Connection::new(stream) {
        let _ = connection.answer(
            &refuse(Refused(503, "there are too many connections; try again")),
            false,
            false,
        );
    }
}

#[cfg(test)]
mod tests;
