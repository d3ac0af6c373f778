//! Describes functions of a Metal library: as a row of a list, or in full.

use super::{FindingView, hex, shown};
use crate::demangle;
use crate::metal_signature::MetalSignature;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use unshade_air::reflection::Source;
use unshade_core::{Error, Severity, TokenSink};
use unshade_llvm::Module;
use unshade_metallib::function_list::ShortVersion;
use unshade_metallib::reflection::{
    Argument, FunctionReflection, Layout, Layouts, Member, Reflection, Return, print_signature,
};
use unshade_metallib::{Function, Library};

/// A row of a function list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionRow {
    /// Index in the library, from 0; `#index` selects it.
    pub index: u32,
    /// Its name as in the file.
    pub name: String,
    /// Its demangled name, if it is mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Cow<'static, str>>,
    /// The version of AIR.
    #[serde(serialize_with = "as_text", skip_serializing_if = "Option::is_none")]
    pub air: Option<ShortVersion>,
    /// The version of the Metal language.
    #[serde(serialize_with = "as_text", skip_serializing_if = "Option::is_none")]
    pub metal: Option<ShortVersion>,
    /// Size of its module in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Offset of its module in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Whether its source is embedded.
    pub has_source: bool,
}

impl FunctionRow {
    /// Reads a row. Reads bitcode only if the file does not give the size of the module.
    pub fn new(library: &Library<'_>, function: &Function<'_>) -> Self {
        let module = library.module(function).ok().flatten().map(|module| module.range());
        Self {
            index: function.index,
            name: function.shown_name(),
            demangled: demangle(function.name.unwrap_or_default()),
            kind: function
                .kind
                .map(|kind| kind.name().map_or_else(|| kind.to_string().into(), Cow::Borrowed)),
            air: function.versions.map(|versions| versions.air),
            metal: function.versions.map(|versions| versions.language),
            size: function
                .module_size
                .or_else(|| module.as_ref().map(|range| range.end.saturating_sub(range.start))),
            offset: module.map(|range| range.start),
            has_source: function.source_offset.is_some(),
        }
    }

    /// Returns the demangled name, or the name itself if it is not mangled.
    pub fn readable_name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }
}

/// Serializes a version as its text.
fn as_text<S: Serializer>(version: &Option<ShortVersion>, serializer: S) -> Result<S::Ok, S::Error> {
    match version {
        Some(version) => serializer.collect_str(version),
        None => serializer.serialize_none(),
    }
}

/// All details of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionView {
    /// Its row in a function list.
    #[serde(flatten)]
    pub row: FunctionRow,
    /// Its declaration in the Metal language, from its reflection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// SHA-256 of its module, as the library states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether the hash matches the module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_matches: Option<bool>,
    /// Size of the bitcode, without wrapper and padding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bitcode_size: Option<u64>,
    /// Size of its group in the function list, in bytes.
    pub group: (u64, u64),
    /// Tessellation: how it processes patches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tessellation: Option<String>,
    /// The type of its `render_target_array_index`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer_type: Option<String>,
    /// Contents of its public and private metadata.
    pub metadata: MetadataView,
    /// ID of the archive with its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_archive: Option<String>,
    /// Contents of its reflection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reflection: Option<ReflectionView>,
    /// Faults found while reading it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingView>,
}

/// Contents of public and private metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MetadataView {
    /// Vertex attributes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vertex_attributes: Vec<VertexAttributeView>,
    /// Function constants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub function_constants: Vec<ConstantView>,
    /// Line of the function in its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Path of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_path: Option<String>,
    /// `.air` files that it was linked from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// Tags that are not decoded: code and hex digits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<(String, String)>,
}

/// A vertex attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VertexAttributeView {
    /// Its name.
    pub name: String,
    /// `n` in `[[attribute(n)]]`.
    pub index: u16,
    /// Its type, as Metal spells it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub data_type: Option<String>,
    /// `per vertex`, `per patch` or `control point`.
    pub usage: String,
    /// Whether the function uses it.
    pub active: bool,
}

/// A function constant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConstantView {
    /// Its name.
    pub name: String,
    /// `n` in `[[function_constant(n)]]`.
    pub index: u32,
    /// Its type, as Metal spells it.
    #[serde(rename = "type")]
    pub data_type: String,
    /// Whether the function uses it (`CNST`) or requires a value (reflection).
    pub active: bool,
}

