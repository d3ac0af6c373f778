//! The subprogram that each source location of a function is in.
//!
//! Scopes and inlined-at locations form chains, which many locations share. The end of each chain is stored with every
//! node on it, so that all chains together are followed once.

use super::context::Context;
use crate::body::FunctionBody;
use crate::debug_info::NodeKind;
use crate::ids::MetadataId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Positions of references in nodes.
const SCOPE_OF_LOCATION: usize = 0;
const INLINED_AT: usize = 1;
const SCOPE_OF_BLOCK: usize = 1;

/// Where chains end, by node. Nodes of a body are forgotten with it.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    subprograms: BTreeMap<MetadataId, Option<MetadataId>>,
    outermost: BTreeMap<MetadataId, Option<MetadataId>>,
}

impl Scopes {
    /// Forgets the nodes that are not the module's, whose ids are used again by the next body.
    pub(super) fn forget_local(&mut self, first_local: MetadataId) {
        drop(self.subprograms.split_off(&first_local));
        drop(self.outermost.split_off(&first_local));
    }

    /// Returns the subprogram that a scope is in; none if the chain does not end at one.
    pub(super) fn subprogram(
        &mut self,
        context: &Context<'_, '_>,
        body: &FunctionBody,
        scope: MetadataId,
    ) -> Option<MetadataId> {
        follow(&mut self.subprograms, scope, |id| {
            let Some(view) = context.view(Some(body), id) else { return Next::End(None) };
            match view.node.kind {
                NodeKind::Subprogram => Next::End(Some(id)),
                NodeKind::LexicalBlock | NodeKind::LexicalBlockFile => match view.reference(SCOPE_OF_BLOCK) {
                    Some(outer) => Next::Go(outer),
                    None => Next::End(None),
                },
                _ => Next::End(None),
            }
        })
    }

    /// Returns the scope of the outermost call that a location was inlined at.
    pub(super) fn outermost(
        &mut self,
        context: &Context<'_, '_>,
        body: &FunctionBody,
        location: MetadataId,
    ) -> Option<MetadataId> {
        follow(&mut self.outermost, location, |id| {
            let view = context.view(Some(body), id).filter(|view| view.node.kind == NodeKind::Location);
            let Some(view) = view else { return Next::End(None) };
            match view.reference(INLINED_AT) {
                Some(call) => Next::Go(call),
                None => Next::End(view.reference(SCOPE_OF_LOCATION)),
            }
        })
    }
}

/// What follows a node of a chain.
enum Next {
    Go(MetadataId),
    End(Option<MetadataId>),
}

/// Follows a chain to its end, and stores the end for each node on it. A circle has no end.
fn follow(
    known: &mut BTreeMap<MetadataId, Option<MetadataId>>,
    start: MetadataId,
    next: impl Fn(MetadataId) -> Next,
) -> Option<MetadataId> {
    let mut passed: Vec<MetadataId> = Vec::new();
    let mut at = start;
    let end = loop {
        if let Some(&end) = known.get(&at) {
            break end;
        }
        // Until the end is known, a node on the chain has none: a circle stops here.
        known.insert(at, None);
        passed.push(at);
        match next(at) {
            Next::Go(following) => at = following,
            Next::End(end) => break end,
        }
    };
    for id in passed {
        known.insert(id, end);
    }
    end
}
