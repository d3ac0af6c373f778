//! Edits: a program after a change becomes a file of its own, beside the one that it was made from.
//!
//! If the program was not unpacked and has its old size, the new file is the old one with the program in its place; else
//! it is the program alone. As the decompiler, the editor is a module of its own in the page; it also writes YAML.

use super::response::{Answer, Fault};
use super::session::{Parsed, Session};
use super::{EditProgram, Source};
use crate::edit::{self, Edit, Refusal, TextFault};
use crate::format::{Format, Kind, detect};
use serde::{Deserialize, Serialize};
use unshade_dxcontainer::DxFile;
use unshade_metallib::{LibraryFile, document};

/// The maximum size of a file that is edited: the old and the new one are in memory.
const MAX_EDITED: usize = 512 << 20;

/// What to edit.
#[derive(Clone, Copy, Debug)]
pub struct EditorInput<'a> {
    /// The bytes of the program.
    pub program: &'a [u8],
    /// The offset of the first byte.
    pub base: u64,
    /// The change as JSON: an [`Edit`], or `null` for the program as YAML.
    pub edit: &'a str,
}

/// A program after an edit, or the faults of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditorOutput {
    /// Its bytes; none if the text has faults.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// What was renewed besides, or is lost.
    pub notes: Vec<String>,
    /// The faults of the text.
    pub faults: Vec<TextFault>,
}

