//! Upgrades the data layout strings of old files.
//!
//! Knowledge: the output of `llvm-dis` 14, 19 and 22 for modules of earlier versions.

use super::Dialect;
use alloc::format;
use alloc::string::String;

/// The address spaces of pointers of a fixed size, of x86 since LLVM 10 and of AArch64 since LLVM 22.
const POINTER_ADDRESS_SPACES: &str = "-p270:32:32-p271:32:32-p272:64:64";
const WIDE_INTEGER: &str = "-i128:128";

/// Returns the layout as the version of a dialect prints it; `None` if it is unchanged.
pub(super) fn upgrade(layout: &[u8], triple: &[u8], dialect: Dialect) -> Option<String> {
    let layout = core::str::from_utf8(layout).ok()?;
    let triple = core::str::from_utf8(triple).ok()?;
    let architecture = triple.split('-').next().unwrap_or("");
    let newest = dialect.is_opaque();
    let x86 = matches!(architecture, "x86_64" | "amd64" | "x86_64h")
        || (architecture.len() == 4 && architecture.starts_with('i') && architecture.ends_with("86"));
    let aarch64 = matches!(
        architecture,
        "aarch64" | "aarch64_be" | "arm64" | "arm64e" | "arm64ec" | "aarch64_32" | "arm64_32"
    );
    match architecture {
        _ if dialect == Dialect::Dxc => None,
        _ if x86 => Some(upgrade_x86(layout, triple, dialect)),
        "amdgcn" | "r600" if dialect == Dialect::Llvm22 => {
            Some(upgrade_amd(layout, architecture == "amdgcn"))
        }
        _ if dialect == Dialect::Llvm22 && is_aix(triple) => with_aligned_doubles(architecture, layout),
        _ if dialect == Dialect::Llvm22 && has_wide_integers(architecture) => with_wide_integers(layout),
        "riscv64be" if dialect == Dialect::Llvm22 => Some(layout.replacen("-n64-", "-n32:64-", 1)),
        "amdgcn" if newest => Some(upgrade_gcn(layout, GCN_BUFFERS)),
        "amdgcn" | "r600" => with_globals(layout),
        "spir" | "spir64" | "spirv32" | "spirv64" if newest => with_globals(layout),
        "riscv64" | "loongarch64" if newest => Some(layout.replacen("-n64-", "-n32:64-", 1)),
        _ if aarch64 && newest => upgrade_aarch64(layout, dialect),
        _ => None,
    }
}

/// Returns whether integers of 128 bits are aligned since LLVM 20.
fn has_wide_integers(architecture: &str) -> bool {
    const PREFIXES: [&str; 6] = ["sparc", "mips64", "mipsisa64", "powerpc64", "ppc64", "wasm"];
    PREFIXES.iter().any(|prefix| architecture.starts_with(prefix))
}

/// Adds the alignment of integers of 128 bits after that of 64 bits. MIPS' old mangling `m:m` has none.
fn with_wide_integers(layout: &str) -> Option<String> {
    const LONG_INTEGER: &str = "-i64:64";
    if layout.contains(WIDE_INTEGER) || layout.contains("m:m") {
        return None;
    }
    let end = layout.find(LONG_INTEGER)? + LONG_INTEGER.len();
    let mut result = String::from(layout);
    result.insert_str(end, WIDE_INTEGER);
    Some(result)
}

/// Returns whether a triple is that of AIX, for PowerPC.
fn is_aix(triple: &str) -> bool {
    let is_power = triple.starts_with("powerpc") || triple.starts_with("ppc");
    is_power && triple.split('-').nth(2).is_some_and(|system| system.starts_with("aix"))
}

/// Adds the alignment of `double` on AIX, before that of the stack if there is one.
fn with_aligned_doubles(architecture: &str, layout: &str) -> Option<String> {
    const DOUBLE: &str = "-f64:32:64";
    let wide = if has_wide_integers(architecture) { with_wide_integers(layout) } else { None };
    let mut result = wide.unwrap_or_else(|| String::from(layout));
    if !result.contains(DOUBLE) {
        result.insert_str(result.find("-S128").unwrap_or(result.len()), DOUBLE);
    }
    Some(result)
}

