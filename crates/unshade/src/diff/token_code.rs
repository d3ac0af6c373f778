//! Compares Direct3D token programs, instruction by instruction. Programs of two files or containers are matched by
//! path.
//!
//! Their text contains no numbers that shift with a new instruction, so lines are compared as they are.

use super::PartChange;
use super::lines::Change;
use super::listing::Listing;
use crate::disassembly::{TokenProgram, TokenSource, token_programs};
use unshade_core::{Diagnostics, TokenKind, TokenSink};

/// Returns the programs that differ, in the order of the first file, then those that are only in the second.
pub(super) fn compare(before: &TokenSource<'_>, after: &TokenSource<'_>, context: usize) -> Vec<PartChange> {
    let (old, mut new) = (programs(before), programs(after));
    let mut changes = Vec::new();
    for (name, program) in old {
        let Some(place) = new.iter().position(|(other, _)| *other == name) else {
            changes.push(PartChange::one_sided(name, Change::Removed));
            continue;
        };
        let (_, other) = new.remove(place);
        let mut change = PartChange::one_sided(name, Change::Same);
        change.code = listing(&program).diff(&listing(&other), context);
        if !change.code.is_empty() {
            changes.push(change);
        }
    }
    changes.extend(new.into_iter().map(|(name, _)| PartChange::one_sided(name, Change::Added)));
    changes
}

/// Returns the programs with their names.
fn programs(source: &TokenSource<'_>) -> Vec<(String, TokenProgram)> {
    // `verify` and `dis` report what can't be read.
    let found = token_programs("", source, &mut Diagnostics::new()).unwrap_or_default();
    let named = found.into_iter().map(|(path, program)| {
        let place = path.trim_start_matches('!');
        let name = if place.is_empty() { "code".to_owned() } else { format!("code of {place}") };
        (name, program)
    });
    named.collect()
}

fn listing(program: &TokenProgram) -> Listing {
    let mut listing = Listing::default();
    for line in program.lines(&(0..program.len())) {
        listing.put(TokenKind::Text, &line);
        listing.put(TokenKind::Space, "\n");
    }
    listing
}
