//! `runwright runner register`: a new runner at a GitLab and in config.toml.

use super::known::known;
use super::registered::{call_info, is_created_in_gitlab, server, unreachable};
use crate::args::{RunnerDefinitionArgs, RunnerRegisterArgs};
use crate::command::can_ask;
use crate::failure::{Exit, Failure};
use crate::runtime;
use anyhow::anyhow;
use console::terminal::while_asking;
use console::{error_line, strip_controls};
use executor_core::job::SecretString;
use inquire::{InquireError, Password, PasswordDisplayMode, Select, Text};
use jiff::Timestamp;
use runner::api::{RunnerAnswer, Server};
use runner::config::{ConfigEdit, ConfigFile, NewRunner, Strictness, parse_url};
use runner::{RegisteredRunner, Registration, RunnerCall};
use std::fs;
use std::io;
use std::path::Path;
use toml_edit::{Item, Table, Value};

/// The token of a runner that GitLab has not created yet.
const NO_TOKEN_YET: &str = "glrt-none-yet";

/// Registers this machine, and writes the runner to config.toml.
pub(super) fn register(args: &RunnerRegisterArgs) -> Result<Exit, Failure> {
    let path = args.config.path();
    let is_true = |name: &str| std::env::var(name).is_ok_and(|it| it == "true");
    let asks = !args.non_interactive && !is_true("REGISTER_NON_INTERACTIVE") && can_ask();
    let answers = Answers::of(&args.runner, args.registration_token.as_ref(), asks)?;
    if is_created_in_gitlab(&answers.token) {
        refuse_server_settings(args)?;
    }
    let mut runner = new_runner(&args.runner, &answers)?;
    if !is_created_in_gitlab(&answers.token) {
        // Until GitLab has exchanged the registration token.
        runner.token = SecretString::new(NO_TOKEN_YET);
    }
    // Before anything is created at the server.
    let edit = edited(&path, &runner)?;
    let file = ConfigFile::parse(&path, edit.text(), &known(Strictness::Strict));
    let settings = file.and_then(ConfigFile::into_settings);
    let (settings, _) = settings.map_err(|error| {
        super::unusable(error)
            .with_help("nothing was written; the lines are those of the file with the new runner")
    })?;
    drop(edit);
    let server = server(runner.url.clone(), runner.token.expose(), &settings)?;
    let asking = ask(args, &answers, &server);
    let registered = runtime::start_on_this_thread()?.block_on(asking)?;
    if !registered.token.is_empty() {
        runner.token = registered.token;
    } else if runner.token.expose() == NO_TOKEN_YET {
        return Err(Failure::environment(anyhow!(
            "GitLab sent no token for the runner"
        )));
    }
    runner.id = registered.id;
    let expires_at = registered.token_expires_at.as_deref();
    runner.token_expires_at = expires_at.and_then(|it| it.parse().ok());
    edited(&path, &runner)?
        .save()
        .map_err(Failure::environment)?;
    let name = strip_controls(&runner.name);
    error_line(&format!("{name} is registered, and in {}", path.display()));
    let option = match &args.config.config {
        Some(file) => strip_controls(&format!(" --config {}", file.display())),
        None => String::new(),
    };
    error_line(&format!(
        "`runwright runner run{option}` takes its jobs; if it runs already, it sees the new runner by itself"
    ));
    Ok(Exit::Success)
}

/// Returns the runner that options define, without asking for more.
pub(super) fn defined(args: &RunnerDefinitionArgs) -> Result<NewRunner, Failure> {
    new_runner(args, &Answers::of(args, None, false)?)
}

fn new_runner(args: &RunnerDefinitionArgs, answers: &Answers) -> Result<NewRunner, Failure> {
    let url = parse_url(&answers.url);
    let url = url.map_err(|why| Failure::usage(anyhow!("the address of GitLab {why}")))?;
    Ok(NewRunner {
        name: answers.name.clone(),
        url,
        id: 0,
        token: SecretString::new(&answers.token),
        token_obtained_at: Timestamp::now(),
        token_expires_at: None,
        executor: answers.executor.clone(),
        settings: settings_of(args, answers)?,
    })
}

