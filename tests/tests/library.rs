//! Functions of CUDA's mathematical library: the formulas against machine code that nvcc 11.2 made of
//! `tests/fixtures/nvidia/decompile/library.cu`, and the calls in the decompiled text.

use unshade::core::{Diagnostics, Reader};
use unshade::decompile;
use unshade::decompiler::Options;
use unshade::decompiler::ir::Number;
use unshade::decompiler::ir::math::{self, MathFunction, MathFunction2};
use unshade::nv::Cubin;
use unshade_emulate::{Argument, Device, DevicePointer, Grid, Limits, Module};
use unshade_tests::closed_loop::cases::Random;

/// Number of operands to try for each function.
const COUNT: usize = 4096;

fn fixture(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/nvidia/decompile");
    std::fs::read(format!("{path}/{name}.cubin")).unwrap()
}

/// Runs a kernel on pairs of operands, and returns the bits of its results.
fn run(cubin: &[u8], kernel: &str, operands: &[[u64; 2]], width: usize) -> Vec<u64> {
    let mut device = Device::new();
    let module = Module::load(&mut device, cubin).unwrap();
    let size = width / 8;
    let mut buffer = |numbers: Vec<u64>| -> DevicePointer {
        let bytes: Vec<u8> =
            numbers.iter().flat_map(|number| number.to_le_bytes()[..size].to_vec()).collect();
        let pointer = device.allocate(bytes.len() as u64, "numbers").unwrap();
        device.write(pointer, &bytes).unwrap();
        pointer
    };
    let results = buffer(vec![0; operands.len()]);
    let a = buffer(operands.iter().map(|pair| pair[0]).collect());
    let b = buffer(operands.iter().map(|pair| pair[1]).collect());
    let count = i32::try_from(operands.len()).unwrap();
    let arguments: [Argument; 4] = [results.into(), a.into(), b.into(), count.into()];
    let grid = Grid::new(count.cast_unsigned().div_ceil(256), 256);
    module.launch(&mut device, kernel, grid, &arguments, Limits::default(), None).unwrap();
    let bytes = device.read(results, size * operands.len()).unwrap();
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    bytes.chunks_exact(size).map(number).collect()
}

/// Returns operands of all kinds: special numbers, ordinary ones, and random bits.
fn operands(width: usize) -> Vec<[u64; 2]> {
    let bits = |value: f64| if width == 64 { value.to_bits() } else { u64::from((value as f32).to_bits()) };
    let special = [
        0.0,
        1.0,
        0.5,
        2.0,
        3.0,
        10.0,
        0.6,
        1e-3,
        1e-20,
        1.2e-38,
        1e-40,
        1e-45,
        88.5,
        89.0,
        -126.0,
        104.0,
        128.0,
        105_614.0,
        105_616.0,
        1e9,
        3e38,
        1e-310,
        1e-306,
        709.5,
        745.0,
        f64::INFINITY,
        f64::NAN,
    ];
    let special: Vec<u64> = special.iter().flat_map(|number| [bits(*number), bits(-number)]).collect();
    let mut pairs: Vec<[u64; 2]> = special.iter().flat_map(|a| special.iter().map(|b| [*a, *b])).collect();
    let mut random = Random::new(7);
    while pairs.len() < COUNT {
        let mut any = || random.bits() >> (64 - width);
        let ordinary = [any(), any()].map(|number| bits((number % 65_536) as f64 / 256.0 - 128.0));
        let small = [any(), any()].map(|number| bits((number % 65_536) as f64 / 16_384.0 - 2.0));
        let whole = bits((any() % 16) as f64 - 8.0);
        pairs.extend([[any(), any()], [any(), ordinary[0]], ordinary, small, [small[0], whole]]);
    }
    pairs
}

/// A kernel, the name and the type of its function, and the formula.
type Kernel = (String, String, Number, Box<dyn Fn([u64; 2]) -> Option<u64>>);

fn kernels() -> Vec<Kernel> {
    let mut all: Vec<Kernel> = Vec::new();
    for (ty, suffix) in [(Number::F32, "f"), (Number::F64, "")] {
        for function in MathFunction::all() {
            if math::unary(function, ty, 0).is_some() {
                let name = format!("{function}{suffix}");
                let value = move |pair: [u64; 2]| math::unary(function, ty, pair[0]);
                all.push((format!("k_{name}"), name, ty, Box::new(value)));
            }
        }
        for function in MathFunction2::all() {
            if math::binary(function, ty, 0, 0).is_some() {
                let name = format!("{function}{suffix}");
                let value = move |pair: [u64; 2]| math::binary(function, ty, pair[0], pair[1]);
                all.push((format!("k_{name}"), name, ty, Box::new(value)));
            }
        }
    }
    all
}

