//! PTX: the text that a driver compiles for chips that came later.
//!
//! Read are the three directives that every file begins with, and the head of each function: name, parameters and the
//! directives that bound a launch. Instructions are passed over.
//!
//! Source: NVIDIA's *PTX ISA*, chapters "Directives" and "Syntax".

use alloc::vec::Vec;
use unshade_core::Reader;

/// A PTX file; nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct Ptx<'a> {
    file: Reader<'a>,
}

/// A function of a PTX file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxFunction<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Whether it is a kernel (`.entry`) rather than a device function (`.func`).
    pub is_kernel: bool,
    /// Its parameters.
    pub parameters: Vec<PtxParameter<'a>>,
    /// Directives behind the parameters, such as `.maxntid`, with their numbers.
    pub directives: Vec<(&'a [u8], Vec<&'a [u8]>)>,
    /// Whether only its declaration is there.
    pub is_declaration: bool,
    /// Where its directive is in the text.
    pub offset: u64,
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxParameter<'a> {
    /// Its type, such as `.u64`; `.b8` for arrays of bytes.
    pub type_name: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// The number of elements, if it is an array.
    pub count: Option<u64>,
}

impl PtxParameter<'_> {
    /// The size in bytes, if the type has one that is known.
    pub fn size(&self) -> Option<u64> {
        let digits = self.type_name.iter().position(u8::is_ascii_digit)?;
        let bits: u64 = core::str::from_utf8(self.type_name.get(digits..)?).ok()?.parse().ok()?;
        (bits / 8).checked_mul(self.count.unwrap_or(1))
    }
}

/// How many functions, and parameters of one, are read at most.
const MAX_LIST: usize = 1 << 16;

/// The size of the text without the NULs at its end.
pub fn text_size(data: &[u8]) -> usize {
    data.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1))
}

impl<'a> Ptx<'a> {
    /// Takes bytes as PTX.
    pub fn new(file: Reader<'a>) -> Self {
        Self { file }
    }

    /// All bytes.
    pub fn file(&self) -> Reader<'a> {
        self.file
    }

    /// The text, without NULs at its end.
    pub fn text(&self) -> &'a [u8] {
        let data = self.file.data();
        data.get(..text_size(data)).unwrap_or(data)
    }

    /// The version of the language, such as `7.2`.
    pub fn version(&self) -> Option<&'a [u8]> {
        self.directive(b".version")
    }

    /// What it is compiled for, such as `sm_35`.
    pub fn target(&self) -> Option<&'a [u8]> {
        self.directive(b".target")
    }

    /// The size of addresses: `64` or `32`.
    pub fn address_size(&self) -> Option<&'a [u8]> {
        self.directive(b".address_size")
    }

    /// The word behind one of the directives that a file begins with.
    fn directive(&self, name: &[u8]) -> Option<&'a [u8]> {
        let mut tokens = Tokens::new(self.text());
        loop {
            let token = tokens.next()?;
            if token == name {
                return tokens.next();
            }
            // Functions begin.
            if token == b"{" || token == b"(" {
                return None;
            }
        }
    }

    /// The functions in the order of the text.
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
        // What a device function returns.
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

/// Everything up to the closing parenthesis: `.param .align 4 .b8 name[16], …`.
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
            // The number of `.align`, and the name, which comes last.
            _ => parameter.name = token,
        }
    }
    parameters
}

/// Words and punctuation, without comments and strings.
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
        let place = rest.windows(end.len()).position(|window| window == end);
        self.advance(place.map_or(rest.len(), |place| place.saturating_add(end.len())));
    }

    /// Passes over everything up to the brace that closes the one before.
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
        let ptx = Ptx::new(Reader::new(TEXT));
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
            assert!(Ptx::new(Reader::new(&TEXT[..size])).functions().count() <= 3);
        }
    }
}
