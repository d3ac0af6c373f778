//! Links of tokens in listings: definitions and references.

use std::collections::BTreeMap;
use std::path::PathBuf;
use unshade_core::token::Link;
use unshade_core::{Token, TokenKind, TokenSink};
use unshade_llvm::print::{self, Dialect, Entity, PrintOptions};
use unshade_llvm::types::Type;
use unshade_llvm::{BlockId, Module};

const NAMES: [&str; 5] = ["instructions", "exceptions", "symbols", "debug_info", "air_like"];

fn read(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(format!("{name}.bc"))).unwrap()
}

/// Collects tokens with links.
#[derive(Default)]
struct Linked(Vec<(TokenKind, String, Link)>);

impl TokenSink for Linked {
    fn token(&mut self, token: Token<'_>) {
        self.0.extend(token.link.map(|link| (token.kind, token.text.to_owned(), link)));
    }

    fn mark(&self) -> usize {
        self.0.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.0.truncate(mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let mut part = Self::default();
        write(&mut part);
        self.0.splice(mark..mark, part.0);
    }
}

impl Linked {
    fn of(module: &Module<'_>, dialect: Dialect) -> Self {
        let mut tokens = Self::default();
        print::module(module, &PrintOptions { dialect, ..PrintOptions::default() }, &mut tokens);
        tokens
    }

    fn definitions(&self) -> BTreeMap<u64, &str> {
        let mut definitions = BTreeMap::new();
        for (_, text, link) in &self.0 {
            if let Link::Definition(number) = link {
                assert!(definitions.insert(*number, text.as_str()).is_none(), "{text} is defined twice");
            }
        }
        definitions
    }
}

#[test]
fn references_have_one_definition() {
    for name in NAMES {
        let bytes = read(name);
        let module = Module::parse(&bytes, 0).unwrap();
        for dialect in [Dialect::Llvm14, Dialect::Dxc, Dialect::Llvm19, Dialect::Llvm22] {
            let tokens = Linked::of(&module, dialect);
            let definitions = tokens.definitions();
            for (_, text, link) in &tokens.0 {
                let Link::Reference(number) = link else { continue };
                match Entity::of(*link).expect("an entity") {
                    Entity::Type(id) => {
                        let Some(structure) = module.types.named_struct(id) else { continue };
                        let defined = definitions.get(&Entity::Type(structure).number());
                        let opaque =
                            matches!(dialect, Dialect::Llvm19 | Dialect::Llvm22) && text.starts_with("ptr");
                        assert!(
                            opaque || defined.is_some_and(|defined| text.contains(defined)),
                            "{name}: {text}"
                        );
                    }
                    Entity::Block { .. } => {
                        let label = definitions.get(number).unwrap_or_else(|| panic!("{name}: {text}"));
                        // A label is written without `%`, and may be empty.
                        assert!(label.is_empty() || text.strip_prefix('%') == Some(label), "{text} {label}");
                    }
                    // A parameter without a name is defined where LLVM 3.7 writes nothing.
                    Entity::Value { .. }
                        if dialect == Dialect::Dxc && definitions.get(number) == Some(&"") => {}
                    _ => assert_eq!(definitions.get(number), Some(&text.as_str()), "{name}: {link:?}"),
                }
            }
        }
    }
}

#[test]
fn every_block_is_defined() {
    for name in NAMES {
        let bytes = read(name);
        let module = Module::parse(&bytes, 0).unwrap();
        let tokens = Linked::of(&module, Dialect::Llvm14);
        let definitions = tokens.definitions();
        for (function, _) in (0u32..).zip(&module.functions).filter(|(_, function)| !function.declaration) {
            for block in 0..module.body(function as usize).unwrap().blocks.len() as u32 {
                let entity = Entity::Block { function, id: BlockId(block) };
                assert!(definitions.contains_key(&entity.number()), "{name}: {entity:?}");
            }
        }
    }
}

#[test]
fn entities_match_the_model() {
    let bytes = read("air_like");
    let module = Module::parse(&bytes, 0).unwrap();
    let tokens = Linked::of(&module, Dialect::Llvm14);
    let references = |wanted: &str| {
        let found =
            tokens.0.iter().filter(|(_, text, link)| text == wanted && matches!(link, Link::Reference(_)));
        found.map(|(_, _, link)| Entity::of(*link).unwrap()).collect::<Vec<_>>()
    };
    let Entity::Symbol(tile) = references("@tile")[0] else { panic!() };
    assert_eq!(module.globals[0].symbol.value, tile);
    let Entity::Value { function, id } = references("%position")[0] else { panic!() };
    assert_eq!(module.body(function as usize).unwrap().value_name(id), b"position");
    let Entity::Type(parameters) = references("%struct.Parameters")[0] else { panic!() };
    assert!(matches!(module.types.get(parameters), Type::Struct(_)));
    assert!(references("!16").iter().all(|entity| *entity == Entity::Metadata(16)));
    assert!(references("#4").iter().all(|entity| *entity == Entity::Attributes(4)));
    // Three branches go to %12.
    assert_eq!(references("%12").len(), 3);
}
