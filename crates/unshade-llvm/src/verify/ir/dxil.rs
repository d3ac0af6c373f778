//! What a DXIL module must have beyond valid IR.
//!
//! | metadata | is |
//! |---|---|
//! | `dx.version`, `dx.valver` | `{i32 major, i32 minor}` |
//! | `dx.shaderModel` | `{kind, i32 major, i32 minor}` |
//! | `dx.entryPoints` | `{function, name, signatures, resources, properties}` each; a library's first has no function |
//! | `dx.resources` | `{SRVs, UAVs, constant buffers, samplers}` |
//!
//! A module that describes a shader without being one (the `STAT` part) has no bodies and is checked the same way.
//!
//! Knowledge: DirectXShaderCompiler's `docs/DXIL.rst`; what its validator 1.10 refuses.

use super::context::Context;
use super::findings::{Findings, Place};
use crate::ids::{MetadataId, TypeId, narrow};
use crate::types::Type;
use crate::value::ValueKind;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

const MODULE: &str = "dxil-module";
const ENTRY: &str = "dxil-entry";
pub(super) const CALL: &str = "dxil-operation";
pub(super) const TYPE: &str = "dxil-type";

/// Named metadata of DXIL modules.
const NAMED: &[&[u8]] = &[
    b"llvm.ident",
    b"llvm.module.flags",
    b"llvm.dbg.cu",
    b"dx.version",
    b"dx.valver",
    b"dx.shaderModel",
    b"dx.entryPoints",
    b"dx.resources",
    b"dx.typeAnnotations",
    b"dx.viewIdState",
    b"dx.counters",
    b"dx.rootSignature",
    b"dx.subobjects",
    b"dx.intermediateOptions",
    b"dx.dxrPayloadAnnotations",
    b"dx.source.contents",
    b"dx.source.defines",
    b"dx.source.mainFileName",
    b"dx.source.args",
    b"dx.binding.table",
    b"dx.targetTypes",
];

/// The kinds of shaders with their bits in the table of operations.
const STAGES: &[(&[u8], u16)] = &[
    (b"vs", 1),
    (b"ps", 2),
    (b"gs", 4),
    (b"hs", 8),
    (b"ds", 16),
    (b"cs", 32),
    (b"lib", LIBRARY),
    (b"as", 128),
    (b"ms", 256),
];

/// The bit of libraries.
pub(super) const LIBRARY: u16 = 64;

/// Maximum number of operands in the properties of an entry point.
const MAX_PROPERTIES: u32 = 128;

/// The largest thread group, and its largest sizes.
const MAX_THREADS: u64 = 1024;
const MAX_SIZES: [u64; 3] = [1024, 1024, 64];

/// The list of constant buffers among those of resources, and the largest size of one.
const CONSTANT_BUFFERS: usize = 2;
const MAX_BUFFER: u64 = 1 << 16;

/// The shader model of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShaderModel {
    /// The bit of the kind of shader.
    pub(super) stage: u16,
    pub(super) minor: u64,
    /// Whether the major version is 6 and the kind is known.
    pub(super) is_known: bool,
}

impl Context<'_, '_> {
    /// Returns whether a module is DXIL.
    pub(super) fn is_dxil_module(&self) -> bool {
        self.module.triple.starts_with(b"dxil") || !self.module.named(b"dx.shaderModel").is_empty()
    }

    fn named_index(&self, name: &[u8]) -> Option<usize> {
        self.module.named_metadata.iter().position(|named| named.name == name)
    }

    /// Checks what a DXIL module says of itself.
    pub(super) fn check_dxil(&self, findings: &mut Findings) {
        let known = matches!(self.module.triple.as_slice(), b"dxil-ms-dx");
        findings.enter(Place::Module);
        findings.require(known, MODULE, "the target triple is not dxil-ms-dx");
        for (index, named) in self.module.named_metadata.iter().enumerate() {
            findings.enter(Place::Named(index));
            let known = NAMED.contains(&named.name.as_slice()) || named.name.starts_with(b"dx.source.");
            findings.require(known, MODULE, "named metadata that DXIL does not have");
        }
        self.version(b"dx.version", true, findings);
        self.version(b"dx.valver", false, findings);
        self.shader_model_shape(findings);
        self.entries(findings);
        self.resources(findings);
        self.dxil_types(findings);
        self.external_functions(findings);
        self.shared_variables(findings);
    }

