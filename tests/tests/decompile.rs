//! The decompiler: the examples of an article on Kepler, and C that is run beside the source and the machine code.
//!
//! g++ has to be there.

use std::collections::BTreeMap;
use unshade::decompiler::types::{Kind, Type};
use unshade::decompiler::{DEFAULT_BUDGET, Parameter, Source, decompile, sass};
use unshade::nv::Cubin;
use unshade_core::{Diagnostics, Reader};
use unshade_tests::closed_loop::{cases, compare, emulated, folder, host};

/// The words of an example, in which parameters are 4 or 8 bytes long.
fn example(words: &[u64], name: &str, parameters: &[(u32, u32, Option<Type>)]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let parameters = parameters.iter().map(|&(offset, size, ty)| Parameter { offset, size, ty }).collect();
    let code = sass::Code {
        isa: unshade::sass::isa::by_architecture(30).unwrap(),
        bytes: &bytes,
        base: 0,
        entry: 0,
        local_size: 256,
        constants: Vec::new(),
        functions: Vec::new(),
        variables: Vec::new(),
        relocations: Vec::new(),
    };
    let source = Source { name: String::from(name), is_kernel: true, parameters, code, shared_size: 0 };
    decompile(&source, DEFAULT_BUDGET).unwrap().text()
}

const AXPY: [u64; 16] = [
    0x22c0_4282_c280_4307,
    0x2800_4001_1000_5de4,
    0x2c00_0000_8400_1c04,
    0x1800_0000_1001_5de2,
    0x4001_4005_4000_9c43,
    0x208a_8005_5000_dc43,
    0x8400_0000_0020_9c85,
    0x4001_4005_2001_1c43,
    0x2000_0002_e042_83f7,
    0x208a_8005_3001_5c43,
    0x5800_4005_0020_1c00,
    0x9400_0000_0040_1c85,
    0x8000_0000_0000_1de7,
    0x4003_ffff_e000_1de7,
    0x4000_0000_0000_1de4,
    0x4000_0000_0000_1de4,
];

const PREDICATES: [u64; 24] = [
    0x2272_0280_4282_3307,
    0x2800_4001_1000_5de4,
    0x2c00_0000_8400_1c04,
    0x2c00_0000_9400_dc04,
    0x2000_4000_a030_1ca3,
    0x1800_0000_1000_dde2,
    0x0bff_ffff_e800_9c02,
    0x1800_0000_0121_1c04,
    0x22c0_42e0_4282_c2c7,
    0x1b0e_c000_1021_dc03,
    0x4001_4005_2000_8043,
    0x2086_8005_3000_c043,
    0x9400_0000_0021_0085,
    0x8000_0000_0000_01e7,
    0x4001_4005_0000_9c43,
    0x1800_0000_1000_dde2,
    0x2000_0000_02e0_4287,
    0x2086_8005_1000_dc43,
    0x9400_0000_0021_1c85,
    0x8000_0000_0000_1de7,
    0x4003_ffff_e000_1de7,
    0x4000_0000_0000_1de4,
    0x4000_0000_0000_1de4,
    0x4000_0000_0000_1de4,
];

#[test]
fn axpy_is_one_statement() {
    let text = example(&AXPY, "axpy", &[(0, 4, None), (8, 8, None), (16, 8, None)]);
    assert_eq!(
        text,
        "__global__ void axpy(float param_1, float *param_2, float *param_3)\n{\n    param_2[threadIdx.x] = \
         param_3[threadIdx.x] * param_1;\n}\n"
    );
}

#[test]
fn predicates_are_a_choice() {
    let float = Some(Type::Pointer(32, Kind::Float));
    for ty in [None, float] {
        let text = example(&PREDICATES, "predicates", &[(0, 8, ty), (8, 8, ty)]);
        let expected = "\
__global__ void predicates(float *param_1, float *param_2)
{
    unsigned int u1 = blockIdx.x * blockDim.x + threadIdx.x;
    if (u1 - 6 < 4)
        param_1[u1] = (float)u1;
    else
        param_2[u1] = (float)u1;
}
";
        assert_eq!(text, expected);
    }
}

/// The C of a kernel of ours.
fn kernel(file: &str, name: &str) -> String {
    let cubin = std::fs::read(folder().join("sm_35").join(format!("{file}.cubin"))).unwrap();
    let cubin = Cubin::read(Reader::new(&cubin)).unwrap();
    let wanted = |function: &unshade::nv::function::Function<'_>| function.name() == name.as_bytes();
    let mut text = String::new();
    unshade::decompile::cubin(&cubin, &wanted, DEFAULT_BUDGET, &mut Diagnostics::new(), &mut |function| {
        text = function.result.unwrap().text();
    });
    text
}

