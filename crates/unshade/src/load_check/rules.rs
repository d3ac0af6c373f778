//! The table of rules, and the function that judges each.

use super::Judge::{Container, Functions};
use super::Status::{Fail, Pass, Unclear};
use super::facts::{self, Group, Groups};
use super::target::short;
use super::{Certainty, Judgement, LibraryFacts, Release, Rule, Status, Step, Target};
use unshade_metallib::function_list::ShortVersion;
use unshade_metallib::header::{LibraryType, Platform};

/// Every rule, in the order in which the loader applies them.
pub const RULES: &[Rule] = &[
    Rule {
        name: "file",
        says: "The header gives the size that the file has.",
        step: Step::Load,
        certainty: Certainty::Known,
        source: "the loader's code, as MetalLibraryArchive's author describes it",
        judge: Container(file),
    },
    Rule {
        name: "container-major",
        says: "The container version is 1.2.x.",
        step: Step::Load,
        certainty: Certainty::Inferred,
        source: "every real file",
        judge: Container(container_major),
    },
    Rule {
        name: "platform-flag",
        says: "Bit 15 of the container version is set for macOS and Mac Catalyst, and for nothing else.",
        step: Step::Load,
        certainty: Certainty::Known,
        source: "the loader's code, as MetalLibraryArchive's author describes it; public error reports",
        judge: Container(platform_flag),
    },
    Rule {
        name: "platform",
        says: "The header names the platform.",
        step: Step::Load,
        certainty: Certainty::Inferred,
        source: "real files of all platforms; public error reports for simulators",
        judge: Container(platform),
    },
    Rule {
        name: "library-type",
        says: "The library is not a stub or a symbol companion.",
        step: Step::Load,
        certainty: Certainty::Inferred,
        source: "what these are for",
        judge: Container(library_type),
    },
    Rule {
        name: "container-version",
        says: "The container version is one that Apple's linker writes for this OS, or the modules were made for it.",
        step: Step::Load,
        certainty: Certainty::Inferred,
        source: "real files, of which some have a newer container than their OS; what is refused is not known",
        judge: Container(container_version),
    },
    Rule {
        name: "language-version",
        says: "The OS knows the version of the Metal language of the first function.",
        step: Step::Load,
        certainty: Certainty::Known,
        source: "public error reports; availability of MTLLanguageVersion; that it is the first function's was \
                 measured by others",
        judge: Functions(language_version),
    },
    Rule {
        name: "air-version",
        says: "The OS knows the version of AIR of the first function.",
        step: Step::Load,
        certainty: Certainty::Known,
        source: "public error reports; that the number in the message is the version of AIR is inferred",
        judge: Functions(air_version),
    },
    Rule {
        name: "header-os-version",
        says: "The OS is not older than the one in the header.",
        step: Step::Load,
        certainty: Certainty::Measured,
        source: "measured by others: the OS check uses the triple, not the header",
        judge: Container(header_os_version),
    },
    Rule {
        name: "bitcode",
        says: "Every function has a module that can be read.",
        step: Step::Pipeline,
        certainty: Certainty::Inferred,
        source: "the compiler of the OS reads it with LLVM",
        judge: Functions(bitcode),
    },
    Rule {
        name: "triple-platform",
        says: "The triple of every module names the platform.",
        step: Step::Pipeline,
        certainty: Certainty::Measured,
        source: "measured by others; public error reports",
        judge: Functions(triple_platform),
    },
    Rule {
        name: "triple-os-version",
        says: "The OS is not older than the one in the triple of any module.",
        step: Step::Pipeline,
        certainty: Certainty::Inferred,
        source: "what a deployment target means",
        judge: Functions(triple_os_version),
    },
    Rule {
        name: "function-language-version",
        says: "The OS knows the version of the Metal language of every function.",
        step: Step::Pipeline,
        certainty: Certainty::Known,
        source: "public error reports; availability of MTLLanguageVersion",
        judge: Functions(function_language_version),
    },
    Rule {
        name: "function-air-version",
        says: "The OS knows the version of AIR of every function.",
        step: Step::Pipeline,
        certainty: Certainty::Inferred,
        source: "as for the first function",
        judge: Functions(function_air_version),
    },
    Rule {
        name: "pointer-kind",
        says: "Pointers say what they point to, unless the AIR is 2.8 or newer.",
        step: Step::Pipeline,
        certainty: Certainty::Measured,
        source: "measured by others: up to 2.7 an upgrader refuses opaque pointers; 2.8 takes them on an M3, but not \
                 on a virtual GPU",
        judge: Functions(pointer_kind),
    },
    Rule {
        name: "architecture",
        says: "The AIR is 64-bit.",
        step: Step::Pipeline,
        certainty: Certainty::Inferred,
        source: "no OS of today runs 32-bit apps",
        judge: Functions(architecture),
    },
];

