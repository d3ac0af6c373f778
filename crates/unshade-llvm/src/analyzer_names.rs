//! The names by which `llvm-bcanalyzer` calls blocks and records, where they are not those of [`crate::record_name`].
//!
//! Its names differ from block to block: some keep the prefix of their enumeration, and younger records have none, so
//! that they show as a number. A dump has to use the same words to be compared with its text.
//!
//! Knowledge: the output of `llvm-bcanalyzer` 19, and LLVM's `BitcodeAnalyzer.cpp`.

use alloc::borrow::Cow;
use alloc::format;

/// A block as `llvm-bcanalyzer` knows it.
struct Block {
    id: u32,
    name: &'static str,
    records: Records,
}

/// How `llvm-bcanalyzer` calls the records of a block.
enum Records {
    /// As [`crate::record_name`] does, but for these codes, which it has no name for.
    AllBut(&'static [u32]),
    /// These only.
    Only(&'static [(u32, &'static str)]),
    /// The names from code 1 on; an empty name is none.
    Table(&'static [&'static str]),
}

use Records::{AllBut, Only, Table};

#[rustfmt::skip]
const BLOCKS: &[Block] = &[
    Block { id: 0, name: "BLOCKINFO_BLOCK", records: AllBut(&[]) },
    Block { id: 8, name: "MODULE_BLOCK", records: AllBut(&[9, 18]) },
    Block { id: 9, name: "PARAMATTR_BLOCK", records: Only(&[(1, "ENTRY"), (2, "ENTRY")]) },
    Block { id: 10, name: "PARAMATTR_GROUP_BLOCK_ID", records: AllBut(&[]) },
    Block { id: 11, name: "CONSTANTS_BLOCK", records: Table(&[
        "SETTYPE", "NULL", "UNDEF", "INTEGER", "WIDE_INTEGER", "FLOAT", "AGGREGATE", "STRING", "CSTRING", "CE_BINOP",
        "CE_CAST", "", "CE_SELECT", "CE_EXTRACTELT", "CE_INSERTELT", "CE_SHUFFLEVEC", "CE_CMP", "", "CE_SHUFVEC_EX",
        "CE_INBOUNDS_GEP", "CST_CODE_BLOCKADDRESS", "DATA", "", "", "CE_UNOP", "", "DSO_LOCAL_EQUIVALENT", "",
        "NO_CFI_VALUE", "INLINEASM", "", "CE_GEP", "PTRAUTH",
    ]) },
    Block { id: 12, name: "FUNCTION_BLOCK", records: Table(&[
        "DECLAREBLOCKS", "INST_BINOP", "INST_CAST", "INST_GEP_OLD", "INST_SELECT", "INST_EXTRACTELT",
        "INST_INSERTELT", "INST_SHUFFLEVEC", "INST_CMP", "INST_RET", "INST_BR", "INST_SWITCH", "INST_INVOKE", "",
        "INST_UNREACHABLE", "INST_PHI", "", "", "INST_ALLOCA", "INST_LOAD", "", "", "INST_VAARG", "", "",
        "INST_EXTRACTVAL", "INST_INSERTVAL", "INST_CMP2", "INST_VSELECT", "INST_INBOUNDS_GEP_OLD", "", "",
        "DEBUG_LOC_AGAIN", "INST_CALL", "DEBUG_LOC", "INST_FENCE", "", "", "", "", "INST_LOADATOMIC", "", "INST_GEP",
        "INST_STORE", "INST_STOREATOMIC", "INST_CMPXCHG", "", "INST_CLEANUPRET", "INST_CATCHRET", "INST_CATCHPAD", "",
        "", "", "", "OPERAND_BUNDLE", "INST_UNOP", "INST_CALLBR", "", "INST_ATOMICRMW", "BLOCKADDR_USERS",
        "DEBUG_RECORD_VALUE", "DEBUG_RECORD_DECLARE", "DEBUG_RECORD_ASSIGN", "DEBUG_RECORD_VALUE_SIMPLE",
        "DEBUG_RECORD_LABEL",
    ]) },
    Block { id: 13, name: "IDENTIFICATION_BLOCK_ID", records: AllBut(&[]) },
    Block { id: 14, name: "VALUE_SYMTAB", records: AllBut(&[]) },
    Block { id: 15, name: "METADATA_BLOCK", records: AllBut(&[11, 40, 41, 44, 45, 47]) },
    Block { id: 16, name: "METADATA_ATTACHMENT_BLOCK", records: Only(&[(11, "ATTACHMENT")]) },
    Block { id: 17, name: "TYPE_BLOCK_ID", records: AllBut(&[9, 24, 25, 26]) },
    Block { id: 18, name: "USELIST_BLOCK_ID", records: Table(&["USELIST_CODE_DEFAULT", "USELIST_CODE_BB"]) },
    Block { id: 19, name: "MODULE_STRTAB_BLOCK", records: AllBut(&[]) },
    Block { id: 20, name: "GLOBALVAL_SUMMARY_BLOCK", records: Table(SUMMARY) },
    Block { id: 21, name: "OPERAND_BUNDLE_TAGS_BLOCK", records: Table(&["OPERAND_BUNDLE_TAG"]) },
    Block { id: 22, name: "METADATA_KIND_BLOCK", records: Only(&[(6, "KIND")]) },
    Block { id: 23, name: "STRTAB_BLOCK", records: AllBut(&[]) },
    Block { id: 24, name: "FULL_LTO_GLOBALVAL_SUMMARY_BLOCK", records: Table(SUMMARY) },
    Block { id: 25, name: "SYMTAB_BLOCK", records: AllBut(&[]) },
];

