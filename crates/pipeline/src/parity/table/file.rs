use crate::parity::Row;

/// The keywords of the top level.
pub(super) static ROWS: [Row; 16] = [
    Row::honoured(
        "default",
        "jobs take from it what they do not say themselves",
    ),
    Row::honoured(
        "include:local",
        "files of the project are read, globs and rules too",
    ),
    Row::honoured(
        "include:component",
        "versions are found among the tags of its project, published in a catalogue or not",
    ),
    Row::honoured(
        "include:project",
        "files are read through GitLab's API, else by Git",
    ),
    Row::honoured(
        "include:remote",
        "files are fetched without a token, from public addresses unless the settings allow more",
    ),
    Row::honoured(
        "include:template",
        "those of gitlab.com are read, unless the settings say where others are",
    ),
    Row::honoured("spec:inputs", "values are given with `--input NAME=VALUE`"),
    Row::honoured("stages", "they order the jobs"),
    Row::honoured("variables", "also `options`, `description` and `expand`"),
    Row::honoured(
        "workflow:auto_cancel:on_job_failure",
        "a job that fails cancels the others",
    ),
    Row::honoured(
        "workflow:auto_cancel:on_new_commit",
        "a run of a newer commit of the same ref cancels those of older ones that still run here",
    ),
    Row::honoured("workflow:name", "it is in `CI_PIPELINE_NAME`"),
    Row::honoured("workflow:rules", "they decide whether there is a pipeline"),
    Row::honoured(
        "workflow:rules:auto_cancel:on_job_failure",
        "a job that fails cancels the others",
    ),
    Row::honoured(
        "workflow:rules:auto_cancel:on_new_commit",
        "a run of a newer commit of the same ref cancels those of older ones that still run here",
    ),
    Row::honoured(
        "workflow:rules:variables",
        "they are added to those of the file",
    ),
];
