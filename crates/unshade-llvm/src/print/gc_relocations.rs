//! Comments after calls of `llvm.experimental.gc.relocate`: the base and the derived pointer that were passed to
//! the statepoint.

use super::Printer;
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::instruction::{Instruction, Opcode};
use crate::types::Type;
use crate::value::{Operand, OperandKind, ValueKind};
use unshade_core::{TokenKind, TokenSink};

const RELOCATE: &[u8] = b"llvm.experimental.gc.relocate";

/// The bundle of pointers that are live across a statepoint. Older files pass them as arguments.
const LIVE: &[u8] = b"gc-live";

impl<'m, S: TokenSink> Printer<'m, '_, '_, S> {
    /// Writes ` ; (base, derived)` after a relocation.
    pub(super) fn relocation_comment(&mut self, body: &FunctionBody, instruction: &Instruction) {
        let &[_, token, base, derived] = body.operands_of(instruction) else { return };
        let Some(value) = token.as_value().and_then(|id| self.module.value(Some(body), id)) else { return };
        let callee = self.called_function(body, instruction).and_then(|at| self.module.functions.get(at));
        if self.module.types.get(value.ty) != Type::Token
            || !callee.is_some_and(|callee| callee.symbol.name.starts_with(RELOCATE))
        {
            return;
        }
        let pointers = match value.kind {
            ValueKind::Instruction(at) => self.live_pointers(body, at),
            _ => None,
        };
        self.out(TokenKind::Comment, " ; (");
        for (at, index) in [base, derived].into_iter().enumerate() {
            if at > 0 {
                self.out(TokenKind::Comment, ", ");
            }
            let index = index.as_value().and_then(|id| self.module.integer(Some(body), id)).unwrap_or(0);
            let pointer = pointers.and_then(|pointers| pointers.get(usize::try_from(index).ok()?).copied());
            match pointer.map(Operand::kind) {
                Some(OperandKind::Value(id)) => self.value(Some(body), id),
                _ if self.is_poison(body, token) => self.out(TokenKind::Comment, "poison"),
                _ => self.out(TokenKind::Comment, "undef"),
            }
        }
        self.out(TokenKind::Comment, ")");
    }

    fn is_poison(&self, body: &FunctionBody, token: Operand) -> bool {
        let constant = token.as_value().and_then(|id| self.module.constant(Some(body), id));
        matches!(constant, Some((Constant::Poison, _)))
    }

    /// Returns the pointers passed to a statepoint, which is a call, or the invoke that a landing pad belongs to.
    fn live_pointers<'b>(&self, body: &'b FunctionBody, at: u32) -> Option<&'b [Operand]> {
        let mut statepoint = body.instructions.get(at as usize)?;
        if statepoint.opcode == Opcode::LandingPad {
            let blocks = || (0u32..).zip(&body.blocks);
            let (own, _) = blocks()
                .find(|(_, block)| (block.start..block.start.saturating_add(block.count)).contains(&at))?;
            let is_predecessor =
                |index: u32| body.successors(crate::BlockId(index)).any(|next| next.0 == own);
            let (_, from) = blocks().find(|&(index, _)| is_predecessor(index))?;
            statepoint = from.of(&body.instructions).last()?;
        }
        let call = body.calls.get(statepoint.detail as usize)?;
        let tags = &self.module.bundle_tags;
        let bundles = call.bundles.of(&body.bundles);
        let live =
            bundles.iter().find(|bundle| tags.get(bundle.tag as usize).is_some_and(|tag| **tag == *LIVE));
        match live {
            Some(bundle) => Some(bundle.operands.of(&body.operands)),
            None => body.operands_of(statepoint).get(1..),
        }
    }
}
