//! Checks a DXContainer against its program: compares the parts with the module's metadata, and checks that token
//! programs can be read.
//!
//! | part | compared with the module's |
//! |---|---|
//! | the program's header | shader model |
//! | SFI0 | flags; in a library, those of all entry points |
//! | ISG1, OSG1, PSG1 | signatures of the entry point |
//! | PSV0 | entry point's name, threads per group, resources |
//! | RDAT | functions and their flags |

use crate::disassembly::{TokenSource, has_token_program, token_programs};
use crate::dxil::{DxilModule, EntryPoint, Resource, ResourceClass, SignatureElement, main_part};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped};
use unshade_dxcontainer::container::Part;
use unshade_dxcontainer::program::{ProgramHeader, ProgramVersion, bitcode};
use unshade_dxcontainer::psv0::{Psv0, ResourceType, Stage};
use unshade_dxcontainer::rdat::{Rdat, RdatKind};
use unshade_dxcontainer::signature::Signature;
use unshade_dxcontainer::simple_parts::{FEATURES, FeatureInfo, OPTIONAL_FEATURES_SHIFT};
use unshade_dxcontainer::verify::features_of_module;
use unshade_dxcontainer::{Container, PartData, verify};
use unshade_llvm::module::Module;

/// Parts with the signatures of an entry point, in the order of [`EntryPoint::signatures`].
const SIGNATURES: [&[u8; 4]; 3] = [b"ISG1", b"OSG1", b"PSG1"];

/// Bits of the required features, without the optional ones.
const REQUIRED_FEATURES: u64 = (1 << OPTIONAL_FEATURES_SHIFT) - 1;

/// Checks a container and its program.
pub fn check(container: &Container<'_>) -> Diagnostics {
    let mut diagnostics = verify::container(container);
    if let Some(mut check) = Check::new(container) {
        check.model();
        check.features();
        check.signatures();
        check.psv0();
        check.rdat();
        diagnostics.append(check.diagnostics);
    }
    if has_token_program(container) {
        let (source, mut faults) = (TokenSource::Container(container.clone()), Diagnostics::new());
        let programs = token_programs("", &source, &mut faults);
        faults.take("dxbc-program", programs);
        diagnostics.append(faults);
    }
    diagnostics.sort_by_offset();
    diagnostics
}

/// A container with the metadata of its module.
struct Check<'c, 'a> {
    container: &'c Container<'a>,
    program: Part<'a>,
    header: ProgramHeader,
    dxil: DxilModule,
    diagnostics: Diagnostics,
}

impl<'c, 'a> Check<'c, 'a> {
    /// Reads the module's metadata. Returns nothing if there is no DXIL program, or if its module can't be read, which
    /// `dis` reports.
    fn new(container: &'c Container<'a>) -> Option<Self> {
        // The parts describe the program that runs. ILDB is used only if there is no other.
        let program = container.find(b"DXIL").or_else(|| main_part(container))?;
        let (header, bitcode) = bitcode(program.data).ok()?;
        let module = Module::parse(bitcode.data(), bitcode.base()).ok()?;
        let mut dxil = DxilModule::read(&module, bitcode.base());
        dxil.version?;
        let mut diagnostics = Diagnostics::new();
        diagnostics.append(std::mem::take(&mut dxil.diagnostics));
        Some(Self { container, program, header, dxil, diagnostics })
    }

    /// Returns the first part of a name. A part that can't be read has already been reported.
    fn part(&self, name: &[u8; 4]) -> Option<(Part<'a>, PartData)> {
        let part = self.container.find(name)?;
        let data = PartData::read(part.name, part.data).ok()?;
        Some((part, data))
    }

    fn report_difference(
        &mut self,
        rule: &'static str,
        part: &Part<'_>,
        message: &'static str,
        [expected, found]: [String; 2],
    ) {
        let error =
            Error::new(ErrorKind::BadValue, part.data.base(), message).expected(expected).found(found);
        self.diagnostics.error(rule, error.within(part.label()));
    }

    fn model(&mut self) {
        let Some(model) = &self.dxil.model else { return };
        let version = ProgramVersion(self.header.version);
        let is_same =
            model.kind() == Some(version.kind()) && model.version == [version.major(), version.minor()];
        if !is_same {
            let words = [model.to_string(), version.to_string()];
            let part = self.program.clone();
            self.report_difference(
                "dx-program",
                &part,
                "program is of another kind or model than its module",
                words,
            );
        }
    }

    fn features(&mut self) {
        let Some((part, PartData::Features(found))) = self.part(b"SFI0") else { return };
        let flags = self.dxil.entries.iter().map(|entry| entry.properties.flags);
        let flags = flags.fold(0, |all, flags| all | flags);
        let needed = FeatureInfo { flags: features_of_module(flags) };
        if needed.flags != found.flags & REQUIRED_FEATURES {
            let words = [describe_features(&needed), describe_features(&found)];
            self.report_difference(
                "dx-features",
                &part,
                "features are not those that the module needs",
                words,
            );
        }
    }

