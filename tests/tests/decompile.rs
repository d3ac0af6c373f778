//! The decompiler: the examples of an article on Kepler, and C that is compared with the source and the machine code.
//!
//! Requires g++.

use std::collections::BTreeMap;
use unshade::decompiler::c::{CPP, CUDA, Language};
use unshade::decompiler::types::{NumberKind, Type};
use unshade::decompiler::{Options, Parameter, Source, decompile, sass};
use unshade::nv::Cubin;
use unshade_core::{Diagnostics, Reader};
use unshade_tests::closed_loop::host::host_options;
use unshade_tests::closed_loop::{cases, compare, emulated, folder, host};

/// Decompiles the words of an example; parameters are 4 or 8 bytes long.
fn example(words: &[u64], name: &str, parameters: &[(u32, u32, Option<Type>)]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let parameters =
        parameters.iter().map(|&(offset, size, ty)| Parameter { offset, size, ty, name: None }).collect();
    let code = sass::Code {
        isa: unshade::sass::isa::by_architecture(30).unwrap(),
        bytes: &bytes,
        base: 0,
        entry: 0,
        local_size: 256,
        constants: Vec::new(),
        functions: Vec::new(),
        variables: &[],
        relocations: Vec::new(),
        locals: Vec::new(),
    };
    let source = Source {
        name: String::from(name),
        is_kernel: true,
        parameters,
        method: Vec::new(),
        code,
        shared_size: 0,
        max_threads: None,
        structures: Vec::new(),
        is_pointed: false,
    };
    decompile(&source, &Options::default()).unwrap().text()
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
        "extern \"C\" __global__ void axpy(float param_1, float *param_2, float *param_3)\n{\n    param_2[threadIdx.x] = \
         param_3[threadIdx.x] * param_1;\n}\n"
    );
}

