//! Checks whether a Metal library agrees with its modules. It repeats much of what their metadata says:
//!
//! | in the library | in the module | rule |
//! |---|---|---|
//! | `NAME` | the functions that the module defines | `module-function` |
//! | `TYPE` | the list of the function: `!air.kernel`, … | `module-type` |
//! | `VERS` | `!air.version`, `!air.language_version` | `module-version` |
//! | platform and OS of the header | the triple | `module-target` |
//! | `VATT`, `VATY`, `CNST`, `TESS`, `LAYR` | arguments, results and constants | `module-metadata` |
//! | the reflection | the same, in full | `module-reflection` |
//! | its version | the compiler, `!llvm.ident` | `reflection-version` |
//! | `DEBI` | the debug information of the function | `module-debug` |
//! | the stub bit | that the module defines nothing | `library-type` |
//! | the type of a symbol companion | debug information, if the library has no sources | `library-type` |
//!
//! Knowledge: all libraries of Apple's linkers at hand agree with their modules in everything but what
//! `docs/verify.md` names.

use crate::air;
use crate::load_check::Triple;
use std::collections::BTreeMap;
use unshade_air::reflection::{difference, of_module, oldest_version};
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped, Result};
use unshade_llvm::Module;
use unshade_metallib::file::OwnedFunction;
use unshade_metallib::metadata::{FunctionConstant, PublicMetadata, VertexAttribute};
use unshade_metallib::reflection::tables::OwnedTable;
use unshade_metallib::verify::MAX_HASHED_RATIO;
use unshade_metallib::{Function, FunctionType, Library, LibraryType, Platform};

/// The rules, with a description of each.
pub const RULES: &[(&str, &str)] = &[
    ("module-function", "The module of a function defines it."),
    ("module-type", "The type of a function is that of its list in the module's metadata."),
    ("module-version", "The versions of AIR and of the language are those of the module."),
    ("module-target", "The platform and the OS version are those of the module's triple."),
    ("module-metadata", "Vertex attributes, function constants, patches and layers are those of the module."),
    ("module-reflection", "The reflection is that of the module's metadata."),
    ("module-debug", "The source location is that of the module's debug information."),
];

/// The offset of the type of the library, and of the stub bit.
const TYPE_OFFSET: u64 = 10;

/// The functions of a library, by the offset of their module in the bitcode section.
pub(crate) type FunctionsByModule<'a> = Vec<Vec<Function<'a>>>;

/// Returns the functions of a library in groups that share a module.
pub(crate) fn by_module<'a>(library: &Library<'a>) -> FunctionsByModule<'a> {
    let mut groups: BTreeMap<u64, Vec<Function<'a>>> = BTreeMap::new();
    // A hostile list may have overlapping modules.
    let mut left = (library.file().data().len() as u64).saturating_mul(MAX_HASHED_RATIO);
    for function in library.functions().flatten() {
        let Ok(Some(module)) = library.module(&function) else { continue };
        let offset = module.range().start;
        if !groups.contains_key(&offset) {
            let size = module.bytes().len() as u64;
            if size > left {
                continue;
            }
            left -= size;
        }
        groups.entry(offset).or_default().push(function);
    }
    groups.into_values().collect()
}

/// Compares functions of a library with the module that they share. A damaged module is not reported here.
pub(crate) fn module(library: &Library<'_>, functions: &[Function<'_>]) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let module = functions.first().and_then(|function| library.module(function).ok().flatten());
    let Some(bitcode) = module.and_then(|module| module.bitcode().ok()) else { return diagnostics };
    let Ok(module) = Module::parse(bitcode.data(), bitcode.base()) else { return diagnostics };
    let Ok(stated) = air::functions_of(&module) else { return diagnostics };
    target(library, &module, functions, &mut diagnostics);
    stub(library, &module, functions, &mut diagnostics);
    companion(library, &module, functions, &mut diagnostics);
    for function in functions {
        let mut check = Comparison { function, diagnostics: &mut diagnostics };
        let name = function.name.unwrap_or_default();
        match stated.iter().find(|stated| *stated.name == *name) {
            Some(stated) => check.function(library, stated),
            None => check.unlisted(&module, name),
        }
        if let Err(error) = check.reflection(library, &module) {
            check.diagnostics.error("module-reflection", error.within(function.label()));
        }
        check.reflection_version(library, &module);
        check.location(library, &module);
    }
    diagnostics
}