/// Contents of a function's reflection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReflectionView {
    /// Whether the library has none, and this follows from the metadata of the function's module.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub from_metadata: bool,
    /// Version of the reflection's schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Arguments, in order of declaration.
    pub arguments: Vec<ArgumentView>,
    /// Returned values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returns: Vec<ArgumentView>,
    /// Function constants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub function_constants: Vec<ConstantView>,
    /// `[[max_total_threads_per_threadgroup(n)]]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_threads: Option<u32>,
    /// `[[required_threads_per_threadgroup(x, y, z)]]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_threads: Option<[u32; 3]>,
    /// Static threadgroup memory of the function, in bytes.
    pub static_threadgroup_memory: u64,
    /// Structures of its arguments, those inside of others first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub structures: Vec<StructureView>,
}

/// A structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StructureView {
    /// Its name, an identifier that no other structure of the function has.
    pub name: String,
    /// Its name in the source.
    pub source_name: String,
    /// Its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// Its alignment in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alignment: Option<u32>,
    /// Its members, in order.
    pub members: Vec<MemberView>,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberView {
    /// Its name.
    pub name: String,
    /// Its type in the source.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its offset in bytes.
    pub offset: u32,
    /// Its size in bytes; of an array, that of an element.
    pub size: u32,
    /// Number of array elements; left out if it is no array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array_entries: Option<u32>,
    /// The name of its structure, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structure: Option<String>,
    /// Its attribute, such as `id(0)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
}

impl StructureView {
    fn all(layouts: &Layouts) -> Vec<Self> {
        let name = |index: usize| layouts.all.get(index).map(|layout| layout.name.clone());
        let member = |member: &Member| MemberView {
            name: member.name.clone(),
            type_name: member.type_name.clone(),
            offset: member.offset,
            size: member.size,
            array_entries: Some(member.array_entries).filter(|&count| count > 0),
            structure: member.structure.and_then(name),
            attribute: Some(member.attribute.clone()).filter(|attribute| !attribute.is_empty()),
        };
        let view = |layout: &Layout| Self {
            name: layout.name.clone(),
            source_name: layout.source_name.clone(),
            size: layout.size,
            alignment: layout.alignment,
            members: layout.members.iter().map(member).collect(),
        };
        layouts.all.iter().map(view).collect()
    }
}

/// An argument, or a returned value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArgumentView {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Kind of argument.
    pub kind: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Attribute, without the brackets.
    pub attribute: String,
    /// Its index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Access mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// Address space, for buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_space: Option<String>,
    /// Element size in bytes, for buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element_size: Option<u32>,
    /// Whether it is unused.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub unused: bool,
}

impl From<&Argument<'_>> for ArgumentView {
    fn from(argument: &Argument<'_>) -> Self {
        Self {
            name: argument.name.map(shown),
            kind: argument.kind.to_string(),
            type_name: argument.type_name.map(shown),
            attribute: argument.attribute(),
            index: argument.index,
            access: argument.access.map(|access| access.to_string()),
            address_space: argument.address_space.map(|space| space.to_string()),
            element_size: argument.type_size,
            unused: argument.unused,
        }
    }
}

impl From<&Return<'_>> for ArgumentView {
    fn from(value: &Return<'_>) -> Self {
        Self {
            name: value.name.map(shown),
            kind: value.kind.to_string(),
            type_name: value.type_name.map(shown),
            attribute: value.attribute(),
            index: value.index,
            access: None,
            address_space: None,
            element_size: None,
            unused: false,
        }
    }
}

/// Prints the structures of a function's arguments, and its declaration: from its reflection or the metadata of its module,
/// otherwise from its name and its type in the module.
fn declare(
    source: Option<&Source<'_>>,
    exported: Option<&MetalSignature>,
    function: &Function<'_>,
    sink: &mut dyn TokenSink,
) {
    let name = function.name.unwrap_or_default();
    if let Some(source) = source {
        declare_structures(source, name, sink);
    }
    match (exported, source.map(|source| source.function(name))) {
        (Some(exported), _) => exported.print(function.kind, sink),
        (None, Some(Ok(Some(described)))) => print_signature(&described, sink),
        _ => {}
    }
}

