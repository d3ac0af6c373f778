//! Listings of a function with labels, parameter names and scheduling codes. [`raw_listing`](crate::raw_listing) has those of
//! cuobjdump.

use alloc::collections::BTreeSet;
use alloc::string::String;
use core::ops::Range;

use unshade_core::token::Link;
use unshade_core::{Token, TokenKind, TokenSink};

use crate::Instruction;
use crate::control::{self, Code};
use crate::number::{self, ShortText, hex};
use crate::print;
use crate::table::{Isa, Kind};

/// The machine code of a function.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// Its name, already escaped.
    pub name: &'a str,
    /// Its instruction set.
    pub isa: &'static Isa,
    /// Its words.
    pub bytes: &'a [u8],
    /// The address of the first word that branches refer to: 0 if it has its own section.
    pub address: u64,
    /// The file offset of the first word, for source maps.
    pub file_offset: u64,
}

/// Names and options for a listing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// Symbols by address, in ascending order.
    pub symbols: &'a [(u64, &'a str)],
    /// Parameters: byte ranges in constant bank 0, and names, in ascending order.
    pub parameters: &'a [(Range<u64>, &'a str)],
    /// What a linker or loader inserts into instructions, by ascending address.
    pub insertions: &'a [Insertion<'a>],
    /// Lines of comments before instructions.
    pub comments: Comments<'a>,
    /// Whether to print the scheduling code after each instruction.
    pub control: bool,
}

/// Lines of comments before instructions, by ascending address.
pub type Comments<'a> = &'a [(u64, String)];

/// Prints the comments before an instruction.
pub(crate) fn put_comments<S: TokenSink + ?Sized>(comments: Comments<'_>, address: u64, sink: &mut S) {
    let start = comments.partition_point(|comment| comment.0 < address);
    let own = comments.get(start..).unwrap_or_default().iter().take_while(|comment| comment.0 == address);
    for (_, text) in own {
        sink.put(TokenKind::Comment, text);
        sink.put(TokenKind::Space, "\n");
    }
}

/// A number that a linker or loader inserts into an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Insertion<'a> {
    /// The address of the instruction.
    pub address: u64,
    /// The lowest bit of the number in the instruction word; `None` if it is not known.
    pub lowest_bit: Option<u8>,
    /// The expression whose value is inserted, as nvdisasm prints it: `32@lo(table)`.
    pub text: &'a str,
}

impl<'a> Context<'a> {
    /// Returns what is inserted into an instruction.
    fn inserted(&self, address: u64) -> impl Iterator<Item = &'a Insertion<'a>> + use<'a> {
        let start = self.insertions.partition_point(|insertion| insertion.address < address);
        let rest = self.insertions.get(start..).unwrap_or_default();
        rest.iter().take_while(move |insertion| insertion.address == address)
    }
}

/// A word that is not a valid instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecoded {
    /// Its address.
    pub address: u64,
    /// Its file offset.
    pub file_offset: u64,
    /// The word.
    pub word: u128,
}

/// A word of a function.
#[derive(Clone, Copy)]
pub enum Word {
    /// A scheduling word.
    Schedule(u128),
    /// An instruction.
    Instruction(Instruction),
    /// Neither of them.
    Unknown(u128),
}

impl Word {
    /// Returns the word's bits in memory.
    pub fn bits(&self) -> u128 {
        match self {
            Self::Schedule(word) | Self::Unknown(word) => *word,
            Self::Instruction(instruction) => control::in_memory(instruction.isa, instruction.word),
        }
    }
}

/// The column of mnemonics, as in cuobjdump; guards are right-aligned before it.
pub(crate) const MNEMONIC_COLUMN: usize = 35;

