mod file;
mod job;

use super::Row;

/// Returns all rows: those of a whole file, then those of its jobs, in the order of the alphabet.
pub fn table() -> impl Iterator<Item = &'static Row> {
    of_file().iter().chain(of_jobs())
}

/// Returns the rows of a whole file.
pub(super) fn of_file() -> &'static [Row] {
    &file::ROWS
}

/// Returns the rows of jobs and of `default`.
pub(super) fn of_jobs() -> &'static [Row] {
    &job::ROWS
}
