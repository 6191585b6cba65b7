use crate::{Origin, Origins};
use indexmap::IndexMap;
use serde::Serialize;
use std::fmt::Write as _;
use yaml::source::Span;
use yaml::{Entry, Kind, Node};

/// The origin of a value, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OriginRecord {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters from 1.
    pub column: u32,
    /// The top-level key above it in that file.
    pub key: Option<String>,
}

impl From<Origin<'_>> for OriginRecord {
    fn from(origin: Origin<'_>) -> Self {
        Self {
            file: origin.file.to_owned(),
            line: origin.line,
            column: origin.column,
            key: origin.key.map(ToOwned::to_owned),
        }
    }
}

/// Returns the origin of every value of a tree, by its path as a JSON pointer.
pub fn origin_records(tree: &Node, origins: &Origins) -> IndexMap<String, OriginRecord> {
    let mut records = IndexMap::new();
    collect(tree, &mut String::new(), origins, &mut records);
    records
}

fn collect(
    node: &Node,
    path: &mut String,
    origins: &Origins,
    records: &mut IndexMap<String, OriginRecord>,
) {
    let parent = path.len();
    let mut add = |path: &mut String, origin: Option<Origin<'_>>, value: &Node| {
        records.extend(origin.map(|origin| (path.clone(), origin.into())));
        collect(value, path, origins, records);
        path.truncate(parent);
    };
    match &node.kind {
        Kind::Mapping(entries) => {
            for (key, entry) in entries {
                path.push('/');
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                add(path, of_entry(entry, origins), &entry.value);
            }
        }
        Kind::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                let _ = write!(path, "/{index}");
                add(path, origins.of(item.span), item);
            }
        }
        _ => {}
    }
}

/// Returns the origin of an entry's value: for a list or mapping that of its key, unless the value
/// comes from another part by an alias or a reference.
pub(super) fn of_entry<'o>(entry: &Entry, origins: &'o Origins) -> Option<Origin<'o>> {
    let is_scalar = !matches!(
        entry.value.kind,
        Kind::Mapping(_) | Kind::Sequence(_) | Kind::Null
    );
    let is_from_other_part = !is_same_part(entry.key_span, entry.value.span, origins);
    let span = if is_from_other_part || is_scalar {
        entry.value.span
    } else {
        entry.key_span
    };
    origins.of(span)
}

/// Returns whether two spans are under the same top-level key of one file.
pub(super) fn is_same_part(one: Span, other: Span, origins: &Origins) -> bool {
    let key = |span: Span| origins.of(span).map(|origin| origin.key);
    one.file == other.file && key(one) == key(other)
}
