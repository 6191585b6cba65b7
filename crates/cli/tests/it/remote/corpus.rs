//! A real project's pipeline: GNOME's mutter, which includes files of two projects and two components.
//!
//! We may not keep its file here: `RUNWRIGHT_CORPUS` names a directory with it. Stand-ins with the same file and job
//! names replace its includes.

use super::remote_project::RemoteProject;
use gitlab_testkit::GitLab;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

const FEDORA: &str = "\
.fdo.container-build@fedora:
  image: registry.example.com/builder
  script: echo building an image
.fdo.container-build@fedora@x86_64:
  extends: .fdo.container-build@fedora
.fdo.container-build@fedora@aarch64:
  extends: .fdo.container-build@fedora
  tags: [aarch64]
.fdo.distribution-image@fedora:
  image: $CI_REGISTRY_IMAGE/fedora/$FDO_DISTRIBUTION_VERSION:$FDO_DISTRIBUTION_TAG
  variables:
    FDO_DISTRIBUTION_IMAGE: $CI_REGISTRY_IMAGE/fedora/$FDO_DISTRIBUTION_VERSION:$FDO_DISTRIBUTION_TAG
";

const CI_FAIRY: &str = "\
.fdo.ci-fairy:
  image: registry.example.com/ci-fairy
";

const RELEASE: &str = "\
spec:
  inputs:
    job-stage: {default: release}
    dist-job-name: {}
    tarball-artifact-path: {}
---
release-service:
  stage: $[[ inputs.job-stage ]]
  needs: [\"$[[ inputs.dist-job-name ]]\"]
  script:
    - upload \"$[[ inputs.tarball-artifact-path ]]\"
  rules: [{if: $CI_COMMIT_TAG}]
";

const SYSEXT: &str = "\
spec:
  inputs:
    meson-options: {default: ''}
---
build-sysext:
  stage: build
  script:
    - echo \"sysext with $[[ inputs.meson-options ]]\"
";

/// Returns a remote_project with that project on a GitLab with all its includes, if its file is present.
fn mutter() -> Option<RemoteProject> {
    let corpus = PathBuf::from(std::env::var_os("RUNWRIGHT_CORPUS")?);
    let file = corpus.join("real/GNOME+mutter/.gitlab-ci.yml");
    let text = fs::read_to_string(&file);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let gitlab = GitLab::start();
    let templates = gitlab.project("Infrastructure/freedesktop-ci-templates");
    let fedora = templates.commit(&[("templates/fedora.yml", FEDORA)]);
    let ci_fairy = templates.commit(&[("templates/ci-fairy.yml", CI_FAIRY)]);
    let components = gitlab.project("GNOME/citemplates").private();
    components.commit(&[("templates/gnomeos-build-sysext.yml", SYSEXT)]);
    components.branch("25.5");
    components.commit(&[("templates/release-service.yml", RELEASE)]);
    components.branch("master");

    // The stand-ins have other commits, and the GitLab has another name.
    let text = text
        .replace("145b1bc7ef1702d2bd71584010d7113c6786a506", &fedora)
        .replace("aec7a6ce7bb38902c70641526f6611e27141784a", &ci_fairy)
        .replace(
            "gitlab.gnome.org/GNOME/citemplates",
            "HOST/GNOME/citemplates",
        );
    let remote_project = RemoteProject::new(gitlab, &text);
    let remote = format!("{}/GNOME/mutter.git", remote_project.gitlab.url());
    remote_project
        .project
        .git(&["remote", "set-url", "origin", &remote]);
    let script = ".gitlab-ci/install-gnomeos-sysext-dependencies.sh";
    remote_project
        .project
        .write(script, "#!/bin/sh\necho installing to \"$1\"\n");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(remote_project.project.dir().join(script), mode).unwrap();
    remote_project.project.commit();
    Some(remote_project)
}

#[test]
fn real_project_runs_offline_from_its_lock_file() {
    let Some(remote_project) = mutter() else {
        executor_testkit::not_tested(
            "a real project from its lock file",
            "RUNWRIGHT_CORPUS is not set",
        );
        return;
    };
    remote_project.runwright(&["vendor"]).expect_code(0);
    let asked = remote_project.gitlab.total();
    let online = remote_project.jobs(&[]);
    assert_eq!(
        remote_project.gitlab.total(),
        asked,
        "what is locked is asked of nobody"
    );

    remote_project.gitlab.stop();
    fs::remove_dir_all(remote_project.project.home()).unwrap();
    let jobs = remote_project.jobs(&["--offline"]);
    assert_eq!(jobs, online);
    let has = |start: &str| jobs.iter().any(|job| job.starts_with(start));
    for job in [
        "build-sysext: echo",
        "build-mutter@x86_64: meson setup",
        "build-fedora-container@x86_64: echo",
    ] {
        assert!(has(job), "{job}: {jobs:?}");
    }
    assert!(!has("release-service"), "{jobs:?}");
    let tagged = remote_project.jobs(&["--offline", "--tag", "50.1"]);
    assert!(
        tagged
            .iter()
            .any(|job| job.starts_with("release-service: upload")),
        "{tagged:?}"
    );

    remote_project
        .runwright(&["lint", "--offline"])
        .expect_code(0);
    remote_project
        .runwright(&["plan", "--offline"])
        .expect_code(0)
        .expect_text("test-mutter@x86_64");
    remote_project
        .runwright(&["run", "build-sysext", "--offline"])
        .expect_code(0)
        .expect_text(
            "sysext with -Dxwayland_initfd=enabled -Dprofiler=true -Dbash_completion=false",
        )
        .expect_text("installing to /");
    remote_project
        .runwright(&["vendor", "--check"])
        .expect_code(0);
}
