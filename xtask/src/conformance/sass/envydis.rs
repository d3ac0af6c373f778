//! Compares our decoding of sm_30 with that of envydis.
//!
//! Our decoded instruction, with operands and modifiers, is printed in the syntax of envydis and compared as a whole.
//! Known differences:
//!
//! - envydis prints `$r63` as `0x0`, but `$r63d` in pairs.
//! - CCTL: envydis shows bits 14 to 19 as a register, which nothing writes.
//! - BAR: envydis shows a register and a predicate as results, which B2R reads.
//! - For ISETP and similar instructions, envydis omits `and $p7`; for PSETP and PSET it omits `and $p0`, although
//!   compilers write `$p0 and $p0` just like `$p1 and $p1`.
//! - Everything that envydis marks as unknown is skipped.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use unshade::sass::table::{Kind, NONE, Operand};
use unshade::sass::{Instruction, isa, print};

use super::{Tally, words};

/// Compares every word of the list.
pub(super) fn sm_30(corpus: &Path) -> Result<u64> {
    let isa = isa::by_architecture(30).context("the table of sm_30")?;
    let rows = words::rows(&corpus.join("words/sm_30_A_tensorflow_cntk.envydis.tsv.gz"))?;
    let (mut decoded, mut agreed) = (Tally::default(), Tally::default());
    let (mut fields, mut assembled) = (Tally::default(), Tally::default());
    let mut weight = (0, 0);
    for row in &rows {
        weight.1 += row.count;
        let instruction = Instruction::decode(isa, row.word);
        decoded.count(instruction.is_some(), || format!("{:016x} {}", row.word, row.text));
        let Some(instruction) = instruction else { continue };
        weight.0 += row.count;
        let text = instruction.text(row.address);
        words::round_trips(isa, row, &text, &mut fields, &mut assembled);
        if row.text.contains("[unknown") || row.text.contains("???") {
            continue;
        }
        let ours = Envy { instruction: &instruction, address: row.address }.text();
        agreed.count(same(&ours, &row.text), || format!("{:016x} {text} | {ours} | {}", row.word, row.text));
    }
    println!("sm_30 instructions of the corpus that decode: {} of {}", weight.0, weight.1);
    Ok(decoded.report("sm_30 words that decode")
        + agreed.report("sm_30 words without unknown parts in envydis, equal text")
        + fields.report("sm_30 words encoded from their fields")
        + assembled.report("sm_30 words assembled from their text"))
}

/// Compares texts; `*` matches one word of envydis without meaning.
fn same(ours: &str, theirs: &str) -> bool {
    let mut theirs = theirs.split(' ');
    ours.split_whitespace().all(|word| theirs.next().is_some_and(|other| word == "*" || word == other))
        && theirs.next().is_none()
}

/// An instruction in the syntax of envydis.
struct Envy<'a> {
    instruction: &'a Instruction,
    address: u64,
}

/// The size of a register operand.
#[derive(Clone, Copy, PartialEq)]
enum Width {
    Single,
    Pair,
    Quad,
}

