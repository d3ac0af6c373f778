//! `unshade man`: the manual pages, generated from the help.
//!
//! clap_mangen writes name, synopsis, options and the list of commands. It would join the text after the options
//! into one paragraph, so that text is split here at empty lines:
//!
//! | block of the help | in the page |
//! |---|---|
//! | `Examples:` and indented lines | the section EXAMPLES: a literal block, each line as it is typed |
//! | another heading and indented rows `left  right` | a section with one tagged paragraph per row |
//! | anything else | a paragraph of the section DESCRIPTION |
//!
//! Characters are escaped as groff_char(7) advises: a hyphen, quote, caret or tilde that somebody copies from the page is
//! the one that was typed.

use crate::Outcome;
use crate::args::{Args, FolderArgs};
use crate::output::Folder;
use anyhow::Result;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fmt::Write as _;
use std::path::Path;

/// The position of the global options, after those of the command.
const GLOBAL_ORDER: usize = 1000;

pub(crate) fn run(args: &FolderArgs) -> Result<Outcome> {
    let mut folder = Folder::create(&args.output, args.force)?;
    for (name, page) in pages()? {
        folder.write(Path::new(&format!("{name}.1")), page.as_bytes())?;
    }
    Ok(Outcome::Done)
}

/// Returns the name and text of each page: first the program's, then one per command.
fn pages() -> Result<Vec<(String, String)>> {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let mut pages = vec![("unshade".to_owned(), page(&command, "unshade")?)];
    for subcommand in command.get_subcommands() {
        let name = format!("unshade-{}", subcommand.get_name());
        let text = page(subcommand, &name)?;
        pages.push((name, text));
    }
    Ok(pages)
}

