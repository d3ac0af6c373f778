//! Tests the server over real connections: its responses, and a list of attacks with the expected results.

use super::*;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

struct Running {
    port: u16,
    token: String,
}

/// Starts a server for these files, on a thread that ends with the tests.
fn serve(files: &[&str]) -> Running {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let paths: Vec<_> = files.iter().map(|file| root.join(file)).collect();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (token, port) = (Token::random().unwrap(), listener.local_addr().unwrap().port());
    let running = Running { port, token: token.as_str().to_owned() };
    let files = Files::list(&paths).unwrap();
    let server = Arc::new(Server { files, token, port, connections: AtomicUsize::new(0) });
    std::thread::spawn(move || server.serve(&listener));
    running
}

struct Answered {
    status: u16,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

impl Running {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends text unchanged.
    fn send(&self, text: &str) -> Answered {
        let mut stream = self.connect();
        let _ = stream.write_all(text.as_bytes());
        read_answer(&mut stream)
    }

    fn get(&self, path: &str, headers: &str) -> Answered {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{headers}\r\n", self.port))
    }

    fn path(&self, name: &str) -> String {
        format!("/{}/{name}", self.token)
    }

    fn post(&self, name: &str, body: &str, headers: &str) -> Answered {
        self.send(&self.question(name, body, headers))
    }

    fn question(&self, name: &str, body: &str, headers: &str) -> String {
        format!(
            "POST {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.path(name),
            self.port,
            body.len()
        )
    }
}

fn read_answer(stream: &mut TcpStream) -> Answered {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    let end = |bytes: &[u8]| bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
    let mut size = None;
    while size.is_none_or(|size| bytes.len() < size) {
        let count = stream.read(&mut buffer).unwrap_or(0);
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(&buffer[..count]);
        if let (None, Some(head)) = (size, end(&bytes)) {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            size = Some(head + length.unwrap_or(0));
        }
    }
    let head = end(&bytes).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let headers = text.lines().skip(1).filter_map(|line| line.split_once(": "));
    Answered {
        status,
        headers: headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect(),
        body: bytes[head..].to_vec(),
    }
}

const LIBRARY: &str = "tests/fixtures/metallib/vertex_fragment.metallib";

#[test]
fn answers_are_those_of_the_library() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("tests/query/requests.txt")).unwrap();
    let files: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    let server = serve(&files);
    let mut lines = text.lines();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let Some(request) = line.strip_prefix("> ") else { continue };
        let expected = lines.next().unwrap();
        let answered = server.post("api", request, "");
        let is_request = parse_request(request).is_ok();
        let is_missing = expected.contains("\"error\":{\"message\":\"no file");
        assert_eq!(
            answered.status,
            if !is_request {
                400
            } else if is_missing {
                404
            } else {
                200
            },
            "{request}"
        );
        if !is_missing {
            assert_eq!(String::from_utf8(answered.body).unwrap(), expected, "{request}");
        }
        count += 1;
    }
    assert!(count > 50);
}

