//! System calls: `vprintf`, `malloc`, `free` and `__assertfail`.
//!
//! A cubin calls them as undefined functions, which the loader resolves to addresses after all code. Arguments are in
//! registers from R4 on, 64-bit ones in aligned pairs; the result is in R4 (and R5).
//!
//! Source: *CUDA C++ Programming Guide*, and "System Calls" in NVIDIA's *PTX Writer's Guide to Interoperability*, for the
//! parameters; code of NVIDIA's compiler for the registers.

use unshade_sass::semantics::Space;

use crate::device::DevicePointer;
use crate::environment::Environment;
use crate::execute::LaneFault;
use crate::fault::Reason;
use crate::lanes::{Bits, Registers};

/// The address of the first function; each takes 8 bytes.
const FIRST_ADDRESS: u64 = 0xf000_0000;

/// Maximum number of bytes of printed text.
const MAX_PRINTED: usize = 1 << 24;

/// A system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Print,
    Allocate,
    Free,
    AssertionFailed,
}

const FUNCTIONS: &[(&[u8], Function)] = &[
    (b"vprintf", Function::Print),
    (b"malloc", Function::Allocate),
    (b"free", Function::Free),
    (b"__assertfail", Function::AssertionFailed),
];

/// Returns the address of a system call.
pub(crate) fn address_of(name: &[u8]) -> Option<u64> {
    let index = FUNCTIONS.iter().position(|function| function.0 == name)?;
    Some(FIRST_ADDRESS + 8 * index as u64)
}

/// Returns the system call at an address.
#[inline]
pub(crate) fn by_address(address: u64) -> Option<Function> {
    let offset = address.checked_sub(FIRST_ADDRESS)?;
    let index = usize::try_from(offset / 8).ok().filter(|_| offset.is_multiple_of(8))?;
    FUNCTIONS.get(index).map(|function| function.1)
}

/// Performs a system call for the active lanes of a warp, lowest lane first.
pub(crate) fn call(
    function: Function,
    registers: &mut Registers,
    active: u32,
    warp: u32,
    env: &mut Environment<'_>,
) -> Result<(), LaneFault> {
    for lane in Bits(active) {
        let thread = warp.wrapping_mul(32).wrapping_add(lane as u32);
        let low = |number: usize| u64::from(registers.general(number, lane));
        let pair = |number: usize| low(number) | low(number + 1) << 32;
        let outcome = match function {
            Function::Print => print(env, pair(4), pair(6), thread).map(Some),
            Function::Allocate => Ok(Some(allocate(env, pair(4), thread))),
            Function::Free => free(env, pair(4), thread).map(|()| None),
            Function::AssertionFailed => {
                let arguments = [pair(4), pair(6), low(8), pair(10)];
                Err(assertion(env, arguments, thread).unwrap_or_else(|reason| reason))
            }
        };
        let outcome = outcome.or_else(|reason| env.leave_out(lane as u32, reason).map(Some));
        if let Some(result) = outcome? {
            let [low, high] = halves(result);
            registers.set_general(4, lane, low);
            if function == Function::Allocate {
                registers.set_general(5, lane, high);
            }
        }
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "splits the value in halves")]
fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// `malloc`: returns 0 if there is no memory left.
pub(crate) fn allocate(env: &mut Environment<'_>, bytes: u64, thread: u32) -> u64 {
    let Ok(pointer) = env.device.allocate(bytes, "an allocation of malloc") else { return 0 };
    env.note_allocation(pointer.0, bytes, thread);
    pointer.0
}

pub(crate) fn free(env: &mut Environment<'_>, address: u64, thread: u32) -> Result<(), Reason> {
    if address != 0 {
        env.note_free(address, thread)?;
    }
    if address == 0 || env.device.free(DevicePointer(address)) {
        return Ok(());
    }
    Err(Reason::InvalidFree(address))
}

pub(crate) fn assertion(
    env: &mut Environment<'_>,
    [message, file, line, function]: [u64; 4],
    thread: u32,
) -> Result<Reason, Reason> {
    let position = env.block.position;
    let ([bx, by, bz], [tx, ty, tz]) = (position.block, position.thread(thread));
    let mut text = |address| env.text(address, thread);
    Ok(Reason::Assertion(format!(
        "{}:{line}: {}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] Assertion `{}` failed.",
        text(file)?,
        text(function)?,
        text(message)?
    )))
}

/// `vprintf`: takes a format and the address of the arguments, each aligned to its size; returns their number.
fn print(env: &mut Environment<'_>, format: u64, arguments: u64, thread: u32) -> Result<u64, Reason> {
    let mut next = arguments;
    let mut argument = |env: &mut Environment<'_>, size: u64| {
        next = next.checked_next_multiple_of(size).unwrap_or(next);
        let value = env.load(Space::Ram, next, if size == 8 { 64 } else { 32 }, thread);
        next = next.wrapping_add(size);
        value
    };
    print_with(env, format, &mut argument, thread)
}

