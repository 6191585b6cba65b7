//! The steps in a request.

use crate::language::{Action, Function, MOST_STEPS, Target};
use serde::Deserialize;

/// The steps of a request.
#[derive(Clone, PartialEq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) enum Steps {
    /// Scripts without expressions.
    Scripts(Vec<ScriptStep>),
    /// Steps of the language.
    Function(Box<Function>),
}

/// A script without expressions.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(Debug))]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptStep {
    pub(crate) name: String,
    pub(crate) script: String,
}

impl Steps {
    /// Parses steps: with `verbatim` an array of scripts, otherwise the step language.
    ///
    /// # Errors
    ///
    /// Describes the error, without the text of any script.
    pub(crate) fn read(text: &str, verbatim: bool) -> Result<Self, String> {
        if !verbatim {
            let function = Function::of_job(text).map_err(|error| error.to_string())?;
            return Ok(Self::Function(Box::new(function)));
        }
        let steps = serde_json::from_str::<Vec<ScriptStep>>(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("invalid list of scripts: error at line {line}, column {column}")
        })?;
        if steps.is_empty() {
            return Err("there are no steps".to_owned());
        }
        if steps.len() > MOST_STEPS {
            return Err(format!("there are more than {MOST_STEPS} steps"));
        }
        for (index, ScriptStep { name, script }) in steps.iter().enumerate() {
            let wrong = if script.contains('\0') {
                "`script` contains a NUL byte"
            } else if name.is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
                "its name is empty, too long or contains control characters"
            } else {
                continue;
            };
            return Err(format!("step {}: {wrong}", index + 1));
        }
        Ok(Self::Scripts(steps))
    }

    /// Returns the names of the steps.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Self::Scripts(steps) => steps.iter().map(|step| step.name.clone()).collect(),
            Self::Function(function) => match &function.action {
                Action::Run(sequence) => sequence
                    .steps
                    .iter()
                    .map(|call| call.name.clone())
                    .collect(),
                Action::Exec(_) => Vec::new(),
            },
        }
    }

    /// Returns whether a shell is certainly needed.
    pub(crate) fn have_scripts(&self) -> bool {
        match self {
            Self::Scripts(_) => true,
            Self::Function(function) => match &function.action {
                Action::Run(sequence) => {
                    let mut targets = sequence.steps.iter().map(|call| &call.target);
                    targets.any(|target| matches!(target, Target::Script(_)))
                }
                Action::Exec(_) => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbatim_scripts_are_not_evaluated() {
        let text = r#"[{"name": "a b", "script": "echo ${{ x"}]"#;
        let expect = ScriptStep {
            name: "a b".to_owned(),
            script: "echo ${{ x".to_owned(),
        };
        assert_eq!(Steps::read(text, true), Ok(Steps::Scripts(vec![expect])));
        assert!(Steps::read(text, false).is_err());
        let check = |text: &str, expect: &str| {
            assert_eq!(Steps::read(text, true).unwrap_err(), expect, "{text}");
        };
        check("[]", "there are no steps");
        check("[7]", "invalid list of scripts: error at line 1, column 2");
        check(
            r#"[{"name": "a", "script": "\u0000"}]"#,
            "step 1: `script` contains a NUL byte",
        );
        check(
            r#"[{"name": "a", "script": ""}, {"name": "b\nc", "script": ""}]"#,
            "step 2: its name is empty, too long or contains control characters",
        );
        let func = r#"[{"name": "a", "func": "./b"}]"#;
        check(func, "invalid list of scripts: error at line 1, column 21");
    }

    #[test]
    fn script_needs_a_shell() {
        let check = |text: &str, expect: bool| {
            let steps = Steps::read(text, false).unwrap();
            assert_eq!(steps.have_scripts(), expect, "{text}");
            assert_eq!(steps.names(), ["a"]);
        };
        check(r#"[{"name": "a", "script": "x"}]"#, true);
        check(r#"[{"name": "a", "func": "./b"}]"#, false);
    }

    #[test]
    fn ten_thousand_steps_are_read() {
        let steps: Vec<String> = (0..10_000)
            .map(|n| format!(r#"{{"name":"a{n}","script":"true"}}"#))
            .collect();
        let text = format!("[{}]", steps.join(","));
        assert_eq!(Steps::read(&text, false).unwrap().names().len(), 10_000);
    }
}