    /// Returns the entry point, unless the program is a library.
    fn entry(&self) -> Option<&EntryPoint> {
        self.dxil.entries.first().filter(|_| !self.dxil.is_library())
    }

    fn signatures(&mut self) {
        let Some(entry) = self.entry() else { return };
        let expected: [Vec<SignatureRow>; 3] =
            entry.signatures.each_ref().map(|elements| signature_rows_of_module(elements));
        for (name, expected) in SIGNATURES.iter().zip(expected) {
            let Some((part, PartData::Signature(found))) = self.part(name) else { continue };
            if let Some(words) = difference(expected, signature_rows_of_part(&found)) {
                self.report_difference(
                    "dx-signature",
                    &part,
                    "elements are not those of the module's signature",
                    words,
                );
            }
        }
    }

    fn psv0(&mut self) {
        let (Some(entry), Some((part, PartData::Psv0(psv0)))) = (self.entry(), self.part(b"PSV0")) else {
            return;
        };
        let (name, threads) = (entry.name.clone(), entry.properties.threads);
        if let Some(found) = psv0.entry_name()
            && found != name.0
        {
            let words = [name.to_string(), Escaped(found).to_string()];
            self.report_difference("dx-psv", &part, "entry point is not that of the module", words);
        }
        let has_groups = matches!(psv0.stage(), Some(Stage::COMPUTE | Stage::MESH | Stage::AMPLIFICATION));
        if let (Some(threads), Some(found), true) = (threads, psv0.info.threads, has_groups)
            && threads != found
        {
            let words = [threads, found].map(|[x, y, z]| format!("{x} × {y} × {z}"));
            self.report_difference("dx-psv", &part, "threads of a group are not those of the module", words);
        }
        let expected =
            self.dxil.resources.iter().filter(|resource| resource.count != Some(0)).map(register_range);
        if let Some(words) = difference(expected.collect(), register_ranges_of_psv0(&psv0)) {
            self.report_difference("dx-psv", &part, "resources are not those of the module", words);
        }
    }

    /// Checks that RDAT lists every entry point of a library, and that no function needs a feature that the module
    /// does not need.
    fn rdat(&mut self) {
        if !self.dxil.is_library() {
            return;
        }
        let Some((part, PartData::Rdat(rdat))) = self.part(b"RDAT") else { return };
        let found = functions_of_rdat(&rdat);
        let entries = self.dxil.entries.iter().filter(|entry| entry.function.is_some());
        let missing = entries.map(|entry| &entry.name.0).find(|name| !found.contains_key(name.as_slice()));
        if let Some(name) = missing {
            let error =
                Error::new(ErrorKind::BadValue, part.data.base(), "a function of the module is not there");
            let error = error.expected(Escaped(name).quoted()).within(part.label());
            self.diagnostics.error("dx-rdat", error);
        }
        // Features that follow from the number of resources are only in the module's flags.
        let needed = FeatureInfo { flags: features_of_module(self.dxil.flags()) };
        let all = found.values().fold(0, |all, flags| all | flags) & REQUIRED_FEATURES;
        if all & !needed.flags != 0 {
            let words = [describe_features(&needed), describe_features(&FeatureInfo { flags: all })];
            self.report_difference(
                "dx-rdat",
                &part,
                "functions need features that the module does not",
                words,
            );
        }
    }
}

/// Returns the feature flags of RDAT's functions, by name.
fn functions_of_rdat(rdat: &Rdat) -> BTreeMap<&[u8], u64> {
    let kind = RdatKind::FUNCTION_TABLE;
    let mut functions = BTreeMap::new();
    for row in rdat.table(kind).into_iter().flat_map(|table| &table.rows) {
        let value = |name| rdat.value(kind, row, name);
        let name = value("Name").and_then(|name| rdat.text(name)).unwrap_or_default();
        let [low, high] =
            ["FeatureInfo1", "FeatureInfo2"].map(|name| u64::from(value(name).unwrap_or_default()));
        functions.insert(name, high << 32 | low);
    }
    functions
}

/// One row of a signature element. The order of the fields is the order of comparison.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SignatureRow {
    name: Vec<u8>,
    semantic_index: u32,
    stream: u32,
    /// Register and mask, if a register is allocated.
    register: Option<(u32, u8)>,
}

impl Display for SignatureRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, stream {}, ", Escaped(&self.name), self.semantic_index, self.stream)?;
        match self.register {
            Some((register, mask)) => write!(f, "register {register}, mask {mask:#x}"),
            None => f.write_str("no register"),
        }
    }
}

