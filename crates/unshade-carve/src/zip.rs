//! Reads the members of a zip archive. Python wheels, `.ipa`, `.jar` and `.apk` files are zip archives.
//!
//! An archive is read from its end. The end record (`PK\x05\x06`) locates the central directory. Each entry of the
//! directory (`PK\x01\x02`) locates a local header (`PK\x03\x04`), which the member's data follow. Zip64 has wider
//! fields, in an end record of its own and in an extra field of each entry. Source: PKWARE's APPNOTE.TXT 6.3.
//!
//! The crate `zip` is not used, because carving needs what a general reader hides: the offset of a stored member, so
//! that it is not copied; decompression in steps, within limits for the whole tree of archives; and the readable rest
//! of a damaged member or directory.
//!
//! Other bytes may precede an archive, such as a self-extracting program, and shift all its offsets. The directory
//! directly precedes the end record, which gives the shift. If the directory is damaged or missing, as in a partial
//! download, the members are read from their local headers, in order.

use crate::carver::{Carver, Entry, Flow, Occurrences, Run};
use crate::checks::{ZIP_END_RECORD as END_RECORD, ZIP_LOCAL_HEADER as LOCAL_HEADER};
use crate::fields::{Fields, offset};
use crate::stream::{Bunzip2, Decoder, End, Inflate, Unlzma, Unzstd, unxz};
use memchr::memmem;
use std::ops::ControlFlow::Continue;
use unshade_core::{Error, ErrorKind};

const CENTRAL_HEADER: u32 = 0x0201_4b50;
const ZIP64_END_RECORD: u32 = 0x0606_4b50;
const ZIP64_LOCATOR: u32 = 0x0706_4b50;
/// Size of the end record, and maximum length of the comment after it.
const END_SEARCH: usize = 22 + 0xffff;

const METHOD_STORED: u16 = 0;
const METHOD_DEFLATE: u16 = 8;
const METHOD_BZIP2: u16 = 12;
const METHOD_LZMA: u16 = 14;
const METHOD_ZSTD: u16 = 93;
const METHOD_XZ: u16 = 95;
const METHOD_AES: u16 = 99;

/// A member, as its directory entry or local header describes it.
struct Member<'a> {
    name: &'a [u8],
    encrypted: bool,
    /// Whether an end marker ends LZMA data, whose size is then not needed.
    has_end_marker: bool,
    method: u16,
    crc: Option<u32>,
    packed_size: Option<u64>,
    size: Option<u64>,
    /// Offset of its local header, as the directory states it.
    header: usize,
}

/// Returns whether an archive ends here; only a comment or a signature may follow.
pub(crate) fn ends_archive(data: &[u8]) -> bool {
    find_directory(data).is_ok_and(|directory| directory.count > 0)
}

/// Visits the members.
pub(crate) fn carve(carver: &mut Carver<'_>, run: &mut Run<'_>) -> Flow {
    match find_directory(run.data).and_then(|directory| directory.members(carver)) {
        Ok(members) => carve_members(carver, run, &members),
        Err(fault) => {
            let message = format!("the directory of the zip archive can't be read: {fault}");
            let error = Error::new(ErrorKind::BadValue, 0, message)
                .hint("the file may be cut off; members are looked for by their own headers");
            carver.error("zip-directory", error);
            carve_by_local_headers(carver, run)
        }
    }
}

/// Returns the directory of the last end record that leads to a sound one. A comment or the signature of a
/// self-extracting program may follow the end record.
fn find_directory(data: &[u8]) -> Result<Directory<'_>, &'static str> {
    let first = data.len().saturating_sub(END_SEARCH);
    let mut tail = data.get(first..).unwrap_or_default();
    let mut fault = "there is no end record";
    while let Some(at) = memmem::rfind(tail, END_RECORD) {
        match Directory::read(data, first.saturating_add(at)) {
            Ok(directory) => return Ok(directory),
            Err(found) => fault = found,
        }
        tail = tail.get(..at).unwrap_or_default();
    }
    Err(fault)
}

/// The location of the central directory.
struct Directory<'a> {
    data: &'a [u8],
    start: usize,
    end: usize,
    count: u64,
    /// What to add to the archive's offsets.
    shift: usize,
}