/// Compares the target of the header with the triple of a module.
fn target(
    library: &Library<'_>,
    module: &Module<'_>,
    functions: &[Function<'_>],
    diagnostics: &mut Diagnostics,
) {
    let header = library.header();
    let triple = Triple::new(&module.triple);
    let (platform, version) = (header.platform(), header.os_version());
    if platform == Platform::UNKNOWN || triple.platform == Platform::UNKNOWN {
        return;
    }
    let differs = version.zip(triple.version).is_some_and(|(stated, other)| stated != other);
    if triple.platform != platform || differs {
        let label = functions.first().map(Function::label).unwrap_or_default();
        let error = Error::new(
            ErrorKind::BadValue,
            library.file().base(),
            "the header has another target than the module",
        )
        .expected(triple.text)
        .found(header.target())
        .within(label);
        diagnostics.error("module-target", error);
    }
}

/// Reports a stub, of declarations only, whose module defines functions.
fn stub(
    library: &Library<'_>,
    module: &Module<'_>,
    functions: &[Function<'_>],
    diagnostics: &mut Diagnostics,
) {
    let mut defined = module.functions.iter().filter(|function| !function.declaration);
    let Some(first) = defined.next().filter(|_| library.header().is_stub()) else { return };
    let label = functions.first().map(Function::label).unwrap_or_default();
    let at = library.file().base().saturating_add(TYPE_OFFSET);
    let error = Error::new(ErrorKind::BadValue, at, "the library is a stub, but its module has code")
        .expected("declarations")
        .found(format!("a definition of {}", Escaped(&first.symbol.name).quoted()));
    diagnostics.note("library-type", error.within(label));
}

/// Reports a symbol companion that has neither sources nor debug information. Its first module speaks for all.
fn companion(
    library: &Library<'_>,
    module: &Module<'_>,
    functions: &[Function<'_>],
    diagnostics: &mut Diagnostics,
) {
    let is_companion = library.header().library_type() == LibraryType::SYMBOL_COMPANION;
    let is_first = functions.iter().any(|function| function.index == 0);
    let has_sources = !matches!(library.sources(), Ok(None));
    if !is_companion || !is_first || has_sources || !module.named(b"llvm.dbg.cu").is_empty() {
        return;
    }
    let at = library.file().base().saturating_add(TYPE_OFFSET);
    let error = Error::new(ErrorKind::BadValue, at, "the library does not have what its type says")
        .expected("embedded sources or debug information")
        .found(format!("{} library", library.header().library_type()));
    diagnostics.warning("library-type", error);
}

/// The comparison of a function.
struct Comparison<'f, 'a, 'd> {
    function: &'f Function<'a>,
    diagnostics: &'d mut Diagnostics,
}

impl Comparison<'_, '_, '_> {
    /// Reports a function that the module does not define. Those of dynamic libraries are in no list.
    fn unlisted(&mut self, module: &Module<'_>, name: &[u8]) {
        let mut defined = module.functions.iter().filter(|function| !function.declaration);
        if defined.clone().any(|function| function.symbol.name == name) {
            return;
        }
        let quoted = |name: &[u8]| Escaped(name).quoted();
        let found =
            defined.next().map_or_else(|| "no function".to_owned(), |function| quoted(&function.symbol.name));
        self.report("module-function", "the module does not define the function", quoted(name), found);
    }

    /// Compares a function with what the metadata of its module says.
    fn function(&mut self, library: &Library<'_>, stated: &OwnedFunction<'_>) {
        let function = self.function;
        let known = |kind: &FunctionType| ![FunctionType::UNQUALIFIED, FunctionType::NONE].contains(kind);
        if let (Some(kind), Some(other)) = (function.kind, stated.kind.filter(known))
            && kind != other
        {
            self.report("module-type", "the module lists the function as another type", other, kind);
        }
        if let (Some(versions), Some(others)) = (function.versions, stated.versions)
            && versions != others
        {
            let shown = |versions: unshade_metallib::function_list::FunctionVersions| {
                format!("AIR {}, language {}", versions.air, versions.language)
            };
            self.report("module-version", "the module has other versions", shown(others), shown(versions));
        }
        let text = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
        for (what, expected, found) in [
            (
                "TESS",
                stated.tessellation.map(|patch| patch.to_string()),
                function.tessellation.map(|patch| patch.to_string()),
            ),
            (
                "LAYR",
                stated.layer_type.map(|layer| layer.to_string()),
                function.layer_type.map(|layer| layer.to_string()),
            ),
        ] {
            if expected != found {
                self.report(
                    "module-metadata",
                    format!("{what} differs from the module"),
                    text(expected),
                    text(found),
                );
            }
        }
        // A damaged group is reported elsewhere.
        if let Ok(Some(public)) = library.public_metadata(function) {
            self.public(&public, stated);
        }
    }

    /// Compares vertex attributes and function constants.
    fn public(&mut self, public: &PublicMetadata<'_>, stated: &OwnedFunction<'_>) {
        let attributes = public.vertex_attributes().map(|all| all.iter().map(shown_attribute).collect());
        let expected = stated.public.attributes.iter().flatten();
        let expected = expected.map(|attribute| {
            shown_attribute(&VertexAttribute {
                name: &attribute.name,
                index: attribute.index,
                usage: attribute.usage,
                active: attribute.active,
                data_type: attribute.data_type,
            })
        });
        self.list("VATT", attributes, expected.collect());
        let constants = public.function_constants().map(|all| all.iter().map(shown_constant).collect());
        let expected = stated.public.constants.iter().flatten();
        let expected = expected.map(|constant| {
            shown_constant(&FunctionConstant {
                name: &constant.name,
                data_type: constant.data_type,
                index: constant.index,
                active: constant.active,
            })
        });
        self.list("CNST", constants, expected.collect());
    }

    fn list(&mut self, tag: &str, found: Result<Vec<String>>, expected: Vec<String>) {
        let Ok(found) = found else { return };
        if found.len() != expected.len() {
            let message = format!("{tag} has another number of entries than the module");
            self.report("module-metadata", message, expected.len(), found.len());
        } else if let Some((found, expected)) =
            found.iter().zip(&expected).find(|(found, expected)| found != expected)
        {
            self.report("module-metadata", format!("{tag} differs from the module"), expected, found);
        }
    }

    /// Compares the reflection, if the library has one.
    fn reflection(&mut self, library: &Library<'_>, module: &Module<'_>) -> Result<()> {
        let Ok(Some(reflection)) = library.reflection(self.function) else { return Ok(()) };
        let Some(version) = reflection.version() else { return Ok(()) };
        let stated = match OwnedTable::read(reflection.flatbuffer()) {
            Ok(stated) => stated,
            Err(error) => {
                let message = format!("the reflection is not compared with the module: {}", error.message());
                let error = Error::new(error.kind(), reflection.range().start, message).within("reflection");
                self.diagnostics.warning("module-reflection", error.within(self.function.label()));
                return Ok(());
            }
        };
        let converted = of_module(module, version)?;
        if let Some(difference) = difference(&converted.root, &stated) {
            let error = Error::new(
                ErrorKind::BadValue,
                reflection.range().start,
                "the reflection differs from the module",
            )
            .expected(difference.left)
            .found(difference.right);
            let error = difference.path.into_iter().rev().fold(error, Error::within);
            return Err(error.within("reflection"));
        }
        Ok(())
    }

    /// Compares the version of the reflection with the compiler: newer tools link older modules, but no older ones do.
    fn reflection_version(&mut self, library: &Library<'_>, module: &Module<'_>) {
        let Ok(Some(reflection)) = library.reflection(self.function) else { return };
        let (Some(found), Some(oldest)) = (reflection.version(), oldest_version(module)) else { return };
        if found < oldest {
            let message = "the reflection has an older version than the module's compiler writes";
            let error = Error::new(ErrorKind::BadValue, reflection.range().start, message)
                .expected(format!("{oldest} or later"))
                .found(found.to_string());
            self.diagnostics.warning("reflection-version", error.within(self.function.label()));
        }
    }

    /// Compares the source location with the debug information, if the module has any of the function.
    fn location(&mut self, library: &Library<'_>, module: &Module<'_>) {
        let Ok(Some(private)) = library.private_metadata(self.function) else { return };
        let Ok(Some(found)) = private.source_location() else { return };
        let name = self.function.name.unwrap_or_default();
        let Some(expected) = air::source_location(module, name) else { return };
        let shown = |line: u32, path: &[u8]| format!("line {line} of {}", Escaped(path).quoted());
        if (found.line, found.path) != (expected.line, &*expected.path) {
            let expected = shown(expected.line, &expected.path);
            let found = shown(found.line, found.path);
            self.report(
                "module-debug",
                "the module's debug information has another location",
                expected,
                found,
            );
        }
    }

    fn report(
        &mut self,
        rule: &'static str,
        message: impl Into<std::borrow::Cow<'static, str>>,
        expected: impl ToString,
        found: impl ToString,
    ) {
        let error = Error::new(ErrorKind::BadValue, self.function.range.start, message)
            .expected(expected.to_string())
            .found(found.to_string())
            .within(self.function.label());
        self.diagnostics.error(rule, error);
    }
}

fn shown_attribute(attribute: &VertexAttribute<'_>) -> String {
    let data_type = attribute.data_type.map(|data_type| data_type.to_string()).unwrap_or_default();
    let VertexAttribute { name, index, usage, active, .. } = attribute;
    let unused = if *active { "" } else { ", unused" };
    format!("{data_type} {} [[attribute({index})]] {usage}{unused}", Escaped(name))
}

fn shown_constant(constant: &FunctionConstant<'_>) -> String {
    let FunctionConstant { name, data_type, index, active } = constant;
    let unused = if *active { "" } else { ", unused" };
    format!("{data_type} {} [[function_constant({index})]]{unused}", Escaped(name))
}
