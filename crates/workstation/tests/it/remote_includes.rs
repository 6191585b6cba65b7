//! Included files from a GitLab, from the pipeline file to the jobs.

use crate::project::Project;
use gitlab_testkit::{GitLab, Page};
use includes::{FetchPolicy, Vendored};
use pipeline::create::CreatedJob;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use workstation::{PipelineOptions, RemoteOptions};

const TOKEN: &str = "glpat-of-this-test";

/// Returns a GitLab with a project of templates and components that requires a token.
fn gitlab() -> GitLab {
    let gitlab = GitLab::start();
    gitlab.token(TOKEN, &["read_api"]);
    let templates = gitlab.project("group/templates").private();
    templates.commit(&[
        (
            "ci/test.yml",
            "include: /ci/base.yml\ntest: {extends: .base}",
        ),
        ("ci/base.yml", ".base: {script: make test}"),
        ("ci/lint.yml", "lint: {script: make lint}"),
        ("ci/more/a.yml", "a: {script: a}"),
        ("ci/more/b.yml", "b: {script: b}"),
        ("ci/all.yml", "include: ci/more/*.yml"),
        (
            "templates/scan.yml",
            "spec:\n  component: [name, sha, version, reference]\n  inputs: {level: {default: low}}\n---\n\
             scan:\n  script: echo $[[ component.name ]] $[[ component.version ]] $[[ component.reference ]] $[[ inputs.level ]]",
        ),
        ("templates/deep/template.yml", "deep: {script: deep}"),
    ]);
    templates.tags(&["0.9.0", "1.0.0", "1.1.0", "2.0.0-rc.1"]);
    gitlab
}

/// Adds the project's remote on the GitLab, and a token to the user's settings.
fn connect(project: &Project, gitlab: &GitLab) {
    let remote = format!("{}/group/app.git", gitlab.url());
    project.git(&["remote", "add", "origin", &remote]);
    let settings = format!(
        "[[gitlab.instance]]\nurl = \"{}\"\ntoken = \"{TOKEN}\"\n",
        gitlab.url()
    );
    project.write_home(".runwright/config.toml", &settings);
    let file = project.home().join(".runwright/config.toml");
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
}

fn options(project: &Project) -> PipelineOptions {
    PipelineOptions {
        remote: RemoteOptions {
            directory: Some(project.home().join(".runwright")),
            ..RemoteOptions::default()
        },
        ..project.options()
    }
}

/// Returns the names of the jobs.
fn jobs(project: &Project, options: &PipelineOptions) -> Vec<String> {
    let pipeline = project.read(options);
    let jobs = pipeline.resolved().jobs.iter();
    jobs.map(|job| job.definition.name.clone()).collect()
}

fn with_fetching(options: &PipelineOptions, fetching: FetchPolicy) -> PipelineOptions {
    let mut options = options.clone();
    options.remote.fetching = fetching;
    options
}

#[test]
fn files_and_components_of_other_projects_are_included() {
    // R-GLCI-150 R-GLCI-151 R-GLCI-153
    let gitlab = gitlab();
    let project = Project::new();
    connect(&project, &gitlab);
    let host = gitlab.name();
    project.write(
        ".gitlab-ci.yml",
        format!(
            "include:\n\
             - {{project: group/templates, ref: main, file: [ci/test.yml, /ci/lint.yml, ci/all.yml]}}\n\
             - {{component: {host}/group/templates/scan@1, inputs: {{level: high}}}}\n\
             - component: $CI_SERVER_FQDN/group/templates/deep@~latest\n"
        ),
    );
    let options = options(&project);
    let expect = ["test", "lint", "a", "b", "scan", "deep"];
    assert_eq!(jobs(&project, &options), expect);
    let scan = project.read(&options);
    let scan = scan
        .resolved()
        .jobs
        .iter()
        .find(|job| &*job.definition.name == "scan");
    let script = format!("{:?}", scan.unwrap().definition);
    assert!(script.contains("echo scan 1.1.0 1 high"), "{script}");

    // The branch, the tags, the paths, and each file once; `deep` is tried at two paths.
    let api = |rest: &str| format!("/api/v4/projects/group%2Ftemplates/repository{rest}");
    assert_eq!(gitlab.count("GET", &api("/commits/*")), 1);
    assert_eq!(gitlab.count("GET", &api("/tags")), 1);
    assert_eq!(gitlab.count("GET", &api("/tree")), 1);
    assert_eq!(gitlab.count("GET", &api("/files/*")), 9);
    assert_eq!(gitlab.total(), 12, "{:?}", gitlab.requests());
    assert!(
        gitlab
            .requests()
            .iter()
            .all(|it| it.token().as_deref() == Some(TOKEN))
    );

    // Fetched files are cached; those that may change are requested again only on refresh.
    gitlab.reset_count();
    assert_eq!(
        jobs(&project, &with_fetching(&options, FetchPolicy::Usual)),
        expect
    );
    assert_eq!(
        jobs(&project, &with_fetching(&options, FetchPolicy::Offline)),
        expect
    );
    assert_eq!(gitlab.total(), 0);
    // The branch, the tags, and the file that is missing at a commit.
    assert_eq!(
        jobs(&project, &with_fetching(&options, FetchPolicy::Refresh)),
        expect
    );
    assert_eq!(gitlab.total(), 3, "{:?}", gitlab.requests());
}

