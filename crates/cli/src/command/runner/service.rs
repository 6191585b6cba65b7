//! `status` and `install`: the runner as a service.

use super::run::state_dir;
use crate::args::{RunnerInstallArgs, RunnerStatusArgs};
use crate::command::stdout::print;
use crate::failure::{Exit, Failure};
use anyhow::{Context, anyhow};
use console::error_line;
use executor_core::counted;
use runner::Outbox;
use std::fs;
use std::path::{Path, PathBuf};

/// Shows whether a runner runs.
pub(super) fn status(args: &RunnerStatusArgs) -> Result<Exit, Failure> {
    let path = std::path::absolute(args.config.path()).map_err(Failure::environment)?;
    let state = state_dir(args.state_dir.as_deref(), &path)?;
    let outbox = state.path().join("outbox");
    let runs = Outbox::is_in_use(&outbox);
    let jobs = match Outbox::count(&outbox) {
        0 => String::new(),
        count if runs => format!("; {} running or not sent yet", counted(count, "job")),
        count => format!("; {} not sent yet", counted(count, "job")),
    };
    let runs_text = if runs { "runs" } else { "does not run" };
    let path = path.display();
    print(format!("the runner with {path} {runs_text}{jobs}\n").into_bytes())?;
    Ok(if runs { Exit::Success } else { Exit::JobFailed })
}

/// Writes a service.
pub(super) fn install(args: &RunnerInstallArgs) -> Result<Exit, Failure> {
    let name = &args.service;
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.@".contains(it);
    if name.is_empty() || !name.chars().all(is_plain) {
        let error = anyhow!("{name:?} cannot be the name of a service");
        return Err(Failure::usage(error));
    }
    let unit = unit(args)?;
    if args.print {
        print(unit.into_bytes())?;
        return Ok(Exit::Success);
    }
    let file = PathBuf::from(format!("/etc/systemd/system/{name}.service"));
    let written = fs::write(&file, unit).with_context(|| format!("write {}", file.display()));
    written.map_err(|error| {
        Failure::environment(error).with_help("root may write it; `--print` prints it")
    })?;
    let file = file.display();
    error_line(&format!(
        "{file} is written; `systemctl enable --now {name}` starts it"
    ));
    Ok(Exit::Success)
}

fn unit(args: &RunnerInstallArgs) -> Result<String, Failure> {
    let program = std::env::current_exe().context("find this program");
    let program = program.map_err(Failure::environment)?;
    let config = std::path::absolute(args.config.path()).map_err(Failure::environment)?;
    let mut command = format!("{} runner run --config {}", word(&program), word(&config));
    let mut state = String::new();
    if let Some(directory) = &args.working_directory {
        let directory = std::path::absolute(directory).map_err(Failure::environment)?;
        command = format!("{command} --working-directory {}", word(&directory));
    } else {
        // Below /var/lib; systemd creates it for the user of the service.
        command = format!("{command} --working-directory %S/{}", args.service);
        state = format!("StateDirectory={}\n", args.service);
    }
    let user = args.user.as_ref().map(|user| format!("User={user}\n"));
    let user = user.unwrap_or_default();
    Ok(format!(
        "[Unit]
Description=Runwright runner
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
{user}{state}# QUIT lets running jobs end; what is left after TimeoutStopSec is killed, and reported by the next start.
KillSignal=SIGQUIT
KillMode=mixed
TimeoutStopSec=2h
Restart=always
RestartSec=5
WatchdogSec=120
Delegate=yes

[Install]
WantedBy=multi-user.target
"
    ))
}

/// Returns a path as a word of a command line of systemd.
fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    format!("\"{text}\"")
}
