//! Compares NVIDIA machine code: functions of cubins by chip and name, instruction by instruction.
//!
//! Addresses shift with every new instruction, and every eighth word is a scheduling word. Lines are therefore aligned
//! by their text without branch targets, and targets are compared by the instructions at those addresses.

use super::PartChange;
use super::lines::{Change, LineDiff};
use super::listing::Listing;
use crate::nv_units::{Nvidia, each_known_cubin};
use crate::sass_code::{Code, FunctionCode};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use unshade_core::token::Link;
use unshade_core::{Diagnostics, Escaped, Token, TokenKind, TokenSink};
use unshade_nv::Ptx;
use unshade_sass::listing::{Function, Word};
use unshade_sass::print;

/// Chip, name, and number among functions of this name.
type Key = (u32, String, usize);

/// Maximum bytes of text of changed functions that are held; further functions are only reported as changed.
const MAX_TEXT: usize = 1 << 28;

/// Returns the functions that differ, in the order of the first program, and the number of equal ones. PTX files are
/// compared as text.
pub(super) fn compare(before: &Nvidia<'_>, after: &Nvidia<'_>, context: usize) -> (Vec<PartChange>, u64) {
    if let (Nvidia::Ptx(one), Nvidia::Ptx(two)) = (before, after) {
        let text = |ptx: &Ptx<'_>| String::from_utf8_lossy(ptx.text()).into_owned();
        let code = LineDiff::of_texts(&text(one), &text(two), context);
        let change = PartChange { code, ..PartChange::one_sided("PTX".to_owned(), Change::Same) };
        return if change.code.is_empty() { (Vec::new(), 1) } else { (vec![change], 0) };
    }
    let (old, new) = (hashes(before), hashes(after));
    let new_by_key: HashMap<&Key, u64> = new.iter().map(|(key, hash)| (key, *hash)).collect();
    let old_keys: HashMap<&Key, u64> = old.iter().map(|(key, hash)| (key, *hash)).collect();
    let is_changed = |key: &Key| match (old_keys.get(key), new_by_key.get(key)) {
        (Some(one), Some(two)) => one != two,
        _ => false,
    };
    let (old_text, new_text) = (listings(before, &is_changed), listings(after, &is_changed));
    let (mut changes, mut same) = (Vec::new(), 0);
    for (key, _) in &old {
        let mut change = PartChange::one_sided(name(key), Change::Removed);
        if new_by_key.contains_key(key) {
            change.change = Change::Same;
            match (old_text.get(key), new_text.get(key)) {
                (Some(one), Some(two)) => change.code = one.diff(two, context),
                _ if is_changed(key) => change.code = LineDiff { cut: true, ..LineDiff::default() },
                _ => {}
            }
            if change.code.is_empty() {
                same += 1;
                continue;
            }
        }
        changes.push(change);
    }
    let added = new.iter().filter(|(key, _)| !old_keys.contains_key(key));
    changes.extend(added.map(|(key, _)| PartChange::one_sided(name(key), Change::Added)));
    (changes, same)
}

fn name((chip, name, number): &Key) -> String {
    let suffix = if *number == 0 { String::new() } else { format!(", {}", number + 1) };
    format!("code of {name} (sm_{chip}{suffix})")
}

fn each_function(program: &Nvidia<'_>, mut visit: impl FnMut(Key, &FunctionCode<'_>)) {
    let mut seen: BTreeMap<(u32, String), usize> = BTreeMap::new();
    // `verify` and `dis` report what can't be read.
    each_known_cubin(program, &mut Diagnostics::new(), &mut |cubin, isa, _| {
        let code = Code::new(cubin, isa);
        for function in code.functions(&|_| true, &mut Diagnostics::new()) {
            let name = Escaped(function.function.name()).to_string();
            let number = seen.entry((cubin.arch(), name.clone())).or_default();
            visit((cubin.arch(), name, *number), &function);
            *number += 1;
        }
    });
}

