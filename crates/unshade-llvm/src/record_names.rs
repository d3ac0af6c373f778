//! Names of blocks and records, for tools that list a stream without decoding it.
//!
//! Knowledge: `BlockIDs` and the enumerations of codes in LLVM's `LLVMBitCodes.h` (3.2 to 22).

/// A block: its id, its name, and the names of its records by code.
struct Block {
    id: u32,
    name: &'static str,
    /// Starts at code 1; an empty name is an unassigned code.
    records: &'static [&'static str],
}

#[rustfmt::skip]
const BLOCKS: &[Block] = &[
    Block { id: 0, name: "BLOCKINFO", records: &["SETBID", "BLOCKNAME", "SETRECORDNAME"] },
    Block { id: 8, name: "MODULE", records: &[
        "VERSION", "TRIPLE", "DATALAYOUT", "ASM", "SECTIONNAME", "DEPLIB", "GLOBALVAR", "FUNCTION", "ALIAS_OLD", "",
        "GCNAME", "COMDAT", "VSTOFFSET", "ALIAS", "METADATA_VALUES_UNUSED", "SOURCE_FILENAME", "HASH", "IFUNC",
    ] },
    Block { id: 9, name: "PARAMATTR", records: &["ENTRY_OLD", "ENTRY"] },
    Block { id: 10, name: "PARAMATTR_GROUP", records: &["", "", "ENTRY"] },
    Block { id: 11, name: "CONSTANTS", records: &[
        "SETTYPE", "NULL", "UNDEF", "INTEGER", "WIDE_INTEGER", "FLOAT", "AGGREGATE", "STRING", "CSTRING", "CE_BINOP",
        "CE_CAST", "CE_GEP_OLD", "CE_SELECT", "CE_EXTRACTELT", "CE_INSERTELT", "CE_SHUFFLEVEC", "CE_CMP",
        "INLINEASM_OLD", "CE_SHUFVEC_EX", "CE_INBOUNDS_GEP", "BLOCKADDRESS", "DATA", "INLINEASM_OLD2",
        "CE_GEP_WITH_INRANGE_INDEX_OLD", "CE_UNOP", "POISON", "DSO_LOCAL_EQUIVALENT", "INLINEASM_OLD3",
        "NO_CFI_VALUE", "INLINEASM", "CE_GEP_WITH_INRANGE", "CE_GEP", "PTRAUTH", "PTRAUTH2",
    ] },
    Block { id: 12, name: "FUNCTION", records: &[
        "DECLAREBLOCKS", "BINOP", "CAST", "GEP_OLD", "SELECT", "EXTRACTELT", "INSERTELT", "SHUFFLEVEC", "CMP", "RET",
        "BR", "SWITCH", "INVOKE", "", "UNREACHABLE", "PHI", "", "", "ALLOCA", "LOAD", "", "", "VAARG", "STORE_OLD", "",
        "EXTRACTVAL", "INSERTVAL", "CMP2", "VSELECT", "INBOUNDS_GEP_OLD", "INDIRECTBR", "", "DEBUG_LOC_AGAIN", "CALL",
        "DEBUG_LOC", "FENCE", "CMPXCHG_OLD", "ATOMICRMW_OLD", "RESUME", "LANDINGPAD_OLD", "LOADATOMIC",
        "STOREATOMIC_OLD", "GEP", "STORE", "STOREATOMIC", "CMPXCHG", "LANDINGPAD", "CLEANUPRET", "CATCHRET",
        "CATCHPAD", "CLEANUPPAD", "CATCHSWITCH", "", "", "OPERAND_BUNDLE", "UNOP", "CALLBR", "FREEZE", "ATOMICRMW",
        "BLOCKADDR_USERS", "DEBUG_RECORD_VALUE", "DEBUG_RECORD_DECLARE", "DEBUG_RECORD_ASSIGN",
        "DEBUG_RECORD_VALUE_SIMPLE", "DEBUG_RECORD_LABEL", "DEBUG_RECORD_DECLARE_VALUE",
    ] },
    Block { id: 13, name: "IDENTIFICATION", records: &["STRING", "EPOCH"] },
    Block { id: 14, name: "VALUE_SYMTAB", records: &["ENTRY", "BBENTRY", "FNENTRY", "", "COMBINED_ENTRY"] },
    Block { id: 15, name: "METADATA", records: METADATA },
    Block { id: 16, name: "METADATA_ATTACHMENT", records: METADATA },
    Block { id: 17, name: "TYPE_NEW", records: &[
        "NUMENTRY", "VOID", "FLOAT", "DOUBLE", "LABEL", "OPAQUE", "INTEGER", "POINTER", "FUNCTION_OLD", "HALF",
        "ARRAY", "VECTOR", "X86_FP80", "FP128", "PPC_FP128", "METADATA", "X86_MMX", "STRUCT_ANON", "STRUCT_NAME",
        "STRUCT_NAMED", "FUNCTION", "TOKEN", "BFLOAT", "X86_AMX", "OPAQUE_POINTER", "TARGET_TYPE",
    ] },
    Block { id: 18, name: "USELIST", records: &["DEFAULT", "BB"] },
    Block { id: 19, name: "MODULE_STRTAB", records: &["ENTRY", "HASH"] },
    Block { id: 20, name: "GLOBALVAL_SUMMARY", records: &[] },
    Block { id: 21, name: "OPERAND_BUNDLE_TAGS", records: &["TAG"] },
    Block { id: 22, name: "METADATA_KIND", records: METADATA },
    Block { id: 23, name: "STRTAB", records: &["BLOB"] },
    Block { id: 24, name: "FULL_LTO_GLOBALVAL_SUMMARY", records: &[] },
    Block { id: 25, name: "SYMTAB", records: &["BLOB"] },
    Block { id: 26, name: "SYNC_SCOPE_NAMES", records: &["NAME"] },
];

