//! The state of a parse, and what every part of the parser uses: tokens, punctuation, numbers, errors.

use super::attributes::AttributeState;
use super::calls::CallBuffers;
use super::error::{Fault, Parsed};
use super::function::FunctionState;
use super::labels::LabelState;
use super::late::LateConstants;
use super::lexer::{Lexer, Token, parse_u64};
use super::metadata::MetadataState;
use super::names::NameTable;
use super::positions::Positions;
use super::strip::{states_version, strip};
use super::summary::SummaryState;
use super::symbols::SymbolState;
use super::types::TypeState;
use super::use_lists::Users;
use super::uses::UseTimes;
use super::{AssembleOptions, Assembled, Version};
use crate::attribute_names::all as attribute_names;
use crate::body::FunctionBody;
use crate::instruction::Opcode;
use crate::module::Module;
use crate::print::{CONVENTIONS, LATER_CONVENTIONS};
use crate::rules::ConstantIndex;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use memchr::memmem;

/// The deepest nesting of types, constants and metadata that is parsed.
const MAX_DEPTH: u32 = 256;

/// The state of a parse.
pub(super) struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The current token.
    pub(super) token: Token<'t>,
    /// The position of the current token.
    pub(super) at: usize,
    /// The token after the current one, its position and that after it, if it has been looked at.
    peeked: Option<(Token<'t>, usize, usize)>,
    depth: u32,
    pub(super) version: Version,
    pub(super) module: Module<'static>,
    pub(super) bodies: Vec<FunctionBody>,
    pub(super) types: TypeState,
    pub(super) symbols: SymbolState,
    pub(super) comdats: NameTable<u32>,
    pub(super) constants: ConstantIndex,
    /// Whether constants were folded before all symbols that decide it were known.
    pub(super) folded_too_early: bool,
    /// How many elements of vectors folds may still make.
    pub(super) fold_budget: u64,
    pub(super) attributes: AttributeState,
    pub(super) metadata: MetadataState,
    pub(super) labels: LabelState,
    pub(super) late: LateConstants,
    pub(super) summary: SummaryState,
    pub(super) uses: UseTimes,
    pub(super) positions: Positions,
    /// Where the orders of uses outside of functions are, and what there was before each.
    pub(super) use_list_places: Vec<(usize, Users)>,
    pub(super) keywords: Keywords,
    /// The function whose body is parsed.
    pub(super) function: Option<FunctionState>,
    pub(super) call_buffers: CallBuffers,
}

/// Words that are looked up often.
pub(super) struct Keywords {
    pub(super) opcodes: NameTable<Opcode>,
    /// The kinds of attributes by name.
    pub(super) attributes: NameTable<u32>,
    /// The calling conventions by name.
    pub(super) conventions: NameTable<u32>,
}

impl Keywords {
    fn new() -> Self {
        let (mut opcodes, mut attributes) = (NameTable::default(), NameTable::default());
        for &opcode in Opcode::ALL {
            opcodes.insert(opcode.mnemonic().as_bytes(), opcode);
        }
        for (kind, name) in attribute_names() {
            attributes.insert(name.as_bytes(), kind);
        }
        let mut conventions = NameTable::default();
        for &(number, name) in CONVENTIONS.iter().chain(LATER_CONVENTIONS) {
            // Some names end in a space where they are printed.
            conventions.insert(name.trim_ascii_end().as_bytes(), number);
        }
        Self { opcodes, attributes, conventions }
    }
}

