//! Runwright as one library: the contract, and one Cargo feature per executor.
