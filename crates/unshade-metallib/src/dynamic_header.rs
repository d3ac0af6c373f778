//! The dynamic header (`HDYN`): the names by which libraries are linked.
//!
//! A sequence of tags without count or size: `NAME`, the install name of a dynamic library (since 1.2.9 also the output
//! name of an executable, possibly empty), then a `DYNL` for each dynamic library that it is linked against.

use crate::tag::Tags;
use unshade_core::{Reader, Result};

/// The dynamic header.
#[derive(Clone, Debug)]
pub struct DynamicHeader<'a> {
    tags: Reader<'a>,
}

impl<'a> DynamicHeader<'a> {
    pub(crate) fn new(tags: Reader<'a>) -> Self {
        Self { tags }
    }

    /// Returns the tags, in file order.
    pub fn tags(&self) -> Tags<'a> {
        Tags::new(self.tags)
    }

    /// Returns the install name, such as `@loader_path/libTools.metallib`.
    pub fn install_name(&self) -> Option<&'a [u8]> {
        self.names(b"NAME").next()
    }

    /// Returns the install names of the libraries that this one is linked against.
    pub fn linked_libraries(&self) -> impl Iterator<Item = &'a [u8]> {
        self.names(b"DYNL")
    }

    fn names(&self, code: &'static [u8; 4]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.tags()
            .filter_map(Result::ok)
            .filter(move |tag| tag.code.0 == *code)
            .filter_map(|tag| tag.c_string().ok())
    }
}
