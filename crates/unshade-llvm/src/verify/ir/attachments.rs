//! Metadata that is attached to instructions and functions, and nodes that describe aliasing.
//!
//! Knowledge: the Language Reference on metadata; what LLVM 14 and 19 refuse.

use super::body::BodyCheck;
use super::context::Context;
use super::metadata_view::View;
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, TypeId, ValueId};
use crate::instruction::{Instruction, Opcode};
use alloc::vec::Vec;

pub(super) const RULE: &str = "ir-metadata";

type Check = for<'b, 'c, 'm, 'a> fn(&'b mut BodyCheck<'c, 'm, 'a>, &Instruction, MetadataId);

/// The kinds of attachments that have rules.
const KINDS: &[(&[u8], Check)] = &[
    (b"DIAssignID", |check, of, id| check.assign_id(of, id)),
    (b"align", |check, of, id| check.aligned(of, id)),
    (b"alias.scope", |check, of, id| check.scope_list(of, id)),
    (b"annotation", |check, of, id| check.annotation(of, id)),
    (b"callsite", |check, of, id| check.call_stack(of, id)),
    (b"dbg", |check, _, id| {
        let is_location = check.context.node_kind(Some(check.body), id) == Some(NodeKind::Location);
        check.require(is_location, super::debug_info::RULE, "the debug information of an instruction is no location");
    }),
    (b"dereferenceable", |check, of, id| check.dereferenced(of, id)),
    (b"dereferenceable_or_null", |check, of, id| check.dereferenced(of, id)),
    (b"fpmath", |check, of, id| check.accuracy(of, id)),
    (b"invariant.group", |check, of, _| {
        let accesses = matches!(of.opcode, Opcode::Load | Opcode::Store);
        check.require(accesses, RULE, "invariant.group is for loads and stores only");
    }),
    (b"llvm.access.group", |check, of, id| check.access_group(of, id)),
    (b"llvm.loop", |check, of, id| check.loop_locations(of, id)),
    (b"memprof", |check, of, id| check.memory_profile(of, id)),
    (b"mmra", |check, of, id| check.relaxations(of, id)),
    (b"noalias", |check, of, id| check.scope_list(of, id)),
    (b"nonnull", |check, of, _| {
        check.require(check.context.is_pointer(of.ty), RULE, "nonnull is for pointers only");
        check.require(of.opcode == Opcode::Load, RULE, "nonnull is for loads only");
    }),
    (b"prof", |check, of, id| check.profile(of, id)),
    (b"range", |check, of, id| check.range(of, id)),
    (b"tbaa", |check, of, id| check.access_type(of, id)),
];

/// The checks of the kinds of a module, by their numbers in the file.
pub(super) fn kinds_of(context: &Context<'_, '_>) -> Vec<Option<Check>> {
    let mut kinds: Vec<Option<Check>> = Vec::new();
    for (number, name) in &context.module.metadata_kinds {
        let check = KINDS.iter().find(|(known, _)| **known == **name).map(|&(_, check)| check);
        let at = *number as usize;
        // Kinds are numbered from 0 on; a file can't have more than it lists.
        if at > context.module.metadata_kinds.len().saturating_mul(4).saturating_add(1024) {
            continue;
        }
        if kinds.len() <= at {
            kinds.resize(at.saturating_add(1), None);
        }
        if let Some(slot) = kinds.get_mut(at) {
            *slot = check;
        }
    }
    kinds
}

/// A check of an attachment, for the table of a module's kinds.
pub(super) type AttachmentCheck = Check;