    fn numbers<const N: usize>(&self, id: MetadataId, first: usize) -> Option<[u64; N]> {
        let view = self.view(None, id).filter(|view| view.node.references as usize == N.saturating_add(first))?;
        let mut numbers = [0; N];
        for (at, number) in numbers.iter_mut().enumerate() {
            *number = self.metadata_integer(None, view.reference(at.saturating_add(first))?)?;
        }
        Some(numbers)
    }

    fn version(&self, name: &[u8], required: bool, findings: &mut Findings) {
        let Some(index) = self.named_index(name) else {
            findings.enter(Place::Module);
            findings.require(!required, MODULE, "the module does not have dx.version");
            return;
        };
        findings.enter(Place::Named(index));
        let nodes = self.module.named(name);
        let version = nodes.first().and_then(|&id| self.numbers::<2>(id, 0));
        findings.require(nodes.len() == 1 && version.is_some(), MODULE, "a version is not two numbers");
        if let Some([major, _]) = version.filter(|_| required) {
            findings.require(major == 1, MODULE, "the version of DXIL is not 1");
        }
    }

    /// Returns the shader model of the module.
    pub(super) fn read_shader_model(&self) -> ShaderModel {
        let Some(&id) = self.module.named(b"dx.shaderModel").first() else { return ShaderModel::default() };
        let Some([major, minor]) = self.numbers::<2>(id, 1) else { return ShaderModel::default() };
        let kind = self.view(None, id).and_then(|view| view.reference(0)).and_then(|id| self.metadata_text(None, id));
        let stage = STAGES.iter().find(|(name, _)| Some(*name) == kind).map_or(0, |&(_, stage)| stage);
        ShaderModel { stage, minor, is_known: major == 6 && stage != 0 }
    }

    fn shader_model_shape(&self, findings: &mut Findings) {
        let Some(index) = self.named_index(b"dx.shaderModel") else {
            findings.enter(Place::Module);
            findings.require(false, MODULE, "the module does not have dx.shaderModel");
            return;
        };
        findings.enter(Place::Named(index));
        let model = self.shader_model;
        findings.require(model.is_known, MODULE, "the shader model is not a kind and 6.x");
        // The offline library model has a version of its own.
        let known = model.minor <= 10 || model.minor == 15;
        findings.require(known || !model.is_known, MODULE, "a shader model that does not exist");
        let version = self.module.named(b"dx.version").first().and_then(|&id| self.numbers::<2>(id, 0));
        if let Some([_, minor]) = version
            && model.is_known
            && model.minor <= 10
        {
            findings.require(minor == model.minor, MODULE, "the shader model needs another version of DXIL");
        }
    }

    fn entries(&self, findings: &mut Findings) {
        let Some(index) = self.named_index(b"dx.entryPoints") else {
            findings.enter(Place::Module);
            findings.require(false, ENTRY, "the module does not have dx.entryPoints");
            return;
        };
        findings.enter(Place::Named(index));
        let nodes = self.module.named(b"dx.entryPoints");
        findings.require(!nodes.is_empty(), ENTRY, "the list of entry points is empty");
        let model = self.shader_model;
        for &id in nodes {
            findings.enter(Place::Metadata(id));
            self.entry(id, model, findings);
        }
    }