impl<'a> Function<'a> {
    /// Returns addresses and words, in order. An incomplete last word is left out.
    pub fn words(&self) -> impl Iterator<Item = (u64, Word)> + use<'a> {
        let Self { isa, address, .. } = *self;
        let mut schedule = 0;
        self.bytes.chunks_exact(isa.word_bytes.max(1)).zip(0_u64..).map(move |(bytes, index)| {
            let address = address.wrapping_add(index.wrapping_mul(isa.word_bytes as u64));
            let word = isa.word(bytes).unwrap_or(0);
            // Bundles are aligned by address, not by offset in `bytes`.
            let slot = address.checked_div(isa.word_bytes as u64).unwrap_or(0);
            let decoded = if control::is_scheduling(isa, slot, word) {
                schedule = word;
                Word::Schedule(word)
            } else {
                let above = control::above(isa, schedule, control::slot(isa, address));
                Instruction::decode(isa, word | above).map_or(Word::Unknown(word), Word::Instruction)
            };
            (address, decoded)
        })
    }

    /// Returns the number of words that are no scheduling words, without decoding them.
    pub fn instruction_count(&self) -> u64 {
        let size = self.isa.word_bytes.max(1);
        let first = self.address.checked_div(size as u64).unwrap_or(0);
        let words = self.bytes.chunks_exact(size).zip(first..);
        let is_instruction = |&(bytes, slot): &(&[u8], u64)| {
            !control::is_scheduling(self.isa, slot, self.isa.word(bytes).unwrap_or(0))
        };
        words.filter(is_instruction).count() as u64
    }

    /// Returns the address of the first instruction at or after an address, skipping a scheduling word.
    pub fn instruction_from(&self, address: u64) -> u64 {
        let offset = usize::try_from(address.wrapping_sub(self.address)).ok();
        let bytes = offset.and_then(|offset| self.bytes.get(offset..));
        let slot = address.checked_div(self.isa.word_bytes as u64).unwrap_or(0);
        match bytes.and_then(|bytes| self.isa.word(bytes)) {
            Some(word) if control::is_scheduling(self.isa, slot, word) => {
                address.wrapping_add(self.isa.word_bytes as u64)
            }
            _ => address,
        }
    }

    /// Returns the number at an address that is there before a linker inserts one: the addend of relocations whose records
    /// have none.
    pub fn addend(&self, address: u64, lowest_bit: u8) -> Option<i64> {
        let start = usize::try_from(address.checked_sub(self.address)?).ok()?;
        let word = self.isa.word(self.bytes.get(start..)?)?;
        inserted_number(&Instruction::decode_before_linking(self.isa, word, lowest_bit)?, lowest_bit)
    }

    /// Returns the words that are not valid instructions.
    pub fn undecoded(&self) -> impl Iterator<Item = Undecoded> + use<'a> {
        let Self { address: base, file_offset, .. } = *self;
        self.words().filter_map(move |(address, word)| match word {
            Word::Unknown(word) => {
                let file_offset = file_offset.wrapping_add(address.wrapping_sub(base));
                Some(Undecoded { address, file_offset, word })
            }
            _ => None,
        })
    }

    /// Prints an annotated listing: labels at branch targets, names of parameters and of relocated symbols.
    pub fn annotated<S: TokenSink + ?Sized>(&self, context: &Context<'_>, sink: &mut S) {
        let targets = self.targets_but(|address| context.inserted(address).next().is_some());
        let mut codes: [Option<Code>; 32] = [None; 32];
        for (index, (address, word)) in self.words().enumerate() {
            self.source(address, sink);
            put_label(address, &targets, context, sink);
            put_comments(context.comments, address, sink);
            let slot = usize::try_from(self.isa.schedule.every)
                .ok()
                .and_then(|every| index.checked_rem(every))
                .unwrap_or(0);
            match word {
                Word::Schedule(bits) => {
                    codes = [None; 32];
                    for (entry, code) in codes.iter_mut().skip(1).zip(control::codes(self.isa, bits)) {
                        *entry = Some(code);
                    }
                    continue;
                }
                Word::Instruction(linked) => {
                    let mut bits = context.inserted(address).filter_map(|insertion| insertion.lowest_bit);
                    let instruction = bits
                        .find_map(|bit| Instruction::decode_before_linking(self.isa, linked.word, bit))
                        .unwrap_or(linked);
                    let guard = guard_width(&instruction);
                    self.put_address(address, MNEMONIC_COLUMN.saturating_sub(guard), sink);
                    let symbol = |bit| {
                        let mut found = context.inserted(address);
                        found.find(|insertion| insertion.lowest_bit == Some(bit)).map(|found| found.text)
                    };
                    print::with_symbols(&instruction, address, symbol, sink);
                    sink.put(TokenKind::Punctuation, ";");
                    let code = codes.get(slot).copied().flatten().map(Code::describe);
                    let code = code.or_else(|| control::describe(self.isa, instruction.word));
                    notes(&instruction, address, code.filter(|_| context.control), context, sink);
                }
                Word::Unknown(bits) => {
                    self.put_address(address, MNEMONIC_COLUMN, sink);
                    unknown(bits, sink);
                }
            }
            sink.put(TokenKind::Space, "\n");
        }
    }

    /// Returns the targets of direct branches and pushes.
    pub fn targets(&self) -> BTreeSet<u64> {
        self.targets_but(|_| false)
    }

    /// Returns the targets of direct branches and pushes, except of those whose target is not known yet.
    fn targets_but(&self, is_open: impl Fn(u64) -> bool) -> BTreeSet<u64> {
        let words = self.words().filter_map(|(address, word)| match word {
            Word::Instruction(instruction) if !is_open(address) => instruction_target(&instruction, address),
            _ => None,
        });
        words.collect()
    }

    pub(crate) fn source<S: TokenSink + ?Sized>(&self, address: u64, sink: &mut S) {
        if sink.wants_sources() {
            let start = self.file_offset.wrapping_add(address.wrapping_sub(self.address));
            sink.source(start..start.saturating_add(self.isa.word_bytes as u64));
        }
    }

    /// Prints `/*0008*/`, and spaces up to the column where the guard or the mnemonic starts.
    pub(crate) fn put_address<S: TokenSink + ?Sized>(&self, address: u64, start: usize, sink: &mut S) {
        let mut text = ShortText::new();
        text.push(b'/');
        text.push(b'*');
        text.push_digits(address, 4);
        text.push(b'*');
        text.push(b'/');
        sink.put(TokenKind::Space, "        ");
        sink.token(Token {
            kind: TokenKind::Comment,
            text: text.as_str(),
            link: Some(Link::Definition(address)),
        });
        let used = text.as_str().len().saturating_add(8);
        spaces(start.saturating_sub(used), sink);
    }
}

