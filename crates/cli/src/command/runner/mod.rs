//! `runwright runner`: the runners of this machine.

mod executors;
mod known;
mod lint;
mod register;
mod registered;
mod run;
mod service;
mod service_log;
mod single;
mod systemd;

use crate::args::{RunnerAction, RunnerArgs};
use crate::failure::{Exit, Failure};
use console::{error_line, strip_controls};
use executor_core::job::SecretString;
use runner::config::{ConfigEdit, ConfigError, ConfigFile, RunnerSelector, Settings, Strictness};
use runner::{NewToken, TokenStore, Url};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

/// Runs the requested subcommand for runners.
pub(crate) fn runner(args: &RunnerArgs) -> Result<Exit, Failure> {
    match &args.action {
        RunnerAction::Run(args) => run::run(args),
        RunnerAction::RunSingle(args) => single::run(args),
        RunnerAction::LintConfig(args) => lint::lint(args),
        RunnerAction::List(args) => lint::list(args),
        RunnerAction::Register(args) => register::register(args),
        RunnerAction::Verify(args) => registered::verify(args),
        RunnerAction::Unregister(args) => registered::unregister(args),
        RunnerAction::ResetToken(args) => registered::reset_token(args),
        RunnerAction::Status(args) => service::status(args),
        RunnerAction::Install(args) => service::install(args),
    }
}

fn strictness(lenient: bool) -> Strictness {
    if lenient {
        Strictness::Lenient
    } else {
        Strictness::Strict
    }
}

/// Reads the settings, and prints what is no error.
fn settings(path: &Path, strictness: Strictness) -> Result<Settings, Failure> {
    let file = ConfigFile::read(path, &known::known(strictness)).map_err(unusable)?;
    let (settings, problems) = file.into_settings().map_err(unusable)?;
    for problem in problems {
        error_line(&strip_controls(&problem.to_string()));
    }
    Ok(settings)
}

/// Keeps new tokens in a config.toml.
#[derive(Debug)]
struct ConfigTokens(PathBuf);

impl TokenStore for ConfigTokens {
    fn check(&self) -> Result<(), String> {
        let opened = OpenOptions::new().append(true).open(&self.0);
        opened
            .map(drop)
            .map_err(|error| format!("{}: {error}", self.0.display()))
    }

    fn save(&self, url: &Url, old: &SecretString, new: &NewToken) -> Result<(), String> {
        let save = || {
            let mut edit = ConfigEdit::open(&self.0)?;
            let selector = RunnerSelector::by_token(url.as_str(), old.expose());
            edit.set_token(&selector, &new.token, new.obtained_at, new.expires_at)?;
            edit.save()
        };
        save().map_err(|error| executor_core::chain(&error))
    }
}

fn unusable(error: ConfigError) -> Failure {
    let is_read = matches!(error, ConfigError::Read { .. });
    let text = error.to_string();
    if is_read {
        return Failure::environment(error);
    }
    Failure::usage(error).with_text(text)
}
