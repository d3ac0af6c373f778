//! A file, the programs in it, and their functions: the first things that a user of the library meets.
//!
//! [`open`] reads a file and finds every GPU program in it, inside of archives and executables as well. A [`File`] owns its
//! bytes, and those of programs that had to be unpacked; a [`ProgramRef`] and a [`Function`] borrow from it alone, are cheap
//! to clone and may be sent to other threads.
//!
//! ```
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/metallib/vertex_fragment.metallib");
//! let file = unshade::open(path)?;
//! for program in file.programs() {
//!     println!("{}: {}, {}", program.path(), program.format(), program.target().unwrap_or_default());
//!     for function in program.functions()? {
//!         println!("{:8} {}", function.kind(), function.signature());
//!     }
//! }
//! # assert_eq!(file.programs().next().unwrap().functions()?.len(), 2);
//! # Ok::<(), unshade::core::Error>(())
//! ```
//!
//! Everything here is made of [`carve`] and of what each format answers, [`Program`]; whoever needs more
//! than text gets that from [`ProgramRef::contents`].

mod source;

use crate::carve::format::Format;
use crate::carve::{self, Condition, Find, FindPath, Limits};
use crate::disassembly::{ModuleOptions, Unit, print_module, token_program};
use crate::nv_units::{self, FunctionPlace, Nvidia, function_places, with_unit_of};
use crate::program::{
    self, Card, Code, CodeRequest, Form, InOrder, ModuleGroup, Program, Row, Verdict, VerifyDepth,
};
use crate::sass_listing::{self, SassOptions};
use crate::select::{Selection, Selector};
use crate::{DemangledComments, has_mangled_names};
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped, Result, TokenSink};
use unshade_llvm::Module;
use unshade_llvm::print::{self, PrintOptions};

pub use source::{Source, SourceOrigin, SourceText};

/// Maximum number of bytes of unpacked programs that a file holds.
const MAX_UNPACKED: usize = 2 << 30;

/// Opens a file and finds the GPU programs in it. A file without any has no programs, which is not an error.
///
/// # Errors
/// [`ErrorKind::Unreadable`] if the system can't read the file.
///
/// ```
/// let error = unshade::open("no such file").unwrap_err();
/// assert_eq!(error.kind(), unshade::core::ErrorKind::Unreadable);
/// assert!(error.to_string().starts_with("no such file: can't be read"));
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<File> {
    let path = path.as_ref();
    let name = path.as_os_str().as_encoded_bytes();
    let unreadable = |error: std::io::Error| {
        let message = format!("can't be read: {error}");
        Error::without_offset(ErrorKind::Unreadable, message).within(Escaped(name).to_string())
    };
    Ok(open_bytes(name, std::fs::read(path).map_err(unreadable)?))
}

