//! `naga-unshade`: compiles WGSL to a Metal library or a DXContainer.

use std::process::ExitCode;
use unshade_naga::{Options, Source};

const HELP: &str = "\
Compiles WGSL to a Metal library or a DXContainer.

Usage: naga-unshade IN.wgsl -o OUT.metallib|OUT.dxil [OPTIONS]

Options:
  -o FILE       Where to write: a DXContainer if the name ends with .dxil or .cso, otherwise a Metal library
  --entry NAME  The entry point [default: all of the module]
  --fast-math   Let Metal reorder and approximate operations on floats
  --bindings    Print the Metal slots of resources
  --entries     Print the stages and names of entry points
  --override NAME=VALUE
                Give a constant of the pipeline a value, by its name or number

Exit status: 0 written, 1 not in the subset or not valid, 2 usage or a file that can't be read or written.";

/// What the command line asks for.
#[derive(Default)]
struct Arguments {
    input: String,
    output: String,
    options: Options,
    shows_bindings: bool,
    shows_entries: bool,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments::default();
    let mut list = std::env::args().skip(1);
    while let Some(argument) = list.next() {
        match argument.as_str() {
            "-o" => parsed.output = list.next().ok_or("-o takes a file")?,
            "--entry" => parsed.options.entry = Some(list.next().ok_or("--entry takes a name")?),
            "--fast-math" => parsed.options.fast_math = true,
            "--bindings" => parsed.shows_bindings = true,
            "--entries" => parsed.shows_entries = true,
            "--override" => {
                let constant = list.next().ok_or("--override takes a name and a value")?;
                let pair =
                    constant.split_once('=').and_then(|(name, value)| Some((name, value.parse().ok()?)));
                let (name, value) = pair.ok_or_else(|| format!("{constant} is no name with a value"))?;
                parsed.options.constants.insert(name.to_string(), value);
            }
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            _ if parsed.input.is_empty() => parsed.input = argument,
            _ => return Err(format!("unexpected argument {argument}")),
        }
    }
    match parsed.input.is_empty()
        || (parsed.output.is_empty() && !parsed.shows_bindings && !parsed.shows_entries)
    {
        true => Err(HELP.to_string()),
        false => Ok(parsed),
    }
}

fn main() -> ExitCode {
    if std::env::args().skip(1).any(|argument| argument == "--help" || argument == "-h") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let text = match std::fs::read_to_string(&arguments.input) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{}: {error}", arguments.input);
            return ExitCode::from(2);
        }
    };
    let compiled = Source::parse(&arguments.input, &text).and_then(|source| {
        if arguments.shows_bindings {
            print_bindings(&source);
        }
        if arguments.shows_entries {
            for point in &source.module.entry_points {
                println!("{:?} {}", point.stage, point.name);
            }
        }
        match arguments.output.is_empty() {
            true => Ok(Vec::new()),
            false => compile(&source, &arguments),
        }
    });
    let bytes = match compiled {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("{}", error.text(&arguments.input, &text));
            return ExitCode::from(1);
        }
    };
    if !arguments.output.is_empty()
        && let Err(error) = std::fs::write(&arguments.output, bytes)
    {
        eprintln!("{}: {error}", arguments.output);
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

fn compile(source: &Source, arguments: &Arguments) -> unshade_naga::Result<Vec<u8>> {
    match arguments.output.ends_with(".dxil") || arguments.output.ends_with(".cso") {
        true => source.container(&arguments.options),
        false => source.metallib(&arguments.options),
    }
}

fn print_bindings(source: &Source) {
    for (binding, kind, slot, size) in unshade_naga::Bindings::new(&source.module).iter() {
        let size =
            size.map_or(String::new(), |index| format!(", its size in element {index} of buffer_sizes"));
        println!("@group({}) @binding({}): {kind:?} {slot}{size}", binding.group, binding.binding);
    }
}