/// Returns the file with the runner, not saved yet.
pub(super) fn edited(path: &Path, runner: &NewRunner) -> Result<ConfigEdit, Failure> {
    let mut edit = ConfigEdit::open(path).map_err(Failure::environment)?;
    edit.add_runner(runner).map_err(Failure::usage)?;
    Ok(edit)
}

/// What a registration needs, from options or from questions.
struct Answers {
    url: String,
    token: String,
    name: String,
    executor: String,
    image: Option<String>,
}

impl Answers {
    fn of(
        args: &RunnerDefinitionArgs,
        registration_token: Option<&String>,
        asks: bool,
    ) -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|it| !it.is_empty());
        let text = |given: Option<String>, question: &str, option: &str, default: Option<&str>| {
            if let Some(given) = given.filter(|it| !it.is_empty()) {
                return Ok(given);
            }
            if asks {
                let question = Text::new(question);
                let question = match default {
                    Some(default) => question.with_default(default),
                    None => question,
                };
                return answer(while_asking(|| question.prompt()));
            }
            let default = default.map(str::to_owned);
            default.ok_or_else(|| Failure::usage(anyhow!("--{option} is missing")))
        };
        let url = text(
            args.url.clone().or_else(|| variable("CI_SERVER_URL")),
            "Address of GitLab:",
            "url",
            None,
        )?;
        let given = args.token.as_ref().or(registration_token).cloned();
        let given = given.or_else(|| variable("CI_SERVER_TOKEN"));
        let given = given.or_else(|| variable("REGISTRATION_TOKEN"));
        let token = match given.filter(|it| !it.is_empty()) {
            Some(token) => token,
            None if asks => {
                let question = Password::new("Token:").without_confirmation();
                let question = question.with_display_mode(PasswordDisplayMode::Masked);
                answer(while_asking(|| question.prompt()))?
            }
            None => return Err(Failure::usage(anyhow!("--token is missing"))),
        };
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = Some(host.trim()).filter(|it| !it.is_empty());
        let name = text(
            args.name.clone().or_else(|| variable("RUNNER_NAME")),
            "Name:",
            "name",
            host.or(Some("runner")),
        )?;
        let given = args.executor.clone();
        let executor = match given.or_else(|| variable("RUNNER_EXECUTOR")) {
            Some(executor) => executor,
            None if asks => {
                let names = known(Strictness::Strict).executors;
                let names: Vec<&str> = names.iter().map(|it| it.name).collect();
                let chosen = while_asking(|| Select::new("Executor:", names).prompt());
                answer(chosen)?.to_owned()
            }
            None => return Err(Failure::usage(anyhow!("--executor is missing"))),
        };
        let has_image = executor.starts_with("docker") || executor == executor_kubernetes::NAME;
        let sets_image = args.set.iter().any(|it| {
            let key = it.split('=').next().unwrap_or_default().trim();
            key == "docker.image"
        });
        let given = args.docker_image.clone();
        let image = match given.or_else(|| variable("DOCKER_IMAGE")) {
            Some(image) => Some(image),
            None if asks && has_image => {
                let question = "Image of jobs that name none:";
                Some(text(None, question, "docker-image", Some("alpine:latest"))?)
            }
            None if executor.starts_with("docker") && !sets_image => {
                return Err(Failure::usage(anyhow!("--docker-image is missing"))
                    .with_help("it is the image of jobs that name none"));
            }
            None => None,
        };
        Ok(Self {
            url,
            token,
            name,
            executor,
            image,
        })
    }
}

fn answer<T>(asked: io::Result<Result<T, InquireError>>) -> Result<T, Failure> {
    match asked.map_err(Failure::environment)? {
        Ok(answer) => Ok(answer),
        Err(InquireError::OperationCanceled | InquireError::OperationInterrupted) => {
            Err(Failure::interrupted())
        }
        Err(error) => Err(Failure::environment(error)),
    }
}

