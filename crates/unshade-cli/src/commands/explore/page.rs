//! The files of the page, which are in the program.

/// Name, media type and bytes of each.
static FILES: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// What is shown if the program was built without the page.
const NO_PAGE: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>unshade</title><p>This program was built \
without the folder <code>web</code>, which has the page. What the page asks is answered at <code>api</code>.";

/// How the page of a static host asks, and how that of this server does.
const TRANSPORT: (&str, &str) = ("data-transport=\"worker\"", "data-transport=\"server\"");

/// Media type and bytes of a file; an empty name is the page itself.
pub(in crate::commands) fn file(name: &str) -> Option<(&'static str, Vec<u8>)> {
    let name = if name.is_empty() { "index.html" } else { name };
    let Some((_, media_type, bytes)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return (name == "index.html").then(|| ("text/html; charset=utf-8", NO_PAGE.as_bytes().to_vec()));
    };
    if name == "index.html" {
        let page = String::from_utf8_lossy(bytes).replace(TRANSPORT.0, TRANSPORT.1);
        return Some((media_type, page.into_bytes()));
    }
    Some((media_type, bytes.to_vec()))
}
