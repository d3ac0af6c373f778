//! The subset of HTTP/1.1 that a browser on the same computer needs: requests and responses with a length, and
//! persistent connections.
//!
//! It is written here, on `httparse`, because it needs what well-known small servers leave to a proxy: limits on a
//! client's time, bytes and number of connections.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Maximum size of a request's head.
const MAX_HEAD: usize = 16 << 10;

/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 64;

/// Maximum time for a head, and then for a body, to arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// Minimum bytes per second of a body that takes longer.
const LEAST_RATE: usize = 8 << 20;

/// Maximum idle time of a connection.
const IDLE: Duration = Duration::from_secs(20);

/// Maximum time for a client to accept the next part of a response.
const WRITE_PATIENCE: Duration = Duration::from_secs(20);

/// A request: the parts that the server uses.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path of the address, without the query after `?`, which only the page reads.
    pub(super) path: String,
    /// Lowercase names, and values.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// Returns the value of a header that occurs at most once; `Err` if it occurs more often.
    pub(super) fn header(&self, name: &str) -> Result<Option<&str>, Refused> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        let value = values.next().map(|(_, value)| value.as_str());
        if values.next().is_some() { Err(Refused(400, "a header occurs twice")) } else { Ok(value) }
    }
}

/// A status, and the error in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused(pub(super) u16, pub(super) &'static str);

/// The result of reading a request.
pub(super) enum Next {
    Request(Request),
    /// The client closed the connection, or sends no more requests.
    End,
    /// The connection is closed after a response with the reason.
    Refused(Refused),
}

/// A connection.
pub(super) struct Connection {
    stream: TcpStream,
    /// Bytes that were read but belong to no request yet.
    pending: Vec<u8>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> std::io::Result<Self> {
        stream.set_write_timeout(Some(WRITE_PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, pending: Vec::new() })
    }

    /// Reads the next request. `max_body` returns the maximum size of the body for a head, or the reason to refuse it.
    pub(super) fn next(&mut self, max_body: impl Fn(&Request) -> Result<usize, Refused>) -> Next {
        let mut deadline = Instant::now() + if self.pending.is_empty() { IDLE } else { PATIENCE };
        let mut has_begun = !self.pending.is_empty();
        let (mut request, head_size, body_size) = loop {
            match parse_head(&self.pending) {
                Ok(Some(head)) => break head,
                Ok(None) if self.pending.len() > MAX_HEAD => {
                    return Next::Refused(Refused(431, "the head is too long"));
                }
                Ok(None) => {}
                Err(refused) => return Next::Refused(refused),
            }
            match self.read_more(deadline) {
                Ok(0) => return Next::End,
                Ok(_) if !has_begun => {
                    has_begun = true;
                    deadline = Instant::now() + PATIENCE;
                }
                Ok(_) => {}
                Err(_) if !has_begun => return Next::End,
                Err(_) => return Next::Refused(Refused(408, "the request took too long")),
            }
        };
        match max_body(&request) {
            Ok(max) if body_size > max => return Next::Refused(Refused(413, "the body is too long")),
            Ok(_) => {}
            Err(refused) => return Next::Refused(refused),
        }
        let size = head_size + body_size;
        let deadline = Instant::now() + PATIENCE + Duration::from_secs((body_size / LEAST_RATE) as u64);
        while self.pending.len() < size {
            match self.read_more(deadline) {
                Ok(0) => return Next::End,
                Ok(_) => {}
                Err(_) => return Next::Refused(Refused(408, "the body took too long")),
            }
        }
        let rest = self.pending.split_off(size);
        request.body = std::mem::replace(&mut self.pending, rest).split_off(head_size);
        Next::Request(request)
    }

