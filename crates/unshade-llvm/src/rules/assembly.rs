//! Checks the constraints of inline assembly against the type of the function that it is called as.
//!
//! Constraints are separated by commas: outputs (`=r`), inputs (`r`), labels (`!i`, since LLVM 15) and clobbers (`~{x0}`), in
//! this order. An output or input that is indirect (`*m`) is passed as a pointer. Then modifiers and codes follow: a
//! letter, a number that names an output, a name in braces, `^` and two letters, or `@`, a digit and as many letters; `|`
//! separates alternatives.
//!
//! Knowledge: the Language Reference, *Inline Asm Constraint String*; what `llvm-as` 14 and 19 refuse.

use crate::ids::TypeId;
use crate::types::{Type, TypeTable};
use crate::write::Version;
use alloc::vec::Vec;

/// What a constraint is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Input,
    Output,
    Clobber,
    Label,
}

/// A constraint.
struct Constraint {
    kind: Kind,
    indirect: bool,
    /// The input that has to be at the same place as this output.
    matching: Option<usize>,
}

/// The constraints of one text, counted.
#[derive(Default)]
struct Counts {
    outputs: usize,
    inputs: usize,
    indirect_outputs: usize,
    clobbers: usize,
    labels: usize,
}

/// Checks constraints; the result says what is wrong.
pub(crate) fn check_assembly(
    types: &TypeTable,
    version: Version,
    function: TypeId,
    text: &[u8],
) -> Result<(), &'static str> {
    let Type::Function { result, parameters, variadic } = types.get(function) else {
        return Err("inline assembly can only be called");
    };
    if variadic {
        return Err("inline asm cannot be variadic");
    }
    let counts = counts(&parse(text, version).ok_or("failed to parse constraints")?)?;
    let fields = match types.get(result) {
        Type::Struct(structure) => Some(structure.fields.len()),
        _ => None,
    };
    match counts.outputs {
        0 if types.get(result) != Type::Void => Err("inline asm without outputs must return void"),
        1 if fields.is_some() => Err("inline asm with one output cannot return struct"),
        2.. if fields != Some(counts.outputs) => {
            Err("number of output constraints does not match number of return struct elements")
        }
        _ if parameters.len() != counts.inputs => {
            Err("number of input constraints does not match number of parameters")
        }
        _ => Ok(()),
    }
}

/// Counts constraints, which are in order.
fn counts(constraints: &[Constraint]) -> Result<Counts, &'static str> {
    let mut counts = Counts::default();
    for constraint in constraints {
        match constraint.kind {
            Kind::Output
                if counts.inputs > counts.indirect_outputs || counts.clobbers + counts.labels > 0 =>
            {
                return Err("output constraint occurs after input, clobber or label constraint");
            }
            Kind::Output if !constraint.indirect => counts.outputs += 1,
            Kind::Output | Kind::Input if counts.clobbers > 0 => {
                return Err("input constraint occurs after clobber constraint");
            }
            Kind::Output => {
                counts.indirect_outputs += 1;
                counts.inputs += 1;
            }
            Kind::Input => counts.inputs += 1,
            Kind::Label if counts.clobbers > 0 => {
                return Err("label constraint occurs after clobber constraint");
            }
            Kind::Label => counts.labels += 1,
            Kind::Clobber => counts.clobbers += 1,
        }
    }
    Ok(counts)
}

fn parse(text: &[u8], version: Version) -> Option<Vec<Constraint>> {
    let mut constraints = Vec::new();
    if text.is_empty() {
        return Some(constraints);
    }
    for part in text.split(|&byte| byte == b',') {
        let constraint = parse_one(part, version, &mut constraints)?;
        constraints.push(constraint);
    }
    Some(constraints)
}

