//! Parses LLVM assembly and says what is wrong with it.
use unshade_llvm::assemble::{self, AssembleOptions, Version};
fn main() {
    let mut version = Version::Llvm14;
    let (mut good, mut bad) = (0, 0);
    for path in std::env::args().skip(1) {
        if path == "--19" {
            version = Version::Llvm19;
            continue;
        }
        let text = std::fs::read(&path).unwrap();
        match assemble::assemble(&text, &AssembleOptions { version }) {
            Ok(_) => good += 1,
            Err(error) => {
                bad += 1;
                println!("{path}:{error}");
            }
        }
    }
    println!("{good} parsed, {bad} not");
}
