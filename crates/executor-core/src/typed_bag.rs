//! Values of any type, looked up by type.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

/// Values of any type, the newest last. Values are never removed; clones share them.
#[derive(Clone, Default)]
pub(crate) struct TypedBag {
    values: Vec<Value>,
}

#[derive(Clone)]
struct Value {
    type_name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl TypedBag {
    pub(crate) fn push<T: Any + Send + Sync>(&mut self, value: T) {
        self.values.push(Value {
            type_name: type_name::<T>(),
            value: Arc::new(value),
        });
    }

    /// Adds all values of `newer` at the newest end.
    pub(crate) fn append(&mut self, newer: Self) {
        self.values.extend(newer.values);
    }

    /// Returns the newest value of this type.
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.all().next()
    }

    /// Returns all values of this type, the newest first.
    pub(crate) fn all<T: Any + Send + Sync>(&self) -> impl Iterator<Item = &T> {
        let newest_first = self.values.iter().rev();
        newest_first.filter_map(|value| value.value.downcast_ref())
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}

/// Shows only the types: a value may be a secret.
impl fmt::Debug for TypedBag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.values.iter().map(|value| value.type_name);
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn get_returns_the_newest_value() {
        let mut bag = TypedBag::default();
        bag.push(1_u32);
        bag.push("inner");
        bag.push(2_u32);
        assert_eq!(bag.get::<u32>(), Some(&2));
        assert_eq!(bag.get::<&str>(), Some(&"inner"));
        assert_eq!(bag.get::<u64>(), None);
        assert_eq!(bag.len(), 3);
    }

    #[test]
    fn all_returns_the_newest_first() {
        let mut bag = TypedBag::default();
        bag.push(1_u32);
        bag.push("between");
        let mut newer = TypedBag::default();
        newer.push(2_u32);
        newer.push(3_u32);
        bag.append(newer);
        assert_eq!(bag.all::<u32>().collect::<Vec<_>>(), [&3, &2, &1]);
        assert_eq!(bag.get::<u32>(), Some(&3));
    }

    #[test]
    fn debug_shows_only_types() {
        let mut bag = TypedBag::default();
        bag.push("hunter2".to_owned());
        assert_eq!(format!("{bag:?}"), r#"["alloc::string::String"]"#);
    }
}
