//! Threads, groups, barriers, and atomic operations on resources. Those on variables that a group shares are the
//! instructions `atomicrmw` and `cmpxchg`.

use crate::body::{Handle, ShaderBody};
use crate::refused;
use crate::resources::Resource;
use alloc::format;
use alloc::vec::Vec;
use core::ops::BitOr;
use unshade_core::Result;
use unshade_dxcontainer::dxil::ResourceClass;
use unshade_dxcontainer::psv0::ResourceKind;
use unshade_llvm::ValueId;
use unshade_llvm::build::{self, Access, Ordering};
use unshade_llvm::types::Type;

/// What a barrier waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier(u32);

impl Barrier {
    /// All threads of the group have come there.
    pub const THREADS: Self = Self(1);
    /// Writes to unordered access views are visible to all groups.
    pub const UAV: Self = Self(1 << 1);
    /// Writes to unordered access views are visible to the group.
    pub const UAV_OF_GROUP: Self = Self(1 << 2);
    /// Writes to variables that the group shares are visible.
    pub const GROUP_SHARED: Self = Self(1 << 3);
}

impl BitOr for Barrier {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What an atomic operation does with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum AtomicOperation {
    Add,
    And,
    Or,
    Xor,
    Min,
    Max,
    UMin,
    UMax,
    Exchange,
}

/// Defines methods for what a thread knows of itself.
macro_rules! positions {
    ($($name:ident $operation:literal $text:literal)*) => {
        impl ShaderBody<'_> {
            $(
                #[doc = concat!("Returns a component, from 0 to 2, of ", $text, ".")]
                ///
                /// # Errors
                /// If the stage has no groups.
                pub fn $name(&mut self, component: u32) -> Result<ValueId> {
                    if component > 2 {
                        return refused("a position has three components");
                    }
                    let component = self.i32(component)?;
                    self.operation($operation, &[component])
                }
            )*
        }
    };
}

positions! {
    thread_id "ThreadId" "the position of the thread among all: `SV_DispatchThreadID`"
    group_id "GroupId" "the position of the group: `SV_GroupID`"
    thread_id_in_group "ThreadIdInGroup" "the position of the thread in its group: `SV_GroupThreadID`"
}

