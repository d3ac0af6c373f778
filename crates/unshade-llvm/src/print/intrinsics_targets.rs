//! The attributes of the intrinsics of targets.
//!
//! LLVM has 16,000 of them, but whole families have the same attributes. So the tables ([`targets_14`],
//! [`targets_19`], [`targets_22`]) hold prefixes: a name, with a dot at its end, has the attributes of its longest prefix. All text:
//!
//! | part | contents |
//! |---|---|
//! | `functions` | attributes of functions, one set per line |
//! | `classes` | the line in `functions`, counted from 1, and the attributes of parameters as in `intrinsics_19.rs` |
//! | `targets` | a target and its prefixes, in order |
//!
//! A prefix is written as a letter (how many bytes it shares with the one before: `a` to `z`, `A` to `Z`, `0` to `9`),
//! its other bytes, a colon, and its line in `classes`; 0 means that LLVM does not know such names. So
//! `a:3 aldexp.:0 cog.:5` is `` (anything), `ldexp.`, and `ldog.`.
//!
//! LLVM 22 replaces attributes only where the types of a declaration fit the intrinsic. Here they always do, because a
//! table of the types would be far larger, and no front end declares others.
//!
//! Knowledge: declarations of all names in LLVM's libraries, passed through `llvm-as` and `llvm-dis`, and the attributes
//! in the library of LLVM 22 (`cargo xtask intrinsics`, which generates the tables).

use super::Dialect;
use super::intrinsics::IntrinsicRow;
use super::{targets_14, targets_19, targets_22};

/// The attributes of the intrinsics of all targets.
pub(super) struct Table {
    pub(super) functions: &'static str,
    pub(super) classes: &'static str,
    pub(super) targets: &'static [(&'static str, &'static str)],
}

/// Returns the attributes of an intrinsic, if its name starts with that of a target. The row has the name of the target,
/// because where types are mangled into the name is not known.
pub(super) fn find(dialect: Dialect, name: &str) -> Option<IntrinsicRow> {
    let table = match dialect {
        Dialect::Llvm14 => &targets_14::TABLE,
        Dialect::Llvm19 => &targets_19::TABLE,
        Dialect::Llvm22 => &targets_22::TABLE,
        Dialect::Dxc => return None,
    };
    let (target, rest) = name.split_once('.')?;
    let &(target, prefixes) = table.targets.iter().find(|(known, _)| *known == target)?;
    let class = class(prefixes, rest.as_bytes()).checked_sub(1)?;
    let (function, parameters) = table.classes.lines().nth(class)?.split_once(' ')?;
    let function = function.parse::<usize>().ok()?.checked_sub(1)?;
    Some((target, table.functions.lines().nth(function)?, parameters))
}

/// Returns the line of the longest prefix of a name.
fn class(prefixes: &'static str, name: &[u8]) -> usize {
    let byte = |at: usize| name.get(at).copied().or((at == name.len()).then_some(b'.'));
    // How many bytes of the name the last prefix starts with.
    let (mut matched, mut found) = (0, "0");
    for prefix in prefixes.split_ascii_whitespace() {
        let (shared, rest, class) = parts(prefix);
        if shared < matched {
            // The prefixes are in order, so all others differ from the name in this byte or earlier.
            matched = shared;
        }
        if shared == matched {
            matched +=
                (shared..).zip(rest.bytes()).take_while(|&(at, other)| byte(at) == Some(other)).count();
            if matched == shared + rest.len() {
                found = class;
            }
        }
    }
    found.parse().unwrap_or(0)
}

/// Splits an encoded prefix into the number of shared bytes, the other bytes, and the class.
fn parts(prefix: &str) -> (usize, &str, &str) {
    let (rest, class) = prefix.split_once(':').unwrap_or((prefix, "0"));
    let (letter, rest) = rest.split_at_checked(1).unwrap_or(("", rest));
    let shared = match letter.bytes().next() {
        Some(letter @ b'a'..=b'z') => letter - b'a',
        Some(letter @ b'A'..=b'Z') => letter - b'A' + 26,
        Some(letter @ b'0'..=b'9') => letter - b'0' + 52,
        _ => 0,
    };
    (usize::from(shared), rest, class)
}

#[cfg(test)]
mod tests {
    use super::{class, find};
    use crate::print::Dialect;

    #[test]
    fn the_longest_prefix_wins() {
        let prefixes = "a:3 aldexp.:0 cog.:5 alo.:6";
        let found = ["sin", "ldexp", "ldexpo", "ldog", "ldog.f32", "lo", "lob"]
            .map(|name| class(prefixes, name.as_bytes()));
        assert_eq!(found, [3, 0, 3, 5, 5, 6, 3]);
    }

    #[test]
    fn some_of_each_version() {
        let pure = "nofree nosync nounwind readnone willreturn";
        assert_eq!(find(Dialect::Llvm14, "aarch64.neon.addp.v4i32"), Some(("aarch64", pure, "")));
        let pure = "nocallback nofree nosync nounwind willreturn memory(none)";
        assert_eq!(find(Dialect::Llvm19, "arm.neon.bfdot.v2f32.v4bf16"), Some(("arm", pure, "")));
        assert_eq!(find(Dialect::Llvm22, "arm.neon.bfdot.v2f32.v4bf16"), Some(("arm", pure, "")));
        assert_eq!(find(Dialect::Llvm22, "x86.sse2.pause"), Some(("x86", "nounwind", "")));
        assert_eq!(find(Dialect::Llvm22, "x86.3dnow.pavgusb"), None, "known to earlier versions only");
        assert_eq!(find(Dialect::Llvm19, "nosuch.intrinsic"), None);
        let newer = "amdgcn.ds.read.tr4.b64.v2i32";
        assert_eq!(find(Dialect::Llvm19, newer), None, "known to later versions only");
    }
}