/// Returns the address that an instruction branches to or pushes; `None` if it is not a direct one.
pub fn instruction_target(instruction: &Instruction, address: u64) -> Option<u64> {
    let target = |kind| matches!(kind, Kind::Relative | Kind::Absolute);
    let operand = instruction.operands().find(|operand| target(operand.kind))?;
    Some(print::target(instruction, operand, address).cast_unsigned())
}

/// Returns the number that an instruction has where a linker inserts one.
fn inserted_number(instruction: &Instruction, lowest_bit: u8) -> Option<i64> {
    let mut operands = instruction.operands();
    let operand = operands.find(|operand| print::inserted_bit(instruction, operand) == Some(lowest_bit))?;
    let is_constant = matches!(operand.kind, Kind::Constant | Kind::ConstantSpaced);
    Some(instruction.number(if is_constant { operand.offset } else { operand.value }))
}

/// Returns the width of an instruction's guard, including the space after it.
fn guard_width(instruction: &Instruction) -> usize {
    let mut counter = Counter(0);
    if let Some(guard) = instruction.operands().find(|operand| operand.kind.is_guard()) {
        print::operand(instruction, guard, 0, &mut counter);
    }
    counter.0
}

pub(crate) fn unknown<S: TokenSink + ?Sized>(word: u128, sink: &mut S) {
    let [low, high] = number::halves(word);
    let mut text = ShortText::new();
    if high != 0 {
        text.push_digits(high, 1);
        text.push_digits(low, 16);
    } else {
        text.push_digits(low, 1);
    }
    sink.put(TokenKind::Keyword, ".word");
    sink.put(TokenKind::Number, " 0x");
    sink.put(TokenKind::Number, text.as_str());
    sink.put(TokenKind::Punctuation, ";");
}

