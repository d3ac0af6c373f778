//! `unshade html`: writes files as one self-contained page.
//!
//! The page is that of `unshade explore`. Instead of asking a server, it reads prepared answers from a data block: each
//! line is a block of answers, compressed with deflate, in base64; the first is their index. The page unpacks a block when
//! an answer in it is shown. All modules become one script, in which each is a function that returns its
//! exports. The content security policy lists the hashes of the script and the styles, so the browser runs nothing
//! else. The data block is the only place with contents of files, so names in files cannot become HTML.

use super::explore::files::Files;
use super::explore::page;
use super::programs::require_selected;
use crate::Outcome;
use crate::args::HtmlArgs;
use crate::input::{Input, NothingFound, is_folder};
use crate::output::write_text;
use anyhow::{Context, Result, anyhow, bail};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use unshade::carve::Limits;
use unshade::program::Verb;
use unshade::query::{Fault, PARTS, Report};
use unshade::select::Selection;
use unshade_page::push_base64;

/// The entry module.
const FIRST: &str = "app.js";

pub(crate) fn run(args: &HtmlArgs) -> Result<Outcome> {
    let (paths, selection) = args.targets.split()?;
    check_selection(&paths, &selection)?;
    let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
    let files = Files::list(&paths)?;
    let mut report = Report::new(packed);
    let mut found = 0;
    for slot in files.all() {
        let added = slot.lock().session().and_then(|session| report.add(session, &selection));
        found += added.map_err(|fault| with_hint(&fault)).with_context(|| slot.name().to_owned())?;
    }
    if found == 0 {
        let what =
            if selection.is_everything() { "no GPU program in the files" } else { "no function matches" };
        bail!(NothingFound(what.to_owned()));
    }
    for part in PARTS {
        for (file, slot) in (0..).zip(&files.all()) {
            if let Ok(session) = slot.lock().session() {
                report.fill(part, file, session);
            }
        }
    }
    let answers = report.finish(&files.entries());
    write_text(&args.output, &html(&answers.blocks)?)?;
    if let Some(note) = answers.left_out {
        let name = args.output.output.as_deref().map_or_else(|| "the report".into(), Path::to_string_lossy);
        anstream::eprintln!(
            "{name} is not complete: {note}; `unshade html FILE FUNCTION… -o REPORT` makes one of some functions"
        );
    }
    Ok(Outcome::Done)
}

/// Fails unless every selector matches something.
fn check_selection(paths: &[OsString], selection: &Selection) -> Result<()> {
    if selection.selectors.is_empty() || paths.iter().any(|path| is_folder(Path::new(path))) {
        return Ok(());
    }
    let inputs = paths.iter().map(Input::open).collect::<Result<Vec<_>>>()?;
    require_selected(&inputs, selection, Verb::Html, &Limits::default())
}

/// Compresses a block.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
    // Memory can always be written to.
    let _ = packer.write_all(bytes);
    packer.finish().unwrap_or_default()
}

/// An error with advice.
fn with_hint(fault: &Fault) -> anyhow::Error {
    match &fault.hint {
        Some(hint) => anyhow!("{}; {hint}", fault.message),
        None => anyhow!("{}", fault.message),
    }
}

/// Builds the page, with compressed answers: one line for each block.
fn html(answers: &[Vec<u8>]) -> Result<String> {
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
    let size: usize = answers.iter().map(|block| block.len() / 3 * 4 + 8).sum();
    let mut out = String::with_capacity(size + page.len() + style.len() + script.len());
    for line in page.lines() {
        if line.starts_with("<meta http-equiv=\"Content-Security-Policy\"") {
            write!(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">")?;
        } else if line.starts_with("<link rel=\"stylesheet\"") {
            write!(out, "<style>{style}</style>")?;
        } else if line.starts_with("<script type=\"module\"") {
            write!(out, "<script type=\"module\">{script}</script>")?;
        } else if line == "</body>" {
            out.push_str("<script type=\"application/octet-stream\" id=\"report\">");
            for (number, block) in answers.iter().enumerate() {
                out.push_str(if number > 0 { "\n" } else { "" });
                push_base64(&mut out, block);
            }
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
        let html = html(&[b"answers".to_vec(), b"more".to_vec()]).unwrap();
        let between = |start: &str, end: &str| {
            let rest = html.split_once(start).unwrap().1;
            rest.split_once(end).unwrap().0
        };
        assert!(html.contains("data-transport=\"inline\""));
        assert!(html.contains(&hash(between("<script type=\"module\">", "</script>"))));
        assert!(html.contains(&hash(between("<style>", "</style>"))));
        assert!(!html.contains("'self'") && !html.contains("unsafe"));
        assert_eq!(html.matches("<script").count(), 2);
        assert!(html.contains("id=\"report\">YW5zd2Vycw==\nbW9yZQ==</script>"));
    }
}
