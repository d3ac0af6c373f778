//! The files of the page, as served by this server.

/// The transport of the page on a static host, and that of this server's page.
const TRANSPORT: (&str, &str) = ("data-transport=\"worker\"", "data-transport=\"server\"");

/// Returns the media type and bytes of a file; the empty name is the page itself.
pub(in crate::commands) fn file(name: &str) -> Option<(&'static str, Vec<u8>)> {
    let name = if name.is_empty() { "index.html" } else { name };
    let file = unshade_page::file(name)?;
    if name == "index.html" {
        let page = String::from_utf8_lossy(file.bytes).replace(TRANSPORT.0, TRANSPORT.1);
        return Some((file.media_type, page.into_bytes()));
    }
    Some((file.media_type, file.bytes.to_vec()))
}
