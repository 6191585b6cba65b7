//! The known requests.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

use tonic::Status;

use super::request::Request;

/// The known requests by id.
#[derive(Debug, Default)]
pub(crate) struct Table {
    requests: Mutex<HashMap<String, Arc<Request>>>,
}

impl Table {
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Request>> {
        self.lock().get(id).cloned()
    }

    /// Returns a request, or the error for an unknown id.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Request>, Status> {
        self.get(id)
            .ok_or_else(|| Status::not_found("unknown request id"))
    }

    pub(crate) fn insert(&self, request: Arc<Request>) {
        self.lock().insert(request.id.clone(), request);
    }

    pub(crate) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Returns all requests, oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<Request>> {
        let mut all: Vec<_> = self.lock().values().cloned().collect();
        all.sort_by_key(|request| request.started_at);
        all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Request>>> {
        self.requests.lock()
    }
}
