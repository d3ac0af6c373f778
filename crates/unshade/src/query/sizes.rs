//! How large the parts of a program are: sections, items by family, the largest and smallest, those with the same bytes.

use super::families::{Families, size_of};
use super::rows::{Table, byte_range, cut};
use super::session::Session;
use super::*;
use crate::program::{Cell, Piece};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use unshade_core::outline::{Field, OutlineSink};

/// The default number of items that are named.
const LIMIT: usize = 600;

/// The maximum number of items that are named.
const MAX_LIMIT: usize = 2_000;

/// The maximum number of families in an answer.
const MAX_FAMILIES: usize = 400;

/// How many of the largest and smallest items, of duplicates, and of items with a source are named.
const MAX_NAMED: usize = 12;

/// The longest name in this answer, in characters: it is on labels.
const MAX_LABEL: usize = 400;

/// The size of all items up to which their bytes are compared.
const MAX_COMPARED: u64 = 64 << 20;

/// Keeps the outermost fields.
#[derive(Default)]
struct Sections {
    depth: usize,
    all: Vec<SectionSize>,
}

impl OutlineSink for Sections {
    fn open(&mut self, field: Field<'_>) {
        if self.depth == 0 && self.all.len() < MAX_NODES {
            let Range { start, end } = field.range;
            let name = label(&unshade_core::Escaped(field.name.as_bytes()).to_string());
            self.all.push(SectionSize { name, range: [start, end], items: 0 });
        }
        self.depth += 1;
    }

    fn wants_inside(&self) -> bool {
        false
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
}

/// Returns the beginning of a name.
fn label(name: &str) -> String {
    match name.char_indices().nth(MAX_LABEL) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => cut(name),
    }
}

fn entry(item: u32, piece: &Piece) -> ItemSize {
    ItemSize {
        item,
        name: label(piece.row.readable_name()),
        kind: piece.row.kind.to_string(),
        size: size_of(&piece.row),
    }
}

impl Session {
    pub(super) fn sizes(&mut self, request: &Sizes) -> Answer<SizesAnswer> {
        let table = self.table(request.program)?;
        let is_partial = self.is_partial();
        let parsed = self.parsed(request.program)?;
        let mut sections = Sections::default();
        parsed.program.outline(&mut sections);
        let limit = request.limit.map_or(LIMIT, |limit| limit as usize).min(MAX_LIMIT);
        let by_size = by_size(&table);
        let named = |items: &mut dyn Iterator<Item = &u32>| {
            items.take(MAX_NAMED).filter_map(|item| Some(entry(*item, table.item(*item).ok()?))).collect()
        };
        let (families, more) = families(&table, limit);
        Ok(SizesAnswer {
            total: parsed.data.len() as u64,
            sections: with_items(sections.all, &table),
            families,
            more,
            largest: named(&mut by_size.iter().rev()),
            smallest: named(&mut by_size.iter()),
            duplicates: if is_partial { None } else { duplicates(&table, parsed.data, parsed.base) },
            chips: chips(&table),
            sources: sources(&table),
        })
    }
}

/// Counts the items in each section.
fn with_items(mut sections: Vec<SectionSize>, table: &Table) -> Vec<SectionSize> {
    let mut places: Vec<(u64, usize)> = (0..).zip(&sections).map(|(at, one)| (one.range[0], at)).collect();
    places.sort_unstable();
    for range in table.items().iter().filter_map(|piece| byte_range(&piece.row.range)) {
        let after = places.partition_point(|(start, _)| *start <= range[0]);
        let place = after.checked_sub(1).and_then(|at| places.get(at));
        let section = place.and_then(|(_, at)| sections.get_mut(*at));
        if let Some(section) = section.filter(|section| range[1] <= section.range[1]) {
            section.items = section.items.saturating_add(1);
        }
    }
    sections
}

/// Returns the items with bytes, the smallest first.
fn by_size(table: &Table) -> Vec<u32> {
    let sizes = (0..).zip(table.items()).map(|(item, piece)| (size_of(&piece.row), item));
    let mut sizes: Vec<(u64, u32)> = sizes.filter(|(size, _)| *size > 0).collect();
    sizes.sort_unstable();
    sizes.into_iter().map(|(_, item)| item).collect()
}