fn page(command: &Command, name: &str) -> Result<String> {
    let help = command.get_after_long_help().or_else(|| command.get_after_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let blocks: Vec<Block<'_>> = help.split("\n\n").map(Block::parse).collect();

    // clap_mangen omits the texts of options that the short help omits, and names every option in the synopsis. Options
    // that all commands have come last.
    let mut command = command.clone().mut_args(|arg| {
        let order = arg.get_display_order();
        let order = if arg.is_global_set() { GLOBAL_ORDER + order } else { order };
        arg.hide_short_help(false).display_order(order)
    });
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    let has_commands = command.has_subcommands();
    let man = Man::new(command.override_usage(usage));

    // Without hyphenation and with a ragged margin, so that names of options and files stay whole.
    let version = env!("CARGO_PKG_VERSION");
    let title = name.to_uppercase();
    let mut page = format!(".TH {title} 1 \"\" \"unshade {version}\" \"Unshade Manual\"\n.nh\n.ad l\n");
    let mut written = Vec::new();
    man.render_name_section(&mut written)?;
    man.render_synopsis_section(&mut written)?;
    man.render_description_section(&mut written)?;
    push_generated(&mut page, &written);
    for block in &blocks {
        if let Block::Paragraph(text) = block {
            push_paragraph(&mut page, text);
        }
    }
    let mut written = Vec::new();
    man.render_options_section(&mut written)?;
    if has_commands {
        man.render_subcommands_section(&mut written)?;
    }
    push_generated(&mut page, &written);
    for block in &blocks {
        block.write_section(&mut page);
    }
    if !has_commands {
        page.push_str(".SH \"SEE ALSO\"\n\\fBunshade\\fR(1)\n");
    }
    Ok(page)
}

/// A block of the help text after the options.
enum Block<'h> {
    /// Literal lines.
    Examples(Vec<&'h str>),
    /// A heading, its remark after a comma, and rows of two columns.
    Table { heading: &'h str, remark: Option<&'h str>, rows: Vec<(&'h str, String)> },
    /// Running text.
    Paragraph(&'h str),
}

impl<'h> Block<'h> {
    fn parse(text: &'h str) -> Self {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let Some(heading) = first.strip_suffix(':') else { return Self::Paragraph(text) };
        if rest.is_empty() || !rest.lines().all(|line| line.starts_with("  ")) {
            return Self::Paragraph(text);
        }
        if heading == "Examples" {
            return Self::Examples(
                rest.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect(),
            );
        }
        let (heading, remark) = match heading.split_once(", ") {
            Some((heading, remark)) => (heading, Some(remark)),
            None => (heading, None),
        };
        let mut rows: Vec<(&str, String)> = Vec::new();
        for line in rest.lines() {
            match (line.trim_start().split_once("  "), rows.last_mut()) {
                (Some((left, right)), _) => rows.push((left, right.trim_start().to_owned())),
                (None, Some((_, right))) => {
                    right.push(' ');
                    right.push_str(line.trim_start());
                }
                (None, None) => rows.push((line.trim_start(), String::new())),
            }
        }
        Self::Table { heading, remark, rows }
    }

    /// Writes the section for the block, if it makes one.
    fn write_section(&self, page: &mut String) {
        match self {
            Self::Paragraph(_) => {}
            Self::Examples(lines) => {
                page.push_str(".SH EXAMPLES\n.nf\n");
                for line in lines {
                    page.push_str(&escaped(line));
                    page.push('\n');
                }
                page.push_str(".fi\n");
            }
            Self::Table { heading, remark, rows } => {
                let _ = writeln!(page, ".SH \"{}\"", heading.to_uppercase());
                if let Some(remark) = remark {
                    let (first, rest) = remark.split_at(remark.chars().next().map_or(0, char::len_utf8));
                    let _ = writeln!(page, "{}{}:", escaped(&first.to_uppercase()), escaped(rest));
                }
                for (left, right) in rows {
                    let _ =
                        writeln!(page, ".TP\n\\fB{}\\fR\n{}", escaped(left), with_bold_code(&escaped(right)));
                }
            }
        }
    }
}

/// Writes running text as a paragraph.
fn push_paragraph(page: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    page.push_str(".PP\n");
    for line in text.lines() {
        page.push_str(&with_bold_code(&escaped(line)));
        page.push('\n');
    }
}

/// Escapes a line of text so that it is printed literally.
fn escaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    if line.starts_with(['.', '\'', '…']) {
        // A zero-width character keeps the line from being read as a request.
        text.push_str("\\&");
    }
    for character in line.chars() {
        match character {
            '\\' => text.push_str("\\e"),
            '-' => text.push_str("\\-"),
            '\'' => text.push_str("\\(aq"),
            _ => push_plain(&mut text, character),
        }
    }
    text
}

/// Writes sections from clap_mangen and escapes what it does not: characters that formatters replace by accents, and
/// non-ASCII characters.
fn push_generated(page: &mut String, roff: &[u8]) {
    for line in String::from_utf8_lossy(roff).lines() {
        // The definition of the apostrophe, which each call repeats.
        if line.starts_with(".ie ") || line.starts_with(".el ") {
            continue;
        }
        let mut plain = String::with_capacity(line.len());
        line.replace("\\*(Aq", "\\(aq").chars().for_each(|character| push_plain(&mut plain, character));
        page.push_str(&with_bold_code(&plain));
        page.push('\n');
    }
}

fn push_plain(text: &mut String, character: char) {
    match character {
        '^' => text.push_str("\\(ha"),
        '~' => text.push_str("\\(ti"),
        '`' => text.push_str("\\(ga"),
        // ASCII terminals lack this character.
        '…' => text.push_str("..."),
        ' '..='~' => text.push(character),
        _ => {
            let _ = write!(text, "\\[u{:04X}]", u32::from(character));
        }
    }
}

/// Sets text between backticks in bold, in an escaped line.
fn with_bold_code(line: &str) -> String {
    let pieces: Vec<&str> = line.split("\\(ga").collect();
    if pieces.len().is_multiple_of(2) {
        return line.to_owned();
    }
    let mut text = String::with_capacity(line.len());
    for (index, piece) in pieces.iter().enumerate() {
        let font = match (index, index % 2) {
            (0, _) => "",
            (_, 0) => "\\fR",
            _ => "\\fB",
        };
        text.push_str(font);
        text.push_str(piece);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Args, escaped, pages};
    use clap::{Command, CommandFactory};

    /// The requests and macros allowed in a page.
    const REQUESTS: [&str; 12] =
        [".TH", ".nh", ".ad", ".SH", ".PP", ".TP", ".IP", ".RS", ".RE", ".br", ".nf", ".fi"];

    /// Maximum width of text at the left margin of 80 columns.
    const WIDTH: usize = 73;

    /// Returns each page with its command, the program's first.
    fn commands() -> Vec<(String, String, Command)> {
        let mut program = Args::command().disable_help_subcommand(true);
        program.build();
        let subcommands: Vec<Command> = program.get_subcommands().cloned().collect();
        let commands = std::iter::once(program).chain(subcommands);
        pages()
            .unwrap()
            .into_iter()
            .zip(commands)
            .map(|((name, page), command)| (name, page, command))
            .collect()
    }

    /// Returns the output of a formatter for roff text.
    fn printed(roff: &str) -> String {
        let mut text = roff.replace("\\fB", "").replace("\\fI", "").replace("\\fR", "").replace("\\&", "");
        for (escape, character) in
            [("\\-", "-"), ("\\(aq", "'"), ("\\(ha", "^"), ("\\(ti", "~"), ("\\(ga", "`")]
        {
            text = text.replace(escape, character);
        }
        while let Some((before, rest)) = text.split_once("\\[u") {
            let (digits, after) = rest.split_once(']').unwrap();
            let character = char::from_u32(u32::from_str_radix(digits, 16).unwrap()).unwrap();
            text = format!("{before}{character}{after}");
        }
        text.replace("\\e", "\\")
    }

    /// Returns the expected output for help text.
    fn plain(help: &str) -> String {
        help.replace('`', "").replace('…', "...")
    }

    /// Returns the lines of a section.
    fn section<'p>(page: &'p str, heading: &str) -> Vec<&'p str> {
        let of_section =
            |line: &&str| *line == format!(".SH {heading}") || *line == format!(".SH \"{heading}\"");
        let lines = page.lines().skip_while(|line| !of_section(line)).skip(1);
        lines.take_while(|line| !line.starts_with(".SH ")).collect()
    }

    #[test]
    fn examples_are_printed_as_they_are_typed() {
        for (name, page, command) in commands() {
            let help = command.get_after_help().expect(&name).to_string();
            let examples =
                help.split("\n\n").find_map(|block| block.strip_prefix("Examples:\n")).expect(&name);
            let expected: Vec<&str> = examples.lines().map(|line| &line[2..]).collect();
            let lines = section(&page, "EXAMPLES");
            assert_eq!((lines.first(), lines.last()), (Some(&".nf"), Some(&".fi")), "{name}");
            let found: Vec<String> = lines[1..lines.len() - 1].iter().map(|line| printed(line)).collect();
            assert_eq!(found, expected, "{name}");
            for line in found {
                assert!(line.chars().count() <= WIDTH, "{name}: more than {WIDTH} columns: {line}");
            }
        }
    }

    #[test]
    fn every_option_is_described_in_its_section() {
        for (name, page, command) in commands() {
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                let heading = argument.get_help_heading().unwrap_or("OPTIONS").to_uppercase();
                let text = printed(&section(&page, &heading).join("\n"));
                let help = argument.get_long_help().or_else(|| argument.get_help()).expect(&name).to_string();
                assert!(text.contains(&plain(&help)), "{name}: {heading}: {help}\n{text}");
            }
            let limits = section(&page, "LIMITS");
            assert_eq!(limits.iter().filter(|line| **line == ".TP").count(), 7, "{name}");
        }
    }

    #[test]
    fn every_heading_of_the_help_is_a_section() {
        for (name, page, command) in commands() {
            let help = command.get_after_long_help().or_else(|| command.get_after_help()).expect(&name);
            for block in help.to_string().split("\n\n") {
                let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
                if let Some(heading) = first.strip_suffix(':').filter(|_| rest.starts_with("  ")) {
                    let heading = heading.split(", ").next().unwrap_or_default().to_uppercase();
                    assert!(!section(&page, &heading).is_empty(), "{name}: {heading}");
                } else {
                    let description = printed(&section(&page, "DESCRIPTION").join("\n"));
                    assert!(description.contains(&plain(block)), "{name}: {block}\n{description}");
                }
            }
            let statuses = section(&page, "EXIT STATUS");
            for status in ["\\fB0\\fR", "\\fB2\\fR"] {
                assert!(statuses.contains(&status), "{name}: {status}");
            }
            assert!(!page.contains(".SH EXTRA"), "{name}");
        }
    }

    #[test]
    fn lines_are_ascii_and_known_requests() {
        for (name, page, _) in commands() {
            for line in page.lines() {
                assert!(line.is_ascii() && !line.starts_with('\''), "{name}: {line}");
                let request = line.split_whitespace().next().unwrap_or_default();
                assert!(!line.starts_with('.') || REQUESTS.contains(&request), "{name}: {line}");
            }
        }
    }

    #[test]
    fn characters_are_escaped() {
        let line = "…a 'b' -c \\ ^~` →";
        assert_eq!(escaped(line), "\\&...a \\(aqb\\(aq \\-c \\e \\(ha\\(ti\\(ga \\[u2192]");
        assert_eq!(printed(&escaped(line)), line.replace('…', "..."));
    }
}
