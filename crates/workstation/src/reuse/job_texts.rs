//! The variables that the text of a job uses.

use executor_core::job::Job;
use serde_json::Value;
use std::borrow::Cow;

/// The texts of a job's definition: scripts, artifacts, caches, image, services, hooks.
#[derive(Debug, Default)]
pub(super) struct JobTexts(Vec<String>);

impl JobTexts {
    pub(super) fn of(job: &Job) -> Self {
        let mut texts = Self::default();
        let parts = [
            serde_json::to_value(&job.steps),
            serde_json::to_value(&job.hooks),
            serde_json::to_value(&job.artifacts),
            serde_json::to_value(&job.cache),
            serde_json::to_value(&job.image),
            serde_json::to_value(&job.services),
        ];
        for part in parts.into_iter().flatten() {
            texts.add(part);
        }
        texts
    }

    fn add(&mut self, value: Value) {
        match value {
            Value::String(text) => self.0.push(text),
            Value::Array(values) => values.into_iter().for_each(|value| self.add(value)),
            Value::Object(values) => values.into_iter().for_each(|(key, value)| {
                self.0.push(key);
                self.add(value);
            }),
            _ => {}
        }
    }

    /// Returns whether a text contains the name of a variable. A longer name that ends with it counts too.
    pub(super) fn name(&self, variable: &str) -> bool {
        self.0.iter().any(|text| names(text, variable))
    }

    /// Returns whether a text reads all variables.
    pub(super) fn list_variables(&self) -> bool {
        self.0.iter().any(|text| lists_variables(text))
    }

    /// Returns whether a text contains a whole word.
    pub(super) fn have_word(&self, word: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let has = |text: &String| text.split(|c| !is_part(c)).any(|it| it == word);
        self.0.iter().any(has)
    }
}

/// Returns whether a value refers to a variable: `$NAME`, `${NAME}`, `%NAME%`.
pub(super) fn refers_to(value: &str, variable: &str) -> bool {
    value.contains(['$', '%']) && names(value, variable)
}

/// Returns whether a text contains a name that ends with that of a variable.
fn names(text: &str, variable: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(variable) {
        rest = &rest[at + variable.len()..];
        let continues = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if !continues {
            return true;
        }
    }
    false
}

/// Texts that read all variables anywhere in a script.
const ANYWHERE: [&str; 6] = [
    "${!",
    "/environ",
    "compgen -e",
    "compgen -v",
    "env:*",
    "envsubst",
];

/// Returns whether a script prints or reads all variables.
fn lists_variables(text: &str) -> bool {
    if ANYWHERE.iter().any(|word| text.contains(word))
        || reads_any_variable(text)
        || composes_names(text)
    {
        return true;
    }
    let commands = text.split(['\n', ';', '|', '&', '(', ')', '{', '}', '`', '\'', '"']);
    commands.into_iter().any(|command| {
        let command = command.split(['<', '>']).next().unwrap_or_default();
        let mut words = command.split_whitespace().map(Cow::Borrowed).peekable();
        // `FOO=1 env` and `sudo env` are `env` too.
        while words
            .next_if(|word| word.contains('=') || PREFIXES.contains(&&**word))
            .is_some()
        {}
        let program = words.next().unwrap_or_default();
        let program = program.rsplit('/').next().unwrap_or_default();
        let are_options = words.all(|word| word.starts_with('-'));
        match program {
            "env" | "printenv" | "export" | "declare" | "typeset" | "set" => {
                are_options && !(program == "set" && command.contains('-'))
            }
            _ => false,
        }
    })
}

/// What other languages call all variables, unless a name follows.
const ALL_OF_A_LANGUAGE: [&str; 8] = [
    "os.environ",
    "process.env",
    "ENVIRON",
    "%ENV",
    "ENV.each",
    "ENV.to_",
    "getenv()",
    "getenv($",
];

