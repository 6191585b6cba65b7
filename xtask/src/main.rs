//! The chores of this repository, as `cargo xtask <chore>`.
//!
//! Everything that keeps the project in shape is a command here, so that a person and continuous integration type
//! the same thing. `cargo xtask ci` is the whole of it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "xtask is a command line that starts cargo and talks to a person"
)]

mod acceptance;
mod agent;
mod book;
mod built;
mod ci;
mod commits;
mod debian;
mod docker;
mod evidence;
mod fuzz;
mod guest;
mod kubernetes;
mod python;
mod requirements;
mod rounds;
mod run;
mod skipped;
mod source;
mod stop;
mod test;
mod tidy;
mod tool;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Chores of the Runwright repository.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Checks what the compiler cannot: crate edges, file sizes, forbidden code, manifests, paths, requirement ids.
    Tidy,
    /// Installs what the tests need, then runs them all (`cargo test --workspace`: unit, integration, doc, examples built).
    ///
    /// On Debian as root, missing tools are installed with apt-get; elsewhere they are named and the command fails.
    /// Then the tests of the transport to the engine run over TLS and ssh. Words after `--` go to cargo test, which then runs
    /// alone: `cargo xtask test -- masking` runs the tests with "masking" in the name, `cargo xtask test -- -p runwright-trace` those of
    /// one crate.
    Test {
        /// Passed on to cargo test.
        #[arg(last = true, value_name = "ARG")]
        args: Vec<String>,
    },
    /// Runs a command with the Docker Engine, the images and the agent that the tests have.
    ///
    /// `cargo xtask docker -- cargo bench -p benches --bench docker` measures jobs in containers;
    /// `cargo xtask docker --over ssh -- cargo test -p runwright-executor-docker` tests them over ssh.
    Docker {
        /// The way to the engine.
        #[arg(long, value_enum, default_value_t)]
        over: docker::Over,
        /// The command and its arguments.
        #[arg(last = true, required = true, value_name = "COMMAND")]
        words: Vec<String>,
    },
    /// Runs a command with a Kubernetes node, built from its Go modules, and the agent that the tests have.
    ///
    /// `cargo xtask kubernetes -- kubectl get nodes`; `cargo xtask kubernetes -- cargo test -p runwright-executor-kubernetes`.
    /// The variable `KUBECONFIG` has the administrator's settings. Nothing of the node is left at the end.
    Kubernetes {
        /// The command and its arguments.
        #[arg(last = true, required = true, value_name = "COMMAND")]
        words: Vec<String>,
    },
    /// Builds the agent that goes into containers, static and small, and says where it is.
    Agent(agent::Options),
    /// Runs every check, in the order of their price; stops at the first that fails.
    Ci,
    /// Checks licences, bans and sources of the dependencies with cargo-deny, which it installs when missing.
    Deny,
    /// Checks the links of the user guide and builds it into `target/book` with mdbook, which it installs when missing.
    Book,
    /// Pack the crates that are published, as the registry would have them.
    Package,
    /// Makes up input for what reads other people's text, for some time; needs a C++ compiler.
    Fuzz(fuzz::Options),
    /// Checks a file of test vectors of the language; each outcome is a line of JSON.
    Vectors {
        /// The file, in the form of `crates/pipeline/tests/data/yaml_vectors.json`.
        file: std::path::PathBuf,
    },
    /// Writes the reference of the settings in the guide, and their schemas, from the table of settings.
    SettingsDocs,
    /// Compares docs/requirements.md with the ids that the tests name.
    Acceptance(acceptance::Options),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(&cli.chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(chore: &Chore) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    match chore {
        Chore::Tidy => tidy::run(&workspace),
        Chore::Test { args } => test::run(&workspace, args),
        Chore::Docker { over, words } => test::run_with_engine(&workspace, *over, words),
        Chore::Kubernetes { words } => test::run_with_node(&workspace, words),
        Chore::Agent(options) => agent::run(&workspace, options),
        Chore::Ci => ci::run(&workspace),
        Chore::Deny => ci::deny(&workspace),
        Chore::Book => book::run(&workspace),
        Chore::Package => ci::package(&workspace),
        Chore::Fuzz(options) => fuzz::run(&workspace, options),
        // Separate programs, so that the other commands do not wait for a build of what they need.
        Chore::Vectors { file } => {
            let words = ["run", "--quiet", "--release", "--package", "vectors", "--"];
            run::run(run::cargo().args(words).arg(file))
        }
        Chore::SettingsDocs => {
            run::run(run::cargo().args(["run", "--quiet", "--package", "settings-docs"]))
        }
        Chore::Acceptance(options) => acceptance::run(&workspace, options),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
