//! Embedded sources: bzip2 streams of tar archives.

use crate::encoder::Encoder;
use bzip2::{Compression, read::BzDecoder, read::BzEncoder};
use std::io::Read as _;

/// The section of embedded sources.
#[derive(Clone, Debug)]
pub struct SourcesSpec {
    /// The command line of the linker.
    pub link_command: &'static str,
    /// The working directory. If present, the section is an `HSRD`, otherwise an `HSRC`.
    pub working_directory: Option<&'static str>,
    /// The archives.
    pub archives: Vec<ArchiveSpec>,
}

/// An archive.
#[derive(Clone, Debug)]
pub struct ArchiveSpec {
    /// The ID.
    pub id: &'static str,
    /// The files in it.
    pub files: Vec<SourceFile>,
    /// The block size of bzip2: 9, or 6 in the newest tools.
    pub level: u32,
    /// The stream is padded with zeros to a multiple of this.
    pub padded_to: usize,
}

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path.
    pub path: String,
    /// The content.
    pub content: Vec<u8>,
}

impl SourcesSpec {
    /// Returns the section's code.
    pub fn code(&self) -> [u8; 4] {
        if self.working_directory.is_some() { *b"HSRD" } else { *b"HSRC" }
    }

    /// Writes the section. Returns the position of the code of each `SARC`.
    pub(super) fn write(&self, out: &mut Encoder) -> Vec<usize> {
        out.u32(self.archives.len() as u32);
        out.c_string(self.link_command.as_bytes());
        if let Some(directory) = self.working_directory {
            out.c_string(directory.as_bytes());
        }
        let mut codes = Vec::new();
        for archive in &self.archives {
            let group_size = out.later(4);
            let start = out.len();
            codes.push(start);
            out.raw(b"SARC");
            let size = out.later(4);
            let content = out.len();
            out.c_string(archive.id.as_bytes());
            let stream = archive.compress();
            out.raw(&stream);
            out.zeros(stream.len().next_multiple_of(archive.padded_to) - stream.len());
            let end = out.len();
            out.set(size, end - content);
            out.raw(b"ENDT");
            let end = out.len();
            // Unlike elsewhere, the size of the group does not include itself.
            out.set(group_size, end - start);
        }
        codes
    }
}

impl ArchiveSpec {
    /// Returns the archive as a bzip2 stream, without trailing zeros.
    pub fn compress(&self) -> Vec<u8> {
        let mut stream = Vec::new();
        let archive = tar(&self.files);
        let mut encoder = BzEncoder::new(archive.as_slice(), Compression::new(self.level));
        encoder.read_to_end(&mut stream).expect("bytes in memory can be read");
        stream
    }
}

/// Builds a POSIX tar archive.
pub fn tar(files: &[SourceFile]) -> Vec<u8> {
    let mut out = Vec::new();
    for file in files {
        let mut header = [0u8; 512];
        let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
        put(0, file.path.as_bytes());
        put(100, b"0000644\0");
        put(108, b"0000000\0");
        put(116, b"0000000\0");
        put(124, format!("{:011o}\0", file.content.len()).as_bytes());
        put(136, b"00000000000\0");
        put(148, b"        ");
        put(156, b"0");
        put(257, b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend(header);
        out.extend(&file.content);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

/// Returns the files in a compressed archive, which may have trailing zeros.
///
/// # Panics
/// If it is not a bzip2 stream of a tar archive.
pub fn unpack(stream: &[u8]) -> Vec<SourceFile> {
    let mut archive = Vec::new();
    BzDecoder::new(stream).read_to_end(&mut archive).expect("a bzip2 stream");
    let mut files = Vec::new();
    let mut rest = archive.as_slice();
    while let Some((header, tail)) = rest.split_at_checked(512) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        let text = |at: usize, size: usize| {
            let field = header[at..at + size].split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8(field.to_vec()).expect("text")
        };
        assert_eq!(&header[257..265], b"ustar\x0000");
        let size = usize::from_str_radix(&text(124, 12), 8).expect("an octal number");
        files.push(SourceFile { path: text(0, 100), content: tail[..size].to_vec() });
        rest = &tail[size.next_multiple_of(512)..];
    }
    files
}
