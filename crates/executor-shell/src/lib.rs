//! Runs jobs as shell processes on this host.
