//! Scripts for PowerShell, both the old and the new one.

mod git;
mod parts;
mod writer;

pub(crate) use writer::PowerShell;