impl ShaderBody<'_> {
    /// Returns the number of the thread in its group: `SV_GroupIndex`.
    ///
    /// # Errors
    /// If the stage has no groups.
    pub fn thread_index_in_group(&mut self) -> Result<ValueId> {
        self.operation("FlattenedThreadIdInGroup", &[])
    }

    /// Waits for other threads or for writes.
    ///
    /// # Errors
    /// If it waits for no writes, or for those of the group and of all, or the stage has no groups but waits for them.
    pub fn barrier(&mut self, barrier: Barrier) -> Result<()> {
        let has = |other: Barrier| barrier.0 & other.0 != 0;
        if barrier == Barrier::THREADS {
            return refused("a barrier waits for some kind of memory");
        }
        if has(Barrier::UAV) && has(Barrier::UAV_OF_GROUP) {
            return refused("a barrier waits for writes that are visible to the group or to all");
        }
        let has_groups = self.interface.stage.threads().is_some();
        if !has_groups && barrier != Barrier::UAV {
            return refused("the stage has no groups");
        }
        let mode = self.i32(barrier.0)?;
        self.operation("Barrier", &[mode]).map(drop)
    }

    /// Does an atomic operation on a resource and returns the value before it. The place is the offset in a buffer of
    /// bytes, the index and the offset in a structured buffer, the index in a typed buffer, or the coordinates in a
    /// texture.
    ///
    /// # Errors
    /// If the resource can't be written or its elements are no single integers, or the place does not fit it.
    pub fn atomic(
        &mut self,
        resource: Handle,
        operation: AtomicOperation,
        place: &[ValueId],
        value: ValueId,
    ) -> Result<ValueId> {
        let place = self.atomic_place(resource, place, value)?;
        let mut arguments = alloc::vec![resource.value, self.i32(operation as u32)?];
        arguments.extend(place);
        arguments.push(value);
        self.operation("AtomicBinOp", &arguments)
    }

    /// Replaces a value of a resource if it is the expected one. Returns the value before.
    ///
    /// # Errors
    /// As [`ShaderBody::atomic`].
    pub fn atomic_compare_exchange(
        &mut self,
        resource: Handle,
        place: &[ValueId],
        expected: ValueId,
        new: ValueId,
    ) -> Result<ValueId> {
        let place = self.atomic_place(resource, place, new)?;
        let mut arguments = alloc::vec![resource.value];
        arguments.extend(place);
        arguments.extend([expected, new]);
        self.operation("AtomicCompareExchange", &arguments)
    }

    fn atomic_place(&mut self, resource: Handle, place: &[ValueId], value: ValueId) -> Result<Vec<ValueId>> {
        /// The shader model with atomic operations of 64 bits.
        const WIDE_MODEL: u32 = 6;
        let description = self.describe(resource.resource)?;
        if description.class != ResourceClass::UAV {
            return refused(format!("{}: it is only read", description.shown()));
        }
        let ty = self.type_of(value)?;
        if self.module().types.get(ty) == Type::Integer(64) {
            if self.interface.target.model < WIDE_MODEL {
                return refused("atomic operations of 64 bits need shader model 6.6");
            }
            if let Some(known) = self.interface.resources.get_mut(resource.resource.0) {
                known.atomic_64 = true;
            }
        }
        let word = self.integer(32)?;
        let count = |of: &Resource| match of.kind {
            ResourceKind::RAW_BUFFER | ResourceKind::TYPED_BUFFER => 1,
            _ => 2,
        };
        if description.is_texture() {
            return self.coordinates(&description, place, 3, word);
        }
        if place.len() != count(&description) {
            let count = count(&description);
            return refused(format!("{}: its place is {count} numbers", description.shown()));
        }
        self.padded(place, 3, word)
    }

    /// Does an atomic operation on an integer that a group shares, and returns the value before it.
    ///
    /// # Errors
    /// If the operand is no pointer to the value.
    pub fn atomic_shared(
        &mut self,
        operation: AtomicOperation,
        pointer: ValueId,
        value: ValueId,
    ) -> Result<ValueId> {
        let operation = match operation {
            AtomicOperation::Add => build::AtomicOperation::Add,
            AtomicOperation::And => build::AtomicOperation::And,
            AtomicOperation::Or => build::AtomicOperation::Or,
            AtomicOperation::Xor => build::AtomicOperation::Xor,
            AtomicOperation::Min => build::AtomicOperation::Min,
            AtomicOperation::Max => build::AtomicOperation::Max,
            AtomicOperation::UMin => build::AtomicOperation::UMin,
            AtomicOperation::UMax => build::AtomicOperation::UMax,
            AtomicOperation::Exchange => build::AtomicOperation::Exchange,
        };
        let access = Access { ordering: Ordering::SequentiallyConsistent, ..Access::default() };
        self.atomic_rmw(operation, pointer, value, &access)
    }

    /// Replaces an integer that a group shares if it is the expected one. Returns the value before.
    ///
    /// # Errors
    /// If the operand is no pointer to the values.
    pub fn atomic_compare_exchange_shared(
        &mut self,
        pointer: ValueId,
        expected: ValueId,
        new: ValueId,
    ) -> Result<ValueId> {
        let order = Ordering::SequentiallyConsistent;
        let access = Access { ordering: order, ..Access::default() };
        let pair = self.compare_exchange(pointer, expected, new, &access, order, false)?;
        self.extract_value(pair, &[0])
    }

    /// Ends the work of a pixel if a condition holds.
    ///
    /// # Errors
    /// If this is no pixel shader.
    pub fn discard_if(&mut self, condition: ValueId) -> Result<()> {
        self.operation("Discard", &[condition]).map(drop)
    }
}
