//! What LLVM leaves open, and where x86 does something else than the interpreter.
//!
//! | what | natively, after this |
//! |---|---|
//! | conversions of floats to integers that do not have them | saturate, as Metal's devices and the interpreter do |
//! | accesses of vectors that are not aligned, as sizes are made up | are no faults |

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The instructions, and the functions that saturate.
const CONVERSIONS: [(&str, &str); 2] = [("fptosi", "llvm.fptosi.sat"), ("fptoui", "llvm.fptoui.sat")];

/// Returns the text of a module whose conversions saturate, and whose accesses need no alignment.
pub(super) fn saturated(text: &str) -> String {
    let mut host = String::with_capacity(text.len());
    let mut declared = BTreeSet::new();
    for line in text.lines() {
        match conversion(line) {
            Some((call, declaration)) => {
                host.push_str(&call);
                declared.insert(declaration);
            }
            None => host.push_str(&unaligned(line)),
        }
        host.push('\n');
    }
    for declaration in declared {
        let _ = writeln!(host, "{declaration}");
    }
    host
}

/// Returns a load or store of any address.
fn unaligned(line: &str) -> Cow<'_, str> {
    let is_access = line.contains(" = load ") || line.starts_with("  store ");
    let Some((before, rest)) = line.split_once(", align ").filter(|_| is_access) else {
        return Cow::Borrowed(line);
    };
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    Cow::Owned(format!("{before}, align 1{after}"))
}

/// Returns the call for a line that is a conversion, and the declaration of the function.
fn conversion(line: &str) -> Option<(String, String)> {
    let (result, rest) = line.split_once(" = ")?;
    let (name, function) = CONVERSIONS.iter().find(|row| rest.starts_with(row.0))?;
    let (operand, rest) = rest[name.len()..].trim().rsplit_once(" to ")?;
    let (from, value) = operand.rsplit_once(' ')?;
    // Metadata may follow.
    let to = rest.split(", !").next()?.trim();
    let function = format!("{function}.{}.{}", mangled(to)?, mangled(from)?);
    let call = format!("{result} = call {to} @{function}({from} {value})");
    Some((call, format!("declare {to} @{function}({from})")))
}

/// Returns a type as names of functions have it.
fn mangled(ty: &str) -> Option<String> {
    if let Some(inner) = ty.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) {
        let (count, scalar) = inner.split_once(" x ")?;
        return Some(format!("v{count}{}", mangled(scalar)?));
    }
    Some(match ty {
        "float" => "f32".into(),
        "half" => "f16".into(),
        "bfloat" => "bf16".into(),
        "double" => "f64".into(),
        ty if ty.starts_with('i') => ty.to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::saturated;

    #[test]
    fn conversions_become_calls() {
        let text = "  %2 = fptosi <2 x half> %1 to <2 x i16>, !dbg !3\n  %3 = fadd float %a, %b\n";
        let expected = "  %2 = call <2 x i16> @llvm.fptosi.sat.v2i16.v2f16(<2 x half> %1)\n  %3 = fadd float %a, %b\n\
                        declare <2 x i16> @llvm.fptosi.sat.v2i16.v2f16(<2 x half>)\n";
        assert_eq!(saturated(text), expected);
    }

    #[test]
    fn accesses_need_no_alignment() {
        let text =
            "  %2 = load <4 x float>, <4 x float>* %1, align 16, !tbaa !3\n  %3 = alloca float, align 4\n";
        let expected =
            "  %2 = load <4 x float>, <4 x float>* %1, align 1, !tbaa !3\n  %3 = alloca float, align 4\n";
        assert_eq!(saturated(text), expected);
    }
}