/// The loader's message for a library of another platform or an unknown format.
const WRONG_FORMAT: &str =
    "This library format is not supported on this platform (or was built with an old version of the tools)";
/// The compiler's message for a module of another OS.
const WRONG_OS: &str = "Target OS is incompatible.";
/// The compiler's message for a device module in a simulator.
const NOT_FOR_SIMULATOR: &str = "Target OS is incompatible: library was not compiled for the simulator";

impl Judgement {
    fn new(status: Status, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { status, found: found.into(), expected: expected.into(), message: None, hint: None }
    }

    /// Adds the loader's message, if the rule fails.
    fn message(mut self, words: impl Into<String>) -> Self {
        self.message = (self.status == Fail).then(|| words.into());
        self
    }

    /// Adds advice, unless the rule passes.
    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = (self.status != Pass).then(|| hint.into());
        self
    }
}

fn file(container: &facts::Container, _: &LibraryFacts, _: Target) -> Judgement {
    let status = if container.header.file_size == container.size { Pass } else { Fail };
    Judgement::new(
        status,
        format!("{} bytes", container.size),
        format!("{} bytes", container.header.file_size),
    )
    .message("Invalid library file")
    .hint("`unshade verify` reports the details")
}

fn container_major(container: &facts::Container, _: &LibraryFacts, _: Target) -> Judgement {
    let version = container.header.version();
    let status = if (version.major, version.minor) == (1, 2) { Pass } else { Fail };
    Judgement::new(status, format!("container {version}"), "1.2.x").message(WRONG_FORMAT)
}

fn is_mac(platform: Platform) -> bool {
    matches!(platform, Platform::MACOS | Platform::MAC_CATALYST)
}

fn platform_flag(container: &facts::Container, facts: &LibraryFacts, target: Target) -> Judgement {
    let shown = |flag: bool| if flag { "macOS flag" } else { "no macOS flag" };
    let (found, expected) = (container.header.macos_flag(), is_mac(target.platform));
    let status = match (found == expected, facts.function_count) {
        (true, _) => Pass,
        // Old empty libraries for iOS also have the flag.
        (false, 0) if found => Unclear,
        (false, _) => Fail,
    };
    Judgement::new(status, shown(found), shown(expected)).message(WRONG_FORMAT)
}

/// Returns whether apps for platform `made` can run on `target`, so that their libraries are loaded there.
fn runs_apps_of(made: Platform, target: Platform) -> bool {
    matches!(
        (made, target),
        (Platform::MACOS, Platform::MAC_CATALYST)
            | (Platform::MAC_CATALYST, Platform::MACOS)
            | (Platform::IOS, Platform::VISIONOS)
            | (Platform::IOS_SIMULATOR, Platform::VISIONOS_SIMULATOR)
    )
}

fn compare_platforms(made: Platform, target: Platform) -> Status {
    if made == target {
        Pass
    } else if runs_apps_of(made, target) {
        Unclear
    } else {
        Fail
    }
}