/// Finds the GPU programs in bytes: read, mapped or built in. `name` is what paths begin with.
///
/// ```
/// let ptx = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f(.param .u32 n) { ret; }\n";
/// let file = unshade::open_bytes("f.ptx", ptx);
/// let program = file.programs().next().unwrap();
/// assert_eq!(program.path().to_string(), "f.ptx");
/// assert_eq!(program.functions()?[0].name(), "f");
/// # Ok::<(), unshade::core::Error>(())
/// ```
pub fn open_bytes(name: impl AsRef<[u8]>, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> File {
    File::new(name, bytes, &Limits::default())
}

/// A file and the GPU programs that were found in it.
pub struct File {
    name: Vec<u8>,
    bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
    found: Vec<Found>,
    diagnostics: Diagnostics,
}

/// A program that was found.
struct Found {
    format: Format,
    path: FindPath,
    file_offset: Option<u64>,
    condition: Condition,
    options: Option<Vec<u8>>,
    data: Data,
}

/// The bytes of a program.
enum Data {
    InFile(Range<usize>),
    Unpacked(Vec<u8>),
}

impl Found {
    /// Keeps a program: the place of its bytes, or a copy of them if they had to be unpacked.
    fn new(find: &Find<'_>, file: &[u8]) -> Self {
        let start = find.file_offset.and_then(|offset| usize::try_from(offset).ok());
        let range = start.and_then(|start| Some(start..start.checked_add(find.data.len())?));
        let data = match range.filter(|range| file.get(range.clone()) == Some(find.data)) {
            Some(range) => Data::InFile(range),
            None => Data::Unpacked(find.data.to_vec()),
        };
        Self {
            format: find.format,
            path: find.path.clone(),
            file_offset: find.file_offset,
            condition: find.condition,
            options: find.options.map(<[u8]>::to_vec),
            data,
        }
    }

    /// Returns the number of bytes that it holds.
    fn held(&self) -> usize {
        let unpacked = match &self.data {
            Data::InFile(_) => 0,
            Data::Unpacked(bytes) => bytes.len(),
        };
        self.options.as_ref().map_or(0, Vec::len).saturating_add(unpacked)
    }

    fn find<'f>(&'f self, file: &'f [u8]) -> Find<'f> {
        Find {
            format: self.format,
            path: self.path.clone(),
            data: match &self.data {
                Data::InFile(range) => file.get(range.clone()).unwrap_or_default(),
                Data::Unpacked(bytes) => bytes,
            },
            file_offset: self.file_offset,
            condition: self.condition,
            options: self.options.as_deref(),
        }
    }
}

impl File {
    /// Finds the GPU programs in bytes, within limits. See [`open_bytes`].
    pub fn new(
        name: impl AsRef<[u8]>,
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        limits: &Limits,
    ) -> Self {
        let name = name.as_ref();
        let bytes: Box<dyn AsRef<[u8]> + Send + Sync> = Box::new(bytes);
        let file = (*bytes).as_ref();
        let (mut found, mut held) = (Vec::new(), 0_usize);
        let mut is_full = false;
        let mut diagnostics = carve::carve(file, name, limits, &mut |find| {
            let one = Found::new(&find, file);
            held = held.saturating_add(one.held());
            is_full = held > MAX_UNPACKED;
            if is_full {
                return ControlFlow::Break(());
            }
            found.push(one);
            ControlFlow::Continue(())
        });
        if is_full {
            let error = Error::without_offset(ErrorKind::Limit, "its programs unpack to too much")
                .expected(format!("at most {MAX_UNPACKED} bytes"))
                .hint("`carve` visits programs one at a time");
            diagnostics.error("carve-limit", error);
        }
        Self { name: name.to_vec(), found, diagnostics, bytes }
    }

    /// Returns the name under which it was opened.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Returns its bytes.
    pub fn bytes(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    /// Returns its programs, in the order of the file.
    pub fn programs(&self) -> impl ExactSizeIterator<Item = ProgramRef<'_>> {
        self.found.iter().map(|found| ProgramRef::new(found.find(self.bytes())))
    }

    /// Returns the parts of the file that could not be searched.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, programs) = (self.bytes().len(), self.found.len());
        write!(f, "File({}, {bytes} bytes, {programs} programs)", Escaped(&self.name))
    }
}

/// A program in a file.
#[derive(Clone)]
pub struct ProgramRef<'f>(Arc<Opened<'f>>);

struct Opened<'f> {
    find: Find<'f>,
    program: Result<Box<dyn Program + 'f>>,
}

impl<'f> ProgramRef<'f> {
    fn new(find: Find<'f>) -> Self {
        let program = program::open(&find);
        Self(Arc::new(Opened { find, program }))
    }

    /// Returns where it is: `app.zip!lib/libgpu.so!.nv_fatbin@0x40`.
    pub fn path(&self) -> &FindPath {
        &self.0.find.path
    }

    /// Returns its format.
    pub fn format(&self) -> Format {
        self.0.find.format
    }

    /// Returns what it is compiled for: `macOS 14.0`, `ps_6_5`, `sm_90`.
    pub fn target(&self) -> Option<String> {
        self.0.program.as_ref().ok()?.brief().target
    }

    /// Returns its bytes, unpacked.
    pub fn bytes(&self) -> &'f [u8] {
        self.0.find.data
    }

    /// Returns the offset of its first byte in the file, unless it had to be unpacked.
    pub fn offset(&self) -> Option<u64> {
        self.0.find.file_offset
    }

    /// Returns whether all of it is in the file.
    pub fn condition(&self) -> Condition {
        self.0.find.condition
    }

    /// Returns what its format answers: facts, tables, JSON, code, and the field at each byte.
    ///
    /// # Errors
    /// Its header can't be read.
    pub fn contents(&self) -> Result<&(dyn Program + 'f)> {
        match &self.0.program {
            Ok(program) => Ok(&**program),
            Err(error) => Err(self.within(error.clone())),
        }
    }

    /// Returns its functions in the order of the program, as far as they can be read; [`verify`](Self::verify) reports
    /// what can't.
    ///
    /// # Errors
    /// Its header can't be read.
    pub fn functions(&self) -> Result<Vec<Function<'f>>> {
        let program = self.contents()?;
        let everything = Selection::default();
        let items =
            program.items(&everything, Form::Rows { demangled: true }, &InOrder, &mut Diagnostics::new());
        let request = CodeRequest { selection: &everything, part: None, path: "" };
        let places = match program.code(&request, &mut Diagnostics::new()) {
            Code::Machine(nvidia) => function_places(nvidia),
            _ => Vec::new(),
        };
        let mut functions: Vec<Function<'f>> = Vec::new();
        for (library, group) in items.groups.into_iter().enumerate() {
            for row in group.rows {
                let place = places.get(functions.len()).copied();
                functions.push(Function {
                    program: self.clone(),
                    slice: group.slice.clone(),
                    library,
                    place,
                    row: Row { cells: Vec::new(), ..row },
                });
            }
        }
        Ok(functions)
    }

    /// Checks structure, sizes and hashes, and whether the parts agree.
    ///
    /// # Errors
    /// Its header can't be read.
    pub fn verify(&self) -> Result<Verdict> {
        Ok(self.contents()?.verify(&InOrder, VerifyDepth::Whole))
    }

    fn within(&self, error: Error) -> Error {
        error.within(self.path().to_string())
    }
}

