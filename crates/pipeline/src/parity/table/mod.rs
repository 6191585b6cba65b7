mod file;
mod job;

use super::Row;

/// Returns the rows of the keywords of a file.
pub fn file_keywords() -> &'static [Row] {
    &file::ROWS
}

/// Returns the rows of the keywords of jobs and of `default`.
pub fn job_keywords() -> &'static [Row] {
    &job::ROWS
}