/// Returns whether a program in the text reads all variables, or one whose name is computed.
fn reads_any_variable(text: &str) -> bool {
    ALL_OF_A_LANGUAGE.iter().any(|word| {
        let mut found = text.match_indices(word);
        found.any(|(at, _)| {
            let rest = &text[at + word.len()..];
            let rest = rest.strip_prefix(".get(").unwrap_or(rest);
            let rest = rest.trim_start_matches(['[', '{', '.', '\\', '\'', '"']);
            !rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        })
    })
}

/// Returns whether a script may compute the name of a variable: by `eval`, by a name reference, or as an argument.
fn composes_names(text: &str) -> bool {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')' | '`'))
        .collect();
    let pair = |program: &str, argument: &dyn Fn(&str) -> bool| {
        let mut pairs = words.windows(2);
        pairs.any(|pair| pair[0].trim_start_matches(['"', '\'']) == program && argument(pair[1]))
    };
    let refers = |word: &str| word.starts_with('-') && word.contains('n');
    let is_varied = |word: &str| word.contains('$');
    (words.contains(&"eval") && (text.contains("\\$") || text.contains("'$")))
        || ["declare", "local", "typeset"]
            .iter()
            .any(|program| pair(program, &refers))
        || pair("printenv", &is_varied)
}

/// Words before a command that do not change it.
const PREFIXES: [&str; 9] = [
    "!", "builtin", "command", "do", "else", "exec", "sudo", "then", "time",
];

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::job::Step;

    #[test]
    fn finds_names_at_their_end() {
        let check = |text: &str, expect| assert_eq!(names(text, "CI_JOB_ID"), expect, "{text:?}");
        check("echo $CI_JOB_ID", true);
        check("echo \"${CI_JOB_ID:-none}\"", true);
        check("a\nCI_JOB_ID", true);
        check("MY_CI_JOB_ID", true);
        check("CI_JOB_IDS CI_JOB_ID", true);
        check("$CI_JOB_IDS", false);
        check("$CI_JOB_ID_TOKEN", false);
        check("job id", false);
    }

    #[test]
    fn recognizes_scripts_that_read_all_variables() {
        let check = |text: &str, expect| assert_eq!(lists_variables(text), expect, "{text:?}");
        for text in [
            "env",
            "env | sort",
            "echo a; env > file",
            "/usr/bin/env -0",
            "A=1 env",
            "if true; then printenv; fi",
            "export -p",
            "export",
            "declare -x",
            "set",
            "set > all",
            "all=$(env)",
            "echo ${!CI_@}",
            "cat /proc/self/environ",
            "envsubst < a > b",
            "eval echo \\$CI_JOB_$part",
            "eval 'echo $'$name",
            "declare -n ref=$name",
            "f() { local -n ref=$1; }",
            "printenv \"$name\"",
            "python3 -c 'import os; print(os.environ)'",
            "python3 -c 'import os; print(os.environ[name])'",
            "node -e 'console.log(process.env)'",
            "awk 'BEGIN { for (it in ENVIRON) print it }'",
            "ruby -e 'ENV.each { |it| p it }'",
        ] {
            check(text, true);
        }
        for text in [
            "/usr/bin/env python3 a.py",
            "env A=1 make",
            "export A=1",
            "declare -r A=1",
            "printenv HOME",
            "set -eu",
            "set -o pipefail",
            "environment",
            "make env",
            "echo environ",
            "eval \"$(ssh-agent -s)\"",
            "declare -a list",
            "python3 -c 'import os; print(os.environ[\"HOME\"], os.environ.get(\"LANG\"))'",
            "node -e 'process.env.HOME'",
            "perl -e 'print $ENV{HOME}'",
            "source .env",
            "deploy $ENV $ENVIRONMENT >$THE_ENV.log",
        ] {
            check(text, false);
        }
    }

    #[test]
    fn searches_all_texts_of_a_job() {
        let job = Job {
            steps: vec![Step {
                script: vec!["make".to_owned(), "git describe".to_owned()],
                ..Step::default()
            }],
            ..Job::default()
        };
        let texts = JobTexts::of(&job);
        assert!(texts.name("make"));
        assert!(texts.have_word("git") && !texts.have_word("mak"));
        assert!(!texts.list_variables());
        assert!(refers_to("a-${B}", "B") && !refers_to("B", "B"));
    }
}
