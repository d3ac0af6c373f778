//! Progress of long work, shown on standard error if it is a terminal and the work takes more than a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// The delay before progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// A counter of items or bytes that rises to a total.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
}

impl Progress {
    /// Starts the progress of work with `total` steps.
    pub(crate) fn new(what: &'static str, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self { bar, started: Instant::now() }
    }

    /// Adds `count` completed steps.
    pub(crate) fn advance(&self, count: u64) {
        if self.bar.is_hidden() && self.started.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(count);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
