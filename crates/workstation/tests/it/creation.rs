//! Pipelines that are created for a real repository.

use crate::project::Project;
use executor_core::variable::JobVariable;
use pipeline::Dialect;
use workstation::PipelineOptions;

/// Returns the names of the pipeline's jobs.
pub(crate) fn jobs(project: &Project, options: &PipelineOptions) -> Vec<String> {
    let pipeline = project.read(options);
    let creation = pipeline.create().unwrap();
    let included = creation.included();
    included.iter().map(|job| job.name().to_owned()).collect()
}

#[test]
fn files_are_included_from_the_working_tree() {
    // R-GLCI-147
    let project = Project::new();
    project.write(
        ".gitlab-ci.yml",
        "include: [/ci/a.yml, 'ci/more/**/*.yml', {local: 'ci/$NAME.yml', rules: [{if: $NAME}]}]\n",
    );
    project.write("ci/a.yml", "include: ci/nested.yml\na: {script: x}\n");
    project.write("ci/nested.yml", "nested: {script: x}\n");
    project.write("ci/more/b/c.yml", "c: {script: x}\n");
    project.write("ci/named.yml", "named: {script: x}\n");
    assert_eq!(jobs(&project, &project.options()), ["nested", "a", "c"]);
    let options = PipelineOptions {
        variables: vec![JobVariable::public("NAME", "named")],
        ..project.options()
    };
    assert_eq!(jobs(&project, &options), ["nested", "a", "c", "named"]);
    project.write(
        ".gitlab-ci.yml",
        "include: [ci/gone.yml, ../out.yml, ci/a.yml]\n",
    );
    let found = project.errors(&project.options());
    for expect in ["ci/gone.yml", "../out.yml"] {
        assert!(found.contains(expect), "no {expect} in {found}");
    }
}

#[test]
fn rules_of_includes_see_the_commit() {
    let project = Project::new();
    let rule = |condition: &str| format!("[{{local: ci/a.yml, rules: [{{if: {condition}}}]}}]");
    project.write("ci/a.yml", "a: {script: x}\n");
    project.write(
        ".gitlab-ci.yml",
        format!("include: {}\n", rule("$CI_COMMIT_TITLE == 'first'")),
    );
    assert_eq!(jobs(&project, &project.options()), ["a"]);
    let nested = format!(
        "include: {}\nb: {{script: x}}\n",
        rule("$CI_COMMIT_TITLE == 'first'")
    );
    project.write("ci/b.yml", nested);
    project.write(".gitlab-ci.yml", "include: ci/b.yml\n");
    assert_eq!(jobs(&project, &project.options()), ["a", "b"]);
    project.write(
        ".gitlab-ci.yml",
        format!(
            "include: {}\nb: {{script: x}}\n",
            rule("$CI_COMMIT_SHA == $X")
        ),
    );
    let options = PipelineOptions {
        variables: vec![JobVariable::public(
            "X",
            project.git(&["rev-parse", "HEAD"]),
        )],
        ..project.options()
    };
    assert_eq!(jobs(&project, &options), ["a", "b"]);
}

#[test]
fn bitrab_includes_relative_to_the_including_file() {
    // R-PIPE-05
    let project = Project::new();
    project.write(".gitlab-ci.yml", "include: ci/a.yml\njob: {script: mine}\n");
    project.write(
        "ci/a.yml",
        "include: [deep/b.yml]\na: {script: x}\njob: {script: theirs, stage: build}\n",
    );
    project.write("ci/deep/b.yml", "include: ../c.yml\nb: {script: x}\n");
    project.write("ci/c.yml", "c: {script: x}\n");
    let options = PipelineOptions {
        dialect: Dialect::Bitrab,
        ..project.options()
    };
    assert_eq!(jobs(&project, &options), ["job", "c", "b", "a"]);
    assert!(project.errors(&project.options()).contains("deep/b.yml"));
}

#[test]
fn rules_see_variables_and_the_project() {
    // R-PIPE-18
    let project = Project::new();
    project.write(
        ".gitlab-ci.yml",
        "
variables: {LEVEL: file}
by-variable: {script: x, rules: [{if: $LEVEL == 'given', when: manual}]}
by-base: {script: x, rules: [{if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH}]}
by-directory: {script: x, rules: [{exists: [here]}]}
never: {script: x, rules: [{if: $LEVEL == 'file'}]}
",
    );
    project.write("here", "");
    let options = PipelineOptions {
        variables: vec![JobVariable::public("LEVEL", "given")],
        ..project.options()
    };
    assert_eq!(
        jobs(&project, &options),
        ["by-variable", "by-base", "by-directory"]
    );
}