/// Prints a format; `argument` returns the next argument, of 4 or 8 bytes. Returns the number of arguments.
pub(crate) fn print_with(
    env: &mut Environment<'_>,
    format: u64,
    next: &mut dyn FnMut(&mut Environment<'_>, u64) -> Result<u64, Reason>,
    thread: u32,
) -> Result<u64, Reason> {
    let format = env.text(format, thread)?;
    let mut text = String::new();
    let mut count = 0;
    let mut rest = format.as_str();
    while let Some(start) = rest.find('%') {
        let (before, from) = rest.split_at(start);
        text.push_str(before);
        let directive = Directive::read(from);
        rest = from.get(directive.length..).unwrap_or("");
        let mut argument = |size: u64| {
            count += 1;
            next(env, size)
        };
        match directive.conversion {
            '%' => text.push('%'),
            'c' => text.push(char::from(argument(4)?.to_le_bytes()[0])),
            's' => {
                let address = argument(8)?;
                text.push_str(&directive.pad(env.text(address, thread)?));
            }
            'p' => text.push_str(&directive.pad(format!("{:#x}", argument(8)?))),
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
                let value = argument(if directive.long { 8 } else { 4 })?;
                text.push_str(&directive.integer(value));
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
                text.push_str(&directive.float(f64::from_bits(argument(8)?)));
            }
            _ => text.push_str(from.get(..directive.length).unwrap_or("")),
        }
    }
    text.push_str(rest);
    let room = MAX_PRINTED.saturating_sub(env.device.printed.len());
    env.device.printed.extend(text.bytes().take(room));
    Ok(count)
}

/// A conversion specification: `%-08.3lf`.
struct Directive {
    length: usize,
    flags: String,
    width: usize,
    precision: Option<usize>,
    long: bool,
    conversion: char,
}

/// Maximum width and precision of a field.
const MAX_WIDTH: usize = 4096;

impl Directive {
    fn read(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut at = 1;
        let mut run = |is: &dyn Fn(u8) -> bool| {
            let start = at;
            while bytes.get(at).copied().is_some_and(is) {
                at += 1;
            }
            text.get(start..at).unwrap_or("").to_owned()
        };
        let flags = run(&|byte| b"-+ #0".contains(&byte));
        let width = run(&|byte| byte.is_ascii_digit()).parse().unwrap_or(0);
        let point = run(&|byte| byte == b'.');
        let digits = run(&|byte| byte.is_ascii_digit());
        let precision = (!point.is_empty()).then(|| digits.parse().unwrap_or(0).min(MAX_WIDTH));
        let long = run(&|byte| b"hlLzjt".contains(&byte)).contains(['l', 'z', 'j', 't']);
        let conversion = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('\0');
        let length = at + if conversion == '\0' { 0 } else { conversion.len_utf8() };
        Self { length, flags, width: usize::min(width, MAX_WIDTH), precision, long, conversion }
    }

    fn pad(&self, text: String) -> String {
        let text = match self.precision {
            Some(length) if self.conversion == 's' => text.chars().take(length).collect(),
            _ => text,
        };
        let width = self.width;
        if self.flags.contains('-') {
            format!("{text:<width$}")
        } else if self.flags.contains('0') && self.conversion != 's' {
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['-', '+', ' '])));
            format!("{sign}{digits:0>rest$}", rest = width.saturating_sub(sign.len()))
        } else {
            format!("{text:>width$}")
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.flags.contains('+'), self.flags.contains(' ')) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    fn integer(&self, value: u64) -> String {
        let signed = if self.long { value.cast_signed() } else { i64::from(halves(value)[0].cast_signed()) };
        let alternate = self.flags.contains('#') && value != 0;
        let (sign, mut digits) = match self.conversion {
            'x' => (if alternate { "0x" } else { "" }, format!("{value:x}")),
            'X' => (if alternate { "0X" } else { "" }, format!("{value:X}")),
            'o' => (if alternate { "0" } else { "" }, format!("{value:o}")),
            'u' => ("", value.to_string()),
            _ => (self.sign(signed < 0), signed.unsigned_abs().to_string()),
        };
        if let Some(least) = self.precision {
            digits = format!("{digits:0>least$}");
        }
        self.pad(format!("{sign}{digits}"))
    }

    fn float(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let sign = self.sign(value.is_sign_negative());
        let magnitude = value.abs();
        let digits = match self.conversion.to_ascii_lowercase() {
            _ if !value.is_finite() => {
                if value.is_nan() {
                    "nan".into()
                } else {
                    "inf".into()
                }
            }
            'f' => format!("{magnitude:.precision$}"),
            'e' => exponential(magnitude, precision),
            _ => shortest(magnitude, precision.max(1)),
        };
        let digits = if self.conversion.is_ascii_uppercase() { digits.to_uppercase() } else { digits };
        self.pad(format!("{sign}{digits}"))
    }
}

/// Formats as `1.5e+03`, where Rust prints `1.5e3`.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |rest| ("-", rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// Formats with `%g`: `digits` significant digits, without trailing zeros.
fn shortest(value: f64, digits: usize) -> String {
    let scientific = exponential(value, digits - 1);
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    let count = i32::try_from(digits).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= count {
        let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, ""));
        format!("{}e{exponent}", trim(digits))
    } else {
        let places = usize::try_from(count - 1 - exponent).unwrap_or(0);
        trim(&format!("{value:.places$}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_printf() {
        let float = |format: &str, value: f64| Directive::read(format).float(value);
        assert_eq!(float("%f", 1.5), "1.500000");
        assert_eq!(float("%8.2f", -1.25), "   -1.25");
        assert_eq!(float("%e", 1500.0), "1.500000e+03");
        assert_eq!(float("%g", 0.0001), "0.0001");
        assert_eq!(float("%g", 1e10), "1e+10");
        assert_eq!(float("%g", 100000.0), "100000");
        let integer = |format: &str, value: u64| Directive::read(format).integer(value);
        assert_eq!(integer("%d", 0xffff_ffff), "-1");
        assert_eq!(integer("%05d", 0xffff_fff6), "-0010");
        assert_eq!(integer("%-4u|", 7), "7   ");
        assert_eq!(integer("%#x", 255), "0xff");
        assert_eq!(integer("%lld", u64::MAX), "-1");
        assert_eq!(Directive::read("%").length, 1);
    }
}