#[rustfmt::skip]
const SUMMARY: &[&str] = &[
    "PERMODULE", "PERMODULE_PROFILE", "PERMODULE_GLOBALVAR_INIT_REFS", "COMBINED", "COMBINED_PROFILE",
    "COMBINED_GLOBALVAR_INIT_REFS", "ALIAS", "COMBINED_ALIAS", "COMBINED_ORIGINAL_NAME", "VERSION", "TYPE_TESTS",
    "TYPE_TEST_ASSUME_VCALLS", "TYPE_CHECKED_LOAD_VCALLS", "TYPE_TEST_ASSUME_CONST_VCALL",
    "TYPE_CHECKED_LOAD_CONST_VCALL", "VALUE_GUID", "CFI_FUNCTION_DEFS", "CFI_FUNCTION_DECLS", "PERMODULE_RELBF",
    "FLAGS", "TYPE_ID", "TYPE_ID_METADATA", "PERMODULE_VTABLE_GLOBALVAR_INIT_REFS", "BLOCK_COUNT", "PARAM_ACCESS",
    "PERMODULE_CALLSITE_INFO", "PERMODULE_ALLOC_INFO", "COMBINED_CALLSITE_INFO", "COMBINED_ALLOC_INFO", "STACK_IDS",
];

fn find(id: u32) -> Option<&'static Block> {
    BLOCKS.iter().find(|block| block.id == id)
}

/// The name that `llvm-bcanalyzer` has for a block.
pub(crate) fn block(id: u32) -> Option<&'static str> {
    find(id).map(|block| block.name)
}

/// The name that `llvm-bcanalyzer` has for a record of a block.
pub(crate) fn record(block: u32, code: u32) -> Option<&'static str> {
    match find(block)?.records {
        AllBut(codes) if codes.contains(&code) => None,
        AllBut(_) => crate::record_name(block, code),
        Only(records) => records.iter().find(|(known, _)| *known == code).map(|(_, name)| *name),
        Table(names) => {
            let at = usize::try_from(code).ok()?.checked_sub(1)?;
            names.get(at).copied().filter(|name| !name.is_empty())
        }
    }
}

/// Whether a record of a block has a name.
pub(crate) fn is_known(block: u32, code: u32) -> bool {
    record(block, code).or_else(|| crate::record_name(block, code)).is_some()
}

/// A name for any block: that of `llvm-bcanalyzer`, else that of LLVM's enumeration, else its number.
pub(crate) fn any_block(id: u32) -> Cow<'static, str> {
    match block(id).or_else(|| crate::block_name(id)) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("UnknownBlock{id}")),
    }
}

/// A name for any record, as [`any_block`].
pub(crate) fn any_record(block: u32, code: u32) -> Cow<'static, str> {
    match record(block, code).or_else(|| crate::record_name(block, code)) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("UnknownCode{code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_at_their_place() {
        let known = [
            (11, 21, Some("CST_CODE_BLOCKADDRESS")),
            (11, 32, Some("CE_GEP")),
            (12, 34, Some("INST_CALL")),
            (12, 58, None),
            (12, 65, Some("DEBUG_RECORD_LABEL")),
            (15, 35, Some("STRINGS")),
            (15, 47, None),
            (17, 25, None),
            (20, 20, Some("FLAGS")),
            (20, 30, Some("STACK_IDS")),
            (26, 1, None),
        ];
        for (block, code, name) in known {
            assert_eq!(record(block, code), name, "{block} {code}");
        }
        assert_eq!((any_block(26), any_block(99)), ("SYNC_SCOPE_NAMES".into(), "UnknownBlock99".into()));
        assert_eq!((any_record(12, 58), any_record(12, 99)), ("FREEZE".into(), "UnknownCode99".into()));
    }
}
