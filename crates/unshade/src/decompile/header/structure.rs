//! Structures, unions and enumerations.

use super::parser::{Parsed, Parser};
use unshade_nv::debug::{DebugType, TypeIndex, TypeKind};

/// Maximum number of members of a structure.
const MAX_MEMBERS: usize = 1 << 12;

/// A structure whose members are read.
struct Body {
    /// Its name without scopes.
    name: String,
    members: Vec<(String, TypeIndex)>,
    /// Number of members without a name.
    unnamed: usize,
}

impl Parser<'_> {
    /// Reads `struct name` or `struct name { members }`, with what may be between.
    pub(super) fn structure(&mut self) -> Parsed<TypeIndex> {
        let is_union = self.is_next("union");
        self.skip();
        let mut alignment = 1;
        while matches!(self.text(0), "__align__" | "alignas" | "__attribute__" | "__declspec") {
            alignment = self.attribute()?.max(alignment);
        }
        let name = if self.is_word() { self.qualified()? } else { String::new() };
        self.accept("final");
        let ty = self.declared_structure(&name, is_union)?;
        let mut body = Body { name, members: Vec::new(), unnamed: 0 };
        if self.accept(":") {
            self.bases(&mut body)?;
        }
        if !self.is_next("{") {
            return Ok(ty);
        }
        if self.types.size(ty) > 0 {
            return Err(format!("`{}` is defined twice", body.name));
        }
        self.skip();
        self.enter()?;
        self.scopes.push(body.name.clone());
        let result = self.members(&mut body);
        self.scopes.pop();
        self.depth -= 1;
        result?;
        while self.is_next("__attribute__") || self.is_next("__align__") {
            alignment = self.attribute()?.max(alignment);
        }
        self.types.complete(ty, body.members, is_union, alignment)?;
        Ok(ty)
    }

    /// Returns the structure with a name in this scope, or a new one.
    fn declared_structure(&mut self, name: &str, is_union: bool) -> Parsed<TypeIndex> {
        let full = self.with_scope(name);
        if !name.is_empty() {
            for known in [full.as_str(), name] {
                if let Some(ty) = self.types.by_name(known) {
                    return Ok(ty);
                }
            }
        }
        let kind = if is_union { TypeKind::Union(Vec::new()) } else { TypeKind::Structure(Vec::new()) };
        let name = name.to_owned();
        let ty = self.types.add(DebugType { name: name.clone(), size: 0, kind }, 1)?;
        if !name.is_empty() {
            self.types.name(&full, ty);
        }
        Ok(ty)
    }

    /// Reads the bases of a class. They are its first members.
    fn bases(&mut self, body: &mut Body) -> Parsed<()> {
        loop {
            while matches!(self.text(0), "public" | "protected" | "private") {
                self.skip();
            }
            if self.is_next("virtual") {
                return Err(String::from("virtual bases are left out"));
            }
            let ty = self.specifiers()?.ty.ok_or("a base is `void`")?;
            self.add_member(body, String::new(), ty)?;
            if !self.accept(",") {
                return Ok(());
            }
        }
    }

    /// Reads the members of a structure and its closing brace.
    fn members(&mut self, body: &mut Body) -> Parsed<()> {
        while !self.accept("}") {
            if self.is_end() {
                return Err(format!("`{}` has no closing brace", body.name));
            }
            self.member(body)?;
        }
        Ok(())
    }

    fn member(&mut self, body: &mut Body) -> Parsed<()> {
        let is_label = matches!(self.text(0), "public" | "protected" | "private") && self.text(1) == ":";
        if is_label {
            self.skip();
            self.skip();
            return Ok(());
        }
        if self.accept(";") {
            return Ok(());
        }
        if self.accept("using") {
            return self.alias();
        }
        if self.is_next("virtual") {
            return Err(format!("`{}` has virtual functions", body.name));
        }
        if self.has_no_place(body) {
            self.skip_declaration();
            return Ok(());
        }
        let is_static = self.is_next("static");
        let specifiers = self.specifiers()?;
        if self.accept(";") {
            // The members of a structure without a name are those of the one around it.
            return match specifiers.ty {
                Some(ty) if self.is_unnamed_structure(ty) => self.add_member(body, String::new(), ty),
                _ => Ok(()),
            };
        }
        loop {
            if self.text(0) == "operator" {
                self.skip_declaration();
                return Ok(());
            }
            let declarator = self.declarator(specifiers.ty)?;
            if self.is_next(":") {
                return Err(format!("bit fields are left out: `{}::{}`", body.name, declarator.name));
            }
            if declarator.parameters.is_some() {
                self.skip_method();
                return Ok(());
            }
            if specifiers.is_typedef {
                self.declare(declarator, true)?;
            } else if !is_static {
                let ty = declarator.ty.ok_or_else(|| format!("`{}` is `void`", declarator.name))?;
                self.add_member(body, declarator.name, ty)?;
            }
            if self.accept("=") || self.is_next("{") {
                self.skip_initializer();
            }
            if !self.accept(",") {
                return self.expect(";");
            }
        }
    }

    /// Returns whether a constructor, a destructor, a template or a friend is next.
    fn has_no_place(&self, body: &Body) -> bool {
        let mut distance = 0;
        while matches!(self.text(distance), "__host__" | "__device__" | "inline" | "explicit" | "constexpr") {
            distance += 1;
        }
        let word = self.text(distance);
        let is_constructor = word == body.name && self.text(distance + 1) == "(";
        is_constructor || matches!(word, "~" | "template" | "friend" | "operator" | "static_assert")
    }

    /// Skips what follows the parameters of a method: its initializers and its body.
    fn skip_method(&mut self) {
        while !self.is_end() && !self.is_next("{") && !self.is_next(";") {
            self.skip();
        }
        if !self.accept(";") && self.skip_block().is_ok() {
            self.accept(";");
        }
    }

    fn is_unnamed_structure(&self, ty: TypeIndex) -> bool {
        let known = self.types.list.get(ty.0 as usize);
        known.is_some_and(|known| {
            known.name.is_empty() && matches!(known.kind, TypeKind::Structure(_) | TypeKind::Union(_))
        })
    }

    fn add_member(&mut self, body: &mut Body, name: String, ty: TypeIndex) -> Parsed<()> {
        if self.types.size(ty) == 0 {
            return Err(format!("the type of `{}::{name}` has no size", body.name));
        }
        if body.members.len() >= MAX_MEMBERS {
            return Err(format!("`{}` has more than {MAX_MEMBERS} members", body.name));
        }
        let name = if name.is_empty() {
            body.unnamed += 1;
            format!("unnamed_{}", body.unnamed)
        } else {
            name
        };
        body.members.push((name, ty));
        Ok(())
    }

    /// Reads `enum name : type { enumerators }`.
    pub(super) fn enumeration(&mut self) -> Parsed<TypeIndex> {
        self.skip();
        let _ = self.accept("class") || self.accept("struct");
        let name = if self.is_word() { self.qualified()? } else { String::new() };
        let mut size = 4;
        if self.accept(":") {
            let ty = self.specifiers()?.ty.ok_or("an enumeration of `void`")?;
            size = self.types.size(ty);
        }
        let full = self.with_scope(&name);
        let ty = match self.types.by_name(&full).filter(|_| !name.is_empty()) {
            Some(known) => known,
            None => {
                let ty = DebugType { name, size, kind: TypeKind::Enumeration };
                let ty = self.types.add(ty, size)?;
                self.types.name(&full, ty);
                ty
            }
        };
        if self.accept("{") {
            self.enumerators()?;
        }
        Ok(ty)
    }

    fn enumerators(&mut self) -> Parsed<()> {
        let mut next = 0_i64;
        while !self.accept("}") {
            let name = self.word_or_number()?.to_owned();
            if self.accept("=") {
                next = self.constant()?;
            }
            self.enumerators.insert(name, next);
            next = next.wrapping_add(1);
            if !self.accept(",") && !self.is_next("}") {
                return Err(format!("`,` or `}}` is expected after an enumerator, not `{}`", self.text(0)));
            }
        }
        Ok(())
    }
}
