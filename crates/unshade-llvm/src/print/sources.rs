//! Telling a sink which bytes of the file tokens were decoded from, if it wants to know.
//!
//! Ranges are set in front of what starts a line, and taken back behind it; so lines that stand for no record of
//! their own, such as labels and brackets, have none.

use super::Printer;
use crate::body::FunctionBody;
use crate::source_map::SourceMap;
use core::ops::Range;
use unshade_core::TokenSink;

impl<S: TokenSink> Printer<'_, '_, '_, S> {
    /// Finds out where things are.
    pub(super) fn find_sources(&mut self) {
        if self.sink.wants_sources() {
            self.sources = SourceMap::new(self.module);
            let mut body = FunctionBody::default();
            for (index, function) in self.module.functions.iter().enumerate() {
                if !function.declaration && self.module.read_body(index, &mut body).is_ok() {
                    self.sources.add(self.module, &body);
                }
            }
        }
    }

    /// What follows was decoded from these bytes.
    #[inline(always)]
    pub(super) fn source(&mut self, range: impl FnOnce(&SourceMap) -> Range<u64>) {
        if self.sink.wants_sources() {
            self.sink.source(range(&self.sources));
        }
    }

    /// What follows stands for no bytes.
    #[inline(always)]
    pub(super) fn no_source(&mut self) {
        self.source(|_| 0..0);
    }
}
