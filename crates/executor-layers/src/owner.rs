//! Finding one's own value in the data of a job.

use executor_core::ExecutorData;
use std::sync::Arc;

/// Tells what one provider put into [`ExecutorData`] from what another of its kind did.
///
/// The same layer may stand twice in a stack, and the newest value is the outer one's then.
#[derive(Debug, Clone, Default)]
pub(crate) struct Owner(Arc<()>);

#[derive(Debug)]
struct Owned<T> {
    owner: Owner,
    value: T,
}

impl Owner {
    /// Returns `data` with a value that this owner finds again.
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

    /// Returns what this owner has put into `data`.
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
    fn each_owner_finds_its_own() {
        let (inner, outer, stranger) = (Owner::default(), Owner::default(), Owner::default());
        let data = inner.put(ExecutorData::new(), "inner");
        let data = outer.put(data, "outer");
        assert_eq!(inner.find::<&str>(&data), Some(&"inner"));
        assert_eq!(outer.clone().find::<&str>(&data), Some(&"outer"));
        assert_eq!(stranger.find::<&str>(&data), None);
        assert_eq!(inner.find::<u8>(&data), None);
    }
}
