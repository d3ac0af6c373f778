//! Upgrades the attributes with which Arm functions protect branches and return addresses.
//!
//! Since LLVM 22 an attribute such as `"branch-target-enforcement"` has no value: `"true"` is dropped from it, and with
//! `"false"` the attribute itself. Flags of the module that are 1 become attributes of every function, and 2 after that.
//!
//! Knowledge: the output of `llvm-dis` 22 for modules of earlier versions; Arm's documents on PAC, BTI and GCS.

use super::super::Dialect;
use super::metadata;
use crate::attributes::{Attribute, Attributes, index};
use crate::ids::{AttributeSetId, narrow};
use crate::module::Module;
use alloc::vec::Vec;

/// Properties that a function has or has not.
const SWITCHES: [&[u8]; 3] =
    [b"branch-target-enforcement", b"branch-protection-pauth-lr", b"guarded-control-stack"];
const SIGNED: &[u8] = b"sign-return-address";
const SIGNED_ALL: &[u8] = b"sign-return-address-all";
const SIGNED_WITH_B: &[u8] = b"sign-return-address-with-bkey";
const KEY: &[u8] = b"sign-return-address-key";

/// The value of a flag that is an attribute of every function.
const DONE: u64 = 2;

/// The module flags that are set, in the order in which they are changed.
struct ModuleFlags {
    set: Vec<&'static [u8]>,
}

impl ModuleFlags {
    /// Reads the flags; `None` if they are attributes already.
    fn of(module: &Module<'_>) -> Option<Self> {
        let names = SWITCHES.into_iter().chain([SIGNED, SIGNED_ALL, SIGNED_WITH_B]);
        let mut set = Vec::new();
        for name in names {
            match metadata::flag_number(module, name) {
                Some(DONE) => return None,
                Some(1) => set.push(name),
                _ => {}
            }
        }
        if !set.contains(&SIGNED) {
            set.retain(|name| !name.starts_with(SIGNED));
        }
        Some(Self { set })
    }

    fn has(&self, name: &[u8]) -> bool {
        self.set.contains(&name)
    }
}

pub(super) fn is_old(module: &Module<'_>, dialect: Dialect) -> bool {
    if dialect != Dialect::Llvm22 || !is_arm(&module.triple) {
        return false;
    }
    let Some(flags) = ModuleFlags::of(module) else { return false };
    let is_old = |attribute: &Attribute| {
        let name = module.attributes.name_of(attribute);
        SWITCHES.contains(&name) || name == SIGNED
    };
    let sets = || (0..module.attributes.set_count()).map(|at| AttributeSetId(narrow(at as u64)));
    !flags.set.is_empty() || sets().any(|set| module.attributes.set(set).iter().any(is_old))
}

fn is_arm(triple: &[u8]) -> bool {
    [&b"arm"[..], b"thumb", b"aarch64"].iter().any(|start| triple.starts_with(start))
}

pub(super) fn upgrade(module: &mut Module<'_>) {
    let Some(flags) = ModuleFlags::of(module) else { return };
    for at in 0..module.functions.len() {
        let Some(function) = module.functions.get(at).filter(|function| function.body.is_some()) else {
            continue;
        };
        let list = function.attributes;
        let old = module.attributes.of(list, index::FUNCTION);
        let mut set = old.map_or_else(Vec::new, |set| module.attributes.set(set).to_vec());
        upgrade_set(&mut module.attributes, &mut set, &flags);
        let list = module.attributes.with_changed_set(list, index::FUNCTION, |old| *old = set);
        if let Some(function) = module.functions.get_mut(at) {
            function.attributes = list;
        }
    }
    for name in flags.set {
        metadata::set_least_flag(module, name, DONE);
    }
}

fn upgrade_set(attributes: &mut Attributes, set: &mut Vec<Attribute>, flags: &ModuleFlags) {
    if flags.has(SIGNED) {
        let extent: &[u8] = if flags.has(SIGNED_ALL) { b"all" } else { b"non-leaf" };
        let key: &[u8] = if flags.has(SIGNED_WITH_B) { b"b_key" } else { b"a_key" };
        for (name, value) in [(SIGNED, extent), (KEY, key)] {
            if value_of(attributes, set, name).is_none() {
                set.push(attributes.text_attribute(name, value));
            }
        }
    } else if value_of(attributes, set, SIGNED).is_some_and(|value| value == b"none") {
        set.retain(|one| ![SIGNED, KEY].contains(&attributes.name_of(one)));
    }
    for name in SWITCHES {
        let is_on = match value_of(attributes, set, name) {
            Some(b"true") => true,
            Some(b"false") => false,
            None if flags.has(name) => true,
            _ => continue,
        };
        set.retain(|one| attributes.name_of(one) != name);
        if is_on {
            set.push(attributes.text_attribute(name, b""));
        }
    }
}

/// Returns the value of a text attribute.
fn value_of<'t>(attributes: &'t Attributes, set: &[Attribute], name: &[u8]) -> Option<&'t [u8]> {
    set.iter().find_map(|one| match *one {
        Attribute::Text { name: own, value } if attributes.text(own) == name => Some(attributes.text(value)),
        _ => None,
    })
}
