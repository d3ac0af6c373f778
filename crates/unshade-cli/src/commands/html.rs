//! `unshade html`: writes files as one self-contained page.
//!
//! The page is that of `unshade explore`. Instead of asking a server, it reads prepared answers from a data block:
//! JSON, compressed with gzip, in base64. All modules become one script, in which each is a function that returns its
//! exports. The content security policy lists the hashes of the script and the styles, so the browser runs nothing
//! else. The data block is the only place with contents of files, so names in files cannot become HTML.

use super::explore::files::Files;
use super::explore::page;
use crate::Outcome;
use crate::args::HtmlArgs;
use crate::input::NothingFound;
use crate::output::write_text;
use anyhow::{Context, Result, anyhow, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::Write as _;
use unshade::query::{Fault, Report};
use unshade_page::push_base64;

/// The entry module.
const FIRST: &str = "app.js";

pub(crate) fn run(args: &HtmlArgs) -> Result<Outcome> {
    let files = Files::list(&args.paths)?;
    let mut report = Report::default();
    let mut programs = 0;
    for (file, slot) in (0..).zip(&files.all()) {
        let added = slot.lock().session().and_then(|session| report.add(file, session));
        programs += added.map_err(|fault| with_hint(&fault)).with_context(|| slot.name().to_owned())?;
    }
    if programs == 0 {
        bail!(NothingFound("no GPU program in the files".to_owned()));
    }
    let json = report.finish(&files.entries());
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(json.as_bytes())?;
    write_text(&args.output, &html(&packer.finish()?)?)?;
    Ok(Outcome::Done)
}

/// An error with advice.
fn with_hint(fault: &Fault) -> anyhow::Error {
    match &fault.hint {
        Some(hint) => anyhow!("{}; {hint}", fault.message),
        None => anyhow!("{}", fault.message),
    }
}

/// Builds the page, with compressed answers.
fn html(answers: &[u8]) -> Result<String> {
    let page = text("index.html")?;
    let style = text("app.css")?;
    let script = script()?;
    for (what, part, end) in [("styles", &style, "</style"), ("script", &script, "</script")] {
        if part.to_lowercase().contains(end) || part.contains("<!--") {
            bail!("the page's {what} can't stand in a page");
        }
    }
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(&style)
    );
    let mut out = String::with_capacity(answers.len() / 3 * 4 + page.len() + style.len() + script.len());
    for line in page.lines() {
        if line.starts_with("<meta http-equiv=\"Content-Security-Policy\"") {
            write!(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">")?;
        } else if line.starts_with("<link rel=\"stylesheet\"") {
            write!(out, "<style>{style}</style>")?;
        } else if line.starts_with("<script type=\"module\"") {
            write!(out, "<script type=\"module\">{script}</script>")?;
        } else if line == "</body>" {
            out.push_str("<script type=\"application/gzip\" id=\"report\">");
            push_base64(&mut out, answers);
            out.push_str("</script>\n</body>");
        } else {
            // The page is delivered like that of the server.
            out.push_str(&line.replace("data-transport=\"server\"", "data-transport=\"inline\""));
        }
        out.push('\n');
    }
    Ok(out)
}

fn text(name: &str) -> Result<String> {
    let (_, bytes) = page::file(name).with_context(|| format!("the page has no file {name}"))?;
    String::from_utf8(bytes).with_context(|| name.to_owned())
}

/// Returns all modules of the page as one script.
fn script() -> Result<String> {
    unshade_page::bundle(FIRST, &|name| text(name).ok()).map_err(|error| anyhow!(error))
}

/// Returns the hash of a text for a content security policy.
fn hash(text: &str) -> String {
    let mut hash = String::from("sha256-");
    push_base64(&mut hash, unshade_sha256::digest(text.as_bytes()).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64() {
        let encoded = |bytes: &[u8]| {
            let mut out = String::new();
            push_base64(&mut out, bytes);
            out
        };
        assert_eq!(
            [encoded(b""), encoded(b"f"), encoded(b"fo"), encoded(b"foo")],
            ["", "Zg==", "Zm8=", "Zm9v"]
        );
        assert_eq!(encoded(&[0xfb, 0xff, 0xfe, 0x00]), "+//+AA==");
        // The hash of the empty text, as policies write it.
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn policy_names_what_stands_in_the_page() {
        let html = html(b"answers").unwrap();
        let between = |start: &str, end: &str| {
            let rest = html.split_once(start).unwrap().1;
            rest.split_once(end).unwrap().0
        };
        assert!(html.contains("data-transport=\"inline\""));
        assert!(html.contains(&hash(between("<script type=\"module\">", "</script>"))));
        assert!(html.contains(&hash(between("<style>", "</style>"))));
        assert!(!html.contains("'self'") && !html.contains("unsafe"));
        assert_eq!(html.matches("<script").count(), 2);
        assert!(html.contains("id=\"report\">YW5zd2Vycw==</script>"));
    }
}