impl Envy<'_> {
    fn text(&self) -> String {
        let mut out = String::new();
        if self.is("join", "on") {
            out.push_str("join ");
        }
        if let Some(guard) = self.instruction.operand("guard") {
            let number = self.instruction.number(guard.value);
            match (number, self.instruction.flag(guard.not)) {
                (7, false) => {}
                (_, false) => write!(out, "$p{number} ").unwrap_or_default(),
                (_, true) => write!(out, "(not $p{number}) ").unwrap_or_default(),
            }
        }
        out.push_str(&self.body());
        out
    }

    fn body(&self) -> String {
        let name = self.instruction.operation().name;
        match name {
            "FADD" | "DADD" => self.fill("add {ftz}{sat}{rnd}{type}{d}{cc}{a}{b}"),
            "FMUL" => self.fill("mul {scale}{fmz}{sat}{rnd}{a.neg}{type}{d}{cc}{+a}{b}"),
            "DMUL" => self.fill("mul {rnd}{a.neg}{type}{d}{cc}{+a}{b}"),
            "FADD32I" => self.fill("add {ftz}f32 {d}{cc}{a}{b}"),
            "FMUL32I" => self.fill("mul {fmz}{sat}f32 {d}{cc}{a}{b}"),
            "FFMA32I" => self.fill("fma {fmz}{sat}f32 {d}{cc}{a}{b}{c}"),
            "FFMA" | "DFMA" => self.fill("fma {fmz}{sat}{rnd}{type}{d}{cc}{a}{b}{c}"),
            "FMNMX" | "DMNMX" => self.fill("{minmax}{ftz}{type}{d}{cc}{a}{b}"),
            "IMNMX" => self.fill("{minmax}{mnmx_x}{unsigned}{d}{cc}{a}{b}{carry}"),
            "FSET" | "DSET" => self.fill("set {ftz}{bf}{d}{cc}{cmp}{type}{a}{b}{setlop}"),
            "FSETP" | "DSETP" => self.fill("set {ftz}{d}{q}{cmp}{type}{a}{b}{setlop}"),
            "FCMP" => self.fill("slct {ftz}b32 {d}{a}{b}{cmp}f32 {c}"),
            "RRO" => self.fill(if self.is("rro", "ex2") { "preex2 f32 {d}{a}" } else { "presin f32 {d}{a}" }),
            "MUFU" => self.fill("{mufu}{sat}{mufu_type}{d}{a}"),
            "IADD32I" | "IADD" => self.fill("{addop}{sat}b32 {d}{cc}{+a}{+b}{x}"),
            "ISUB" => self.fill("{addop}{sat}b32 {d}{cc}{a}{b}{x}"),
            "IMUL" | "IMUL32I" => self.fill("mul {hi}{d}{cc}{sign_a}{a}{sign_b}{b}"),
            "IMAD" | "IMAD32I" => self.fill("{addop}{sat}{d}{cc}(mul {hi}{sign_a}{+a}{sign_b}{b}){+c}{x}"),
            "ISCADD" | "ISCADD32I" => self.fill("{addop}b32 {d}{cc}(shl {+a}{n}){+b}"),
            "ISET" => self.fill("set {bf}{d}{cc}{cmp}{unsigned}{a}{b}{x}{setlop}"),
            "ISETP" => self.fill("set {d}{q}{cmp}{unsigned}{a}{b}{x}{setlop}"),
            "ICMP" => self.fill("slct b32 {d}{a}{b}{cmp}{unsigned}{c}"),
            "SHR" => self.fill("shr {brev}{unsigned}{d}{cc}{a}{wrap}{b}"),
            "SHL" => self.fill("shl b32 {d}{cc}{a}{wrap}{b}"),
            "LOP" | "LOP32I" => self.fill("{lop}b32 {d}{cc}{a}{b}{x}"),
            "BFE" => self.fill("ext {brev}{unsigned}{d}{cc}{a}{b}"),
            "BFI" => self.fill("ins b32 {d}{cc}{a}{b}{c}"),
            "FLO" => self.fill("bfind {flo_sh}{unsigned}{d}{cc}{a}"),
            "POPC" => self.fill("popc {d}{a}{b}"),
            "PRMT" => self.fill("prmt {prmt_mode}b32 {d}{a}{b}{c}"),
            "SEL" => self.fill("selp b32 {d}{a}{b}{p}"),
            "MOV" | "MOV32I" => self.fill("{nibbles}mov b32 {d}{a}"),
            "S2R" => self.fill("mov b32 {d}{sreg}"),
            "P2R" => self.fill("mov {d}{flags_or}$flags mask {b}"),
            "R2P" => self.fill("mov $flags {a}mask {b}"),
            "CSETP" => self.fill("set {d}{q}{test}$c {setlop}"),
            "CSET" => self.fill("set {bf}{d}{cc}{test}$c {setlop}"),
            "PSETP" => self.fill("set {d}{q}{psrc}{setlop}"),
            "PSET" => self.fill("set {bf}{d}{cc}{psrc}{setlop}"),
            "F2F" => self.fill("cvt {ftz}{sat}{f2f_rnd}{fdest}{d}{cc}{a.neg}{a.abs}{ftype}{+a}{half}"),
            "F2I" => self.fill("cvt {ftz}{irnd}{itype}{d}{cc}{a.neg}{a.abs}{ftype}{half}{+a}"),
            "I2F" => self.fill("cvt {rnd}{fdest}{d}{cc}{a.neg}{a.abs}{itype}{half}{+a}"),
            "I2I" => self.fill("cvt {sat}{dtype}{d}{cc}{a.neg}{a.abs}{itype}{half}{+a}"),
            "VOTE" => self.fill("vote {vote}{d}{q}{p}"),
            "NOP" => self.fill("{test}nop"),
            "BAR_SYNC" | "BAR_RED" | "BAR_ARV" => self.fill("bar {bar}* * {a}{bar_count}{bar_p}"),
            "RED" => self.fill("red {red}{atom_type}{m}{a}"),
            "ATOM" if self.is("atom", "exch") => self.fill("exch {exch_type}{d}{m}{a}"),
            "ATOM" => self.fill("ld {atom}{atom_type}{d}{m}{a}"),
            "ATOM_CAS" => self.fill("cas {exch_type}{d}{m}{a}{b}"),
            "LD" | "LDL" => self.fill("ld {size}{d}{cache}{m}"),
            "ST" | "STL" => self.fill("st {size}{cache}{m}{a}"),
            "LDS" | "LDC" => self.fill("ld {size}{d}{m}"),
            "STS" => self.fill("st {size}{m}{a}"),
            "LDSLK" => self.fill("ld lock {q}{d}{m}"),
            "STSCUL" => self.fill("st unlock {q}{m}{a}"),
            "SHFL" => self.fill("shfl {shfl}{q}{d}{a}{b}{c}"),
            "CCTL" => self.fill("cctl {cctl}{cctl_type}* {m}"),
            "MEMBAR" => self.fill("membar {membar}"),
            "BRA" => self.fill("{test}bra {lim}{u}{t}"),
            "BRX" => self.fill("{test}bra {lim}{a}{t_next}"),
            "CAL" => self.fill("call {lim}{t}"),
            "SSY" => self.fill("joinat {t}"),
            "PBK" => self.fill("prebrk {t}"),
            "PCNT" => self.fill("precont {t}"),
            "PRET" => self.fill("preret {lim}{t}"),
            "EXIT" => self.fill("{test}exit"),
            "RET" => self.fill("{test}ret"),
            "BRK" => self.fill("{test}brk"),
            "CONT" => self.fill("{test}cont"),
            _ => format!("{name}?"),
        }
    }

    /// Returns a template with each name in braces replaced by its text and a space.
    fn fill(&self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let (name, behind) = after.split_once('}').unwrap_or((after, ""));
            let said = self.said(name);
            out.push_str(&said);
            if !said.is_empty() && !behind.starts_with(')') {
                out.push(' ');
            }
            rest = behind;
        }
        out.push_str(rest);
        // There are no spaces inside the brackets of a product.
        out.replace(" )", ")").replace(')', ") ").trim_end().to_owned()
    }

    fn said(&self, name: &str) -> String {
        let modifier = |slot: &str| self.instruction.modifier(slot);
        let flag = |slot: &str, off: &str, text: &str| match modifier(slot) {
            Some(value) if value != off => text.to_owned(),
            _ => String::new(),
        };
        match name {
            "ftz" | "sat" | "cc" | "x" | "brev" => {
                let text = match name {
                    "cc" | "x" => "$c",
                    "brev" => "rev",
                    other => other,
                };
                flag(name, "off", text)
            }
            "fmz" | "hi" | "rnd" | "mufu" | "lop" | "red" | "atom" | "shfl" | "vote" | "cctl" | "membar"
            | "cctl_type" => self.renamed(name),
            "flo_sh" => flag(name, "off", "shiftamt"),
            "u" => flag(name, "off", "allwarp"),
            "lim" => match (modifier("lmt"), modifier("noinc")) {
                (Some("lmt"), _) | (_, Some("inc")) => String::from("lim"),
                _ => String::new(),
            },
            "wrap" => String::from(if self.is("wrap", "wrap") { "wrap" } else { "clamp" }),
            "scale" => self.renamed(name),
            "mnmx_x" => self.renamed(name),
            "carry" => {
                String::from(if matches!(modifier("mnmx_x"), Some("xlo" | "xmed")) { "$c" } else { "" })
            }
            "unsigned" => modifier(name).unwrap_or_default().to_owned(),
            "bf" => String::from(if self.is("bf", "bf") { "f32" } else { "b32" }),
            "cmp" => modifier(name).map(comparison).unwrap_or_default(),
            "test" => self.test(),
            "type" => String::from(if self.is_double() { "f64" } else { "f32" }),
            "mufu_type" => {
                String::from(if self.is("mufu", "rcp64h") || self.is("mufu", "rsq64h") { "" } else { "f32" })
            }
            "minmax" => self.minmax(),
            "setlop" => self.setlop(),
            "psrc" => self.psrc(),
            "sign_a" | "sign_b" => self.sign(name == "sign_a"),
            "addop" => self.addop(),
            "size" | "fdest" | "ftype" | "itype" | "dtype" => modifier(name).unwrap_or_default().to_owned(),
            "cache" => modifier(name)
                .map(|cache| if cache == "lu" { "cs" } else { cache })
                .unwrap_or_default()
                .to_owned(),
            "nibbles" => self.nibbles(),
            "prmt_mode" => modifier(name).filter(|mode| *mode != "idx").unwrap_or_default().to_owned(),
            "sreg" => special_register(modifier(name).unwrap_or_default()),
            "f2f_rnd" => self.f2f_rounding(),
            "irnd" => modifier(name).map(rounding_to_integer).unwrap_or_default().to_owned(),
            "half" => self.half(),
            "atom_type" => modifier("size").unwrap_or_default().to_owned(),
            "exch_type" => {
                let wide = self.is("b64", "b64") || self.is("size", "u64");
                String::from(if wide { "b64" } else { "b32" })
            }
            "bar" => self.barrier(),
            "bar_count" => self.operand_or("b", "0x0"),
            "bar_p" => self.operand_or("p", "0x1"),
            "flags_or" => match self.operand_or("a", "0x0").as_str() {
                "0x0" => String::new(),
                register => format!("{register} or"),
            },
            "a.neg" => self.part_of_a(|a| a.negate, "neg"),
            "a.abs" => self.part_of_a(|a| a.absolute, "abs"),
            "t_next" => {
                let target =
                    self.instruction.operand("t").map_or(0, |operand| self.instruction.number(operand.value));
                hex(target.wrapping_add(self.address.cast_signed()).wrapping_add(8))
            }
            _ => match name.strip_prefix('+') {
                Some(slot) => self.operand(slot, false),
                None => self.operand(name, true),
            },
        }
    }

    fn is(&self, slot: &str, value: &str) -> bool {
        self.instruction.modifier(slot) == Some(value)
    }

    fn is_double(&self) -> bool {
        self.instruction.operation().name.starts_with('D')
    }

    /// Returns values with different names in envydis.
    fn renamed(&self, slot: &str) -> String {
        let value = self.instruction.modifier(slot).unwrap_or_default();
        let renamed = match (slot, value) {
            ("fmz", "none" | "off")
            | ("hi", "lo")
            | ("scale", "m1")
            | ("mnmx_x", "off")
            | ("cctl_type", "d") => "",
            ("hi", "hi") | ("mnmx_x", "xhi") => "high",
            ("mnmx_x", "xlo") => "low",
            ("mnmx_x", "xmed") => "med",
            ("mufu", "rsq") => "rsqrt",
            ("mufu", "rsq64h") => "rsqrt64h",
            ("lop", "pass_b") => "mov2",
            ("scale", "d2") => "div2",
            ("scale", "d4") => "div4",
            ("scale", "d8") => "div8",
            ("scale", "m2") => "mul2",
            ("scale", "m4") => "mul4",
            ("scale", "m8") => "mul8",
            ("cctl", "qry1") => "query1",
            ("vote", "eq") => "uni",
            (_, value) => value,
        };
        renamed.to_owned()
    }

    fn predicate(&self, slot: &str) -> (i64, bool) {
        let found = self.instruction.operand(slot);
        found.map_or((7, false), |p| (self.instruction.number(p.value), self.instruction.flag(p.not)))
    }

    fn minmax(&self) -> String {
        match self.predicate("p") {
            (7, false) => String::from("min"),
            (7, true) => String::from("max"),
            _ => String::from("minmax"),
        }
    }

    fn setlop(&self) -> String {
        match (self.instruction.modifier("bool").unwrap_or_default(), self.predicate("p")) {
            ("and", (7, false)) => String::new(),
            (operation, predicate) => format!("{operation} {}", predicate_text(predicate)),
        }
    }

    fn psrc(&self) -> String {
        let a = predicate_text(self.predicate("a"));
        match (self.instruction.modifier("bool1").unwrap_or_default(), self.predicate("b")) {
            // envydis prints nothing for zeros, and omits `and $p0`.
            ("and", (0, false)) => a,
            (operation, predicate) => format!("{a} {operation} {}", predicate_text(predicate)),
        }
    }

    fn sign(&self, first: bool) -> String {
        let signs = self.instruction.modifier("signs").unwrap_or_default().as_bytes();
        let sign = signs.get(usize::from(!first));
        String::from(if sign == Some(&b's') { "s32" } else { "u32" })
    }

    /// Returns the add or subtract operation, depending on the signs.
    fn addop(&self) -> String {
        let negated = |slot| {
            self.instruction.operand(slot).is_some_and(|operand| self.instruction.flag(operand.negate))
        };
        let name = self.instruction.operation().name;
        let added = if name.starts_with("IMAD") { "c" } else { "b" };
        let text = self.instruction.text(0);
        if text.contains(".PO") {
            return String::from("addpo");
        }
        let first = if name == "ISUB" { self.writes_b_first() } else { negated("a") };
        String::from(match (first, negated(added) || name == "ISUB") {
            (true, _) => "subr",
            (false, true) => "sub",
            (false, false) => "add",
        })
    }

    /// Returns whether the text has the second source first.
    fn writes_b_first(&self) -> bool {
        let b = self.instruction.operand("b");
        let kinds = b.is_some_and(|b| b.kind != Kind::Register);
        let text = self.instruction.text(0);
        let second = text.split(", ").nth(1).unwrap_or_default();
        kinds && !second.starts_with('R')
    }

    fn nibbles(&self) -> String {
        match self.instruction.modifier("nibbles").unwrap_or("all") {
            "all" => String::new(),
            "n0" => String::from("lnone"),
            other => {
                let mask: u32 = other.trim_start_matches('n').parse().unwrap_or(0);
                (0..4)
                    .filter(|bit| mask >> bit & 1 == 1)
                    .fold(String::from("l"), |text, bit| format!("{text}{bit}"))
            }
        }
    }

    fn f2f_rounding(&self) -> String {
        if let Some(to) = self.instruction.modifier("frnd") {
            return String::from(match to {
                "round" => "rni",
                "floor" => "rmi",
                "ceil" => "rpi",
                "trunc" => "rzi",
                _ => "",
            });
        }
        let narrower = matches!(
            (self.instruction.modifier("fdest"), self.instruction.modifier("ftype")),
            (Some("f16"), Some("f32")) | (Some("f32"), Some("f64"))
        );
        if narrower { self.renamed("rnd") } else { String::new() }
    }

    /// Returns the selected part of the register, for narrow sources.
    fn half(&self) -> String {
        let Some(a) = self.instruction.operand("a").filter(|a| a.select != NONE) else {
            return String::new();
        };
        let source =
            self.instruction.modifier("ftype").or(self.instruction.modifier("itype")).unwrap_or_default();
        let raw = self.instruction.number(a.select);
        match source {
            "f16" => hex(raw),
            "u8" | "s8" => hex(raw),
            "u16" | "s16" => hex(raw >> 1),
            _ => String::new(),
        }
    }

    fn barrier(&self) -> String {
        String::from(match self.instruction.operation().name {
            "BAR_ARV" => "arrive",
            "BAR_RED" => self.instruction.modifier("bar_red").unwrap_or_default(),
            _ => "popc",
        })
    }

    fn test(&self) -> String {
        let name = match self.instruction.modifier("test").or(self.instruction.modifier("cc_tail")) {
            None | Some("t") => return String::new(),
            Some("f") => "never",
            Some("lt") => "l",
            Some("eq") => "e",
            Some("gt") => "g",
            Some("ne") => "lg",
            Some("num") => "lge",
            Some("nan") => "u",
            Some("ltu") => "lu",
            Some("equ") => "eu",
            Some("leu") => "leu",
            Some("gtu") => "gu",
            Some("neu") => "lgu",
            Some("off") => "no",
            Some("lo") => "nc",
            Some("sff") => "ns",
            Some("ls") => "na",
            Some("hi") => "a",
            Some("sft") => "s",
            Some("hs") => "c",
            Some("oft") => "o",
            Some(same) => same,
        };
        // Sets of predicates name the condition code themselves.
        if self.instruction.operation().name.starts_with("CSET") {
            name.to_owned()
        } else {
            format!("{name} $c")
        }
    }

    fn operand_or(&self, slot: &str, other: &str) -> String {
        if self.instruction.operand(slot).is_some() { self.operand(slot, true) } else { other.to_owned() }
    }

    fn part_of_a(&self, part: impl Fn(&Operand) -> u16, text: &str) -> String {
        let set = self.instruction.operand("a").is_some_and(|a| self.instruction.flag(part(a)));
        String::from(if set { text } else { "" })
    }

    /// Returns an operand, optionally with its signs.
    fn operand(&self, slot: &str, with_signs: bool) -> String {
        let Some(operand) = self.instruction.operand(slot) else { return format!("{slot}?") };
        let mut out = String::new();
        if with_signs {
            for (part, text) in
                [(operand.negate, "neg "), (operand.absolute, "abs "), (operand.invert, "not ")]
            {
                if self.instruction.flag(part) {
                    out.push_str(text);
                }
            }
        }
        let number = self.instruction.number(operand.value);
        out.push_str(&match operand.kind {
            Kind::Register | Kind::OptionalRegister => register(number, self.width(slot)),
            Kind::Predicate | Kind::OptionalPredicate => predicate_text(self.predicate(slot)),
            Kind::Constant | Kind::ConstantSpaced => {
                let offset = hex(self.instruction.number(operand.offset));
                format!("c{}[{offset}]", self.instruction.number(operand.bank))
            }
            Kind::ConstantIndexed | Kind::ConstantBranch => {
                format!(
                    "c{}[{}]",
                    self.instruction.number(operand.bank),
                    self.address_text(operand, Width::Single)
                )
            }
            Kind::Memory => self.memory(operand),
            Kind::Relative | Kind::Absolute => hex(print::target(self.instruction, operand, self.address)),
            Kind::Float32 => hex(i64::from(u32::try_from(number).unwrap_or(0))),
            _ if self.is_wide_immediate() => hex(i64::from(number as u32)),
            _ => hex(number),
        });
        out
    }

    /// Returns whether it is a 32-bit immediate, which has no sign in envydis.
    fn is_wide_immediate(&self) -> bool {
        self.instruction.operation().name.ends_with("32I")
    }

    fn memory(&self, operand: &Operand) -> String {
        let wide = self.is("e", "e");
        let inside = self.address_text(operand, if wide { Width::Pair } else { Width::Single });
        let space = match self.instruction.operation().name {
            "LDS" | "STS" | "LDSLK" | "STSCUL" => 's',
            "LDL" | "STL" => 'l',
            _ => 'g',
        };
        format!("{space}[{inside}]")
    }

    /// Formats an address: `$r2d+0x4`, `$r2d`, `0x4`.
    fn address_text(&self, operand: &Operand, width: Width) -> String {
        let base = self.instruction.number(operand.base);
        let offset = self.instruction.number(operand.offset);
        match (base, offset) {
            (63, _) if width == Width::Single => hex(offset),
            (_, 0) => register(base, width),
            (_, 1..) => format!("{}+{}", register(base, width), hex(offset)),
            _ => format!("{}{}", register(base, width), hex(offset)),
        }
    }

    /// Returns the width of a register operand.
    fn width(&self, slot: &str) -> Width {
        let pair = |yes: bool| if yes { Width::Pair } else { Width::Single };
        let operation = self.instruction.operation();
        match (operation.name, slot) {
            ("DADD" | "DMUL" | "DFMA" | "DMNMX", _) | ("DSET" | "DSETP", "a" | "b") => Width::Pair,
            ("F2F", "d") => pair(self.is("fdest", "f64")),
            ("F2F" | "F2I", "a") => pair(self.is("ftype", "f64")),
            ("F2I", "d") => pair(self.is("itype", "u64") || self.is("itype", "s64")),
            ("I2F", "d") => pair(self.is("fdest", "f64")),
            ("I2F" | "I2I", "a") => pair(self.is("itype", "u64") || self.is("itype", "s64")),
            ("I2I", "d") => pair(self.is("dtype", "u64") || self.is("dtype", "s64")),
            ("LD" | "LDL" | "LDS" | "LDC" | "LDSLK", "d") | ("ST" | "STL" | "STS" | "STSCUL", "a") => {
                match self.instruction.modifier("size") {
                    Some("b64") => Width::Pair,
                    Some("b128" | "u128") => Width::Quad,
                    _ => Width::Single,
                }
            }
            ("ATOM_CAS", _) => pair(self.is("b64", "b64")),
            ("ATOM" | "RED", _) => pair(self.is("size", "u64")),
            _ => Width::Single,
        }
    }
}