    fn entry(&self, id: MetadataId, model: ShaderModel, findings: &mut Findings) {
        let Some(view) = self.view(None, id).filter(|view| view.node.references == 5) else {
            findings.require(false, ENTRY, "an entry point has not five operands");
            return;
        };
        let function = view.reference(0).and_then(|id| self.metadata_value(None, id));
        let is_function = function.is_none_or(|id| {
            matches!(self.value(None, id).map(|value| value.kind), Some(ValueKind::Function(_)))
        });
        findings.require(is_function, ENTRY, "an entry point is no function");
        let has_function = view.reference(0).is_some() || model.stage == LIBRARY;
        findings.require(has_function, ENTRY, "an entry point has no function");
        let name = view.reference(1).and_then(|id| self.metadata_text(None, id));
        findings.require(name.is_some(), ENTRY, "an entry point has no name");
        for at in [2, 3, 4] {
            let is_node = view.reference(at).is_none_or(|id| self.view(None, id).is_some());
            findings.require(is_node, ENTRY, "the signatures, resources or properties of an entry point are no list");
        }
        if let Some(properties) = view.reference(4) {
            self.properties(properties, model, findings);
        } else if model.stage == 32 {
            findings.require(false, ENTRY, "a compute shader has no size of its thread groups");
        }
    }

    /// Checks pairs of a number and a value.
    fn properties(&self, id: MetadataId, model: ShaderModel, findings: &mut Findings) {
        /// The property that is the size of thread groups.
        const THREADS: u64 = 4;
        let Some(view) = self.view(None, id) else { return };
        let paired = view.node.references % 2 == 0 && view.node.references <= MAX_PROPERTIES;
        if !findings.require(paired, ENTRY, "properties of an entry point are not in pairs") {
            return;
        }
        let list: Vec<Option<MetadataId>> = view.references().collect();
        let mut threads = None;
        for pair in list.chunks_exact(2) {
            let &[key, value] = pair else { continue };
            let key = key.and_then(|id| self.metadata_integer(None, id));
            findings.require(key.is_some(), ENTRY, "a property of an entry point has no number");
            if key == Some(THREADS) {
                threads = value;
            }
        }
        match threads.and_then(|id| self.numbers::<3>(id, 0)) {
            Some(sizes) => {
                let each = sizes.iter().zip(MAX_SIZES).all(|(&size, most)| (1..=most).contains(&size));
                findings.require(each, ENTRY, "a size of the thread group is out of range");
                let all = sizes.iter().fold(1u64, |product, &size| product.saturating_mul(size));
                findings.require(all <= MAX_THREADS, ENTRY, "the thread group has more than 1024 threads");
            }
            None => {
                let needs = model.stage == 32 || threads.is_some();
                findings.require(!needs, ENTRY, "the size of the thread group is not three numbers");
            }
        }
    }

    fn resources(&self, findings: &mut Findings) {
        let Some(index) = self.named_index(b"dx.resources") else { return };
        findings.enter(Place::Named(index));
        let nodes = self.module.named(b"dx.resources");
        let view = nodes.first().and_then(|&id| self.view(None, id)).filter(|view| view.node.references == 4);
        let Some(view) = view.filter(|_| nodes.len() == 1) else {
            findings.require(false, MODULE, "the resources are not four lists");
            return;
        };
        for (class, list) in view.references().enumerate() {
            if let Some(list) = list {
                self.resource_list(list, class == CONSTANT_BUFFERS, findings);
            }
        }
    }

    /// Checks a list of resources, whose ids are their places.
    fn resource_list(&self, list: MetadataId, are_buffers: bool, findings: &mut Findings) {
        let Some(view) = self.view(None, list) else {
            findings.require(false, MODULE, "the resources are not four lists");
            return;
        };
        for (at, resource) in (0u64..).zip(view.references()) {
            let fields = resource.and_then(|id| self.view(None, id));
            if let Some(id) = resource {
                findings.enter(Place::Metadata(id));
            }
            let Some(fields) = fields.filter(|fields| fields.node.references >= 6) else {
                findings.require(false, MODULE, "a resource has less than six operands");
                continue;
            };
            let id = fields.reference(0).and_then(|id| self.metadata_integer(None, id));
            findings.require(id == Some(at), MODULE, "the ids of resources do not count from 0");
            let named = fields.reference(2).and_then(|id| self.metadata_text(None, id)).is_some();
            findings.require(named, MODULE, "a resource has no name");
            let numbers = (3..6).all(|at| fields.reference(at).is_some_and(|id| self.is_metadata_integer(None, id)));
            findings.require(numbers, MODULE, "a resource has no space, register or count");
            if are_buffers && let Some(bytes) = fields.reference(6).and_then(|id| self.metadata_integer(None, id)) {
                findings.require(bytes <= MAX_BUFFER, MODULE, "a constant buffer is larger than 64 KiB");
            }
        }
    }

