//! PTX: the text that a driver compiles for chips newer than the toolkit.
//!
//! The parser reads the three directives at the start of a file, and the head of each function: name, parameters
//! and performance directives such as `.maxntid`. It skips instructions.
//!
//! Source: NVIDIA's *PTX ISA*, chapters "Directives" and "Syntax".

use alloc::vec::Vec;
use core::fmt;
use unshade_core::Reader;

/// A PTX file. No content is copied.
#[derive(Clone, Copy)]
pub struct Ptx<'a> {
    file: Reader<'a>,
}

/// The head of a PTX function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxFunction<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Whether it is a kernel (`.entry`) rather than a device function (`.func`).
    pub is_kernel: bool,
    /// Its parameters.
    pub parameters: Vec<PtxParameter<'a>>,
    /// Directives after the parameters, such as `.maxntid`, with their arguments.
    pub directives: Vec<(&'a [u8], Vec<&'a [u8]>)>,
    /// Whether it has no body.
    pub is_declaration: bool,
    /// The file offset of its `.entry` or `.func` directive.
    pub offset: u64,
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxParameter<'a> {
    /// Its type: `.u64`, or `.b8` for arrays of bytes.
    pub type_name: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// The number of elements, if it is an array.
    pub count: Option<u64>,
}

impl PtxParameter<'_> {
    /// Returns its size in bytes, if the type has a known size.
    pub fn size(&self) -> Option<u64> {
        let digits = self.type_name.iter().position(u8::is_ascii_digit)?;
        let bits: u64 = core::str::from_utf8(self.type_name.get(digits..)?).ok()?.parse().ok()?;
        (bits / 8).checked_mul(self.count.unwrap_or(1))
    }
}

/// The maximum number of functions, of parameters per function, and of directives per function.
const MAX_LIST: usize = 1 << 16;

/// Returns the size of the text without trailing NULs.
pub fn text_size(data: &[u8]) -> usize {
    data.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1))
}

impl fmt::Debug for Ptx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ptx")
            .field("offset", &self.file.base())
            .field("size", &self.text().len())
            .finish_non_exhaustive()
    }
}

impl<'a> Ptx<'a> {
    /// Takes a whole file as PTX. Any bytes will do: what can't be parsed is skipped.
    pub fn parse(data: &'a [u8]) -> Self {
        Self::parse_at(data, 0)
    }

    /// Takes bytes at offset `base` of a larger file as PTX; ranges use offsets of that file.
    pub fn parse_at(data: &'a [u8], base: u64) -> Self {
        Self::new(Reader::at(data, base))
    }

    /// Takes the bytes of a reader as PTX.
    pub fn new(file: Reader<'a>) -> Self {
        Self { file }
    }

    /// Returns all bytes.
    pub fn file(&self) -> Reader<'a> {
        self.file
    }

    /// Returns the text without trailing NULs.
    pub fn text(&self) -> &'a [u8] {
        let data = self.file.data();
        data.get(..text_size(data)).unwrap_or(data)
    }

    /// Returns the version of PTX, such as `7.2`.
    pub fn version(&self) -> Option<&'a [u8]> {
        self.directive(b".version")
    }

    /// Returns the target, such as `sm_35`.
    pub fn target(&self) -> Option<&'a [u8]> {
        self.directive(b".target")
    }

    /// Returns the size of addresses: `64` or `32`.
    pub fn address_size(&self) -> Option<&'a [u8]> {
        self.directive(b".address_size")
    }

    /// Returns the argument of one of the directives at the start of the file.
    fn directive(&self, name: &[u8]) -> Option<&'a [u8]> {
        let mut tokens = Tokens::new(self.text());
        loop {
            let token = tokens.next()?;
            if token == name {
                return tokens.next();
            }
            // The first function.
            if token == b"{" || token == b"(" {
                return None;
            }
        }
    }

    /// Returns the functions in the order of the text.
    pub fn functions(&self) -> impl Iterator<Item = PtxFunction<'a>> + use<'a> {
        let mut tokens = Tokens::new(self.text());
        let base = self.file.base();
        core::iter::from_fn(move || {
            loop {
                let token = tokens.next()?;
                let offset = base.saturating_add(tokens.start as u64);
                match token {
                    b"{" => tokens.skip_body(),
                    b".entry" | b".func" => {
                        return read_function(&mut tokens, token == b".entry", offset);
                    }
                    _ => {}
                }
            }
        })
        .take(MAX_LIST)
    }
}