#[test]
fn files_without_remote_includes_need_no_server_and_no_settings() {
    // R-GLCI-166
    let gitlab = gitlab();
    let project = Project::new();
    connect(&project, &gitlab);
    // Invalid settings cause no error, so they are not read.
    project.write_home(".runwright/config.toml", "what is this?");
    project.write("ci.yml", "job: {script: make}");
    project.write(".gitlab-ci.yml", "include: ci.yml\nother: {script: make}");
    let options = options(&project);
    assert_eq!(jobs(&project, &options), ["job", "other"]);
    assert_eq!(gitlab.total(), 0);
    assert!(!project.home().join(".runwright/cache").exists());

    project.write(
        ".gitlab-ci.yml",
        "include: {project: group/templates, file: ci/lint.yml}",
    );
    let errors = project.errors(&options);
    assert!(errors.contains("config.toml:1:"), "{errors}");
    assert_eq!(gitlab.total(), 0);
}

#[test]
fn failed_includes_are_reported_at_their_location() {
    let gitlab = gitlab();
    let project = Project::new();
    connect(&project, &gitlab);
    let host = gitlab.name();
    let check = |include: &str, expect: &[&str]| {
        project.write(
            ".gitlab-ci.yml",
            format!("include:\n  - {include}\njob: {{script: m}}\n"),
        );
        let errors = project.errors(&options(&project));
        for expect in expect.iter().copied().chain([".gitlab-ci.yml:2:"]) {
            assert!(errors.contains(expect), "{include}: {errors}");
        }
        assert!(!errors.contains(TOKEN), "{errors}");
    };
    check(
        "{project: group/templates, file: ci/none.yml}",
        &[
            "error[include-missing]",
            "`group/templates/ci/none.yml` does not exist",
        ],
    );
    check(
        "{project: group/templates, ref: none, file: ci/lint.yml}",
        &["error[include-missing]", "no branch, tag or commit `none`"],
    );
    check(
        "{project: group/none, file: ci/lint.yml}",
        &["error[include-denied]", "config.toml", "help: "],
    );
    check(
        "{project: templates, file: ci/lint.yml}",
        &["error[invalid-include]", "group/project"],
    );
    check(
        &format!("component: {host}/group/templates/none@1.0.0"),
        &[
            "error[include-missing]",
            "help: expected `templates/none.yml`",
        ],
    );
    check(
        &format!("component: {host}/group/templates/scan@7"),
        &[
            "error[include-missing]",
            "no version `7`",
            "the highest version among the tags is `1.1.0`",
        ],
    );
    check(
        &format!("component: {host}/group/templates/scan"),
        &[
            "error[invalid-include]",
            "no version",
            "HOST/GROUP/PROJECT/NAME@VERSION",
        ],
    );
    check(
        "component: /group/templates/scan@1",
        &["error[invalid-include]", "does not start with a host"],
    );
    check(
        "remote: http://169.254.169.254/latest/meta.yml",
        &["error[include-denied]", "help: "],
    );
}

#[test]
fn remote_file_that_includes_itself_is_fetched_once() {
    // R-GLCI-148 R-PIPE-06
    let gitlab = gitlab();
    let project = Project::new();
    connect(&project, &gitlab);
    let url = gitlab.page("/loop.yml", "placeholder");
    gitlab.page(
        "/loop.yml",
        format!("include: {{remote: '{url}'}}\nlooped: {{script: make}}").as_str(),
    );
    project.write(".gitlab-ci.yml", format!("include: {{remote: '{url}'}}"));
    let errors = project.errors(&options(&project));
    assert!(errors.contains("error[too-many-includes]"), "{errors}");
    assert!(errors.contains("more than 150 files"), "{errors}");
    assert_eq!(gitlab.count("GET", "/loop.yml"), 1);
    // The GitLab's token is not sent to its pages.
    assert_eq!(gitlab.requests()[0].token(), None);
}

#[test]
fn integrity_of_remote_files_is_checked() {
    let gitlab = gitlab();
    let project = Project::new();
    connect(&project, &gitlab);
    let url = gitlab.page(
        "/utf16.yml",
        Page::new(b"\xff\xfej\0:\0 \0{\0s\0c\0r\0i\0p\0t\0:\0 \0m\0}\0".to_vec()),
    );
    let include = |digest: &str| {
        let text = format!("include: {{remote: '{url}', integrity: 'sha256-{digest}'}}");
        project.write(".gitlab-ci.yml", text);
    };
    include("rdOfLVk33yL0B0Yp1I8vfM9vg6M9Zn3UJ6Qyg4k8pPM=");
    let errors = project.errors(&options(&project));
    assert!(errors.contains("error[include-integrity]"), "{errors}");
    let got = errors.split("its digest is `sha256-").nth(1).unwrap();
    include(got.split('`').next().unwrap());
    assert_eq!(jobs(&project, &options(&project)), ["j"]);
}