/// Returns what the name of a function and its type in the module say.
fn module_signature(library: &Library<'_>, function: &Function<'_>) -> Option<MetalSignature> {
    let bitcode = library.module(function).ok()??.bitcode().ok()?;
    let module = Module::parse(bitcode.data(), bitcode.base()).ok()?;
    MetalSignature::of(&module, function.name.unwrap_or_default())
}

/// Prints the structures of a function's arguments. What is damaged is among the findings of the function.
pub(crate) fn declare_structures(source: &Source<'_>, name: &[u8], sink: &mut (impl TokenSink + ?Sized)) {
    if let Ok(reflection) = source.reflection()
        && let Ok(Some(described)) = source.function(name)
        && let Ok(layouts) = Layouts::of(&reflection, &described)
    {
        layouts.print(sink);
    }
}

impl ReflectionView {
    /// Describes a function, and prints its declaration in the Metal language; `None` if the reflection does not have it.
    /// Adds what can't be read to `findings`.
    pub fn new(
        source: &Source<'_>,
        name: &[u8],
        declaration: &mut dyn TokenSink,
        findings: &mut Vec<FindingView>,
    ) -> Option<Self> {
        let mut collected = Findings::default();
        let view = Self::read(source, name, declaration, &mut collected);
        findings.append(&mut collected.0);
        view
    }

    fn read(
        source: &Source<'_>,
        name: &[u8],
        declaration: &mut dyn TokenSink,
        findings: &mut Findings,
    ) -> Option<Self> {
        let reflection = findings.take(source.reflection())?;
        let described = findings.take(source.function(name)).flatten()?;
        print_signature(&described, declaration);
        let view = reflection_view(&reflection, &described, findings);
        Some(Self { from_metadata: source.is_from_metadata(), ..view })
    }
}

impl FunctionView {
    /// Reads all details, including the module.
    pub fn new(library: &Library<'_>, function: &Function<'_>) -> Self {
        Self::describe(library, function, None)
    }

    /// Reads all details, and prints the structures of the arguments and the declaration, if it is known.
    pub(crate) fn declare(library: &Library<'_>, function: &Function<'_>, sink: &mut dyn TokenSink) -> Self {
        Self::describe(library, function, Some(sink))
    }

    fn describe(library: &Library<'_>, function: &Function<'_>, sink: Option<&mut dyn TokenSink>) -> Self {
        let mut findings = Findings::default();
        if let Some(fault) = &function.fault {
            findings.add(fault);
        }
        let metadata = metadata(library, function, &mut findings);
        let module = findings.take(library.module(function)).flatten();
        let source = findings.take(Source::of(library, function)).flatten();
        if let Some(source) = &source {
            findings.0.extend(source.findings.iter().map(FindingView::from));
        }
        let name = function.name.unwrap_or_default();
        let mut signature = String::new();
        let reflection = source
            .as_ref()
            .and_then(|source| ReflectionView::read(source, name, &mut signature, &mut findings));
        let exported = match reflection {
            Some(_) => None,
            None => module_signature(library, function),
        };
        if let Some(exported) = &exported {
            exported.print(function.kind, &mut signature);
        }
        if let Some(sink) = sink {
            declare(source.as_ref(), exported.as_ref(), function, sink);
        }
        let bitcode = module.and_then(|module| findings.take(module.bitcode()));
        let hash_matches = module.zip(function.hash).map(|(module, hash)| module.sha256() == *hash);
        Self {
            row: FunctionRow::new(library, function),
            signature: Some(signature).filter(|signature| !signature.is_empty()),
            hash: function.hash.map(|hash| hex(hash)),
            hash_matches,
            bitcode_size: bitcode.map(|bitcode| bitcode.remaining() as u64),
            group: (function.range.start, function.range.end),
            tessellation: function.tessellation.map(|tessellation| tessellation.to_string()),
            layer_type: function.layer_type.map(|data_type| data_type.to_string()),
            metadata,
            source_archive: source_archive(library, function, &mut findings),
            reflection,
            findings: findings.0,
        }
    }
}

/// What the heading of a function's listing says. It takes a small part of the time of a [`FunctionView`], which hashes the
/// module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionHeading {
    /// The declaration in the Metal language, or the kind and the name.
    pub declaration: String,
    /// Where it is in the source: `softmax.metal:12`.
    pub location: Option<String>,
}

