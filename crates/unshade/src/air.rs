//! Reads the functions of an AIR module from its metadata: the same facts that a Metal library repeats in its function
//! list and in its public metadata.
//!
//! | named metadata | contents |
//! |---|---|
//! | `!air.vertex`, `fragment`, `kernel`, `visible`, `intersection`, `mesh`, `object` | functions of that type: the function, its results, its arguments, then further properties |
//! | `!air.version`, `!air.language_version` | three numbers; `Metal` and three numbers |
//! | `!air.function_constants` | per constant: global, type, name, index, whether it is required |
//!
//! Arguments and results are sequences of keywords and values. A vertex attribute has `air.vertex_input` (for a patch
//! `air.patch_input`, or `air.patch_control_point_input` with one node per field), then `air.location_index`,
//! `air.arg_type_name` and `air.arg_name`. The tag `LAYR` holds the type of the result
//! `air.render_target_array_index`. A post-tessellation function has a node with `air.patch`, the shape of the patch,
//! `air.patch_control_point` and the number of control points.
//!
//! Source: modules of real libraries, which agree with the tables of their libraries. Tessellation is known only from
//! listings of modules in public repositories; no real library was available.

use std::borrow::Cow;
use unshade_core::{Error, ErrorKind, Result};
use unshade_llvm::debug_info::NodeKind;
use unshade_llvm::metadata::Metadata;
use unshade_llvm::value::ValueKind;
use unshade_llvm::{FunctionBody, MetadataId, Module};
use unshade_metallib::file::{
    FunctionConstant, OwnedFunction, PublicTags, SourceLocation, Text, VertexAttribute,
};
use unshade_metallib::function_list::{FunctionVersions, ShortVersion, Tessellation};
use unshade_metallib::metadata::AttributeUse;
use unshade_metallib::{DataType, FunctionType};

/// Named metadata that list functions, with the type of the functions in each list.
const ENTRY_LISTS: [(&[u8], FunctionType); 8] = [
    (b"air.vertex", FunctionType::VERTEX),
    (b"air.fragment", FunctionType::FRAGMENT),
    (b"air.kernel", FunctionType::KERNEL),
    (b"air.visible", FunctionType::VISIBLE),
    (b"air.extern", FunctionType::EXTERN),
    (b"air.intersection", FunctionType::INTERSECTION),
    (b"air.mesh", FunctionType::MESH),
    (b"air.object", FunctionType::OBJECT),
];

/// Keywords of vertex attributes, with the rate at which each is fetched.
const ATTRIBUTES: [(&[u8], AttributeUse); 2] =
    [(b"air.vertex_input", AttributeUse::PER_VERTEX), (b"air.patch_input", AttributeUse::PER_PATCH)];

/// Returns the functions of a module as a library describes them: name, type, versions, tessellation, type of the
/// layer, vertex attributes and function constants. The module index of each is 0.
///
/// `module` is bitcode, with or without its wrapper. For a module that lists no functions, such as a dynamic library's,
/// returns every defined function that is visible to other modules.
///
/// # Errors
/// If the bitcode can't be read, or a list names something that is not a function.
pub fn functions(module: &[u8]) -> Result<Vec<OwnedFunction<'static>>> {
    functions_of(&Module::parse(module, 0)?)
}

