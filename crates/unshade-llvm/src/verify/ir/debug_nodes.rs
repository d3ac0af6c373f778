//! What the operands of each kind of debug-info node may be.
//!
//! [`OPERANDS`] has a row per operand; positions are those of [`NodeKind`]'s layouts.
//!
//! Knowledge: LLVM's source-level debugging documentation; nodes with each kind of operand, given to `llvm-as` 14 and 19.

use super::context::Context;
use super::metadata_view::View;
use crate::body::FunctionBody;
use crate::debug_info::NodeKind;
use crate::ids::MetadataId;

/// What an operand may be. Null is allowed unless a kind says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Takes {
    /// A string.
    Text,
    /// A `DIFile`.
    File,
    /// A `DIFile`, not null.
    SomeFile,
    /// A scope of names: types, namespaces, units, subprograms and so on.
    Scope,
    /// A subprogram or block, not null.
    LocalScope,
    /// A type.
    Type,
    /// A tuple.
    Tuple,
    /// A tuple of types, which may be null.
    Types,
    /// A tuple of template parameters.
    TemplateParameters,
    /// A tuple of enumerations.
    Enumerations,
    /// A tuple of types and of declared subprograms.
    Retained,
    /// A tuple of `DIGlobalVariableExpression`.
    Globals,
    /// A tuple of `DIImportedEntity`.
    Imports,
    /// A tuple of macros and macro files.
    Macros,
    /// A tuple of local variables, labels and imported entities.
    RetainedNodes,
    /// Any node of debug information.
    Node,
    /// A `DIExpression`, not null.
    Expression,
    /// A variable, an expression, or a number.
    Bound,
    /// A variable or an expression.
    VariableBound,
    /// A `DILocation`.
    Location,
    /// A `DICompileUnit`.
    Unit,
    /// A declaration of a subprogram.
    Declaration,
    /// A `DIGlobalVariable`, not null.
    SomeGlobal,
    /// A `DIGlobalVariable`.
    Global,
    /// A `DIDerivedType`.
    Derived,
}

use NodeKind as K;
use Takes as T;

/// Kind, position, what the operand may be.
#[rustfmt::skip]
pub(super) const OPERANDS: &[(NodeKind, u8, Takes)] = &[
    (K::Location, 0, T::LocalScope), (K::Location, 1, T::Location),
    (K::Subrange, 0, T::Bound), (K::Subrange, 1, T::Bound), (K::Subrange, 2, T::Bound), (K::Subrange, 3, T::Bound),
    (K::GenericSubrange, 0, T::VariableBound), (K::GenericSubrange, 1, T::VariableBound),
    (K::GenericSubrange, 2, T::VariableBound), (K::GenericSubrange, 3, T::VariableBound),
    (K::Enumerator, 0, T::Text),
    (K::BasicType, 0, T::Text),
    (K::StringType, 0, T::Text),
    (K::DerivedType, 0, T::File), (K::DerivedType, 1, T::Scope), (K::DerivedType, 2, T::Text), (K::DerivedType, 3, T::Type),
    (K::CompositeType, 0, T::File), (K::CompositeType, 1, T::Scope), (K::CompositeType, 2, T::Text),
    (K::CompositeType, 3, T::Type), (K::CompositeType, 4, T::Tuple), (K::CompositeType, 5, T::Type),
    (K::CompositeType, 6, T::TemplateParameters), (K::CompositeType, 7, T::Text), (K::CompositeType, 8, T::Derived),
    (K::SubroutineType, 0, T::Types),
    (K::File, 0, T::Text), (K::File, 1, T::Text), (K::File, 2, T::Text), (K::File, 3, T::Text),
    (K::CompileUnit, 0, T::SomeFile), (K::CompileUnit, 1, T::Text), (K::CompileUnit, 2, T::Text),
    (K::CompileUnit, 3, T::Text), (K::CompileUnit, 4, T::Enumerations), (K::CompileUnit, 5, T::Retained),
    (K::CompileUnit, 6, T::Globals), (K::CompileUnit, 7, T::Imports), (K::CompileUnit, 8, T::Macros),
    (K::Subprogram, 0, T::File), (K::Subprogram, 1, T::Scope), (K::Subprogram, 2, T::Text), (K::Subprogram, 3, T::Text),
    (K::Subprogram, 5, T::Unit), (K::Subprogram, 6, T::Declaration), (K::Subprogram, 7, T::RetainedNodes),
    (K::Subprogram, 8, T::Type), (K::Subprogram, 9, T::TemplateParameters), (K::Subprogram, 10, T::Types),
    (K::LexicalBlock, 0, T::File), (K::LexicalBlock, 1, T::LocalScope),
    (K::LexicalBlockFile, 0, T::File), (K::LexicalBlockFile, 1, T::LocalScope),
    (K::Namespace, 0, T::Scope), (K::Namespace, 1, T::Text),
    (K::CommonBlock, 0, T::Scope), (K::CommonBlock, 1, T::Global), (K::CommonBlock, 2, T::Text), (K::CommonBlock, 3, T::File),
    (K::Module, 2, T::Text),
    (K::TemplateType, 0, T::Text), (K::TemplateType, 1, T::Type),
    (K::TemplateValue, 0, T::Text), (K::TemplateValue, 1, T::Type),
    (K::GlobalVariable, 0, T::Scope), (K::GlobalVariable, 1, T::Text), (K::GlobalVariable, 2, T::File),
    (K::GlobalVariable, 3, T::Type), (K::GlobalVariable, 4, T::Text), (K::GlobalVariable, 5, T::Derived),
    (K::LocalVariable, 0, T::LocalScope), (K::LocalVariable, 1, T::Text), (K::LocalVariable, 2, T::File),
    (K::LocalVariable, 3, T::Type),
    (K::Label, 0, T::LocalScope), (K::Label, 1, T::Text), (K::Label, 2, T::File),
    (K::ObjcProperty, 0, T::Text), (K::ObjcProperty, 1, T::File), (K::ObjcProperty, 4, T::Type),
    (K::ImportedEntity, 0, T::Scope), (K::ImportedEntity, 1, T::Node), (K::ImportedEntity, 2, T::Text),
    (K::Macro, 0, T::Text),
    (K::MacroFile, 0, T::File), (K::MacroFile, 1, T::Macros),
    (K::GlobalVariableExpression, 0, T::SomeGlobal), (K::GlobalVariableExpression, 1, T::Expression),
];

