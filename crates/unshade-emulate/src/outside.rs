//! The named functions of p-code that see or change more than a lane's registers, by what they need.

use std::sync::OnceLock;

use unshade_sass::semantics::functions;

use crate::stack::Token;

/// What a named function is to the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// A number made of numbers: `unshade_sass` computes it.
    Pure(&'static str),
    /// Pushes an entry of the reconvergence stack.
    Push(Token),
    /// Waits for an entry of the reconvergence stack.
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
    /// What orders memory or controls caches: memory is always in order here, and there are no caches.
    Nothing,
    Undefined,
    Debugger,
    Unsupported(&'static str),
}

/// What is done to memory in one step.
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

/// By name; those of 64 bits have `64` behind it.
const NAMES: &[(&str, Outside)] = &[
    ("reconverge", Outside::Pop(Token::Join)),
    ("push_reconvergence", Outside::Push(Token::Join)),
    ("push_break", Outside::Push(Token::Break)),
    ("push_continue", Outside::Push(Token::Continue)),
    ("push_return", Outside::Push(Token::Return)),
    ("push_longjmp", Outside::Push(Token::LongJump)),
    ("pop_break", Outside::Pop(Token::Break)),
    ("pop_continue", Outside::Pop(Token::Continue)),
    ("pop_longjmp", Outside::Pop(Token::LongJump)),
    ("shuffle", Outside::Shuffle),
    ("shuffle_inside", Outside::ShuffleInside),
    ("ballot", Outside::Ballot),
    ("vote", Outside::Vote),
    ("lane_in_quad", Outside::LaneInQuad),
    ("swizzle_add", Outside::SwizzleAdd),
    ("shift_step", Outside::ShiftStep),
    ("barrier_sync", Outside::BarrierSync),
    ("barrier_arrive", Outside::BarrierArrive),
    ("barrier_reduce", Outside::BarrierReduce),
    ("barrier_scan", Outside::BarrierScan),
    ("barrier_sync_all", Outside::BarrierSyncAll),
    ("barrier_result", Outside::BarrierResult),
    ("lock_shared", Outside::Lock),
    ("unlock_shared", Outside::Unlock),
    ("release_locks", Outside::ReleaseLocks),
    ("load_constant_mode", Outside::LoadConstant),
    ("atomic_add", Outside::Atomic(Atomic::Add)),
    ("atomic_min", Outside::Atomic(Atomic::Min)),
    ("atomic_max", Outside::Atomic(Atomic::Max)),
    ("atomic_inc", Outside::Atomic(Atomic::Inc)),
    ("atomic_dec", Outside::Atomic(Atomic::Dec)),
    ("atomic_and", Outside::Atomic(Atomic::And)),
    ("atomic_or", Outside::Atomic(Atomic::Or)),
    ("atomic_xor", Outside::Atomic(Atomic::Xor)),
    ("atomic_exchange", Outside::Atomic(Atomic::Exchange)),
    ("atomic_safe_add", Outside::Atomic(Atomic::SafeAdd)),
    ("atomic_cas", Outside::CompareAndSwap),
    ("texture_coordinates", Outside::TextureCoordinates),
    ("texture_arguments", Outside::TextureArguments),
    ("texture_sample", Outside::TextureSample),
    ("texture_fetch", Outside::TextureFetch),
    ("texture_gather", Outside::TextureGather),
    ("texture_query", Outside::TextureQuery),
    ("texture_result", Outside::TextureResult),
    ("surface_load", Outside::SurfaceLoad),
    ("surface_result", Outside::TextureResult),
    ("surface_data", Outside::TextureCoordinates),
    ("surface_store", Outside::SurfaceStore),
    ("texture_barrier", Outside::Nothing),
    ("texture_phase", Outside::Nothing),
    ("memory_barrier", Outside::Nothing),
    ("cache_control", Outside::Nothing),
    ("local_cache_control", Outside::Nothing),
    ("trigger", Outside::Nothing),
    ("undefined", Outside::Undefined),
    ("debugger", Outside::Debugger),
];

/// What the function of an index is.
pub(crate) fn by_index(index: u16) -> Outside {
    static ALL: OnceLock<Vec<Outside>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let all = functions();
        all.iter().map(|function| by_name(function.name, function.pure)).collect()
    });
    all.get(usize::from(index)).copied().unwrap_or(Outside::Undefined)
}

fn by_name(name: &'static str, pure: bool) -> Outside {
    if pure && functions::call(name, &[0; 4]).is_some() {
        return Outside::Pure(name);
    }
    let short = if name.starts_with("atomic_") { name.strip_suffix("64").unwrap_or(name) } else { name };
    let found = NAMES.iter().find(|entry| entry.0 == short);
    found.map_or(Outside::Unsupported(name), |entry| entry.1)
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
            assert!(matches!(by_name(function.name, true), Outside::Pure(_)), "{}", function.name);
        }
    }
}
