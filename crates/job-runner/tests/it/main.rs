//! Jobs from their first stage to their last.

mod support;

mod local_copy;
