//! The nodes that describe an entry point, its arguments and its result.
//!
//! A node is a list of words and numbers: what the argument is, then pairs of a name and a value, at last the names of
//! type and argument.

use crate::entry::{AddressSpace, Argument, Builtin, Output, Signature};
use crate::target::Generation;
use crate::types::{MetalType, StructType};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_llvm::build::ModuleBuilder;
use unshade_llvm::{MetadataId, ValueId};

/// The first version of AIR whose buffers state their address space.
const WITH_ADDRESS_SPACE: (u16, u16) = (2, 5);

/// An element of a node.
enum Element<'e> {
    Word(&'e str),
    Number(u32),
    Node(MetadataId),
}

use Element::{Node, Number, Word};

/// Makes nodes of a module.
pub(crate) struct Nodes<'m> {
    pub(crate) module: &'m mut ModuleBuilder,
    pub(crate) generation: Generation,
}

impl Nodes<'_> {
    /// Adds the node of an entry point to the list of its stage.
    pub(crate) fn entry(&mut self, signature: &Signature, function: ValueId) -> Result<()> {
        let mut outputs = Vec::new();
        let is_single = signature.outputs.len() == 1;
        for (name, output) in &signature.outputs {
            outputs.push(self.output(name, output, is_single)?);
        }
        let mut arguments = Vec::new();
        for (index, (name, argument)) in (0..).zip(&signature.arguments) {
            arguments.push(self.argument(index, name, argument)?);
        }
        let (outputs, arguments) =
            (self.module.metadata_tuple(&outputs)?, self.module.metadata_tuple(&arguments)?);
        let mut entry = alloc::vec![self.module.metadata_value(function)?, outputs, arguments];
        if let Some(threads) = signature.max_threads {
            entry.push(self.node(&[Word("air.max_work_group_size"), Number(threads)])?);
        }
        if signature.early_fragment_tests {
            entry.push(self.module.metadata_string("early_fragment_tests"));
        }
        let entry = self.module.metadata_tuple(&entry)?;
        self.module.add_named_metadata(signature.stage.metadata_name(), &[entry])
    }

    /// Returns a node.
    fn node(&mut self, elements: &[Element<'_>]) -> Result<MetadataId> {
        let mut ids = Vec::with_capacity(elements.len());
        for element in elements {
            ids.push(match *element {
                Word(text) => self.module.metadata_string(text),
                Number(number) => self.module.metadata_i32(number),
                Node(id) => id,
            });
        }
        self.module.metadata_tuple(&ids)
    }

    fn argument(&mut self, index: u32, name: &str, argument: &Argument) -> Result<MetadataId> {
        let mut node = alloc::vec![Number(index)];
        let type_name;
        let link;
        match argument {
            Argument::Buffer { slot, ty, access, space, reference } => {
                node.push(Word("air.buffer"));
                if *reference {
                    node.extend([Word("air.buffer_size"), Number(ty.size())]);
                }
                let access = match access.keyword() {
                    "sample" | "read" => "air.read",
                    "write" => "air.write",
                    _ => "air.read_write",
                };
                node.extend([Word("air.location_index"), Number(*slot), Number(1), Word(access)]);
                if self.generation.air >= WITH_ADDRESS_SPACE || *space == AddressSpace::Threadgroup {
                    node.extend([Word("air.address_space"), Number(*space as u32)]);
                }
                if let MetalType::Struct(structure) = ty {
                    node.extend([Word("air.struct_type_info"), Node(self.struct_info(structure)?)]);
                }
                node.extend([Word("air.arg_type_size"), Number(ty.size())]);
                node.extend([Word("air.arg_type_align_size"), Number(ty.alignment())]);
                type_name = ty.name();
            }
            Argument::Texture { slot, texture } => {
                let access = match texture.access.keyword() {
                    "sample" => "air.sample",
                    "read" => "air.read",
                    "write" => "air.write",
                    _ => "air.read_write",
                };
                node.extend([Word("air.texture"), Word("air.location_index"), Number(*slot), Number(1)]);
                node.push(Word(access));
                type_name = texture.name();
            }
            Argument::Sampler { slot } => {
                node.extend([Word("air.sampler"), Word("air.location_index"), Number(*slot), Number(1)]);
                type_name = String::from("sampler");
            }
            Argument::Builtin { builtin, ty } => {
                link = format!("air.{}", builtin.keyword());
                node.push(Word(&link));
                if *builtin == Builtin::Position {
                    node.extend([Word("air.center"), Word("air.no_perspective")]);
                }
                type_name = ty.name();
            }
            Argument::VertexInput { attribute, ty } => {
                link = generated(name, ty);
                node.extend([Word("air.vertex_input"), Word("air.location_index")]);
                node.extend([Number(*attribute), Number(1), Word(&link)]);
                type_name = ty.name();
            }
            Argument::FragmentInput { ty, interpolation } => {
                link = generated(name, ty);
                node.extend([Word("air.fragment_input"), Word(&link)]);
                node.extend(interpolation.keywords().iter().map(|word| Word(word)));
                type_name = ty.name();
            }
        }
        node.extend([Word("air.arg_type_name"), Word(&type_name)]);
        node.extend([Word("air.arg_name"), Word(name)]);
        self.node(&node)
    }

    fn output(&mut self, name: &str, output: &Output, is_single: bool) -> Result<MetadataId> {
        let (ty, link) = (output.ty(), generated(name, &output.ty()));
        let mut node = match output {
            Output::Position => alloc::vec![Word("air.position")],
            Output::Varying(_) => alloc::vec![Word("air.vertex_output"), Word(&link)],
            Output::PointSize => alloc::vec![Word("air.point_size")],
            Output::RenderTargetArrayIndex => alloc::vec![Word("air.render_target_array_index")],
            Output::ViewportArrayIndex => alloc::vec![Word("air.viewport_array_index")],
            Output::Color(color, _) => alloc::vec![Word("air.render_target"), Number(*color), Number(0)],
            Output::Depth(qualifier) => {
                alloc::vec![Word("air.depth"), Word("air.depth_qualifier"), Word(qualifier.keyword())]
            }
            Output::Stencil => alloc::vec![Word("air.stencil")],
            Output::SampleMask => alloc::vec![Word("air.sample_mask")],
        };
        let type_name = ty.name();
        node.extend([Word("air.arg_type_name"), Word(&type_name)]);
        // What a function returns without a struct has no name.
        if !is_single {
            node.extend([Word("air.arg_name"), Word(name)]);
        }
        self.node(&node)
    }

    /// Returns the list of members of a struct: offset, size of one element, length if it is an array, type, name.
    fn struct_info(&mut self, structure: &StructType) -> Result<MetadataId> {
        let mut nested = Vec::new();
        let mut names = Vec::new();
        for (_, ty) in &structure.members {
            let element = if let MetalType::Array(element, _) = ty { element } else { ty };
            let info = match element {
                MetalType::Struct(inner) => Some(self.struct_info(inner)?),
                _ => None,
            };
            nested.push(info);
            names.push(element.name());
        }
        let mut node = Vec::new();
        let members = structure.members.iter().zip(structure.layout());
        for (((name, ty), (offset, _)), (info, type_name)) in members.zip(nested.iter().zip(&names)) {
            if let Some(info) = info {
                node.extend([Word("air.struct_type_info"), Node(*info)]);
            }
            let (size, count) = match ty {
                MetalType::Array(element, count) => (element.size(), *count),
                ty => (ty.size(), 0),
            };
            node.extend([Number(offset), Number(size), Number(count), Word(type_name), Word(name)]);
        }
        self.node(&node)
    }
}

/// Returns the name that links an output of one stage to an input of the next.
fn generated(name: &str, ty: &MetalType) -> String {
    format!("generated({}{name}{})", name.len(), ty.mangled())
}