impl fmt::Debug for ProgramRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProgramRef({}, {})", self.path(), self.format())
    }
}

/// A function of a program.
#[derive(Clone)]
pub struct Function<'f> {
    program: ProgramRef<'f>,
    row: Row,
    /// The slice of a universal file, and the number of its library: indices count from 0 in each.
    slice: String,
    library: usize,
    /// Where it is in an NVIDIA program.
    place: Option<FunctionPlace>,
}

/// The text of a function, and what could not be read for it.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The text.
    pub text: String,
    /// What could not be read.
    pub diagnostics: Diagnostics,
}

impl<'f> Function<'f> {
    /// Returns the program that it is in.
    pub fn program(&self) -> &ProgramRef<'f> {
        &self.program
    }

    /// Returns its index, which selectors such as `#12` name.
    pub fn index(&self) -> u32 {
        self.row.index
    }

    /// Returns its name as it is in the file, escaped where it can't be shown.
    pub fn name(&self) -> &str {
        &self.row.name
    }

    /// Returns its demangled name, if it is mangled.
    pub fn demangled(&self) -> Option<&str> {
        self.row.demangled.as_deref()
    }

    /// Returns what sort of function it is: `kernel`, `fragment`, `pixel`, `device`, `declaration`.
    pub fn kind(&self) -> &str {
        &self.row.kind
    }

    /// Returns the slice of a universal file that it is in; empty if there is none.
    pub fn slice(&self) -> &str {
        &self.slice
    }

    /// Returns the bytes of its code in the file, if they are there as they are.
    pub fn range(&self) -> Option<Range<u64>> {
        self.row.range.clone()
    }

    /// Returns its declaration, as precise as the format allows: in the syntax of Metal, of CUDA, of LLVM. If the
    /// program says nothing of its parameters, it is the kind and the name.
    pub fn signature(&self) -> String {
        let declaration = self.card().map(|card| card.declaration).unwrap_or_default();
        let text: String = declaration.into_iter().map(|(_, text)| text).collect();
        if text.is_empty() {
            return format!("{} {}", self.kind(), self.row.readable_name());
        }
        text.trim_end().to_owned()
    }

    /// Returns everything known of it.
    fn card(&self) -> Option<Card> {
        let program = self.program.contents().ok()?;
        program.describe(&self.selection(), &mut Diagnostics::new()).cards.into_iter().next()
    }

    /// Returns its text as [`listing`](Self::listing) does, without what could not be read.
    ///
    /// # Errors
    /// Nothing of it can be read, or it has no code.
    pub fn text(&self) -> Result<String> {
        self.listing().map(|listing| listing.text)
    }

    /// Disassembles it.
    ///
    /// | format | text |
    /// |---|---|
    /// | Metal libraries | LLVM assembly of its module, in the dialect of LLVM 14 |
    /// | bitcode | its definition or declaration in LLVM assembly |
    /// | DXIL | what DXC prints of the program; of a library its definition alone |
    /// | DXBC, Direct3D 9 | the assembly that FXC prints |
    /// | cubins, fat binaries | SASS of its code section: a kernel with the functions inside of it |
    /// | PTX | the text of the program |
    ///
    /// # Errors
    /// Nothing of it can be read, or it has no code.
    pub fn listing(&self) -> Result<Listing> {
        let program = self.program.contents()?;
        let (path, selection) = (self.program.path().to_string(), self.selection());
        let mut listing = Listing::default();
        let Listing { text, diagnostics } = &mut listing;
        let request = CodeRequest { selection: &selection, part: None, path: &path };
        let printed = match program.code(&request, diagnostics) {
            Code::Modules(groups) => self.modules(&groups, text, diagnostics),
            Code::Tokens(source) => token_program(&path, &source, false, text, diagnostics),
            Code::Machine(nvidia) => self.machine_code(nvidia, text, diagnostics),
            Code::Unread => Ok(()),
        };
        printed.map_err(|error| self.program.within(error))?;
        if listing.text.is_empty() {
            let first = listing.diagnostics.iter().next().map(|diagnostic| diagnostic.error.clone());
            let error = first.unwrap_or_else(|| self.fault("it has no code"));
            return Err(self.program.within(error));
        }
        Ok(listing)
    }

    /// Prints the module of a function, or the function of a module.
    fn modules(
        &self,
        groups: &[ModuleGroup<'_>],
        text: &mut String,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        // Containers and bitcode have one group; a universal file has one per library.
        let group = if groups.len() > 1 { groups.get(self.library) } else { groups.first() };
        for unit in group.map(|group| group.units.as_slice()).unwrap_or_default() {
            let found = match unit {
                Unit::Function { .. } => None,
                Unit::Part(_) => named(unit.open()?.into_owned(), self.name()),
                Unit::File { bytes, base, .. } => numbered(bytes, *base, self.index())?,
            };
            match found {
                Some((module, index)) => {
                    diagnostics.append(module.diagnostics.clone());
                    diagnostics.append(print_function(unit, &module, index, text)?);
                }
                None => {
                    let module = unit.open()?;
                    diagnostics.append(module.diagnostics.clone());
                    let options = ModuleOptions { dialect: unit.usual_dialect(), raw: false };
                    diagnostics.append(print_module(unit, &module, options, text));
                }
            }
        }
        Ok(())
    }

    /// Prints the code section of a function, or the PTX that it is in.
    fn machine_code(
        &self,
        nvidia: &Nvidia<'_>,
        text: &mut String,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        let place = self.place.ok_or_else(|| self.fault("it has no place in the program"))?;
        let mut faults = Diagnostics::new();
        with_unit_of(nvidia, place, diagnostics, &mut |unit| match unit {
            nv_units::Unit::Cubin(cubin) => {
                let wanted = |one: &unshade_nv::function::Function<'_>| Some(one.index) == place.index;
                sass_listing::cubin(cubin, &wanted, SassOptions::default(), &mut faults, text);
            }
            nv_units::Unit::Ptx(ptx) => text.push_str(&String::from_utf8_lossy(ptx.text())),
            nv_units::Unit::Unread => {}
        });
        diagnostics.append(faults);
        Ok(())
    }

    fn selection(&self) -> Selection {
        Selection { selectors: vec![Selector::Index(self.index())], ..Selection::default() }
    }

    fn label(&self) -> String {
        format!("function {} \"{}\"", self.index(), self.name())
    }

    fn fault(&self, message: impl Into<String>) -> Error {
        Error::without_offset(ErrorKind::Unsupported, message.into()).within(self.label())
    }
}

