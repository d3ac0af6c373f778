//! Passes the byte ranges that tokens were decoded from to a sink that wants them.
//!
//! A range is set before the tokens of a record and cleared after them, so lines that do not belong to a record,
//! such as labels and brackets, have no range.

use super::Printer;
use crate::body::FunctionBody;
use crate::source_map::SourceMap;
use core::ops::Range;
use unshade_core::TokenSink;

impl<S: TokenSink> Printer<'_, '_, '_, S> {
    /// Builds the source map if the sink wants ranges.
    pub(super) fn map_sources(&mut self) {
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

    /// Sets the range of the tokens that follow.
    #[inline(always)]
    pub(super) fn source(&mut self, range: impl FnOnce(&SourceMap) -> Range<u64>) {
        if self.sink.wants_sources() {
            self.sink.source(range(&self.sources));
        }
    }

    /// Clears the range: the tokens that follow do not come from a record.
    #[inline(always)]
    pub(super) fn no_source(&mut self) {
        self.source(|_| 0..0);
    }
}