#[test]
fn divisions_of_software_are_operators() {
    for name in ["divide_signed", "divide_unsigned"] {
        let text = kernel("more_integers", name);
        assert!(text.contains(" / ") && text.contains(" % ") && !text.contains("1.0f /"), "{text}");
    }
    let text = kernel("int64", "i64");
    assert!(text.contains(" / ") && !text.contains("float2ull"), "{text}");
}

#[test]
fn variables_and_calls_of_the_runtime_have_names() {
    let text = kernel("printk", "pr");
    assert!(text.contains(r#"printf("t %d v %d\n", "#), "{text}");
    assert!(text.contains(r#"__assertfail("o[0]!=7", "printk.cu", 3, "#), "{text}");
    let text = kernel("constmem", "cst");
    assert!(
        text.contains("__constant__ float coef[16];") && text.contains("__device__ int glob[4];"),
        "{text}"
    );
    let text = kernel("more_calls", "weighted");
    assert!(text.contains(" weights[8] = {1, "), "{text}");
}

/// Each kernel is run on so many inputs.
const ROUNDS: u64 = 6;

#[test]
fn the_c_does_what_the_source_and_the_machine_code_do() {
    let all = cases::all();
    let mut sources = BTreeMap::new();
    let mut decompiled = Vec::new();
    let mut left_out = Vec::new();
    for case in &all {
        let cubin = std::fs::read(folder().join("sm_35").join(format!("{}.cubin", case.file))).unwrap();
        let cubin = Cubin::read(Reader::new(&cubin)).unwrap();
        let wanted =
            |function: &unshade::nv::function::Function<'_>| function.name() == case.kernel.as_bytes();
        let mut diagnostics = Diagnostics::new();
        unshade::decompile::cubin(&cubin, &wanted, DEFAULT_BUDGET, &mut diagnostics, &mut |function| {
            match function.result {
                Err(fault) => left_out.push(format!("{}: {fault}", case.kernel)),
                // What has no C is said in the text.
                Ok(found) if found.unlifted > 0 => left_out.push(format!("{}: not all is C", case.kernel)),
                Ok(found) => {
                    let file = format!("c_{}", unshade::decompiler::c::identifier(&case.kernel));
                    sources.insert(file.clone(), found.text());
                    let expression = unshade::decompiler::c::identifier(&case.kernel);
                    decompiled.push((case, cases::Case { file, expression, ..case.clone() }));
                }
            }
        });
    }
    let scratch = std::env::temp_dir().join(format!("unshade-decompile-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let cases: Vec<cases::Case> = decompiled.iter().map(|pair| pair.1.clone()).collect();
    let program = match host::Program::new(&cases, &sources).compile(&scratch) {
        Ok(program) => program,
        Err(host::HostError::NoCompiler(error)) => {
            panic!("this test compiles what the decompiler writes: it needs a C++ compiler ({error})")
        }
        Err(error) => panic!("{error:?}"),
    };
    let mut failures: BTreeMap<&str, String> = BTreeMap::new();
    for (original, case) in &decompiled {
        let cubin = std::fs::read(folder().join("sm_35").join(format!("{}.cubin", original.file))).unwrap();
        let runs: Vec<_> = (0..ROUNDS).map(|round| (case, original.inputs(round))).collect();
        let results = match host::run(&program, &scratch, &runs) {
            Ok(results) => results,
            Err(error) => {
                failures.insert(&case.kernel, format!("{error:?}"));
                continue;
            }
        };
        for ((_, inputs), found) in runs.iter().zip(&results) {
            let failure = match emulated::run(&cubin, original, inputs) {
                Err(fault) => Some(fault.to_string()),
                Ok((expected, _)) => compare::difference(original, &expected, found),
            };
            if let Some(failure) = failure {
                failures.entry(&case.kernel).or_insert(failure);
            }
        }
    }
    println!("{} kernels as C, {} left out", decompiled.len(), left_out.len());
    for line in &left_out {
        println!("  {line}");
    }
    for (kernel, failure) in &failures {
        println!("{kernel}: {failure}");
    }
    assert!(failures.is_empty(), "{} kernels differ", failures.len());
    let _ = std::fs::remove_dir_all(&scratch);
}
