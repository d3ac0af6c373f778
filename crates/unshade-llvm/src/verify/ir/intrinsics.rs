//! The signatures of intrinsics: their declared types must be those that LLVM knows for their names.
//!
//! A signature in [`intrinsic_table`] is a result and parameters:
//!
//! | text | is |
//! |---|---|
//! | `v`, `m`, `t`, `X`, `Z`, `E` | void, metadata, token, `x86_mmx`, `x86_amx`, a reference |
//! | `i32`, `h`, `b`, `f`, `d`, `x`, `q`, `y` | integers, and floating-point types from half to `ppc_fp128` |
//! | `p`, `p1`, `p[i8]` | pointers, with address space and with what they point to if pointers are typed |
//! | `<4f>`, `k<4f>` | vectors, fixed and scalable |
//! | `I`, `F`, `V`, `P`, `A` | overloads: any integer or float or vector of them, any vector, pointer, type |
//! | `=0` | the first overload; `=0e` its elements, `=0h` half of them, `=0n3` a third, `=0o` pointers, `=0r` a pointer to it, `=0w(i1)` as many `i1`, `=0+` and `=0-` of twice and half the width |
//! | `{…}`, `.` | a struct; variadic arguments |
//!
//! The types in the name of an overloaded intrinsic are not compared: LLVM renames intrinsics when it reads a module, so
//! names with other types are accepted everywhere.
//!
//! Knowledge: the Language Reference on intrinsics.

use super::context::Context;
use super::findings::Findings;
use super::intrinsic_table::TABLE;
use crate::ids::TypeId;
use crate::module::Module;
use crate::print::push_mangled_type;
use crate::types::Type;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub(super) const RULE: &str = "ir-intrinsic";

/// A known intrinsic.
#[derive(Debug)]
pub(super) struct Intrinsic {
    /// The name, without `llvm.` and types.
    pub(super) name: &'static str,
    /// The signatures, separated by `|`.
    pub(super) signatures: &'static str,
    /// The parameters that take constants only.
    pub(super) immediates: &'static [u8],
}

impl Intrinsic {
    /// Finds the intrinsic with a function's name, ignoring the types mangled into it.
    pub(super) fn find(name: &[u8]) -> Option<&'static Self> {
        let mut name = core::str::from_utf8(name.strip_prefix(b"llvm.")?).ok()?;
        loop {
            if let Ok(at) = TABLE.binary_search_by_key(&name, |row| row.name) {
                return TABLE.get(at);
            }
            name = name.rsplit_once('.')?.0;
        }
    }

    /// Returns whether a parameter takes constants only.
    pub(super) fn is_immediate(&self, parameter: usize) -> bool {
        self.immediates.iter().any(|&at| usize::from(at) == parameter)
    }

    fn alternatives(&self) -> impl Iterator<Item = &'static str> {
        self.signatures.split('|')
    }
}

impl Context<'_, '_> {
    /// Checks the type of an intrinsic's declaration.
    pub(super) fn check_signature(&self, intrinsic: &Intrinsic, ty: TypeId, findings: &mut Findings) {
        let Type::Function { result, parameters, variadic } = self.get(ty) else { return };
        let parameters = self.table().elements(parameters);
        let declared = Declared { result, parameters, variadic };
        let known = intrinsic.alternatives().any(|signature| Matcher::new(self, signature).matches(&declared));
        // Later versions may have changed any of them.
        if !known && self.generation <= 22 {
            let signature = intrinsic.alternatives().next().unwrap_or_default();
            findings.add_found(RULE, "an intrinsic has another type", signature.into());
        }
    }
}

/// What is known of the type that a call uses an intrinsic with.
pub(crate) enum Signature {
    /// It is one that the intrinsic has; this is its name with `llvm.` and with the types that it is used with.
    Overloaded(String),
    /// The intrinsic has another type.
    Other,
    /// There is no table of the types of this intrinsic.
    Unknown,
}

/// Intrinsics that have no types in their names before LLVM 22.
const OVERLOADED_LATER: [&str; 2] = ["stackprotectorcheck", "thread.pointer"];

/// Returns what is known of intrinsics of LLVM 19, each with a type.
pub(crate) fn intrinsic_signatures<'n>(
    module: &Module<'_>,
    intrinsics: impl Iterator<Item = (&'n [u8], TypeId)>,
) -> Vec<Signature> {
    let context = Context::new(module);
    intrinsics.map(|(name, ty)| signature(&context, name, ty)).collect()
}

