//! The forms of instructions that compilers emit: those of every cubin of sm_30 to sm_37 in the corpus and the packages.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Result;
use rayon::prelude::*;
use unshade::core::Reader;
use unshade::nv::fatbin::EntryKind;
use unshade::nv::{Cubin, Fatbin};
use unshade::sass::isa;
use unshade::sass::listing::{self, Word};
use unshade_tests::witness::form::form;

/// The number of instructions of each form.
pub(super) type Census = BTreeMap<String, u64>;

/// Counts the forms in all cubins.
pub(super) fn all() -> Result<Census> {
    let files = super::super::nv::collect()?;
    let counted = files.par_iter().map(|path| {
        let mut census = Census::new();
        let Ok(data) = fs::read(path) else { return census };
        if let Ok(fatbin) = Fatbin::read(Reader::new(&data)) {
            for entry in fatbin.entries().flatten().filter(|entry| entry.kind == EntryKind::ELF) {
                if let Ok(data) = entry.data()
                    && let Ok(cubin) = entry.cubin(&data)
                {
                    count(&cubin, &mut census);
                }
            }
        } else if let Ok(cubin) = Cubin::read(Reader::new(&data)) {
            count(&cubin, &mut census);
        }
        census
    });
    Ok(counted.reduce(Census::new, |mut sum, census| {
        for (form, count) in census {
            *sum.entry(form).or_default() += count;
        }
        sum
    }))
}

fn count(cubin: &Cubin<'_>, census: &mut Census) {
    let Some(isa) = isa::by_architecture(cubin.arch()) else { return };
    for function in cubin.functions() {
        let Ok(code) = function.code(cubin) else { continue };
        let code = listing::Function { name: "", isa, bytes: code.data(), address: 0, file_offset: 0 };
        for (_, word) in code.words() {
            if let Word::Instruction(instruction) = word {
                *census.entry(form(&instruction)).or_default() += 1;
            }
        }
    }
}
