//! The verbs that take a file, and why some do not apply to a format.

use super::Format;

/// A command that takes programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// `unshade FILE`.
    Info,
    /// `list`.
    List,
    /// `show`.
    Show,
    /// `nm`.
    Symbols,
    /// `dis`.
    Disassemble,
    /// `dis --stats`.
    Statistics,
    /// `dis --cfg`.
    ControlFlow,
    /// `dis --live`.
    Liveness,
    /// `dis --json`.
    CodeAsJson,
    /// `decompile`.
    Decompile,
    /// `run`.
    Run,
    /// `sanitize`.
    Sanitize,
    /// `asm --into`.
    AssembleInto,
    /// `ghidra --import`.
    Ghidra,
    /// `extract`.
    Extract,
    /// `verify`.
    Verify,
    /// `check`.
    Check,
    /// `diff`.
    Diff,
    /// `survey`.
    Survey,
    /// `dump`.
    Dump,
    /// `scan`.
    Scan,
    /// `explore`.
    Explore,
    /// `html`.
    Html,
    /// `to-yaml`.
    ToYaml,
    /// `link`.
    Link,
    /// `edit`.
    Edit,
    /// `sign`.
    Sign,
}

impl Verb {
    /// Every verb, in the order of the documentation.
    pub const ALL: [Self; 27] = [
        Self::Info,
        Self::List,
        Self::Show,
        Self::Symbols,
        Self::Disassemble,
        Self::Statistics,
        Self::ControlFlow,
        Self::Liveness,
        Self::CodeAsJson,
        Self::Decompile,
        Self::Run,
        Self::Sanitize,
        Self::AssembleInto,
        Self::Ghidra,
        Self::Extract,
        Self::Verify,
        Self::Check,
        Self::Diff,
        Self::Survey,
        Self::Dump,
        Self::Scan,
        Self::Explore,
        Self::Html,
        Self::ToYaml,
        Self::Link,
        Self::Edit,
        Self::Sign,
    ];

    /// Returns the verb as it is typed on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::List => "list",
            Self::Show => "show",
            Self::Symbols => "nm",
            Self::Disassemble => "dis",
            Self::Statistics => "dis --stats",
            Self::ControlFlow => "dis --cfg",
            Self::Liveness => "dis --live",
            Self::CodeAsJson => "dis --json",
            Self::Decompile => "decompile",
            Self::Run => "run",
            Self::Sanitize => "sanitize",
            Self::AssembleInto => "asm --into",
            Self::Ghidra => "ghidra --import",
            Self::Extract => "extract",
            Self::Verify => "verify",
            Self::Check => "check",
            Self::Diff => "diff",
            Self::Survey => "survey",
            Self::Dump => "dump",
            Self::Scan => "scan",
            Self::Explore => "explore",
            Self::Html => "html",
            Self::ToYaml => "to-yaml",
            Self::Link => "link",
            Self::Edit => "edit",
            Self::Sign => "sign",
        }
    }
}

/// Returns why a verb does not apply to a format, as a sentence without a full stop.
pub fn refusal(format: &Format, verb: Verb) -> Option<&'static str> {
    format.refusals.iter().find(|(refused, _)| *refused == verb).map(|(_, reason)| *reason)
}
