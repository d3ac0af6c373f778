//! The emulated machine: faults, limits, barriers, textures, system calls.

use std::time::Duration;

use unshade_emulate::fault::Memory;
use unshade_emulate::texture::Filter;
use unshade_emulate::{Argument, Device, DevicePointer, Fault, Grid, Limits, Module, Reason, Texture};

fn load(name: &str) -> (Device, Module) {
    load_from("kernels/sm_35", name)
}

fn load_from(folder: &str, name: &str) -> (Device, Module) {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/nvidia");
    let cubin = std::fs::read(format!("{fixtures}/{folder}/{name}.cubin")).expect("a fixture");
    let mut device = Device::new();
    let module = Module::load(&mut device, &cubin).expect("a cubin that loads");
    (device, module)
}

fn ints(device: &mut Device, values: &[i32]) -> DevicePointer {
    let pointer = device.allocate(4 * values.len() as u64, "ints").unwrap();
    device.write(pointer, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    pointer
}

fn read(device: &mut Device, pointer: DevicePointer, count: usize) -> Vec<i32> {
    let bytes = device.read(pointer, 4 * count).unwrap();
    bytes.chunks_exact(4).map(|word| i32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn fault(result: Result<unshade_emulate::Summary, Fault>) -> Fault {
    result.expect_err("a fault")
}

#[test]
fn out_of_bounds_access_names_instruction_and_thread() {
    let (mut device, module) = load("axpy");
    let y = device.allocate(128, "y").unwrap();
    let x = device.allocate(40, "x").unwrap();
    let arguments = [Argument::from(1.0_f32), y.into(), x.into()];
    let fault =
        fault(module.launch(&mut device, "axpy", Grid::new(1, 32), &arguments, Limits::default(), None));
    assert!(matches!(fault.reason, Reason::OutOfBounds { memory: Memory::Global, bytes: 4, .. }), "{fault}");
    let location = fault.location.clone().unwrap();
    assert_eq!(
        (location.address, location.text.as_str(), location.thread),
        (0x30, "LD.E R2, [R2]", [10, 0, 0])
    );
    assert_eq!(
        fault.to_string(),
        format!(
            "axpy at 0x0030: LD.E R2, [R2]: block (0, 0, 0), thread (10, 0, 0), warp 0 lane 10: 4 bytes at {:#x} are \
             outside global memory (0 bytes after the end of x, which has 40 bytes at {:#x})",
            x.0 + 40,
            x.0
        )
    );
}

#[test]
fn misaligned_access_is_reported() {
    let (mut device, module) = load("axpy");
    let y = device.allocate(128, "y").unwrap();
    let arguments = [Argument::from(1.0_f32), y.into(), DevicePointer(y.0 + 2).into()];
    let fault =
        fault(module.launch(&mut device, "axpy", Grid::new(1, 1), &arguments, Limits::default(), None));
    assert_eq!(fault.reason, Reason::Misaligned { memory: Memory::Global, address: y.0 + 2, bytes: 4 });
}

#[test]
fn mismatched_arguments_are_rejected() {
    let (mut device, module) = load("axpy");
    let launch = |device: &mut Device, kernel: &str, grid, arguments: &[Argument]| {
        fault(module.launch(device, kernel, grid, arguments, Limits::default(), None)).to_string()
    };
    let one = Grid::new(1, 1);
    assert_eq!(launch(&mut device, "axpy", one, &[]), "axpy takes 3 arguments, not 0");
    let wrong = [Argument::from(1.0_f64), 0_u64.into(), 0_u64.into()];
    assert_eq!(
        launch(&mut device, "axpy", one, &wrong),
        "parameter 0 of axpy has 4 bytes, but the argument has 8"
    );
    assert_eq!(launch(&mut device, "axpi", one, &[]), "no kernel is named axpi; kernels are axpy");
    let text = launch(&mut device, "axpy", Grid::new(1, 2000), &wrong);
    assert_eq!(text, "a block has 1 to 1024 threads, not 2000");
}

#[test]
fn barrier_deadlock_is_reported() {
    let (mut device, module) = load("faults");
    let out = ints(&mut device, &[0; 96]);
    let arguments = [out.into()];
    let fault =
        fault(module.launch(&mut device, "stuck", Grid::new(1, 64), &arguments, Limits::default(), None));
    let expected = "warp 0, 1 at barrier 1, where 2 of 3 warps arrived";
    assert_eq!(fault.reason, Reason::Deadlock(expected.into()));
    assert!(fault.location.unwrap().text.starts_with("BAR.SYNC 0x1"));
    // With the number of threads that the barrier expects, it is passed.
    module.launch(&mut device, "stuck", Grid::new(1, 96), &arguments, Limits::default(), None).unwrap();
    assert_eq!(read(&mut device, out, 96), [1; 96]);
}

#[test]
fn limits_stop_endless_loops() {
    let (mut device, module) = load("faults");
    let arguments = [ints(&mut device, &[0]).into()];
    let limits = Limits { steps: 10_000, ..Limits::default() };
    let steps = fault(module.launch(&mut device, "endless", Grid::new(1, 32), &arguments, limits, None));
    assert_eq!(steps.reason, Reason::Steps(10_000));
    let limits = Limits { time: Duration::from_millis(10), ..Limits::default() };
    let time = fault(module.launch(&mut device, "endless", Grid::new(1, 32), &arguments, limits, None));
    assert_eq!(time.reason, Reason::Time(Duration::from_millis(10)));
    device.limit_memory(100);
    assert_eq!(device.allocate(101, "more"), Err(Reason::Memory(100)));
}

#[test]
fn shared_local_and_global_memory_have_generic_addresses() {
    let (mut device, module) = load("faults");
    let mut values = vec![0; 64];
    values[..4].copy_from_slice(&[100, 101, 102, 103]);
    let out = ints(&mut device, &values);
    let arguments = [out.into(), Argument::from(50_i32)];
    module.launch(&mut device, "generic", Grid::new(1, 32), &arguments, Limits::default(), None).unwrap();
    let found = read(&mut device, out, 64);
    for t in 0..32_i32 {
        let index = t >> 2 & 3;
        let expected = if t & 1 != 0 {
            index * 3
        } else if t & 2 != 0 {
            50 + index
        } else {
            100 + index
        };
        assert_eq!(found[32 + t as usize], expected, "thread {t}");
    }
}

#[test]
fn shared_memory_is_bounded() {
    let (mut device, module) = load("faults");
    let out = ints(&mut device, &[0; 16]);
    let arguments = [out.into(), Argument::from(4_i32)];
    let result =
        module.launch(&mut device, "beyond_shared", Grid::new(1, 16), &arguments, Limits::default(), None);
    let fault = fault(result);
    assert!(
        matches!(fault.reason, Reason::OutOfBounds { memory: Memory::Shared, address: 64, .. }),
        "{fault}"
    );
    assert_eq!(fault.location.unwrap().thread, [12, 0, 0]);
}

#[test]
fn system_calls_print_allocate_and_assert() {
    let (mut device, module) = load("printk");
    let launch = |device: &mut Device, values: &[i32]| {
        let arguments = [ints(device, values).into()];
        module.launch(device, "pr", Grid::new(1, 2), &arguments, Limits::default(), None)
    };
    launch(&mut device, &[3, 4]).unwrap();
    assert_eq!(device.take_printed(), b"t 0 v 3\nt 1 v 4\n");
    let fault = fault(launch(&mut device, &[7, 4]));
    let text = fault.reason.to_string();
    assert!(text.ends_with("block: [0,0,0], thread: [0,0,0] Assertion `o[0]!=7` failed."), "{text}");
}

#[test]
fn freed_memory_is_inaccessible() {
    let (mut device, module) = load("faults");
    let arguments = [ints(&mut device, &[1, 2]).into()];
    let fault =
        fault(module.launch(&mut device, "freed", Grid::new(1, 1), &arguments, Limits::default(), None));
    assert!(matches!(fault.reason, Reason::OutOfBounds { memory: Memory::Global, .. }), "{fault}");
}

#[test]
fn a_trap_is_a_fault() {
    let (mut device, module) = load("misc");
    let arguments = [ints(&mut device, &[1, 0]).into()];
    let fault =
        fault(module.launch(&mut device, "trapk", Grid::new(1, 1), &arguments, Limits::default(), None));
    assert_eq!(fault.reason, Reason::Trap);
}

#[test]
fn textures_are_bound_by_name() {
    let (mut device, mut module) = load("texture");
    let picture: Vec<f32> = (0..32).map(|index| index as f32).collect();
    let linear = device.add_texture(Texture::floats([8, 4, 1], 1, &picture).filter(Filter::Linear));
    let words: Vec<u32> = (0..32).collect();
    let fetched = device.add_texture(Texture::words([8, 1, 1], 4, &words));
    let out = ints(&mut device, &[0; 8]);
    let vectors = ints(&mut device, &[0; 32]);
    let arguments = [out.into(), vectors.into()];
    let grid = Grid::new(1, 8);
    let unbound = fault(module.launch(&mut device, "texk", grid, &arguments, Limits::default(), None));
    assert!(matches!(unbound.reason, Reason::HostCall(_)), "{unbound}");
    module.bind_texture("tex2", linear);
    module.bind_texture("tex1", fetched);
    module.launch(&mut device, "texk", grid, &arguments, Limits::default(), None).unwrap();
    // tex2D(t + 0.5, 0): halfway to the row above, which clamps to the first.
    let expected: Vec<i32> = (0..8).map(|t| (t as f32).to_bits().cast_signed()).collect();
    assert_eq!(read(&mut device, out, 8), expected);
    assert_eq!(read(&mut device, vectors, 32), (0..32).collect::<Vec<i32>>());
}

#[test]
fn textures_are_passed_as_handles() {
    let (mut device, module) = load("texture");
    let volume: Vec<f32> = (0..4 * 4 * 4 * 4).map(|index| index as f32).collect();
    let handle = device.add_texture(Texture::floats([4, 4, 4], 4, &volume));
    let out = ints(&mut device, &[0; 4 * 8]);
    let arguments = [Argument::from(handle), out.into()];
    module.launch(&mut device, "texobj", Grid::new(1, 1), &arguments, Limits::default(), None).unwrap();
    let found: Vec<f32> =
        read(&mut device, out, 12).into_iter().map(|word| f32::from_bits(word as u32)).collect();
    // tex3D(0, 0.5, 1), tex2DLod(1, 0), tex2DLayered(1, 2) of layer 3.
    assert_eq!(found[..4], [64.0, 65.0, 66.0, 67.0]);
    assert_eq!(found[4..8], [4.0, 5.0, 6.0, 7.0]);
    assert_eq!(found[8..], [228.0, 229.0, 230.0, 231.0]);
}

#[test]
fn trace_has_the_written_registers() {
    let (mut device, module) = load("axpy");
    let y = device.allocate(128, "y").unwrap();
    let arguments = [Argument::from(1.0_f32), y.into(), y.into()];
    let mut lines = Vec::new();
    let mut trace = |step: &unshade_emulate::Step<'_>| {
        let written = step.written();
        lines.push(format!("{:x} {} {written:?}", step.address, step.instruction.text(step.address)));
    };
    let grid = Grid::new(1, 32);
    let summary =
        module.launch(&mut device, "axpy", grid, &arguments, Limits::default(), Some(&mut trace)).unwrap();
    assert_eq!(lines[1], "10 S2R R0, SR_TID.X [0]");
    assert_eq!(lines.last().unwrap(), "60 EXIT []");
    assert_eq!(summary.blocks, 1);
}

#[test]
fn surfaces_are_bound_by_name() {
    let (mut device, mut module) = load("texture");
    let surface = device.add_surface(16, 3).unwrap();
    let before: Vec<u8> = (0..48).collect();
    surface.write(&mut device, &before).unwrap();
    module.bind_surface("sf", surface);
    let arguments = [Argument::from(7_i32)];
    let grid = Grid { blocks: [1; 3], threads: [1, 3, 1], shared: 0 };
    module.launch(&mut device, "surfk", grid, &arguments, Limits::default(), None).unwrap();
    // 7 at byte 0, and at byte 4 one more than before.
    let mut expected = before.clone();
    for line in expected.chunks_mut(16) {
        line[..4].copy_from_slice(&7_i32.to_le_bytes());
        line[4] += 1;
    }
    assert_eq!(surface.read(&mut device).unwrap(), expected);
    let outside = Grid { threads: [1, 4, 1], ..grid };
    let fault = fault(module.launch(&mut device, "surfk", outside, &arguments, Limits::default(), None));
    assert_eq!(fault.reason, Reason::OutOfSurface);
}

#[test]
fn barriers_for_the_grid_end() {
    let (mut device, module) = load_from("sanitize", "faults");
    let launch = |device: &mut Device, blocks: u32, limits| {
        let out = ints(device, &vec![0; 128 * blocks as usize]);
        let arguments = [out.into(), ints(device, &[0]).into()];
        let grid = Grid::new(blocks, 64);
        let result = module.launch(device, "grid_barrier_ok", grid, &arguments, limits, None);
        (result, read(device, out, 128 * blocks as usize))
    };
    let (result, found) = launch(&mut device, 100, Limits::default());
    assert_eq!(result.unwrap().blocks, 100);
    let expected: Vec<i32> = (0..6400).chain((0..6400).rev()).collect();
    assert_eq!(found, expected);
    // More blocks than a chip can hold at once: those that run wait for ever.
    let limits = Limits { steps: 3_000_000, ..Limits::default() };
    assert_eq!(fault(launch(&mut device, 300, limits).0).reason, Reason::Steps(3_000_000));
}

#[test]
fn code_without_optimization_runs() {
    let (mut device, module) = load_from("sanitize", "debug");
    let out = ints(&mut device, &(0..16).collect::<Vec<i32>>());
    let arguments = [out.into(), Argument::from(5)];
    // Some threads read constants by address.
    module.launch(&mut device, "constants", Grid::new(1, 8), &arguments, Limits::default(), None).unwrap();
    assert_eq!(read(&mut device, out, 8), [3, 1, 4, 1, 5, 13, 14, 15]);
    let recurse = |device: &mut Device, depth: i32| {
        let arguments = [out.into(), Argument::from(depth)];
        module.launch(device, "recurse", Grid::new(1, 1), &arguments, Limits::default(), None)
    };
    recurse(&mut device, 10).unwrap();
    assert_eq!(read(&mut device, out, 1), [55]);
    assert_eq!(fault(recurse(&mut device, 10_000)).reason, Reason::StackOverflow);
}

#[test]
fn relocatable_cubins_have_shared_memory() {
    let (mut device, module) = load_from("sanitize", "relocatable");
    let out = ints(&mut device, &(0..64).collect::<Vec<i32>>());
    let grid = Grid { shared: 256, ..Grid::new(1, 64) };
    module.launch(&mut device, "mirror", grid, &[out.into()], Limits::default(), None).unwrap();
    let expected: Vec<i32> = (0..64).map(|t| 4 * (63 - t) + 1000).collect();
    assert_eq!(read(&mut device, out, 64), expected);
}
