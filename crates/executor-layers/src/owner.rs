//! Lookup of a provider's own value in the data of a job.

use executor_core::ExecutorData;
use std::sync::Arc;

/// Distinguishes the values of one provider in [`ExecutorData`] from those of another of its kind.
///
/// A stack may contain the same layer twice; the newest value is then the outer layer's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Owner(Arc<()>);

#[derive(Debug)]
struct Owned<T> {
    owner: Owner,
    value: T,
}

impl Owner {
    /// Returns `data` with a value of this owner.
    pub(crate) fn put<T: Send + Sync + 'static>(
        &self,
        data: ExecutorData,
        value: T,
    ) -> ExecutorData {
        data.with(Owned {
            owner: self.clone(),
            value,
        })
    }

    /// Returns this owner's value in `data`.
    pub(crate) fn find<'d, T: Send + Sync + 'static>(
        &self,
        data: &'d ExecutorData,
    ) -> Option<&'d T> {
        let mut all = data.all::<Owned<T>>();
        let own = all.find(|owned| Arc::ptr_eq(&owned.owner.0, &self.0));
        own.map(|owned| &owned.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_find_only_their_own_values() {
        let (inner, outer, stranger) = (Owner::default(), Owner::default(), Owner::default());
        let data = inner.put(ExecutorData::new(), "inner");
        let data = outer.put(data, "outer");
        assert_eq!(inner.find::<&str>(&data), Some(&"inner"));
        assert_eq!(outer.clone().find::<&str>(&data), Some(&"outer"));
        assert_eq!(stranger.find::<&str>(&data), None);
        assert_eq!(inner.find::<u8>(&data), None);
    }
}
