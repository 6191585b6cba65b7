//! The log of a job: masking, sections, timestamps, spool, limit, checksum.
