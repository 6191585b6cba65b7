//! What acquiring capacity yields: a bag of typed values that grows from layer to layer.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

/// Typed values that travel from `acquire` to `create` and back to `release`.
///
/// A layer adds its own (a permit, a lease, an endpoint) and touches no other's, so an inner
/// provider still finds what it put in. Look-up is from the newest end. Clones share the values.
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
pub struct ExecutorData {
    values: Vec<Value>,
}

#[derive(Clone)]
struct Value {
    type_name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl ExecutorData {
    /// Returns an empty bag.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value at the newest end.
    pub fn push<T: Any + Send + Sync>(&mut self, value: T) {
        self.values.push(Value {
            type_name: type_name::<T>(),
            value: Arc::new(value),
        });
    }

    /// Returns the bag with one value more.
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.push(value);
        self
    }

    /// Returns the newest value of this type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.values
            .iter()
            .rev()
            .find_map(|value| value.value.downcast_ref())
    }

    /// Returns how many values there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl fmt::Debug for ExecutorData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.values.iter().map(|value| value.type_name))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_value_of_a_type_is_found() {
        let data = ExecutorData::new().with(1_u32).with("inner").with(2_u32);
        assert_eq!(data.get::<u32>(), Some(&2));
        assert_eq!(data.get::<&str>(), Some(&"inner"));
        assert_eq!(data.len(), 3);
    }
}