impl<'a> Directory<'a> {
    fn read(data: &'a [u8], end_record: usize) -> Result<Self, &'static str> {
        const CUT: &str = "its end record is cut off";
        let fields = Fields::little(data);
        let at = |distance| end_record.saturating_add(distance);
        let mut count = fields.u16(at(10)).map(u64::from).ok_or(CUT)?;
        let mut size = fields.u32(at(12)).map(u64::from).ok_or(CUT)?;
        let mut start = fields.u32(at(16)).map(u64::from).ok_or(CUT)?;
        let mut end = end_record;
        if let Some((zip64, end64)) = zip64_end(data, end_record) {
            let at = |distance| zip64.saturating_add(distance);
            count = fields.u64(at(32)).ok_or(CUT)?;
            size = fields.u64(at(40)).ok_or(CUT)?;
            start = fields.u64(at(48)).ok_or(CUT)?;
            end = end64;
        }
        const LOST: &str = "it is not where the end record says";
        let stated = usize::try_from(start).map_err(|_| LOST)?;
        let counted = usize::try_from(size).ok().and_then(|size| end.checked_sub(size)).ok_or(LOST)?;
        let is_directory = |at: usize| count == 0 || fields.u32(at) == Some(CENTRAL_HEADER);
        let (start, shift) = if stated <= end && is_directory(stated) {
            (stated, 0)
        } else {
            // An archive whose first member is at offset 0 isn't shifted: this end record is that of an inner archive.
            let is_moved = !data.starts_with(LOCAL_HEADER) && is_directory(counted);
            (counted, counted.checked_sub(stated).filter(|_| is_moved).ok_or(LOST)?)
        };
        Ok(Self { data, start, end, count, shift })
    }

    /// Returns the members in the order of their data, at most as many as the limit allows.
    fn members(&self, carver: &mut Carver<'_>) -> Result<Vec<Member<'a>>, &'static str> {
        let fields = Fields::little(self.data.get(..self.end).unwrap_or_default());
        let mut members = Vec::new();
        let mut at = self.start;
        while at < self.end {
            if fields.u32(at) != Some(CENTRAL_HEADER) {
                // A digital signature with its own magic number may follow the entries.
                if fields.u32(at) == Some(0x0505_4b50) {
                    break;
                }
                return Err("an entry has no header");
            }
            if members.len() as u64 > carver.limits.max_members {
                break;
            }
            let member = read_entry(fields, at).ok_or("an entry is cut off")?;
            at = member.1;
            let mut member = member.0;
            member.header = member.header.saturating_add(self.shift);
            members.push(member);
        }
        // A 16-bit count wraps around in archives of writers without Zip64.
        if (members.len() as u64) < self.count && members.len() as u64 <= carver.limits.max_members {
            let error = Error::new(
                ErrorKind::BadValue,
                self.start as u64,
                "the zip archive has fewer members than it says",
            )
            .expected(self.count.to_string())
            .found(members.len().to_string());
            carver.warning("zip-directory", error);
        }
        members.sort_by_key(|member| member.header);
        Ok(members)
    }
}

/// Returns the offset of the Zip64 end record, and the end of the central directory before it.
fn zip64_end(data: &[u8], end_record: usize) -> Option<(usize, usize)> {
    let fields = Fields::little(data);
    let locator = end_record.checked_sub(20)?;
    if fields.u32(locator)? != ZIP64_LOCATOR {
        return None;
    }
    let stated = usize::try_from(fields.u64(locator.checked_add(8)?)?).ok()?;
    // If the whole archive was shifted, the record directly precedes the locator; without extensible data it has 56
    // bytes.
    [stated, locator.checked_sub(56)?]
        .into_iter()
        .find(|&at| at < locator && fields.u32(at) == Some(ZIP64_END_RECORD))
        .map(|at| (at, at))
}

/// Reads an entry of the central directory, and returns it with the offset of the next one.
fn read_entry<'a>(fields: Fields<'a>, at: usize) -> Option<(Member<'a>, usize)> {
    let field = |distance: usize| at.saturating_add(distance);
    let flags = fields.u16(field(8))?;
    let name_size = u64::from(fields.u16(field(28))?);
    let extra_size = u64::from(fields.u16(field(30))?);
    let comment_size = u64::from(fields.u16(field(32))?);
    let name = fields.bytes(field(46) as u64, name_size)?;
    let extra_at = offset(field(46), name_size);
    let extra = fields.bytes(extra_at as u64, extra_size)?;
    let mut size = u64::from(fields.u32(field(24))?);
    let mut packed_size = u64::from(fields.u32(field(20))?);
    let mut header = u64::from(fields.u32(field(42))?);
    widen(extra, &mut [&mut size, &mut packed_size, &mut header]);
    let method = fields.u16(field(10))?;
    let member = Member {
        name,
        encrypted: flags & 1 != 0 || method == METHOD_AES,
        has_end_marker: flags & 2 != 0,
        method,
        crc: fields.u32(field(16)),
        packed_size: Some(packed_size),
        size: Some(size),
        header: usize::try_from(header).ok()?,
    };
    let next = offset(extra_at, extra_size.saturating_add(comment_size));
    (next <= fields.len()).then_some((member, next))
}

