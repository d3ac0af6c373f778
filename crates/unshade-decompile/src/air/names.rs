//! Names in symbols: of functions, of variables in functions, of structures.
//!
//! Symbols have the Itanium mangling: `_ZN5metal3fooEv`, `_ZZ6kernelE4temp`. Only the plain name is taken from it.

/// Returns the plain name of a function: `_ZN5metal6detail3fooEv` is `foo`.
pub(super) fn of_function(symbol: &str) -> &str {
    let Some(rest) = symbol.strip_prefix("_Z") else { return symbol };
    let mut rest = rest.trim_start_matches(['N', 'L', 'K', 'Z']);
    let mut last = None;
    while let Some((name, after)) = length_prefixed(rest) {
        last = Some(name);
        rest = after;
        // Arguments of a template are followed by the name of a member only in nested names; those are not taken.
        if rest.starts_with('I') {
            break;
        }
    }
    last.unwrap_or(symbol)
}

/// Returns the plain name of a variable: `_ZZ6kernelvE4temp` is `temp`, `_ZL5table` is `table`.
pub(super) fn of_variable(symbol: &str) -> &str {
    if !symbol.starts_with("_Z") {
        return symbol.split('.').next().unwrap_or(symbol);
    }
    let without_number = match symbol.rsplit_once('_') {
        Some((start, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            start
        }
        _ => symbol,
    };
    for start in (0..without_number.len()).rev() {
        if let Some((name, "")) = without_number.get(start..).and_then(length_prefixed)
            && !without_number[..start].ends_with(|c: char| c.is_ascii_digit())
        {
            return name;
        }
    }
    of_function(symbol)
}

/// Splits a name after its length from what follows.
fn length_prefixed(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = text.get(..digits)?.parse().ok()?;
    let rest = text.get(digits..)?;
    (length > 0).then(|| Some((rest.get(..length)?, rest.get(length..)?)))?
}

/// Returns the name of a structure without its namespaces and the numbers of LLVM: `struct.metal::ray.12` is `ray`.
pub(super) fn of_struct(name: &str) -> &str {
    let name =
        ["struct.", "class.", "union."].iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
    let name = match name.rsplit_once('.') {
        Some((start, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            start
        }
        _ => name,
    };
    let without_arguments = name.split('<').next().unwrap_or(name);
    without_arguments.rsplit("::").next().unwrap_or(without_arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        assert_eq!(of_function("_ZN5metal6detail3fooEv"), "foo");
        assert_eq!(of_function("_Z3addff"), "add");
        assert_eq!(of_function("_Z6reduceIfLi4EEvPU9MTLdeviceKT_"), "reduce");
        assert_eq!(of_function("rms"), "rms");
        assert_eq!(
            of_variable("_ZZ10all_reduceIff3SumIfElLi4EEvPU9MTLdeviceKT_E11shared_vals"),
            "shared_vals"
        );
        assert_eq!(of_variable("_ZZ4gemvvE6shared_0"), "shared");
        assert_eq!(of_variable("_ZL5align"), "align");
        assert_eq!(of_variable("__air_sampler_state.3"), "__air_sampler_state");
        assert_eq!(of_struct("struct.metal::ray.12"), "ray");
        assert_eq!(of_struct("struct.vec<metal::float2, 3>"), "vec");
    }
}
