//! The contract between CI jobs and the places they run: traits and plain data.
