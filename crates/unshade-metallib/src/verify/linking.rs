//! Checks what linkers and loaders use: the dynamic header, lists of symbols and scripts, and the source link.
//!
//! Knowledge: the real libraries at hand. `HSRP`, which no public document describes, has one tag `LINK` of six zeros in all
//! of them.

use super::unknown_tag;
use crate::library::Library;
use crate::tag::Tags;
use alloc::format;
use unshade_core::{Diagnostics, Error, ErrorKind};

/// Checks the lists of imported symbols, exported variables and scripts.
pub(super) fn symbol_lists(library: &Library<'_>, diagnostics: &mut Diagnostics) {
    for (code, rule) in [(b"ILST", "symbol-list"), (b"VLST", "symbol-list"), (b"SLST", "script-list")] {
        let Some(groups) = diagnostics.take(rule, library.list(code)).flatten() else { continue };
        for group in groups {
            let within = |error: Error| error.within(format!("section {}", code.escape_ascii()));
            let Some(group) = diagnostics.take(rule, group.map_err(within)) else { continue };
            diagnostics.take(rule, group.tags().check().map_err(within));
            if rule == "symbol-list" && group.name().is_none() {
                diagnostics.error(
                    rule,
                    within(Error::new(ErrorKind::BadValue, group.range.start, "symbol without a NAME")),
                );
            }
        }
    }
}

/// Checks that the dynamic header is a sequence of names.
pub(super) fn dynamic_header(library: &Library<'_>, diagnostics: &mut Diagnostics) {
    let Some(header) = diagnostics.take("dynamic-header", library.dynamic_header()).flatten() else { return };
    let within = |error: Error| error.within("dynamic header");
    diagnostics.take("dynamic-header", header.tags().check().map_err(within));
    for tag in header.tags().filter_map(Result::ok) {
        match &tag.code.0 {
            b"NAME" | b"DYNL" => {
                diagnostics.take("dynamic-header", tag.c_string().map_err(within));
            }
            _ => diagnostics.note("unknown-tag", within(unknown_tag(tag.code, tag.range.start))),
        }
    }
}

/// Checks the tags of the source link, whose meaning is not known.
pub(super) fn source_link(library: &Library<'_>, diagnostics: &mut Diagnostics) {
    let Some(section) = diagnostics.take("source-link", library.section(b"HSRP")).flatten() else { return };
    let within = |error: Error| error.within("source link");
    diagnostics.take("source-link", Tags::new(section).check().map_err(within));
    for tag in Tags::new(section).filter_map(Result::ok) {
        if tag.code.0 != *b"LINK" {
            diagnostics.note("unknown-tag", within(unknown_tag(tag.code, tag.range.start)));
        } else if tag.content.data().iter().any(|byte| *byte != 0) {
            let error = Error::new(ErrorKind::BadValue, tag.range.start, "LINK is not zero");
            diagnostics.note("source-link", within(error));
        }
    }
}
