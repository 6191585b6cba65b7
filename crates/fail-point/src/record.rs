//! The record of all points and visits.

use crate::POINTS;
use std::fs::{File, OpenOptions};
use std::io::Write;

/// A file with a line `point NAME` for each point and `reached NAME` for each visit.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
}

impl Record {
    /// Opens the file and lists the points.
    pub(crate) fn begin(path: &str) -> Self {
        let options = OpenOptions::new().create(true).append(true).open(path);
        let record = Self {
            file: options.expect("the record is writable"),
        };
        for point in POINTS {
            record.line("point", point.name());
        }
        record
    }

    pub(crate) fn reached(&self, name: &str) {
        self.line("reached", name);
    }

    /// Writes a line at once: the program may be killed next.
    fn line(&self, word: &str, name: &str) {
        let written = (&self.file).write_all(format!("{word} {name}\n").as_bytes());
        written.expect("the record is writable");
    }
}