    fn dxil_types(&self, findings: &mut Findings) {
        for id in (0..narrow(self.module.types.listed() as u64)).map(TypeId) {
            findings.enter(Place::Type(id));
            match self.get(id) {
                Type::Integer(width) => {
                    let known = matches!(width, 1 | 8 | 16 | 32 | 64);
                    findings.require(known, TYPE, "an integer of a width that DXIL does not have");
                }
                Type::X86Fp80 | Type::Fp128 | Type::PpcFp128 | Type::BFloat | Type::X86Mmx | Type::X86Amx | Type::Token => {
                    findings.require(false, TYPE, "a type that DXIL does not have");
                }
                _ => {}
            }
        }
    }

    /// Checks that functions without a body are operations or intrinsics.
    fn external_functions(&self, findings: &mut Findings) {
        let library = self.shader_model.stage == LIBRARY;
        for (index, function) in self.module.functions.iter().enumerate().filter(|(_, one)| one.declaration) {
            findings.enter(Place::Function(index));
            let name = &function.symbol.name;
            let known = name.starts_with(b"dx.op.") || name.starts_with(b"llvm.") || library;
            // A module that only describes a shader has declarations of its entry points.
            let describes = self.module.functions.iter().all(|function| function.declaration);
            findings.require(known || describes, MODULE, "a function without a body is no DXIL operation");
        }
    }

    /// Reports operations that are declared and never called.
    pub(super) fn check_unused(&self, calls: &BTreeMap<u32, Vec<u32>>, findings: &mut Findings) {
        if calls.is_empty() {
            return;
        }
        let called: BTreeSet<u32> = calls.values().flatten().copied().collect();
        for (index, function) in self.module.functions.iter().enumerate().filter(|(_, one)| one.declaration) {
            if function.symbol.name.starts_with(b"dx.op.") {
                findings.enter(Place::Function(index));
                findings.require(called.contains(&narrow(index as u64)), MODULE, "an operation is declared but not called");
            }
        }
    }

    /// Reports variables that threads share, in stages without groups of threads.
    fn shared_variables(&self, findings: &mut Findings) {
        /// The address space of shared variables, and the stages that have none.
        const SHARED: u32 = 3;
        const WITHOUT_GROUPS: u16 = 1 | 2 | 4 | 8 | 16;
        if self.shader_model.stage & WITHOUT_GROUPS == 0 {
            return;
        }
        for (index, global) in self.module.globals.iter().enumerate() {
            findings.enter(Place::Global(index));
            let shared = global.symbol.address_space == SHARED;
            findings.require(!shared, MODULE, "threads share a variable in a stage without groups");
        }
    }

    /// Reports functions that call themselves, if need be through others.
    pub(super) fn check_recursion(&self, calls: &BTreeMap<u32, Vec<u32>>, findings: &mut Findings) {
        // Remove functions that call nobody, again and again: what is left calls itself or leads to a circle.
        let mut callers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut pending: BTreeMap<u32, usize> = BTreeMap::new();
        for (&caller, callees) in calls {
            let inner = callees.iter().filter(|callee| calls.contains_key(callee));
            pending.insert(caller, inner.clone().count());
            inner.for_each(|&callee| callers.entry(callee).or_default().push(caller));
        }
        let mut done: Vec<u32> = pending.iter().filter(|(_, count)| **count == 0).map(|(&one, _)| one).collect();
        while let Some(function) = done.pop() {
            pending.remove(&function);
            for caller in callers.remove(&function).unwrap_or_default() {
                if let Some(count) = pending.get_mut(&caller) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        done.push(caller);
                    }
                }
            }
        }
        for function in pending.into_keys() {
            findings.enter(Place::Function(function as usize));
            findings.require(false, "dxil-recursion", "a function calls itself, or one that does");
        }
    }
}
