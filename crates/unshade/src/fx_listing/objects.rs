//! Lists the objects of an effect, and assignments in state blocks and passes.

use super::Listing;
use super::data::{Component, Type};
use super::states::{FILTERS, Form, STATES};
use super::values::number;
use crate::fxc_listing::{self, shown};
use std::fmt::Write;
use unshade_core::{Error, ErrorKind, Result};
use unshade_dxcontainer::container::Container;

/// Kinds of objects with more data than a name.
mod kind {
    pub(super) const STRING: u32 = 1;
    pub(super) const BLEND: u32 = 2;
    pub(super) const DEPTH_STENCIL: u32 = 3;
    pub(super) const RASTERIZER: u32 = 4;
    /// The first shader kind; vertex and geometry shaders follow.
    pub(super) const PIXEL_SHADER: u32 = 5;
    pub(super) const GEOMETRY_SHADER_WITH_STREAMS: u32 = 8;
    pub(super) const SAMPLER: u32 = 0x15;
    pub(super) const FIRST_SHADER_5: u32 = 0x19;
    pub(super) const LAST_SHADER_5: u32 = 0x1e;
}

/// Kinds of assigned values.
mod given {
    pub(super) const CONSTANT: u32 = 1;
    pub(super) const VARIABLE: u32 = 2;
    pub(super) const ELEMENT: u32 = 3;
    pub(super) const ELEMENT_BY_VARIABLE: u32 = 4;
    pub(super) const SHADER: u32 = 7;
}