fn is_simulator(platform: Platform) -> bool {
    matches!(
        platform,
        Platform::IOS_SIMULATOR
            | Platform::TVOS_SIMULATOR
            | Platform::WATCHOS_SIMULATOR
            | Platform::VISIONOS_SIMULATOR
    )
}

fn platform(container: &facts::Container, _: &LibraryFacts, target: Target) -> Judgement {
    let made = container.header.platform();
    if made == Platform::UNKNOWN {
        return Judgement::new(Pass, "none: containers before 1.2.6 have none", "");
    }
    let judged = Judgement::new(
        compare_platforms(made, target.platform),
        made.to_string(),
        target.platform.to_string(),
    );
    if is_simulator(target.platform) && !is_simulator(made) {
        judged.message(NOT_FOR_SIMULATOR)
    } else {
        judged
    }
    .hint(format!("build it for {}: a library is for one platform", target.platform))
}

fn library_type(container: &facts::Container, _: &LibraryFacts, _: Target) -> Judgement {
    let kind = container.header.library_type();
    let (status, hint) = match kind {
        _ if container.header.is_stub() => (Fail, "a stub has declarations only, to be linked against"),
        LibraryType::SYMBOL_COMPANION => (Unclear, "a companion is for debuggers; the library is beside it"),
        kind if kind.name().is_none() => (Unclear, "this type is not known"),
        _ => (Pass, ""),
    };
    let stub = if container.header.is_stub() { ", stub" } else { "" };
    Judgement::new(status, format!("{kind}{stub}"), "").hint(hint)
}

/// Returns the release that the target belongs to, or a judgement that says why it is unknown.
fn release(target: Target, found: &str) -> Result<&'static Release, Judgement> {
    Release::of(target.platform, target.version).ok_or_else(|| {
        Judgement::new(Unclear, found, "").hint(match Release::oldest(target.platform) {
            Some(_) => format!("nothing is known about {target}, which is older than every known release"),
            None => format!("Metal is not for apps on {}", target.platform),
        })
    })
}

fn container_version(container: &facts::Container, facts: &LibraryFacts, target: Target) -> Judgement {
    let found = format!("container {}", container.header.version());
    let release = match release(target, &found) {
        Ok(release) => release,
        Err(judgement) => return judgement,
    };
    let Some(newest) = release.container_patch else {
        return Judgement::new(Pass, found, "");
    };
    // Newer tools also write their container version for older systems.
    let supports_target =
        |triple: &super::Triple| triple.version.is_some_and(|version| version <= target.version);
    let is_built_for_target = !facts.triples.is_empty() && facts.triples.keys().all(supports_target);
    let status = if container.header.patch <= newest || is_built_for_target { Pass } else { Unclear };
    Judgement::new(status, found, format!("up to 1.2.{newest}"))
        .hint(format!("Apple's linker writes it only for systems newer than {target}; link for that target"))
}

fn too_new(target: Target) -> String {
    format!("compile with a deployment target of {target} or older")
}

/// A version limit of a target: for the language or for AIR.
struct Limit {
    of: &'static str,
    newest: fn(&Release) -> Option<ShortVersion>,
    /// What to do if a version is too new for a release.
    advice: fn(&Release, Target) -> String,
}

const LANGUAGE: Limit =
    Limit { of: "Metal", newest: |release| Some(release.language), advice: older_language };
const AIR: Limit = Limit { of: "AIR", newest: |release| release.air, advice: older_system };

/// The compiler's option sets the version of the language, whatever the deployment target.
fn older_language(release: &Release, target: Target) -> String {
    let version = release.language;
    let option = match target.platform {
        _ if version.major >= 3 => format!(", with -std=metal{version}"),
        Platform::MACOS => format!(", with -std=macos-metal{version}"),
        Platform::IOS | Platform::IOS_SIMULATOR | Platform::TVOS | Platform::TVOS_SIMULATOR => {
            format!(", with -std=ios-metal{version}")
        }
        _ => String::new(),
    };
    format!("compile for Metal {version} or older{option}")
}

