//! The program that the functions of a module make up, and what their lifters share.

use super::function::Lifter;
use super::globals;
use super::node::{Item, items};
use super::types;
use crate::ir::hash::FastMap;
use crate::ir::metal::interface::{FunctionKind, MetalFunction, MetalProgram, Parameter};
use std::collections::BTreeSet;
use unshade_llvm::Module;
use unshade_llvm::attributes::Attribute;
use unshade_llvm::ids::MetadataId;
use unshade_llvm::types::Type;
use unshade_llvm::value::ValueKind;

/// Named metadata that list entry points, with their kind.
const ENTRY_LISTS: [(&[u8], FunctionKind); 7] = [
    (b"air.kernel", FunctionKind::Kernel),
    (b"air.vertex", FunctionKind::Vertex),
    (b"air.fragment", FunctionKind::Fragment),
    (b"air.visible", FunctionKind::Visible),
    (b"air.intersection", FunctionKind::Intersection),
    (b"air.mesh", FunctionKind::Mesh),
    (b"air.object", FunctionKind::Object),
];

/// The section of functions that set variables before all others run.
const INITIALIZERS: &[u8] = b"air.static_init";

/// What the lifters of all functions share.
pub(super) struct Shared<'m, 'a> {
    pub(super) module: &'m Module<'a>,
    pub(super) program: MetalProgram,
    /// Structures that metadata described already, with the node.
    pub(super) described: BTreeSet<(u32, u32)>,
    /// Numbers of the program's variables, by that of the module.
    pub(super) globals: FastMap<u32, u32>,
    /// The functions that are called, and whose code is elsewhere.
    pub(super) externals: BTreeSet<u32>,
}

/// An entry point: its kind and the operands of its node.
struct Entry<'m> {
    kind: FunctionKind,
    items: Vec<Item<'m>>,
}

/// Lifts all functions of a module.
pub(super) fn lift(module: &Module<'_>) -> MetalProgram {
    let mut shared = Shared {
        module,
        program: MetalProgram { types: types::table(module), ..MetalProgram::default() },
        described: BTreeSet::new(),
        globals: FastMap::default(),
        externals: BTreeSet::new(),
    };
    shared.read_options();
    globals::add(&mut shared);
    let entries = shared.entries();
    let bodies: Vec<usize> = module.functions_with_bodies().map(|(index, _)| index).collect();
    let is_initializer = |index: &usize| module.functions[*index].symbol.section == INITIALIZERS;
    let mut order: Vec<usize> = bodies.into_iter().filter(|index| !is_initializer(index)).collect();
    order.sort_by_key(|index| !entries.contains_key(index));
    for index in order {
        let function = shared.lift(index, entries.get(&index));
        shared.program.functions.push(function);
    }
    for index in std::mem::take(&mut shared.externals) {
        let function = shared.declaration(index as usize);
        shared.program.functions.push(function);
    }
    shared.program
}

impl<'m> Shared<'m, '_> {
    fn read_options(&mut self) {
        let options = self.module.named(b"air.compile_options");
        self.program.has_fast_math = options
            .iter()
            .any(|node| items(self.module, *node).contains(&Item::Text("air.compile.fast_math_enable")));
        let version = self.module.named(b"air.language_version").first();
        self.program.language = version.and_then(|node| match items(self.module, *node)[..] {
            [_, major, minor, ..] => Some((major.number()?, minor.number()?)),
            _ => None,
        });
    }

    /// Returns the entry points by the number of their function.
    fn entries(&self) -> FastMap<usize, Entry<'m>> {
        let mut entries = FastMap::default();
        for (list, kind) in ENTRY_LISTS {
            for &node in self.module.named(list) {
                let items = items(self.module, node);
                let Some(Item::Value(value)) = items.first() else { continue };
                let value = self.module.value(None, *value).map(|value| value.kind);
                if let Some(ValueKind::Function(index)) = value {
                    entries.insert(index as usize, Entry { kind, items });
                }
            }
        }
        entries
    }

    /// Returns a function without its code: name, parameters, result.
    fn declaration(&mut self, index: usize) -> MetalFunction {
        let symbol = &self.module.functions[index].symbol;
        let mut function = MetalFunction {
            name: String::from_utf8_lossy(&symbol.name).into_owned(),
            number: index as u32,
            is_declared: true,
            ..MetalFunction::default()
        };
        if let Type::Function { result, parameters, .. } = self.module.types.get(symbol.ty) {
            function.result = types::same(result);
            let parameters = self.module.types.elements(parameters);
            let parameter =
                |ty: &unshade_llvm::TypeId| Parameter { ty: types::same(*ty), ..Parameter::default() };
            function.parameters = parameters.iter().map(parameter).collect();
        }
        function
    }

    fn lift(&mut self, index: usize, entry: Option<&Entry<'m>>) -> MetalFunction {
        let mut function = self.declaration(index);
        function.is_declared = false;
        if let Some(entry) = entry {
            function.kind = Some(entry.kind);
            let nodes: Vec<MetadataId> = entry.items.iter().filter_map(|item| item.node()).collect();
            if let [outputs, arguments, properties @ ..] = &nodes[..] {
                self.describe_arguments(&mut function, *arguments);
                self.describe_outputs(&mut function, *outputs);
                self.describe_properties(&mut function, properties);
                self.check_texts(&mut function);
            }
        }
        if let Ok(body) = self.module.body(index) {
            let (code, locals) = Lifter::new(self, &body).run();
            function.function = code;
            function.locals = locals;
        } else {
            self.program.missing.push(format!("the code of {}", function.name));
        }
        function
    }

    /// Replaces what attributes and types of metadata can't have: it would be read as code.
    fn check_texts(&mut self, function: &mut MetalFunction) {
        let parameters = function.parameters.iter_mut();
        let parameters = parameters.flat_map(|one| [&mut one.attribute, &mut one.type_name]);
        let outputs = function.outputs.iter_mut().map(|output| &mut output.attribute);
        let meshes =
            function.mesh.iter_mut().flat_map(|mesh| mesh.vertex.iter_mut().chain(&mut mesh.primitive));
        let members = meshes.flat_map(|member| [&mut member.attribute, &mut member.type_name]);
        for text in parameters.chain(outputs).chain(members).chain(&mut function.attributes) {
            let is_plain = |c: char| c.is_alphanumeric() || "_(), <>:*.".contains(c);
            if !text.chars().all(is_plain) {
                self.program.missing.push(format!("the words {text}"));
                *text = text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
            }
        }
    }

    /// Returns the value of a string attribute of a function.
    pub(super) fn string_attribute(&self, function: usize, wanted: &[u8]) -> Option<&'m [u8]> {
        let attributes = &self.module.attributes;
        let list = self.module.functions.get(function)?.attributes;
        attributes.list(list).iter().find_map(|(_, set)| {
            attributes.set(*set).iter().find_map(|attribute| match attribute {
                Attribute::Text { name, value } if attributes.text(*name) == wanted => {
                    Some(attributes.text(*value))
                }
                _ => None,
            })
        })
    }
}
