//! Upgrades intrinsics whose names or parameters changed.
//!
//! A row of [`TABLE`] gives for an old name the new name, the types mangled into it, and the arguments of its
//! calls. Calls that keep their arguments are unchanged; the others are rebuilt, and lose their attributes and
//! attachments.
//!
//! Knowledge: the output of `llvm-dis` 14, 19 and 22 for old files; the Language Reference on current parameters.

use super::super::intrinsics::Intrinsic;
use super::super::{Dialect, mangle};
use super::atomics::{self, AtomicContext};
use super::editor::{self, AttachmentOutcome, Editor};
use super::nvvm_intrinsics;
use crate::attributes::{Attribute, index, kind};
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::global::UpgradedPosition;
use crate::ids::{AttributeListId, TypeId, ValueId};
use crate::instruction::{Instruction, Opcode};
use crate::module::Module;
use crate::types::Type;
use crate::value::{Operand, ValueKind};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// A type that is mangled into the name of an intrinsic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overload {
    Result,
    Parameter(usize),
    /// The vector of `bfloat` that belongs to the result's width.
    Bfloats,
}

/// An argument of a rebuilt call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NewArgument {
    /// The old argument at this index.
    Old(usize),
    /// The old argument at this index, cast to a vector of `bfloat`.
    Bfloats(usize),
    False,
    /// The old argument at this index, or `false` if there were fewer.
    OldOrFalse(usize),
    NullPointer,
    /// The token `none`.
    NoToken,
    /// The old expression with a dereference at the end.
    Dereference,
}