#[test]
fn predicates_are_a_choice() {
    let float = Some(Type::Pointer(32, NumberKind::Float));
    for ty in [None, float] {
        let text = example(&PREDICATES, "predicates", &[(0, 8, ty), (8, 8, ty)]);
        let expected = "\
extern \"C\" __global__ void predicates(float *param_1, float *param_2)
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

/// Decompiles one of our kernels.
fn kernel(file: &str, name: &str) -> String {
    let cubin = std::fs::read(folder().join("sm_35").join(format!("{file}.cubin"))).unwrap();
    let cubin = Cubin::read(Reader::new(&cubin)).unwrap();
    let wanted = |function: &unshade::nv::function::Function<'_>| function.name() == name.as_bytes();
    let mut text = String::new();
    unshade::decompile::cubin(
        &cubin,
        &wanted,
        &Options::default(),
        &mut Diagnostics::new(),
        &mut |function| {
            text = function.result.unwrap().text();
        },
    );
    text
}

#[test]
fn textures_and_surfaces_have_cuda_functions() {
    let texk = "\
texture<uint4, cudaTextureType1D> tex1;
texture<float, cudaTextureType2D> tex2;

extern \"C\" __global__ void texk(float *param_1, uint4 *param_2)
{
    float f1 = tex2D(tex2, (float)threadIdx.x + 0.5f, (float)blockIdx.x);
    uint4 v1 = tex1Dfetch(tex1, threadIdx.x);
    param_1[threadIdx.x] = f1;
    param_2[threadIdx.x].x = v1.x;
    param_2[threadIdx.x].y = v1.y;
    param_2[threadIdx.x].z = v1.z;
    param_2[threadIdx.x].w = v1.w;
}
";
    assert_eq!(kernel("texture", "texk"), texk);
    let surfk = "\
surface<void, cudaSurfaceType2D> sf;

extern \"C\" __global__ void surfk(unsigned int param_1)
{
    surf2Dwrite<unsigned int>(param_1, sf, threadIdx.x << 2, threadIdx.y);
    surf2Dwrite<unsigned int>(surf2Dread<unsigned int>(sf, 4, threadIdx.y) + 1, sf, (threadIdx.x << 2) + 4,
            threadIdx.y);
}
";
    assert_eq!(kernel("texture", "surfk"), surfk);
    let shapes = "\
surface<void, cudaSurfaceType2DLayered> layers;
surface<void, cudaSurfaceType1D> line;
surface<void, cudaSurfaceType1DLayered> lines;
surface<void, cudaSurfaceType3D> volume;

extern \"C\" __global__ void shapes(unsigned int *param_1)
{
    uint2 v1 = surf1DLayeredread<uint2>(lines, threadIdx.x, threadIdx.z);
    unsigned int u1 = surf1Dread<unsigned int>(line, threadIdx.x, cudaBoundaryModeZero);
    unsigned int u2 = surf3Dread<unsigned int>(volume, threadIdx.x, threadIdx.y, threadIdx.z, cudaBoundaryModeClamp);
    uint4 v2 = surf2DLayeredread<uint4>(layers, threadIdx.x, threadIdx.y, threadIdx.z);
    param_1[2] = v1.y;
    *param_1 = u1;
    param_1[1] = u2;
    surf3Dwrite<uint2>(make_uint2(v2.x, v2.y), volume, threadIdx.x, threadIdx.y, threadIdx.z);
    param_1[3] = v2.w;
}
";
    assert_eq!(kernel("images", "shapes"), shapes);
    let handles = "\
struct handles_element_1 {
    unsigned long long at_0;
    unsigned int at_8;
};
struct handles_element_2 {
    unsigned int at_0, at_4;
    float at_8;
};

extern \"C\" __global__ void handles(struct handles_element_2 *param_1, unsigned long long param_2, struct handles_element_1 *param_3)
{
    unsigned int u1 = surf2Dread<unsigned int>(param_2, threadIdx.x, threadIdx.y);
    unsigned char u2 = surf2Dread<unsigned char>(param_3->at_0, threadIdx.x, threadIdx.y);
    param_1->at_0 = u1;
    param_1->at_4 = u2 & 255;
    param_1->at_8 = tex2D<float4>((unsigned long long)param_3->at_8, (float)threadIdx.x, (float)threadIdx.x).w;
}
";
    assert_eq!(kernel("images", "handles"), handles);
    let objects = kernel("texture", "texobj");
    for call in [
        "float4 v1 = tex3D<float4>(param_1, (float)threadIdx.x, 0.5f, 1.0f);",
        "float4 v2 = tex2DLod<float4>(param_1, 1.0f, (float)threadIdx.x, 2.0f);",
        "float4 v3 = tex2DLayered<float4>(param_1, 1.0f, 2.0f, 3);",
    ] {
        assert!(objects.contains(call), "{objects}");
    }
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

/// Number of inputs per kernel.
const ROUNDS: u64 = 6;

/// Decompiles consecutive 8-byte instructions. `{name}` is replaced with the address of the line `name:`.
fn of_text(text: &str) -> String {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        match line.strip_suffix(':') {
            Some(name) => _ = places.insert(name, 8 * lines.len()),
            None => lines.push(line),
        }
    }
    let placed = |line: &&str| match line.split_once('{') {
        Some((head, name)) => format!("{head}{:#x}\n", places[name.trim_end_matches('}')]),
        None => format!("{line}\n"),
    };
    let listing: String = lines.iter().map(placed).collect();
    let isa = unshade::sass::isa::by_architecture(35).unwrap();
    let words = unshade::sass::assemble::listing(isa, &listing).unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|line| line.word.to_le_bytes()[..8].to_vec()).collect();
    let source = Source::kernel("deep", sass::Code::new(isa, &bytes), &[8]);
    decompile(&source, &Options::default()).unwrap().text()
}

/// Returns a branch to a label that is taken if a word of memory is not zero.
fn branch(to: &str) -> String {
    format!("LD.E R3, [R0]\nISETP.NE.AND P0, PT, R3, RZ, PT\n@P0 BRA {{{to}}}\n")
}

