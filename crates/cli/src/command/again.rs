use crate::args::{DialectArg, RunArgs};
use crate::quoted::quoted;
use runwright::pipeline::Plan;
use std::path::Path;

/// How to run one job of a run again, with the same settings.
pub(super) struct Again<'a> {
    settings: String,
    plan: &'a Plan,
}

impl<'a> Again<'a> {
    pub(super) fn new(args: &RunArgs, plan: &'a Plan) -> Self {
        let mut words = Vec::new();
        let mut option = |name: &str, value: &str| {
            words.push(format!(" {name} {}", quoted(value)));
        };
        let path = |path: &Path| path.display().to_string();
        if let Some(directory) = &args.project.cwd {
            option("-C", &path(directory));
        }
        if let Some(file) = &args.project.file {
            option("-f", &path(file));
        }
        if args.executor != runwright::shell::NAME {
            option("--executor", &args.executor);
        }
        for pair in &args.project.variable {
            option("--variable", &format!("{}={}", pair.key(), pair.value()));
        }
        for file in &args.project.variables_file {
            option("--variables-file", &path(file));
        }
        for secret in &args.project.secret {
            option("--secret", secret);
        }
        for pair in &args.project.input {
            option("--input", &format!("{}={}", pair.key(), pair.value()));
        }
        if args.project.dialect == DialectArg::Bitrab {
            option("--dialect", "bitrab");
        }
        let situation = args.project.situation.words();
        words.extend(situation.iter().map(|word| format!(" {}", quoted(word))));
        let elsewhere = args.project.elsewhere.words();
        words.extend(elsewhere.iter().map(|word| format!(" {}", quoted(word))));
        let isolation = args.isolation.words();
        words.extend(isolation.iter().map(|word| format!(" {word}")));
        let parallel = args.parallel.words();
        words.extend(parallel.iter().map(|word| format!(" {word}")));
        if args.login {
            words.push(" --login".to_owned());
        }
        Self {
            settings: words.concat(),
            plan,
        }
    }

    /// Returns the command line; a job that needs artifacts of others brings those jobs along.
    pub(super) fn command(&self, job: &str) -> String {
        let alone = self.plan.position(job).is_none_or(|at| {
            self.plan.jobs()[at]
                .needs
                .as_ref()
                .is_none_or(Vec::is_empty)
                && self.plan.dependencies(at).is_empty()
        });
        let needs = if alone { " --no-needs" } else { "" };
        format!("runwright run {}{needs}{}", quoted(job), self.settings)
    }
}