/// Returns the functions of a parsed module, as [`functions`] does.
///
/// # Errors
/// If a list names something that is not a function.
pub fn functions_of(module: &Module<'_>) -> Result<Vec<OwnedFunction<'static>>> {
    let listed = entry_points(module)?;
    Ok(if listed.is_empty() { visible_functions(module) } else { listed })
}

/// Returns the functions that a module lists by type.
///
/// # Errors
/// If a list names something that is not a function.
pub(crate) fn entry_points(module: &Module<'_>) -> Result<Vec<OwnedFunction<'static>>> {
    let versions = versions(module);
    let constants = constants(module);
    let mut functions = Vec::new();
    for (list, kind) in ENTRY_LISTS {
        for &entry in module.named(list) {
            let mut function = function(module, entry, kind).ok_or_else(|| bad_entry(list))?;
            function.versions = versions;
            if !constants.is_empty() {
                function.public.constants = Some(constants.clone());
            }
            functions.push(function);
        }
    }
    Ok(functions)
}

/// Returns the functions that a module lists by type, as pairs of a function's name and the name of its type.
pub fn kinds(module: &Module<'_>) -> Vec<(Vec<u8>, String)> {
    let mut kinds = Vec::new();
    for (list, kind) in ENTRY_LISTS {
        for &entry in module.named(list) {
            let function = module.node_operands(entry).next().flatten();
            if let Some(name) = function.and_then(|operand| function_name(module, operand)) {
                kinds.push((name.into_owned(), kind.to_string()));
            }
        }
    }
    kinds
}

/// Returns the names of the functions that [`functions`] returns.
pub fn names(module: &Module<'_>) -> Vec<Vec<u8>> {
    let listed: Vec<_> = kinds(module).into_iter().map(|(name, _)| name).collect();
    if !listed.is_empty() {
        return listed;
    }
    visible_functions(module).into_iter().map(|function| function.name.into_owned()).collect()
}

/// Returns the defined functions that other modules can call.
pub(crate) fn visible_functions(module: &Module<'_>) -> Vec<OwnedFunction<'static>> {
    let versions = versions(module);
    let defined = module.functions.iter().filter(|function| !function.declaration);
    let visible = defined.filter(|function| !function.symbol.linkage.is_local());
    visible
        .map(|function| OwnedFunction {
            versions,
            ..OwnedFunction::new(function.symbol.name.clone(), FunctionType::UNQUALIFIED, 0)
        })
        .collect()
}

/// Returns the target triple of a module.
///
/// # Errors
/// If the bitcode can't be read.
pub fn triple(module: &[u8]) -> Result<Vec<u8>> {
    Module::parse(module, 0).map(|module| module.triple)
}

fn bad_entry(list: &[u8]) -> Error {
    let message = format!("!{} has an entry without a function", String::from_utf8_lossy(list));
    Error::without_offset(ErrorKind::BadValue, message)
}

/// Returns the versions of AIR and of the Metal language that a module states.
pub fn versions(module: &Module<'_>) -> Option<FunctionVersions> {
    let numbers = |name: &[u8]| {
        let operands = Node::new(module, *module.named(name).first()?);
        let numbers: Vec<u16> = operands.words.iter().filter_map(|word| word.number()).collect();
        Some(ShortVersion { major: *numbers.first()?, minor: *numbers.get(1)? })
    };
    Some(FunctionVersions { air: numbers(b"air.version")?, language: numbers(b"air.language_version")? })
}

/// Returns whether a module is AIR: its triple names the architecture, or it states a version.
pub fn is_air(module: &Module<'_>) -> bool {
    module.triple.starts_with(b"air") || versions(module).is_some()
}

fn constants(module: &Module<'_>) -> Vec<FunctionConstant<'static>> {
    let constant = |entry: &MetadataId| {
        let node = Node::new(module, *entry);
        let mut texts = node.words.iter().filter_map(Word::text);
        let mut numbers = node.words.iter().filter_map(Word::number);
        Some(FunctionConstant {
            data_type: data_type(texts.next()?),
            name: Cow::Owned(texts.next()?.to_vec()),
            index: numbers.next()?,
            active: numbers.next().is_none_or(|number| number != 0),
        })
    };
    module.named(b"air.function_constants").iter().filter_map(constant).collect()
}

fn function(module: &Module<'_>, entry: MetadataId, kind: FunctionType) -> Option<OwnedFunction<'static>> {
    let mut operands = module.node_operands(entry);
    let name = function_name(module, operands.next()??)?;
    let (results, arguments) = (operands.next().flatten(), operands.next().flatten());
    let mut function = OwnedFunction::new(name, kind, 0);
    for node in operands.flatten() {
        function.tessellation = function.tessellation.or_else(|| tessellation(&Node::new(module, node)));
    }
    for node in results.into_iter().flat_map(|results| module.node_operands(results)).flatten() {
        let node = Node::new(module, node);
        if node.has(b"air.render_target_array_index") {
            function.layer_type = Some(data_type(node.text_after(b"air.arg_type_name")?));
        }
    }
    let mut attributes = Vec::new();
    if kind == FunctionType::VERTEX {
        for node in arguments.into_iter().flat_map(|arguments| module.node_operands(arguments)).flatten() {
            add_attributes(module, node, &mut attributes);
        }
    }
    if !attributes.is_empty() {
        function.public = PublicTags { attributes: Some(attributes), ..PublicTags::default() };
    }
    Some(function)
}

fn function_name(module: &Module<'_>, operand: MetadataId) -> Option<Text<'static>> {
    let Metadata::Value { value, .. } = module.metadata.get(operand)? else { return None };
    let ValueKind::Function(index) = module.value(None, value)?.kind else { return None };
    Some(Cow::Owned(module.functions.get(index as usize)?.symbol.name.clone()))
}

fn tessellation(node: &Node<'_>) -> Option<Tessellation> {
    let patch: u8 = match node.text_after(b"air.patch")? {
        b"triangle" => 1,
        b"quad" => 2,
        _ => return None,
    };
    let points = node.number_after(b"air.patch_control_point").unwrap_or_default();
    let points = u8::try_from(points).ok().filter(|points| *points < 64)?;
    Some(Tessellation(patch | points << 2))
}

fn add_attributes(module: &Module<'_>, argument: MetadataId, to: &mut Vec<VertexAttribute<'static>>) {
    let node = Node::new(module, argument);
    if node.has(b"air.patch_control_point_input") {
        for field in module.node_operands(argument).flatten() {
            to.extend(attribute(&Node::new(module, field), AttributeUse::CONTROL_POINT));
        }
    } else if let Some((_, usage)) = ATTRIBUTES.iter().find(|(word, _)| node.has(word)) {
        to.extend(attribute(&node, *usage));
    }
}

fn attribute(node: &Node<'_>, usage: AttributeUse) -> Option<VertexAttribute<'static>> {
    Some(VertexAttribute {
        index: node.number_after(b"air.location_index")?,
        data_type: Some(data_type(node.text_after(b"air.arg_type_name")?)),
        name: Cow::Owned(node.text_after(b"air.arg_name").unwrap_or_default().to_vec()),
        usage,
        active: !node.has(b"air.arg_unused"),
    })
}

fn data_type(name: &[u8]) -> DataType {
    let name = std::str::from_utf8(name).unwrap_or_default();
    DataType::from_name(name).unwrap_or(DataType(0))
}

/// The operands of a metadata node, as text and numbers.
struct Node<'m> {
    words: Vec<Word<'m>>,
}

#[derive(Clone, Copy)]
enum Word<'m> {
    Text(&'m [u8]),
    Number(u64),
    Other,
}

impl<'m> Word<'m> {
    fn text(&self) -> Option<&'m [u8]> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn number(&self) -> Option<u16> {
        match self {
            Self::Number(number) => u16::try_from(*number).ok(),
            _ => None,
        }
    }
}

impl<'m> Node<'m> {
    fn new(module: &'m Module<'_>, node: MetadataId) -> Self {
        let word = |operand: Option<MetadataId>| {
            let operand = operand?;
            if let Some(text) = module.metadata_string(operand) {
                return Some(Word::Text(text));
            }
            match module.metadata.get(operand)? {
                Metadata::Value { value, .. } => module.integer(None, value).map(Word::Number),
                _ => None,
            }
        };
        Self {
            words: module.node_operands(node).map(|operand| word(operand).unwrap_or(Word::Other)).collect(),
        }
    }

    fn position(&self, key: &[u8]) -> Option<usize> {
        self.words.iter().position(|word| word.text() == Some(key))
    }

    fn has(&self, key: &[u8]) -> bool {
        self.position(key).is_some()
    }

    fn text_after(&self, key: &[u8]) -> Option<&'m [u8]> {
        self.words.get(self.position(key)?.checked_add(1)?)?.text()
    }

    fn number_after(&self, key: &[u8]) -> Option<u16> {
        self.words.get(self.position(key)?.checked_add(1)?)?.number()
    }
}

/// Returns where the debug information of a module says that a function is defined: its line, and the path as Apple's linker
/// writes it, the folder of the compiler and the name that it was given. `None` if there is none for the function.
pub fn source_location(module: &Module<'_>, name: &[u8]) -> Option<SourceLocation<'static>> {
    if module.named(b"llvm.dbg.cu").is_empty() {
        return None;
    }
    let index = module.functions.iter().position(|function| function.symbol.name == name)?;
    let body = module.body(index).ok()?;
    let nodes = body.function_attachments.iter().map(|(_, node)| *node);
    nodes.into_iter().find_map(|node| subprogram(module, &body, node))
}

fn subprogram(module: &Module<'_>, body: &FunctionBody, node: MetadataId) -> Option<SourceLocation<'static>> {
    let (entry, table) = module.metadata(Some(body), node)?;
    let Metadata::Node(node) = entry else { return None };
    if node.kind != NodeKind::Subprogram {
        return None;
    }
    let line = u32::try_from(*table.numbers(node).first()?).ok()?;
    let reference = |reference: u64| Some(MetadataId(u32::try_from(reference.checked_sub(1)?).ok()?));
    let file = reference(*table.references(node).first()?)?;
    let (Metadata::Node(file), table) = module.metadata(Some(body), file)? else { return None };
    let mut texts = table.references(file).iter().map(|&text| {
        let (entry, table) = module.metadata(Some(body), reference(text)?)?;
        match entry {
            Metadata::String(text) => Some(table.string(text).to_vec()),
            _ => None,
        }
    });
    let (name, folder) = (texts.next()??, texts.next()??);
    let path: Text<'static> = Cow::Owned([&folder[..], b"/", &name].concat());
    Some(SourceLocation { line, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(module: &[u8]) -> OwnedFunction<'static> {
        let mut functions = functions(module).unwrap();
        assert_eq!(functions.len(), 1);
        functions.remove(0)
    }

    #[test]
    fn a_kernel_and_its_versions() {
        let kernel = only(include_bytes!("../../../tests/fixtures/air/kernel.bc"));
        assert_eq!((kernel.name.as_ref(), kernel.kind), (&b"scale"[..], Some(FunctionType::KERNEL)));
        let versions = kernel.versions.unwrap();
        assert_eq!((versions.air.to_string(), versions.language.to_string()), ("2.6".into(), "3.1".into()));
        assert_eq!(kernel.public, PublicTags::default());
    }

    #[test]
    fn vertex_attributes() {
        let vertex = only(include_bytes!("../../../tests/fixtures/air/vertex.bc"));
        let attributes = vertex.public.attributes.unwrap();
        let described: Vec<_> =
            attributes.iter().map(|a| (a.name.as_ref(), a.index, a.data_type, a.active)).collect();
        let float4 = DataType::from_name("float4");
        assert_eq!(described, [(&b"position"[..], 0, float4, true), (b"colour", 1, float4, true)]);
    }

    #[test]
    fn types_by_their_lists() {
        for (module, kind) in [
            (&include_bytes!("../../../tests/fixtures/air/fragment.bc")[..], FunctionType::FRAGMENT),
            (include_bytes!("../../../tests/fixtures/air/mesh.bc"), FunctionType::MESH),
            (include_bytes!("../../../tests/fixtures/air/object.bc"), FunctionType::OBJECT),
            (include_bytes!("../../../tests/fixtures/air/visible.bc"), FunctionType::VISIBLE),
            (include_bytes!("../../../tests/fixtures/air/intersection.bc"), FunctionType::INTERSECTION),
        ] {
            assert_eq!(only(module).kind, Some(kind));
        }
        assert!(functions(b"no bitcode").is_err());
    }
}
