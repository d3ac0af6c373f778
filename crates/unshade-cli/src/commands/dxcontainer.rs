//! DXContainers: YAML both ways, signing, editing, and how they are listed and shown.

use super::written::write;
use crate::Outcome;
use crate::args::{
    BuildArgs, EditArgs, FromYamlArgs, PartFile, SignArgs, Stripped, ToYamlArgs, part_file, part_name,
};
use crate::input::Bytes;
use crate::output::{Stdout, write_pieces};
use crate::paint::{bad, bytes, faint, good, name, offset};
use anyhow::{Context, Result, bail, ensure};
use std::io::Write;
use std::iter;
use unshade::carve::Find;
use unshade::dxcontainer::edit::{DEBUG_PARTS, PRIVATE_PARTS, REFLECTION_PARTS, ROOT_SIGNATURE_PARTS};
use unshade::dxcontainer::file::OwnedPart;
use unshade::dxcontainer::psv0::stage_word;
use unshade::dxcontainer::{DxFile, document};
use unshade::program::Program;
use unshade::view::{ContainerView, ExportView, ResourceView};

pub(super) fn to_yaml(args: &ToYamlArgs, data: &[u8]) -> Result<Outcome> {
    ensure!(args.modules.is_none(), "--modules is for Metal libraries");
    let file = DxFile::parse(data)?;
    write_pieces(&args.output, |out| Ok(document::write_yaml(&file, args.llvm.into(), out)?))?;
    Ok(Outcome::Done)
}

pub(super) fn from_yaml(args: &FromYamlArgs, text: &str) -> Result<Outcome> {
    let mut file = document::from_yaml(text).with_context(|| args.file.clone())?;
    let data =
        if args.sign { file.write_signed() } else { file.write() }.with_context(|| args.file.clone())?;
    write(&args.output, &[&args.file], iter::once(data.as_slice()))
}

pub(super) fn sign(args: &SignArgs, data: &[u8]) -> Result<Outcome> {
    DxFile::parse(data)?;
    let mut data = data.to_vec();
    unshade::dxcontainer::file::sign(&mut data)?;
    write(&args.output, &[&args.file], iter::once(data.as_slice()))
}

pub(super) fn edit(args: &EditArgs, data: &[u8]) -> Result<Outcome> {
    refuse_options(args)?;
    let mut file = DxFile::parse(data)?;
    for stripped in &args.strip {
        file.remove(match stripped {
            Stripped::Debug => DEBUG_PARTS,
            Stripped::Reflection => REFLECTION_PARTS,
            Stripped::RootSignature => ROOT_SIGNATURE_PARTS,
            Stripped::Private => PRIVATE_PARTS,
            Stripped::Sources => bail!("--strip sources is for Metal libraries"),
        });
    }
    for part in &args.remove {
        let part = part_name(part)?;
        if file.remove(&[part]) == 0 {
            bail!("no part {}", unshade::core::FourCc(part));
        }
    }
    for part in &args.set {
        file.set(part.name, &part_bytes(part)?);
    }
    for part in &args.add {
        file.add(OwnedPart::from_bytes(part.name, &part_bytes(part)?));
    }
    if let Some(private) = &args.private {
        let data = Bytes::open(private).with_context(|| format!("can't read {}", private.display()))?;
        file.set_private(Some(data.to_vec()));
    }
    file.reorder(&args.order)?;
    let data = if args.keep_digest { file.write()? } else { file.write_signed()? };
    write(&args.output, &[&args.file], iter::once(data.as_slice()))
}

/// Options that are for Metal libraries.
fn refuse_options(args: &EditArgs) -> Result<()> {
    let given = [
        ("--keep", !args.keep.is_empty()),
        ("--rename", !args.rename.is_empty()),
        ("--merge", !args.merge.is_empty()),
        ("--module", !args.module.is_empty()),
        ("--os", args.os.is_some()),
        ("--install-name", args.install_name.is_some()),
        ("--keep-uuid", args.keep_uuid),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => bail!("{option} is for Metal libraries, and this is a DXContainer"),
        None => Ok(()),
    }
}

