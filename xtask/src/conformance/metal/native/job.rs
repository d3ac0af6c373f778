//! The jobs of the runtime: which libraries to run, on which grids, with which arguments. `tests/metal/runtime/main.cpp` has
//! the format.

use std::fmt::Write as _;
use std::path::Path;

use super::module::{Kernel, Slot};

/// The bytes of a buffer of data, and the elements of an array of parameters.
const DATA: u64 = 64 << 10;
const PARAMETERS: u64 = 16;

/// The bytes of an argument in a threadgroup's memory.
const THREADGROUP: u64 = 32 << 10;

/// Threads of a threadgroup and threadgroups of a grid, for each run: one simdgroup, four, and two with larger parameters.
const GRIDS: [[[u32; 3]; 2]; 3] = [[[32, 1, 1], [3, 2, 2]], [[32, 2, 2], [2, 2, 1]], [[64, 1, 1], [4, 3, 1]]];

/// Returns the threads of a threadgroup and the threadgroups of a grid, for each run of a kernel.
pub(super) fn grids(kernel: &Kernel) -> [[[u32; 3]; 2]; 3] {
    GRIDS.map(|[mut threads, groups]| {
        let most = kernel.max_threads.unwrap_or(u32::MAX);
        for axis in [2, 1, 0] {
            while threads.iter().product::<u32>() > most && threads[axis] > 1 {
                threads[axis] /= 2;
            }
        }
        [threads, groups]
    })
}

/// Returns the text of a job.
pub(super) fn text(kernel: &Kernel, left: &Path, right: &Path) -> String {
    let mut text = format!("left {}\nright {}\n", left.display(), right.display());
    for [threads, groups] in grids(kernel) {
        let [x, y, z] = threads;
        let [gx, gy, gz] = groups;
        let _ = writeln!(text, "threads {x} {y} {z} groups {gx} {gy} {gz}");
    }
    for slot in &kernel.slots {
        write_slot(&mut text, slot);
    }
    text
}

fn write_slot(text: &mut String, slot: &Slot) {
    let _ = match slot {
        Slot::Buffer { stride, is_parameter, fields, .. } => {
            let size = if *is_parameter { stride * PARAMETERS } else { DATA.div_ceil(*stride) * stride };
            let kind = if *is_parameter { "parameter" } else { "data" };
            let fields = fields.iter().map(|field| format!("{}:{}:{}", field.ty, field.offset, field.count));
            let fields = fields.collect::<Vec<_>>().join(",");
            writeln!(
                text,
                "slot buffer {size} {stride} {kind} {}",
                if fields.is_empty() { "u8:0:0" } else { &fields }
            )
        }
        Slot::Threadgroup(_) => writeln!(text, "slot threadgroup {THREADGROUP}"),
        Slot::Position(name) => writeln!(text, "slot id {name}"),
        Slot::Other(_) => Ok(()),
    };
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::module::{Field, Kernel, Slot};
    use super::text;

    #[test]
    fn jobs_have_slots_and_grids() {
        let fields = vec![Field { ty: "f32", offset: 0, count: 2 }];
        let slots = vec![
            Slot::Buffer { location: 0, stride: 8, is_parameter: true, fields },
            Slot::Threadgroup(0),
            Slot::Position("thread_position_in_grid".into()),
        ];
        let kernel = Kernel { text: String::new(), slots, max_threads: Some(64) };
        let expected = "left a.so\nright b.so\nthreads 32 1 1 groups 3 2 2\nthreads 32 2 1 groups 2 2 1\n\
                        threads 64 1 1 groups 4 3 1\n\
                        slot buffer 128 8 parameter f32:0:2\nslot threadgroup 32768\n\
                        slot id thread_position_in_grid\n";
        assert_eq!(text(&kernel, Path::new("a.so"), Path::new("b.so")), expected);
    }
}
