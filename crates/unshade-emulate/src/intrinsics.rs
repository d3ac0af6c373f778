//! The named functions of p-code, resolved to what implements them.

use std::sync::OnceLock;

use unshade_sass::semantics::functions;

use crate::stack::Token;

/// The implementation of a named function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intrinsic {
    /// A pure function, which `unshade_sass` computes.
    Pure(&'static str),
    /// Pushes an entry of the reconvergence stack.
    Push(Token),
    /// Waits for the topmost entry of a kind on the reconvergence stack.
    Pop(Token),
    Shuffle,
    ShuffleInside,
    Ballot,
    Vote,
    LaneInQuad,
    SwizzleAdd,
    ShiftStep,
    BarrierSync,
    BarrierArrive,
    BarrierReduce,
    BarrierScan,
    BarrierSyncAll,
    BarrierResult,
    Lock,
    Unlock,
    ReleaseLocks,
    LoadConstant,
    Atomic(Atomic),
    CompareAndSwap,
    TextureCoordinates,
    TextureArguments,
    TextureSample,
    TextureFetch,
    TextureGather,
    TextureQuery,
    TextureResult,
    SurfaceLoad,
    SurfaceStore,
    /// A memory barrier. The emulator keeps memory in order; only the checks need it.
    Fence,
    /// No effect: cache control. The emulator has no caches.
    NoEffect,
    Undefined,
    Debugger,
    Unsupported(&'static str),
}

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exchange,
    SafeAdd,
}

/// By name. The 64-bit forms of atomics have the suffix `64`.
const NAMES: &[(&str, Intrinsic)] = &[
    ("reconverge", Intrinsic::Pop(Token::Join)),
    ("push_reconvergence", Intrinsic::Push(Token::Join)),
    ("push_break", Intrinsic::Push(Token::Break)),
    ("push_continue", Intrinsic::Push(Token::Continue)),
    ("push_return", Intrinsic::Push(Token::Return)),
    ("push_longjmp", Intrinsic::Push(Token::LongJump)),
    ("pop_break", Intrinsic::Pop(Token::Break)),
    ("pop_continue", Intrinsic::Pop(Token::Continue)),
    ("pop_longjmp", Intrinsic::Pop(Token::LongJump)),
    ("shuffle", Intrinsic::Shuffle),
    ("shuffle_inside", Intrinsic::ShuffleInside),
    ("ballot", Intrinsic::Ballot),
    ("vote", Intrinsic::Vote),
    ("lane_in_quad", Intrinsic::LaneInQuad),
    ("swizzle_add", Intrinsic::SwizzleAdd),
    ("shift_step", Intrinsic::ShiftStep),
    ("barrier_sync", Intrinsic::BarrierSync),
    ("barrier_arrive", Intrinsic::BarrierArrive),
    ("barrier_reduce", Intrinsic::BarrierReduce),
    ("barrier_scan", Intrinsic::BarrierScan),
    ("barrier_sync_all", Intrinsic::BarrierSyncAll),
    ("barrier_result", Intrinsic::BarrierResult),
    ("lock_shared", Intrinsic::Lock),
    ("unlock_shared", Intrinsic::Unlock),
    ("release_locks", Intrinsic::ReleaseLocks),
    ("load_constant_mode", Intrinsic::LoadConstant),
    ("atomic_add", Intrinsic::Atomic(Atomic::Add)),
    ("atomic_min", Intrinsic::Atomic(Atomic::Min)),
    ("atomic_max", Intrinsic::Atomic(Atomic::Max)),
    ("atomic_inc", Intrinsic::Atomic(Atomic::Inc)),
    ("atomic_dec", Intrinsic::Atomic(Atomic::Dec)),
    ("atomic_and", Intrinsic::Atomic(Atomic::And)),
    ("atomic_or", Intrinsic::Atomic(Atomic::Or)),
    ("atomic_xor", Intrinsic::Atomic(Atomic::Xor)),
    ("atomic_exchange", Intrinsic::Atomic(Atomic::Exchange)),
    ("atomic_safe_add", Intrinsic::Atomic(Atomic::SafeAdd)),
    ("atomic_cas", Intrinsic::CompareAndSwap),
    ("texture_coordinates", Intrinsic::TextureCoordinates),
    ("texture_arguments", Intrinsic::TextureArguments),
    ("texture_sample", Intrinsic::TextureSample),
    ("texture_fetch", Intrinsic::TextureFetch),
    ("texture_gather", Intrinsic::TextureGather),
    ("texture_query", Intrinsic::TextureQuery),
    ("texture_result", Intrinsic::TextureResult),
    ("surface_load", Intrinsic::SurfaceLoad),
    ("surface_result", Intrinsic::TextureResult),
    ("surface_data", Intrinsic::TextureCoordinates),
    ("surface_store", Intrinsic::SurfaceStore),
    ("texture_barrier", Intrinsic::NoEffect),
    ("texture_phase", Intrinsic::NoEffect),
    ("memory_barrier", Intrinsic::Fence),
    ("cache_control", Intrinsic::NoEffect),
    ("local_cache_control", Intrinsic::NoEffect),
    ("invalidate_textures", Intrinsic::NoEffect),
    ("trigger", Intrinsic::NoEffect),
    ("undefined", Intrinsic::Undefined),
    ("debugger", Intrinsic::Debugger),
];

/// Returns the implementation of a function by its index.
pub(crate) fn by_index(index: u16) -> Intrinsic {
    static ALL: OnceLock<Vec<Intrinsic>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let all = functions();
        all.iter().map(|function| by_name(function.name, function.pure)).collect()
    });
    all.get(usize::from(index)).copied().unwrap_or(Intrinsic::Undefined)
}

fn by_name(name: &'static str, pure: bool) -> Intrinsic {
    if pure && functions::call(name, &[0; 4]).is_some() {
        return Intrinsic::Pure(name);
    }
    let base = if name.starts_with("atomic_") { name.strip_suffix("64").unwrap_or(name) } else { name };
    let found = NAMES.iter().find(|entry| entry.0 == base);
    found.map_or(Intrinsic::Unsupported(name), |entry| entry.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_of_the_tables() {
        let functions = functions();
        for (name, _) in NAMES {
            assert!(functions.iter().any(|function| function.name == *name), "{name}");
        }
    }

    #[test]
    fn every_pure_function_is_computed() {
        for function in functions().iter().filter(|function| function.pure) {
            assert!(matches!(by_name(function.name, true), Intrinsic::Pure(_)), "{}", function.name);
        }
    }
}
