//! Symbol companions (`.metallibsym`): the sources and debug information of a library, as a file beside it.
//!
//! A companion is the library itself with another type: functions with their modules, source archives and paths, sections, and
//! the same UUID, by which debuggers find it. The library beside it has no sources.
//!
//! Source: one real companion, which has the link command of its library and all parts above, and Apple's article "Generating
//! and Loading a Metal Library Symbol File". No real library was available together with its companion, so which parts
//! Apple's tool leaves in the library is not known; the article says that the sources go.

use crate::file::{ExtensionTag, LibraryFile, SOURCES, SectionData};
use crate::header::LibraryType;
use crate::target::FIRST_WITH_TYPE;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use unshade_core::{Error, ErrorKind, Escaped, Result};

/// Sections that describe the sources.
const SOURCE_SECTIONS: [[u8; 4]; 3] = [SOURCES[0], SOURCES[1], *b"HSRP"];

fn no_companion(message: impl Into<Cow<'static, str>>) -> Error {
    Error::without_offset(ErrorKind::BadValue, message)
}

impl<'a> LibraryFile<'a> {
    /// Returns the companion of this library, which still has its sources and debug information.
    ///
    /// # Errors
    /// If the library is a companion or a stub, or older than 1.2.4, which has no types.
    pub fn companion(&self) -> Result<Self> {
        if self.header.library_type() == LibraryType::SYMBOL_COMPANION {
            return Err(no_companion("a symbol companion has no companion"));
        }
        if self.header.is_stub() {
            return Err(no_companion("a stub has only declarations, and no symbols"));
        }
        if self.header.patch < FIRST_WITH_TYPE {
            let message = format!("a container of {} does not say its type", self.header.version());
            return Err(no_companion(message).expected("1.2.4 or later"));
        }
        let mut companion = self.clone();
        companion.header.raw_type = LibraryType::SYMBOL_COMPANION.0;
        Ok(companion)
    }

    /// Adds what a companion has: modules with debug information, paths, sources, and reflections if the library has none.
    ///
    /// # Errors
    /// If the other library is no companion, has another UUID, or other functions. Modules are not compared.
    pub fn join(&mut self, companion: LibraryFile<'a>) -> Result<()> {
        self.check_companion(&companion)?;
        let takes_reflections = self.reflections().is_empty();
        for (function, other) in self.functions.iter_mut().zip(companion.functions) {
            function.module = other.module;
            function.hash = other.hash;
            function.source = other.source;
            function.private = other.private;
            if takes_reflections {
                function.reflection = other.reflection;
            }
        }
        self.modules = companion.modules;
        self.remove_section(&SOURCE_SECTIONS);
        for tag in companion.extension.into_iter().flatten() {
            let ExtensionTag::Section { code, data } = tag else { continue };
            let is_reflection = matches!(data, SectionData::Reflections(_)) && takes_reflections;
            if SOURCE_SECTIONS.contains(&code.0) || is_reflection {
                self.set_section(code.0, data);
            }
        }
        Ok(())
    }

    fn check_companion(&self, companion: &LibraryFile<'_>) -> Result<()> {
        let kind = companion.header.library_type();
        if kind != LibraryType::SYMBOL_COMPANION {
            return Err(no_companion("not a symbol companion")
                .expected(format!("{}", LibraryType::SYMBOL_COMPANION))
                .found(format!("{kind}")));
        }
        let shown = |uuid: Option<&[u8; 16]>| match uuid {
            Some(uuid) => uuid.iter().map(|byte| format!("{byte:02X}")).collect(),
            None => String::from("none"),
        };
        if self.uuid() != companion.uuid() {
            return Err(no_companion("the companion is that of another library: their UUIDs differ")
                .expected(shown(self.uuid()))
                .found(shown(companion.uuid())));
        }
        let differs =
            self.functions.iter().zip(&companion.functions).find(|(own, other)| own.name != other.name);
        if let Some((own, other)) = differs {
            return Err(no_companion("the companion has other functions")
                .expected(Escaped(&own.name).quoted())
                .found(Escaped(&other.name).quoted()));
        }
        if self.functions.len() != companion.functions.len() {
            return Err(no_companion("the companion has other functions")
                .expected(format!("{} functions", self.functions.len()))
                .found(format!("{}", companion.functions.len())));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Strip;
    use alloc::string::ToString;

    const WITH_SOURCES: &[u8] = include_bytes!("../../../tests/fixtures/metallib/sources_hsrd.metallib");

    #[test]
    fn what_is_split_is_joined() {
        let whole = LibraryFile::parse(WITH_SOURCES).unwrap();
        let companion = whole.companion().unwrap();
        let companion = companion.write().unwrap().to_vec();
        let mut library = whole.clone();
        assert!(library.strip(Strip::Sources) && library.strip(Strip::PrivateMetadata));
        library.strip(Strip::Reflection);
        let stripped = library.write().unwrap().to_vec();
        assert!(stripped.len() < WITH_SOURCES.len());
        let mut joined = LibraryFile::parse(&stripped).unwrap();
        joined.join(LibraryFile::parse(&companion).unwrap()).unwrap();
        assert!(joined.write().unwrap().to_vec() == WITH_SOURCES);
    }

    #[test]
    fn companions_of_other_libraries_are_rejected() {
        let whole = LibraryFile::parse(WITH_SOURCES).unwrap();
        let companion = whole.companion().unwrap();
        assert!(companion.companion().is_err());
        let message = |mut library: LibraryFile<'static>, other: &LibraryFile<'static>| {
            library.join(other.clone()).unwrap_err().to_string()
        };
        assert!(message(whole.clone(), &whole).contains("not a symbol companion"));
        let mut other = whole.clone();
        other.set_uuid(Some([1; 16]));
        assert!(message(other, &companion).contains("UUIDs differ"));
        let mut fewer = whole.clone();
        fewer.functions.pop();
        assert!(message(fewer, &companion).contains("other functions"));
        let mut renamed = whole.clone();
        renamed.functions[0].name = b"other"[..].into();
        assert!(message(renamed, &companion).contains("other functions"));
    }
}
