//! What the program reports about itself: its executors, completion scripts and manual pages.

use super::stdout::print;
use crate::args::{Cli, CompletionArgs, ExecutorsArgs, ManArgs};
use crate::completion;
use crate::executors::Setup;
use crate::failure::{Exit, Failure};
use anyhow::Context;
use clap::CommandFactory;
use executor_core::{FeaturesInfo, ShellDialect, chain};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs;

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    shell: Option<&'static str>,
    features: Vec<&'static str>,
    /// The agent for its containers, or why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
}

impl Described<'_> {
    fn row(&self) -> String {
        let shell = self.shell.unwrap_or("-");
        let mut row = format!(
            "{:<12} {:<12} {}\n",
            self.name,
            shell,
            self.features.join(", ")
        );
        if let Some(agent) = &self.agent {
            let _ = writeln!(row, "{:<12} {:<12} agent: {agent}", "", "");
        }
        row
    }
}

/// Returns whether an executor starts the agent in its environments.
fn runs_agent(name: &str) -> bool {
    ![
        executor_shell::NAME,
        executor_custom::NAME,
        executor_driver::NAME,
    ]
    .contains(&name)
}

/// Lists the executors of this build.
pub(crate) fn executors(args: &ExecutorsArgs) -> Result<Exit, Failure> {
    let registry = crate::executors::registry(Setup::default()).map_err(Failure::environment)?;
    let mut all = Vec::new();
    for (name, provider) in registry.iter() {
        let mut features = FeaturesInfo::default();
        provider
            .features(&mut features)
            .map_err(Failure::environment)?;
        let shell = provider.default_shell().map(ShellDialect::as_str);
        all.push(Described {
            name,
            shell,
            features: features.names(),
            agent: runs_agent(name).then(agent),
        });
    }
    let text = if args.json {
        serde_json::to_string_pretty(&all).map_err(Failure::environment)? + "\n"
    } else {
        all.iter().map(Described::row).collect()
    };
    print(text)?;
    Ok(Exit::Success)
}

/// Returns the agent that goes into containers, or why there is none.
fn agent() -> String {
    match executor_docker::find_agent() {
        Ok(agent) => match agent.path() {
            Some(path) => path.display().to_string(),
            None => "in this program".to_owned(),
        },
        Err(error) => format!("none, scripts run by exec: {}", chain(&error)),
    }
}

/// Prints a completion script.
pub(crate) fn completion(args: &CompletionArgs) -> Result<Exit, Failure> {
    let script = completion::script(args.shell);
    print(script.map_err(Failure::environment)?)?;
    Ok(Exit::Success)
}

/// Writes the manual pages, or prints the main one.
pub(crate) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    if let Some(directory) = &args.output {
        fs::create_dir_all(directory)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
            .with_context(|| format!("write manual pages to {}", directory.display()))
            .map_err(Failure::environment)?;
        return Ok(Exit::Success);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(Failure::environment)?;
    print(page)?;
    Ok(Exit::Success)
}