/// If statements would be nested as deeply as there are branches, `goto` is used instead: neither the text nor the
/// recursion of the decompiler may become that deep.
#[test]
fn deep_graphs_become_text_of_some_depth() {
    const COUNT: usize = 400;
    let all = |make: &dyn Fn(usize) -> String| (0..COUNT).map(make).collect::<String>();
    let stores = |at: usize| format!("L{at}:\nST.E [R0], R3\nIADD32I R3, R3, 0x1\n");
    let loops = all(&|at| format!("H{at}:\n{}", branch(&format!("L{at}"))));
    let ends = all(&|at| branch(&format!("H{}", COUNT - 1 - at)));
    let chain = all(&|at| branch("L0") + &format!("ST.E [R0+{:#x}], R3\n", 4 * at));
    for body in [
        all(&|at| branch(&format!("L{at}"))),
        all(&|at| branch(&format!("L{}", COUNT - 1 - at))),
        loops + &ends,
        chain,
    ] {
        let begin = "MOV R0, c[0x0][0x140]\nMOV R1, c[0x0][0x144]\n";
        let text = of_text(&format!("{begin}{body}{}EXIT\n", all(&stores)));
        let (mut depth, mut most) = (0_usize, 0);
        for byte in text.bytes() {
            depth = depth + usize::from(byte == b'{') - usize::from(byte == b'}');
            most = most.max(depth);
        }
        assert!(most < 200, "{most}");
        for line in text.lines() {
            let Some((_, label)) = line.split_once("goto ") else { continue };
            assert!(text.contains(&format!("\n{}:", label.trim_end_matches(';'))), "{line}");
        }
    }
}

#[test]
fn cuda_c_does_what_the_machine_code_does() {
    compare_with_machine_code(&CUDA);
}

#[test]
fn cpp_does_what_the_machine_code_does() {
    compare_with_machine_code(&CPP);
}

/// Compiles all kernels that have cases, and compares their runs with the emulator.
fn compare_with_machine_code(language: &'static Language) {
    let all = cases::all();
    let options = Options { language, ..host_options() };
    let mut sources = BTreeMap::new();
    let mut decompiled = Vec::new();
    let mut left_out = Vec::new();
    for case in &all {
        let cubin = std::fs::read(folder().join("sm_35").join(format!("{}.cubin", case.file))).unwrap();
        let cubin = Cubin::read(Reader::new(&cubin)).unwrap();
        let wanted =
            |function: &unshade::nv::function::Function<'_>| function.name() == case.kernel.as_bytes();
        let mut diagnostics = Diagnostics::new();
        unshade::decompile::cubin(&cubin, &wanted, &options, &mut diagnostics, &mut |function| {
            match function.result {
                Err(fault) => left_out.push(format!("{}: {fault}", case.kernel)),
                // The text reports what has no C equivalent.
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
    let scratch = std::env::temp_dir().join(format!(
        "unshade-{}-{}",
        language.name.replace(' ', "-"),
        std::process::id()
    ));
    std::fs::create_dir_all(&scratch).unwrap();
    let cases: Vec<cases::Case> = decompiled.iter().map(|pair| pair.1.clone()).collect();
    let program = match host::Program::new(&cases, &sources).compile(&scratch) {
        Ok(program) => program,
        Err(host::HostError::NoCompiler(error)) => {
            panic!("this test compiles the output of the decompiler and needs a C++ compiler ({error})")
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
    println!("{} kernels as {}, {} left out", decompiled.len(), language.name, left_out.len());
    for line in &left_out {
        println!("  {line}");
    }
    for (kernel, failure) in &failures {
        println!("{kernel}: {failure}");
    }
    assert!(failures.is_empty(), "{} kernels differ", failures.len());
    let _ = std::fs::remove_dir_all(&scratch);
}