    /// Waits for bytes until a deadline, and returns how many arrived.
    fn read_more(&mut self, deadline: Instant) -> std::io::Result<usize> {
        let mut buffer = [0; 16 << 10];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut buffer) {
                Ok(count) => {
                    self.pending.extend_from_slice(buffer.get(..count).unwrap_or_default());
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns whether the client closed the connection, so that nobody waits for a response.
    pub(super) fn is_gone(&self) -> bool {
        is_closed(&self.stream)
    }

    /// Returns a check that does what [`Self::is_gone`] does, for long work.
    pub(super) fn watcher(&self) -> Box<dyn Fn() -> bool> {
        match self.stream.try_clone() {
            Ok(stream) => Box::new(move || is_closed(&stream)),
            Err(_) => Box::new(|| false),
        }
    }

    /// Writes a response.
    pub(super) fn answer(&mut self, answer: &Answer, is_head: bool, keep: bool) -> std::io::Result<()> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
        head.push_str(HEADERS);
        head.push_str(&format!(
            "Content-Type: {}\r\nContent-Length: {}\r\n",
            answer.media_type,
            answer.body.len()
        ));
        if let Some(name) = &answer.file_name {
            head.push_str(&format!("X-Unshade-File-Name: {}\r\n", percent_encoded(name)));
        }
        head.push_str(if keep { "Connection: keep-alive\r\n\r\n" } else { "Connection: close\r\n\r\n" });
        self.stream.write_all(head.as_bytes())?;
        if !is_head {
            self.stream.write_all(&answer.body)?;
        }
        self.stream.flush()
    }

    /// Closes the connection so that a response arrives even if the request was not read to its end.
    pub(super) fn close(mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        let _ = self.stream.set_read_timeout(Some(Duration::from_millis(200)));
        let mut buffer = [0; 4096];
        for _ in 0..16 {
            if !matches!(self.stream.read(&mut buffer), Ok(count) if count > 0) {
                break;
            }
        }
    }
}

/// The headers of every response: only this page may use it, and it may use nothing else.
const HEADERS: &str = concat!(
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; ",
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n",
    "X-Content-Type-Options: nosniff\r\n",
    "X-Frame-Options: DENY\r\n",
    "Referrer-Policy: no-referrer\r\n",
    "Cross-Origin-Resource-Policy: same-origin\r\n",
    "Cross-Origin-Opener-Policy: same-origin\r\n",
    "Cross-Origin-Embedder-Policy: require-corp\r\n",
    "Permissions-Policy: camera=(), geolocation=(), microphone=()\r\n",
    "Cache-Control: no-store\r\n",
);

/// A response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) media_type: &'static str,
    pub(super) body: Vec<u8>,
    /// The file name of a download.
    pub(super) file_name: Option<String>,
}

impl Answer {
    pub(super) fn new(status: u16, media_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, media_type, body: body.into(), file_name: None }
    }

    pub(super) fn json(status: u16, body: String) -> Self {
        Self::new(status, "application/json", body)
    }
}

/// Returns whether the other side closed a connection.
fn is_closed(stream: &TcpStream) -> bool {
    let mut byte = [0];
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let peeked = stream.peek(&mut byte);
    let is_back = stream.set_nonblocking(false).is_ok();
    match peeked {
        Ok(count) => count == 0 || !is_back,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

/// Returns a request without its body, the size of the head, and that of the body; [`None`] if the head is incomplete.
fn parse_head(bytes: &[u8]) -> Result<Option<(Request, usize, usize)>, Refused> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let size = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(size)) => size,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refused(431, "there are too many headers")),
        Err(_) => return Err(Refused(400, "this is no HTTP")),
    };
    if size > MAX_HEAD {
        return Err(Refused(431, "the head is too long"));
    }
    let text = |bytes: &[u8]| {
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Refused(400, "a header is no text"))
    };
    let path = parsed.path.unwrap_or_default();
    let mut request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: path.split_once('?').map_or(path, |(path, _)| path).to_owned(),
        ..Request::default()
    };
    for header in parsed.headers.iter() {
        request.headers.push((header.name.to_ascii_lowercase(), text(header.value)?));
    }
    if request.header("transfer-encoding")?.is_some() {
        return Err(Refused(411, "a body needs its length in front"));
    }
    let length = match request.header("content-length")? {
        Some(length) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().map_err(|_| Refused(413, "the body is too long"))?
        }
        Some(_) => return Err(Refused(400, "the length is no number")),
        None => 0,
    };
    Ok(Some((request, size, length)))
}

/// Returns a file name for a header, percent-encoded.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// Returns a name that is valid in a header.
fn percent_encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    }
}
