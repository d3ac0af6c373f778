//! The program of an item as a job that runs it.

use super::session::{Parsed, Session};
use super::*;
use crate::format::Format;
use crate::nv_units::{Unit, is_packed, with_unit};
use crate::program::{Code, Piece};
use crate::run::RunJob;
use unshade_core::Diagnostics;
use unshade_nv::function::FunctionKind;

/// The kinds of items that are kernels.
const KERNEL: &str = "kernel";

/// Returns whether an item, or the program as a whole, can be run, as far as that is known without lifting it.
pub(super) fn runs(parsed: &Parsed<'_>, item: Option<&Piece>) -> bool {
    match (parsed.format.format, item) {
        (Format::DxContainer, None) => parsed.program.pieces().panes.contains(&"hlsl"),
        (Format::Bitcode, item) => has_kernels(parsed, item).unwrap_or(false),
        (Format::DxContainer, Some(_)) | (_, None) => false,
        (_, Some(item)) => {
            let is_kernel = item.row.kind == KERNEL;
            let has_code = item.panes.contains(&"metal") || item.panes.contains(&"c");
            is_kernel && has_code && job(parsed, Some(item), None).is_ok()
        }
    }
}

/// Returns whether the first module of bitcode has kernels of Metal.
fn has_kernels(parsed: &Parsed<'_>, item: Option<&Piece>) -> Answer<bool> {
    let Code::Modules(groups) = parsed.code(item, &mut Diagnostics::new())? else { return Ok(false) };
    let Some(unit) = groups.iter().flat_map(|group| &group.units).next() else { return Ok(false) };
    let module = unit.open()?;
    Ok(crate::air::is_air(&module) && crate::air::kinds(&module).iter().any(|(_, kind)| kind == KERNEL))
}

fn job(parsed: &Parsed<'_>, item: Option<&Piece>, name: Option<&str>) -> Answer<RunJob> {
    let no_code =
        || Fault::new("nothing here can be run: only kernels of Metal and of sm_30 to sm_37, and shaders");
    if parsed.format.format == Format::DxContainer {
        return Ok(RunJob { program: parsed.data.to_vec(), base: Some(parsed.base), ..RunJob::default() });
    }
    match parsed.code(item, &mut Diagnostics::new())? {
        Code::Modules(groups) => {
            let unit = groups.iter().flat_map(|group| &group.units).next().ok_or_else(no_code)?;
            let (program, base) = unit.bytes()?;
            let module = match unit {
                crate::disassembly::Unit::File { index, .. } => u32::try_from(*index).unwrap_or(0),
                _ => 0,
            };
            let is_function = matches!(unit, crate::disassembly::Unit::Function { .. });
            let own = item.filter(|_| is_function).map(|item| item.row.name.clone());
            let kernel = own.or_else(|| name.map(str::to_owned)).unwrap_or_default();
            Ok(RunJob { program: program.to_vec(), base: Some(base), module, kernel, ..RunJob::default() })
        }
        Code::Machine(program) => with_unit(program, item.ok_or_else(no_code)?.unit, |entry, unit| {
            let Unit::Cubin(cubin) = unit else { return Err(no_code()) };
            let function = item.and_then(|item| cubin.functions().nth(item.index as usize));
            let function = function.ok_or_else(no_code)?;
            let is_known =
                unshade_sass::isa::by_architecture(cubin.arch()).is_some_and(|isa| isa.has_semantics);
            if function.kind != FunctionKind::Kernel || !is_known {
                return Err(no_code());
            }
            let file = cubin.file();
            Ok(RunJob {
                program: file.data().to_vec(),
                base: (!is_packed(entry)).then(|| file.base()),
                kernel: String::from_utf8_lossy(function.name()).into_owned(),
                ..RunJob::default()
            })
        })?,
        _ => Err(no_code()),
    }
}

impl Session {
    /// Returns what a launch of an item, or of the program, needs.
    ///
    /// # Errors
    /// There is no such item, it can't be read, or it can't be run.
    pub fn run_job(&mut self, run: &Run) -> Answer<RunJob> {
        let job = self.job(&run.at, run.name.as_deref())?;
        Ok(RunJob { launch: Some(run.launch.clone()), ..job })
    }

    /// Returns a job that returns the parameters of an item, or of the program.
    ///
    /// # Errors
    /// As [`Self::run_job`].
    pub fn parameters_job(&mut self, request: &Parameters) -> Answer<RunJob> {
        self.job(&request.at, request.name.as_deref())
    }

    fn job(&mut self, place: &Place, name: Option<&str>) -> Answer<RunJob> {
        let table = self.table(place.program)?;
        let piece = place.item.map(|item| table.item(item)).transpose()?;
        if let Some(item) = place.item {
            self.ensure_item(place.program, item)?;
        }
        job(&self.parsed(place.program)?, piece, name)
    }

    /// Returns all bytes of the file, as contents of a buffer.
    ///
    /// # Errors
    /// The file is too large, or can't be read.
    pub fn contents(&mut self) -> Answer<Vec<u8>> {
        let most = crate::run::MAX_BUFFER;
        if self.size() > most {
            return Err(Fault::new(format!("a buffer has at most {most} bytes")));
        }
        self.all_bytes().map(<[u8]>::to_vec)
    }

    /// Runs a job of this file. A page has no emulator in this module.
    pub(super) fn run(&self, job: &RunJob) -> Answer<Response> {
        #[cfg(target_family = "wasm")]
        {
            let _ = job;
            Err(Fault::new("there is no emulator"))
        }
        #[cfg(not(target_family = "wasm"))]
        answer(job, self.clock, || false)
    }
}

/// Runs a job. `clock` returns milliseconds; the launch ends early when `is_gone` returns true.
///
/// # Errors
/// Those of [`RunJob::run`].
pub fn answer(job: &RunJob, clock: Clock, is_gone: impl Fn() -> bool + 'static) -> Answer<Response> {
    Ok(match job.run(clock, is_gone)? {
        crate::run::RunResult::Parameters(answer) => Response::Parameters(answer),
        crate::run::RunResult::Launched(answer) => Response::Run(answer),
    })
}
