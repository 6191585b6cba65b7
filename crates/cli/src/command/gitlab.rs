use super::stdout::{print, print_json};
use crate::args::GitLabArgs;
use crate::failure::{Exit, Failure};
use console::{Style, Tone, strip_controls};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::Path;
use workstation::{GitLabStatus, LocalProject, PipelineOptions, RemoteError, StatusAnswer};

/// Shows the GitLab of the project, the user of its API, and whether access works.
pub(crate) fn gitlab(args: &GitLabArgs) -> Result<Exit, Failure> {
    let directory = args.cwd.as_deref().unwrap_or(Path::new("."));
    let project = LocalProject::find(directory, None)?;
    let options = PipelineOptions {
        remote: args.remote(),
        ..PipelineOptions::default()
    };
    let status = GitLabStatus::of(&project, &options).map_err(failure)?;
    let Some(status) = status else {
        let error = anyhow::anyhow!(
            "the project's GitLab is unknown: no remote of the repository names one"
        );
        let help = "name it with --gitlab URL, or with `url` under `[gitlab]` in your config.toml";
        return Err(Failure::usage(error).with_help(help));
    };
    if args.json {
        print_json(&record(&status))?;
    } else {
        print(text(&status, Style::of_stdout()))?;
    }
    Ok(if status.works() {
        Exit::Success
    } else {
        Exit::Environment
    })
}

fn failure(error: RemoteError) -> Failure {
    let help = error.help().map(str::to_owned);
    let failure = Failure::usage(error);
    match help {
        Some(help) => failure.with_help(help),
        None => failure,
    }
}

fn text(status: &GitLabStatus, style: Style) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        let name = style.paint(Tone::Strong, &format!("{name:<8}"));
        let _ = writeln!(text, "{name} {}", strip_controls(value));
    };
    row("GitLab", status.instance.address());
    row("path", status.path.as_deref().unwrap_or("not known"));
    match &status.token {
        Some(found) => row("token", &format!("from {found}")),
        None => row("token", "none"),
    }
    for place in &status.places {
        row("", place);
    }
    let mut said = None;
    for StatusAnswer { what, answer } in &status.answers {
        match answer {
            Ok(answer) => row(what, answer),
            Err(error) => {
                row(what, &format!("error: {error}"));
                let help = error.help();
                if let Some(help) = help.as_ref().filter(|_| help != said) {
                    row("", &format!("help: {help}"));
                }
                said = help;
            }
        }
    }
    text
}

fn record(status: &GitLabStatus) -> Value {
    let answer = |it: &StatusAnswer| match &it.answer {
        Ok(answer) => json!({"answer": answer}),
        Err(error) => json!({"error": error.to_string(), "help": error.help()}),
    };
    let answers = status.answers.iter();
    let answers: Map<String, Value> = answers.map(|it| (it.what.to_owned(), answer(it))).collect();
    json!({
        "gitlab": status.instance.address(),
        "path": status.path,
        "token": status.token,
        "places": status.places,
        "answers": answers,
        "works": status.works(),
    })
}