#[test]
fn the_page_and_what_is_taken_away() {
    let server = serve(&[LIBRARY]);
    let page = server.get(&server.path(""), "Sec-Fetch-Site: none\r\n");
    assert_eq!((page.status, page.headers["content-type"].as_str()), (200, "text/html; charset=utf-8"));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(page.headers[name], value);
    }
    let policy = &page.headers["content-security-policy"];
    for part in ["default-src 'none'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part) && !policy.contains("unsafe"), "{policy}");
    }
    assert!(!page.headers.keys().any(|name| name.starts_with("access-control")));
    let taken = server.post("bytes", r#"{"query":"extract","file":0,"what":"program"}"#, "");
    assert_eq!(
        (taken.status, taken.headers["x-unshade-file-name"].as_str()),
        (200, "vertex_fragment.metallib")
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(LIBRARY);
    assert_eq!(taken.body, std::fs::read(file).unwrap());
    let none = server.post("bytes", r#"{"query":"extract","file":0,"what":"source","name":"x"}"#, "");
    assert_eq!(none.status, 422);
    assert_eq!(server.get("/favicon.ico", "").status, 204);
}

/// Each attack, with the expected result.
#[test]
fn attacks() {
    let server = serve(&[LIBRARY]);
    let port = server.port;
    let api = server.path("api");
    let files = r#"{"query":"files"}"#;
    let asked = |headers: &str| server.post("api", files, headers).status;
    let host = |host: &str| {
        let head = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", files.len());
        server.send(&format!("POST {api} HTTP/1.1\r\nHost: {host}\r\n{head}\r\n{files}")).status
    };
    assert_eq!(asked(""), 200, "the page itself");
    assert_eq!(asked(&format!("Origin: http://127.0.0.1:{port}\r\nSec-Fetch-Site: same-origin\r\n")), 200);

    // A request from another page in the same browser.
    assert_eq!(asked("Origin: https://evil.example\r\n"), 403, "foreign Origin");
    assert_eq!(asked("Origin: null\r\n"), 403, "Origin of a sandbox or a file");
    assert_eq!(asked("Origin: http://127.0.0.1:1\r\n"), 403, "Origin of another port");
    assert_eq!(asked("Sec-Fetch-Site: cross-site\r\n"), 403, "cross-site without an Origin");
    assert_eq!(
        server
            .send(&format!(
                "OPTIONS {api} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: https://evil.example\r\n\r\n"
            ))
            .status,
        403,
        "preflight"
    );
    let form = format!(
        "POST {api} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    assert_eq!(server.send(&form).status, 415, "a form's body");

    // DNS rebinding.
    for name in [
        "evil.example",
        &format!("evil.example:{port}"),
        "127.0.0.1",
        "[::1]",
        &format!("127.0.0.1:{port}.evil.example"),
    ] {
        assert_eq!(host(name), 403, "Host {name}");
    }
    assert_eq!(host(&format!("localhost:{port}")), 200);
    assert_eq!(server.send(&format!("GET {api} HTTP/1.1\r\n\r\n")).status, 403, "no Host");
    assert_eq!(asked("Host: evil.example\r\n"), 400, "two Hosts");

    // A missing or wrong token.
    for path in [
        "/",
        "/api",
        "/00000000000000000000000000000000/api",
        "//api",
        &format!("/{}/api", &server.token[..31]),
    ] {
        assert_eq!(server.get(path, "").status, 403, "{path}");
    }

    // Files that are not open.
    for name in [
        "../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "/etc/passwd",
        "..\\..\\x",
        "app.js/../../Cargo.toml",
        "%00",
        "Cargo.toml",
    ] {
        assert_eq!(server.get(&server.path(name), "").status, 404, "{name}");
    }
    // Only the page reads the query of its address.
    for name in ["?url=https%3A%2F%2Ffiles.example%2Fa.metallib", "app.js?", "?"] {
        assert_eq!(server.get(&server.path(name), "").status, 200, "{name}");
    }
    assert_eq!(server.get(&format!("/?/{}/", server.token), "").status, 403, "the token in the query");
    assert_eq!(server.post("api", r#"{"query":"overview","file":1}"#, "").status, 404);
    assert_eq!(server.post("api", r#"{"query":"overview","file":"/etc/passwd"}"#, "").status, 400);

    // Oversized ranges, counts and bodies.
    for request in [
        r#"{"query":"hex","from":18446744073709551615,"count":18446744073709551615}"#,
        r#"{"query":"rows","from":4294967295,"count":4294967295}"#,
        r#"{"query":"listing","item":0,"from":4294967295,"count":4294967295}"#,
        r#"{"query":"outline","from":4294967295,"count":4294967295}"#,
        r#"{"query":"search","scope":"bytes","text":"00","limit":4294967295,"budget_ms":4294967295}"#,
    ] {
        let answered = server.post("api", request, "");
        assert_eq!(answered.status, 200, "{request}");
        assert!(answered.body.len() < 1 << 20, "{request}");
    }
    assert_eq!(server.post("api", &" ".repeat(MAX_REQUEST + 1), "").status, 413, "a long body");
    let long = format!(
        "GET {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: {}\r\n\r\n",
        server.path(""),
        "x".repeat(20_000)
    );
    assert_eq!(server.send(&long).status, 431, "a long head");
    assert_eq!(asked(&"X: y\r\n".repeat(100)), 431, "many headers");
    assert_eq!(asked("Transfer-Encoding: chunked\r\n"), 411, "a body of unknown length");
    assert_eq!(asked("Content-Length: 5\r\n"), 400, "two lengths");
    let nested = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    assert_eq!(server.post("api", &nested, "").status, 400, "deep JSON");
    assert_eq!(server.send("\0\u{1}\u{2}garbage\r\n\r\n").status, 400, "no HTTP");

    // Files that another page might have opened, and files that nobody may open.
    let name = "Content-Type: application/octet-stream\r\nX-Unshade-File-Name: x.bin\r\n";
    let open = |headers: &str, size: usize| {
        let path = server.path("open");
        let head = format!("Host: 127.0.0.1:{port}\r\nContent-Length: {size}\r\n{headers}");
        server.send(&format!("POST {path} HTTP/1.1\r\n{head}\r\n12345")).status
    };
    assert_eq!(open(&format!("{name}Origin: https://evil.example\r\n"), usize::MAX >> 1), 403, "unread");
    assert_eq!(open(name, MAX_DROPPED + 1), 413, "a file that is too long");
    assert_eq!(open("Content-Type: text/plain\r\nX-Unshade-File-Name: x\r\n", 5), 415, "a form's file");
    assert_eq!(open("Content-Type: application/octet-stream\r\n", 5), 400, "no name");
    let bad = "Content-Type: application/octet-stream\r\nX-Unshade-File-Name: %ff%0\r\n";
    assert_eq!(open(bad, 5), 400, "a name that is no text");
    let many =
        format!("Content-Type: application/octet-stream\r\nX-Unshade-File-Name: {}\r\n", "x".repeat(5000));
    assert_eq!(open(&many, 5), 400, "a long name");
    assert_eq!(server.get(&server.path("open"), "").status, 405);

    // The server still runs.
    assert_eq!(asked(""), 200);
}

#[test]
fn files_that_are_dropped_are_files() {
    let server = serve(&[]);
    let library = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(LIBRARY)).unwrap();
    let open = |name: &str| {
        let mut stream = server.connect();
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/octet-stream\r\nX-Unshade-File-Name: {name}\r\nContent-Length: {}\r\n\r\n",
            server.path("open"),
            server.port,
            library.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&library).unwrap();
        let answered = read_answer(&mut stream);
        assert_eq!(answered.status, 200);
        String::from_utf8(answered.body).unwrap()
    };
    assert!(open("..%2Fa%20b.metallib").contains(r#""file":0,"name":"../a b.metallib""#));
    // A name is not a path; a second file of the same name is another file.
    assert!(open("..%2Fa%20b.metallib").contains(r#""file":1,"name":"../a b.metallib (1)""#));
    let taken = server.post("bytes", r#"{"query":"extract","file":1,"what":"program"}"#, "");
    assert_eq!(taken.body, library);
    let rows = server.post("api", r#"{"query":"rows","file":1}"#, "");
    assert!(String::from_utf8(rows.body).unwrap().contains(r#""total":2"#));
}

#[test]
fn a_thousand_at_once() {
    let server = serve(&[LIBRARY]);
    let request = r#"{"query":"rows","file":0}"#;
    let expected = server.post("api", request, "").body;
    let (mut answered, mut turned_away) = (0, 0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    // Fifty connections are open before the first request.
                    let mut streams: Vec<TcpStream> = (0..50).map(|_| server.connect()).collect();
                    for stream in &mut streams {
                        let _ = stream
                            .write_all(server.question("api", request, "Connection: close\r\n").as_bytes());
                    }
                    streams.iter_mut().map(read_answer).collect::<Vec<_>>()
                })
            })
            .collect();
        for one in threads.into_iter().flat_map(|thread| thread.join().unwrap()) {
            match one.status {
                200 => {
                    assert_eq!(one.body, expected);
                    answered += 1;
                }
                // A connection that was refused before its request was read may be reset.
                503 | 0 => turned_away += 1,
                status => panic!("status {status}"),
            }
        }
    });
    assert!(
        answered >= 100 && answered + turned_away == 1_000,
        "{answered} answered, {turned_away} turned away"
    );
    assert_eq!(server.post("api", request, "").body, expected);
}

#[test]
fn slow_clients_do_not_keep_others_waiting() {
    let server = serve(&[LIBRARY]);
    let mut slow: Vec<TcpStream> = (0..100).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"POST /").unwrap();
    }
    let start = Instant::now();
    assert_eq!(server.post("api", r#"{"query":"files"}"#, "").status, 200);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    // Sending a byte now and then does not extend the time.
    let patience = Instant::now();
    let mut one = slow.pop().unwrap();
    while patience.elapsed() < Duration::from_secs(8) && one.write_all(b"x").is_ok() {
        std::thread::sleep(Duration::from_millis(500));
    }
    let answered = read_answer(&mut one);
    assert!(
        matches!(answered.status, 408 | 0) && patience.elapsed() < Duration::from_secs(12),
        "{}",
        answered.status
    );
}

#[test]
fn connections_are_kept_and_pipelined() {
    let server = serve(&[LIBRARY]);
    let mut stream = server.connect();
    let question = server.question("api", r#"{"query":"files"}"#, "");
    stream.write_all(format!("{question}{question}").as_bytes()).unwrap();
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while text.matches("HTTP/1.1 200").count() < 2 || !text.ends_with('}') {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    stream.write_all(question.as_bytes()).unwrap();
    assert_eq!(read_answer(&mut stream).status, 200);
}
