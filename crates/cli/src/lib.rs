//! The command line of Runwright.