pub(super) fn build(args: &BuildArgs) -> Result<Outcome> {
    ensure!(args.os.is_none(), "--os is for Metal libraries");
    let mut file = DxFile::default();
    let mut inputs = Vec::new();
    for input in &args.inputs {
        let part = part_file(input)?;
        file.parts.push(OwnedPart::from_bytes(part.name, &part_bytes(&part)?));
        inputs.extend(input.split_once('=').map(|(_, file)| file));
    }
    let data = file.write_signed()?;
    write(&args.output, &inputs, iter::once(data.as_slice()))
}

fn part_bytes(part: &PartFile) -> Result<Bytes> {
    Bytes::open(&part.file).with_context(|| format!("can't read {}", part.file.display()))
}

/// The view of a program, if it is a container.
pub(crate) fn view(find: &Find<'_>) -> Option<ContainerView> {
    match Program::open(find) {
        Ok(Program::DxContainer(container)) => Some(ContainerView::new(&container)),
        _ => None,
    }
}

/// Functions of a library, what is bound, and a row for each part.
pub(crate) fn print_list(view: &ContainerView, stdout: &mut Stdout) -> Result<()> {
    print_functions(view, stdout)?;
    print_resources(view, stdout)?;
    if !(view.functions.is_empty() && view.resources.is_empty()) {
        writeln!(stdout)?;
    }
    print_parts(view, stdout)
}

/// A row for each part.
pub(crate) fn print_parts(view: &ContainerView, stdout: &mut Stdout) -> Result<()> {
    writeln!(stdout, "{}", faint("part      offset     bytes  what"))?;
    for part in &view.parts {
        let at = offset(format!("{:>#10x}", part.offset));
        writeln!(stdout, "{}  {at}  {:>8}  {}", name(format!("{:<4}", part.name)), part.size, part.what)?;
    }
    Ok(())
}

/// The facts that people look for first; everything that is known, if `all` is wanted.
pub(crate) fn print_facts(view: &ContainerView, all: bool, stdout: &mut Stdout) -> Result<()> {
    let mut fact = |label: &str, text: &str| writeln!(stdout, "  {} {text}", faint(format!("{label:<11}")));
    if let Some(entry) = &view.entry {
        fact("entry", entry)?;
    }
    if let Some([x, y, z]) = view.threads {
        fact("threads", &format!("{x} × {y} × {z}"))?;
    }
    if let Some([least, most]) = view.wave_lanes {
        fact("wave", &format!("{least} to {most} lanes"))?;
    }
    if let Some(compiler) = &view.compiler {
        fact("compiler", compiler)?;
    }
    if let (Some(validator), true) = (&view.validator, all) {
        fact("validator", validator)?;
    }
    if !view.features.is_empty() {
        fact("features", &view.features.join(" · "))?;
    }
    if !view.flags.is_empty() {
        fact("flags", &view.flags.join(" · "))?;
    }
    let digest = match view.digest_is.as_str() {
        "right" => good("right").to_string(),
        "wrong" => bad("wrong").to_string(),
        sign => sign.to_owned(),
    };
    fact("digest", &if all { format!("{}  {digest}", view.digest) } else { digest })?;
    if !all {
        let count = |count: usize, noun: &str| (count > 0).then(|| crate::paint::counted(count as u64, noun));
        let counts = [
            count(view.functions.len(), "function"),
            count(view.resources.len(), "resource"),
            count(view.root_signature_version.iter().len(), "root signature"),
            count(view.sources.len(), "source file"),
            count(view.parts.len(), "part"),
        ];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        fact("holds", &counts.join(" · "))?;
        return Ok(());
    }
    for (label, value) in &view.stage {
        let word = stage_word(label, *value).unwrap_or_else(|| value.to_string());
        fact("stage", &format!("{label} {word}"))?;
    }
    if let Some(debug_name) = &view.debug_name {
        fact("debug", debug_name)?;
    }
    for source in &view.sources {
        fact("source", source)?;
    }
    if !view.arguments.is_empty() {
        fact("arguments", &view.arguments.join(" "))?;
    }
    tables(view, stdout)
}

