//! Variables from files.

use crate::project::Project;
use executor_core::variable::JobVariable;
use includes::FetchPolicy;
use pipeline::context::{ExternalSource, ExternalVariable};
use std::path::Path;
use workstation::{LocalError, PipelineOptions};

fn given(project: &Project, options: &PipelineOptions) -> Vec<ExternalVariable> {
    project.read(options).context().unwrap().external.clone()
}

fn with_file(project: &Project, text: &str) -> PipelineOptions {
    project.write_home("vars", text);
    PipelineOptions {
        variables_files: vec![project.home().join("vars")],
        ..project.options()
    }
}

#[test]
fn yaml_sets_attributes_of_variables() {
    let project = Project::new();
    project.write_home("key", "the key\n");
    let text = "
PLAIN: yes
NUMBER: 0755
KEY: ~/key
NO_FILE: /api/v1
FILE: {type: file, value: '/content'}
TEXT: {type: variable, value: ~/key}
TOKEN: {value: abcdefgh12, masked: true, protected: true, expand: false}
URL: {values: {'*': everywhere, 'review/*': review}}
";
    let options = with_file(&project, text);
    let read = given(&project, &options);
    let shown: Vec<_> = read
        .iter()
        .map(|given| {
            let JobVariable {
                key,
                value,
                file,
                masked,
                ..
            } = &given.variable;
            let flags = format!(
                "{}{}",
                if *file { "f" } else { "" },
                if *masked { "m" } else { "" }
            );
            format!("{key}={value:?} {flags} {}", given.scope)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "PLAIN=\"true\"  *",
            "NUMBER=\"493\"  *",
            "KEY=\"the key\\n\" f *",
            "NO_FILE=\"/api/v1\"  *",
            "FILE=\"/content\" f *",
            "TEXT=\"~/key\"  *",
            "TOKEN=\"abcdefgh12\" m *",
            "URL=\"everywhere\"  *",
            "URL=\"review\"  review/*",
        ]
    );
    assert!(read[6].is_protected && read[6].variable.raw);
    let pipeline = project.read(&options);
    let notes = pipeline.notes().unwrap().concat();
    assert!(notes.contains("TOKEN (`protected: true`)"), "{notes}");
    let path = project.home().join("vars").display().to_string();
    assert_eq!(read[3].source, ExternalSource::File { path, line: 5 });
    assert!(!format!("{read:?}").contains("abcdefgh12"));
}

#[test]
fn lines_are_read_byte_for_byte() {
    let project = Project::new();
    let options = with_file(
        &project,
        "# remark\nexport A=$(rm -rf /)`x`\nB=\"two\nlines\"\nC=~/key\n",
    );
    let read = given(&project, &options);
    let pairs: Vec<_> = read
        .iter()
        .map(|given| (given.variable.key.as_str(), given.variable.value.as_str()))
        .collect();
    assert_eq!(
        pairs,
        [("A", "$(rm -rf /)`x`"), ("B", "two\nlines"), ("C", "~/key")]
    );
}

#[test]
fn files_of_the_project_win_over_the_users_and_options_over_all() {
    let project = Project::new();
    project.git(&["remote", "add", "origin", "git@gitlab.example:grp/app.git"]);
    project.write_home(
        ".gitlab-ci-local/variables.yml",
        "global: {A: global, B: global, C: global, D: global, E: global, F: global}
group: {gitlab.example/grp/: {B: group, C: group, D: group, E: group, F: group}}
project: {gitlab.example/grp/app.git: {C: project, D: project, E: project, F: project}}
",
    );
    project.write(
        ".gitlab-ci-local-variables.yml",
        "D: file\nE: file\nF: file\n",
    );
    let options = PipelineOptions {
        variables: vec![JobVariable::public("F", "option")],
        ..with_file(&project, "E=named\nF=named\n")
    };
    let pipeline = project.read(&options);
    let context = pipeline.context().unwrap();
    let variables = context.pre_pipeline_variables();
    let values = ["A", "B", "C", "D", "E", "F"].map(|name| variables.get(name).unwrap());
    assert_eq!(
        values,
        ["global", "group", "project", "file", "named", "option"]
    );
}