/// The deployment target sets the version of AIR. All updates of a release accept what the first one does.
fn older_system(release: &Release, target: Target) -> String {
    let version = release.os(target.platform).unwrap_or(target.version).min(target.version);
    too_new(Target { version, ..target })
}

impl Limit {
    fn judge(&self, found: Option<ShortVersion>, target: Target) -> Judgement {
        let Some(version) = found else {
            return Judgement::new(Pass, "no function states a version", "");
        };
        let text = format!("{} {version}", self.of);
        let release = match release(target, &text) {
            Ok(release) => release,
            // What the oldest known release does not accept, an older one does not accept either.
            Err(unclear) => {
                let oldest = Release::oldest(target.platform);
                let limit = oldest.and_then(|release| Some((release, (self.newest)(release)?)));
                let Some((release, newest)) = limit.filter(|(_, newest)| version > *newest) else {
                    return unclear;
                };
                let expected = format!("up to {newest}");
                return Judgement::new(Fail, text, expected).hint((self.advice)(release, target));
            }
        };
        match (self.newest)(release) {
            Some(newest) if version <= newest => Judgement::new(Pass, text, format!("up to {newest}")),
            Some(newest) => {
                Judgement::new(Fail, text, format!("up to {newest}")).hint((self.advice)(release, target))
            }
            None if NEWEST_KNOWN_AIR.is_some_and(|known| version <= known) => Judgement::new(Pass, text, ""),
            None => Judgement::new(Unclear, text, "").hint(format!("what {target} takes is not known")),
        }
    }

    /// Judges all functions, and returns those that are too new as a group.
    fn judge_all(&self, groups: &Groups<ShortVersion>, target: Target) -> (Judgement, Option<Group>) {
        let newest = groups.last_key_value();
        let judgement = self.judge(newest.map(|(version, _)| *version), target);
        let broken = groups.iter().filter(|(version, _)| self.judge(Some(**version), target).status == Fail);
        let broken = broken.map(|(_, group)| group.clone()).reduce(|mut all, group| {
            all.count += group.count;
            all
        });
        (judgement, broken)
    }
}

/// The newest known version of AIR of any release.
const NEWEST_KNOWN_AIR: Option<ShortVersion> = {
    let mut newest = None;
    let mut index = 0;
    while index < super::RELEASES.len() {
        if super::RELEASES[index].air.is_some() {
            newest = super::RELEASES[index].air;
        }
        index += 1;
    }
    newest
};

fn language_version(facts: &LibraryFacts, target: Target) -> Judgement {
    let found = facts.first_versions.map(|versions| versions.language);
    let words = |version: ShortVersion| {
        format!("This library is using language version {version} which is not supported on this OS.")
    };
    LANGUAGE.judge(found, target).message(found.map(words).unwrap_or_default())
}

fn air_version(facts: &LibraryFacts, target: Target) -> Judgement {
    let found = facts.first_versions.map(|versions| versions.air);
    let words = |version: ShortVersion| {
        let number = u32::from(version.major) << 16 | u32::from(version.minor);
        format!(
            "This library is using a deployment target ({number:#010x}) that is not supported on this OS."
        )
    };
    AIR.judge(found, target).message(found.map(words).unwrap_or_default())
}

fn function_language_version(facts: &LibraryFacts, target: Target) -> Judgement {
    let (mut judgement, broken) = LANGUAGE.judge_all(&facts.languages, target);
    if let (Some(group), Some((version, _))) = (&broken, facts.languages.last_key_value()) {
        judgement.found = format!("{} in {group}", judgement.found);
        let name = &group.first;
        judgement = judgement.message(format!(
            "Function {name} is using language version {version} which is incompatible with this OS."
        ));
    }
    judgement
}

fn function_air_version(facts: &LibraryFacts, target: Target) -> Judgement {
    let (mut judgement, broken) = AIR.judge_all(&facts.airs, target);
    if let Some(group) = broken {
        judgement.found = format!("{} in {group}", judgement.found);
    }
    judgement
}

