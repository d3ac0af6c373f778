//! Data layouts that LLVM completes when it reads old files.
//!
//! Knowledge: the effect of `llvm-dis` 14 and 19 on modules of earlier versions.

use super::Dialect;
use alloc::format;
use alloc::string::String;

/// Address spaces that x86 has had since LLVM 10.
const X86_ADDRESS_SPACES: &str = "-p270:32:32-p271:32:32-p272:64:64";
const WIDE_INTEGER: &str = "-i128:128";

/// The layout as the version of a dialect prints it.
pub(super) fn upgrade(layout: &[u8], triple: &[u8], dialect: Dialect) -> Option<String> {
    let layout = core::str::from_utf8(layout).ok()?;
    let triple = core::str::from_utf8(triple).ok()?;
    let architecture = triple.split('-').next().unwrap_or("");
    let newest = dialect == Dialect::Llvm19;
    let x86 = matches!(architecture, "x86_64" | "amd64" | "x86_64h")
        || (architecture.len() == 4 && architecture.starts_with('i') && architecture.ends_with("86"));
    match architecture {
        _ if dialect == Dialect::Dxc => None,
        _ if x86 => Some(upgrade_x86(layout, triple, newest)),
        "amdgcn" | "r600" if !has_part(layout, "G") => {
            Some(if layout.is_empty() { String::from("G1") } else { format!("{layout}-G1") })
        }
        "spir" | "spir64" if newest && !has_part(layout, "G") => {
            Some(if layout.is_empty() { String::from("G1") } else { format!("{layout}-G1") })
        }
        "riscv64" | "loongarch64" if newest => Some(layout.replacen("-n64-", "-n32:64-", 1)),
        "aarch64" | "aarch64_be" | "arm64" | "arm64e" | "aarch64_32" | "arm64_32" if newest => {
            (!layout.is_empty() && !layout.contains("-Fn32")).then(|| format!("{layout}-Fn32"))
        }
        _ => None,
    }
}

fn has_part(layout: &str, start: &str) -> bool {
    layout.split('-').any(|part| part.starts_with(start))
}

fn upgrade_x86(layout: &str, triple: &str, newest: bool) -> String {
    let mut result = String::from(layout);
    if !result.contains(X86_ADDRESS_SPACES)
        && let Some(at) = end_of_pointers(&result)
    {
        result.insert_str(at, X86_ADDRESS_SPACES);
    }
    if newest
        && !result.contains(WIDE_INTEGER)
        && let Some(at) = end_of_integers(&result)
    {
        result.insert_str(at, WIDE_INTEGER);
    }
    let narrow = !triple.starts_with("x86_64") && !triple.starts_with("amd64");
    if narrow && is_microsoft(triple) {
        result = result.replacen("-f80:32-", "-f80:128-", 1);
    }
    result
}

/// Whether a triple is one of Windows without another environment than Microsoft's.
fn is_microsoft(triple: &str) -> bool {
    let mut parts = triple.split('-').skip(2);
    let system = parts.next().unwrap_or("");
    let environment = parts.next().unwrap_or("");
    (system.starts_with("windows") || system.starts_with("win32"))
        && (environment.is_empty() || environment.starts_with("msvc"))
}

/// Behind `e-m:x` and `-p:32:32`, if `-i64:` or `-f64:` follows.
fn end_of_pointers(layout: &str) -> Option<usize> {
    let rest = layout.strip_prefix("e-m:")?;
    let rest = rest.strip_prefix(|c: char| c.is_ascii_lowercase())?;
    let rest = rest.strip_prefix("-p:32:32").unwrap_or(rest);
    (rest.starts_with("-i64:") || rest.starts_with("-f64:")).then_some(layout.len() - rest.len())
}

/// Behind the parts for mangling, pointers and integers, if no such part comes later.
fn end_of_integers(layout: &str) -> Option<usize> {
    let rest = layout.strip_prefix('e')?;
    let early = |part: &str| part.starts_with(['m', 'p', 'i']);
    let mut end = 1;
    let mut late = false;
    for part in rest.split('-').skip(1) {
        if early(part) {
            if late {
                return None;
            }
            end += part.len() + 1;
        } else {
            late = true;
        }
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x86() {
        let old = b"e-m:e-i64:64-f80:128-n8:16:32:64-S128";
        let triple = b"x86_64-unknown-linux-gnu";
        assert_eq!(
            upgrade(old, triple, Dialect::Llvm14).unwrap(),
            "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
        );
        assert_eq!(
            upgrade(old, triple, Dialect::Llvm19).unwrap(),
            "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
        );
        assert_eq!(upgrade(old, b"air64-apple-macosx", Dialect::Llvm19), None);
    }
}
