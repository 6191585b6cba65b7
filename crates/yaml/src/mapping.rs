use super::node::Entry;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::ops::Index;
use std::sync::Arc;

/// The number of entries up to which keys are searched linearly: about the keywords of a job.
const FEW: usize = 16;

/// Keys and values in document order.
///
/// Nearly all mappings of a pipeline are small, and there are many of them, so a small mapping is
/// just a list of pairs. A large one also has an index of its keys.
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    pairs: Vec<(Arc<str>, Entry)>,
    #[expect(
        clippy::box_collection,
        reason = "few mappings have an index, and a pointer is smaller than a map"
    )]
    index: Option<Box<HashMap<Arc<str>, usize>>>,
}

impl Mapping {
    /// Returns a mapping without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a mapping with room for `count` entries.
    pub fn with_capacity(count: usize) -> Self {
        Self {
            pairs: Vec::with_capacity(count),
            index: (count > FEW).then(|| Box::new(HashMap::with_capacity(count))),
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Returns the entry of `key`.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.get_key_value(key).map(|(_, entry)| entry)
    }

    /// Returns the entry of `key` with the mapping's own key.
    pub fn get_key_value(&self, key: &str) -> Option<(&Arc<str>, &Entry)> {
        let (key, entry) = &self.pairs[self.position(key)?];
        Some((key, entry))
    }

    /// Returns the entry of `key` for modification.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        let index = self.position(key)?;
        Some(&mut self.pairs[index].1)
    }

    /// Returns whether there is an entry of `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    /// Inserts or replaces the entry of `key`, in its existing position; returns the old entry.
    pub fn insert(&mut self, key: Arc<str>, entry: Entry) -> Option<Entry> {
        if let Some(before) = self.get_mut(&key) {
            return Some(std::mem::replace(before, entry));
        }
        if let Some(index) = &mut self.index {
            index.insert(Arc::clone(&key), self.pairs.len());
        }
        self.pairs.push((key, entry));
        if self.index.is_none() && self.pairs.len() > FEW {
            let keys = self.keys().enumerate();
            let index = keys.map(|(place, key)| (Arc::clone(key), place));
            self.index = Some(Box::new(index.collect()));
        }
        None
    }

    /// Moves all entries to a mapping without spare capacity, and keeps the capacity of this one.
    pub(super) fn take(&mut self) -> Self {
        if self.index.is_some() {
            return std::mem::take(self);
        }
        Self {
            pairs: self.pairs.drain(..).collect(),
            index: None,
        }
    }

    /// Returns the entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Arc<str>, &Entry)> + ExactSizeIterator {
        self.into_iter()
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Arc<str>> + ExactSizeIterator {
        self.pairs.iter().map(|(key, _)| key)
    }

    /// Returns the entries without their keys, in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Entry> + ExactSizeIterator {
        self.pairs.iter().map(|(_, entry)| entry)
    }

    fn position(&self, key: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(key).copied(),
            None => self.pairs.iter().position(|(known, _)| &**known == key),
        }
    }
}

impl<K: Borrow<str> + ?Sized> Index<&K> for Mapping {
    type Output = Entry;

    /// # Panics
    ///
    /// Panics when there is no such key.
    fn index(&self, key: &K) -> &Entry {
        self.get(key.borrow()).expect("the key exists")
    }
}

type AsPair = fn(&(Arc<str>, Entry)) -> (&Arc<str>, &Entry);

impl<'m> IntoIterator for &'m Mapping {
    type Item = (&'m Arc<str>, &'m Entry);
    type IntoIter = std::iter::Map<std::slice::Iter<'m, (Arc<str>, Entry)>, AsPair>;

    fn into_iter(self) -> Self::IntoIter {
        self.pairs.iter().map(|(key, entry)| (key, entry))
    }
}

impl IntoIterator for Mapping {
    type Item = (Arc<str>, Entry);
    type IntoIter = std::vec::IntoIter<(Arc<str>, Entry)>;

    fn into_iter(self) -> Self::IntoIter {
        self.pairs.into_iter()
    }
}

impl FromIterator<(Arc<str>, Entry)> for Mapping {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Entry)>>(pairs: I) -> Self {
        let mut mapping = Self::new();
        for (key, entry) in pairs {
            mapping.insert(key, entry);
        }
        mapping
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceMap, Span};
    use crate::{Kind, Node};

    fn entry(number: i64) -> Entry {
        let file = SourceMap::default().add("ci.yml", "");
        let span = Span::of_offset(file, "", 0);
        Entry {
            key_span: span,
            key_is_text: true,
            merged: false,
            value: Arc::new(Node::new(Kind::Int(number.into()), span)),
        }
    }

    /// Checks that a mapping with `count` entries finds each, and keeps their order.
    fn check(count: i64) {
        let key = |number: i64| Arc::from(format!("key {number}"));
        let mut mapping: Mapping = (0..count).map(|each| (key(each), entry(each))).collect();
        let before = mapping.insert(key(0), entry(-1));
        assert_eq!(before.map(|entry| entry.value.to_json()), Some(0.into()));
        let values = mapping.values().map(|entry| entry.value.to_json());
        let values: Vec<_> = values.collect();
        let expect = [-1].into_iter().chain(1..count);
        let expect: Vec<_> = expect.map(|each| serde_json::json!(each)).collect();
        assert_eq!(values, expect);
        for (at, value) in values.iter().enumerate() {
            let key = format!("key {at}");
            assert_eq!(&mapping[&*key].value.to_json(), value);
        }
        assert!(!mapping.contains_key("key"));
        assert!(mapping.get(&format!("key {count}")).is_none());
    }

    #[test]
    fn small_and_large_mappings_keep_order_and_find_their_keys() {
        check(1);
        check(16);
        check(17);
        check(1000);
    }
}