/// Adds the alignment of function pointers, and since LLVM 22 address spaces.
fn upgrade_aarch64(layout: &str, dialect: Dialect) -> Option<String> {
    if layout.is_empty() {
        return None;
    }
    let mut result = String::from(layout);
    if !layout.contains("-Fn32") {
        result.push_str("-Fn32");
    }
    if dialect == Dialect::Llvm22 {
        add_pointer_address_spaces(&mut result, dialect);
    }
    Some(result)
}

/// Adds address spaces behind the size of pointers.
fn add_pointer_address_spaces(layout: &mut String, dialect: Dialect) {
    if !layout.contains(POINTER_ADDRESS_SPACES)
        && let Some(at) = end_of_pointers(layout, dialect)
    {
        layout.insert_str(at, POINTER_ADDRESS_SPACES);
    }
}

/// Upgrades the layout of an AMD GPU as LLVM 22 does, which names the mangling.
fn upgrade_amd(layout: &str, is_gcn: bool) -> String {
    let mut result = match is_gcn {
        true => upgrade_gcn(layout, GCN_BUFFERS_22),
        false => with_globals(layout).unwrap_or_else(|| String::from(layout)),
    };
    if is_gcn && layout.contains("-p8:128:128-") {
        result = result.replacen("-p8:128:128-", "-p8:128:128:128:48-", 1);
    }
    if layout.contains("m:e") {
        return result;
    }
    format!("m:e-{result}")
}

/// Adds the address space of globals, which is 1 for GPUs, if the layout has none.
fn with_globals(layout: &str) -> Option<String> {
    match layout {
        "" => Some(String::from("G1")),
        _ => (!has_part(layout, "G")).then(|| format!("{layout}-G1")),
    }
}

/// The address spaces of buffer pointers of AMD GCN: their start, and their part of the layout.
const GCN_BUFFERS: [(&str, &str); 3] =
    [("p7", "-p7:160:256:256:32"), ("p8", "-p8:128:128"), ("p9", "-p9:192:256:256:32")];
/// As [`GCN_BUFFERS`], since LLVM 22.
const GCN_BUFFERS_22: [(&str, &str); 3] =
    [("p7", "-p7:160:256:256:32"), ("p8", "-p8:128:128:128:48"), ("p9", "-p9:192:256:256:32")];

/// Adds the three address spaces of buffer pointers that AMD GCN has.
fn upgrade_gcn(layout: &str, buffers: [(&str, &str); 3]) -> String {
    let mut result = with_globals(layout).unwrap_or_else(|| String::from(layout));
    if !has_part(layout, "ni") {
        result.push_str("-ni:7:8:9");
    } else if layout.ends_with("ni:7") {
        result.push_str(":8:9");
    } else if layout.ends_with("ni:7:8") {
        result.push_str(":9");
    }
    for (pointer, part) in buffers {
        if !has_part(layout, pointer) {
            result.push_str(part);
        }
    }
    result
}

fn has_part(layout: &str, start: &str) -> bool {
    layout.split('-').any(|part| part.starts_with(start))
}

fn upgrade_x86(layout: &str, triple: &str, dialect: Dialect) -> String {
    let mut result = String::from(layout);
    add_pointer_address_spaces(&mut result, dialect);
    let is_mcu = triple.split('-').nth(2).is_some_and(|system| system.starts_with("elfiamcu"));
    if dialect.is_opaque()
        && !is_mcu
        && !result.contains(WIDE_INTEGER)
        && let Some(at) = end_of_integers(&result)
    {
        result.insert_str(at, WIDE_INTEGER);
    }
    let narrow = !triple.starts_with("x86_64") && !triple.starts_with("amd64");
    if narrow && is_msvc(triple) {
        result = result.replacen("-f80:32-", "-f80:128-", 1);
    }
    result
}