/// How calls change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallRewrite {
    /// Not at all.
    Same,
    /// They are rebuilt with the same arguments if the name changes.
    Rebuilt,
    /// They are rebuilt with these arguments.
    With(&'static [NewArgument]),
    /// They are rebuilt with these arguments, and keep their attachments.
    Attached(&'static [NewArgument]),
    /// They are rebuilt with these arguments, and have no result any more.
    NoResult(&'static [NewArgument]),
    /// The argument with the alignment of this many pointers becomes attributes.
    Aligned(usize),
    /// The same, and the other attributes stay.
    AlignedToo(usize),
    /// They are dropped.
    Removed,
    /// The result is a literal struct, from which the old identified struct is built. Since LLVM 22 calls keep their
    /// attributes.
    Struct { keeps_attributes: bool },
    /// The argument behind the pointer at this index, its alignment, becomes an attribute of the pointer.
    Masked(usize),
    /// The marker of a lifetime has no size; see [`super::lifetimes`].
    Lifetime,
    /// They become atomic accesses; see [`super::atomics`].
    Atomic(atomics::Operation),
    /// They become other instructions; see [`super::nvvm_intrinsics`].
    Expanded(nvvm_intrinsics::Expansion),
}

/// The versions that make a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Versions {
    Both,
    V14,
    /// LLVM 19 and later.
    V19,
    Only19,
    V22,
}

/// Old name (if it ends in a dot, all names that start with it; types may follow it), number of old parameters
/// (any if zero), new name, types mangled into the new name, change of calls, versions.
type UpgradeRow = (&'static str, usize, &'static str, &'static [Overload], CallRewrite, Versions);

use CallRewrite::{
    Aligned, AlignedToo, Atomic, Attached, Expanded, Lifetime, Masked, NoResult, Rebuilt, Removed, Same,
    Struct, With,
};
use NewArgument::{Bfloats, Dereference, False, NoToken, NullPointer, Old, OldOrFalse};
use Overload::{Parameter, Result};
use Versions::{Both, Only19, V14, V19, V22};

#[rustfmt::skip]
const TABLE: &[UpgradeRow] = &[
    ("aarch64.neon.addp.", 2, "aarch64.neon.faddp", &[Result], Same, Both),
    ("aarch64.neon.bfdot.v2f32.v8i8", 3, "aarch64.neon.bfdot", &[Result, Overload::Bfloats], With(&[Old(0), Bfloats(1), Bfloats(2)]), Both),
    ("aarch64.neon.bfdot.v4f32.v16i8", 3, "aarch64.neon.bfdot", &[Result, Overload::Bfloats], With(&[Old(0), Bfloats(1), Bfloats(2)]), Both),
    ("aarch64.neon.bfmlalb.v4f32.v16i8", 3, "aarch64.neon.bfmlalb", &[], With(&[Old(0), Bfloats(1), Bfloats(2)]), Both),
    ("aarch64.neon.bfmlalt.v4f32.v16i8", 3, "aarch64.neon.bfmlalt", &[], With(&[Old(0), Bfloats(1), Bfloats(2)]), Both),
    ("aarch64.neon.bfmmla.v4f32.v16i8", 3, "aarch64.neon.bfmmla", &[], With(&[Old(0), Bfloats(1), Bfloats(2)]), Both),
    ("aarch64.neon.frintn", 1, "roundeven", &[Parameter(0)], Same, Both),
    ("aarch64.neon.rbit", 1, "bitreverse", &[Parameter(0)], With(&[Old(0)]), Both),
    ("aarch64.rbit", 1, "bitreverse", &[Parameter(0)], With(&[Old(0)]), Both),
    ("aarch64.sve.rev.", 1, "vector.reverse", &[Result], Same, V22),
    ("aarch64.thread.pointer", 0, "thread.pointer", &[Result], With(&[]), V22),
    ("aarch64.thread.pointer", 0, "thread.pointer", &[], With(&[]), Both),
    ("addressofreturnaddress", 0, "addressofreturnaddress", &[Result], Same, Both),
    ("amdgcn.alignbit", 3, "fshr", &[Result], Same, Both),
    ("amdgcn.ldexp.", 2, "ldexp", &[Result, Parameter(1)], Same, V19),
    ("amdgcn.mul.i24", 2, "amdgcn.mul.i24", &[Result], Same, V19),
    ("amdgcn.mul.u24", 2, "amdgcn.mul.u24", &[Result], Same, V19),
    ("amdgcn.permlane16", 6, "amdgcn.permlane16", &[Result], Same, V19),
    ("amdgcn.permlanex16", 6, "amdgcn.permlanex16", &[Result], Same, V19),
    ("amdgcn.readfirstlane", 1, "amdgcn.readfirstlane", &[Result], Same, V19),
    ("amdgcn.readlane", 2, "amdgcn.readlane", &[Result], Same, V19),
    ("amdgcn.writelane", 3, "amdgcn.writelane", &[Result], Same, V19),
    ("annotation.", 4, "annotation", &[Result, Parameter(1)], Same, V19),
    ("arm.neon.bfdot.v2f32.v8i8", 3, "arm.neon.bfdot", &[Result, Overload::Bfloats], With(&[Old(0), Bfloats(1), Bfloats(2)]), Both),
    ("arm.neon.bfdot.v4f32.v16i8", 3, "arm.neon.bfdot", &[Result, Overload::Bfloats], With(&[Old(0), Bfloats(1), Bfloats(2)]), Both),
    ("arm.neon.bfmlalb.v4f32.v16i8", 3, "arm.neon.bfmlalb", &[], With(&[Old(0), Bfloats(1), Bfloats(2)]), Both),
    ("arm.neon.bfmlalt.v4f32.v16i8", 3, "arm.neon.bfmlalt", &[], With(&[Old(0), Bfloats(1), Bfloats(2)]), Both),
    ("arm.neon.bfmmla.v4f32.v16i8", 3, "arm.neon.bfmmla", &[], With(&[Old(0), Bfloats(1), Bfloats(2)]), Both),
    ("arm.neon.vclz.", 1, "ctlz", &[Parameter(0)], With(&[Old(0), False]), Both),
    ("arm.neon.vcnt.", 1, "ctpop", &[Parameter(0)], With(&[Old(0)]), Both),
    ("arm.neon.vqadds.", 2, "sadd.sat", &[Parameter(0)], Same, Both),
    ("arm.neon.vqaddu.", 2, "uadd.sat", &[Parameter(0)], Same, Both),
    ("arm.neon.vqsubs.", 2, "ssub.sat", &[Parameter(0)], Same, Both),
    ("arm.neon.vqsubu.", 2, "usub.sat", &[Parameter(0)], Same, Both),
    ("arm.neon.vrinta.", 1, "round", &[Parameter(0)], Same, V22),
    ("arm.neon.vrintm.", 1, "floor", &[Parameter(0)], Same, V22),
    ("arm.neon.vrintn.", 1, "roundeven", &[Parameter(0)], Same, V22),
    ("arm.neon.vrintp.", 1, "ceil", &[Parameter(0)], Same, V22),
    ("arm.neon.vrintx.", 1, "rint", &[Parameter(0)], Same, V22),
    ("arm.neon.vrintz.", 1, "trunc", &[Parameter(0)], Same, V22),
    ("arm.neon.vst1.", 0, "arm.neon.vst1", &[Parameter(0), Parameter(1)], Rebuilt, Both),
    ("arm.neon.vst2.", 0, "arm.neon.vst2", &[Parameter(0), Parameter(1)], Rebuilt, Both),
    ("arm.neon.vst2lane.", 0, "arm.neon.vst2lane", &[Parameter(0), Parameter(1)], Rebuilt, Both),
    ("arm.neon.vst3.", 0, "arm.neon.vst3", &[Parameter(0), Parameter(1)], Rebuilt, Both),
    ("arm.neon.vst3lane.", 0, "arm.neon.vst3lane", &[Parameter(0), Parameter(1)], Rebuilt, Both),
    ("arm.neon.vst4.", 0, "arm.neon.vst4", &[Parameter(0), Parameter(1)], Rebuilt, Both),
    ("arm.neon.vst4lane.", 0, "arm.neon.vst4lane", &[Parameter(0), Parameter(1)], Rebuilt, Both),
    ("arm.rbit", 1, "bitreverse", &[Parameter(0)], With(&[Old(0)]), Both),
    ("arm.thread.pointer", 0, "thread.pointer", &[Result], With(&[]), V22),
    ("arm.thread.pointer", 0, "thread.pointer", &[], With(&[]), Both),
    ("coro.end", 2, "coro.end", &[], With(&[Old(0), Old(1), NoToken]), Only19),
    ("coro.end", 2, "coro.end", &[], NoResult(&[Old(0), Old(1), NoToken]), V22),
    ("ctlz.", 1, "ctlz", &[Parameter(0)], With(&[Old(0), False]), Both),
    ("cttz.", 1, "cttz", &[Parameter(0)], With(&[Old(0), False]), Both),
    ("dbg.addr", 3, "dbg.value", &[], Attached(&[Old(0), Old(1), Dereference]), V19),
    ("eh.typeid.for", 1, "eh.typeid.for", &[Parameter(0)], Same, V19),
    ("experimental.stepvector.", 0, "stepvector", &[Result], Same, V22),
    ("experimental.vector.deinterleave2.", 1, "vector.deinterleave2", &[Parameter(0)], Same, V19),
    ("experimental.vector.extract.", 2, "vector.extract", &[Result, Parameter(0)], Same, V19),
    ("experimental.vector.insert.", 3, "vector.insert", &[Parameter(0), Parameter(1)], Same, V19),
    ("experimental.vector.interleave2.", 2, "vector.interleave2", &[Result], Same, V19),
    ("experimental.vector.partial.reduce.add.", 2, "vector.partial.reduce.add", &[Result, Parameter(1)], Same, V22),
    ("experimental.vector.reduce.add.", 1, "vector.reduce.add", &[Parameter(0)], Same, Both),
    ("experimental.vector.reduce.and.", 1, "vector.reduce.and", &[Parameter(0)], Same, Both),
    ("experimental.vector.reduce.fmax.", 1, "vector.reduce.fmax", &[Parameter(0)], Same, Both),
    ("experimental.vector.reduce.fmin.", 1, "vector.reduce.fmin", &[Parameter(0)], Same, Both),
    ("experimental.vector.reduce.mul.", 1, "vector.reduce.mul", &[Parameter(0)], Same, Both),
    ("experimental.vector.reduce.or.", 1, "vector.reduce.or", &[Parameter(0)], Same, Both),
    ("experimental.vector.reduce.smax.", 1, "vector.reduce.smax", &[Parameter(0)], Same, Both),
    ("experimental.vector.reduce.smin.", 1, "vector.reduce.smin", &[Parameter(0)], Same, Both),
    ("experimental.vector.reduce.umax.", 1, "vector.reduce.umax", &[Parameter(0)], Same, Both),
    ("experimental.vector.reduce.umin.", 1, "vector.reduce.umin", &[Parameter(0)], Same, Both),
    ("experimental.vector.reduce.v2.fadd.", 2, "vector.reduce.fadd", &[Parameter(1)], Same, Both),
    ("experimental.vector.reduce.v2.fmul.", 2, "vector.reduce.fmul", &[Parameter(1)], Same, Both),
    ("experimental.vector.reduce.xor.", 1, "vector.reduce.xor", &[Parameter(0)], Same, Both),
    ("experimental.vector.reverse.", 1, "vector.reverse", &[Parameter(0)], Same, V19),
    ("experimental.vector.splice.", 3, "vector.splice", &[Parameter(0)], Same, V19),
    ("flt.rounds", 0, "get.rounding", &[], Same, V19),
    ("frameaddress", 1, "frameaddress", &[Result], Same, Both),
    ("invariant.group.barrier", 1, "launder.invariant.group", &[Parameter(0)], Same, Both),
    ("lifetime.end", 2, "lifetime.end", &[Parameter(0)], Lifetime, V22),
    ("lifetime.start", 2, "lifetime.start", &[Parameter(0)], Lifetime, V22),
    ("masked.gather.", 4, "masked.gather", &[Result, Parameter(0)], Attached(&[Old(0), Old(1), Old(2), Old(3)]), V14),
    ("masked.load.", 4, "masked.load", &[Result, Parameter(0)], Attached(&[Old(0), Old(1), Old(2), Old(3)]), V14),
    ("masked.scatter.", 4, "masked.scatter", &[Parameter(0), Parameter(1)], Attached(&[Old(0), Old(1), Old(2), Old(3)]), V14),
    ("masked.store.", 4, "masked.store", &[Parameter(0), Parameter(1)], Attached(&[Old(0), Old(1), Old(2), Old(3)]), V14),
    ("masked.gather.", 4, "masked.gather", &[Result, Parameter(0)], Same, Only19),
    ("masked.load.", 4, "masked.load", &[Result, Parameter(0)], Same, Only19),
    ("masked.scatter.", 4, "masked.scatter", &[Parameter(0), Parameter(1)], Same, Only19),
    ("masked.store.", 4, "masked.store", &[Parameter(0), Parameter(1)], Same, Only19),
    ("masked.gather.", 4, "masked.gather", &[Result, Parameter(0)], Masked(0), V22),
    ("masked.load.", 4, "masked.load", &[Result, Parameter(0)], Masked(0), V22),
    ("masked.scatter.", 4, "masked.scatter", &[Parameter(0), Parameter(1)], Masked(1), V22),
    ("masked.store.", 4, "masked.store", &[Parameter(0), Parameter(1)], Masked(1), V22),
    ("matrix.column.major.load.", 5, "matrix.column.major.load", &[Result, Parameter(1)], Same, Both),
    ("matrix.column.major.store.", 6, "matrix.column.major.store", &[Parameter(0), Parameter(2)], Same, Both),
    ("memcpy.", 5, "memcpy", &[Parameter(0), Parameter(1), Parameter(2)], Aligned(2), V14),
    ("memcpy.", 5, "memcpy", &[Parameter(0), Parameter(1), Parameter(2)], AlignedToo(2), V19),
    ("memmove.", 5, "memmove", &[Parameter(0), Parameter(1), Parameter(2)], Aligned(2), V14),
    ("memmove.", 5, "memmove", &[Parameter(0), Parameter(1), Parameter(2)], AlignedToo(2), V19),
    ("memset.", 5, "memset", &[Parameter(0), Parameter(2)], Aligned(1), V14),
    ("memset.", 5, "memset", &[Parameter(0), Parameter(2)], AlignedToo(1), V19),
    ("nvvm.brev32", 1, "bitreverse", &[Result], With(&[Old(0)]), Both),
    ("nvvm.brev64", 1, "bitreverse", &[Result], With(&[Old(0)]), Both),
    ("nvvm.clz.i", 1, "ctlz", &[Result], With(&[Old(0), False]), Both),
    ("nvvm.popc.i", 1, "ctpop", &[Result], With(&[Old(0)]), Both),
    ("objectsize.", 2, "objectsize", &[Result, Parameter(0)], With(&[Old(0), Old(1), False, False]), Both),
    ("objectsize.", 3, "objectsize", &[Result, Parameter(0)], With(&[Old(0), Old(1), OldOrFalse(2), False]), Both),
    ("objectsize.", 4, "objectsize", &[Result, Parameter(0)], Rebuilt, V19),
    ("powi.", 2, "powi", &[Result, Parameter(1)], Same, Both),
    ("ppc.fnmsub", 3, "ppc.fnmsub", &[Result], Same, V19),
    ("ppc.test.data.class", 2, "ppc.test.data.class", &[Parameter(0)], Same, V19),
    ("ptr.annotation.", 4, "ptr.annotation", &[Parameter(0)], With(&[Old(0), Old(1), Old(2), Old(3), NullPointer]), V14),
    ("ptr.annotation.", 4, "ptr.annotation", &[Parameter(0), Parameter(1)], With(&[Old(0), Old(1), Old(2), Old(3), NullPointer]), V19),
    ("ptr.annotation.", 5, "ptr.annotation", &[Parameter(0), Parameter(1)], Same, V19),
    ("stackprotectorcheck", 1, "", &[], Removed, Both),
    ("sponentry", 0, "sponentry", &[Result], Same, Both),
    ("thread.pointer", 0, "thread.pointer", &[Result], Same, V22),
    ("var.annotation", 4, "var.annotation", &[], With(&[Old(0), Old(1), Old(2), Old(3), NullPointer]), V14),
    ("var.annotation", 4, "var.annotation", &[Parameter(0), Parameter(1)], With(&[Old(0), Old(1), Old(2), Old(3), NullPointer]), V19),
    ("var.annotation", 5, "var.annotation", &[Parameter(0), Parameter(1)], Same, V19),
];

/// ARM's exclusive accesses, whose names end in the type of the pointer argument given here.
const EXCLUSIVE: &[(&str, usize)] = &[
    ("aarch64.ldaxr.", 0),
    ("aarch64.ldxr.", 0),
    ("aarch64.stlxr.", 1),
    ("aarch64.stxr.", 1),
    ("arm.ldaex.", 0),
    ("arm.ldrex.", 0),
    ("arm.stlex.", 1),
    ("arm.strex.", 1),
];

/// An intrinsic that returns what it is given, whatever its name says.
const SSA_COPY: &str = "llvm.ssa.copy.";

/// The replacement of one function.
struct Replacement {
    name: String,
    calls: CallRewrite,
}

/// How the calls of a module change.
pub(super) struct CallPlan {
    /// The functions whose calls change, by value id: the new callee and the change.
    calls: BTreeMap<u32, (ValueId, CallRewrite)>,
    /// There if some calls become atomic accesses.
    atomics: Option<AtomicContext>,
}

pub(super) fn is_old(module: &Module<'_>, dialect: Dialect) -> bool {
    (0..module.functions.len()).any(|at| replacement(module, at, dialect).is_some())
}

/// Returns whether a function is an intrinsic with a type that a version no longer has.
pub(crate) fn is_old_intrinsic(module: &Module<'_>, at: usize, dialect: Dialect) -> bool {
    replacement(module, at, dialect).is_some()
}

/// Returns whether a function is an intrinsic of a target that a version no longer has: nothing of this target takes its
/// place.
pub(crate) fn is_gone_intrinsic(module: &Module<'_>, at: usize, dialect: Dialect) -> bool {
    let target = |name: &[u8]| name.split(|&byte| byte == b'.').nth(1).map(<[u8]>::to_vec);
    let name = module.functions.get(at).and_then(|function| target(&function.symbol.name));
    replacement(module, at, dialect).is_some_and(|new| target(new.name.as_bytes()) != name)
}

fn replacement(module: &Module<'_>, at: usize, dialect: Dialect) -> Option<Replacement> {
    let function = module.functions.get(at)?;
    let old = core::str::from_utf8(function.symbol.name.strip_prefix(b"llvm.")?).ok()?;
    // None of them is variadic, but some intrinsics whose names start the same way are.
    let Type::Function { result, parameters, variadic: false } = module.types.get(function.symbol.ty) else {
        return None;
    };
    let parameters = module.types.elements(parameters);
    if let Some(operation) = atomics::operation(module, dialect, old, (result, parameters)) {
        return Some(Replacement { name: String::new(), calls: Atomic(operation) });
    }
    if let Some(expansion) = nvvm_intrinsics::expansion(dialect, old, parameters.len()) {
        return Some(Replacement { name: String::new(), calls: Expanded(expansion) });
    }
    let opaque = dialect.is_opaque();
    let of_version = |by: Versions| match by {
        Both => true,
        V14 => !opaque,
        V19 => opaque,
        Only19 => dialect == Dialect::Llvm19,
        V22 => dialect == Dialect::Llvm22,
    };
    let (new, overloads, calls) = match TABLE.iter().find(|(prefix, count, .., by)| {
        let rest = old.strip_prefix(prefix);
        let named =
            rest.is_some_and(|rest| prefix.ends_with('.') || rest.is_empty() || rest.starts_with('.'));
        named && (*count == 0 || *count == parameters.len()) && of_version(*by)
    }) {
        Some(&(_, _, new, overloads, calls, _)) => (new, overloads.to_vec(), calls),
        None if opaque => match EXCLUSIVE.iter().find(|(prefix, _)| old.starts_with(prefix)) {
            Some((prefix, pointer)) => (prefix.trim_end_matches('.'), alloc::vec![Parameter(*pointer)], Same),
            None => {
                let name = core::str::from_utf8(&function.symbol.name).ok()?;
                if let Some(name) = image_name(module, dialect, name, parameters) {
                    return Some(Replacement { name, calls: Same });
                }
                let is_old = returns_old_struct(module, dialect, name, result);
                return is_old.then(|| Replacement {
                    name: String::from(name),
                    calls: Struct { keeps_attributes: dialect == Dialect::Llvm22 },
                });
            }
        },
        None => return None,
    };
    if calls == Removed {
        return Some(Replacement { name: String::new(), calls });
    }
    if new == "aarch64.neon.faddp" && !module.types.is_float(result) {
        return None;
    }
    let mut name = String::from("llvm.");
    name.push_str(new);
    let mut is_unnamed = false;
    for overload in overloads {
        name.push('.');
        let ty = match overload {
            Result => result,
            Parameter(at) => *parameters.get(at)?,
            Overload::Bfloats => {
                let Type::Vector { count, .. } = module.types.get(result) else { return None };
                name.push_str(if count == 2 { "v4bf16" } else { "v8bf16" });
                continue;
            }
        };
        mangle::push_type(&mut name, &module.types, ty, opaque, 0);
        is_unnamed |= !opaque && mangle::has_unnamed(&module.types, ty);
    }
    if is_unnamed {
        name.push_str(mangle::FIRST_UNNAMED);
    }
    let renamed = name.as_bytes() != function.symbol.name;
    (renamed || !matches!(calls, Same | Rebuilt | Attached(_))).then_some(Replacement { name, calls })
}

/// Returns the name of an access to an image of AMD's, which ends in the types of the image and the sampler since LLVM 22.
fn image_name(module: &Module<'_>, dialect: Dialect, old: &str, parameters: &[TypeId]) -> Option<String> {
    if dialect != Dialect::Llvm22 || !old.starts_with("llvm.amdgcn.image.") {
        return None;
    }
    let words = |at: usize| match module.types.get(*parameters.get(at)?) {
        Type::Vector { element, count, scalable: false }
            if module.types.get(element) == Type::Integer(32) =>
        {
            Some(count)
        }
        _ => None,
    };
    let image = (0..parameters.len()).rev().find(|&at| words(at) == Some(8))?;
    let types = if words(image + 1) == Some(4) { ".v8i32.v4i32" } else { ".v8i32" };
    (!old.ends_with(types)).then(|| String::from(old) + types)
}

/// Returns whether an intrinsic that LLVM knows returns an identified or packed struct, although it always returns a
/// literal one. The name of an intrinsic that returns what it is used with ends in that type.
fn returns_old_struct(module: &Module<'_>, dialect: Dialect, name: &str, result: TypeId) -> bool {
    let Type::Struct(structure) = module.types.get(result) else { return false };
    if structure.literal && !structure.packed {
        return false;
    }
    let known = Intrinsic::find(dialect, name.as_bytes()).is_some() && !name.starts_with(SSA_COPY);
    let mut mangled = String::from(".");
    mangle::push_type(&mut mangled, &module.types, result, true, 0);
    known && !name.contains(&mangled)
}

/// Replaces declarations; [`CallPlan::upgrade_calls`] changes the calls.
pub(super) fn upgrade(module: &mut Module<'_>, dialect: Dialect) -> CallPlan {
    let (mut plan, mut atomics) = (BTreeMap::new(), None);
    let mut names: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for (at, function) in module.functions.iter().enumerate() {
        names.insert(function.symbol.name.clone(), at);
    }
    for at in 0..module.functions.len() {
        let Some(Replacement { name, calls }) = replacement(module, at, dialect) else { continue };
        if matches!(calls, Atomic(_) | Expanded(_) | Removed) {
            if atomics.is_none() && matches!(calls, Atomic(_)) {
                atomics = Some(AtomicContext::new(module, dialect));
            }
            if let Some(function) = module.functions.get_mut(at) {
                function.position = UpgradedPosition::Replaced;
                plan.insert(function.symbol.value.0, (function.symbol.value, calls));
            }
            continue;
        }
        let Some(ty) = new_type(module, at, calls) else { continue };
        let existing = names.get(name.as_bytes()).copied().filter(|&other| other != at);
        let existing = existing.and_then(|other| module.functions.get(other)).map(|other| other.symbol.value);
        let pointer = editor::pointer_to(module, ty);
        let Some(function) = module.functions.get_mut(at) else { continue };
        let value = function.symbol.value;
        match existing {
            Some(_) => function.position = UpgradedPosition::Replaced,
            None => {
                function.position = UpgradedPosition::AtEnd;
                names.insert(name.clone().into_bytes(), at);
                function.symbol.name = name.into_bytes();
                function.symbol.ty = ty;
                if calls == Lifetime {
                    function.attributes = AttributeListId::NONE;
                }
            }
        }
        if existing.is_none()
            && let Some(value) = module.value_mut(value)
        {
            value.ty = pointer;
        }
        if calls != Same || existing.is_some() {
            plan.insert(value.0, (existing.unwrap_or(value), calls));
        }
    }
    CallPlan { calls: plan, atomics }
}

/// Returns the type of the new function.
fn new_type(module: &mut Module<'_>, at: usize, calls: CallRewrite) -> Option<TypeId> {
    let ty = module.functions.get(at)?.symbol.ty;
    let Type::Function { result, parameters, variadic } = module.types.get(ty) else { return None };
    let old = module.types.elements(parameters).to_vec();
    let (bit, byte) = (module.types.intern(Type::Integer(1)), module.types.intern(Type::Integer(8)));
    let arguments: &[NewArgument] = match calls {
        Same | Rebuilt | Atomic(_) | Expanded(_) | Removed => return Some(ty),
        Struct { .. } => {
            let Type::Struct(structure) = module.types.get(result) else { return None };
            let fields = module.types.elements(structure.fields).to_vec();
            let literal = module.types.intern_literal(&fields);
            return Some(module.types.intern_function(literal, &old, variadic));
        }
        Aligned(_) | AlignedToo(_) => &[Old(0), Old(1), Old(2), Old(4)],
        Masked(0) => &[Old(0), Old(2), Old(3)],
        Masked(_) => &[Old(0), Old(1), Old(3)],
        // LLVM declares the marker of a number, which it never calls.
        Lifetime => &[Old(0)],
        With(arguments) | Attached(arguments) | NoResult(arguments) => arguments,
    };
    let mut parameters = Vec::new();
    for argument in arguments {
        parameters.push(match *argument {
            Old(at) => *old.get(at)?,
            Bfloats(at) => bfloats(module, *old.get(at)?)?,
            False => bit,
            OldOrFalse(at) => old.get(at).copied().unwrap_or(bit),
            NullPointer => editor::pointer_to(module, byte),
            NoToken => module.types.intern(Type::Token),
            Dereference => *old.last()?,
        });
    }
    let result = if matches!(calls, NoResult(_)) { module.types.intern(Type::Void) } else { result };
    Some(module.types.intern_function(result, &parameters, variadic))
}

/// Returns the vector of `bfloat` with the width of a vector of bytes.
fn bfloats(module: &mut Module<'_>, bytes: TypeId) -> Option<TypeId> {
    let Type::Vector { count, .. } = module.types.get(bytes) else { return None };
    let element = module.types.intern(Type::BFloat);
    Some(module.types.intern(Type::Vector { count: count / 2, element, scalable: false }))
}

impl CallPlan {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn upgrade_calls(&self, module: &mut Module<'_>, body: &mut FunctionBody) {
        let called = |operand: &Operand| operand.as_value().is_some_and(|id| self.calls.contains_key(&id.0));
        if !body.operands.iter().any(called) {
            return;
        }
        let markers = self.calls.iter().filter(|(_, (_, calls))| *calls == Lifetime);
        let markers: Vec<ValueId> = markers.map(|(&old, _)| ValueId(old)).collect();
        let variables = super::lifetimes::variables(module, body, &markers);
        editor::rewrite(module, body, |editor, _, instruction| {
            let operands = editor.body.operands_of(&instruction).to_vec();
            let callee = operands.first().and_then(|callee| callee.as_value());
            let planned = callee.and_then(|callee| self.calls.get(&callee.0));
            match planned {
                Some((_, Lifetime)) if instruction.opcode == Opcode::Call => {
                    if let Some(&(marker, variable)) = variables.get(&instruction.detail) {
                        let call = editor.call(marker, &[Operand::value(variable)]);
                        editor.push(call);
                    }
                    AttachmentOutcome::Dropped
                }
                Some((_, Removed)) if instruction.opcode == Opcode::Call => AttachmentOutcome::Dropped,
                Some(&(_, Atomic(operation))) if instruction.opcode == Opcode::Call => {
                    let arguments = operands.get(1..).unwrap_or_default();
                    match self.atomics {
                        Some(context) => context.rebuild(editor, instruction, operation, arguments),
                        None => AttachmentOutcome::Dropped,
                    }
                }
                Some(&(_, Expanded(expansion))) if instruction.opcode == Opcode::Call => {
                    let arguments = operands.get(1..).unwrap_or_default();
                    nvvm_intrinsics::rebuild(editor, instruction, expansion, arguments)
                }
                Some(&(callee, calls)) if instruction.opcode == Opcode::Call => {
                    rebuild(editor, instruction, callee, calls, operands.get(1..).unwrap_or_default())
                }
                _ => {
                    editor.push(instruction);
                    AttachmentOutcome::Kept
                }
            }
        });
    }
}

/// Rebuilds a call.
fn rebuild(
    editor: &mut Editor<'_, '_>,
    old: Instruction,
    callee: ValueId,
    calls: CallRewrite,
    arguments: &[Operand],
) -> AttachmentOutcome {
    let listed: &[NewArgument] = match calls {
        Same => {
            let operands: Vec<Operand> = [Operand::value(callee)].iter().chain(arguments).copied().collect();
            let operands = editor.operands(&operands);
            editor.push(Instruction { operands, ..old });
            return AttachmentOutcome::Kept;
        }
        Struct { keeps_attributes } => {
            let attributes = editor.body.calls.get(old.detail as usize).map(|call| call.attributes);
            let attributes = attributes.filter(|_| keeps_attributes);
            return rebuild_struct(editor, old, callee, arguments, attributes);
        }
        Masked(0) => &[Old(0), Old(2), Old(3)],
        Masked(_) => &[Old(0), Old(1), Old(3)],
        Lifetime | Atomic(_) | Expanded(_) | Rebuilt | Removed => &[],
        Aligned(_) | AlignedToo(_) => &[Old(0), Old(1), Old(2), Old(4)],
        With(listed) | Attached(listed) | NoResult(listed) => listed,
    };
    let rebuilt: Option<Vec<Operand>> = match calls {
        Rebuilt => Some(arguments.to_vec()),
        _ => listed.iter().map(|&argument| new_argument(editor, argument, arguments)).collect(),
    };
    let Some(rebuilt) = rebuilt else {
        editor.push(old);
        return AttachmentOutcome::Kept;
    };
    let mut call = editor.call(callee, &rebuilt);
    // A result keeps its name when it loses its type. LLVM prints it, and instructions that use it, so.
    let is_kept = !matches!(calls, NoResult(_)) || !editor.body.value_name(old.result).is_empty();
    if is_kept {
        call.result = old.result;
    }
    if let (NoResult(_), Some(value)) = (calls, editor.body.value_mut(old.result)) {
        value.ty = call.ty;
    }
    if matches!(calls, AlignedToo(_)) {
        keep_attributes(editor, &old, &call);
    }
    if let (Aligned(pointers) | AlignedToo(pointers), Some(alignment)) = (calls, arguments.get(3)) {
        align(editor, &call, pointers, *alignment);
    }
    if let Masked(pointer) = calls {
        align_masked(editor, &old, &call, pointer);
    }
    editor.push(call);
    if matches!(calls, Attached(_) | Masked(_)) {
        AttachmentOutcome::Kept
    } else {
        AttachmentOutcome::Dropped
    }
}

/// Returns an argument of a rebuilt call.
fn new_argument(editor: &mut Editor<'_, '_>, argument: NewArgument, old: &[Operand]) -> Option<Operand> {
    let falsehood = |editor: &mut Editor<'_, '_>| {
        let bit = editor.module.types.intern(Type::Integer(1));
        editor.constant(bit, Constant::Null)
    };
    Some(match argument {
        Old(at) => *old.get(at)?,
        OldOrFalse(at) => match old.get(at) {
            Some(&operand) => operand,
            None => falsehood(editor),
        },
        False => falsehood(editor),
        NullPointer => {
            let byte = editor.module.types.intern(Type::Integer(8));
            let pointer = editor::pointer_to(editor.module, byte);
            editor.constant(pointer, Constant::Null)
        }
        NoToken => {
            let token = editor.module.types.intern(Type::Token);
            editor.constant(token, Constant::Null)
        }
        Bfloats(at) => {
            let operand = *old.get(at)?;
            let ty = bfloats(editor.module, editor.type_of(operand))?;
            Operand::value(editor.emit(Opcode::BitCast, ty, &[operand]))
        }
        Dereference => {
            let expression = super::debug_info::dereference(editor.module, editor.body, *old.get(2)?)?;
            Operand::metadata(expression)
        }
    })
}

/// Gives a new call the attributes of the old one, which had an alignment as its argument 3.
fn keep_attributes(editor: &mut Editor<'_, '_>, old: &Instruction, call: &Instruction) {
    let moved = [
        (index::FUNCTION, index::FUNCTION),
        (index::RESULT, index::RESULT),
        (index::parameter(0), index::parameter(0)),
        (index::parameter(1), index::parameter(1)),
        (index::parameter(2), index::parameter(2)),
        (index::parameter(4), index::parameter(3)),
    ];
    let Some(list) = editor.body.calls.get(old.detail as usize).map(|call| call.attributes) else { return };
    let attributes = &mut editor.module.attributes;
    let set = |(from, to)| Some((to, attributes.of(list, from)?));
    let mut sets: Vec<_> = moved.into_iter().filter_map(set).collect();
    if let (false, Some(call)) = (sets.is_empty(), editor.body.calls.get_mut(call.detail as usize)) {
        call.attributes = attributes.add_list(&mut sets);
    }
}

/// Adds to the pointers of a call the alignment that an argument gave, unless it is zero.
fn align(editor: &mut Editor<'_, '_>, call: &Instruction, pointers: usize, alignment: Operand) {
    let bytes = alignment.as_value().and_then(|id| editor.module.integer(Some(editor.body), id)).unwrap_or(0);
    if bytes == 0 || !bytes.is_power_of_two() {
        return;
    }
    let Some(call) = editor.body.calls.get_mut(call.detail as usize) else { return };
    for at in 0..pointers {
        call.attributes =
            editor.module.attributes.with_changed_set(call.attributes, index::parameter(at), |set| {
                set.push(Attribute::Integer(kind::ALIGN, bytes));
            });
    }
}

/// Adds to the pointer of a masked access the alignment that the next argument gave, or that of the elements if it is
/// zero. The new call is a tail call if the old one is.
fn align_masked(editor: &mut Editor<'_, '_>, old: &Instruction, call: &Instruction, pointer: usize) {
    let operands = editor.body.operands_of(old).to_vec();
    let alignment = operands.get(pointer + 2).and_then(|operand| operand.as_value());
    let alignment = alignment.and_then(|id| editor.module.integer(Some(editor.body), id)).unwrap_or(0);
    let data =
        if pointer == 0 { old.ty } else { operands.get(1).map_or(old.ty, |&data| editor.type_of(data)) };
    let element = editor.module.types.scalar(data);
    let bytes = match alignment {
        0 => editor.module.data_layout.required_alignment(&editor.module.types, element),
        bytes => bytes,
    };
    let tail = editor.body.calls.get(old.detail as usize).map_or(0, |call| call.tail);
    let Some(call) = editor.body.calls.get_mut(call.detail as usize) else { return };
    call.tail = tail;
    if bytes.is_power_of_two() {
        call.attributes =
            editor.module.attributes.with_changed_set(call.attributes, index::parameter(pointer), |set| {
                set.push(Attribute::Integer(kind::ALIGN, bytes));
            });
    }
}

/// Rebuilds a call that returns a literal struct, and builds the old identified struct from its fields.
fn rebuild_struct(
    editor: &mut Editor<'_, '_>,
    old: Instruction,
    callee: ValueId,
    arguments: &[Operand],
    attributes: Option<AttributeListId>,
) -> AttachmentOutcome {
    let mut call = editor.call(callee, arguments);
    call.result = editor.value(call.ty, &[]);
    if let (Some(attributes), Some(call)) = (attributes, editor.body.calls.get_mut(call.detail as usize)) {
        call.attributes = attributes;
    }
    editor.push(call);
    let fields = match editor.module.types.get(old.ty) {
        Type::Struct(structure) => editor.module.types.elements(structure.fields).to_vec(),
        _ => Vec::new(),
    };
    let mut whole = editor.constant(old.ty, Constant::Poison);
    for (at, &ty) in fields.iter().enumerate() {
        let at_index = editor.body.indices.len() as u32;
        editor.body.indices.push(at as u32);
        let mut extract = editor.instruction(Opcode::ExtractValue, ty, &[Operand::value(call.result)]);
        (extract.detail, extract.extra) = (at_index, 1);
        extract.result = editor.value(ty, &[]);
        editor.push(extract);
        let mut insert =
            editor.instruction(Opcode::InsertValue, old.ty, &[whole, Operand::value(extract.result)]);
        (insert.detail, insert.extra) = (at_index, 1);
        let last = at + 1 == fields.len();
        if last {
            editor.body.forget_name(old.result);
        }
        insert.result = if last { old.result } else { editor.value(old.ty, &[]) };
        editor.push(insert);
        whole = Operand::value(insert.result);
    }
    AttachmentOutcome::Dropped
}

/// Returns the function that a call calls directly.
pub(super) fn callee_of(
    module: &Module<'_>,
    body: &FunctionBody,
    instruction: &Instruction,
) -> Option<usize> {
    let callee = body.operands_of(instruction).first()?.as_value()?;
    match module.value(Some(body), callee)?.kind {
        ValueKind::Function(index) => Some(index as usize),
        _ => None,
    }
}