impl BodyCheck<'_, '_, '_> {
    /// Checks the attachments of all instructions.
    pub(super) fn attachments(&mut self, kinds: &[Option<AttachmentCheck>]) {
        for &(instruction, attached) in &self.body.attachments {
            let Some(of) = self.body.instructions.get(instruction as usize) else { continue };
            self.enter(instruction);
            for &(kind, id) in attached.of(&self.body.attached) {
                let Some(check) = kinds.get(kind as usize).copied().flatten() else { continue };
                // A node that many instructions of a kind share is checked once.
                if self.attached.insert((kind, id, of.opcode as u8, of.ty)) || self.is_small(id) {
                    check(self, of, id);
                }
            }
        }
    }

    /// Returns whether a node is so small that checking it often takes no time.
    fn is_small(&self, id: MetadataId) -> bool {
        const SMALL: u32 = 64;
        self.context.view(Some(self.body), id).is_none_or(|view| view.node.references <= SMALL)
    }

    fn tuple(&self, id: MetadataId) -> Option<View<'_>> {
        self.context.view(Some(self.body), id).filter(|view| view.node.kind == NodeKind::Tuple)
    }

    /// Returns the type of a constant that is an operand of a node, and the constant.
    fn constant_operand(&self, view: &View<'_>, at: usize) -> Option<(TypeId, ValueId)> {
        let value = self.context.metadata_value(Some(self.body), view.reference(at)?)?;
        self.context.constant(Some(self.body), value)?;
        Some((self.type_of(value), value))
    }

    fn accuracy(&mut self, of: &Instruction, id: MetadataId) {
        let context = self.context;
        self.require(context.is_float_or_vector(of.ty), RULE, "fpmath is for floating-point numbers only");
        let value = context.view(Some(self.body), id).filter(|view| view.node.references == 1).and_then(|view| {
            self.constant_operand(&view, 0)
        });
        let positive = value.is_some_and(|(ty, value)| {
            let is_float = matches!(context.get(ty), crate::types::Type::Float);
            let bits = match context.constant(Some(self.body), value) {
                Some((Constant::Float(bits), _)) => bits,
                _ => 0,
            };
            // The sign is the highest bit; the exponent of finite numbers is not all ones.
            is_float && bits != 0 && bits < 0x7F80_0000
        });
        self.require(positive, RULE, "the accuracy of fpmath is no positive float");
    }

    fn range(&mut self, of: &Instruction, id: MetadataId) {
        let reads = matches!(of.opcode, Opcode::Load | Opcode::Call | Opcode::Invoke);
        self.require(reads, RULE, "a range is for loads and calls only");
        let Some(view) = self.tuple(id) else {
            self.require(false, RULE, "a range is no list");
            return;
        };
        let count = view.node.references as usize;
        if !self.require(count >= 2 && count.is_multiple_of(2), RULE, "a range has no pairs of bounds") {
            return;
        }
        let context = self.context;
        let bits = context.scalar_bits(of.ty);
        let mut bounds: Vec<(u64, u64)> = Vec::new();
        for at in (0..count).step_by(2) {
            let Some(view) = self.tuple(id) else { return };
            let low = self.constant_operand(&view, at);
            let high = self.constant_operand(&view, at.saturating_add(1));
            let (Some((low_type, low)), Some((high_type, high))) = (low, high) else {
                self.require(false, RULE, "a bound of a range is no integer");
                return;
            };
            let same = context.same(low_type, high_type) && context.same(low_type, context.table().scalar(of.ty));
            self.require(same, RULE, "a range has another type than its value");
            let (Some(low), Some(high)) = (self.masked(low, bits), self.masked(high, bits)) else { return };
            bounds.push((low, high));
        }
        self.bounds(&bounds, bits);
    }

    /// Returns an integer constant of at most 64 bits as an unsigned number.
    fn masked(&self, id: ValueId, bits: u64) -> Option<u64> {
        let value = self.context.integer(Some(self.body), id)?;
        let mask = if bits < 64 { (1u64 << bits).wrapping_sub(1) } else { u64::MAX };
        (bits <= 64).then_some(value & mask)
    }

    /// Checks that ranges are not empty, sorted, and don't touch.
    fn bounds(&mut self, bounds: &[(u64, u64)], bits: u64) {
        let empty = bounds.iter().any(|&(low, high)| low == high);
        self.require(!empty, RULE, "a range is empty");
        let flip = if bits == 0 || bits > 64 { 0 } else { 1u64 << bits.saturating_sub(1) };
        // Compare as signed numbers.
        let signed = |value: u64| value ^ flip;
        for pair in bounds.windows(2) {
            let &[(low, high), (next, _)] = pair else { continue };
            let sorted = signed(next) > signed(low);
            self.require(sorted, RULE, "ranges are not in order");
            let touches = high == next || (signed(high) > signed(next) && signed(high) > signed(low));
            self.require(!touches, RULE, "ranges overlap or touch");
        }
    }

    fn dereferenced(&mut self, of: &Instruction, id: MetadataId) {
        let context = self.context;
        self.require(context.is_pointer(of.ty), RULE, "dereferenceable is for pointers only");
        let fits = matches!(of.opcode, Opcode::Load | Opcode::IntToPtr);
        self.require(fits, RULE, "dereferenceable is for loads and inttoptr only");
        self.one_number(id, "dereferenceable has not one i64");
    }

    fn one_number(&mut self, id: MetadataId, message: &'static str) -> Option<u64> {
        let view = self.context.view(Some(self.body), id).filter(|view| view.node.references == 1);
        let value = view.and_then(|view| self.constant_operand(&view, 0));
        let value = value.filter(|&(ty, _)| self.context.is_integer_of(ty, 64));
        self.require(value.is_some(), RULE, message);
        self.context.integer(Some(self.body), value?.1)
    }

    fn aligned(&mut self, of: &Instruction, id: MetadataId) {
        self.require(self.context.is_pointer(of.ty), RULE, "align is for pointers only");
        self.require(of.opcode == Opcode::Load, RULE, "align is for loads only");
        if let Some(alignment) = self.one_number(id, "align has not one i64") {
            let fits = alignment.is_power_of_two() && alignment <= 1 << 32;
            self.require(fits, RULE, "an alignment that is not a power of two up to 4 GiB");
        }
    }

    fn annotation(&mut self, _: &Instruction, id: MetadataId) {
        let members: Option<Vec<Option<MetadataId>>> = self.tuple(id).map(|view| view.references().collect());
        let Some(members) = members else {
            self.require(false, RULE, "an annotation is no list");
            return;
        };
        self.require(!members.is_empty(), RULE, "an annotation is empty");
        let is_text = |id: MetadataId| self.context.metadata_text(Some(self.body), id).is_some();
        let fits = members.into_iter().all(|member| {
            member.is_some_and(|id| {
                is_text(id) || self.tuple(id).is_some_and(|tuple| tuple.references().all(|part| part.is_some_and(is_text)))
            })
        });
        self.require(fits, RULE, "an annotation has something that is no string");
    }

    /// Checks that a list of scopes has nodes only.
    fn scope_list(&mut self, _: &Instruction, id: MetadataId) {
        let view = self.tuple(id);
        let fits = view.is_some_and(|view| {
            view.references().all(|scope| scope.is_some_and(|scope| self.tuple(scope).is_some()))
        });
        if !self.require(fits, RULE, "a list of scopes has something that is no scope") {
            return;
        }
        let scopes: Vec<MetadataId> =
            self.tuple(id).map(|view| view.references().flatten().collect()).unwrap_or_default();
        for scope in scopes {
            if let Some(fault) = self.context.scope_fault(self.body, scope) {
                self.require(false, RULE, fault);
            }
        }
    }

    /// Checks that a group of accesses is an empty distinct node, or a list of such nodes.
    fn access_group(&mut self, _: &Instruction, id: MetadataId) {
        let is_group = |id: MetadataId| {
            self.tuple(id).is_some_and(|view| view.node.references == 0 && view.node.distinct)
        };
        let holds = self.tuple(id).is_some_and(|view| {
            is_group(id) || (view.node.references > 0 && view.references().all(|member| member.is_some_and(is_group)))
        });
        self.require(holds, RULE, "a group of accesses is no distinct empty node");
    }

    fn loop_locations(&mut self, _: &Instruction, id: MetadataId) {
        let operands: Vec<MetadataId> =
            self.tuple(id).map(|view| view.references().skip(1).flatten().take(2).collect()).unwrap_or_default();
        if self.context.has_debug_info {
            operands.into_iter().for_each(|operand| self.check_location_node(operand));
        }
    }

    fn assign_id(&mut self, of: &Instruction, id: MetadataId) {
        let writes = matches!(of.opcode, Opcode::Alloca | Opcode::Store)
            || of.opcode == Opcode::Call && {
                let name = self.call_parts(of).and_then(|parts| self.intrinsic_name(&parts));
                name.is_some_and(|name| name.starts_with("mem"))
            };
        self.require(writes, super::debug_info::RULE, "an assignment id is on an instruction that assigns nothing");
        let is_id = self.context.node_kind(Some(self.body), id) == Some(NodeKind::AssignId);
        self.require(is_id, super::debug_info::RULE, "an assignment id is another node");
    }

    fn profile(&mut self, of: &Instruction, id: MetadataId) {
        let context = self.context;
        let Some(view) = context.view(Some(self.body), id) else {
            self.require(false, RULE, "a profile is no node");
            return;
        };
        let count = view.node.references as usize;
        let name = view.reference(0).and_then(|id| context.metadata_text(Some(self.body), id)).map(<[u8]>::to_vec);
        self.require(count >= 2, RULE, "a profile has less than two operands");
        let Some(name) = name else {
            self.require(false, RULE, "a profile has no name");
            return;
        };
        if name != b"branch_weights" {
            return;
        }
        let origin = view.reference(1).and_then(|id| context.metadata_text(Some(self.body), id)).is_some();
        let first = 1_usize.saturating_add(usize::from(origin));
        let weights = count.saturating_sub(first);
        let expected = self.weights_of(of);
        let fits = match of.opcode {
            Opcode::Invoke => weights == 1 || weights == 2,
            _ => expected.is_some_and(|expected| expected == weights),
        };
        self.require(fits, "ir-dropped", "a profile has another number of weights than its instruction has edges");
        let view = context.view(Some(self.body), id);
        let numbers = view.is_some_and(|view| {
            view.references().skip(first).all(|weight| {
                weight.is_some_and(|weight| context.is_metadata_integer(Some(self.body), weight))
            })
        });
        self.require(numbers, RULE, "a weight of a profile is no integer");
    }

    /// Returns the number of weights that an instruction has.
    fn weights_of(&self, of: &Instruction) -> Option<usize> {
        let blocks = || self.body.operands_of(of).iter().filter(|operand| operand.as_block().is_some()).count();
        match of.opcode {
            Opcode::Br | Opcode::Switch | Opcode::IndirectBr | Opcode::CallBr => Some(blocks()),
            Opcode::Select => Some(2),
            Opcode::Call => Some(1),
            _ => None,
        }
    }

    /// Checks the profile of the function: a name and a count.
    pub(super) fn function_profile(&mut self) {
        let context = self.context;
        let Some(kind) = context.module.metadata_kind(b"prof") else { return };
        for &(attached, id) in &self.body.function_attachments {
            if attached != kind {
                continue;
            }
            let Some(view) = context.view(Some(self.body), id) else {
                self.require(false, RULE, "a profile is no node");
                continue;
            };
            self.require(view.node.references >= 2, RULE, "a profile has less than two operands");
            let name = view.reference(0).and_then(|id| context.metadata_text(Some(self.body), id));
            let known = name.is_some_and(|name| {
                matches!(name, b"function_entry_count" | b"synthetic_function_entry_count" | b"unknown")
            });
            self.require(known, RULE, "the profile of a function has another name");
            let count = view.reference(1).is_some_and(|id| context.is_metadata_integer(Some(self.body), id));
            self.require(count, RULE, "the profile of a function has no count");
        }
    }

    fn call_stack(&mut self, of: &Instruction, id: MetadataId) {
        self.require(of.opcode == Opcode::Call || of.opcode == Opcode::Invoke, RULE, "callsite is for calls only");
        self.stack(id);
    }

    /// Checks a list of call-stack ids.
    fn stack(&mut self, id: MetadataId) {
        let context = self.context;
        let holds = self.tuple(id).is_some_and(|view| {
            view.node.references > 0
                && view.references().all(|frame| {
                    frame.is_some_and(|frame| context.is_metadata_integer(Some(self.body), frame))
                })
        });
        self.require(holds, RULE, "a call stack has something that is no integer");
    }

    fn memory_profile(&mut self, of: &Instruction, id: MetadataId) {
        let calls = matches!(of.opcode, Opcode::Call | Opcode::Invoke);
        self.require(calls, RULE, "memprof is for calls only");
        let entries: Vec<Option<MetadataId>> = self.tuple(id).map(|view| view.references().collect()).unwrap_or_default();
        self.require(!entries.is_empty(), RULE, "memprof is empty");
        for entry in entries {
            let parts: Vec<Option<MetadataId>> = entry
                .and_then(|entry| self.tuple(entry))
                .map(|view| view.references().collect())
                .unwrap_or_default();
            if !self.require(parts.len() >= 2, RULE, "an entry of memprof has less than two operands") {
                continue;
            }
            if let Some(&Some(stack)) = parts.first() {
                self.stack(stack);
            } else {
                self.require(false, RULE, "an entry of memprof has no stack");
            }
            let is_text = |part: &Option<MetadataId>| {
                part.is_some_and(|part| self.context.metadata_text(Some(self.body), part).is_some())
            };
            let texts = parts.iter().skip(1).all(is_text)
                || parts.get(1).is_some_and(is_text);
            self.require(texts, RULE, "an entry of memprof has no kind of allocation");
        }
    }

    /// Checks annotations that relax the memory model: a pair of strings, or a list of such pairs.
    fn relaxations(&mut self, of: &Instruction, id: MetadataId) {
        let accesses = matches!(
            of.opcode,
            Opcode::Load | Opcode::Store | Opcode::Fence | Opcode::AtomicRmw | Opcode::CmpXchg | Opcode::Call | Opcode::Invoke | Opcode::CallBr
        );
        self.require(accesses, RULE, "mmra is for instructions that access memory only");
        let is_pair = |id: MetadataId| {
            self.tuple(id).is_some_and(|view| {
                view.node.references == 2
                    && view.references().all(|text| {
                        text.is_some_and(|text| self.context.metadata_text(Some(self.body), text).is_some())
                    })
            })
        };
        let holds = is_pair(id)
            || self.tuple(id).is_some_and(|view| view.references().all(|pair| pair.is_some_and(is_pair)));
        self.require(holds, RULE, "mmra is no pair of strings");
    }

    /// Checks a tag for type-based alias analysis. LLVM drops all tags of a module with a wrong one.
    fn access_type(&mut self, of: &Instruction, id: MetadataId) {
        let accesses = matches!(
            of.opcode,
            Opcode::Load | Opcode::Store | Opcode::Call | Opcode::VaArg | Opcode::AtomicRmw | Opcode::CmpXchg
        );
        self.require(accesses, "ir-dropped", "tbaa is for accesses to memory only");
        let view = self.tuple(id);
        let count = view.map_or(0, |view| view.node.references);
        self.require(count >= 1, "ir-dropped", "a tag of tbaa has no operands");
    }
}

