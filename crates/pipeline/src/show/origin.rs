use crate::source::{FileId, SourceMap, Span};
use crate::yaml::{Entry, Kind, Node};
use indexmap::IndexMap;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters from 1.
    pub column: u32,
    /// The keyword or job of that file it belongs to; absent when it belongs to none.
    pub key: Option<String>,
}

/// Finds the origins of places.
#[derive(Debug)]
pub struct OriginFinder<'s> {
    sources: &'s SourceMap,
    parts: RefCell<HashMap<FileId, Parts>>,
}

/// The keys at the top level of a file, with where their lines begin.
type Parts = Rc<[(usize, String)]>;

impl<'s> OriginFinder<'s> {
    /// Returns one for places in these texts.
    pub fn new(sources: &'s SourceMap) -> Self {
        Self {
            sources,
            parts: RefCell::default(),
        }
    }

    /// Returns the origin of a place.
    pub fn find(&self, span: Span) -> Origin {
        let keys = self.keys(span.file);
        let behind = keys.partition_point(|(start, _)| *start <= span.start as usize);
        let key = behind.checked_sub(1).map(|at| keys[at].1.clone());
        Origin {
            file: self.sources.file(span.file).name().to_owned(),
            line: span.line,
            column: span.column,
            key,
        }
    }

    /// Returns where the value of an entry was written: at its key, unless it is one that an alias
    /// or a reference took from elsewhere.
    pub fn of_entry(&self, entry: &Entry) -> Origin {
        let value = self.find(entry.value.span);
        let is_scalar = !matches!(entry.value.kind, Kind::Mapping(_) | Kind::Sequence(_));
        let is_elsewhere = !self.is_same_part(entry.key_span, entry.value.span);
        if is_elsewhere || (is_scalar && !entry.value.is_null()) {
            return value;
        }
        self.find(entry.key_span)
    }

    /// Returns whether two places belong to the same keyword or job of one file.
    pub(super) fn is_same_part(&self, one: Span, other: Span) -> bool {
        let place = |span: Span| {
            let keys = self.keys(span.file);
            keys.partition_point(|(start, _)| *start <= span.start as usize)
        };
        one.file == other.file && place(one) == place(other)
    }

    fn keys(&self, file: FileId) -> Parts {
        let mut known = self.parts.borrow_mut();
        let keys = known
            .entry(file)
            .or_insert_with(|| top_level_keys(self.sources.file(file).text()).into());
        Rc::clone(keys)
    }
}

/// Returns the keys at the top level of a text with the offsets they begin at.
///
/// A block of YAML cannot go on at the first column, so a line that begins there with a word and
/// has a colon behind it begins a part.
fn top_level_keys(text: &str) -> Vec<(usize, String)> {
    let mut keys = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(['\n', '\r']) {
        if let Some(key) = key_of(line.trim_end()) {
            keys.push((start, key.to_owned()));
        } else if line.starts_with("---") {
            // What stands before it is a header, and belongs to no job.
            keys.clear();
        }
        start += line.len();
    }
    keys
}

fn key_of(line: &str) -> Option<&str> {
    let quote = line.chars().next().filter(|first| "\"'".contains(*first));
    if let Some(quote) = quote {
        let (key, rest) = line[1..].split_once(quote)?;
        return rest.trim_start().starts_with(':').then_some(key);
    }
    if line.starts_with([' ', '\t', '#', '-', '}', ']', '%', '{', '[']) {
        return None;
    }
    let end = line
        .find(": ")
        .or_else(|| line.strip_suffix(':').map(str::len))?;
    Some(line[..end].trim_end())
}

/// Returns the origin of every value of a tree, by its path as a JSON pointer.
pub fn origins(root: &Node, sources: &SourceMap) -> IndexMap<String, Origin> {
    let mut found = IndexMap::new();
    let finder = OriginFinder::new(sources);
    collect(root, &mut String::new(), &finder, &mut found);
    found
}

fn collect(
    node: &Node,
    path: &mut String,
    finder: &OriginFinder<'_>,
    found: &mut IndexMap<String, Origin>,
) {
    let parent = path.len();
    match &node.kind {
        Kind::Mapping(entries) => {
            for (key, entry) in entries {
                path.push('/');
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                found.insert(path.clone(), finder.of_entry(entry));
                collect(&entry.value, path, finder, found);
                path.truncate(parent);
            }
        }
        Kind::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                let _ = write!(path, "/{index}");
                found.insert(path.clone(), finder.find(item.span));
                collect(item, path, finder, found);
                path.truncate(parent);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_text_begin_with_the_keys_at_its_left() {
        let text = "spec:\n  inputs:\n---\n# a: b\n.base: &x\n  a: |\n    b: c\n\r\n'quo ted' : 1\n\"x\": {\n}\nplain text\nurl:x: 2\n";
        let keys: Vec<_> = top_level_keys(text)
            .into_iter()
            .map(|(_, key)| key)
            .collect();
        assert_eq!(keys, [".base", "quo ted", "x", "url:x"]);
    }
}
