//! The repository for rules.

use crate::project::Project;
use pipeline::repository::{Repository, RepositoryError};
use workstation::SituationOptions;

fn changed(project: &Project, situation: SituationOptions) -> Option<Vec<String>> {
    let pipeline = project.situated(situation);
    let changed = pipeline.repository().unwrap().changed_files().unwrap();
    changed.map(|paths| paths.to_vec())
}

fn push() -> SituationOptions {
    SituationOptions::default()
}

#[test]
fn a_push_changes_files_that_differ_from_the_server() {
    // R-GLCI-161
    let project = Project::new();
    project.write("gone", "1");
    project.write("old name", "1");
    project.write(".gitignore", "ignored\n");
    let before = project.commit("second");
    assert_eq!(changed(&project, push()), None, "a new branch");
    project.pushed("main", &before);
    assert_eq!(changed(&project, push()), None, "nothing to push");
    project.git(&["rm", "-q", "gone"]);
    project.git(&["mv", "old name", "new\tname"]);
    project.commit("third");
    project.write("new/untracked", "");
    project.write("ignored", "");
    project.write(".gitlab-ci.yml", "job: {script: make all}\n");
    let expect = [
        ".gitlab-ci.yml",
        "gone",
        "new\tname",
        "new/untracked",
        "old name",
    ];
    let expect = expect.map(str::to_owned).to_vec();
    assert_eq!(changed(&project, push()), Some(expect));
    let pipeline = project.situated(push());
    assert_eq!(pipeline.context().unwrap().commit.before_sha, before);
}

#[test]
fn a_branch_that_follows_another_one_is_new() {
    let project = Project::new();
    project.pushed("main", "HEAD");
    project.git(&["remote", "add", "origin", "git@gitlab.example:grp/app.git"]);
    project.git(&["checkout", "-q", "-b", "feature", "--track", "origin/main"]);
    project.write("a", "");
    assert_eq!(changed(&project, push()), None);
    project.pushed("feature", "HEAD");
    assert_eq!(changed(&project, push()), Some(vec!["a".to_owned()]));
}

#[test]
fn only_pushes_and_merge_requests_change_files() {
    // R-GLCI-161
    let project = Project::new();
    project.pushed("main", "HEAD");
    project.write("a", "");
    for source in ["web", "schedule", "api", "trigger", "pipeline"] {
        let situation = SituationOptions {
            source: Some(source.to_owned()),
            ..push()
        };
        assert_eq!(changed(&project, situation), None, "of {source}");
    }
    let tag = SituationOptions {
        tag: Some("v1".to_owned()),
        ..push()
    };
    assert_eq!(changed(&project, tag), None);
    let named = SituationOptions {
        changes: Some(vec!["./docs/x.md".to_owned()]),
        source: Some("web".to_owned()),
        ..push()
    };
    assert_eq!(changed(&project, named), Some(vec!["docs/x.md".to_owned()]));
}

#[test]
fn a_merge_request_changes_the_files_of_its_branch() {
    // R-GLCI-161
    let project = Project::new();
    project.git(&["checkout", "-q", "-b", "feature"]);
    project.write("of the branch", "1");
    project.commit("on the branch");
    project.git(&["checkout", "-q", "main"]);
    project.write("of main", "1");
    project.commit("on main");
    project.git(&["checkout", "-q", "feature"]);
    project.write("uncommitted", "1");
    let merge_request = |target: Option<&str>| SituationOptions {
        merge_request: true,
        target: target.map(str::to_owned),
        ..push()
    };
    let expect = ["of the branch", "uncommitted"].map(str::to_owned).to_vec();
    assert_eq!(changed(&project, merge_request(None)), Some(expect));
    assert_eq!(changed(&project, merge_request(Some("nowhere"))), None);
}

#[test]
fn compare_to_starts_at_the_merge_base() {
    // R-GLCI-161
    let project = Project::new();
    let first = project.git(&["rev-parse", "HEAD"]);
    project.write("on main", "1");
    project.commit("second");
    project.git(&["tag", "-a", "v1", "-m", "one"]);
    project.git(&["checkout", "-q", "-b", "feature", &first]);
    project.write("on feature", "1");
    project.commit("third");
    let pipeline = project.situated(push());
    let repository = pipeline.repository().unwrap();
    let since = |reference: &str| {
        repository
            .changed_since(reference)
            .map(|paths| paths.to_vec())
    };
    let expect = Ok(vec!["on feature".to_owned()]);
    for reference in ["main", "refs/heads/main", "v1", "refs/tags/v1", &first] {
        assert_eq!(since(reference), expect, "since {reference}");
    }
    assert_eq!(since("feature"), Ok(Vec::new()), "since the branch itself");
    // The server's branch is newer than the local one.
    project.pushed("main", "feature");
    let pipeline = project.situated(push());
    let since = pipeline.repository().unwrap().changed_since("main");
    assert_eq!(since.map(|paths| paths.to_vec()), Ok(Vec::new()));
}