/// Returns whether nodes of a kind are types.
pub(super) fn is_type(kind: NodeKind) -> bool {
    matches!(
        kind,
        K::BasicType
            | K::StringType
            | K::DerivedType
            | K::CompositeType
            | K::SubroutineType
            | K::SubrangeType
            | K::FixedPointType
    )
}

/// Returns whether nodes of a kind are scopes inside of functions.
pub(super) fn is_local_scope(kind: NodeKind) -> bool {
    matches!(kind, K::Subprogram | K::LexicalBlock | K::LexicalBlockFile)
}

/// Returns whether nodes of a kind are scopes.
fn is_scope(kind: NodeKind) -> bool {
    is_type(kind)
        || is_local_scope(kind)
        || matches!(kind, K::File | K::CompileUnit | K::Namespace | K::CommonBlock | K::Module)
}

/// Returns whether nodes of a kind belong to debug information.
fn is_debug_node(kind: NodeKind) -> bool {
    !matches!(kind, K::Tuple | K::Location | K::Expression | K::ArgList | K::AssignId | K::GlobalVariableExpression)
}

impl Context<'_, '_> {
    /// Returns whether an operand is what its position takes.
    pub(super) fn operand_fits(&self, body: Option<&FunctionBody>, takes: Takes, operand: Option<MetadataId>) -> bool {
        let Some(id) = operand else {
            return !matches!(takes, T::SomeFile | T::LocalScope | T::Expression | T::SomeGlobal);
        };
        let kind = self.node_kind(body, id);
        let is = |wanted: NodeKind| kind == Some(wanted);
        match takes {
            T::Text => self.metadata_text(body, id).is_some(),
            T::File | T::SomeFile => is(K::File),
            T::Scope => kind.is_some_and(is_scope),
            T::LocalScope => kind.is_some_and(is_local_scope),
            T::Type => kind.is_some_and(is_type),
            T::Node => kind.is_some_and(is_debug_node),
            T::Expression => is(K::Expression),
            T::Bound => {
                self.is_metadata_integer(body, id)
                    || kind.is_some_and(|kind| matches!(kind, K::LocalVariable | K::GlobalVariable | K::Expression))
            }
            T::VariableBound => {
                kind.is_some_and(|kind| matches!(kind, K::LocalVariable | K::GlobalVariable | K::Expression))
            }
            T::Location => is(K::Location),
            T::Unit => is(K::CompileUnit),
            T::Declaration => self.view_of(body, id, K::Subprogram).is_some_and(|view| !is_definition(&view)),
            T::SomeGlobal | T::Global => is(K::GlobalVariable),
            T::Derived => is(K::DerivedType),
            _ => match self.view_of(body, id, K::Tuple) {
                Some(tuple) => tuple.references().all(|member| self.member_fits(body, takes, member)),
                None => false,
            },
        }
    }

    /// Returns whether a member of a tuple is what the tuple's position takes.
    fn member_fits(&self, body: Option<&FunctionBody>, takes: Takes, member: Option<MetadataId>) -> bool {
        let Some(id) = member else { return matches!(takes, T::Tuple | T::Types) };
        let kind = self.node_kind(body, id);
        let is = |wanted: NodeKind| kind == Some(wanted);
        match takes {
            T::Types => kind.is_some_and(is_type),
            T::TemplateParameters => is(K::TemplateType) || is(K::TemplateValue),
            T::Enumerations => self.view_of(body, id, K::CompositeType).is_some_and(|view| view.number(0) == ENUMERATION),
            T::Retained => {
                kind.is_some_and(is_type)
                    || self.view_of(body, id, K::Subprogram).is_some_and(|view| !is_definition(&view))
            }
            T::Globals => is(K::GlobalVariableExpression),
            T::Imports => is(K::ImportedEntity),
            T::Macros => is(K::Macro) || is(K::MacroFile),
            T::RetainedNodes => is(K::LocalVariable) || is(K::Label) || is(K::ImportedEntity),
            _ => true,
        }
    }
}

/// The tag of enumerations.
pub(super) const ENUMERATION: u64 = 0x04;

/// Returns whether a subprogram is a definition.
pub(super) fn is_definition(view: &View<'_>) -> bool {
    view.number(5) & 8 != 0
}
