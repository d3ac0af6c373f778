//! Sets of registers, predicates and condition-code flags.

/// A file of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Registers,
    UniformRegisters,
    Predicates,
    UniformPredicates,
}

/// A set of registers, predicates and condition-code flags, of the threads and of the uniform datapath.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set {
    registers: [u64; 4],
    uniform_registers: [u64; 4],
    /// Bits are indices into [`crate::semantics::table::FLAGS`]: the condition code, then the predicates.
    flags: u16,
    uniform_predicates: u16,
}

/// The bits of the condition code.
const CONDITION: u16 = 0b1111;

impl Set {
    /// Returns a set of registers or predicates that follow each other.
    pub(super) fn of(file: File, first: u64, count: u64) -> Self {
        let mut set = Self::default();
        set.add(file, first, count);
        set
    }

    /// Returns the set of one register.
    pub fn of_register(register: u8) -> Self {
        Self::of(File::Registers, u64::from(register), 1)
    }

    /// Returns the condition code.
    pub(super) fn condition_code() -> Self {
        Self { flags: CONDITION, ..Self::default() }
    }

    /// Adds registers or predicates that follow each other. Those that do not exist are ignored.
    pub(super) fn add(&mut self, file: File, first: u64, count: u64) {
        for number in (first..).take(usize::try_from(count).unwrap_or(0)) {
            match file {
                File::Registers => add_register(&mut self.registers, number),
                File::UniformRegisters => add_register(&mut self.uniform_registers, number),
                File::Predicates => self.add_flag(number.saturating_add(u64::from(CONDITION.count_ones()))),
                File::UniformPredicates => self.uniform_predicates |= bit(number),
            }
        }
    }

    /// Adds a flag, by its index in the table of flags.
    pub(super) fn add_flag(&mut self, number: u64) {
        self.flags |= bit(number);
    }

    fn combine(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let all = |mut own: [u64; 4], other: [u64; 4]| {
            for (one, two) in own.iter_mut().zip(other) {
                *one = with(*one, two);
            }
            own
        };
        #[expect(clippy::cast_possible_truncation, reason = "both have 16 bits")]
        let short = |one: u16, two: u16| with(u64::from(one), u64::from(two)) as u16;
        Self {
            registers: all(self.registers, other.registers),
            uniform_registers: all(self.uniform_registers, other.uniform_registers),
            flags: short(self.flags, other.flags),
            uniform_predicates: short(self.uniform_predicates, other.uniform_predicates),
        }
    }

    /// Returns the union of both sets.
    pub fn union(self, other: Self) -> Self {
        self.combine(other, |one, two| one | two)
    }

    /// Returns the intersection of both sets.
    pub fn intersection(self, other: Self) -> Self {
        self.combine(other, |one, two| one & two)
    }

    /// Returns the difference of the sets.
    pub fn without(self, other: Self) -> Self {
        self.combine(other, |one, two| one & !two)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the number of registers.
    pub fn register_count(&self) -> u32 {
        self.registers.iter().fold(0, |sum, part| sum.saturating_add(part.count_ones()))
    }

    /// Returns the number of uniform registers.
    pub fn uniform_register_count(&self) -> u32 {
        self.uniform_registers.iter().fold(0, |sum, part| sum.saturating_add(part.count_ones()))
    }

    /// Returns the number of predicates.
    pub fn predicate_count(&self) -> u32 {
        (self.flags & !CONDITION).count_ones()
    }

    /// Returns the number of uniform predicates.
    pub fn uniform_predicate_count(&self) -> u32 {
        self.uniform_predicates.count_ones()
    }

    /// Returns whether it contains a predicate of either kind.
    pub(super) fn has_predicates(&self) -> bool {
        self.flags & !CONDITION != 0 || self.uniform_predicates != 0
    }

    /// Returns whether it contains a flag of the condition code.
    pub fn has_condition_code(&self) -> bool {
        self.flags & CONDITION != 0
    }

    /// Returns whether it contains a register.
    pub fn has_register(&self, register: u8) -> bool {
        has(&self.registers, register)
    }

    /// Returns whether it contains a uniform register.
    pub fn has_uniform_register(&self, register: u8) -> bool {
        has(&self.uniform_registers, register)
    }

    /// Returns whether it contains a predicate.
    pub fn has_predicate(&self, predicate: u8) -> bool {
        let bit = u32::from(predicate).saturating_add(CONDITION.count_ones());
        self.flags.checked_shr(bit).unwrap_or(0) & 1 != 0
    }

    /// Returns whether it contains a uniform predicate.
    pub fn has_uniform_predicate(&self, predicate: u8) -> bool {
        self.uniform_predicates.checked_shr(u32::from(predicate)).unwrap_or(0) & 1 != 0
    }

    /// Returns the registers in ascending order.
    pub fn registers(&self) -> impl Iterator<Item = u8> + use<> {
        let set = *self;
        (0..=u8::MAX).filter(move |register| set.has_register(*register))
    }

    /// Returns the uniform registers in ascending order.
    pub fn uniform_registers(&self) -> impl Iterator<Item = u8> + use<> {
        let set = *self;
        (0..=u8::MAX).filter(move |register| set.has_uniform_register(*register))
    }

    /// Returns the predicates in ascending order.
    pub fn predicates(&self) -> impl Iterator<Item = u8> + use<> {
        let set = *self;
        (0..7).filter(move |predicate| set.has_predicate(*predicate))
    }

    /// Returns the uniform predicates in ascending order.
    pub fn uniform_predicates(&self) -> impl Iterator<Item = u8> + use<> {
        let set = *self;
        (0..7).filter(move |predicate| set.has_uniform_predicate(*predicate))
    }
}

fn bit(number: u64) -> u16 {
    1_u16.checked_shl(u32::try_from(number).unwrap_or(u32::MAX)).unwrap_or(0)
}

fn add_register(parts: &mut [u64; 4], number: u64) {
    if let Some(part) = usize::try_from(number / 64).ok().and_then(|part| parts.get_mut(part)) {
        *part |= 1 << (number % 64);
    }
}

fn has(parts: &[u64; 4], number: u8) -> bool {
    parts.get(usize::from(number / 64)).is_some_and(|part| part >> (number % 64) & 1 != 0)
}
