//! Ends launches from outside: at a deadline, or when nobody waits for the result any more.
//!
//! The emulator and both interpreters ask every few hundred or thousand instructions, on the thread that runs them. The
//! check is a scoped variable of that thread, because it concerns everything that runs inside of [`until`].

use std::cell::RefCell;

type Check = Box<dyn Fn() -> bool>;

thread_local! {
    static CHECK: RefCell<Option<Check>> = const { RefCell::new(None) };
}

/// Runs a function whose launches on this thread end with a fault soon after `is_over` returns true.
///
/// ```
/// use unshade_emulate::{Device, Grid, Limits, Module, Reason, interrupt};
///
/// // A scheduling word, and a branch to itself: a kernel that never ends.
/// let code = [0x0884_ac80_9c80_10c0_u64, 0x1200_7fff_fc1c_003c].map(u64::to_le_bytes).concat();
/// let module = Module::of_code(35, "spin", &code, &[]).unwrap();
/// let mut device = Device::new();
/// let launch = || module.launch(&mut device, "spin", Grid::new(1, 1), &[], Limits::default(), None);
/// assert_eq!(interrupt::until(|| true, launch).unwrap_err().reason, Reason::Interrupted);
/// ```
pub fn until<T>(is_over: impl Fn() -> bool + 'static, function: impl FnOnce() -> T) -> T {
    let _restored = Restored(CHECK.replace(Some(Box::new(is_over))));
    function()
}

/// Puts back the check of the surrounding scope, even if the function panics.
struct Restored(Option<Check>);

impl Drop for Restored {
    fn drop(&mut self) {
        CHECK.set(self.0.take());
    }
}

/// Returns whether the launch is to end.
pub(crate) fn is_requested() -> bool {
    CHECK.with_borrow(|check| check.as_ref().is_some_and(|is_over| is_over()))
}
