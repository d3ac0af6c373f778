//! Effects: the text of FXC for our own, and what is not sound.

use std::path::{Path, PathBuf};
use std::{env, fs};

use unshade::core::{Diagnostics, Result};
use unshade::dxcontainer::Container;
use unshade::fxc_listing::print_fxc;

fn listing(data: &[u8]) -> Result<String> {
    let mut text = String::new();
    print_fxc(&Container::parse(data)?, &mut text, &mut Diagnostics::new())?;
    Ok(text)
}

fn fixture() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/dxcontainer/fxc_fx_4_0.dxbc");
    fs::read(path).unwrap()
}

#[test]
fn an_effect_is_listed() {
    let text = listing(&fixture()).unwrap();
    assert!(text.starts_with("//\n// FX Version: fx_4_0\n"), "{text}");
    for part in [
        "    float4  k;                          // Offset:    0, size:   16\n",
        "SamplerState s\n{\n    Filter   = uint(MIN_MAG_MIP_LINEAR /* 21 */);\n};\n",
        "technique10 T\n{\n    pass P0\n    {\n        VertexShader = asm {\n            //\n",
        "            ret \n            // Approximately 2 instruction slots used\n                    \n        };\n",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}

#[test]
fn effects_of_the_corpus_are_listed_as_fxc_lists_them() {
    let Some(corpus) = env::var_os("UNSHADE_CORPUS").map(PathBuf::from) else { return };
    let path = corpus.join("dx/gen/fxc/fx_4_0.dxbc");
    let expected = fs::read(path.with_extension("dxbc.fxc.asm")).unwrap();
    let expected = String::from_utf8(expected).unwrap().replace('\r', "");
    assert_eq!(listing(&fs::read(&path).unwrap()).unwrap(), expected.trim_end_matches('\0'));
}

#[test]
fn what_is_cut_or_changed_ends() {
    let data = fixture();
    for end in 0..data.len() {
        let _ = listing(&data[..end]);
    }
    for place in 0x24..data.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = data.clone();
            changed[place] = value;
            let _ = listing(&changed);
        }
    }
}