#[test]
fn invalid_references_are_errors_and_never_options() {
    let project = Project::new();
    let pipeline = project.situated(push());
    let repository = pipeline.repository().unwrap();
    let marker = project.dir().join("marker");
    let upload_pack = format!("--upload-pack=touch {}", marker.display());
    let output = format!("--output={}", marker.display());
    for reference in [
        "gone",
        "",
        "-h",
        "--all",
        "refs/heads/-h",
        "../../HEAD",
        ";curl x|sh",
        "a\nb",
        &upload_pack,
        &output,
    ] {
        let unknown = RepositoryError::UnknownReference(reference.to_owned());
        assert_eq!(
            repository.changed_since(reference),
            Err(unknown),
            "{reference:?}"
        );
        assert!(
            repository
                .files_of("local/project", Some(reference))
                .is_err()
        );
    }
    assert!(!marker.exists());
}

#[test]
fn odd_branch_names_are_never_options_or_commands() {
    let project = Project::new();
    let marker = project.dir().join("marker");
    for name in [
        ";touch${IFS}marker|sh",
        "--upload-pack=touch${IFS}marker",
        "-h",
        "refs/heads/-h",
    ] {
        for merge_request in [false, true] {
            let situation = SituationOptions {
                branch: Some(name.to_owned()),
                merge_request,
                target: merge_request.then(|| name.to_owned()),
                ..push()
            };
            let pipeline = project.situated(situation);
            assert_eq!(pipeline.context().unwrap().commit.ref_name, name);
            let repository = pipeline.repository().unwrap();
            assert_eq!(repository.changed_files(), Ok(None), "of {name}");
        }
        let situation = SituationOptions {
            tag: Some(name.to_owned()),
            ..push()
        };
        let pipeline = project.situated(situation);
        assert_eq!(pipeline.context().unwrap().commit.tag_message, "");
    }
    assert!(!marker.exists());
}

#[test]
fn files_are_those_in_the_working_copies_of_jobs() {
    // R-GLCI-162
    let project = Project::new();
    project.write("src/tracked", "");
    project.write("gone", "");
    project.write(".gitignore", "ignored\n");
    project.commit("second");
    project.write("src/untracked", "");
    project.write("src/ignored", "");
    std::fs::remove_file(project.dir().join("gone")).unwrap();
    let pipeline = project.situated(push());
    let repository = pipeline.repository().unwrap();
    let expect = [
        ".gitignore",
        ".gitlab-ci.yml",
        "src/tracked",
        "src/untracked",
    ];
    assert_eq!(repository.files().unwrap().to_vec(), expect);
    let committed = [".gitignore", ".gitlab-ci.yml", "gone", "src/tracked"];
    let own = repository.files_of("Local/project", None).unwrap();
    assert_eq!(own.to_vec(), committed);
    // Without a remote, the location of another project is unknown.
    let error = repository.files_of("other/project", None).unwrap_err();
    let RepositoryError::Unreadable(reason) = error else {
        panic!("{error:?}");
    };
    assert!(
        reason.contains("the GitLab of the project is not known"),
        "{reason}"
    );
}

#[test]
fn contents_and_commits_have_ids() {
    let project = Project::new();
    project.write("-x *", "lock");
    let second = project.commit("second");
    project.commit("third");
    let pipeline = project.situated(push());
    let repository = pipeline.repository().unwrap();
    let blob = project.git(&["rev-parse", "HEAD:-x *"]);
    assert_eq!(repository.blob_id("-x *"), Ok(Some(blob)));
    assert_eq!(repository.last_commit_of("-x *"), Ok(Some(second)));
    for path in ["gone", "../project/.gitlab-ci.yml", "/etc/hostname"] {
        assert_eq!(repository.blob_id(path), Ok(None), "{path}");
        assert_eq!(repository.last_commit_of(path), Ok(None), "{path}");
    }
    // Uncommitted files are distinguished by their content.
    project.write("-x *", "changed");
    let pipeline = project.situated(push());
    let repository = pipeline.repository().unwrap();
    let changed = repository.last_commit_of("-x *").unwrap();
    assert_eq!(changed, repository.blob_id("-x *").unwrap());
}

#[test]
fn without_git_changes_are_unknown() {
    let project = Project::without_git();
    project.write(".gitlab-ci.yml", crate::project::PIPELINE);
    let pipeline = project.situated(push());
    let repository = pipeline.repository().unwrap();
    assert_eq!(repository.changed_files(), Ok(None));
    assert_eq!(repository.files().unwrap().to_vec(), [".gitlab-ci.yml"]);
    assert!(repository.changed_since("main").is_err());
}
