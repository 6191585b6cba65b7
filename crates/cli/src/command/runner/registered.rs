//! `verify`, `unregister` and `reset-token`: the runners of config.toml at their GitLab.

use super::known::known;
use crate::args::{RunnerSelectionArgs, RunnerVerifyArgs};
use crate::failure::{Exit, Failure};
use crate::runtime;
use anyhow::anyhow;
use console::{error_line, strip_controls};
use executor_core::chain;
use jiff::Timestamp;
use runner::api::{ApiError, RunnerAnswer, Server, ServerOptions};
use runner::config::{
    ConfigEdit, ConfigFile, RunnerEntry, RunnerSelector, Settings, Strictness, parse_url,
};
use runner::{Proxies, RunnerCall, RunnerInfo, Url, server_options};
use std::path::Path;

/// Returns whether this is the token of a runner that was created in GitLab; several machines may share it.
pub(super) fn is_created_in_gitlab(token: &str) -> bool {
    token.starts_with("glrt-")
}

/// Returns this program's description of itself.
pub(super) fn call_info(executor: &str) -> RunnerInfo {
    RunnerInfo {
        executor: executor.to_owned(),
        ..runner::program_info(env!("CARGO_PKG_VERSION"), "")
    }
}

/// Returns the connection to the server of a runner, with the certificates that the settings have for it.
pub(super) fn server(url: Url, token: &str, settings: &Settings) -> Result<Server, Failure> {
    let proxies = Proxies::from_variables(|name| std::env::var(name).ok());
    let mut runners = settings.runners.iter();
    let own = runners.find(|it| it.url == url && it.config.token.expose() == token);
    let options = match own {
        Some(own) => server_options(own, proxies),
        None => ServerOptions {
            url,
            authorities: Vec::new(),
            identity: None,
            proxies,
        },
    };
    Server::new(options).map_err(Failure::environment)
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(super) fn unreachable(error: ApiError) -> Failure {
    Failure::environment(anyhow!("{}", strip_controls(&chain(&error))))
}

/// A runner of the file, with its server.
struct Registered {
    entry: RunnerEntry,
    server: Server,
    call: RunnerCall,
}

impl Registered {
    fn of(entry: &RunnerEntry, config: &Path, settings: &Settings) -> Result<Self, Failure> {
        let url = parse_url(&entry.url);
        let url = url.map_err(|why| Failure::usage(anyhow!("`url` of {} {why}", entry.name)))?;
        let id = runner::system_id(&config.with_file_name(".runner_system_id"));
        Ok(Self {
            entry: entry.clone(),
            server: server(url, entry.token.expose(), settings)?,
            call: RunnerCall {
                info: None,
                token: entry.token.clone(),
                system_id: id.map_err(Failure::environment)?,
            },
        })
    }

    fn selector(&self) -> RunnerSelector {
        RunnerSelector::by_token(&self.entry.url, self.entry.token.expose())
    }

    fn say(&self, text: &str) {
        error_line(&strip_controls(&format!("{} {text}", self.entry.name)));
    }
}

/// The file, and the runners in it that a command is about.
fn selected(
    path: &Path,
    is_meant: impl Fn(&RunnerEntry) -> bool,
) -> Result<(ConfigEdit, Vec<Registered>), Failure> {
    if !path.is_file() {
        let error = anyhow!("{} does not exist", path.display());
        return Err(Failure::usage(error).with_help("`runwright runner register` creates it"));
    }
    let edit = ConfigEdit::open(path).map_err(Failure::environment)?;
    let mut runners = edit.runners();
    if runners.is_empty() {
        let error = anyhow!("{} has no runners", path.display());
        return Err(Failure::usage(error).with_help("`runwright runner register` adds one"));
    }
    runners.retain(is_meant);
    if runners.is_empty() {
        let error = anyhow!("{} has no such runner", path.display());
        let failure = Failure::usage(error);
        return Err(failure.with_help("`runwright runner list` shows those that it has"));
    }
    // The file may have other errors; these commands need little of it.
    let file = ConfigFile::parse(path, edit.text(), &known(Strictness::Lenient));
    let settings = file.map(|it| it.settings).map_err(super::unusable)?;
    let runners = runners.iter().map(|it| Registered::of(it, path, &settings));
    Ok((edit, runners.collect::<Result<_, Failure>>()?))
}

fn is_selected(entry: &RunnerEntry, args: &RunnerSelectionArgs) -> bool {
    let same = |one: &str, other: &str| one.trim_end_matches('/') == other.trim_end_matches('/');
    let name = args.name.as_ref().is_none_or(|it| *it == entry.name);
    let url = args.url.as_ref().is_none_or(|it| same(it, &entry.url));
    let token = args.token.as_ref();
    name && url && token.is_none_or(|it| it == entry.token.expose())
}

/// Asks the servers whether they know the runners.
pub(super) fn verify(args: &RunnerVerifyArgs) -> Result<Exit, Failure> {
    let path = args.config.path();
    let is_meant = |it: &RunnerEntry| args.name.as_ref().is_none_or(|name| *name == it.name);
    let (mut edit, runners) = selected(&path, is_meant)?;
    let worst = runtime::start_on_this_thread()?.block_on(async {
        let mut worst = Exit::Success;
        for runner in &runners {
            let call = RunnerCall {
                info: Some(call_info("")),
                ..runner.call.clone()
            };
            match runner.server.verify(&call).await {
                Ok(RunnerAnswer::Runner(_)) => runner.say("is known"),
                Ok(RunnerAnswer::Forbidden) if args.delete => {
                    let removed = edit.remove_runner(&runner.selector());
                    removed.map_err(Failure::usage)?;
                    runner.say("is unknown, and removed from the file");
                }
                Ok(RunnerAnswer::Forbidden) => {
                    runner.say("is unknown: the server does not accept its token");
                    worst = Exit::JobFailed;
                }
                Ok(RunnerAnswer::Refused { status, reason }) => {
                    runner.say(&format!(
                        "may be known: the server answers {status}: {reason}"
                    ));
                }
                Err(error) => {
                    runner.say(&format!("may be known: {}", chain(&error)));
                    worst = Exit::Environment;
                }
            }
        }
        Ok::<Exit, Failure>(worst)
    })?;
    edit.save().map_err(Failure::environment)?;
    Ok(worst)
}

/// Removes runners from their servers, and then from the file.
pub(super) fn unregister(args: &RunnerSelectionArgs) -> Result<Exit, Failure> {
    let path = args.config.path();
    let (mut edit, runners) = selected(&path, |it| is_selected(it, args))?;
    runtime::start_on_this_thread()?.block_on(async {
        let mut worst = Exit::Success;
        for runner in &runners {
            let mut call = runner.call.clone();
            if !is_created_in_gitlab(runner.entry.token.expose()) {
                call.system_id = String::new();
            }
            let answer = runner.server.unregister(&call).await;
            let why = match answer.map_err(unreachable)? {
                RunnerAnswer::Runner(_) => {
                    let removed = edit.remove_runner(&runner.selector());
                    removed.map_err(Failure::usage)?;
                    edit.save().map_err(Failure::environment)?;
                    runner.say("is removed");
                    continue;
                }
                RunnerAnswer::Forbidden => "the server does not accept its token".to_owned(),
                RunnerAnswer::Refused { status, reason } => {
                    format!("the server answers {status}: {reason}")
                }
            };
            runner.say(&format!("stays: {why}"));
            worst = Exit::JobFailed;
        }
        Ok(worst)
    })
}

/// Replaces the tokens of runners.
pub(super) fn reset_token(args: &RunnerSelectionArgs) -> Result<Exit, Failure> {
    let path = args.config.path();
    let (mut edit, runners) = selected(&path, |it| is_selected(it, args))?;
    runtime::start_on_this_thread()?.block_on(async {
        for runner in &runners {
            let mut call = runner.call.clone();
            call.system_id = String::new();
            let answer = runner.server.reset_token(&call).await;
            let why = match answer.map_err(unreachable)? {
                RunnerAnswer::Runner(new) if !new.token.is_empty() => {
                    let expires_at = new.token_expires_at.as_deref();
                    let expires_at = expires_at.and_then(|it| it.parse().ok());
                    let now = Timestamp::now();
                    let set = edit.set_token(&runner.selector(), &new.token, now, expires_at);
                    set.map_err(Failure::usage)?;
                    edit.save().map_err(Failure::environment)?;
                    runner.say("has a new token");
                    continue;
                }
                RunnerAnswer::Runner(_) => "the server sent no token".to_owned(),
                RunnerAnswer::Forbidden => "the server does not accept its token".to_owned(),
                RunnerAnswer::Refused { status, reason } => {
                    format!("the server answers {status}: {}", strip_controls(&reason))
                }
            };
            let name = strip_controls(&runner.entry.name);
            return Err(Failure::environment(anyhow!(
                "{name} keeps its token: {why}"
            )));
        }
        Ok(Exit::Success)
    })
}
