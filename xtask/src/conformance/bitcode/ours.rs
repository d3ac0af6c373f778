//! Our text of a module, produced on a separate thread: a panic or an endless loop is a finding, not the end of the
//! run.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use unshade::llvm::Module;
use unshade::llvm::print::{Dialect, PrintOptions, module};

/// Timeout for endless loops; the largest module takes a second.
const PATIENCE: Duration = Duration::from_secs(120);

/// A text and its findings.
pub(super) struct Printed {
    pub(super) text: String,
    pub(super) findings: Vec<String>,
}

/// The reason why there is no text.
pub(super) enum Failure {
    /// The module was rejected with an error, which is correct for an invalid file.
    Refused(String),
    /// A panic.
    Crash(String),
    /// A timeout.
    Hang,
}

/// Prints a module with `name` in the first line.
pub(super) fn print(
    bytes: Vec<u8>,
    dialect: Dialect,
    name: Option<&'static str>,
) -> Result<Printed, Failure> {
    let (sender, receiver) = mpsc::channel();
    let worker = thread::spawn(move || {
        let _ = sender.send(print_here(&bytes, dialect, name));
    });
    match receiver.recv_timeout(PATIENCE) {
        Ok(printed) => printed.map_err(Failure::Refused),
        Err(mpsc::RecvTimeoutError::Timeout) => Err(Failure::Hang),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let payload = worker.join().err();
            let message = payload.as_ref().and_then(|payload| {
                payload
                    .downcast_ref::<String>()
                    .cloned()
                    .or(payload.downcast_ref::<&str>().map(ToString::to_string))
            });
            Err(Failure::Crash(message.unwrap_or_default()))
        }
    }
}

fn print_here(bytes: &[u8], dialect: Dialect, module_id: Option<&str>) -> Result<Printed, String> {
    let parsed = Module::parse(bytes, 0).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let findings = module(&parsed, &PrintOptions { dialect, module_id }, &mut text);
    let findings = parsed.diagnostics.iter().chain(findings.iter());
    let said = |finding: &unshade::core::Diagnostic| {
        format!("{}: {}: {}", finding.severity, finding.rule, finding.error)
    };
    Ok(Printed { text, findings: findings.map(said).collect() })
}

impl Failure {
    /// Returns whether this must never happen for any input.
    pub(super) fn is_fatal(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }
}
