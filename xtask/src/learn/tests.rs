//! Learns rows from our own disassembler, which has the tables of Kepler.

use unshade_sass::{Instruction, isa};

use super::{Format, learn};
use crate::nvdisasm::Answer;

/// Reads words with the tables of sm_35.
fn read(words: &[u128]) -> anyhow::Result<Vec<Answer>> {
    let kepler = isa::by_architecture(35).unwrap();
    let answer = |word: &u128| {
        let text = Instruction::decode(kepler, *word).map(|instruction| instruction.text(0));
        Answer { text, address: 0 }
    };
    Ok(words.iter().map(answer).collect())
}

/// Returns how many listed words and mutants the learned rows read as the tables do.
fn learned(words: &[u128]) -> Vec<(String, super::Count, super::Count)> {
    // The lowest two bits belong to the opcode, too.
    let format = Format { is_wide: false, opcode: 54..64, bits: 2..64 };
    let opcodes = learn(&read, &format, words, 2_000).unwrap();
    opcodes
        .iter()
        .map(|opcode| {
            let name = opcode.rows.first().map_or("", |row| row.text.mnemonic.as_str()).to_owned();
            (name, opcode.counts[0], opcode.counts[1])
        })
        .collect()
}

#[test]
fn rows_read_what_they_were_learned_from() {
    // FADD R6, R6, R7; @!P0 FMUL R4, R4, c[0x0][0x218]; LOP.OR R0, R1, c[0x0][0x24].
    for word in [0xe2c0_0000_039c_181a, 0x6340_0000_4320_1012, 0x6200_1000_049c_0402] {
        let found = learned(&[word]);
        let [(name, listed, mutants)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((listed.equal, listed.all), (1, 1), "{name}");
        assert_eq!(mutants.equal, mutants.all, "{name}");
    }
}