/// Returns whether a triple is for Windows and names no environment other than Microsoft's.
fn is_msvc(triple: &str) -> bool {
    let mut parts = triple.split('-').skip(2);
    let windows =
        parts.next().is_some_and(|system| system.starts_with("windows") || system.starts_with("win32"));
    let others = ["gnu", "itanium", "cygnus", "coreclr"];
    windows
        && parts.next().is_none_or(|environment| !others.iter().any(|other| environment.starts_with(other)))
}

/// Returns the position after `e-m:x` and `-p:32:32`, if `-i64:` or `-f64:` follows. LLVM 22 also accepts `E-m:x`, and
/// whatever follows.
fn end_of_pointers(layout: &str, dialect: Dialect) -> Option<usize> {
    let newest = dialect == Dialect::Llvm22;
    let rest = layout.strip_prefix("e-m:").or(layout.strip_prefix("E-m:").filter(|_| newest))?;
    let rest = rest.strip_prefix(|c: char| c.is_ascii_lowercase())?;
    let rest = rest.strip_prefix("-p:32:32").unwrap_or(rest);
    let follows = rest.starts_with("-i64:") || rest.starts_with("-f64:") || (newest && rest.starts_with('-'));
    follows.then_some(layout.len() - rest.len())
}

/// Returns the position after the parts for mangling, pointers and integers, if no such part comes later.
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

    #[test]
    fn changes_of_llvm_22() {
        let newest = |layout: &[u8], triple: &[u8]| upgrade(layout, triple, Dialect::Llvm22).unwrap();
        assert_eq!(
            newest(b"E-m:e-i8:8:32-i64:64", b"aarch64-none"),
            "E-m:e-p270:32:32-p271:32:32-p272:64:64-i8:8:32-i64:64-Fn32"
        );
        assert_eq!(newest(b"e-m:e-p:32:32-i64:64-n32", b"wasm32"), "e-m:e-p:32:32-i64:64-i128:128-n32");
        assert_eq!(upgrade(b"e-m:m-i64:64", b"mips64", Dialect::Llvm22), None);
        assert_eq!(newest(b"e-p8:128:128-i8:8-G1", b"r600"), "m:e-e-p8:128:128-i8:8-G1");
        assert_eq!(
            newest(b"e-p7:1-p8:128:128-p9:1-G1-ni:7:8:9", b"amdgcn"),
            "m:e-e-p7:1-p8:128:128:128:48-p9:1-G1-ni:7:8:9"
        );
        assert_eq!(
            newest(b"", b"amdgcn"),
            "m:e-G1-ni:7:8:9-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32"
        );
    }

    #[test]
    fn microsoft() {
        let old = b"e-m:x-p:32:32-i64:64-f80:32-n8:16:32-a:0:32-S32";
        let wide = |triple: &[u8]| upgrade(old, triple, Dialect::Llvm19).unwrap().contains("-f80:128-");
        assert!(wide(b"i686-pc-win32") && wide(b"i686-pc-windows-msvc19.0.0") && wide(b"i386-pc-windows"));
        assert!(
            !wide(b"i686-pc-windows-gnu") && !wide(b"i686-pc-linux-gnu") && !wide(b"x86_64-pc-windows-msvc")
        );
    }

    #[test]
    fn graphics() {
        let gcn = |layout: &[u8]| upgrade(layout, b"amdgcn-amd-amdhsa", Dialect::Llvm19).unwrap();
        assert_eq!(gcn(b""), "G1-ni:7:8:9-p7:160:256:256:32-p8:128:128-p9:192:256:256:32");
        assert_eq!(gcn(b"e-G1-ni:7"), "e-G1-ni:7:8:9-p7:160:256:256:32-p8:128:128-p9:192:256:256:32");
        assert_eq!(gcn(b"e-p7:1-p8:1-p9:1-G1-ni:7:8"), "e-p7:1-p8:1-p9:1-G1-ni:7:8:9");
        assert_eq!(upgrade(b"", b"amdgcn", Dialect::Llvm14).unwrap(), "G1");
        assert_eq!(upgrade(b"e", b"spirv64", Dialect::Llvm19).unwrap(), "e-G1");
        assert_eq!(upgrade(b"e-G1", b"spir", Dialect::Llvm19), None);
    }
}
