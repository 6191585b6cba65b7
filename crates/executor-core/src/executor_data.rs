//! Typed values for acquired capacity; each layer adds its own.

use crate::typed_bag::TypedBag;
use std::fmt;

/// Typed values passed from `acquire` to `create` and to `release`.
///
/// A layer adds its own values (a permit, a lease, an endpoint) and leaves the others unchanged, so
/// an inner provider still finds its own. Lookup starts at the newest value. Clones share the values.
///
/// # Examples
///
/// ```
/// use executor_core::ExecutorData;
///
/// #[derive(Debug, PartialEq)]
/// struct Endpoint(&'static str);
/// struct Permit;
///
/// let data = ExecutorData::new().with(Endpoint("tcp://10.0.0.7")).with(Permit);
/// assert_eq!(data.get::<Endpoint>(), Some(&Endpoint("tcp://10.0.0.7")));
/// assert!(data.get::<String>().is_none());
/// ```
#[derive(Clone, Default)]
pub struct ExecutorData(TypedBag);

impl ExecutorData {
    /// Returns empty data.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value at the newest end.
    pub fn push<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.push(value);
    }

    /// Returns the data with one more value.
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.push(value);
        self
    }

    /// Adds all values of `newer` at the newest end.
    ///
    /// For a layer that acquires from another provider later than the rest.
    pub fn append(&mut self, newer: Self) {
        self.0.append(newer.0);
    }

    /// Returns the newest value of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.get()
    }

    /// Returns all values of this type, the newest first.
    ///
    /// A layer that is in a stack twice finds its own value among them, which need not be the newest.
    pub fn all<T: Send + Sync + 'static>(&self) -> impl Iterator<Item = &T> {
        self.0.all()
    }

    /// Returns how many values there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for ExecutorData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
