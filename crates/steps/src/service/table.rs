//! The requests that are known.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

use tonic::Status;

use super::request::Request;

/// All requests by their ids.
#[derive(Debug, Default)]
pub(crate) struct Table {
    requests: Mutex<HashMap<String, Arc<Request>>>,
}

impl Table {
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Request>> {
        self.lock().get(id).cloned()
    }

    /// Returns a request, or the answer for an id that is not known.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Request>, Status> {
        self.get(id)
            .ok_or_else(|| Status::not_found("there is no request with this id"))
    }

    pub(crate) fn insert(&self, request: Arc<Request>) {
        self.lock().insert(request.id.clone(), request);
    }

    pub(crate) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Returns all requests, the oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<Request>> {
        let mut all: Vec<_> = self.lock().values().cloned().collect();
        all.sort_by_key(|request| request.began_at);
        all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Request>>> {
        self.requests.lock()
    }
}
