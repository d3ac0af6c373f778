//! The registers of a warp, stored as one array of 32 lanes per register.

use unshade_sass::semantics::table::{FIRST_PREDICATE, FLAGS};

use crate::environment::LANES;

/// One value per lane.
pub(crate) type Values = [u64; LANES];

/// The lanes of a mask, lowest first.
#[derive(Clone, Copy)]
pub(crate) struct Bits(pub(crate) u32);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        // The mask lets the compiler drop bounds checks: there are 32 lanes.
        Some(lane & (LANES - 1))
    }
}

/// The registers, predicates and condition codes of 32 lanes.
#[derive(Clone, Debug)]
pub struct Registers {
    general: Vec<[u32; LANES]>,
    /// One bit per lane.
    flags: [u32; FLAGS.len()],
}

impl Registers {
    pub(crate) fn new() -> Self {
        Self { general: vec![[0; LANES]; 256], flags: [0; FLAGS.len()] }
    }

    pub(crate) fn clear(&mut self) {
        self.general.fill([0; LANES]);
        self.flags = [0; FLAGS.len()];
    }

    /// Returns a general register of a lane; 0 if it does not exist.
    pub fn general(&self, number: usize, lane: usize) -> u32 {
        self.general.get(number).and_then(|values| values.get(lane)).copied().unwrap_or(0)
    }

    /// Returns a predicate, with one bit per lane; those from 7 on are true.
    pub fn predicate(&self, number: usize) -> u32 {
        let first = usize::try_from(FIRST_PREDICATE).unwrap_or(0);
        self.flags.get(first.saturating_add(number)).copied().unwrap_or(u32::MAX)
    }

    pub(crate) fn flag(&self, number: u64) -> u32 {
        usize::try_from(number).ok().and_then(|number| self.flags.get(number)).copied().unwrap_or(0)
    }

    pub(crate) fn set_flag(&mut self, number: u64, lanes: u32, values: &Values) {
        let bits = Bits(lanes).filter(|lane| values[*lane] & 1 != 0).fold(0, |bits, lane| bits | 1 << lane);
        if let Some(flag) = usize::try_from(number).ok().and_then(|number| self.flags.get_mut(number)) {
            *flag = *flag & !lanes | bits;
        }
    }

    /// Reads 32 or 64 bits of each lane.
    #[inline]
    pub(crate) fn read(&self, number: u64, width: u8, out: &mut Values) {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        match self.general.get(number) {
            Some(low) => out.iter_mut().zip(low).for_each(|(out, low)| *out = u64::from(*low)),
            None => out.fill(0),
        }
        if width > 32
            && let Some(high) = self.general.get(number.saturating_add(1))
        {
            out.iter_mut().zip(high).for_each(|(out, high)| *out |= u64::from(*high) << 32);
        }
    }

    /// Writes 32 or 64 bits of some lanes.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "splits a 64-bit value in halves")]
    pub(crate) fn write(&mut self, number: u64, width: u8, lanes: u32, values: &Values) {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(low) = self.general.get_mut(number) {
            if lanes == u32::MAX {
                low.iter_mut().zip(values).for_each(|(low, value)| *low = *value as u32);
            } else {
                Bits(lanes).for_each(|lane| low[lane] = values[lane] as u32);
            }
        }
        if width > 32
            && let Some(high) = self.general.get_mut(number.saturating_add(1))
        {
            Bits(lanes).for_each(|lane| high[lane] = (values[lane] >> 32) as u32);
        }
    }

    pub(crate) fn set_general(&mut self, number: usize, lane: usize, value: u32) {
        if let Some(register) = self.general.get_mut(number).and_then(|values| values.get_mut(lane)) {
            *register = value;
        }
    }
}