fn header_os_version(container: &facts::Container, _: &LibraryFacts, target: Target) -> Judgement {
    let Some(version) = container.header.os_version() else {
        return Judgement::new(Pass, "none", "");
    };
    if container.header.platform() != target.platform {
        return Judgement::new(Pass, format!("{} {}", container.header.platform(), short(version)), "");
    }
    let status = if version <= target.version { Pass } else { Unclear };
    Judgement::new(status, short(version), format!("up to {}", short(target.version)))
        .hint("the loader was observed to ignore it")
}

fn bitcode(facts: &LibraryFacts, _: Target) -> Judgement {
    match &facts.unreadable {
        None if facts.is_stub() => Judgement::new(Pass, "none: a stub", ""),
        None => Judgement::new(Pass, "readable", ""),
        Some(group) => Judgement::new(Fail, format!("no readable module: {group}"), "LLVM bitcode")
            .hint("`unshade verify` reports the details"),
    }
}

fn triple_platform(facts: &LibraryFacts, target: Target) -> Judgement {
    let status = |platform| compare_platforms(platform, target.platform);
    let worst = facts.triples.iter().max_by_key(|(triple, _)| status(triple.platform));
    let Some((triple, group)) = worst else {
        return Judgement::new(Pass, "no module", "");
    };
    let status = match triple.platform {
        Platform::UNKNOWN => Unclear,
        platform => status(platform),
    };
    let found = if status == Pass { triple.text.clone() } else { format!("{} in {group}", triple.text) };
    Judgement::new(status, found, target.platform.to_string())
        .message(WRONG_OS)
        .hint(format!("compile for {}", target.platform))
}

fn triple_os_version(facts: &LibraryFacts, target: Target) -> Judgement {
    let same = facts.triples.iter().filter(|(triple, _)| triple.platform == target.platform);
    let Some((triple, group)) = same.max_by_key(|(triple, _)| triple.version) else {
        return Judgement::new(Pass, "no module for this platform", "");
    };
    let Some(version) = triple.version else {
        return Judgement::new(Pass, "none", "");
    };
    let year = |version| Release::of(target.platform, version).map(|release| release.language);
    let status = if version <= target.version {
        Pass
    } else if year(version).is_some() && year(version) == year(target.version) {
        // An update of the same release.
        Unclear
    } else {
        Fail
    };
    let found = if status == Pass { short(version) } else { format!("{} in {group}", short(version)) };
    Judgement::new(status, found, format!("up to {}", short(target.version))).hint(too_new(target))
}

fn pointer_kind(facts: &LibraryFacts, _: Target) -> Judgement {
    /// The first version of AIR that is compiled without an upgrader, which refuses opaque pointers.
    const FIRST_WITH_OPAQUE: ShortVersion = ShortVersion { major: 2, minor: 8 };
    let Some((air, group)) = facts.opaque.first_key_value() else {
        return Judgement::new(Pass, "typed", "");
    };
    let (status, hint) = match air {
        Some(air) if *air >= FIRST_WITH_OPAQUE => {
            (Unclear, "AIR 2.8 was seen to work on an M3, and not on a virtual GPU")
        }
        _ => (Fail, "write typed pointers, as Apple's compiler does"),
    };
    Judgement::new(status, format!("opaque in {group}"), "typed").hint(hint)
}

