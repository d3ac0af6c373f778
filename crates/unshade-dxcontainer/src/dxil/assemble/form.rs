//! The form of the parts, which depends on the version of the validator that a module targets.
//!
//! A module that targets version 0.0 is not to be validated. Its parts have the newest form that its compiler knew, so
//! that `llvm.ident` decides: DXC 1.6 and before write the version of Clang there, later ones their own.
//!
//! Source: real containers of DXC 1.6, 1.9 and 1.10.

use super::super::{DxilModule, ValidatorVersion};

/// The compiler in `llvm.ident` up to DXC 1.6.
const OLD_COMPILER: &[u8] = b"clang version 3.7";

/// The compiler in `llvm.ident` of the DXC 1.9 packages. Their newest runtime information has no word on linear algebra,
/// and what was released as validator 1.9 still counts as experimental for them: tables of RDAT for all stages, but no
/// flag for sampler feedback.
const PACKAGE_1_9: &[u8] = b"dxcoob 1.9.";

/// The first shader model that is not released, and the one that stands for libraries of no model.
const FIRST_PREVIEW: [u32; 2] = [6, 10];
const OFFLINE: u32 = 15;

/// Whether a shader model is not released yet.
pub(super) fn is_preview(model: [u32; 2]) -> bool {
    model >= FIRST_PREVIEW && model[1] != OFFLINE
}

/// Whether the packages of DXC 1.9 made a module.
pub(super) fn is_by_package_1_9(dxil: &DxilModule) -> bool {
    dxil.compiler.0.starts_with(PACKAGE_1_9)
}

/// The form of the parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// The version of the validator that decides. It is never 0.0 for an old compiler.
    pub(super) validator: ValidatorVersion,
    /// Whether the newest runtime information of PSV0 has a word on linear algebra.
    pub(super) linear_algebra: bool,
    /// Whether RDAT has tables for all stages, which are experimental.
    pub(super) stage_tables: bool,
    /// Whether all streams of a geometry shader share the place of the last stream's dependency table: a fault of old
    /// compilers that their validators expect.
    pub(super) overlapping_streams: bool,
}

impl Form {
    /// Returns the form of a module's parts.
    pub(super) fn of(dxil: &DxilModule) -> Self {
        let validator = dxil.validator_version();
        let by_old_compiler = dxil.compiler.0.starts_with(OLD_COMPILER);
        let by_package_1_9 = is_by_package_1_9(dxil);
        let unbound = validator.0[0] == 0;
        let model = dxil.model.as_ref().map_or([6, 0], |model| model.version);
        Self {
            validator: if unbound && by_old_compiler { ValidatorVersion([1, 6]) } else { validator },
            linear_algebra: !(unbound && by_package_1_9),
            stage_tables: unbound
                || validator.at_least(1, 10) && is_preview(model)
                || validator.at_least(1, 9) && by_package_1_9,
            overlapping_streams: by_old_compiler,
        }
    }
}
