//! Settings files of gitlab-ci-local.

use crate::project::Project;
use serde_json::Value;
use std::path::Path;
use workstation::{DEFAULT_FILE, LocalProject, PipelineOptions};

#[test]
fn options_of_a_file_are_used_or_noted() {
    let project = Project::new();
    project.write(
        "ci/main.yml",
        "# @Description Builds\nbuild: {script: make}\n",
    );
    project.write(
        ".gitlab-ci-local-env",
        "FILE=ci/main.yml\nVARIABLE=A=1 B=2\nPRIVILEGED=true\nLIST=false\nUNSET_VARIABLE=CI\n",
    );
    project.write_home(
        ".gitlab-ci-local/.env",
        "VARIABLE=\"A=home C=3\"\nFILE=x.yml\n",
    );
    let pipeline = project.read(&project.options());
    let context = pipeline.context().unwrap();
    assert_eq!(context.config_path, "ci/main.yml");
    let variables = context.pre_pipeline_variables();
    let values = ["A", "B", "C"].map(|name| variables.get(name).unwrap());
    assert_eq!(values, ["1", "2", "3"]);
    assert_eq!(variables.get("CI"), None);
    let notes = pipeline.notes().unwrap().concat();
    assert!(
        notes.contains(".gitlab-ci-local-env:3: PRIVILEGED"),
        "{notes}"
    );
    assert!(!notes.contains("LIST"), "{notes}");
    assert!(notes.contains("~/.gitlab-ci-local/.env: FILE"), "{notes}");
    let build = pipeline.decorations().of("build").expect("decorated");
    assert_eq!(build.description.as_deref(), Some("Builds"));
}

#[test]
fn the_remote_of_gitlab_ci_local_is_preferred() {
    let project = Project::new();
    project.git(&["remote", "add", "origin", "git@github.com:fork/app.git"]);
    project.git(&[
        "remote",
        "add",
        "gcl-origin",
        "ssh://git@gitlab.example:2222/grp/sub/app.git",
    ]);
    let pipeline = project.read(&project.options());
    let context = pipeline.context().unwrap();
    assert_eq!(context.project.path, "grp/sub/app");
    assert_eq!(context.server_url, "https://gitlab.example");
}

#[test]
fn bitrab_file_wins() {
    // R-PIPE-01
    let project = Project::new();
    let file = |named: Option<&Path>| {
        let found = LocalProject::find(&project.dir(), named).unwrap();
        found.file().to_owned()
    };
    assert_eq!(file(None), Path::new(DEFAULT_FILE));
    project.write(".bitrab-ci.yml", "local: {script: make}\n");
    assert_eq!(file(None), Path::new(".bitrab-ci.yml"));
    assert_eq!(file(Some(Path::new(DEFAULT_FILE))), Path::new(DEFAULT_FILE));
    std::fs::remove_file(project.dir().join(DEFAULT_FILE)).unwrap();
    assert_eq!(file(None), Path::new(".bitrab-ci.yml"));
}

#[test]
fn the_second_pipeline_file_is_merged_over_the_first() {
    let project = Project::new();
    project.write(".gitlab-ci.yml", "job: {script: make, stage: build}\n");
    project.write("ci/mine.yml", "# @Description Mine\nmine: {script: x}\n");
    project.write(
        ".gitlab-ci-local.yml",
        "include: ci/mine.yml\n# @Interactive\njob: {script: make local}\n",
    );
    let pipeline = project.read(&project.options());
    let creation = pipeline.create().unwrap();
    let job = creation.job("job").expect("there");
    assert_eq!(job.definition.stage, "build");
    assert_eq!(
        serde_json::to_value(&job.definition.script).unwrap(),
        serde_json::json!(["make local"])
    );
    assert!(creation.job("mine").is_some());
    let mine = pipeline.decorations().of("mine").expect("decorated");
    assert_eq!(mine.description.as_deref(), Some("Mine"));
    assert!(
        pipeline
            .decorations()
            .of("job")
            .expect("decorated")
            .is_interactive
    );
    let notes = pipeline.notes().unwrap().concat();
    assert!(
        notes.contains(".gitlab-ci-local.yml is merged over"),
        "{notes}"
    );
    assert!(
        notes.contains("@Interactive of `job` is ignored"),
        "{notes}"
    );
}