#[test]
fn components_of_the_project_itself_come_from_the_working_tree() {
    let gitlab = gitlab();
    let project = Project::new();
    connect(&project, &gitlab);
    project.write("templates/build.yml", "spec: {component: [sha, version]}\n---\nbuild: {script: 'make $[[ component.sha ]]$[[ component.version ]]'}");
    project.write("templates/deep/template.yml", "include: templates/part.yml");
    project.write("templates/part.yml", "part: {script: make}");
    project.write(
        ".gitlab-ci.yml",
        "include:\n\
         - component: $CI_SERVER_FQDN/$CI_PROJECT_PATH/build@$CI_COMMIT_SHA\n\
         - component: $CI_SERVER_FQDN/Group/App/deep@main\n",
    );
    let pipeline = project.read(&options(&project));
    let build = format!("{:?}", pipeline.resolved().jobs[0].definition);
    assert!(
        build.contains(&project.git(&["rev-parse", "HEAD"])),
        "{build}"
    );
    assert_eq!(jobs(&project, &options(&project)), ["build", "part"]);
    assert_eq!(gitlab.total(), 0);

    // Another version comes from the server.
    project.write(
        ".gitlab-ci.yml",
        "include: [{component: $CI_SERVER_FQDN/group/app/build@1.0.0}]",
    );
    let server = gitlab.project("group/app");
    server.commit(&[("templates/build.yml", "of-the-server: {script: make}")]);
    server.tag("1.0.0");
    assert_eq!(jobs(&project, &options(&project)), ["of-the-server"]);
}

#[test]
fn rules_exists_may_name_another_project() {
    let gitlab = gitlab();
    let project = Project::new();
    connect(&project, &gitlab);
    let rule = |path: &str| {
        format!("{{exists: {{paths: [{path}], project: group/templates, ref: 1.0.0}}}}")
    };
    project.write(
        ".gitlab-ci.yml",
        format!(
            "include:\n- {{local: a.yml, rules: [{}]}}\n- {{local: none.yml, rules: [{}]}}\n\
             has: {{script: m, rules: [{}]}}\nlacks: {{script: m, rules: [{}]}}\n",
            rule("ci/lint.yml"),
            rule("none"),
            rule("ci/more/*.yml"),
            rule("none"),
        ),
    );
    project.write("a.yml", "a: {script: m}");
    let pipeline = project.read(&options(&project));
    let created = pipeline.create().unwrap();
    let jobs: Vec<&str> = created
        .jobs
        .iter()
        .filter(|job| job.is_included)
        .map(CreatedJob::name)
        .collect();
    assert_eq!(jobs, ["a", "has"]);
    // One request for the tag, and one for the list of files.
    assert_eq!(gitlab.total(), 2, "{:?}", gitlab.requests());
}

#[test]
fn a_lock_file_needs_no_server() {
    let gitlab = gitlab();
    let project = Project::new();
    connect(&project, &gitlab);
    project.write(
        ".gitlab-ci.yml",
        format!(
            "include: [{{component: {}/group/templates/scan@1}}]",
            gitlab.name()
        ),
    );
    let mut options = options(&project);
    options.remote.unlocked = true;
    let records = project.read(&options).remote_records();
    Vendored::write(&project.dir(), &records, None).unwrap();
    drop(gitlab);

    fs::remove_dir_all(project.home().join(".runwright/cache")).unwrap();
    options.remote.unlocked = false;
    assert_eq!(jobs(&project, &options), ["scan"]);
    assert_eq!(
        jobs(&project, &with_fetching(&options, FetchPolicy::Offline)),
        ["scan"]
    );
    let refreshed = project.read(&with_fetching(&options, FetchPolicy::Refresh));
    let notes = refreshed.notes().unwrap().join("\n");
    assert!(notes.contains(".runwright.lock"), "{notes}");
}

#[test]
fn git_is_used_if_the_api_refuses() {
    let gitlab = gitlab();
    gitlab.job_token("job-token-of-this-test");
    let project = Project::new();
    connect(&project, &gitlab);
    let settings = format!(
        "[[gitlab.instance]]\nurl = \"{}\"\ntoken = \"job-token-of-this-test\"\n\
         token-kind = \"job\"\ngit = \"https\"\n",
        gitlab.url()
    );
    project.write_home(".runwright/config.toml", &settings);
    project.write(
        ".gitlab-ci.yml",
        "include: [{project: group/templates, ref: 1.0.0, file: [ci/test.yml, ci/all.yml]}]",
    );
    assert_eq!(jobs(&project, &options(&project)), ["test", "a", "b"]);
    let of_git = "/group/templates.git/git-upload-pack";
    assert!(gitlab.count("POST", of_git) > 0, "{:?}", gitlab.requests());
}