#[rustfmt::skip]
const METADATA: &[&str] = &[
    "STRING_OLD", "VALUE", "NODE", "NAME", "DISTINCT_NODE", "KIND", "LOCATION", "OLD_NODE", "OLD_FN_NODE",
    "NAMED_NODE", "ATTACHMENT", "GENERIC_DEBUG", "SUBRANGE", "ENUMERATOR", "BASIC_TYPE", "FILE", "DERIVED_TYPE",
    "COMPOSITE_TYPE", "SUBROUTINE_TYPE", "COMPILE_UNIT", "SUBPROGRAM", "LEXICAL_BLOCK", "LEXICAL_BLOCK_FILE",
    "NAMESPACE", "TEMPLATE_TYPE", "TEMPLATE_VALUE", "GLOBAL_VAR", "LOCAL_VAR", "EXPRESSION", "OBJC_PROPERTY",
    "IMPORTED_ENTITY", "MODULE", "MACRO", "MACRO_FILE", "STRINGS", "GLOBAL_DECL_ATTACHMENT", "GLOBAL_VAR_EXPR",
    "INDEX_OFFSET", "INDEX", "LABEL", "STRING_TYPE", "", "", "COMMON_BLOCK", "GENERIC_SUBRANGE", "ARG_LIST",
    "ASSIGN_ID", "SUBRANGE_TYPE", "FIXED_POINT_TYPE",
];

/// Returns the name of a block.
pub fn block_name(id: u32) -> Option<&'static str> {
    BLOCKS.iter().find(|block| block.id == id).map(|block| block.name)
}

/// Returns the name of a record, by block id and code. Records of ThinLTO summaries have no names here.
///
/// ```
/// use unshade_llvm::{block_name, record_name};
///
/// assert_eq!((block_name(12), record_name(12, 34)), (Some("FUNCTION"), Some("CALL")));
/// assert_eq!(record_name(12, 14), None);
/// ```
pub fn record_name(block: u32, code: u32) -> Option<&'static str> {
    let block = BLOCKS.iter().find(|block_names| block_names.id == block)?;
    let index = usize::try_from(code).ok()?.checked_sub(1)?;
    block.records.get(index).copied().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_at_the_index_of_their_code() {
        let known = [
            (8, 18, "IFUNC"),
            (11, 22, "DATA"),
            (11, 26, "POISON"),
            (12, 16, "PHI"),
            (12, 44, "STORE"),
            (12, 55, "OPERAND_BUNDLE"),
            (12, 65, "DEBUG_RECORD_LABEL"),
            (15, 36, "GLOBAL_DECL_ATTACHMENT"),
            (15, 47, "ASSIGN_ID"),
            (15, 49, "FIXED_POINT_TYPE"),
            (11, 34, "PTRAUTH2"),
            (16, 11, "ATTACHMENT"),
            (17, 25, "OPAQUE_POINTER"),
        ];
        for (block, code, name) in known {
            assert_eq!(record_name(block, code), Some(name));
        }
        assert_eq!((record_name(8, 0), record_name(99, 1), block_name(1)), (None, None, None));
    }
}
