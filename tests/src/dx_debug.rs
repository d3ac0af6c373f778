//! Builds debug parts of token programs with a few of each supported kind of symbol, type and line list. They describe
//! no real program; the offsets they refer to exist in every program.

use unshade_dxcontainer::msf::MAGIC;

/// The size of the blocks of a program database.
const BLOCK: usize = 512;

/// Bytes that are appended to.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn words(mut self, words: &[u32]) -> Self {
        self.0.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self
    }

    fn halves(mut self, halves: &[u16]) -> Self {
        self.0.extend(halves.iter().flat_map(|half| half.to_le_bytes()));
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Appends a symbol or type: its size, kind and content.
    fn record(self, kind: u16, contents: Self) -> Self {
        let size = u16::try_from(contents.0.len() + 2).expect("a short record");
        self.halves(&[size, kind]).bytes(&contents.0)
    }

    /// Appends a list of a module: its kind, size and content.
    fn list(self, kind: u32, contents: Self) -> Self {
        self.words(&[kind, length(&contents.0)]).bytes(&contents.0)
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("a short part")
}

/// Builds an SDBG part: one file, three instructions.
pub fn sdbg() -> Vec<u8> {
    const HEADER: usize = 0x54;
    let text = b"float4 main() : SV_Target\n{\n  return 1;\n}\n";
    let name = b"shader.hlsl";
    let texts = [name.as_slice(), text].concat();
    let files = Bytes::default().words(&[0, length(name), length(name), length(text)]).0;
    let mut instructions = Vec::new();
    for symbol in 0..3_u32 {
        instructions.extend([0; 372]);
        instructions.extend(symbol.to_le_bytes());
        instructions.extend([0; 20]);
    }
    let symbols = Bytes::default().words(&[0, 3, 3, 0, 0, 0, 3, 3, 0, 0, 0, 1, 1, 0, 0]).0;
    // Files, instructions, symbols and texts follow the header in this order.
    let starts = [0, files.len(), files.len() + instructions.len()];
    let end = starts[2] + symbols.len();
    let mut header = [0u32; HEADER / 4];
    header[0] = 0x54;
    for (field, (count, start)) in [5, 7, 13].into_iter().zip([1, 3, 3].into_iter().zip(starts)) {
        header[field] = count;
        header[field + 1] = u32::try_from(start).expect("a short part");
    }
    header[20] = u32::try_from(end).expect("a short part");
    [Bytes::default().words(&header).0, files, instructions, symbols, texts].concat()
}

/// Builds an SPDB part: one file, two variables, an inlined function.
pub fn spdb() -> Vec<u8> {
    program_database(&[
        Vec::new(),
        stream_names(),
        types(),
        modules(),
        Vec::new(),
        [symbols(), lines()].concat(),
        Bytes::default().words(&[0, 0, length(FILE_NAMES)]).bytes(FILE_NAMES).0,
        b"float4 half(float4 a)\n{\n  return a / 2;\n}\n".to_vec(),
    ])
}

/// The names of files, and the offset of the first one.
const FILE_NAMES: &[u8] = b"\0Shader.hlsl\0";
const FILE: u32 = 1;

fn stream_names() -> Vec<u8> {
    let names = b"/names\0/src/files/shader.hlsl\0";
    let table = [2, 4, 0, 0, 0, 6, 7, 7];
    Bytes::default().bytes(&[0; 28]).words(&[length(names)]).bytes(names).words(&table).0
}

/// Returns the types from 0x1000: a built-in type, a const float, a vector, an array, a matrix, the fields of a
/// structure, and the structure.
fn types() -> Vec<u8> {
    let new = Bytes::default;
    let fields = new()
        .halves(&[0x150d, 3])
        .words(&[0x1002])
        .halves(&[0])
        .bytes(b"position\0")
        .bytes(&[0xf3, 0xf2, 0xf1])
        .halves(&[0x150d, 3])
        .words(&[0x1003])
        .halves(&[16])
        .bytes(b"weights\0");
    let structure = new().halves(&[2, 0]).words(&[0x1005, 0, 0]).halves(&[48]).bytes(b"Vertex\0");
    let records = new()
        .record(0x1517, new().words(&[0x40]).halves(&[0]))
        .record(0x1518, new().words(&[0x40]).halves(&[1]))
        .record(0x151b, new().words(&[0x1001, 4]).halves(&[16]).bytes(b"float4\0"))
        .record(0x1516, new().words(&[0x40, 0x22, 16]).halves(&[32]))
        .record(0x151c, new().words(&[0x40, 4, 4, 16]).bytes(&[1]).halves(&[64]).bytes(b"float4x4\0"))
        .record(0x1203, fields)
        .record(0x1505, structure);
    new().words(&[0, 20, 0x1000, 0x1007, length(&records.0)]).bytes(&records.0).0
}

/// Returns the list of modules: a single module, in the fifth stream.
fn modules() -> Vec<u8> {
    Bytes::default()
        .bytes(&[0; 24])
        .words(&[64])
        .bytes(&[0; 36 + 34])
        .halves(&[5])
        .words(&[length(&symbols()), 0, length(&lines())])
        .bytes(&[0; 16])
        .0
}

fn symbols() -> Vec<u8> {
    let new = Bytes::default;
    let variable = |number: u32, name: &[u8]| new().words(&[number]).halves(&[0]).bytes(name);
    let place = |kind: u16, offset: u16, start: u32, gaps: &[u16], register: u32| {
        let head = new().halves(&[kind, 1, offset, 4]).words(&[start]).halves(&[1, 0x60]);
        head.halves(gaps).words(&[register])
    };
    // Two lines later, 40 bytes from offset 0x34.
    let operations = [6, 4, 12, 40, 0x34, 11, 0x24, 4, 8, 8, 1, 3, 4, 0];
    new()
        .words(&[4])
        .record(0x1110, new().bytes(&[0; 28]).words(&[0x7c]))
        .record(0x113e, variable(0x1006, b"vertex\0"))
        .record(0x1150, place(1, 0, 0x7c, &[], 4))
        .record(0x1150, place(0, 20, 0x98, &[8, 8], 16))
        .record(0x114d, new().words(&[0, 0, 0x2000]).bytes(&operations))
        .record(0x113e, variable(0x1004, b"world\0"))
        .record(0x1150, place(0, 36, 0xb0, &[], 36))
        .record(0x114e, new())
        .0
}

fn lines() -> Vec<u8> {
    let new = Bytes::default;
    let statement = |line: u32| 1 << 31 | line;
    let pairs = [0, statement(3), 0x1c, statement(4), 0x34, 4, 0x34, statement(5)];
    new()
        .list(0xf4, new().words(&[FILE]).bytes(&[0; 4]))
        .list(0xf6, new().words(&[0, 0x2000, 0, 2]))
        .list(0xf2, new().words(&[0x7c, 0, 0x100, 0, 4, 12 + 32]).words(&pairs))
        .0
}

/// Builds a program database of these streams: its header, their blocks, the directory, the block list of the
/// directory.
fn program_database(streams: &[Vec<u8>]) -> Vec<u8> {
    let mut blocks = Vec::new();
    let mut next = 1;
    let mut append = |bytes: &[u8]| -> Vec<u32> {
        blocks.extend(bytes);
        blocks.resize(blocks.len().next_multiple_of(BLOCK), 0);
        let first = next;
        next += bytes.len().div_ceil(BLOCK);
        (first..next).map(|block| u32::try_from(block).expect("a short file")).collect()
    };
    let places: Vec<Vec<u32>> = streams.iter().map(|stream| append(stream)).collect();
    let sizes: Vec<u32> = streams.iter().map(|stream| length(stream)).collect();
    let count = u32::try_from(streams.len()).expect("few streams");
    let directory = Bytes::default().words(&[count]).words(&sizes).words(&places.concat()).0;
    let list = append(&directory);
    let map = append(&Bytes::default().words(&list).0);
    let count = map[0] + 1;
    let mut file = Bytes::default().bytes(MAGIC).words(&[512, 1, count, length(&directory), 0, map[0]]).0;
    file.resize(BLOCK, 0);
    [file, blocks].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade_core::Reader;
    use unshade_dxcontainer::debug::{DebugInfo, Lines, SourceLine};

    #[test]
    fn sdbg_is_parsed() {
        let part = sdbg();
        let info = DebugInfo::read_sdbg(Reader::new(&part)).unwrap();
        assert_eq!(info.files[0].name, b"shader.hlsl");
        assert!(info.files[0].text.as_ref().unwrap().ends_with(b"return 1;\n}\n"));
        let line = |line| Some(SourceLine { file: 0, line });
        assert_eq!(info.lines, Lines::ByNumber(vec![line(3), line(3), line(1)]));
    }

    #[test]
    fn spdb_is_parsed() {
        let part = spdb();
        let info = DebugInfo::read_spdb(Reader::new(&part)).unwrap();
        assert_eq!(info.files[0].name, b"Shader.hlsl");
        assert!(info.files[0].text.is_some());
        let names: Vec<&str> = info.locations.iter().map(|location| location.name.as_str()).collect();
        assert_eq!(names, ["vertex.position.x", "vertex.weights[0]", "world._m21"]);
        assert_eq!(info.locations[1].starts, [0x98, 0xa8]);
        assert_eq!((info.entry, info.locations[2].scope), (Some(0x7c), Some(0)));
        let Lines::ByOffset(lines) = info.lines else { panic!("lines by number") };
        let lines: Vec<(u32, u32)> = lines.iter().map(|(offset, line)| (*offset, line.line)).collect();
        assert_eq!(lines, [(0x7c, 3), (0x98, 4), (0xb0, 4)]);
    }
}
