//! The shortest list of prefixes that says which name has which attributes.
//!
//! A name has the attributes of its longest prefix in the list. This is the problem of aggregating routes: going up the
//! tree of all names, each node keeps the attributes that most of its children can share; going down, a prefix is listed
//! where its inherited attributes are not among them. Names that nobody uses do not matter.

use std::collections::{BTreeMap, BTreeSet};

use super::observed::Attributes;

/// All names that begin with the same letters.
#[derive(Default)]
struct Node<'a> {
    children: BTreeMap<u8, Node<'a>>,
    /// The attributes of the name that ends here, with its dot. Types may follow it.
    own: Option<&'a Attributes>,
    /// The attributes that need the fewest prefixes below.
    best: BTreeSet<&'a Attributes>,
}

/// A prefix and its attributes.
pub(super) type Prefix<'a> = (String, &'a Attributes);

/// Returns prefixes and their attributes, in order. A name is compared with a dot at its end.
pub(super) fn shortest(names: &BTreeMap<String, Attributes>) -> Vec<Prefix<'_>> {
    let mut root = Node::default();
    for (name, attributes) in names {
        let bytes = name.bytes().chain([b'.']);
        let node = bytes.fold(&mut root, |node, byte| node.children.entry(byte).or_default());
        node.own = Some(attributes);
    }
    root.choose();
    let unknown = Attributes::default();
    let mut entries = Vec::new();
    root.list(&mut String::new(), &unknown, &mut entries);
    entries
}

impl<'a> Node<'a> {
    /// Finds the best attributes, children first. The depth is that of the longest name.
    fn choose(&mut self) {
        let mut counts = BTreeMap::new();
        for child in self.children.values_mut() {
            child.choose();
            for &attributes in &child.best {
                *counts.entry(attributes).or_insert(0) += 1;
            }
        }
        if let Some(own) = self.own {
            self.best.insert(own);
            return;
        }
        let most = counts.values().copied().max();
        self.best =
            counts.into_iter().filter(|&(_, count)| Some(count) == most).map(|(best, _)| best).collect();
    }

    /// Lists the prefixes needed below, given the attributes of the longest one so far.
    fn list(&self, prefix: &mut String, inherited: &Attributes, entries: &mut Vec<Prefix<'a>>) {
        let mut inherited = inherited;
        if let (Some(&best), false) = (self.best.first(), self.best.contains(inherited)) {
            entries.push((prefix.clone(), best));
            inherited = best;
        }
        for (&byte, child) in &self.children {
            prefix.push(char::from(byte));
            child.list(prefix, inherited, entries);
            prefix.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Attributes, shortest};

    #[test]
    fn exceptions_follow_the_rule() {
        let of =
            |function: &str| Attributes { function: Some(function.to_owned()), parameters: String::new() };
        let names = [("a.add", "pure"), ("a.sub", "pure"), ("a.load", "reads"), ("a.load.two", "pure")];
        let names = names.map(|(name, function)| (name.to_owned(), of(function))).into();
        let entries = shortest(&names);
        let entries: Vec<_> =
            entries.iter().map(|(name, of)| (name.as_str(), of.function.as_deref().unwrap())).collect();
        assert_eq!(entries, [("", "pure"), ("a.l", "reads"), ("a.load.t", "pure")]);
    }
}