fn read_function<'a>(tokens: &mut Tokens<'a>, is_kernel: bool, offset: u64) -> Option<PtxFunction<'a>> {
    let mut name = tokens.next()?;
    if name == b"(" {
        // The return parameters of a device function.
        while tokens.next()? != b")" {}
        name = tokens.next()?;
    }
    let mut function = PtxFunction {
        name,
        is_kernel,
        parameters: Vec::new(),
        directives: Vec::new(),
        is_declaration: false,
        offset,
    };
    loop {
        match tokens.next()? {
            b"(" => function.parameters = read_parameters(tokens),
            b"{" => {
                tokens.skip_body();
                return Some(function);
            }
            b";" => {
                function.is_declaration = true;
                return Some(function);
            }
            token if token.starts_with(b".") && function.directives.len() < MAX_LIST => {
                function.directives.push((token, Vec::new()));
            }
            b"," => {}
            token => {
                if let Some((_, numbers)) = function.directives.last_mut()
                    && numbers.len() < 16
                {
                    numbers.push(token);
                }
            }
        }
    }
}

/// Reads up to the closing parenthesis: `.param .align 4 .b8 name[16], …`.
fn read_parameters<'a>(tokens: &mut Tokens<'a>) -> Vec<PtxParameter<'a>> {
    let mut parameters = Vec::new();
    let mut parameter = PtxParameter { type_name: b"", name: b"", count: None };
    let mut is_count = false;
    for token in tokens.by_ref() {
        match token {
            b")" | b"," => {
                if !parameter.name.is_empty() && parameters.len() < MAX_LIST {
                    parameters.push(parameter);
                }
                parameter = PtxParameter { type_name: b"", name: b"", count: None };
                if token == b")" {
                    break;
                }
            }
            b"[" => is_count = true,
            b"]" => is_count = false,
            _ if is_count => {
                parameter.count = core::str::from_utf8(token).ok().and_then(|text| text.parse().ok());
            }
            _ if token.starts_with(b".") => {
                let is_type = token.iter().any(u8::is_ascii_digit) || token == b".pred";
                if is_type && parameter.type_name.is_empty() {
                    parameter.type_name = token;
                }
            }
            // The number of `.align`, then the name, which comes last and wins.
            _ => parameter.name = token,
        }
    }
    parameters
}

/// Splits text into words and punctuation; skips comments and strings.
struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    start: usize,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, start: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn advance(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.text.len());
    }

    fn skip_past(&mut self, end: &[u8]) {
        let rest = self.rest();
        let found = rest.windows(end.len()).position(|window| window == end);
        self.advance(found.map_or(rest.len(), |index| index.saturating_add(end.len())));
    }

    /// Skips to the brace that closes the block just opened.
    fn skip_body(&mut self) {
        let mut depth = 1_u32;
        while depth > 0
            && let Some(token) = self.next()
        {
            match token {
                b"{" => depth = depth.saturating_add(1),
                b"}" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let rest = self.rest();
            let first = *rest.first()?;
            if first.is_ascii_whitespace() || first == 0 {
                self.advance(1);
            } else if rest.starts_with(b"//") {
                self.skip_past(b"\n");
            } else if rest.starts_with(b"/*") {
                self.skip_past(b"*/");
            } else if first == b'"' {
                self.advance(1);
                self.skip_past(b"\"");
            } else {
                self.start = self.at;
                let is_word =
                    |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.');
                let length = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len()).max(1);
                self.advance(length);
                return rest.get(..length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"// comment .entry x\n.version 7.2\n.target sm_35, debug\n.address_size 64\n\
        .func (.param .b32 r) twice (.param .b32 a);\n.visible .entry scale(\n\t.param .u64 scale_param_0,\n\
        \t.param .align 8 .b8 scale_param_1[16]\n)\n.maxntid 256, 1, 1\n.minnctapersm 2\n{ { mov.u32 %r1, 1; } ret; }\n\
        .entry last() { ret; }\0\0";

    #[test]
    fn heads() {
        let ptx = Ptx::parse(TEXT);
        assert_eq!(ptx.version(), Some(&b"7.2"[..]));
        assert_eq!(ptx.target(), Some(&b"sm_35"[..]));
        assert_eq!(ptx.address_size(), Some(&b"64"[..]));
        assert!(ptx.text().ends_with(b"}"));
        let functions: Vec<_> = ptx.functions().collect();
        let heads: Vec<_> = functions.iter().map(|f| (f.name, f.is_kernel, f.is_declaration)).collect();
        assert_eq!(
            heads,
            [(&b"twice"[..], false, true), (&b"scale"[..], true, false), (&b"last"[..], true, false)]
        );
        let scale = &functions[1];
        let sizes: Vec<_> = scale.parameters.iter().map(|p| (p.name, p.size())).collect();
        assert_eq!(sizes, [(&b"scale_param_0"[..], Some(8)), (&b"scale_param_1"[..], Some(16))]);
        assert_eq!(scale.directives[0], (&b".maxntid"[..], [&b"256"[..], b"1", b"1"].to_vec()));
        assert_eq!(TEXT[scale.offset as usize..][..6], *b".entry");
    }

    #[test]
    fn text_that_ends_anywhere() {
        for size in 0..TEXT.len() {
            assert!(Ptx::parse(&TEXT[..size]).functions().count() <= 3);
        }
    }
}
