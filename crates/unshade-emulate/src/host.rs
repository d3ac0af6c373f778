//! What the host does for a kernel: `vprintf`, `malloc`, `free` and `__assertfail`.
//!
//! A cubin calls them as functions that stand elsewhere; the loader puts their addresses in, which are behind all code
//! here. Arguments come in registers from R4 on, 64-bit ones in even pairs, and the result goes back in R4 (R5).
//!
//! Source: *CUDA C++ Programming Guide*, "System Calls" of NVIDIA's documentation of PTX interoperability, for what the
//! functions take; the registers were read from code that NVIDIA's compiler makes.

use unshade_sass::semantics::Space;

use crate::device::DevicePointer;
use crate::execute::LaneFault;
use crate::fault::Reason;
use crate::lanes::Bits;
use crate::warp::Warp;
use crate::world::World;

/// Where the functions are; 8 bytes each.
const FIRST: u64 = 0xf000_0000;

/// At most so many bytes are kept of what kernels print.
const MOST_PRINTED: usize = 1 << 24;

/// A function of the host.
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

/// The address of a function, if the host has it.
pub(crate) fn address_of(name: &[u8]) -> Option<u64> {
    let index = FUNCTIONS.iter().position(|function| function.0 == name)?;
    Some(FIRST + 8 * index as u64)
}

/// The function at an address.
#[inline]
pub(crate) fn by_address(address: u64) -> Option<Function> {
    let offset = address.checked_sub(FIRST)?;
    let index = usize::try_from(offset / 8).ok().filter(|_| offset.is_multiple_of(8))?;
    FUNCTIONS.get(index).map(|function| function.1)
}

/// Calls a function for the active lanes, the lowest first.
pub(crate) fn call(function: Function, warp: &mut Warp, world: &mut World<'_>) -> Result<(), LaneFault> {
    for lane in Bits(warp.active) {
        let thread = warp.number.wrapping_mul(32).wrapping_add(lane as u32);
        let registers = &warp.registers;
        let low = |number: usize| u64::from(registers.general(number, lane));
        let pair = |number: usize| low(number) | low(number + 1) << 32;
        let done = match function {
            Function::Print => print(world, pair(4), pair(6), thread).map(Some),
            Function::Allocate => Ok(Some(allocate(world, pair(4)))),
            Function::Free => free(world, pair(4)).map(|()| None),
            Function::AssertionFailed => {
                let arguments = [pair(4), pair(6), low(8), pair(10)];
                Err(assertion(world, arguments, thread).unwrap_or_else(|reason| reason))
            }
        };
        if let Some(result) = done.map_err(|reason| (lane as u32, reason))? {
            let [low, high] = halves(result);
            warp.registers.set_general(4, lane, low);
            if function == Function::Allocate {
                warp.registers.set_general(5, lane, high);
            }
        }
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "the halves are meant")]
fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// `malloc`: zero if there is no memory left.
fn allocate(world: &mut World<'_>, bytes: u64) -> u64 {
    world.device.allocate(bytes, "malloc").map_or(0, |pointer| pointer.0)
}

fn free(world: &mut World<'_>, address: u64) -> Result<(), Reason> {
    if address == 0 || world.device.free(DevicePointer(address)) {
        return Ok(());
    }
    Err(Reason::HostCall(format!("free of {address:#x}, which malloc did not give")))
}

fn assertion(
    world: &mut World<'_>,
    [message, file, line, function]: [u64; 4],
    thread: u32,
) -> Result<Reason, Reason> {
    let position = world.position;
    let ([bx, by, bz], [tx, ty, tz]) = (position.block, position.thread(thread));
    let mut text = |address| world.text(address, thread);
    Ok(Reason::Assertion(format!(
        "{}:{line}: {}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] Assertion `{}` failed.",
        text(file)?,
        text(function)?,
        text(message)?
    )))
}

/// `vprintf`: a format and the address of the arguments, each aligned to its size. The result is their number.
fn print(world: &mut World<'_>, format: u64, arguments: u64, thread: u32) -> Result<u64, Reason> {
    let format = world.text(format, thread)?;
    let mut text = String::new();
    let mut next = arguments;
    let mut count = 0;
    let mut rest = format.as_str();
    while let Some(start) = rest.find('%') {
        let (before, from) = rest.split_at(start);
        text.push_str(before);
        let directive = Directive::read(from);
        rest = from.get(directive.length..).unwrap_or("");
        let mut take = |size: u64| {
            next = next.checked_next_multiple_of(size).unwrap_or(next);
            let value = world.load(Space::Ram, next, if size == 8 { 64 } else { 32 }, thread);
            next = next.wrapping_add(size);
            count += 1;
            value
        };
        match directive.conversion {
            '%' => text.push('%'),
            'c' => text.push(char::from(take(4)?.to_le_bytes()[0])),
            's' => {
                let address = take(8)?;
                text.push_str(&directive.pad(world.text(address, thread)?));
            }
            'p' => text.push_str(&directive.pad(format!("{:#x}", take(8)?))),
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
                let value = take(if directive.long { 8 } else { 4 })?;
                text.push_str(&directive.integer(value));
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
                text.push_str(&directive.float(f64::from_bits(take(8)?)));
            }
            _ => text.push_str(from.get(..directive.length).unwrap_or("")),
        }
    }
    text.push_str(rest);
    let room = MOST_PRINTED.saturating_sub(world.device.printed.len());
    world.device.printed.extend(text.bytes().take(room));
    Ok(count)
}

/// A directive of a format: `%-08.3lf`.
struct Directive {
    length: usize,
    flags: String,
    width: usize,
    precision: Option<usize>,
    long: bool,
    conversion: char,
}

/// Longer fields than this are not padded further.
const MOST_WIDTH: usize = 4096;

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
        let precision = (!point.is_empty()).then(|| digits.parse().unwrap_or(0).min(MOST_WIDTH));
        let long = run(&|byte| b"hlLzjt".contains(&byte)).contains(['l', 'z', 'j', 't']);
        let conversion = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('\0');
        let length = at + if conversion == '\0' { 0 } else { conversion.len_utf8() };
        Self { length, flags, width: usize::min(width, MOST_WIDTH), precision, long, conversion }
    }

    fn pad(&self, text: String) -> String {
        let text = match self.precision {
            Some(most) if self.conversion == 's' => text.chars().take(most).collect(),
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

/// `1.5e+03`, where Rust writes `1.5e3`.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |rest| ("-", rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// `%g`: so many digits, without zeros at the end.
fn shortest(value: f64, digits: usize) -> String {
    let written = exponential(value, digits - 1);
    let exponent: i32 = written.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    let count = i32::try_from(digits).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= count {
        let (digits, exponent) = written.split_once('e').unwrap_or((&written, ""));
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
    fn numbers_are_written_as_printf_writes_them() {
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