/// Returns the largest families with their largest items, so that about `limit` items are named.
fn families(table: &Table, limit: usize) -> (Vec<FamilySize>, Option<Rest>) {
    let row = |item: u32| table.item(item).ok().map(|piece| &piece.row);
    let rows = (0..).zip(table.items()).map(|(item, piece)| (item, &piece.row));
    let Families { mut all, order, .. } = Families::of(rows);
    all.retain(|family| family.size > 0);
    all.sort_by_key(|family| (std::cmp::Reverse(family.size), family.from));
    let total: u64 = all.iter().map(|family| family.size).fold(0, u64::saturating_add);
    let rest = all.split_off(all.len().min(MAX_FAMILIES));
    let sized = all.into_iter().map(|family| {
        let mut items: Vec<u32> =
            order.iter().skip(family.from as usize).take(family.count as usize).copied().collect();
        items.sort_by_key(|item| (std::cmp::Reverse(row(*item).map_or(0, size_of)), *item));
        // Room for names is shared in proportion to the size.
        let share = (limit as u128 * u128::from(family.size) / u128::from(total.max(1))) as usize;
        let named =
            items.iter().take(share.max(1)).filter_map(|item| Some(entry(*item, table.item(*item).ok()?)));
        FamilySize {
            name: label(&family.name),
            count: family.count,
            size: family.size,
            items: named.collect(),
        }
    });
    let more = (!rest.is_empty()).then(|| Rest {
        families: rest.len() as u32,
        count: rest.iter().map(|family| family.count).sum(),
        size: rest.iter().map(|family| family.size).fold(0, u64::saturating_add),
    });
    (sized.collect(), more)
}

/// Returns items whose bytes are the same, or nothing if there are too many bytes to compare.
fn duplicates(table: &Table, data: &[u8], base: u64) -> Option<Vec<Duplicates>> {
    let bytes = |piece: &Piece| {
        let [start, end] = byte_range(&piece.row.range)?;
        let place = |offset: u64| usize::try_from(offset.checked_sub(base)?).ok();
        data.get(place(start)?..place(end)?).filter(|bytes| !bytes.is_empty())
    };
    let total = table.items().iter().filter_map(bytes).map(|bytes| bytes.len() as u64);
    if total.fold(0, u64::saturating_add) > MAX_COMPARED {
        return None;
    }
    let mut same: HashMap<&[u8], Vec<u32>> = HashMap::new();
    // Functions that share a range are one.
    let mut ranges = std::collections::HashSet::new();
    for (item, piece) in (0..).zip(table.items()) {
        if let Some(found) = bytes(piece)
            && ranges.insert(piece.row.range.clone())
        {
            same.entry(found).or_default().push(item);
        }
    }
    let mut same: Vec<(&[u8], Vec<u32>)> = same.into_iter().filter(|(_, items)| items.len() > 1).collect();
    let saved = |bytes: &[u8], items: &[u32]| bytes.len().saturating_mul(items.len() - 1);
    same.sort_by_key(|(bytes, items)| (std::cmp::Reverse(saved(bytes, items)), items.first().copied()));
    let group = |(bytes, items): (&[u8], Vec<u32>)| Duplicates {
        count: items.len() as u32,
        size: bytes.len() as u64,
        items: items
            .iter()
            .take(MAX_NAMED)
            .filter_map(|item| Some(entry(*item, table.item(*item).ok()?)))
            .collect(),
    };
    Some(same.into_iter().take(MAX_NAMED).map(group).collect())
}

/// Returns how many items there are for each chip, if there are several chips.
fn chips(table: &Table) -> Vec<ChipSize> {
    let Some(at) = table.comparables().iter().find(|column| column.key == "chip").map(|column| column.at)
    else {
        return Vec::new();
    };
    let mut chips: BTreeMap<&str, (u32, u64)> = BTreeMap::new();
    for piece in table.items() {
        if let Some(Cell::Text(chip)) = piece.row.cells.get(at) {
            let (count, size) = chips.entry(chip).or_default();
            *count = count.saturating_add(1);
            *size = size.saturating_add(size_of(&piece.row));
        }
    }
    if chips.len() < 2 {
        return Vec::new();
    }
    chips.into_iter().map(|(chip, (count, size))| ChipSize { chip: chip.to_owned(), count, size }).collect()
}

fn sources(table: &Table) -> Sources {
    let mut sources = Sources::default();
    for (item, piece) in (0..).zip(table.items()).filter(|(_, piece)| piece.row.has_source) {
        sources.count = sources.count.saturating_add(1);
        if sources.items.len() < MAX_NAMED {
            sources.items.push(entry(item, piece));
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(name: &str) -> SizesAnswer {
        let path = format!("{}/../../tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut workspace = Workspace::default();
        workspace.open_bytes(name, std::fs::read(path).unwrap());
        match workspace.handle(&Request::Sizes(Sizes::default())) {
            Ok(Response::Sizes(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sections_cover_the_program_and_items_are_in_families() {
        let answer = sizes("metallib/vertex_fragment.metallib");
        let covered: u64 = answer.sections.iter().map(|section| section.range[1] - section.range[0]).sum();
        assert_eq!(covered, answer.total);
        let of_families: u64 = answer.families.iter().map(|family| family.size).sum();
        assert_eq!(of_families, 2_080 + 2_144);
        assert_eq!(answer.largest.iter().map(|item| item.item).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(answer.smallest.iter().map(|item| item.item).collect::<Vec<_>>(), [0, 1]);
        assert!(answer.more.is_none() && answer.duplicates.is_some_and(|groups| groups.is_empty()));
    }
}
