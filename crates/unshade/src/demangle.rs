//! Demangles C++ names.
//!
//! Functions of Metal's dynamic libraries have Itanium-mangled names. A hostile name can expand to more text than fits
//! in memory, so expansion stops at [`MAX_DEMANGLED`] bytes and such a name is shown mangled.
//!
//! Functions of DirectX libraries have names in Microsoft's mangling after a byte 1: `?name@scope@@` and the type. Only
//! the qualified name is shown, without the type, as in RDAT.

use core::fmt::{self, Write};
use cpp_demangle::{DemangleNodeType, DemangleOptions, DemangleWrite, ParseOptions, Symbol};

/// Maximum length in bytes of a mangled name; longer names are not demangled.
pub const MAX_MANGLED: usize = 8 * 1024;

/// Maximum length in bytes of a demangled name; names that expand to more are shown mangled.
pub const MAX_DEMANGLED: usize = 32 * 1024;

/// Maximum nesting depth of a mangled name.
const MAX_RECURSION: u32 = 128;

/// Returns the demangled form of a name, or `None` if it is not mangled.
///
/// ```
/// assert_eq!(unshade::demangle(b"_ZN5tools3addEff").as_deref(), Some("tools::add(float, float)"));
/// assert_eq!(unshade::demangle(b"\x01?blend@tools@@YAMM@Z").as_deref(), Some("tools::blend"));
/// assert_eq!(unshade::demangle(b"vertex_main"), None);
/// ```
pub fn demangle(name: &[u8]) -> Option<String> {
    if name.len() > MAX_MANGLED {
        return None;
    }
    if !name.starts_with(b"_Z") {
        return microsoft_name(name);
    }
    let options = ParseOptions::default().recursion_limit(MAX_RECURSION);
    let symbol = Symbol::new_with_options(name, &options).ok()?;
    let mut text = BoundedText(String::new());
    let options = DemangleOptions::default().recursion_limit(MAX_RECURSION);
    symbol.structured_demangle(&mut text, &options).ok()?;
    Some(text.0)
}

/// The maximum number of parts of a decorated name.
const MAX_PARTS: usize = 12;

/// Returns the demangled form of a symbol as toolchains decorate it, or `None` if nothing in it is mangled: functions
/// inside of a kernel are `$KERNEL$HELPER`, and sections are `.text.FUNCTION`.
///
/// ```
/// assert_eq!(unshade::demangle_symbol(b"$_Z5scalePf$__cuda_div").as_deref(), Some("$scale(float*)$__cuda_div"));
/// assert_eq!(unshade::demangle_symbol(b".text._Z5scalePf").as_deref(), Some(".text.scale(float*)"));
/// assert_eq!(unshade::demangle_symbol(b"$main$__cuda_div"), None);
/// ```
pub fn demangle_symbol(name: &[u8]) -> Option<String> {
    if let Some(demangled) = demangle(name) {
        return Some(demangled);
    }
    let text = std::str::from_utf8(name).ok().filter(|text| text.len() <= MAX_MANGLED)?;
    if let Some(at) = text.find("._Z").filter(|_| text.starts_with('.')) {
        let (section, function) = text.split_at(at + 1);
        return Some(format!("{section}{}", demangle_symbol(function.as_bytes())?));
    }
    let inside = text.strip_prefix('$')?;
    let parts: Vec<&str> = inside.split('$').collect();
    if parts.len() > MAX_PARTS {
        return None;
    }
    let (mut shown, mut is_mangled, mut at) = (String::new(), false, 0);
    while let Some(part) = parts.get(at) {
        // A mangled name may have dollar signs itself: the longest one that can be read is meant.
        let longest = (at + 1..=parts.len()).rev().find_map(|end| {
            let joined = parts.get(at..end)?.join("$");
            joined.starts_with("_Z").then(|| demangle(joined.as_bytes())).flatten().map(|name| (name, end))
        });
        is_mangled |= longest.is_some();
        let (name, end) = longest.unwrap_or_else(|| ((*part).to_owned(), at + 1));
        if shown.len().saturating_add(name.len()) > MAX_DEMANGLED {
            return None;
        }
        shown.push('$');
        shown.push_str(&name);
        at = end;
    }
    is_mangled.then_some(shown)
}

/// Returns the qualified name at the start of a name in Microsoft's mangling, if all of its parts are identifiers. The
/// parts come innermost first, each ends with `@`, and another `@` ends the list.
fn microsoft_name(name: &[u8]) -> Option<String> {
    let name = name.strip_prefix(b"\x01").unwrap_or(name).strip_prefix(b"?")?;
    let end = name.windows(2).position(|pair| pair == b"@@")?;
    let is_identifier = |part: &&str| {
        !part.is_empty()
            && !part.starts_with(|c: char| c.is_ascii_digit())
            && part.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
    };
    let parts: Vec<&str> = std::str::from_utf8(name.get(..end)?).ok()?.rsplit('@').collect();
    parts.iter().all(is_identifier).then(|| parts.join("::"))
}

/// Text that can't grow past [`MAX_DEMANGLED`].
struct BoundedText(String);

impl DemangleWrite for BoundedText {
    fn push_demangle_node(&mut self, _: DemangleNodeType) {}

    fn write_string(&mut self, part: &str) -> fmt::Result {
        if self.0.len().saturating_add(part.len()) > MAX_DEMANGLED {
            return Err(fmt::Error);
        }
        self.0.write_str(part)
    }

    fn pop_demangle_node(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microsoft_names() {
        assert_eq!(demangle(b"\x01?f@@YA?AV?$vector@M$03@@V1@0@Z").as_deref(), Some("f"));
        for name in [&b"?"[..], b"?@@", b"??0a@@YAXXZ", b"?f@?$s@H@@YAXXZ", b"?f@0@@", b"?f", b"?a b@@Y"] {
            assert_eq!(demangle(name), None, "{}", name.escape_ascii());
        }
    }

    #[test]
    fn decorated_names() {
        for (name, expected) in [
            ("$_ZN2ns1kIfEEvPT_$__cuda_sm20_div_u64", Some("$void ns::k<float>(float*)$__cuda_sm20_div_u64")),
            ("$_Z1fv$_Z1gv", Some("$f()$g()")),
            ("$kernel$_Z1gi", Some("$kernel$g(int)")),
            ("_Z1fv", Some("f()")),
            ("$_Z$$", None),
            ("$", None),
            (".text.main", None),
            ("._Z", None),
        ] {
            assert_eq!(demangle_symbol(name.as_bytes()).as_deref(), expected, "{name}");
        }
        assert_eq!(demangle_symbol("$_Z1fv".repeat(100).as_bytes()), None);
    }

    #[test]
    fn expansion_is_bounded() {
        // Each S_ doubles what came before it: 2^n characters from n bytes.
        let mut name = String::from("_Z1fI1aE");
        for _ in 0..200 {
            name.push_str("1xIS0_S0_E");
        }
        let _ = demangle(name.as_bytes());
        let _ = demangle(&b"_Z".iter().chain(std::iter::repeat_n(&b'P', 8_000)).copied().collect::<Vec<_>>());
        assert_eq!(demangle(b"_Z"), None);
    }
}
