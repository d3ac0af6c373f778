//! The damaged files of the corpus: what we say of each, beside what DXC's validator and LLVM's obj2yaml do.

use unshade::check_dxcontainer;
use unshade::core::Severity;
use unshade::dxcontainer::Container;

use super::tools::Tools;

/// What DXC 1.9 says of each file, all derived from one shader. Its verdicts on the header follow from its source.
const DXC: [(&str, &str); 17] = [
    ("baddigest", "accepts"),
    ("dup_isg", "refuses: more than one ISG1"),
    ("hash_short", "refuses: unknown part HASH"),
    ("no_dxil", "refuses: 80aa000e, no DXIL"),
    ("no_isg", "refuses: missing part ISG1"),
    ("no_sfi", "refuses: missing part SFI0"),
    ("ok", "accepts"),
    ("partcount", "refuses: 80aa000d, no container"),
    ("priv_odd", "accepts"),
    ("prog_size", "not tried"),
    ("psv_flip", "refuses: PSV0 does not match"),
    ("psv_trunc", "refuses: PSV0 is not well-formed"),
    ("sfi_set", "refuses: SFI0 does not match"),
    ("size_small", "refuses: 80aa000d, no container"),
    ("trunc", "refuses: 80aa000d, no container"),
    ("ver2", "refuses: 80aa000d, no container"),
    ("zerodigest", "accepts"),
];

/// A damaged file and the verdicts on it.
pub(super) struct Damaged {
    name: String,
    ours: String,
    obj2yaml: Option<bool>,
}

impl Damaged {
    /// Looks at a file; `name` is without folder and ending.
    pub(super) fn read(name: String, data: &[u8], tools: Option<&Tools>) -> Self {
        Self { name, ours: verdict(data), obj2yaml: tools.map(|tools| tools.yaml(data).is_some()) }
    }

    /// Prints the table.
    pub(super) fn print(rows: &[Self], tools: Option<&Tools>) {
        let obj2yaml = tools.map_or("obj2yaml".into(), |tools| format!("obj2yaml {}", tools.version));
        println!("\ndamaged file, DXC 1.9, {obj2yaml}, ours");
        for Self { name, ours, obj2yaml } in rows {
            let dxc =
                DXC.iter().find(|(known, _)| known == name).map_or("not tried", |(_, verdict)| *verdict);
            let obj2yaml = match obj2yaml {
                Some(true) => "accepts",
                Some(false) => "refuses",
                None => "not there",
            };
            println!("  {name:<11} {dxc:<34} {obj2yaml:<10} {ours}");
        }
    }
}

/// The rules that a damaged file breaks, in the order of the file, with the first fault of each in words.
fn verdict(data: &[u8]) -> String {
    let container = match Container::parse(data) {
        Ok(container) => container,
        Err(error) => return format!("refused: {error}"),
    };
    let mut rules: Vec<&str> = Vec::new();
    let mut told = Vec::new();
    for finding in &check_dxcontainer(&container) {
        if finding.severity == Severity::Note || rules.contains(&finding.rule) {
            continue;
        }
        rules.push(finding.rule);
        told.push(format!("{} {}: {}", finding.severity, finding.rule, finding.error));
    }
    if told.is_empty() { "sound".into() } else { told.join(" · ") }
}