fn hashes(program: &Nvidia<'_>) -> Vec<(Key, u64)> {
    let mut hashes = Vec::new();
    each_function(program, |key, function| {
        let mut hasher = DefaultHasher::new();
        function.bytes().hash(&mut hasher);
        hashes.push((key, hasher.finish()));
    });
    hashes
}

fn listings(program: &Nvidia<'_>, wanted: &dyn Fn(&Key) -> bool) -> HashMap<Key, Listing> {
    let (mut listings, mut size) = (HashMap::new(), 0);
    each_function(program, |key, function| {
        if wanted(&key) && size < MAX_TEXT {
            let mut listing = Listing::default();
            put(&function.words(), &mut listing);
            size += listing.size();
            listings.insert(key, listing);
        }
    });
    listings
}

/// Prints a function so that every line defines its address.
fn put(function: &Function<'_>, listing: &mut Listing) {
    for (address, word) in function.words() {
        let link = Some(Link::Definition(address));
        match word {
            Word::Schedule(_) => continue,
            Word::Instruction(instruction) => {
                listing.token(Token { kind: TokenKind::Space, text: "", link });
                let mut sink = RedirectSink { function, listing };
                print::instruction(&instruction, address, &mut sink);
            }
            Word::Unknown(bits) => listing.put(TokenKind::Keyword, &format!(".word {bits:#x}")),
        }
        listing.put(TokenKind::Space, "\n");
    }
}

/// Redirects references from scheduling words to the instructions after them.
struct RedirectSink<'m, 'a> {
    function: &'m Function<'a>,
    listing: &'m mut Listing,
}

impl TokenSink for RedirectSink<'_, '_> {
    fn token(&mut self, token: Token<'_>) {
        // Registers also have links; only links to code are redirected.
        let link = match token.link {
            Some(Link::Reference(address)) if token.kind == TokenKind::Address => {
                Some(Link::Reference(self.function.instruction_from(address)))
            }
            _ => None,
        };
        self.listing.token(Token { link, ..token });
    }

    fn mark(&self) -> usize {
        self.listing.mark()
    }

    fn truncate(&mut self, mark: usize) {
        self.listing.truncate(mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        self.listing.insert(mark, write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade_sass::{assemble, isa};

    fn listing(text: &str) -> Listing {
        let isa = isa::by_architecture(35).unwrap();
        let mut bytes = Vec::new();
        for (index, line) in text.lines().enumerate() {
            // A scheduling word stands first in every eight.
            let address = 8 * index as u64;
            let word = match line.trim() {
                "-" => 0x0800_0000_0000_0000,
                line => assemble::instruction(isa, line, address, 0).unwrap() as u64,
            };
            bytes.extend(word.to_le_bytes());
        }
        let mut listing = Listing::default();
        let function = Function { name: "f", isa, bytes: &bytes, address: 0, file_offset: 0 };
        put(&function, &mut listing);
        listing
    }

    #[test]
    fn what_moved_is_the_same() {
        let before = listing("-\nMOV R0, R1\n@P0 BRA 0x20\nMOV R2, R3\nEXIT");
        let after = listing("-\nMOV R0, R1\n@P0 BRA 0x28\nMOV R4, R5\nMOV R2, R3\nEXIT");
        let diff = before.diff(&after, 0);
        let lines: Vec<_> =
            diff.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.text.as_str()).collect();
        assert_eq!(lines, ["MOV R4, R5"]);
        let elsewhere = listing("-\nMOV R0, R1\n@P0 BRA 0x18\nMOV R2, R3\nEXIT");
        assert_eq!((before.diff(&elsewhere, 0).added, before.diff(&elsewhere, 0).removed), (1, 1));
        let other = listing("-\nMOV R0, R2\n@P0 BRA 0x20\nMOV R2, R3\nEXIT");
        assert_eq!((before.diff(&other, 0).added, before.diff(&other, 0).removed), (1, 1));
    }
}
