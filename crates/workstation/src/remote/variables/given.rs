use super::Protection;
use super::answers::{Answers, Keeper};
use executor_core::variable::JobVariable;
use gitlab_api::{Instance, Variable};
use pipeline::config::variable_name_problem;
use pipeline::context::{ExternalSource, ExternalVariable};
use std::collections::HashSet;

/// How many characters of a name are shown; GitLab allows 255.
const MAX_NAME: usize = 300;

/// The scope of variables for all environments.
const ALL_ENVIRONMENTS: &str = "*";

/// The variables of a GitLab.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// The variables, the highest precedence last.
    pub(crate) variables: Vec<ExternalVariable>,
    /// Whether the pipeline's branch or tag is protected.
    pub(crate) protection: Protection,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

/// Returns the variables for a pipeline; `own` are the user's own.
pub(super) fn given(answers: Answers, own: &[ExternalVariable]) -> Taken {
    let mut reading = Reading {
        server: &answers.server,
        own: own.iter().map(|given| &*given.variable.key).collect(),
        variables: Vec::new(),
        hidden: Vec::new(),
        nameless: Vec::new(),
        unfit: Vec::new(),
    };
    for keeper in &answers.keepers {
        for variable in &keeper.variables {
            reading.read(keeper, variable);
        }
    }
    let mut notes = answers.notes;
    let mut note = |names: Vec<String>, reason: &str, help: &str| {
        if !names.is_empty() {
            notes.push(format!("left out, as {reason}: {}{help}", list(&names)));
        }
    };
    note(
        reading.hidden,
        "GitLab does not show the values of hidden variables",
        " (--secret sets them)",
    );
    note(reading.nameless, "no process can have such a variable", "");
    note(reading.unfit, "their values have a NUL character", "");
    Taken {
        variables: reading.variables,
        protection: answers.protection,
        notes,
    }
}

struct Reading<'a> {
    server: &'a Instance,
    /// The names of the user's own variables.
    own: HashSet<&'a str>,
    variables: Vec<ExternalVariable>,
    hidden: Vec<String>,
    nameless: Vec<String>,
    unfit: Vec<String>,
}

impl Reading<'_> {
    fn read(&mut self, keeper: &Keeper, variable: &Variable) {
        let name = &variable.key;
        let shown: String = name.escape_debug().take(MAX_NAME).collect();
        if variable_name_problem(name).is_some() {
            add(&mut self.nameless, shown);
            return;
        }
        let Some(value) = &variable.value else {
            if !self.own.contains(&**name) {
                add(&mut self.hidden, shown);
            }
            return;
        };
        if value.expose().contains('\0') {
            add(&mut self.unfit, shown);
            return;
        }
        let is_file = variable.is_file();
        let scope = variable.environment_scope.as_deref();
        self.variables.push(ExternalVariable {
            variable: JobVariable {
                key: name.clone(),
                value: value.expose().to_owned(),
                public: false,
                file: is_file,
                masked: variable.masked || variable.hidden,
                raw: variable.raw || is_file,
            },
            level: keeper.level,
            scope: scope
                .filter(|scope| !scope.is_empty())
                .unwrap_or(ALL_ENVIRONMENTS)
                .to_owned(),
            is_protected: variable.protected,
            source: ExternalSource::Server {
                server: self.server.address().to_owned(),
                path: keeper.path.clone(),
            },
        });
    }
}

/// Returns names in one line, up to a limit.
pub(super) fn list<T: AsRef<str>>(names: &[T]) -> String {
    const MOST: usize = 50;
    let shown: Vec<&str> = names.iter().take(MOST).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    match names.len().checked_sub(MOST) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

/// Adds a name once.
fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::context::Level;
    use serde_json::{Value, json};

    fn taken(variables: Value, own: &[&str]) -> Taken {
        let variables: Vec<Variable> = serde_json::from_value(variables).expect("variables");
        let answers = Answers {
            server: Instance::parse("https://git.example/x").expect("an address"),
            keepers: vec![Keeper {
                level: Level::Project,
                path: Some("g/p".to_owned()),
                variables,
            }],
            protection: Protection::NotRequested,
            notes: Vec::new(),
        };
        let own = own.iter().map(|name| {
            let variable = JobVariable::masked(*name, "x");
            ExternalVariable::of_secret(variable)
        });
        given(answers, &own.collect::<Vec<_>>())
    }

    #[test]
    fn variables_have_gitlabs_attributes() {
        let check = |variable: Value, expect: &str| {
            let taken = taken(json!([variable]), &[]);
            assert_eq!(taken.notes, [""; 0]);
            let [given] = taken.variables.as_slice() else {
                panic!("{taken:?}");
            };
            let JobVariable {
                key,
                value,
                public,
                file,
                masked,
                raw,
            } = &given.variable;
            assert!(!public);
            let flags = [(file, "file"), (masked, "masked"), (raw, "raw")];
            let flags = flags.iter().filter(|(is_set, _)| **is_set);
            let flags: Vec<&str> = flags.map(|(_, name)| *name).collect();
            let scope = &given.scope;
            let shown = format!(
                "{key}={value} {scope} {} {}",
                given.is_protected,
                flags.join(" ")
            );
            assert_eq!(shown, expect);
            assert_eq!(given.source.to_string(), "g/p on git.example/x");
            assert!(!format!("{taken:?}").contains("hunter2"));
        };
        check(
            json!({"key": "A", "value": "hunter2"}),
            "A=hunter2 * false ",
        );
        check(
            json!({
                "key": "A", "value": "a\nb", "variable_type": "file", "protected": true,
                "environment_scope": "review/*",
            }),
            "A=a\nb review/* true file raw",
        );
        check(
            json!({"key": "1-x y", "value": "", "masked": true, "raw": true, "environment_scope": ""}),
            "1-x y= * false masked raw",
        );
        check(
            json!({"key": "A", "value": "b", "hidden": true}),
            "A=b * false masked",
        );
    }

    #[test]
    fn unusable_variables_are_noted() {
        let check = |variables: Value, own: &[&str], note: Option<&str>| {
            let taken = taken(variables, own);
            assert!(taken.variables.is_empty(), "{taken:?}");
            assert_eq!(taken.notes.first().map(String::as_str), note);
            assert!(taken.notes.len() <= 1, "{taken:?}");
        };
        let hidden = "left out, as GitLab does not show the values of hidden variables: A, B \
                      (--secret sets them)";
        let nulls =
            json!([{"key": "A", "value": null}, {"key": "A"}, {"key": "B", "hidden": true}]);
        check(nulls.clone(), &[], Some(hidden));
        check(nulls, &["B", "A"], None);
        let nameless = "left out, as no process can have such a variable: , a=b, \\u{1b}[2J\\n";
        let bad = json!([{"key": "", "value": "x"}, {"key": "a=b"}, {"key": "\u{1b}[2J\n"}]);
        check(bad, &[], Some(nameless));
        let nul = "left out, as their values have a NUL character: A";
        check(json!([{"key": "A", "value": "x\u{0}y"}]), &[], Some(nul));
    }

    #[test]
    fn many_names_are_shortened() {
        let names = vec!["A"; 60];
        assert!(list(&names).ends_with("A, A and 10 more"));
        assert_eq!(list(&names[..2]), "A, A");
    }
}
