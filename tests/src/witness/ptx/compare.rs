//! Comparisons and selections. Source: *PTX ISA*, "Comparison and Selection Instructions".

use std::cmp::Ordering;

use super::super::exact::{DOUBLE, SINGLE};
use super::{Call, Type};

/// Returns both results of `setp`; `None` if a modifier is unknown.
pub(super) fn setp(call: &Call<'_>) -> Option<[bool; 2]> {
    let ty = call.types().last().copied()?;
    let holds = compared(call, ty)?;
    Some([holds, !holds].map(|holds| combined(call, holds)))
}

/// Returns the result of `set`, `selp` or `slct`; `None` if it is not one of them.
pub(super) fn call(call: &Call<'_>) -> Option<u64> {
    let types = call.types();
    let (ty, from) = (types.first()?, *types.last()?);
    Some(match call.name {
        "selp" => call.at(if call.at(2) != 0 { 0 } else { 1 }),
        // A NaN selects the second source, minus zero the first.
        "slct" if from.kind == 'f' => {
            let c = if call.has("ftz") { SINGLE.flushed(call.at(2)) } else { call.at(2) };
            let first = !SINGLE.is_nan(c) && (!SINGLE.is_negative(c) || SINGLE.is_zero(c));
            call.at(usize::from(!first))
        }
        "slct" => call.at(usize::from(from.value(call.at(2)) < 0)),
        "set" => match (combined(call, compared(call, from)?), ty.kind) {
            (false, _) => 0,
            (true, 'f') => SINGLE.one(),
            (true, _) => u64::from(u32::MAX),
        },
        _ => return None,
    })
}

/// Combines the comparison with the third source.
fn combined(call: &Call<'_>, holds: bool) -> bool {
    let other = call.at(2) != 0;
    match call.words.iter().find(|word| ["and", "or", "xor"].contains(word)) {
        Some(&"and") => holds && other,
        Some(&"or") => holds || other,
        Some(_) => holds != other,
        None => holds,
    }
}

/// Compares the first two sources.
fn compared(call: &Call<'_>, ty: Type) -> Option<bool> {
    let order = if ty.kind == 'f' {
        let format = if ty.width == 32 { SINGLE } else { DOUBLE };
        let value = |bits: u64| format.to_f64(if call.has("ftz") { format.flushed(bits) } else { bits });
        value(call.at(0)).partial_cmp(&value(call.at(1)))
    } else {
        Some(ty.value(call.at(0)).cmp(&ty.value(call.at(1))))
    };
    use Ordering::{Equal, Greater, Less};
    let (unordered, orders): (bool, &[Ordering]) = match *call.words.first()? {
        "eq" => (false, &[Equal]),
        "ne" => (false, &[Less, Greater]),
        "lt" | "lo" => (false, &[Less]),
        "le" | "ls" => (false, &[Less, Equal]),
        "gt" | "hi" => (false, &[Greater]),
        "ge" | "hs" => (false, &[Greater, Equal]),
        "equ" => (true, &[Equal]),
        "neu" => (true, &[Less, Greater]),
        "ltu" => (true, &[Less]),
        "leu" => (true, &[Less, Equal]),
        "gtu" => (true, &[Greater]),
        "geu" => (true, &[Greater, Equal]),
        "num" => (false, &[Less, Equal, Greater]),
        "nan" => (true, &[]),
        _ => return None,
    };
    Some(order.map_or(unordered, |order| orders.contains(&order)))
}
