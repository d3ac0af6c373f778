//! Attributes of intrinsic declarations.
//!
//! When LLVM reads a module, it replaces the attributes of every intrinsic that it knows.

use super::Dialect;
use super::{intrinsics_14, intrinsics_19, intrinsics_22, intrinsics_targets};
use crate::global::Symbol;
use crate::ids::TypeId;
use crate::types::{Type, TypeTable};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// A row of the tables: name, attributes of the function, attributes of parameters and result.
pub(super) type IntrinsicRow = (&'static str, &'static str, &'static str);

/// Intrinsics that LLVM 22 declares when it upgrades older ones, without attributes.
const UNATTRIBUTED: [&str; 2] = ["lifetime.end.i64", "lifetime.start.i64"];

/// Intrinsics with a result, or else a parameter, of this type, or vectors of it, but not in earlier versions.
const CHANGED: [(&str, Option<usize>, Type); 16] = [
    ("amdgcn.fdot2.bf16.bf16", None, Type::BFloat),
    ("amdgcn.fdot2.f32.bf16", Some(0), Type::BFloat),
    ("amdgcn.make.buffer.rsrc", Some(2), Type::Integer(64)),
    ("s390.vacccq", None, Type::Integer(128)),
    ("s390.vaccq", None, Type::Integer(128)),
    ("s390.vacq", None, Type::Integer(128)),
    ("s390.vaq", None, Type::Integer(128)),
    ("s390.vgfmag", None, Type::Integer(128)),
    ("s390.vgfmg", None, Type::Integer(128)),
    ("s390.vmslg", None, Type::Integer(128)),
    ("s390.vsbcbiq", None, Type::Integer(128)),
    ("s390.vsbiq", None, Type::Integer(128)),
    ("s390.vscbiq", None, Type::Integer(128)),
    ("s390.vsq", None, Type::Integer(128)),
    ("s390.vsumqf", None, Type::Integer(128)),
    ("s390.vsumqg", None, Type::Integer(128)),
];

/// Intrinsics with four parameters, one less than in earlier versions.
const OF_MEMORY: [&str; 3] = ["memcpy", "memmove", "memset"];

/// Returns whether a declaration has the types that LLVM 22 expects, as far as they changed. It does not replace the
/// attributes of others.
fn has_current_types(types: &TypeTable, name: &str, declared: TypeId) -> bool {
    let Type::Function { result, parameters, .. } = types.get(declared) else { return false };
    let is_of =
        |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    if let Some(&(_, parameter, expected)) = CHANGED.iter().find(|(known, ..)| is_of(known)) {
        let ty = parameter.map_or(Some(result), |at| types.elements(parameters).get(at).copied());
        return ty.is_some_and(|ty| types.get(types.scalar(ty)) == expected);
    }
    let is_of_memory = OF_MEMORY.contains(&name.split('.').next().unwrap_or(name));
    !is_of_memory || types.elements(parameters).len() == 4
}

/// The attributes of an intrinsic, as text.
#[derive(Clone, Copy)]
pub(crate) struct Intrinsic {
    row: IntrinsicRow,
}

impl Intrinsic {
    /// Finds the intrinsic that a declaration is of, if LLVM replaces its attributes.
    pub(super) fn of(types: &TypeTable, dialect: Dialect, symbol: &Symbol) -> Option<Self> {
        let found = Self::find(dialect, &symbol.name)?;
        let name = core::str::from_utf8(symbol.name.strip_prefix(b"llvm.")?).ok()?;
        let fits = dialect != Dialect::Llvm22
            || (has_current_types(types, name, symbol.ty) && found.fits_pointers(types, symbol.ty));
        fits.then_some(found)
    }

    /// Finds the intrinsic with a function's name, ignoring the types mangled into it.
    pub(crate) fn find(dialect: Dialect, name: &[u8]) -> Option<Self> {
        let table: &'static [IntrinsicRow] = match dialect {
            Dialect::Llvm14 => intrinsics_14::TABLE,
            Dialect::Llvm19 => intrinsics_19::TABLE,
            Dialect::Llvm22 => intrinsics_22::TABLE,
            Dialect::Dxc => return None,
        };
        let mut name = core::str::from_utf8(name).ok()?.strip_prefix("llvm.")?;
        if dialect == Dialect::Llvm22 && UNATTRIBUTED.contains(&name) {
            return None;
        }
        if let Some(row) = intrinsics_targets::find(dialect, name) {
            return Some(Self { row });
        }
        let whole = name;
        loop {
            if let Ok(at) = table.binary_search_by_key(&name, |row| row.0) {
                let intrinsic = table.get(at).map(|&row| Self { row })?;
                // LLVM 22 does not know an intrinsic whose name goes on if it has no types in its name.
                let is_whole = name == whole || intrinsic.has_types() || dialect != Dialect::Llvm22;
                return is_whole.then_some(intrinsic);
            }
            name = name.rsplit_once('.')?.0;
        }
    }

    /// Returns whether LLVM 22 finds no intrinsic by a function's name, although it is that of one.
    pub(super) fn is_unknown(name: &[u8]) -> bool {
        let Some(Ok(rest)) = name.strip_prefix(b"llvm.").map(core::str::from_utf8) else { return false };
        !UNATTRIBUTED.contains(&rest) && Self::find(Dialect::Llvm22, name).is_none()
    }

    /// Returns whether what has attributes that only pointers have is a pointer. There is no table of the types.
    fn fits_pointers(self, types: &TypeTable, declared: TypeId) -> bool {
        let Type::Function { result, parameters, .. } = types.get(declared) else { return false };
        let parameters = types.elements(parameters);
        let mut parts = self.row.2.split('|').filter_map(|part| part.split_once(':'));
        parts.all(|(place, attributes)| {
            let ty = match place.parse::<usize>() {
                Ok(at) => parameters.get(at).copied(),
                Err(_) => Some(result),
            };
            !attributes.split(' ').any(is_of_pointers) || ty.is_some_and(|ty| types.is_pointer(ty))
        })
    }

    /// Returns whether the types that it is used with are part of its name, as far as the table says.
    fn has_types(self) -> bool {
        self.row.2.split('|').next() == Some("o")
    }

    /// Returns the name, without `llvm.` and types; only the target for those of a target.
    pub(super) fn name(self) -> &'static str {
        self.row.0
    }

    /// Returns the attributes of the function.
    pub(crate) fn function(self) -> &'static str {
        self.row.1
    }

    /// Returns the attributes of the result.
    pub(crate) fn result(self) -> &'static str {
        self.part("r").unwrap_or("")
    }

    /// Returns the attributes of a parameter.
    pub(crate) fn parameter(self, at: usize) -> &'static str {
        self.part(super::text::short_number(u32::try_from(at).unwrap_or(999).min(999))).unwrap_or("")
    }

    fn part(self, of: &str) -> Option<&'static str> {
        let parts = self.row.2.split('|').filter_map(|part| part.split_once(':'));
        parts.into_iter().find(|(key, _)| *key == of).map(|(_, attributes)| attributes)
    }
}

