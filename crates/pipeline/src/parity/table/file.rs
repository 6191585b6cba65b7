use crate::parity::Row;

/// The keywords of the top level.
pub(super) static ROWS: [Row; 16] = [
    Row::supported("default", "jobs inherit keywords from it"),
    Row::supported(
        "include:local",
        "files of the project are read, with globs and rules",
    ),
    Row::supported(
        "include:component",
        "versions are the tags of its project, whether or not published in a catalog",
    ),
    Row::supported(
        "include:project",
        "files are read through GitLab's API, or else with git",
    ),
    Row::supported(
        "include:remote",
        "files are fetched without a token, from public addresses unless the settings allow more",
    ),
    Row::supported(
        "include:template",
        "those of gitlab.com are read, unless the settings name another source",
    ),
    Row::supported("spec:inputs", "pass values with `--input NAME=VALUE`"),
    Row::supported("stages", "they order the jobs"),
    Row::supported("variables", "also `options`, `description` and `expand`"),
    Row::supported(
        "workflow:auto_cancel:on_job_failure",
        "a job that fails cancels the others",
    ),
    Row::supported(
        "workflow:auto_cancel:on_new_commit",
        "a run of a newer commit of the same ref cancels runs of older commits on this machine",
    ),
    Row::supported("workflow:name", "available as `CI_PIPELINE_NAME`"),
    Row::supported(
        "workflow:rules",
        "they decide whether the pipeline is created",
    ),
    Row::supported(
        "workflow:rules:auto_cancel:on_job_failure",
        "a job that fails cancels the others",
    ),
    Row::supported(
        "workflow:rules:auto_cancel:on_new_commit",
        "a run of a newer commit of the same ref cancels runs of older commits on this machine",
    ),
    Row::supported(
        "workflow:rules:variables",
        "they are merged over those of the file",
    ),
];