#[test]
fn errors_have_a_location() {
    let project = Project::new();
    let options = with_file(
        &project,
        "A: [1]\nB: {typo: 1, value: x}\nC: {type: secret, value: {}}\n",
    );
    let found = project.errors(&options);
    for expect in [":1:4", ":2:5", ":3:11", ":3:26", "unknown key: typo"] {
        assert!(found.contains(expect), "no {expect} in {found}");
    }
    let options = with_file(&project, "A=1\nnonsense\n");
    assert!(project.errors(&options).contains(":2:1"));
    for (text, location) in [
        ("A: 1\nbad-name: 3\n", ":2:1"),
        ("bad name=3\nB=1\n", ":1:1"),
        ("B=1\nbad.name=3\n", ":2:1"),
    ] {
        let found = project.errors(&with_file(&project, text));
        assert!(found.contains(location), "{found}");
        assert!(
            found.contains("this is not the name of a variable"),
            "{found}"
        );
        assert!(!found.contains("bad"), "{found}");
    }
    let missing = PipelineOptions {
        variables_files: vec![project.home().join("missing")],
        ..project.options()
    };
    let error = project.find().read(&missing).expect_err("no file");
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn values_that_gitlab_refuses_to_mask_are_masked_with_a_note() {
    let project = Project::new();
    let options = with_file(&project, "SHORT: {value: abc, masked: true}\n");
    let pipeline = project.read(&options);
    assert!(pipeline.context().unwrap().external[0].variable.masked);
    let notes = pipeline.notes().unwrap().concat();
    assert!(
        notes.contains(":1:") && notes.contains("8 characters"),
        "{notes}"
    );
    assert!(!notes.contains("abc"), "{notes}");
}

#[test]
fn variables_of_a_server_need_a_server() {
    let project = Project::new();
    let mut options = project.options();
    options.remote.variables = true;
    options.remote.fetching = FetchPolicy::Offline;
    let error = project.find().read(&options).expect_err("refused");
    let LocalError::Variables(error) = error else {
        panic!("{error}");
    };
    let help = error.help().unwrap();
    assert!(help.contains("--offline and --gitlab-variables"), "{help}");
}

#[test]
fn nothing_that_came_with_a_project_names_files_outside() {
    let project = Project::new();
    project.write_home("secret", "hunter2");
    project.write("inside", "ok");
    let (root, home) = (project.dir(), project.home());
    let link = |name: &str, to: &Path| {
        let path = root.join(name);
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(to, path).unwrap();
    };
    link("way", &home);
    let refused = |what: &str| {
        let options = project.options();
        let refused = match project.find().read(&options) {
            Err(error) => executor_core::chain(&error),
            Ok(read) => read.diagnostics.to_string(),
        };
        assert!(
            refused.contains("it leads out of the project"),
            "{what}: {refused}"
        );
        assert!(!refused.contains("hunter2"), "{what}: {refused}");
    };
    let variables = ".gitlab-ci-local-variables.yml";
    let outside = home.join("secret").display().to_string();
    let through = root.join("way/secret").display().to_string();
    for value in ["~/secret", &outside, &through] {
        project.write(variables, format!("KEY: {value}\n"));
        refused(value);
    }
    let path = root.join("inside").display().to_string();
    project.write(
        variables,
        format!("KEY: {path}\nTEXT: {{type: variable, value: ~/secret}}\n"),
    );
    let read = given(&project, &project.options());
    assert_eq!(read[0].variable.value, "ok");
    assert_eq!(read[1].variable.value, "~/secret");
    project.write("vars", "KEY: ~/secret\n");
    let named = PipelineOptions {
        variables_files: vec![root.join("vars")],
        ..project.options()
    };
    let found = project.errors(&named);
    assert!(found.contains("it leads out of the project"), "{found}");
    link(variables, &home.join("secret"));
    refused(variables);
    std::fs::remove_file(root.join(variables)).unwrap();
    for path in ["way/secret", "../home/secret", &outside] {
        project.write(".gitlab-ci-local-env", format!("VARIABLES_FILE={path}\n"));
        refused(path);
        project.write(".gitlab-ci-local-env", format!("FILE={path}\n"));
        refused(path);
    }
    for file in [
        ".gitlab-ci-local-env",
        ".gitlab-ci-local.yml",
        ".gitlab-ci.yml",
    ] {
        link(file, &home.join("secret"));
        refused(file);
        std::fs::remove_file(root.join(file)).unwrap();
        project.write(".gitlab-ci.yml", "job: {script: [make]}\n");
    }
}
