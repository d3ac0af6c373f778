//! The parts of FXC's libraries: LIBH lists the functions, LFS0 describes the parameters of one. Each function's
//! program is a container of its own, in a LIBF part.
//!
//! ```text
//! LIBH: u32 1, u32 offset of the compiler's name, u32 flags, u32 count, u32 offset (20)
//!       functions: u32 flags, u32 offset of the name
//! LFS0: u32 count, u32 offset (8)
//!       parameters: name, semantic, type, class, rows, columns, interpolation, flags,
//!                   first input register and component, first output register and component (u32 each)
//! ```
//!
//! Sources: `D3D11_LIBRARY_DESC` and `D3D11_PARAMETER_DESC` in Microsoft's documentation; real files.

use crate::bytes::{Text, len32};
use crate::cursor::Cursor;
use crate::image::{Image, Slack};
use crate::scalar::{Hex32, Record, Scalar, model, record};
use alloc::vec::Vec;
use unshade_core::Result;

record! {
    /// The header of LIBH.
    pub struct LibraryHeaderFields {
        /// 1.
        pub version: u32 => "Version",
        /// Offset of the name of the compiler.
        pub creator_offset: Hex32 => "CreatorOffset",
        /// Flags.
        pub flags: Hex32 => "Flags",
        /// Number of functions.
        pub count: u32 => "Count",
        /// Offset of the functions.
        pub functions_offset: Hex32 => "FunctionsOffset",
    }
}

record! {
    /// The fields of a function in LIBH.
    pub struct FunctionFields {
        /// Flags.
        pub flags: Hex32 => "Flags",
        /// Offset of its name.
        pub name_offset: Hex32 => "NameOffset",
    }
}

model! {
    /// A function in LIBH.
    pub struct Function {
        /// Its name.
        pub name: Text => "Name",
        /// Its fields.
        pub fields: FunctionFields => "Fields",
    }
}

model! {
    /// LIBH.
    pub struct LibraryHeader {
        /// Its header.
        pub header: LibraryHeaderFields => "Header",
        /// The name of the compiler.
        pub creator: Text => "Creator",
        /// The functions.
        pub functions: Vec<Function> => "Functions",
        /// The bytes between and after the pieces.
        pub slack: Slack => "Layout",
    }
}

impl LibraryHeader {
    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        let header: LibraryHeaderFields = cursor.record("header")?;
        let creator = cursor.text_at(header.creator_offset.0, "compiler")?;
        let table: Vec<FunctionFields> =
            cursor.at(header.functions_offset.0)?.table(header.count, "function")?;
        let mut functions = Vec::with_capacity(table.len());
        for fields in table {
            functions.push(Function { name: cursor.text_at(fields.name_offset.0, "name")?, fields });
        }
        let slack = Slack::from_gaps(cursor.part_size(), &cursor.gaps());
        Ok(Self { header, creator, functions, slack })
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let mut image = Image::default();
        let mut header = Vec::new();
        LibraryHeaderFields { count: len32(self.functions.len()), ..self.header.clone() }.write(&mut header);
        image.put(0, header);
        image.put_text(self.header.creator_offset.0, &self.creator.0);
        let mut table = Vec::new();
        for function in &self.functions {
            function.fields.write(&mut table);
            image.put_text(function.fields.name_offset.0, &function.name.0);
        }
        image.put(self.header.functions_offset.0, table);
        image.finish(&self.slack)
    }
}

record! {
    /// The fields of a parameter in LFS0.
    pub struct ParameterFields {
        /// Offset of its name; 0 for the return value.
        pub name_offset: Hex32 => "NameOffset",
        /// Offset of its semantic; 0 for none.
        pub semantic_offset: Hex32 => "SemanticOffset",
        /// The component type.
        pub base: u32 => "Type",
        /// Scalar, vector, matrix.
        pub class: u32 => "Class",
        /// Number of rows.
        pub rows: u32 => "Rows",
        /// Number of columns.
        pub columns: u32 => "Columns",
        /// The interpolation mode.
        pub interpolation: u32 => "InterpolationMode",
        /// 1 input, 2 output.
        pub flags: Hex32 => "Flags",
        /// The first input register, or `u32::MAX`.
        pub first_in_register: u32 => "FirstInRegister",
        /// Its first component.
        pub first_in_component: u32 => "FirstInComponent",
        /// The first output register, or `u32::MAX`.
        pub first_out_register: u32 => "FirstOutRegister",
        /// Its first component.
        pub first_out_component: u32 => "FirstOutComponent",
    }
}

model! {
    /// A parameter in LFS0.
    pub struct Parameter {
        /// Its name.
        pub name: Option<Text> => "Name",
        /// Its semantic.
        pub semantic: Option<Text> => "Semantic",
        /// Its fields.
        pub fields: ParameterFields => "Fields",
    }
}

model! {
    /// LFS0.
    pub struct FunctionSignature {
        /// Offset of the parameters.
        pub parameters_offset: Hex32 => "ParametersOffset",
        /// The parameters, with the return value first.
        pub parameters: Vec<Parameter> => "Parameters",
        /// The bytes between and after the pieces.
        pub slack: Slack => "Layout",
    }
}

impl FunctionSignature {
    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        let count: u32 = cursor.scalar("number of parameters")?;
        let parameters_offset: Hex32 = cursor.scalar("offset of the parameters")?;
        let table: Vec<ParameterFields> = cursor.at(parameters_offset.0)?.table(count, "parameter")?;
        let mut parameters = Vec::with_capacity(table.len());
        for fields in table {
            let mut text = |offset: Hex32, name| match offset.0 {
                0 => Ok(None),
                offset => cursor.text_at(offset, name).map(Some),
            };
            let (name, semantic) =
                (text(fields.name_offset, "name")?, text(fields.semantic_offset, "semantic")?);
            parameters.push(Parameter { name, semantic, fields });
        }
        let slack = Slack::from_gaps(cursor.part_size(), &cursor.gaps());
        Ok(Self { parameters_offset, parameters, slack })
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let mut image = Image::default();
        let mut header = Vec::new();
        len32(self.parameters.len()).put(&mut header);
        self.parameters_offset.put(&mut header);
        image.put(0, header);
        let mut table = Vec::new();
        for parameter in &self.parameters {
            parameter.fields.write(&mut table);
            let texts = [
                (parameter.fields.name_offset, &parameter.name),
                (parameter.fields.semantic_offset, &parameter.semantic),
            ];
            for (offset, text) in texts {
                if let Some(text) = text {
                    image.put_text(offset.0, &text.0);
                }
            }
        }
        image.put(self.parameters_offset.0, table);
        image.finish(&self.slack)
    }
}