impl Context<'_, '_> {
    /// Returns what is wrong with a scope of aliasing: itself or a name, a domain, maybe a name.
    fn scope_fault(&self, body: &FunctionBody, scope: MetadataId) -> Option<&'static str> {
        let view = self.view(Some(body), scope)?;
        if !matches!(view.node.references, 2 | 3) {
            return Some("a scope has not two or three operands");
        }
        let names = |view: &View<'_>, at: usize, own: MetadataId| {
            view.reference(at).is_some_and(|id| id == own || self.metadata_text(Some(body), id).is_some())
        };
        if !names(&view, 0, scope) {
            return Some("a scope has no name");
        }
        if view.node.references == 3 && view.reference(2).is_none_or(|id| self.metadata_text(Some(body), id).is_none()) {
            return Some("the name of a scope is no string");
        }
        let domain = view.reference(1)?;
        let Some(of) = self.view(Some(body), domain) else { return Some("the domain of a scope is no node") };
        if !matches!(of.node.references, 1 | 2) {
            return Some("a domain has not one or two operands");
        }
        if !names(&of, 0, domain) {
            return Some("a domain has no name");
        }
        if of.node.references == 2 && of.reference(1).is_none_or(|id| self.metadata_text(Some(body), id).is_none()) {
            return Some("the name of a domain is no string");
        }
        None
    }
}