fn signature_rows_of_module(elements: &[SignatureElement]) -> Vec<SignatureRow> {
    let mut rows = Vec::new();
    for element in elements {
        let mask = (1u8 << element.columns.min(4)) - 1;
        let mask = mask << element.start_column.unwrap_or_default().min(3);
        for (row, index) in (0..).zip(&element.indices) {
            rows.push(SignatureRow {
                name: element.name.0.clone(),
                semantic_index: *index,
                stream: element.stream,
                register: element.start_row.map(|start| (start.saturating_add(row), mask)),
            });
        }
    }
    rows
}

fn signature_rows_of_part(signature: &Signature) -> Vec<SignatureRow> {
    let row = |element: &unshade_dxcontainer::signature::Element| {
        let core = &element.core;
        SignatureRow {
            name: element.name.0.clone(),
            semantic_index: core.index,
            stream: element.stream,
            register: (core.register != u32::MAX).then_some((core.register, core.mask)),
        }
    };
    signature.elements.iter().map(row).collect()
}

/// The registers of a resource. The order of the fields is the order of comparison.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RegisterRange {
    class: char,
    space: u32,
    first: u32,
    /// `u32::MAX` if unbounded.
    last: u32,
}

impl Display for RegisterRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { class, space, first, last } = self;
        match *last {
            u32::MAX => write!(f, "{class}{first} and up in space {space}"),
            last if last == *first => write!(f, "{class}{first} in space {space}"),
            last => write!(f, "{class}{first} to {class}{last} in space {space}"),
        }
    }
}

fn register_range(resource: &Resource) -> RegisterRange {
    let last = match resource.count {
        Some(count) => resource.lower_bound.saturating_add(count.saturating_sub(1)),
        None => u32::MAX,
    };
    RegisterRange {
        class: resource.class.register_letter(),
        space: resource.space,
        first: resource.lower_bound,
        last,
    }
}

fn register_ranges_of_psv0(psv0: &Psv0) -> Vec<RegisterRange> {
    let register_range = |resource: &unshade_dxcontainer::psv0::Resource| {
        let binding = &resource.binding;
        let class = match binding.resource_type {
            ResourceType::SAMPLER => ResourceClass::SAMPLER,
            ResourceType::CBV => ResourceClass::CBUFFER,
            ResourceType::SRV_TYPED | ResourceType::SRV_RAW | ResourceType::SRV_STRUCTURED => {
                ResourceClass::SRV
            }
            _ => ResourceClass::UAV,
        };
        RegisterRange {
            class: class.register_letter(),
            space: binding.space,
            first: binding.lower_bound,
            last: binding.upper_bound,
        }
    };
    psv0.resources.iter().map(register_range).collect()
}

/// Compares two lists regardless of order. Returns the first expected and found items that differ, as text, or the two
/// lengths.
fn difference<T: Ord + Display>(mut expected: Vec<T>, mut found: Vec<T>) -> Option<[String; 2]> {
    expected.sort();
    found.sort();
    let first = expected.iter().zip(&found).find(|(expected, found)| expected != found);
    match first {
        Some((expected, found)) => Some([expected.to_string(), found.to_string()]),
        None if expected.len() == found.len() => None,
        None => Some([expected.len(), found.len()].map(|count| count.to_string())),
    }
}

fn describe_features(features: &FeatureInfo) -> String {
    let known: Vec<&str> = features
        .features()
        .filter_map(|(bit, _)| FEATURES.get(bit as usize))
        .map(|feature| feature.name)
        .collect();
    if known.is_empty() {
        format!("{:#x}", features.flags)
    } else {
        format!("{:#x} ({})", features.flags, known.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_in_words() {
        let row = |name: &[u8], register| SignatureRow {
            name: name.to_vec(),
            semantic_index: 1,
            stream: 0,
            register,
        };
        let words = difference(vec![row(b"SV_Target", Some((0, 15)))], vec![row(b"COLOR", None)]);
        let expected = ["SV_Target 1, stream 0, register 0, mask 0xf", "COLOR 1, stream 0, no register"];
        assert_eq!(words, Some(expected.map(String::from)));
        let range = |first, last| RegisterRange { class: 't', space: 2, first, last };
        let words = difference(vec![range(0, 3)], vec![range(4, u32::MAX)]);
        assert_eq!(words, Some(["t0 to t3 in space 2", "t4 and up in space 2"].map(String::from)));
        assert_eq!(range(1, 1).to_string(), "t1 in space 2");
        assert_eq!(difference(vec![1], vec![1, 2]), Some(["1", "2"].map(String::from)));
        assert_eq!(difference(vec![2, 1], vec![1, 2]), None);
    }
}