impl Listing<'_, '_> {
    pub(super) fn object(&mut self) -> Result<()> {
        let name = self.index.next()?;
        let data_type = self.data.data_type(self.index.next()?)?;
        let semantic = self.index.next()?;
        let register = self.index.next()?;
        let mut line = format!("{:<7} {}", shown(data_type.name), self.name(name)?);
        self.extent(&mut line, &data_type, semantic)?;
        if register != u32::MAX {
            let prefix = if data_type.form == kind::SAMPLER { "s" } else { "t" };
            let _ = write!(line, " : register({prefix}{register})");
        }
        let start = self.text.len();
        match data_type.form {
            kind::STRING => {
                let _ = write!(line, " = {}", self.strings(&data_type)?);
            }
            kind::BLEND | kind::DEPTH_STENCIL | kind::RASTERIZER | kind::SAMPLER => {
                self.blocks(&data_type)?;
            }
            kind::PIXEL_SHADER..=kind::GEOMETRY_SHADER_WITH_STREAMS => {
                line.push_str(" = ");
                self.shaders(&data_type)?;
            }
            kind::FIRST_SHADER_5..=kind::LAST_SHADER_5 => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    self.index.offset(),
                    "a shader of Shader Model 5 as a variable of an effect, whose text is not known",
                ));
            }
            _ => {}
        }
        // In the index annotations follow the object's data; in the listing they come before it.
        let body = self.text.split_off(start);
        self.line(0, &line);
        let has_annotations = self.annotations(0, false)?;
        if has_annotations && line.ends_with("= ") {
            return Err(self.unknown("a shader with annotations"));
        }
        if has_annotations {
            self.text.push_str(if body.is_empty() { ">" } else { ">\n" });
        } else if body.is_empty() {
            self.text.pop();
        }
        self.text.push_str(&body);
        self.text.push_str(";\n");
        self.check_length()
    }

    /// Writes the state blocks of an object, without the end of the last one.
    fn blocks(&mut self, data_type: &Type<'_>) -> Result<()> {
        if data_type.elements == 0 {
            return self.block(0);
        }
        self.text.push_str("{\n");
        for element in 0..data_type.elements {
            if element > 0 {
                self.text.push_str(",\n");
            }
            self.block(4)?;
        }
        self.text.push_str("\n}");
        Ok(())
    }

    fn block(&mut self, indent: usize) -> Result<()> {
        self.line(indent, "{");
        for _ in 0..self.index.next()? {
            self.assignment(indent + 4)?;
        }
        let _ = write!(self.text, "{:indent$}}}", "");
        Ok(())
    }

    fn unknown(&self, what: &str) -> Error {
        Error::new(ErrorKind::Unsupported, self.index.offset(), format!("{what}, whose text is not known"))
    }

    /// Writes the shaders of an object, without the end of the last one.
    fn shaders(&mut self, data_type: &Type<'_>) -> Result<()> {
        let is_array = data_type.elements > 0;
        if is_array {
            self.text.push_str("{\n");
        }
        for element in 0..data_type.elements.max(1) {
            if element > 0 {
                self.text.push_str(",\n");
            }
            let shader = self.index.next()?;
            let with_streams = data_type.form == kind::GEOMETRY_SHADER_WITH_STREAMS;
            let streams = if with_streams { self.index.next()? } else { 0 };
            self.text.push_str("    ");
            self.shader(shader, streams, 4)?;
        }
        if is_array {
            self.text.push_str("\n}");
        }
        Ok(())
    }

    /// Writes a shader and its stream output declaration.
    fn shader(&mut self, offset: u32, streams: u32, indent: usize) -> Result<()> {
        if offset == 0 {
            self.text.push_str("NULL");
            return Ok(());
        }
        let bytes = self.data.shader(offset)?;
        let container = Container::read(bytes)?;
        let mut listing = String::new();
        fxc_listing::print_fxc(&container, &mut listing, self.diagnostics)?;
        self.text.push_str("asm {\n");
        let inside = indent + 4;
        for line in listing.lines() {
            self.line(inside, line);
            self.check_length()?;
        }
        // FXC indents the end of the text, and then the closing brace.
        let _ = write!(self.text, "{:inside$}{:indent$}\n{:indent$}}}", "", "", "");
        if streams != 0 {
            let declaration = self.name(streams)?;
            let before = indent.saturating_sub(4);
            let _ = write!(self.text, "\n{:before$}/* Stream out decl: \"{declaration}\" */", "");
        }
        Ok(())
    }

    /// Writes an assignment in a state block or pass.
    pub(super) fn assignment(&mut self, indent: usize) -> Result<()> {
        let (number, element) = (self.index.next()?, self.index.next()?);
        let (given, value) = (self.index.next()?, self.index.next()?);
        let state = usize::try_from(number).ok().and_then(|number| STATES.get(number));
        let Some(state) = state else { return Err(self.unknown(&format!("state {number:#x}"))) };
        let name = if state.is_array { format!("{}[{element}]", state.name) } else { state.name.to_owned() };
        let _ = write!(self.text, "{:indent$}{name:8} = ", "");
        match given {
            given::CONSTANT => {
                let text = self.constant(state.form, value)?;
                self.text.push_str(&text);
            }
            given::VARIABLE => {
                let name = self.name(value)?;
                self.text.push_str(&name);
            }
            given::ELEMENT | given::ELEMENT_BY_VARIABLE => {
                let (array, place) = (self.data.word(value)?, self.data.word(value.saturating_add(4))?);
                let array = self.name(array)?;
                let place = if given == given::ELEMENT { place.to_string() } else { self.name(place)? };
                let _ = write!(self.text, "{array}[{place}]");
            }
            given::SHADER => {
                let (shader, streams) = (self.data.word(value)?, self.data.word(value.saturating_add(4))?);
                self.shader(shader, streams, indent)?;
            }
            _ => {
                return Err(
                    self.unknown(&format!("a value that is given in form {given} (expressions are 5 and 6)"))
                );
            }
        }
        self.text.push_str(";\n");
        self.check_length()
    }

    /// Formats a constant: a count, then type and value of each number.
    fn constant(&self, form: Form, offset: u32) -> Result<String> {
        let count = self.data.word(offset)?;
        let words = self.data.words(offset.saturating_add(4), count.saturating_mul(2))?;
        let numbers: Vec<(u32, u32)> = words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let Some((data_type, first)) = numbers.first().copied() else {
            return Err(self.unknown("a constant without a number"));
        };
        let text = number(component(data_type), first);
        let named = |name: Option<&str>| match name {
            Some(name) if !name.is_empty() => format!("uint({name} /* {first} */)"),
            _ => format!("uint({text})"),
        };
        let place = usize::try_from(first).ok();
        Ok(match form {
            Form::Object if first == 0 => String::from("NULL"),
            Form::Object => return Err(self.unknown("a number instead of an object")),
            Form::Float => format!("float({text})"),
            Form::Floats => {
                let numbers = numbers.iter().map(|(data_type, word)| number(component(*data_type), *word));
                format!("float{count}({})", numbers.collect::<Vec<_>>().join(", "))
            }
            Form::Unsigned => format!("uint({text})"),
            Form::Byte => format!("byte({:#04x})", first & 0xff),
            Form::Bool => {
                let word = if first == 0 { "FALSE" } else { "TRUE" };
                format!("bool({word} /* {text} */)")
            }
            Form::Named(names) => named(place.and_then(|place| names.get(place)).copied()),
            Form::Filter => named(FILTERS.iter().find(|(filter, _)| *filter == first).map(|(_, name)| *name)),
        })
    }
}

/// Returns the component type of a constant.
fn component(data_type: u32) -> Component {
    match data_type {
        1 => Component::Float,
        2 => Component::Signed,
        3 => Component::Unsigned,
        4 => Component::Bool,
        _ => Component::Word,
    }
}
