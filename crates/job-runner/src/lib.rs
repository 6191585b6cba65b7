//! The life of one job, from its sources to its last log line.
