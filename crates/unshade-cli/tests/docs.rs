//! Checks the documents against the code: `docs/verify.md` and `docs/check.md` describe exactly the existing rules, the
//! tour in `docs/formats/metallib.md` has the bytes of its fixture, and the fixtures that the page names exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Collects the Rust files below a folder, except tests.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
}

/// Collects string literals after `start` (and whitespace) that are rule names such as `module-hash`. What was found
/// follows them.
fn names_after<'a>(text: &'a str, start: &str, names: &mut BTreeSet<&'a str>) {
    for rest in text.split(start).skip(1) {
        let literal = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let found = literal.filter(|(name, rest)| is_name(name) && rest.starts_with(','));
        names.extend(found.map(|(name, _)| name));
    }
}

#[test]
fn every_verify_rule_is_documented() {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("the crates") {
        sources(&entry.expect("a readable folder").path().join("src"), &mut files);
    }
    let code: String = files
        .iter()
        .map(|file| fs::read_to_string(file).expect("a source file"))
        .map(|text| text.split("mod tests {").next().unwrap_or_default().to_owned())
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| line + "\n")
        .collect();
    let mut emitted = BTreeSet::new();
    for call in [".error(", ".warning(", ".note(", ".take(", "Severity::Error,"] {
        names_after(&code, call, &mut emitted);
    }
    let before = emitted.len();
    for table in code.split("pub const RULES").skip(1) {
        names_after(table.split("];").next().expect("the table of rules"), "(", &mut emitted);
    }
    assert!(before > 20 && emitted.len() > before, "the scan finds nothing: {emitted:?}");

    let page = fs::read_to_string(root().join("docs/verify.md")).expect("docs/verify.md");
    let headings = page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    let documented: Vec<_> = headings.collect();
    let unique: BTreeSet<_> = documented.iter().copied().collect();
    assert_eq!(documented.len(), unique.len(), "a rule is documented twice");
    let missing: Vec<_> = emitted.difference(&unique).collect();
    let unknown: Vec<_> = unique.difference(&emitted).collect();
    assert!(missing.is_empty(), "docs/verify.md does not describe {missing:?}");
    assert!(unknown.is_empty(), "docs/verify.md describes what no code emits: {unknown:?}");
}

#[test]
fn every_check_rule_is_documented() {
    use unshade::load_check::{RELEASES, RULES};
    let page = fs::read_to_string(root().join("docs/check.md")).expect("docs/check.md");
    let headings = page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    let names = RULES.iter().map(|rule| rule.name);
    assert_eq!(headings.collect::<Vec<_>>(), names.collect::<Vec<_>>());
    for rule in RULES {
        let heading = format!("### `{}`", rule.name);
        let text = page.split(&heading).nth(1).and_then(|rest| rest.split("###").next()).expect("a text");
        assert!(text.to_lowercase().contains(rule.certainty.name()), "{}: how sure is it?", rule.name);
    }
    for release in RELEASES {
        let shown = |version: Option<String>| version.unwrap_or_else(|| "unknown".into());
        let air = shown(release.air.map(|version| version.to_string()));
        let container = shown(release.container_patch.map(|patch| format!("1.2.{patch}")));
        let row = format!("| {} | {air} | {container} |", release.language);
        assert!(page.contains(&row), "docs/check.md has no row that ends with {row}");
    }
}

#[test]
fn the_tour_shows_the_fixture() {
    let page = fs::read_to_string(root().join("docs/formats/metallib.md")).expect("the page");
    let file = fs::read(root().join("tests/fixtures/metallib/linker_1_2_7.metallib")).expect("the fixture");
    let mut shown = 0;
    for line in page.lines() {
        let Some((offset, rest)) = line.split_at_checked(8) else { continue };
        let (Ok(offset), Some(rest)) = (usize::from_str_radix(offset, 16), rest.strip_prefix("  ")) else {
            continue;
        };
        let bytes = rest.get(..47).unwrap_or(rest).split_whitespace();
        let bytes: Vec<u8> =
            bytes.map(|byte| u8::from_str_radix(byte, 16)).collect::<Result<_, _>>().expect(line);
        assert_eq!(file.get(offset..offset + bytes.len()), Some(&bytes[..]), "{line}");
        shown += bytes.len();
    }
    assert!(shown > 300, "the tour shows {shown} bytes only");
}

#[test]
fn features_without_a_real_file_have_fixtures() {
    let page = fs::read_to_string(root().join("docs/formats/metallib.md")).expect("the page");
    let (_, section) = page.split_once("\n## Seen only in our own fixtures\n").expect("the section");
    let mut named = 0;
    for row in section.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let covered = row.trim_end_matches('|').rsplit('|').next().expect("three columns");
        let names: Vec<_> = covered.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no fixture: {row}");
        for name in names {
            let fixture = root().join(format!("tests/fixtures/metallib/{name}.metallib"));
            assert!(fixture.exists() || root().join(name).exists(), "{name}: {row}");
            named += 1;
        }
    }
    assert!(named > 20, "the table names {named} fixtures only");
}
