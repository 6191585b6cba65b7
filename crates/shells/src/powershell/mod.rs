//! Scripts for Windows PowerShell and for PowerShell 7.

mod git;
mod helper;
mod parts;
mod writer;

pub(crate) use writer::PowerShell;
