use crate::project::gitlab_ci_local::OVERLAY;
use gitlab_api::{LintAnswer, LintInclude};

/// How many files a note lists.
const MAX_NAMES: usize = 5;

/// The context of a file that a GitLab reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct LintContext<'s> {
    /// The name of the GitLab in messages.
    pub(super) server: &'s str,
    /// The project's path there.
    pub(super) project: &'s str,
    /// Whether the user sets variables.
    pub(super) has_variables: bool,
    /// Whether a file is merged over the result.
    pub(super) has_overlay: bool,
}

/// Returns how the GitLab's reading of `text` may differ from the working tree.
pub(super) fn notes(text: &str, answer: &LintAnswer, context: &LintContext<'_>) -> Vec<String> {
    let LintContext {
        server,
        project,
        has_variables,
        has_overlay,
    } = context;
    let mut notes = Vec::new();
    if answer.includes.is_empty() && !text.contains("include") {
        return notes;
    }
    let unknown = if *has_variables {
        "neither the situation nor the variables given here count"
    } else {
        "the situation does not count"
    };
    notes.push(format!(
        "{server} decides what is included, for the default branch of {project}: {unknown} there"
    ));
    let is_own = |include: &&LintInclude| {
        let home = include.context_project.as_deref();
        let is_own_home = home.is_none_or(|home| home.eq_ignore_ascii_case(project));
        include.kind.as_deref() == Some("local") && is_own_home
    };
    let own = answer.includes.iter().filter(is_own);
    let mut files: Vec<&str> = own.filter_map(|it| it.location.as_deref()).collect();
    files.sort_unstable();
    files.dedup();
    if !files.is_empty() {
        let more = files.len().saturating_sub(MAX_NAMES);
        files.truncate(MAX_NAMES);
        let files = files.join(", ");
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        notes.push(format!(
            "read from the default branch there, not from the working tree: {files}{more}"
        ));
    }
    let extends = answer.merged_yaml.as_deref();
    if *has_overlay && extends.is_some_and(|text| text.contains("extends:")) {
        notes.push(format!(
            "what {OVERLAY} changes in a job does not reach the jobs that extend it: {server} \
             applied `extends` before"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn include(kind: &str, location: &str, project: &str) -> LintInclude {
        LintInclude {
            kind: Some(kind.to_owned()),
            location: Some(location.to_owned()),
            context_project: Some(project.to_owned()),
            ..LintInclude::default()
        }
    }

    fn shown(text: &str, includes: Vec<LintInclude>, given: bool, overlay: bool) -> String {
        let answer = LintAnswer {
            includes,
            merged_yaml: Some("a:\n  extends: b\n".to_owned()),
            ..LintAnswer::default()
        };
        let context = LintContext {
            server: "gitlab.example.com",
            project: "g/app",
            has_variables: given,
            has_overlay: overlay,
        };
        notes(text, &answer, &context).join("\n")
    }

    #[test]
    fn files_without_includes_have_no_notes() {
        assert_eq!(shown("a: {script: b}", Vec::new(), true, false), "");
    }

    #[test]
    fn differences_from_the_working_tree_are_noted() {
        let includes = vec![
            include("local", "ci/b.yml", "G/app"),
            include("local", "ci/a.yml", "g/app"),
            include("local", "ci/a.yml", "g/app"),
            include("local", "of/another.yml", "g/other"),
            include("file", "x.yml", "g/app"),
        ];
        let expect = "\
gitlab.example.com decides what is included, for the default branch of g/app: neither the situation \
nor the variables given here count there
read from the default branch there, not from the working tree: ci/a.yml, ci/b.yml
what .gitlab-ci-local.yml changes in a job does not reach the jobs that extend it: \
gitlab.example.com applied `extends` before";
        assert_eq!(shown("include: x", includes, true, true), expect);
        let many = (0..7).map(|at| include("local", &format!("{at}.yml"), "g/app"));
        let expect = "\
gitlab.example.com decides what is included, for the default branch of g/app: the situation does \
not count there
read from the default branch there, not from the working tree: 0.yml, 1.yml, 2.yml, 3.yml, 4.yml \
and 2 more";
        assert_eq!(shown("", many.collect(), false, false), expect);
    }
}
