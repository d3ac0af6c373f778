//! Colour and layout of output for people.
//!
//! Colour carries meaning, but no information is lost without it. It is decided once: by `--color`, then by `NO_COLOR`
//! and similar variables, then by whether the stream is a terminal.

use anstyle::{AnsiColor, Style};
use std::fmt::{self, Display};
use std::io::{self, IsTerminal};
use std::sync::{LazyLock, OnceLock};
use unshade::core::{Diagnostic, Severity, Token, TokenKind, TokenSink};
use unshade::metallib::FunctionType;

/// Text in a colour, if standard output has colour.
pub(crate) struct Painted<T> {
    text: T,
    style: Option<Style>,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.style {
            // The padding is inside the colour, which has no width.
            Some(style) => {
                write!(f, "{style}")?;
                self.text.fmt(f)?;
                write!(f, "{style:#}")
            }
            None => self.text.fmt(f),
        }
    }
}

pub(crate) fn stdout_has_color() -> bool {
    static COLOR: OnceLock<bool> = OnceLock::new();
    *COLOR.get_or_init(|| anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never)
}

fn stderr_has_color() -> bool {
    static COLOR: OnceLock<bool> = OnceLock::new();
    *COLOR.get_or_init(|| anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never)
}

const fn color(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(color)))
}

fn paint<T>(text: T, style: Style) -> Painted<T> {
    Painted { text, style: stdout_has_color().then_some(style) }
}

/// Paints the name of a file or a program.
pub(crate) fn name<T>(text: T) -> Painted<T> {
    paint(text, Style::new().bold())
}

/// Paints a heading or a label, less prominent than its value.
pub(crate) fn faint<T>(text: T) -> Painted<T> {
    paint(text, Style::new().dimmed())
}

/// Paints an offset.
pub(crate) fn offset<T>(text: T) -> Painted<T> {
    paint(text, color(AnsiColor::Yellow))
}

/// Paints a correct value.
pub(crate) fn good<T>(text: T) -> Painted<T> {
    paint(text, color(AnsiColor::Green))
}

/// Paints a wrong value.
pub(crate) fn bad<T>(text: T) -> Painted<T> {
    paint(text, color(AnsiColor::Red).bold())
}

/// Paints text in the colour of a severity.
pub(crate) fn severity<T>(text: T, severity: Severity) -> Painted<T> {
    paint(
        text,
        match severity {
            Severity::Error => color(AnsiColor::Red).bold(),
            Severity::Warning => color(AnsiColor::Yellow),
            Severity::Note => color(AnsiColor::Cyan),
        },
    )
}

/// Paints a word of a message on standard error.
pub(crate) fn error<T>(text: T) -> Painted<T> {
    Painted { text, style: stderr_has_color().then_some(color(AnsiColor::Red).bold()) }
}

/// Paints text in the colour of a function type.
pub(crate) fn function_type<T>(text: T, kind: Option<FunctionType>) -> Painted<T> {
    paint(
        text,
        match kind {
            Some(FunctionType::KERNEL) => color(AnsiColor::Green),
            Some(FunctionType::VERTEX) => color(AnsiColor::Blue),
            Some(FunctionType::FRAGMENT) => color(AnsiColor::Magenta),
            Some(FunctionType::MESH | FunctionType::OBJECT) => color(AnsiColor::Cyan),
            _ => Style::new(),
        },
    )
}

/// Formats tokens as text with colour.
#[derive(Default)]
pub(crate) struct PaintedTokens(pub(crate) String);

impl TokenSink for PaintedTokens {
    fn token(&mut self, token: Token<'_>) {
        use fmt::Write;
        if token.text.is_empty() {
            return;
        }
        let style = match token.kind {
            TokenKind::Keyword => color(AnsiColor::Blue),
            TokenKind::Type => color(AnsiColor::Cyan),
            TokenKind::Function => Style::new().bold(),
            TokenKind::Attribute => color(AnsiColor::Magenta),
            TokenKind::Number | TokenKind::String => color(AnsiColor::Green),
            TokenKind::Register | TokenKind::Label | TokenKind::Address => color(AnsiColor::Yellow),
            TokenKind::Comment => Style::new().dimmed(),
            _ => {
                self.0.push_str(token.text);
                return;
            }
        };
        // Writing to a String does not fail.
        let _ = write!(self.0, "{}", paint(token.text, style));
    }

    fn mark(&self) -> usize {
        self.0.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.0.truncate(mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let mut part = Self::default();
        write(&mut part);
        self.0.insert_str(mark, &part.0);
    }
}

/// Returns the width of the terminal, if standard output is one.
pub(crate) fn terminal_width() -> Option<usize> {
    static WIDTH: LazyLock<Option<usize>> = LazyLock::new(|| {
        if !io::stdout().is_terminal() {
            return None;
        }
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        columns.or_else(|| terminal_size::terminal_size().map(|(width, _)| width.0.into()))
    });
    *WIDTH
}

/// Cuts text to a number of columns, with `…` for the omitted part.
pub(crate) fn cut(text: &str, columns: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= columns || text.chars().count() <= columns {
        return text.into();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).collect::<String>().into()
}

/// Formats a number of bytes for display: `361 kB`, in decimal units.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if count < 1_000 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1_000.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().unwrap_or(&"");
    while value >= 999.95 {
        let Some(next) = units.next() else { break };
        value /= 1_000.0;
        unit = next;
    }
    if value < 99.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Formats a number with its digits in groups: `17,248`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats `1 error`, `2 errors`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count))
}

/// Formats a finding as lines: problem and place, then expectation, then advice.
pub(crate) fn diagnostic(file: &str, diagnostic: &Diagnostic) -> String {
    let error = &diagnostic.error;
    let mut text = format!("{file}: {}: ", severity(diagnostic.severity, diagnostic.severity));
    // The carver's paths begin with the file.
    for part in error.path().skip_while(|part| *part == file) {
        text.push_str(&format!("{part}: "));
    }
    text.push_str(error.message());
    let mut details = Vec::new();
    if let Some(at) = error.offset() {
        details.push(format!("at {}", offset(format!("{at:#x}"))));
    }
    details.extend(error.expectation().map(|expected| format!("expected {expected}")));
    details.extend(error.finding().map(|found| format!("found {found}")));
    details.push(faint(format!("[{}]", diagnostic.rule)).to_string());
    text.push_str(&format!("\n    {}", details.join("   ")));
    if let Some(hint) = error.advice() {
        text.push_str(&format!("\n  hint: {hint}"));
    }
    text
}

/// Breaks a text at spaces into lines of at most `width` characters. Longer words stay whole.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_at_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("extraordinary word", 7), ["extraordinary", "word"]);
        assert_eq!(wrapped("", 7), [""]);
        assert_eq!(wrapped("a bc d", 4), ["a bc", "d"]);
        assert_eq!(wrapped("a longer word", 4), ["a", "longer", "word"]);
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(
            [0, 999, 1_000, 92_500, 361_000, 999_960, 147_000_000].map(bytes),
            ["0 B", "999 B", "1.0 kB", "92.5 kB", "361 kB", "1.0 MB", "147 MB"]
        );
        assert_eq!(
            [0, 12, 123, 1_234, 17_248, 1_000_000].map(grouped),
            ["0", "12", "123", "1,234", "17,248", "1,000,000"]
        );
        assert_eq!(counted(1, "error"), "1 error");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("größe", 5), "größe");
    }
}
