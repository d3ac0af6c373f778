//! The damaged files of the corpus: our findings for each, next to those of DXC's validator and LLVM's obj2yaml.

use unshade::check_dxcontainer;
use unshade::core::Severity;
use unshade::dxcontainer::Container;

use super::tools::Tools;

/// The results of DXC 1.9 for each file, all derived from one shader. Its results for headers follow from its source.
const DXC: [(&str, &str); 17] = [
    ("baddigest", "accepts"),
    ("dup_isg", "refuses: more than one ISG1"),
    ("hash_short", "refuses: unknown part HASH"),
    ("no_dxil", "refuses: 80aa000e, no DXIL"),
    ("no_isg", "refuses: missing part ISG1"),
    ("no_sfi", "refuses: missing part SFI0"),
    ("ok", "accepts"),
    ("partcount", "rejects: 80aa000d, no container"),
    ("priv_odd", "accepts"),
    ("prog_size", "not tried"),
    ("psv_flip", "refuses: PSV0 does not match"),
    ("psv_trunc", "rejects: PSV0 is not well-formed"),
    ("sfi_set", "refuses: SFI0 does not match"),
    ("size_small", "rejects: 80aa000d, no container"),
    ("trunc", "rejects: 80aa000d, no container"),
    ("ver2", "rejects: 80aa000d, no container"),
    ("zerodigest", "accepts"),
];

/// A damaged file and the results for it.
pub(super) struct Damaged {
    name: String,
    ours: String,
    obj2yaml: Option<bool>,
}

impl Damaged {
    /// Checks a file; `name` is its base name.
    pub(super) fn read(name: String, data: &[u8], tools: Option<&Tools>) -> Self {
        Self { name, ours: verdict(data), obj2yaml: tools.map(|tools| tools.yaml(data).is_some()) }
    }

    /// Prints the table.
    pub(super) fn print(rows: &[Self], tools: Option<&Tools>) {
        let obj2yaml = tools.map_or("obj2yaml".into(), |tools| format!("obj2yaml {}", tools.version));
        println!("\ndamaged file, DXC 1.9, {obj2yaml}, unshade");
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

/// Returns the rules that a damaged file violates, in file order, with the first message for each.
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
