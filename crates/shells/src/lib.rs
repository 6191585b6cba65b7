//! Script text for every stage of a build: sh, bash, PowerShell.
