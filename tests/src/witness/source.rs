//! PTX of kernels around the programs of [`super::rows`].
//!
//! `of_registers` is one kernel in which each thread loads its inputs, runs the program and stores the result. In
//! `of_literals` the inputs are literals, so that ptxas may compute the result itself.

use std::fmt::Write as _;

use super::rows::{INPUTS, register};

/// What a file of PTX begins with.
pub const HEADER: &str = ".version 7.2\n.target sm_35\n.address_size 64\n";

const REGISTERS: &str = ".reg .b16 %h<16>; .reg .b32 %r<16>; .reg .f32 %f<16>; .reg .b64 %l<16>; .reg .f64 %d<16>;\n\
    .reg .pred %p<16>; .reg .b64 %at<4>; .reg .b32 %in<8>;\n";

/// Returns a kernel `name(out, in)`: thread t loads four 8-byte words from `in` and stores one to `out`.
pub fn of_registers(name: &str, program: &str) -> String {
    let mut text = format!(".visible .entry {name}(.param .u64 out, .param .u64 in) {{\n{REGISTERS}");
    text.push_str("mov.u32 %in0, %tid.x; ld.param.u64 %at0, [out]; ld.param.u64 %at1, [in];\n");
    text.push_str("mad.wide.u32 %at1, %in0, 32, %at1; mad.wide.u32 %at0, %in0, 8, %at0;\n");
    for number in 1..=INPUTS {
        let at = 8 * (number - 1);
        let _ = match register(program, number) {
            Some('p') => {
                writeln!(text, "ld.global.u32 %in3, [%at1+{at}]; setp.ne.u32 %p{number}, %in3, 0;")
            }
            Some(letter) => {
                let ty = kind(letter);
                writeln!(text, "ld.global.{ty} %{letter}{number}, [%at1+{at}];")
            }
            None => Ok(()),
        };
    }
    // The values selected are unknown to ptxas, so that it does not merge the selection and the comparison.
    text + &finished(program, "mov.u32 %in4, %ntid.y; mov.u32 %in5, %tid.y; selp.u32 %in4, %in4, %in5, %p0")
}

/// Returns a kernel `name(out)` that runs a program on given inputs.
pub fn of_literals(name: &str, program: &str, inputs: &[u64; INPUTS]) -> String {
    let mut text =
        format!(".visible .entry {name}(.param .u64 out) {{\n{REGISTERS}ld.param.u64 %at0, [out];\n");
    for (number, value) in (1..=INPUTS).zip(inputs) {
        let _ = match register(program, number) {
            Some('p') => writeln!(text, "mov.u32 %in3, {value}; setp.ne.u32 %p{number}, %in3, 0;"),
            Some('f') => writeln!(text, "mov.f32 %f{number}, 0f{value:08X};"),
            Some('d') => writeln!(text, "mov.f64 %d{number}, 0d{value:016X};"),
            // ptxas reads a literal as a 64-bit number.
            Some('r') => writeln!(text, "mov.b32 %r{number}, {};", (*value as u32).cast_signed()),
            Some(letter) => writeln!(text, "mov.{} %{letter}{number}, {value:#x};", kind(letter)),
            None => Ok(()),
        };
    }
    text + &finished(program, "selp.u32 %in4, 1, 0, %p0")
}

/// Returns the program, the store of its result and the end of a kernel.
fn finished(program: &str, selection: &str) -> String {
    let store = match register(program, 0) {
        Some('p') => format!("{selection}; st.global.u32 [%at0], %in4;"),
        Some(letter) => format!("st.global.{} [%at0], %{letter}0;", kind(letter)),
        None => String::new(),
    };
    format!("{program};\n{store}\nret;\n}}\n")
}

fn kind(letter: char) -> &'static str {
    match letter {
        'h' => "b16",
        'f' => "f32",
        'l' => "b64",
        'd' => "f64",
        _ => "b32",
    }
}
