//! Kinds of faults, for the tables of the checks that run kernels on invented inputs ([`unshade_emulate::trial`]).

use unshade_emulate::Reason;

/// Summarises a reason.
pub(super) fn kind(reason: &Reason) -> String {
    match reason {
        Reason::OutOfBounds { memory, .. } => format!("outside of {memory}"),
        Reason::Misaligned { memory, .. } => format!("misaligned in {memory}"),
        Reason::Steps(_) => "too many steps".into(),
        Reason::Time(_) => "too much time".into(),
        Reason::Order(_) => "the order of threads matters".into(),
        Reason::Deadlock(_) => "a barrier can't be passed".into(),
        other => other.to_string(),
    }
}
