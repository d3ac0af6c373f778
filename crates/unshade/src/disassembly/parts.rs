//! Finds the DXIL programs in the parts of a DXContainer, and in nested containers.
//!
//! Selects the program that DXC disassembles (ILDB, which has debug information, or else DXIL), or the requested part.
//! Token programs are not read here; a container that has only these is reported.

use crate::dxil::main_part;
use unshade_core::{Diagnostics, Error, ErrorKind, FourCc, Reader};
use unshade_dxcontainer::Container;
use unshade_dxcontainer::container::Part;
use unshade_dxcontainer::part::MAX_DEPTH;
use unshade_dxcontainer::program::{ProgramHeader, ProgramVersion, bitcode};

/// Parts that contain a container.
const CONTAINERS: [&[u8; 4]; 2] = [b"DXBC", b"LIBF"];

/// Parts with token programs: shader models 1 to 5.
const TOKEN_PROGRAMS: [&[u8; 4]; 3] = [b"SHEX", b"SHDR", b"Aon9"];

/// The program of a part.
#[derive(Clone, Debug)]
pub struct ProgramPart<'a> {
    /// Name in messages and file names.
    pub label: String,
    /// The part's name.
    pub name: FourCc,
    /// Container of the part.
    pub container: Container<'a>,
    /// The bitcode, with its offset in the file.
    pub bitcode: Reader<'a>,
    /// Mangled names of the functions that selectors number, in order, escaped.
    pub exports: Vec<String>,
    /// Path of the container.
    path: String,
    header: ProgramHeader,
}

impl ProgramPart<'_> {
    /// Returns a comment that describes it.
    pub fn heading(&self) -> String {
        let header = &self.header;
        let (major, minor) = (header.dxil_major, header.dxil_minor);
        let profile = ProgramVersion(header.version);
        format!("; {profile}, DXIL {major}.{minor}, part {} of {}\n", self.name, self.path)
    }
}

/// Returns the selected programs. Reports faults, or why there are none, to `diagnostics`.
pub fn program_parts<'a>(
    container: &Container<'a>,
    wanted: Option<FourCc>,
    path: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<ProgramPart<'a>> {
    let mut programs = Vec::new();
    let before = diagnostics.len();
    find_inside(container, wanted, path, 0, &mut programs, diagnostics);
    if programs.is_empty() && diagnostics.len() == before {
        diagnostics.error("dx-program", no_program_error(container, wanted));
    }
    programs
}

fn find_inside<'a>(
    container: &Container<'a>,
    wanted: Option<FourCc>,
    path: &str,
    depth: usize,
    programs: &mut Vec<ProgramPart<'a>>,
    diagnostics: &mut Diagnostics,
) {
    let part = match wanted {
        Some(name) => container.find(&name.0),
        None => main_part(container),
    };
    if let Some(part) = part {
        let read = bitcode(part.data).map_err(|error| error.within(part.label()));
        if let Some((header, bitcode)) = diagnostics.take("dx-program", read) {
            let label = if wanted.is_some() { format!("{path}!{}", part.name) } else { path.to_owned() };
            let container = container.clone();
            let path = path.to_owned();
            let exports = Vec::new();
            programs.push(ProgramPart { label, name: part.name, container, bitcode, exports, path, header });
        }
    }
    let is_container = |part: &Part<'_>| CONTAINERS.contains(&&part.name.0);
    for part in container.found_parts().filter(is_container).filter(|_| depth < MAX_DEPTH) {
        if let Ok(inner) = Container::read(part.data) {
            let path = format!("{path}!{}#{}", part.name, part.index);
            find_inside(&inner, wanted, &path, depth + 1, programs, diagnostics);
        }
    }
}

/// Returns an error that says why there is nothing to disassemble.
fn no_program_error(container: &Container<'_>, wanted: Option<FourCc>) -> Error {
    let start = container.file().base();
    if let Some(name) = wanted {
        return Error::new(ErrorKind::BadValue, start, format!("no part {name}"))
            .hint("`unshade list` shows the parts");
    }
    match token_program(container, 0) {
        Some(part) => {
            let mut tokens = part.data;
            let profile = tokens.u32().map(ProgramVersion);
            let profile = profile.map(|profile| format!(" ({profile})")).unwrap_or_default();
            let message = format!("a token program{profile}, which is not disassembled yet");
            Error::new(ErrorKind::Unsupported, part.data.base(), message)
                .within(part.label())
                .hint("`unshade dump` shows it as bytes")
        }
        None => Error::new(ErrorKind::BadValue, start, "a container without a program")
            .hint("`unshade list` shows its parts"),
    }
}

fn token_program<'a>(container: &Container<'a>, depth: usize) -> Option<Part<'a>> {
    let own = TOKEN_PROGRAMS.iter().find_map(|name| container.find(name));
    own.or_else(|| {
        let inner = container.found_parts().filter(|part| CONTAINERS.contains(&&part.name.0));
        let inner = inner.filter(|_| depth < MAX_DEPTH).filter_map(|part| Container::read(part.data).ok());
        inner.into_iter().find_map(|inner| token_program(&inner, depth + 1))
    })
}