fn signature(context: &Context<'_, '_>, name: &[u8], ty: TypeId) -> Signature {
    let Some(intrinsic) = Intrinsic::find(name) else { return Signature::Unknown };
    let Type::Function { result, parameters, variadic } = context.get(ty) else { return Signature::Other };
    let declared = Declared { result, parameters: context.table().elements(parameters), variadic };
    let overloads = intrinsic.alternatives().filter_map(|signature| Matcher::new(context, signature).overloads(&declared));
    // Later versions added overloads.
    let Some(overloads) = overloads.max_by_key(Vec::len) else { return Signature::Other };
    let mut overloaded = format!("llvm.{}", intrinsic.name);
    if !OVERLOADED_LATER.contains(&intrinsic.name) {
        for ty in overloads {
            overloaded.push('.');
            push_mangled_type(&mut overloaded, context.table(), ty);
        }
    }
    Signature::Overloaded(overloaded)
}

/// The type that a module declares an intrinsic with.
struct Declared<'t> {
    result: TypeId,
    parameters: &'t [TypeId],
    variadic: bool,
}

/// Compares a signature with types. A first pass collects the overloads, a second one compares.
struct Matcher<'c, 'm, 'a> {
    context: &'c Context<'m, 'a>,
    text: &'static [u8],
    at: usize,
    overloads: Vec<TypeId>,
    collects: bool,
}

impl<'c, 'm, 'a> Matcher<'c, 'm, 'a> {
    fn new(context: &'c Context<'m, 'a>, signature: &'static str) -> Self {
        Self { context, text: signature.as_bytes(), at: 0, overloads: Vec::new(), collects: true }
    }

    fn matches(self, declared: &Declared<'_>) -> bool {
        self.overloads(declared).is_some()
    }

    /// Returns the overloads, if the signature is that of the declaration.
    fn overloads(mut self, declared: &Declared<'_>) -> Option<Vec<TypeId>> {
        for collects in [true, false] {
            (self.at, self.collects) = (0, collects);
            self.signature(declared)?;
        }
        Some(self.overloads)
    }

    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn next(&mut self) -> u8 {
        let next = self.peek();
        self.at = self.at.saturating_add(1);
        next
    }