/// The attributes that LLVM drops from results and parameters that are no pointers.
const OF_POINTERS: [&str; 7] =
    ["align", "dereferenceable", "noalias", "nocapture", "nonnull", "readnone", "readonly"];

/// Returns whether only pointers have an attribute.
fn is_of_pointers(word: &str) -> bool {
    let name = word.split('(').next().unwrap_or(word);
    name == "captures" || OF_POINTERS.contains(&name)
}

/// Returns attributes without those that only pointers have.
pub(super) fn without_those_of_pointers(text: &'static str) -> Cow<'static, str> {
    let is_dropped = |word: &str| OF_POINTERS.contains(&word.split('(').next().unwrap_or(word));
    if !text.split(' ').any(is_dropped) {
        return Cow::Borrowed(text);
    }
    let mut kept = Vec::new();
    let mut words = text.split(' ');
    while let Some(word) = words.next() {
        match word {
            // The number is a word of its own.
            "align" => drop(words.next()),
            word if is_dropped(word) => {}
            word => kept.push(word),
        }
    }
    Cow::Owned(kept.join(" "))
}

#[cfg(test)]
mod tests {
    use super::without_those_of_pointers;

    #[test]
    fn integers_keep_the_attributes_that_fit_them() {
        let kept = |text| without_those_of_pointers(text).into_owned();
        assert_eq!(kept("noundef nonnull align 4"), "noundef");
        assert_eq!(kept("dereferenceable(64) immarg"), "immarg");
        assert_eq!(kept("nocapture writeonly"), "writeonly");
    }
}