fn architecture(facts: &LibraryFacts, _: Target) -> Judgement {
    let is_64_bit = match facts.container.map(|container| container.header) {
        Some(header) => (header.raw_platform != 0).then(|| header.is_64_bit()),
        None => facts.triples.first_key_value().map(|(triple, _)| triple.text.starts_with("air64")),
    };
    match is_64_bit {
        None => Judgement::new(Pass, "not stated", ""),
        Some(true) => Judgement::new(Pass, "air64", ""),
        Some(false) => Judgement::new(Unclear, "air32", "air64").hint("compile for air64"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, check, minimum};
    use super::*;
    use unshade_metallib::Library;

    const LINKER: &[u8] = include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_7.metallib");

    /// What breaks a rule or can't be judged, of a library whose bytes are changed first.
    fn broken(target: &str, change: impl FnOnce(&mut Vec<u8>)) -> (Outcome, Vec<&'static str>) {
        let mut bytes = LINKER.to_vec();
        change(&mut bytes);
        let facts = LibraryFacts::read(&Library::parse(&bytes).unwrap());
        let report = check(&facts, target.parse().unwrap());
        let broken = report.findings.iter().filter(|finding| finding.status != Pass);
        (report.outcome, broken.map(|finding| finding.rule).collect())
    }

    fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
        let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
    }

    #[test]
    fn a_library_loads_where_it_was_made_for() {
        assert_eq!(broken("macos-14.0", |_| ()), (Outcome::Loads, vec![]));
        assert_eq!(broken("macos-26.0", |_| ()), (Outcome::Loads, vec![]));
        assert_eq!(broken("macos-27.0", |_| ()), (Outcome::Loads, vec![]));
    }

    #[test]
    fn each_rule_can_be_broken() {
        let refused = |rules: &[&'static str]| (Outcome::Refused, rules.to_vec());
        assert_eq!(broken("macos-14.0", |bytes| bytes[16] ^= 1), refused(&["file"]));
        assert_eq!(broken("macos-14.0", |bytes| bytes[6] = 3), refused(&["container-major"]));
        assert_eq!(broken("macos-14.0", |bytes| bytes[5] = 0), refused(&["platform-flag"]));
        assert_eq!(broken("macos-14.0", |bytes| bytes[11] = 0x82), refused(&["platform"]));
        assert_eq!(broken("macos-14.0", |bytes| bytes[10] = 0x80), refused(&["library-type"]));
        let unclear = |rules: &[&'static str]| (Outcome::Unclear, rules.to_vec());
        // The modules are made for 14.0, whatever the container.
        assert_eq!(broken("macos-14.0", |bytes| bytes[8] = 9), (Outcome::Loads, vec![]));
        let newer = |bytes: &mut Vec<u8>| replace(bytes, b"\xde\xc0\x17\x0b", b"xxxx");
        let both = |bytes: &mut Vec<u8>| {
            newer(bytes);
            bytes[8] = 9;
        };
        assert!(broken("macos-14.0", both).1.contains(&"container-version"));
        assert_eq!(broken("macos-14.0", |bytes| bytes[14] = 4), unclear(&["header-os-version"]));
        assert_eq!(broken("macos-14.0", |bytes| bytes[11] = 1), unclear(&["architecture"]));
        let versions = |language: u8, air: u8| {
            move |bytes: &mut Vec<u8>| {
                replace(
                    bytes,
                    b"VERS\x08\0",
                    &[b'V', b'E', b'R', b'S', 8, 0, 2, 0, air, 0, 3, 0, language, 0],
                );
            }
        };
        assert_eq!(
            broken("macos-14.0", versions(2, 6)),
            refused(&["language-version", "function-language-version"])
        );
        assert_eq!(broken("macos-14.0", versions(1, 7)), refused(&["air-version", "function-air-version"]));
        let partly = |rules: &[&'static str]| (Outcome::Partly, rules.to_vec());
        let wrap = |bytes: &mut Vec<u8>| replace(bytes, b"\xde\xc0\x17\x0b", b"xxxx");
        assert_eq!(broken("macos-14.0", wrap), partly(&["bitcode"]));
        // The whole library is for another platform.
        let foreign = refused(&["platform-flag", "platform", "triple-platform"]);
        assert_eq!(broken("ios-17.0", |_| ()), foreign);
    }

    #[test]
    fn advice_names_versions_that_exist() {
        let version = |major, minor| Some(ShortVersion { major, minor });
        let advice = |limit: &Limit, found, target: &str| limit.judge(found, target.parse().unwrap()).hint;
        assert_eq!(
            advice(&LANGUAGE, version(3, 1), "macos-13.9").as_deref(),
            Some("compile for Metal 3.0 or older, with -std=metal3.0")
        );
        assert_eq!(
            advice(&LANGUAGE, version(3, 1), "ios-15.2").as_deref(),
            Some("compile for Metal 2.4 or older, with -std=ios-metal2.4")
        );
        assert_eq!(
            advice(&AIR, version(2, 6), "macos-13.9").as_deref(),
            Some("compile with a deployment target of macOS 13.0 or older")
        );
        assert_eq!(
            advice(&AIR, version(2, 6), "macos-10.9").as_deref(),
            Some("compile with a deployment target of macOS 10.9 or older")
        );
    }

    /// kiwi-array-metal 0.4.1 is made for macOS 27.0, with container 1.2.9, AIR 2.9 and Metal 3.1.
    #[test]
    fn macos_27_accepts_air_2_9() {
        let version = |major, minor| Some(ShortVersion { major, minor });
        let status = |limit: &Limit, found, target: &str| limit.judge(found, target.parse().unwrap()).status;
        for target in ["macos-27.0", "macos-27.1"] {
            assert_eq!(status(&AIR, version(2, 9), target), Pass);
            assert_eq!(status(&LANGUAGE, version(3, 1), target), Pass);
        }
        assert_eq!(status(&AIR, version(2, 9), "macos-26.6.2"), Fail);
        assert_eq!(broken("macos-27.0", |bytes| bytes[8] = 9), (Outcome::Loads, vec![]));
    }

    #[test]
    fn simulators_and_stand_ins() {
        let facts = LibraryFacts::read(&Library::parse(LINKER).unwrap());
        let report = check(&facts, "ios-simulator-17.0".parse().unwrap());
        let words = report.findings.iter().find(|finding| finding.rule == "platform").unwrap();
        assert_eq!(words.message.as_deref(), Some(NOT_FOR_SIMULATOR));
        let report = check(&facts, "maccatalyst-17.0".parse().unwrap());
        assert_eq!(report.outcome, Outcome::Unclear);
        assert_eq!(minimum(&facts, Platform::VISIONOS), None);
    }

    #[test]
    fn loose_modules_have_no_container() {
        let kernel = include_bytes!("../../../../tests/fixtures/air/kernel.bc");
        let facts = LibraryFacts::of_modules([&unshade_llvm::Module::parse(kernel, 0).unwrap()]);
        let report = check(&facts, "macos-14.0".parse().unwrap());
        assert_eq!(report.outcome, Outcome::Loads);
        let rules: Vec<&str> = report.findings.iter().map(|finding| finding.rule).collect();
        let of_modules = RULES.iter().filter(|rule| matches!(rule.judge, Functions(_)));
        assert_eq!(rules, of_modules.map(|rule| rule.name).collect::<Vec<_>>());
        assert_eq!(check(&facts, "macos-13.0".parse().unwrap()).outcome, Outcome::Refused);
        assert_eq!(check(&facts, "ios-17.0".parse().unwrap()).outcome, Outcome::Partly);
        assert_eq!(minimum(&facts, Platform::MACOS).unwrap().to_string(), "macOS 14.0");
    }

    #[test]
    fn opaque_pointers_need_the_newest_air() {
        let mut facts = LibraryFacts::read(&Library::parse(LINKER).unwrap());
        let group = Group { count: 2, first: "f".into() };
        for (minor, status) in [(7, Fail), (8, Unclear)] {
            facts.opaque = Groups::from([(Some(ShortVersion { major: 2, minor }), group.clone())]);
            let judgement = pointer_kind(&facts, "macos-26.0".parse().unwrap());
            assert_eq!((judgement.status, judgement.found.as_str()), (status, "opaque in f and 1 more"));
        }
    }
}