impl fmt::Debug for Function<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function(#{} {}, {})", self.index(), self.name(), self.kind())
    }
}

/// Returns the function of this name, if the module has others as well: then it is printed by itself.
fn named<'m>(module: Module<'m>, name: &str) -> Option<(Module<'m>, usize)> {
    let definitions = module.functions.iter().filter(|function| !function.declaration).count();
    let is_it = |function: &unshade_llvm::global::Function| Escaped(&function.symbol.name).to_cow() == name;
    let index = module.functions.iter().position(is_it).filter(|_| definitions > 1)?;
    Some((module, index))
}

/// Returns the function of this number, counted through all modules.
fn numbered(bytes: &[u8], base: u64, number: u32) -> Result<Option<(Module<'_>, usize)>> {
    let mut rest = number as usize;
    for module in Module::parse_all(bytes, base)?.filter_map(Result::ok) {
        let count = module.functions.len();
        if rest < count {
            return Ok(Some((module, rest)));
        }
        rest -= count;
    }
    Ok(None)
}

/// Prints a function of a module, with the meanings of mangled names.
fn print_function(
    unit: &Unit<'_>,
    module: &Module<'_>,
    index: usize,
    text: &mut String,
) -> Result<Diagnostics> {
    let options = PrintOptions { dialect: unit.usual_dialect(), module_id: None };
    if has_mangled_names(module) {
        let mut explained = DemangledComments::new(text);
        let mut sink: &mut dyn TokenSink = &mut explained;
        return print::function(module, index, &options, &mut sink);
    }
    print::function(module, index, &options, text)
}
