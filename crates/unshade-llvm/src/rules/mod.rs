//! What makes constants and instructions valid, and what follows from their operands: for everything that makes
//! modules, from text or from calls.
//!
//! | file | holds |
//! |---|---|
//! | `casts` | which casts are valid |
//! | `results` | the types of results |
//! | `memory` | which orderings and types atomic operations take |
//! | `constants` | constants in their canonical form, each once |
//! | `data_layout` | which data layouts are valid |
//! | `attributes` | the order of the attributes of a set |
//! | `elements` | what types can be parts of others, and which have a size |
//! | `target_types` | what the types of targets can be |
//! | `assembly` | which constraints of inline assembly fit its type |
//!
//! Knowledge: LLVM's language reference; `llvm-as` refuses the same.

mod assembly;
mod attributes;
mod casts;
mod constants;
mod data_layout;
mod elements;
mod memory;
mod results;
mod target_types;

pub(crate) use assembly::check_assembly;
pub(crate) use attributes::attribute_set;
pub(crate) use casts::is_cast_valid;
pub(crate) use constants::{Canonical, ConstantIndex, extend_sign, wide_integer};
pub(crate) use data_layout::check as check_data_layout;
pub(crate) use elements::{has_size, is_array_element, is_field, is_pointee, is_vector_element};
pub(crate) use memory::{check_access, check_atomic_operation, check_exchange, check_fence};
pub(crate) use results::{element_pointer_type, result_type, selected, truth_type};
pub(crate) use target_types::{can_be_global, has_zero};
