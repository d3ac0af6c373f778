//! Decides who may send requests, by the token in the address and the headers that browsers set.
//!
//! Any page in a browser can send requests to localhost. The token, which is in the path of every address, is unknown
//! to other pages. A page under a name that resolves to this computer (DNS rebinding) sends that name as `Host`; a page
//! from elsewhere sends its `Origin`. Each of these checks alone refuses a request.

use std::fmt::Write;

/// A token of 128 random bits as 32 hex digits.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        let mut text = String::new();
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a text is the token, in constant time.
    fn is(&self, text: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), text.as_bytes());
        let mut difference = own.len() ^ other.len();
        for (at, byte) in own.iter().enumerate() {
            difference |= usize::from(byte ^ other.get(at).copied().unwrap_or(0));
        }
        difference == 0
    }
}

/// The headers of a request that identify its origin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct From<'r> {
    /// `Host`; must occur exactly once.
    pub(super) host: Option<&'r str>,
    /// `Origin`.
    pub(super) origin: Option<&'r str>,
    /// `Sec-Fetch-Site`.
    pub(super) site: Option<&'r str>,
}

/// The reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The request is for another host.
    Host,
    /// The request comes from another page.
    Origin,
    /// The token is missing or wrong.
    Token,
}

/// Returns the path after the token, for a request that may be answered.
pub(super) fn admit<'r>(path: &'r str, from: From<'_>, port: u16, token: &Token) -> Result<&'r str, Refusal> {
    let names = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let host = from.host.filter(|host| names.iter().any(|name| name == host)).ok_or(Refusal::Host)?;
    if from.origin.is_some_and(|origin| origin.strip_prefix("http://") != Some(host)) {
        return Err(Refusal::Origin);
    }
    // `none` is an address that was typed, or opened from another program.
    if from.site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(Refusal::Origin);
    }
    let (given, rest) = path.strip_prefix('/').and_then(|path| path.split_once('/')).ok_or(Refusal::Token)?;
    if token.is(given) { Ok(rest) } else { Err(Refusal::Token) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_itself_may_ask() {
        let token = Token("0123456789abcdef0123456789abcdef".into());
        let path = format!("/{}/api", token.as_str());
        let here = From { host: Some("127.0.0.1:8000"), ..From::default() };
        let ask = |path: &str, from| admit(path, from, 8_000, &token).map(str::to_owned);
        assert_eq!(ask(&path, here), Ok("api".into()));
        let same = From { origin: Some("http://127.0.0.1:8000"), site: Some("same-origin"), ..here };
        assert_eq!(ask(&path, same), Ok("api".into()));
        for host in ["evil.example:8000", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8000.evil.example", ""] {
            assert_eq!(ask(&path, From { host: Some(host), ..here }), Err(Refusal::Host), "{host}");
        }
        assert_eq!(ask(&path, From::default()), Err(Refusal::Host));
        for origin in
            ["https://127.0.0.1:8000", "http://localhost:8000", "null", "http://evil.example", "file://"]
        {
            assert_eq!(ask(&path, From { origin: Some(origin), ..here }), Err(Refusal::Origin), "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            assert_eq!(ask(&path, From { site: Some(site), ..here }), Err(Refusal::Origin), "{site}");
        }
        for path in [
            "/",
            "/api",
            "//api",
            "/0123456789abcdef0123456789abcdee/api",
            "/0123/api",
            "/0123456789abcdef0123456789abcdef",
        ] {
            assert_eq!(ask(path, here), Err(Refusal::Token), "{path}");
        }
    }

    #[test]
    fn tokens_differ() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert!(one.as_str().len() == 32 && one.as_str() != other.as_str());
    }
}