fn print_functions(view: &ContainerView, stdout: &mut Stdout) -> Result<()> {
    if view.functions.is_empty() {
        return Ok(());
    }
    writeln!(stdout, "{}", name("functions"))?;
    let width = view.functions.iter().map(|function| function.name.chars().count()).max().unwrap_or_default();
    for function in &view.functions {
        let line = format!("  {:<14} {:<width$}   {}", function.kind, function.name, notes(function));
        writeln!(stdout, "{}", line.trim_end())?;
    }
    Ok(())
}

/// What else is known of a function of a library.
fn notes(function: &ExportView) -> String {
    let three = |[x, y, z]: [u32; 3]| format!("{x} × {y} × {z}");
    let mut notes = Vec::new();
    if let Some(node) = &function.node {
        notes.extend(node.id.as_ref().map(|id| format!("node {id}")));
        notes.extend(node.launch.clone());
        notes.extend(node.is_program_entry.then(|| "program entry".to_owned()));
        notes.extend(node.dispatch_grid.map(|grid| format!("grid {}", three(grid))));
        notes.extend(node.max_dispatch_grid.map(|grid| format!("grid at most {}", three(grid))));
    }
    notes.extend(function.threads.map(|threads| format!("threads {}", three(threads))));
    notes.extend(function.payload_size.map(|size| format!("payload {}", bytes(size.into()))));
    notes.extend(function.attribute_size.map(|size| format!("attributes {}", bytes(size.into()))));
    notes.join(" · ")
}

fn print_resources(view: &ContainerView, stdout: &mut Stdout) -> Result<()> {
    if view.resources.is_empty() {
        return Ok(());
    }
    if !view.functions.is_empty() {
        writeln!(stdout)?;
    }
    writeln!(stdout, "{}", name("resources"))?;
    for resource in &view.resources {
        let ResourceView { name, kind, shape, registers, space, element, .. } = resource;
        let of = match (element, resource.bytes) {
            (Some(element), _) => element.clone(),
            (None, Some(size)) => bytes(size.into()),
            (None, None) => String::new(),
        };
        let notes = resource.notes.join(", ");
        let line = format!("  {registers:<10} space {space:<4} {kind:<24} {shape:<24} {of:<9} {name}");
        let notes = if notes.is_empty() { notes } else { format!("   {}", faint(notes)) };
        writeln!(stdout, "{}{notes}", line.trim_end())?;
    }
    Ok(())
}

fn tables(view: &ContainerView, stdout: &mut Stdout) -> Result<()> {
    if !(view.functions.is_empty() && view.resources.is_empty()) {
        writeln!(stdout)?;
    }
    print_functions(view, stdout)?;
    print_resources(view, stdout)?;
    let mut part = "";
    for element in &view.signatures {
        if element.part != part {
            part = &element.part;
            writeln!(stdout, "\n{}", name(part))?;
        }
        let register = element.register.map_or_else(|| "–".into(), |register| register.to_string());
        let stream = if element.stream == 0 { String::new() } else { format!("stream {}", element.stream) };
        let notes = [&element.system_value, &element.interpolation, &stream];
        let notes: Vec<&str> =
            notes.iter().filter(|note| !note.is_empty()).map(|note| note.as_str()).collect();
        let line = format!(
            "  {:<28} {:<8} register {register:<3} {:<5} {}",
            element.name,
            element.component_type,
            element.mask,
            notes.join(" · ")
        );
        writeln!(stdout, "{}", line.trim_end())?;
    }
    if let Some(version) = &view.root_signature_version {
        writeln!(stdout, "\n{} {version}", name("root signature"))?;
        for (index, clause) in view.root_signature.iter().enumerate() {
            let comma = if index + 1 < view.root_signature.len() { "," } else { "" };
            writeln!(stdout, "  {clause}{comma}")?;
        }
    }
    writeln!(stdout)?;
    print_parts(view, stdout)
}

/// What a container is, in a few words.
pub(crate) fn summary(view: &ContainerView) -> String {
    let profile = view.profile.as_deref().unwrap_or("no program");
    match &view.code {
        Some(code) => format!("{profile} · {code} · {}", bytes(view.size.into())),
        None => format!("{profile} · {}", bytes(view.size.into())),
    }
}