fn hex(value: i64) -> String {
    if value < 0 { format!("-{:#x}", value.unsigned_abs()) } else { format!("{value:#x}") }
}

fn register(number: i64, width: Width) -> String {
    match width {
        Width::Single if number == 63 => String::from("0x0"),
        Width::Single => format!("$r{number}"),
        Width::Pair => format!("$r{number}d"),
        Width::Quad => format!("$r{number}q"),
    }
}

fn predicate_text((number, not): (i64, bool)) -> String {
    let name = if number == 7 { String::from("0x1") } else { format!("$p{number}") };
    if not { format!("not {name}") } else { name }
}

fn comparison(name: &str) -> String {
    String::from(match name {
        "f" => "false",
        "t" => "true",
        same => same,
    })
}

fn rounding_to_integer(name: &str) -> &str {
    match name {
        "floor" => "rmi",
        "ceil" => "rpi",
        "trunc" => "rzi",
        _ => "rni",
    }
}

fn special_register(name: &str) -> String {
    let renamed = match name {
        "tid_x" => "tidx",
        "tid_y" => "tidy",
        "tid_z" => "tidz",
        "ctaid_x" => "ctaidx",
        "ctaid_y" => "ctaidy",
        "ctaid_z" => "ctaidz",
        "clocklo" => "clock",
        "eqmask" => "lanemask_eq",
        "ltmask" => "lanemask_lt",
        "lemask" => "lanemask_le",
        "gtmask" => "lanemask_gt",
        "gemask" => "lanemask_ge",
        other => other,
    };
    format!("${renamed}")
}