/// Edits a program: [`edit_program`], or what passes it on to another module.
pub type Editor = fn(&EditorInput<'_>) -> Answer<EditorOutput>;

/// A file after an edit.
#[derive(Debug)]
pub struct EditedFile {
    /// Its name; none if the text has faults.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What was renewed besides, or is lost.
    pub notes: Vec<String>,
    /// The faults of the text; without any, there is a file.
    pub faults: Vec<TextFault>,
}

/// Edits a program, or returns it as YAML.
///
/// # Errors
/// The edit is not possible, or the format has no YAML.
pub fn edit_program(input: &EditorInput<'_>) -> Answer<EditorOutput> {
    let edit: Option<Edit> =
        serde_json::from_str(input.edit).map_err(|error| Fault::new(format!("no edit: {error}")))?;
    let Some(edit) = edit else { return yaml(input.program) };
    match edit::apply(input.program, input.base, &edit) {
        Ok(edited) => Ok(EditorOutput { bytes: edited.bytes, notes: edited.notes, faults: Vec::new() }),
        Err(Refusal::Text(faults)) => Ok(EditorOutput { faults, ..EditorOutput::default() }),
        Err(Refusal::NotFound(message)) => Err(Fault::new(message)),
        Err(Refusal::Impossible(error)) => Err(error.into()),
    }
}

/// Returns a program as YAML.
fn yaml(program: &[u8]) -> Answer<EditorOutput> {
    let text = match detect(program) {
        Kind::Program(Format::MetalLibrary) => document::to_yaml(&LibraryFile::parse(program)?)?,
        Kind::Program(Format::DxContainer) => {
            unshade_dxcontainer::document::to_yaml(&DxFile::parse(program)?)?
        }
        _ => return Err(Fault::new("programs of this format have no YAML")),
    };
    Ok(EditorOutput { bytes: text.into_bytes(), ..EditorOutput::default() })
}

/// Edits a program as [`edit_program`] does. Returns the answer as JSON, and the bytes beside it, for [`parse_edited`] in
/// another module.
pub fn edit_program_json(input: &EditorInput<'_>) -> (String, Vec<u8>) {
    let mut answer = edit_program(input);
    let bytes = answer.as_mut().map(|output| std::mem::take(&mut output.bytes)).unwrap_or_default();
    (serde_json::to_string(&answer).unwrap_or_default(), bytes)
}

/// Reads the answer of [`edit_program_json`].
///
/// # Errors
/// The text is none, or the program could not be edited.
pub fn parse_edited(json: &str, bytes: Vec<u8>) -> Answer<EditorOutput> {
    let answer = serde_json::from_str::<Answer<EditorOutput>>(json);
    let answer = answer.map_err(|error| Fault::new(format!("the editor's answer can't be read: {error}")))?;
    answer.map(|output| EditorOutput { bytes, ..output })
}

/// Edits with the editor of this program. A page has none in this module.
pub(super) fn own_editor(input: &EditorInput<'_>) -> Answer<EditorOutput> {
    #[cfg(target_family = "wasm")]
    {
        let _ = input;
        Err(Fault::new("there is no editor"))
    }
    #[cfg(not(target_family = "wasm"))]
    edit_program(input)
}

impl Session {
    /// Edits a program of this file. The file stays as it is.
    ///
    /// # Errors
    /// There is no such program, the file is too large, or the edit is not possible.
    pub fn edit(&mut self, request: &EditProgram) -> Answer<EditedFile> {
        self.ensure_all()?;
        let size = self.bytes().len();
        if size > MAX_EDITED {
            return Err(Fault::new(format!("a file of {size} bytes is too large to edit here"))
                .expected(format!("at most {MAX_EDITED} bytes"))
                .hint("`unshade edit` and `unshade asm` write files of any size"));
        }
        let offset = self.file_offset(request.program)?;
        let parsed = self.parsed(request.program)?;
        let program = parsed.data;
        let output =
            (self.editor())(&EditorInput { program, base: parsed.base, edit: &request.edit.to_string() })?;
        let EditorOutput { bytes, mut notes, faults } = output;
        if !faults.is_empty() {
            return Ok(EditedFile { name: String::new(), bytes: Vec::new(), notes, faults });
        }
        if bytes == program {
            return Err(Fault::new("the edit changes nothing"));
        }
        let is_whole = program.len() == size;
        let place = offset.filter(|_| !is_whole && bytes.len() == program.len() && !self.is_capture());
        let edited = match place {
            Some(start) => {
                let mut file = self.bytes().to_vec();
                if let Some(place) = file.get_mut(start..start.saturating_add(bytes.len())) {
                    place.copy_from_slice(&bytes);
                }
                notes
                    .push("the rest of the file is as before; its checksums, if any, are not renewed".into());
                (edited_name(&self.shown_name()), file)
            }
            None => {
                if !is_whole {
                    notes.push(format!("the new file holds the {} alone", parsed.format_name()));
                }
                (edited_name(&file_name(&parsed)), bytes)
            }
        };
        Ok(EditedFile { name: edited.0, bytes: edited.1, notes, faults })
    }

    /// Returns a file beside this one, with the same clock, decompiler and editor.
    pub(super) fn sibling(&self, name: &str, bytes: Vec<u8>) -> Self {
        self.with_same_modules(Self::new(name, Source::resident(bytes)))
    }
}

/// Returns the name of a program as a file.
fn file_name(parsed: &Parsed<'_>) -> String {
    let (name, extension) = (parsed.short_name(), parsed.format.format.extension());
    if name.contains('.') { name.to_owned() } else { format!("{name}.{extension}") }
}

/// Returns the name of a file after an edit: `a.cubin`, `a-edited.cubin`, `a-edited-2.cubin`.
fn edited_name(name: &str) -> String {
    const MARK: &str = "-edited";
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    let (stem, number) = match stem.rfind(MARK) {
        Some(at) if at > 0 => {
            let (stem, mark) = stem.split_at(at);
            match mark.get(MARK.len()..).unwrap_or_default() {
                "" => (stem, 2),
                digits => match digits.strip_prefix('-').and_then(|digits| digits.parse::<u32>().ok()) {
                    Some(number) => (stem, number.saturating_add(1)),
                    None => (name.strip_suffix(extension).unwrap_or(name), 1),
                },
            }
        }
        _ => (stem, 1),
    };
    if number == 1 { format!("{stem}{MARK}{extension}") } else { format!("{stem}{MARK}-{number}{extension}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Workspace;

    #[test]
    fn names_are_counted() {
        for (before, after) in [
            ("a.cubin", "a-edited.cubin"),
            ("a-edited.cubin", "a-edited-2.cubin"),
            ("a-edited-2.cubin", "a-edited-3.cubin"),
            ("a-edited-x.cubin", "a-edited-x-edited.cubin"),
            ("a", "a-edited"),
            (".a", ".a-edited"),
            ("-edited", "-edited-edited"),
        ] {
            assert_eq!(edited_name(before), after);
        }
    }

    #[test]
    fn an_edit_makes_a_file() {
        let mut workspace = Workspace::default();
        let bytes = include_bytes!("../../../../tests/fixtures/metallib/vertex_fragment.metallib");
        workspace.open_bytes("two.metallib", bytes.to_vec());
        let rename = |old: &str| {
            format!(r#"{{"query":"edit","edit":{{"kind":"rename","old":"{old}","new":"first"}}}}"#)
        };
        let answer = workspace.handle_json(&rename("#0"));
        assert!(answer.contains(r#""file":{"file":1,"name":"two-edited.metallib""#), "{answer}");
        let rows = workspace.handle_json(r#"{"query":"rows","file":1}"#);
        assert!(rows.contains(r#""name":"first""#), "{rows}");
        assert!(workspace.handle_json(&rename("none")).contains("no function or symbol none"));
        let same = r#"{"query":"edit","edit":{"kind":"bytes","offset":0,"bytes":"4d544c42"}}"#;
        assert!(workspace.handle_json(same).contains("changes nothing"));
        assert!(workspace.handle_json(r#"{"query":"close","file":1}"#).contains(r#""closed":true"#));
        assert!(workspace.handle_json(r#"{"query":"rows","file":1}"#).contains("no file 1"));
    }

    /// A cubin in a file with others keeps its place.
    #[test]
    fn programs_stay_in_place() {
        let cubin = include_bytes!("../../../../tests/fixtures/nvidia/calls_sm_35.cubin");
        let mut file = vec![0; 64];
        file.extend_from_slice(cubin);
        file.extend_from_slice(&[0; 64]);
        let mut session = Session::new("a.bin", Source::resident(file.clone()));
        session.open().unwrap();
        let edit = serde_json::json!({ "kind": "bytes", "offset": 64 + 9, "bytes": "01" });
        let edited = session.edit(&EditProgram { file: 0, program: 0, edit }).unwrap();
        assert_eq!((edited.bytes.len(), edited.name.as_str()), (file.len(), "a-edited.bin"));
        assert_eq!(edited.bytes[64 + 9], 1);
        assert_eq!(edited.notes.len(), 1);
    }

    #[test]
    fn answers_pass_through_json() {
        let program = include_bytes!("../../../../tests/fixtures/dxcontainer/compute.dxbc");
        let good = Edit::Remove { names: vec!["STAT".into()] };
        let bad = Edit::Text { function: None, text: "cs_5_0\nnothing\n".into() };
        for edit in [Some(good), Some(bad), Some(Edit::Remove { names: vec!["NONE".into()] }), None] {
            let edit = serde_json::to_string(&edit).unwrap();
            let input = EditorInput { program, base: 0, edit: &edit };
            let (json, bytes) = edit_program_json(&input);
            assert_eq!(parse_edited(&json, bytes), edit_program(&input));
        }
        let (json, bytes) = edit_program_json(&EditorInput { program, base: 0, edit: "{" });
        assert!(parse_edited(&json, bytes).is_err());
    }
}
