use super::Protection;
use super::answers::{Answers, Shelf};
use executor_core::variable::JobVariable;
use gitlab_api::{Instance, Variable};
use pipeline::config::variable_name_problem;
use pipeline::context::{GivenSource, GivenVariable};
use std::collections::HashSet;

/// The scope of a variable for all jobs.
const EVERYWHERE: &str = "*";

/// What is taken from a GitLab.
#[derive(Debug, Default)]
pub(in crate::local) struct Taken {
    /// The variables, the strongest last.
    pub(in crate::local) variables: Vec<GivenVariable>,
    /// Whether what the pipeline is for is protected.
    pub(in crate::local) protection: Protection,
    /// What the user should know.
    pub(in crate::local) notes: Vec<String>,
}

/// Returns the variables as a pipeline is given them; `own` are those that the user gives himself.
pub(super) fn given(answers: Answers, own: &[GivenVariable]) -> Taken {
    let mut reading = Reading {
        server: &answers.server,
        own: own.iter().map(|given| &*given.variable.key).collect(),
        variables: Vec::new(),
        hidden: Vec::new(),
        nameless: Vec::new(),
        unfit: Vec::new(),
    };
    for shelf in &answers.shelves {
        for variable in &shelf.variables {
            reading.read(shelf, variable);
        }
    }
    let mut notes = answers.notes;
    let mut note = |names: Vec<String>, reason: &str, help: &str| {
        if !names.is_empty() {
            notes.push(format!("left out, as {reason}: {}{help}", names.join(", ")));
        }
    };
    note(
        reading.hidden,
        "GitLab tells nobody the values of hidden variables",
        " (--secret gives them)",
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
    /// What the user gives himself.
    own: HashSet<&'a str>,
    variables: Vec<GivenVariable>,
    hidden: Vec<String>,
    nameless: Vec<String>,
    unfit: Vec<String>,
}

impl Reading<'_> {
    fn read(&mut self, shelf: &Shelf, variable: &Variable) {
        let name = &variable.key;
        let shown = name.escape_debug().to_string();
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
        self.variables.push(GivenVariable {
            variable: JobVariable {
                key: name.clone(),
                value: value.expose().to_owned(),
                // As GitLab has it: what is not masked is in logs, and nowhere else.
                public: false,
                file: is_file,
                masked: variable.masked || variable.hidden,
                raw: variable.raw || is_file,
            },
            level: shelf.level,
            scope: scope
                .filter(|scope| !scope.is_empty())
                .unwrap_or(EVERYWHERE)
                .to_owned(),
            is_protected: variable.protected,
            source: GivenSource::Server {
                server: self.server.address().to_owned(),
                path: shelf.path.clone(),
            },
        });
    }
}

/// Adds a name once.
fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}
