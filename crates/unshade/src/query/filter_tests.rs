use super::*;

const COLUMNS: &[Comparable] = &[
    Comparable { key: "size", label: "bytes", at: 0, is_number: true },
    Comparable { key: "chip", label: "chip", at: 1, is_number: false },
    Comparable { key: "metal", label: "Metal", at: 2, is_number: false },
];

fn row(name: &str, kind: &'static str, size: Option<u64>, chip: &'static str) -> Row {
    let cells = vec![Cell::size(size), Cell::text(chip.to_owned()), Cell::Version([3, 1])];
    Row { name: name.to_owned(), kind: kind.into(), cells, ..Row::default() }
}

fn cell(row: &Row, at: usize) -> Cow<'_, Cell> {
    Cow::Borrowed(&row.cells[at])
}

fn selects(filter: &str, row: &Row) -> bool {
    let filter = Terms::parse(filter, COLUMNS).unwrap_or_else(|fault| panic!("{filter}: {}", fault.message));
    filter.select(row, |at| cell(row, at), |_| false)
}

#[test]
fn terms() {
    let gemv = row("ns::gemv_float32<4, float>", "kernel", Some(4_000), "sm_70");
    for filter in [
        "",
        " ",
        "GEMV",
        "gemv float32",
        "float32 gemv",
        "!half",
        "gemv !half",
        "!!gemv",
        "/^ns.*4/",
        "/v_f.*>$/ !/half/",
        "\"<4, float\"",
        "ns::gemv",
        "gemv_float32<4,",
        "~gmvf32",
        "~NSGF",
        "size>3999",
        "size>=4k",
        "size=4000",
        "size<4.1k",
        "bytes<=4kB",
        "size:4000",
        "!size<4k",
        "chip=SM_70",
        "chip:sm_",
        "chip>sm_9",
        "metal=3.1",
        "metal<4",
        "kind:kern",
        "!has:source",
        "!calls:x",
    ] {
        assert!(selects(filter, &gemv), "{filter}");
    }
    for filter in [
        "gemm",
        "gemv half",
        "!gemv",
        "/^gemv/",
        "~fgemv",
        "size>4k",
        "size<0xfa0",
        "chip=sm_7",
        "chip<sm_70",
        "metal>3.1",
        "kind:vertex",
        "has:source",
        "calls:x",
        "\"gemv float32\"",
    ] {
        assert!(!selects(filter, &gemv), "{filter}");
    }
    let unknown = row("x", "kernel", None, "");
    assert!(!selects("size<4k", &unknown) && selects("!size<4k", &unknown));
}

#[test]
fn faults_name_what_is_wrong() {
    for (filter, message, more) in [
        (
            "gemv siz>4k",
            "the list has no column `siz`",
            "size, chip, metal, or `kind:`, `calls:`, `has:source`",
        ),
        (
            "call:foo",
            "the list has no column `call`",
            "size, chip, metal, or `kind:`, `calls:`, `has:source`",
        ),
        (
            "size>4q",
            "`4q` is no number to compare `size` with",
            "digits, and k, M, Ki or Mi if wanted: `4k`, `1.5M`, `0x40`",
        ),
        ("size>", "nothing is compared with `size`", "a number such as `4k`"),
        ("size>99999999999999999999", "`99999999999999999999` is no number to compare `size` with", ""),
        ("has:text", "`text` can't be asked for with `has:`", "`has:source`"),
        ("calls:", "nothing follows `calls:` in the filter", ""),
        ("a ! b", "nothing follows `!` in the filter", ""),
        ("~", "nothing follows `~` in the filter", ""),
        ("/a", "the regular expression is not closed in the filter", "`/` after it"),
        ("\"a", "a quotation mark is not closed in the filter", "`\"` after the text"),
        ("/(/", "the regular expression: found open group without closing ')'", ""),
    ] {
        let fault = Terms::parse(filter, COLUMNS).unwrap_err();
        assert_eq!(fault.message, message, "{filter}");
        if !more.is_empty() {
            assert_eq!(fault.expected.as_deref(), Some(more), "{filter}");
        }
    }
    assert!(Terms::parse(&"a ".repeat(65), COLUMNS).is_err());
    // Looks like a comparison of a column, but is a part of a name.
    assert!(selects("f<float>", &row("f<float>", "kernel", None, "")));
    assert!(selects("\"f<4\"", &row("f<4>", "kernel", None, "")));
}