/// A project with inputs in its own file, in an included one, and in a component, whose jobs are named by them.
fn with_inputs() -> Project {
    let project = Project::new();
    project.git(&["remote", "add", "origin", "git@gitlab.com:group/app.git"]);
    let header = "spec: {inputs: {name: {default: none}}}\n---\n";
    project.write(
        "ci/part.yml",
        format!("{header}part-$[[ inputs.name ]]: {{script: make}}\n"),
    );
    project.write(
        "templates/scan.yml",
        format!("{header}scan-$[[ inputs.name ]]: {{script: make}}\n"),
    );
    let include = "include:\n- {local: ci/part.yml, inputs: {name: passed}}\n\
                   - component: $CI_SERVER_FQDN/group/app/scan@$CI_COMMIT_SHA\n";
    let own = "own-$[[ inputs.name ]]: {script: make}\n";
    project.write(".gitlab-ci.yml", format!("{header}{include}{own}"));
    project
}

fn jobs(project: &Project, options: &PipelineOptions) -> Vec<String> {
    let pipeline = project.read(options);
    let jobs = &pipeline.resolved().jobs;
    jobs.iter().map(|job| job.definition.name.clone()).collect()
}

#[test]
fn inputs_of_a_file_and_of_components_override_those_of_includes() {
    let project = with_inputs();
    let check = |file: &str, given: &[(&str, &str)], expect: [&str; 3]| {
        project.write(".gitlab-ci-local-inputs.yml", file);
        let given = given.iter();
        let given = given.map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
        let options = PipelineOptions {
            inputs: given.collect(),
            ..project.options()
        };
        assert_eq!(jobs(&project, &options), expect, "{file}");
    };
    check("# none\n", &[], ["part-passed", "scan-none", "own-none"]);
    check("name: all\n", &[], ["part-all", "scan-all", "own-all"]);
    let sections = "_global: {name: all}\nscan: {name: file}\n";
    check(sections, &[], ["part-all", "scan-file", "own-all"]);
    let given = [("name", "me"), ("scan:name", "mine")];
    check(sections, &given, ["part-all", "scan-mine", "own-me"]);
}

#[test]
fn inputs_that_nothing_takes_are_reported() {
    let project = with_inputs();
    let found = |file: &str| {
        project.write("in.yml", file);
        let options = PipelineOptions {
            inputs_file: Some(project.dir().join("in.yml")),
            ..project.options()
        };
        let checked = project.find().read(&options).unwrap();
        checked.diagnostics.to_string()
    };
    let text = found("_global: {nmae: x}\nbuild: {name: x}\n");
    for part in [
        "warning[unused-input]: no file declares the input `nmae`",
        "in.yml:1:11",
        "inputs are set for `build`, but no such component is included",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let text = found("scan: {nmae: x}\n");
    assert!(text.contains("unknown input arguments: nmae"), "{text}");
    let text = found("_global: {name: x}\nname: y\n");
    assert!(text.contains("put `name` into `_global`"), "{text}");
    let text = found("[x]\n");
    assert!(text.contains("expected a mapping of inputs"), "{text}");
}

#[test]
fn unset_variables_are_in_no_job_and_no_rule() {
    let project = Project::new();
    project.write(
        ".gitlab-ci.yml",
        "variables: {MODE: a}\njob: {script: make, rules: [{if: $CI == null && $MODE == null}]}\n",
    );
    let options = PipelineOptions {
        unset_variables: vec!["CI".to_owned()],
        environment: vec![("GCL_UNSET_VARIABLE".to_owned(), "MODE;X".to_owned())],
        ..project.options()
    };
    let pipeline = project.read(&options);
    let creation = pipeline.create().unwrap();
    assert!(creation.job("job").expect("there").is_included);
    let notes = pipeline.notes().unwrap();
    assert_eq!(
        notes,
        ["there is no variable X to remove (--unset-variable)"]
    );
    let creation = project.read(&project.options()).create().unwrap();
    assert!(!creation.job("job").expect("there").is_included);
}

#[test]
fn the_greatest_number_of_includes_can_be_set() {
    let project = with_inputs();
    let options = |most| PipelineOptions {
        maximum_includes: Some(most),
        ..project.options()
    };
    assert_eq!(jobs(&project, &options(2)).len(), 3);
    let errors = project.errors(&options(1));
    assert!(
        errors.contains("more than 1 files are included"),
        "{errors}"
    );
}

#[test]
fn patterns_of_ignored_files_are_noted() {
    let project = Project::new();
    project.write(".gitlab-ci-local-ignores", "*.log\n");
    let pipeline = project.read(&project.options());
    let notes = pipeline.notes().unwrap().concat();
    assert!(
        notes.contains(".gitlab-ci-local-ignores is ignored"),
        "{notes}"
    );
}
