//! Block ids.
//!
//! Knowledge: `BlockIDs` of LLVM's `LLVMBitCodes.h`.

pub(crate) const BLOCKINFO: u32 = 0;
pub(crate) const MODULE: u32 = 8;
pub(crate) const PARAMATTR: u32 = 9;
pub(crate) const PARAMATTR_GROUP: u32 = 10;
pub(crate) const CONSTANTS: u32 = 11;
pub(crate) const FUNCTION: u32 = 12;
pub(crate) const IDENTIFICATION: u32 = 13;
pub(crate) const VALUE_SYMTAB: u32 = 14;
pub(crate) const METADATA: u32 = 15;
pub(crate) const METADATA_ATTACHMENT: u32 = 16;
pub(crate) const TYPE_NEW: u32 = 17;
pub(crate) const USELIST: u32 = 18;
pub(crate) const MODULE_STRTAB: u32 = 19;
pub(crate) const SUMMARY: u32 = 20;
pub(crate) const OPERAND_BUNDLE_TAGS: u32 = 21;
pub(crate) const METADATA_KIND: u32 = 22;
pub(crate) const STRTAB: u32 = 23;
pub(crate) const FULL_SUMMARY: u32 = 24;
pub(crate) const SYMTAB: u32 = 25;
pub(crate) const SYNC_SCOPE_NAMES: u32 = 26;