    fn eat(&mut self, expected: u8) -> bool {
        let found = self.peek() == expected;
        if found {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    fn number(&mut self) -> Option<u32> {
        let start = self.at;
        let mut number = 0u32;
        while self.peek().is_ascii_digit() {
            number = number.saturating_mul(10).saturating_add(u32::from(self.next().wrapping_sub(b'0')));
        }
        (self.at > start).then_some(number)
    }

    fn signature(&mut self, declared: &Declared<'_>) -> Option<()> {
        self.ty(declared.result)?;
        self.eat(b'(').then_some(())?;
        let mut parameters = declared.parameters.iter();
        let mut variadic = false;
        while !self.eat(b')') {
            if self.eat(b'.') {
                variadic = true;
            } else {
                self.ty(*parameters.next()?)?;
            }
            self.eat(b',');
        }
        (parameters.next().is_none() && variadic == declared.variadic).then_some(())
    }

    /// Compares the next type of the signature; `None` if it differs.
    fn ty(&mut self, ty: TypeId) -> Option<()> {
        let actual = self.context.get(ty);
        let holds = match self.next() {
            b'v' => matches!(actual, Type::Void),
            b'm' => matches!(actual, Type::Metadata),
            b't' => matches!(actual, Type::Token),
            b'X' => matches!(actual, Type::X86Mmx),
            b'Z' => matches!(actual, Type::X86Amx),
            b'E' | b'S' => true,
            b'i' => {
                let width = self.number()?;
                matches!(actual, Type::Integer(found) if found == width)
            }
            b'h' => matches!(actual, Type::Half),
            b'b' => matches!(actual, Type::BFloat),
            b'f' => matches!(actual, Type::Float),
            b'd' => matches!(actual, Type::Double),
            b'x' => matches!(actual, Type::X86Fp80),
            b'q' => matches!(actual, Type::Fp128),
            b'y' => matches!(actual, Type::PpcFp128),
            b'p' => return self.pointer(ty),
            b'<' => return self.vector(actual, false),
            b'k' => {
                self.eat(b'<');
                return self.vector(actual, true);
            }
            b'{' => return self.structure(actual),
            b'=' => return self.matched(ty),
            class => return self.overload(class, ty),
        };
        holds.then_some(())
    }

    fn overload(&mut self, class: u8, ty: TypeId) -> Option<()> {
        let context = self.context;
        if self.collects {
            self.overloads.push(ty);
        }
        let holds = match class {
            b'I' => context.is_integer_or_vector(ty),
            b'F' => context.is_float_or_vector(ty),
            b'V' => context.is_vector(ty),
            b'P' => context.is_pointer(ty),
            b'A' => true,
            _ => false,
        };
        holds.then_some(())
    }

    fn pointer(&mut self, ty: TypeId) -> Option<()> {
        let space = self.number().unwrap_or(0);
        let table = self.context.table();
        let found = table.address_space(ty).filter(|_| table.is_pointer(ty));
        let pointee = table.pointee(ty);
        if self.eat(b'[') {
            match pointee {
                // A pointer to void is written as one to an empty struct.
                Some(_) if self.eat(b'v') => {}
                Some(pointee) => self.ty(pointee)?,
                None => {
                    let mut depth = 1u32;
                    while depth > 0 {
                        match self.peek() {
                            b'[' => depth = depth.saturating_add(1),
                            b']' => depth = depth.saturating_sub(1),
                            0 => return None,
                            _ => {}
                        }
                        if depth > 0 {
                            self.next();
                        }
                    }
                }
            }
            self.eat(b']');
        }
        (found == Some(space)).then_some(())
    }

    fn vector(&mut self, actual: Type, is_scalable: bool) -> Option<()> {
        let count = self.number()?;
        let Type::Vector { count: found, element, scalable } = actual else { return None };
        self.ty(element)?;
        self.eat(b'>');
        (count == found && scalable == is_scalable).then_some(())
    }

    fn structure(&mut self, actual: Type) -> Option<()> {
        let Type::Struct(structure) = actual else { return None };
        let mut fields = self.context.table().elements(structure.fields).iter();
        while !self.eat(b'}') {
            self.ty(*fields.next()?)?;
            self.eat(b',');
        }
        fields.next().is_none().then_some(())
    }

    /// Compares a type with one that follows from an overload.
    fn matched(&mut self, ty: TypeId) -> Option<()> {
        let number = usize::from(self.next().wrapping_sub(b'0'));
        let derived = match self.peek() {
            how @ (b'e' | b'h' | b'n' | b'o' | b'r' | b'w' | b'+' | b'-' | b'2' | b'4' | b'c') => {
                self.next();
                how
            }
            _ => 0,
        };
        let argument = if derived == b'n' { self.number()? } else { 0 };
        let context = self.context;
        if derived == b'w' {
            self.eat(b'(');
            let scalar = context.table().scalar(ty);
            self.ty(scalar)?;
            self.eat(b')');
        }
        if self.collects {
            return Some(());
        }
        let of = *self.overloads.get(number)?;
        let (bits, lanes) = (context.scalar_bits(of), context.lanes(of));
        let divided = |by: u32, lanes: Option<(u32, bool)>| lanes.map(|(count, scalable)| (count.checked_div(by), scalable));
        let same_scalar = || context.same(context.table().scalar(ty), context.table().scalar(of));
        let counted = |ty: TypeId| context.lanes(ty).map(|(count, scalable)| (Some(count), scalable));
        let holds = match derived {
            0 => context.same(ty, of),
            b'e' => context.same(ty, context.table().scalar(of)),
            b'w' => context.lanes(ty) == lanes,
            b'h' => same_scalar() && counted(ty) == divided(2, lanes),
            b'n' => same_scalar() && counted(ty) == divided(argument, lanes),
            b'o' => context.is_pointer_or_vector(ty) && context.lanes(ty) == lanes,
            b'r' => context.is_pointer(ty) && context.table().pointee(ty).is_none_or(|pointee| context.same(pointee, of)),
            b'+' => context.scalar_bits(ty) == bits.saturating_mul(2) && context.lanes(ty) == lanes,
            b'-' => context.scalar_bits(ty) == bits / 2 && context.lanes(ty) == lanes,
            _ => context.is_vector(ty),
        };
        holds.then_some(())
    }
}
