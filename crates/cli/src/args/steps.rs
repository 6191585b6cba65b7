use super::KeyValue;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::str::FromStr;

/// Arguments of `runwright steps`.
#[derive(Debug, Args)]
pub(crate) struct StepsArgs {
    /// What to do with functions.
    #[command(subcommand)]
    pub(crate) action: StepsAction,
}

/// What can be done with functions.
#[derive(Debug, Subcommand)]
pub(crate) enum StepsAction {
    /// Run a function on this machine, as a step of a job would
    Run(StepsRunArgs),
}

/// Arguments of `runwright steps run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright steps run ./greet --input who=Sally    the function in greet/
  runwright steps run ./sum --input 'of:=[1, 2]'   an input as JSON
  runwright steps run ./build --inputs build.json  inputs from a file
  runwright steps run ./build --results out.json   the result to a file

The output of its processes is passed through; its outputs are shown at the end. The file of --results has \
the inputs, outputs, environment, process and sub-steps of each step; neither contains secrets.

Exit codes: 0 it succeeded; 1 it failed, or cannot be called with these inputs; 2 REF, an input or an option \
is invalid; 3 environment; 130 stopped by a signal")]
pub(crate) struct StepsRunArgs {
    /// The function: ./DIR, builtin://NAME, or any other value of a step's `func`
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    /// An input: a text, or with `:=` a value as JSON
    #[arg(long = "input", short = 'i', value_name = "NAME=TEXT")]
    pub(crate) input: Vec<Input>,
    /// A file with inputs, which --input overrides; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<PathBuf>,
    /// A variable of its environment
    #[arg(long, short, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<KeyValue>,
    /// A variable of the job it would be in: `${{ vars.NAME }}`
    #[arg(long = "variable", value_name = "NAME=VALUE")]
    pub(crate) variable: Vec<KeyValue>,
    /// Send no requests: use functions that were fetched before
    #[arg(long)]
    pub(crate) offline: bool,
    /// Write the result to this file, as JSON; `-` is standard output, and then all other output goes to standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
    /// The directory to run in, and the base of relative references [default: the current one]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// `NAME=TEXT` or `NAME:=JSON`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) value: serde_json::Value,
}

impl FromStr for Input {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, value)) = text.split_once('=') else {
            return Err("expected NAME=TEXT, or NAME:=JSON".to_owned());
        };
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => {
                let json = serde_json::from_str(value);
                let json =
                    json.map_err(|error| format!("the value after `:=` is not JSON: {error}"));
                (name, json?)
            }
            None => (name, value.into()),
        };
        if name.is_empty() {
            return Err("the name before `=` is empty".to_owned());
        }
        let name = name.to_owned();
        Ok(Self { name, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn inputs_are_texts_or_json() {
        let check = |text: &str, expect: Result<(&str, serde_json::Value), &str>| {
            let input = text.parse::<Input>();
            match (&input, expect) {
                (Ok(input), Ok((name, value))) => {
                    assert_eq!((&*input.name, &input.value), (name, &value), "{text}");
                }
                (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        };
        check("a=1", Ok(("a", json!("1"))));
        check("a=b=c", Ok(("a", json!("b=c"))));
        check("a:=[1, {\"b\": null}]", Ok(("a", json!([1, {"b": null}]))));
        check("a:=x", Err("not JSON"));
        check("a", Err("NAME=TEXT"));
        check("=a", Err("empty"));
    }
}
