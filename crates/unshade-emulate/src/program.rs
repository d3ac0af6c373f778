//! The code of a launch, decoded once and lifted to p-code on first execution.

use std::cell::OnceCell;

use unshade_sass::Instruction;
use unshade_sass::listing::{Function, Word};
use unshade_sass::semantics::Lifted;
use unshade_sass::table::Isa;

use crate::fault::Reason;
use crate::module::{Kernel, Module};
use crate::sanitize::access::AccessKind;

/// A word of the code.
struct Slot {
    word: Word,
    lifted: OnceCell<Lifting>,
}

/// What an instruction does.
struct Lifting {
    lifted: Lifted,
    access: AccessKind,
    is_vector: bool,
}

impl Lifting {
    fn new(instruction: &Instruction, address: u64) -> Self {
        let mut lifted = Lifted::default();
        lifted.lift(instruction, address);
        let is_vector = instruction.modifier("size") == Some("b128");
        Self { lifted, access: AccessKind::of(instruction), is_vector }
    }
}

struct Section {
    address: u64,
    slots: Vec<Slot>,
}

/// The code as seen by a kernel: its own section at address 0, and all others at higher addresses.
pub(crate) struct Program<'a> {
    pub(crate) module: &'a Module,
    pub(crate) kernel: &'a Kernel,
    own: Section,
    /// The other sections by index, decoded on the first call to them.
    others: Vec<OnceCell<Section>>,
    empty: Lifted,
}

/// A fetched word. A scheduling word has no instruction and empty p-code.
pub(crate) struct Fetched<'p> {
    pub(crate) instruction: Option<&'p Instruction>,
    pub(crate) lifted: &'p Lifted,
    /// How it accesses memory.
    pub(crate) access: AccessKind,
    /// Whether the accesses have 16 bytes.
    pub(crate) is_vector: bool,
}

impl<'a> Program<'a> {
    pub(crate) fn new(module: &'a Module, kernel: &'a Kernel) -> Self {
        let bytes = module.codes.get(kernel.code).map_or(&[][..], |code| code.bytes.as_slice());
        Self {
            module,
            kernel,
            own: decode(module.isa, bytes, 0),
            others: module.codes.iter().map(|_| OnceCell::new()).collect(),
            empty: Lifted::default(),
        }
    }

    /// Returns the address of the next word.
    pub(crate) fn following(&self, address: u64) -> u64 {
        address.wrapping_add(self.module.isa.word_bytes as u64)
    }

    /// Returns the address of the word before.
    pub(crate) fn preceding(&self, address: u64) -> u64 {
        address.wrapping_sub(self.module.isa.word_bytes as u64)
    }

    /// Returns the word at an address.
    pub(crate) fn fetch(&self, address: u64) -> Result<Fetched<'_>, Reason> {
        let mut found = self.own.slot(self.module.isa, address);
        if found.is_none() {
            let index = self.module.codes.partition_point(|code| code.address <= address);
            let index = index.checked_sub(1).ok_or(Reason::NoCode(address))?;
            let code = self.module.codes.get(index).ok_or(Reason::NoCode(address))?;
            let section = self.others.get(index).ok_or(Reason::NoCode(address))?;
            let section = section.get_or_init(|| decode(self.module.isa, &code.bytes, code.address));
            found = section.slot(self.module.isa, address);
        }
        let slot = found.ok_or(Reason::NoCode(address))?;
        match &slot.word {
            Word::Schedule(_) => Ok(Fetched {
                instruction: None,
                lifted: &self.empty,
                access: AccessKind::Weak,
                is_vector: false,
            }),
            Word::Unknown(word) => Err(Reason::Undecoded(*word)),
            Word::Instruction(instruction) => {
                let Lifting { lifted, access, is_vector } =
                    slot.lifted.get_or_init(|| Lifting::new(instruction, address));
                let instruction = Some(instruction);
                Ok(Fetched { instruction, lifted, access: *access, is_vector: *is_vector })
            }
        }
    }
}

impl Section {
    fn slot(&self, isa: &Isa, address: u64) -> Option<&Slot> {
        let offset = address.checked_sub(self.address)?;
        let size = isa.word_bytes as u64;
        if size == 0 || !offset.is_multiple_of(size) {
            return None;
        }
        self.slots.get(usize::try_from(offset / size).ok()?)
    }
}

fn decode(isa: &'static Isa, bytes: &[u8], address: u64) -> Section {
    let function = Function { name: "", isa, bytes, address, file_offset: 0 };
    let slots = function.words().map(|(_, word)| Slot { word, lifted: OnceCell::new() }).collect();
    Section { address, slots }
}