#[test]
fn numbers() {
    for (text, expected) in [
        ("4096", Some(4_096)),
        ("4k", Some(4_000)),
        ("1.5MB", Some(1_500_000)),
        ("64KiB", Some(65_536)),
        ("0x10", Some(16)),
        ("1.25", Some(1)),
        ("", None),
        (".", None),
        ("4 k", None),
        ("18446744073709551616", None),
        ("99999999999g", None),
    ] {
        assert_eq!(number(text), expected, "{text}");
    }
}

/// The same language, word for word as it is documented: nothing is shared with the parser.
fn naive(filter: &[(bool, &str, String)], row: &Row) -> bool {
    filter.iter().all(|(is_negative, kind, value)| {
        let name = row.name.to_lowercase();
        let size = match row.cells.first() {
            Some(Cell::Size(size)) => Some(*size),
            _ => None,
        };
        let holds = match *kind {
            "text" => name.contains(&value.to_lowercase()),
            "~" => {
                let mut at = 0;
                value.to_lowercase().bytes().all(|letter| {
                    match name.as_bytes()[at..].iter().position(|one| *one == letter) {
                        Some(found) => {
                            at += found + 1;
                            true
                        }
                        None => false,
                    }
                })
            }
            "size<" => size.is_some_and(|size| size < value.parse().unwrap()),
            "size>=" => size.is_some_and(|size| size >= value.parse().unwrap()),
            "chip:" => matches!(&row.cells[1], Cell::Text(text) if text.contains(value.as_str())),
            _ => row.kind.contains(value.as_str()),
        };
        holds != *is_negative
    })
}

#[test]
fn random_filters_select_what_a_naive_filter_selects() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below
    };
    let parts = ["gemv", "Gemm", "float32", "float16", "_bm4", "_bn1", "ns::", "<4>", "reduce", "É"];
    let mut rows = Vec::new();
    for _ in 0..200 {
        let name: String = (0..1 + random(5)).map(|_| parts[random(parts.len())]).collect();
        let size = (random(8) > 0).then(|| random(100) as u64);
        rows.push(row(&name, ["kernel", "vertex"][random(2)], size, ["sm_70", "sm_90", ""][random(3)]));
    }
    let mut selected = 0;
    for _ in 0..2_000 {
        let filter: Vec<(bool, &str, String)> = (0..random(4))
            .map(|_| {
                let kind = ["text", "~", "size<", "size>=", "chip:", "kind:"][random(6)];
                let value = match kind {
                    "text" => parts[random(9)].to_owned(),
                    "~" => ["gv32", "f16", "GB1", "nsg"][random(4)].to_owned(),
                    "chip:" => ["sm_", "70", "x"][random(3)].to_owned(),
                    "kind:" => ["kern", "v", "e"][random(3)].to_owned(),
                    _ => random(100).to_string(),
                };
                (random(3) == 0, kind, value)
            })
            .collect();
        let spelling = |(is_negative, kind, value): &(bool, &str, String)| {
            let sign = if *is_negative { "!" } else { "" };
            let quoted =
                if *kind == "text" && value.len() % 2 == 0 { format!("\"{value}\"") } else { value.clone() };
            format!("{sign}{}{quoted} ", if *kind == "text" { "" } else { kind })
        };
        let text: String = filter.iter().map(spelling).collect();
        let terms = Terms::parse(&text, COLUMNS).unwrap();
        for row in &rows {
            let is = terms.select(row, |at| cell(row, at), |_| false);
            assert_eq!(is, naive(&filter, row), "{text:?}: {}", row.name);
            selected += usize::from(is);
        }
    }
    assert!(selected > 10_000, "{selected}");
}

#[test]
fn any_text_is_parsed_or_refused() {
    let signs = ["!", "/", "~", "\"", ":", "<", "=", "size", "a", " ", "\\", "é", "\u{202e}", "4k", "("];
    let mut state = 7u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(signs[(state >> 33) as usize % signs.len()]);
        }
        if let Ok(terms) = Terms::parse(&text, COLUMNS) {
            let row = row(&text, "kernel", Some(4), "sm_70");
            terms.select(&row, |at| cell(&row, at), |_| true);
        }
    }
}