fn parse_one(text: &[u8], version: Version, earlier: &mut [Constraint]) -> Option<Constraint> {
    let (kind, rest) = match text {
        [b'~', rest @ ..] => (Kind::Clobber, rest),
        [b'=', rest @ ..] => (Kind::Output, rest),
        [b'!', rest @ ..] if version == Version::Llvm19 => (Kind::Label, rest),
        _ => (Kind::Input, text),
    };
    if kind == Kind::Clobber && rest.first().is_some_and(|&next| next != b'{') {
        return None;
    }
    let indirect = rest.first() == Some(&b'*');
    let rest = rest.get(usize::from(indirect)..)?;
    let mut constraint = Constraint { kind, indirect, matching: None };
    let mut codes = without_modifiers(rest, kind)?;
    let is_single = !text.contains(&b'|');
    while let Some(&first) = codes.first() {
        let length = match first {
            b'{' => codes.iter().position(|&byte| byte == b'}')? + 1,
            b'0'..=b'9' => {
                let digits = codes.iter().take_while(|byte| byte.is_ascii_digit()).count();
                match_output(codes.get(..digits)?, &mut constraint, earlier, is_single)?;
                digits
            }
            b'^' => 3,
            b'@' => 2 + usize::from(codes.get(1)?.checked_sub(b'0').filter(|&letters| letters < 10)?),
            _ => 1,
        };
        codes = codes.get(length..)?;
    }
    Some(constraint)
}

/// Skips the modifiers before the codes of a constraint, of which there is one at least.
fn without_modifiers(mut text: &[u8], kind: Kind) -> Option<&[u8]> {
    let (mut early, mut commutative) = (false, false);
    loop {
        let (&first, rest) = text.split_first()?;
        match first {
            b'&' if kind == Kind::Output && !early => early = true,
            b'%' if kind != Kind::Clobber && !commutative => commutative = true,
            b'&' | b'%' | b'#' | b'*' => return None,
            _ => return Some(text),
        }
        text = rest;
    }
}

/// Makes an input match the output that a number names; only one input may.
fn match_output(
    digits: &[u8],
    constraint: &mut Constraint,
    earlier: &mut [Constraint],
    is_single: bool,
) -> Option<()> {
    let number = usize::try_from(crate::assemble::parse_u64(digits)?).ok()?;
    let this = earlier.len();
    let output = earlier.get_mut(number).filter(|output| output.kind == Kind::Output)?;
    let is_free = !is_single || output.matching.is_none_or(|input| input == this);
    output.matching = Some(this);
    (constraint.kind == Kind::Input && is_free).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(results: &[Type], parameters: usize, text: &str) -> Result<(), &'static str> {
        let mut types = TypeTable::default();
        let fields: Vec<TypeId> = results.iter().map(|&ty| types.intern(ty)).collect();
        let result = match fields.as_slice() {
            [] => types.intern(Type::Void),
            &[one] => one,
            _ => types.intern_struct(&fields, false),
        };
        let word = types.intern(Type::Integer(32));
        let function = types.intern_function(result, &alloc::vec![word; parameters], false);
        check_assembly(&types, Version::Llvm19, function, text.as_bytes())
    }

    #[test]
    fn valid_constraints() {
        let word = Type::Integer(32);
        for (results, parameters, text) in [
            (&[][..], 0, ""),
            (&[word], 2, "=&r,%r,r,~{memory}"),
            (&[word], 1, "=r,0"),
            (&[word, word], 1, "=r,={x0},!i,{x1},~{cc}"),
            (&[], 2, "=*m,=*m"),
            (&[], 1, "rm|^Uci@3abc"),
        ] {
            assert_eq!(check(results, parameters, text), Ok(()), "{text}");
        }
    }

    #[test]
    fn invalid_constraints() {
        let word = Type::Integer(32);
        for (results, parameters, text, message) in [
            (&[][..], 0, "~x{21}", "failed to parse constraints"),
            (&[], 1, "r,", "failed to parse constraints"),
            (&[], 1, "{x0", "failed to parse constraints"),
            (&[], 1, "0", "failed to parse constraints"),
            (&[word], 2, "=r,0,0", "failed to parse constraints"),
            (&[], 1, "~{x0},r", "input constraint occurs after clobber constraint"),
            (&[word], 1, "r,=r", "output constraint occurs after input, clobber or label constraint"),
            (&[word], 0, "", "inline asm without outputs must return void"),
            (&[], 0, "r", "number of input constraints does not match number of parameters"),
            (
                &[word],
                0,
                "=r,=r",
                "number of output constraints does not match number of return struct elements",
            ),
        ] {
            assert_eq!(check(results, parameters, text), Err(message), "{text}");
        }
    }
}