impl FunctionHeading {
    /// Reads the heading of a function.
    pub fn new(library: &Library<'_>, function: &Function<'_>) -> Self {
        let declaration = signature(library, function).unwrap_or_else(|| {
            let row = FunctionRow::new(library, function);
            format!("{} {}", row.kind.as_deref().unwrap_or("function"), row.readable_name())
        });
        let private = library.private_metadata(function).ok().flatten();
        let location = private.and_then(|private| private.source_location().ok().flatten());
        let location = location.map(|location| format!("{}:{}", shown(location.path), location.line));
        Self { declaration, location }
    }
}

/// Returns the declaration of a function in the Metal language, if it is known.
pub(crate) fn signature(library: &Library<'_>, function: &Function<'_>) -> Option<String> {
    let mut text = String::new();
    let source = Source::of(library, function).ok().flatten();
    let described = source.as_ref().and_then(|source| {
        source.reflection().ok()?;
        source.function(function.name.unwrap_or_default()).ok()?
    });
    match described {
        Some(described) => print_signature(&described, &mut text),
        None => module_signature(library, function)?.print(function.kind, &mut text),
    }
    Some(text).filter(|text| !text.is_empty())
}

/// Collects faults found while reading.
#[derive(Default)]
struct Findings(Vec<FindingView>);

impl Findings {
    fn add(&mut self, error: &Error) {
        self.0.push(FindingView::from_error(Severity::Error, "unreadable", error));
    }

    fn take<T>(&mut self, result: unshade_core::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(&error)).ok()
    }
}

fn metadata(library: &Library<'_>, function: &Function<'_>, findings: &mut Findings) -> MetadataView {
    let mut view = MetadataView::default();
    if let Some(public) = findings.take(library.public_metadata(function)).flatten() {
        let attributes = findings.take(public.vertex_attributes()).unwrap_or_default();
        view.vertex_attributes = attributes
            .iter()
            .map(|attribute| VertexAttributeView {
                name: shown(attribute.name),
                index: attribute.index,
                data_type: attribute.data_type.map(|data_type| data_type.to_string()),
                usage: attribute.usage.to_string(),
                active: attribute.active,
            })
            .collect();
        let constants = findings.take(public.function_constants()).unwrap_or_default();
        view.function_constants = constants
            .iter()
            .map(|constant| ConstantView {
                name: shown(constant.name),
                index: constant.index.into(),
                data_type: constant.data_type.to_string(),
                active: constant.active,
            })
            .collect();
        let described = [*b"VATT", *b"VATY", *b"CNST"];
        for tag in public.group.tags().filter_map(Result::ok).filter(|tag| !described.contains(&tag.code.0)) {
            view.raw.push((tag.code.to_string(), hex(tag.content.rest())));
        }
    }
    if let Some(private) = findings.take(library.private_metadata(function)).flatten() {
        if let Some(location) = findings.take(private.source_location()).flatten() {
            view.line = Some(location.line);
            view.source_path = Some(shown(location.path));
        }
        view.dependencies =
            private.dependencies().filter_map(|path| findings.take(path)).map(shown).collect();
    }
    view
}

fn source_archive(library: &Library<'_>, function: &Function<'_>, findings: &mut Findings) -> Option<String> {
    let offset = function.source_offset?;
    let sources = findings.take(library.sources()).flatten()?;
    findings.take(sources.archive_at(offset)).map(|archive| shown(archive.id))
}

fn reflection_view(
    reflection: &Reflection<'_>,
    described: &FunctionReflection<'_>,
    findings: &mut Findings,
) -> ReflectionView {
    let allocations = findings.take(reflection.static_local_allocations());
    let layouts = findings.take(Layouts::of(reflection, described)).unwrap_or_default();
    ReflectionView {
        from_metadata: false,
        version: reflection.version().map(|version| version.to_string()),
        arguments: described.arguments.iter().map(ArgumentView::from).collect(),
        returns: described.returns.iter().map(ArgumentView::from).collect(),
        function_constants: described
            .function_constants
            .iter()
            .map(|constant| ConstantView {
                name: shown(constant.name),
                index: constant.index,
                data_type: shown(constant.type_name),
                active: constant.required,
            })
            .collect(),
        max_total_threads: described.max_total_threads,
        required_threads: described.required_threads,
        static_threadgroup_memory: allocations
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .map(|allocation| u64::from(allocation.size))
            .sum(),
        structures: StructureView::all(&layouts),
    }
}