/// Replaces fields whose bits are all ones by the wide fields of the Zip64 extra field, which has only those, in this
/// order.
fn widen(extra: &[u8], numbers: &mut [&mut u64]) {
    let fields = Fields::little(extra);
    let mut at = 0_usize;
    while let (Some(id), Some(size)) = (fields.u16(at), fields.u16(at.saturating_add(2))) {
        let mut field = at.saturating_add(4);
        at = field.saturating_add(usize::from(size));
        if id != 1 {
            continue;
        }
        for number in numbers.iter_mut().filter(|number| ***number == u64::from(u32::MAX)) {
            if field.saturating_add(8) > at {
                return;
            }
            match fields.u64(field) {
                Some(wide) => **number = wide,
                None => return,
            }
            field = field.saturating_add(8);
        }
        return;
    }
}

/// Reads the local header at an offset, and returns the member with the offset of its data.
fn read_local_header<'a>(data: &'a [u8], at: usize) -> Option<(Member<'a>, usize)> {
    let fields = Fields::little(data);
    if fields.bytes(at as u64, 4)? != LOCAL_HEADER {
        return None;
    }
    let field = |distance: usize| at.saturating_add(distance);
    let flags = fields.u16(field(6))?;
    let method = fields.u16(field(8))?;
    let name_size = u64::from(fields.u16(field(26))?);
    let extra_size = u64::from(fields.u16(field(28))?);
    let extra_at = offset(field(30), name_size);
    let extra = fields.bytes(extra_at as u64, extra_size)?;
    let mut size = u64::from(fields.u32(field(22))?);
    let mut packed_size = u64::from(fields.u32(field(18))?);
    widen(extra, &mut [&mut size, &mut packed_size]);
    // Sizes and checksum follow the data.
    let deferred = flags & 8 != 0 && packed_size == 0;
    let member = Member {
        name: fields.bytes(field(30) as u64, name_size)?,
        encrypted: flags & 1 != 0 || method == METHOD_AES,
        has_end_marker: flags & 2 != 0,
        method,
        crc: if deferred { None } else { fields.u32(field(14)) },
        packed_size: (!deferred).then_some(packed_size),
        size: (!deferred).then_some(size),
        header: at,
    };
    Some((member, offset(extra_at, extra_size)))
}

