//! DXContainers: YAML both ways, signing, editing, and how they are listed and shown.

use crate::Outcome;
use crate::args::{
    BinaryArgs, BuildArgs, EditArgs, FromYamlArgs, GlobalArgs, PartFile, SignArgs, Stripped, ToYamlArgs,
};
use crate::input::{Bytes, Input};
use crate::output::{Stdout, write_file, write_pieces};
use crate::paint::{bad, bytes, faint, good, name, offset};
use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::path::Path;
use unshade::carve::Find;
use unshade::dxcontainer::edit::{DEBUG_PARTS, PRIVATE_PARTS, REFLECTION_PARTS, ROOT_SIGNATURE_PARTS};
use unshade::dxcontainer::file::OwnedPart;
use unshade::dxcontainer::msf::Msf;
use unshade::dxcontainer::psv0::stage_word;
use unshade::dxcontainer::{DxFile, document};
use unshade::format::Format;
use unshade::program::Program;
use unshade::view::{ContainerView, ExportView, ResourceView};

/// YAML longer than this is refused: it is that of a container of the largest size.
const MAX_YAML: u64 = 4 << 30;

pub(crate) fn to_yaml(args: &ToYamlArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (_, file) = open(&args.file, global)?;
    write_pieces(&args.output, |out| Ok(document::write_yaml(&file, args.llvm.into(), out)?))?;
    Ok(Outcome::Done)
}

pub(crate) fn from_yaml(args: &FromYamlArgs) -> Result<Outcome> {
    let mut text = String::new();
    let path = Path::new(&args.file);
    if args.file == "-" {
        std::io::stdin()
            .lock()
            .take(MAX_YAML)
            .read_to_string(&mut text)
            .context("can't read standard input")?;
    } else {
        let bytes = Bytes::open(path).with_context(|| format!("can't read {}", args.file))?;
        text = String::from_utf8(bytes.to_vec()).with_context(|| format!("{}: no text", args.file))?;
    }
    let mut file = document::from_yaml(&text).with_context(|| args.file.clone())?;
    let data =
        if args.sign { file.write_signed() } else { file.write() }.with_context(|| args.file.clone())?;
    write(&args.output, &args.file, &data)
}

pub(crate) fn sign(args: &SignArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (mut data, _) = open(&args.file, global)?;
    unshade::dxcontainer::file::sign(&mut data)?;
    write(&args.output, &args.file, &data)
}

pub(crate) fn edit(args: &EditArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (_, mut file) = open(&args.file, global)?;
    for stripped in &args.strip {
        file.remove(match stripped {
            Stripped::Debug => DEBUG_PARTS,
            Stripped::Reflection => REFLECTION_PARTS,
            Stripped::RootSignature => ROOT_SIGNATURE_PARTS,
            Stripped::Private => PRIVATE_PARTS,
        });
    }
    for part in &args.remove {
        if file.remove(&[*part]) == 0 {
            bail!("{}: no part {}", args.file, unshade::core::FourCc(*part));
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
    write(&args.output, &args.file, &data)
}

pub(crate) fn build(args: &BuildArgs) -> Result<Outcome> {
    let mut file = DxFile::default();
    for part in &args.parts {
        let same = |input: &Path| std::fs::canonicalize(input).ok();
        if same(&part.file).is_some() && same(&part.file) == same(&args.output.output) {
            bail!("{}: is an input", args.output.output.display());
        }
        file.parts.push(OwnedPart::from_bytes(part.name, &part_bytes(part)?));
    }
    write(&args.output, "", &file.write_signed()?)
}

fn part_bytes(part: &PartFile) -> Result<Bytes> {
    Bytes::open(&part.file).with_context(|| format!("can't read {}", part.file.display()))
}

/// Writes a file, but never over the one that was read.
fn write(output: &BinaryArgs, input: &str, data: &[u8]) -> Result<Outcome> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let read = input.split('!').next().unwrap_or_default();
    if real(&output.output).is_some() && real(&output.output) == real(Path::new(read)) {
        bail!("{}: is the input; write to another file", output.output.display());
    }
    write_file(&output.output, output.force, data)?;
    Ok(Outcome::Done)
}

/// The one container that an argument means, or that is in a program database.
fn open(argument: &str, global: &GlobalArgs) -> Result<(Vec<u8>, DxFile)> {
    let input = Input::open(argument)?;
    if Msf::is_msf(input.bytes()) {
        let (_, data) = Msf::parse(input.bytes())?.container()?;
        let file = DxFile::parse(&data)?;
        return Ok((data, file));
    }
    let mut found = Vec::new();
    input.each_program(&global.limits(), |find| {
        if find.format == Format::DxContainer && found.len() < 2 {
            // The file itself is taken with what follows, so that nothing of it is lost.
            let whole = find.file_offset == Some(0) && input.bytes().starts_with(find.data);
            found.push(if whole { input.bytes().to_vec() } else { find.data.to_vec() });
        }
        Ok(())
    })?;
    match (found.pop(), found.is_empty()) {
        (Some(data), true) => {
            let file = DxFile::parse(&data).with_context(|| argument.to_owned())?;
            Ok((data, file))
        }
        (None, _) => bail!("{argument}: no DXContainer in it"),
        _ => bail!("{argument}: several DXContainers; `unshade list` shows how to select one"),
    }
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