fn put_label<S: TokenSink + ?Sized>(
    address: u64,
    targets: &BTreeSet<u64>,
    context: &Context<'_>,
    sink: &mut S,
) {
    let named = context.symbols.binary_search_by_key(&address, |symbol| symbol.0);
    let name = named.ok().and_then(|index| context.symbols.get(index)).map(|symbol| symbol.1);
    if name.is_none() && !targets.contains(&address) {
        return;
    }
    let link = Some(Link::Definition(address));
    match name {
        Some(name) => sink.token(Token { kind: TokenKind::Label, text: name, link }),
        None => sink.token(Token { kind: TokenKind::Label, text: label_name(address).as_str(), link }),
    }
    sink.put(TokenKind::Punctuation, ":");
    sink.put(TokenKind::Space, "\n");
}

/// Returns the label of a branch target: `.L_0040`.
pub fn label(address: u64) -> String {
    String::from(label_name(address).as_str())
}

fn label_name(address: u64) -> ShortText {
    let mut text = ShortText::new();
    for byte in *b".L_" {
        text.push(byte);
    }
    text.push_digits(address, 4);
    text
}

/// Prints the comment after an instruction: the target's name, inserted symbols that no operand shows, parameters, scheduling
/// code.
fn notes<S: TokenSink + ?Sized>(
    instruction: &Instruction,
    address: u64,
    code: Option<String>,
    context: &Context<'_>,
    sink: &mut S,
) {
    let mut separator = "  // ";
    let is_printed = |insertion: &Insertion<'_>| {
        insertion.lowest_bit.is_some_and(|bit| inserted_number(instruction, bit).is_some())
    };
    for insertion in context.inserted(address).filter(|insertion| !is_printed(insertion)) {
        sink.put(TokenKind::Comment, separator);
        separator = ", ";
        sink.put(TokenKind::Comment, insertion.text);
    }
    // Before it is relocated, the target of a branch means nothing.
    let target = instruction_target(instruction, address);
    if let Some(target) = target.filter(|_| context.inserted(address).next().is_none()) {
        sink.put(TokenKind::Comment, separator);
        separator = ", ";
        let found = context.symbols.binary_search_by_key(&target, |symbol| symbol.0).ok();
        match found.and_then(|index| context.symbols.get(index)) {
            Some(symbol) => sink.put(TokenKind::Comment, symbol.1),
            None => sink.put(TokenKind::Comment, label_name(target).as_str()),
        }
    }
    for operand in
        instruction.operands().filter(|operand| matches!(operand.kind, Kind::Constant | Kind::ConstantSpaced))
    {
        let bit = print::inserted_bit(instruction, operand);
        if context.inserted(address).any(|insertion| bit.is_some() && insertion.lowest_bit == bit) {
            continue;
        }
        let Ok(offset) = u64::try_from(instruction.number(operand.offset)) else { continue };
        let parameter = context.parameters.iter().find(|parameter| parameter.0.contains(&offset));
        if let (0, Some((range, name))) = (instruction.number(operand.bank), parameter) {
            sink.put(TokenKind::Comment, separator);
            separator = ", ";
            sink.put(TokenKind::Comment, name);
            let inside = offset.saturating_sub(range.start);
            if inside != 0 {
                sink.put(TokenKind::Comment, "+");
                sink.put(TokenKind::Comment, hex(inside.cast_signed()).as_str());
            }
        }
    }
    if let Some(code) = code {
        sink.put(TokenKind::Comment, separator);
        sink.put(TokenKind::Comment, &code);
    }
}

/// Prints `count` spaces.
pub(crate) fn spaces<S: TokenSink + ?Sized>(count: usize, sink: &mut S) {
    const SPACES: &str = "                                                                                ";
    let mut rest = count;
    while rest > 0 {
        let part = rest.min(SPACES.len());
        sink.put(TokenKind::Space, SPACES.get(..part).unwrap_or(" "));
        rest = rest.saturating_sub(part);
    }
}

/// A sink that only counts the length of tokens.
pub(crate) struct Counter(pub(crate) usize);

impl TokenSink for Counter {
    fn token(&mut self, token: Token<'_>) {
        self.0 = self.0.saturating_add(token.text.len());
    }

    fn mark(&self) -> usize {
        self.0
    }

    fn truncate(&mut self, mark: usize) {
        self.0 = mark;
    }

    fn insert(&mut self, _mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        write(self);
    }
}