#[test]
fn the_formulas_give_the_bits_of_the_machine_code() {
    let cubin = fixture("library");
    let mut failures = Vec::new();
    for (kernel, name, ty, value) in kernels() {
        let width = usize::from(ty.width());
        let operands = operands(width);
        let results = run(&cubin, &kernel, &operands, width);
        let differing: Vec<String> = operands
            .iter()
            .zip(results)
            .filter(|(pair, result)| value(**pair) != Some(*result))
            .map(|(pair, result)| format!("{name} of {pair:x?} is {result:x}, not {:x?}", value(*pair)))
            .collect();
        failures.extend(differing.first().map(|first| format!("{first} ({} in all)", differing.len())));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Functions that are others with `-ftz=true`: powers where they are subnormal, sines of pi of small numbers, and
/// logarithms of doubles where the number is negative and its upper half is a subnormal float.
const DIFFERS_WITH_FLUSHES: [&str; 5] = ["powf", "sinpif", "log", "log2", "log10"];

/// Decompiles a fixture; returns the texts by name, and whether each is for `-ftz=true`.
fn texts(name: &str) -> Vec<(String, String, bool)> {
    let bytes = fixture(name);
    let cubin = Cubin::read(Reader::new(&bytes)).unwrap();
    let mut texts = Vec::new();
    decompile::cubin(&cubin, &|_| true, &Options::default(), &mut Diagnostics::new(), &mut |function| {
        let result = function.result.unwrap();
        texts.push((function.name, result.text(), result.flushes));
    });
    texts
}

#[test]
fn inlined_functions_become_calls() {
    for (file, flushes) in [("library", false), ("library_ftz", true)] {
        let texts = texts(file);
        let text = |name: &str| {
            let found = texts.iter().find(|text| text.0 == name);
            found.unwrap_or_else(|| panic!("{file} has no {name}"))
        };
        let mut missing = Vec::new();
        for (kernel, name, ty, _) in kernels() {
            let (_, text, is_flushed) = text(&kernel);
            let arguments = if ["pow", "atan2", "hypot", "fmod"].iter().any(|pair| name.starts_with(pair)) {
                "param_2[i1], param_3[i1]"
            } else {
                "param_2[i1]"
            };
            // The length of a vector does not depend on the order.
            let arguments = if name == "hypot" || name == "hypotf" && flushes {
                "param_3[i1], param_2[i1]"
            } else {
                arguments
            };
            if flushes && DIFFERS_WITH_FLUSHES.contains(&&*name) {
                assert!(!text.contains(&format!(" {name}(")), "{text}");
                continue;
            }
            let is_there = text.contains(&format!("param_1[i1] = {name}({arguments});"));
            let is_flushed = *is_flushed || ty == Number::F64;
            if !is_there || flushes && !is_flushed {
                missing.push(format!("{file} {kernel}:\n{text}"));
            }
        }
        assert!(missing.is_empty(), "{}", missing.join("\n"));
        // With flushes, the compiler orders the operands of these kernels in another way.
        if flushes {
            continue;
        }
        let has = |kernel: &str, calls: &[&str]| {
            let text = &text(kernel).1;
            for call in calls {
                assert!(text.contains(call), "{file} {kernel} has no {call}:\n{text}");
            }
            // The slow path of a reduction is gone.
            assert!(!text.contains("__cudart_i2opi"), "{text}");
        };
        has("softmax_part", &["expf(param_2[i1] - param_3[i1])"]);
        has("polar", &["sinf(f1)", "cosf(f1)"]);
        has("normal", &["sinf(param_3[i1] * 6.2831855f)"]);
        has("bell", &["exp(-(", "param_3[i1]"]);
        has("gamma_corrected", &["powf(fabsf(param_2[i1]), param_3[i1])"]);
        has("series", &["tanhf("]);
        has("whole_power", &["powf(param_2[i1], (float)(i1 & 7))"]);
        has("polar_wide", &["sin(d1)", "cos(d1)"]);
        has("series_wide", &["pow(*p2 - *p1, 2.0)", "log(exp(-d1) + 1.0)"]);
        has("waves", &["sin((double)i1 * ", "cos((double)i1 * "]);
        has("nearly_sinh", &["0.00833336f"]);
    }
}

#[test]
fn approximations_of_the_machine_flush() {
    for (file, flushes) in [("approximations", false), ("approximations_fast", true)] {
        for (kernel, text, is_flushed) in texts(file) {
            // These two are compiled in the same way with and without the option.
            let is_same = matches!(kernel.as_str(), "sine" | "cosine");
            assert_eq!(is_flushed, flushes && !is_same, "{file}: {text}");
            // Compilers scale the divisor, but not the quotient.
            let has_flush = text.contains("flush_to_zero");
            assert_eq!(has_flush, !flushes && kernel == "fast_quotient", "{file}: {text}");
        }
    }
}

#[test]
fn states_of_random_numbers_have_their_members() {
    let texts = texts("states");
    let of = |name: &str| &texts.iter().find(|text| text.0.ends_with(name)).expect("it is in the file").1;
    let has = |name: &str, expected: &str| {
        let text = of(name);
        assert!(text.contains(expected), "{expected}: {text}");
    };
    has("numbers", "struct curandStateXORWOW *param_1");
    has("numbers", "param_1[threadIdx.x].d = u1 + 362437;");
    has("blocks", "struct curandStatePhilox4_32_10 *param_1");
    has("blocks", "param_1[threadIdx.x].key.x");
    // By the name of the type alone.
    has("Pj", "param_1[threadIdx.x].boxmuller_flag");
    // A constant alone is not enough.
    has("count", "count(unsigned int *param_1)");
}
