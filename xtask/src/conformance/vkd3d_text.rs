//! Compares vkd3d's `d3d-asm` with our text: opcodes, operands, modifiers.
//!
//! The text of vkd3d differs from FXC's and omits some information. Both are converted to a common form: a list of
//! words per instruction. What is ignored:
//!
//! | vkd3d | FXC | common form |
//! |---|---|---|
//! | no return types and strides after a mnemonic | `(float,float,float,float)` | omitted |
//! | `{...}` | `{ft0, ft1}` | omitted |
//! | `.x` for every operand that reads one component | `.x` or `.xxxx` | equal components once |
//! | `1.25000000e-01` | `0.125000` | omitted; values are checked by the token round trip |
//! | different names of some registers, flags and declarations | | FXC's |

use unshade::core::{Diagnostics, Reader};
use unshade::dxbc::print::{Dialect, Options, print};

/// Words of vkd3d, and the equivalent words of FXC.
const WORDS: [(&str, &str); 29] = [
    ("dcl_constantBuffer", "dcl_constantbuffer"),
    ("dcl_index_range", "dcl_indexrange"),
    ("dcl_interface_dynamicindexed", "dcl_interface"),
    ("breakp_nz", "breakc_nz"),
    ("breakp_z", "breakc_z"),
    ("continuep_nz", "continuec_nz"),
    ("continuep_z", "continuec_z"),
    ("retp_nz", "retc_nz"),
    ("retp_z", "retc_z"),
    ("sample_info", "sampleinfo"),
    ("sample_info_uint", "sampleinfo_uint"),
    ("sample_pos", "samplepos"),
    ("trianglelist_adj", "triangleadj"),
    ("render_target_array_index", "rendertarget_array_index"),
    ("resinfo_uint_indexable", "resinfo_indexable_uint"),
    ("comparisonMode", "mode_comparison"),
    ("pointlist", "point"),
    ("linelist", "line"),
    ("trianglelist", "triangle"),
    ("sample_index", "sampleIndex"),
    ("primID", "vPrim"),
    ("vDomainLocation", "vDomain"),
    ("vThreadGroupId", "vThreadGroupID"),
    ("vThreadIdInGroup", "vThreadIDInGroup"),
    ("vThreadId", "vThreadID"),
    ("vThreadIndexInGroup", "vThreadIDInGroupFlattened"),
    ("vForkInstanceId", "vForkInstanceID"),
    ("vJoinInstanceId", "vJoinInstanceID"),
    ("vOutputControlPointId", "vOutputControlPointID"),
];

/// Words of FXC that vkd3d omits: the mode of a sampler unless it is for comparison, and the interpolation of
/// system-generated values, which have only one.
const LEFT_OUT: [&str; 2] = ["mode_default", "constant"];

/// Compares a program with vkd3d's text.
///
/// # Errors
/// Describes the first difference.
pub(super) fn compare(data: Reader<'_>, theirs: &str) -> Result<(), String> {
    let program =
        unshade::dxbc::decode(data, &mut Diagnostics::default()).map_err(|error| error.to_string())?;
    let mut ours = String::new();
    print(&program, Options { dialect: Dialect::Fxc, ..Options::default() }, &mut ours);
    let (ours, theirs) = (normalised(&ours), normalised(theirs));
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        if ours != theirs {
            return Err(format!(
                "instruction {number}:\n  vkd3d {}\n  ours  {}",
                theirs.join(" "),
                ours.join(" ")
            ));
        }
    }
    match ours.len() == theirs.len() {
        true => Ok(()),
        false => Err(format!("{} instructions, of vkd3d {}", ours.len(), theirs.len())),
    }
}

/// Returns a list of words for each line with an instruction.
fn normalised(text: &str) -> Vec<Vec<String>> {
    text.lines().map(line).filter(|words| !words.is_empty()).collect()
}

fn line(line: &str) -> Vec<String> {
    let line = line.split("//").next().unwrap_or_default().trim();
    // The continuation of a declaration of constants.
    if line.starts_with('{') {
        return Vec::new();
    }
    // Values and lists are ignored.
    let line = line.strip_prefix("dcl_hs_max_tessfactor").map_or(line, |_| "dcl_hs_max_tessfactor");
    let declares = line.starts_with("dcl_");
    let kept = without_values(line);
    let words = kept.split([' ', ',', '|', '=']).map(|text| word(text, declares));
    words.filter(|word| !word.is_empty() && !LEFT_OUT.contains(&word.as_str())).collect()
}

/// Removes the content of parentheses (values, dimensions, return types) and precisions in braces.
fn without_values(line: &str) -> String {
    let (mut kept, mut depth) = (String::new(), 0usize);
    for character in line.chars() {
        match character {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(character),
            _ => {}
        }
    }
    kept
}

/// Converts a word to the common form.
fn word(word: &str, declares: bool) -> String {
    let (mut name, mut letters) = match word.rsplit_once('.') {
        Some((name, letters)) => (name.to_owned(), Some(letters)),
        None => (word.to_owned(), None),
    };
    // Equal components are written once; components of a range of bindings have no meaning.
    if let Some(same) = letters.filter(|letters| letters.len() == 4).and_then(|letters| letters.get(..1))
        && letters == Some(same.repeat(4).as_str())
    {
        letters = Some(same);
    }
    if declares && name.contains(':') {
        letters = None;
    }
    let sign = if name.starts_with('-') { "-" } else { "" };
    for (theirs, fxc) in WORDS {
        if name.trim_start_matches('-') == theirs {
            name = format!("{sign}{fxc}");
        }
    }
    // vkd3d prints texel offsets in parentheses, but not the `_aoffimmi` suffix; `ld2dms` is `ldms`.
    name = name.replace("_aoffimmi", "").replace("ld2dms", "ldms");
    // vkd3d treats the pointer to a class instance as a temporary register.
    name = name.replace("this[", "r[");
    let bare = name.trim_start_matches(['-', '[']);
    let capital = ["T", "S", "U", "CB"].into_iter().find(|capital| {
        let rest = bare.strip_prefix(capital);
        rest.is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit() || next == '['))
    });
    if let Some(capital) = capital {
        name = name.replacen(capital, &capital.to_lowercase(), 1);
    }
    match letters {
        Some(letters) => format!("{name}.{letters}"),
        None => name,
    }
}
