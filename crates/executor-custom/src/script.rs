//! The script of a stage as a driver gets it: complete, since a driver can pass nothing but its text.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use executor_core::variable::{JobVariable, JobVariables};
use executor_core::{BuildDirs, BuildStage, ShellDialect, StageCommand};
use shells::{ScriptError, quote_pwsh, quote_sh, quote_sh_long};
use std::fmt::Write as _;

/// Variables that no script can set in bash or sh.
const READ_ONLY: [&str; 6] = [
    "BASHOPTS",
    "BASH_VERSINFO",
    "EUID",
    "PPID",
    "SHELLOPTS",
    "UID",
];

/// The number of bytes of a binary file on one line of a script.
const BYTES_OF_LINE: usize = 4096;

/// A script and the variables that it cannot set.
#[derive(Debug)]
pub(crate) struct DriverScript<'v> {
    pub(crate) text: String,
    pub(crate) left_out: Vec<&'v str>,
}

/// Returns the name of a stage for drivers.
///
/// The user's script keeps the name that it had when the first drivers were written.
pub(crate) fn stage_name(stage: &BuildStage) -> String {
    if *stage == BuildStage::script() {
        return "build_script".to_owned();
    }
    stage.name().into_owned()
}

/// Returns the name of a script's file.
pub(crate) fn file_name(dialect: ShellDialect) -> &'static str {
    if dialect.is_posix() {
        "script"
    } else {
        "script.ps1"
    }
}

/// Returns the complete script of a command: it exports the variables, writes those in files, and enters the directory.
///
/// # Errors
///
/// When a path or a value contains a NUL byte.
pub(crate) fn driver_script<'v>(
    command: &'v StageCommand,
    dialect: ShellDialect,
    dirs: &BuildDirs,
) -> Result<DriverScript<'v>, ScriptError> {
    let mut script = DriverScript {
        text: format!("#!/usr/bin/env {dialect}\n"),
        left_out: Vec::new(),
    };
    for (key, value) in &command.variables.environment {
        if !READ_ONLY.contains(&key.as_str()) {
            script.export(dialect, key, value);
        }
    }
    let mut files = Vec::new();
    for file in &command.variables.files {
        let path = format!("{}/{}", dirs.temp_dir, file.key);
        if script.export(dialect, &file.key, &path) {
            files.push((path, file.content.as_slice()));
        }
    }
    // The directories must be there before the first script enters one.
    let needed: &[&str] = match &command.stage {
        BuildStage::PrepareScript => &[&dirs.builds_dir, &dirs.cache_dir],
        _ => &[],
    };
    if dialect.is_posix() {
        write_posix(&mut script.text, command, dirs, needed, &files)?;
    } else {
        write_powershell(&mut script.text, command, dirs, needed, &files)?;
    }
    // The text has a first line of its own if it comes from the job runner.
    let body = command.script.strip_prefix("#!").map_or_else(
        || command.script.as_str(),
        |rest| rest.split_once('\n').map_or("", |(_, body)| body),
    );
    if dialect.is_posix() {
        // Many drivers pass the script to the standard input of a shell, where its commands could read the rest of it.
        let _ = writeln!(script.text, "eval {} </dev/null", quote_sh_long(body)?);
    } else {
        script.text.push_str(body);
        if !script.text.ends_with('\n') {
            script.text.push('\n');
        }
    }
    Ok(script)
}

impl<'v> DriverScript<'v> {
    /// Adds a line that exports a variable; returns false if no shell can export it.
    fn export(&mut self, dialect: ShellDialect, key: &'v str, value: &str) -> bool {
        let variable: JobVariables = [JobVariable::public(key, value)].into_iter().collect();
        match shells::export_prologue(dialect, &variable) {
            Ok(line) => self.text.push_str(&line),
            Err(_) => self.left_out.push(key),
        }
        self.left_out.last() != Some(&key)
    }
}

fn write_posix(
    text: &mut String,
    command: &StageCommand,
    dirs: &BuildDirs,
    needed: &[&str],
    files: &[(String, &[u8])],
) -> Result<(), ScriptError> {
    let mut line = |line: String| {
        text.push_str(&line);
        text.push_str(" || exit 1\n");
    };
    for directory in needed {
        line(format!("mkdir -p -- {}", quote_sh(directory)?));
    }
    if !files.is_empty() {
        let directory = quote_sh(&dirs.temp_dir)?;
        line(format!("(umask 077; mkdir -p -- {directory})"));
    }
    for (path, content) in files {
        let path = quote_sh(path)?;
        line(format!("(umask 077; {{ {}; }} >{path})", print(content)?));
    }
    let directory = quote_sh(&command.working_dir)?;
    line(format!("CDPATH= cd -- {directory}"));
    Ok(())
}

/// Returns commands of sh that print the content of a file.
fn print(content: &[u8]) -> Result<String, ScriptError> {
    match std::str::from_utf8(content) {
        Ok(content) if !content.contains('\0') => {
            Ok(format!("printf %s {}", quote_sh_long(content)?))
        }
        _ => {
            let mut commands = Vec::new();
            for bytes in content.chunks(BYTES_OF_LINE) {
                let mut octal = String::with_capacity(bytes.len() * 5);
                for byte in bytes {
                    // Writing to a string cannot fail.
                    let _ = write!(octal, "\\0{byte:03o}");
                }
                commands.push(format!("printf %b '{octal}'"));
            }
            Ok(commands.join("\n"))
        }
    }
}

fn write_powershell(
    text: &mut String,
    command: &StageCommand,
    dirs: &BuildDirs,
    needed: &[&str],
    files: &[(String, &[u8])],
) -> Result<(), ScriptError> {
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    line("$ErrorActionPreference = 'Stop'".to_owned());
    let make = |directory: &str| -> Result<String, ScriptError> {
        let directory = quote_pwsh(directory)?;
        Ok(format!(
            "[void](New-Item -ItemType Directory -Force -Path {directory})"
        ))
    };
    for directory in needed {
        line(make(directory)?);
    }
    if !files.is_empty() {
        line(make(&dirs.temp_dir)?);
    }
    for (path, content) in files {
        let path = quote_pwsh(path)?;
        let content = BASE64_STANDARD.encode(content);
        line(format!(
            "[IO.File]::WriteAllBytes({path}, [Convert]::FromBase64String('{content}'))"
        ));
    }
    line(format!(
        "Set-Location -LiteralPath {}",
        quote_pwsh(&command.working_dir)?
    ));
    line("$ErrorActionPreference = 'Continue'".to_owned());
    Ok(())
}