/// A place in a text.
pub(super) struct Bookmark<'t> {
    lexer: Lexer<'t>,
    token: Token<'t>,
    at: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t [u8], options: &AssembleOptions) -> Self {
        let mut parser = Self {
            lexer: Lexer::new(text),
            token: Token::End,
            at: 0,
            peeked: None,
            depth: 0,
            version: options.version,
            module: Module::default(),
            bodies: Vec::new(),
            types: TypeState::default(),
            symbols: SymbolState::default(),
            comdats: NameTable::default(),
            constants: ConstantIndex::default(),
            folded_too_early: false,
            fold_budget: crate::fold::budget(text.len() as u64),
            attributes: AttributeState::default(),
            metadata: MetadataState::default(),
            labels: LabelState::new(memmem::find(text, b"blockaddress").is_some()),
            late: LateConstants::default(),
            summary: SummaryState::default(),
            uses: UseTimes::default(),
            positions: Positions::default(),
            use_list_places: Vec::new(),
            keywords: Keywords::new(),
            function: None,
            call_buffers: CallBuffers::default(),
        };
        parser.module.version = 2;
        parser.advance();
        parser
    }

    /// Parses the whole text.
    pub(super) fn parse(mut self) -> Parsed<Assembled> {
        while self.token != Token::End {
            self.top_level()?;
        }
        self.finish_types()?;
        self.declare_intrinsics()?;
        self.finish_symbols()?;
        self.make_equivalents();
        self.finish_folds();
        self.finish_debug_calls();
        self.finish_use_lists()?;
        self.finish_labels()?;
        self.finish_attributes()?;
        self.finish_metadata()?;
        self.finish_summary()?;
        self.finish_upgrades();
        self.finish_intrinsics()?;
        let is_dropped =
            self.version != Version::Dxc && (self.metadata.wrong_location || !states_version(&self.module));
        let Self { module, bodies, positions, .. } = self;
        let mut assembled =
            Assembled { module, bodies, uses: self.uses.order, positions, dropped_debug_info: false };
        if is_dropped {
            assembled.dropped_debug_info = strip(&mut assembled);
        }
        Ok(assembled)
    }

    /// Reads the next token.
    pub(super) fn advance(&mut self) {
        if let Some((token, at, end)) = self.peeked.take() {
            (self.token, self.at) = (token, at);
            self.lexer.set_position(end);
            return;
        }
        self.at = self.lexer.next(&mut self.token);
    }

    /// Returns the current place, for [`Parser::go_to`].
    pub(super) fn bookmark(&self) -> Bookmark<'t> {
        Bookmark { lexer: self.lexer.clone(), token: self.token, at: self.at }
    }

    /// Goes on at another place.
    pub(super) fn go_to(&mut self, bookmark: Bookmark<'t>) {
        (self.lexer, self.token, self.at) = (bookmark.lexer, bookmark.token, bookmark.at);
        self.peeked = None;
    }

    /// Parses another text.
    pub(super) fn within<T>(
        &mut self,
        text: &'t [u8],
        parse: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        let place = self.bookmark();
        self.lexer = Lexer::new(text);
        self.peeked = None;
        self.advance();
        let parsed = parse(self);
        self.go_to(place);
        parsed
    }

    /// Returns whether the current token is a label in quotes.
    pub(super) fn is_quoted_label(&self) -> bool {
        self.lexer.text().get(self.at) == Some(&b'"')
    }

    /// Returns the token after the current one.
    pub(super) fn peek(&mut self) -> Token<'t> {
        if let Some((token, ..)) = self.peeked {
            return token;
        }
        let mut lexer = self.lexer.clone();
        let mut token = Token::End;
        let at = lexer.next(&mut token);
        self.peeked = Some((token, at, lexer.position()));
        token
    }

    /// Returns the size of the text, which bounds what numbers in it may ask for.
    pub(super) fn text_size(&self) -> usize {
        self.lexer.text().len()
    }

    /// Returns the text.
    pub(super) fn text(&self) -> &'t [u8] {
        self.lexer.text()
    }

    /// Returns an error at the current token.
    pub(super) fn fault<T>(&self, message: impl ToString) -> Parsed<T> {
        self.fault_at(self.at, message)
    }

    /// Returns an error at a position.
    #[cold]
    pub(super) fn fault_at<T>(&self, position: usize, message: impl ToString) -> Parsed<T> {
        Err(Fault::new(position, message.to_string()))
    }

    /// Runs `parse` one level deeper, unless that is too deep.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return self.fault(alloc::format!("nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Returns whether the current token is this character.
    #[inline(always)]
    pub(super) fn is(&self, character: u8) -> bool {
        matches!(self.token, Token::Punctuation(next) if next == character)
    }

    /// Skips the current token if it is this character.
    pub(super) fn eat(&mut self, character: u8) -> bool {
        let is = self.is(character);
        if is {
            self.advance();
        }
        is
    }

    /// Skips this character, which must be next.
    pub(super) fn expect(&mut self, character: u8) -> Parsed<()> {
        if self.eat(character) {
            Ok(())
        } else {
            self.fault(alloc::format!("expected '{}'", char::from(character)))
        }
    }

    /// Returns whether the current token is this word.
    #[inline(always)]
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.token, Token::Word(next) if next == word.as_bytes())
    }

    /// Skips the current token if it is this word.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        if is {
            self.advance();
        }
        is
    }

    /// Skips this word, which must be next.
    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { self.fault(alloc::format!("expected '{word}'")) }
    }

    /// Skips the current token if it is a word of the list, and returns its index.
    pub(super) fn eat_one_of(&mut self, words: &[&str]) -> Option<usize> {
        let Token::Word(word) = self.token else { return None };
        let at = words.iter().position(|known| known.as_bytes() == word)?;
        self.advance();
        Some(at)
    }

    /// Reads an unsigned integer of at most 64 bits.
    pub(super) fn u64(&mut self) -> Parsed<u64> {
        let number = match self.token {
            Token::Integer(digits) => parse_u64(digits),
            _ => None,
        };
        let Some(number) = number else {
            return self.fault("expected an unsigned integer of at most 64 bits");
        };
        self.advance();
        Ok(number)
    }

    /// Reads an unsigned integer of at most 32 bits.
    pub(super) fn u32(&mut self) -> Parsed<u32> {
        let at = self.at;
        match u32::try_from(self.u64()?) {
            Ok(number) => Ok(number),
            Err(_) => self.fault_at(at, "number does not fit into 32 bits"),
        }
    }

    /// Reads `(number)`.
    pub(super) fn u64_in_parentheses(&mut self) -> Parsed<u64> {
        self.expect(b'(')?;
        let number = self.u64()?;
        self.expect(b')')?;
        Ok(number)
    }

    /// Reads a string.
    pub(super) fn string(&mut self) -> Parsed<Vec<u8>> {
        let Token::Text(text) = self.token else { return self.fault("expected a string") };
        self.advance();
        Ok(text.bytes().into_owned())
    }

    /// Reads a comma-separated list up to a closing character.
    pub(super) fn list(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        if self.eat(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.eat(b',') {
                return self.expect(close);
            }
        }
    }

    /// Reads an alignment in bytes after `align`, and returns its exponent plus one.
    pub(super) fn alignment(&mut self) -> Parsed<u8> {
        let in_parentheses = self.eat(b'(');
        let at = self.at;
        let bytes = self.u64()?;
        if in_parentheses {
            self.expect(b')')?;
        }
        self.alignment_of(bytes, at)
    }

    /// Returns the exponent plus one of an alignment in bytes.
    pub(super) fn alignment_of(&self, bytes: u64, at: usize) -> Parsed<u8> {
        if !bytes.is_power_of_two() {
            return self.fault_at(at, "alignment is not a power of two");
        }
        if bytes > 1 << 32 {
            return self.fault_at(at, "alignment is larger than 4 GiB");
        }
        Ok(bytes.trailing_zeros().to_le_bytes()[0] + 1)
    }
}

/// Returns a name for a message.
pub(super) fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
