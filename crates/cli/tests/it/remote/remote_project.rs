//! A project on a test GitLab, and the binary run in it by a user who knows no other server.

use crate::project::{Done, Project};
use gitlab_testkit::GitLab;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// The token of the user, which no output may contain.
pub(crate) const TOKEN: &str = "glpat-e2eSecretOfTheTest";

/// Variables by which the environment of a user or a CI job may name GitLabs.
const FOREIGN: [&str; 16] = [
    "CI_JOB_ID",
    "CI_JOB_TOKEN",
    "CI_SERVER_URL",
    "GITLAB_ACCESS_TOKEN",
    "GITLAB_HOST",
    "GITLAB_TOKEN",
    "GITLAB_URI",
    "GLCI_PREFER_API",
    "GL_HOST",
    "OAUTH_TOKEN",
    "RUNWRIGHT_GITLAB",
    "RUNWRIGHT_GITLAB_TOKEN",
    "all_proxy",
    "ALL_PROXY",
    "http_proxy",
    "GLAB_CONFIG_DIR",
];

/// A project and its GitLab.
#[derive(Debug)]
pub(crate) struct RemoteProject {
    pub(crate) gitlab: GitLab,
    pub(crate) project: Project,
}

impl RemoteProject {
    /// Returns a project on this GitLab with this pipeline file: see [`RemoteProject::pipeline`]. The user's settings name the
    /// GitLab, the token and the location of the templates.
    pub(crate) fn new(gitlab: GitLab, pipeline: &str) -> Self {
        let project = Project::with_pipeline("");
        let remote = format!("{}/group/app.git", gitlab.url());
        project.git(&["remote", "add", "origin", &remote]);
        gitlab.token(TOKEN, &["read_api"]);
        let remote_project = Self { gitlab, project };
        let url = remote_project.gitlab.url();
        remote_project.settings(&format!("[include]\ntemplates = \"{url}/templates/\"\n"));
        remote_project.pipeline(pipeline);
        remote_project
    }

    /// Replaces the pipeline file of the project. `HOST` is replaced by the GitLab's name and `URL` by its address.
    pub(crate) fn pipeline(&self, text: &str) {
        let text = text.replace("HOST", &self.gitlab.name());
        let text = text.replace("URL", &self.gitlab.url());
        self.project.write(".gitlab-ci.yml", &text);
    }

    /// Adds these lines to the user's settings, after those about the GitLab.
    pub(crate) fn settings(&self, more: &str) {
        let url = self.gitlab.url();
        self.only_settings(&format!(
            "[[gitlab.instance]]\nurl = \"{url}\"\ntoken = \"{TOKEN}\"\n{more}"
        ));
    }

    /// Replaces the user's settings with these.
    pub(crate) fn only_settings(&self, text: &str) {
        let file = self.project.home().join("config.toml");
        fs::create_dir_all(self.project.home()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Returns the binary, set up to run in the project for a user with an empty home.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.project.command(arguments);
        let home = self.project.scratch().join("person");
        command.env("HOME", &home).env("XDG_CONFIG_HOME", &home);
        for name in FOREIGN {
            command.env_remove(name);
        }
        command
    }

    /// Runs the binary until it exits, and asserts that it does not print the token.
    pub(crate) fn runwright(&self, arguments: &[&str]) -> Done {
        let done = Done::from(self.command(arguments).output().unwrap());
        assert!(!done.all().contains(TOKEN), "{}", done.all());
        done
    }

    /// Returns the jobs with the first line of their scripts: `build: make`, ordered by name.
    pub(crate) fn jobs(&self, arguments: &[&str]) -> Vec<String> {
        let all = [&["list", "--json"], arguments].concat();
        let listed = self.runwright(&all).expect_code(0).stdout;
        let jobs: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let text = |job: &serde_json::Value| {
            let (name, script) = (job["name"].as_str(), job["script"][0].as_str());
            format!("{}: {}", name.unwrap(), script.unwrap_or_default())
        };
        let mut jobs: Vec<String> = jobs.as_array().unwrap().iter().map(text).collect();
        jobs.sort();
        jobs
    }

    /// Returns the number of requests to a project for each of these: its commits, its tags, its trees, and its files.
    pub(crate) fn asked(&self, project: &gitlab_testkit::Project) -> [usize; 4] {
        ["commits/*", "tags", "tree", "files/*"].map(|what| {
            let path = project.api(&format!("/repository/{what}"));
            self.gitlab.count("GET", &path)
        })
    }
}