/// Visits the members of a sound directory.
fn carve_members(carver: &mut Carver<'_>, run: &mut Run<'_>, members: &[Member<'_>]) -> Flow {
    let mut occurrences = Occurrences::default();
    for member in members {
        carver.cover(run, member.header)?;
        match read_local_header(run.data, member.header) {
            Some((_, start)) => {
                carve_member(carver, run, member, start, &mut occurrences)?;
            }
            None => {
                let error =
                    Error::new(ErrorKind::BadValue, member.header as u64, "the member has no local header")
                        .within(carver.place_of(member.name));
                carver.error("zip-member", error);
            }
        }
    }
    Continue(())
}

/// Visits the members by their local headers, from the first on.
fn carve_by_local_headers(carver: &mut Carver<'_>, run: &mut Run<'_>) -> Flow {
    let data = run.data;
    let finder = memmem::Finder::new(LOCAL_HEADER);
    let mut occurrences = Occurrences::default();
    let mut at = 0_usize;
    while let Some(found) = data.get(at..).and_then(|rest| finder.find(rest)) {
        let header = at.saturating_add(found);
        at = header.saturating_add(4);
        if let Some((member, start)) = read_local_header(data, header) {
            carver.cover(run, header)?;
            if let Some(end) = carve_member(carver, run, &member, start, &mut occurrences)? {
                at = at.max(end);
            }
        }
        if carver.members >= carver.limits.max_members {
            break;
        }
    }
    Continue(())
}

type Ended = std::ops::ControlFlow<(), Option<usize>>;

/// Visits the member whose data begin at `start`, and returns the end of the data if it is known.
fn carve_member(
    carver: &mut Carver<'_>,
    run: &mut Run<'_>,
    member: &Member<'_>,
    start: usize,
    occurrences: &mut Occurrences,
) -> Ended {
    let data = run.data;
    let rest = data.get(start..).unwrap_or_default();
    let packed = match member.packed_size {
        Some(size) => rest.get(..usize::try_from(size).unwrap_or(usize::MAX)).unwrap_or(rest),
        None => rest,
    };
    let known_end = member.packed_size.map(|_| start.saturating_add(packed.len()));
    if member.name.ends_with(b"/") && packed.is_empty() {
        return Continue(known_end);
    }
    match carver.enter(member.name, occurrences) {
        Entry::Entered => {}
        Entry::Unwanted => {
            if let Some(end) = known_end {
                run.skip_to(end);
            }
            return Continue(known_end);
        }
        Entry::Refused => return Continue(known_end),
    }
    let result = carve_entered(carver, run, member, start, packed, known_end);
    carver.leave();
    result
}

fn carve_entered(
    carver: &mut Carver<'_>,
    run: &mut Run<'_>,
    member: &Member<'_>,
    start: usize,
    packed: &[u8],
    known_end: Option<usize>,
) -> Ended {
    let place = start as u64;
    if member.packed_size.is_some_and(|size| size > packed.len() as u64) {
        let error = Error::new(ErrorKind::Truncated, place, "the member is cut off")
            .expected(format!("{} bytes", member.packed_size.unwrap_or_default()))
            .found(packed.len().to_string());
        carver.error("zip-member", error);
    }
    if member.encrypted {
        let error =
            Error::new(ErrorKind::Unsupported, place, "the member is encrypted and can't be searched");
        carver.note("zip-encrypted", error);
        return Continue(known_end);
    }
    let mut packed_at = 0;
    let mut decoder: Box<dyn Decoder + '_> = match member.method {
        METHOD_STORED => {
            // The end of a stored member is unknown without its size.
            let Some(end) = known_end else {
                let error =
                    Error::new(ErrorKind::Unsupported, place, "the size of a stored member is not known")
                        .hint("only the archive's directory states it");
                carver.note("zip-member", error);
                return Continue(None);
            };
            if carver.spend_overlap(run, start, end) {
                check_crc(carver, member, packed, place);
                carver.run(packed, run.file_offset(start))?;
                run.skip_to(end);
            }
            return Continue(known_end);
        }
        METHOD_DEFLATE => Box::new(Inflate::raw()),
        METHOD_BZIP2 => Box::new(Bunzip2::new()),
        METHOD_ZSTD => Box::new(Unzstd::new()),
        METHOD_XZ => unxz(packed, carver.limits),
        METHOD_LZMA => match lzma(packed, member.size.filter(|_| !member.has_end_marker)) {
            Ok((header, decoder)) => {
                packed_at = header;
                Box::new(decoder)
            }
            Err(fault) => {
                carver.error("zip-member", Error::new(ErrorKind::BadValue, place, fault));
                return Continue(known_end);
            }
        },
        method => {
            let error = Error::new(ErrorKind::Unsupported, place, "the member's compression is not read")
                .expected("stored, deflate, bzip2, LZMA, xz or Zstandard")
                .found(method_name(method));
            carver.note("zip-method", error);
            return Continue(known_end);
        }
    };
    let mut output = Vec::new();
    let stream = packed.get(packed_at..).unwrap_or_default();
    let unpacked = carver.unpack(&mut *decoder, stream, &mut output, packed.len(), member.size);
    drop(decoder);
    let end = start.saturating_add(packed_at).saturating_add(unpacked.consumed);
    let mut found_end = known_end;
    match unpacked.end {
        End::Complete => {
            check_crc(carver, member, &output, place);
            found_end = known_end.or(Some(end));
        }
        End::Damaged(fault) => carver.error("zip-member", Error::new(ErrorKind::BadValue, place, fault)),
        End::Limit => {}
    }
    carver.run_unpacked(output)?;
    // The unpacked bytes have been searched. If the stream broke off, the bytes after it are searched raw.
    run.skip_to(end);
    Continue(found_end)
}

/// Returns the size of the header before the data of LZMA, and a decoder for them: u16 version, u16 size of the
/// properties, u8 properties, u32 size of the window.
fn lzma(packed: &[u8], size: Option<u64>) -> Result<(usize, Unlzma), String> {
    let fields = Fields::little(packed);
    let header = fields.u16(2).and_then(|size| Some((size, fields.u8(4)?, fields.u32(5)?)));
    let Some((5, properties, window)) = header else {
        return Err("the header of LZMA is damaged or cut off".into());
    };
    Ok((9, Unlzma::raw(properties, window, size)?))
}

fn check_crc(carver: &mut Carver<'_>, member: &Member<'_>, data: &[u8], place: u64) {
    let Some(stated) = member.crc else { return };
    let mut crc = crate::crc32::Crc::new();
    crc.update(data);
    if crc.sum() != stated {
        let error = Error::new(ErrorKind::BadChecksum, place, "the member's CRC-32 does not match")
            .expected(format!("{stated:#010x}"))
            .found(format!("{:#010x}", crc.sum()));
        carver.error("zip-checksum", error);
    }
}

fn method_name(method: u16) -> String {
    match method {
        1 => "shrink".into(),
        2..=5 => "reduce".into(),
        6 => "implode".into(),
        9 => "Deflate64".into(),
        98 => "PPMd".into(),
        method => format!("method {method}"),
    }
}
