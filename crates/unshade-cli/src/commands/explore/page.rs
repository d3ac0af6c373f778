//! The files of the page, as served by this server.

/// What the page on a static host has, and what this server's page has instead: another transport, and no requests to
/// other servers, which links may ask for there.
const CHANGES: [(&str, &str); 2] = [
    ("data-transport=\"worker\"", "data-transport=\"server\""),
    ("connect-src 'self' https:", "connect-src 'self'"),
];

/// What lines have that are only for the page on a static host.
const STATIC_ONLY: &str = " data-static";

/// Returns the media type and bytes of a file; the empty name is the page itself.
pub(in crate::commands) fn file(name: &str) -> Option<(&'static str, Vec<u8>)> {
    let name = if name.is_empty() { "index.html" } else { name };
    let file = unshade_page::file(name)?;
    if name == "index.html" {
        let page = String::from_utf8_lossy(file.bytes);
        let kept = page.split_inclusive('\n').filter(|line| !line.contains(STATIC_ONLY)).collect();
        let page = CHANGES.iter().fold::<String, _>(kept, |page, (from, to)| page.replace(from, to));
        return Some((file.media_type, page.into_bytes()));
    }
    Some((file.media_type, file.bytes.to_vec()))
}
