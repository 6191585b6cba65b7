//! Conformance suite and test doubles for authors of executors.