/// Refuses options for what a runner that was created in GitLab has there.
fn refuse_server_settings(args: &RunnerRegisterArgs) -> Result<(), Failure> {
    let given = [
        ("tag-list", args.tag_list.is_some()),
        ("run-untagged", args.run_untagged.is_some()),
        ("locked", args.locked.is_some()),
        ("access-level", args.access_level.is_some()),
        ("maximum-timeout", args.maximum_timeout.is_some()),
        ("paused", args.paused),
        ("maintenance-note", args.maintenance_note.is_some()),
    ];
    let given = given.iter().find(|(_, is_given)| *is_given);
    let Some((option, _)) = given else {
        return Ok(());
    };
    let error = anyhow!("--{option} cannot be used for a runner that was created in GitLab");
    Err(Failure::usage(error).with_help("set it in GitLab, on the page of the runner"))
}

/// Returns the further keys of the runner.
fn settings_of(args: &RunnerDefinitionArgs, answers: &Answers) -> Result<Table, Failure> {
    let mut settings = Table::new();
    if let Some(shell) = &args.shell {
        insert(&mut settings, &["shell"], shell.as_str().into());
    }
    if let Some(image) = &answers.image {
        let table = if answers.executor == executor_kubernetes::NAME {
            "kubernetes"
        } else {
            "docker"
        };
        insert(&mut settings, &[table, "image"], image.as_str().into());
    }
    for text in &args.set {
        let wrong = || Failure::usage(anyhow!("--set {text:?} is not KEY=VALUE"));
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        let keys: Vec<&str> = key.trim().split('.').collect();
        if keys.iter().any(|it| it.is_empty()) {
            return Err(wrong());
        }
        let value = value.parse().unwrap_or_else(|_| Value::from(value));
        insert(&mut settings, &keys, value);
    }
    Ok(settings)
}

fn insert(table: &mut Table, keys: &[&str], value: Value) {
    match keys {
        [] => {}
        [key] => {
            table.insert(key, Item::Value(value));
        }
        [first, rest @ ..] => {
            let inner = table
                .entry(first)
                .or_insert_with(|| Item::Table(Table::new()));
            if let Some(inner) = inner.as_table_mut() {
                insert(inner, rest, value);
            }
        }
    }
}

/// Asks the server.
async fn ask(
    args: &RunnerRegisterArgs,
    answers: &Answers,
    server: &Server,
) -> Result<RegisteredRunner, Failure> {
    let url = &answers.url;
    let token = SecretString::new(&answers.token);
    let info = call_info(&answers.executor);
    let answer = if is_created_in_gitlab(&answers.token) {
        let id = runner::system_id(&args.config.path().with_file_name(".runner_system_id"));
        let call = RunnerCall {
            info: Some(info),
            token,
            system_id: id.map_err(Failure::environment)?,
        };
        server.verify(&call).await
    } else {
        let tags = args.tag_list.clone().unwrap_or_default();
        let registration = Registration {
            token,
            info,
            description: answers.name.clone(),
            maintenance_note: args.maintenance_note.clone().unwrap_or_default(),
            run_untagged: args.run_untagged.unwrap_or(tags.is_empty()),
            tag_list: tags,
            locked: args.locked.unwrap_or(true),
            access_level: args.access_level.clone().unwrap_or_default(),
            maximum_timeout: args.maximum_timeout,
            paused: args.paused,
        };
        server.register(&registration).await
    };
    match answer.map_err(unreachable)? {
        RunnerAnswer::Runner(runner) => Ok(runner),
        RunnerAnswer::Forbidden => {
            let error = anyhow!("{url} does not accept the token");
            Err(Failure::usage(error).with_help(
                "create a runner in GitLab under Settings, CI/CD, Runners, and copy its token",
            ))
        }
        RunnerAnswer::Refused { status, reason } => {
            let reason = strip_controls(&reason);
            let error = anyhow!("{url} refuses the runner with {status}: {reason}");
            Err(Failure::usage(error))
        }
    }
}
