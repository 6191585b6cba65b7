use crate::parity::Row;
use executor_core::job::{
    ArtifactsDefinition, CrossNeed, EnvironmentDefinition, JobDefinition, PagesDefinition,
};

/// The keywords of jobs.
pub(super) static ROWS: [Row; 56] = [
    Row::supported(
        "after_script",
        "it runs in its own shell, whether or not the script succeeded",
    ),
    Row::supported("allow_failure", "also with `exit_codes`"),
    Row::supported("artifacts:exclude", "these files are excluded"),
    Row::supported(
        "artifacts:name",
        "an exported archive has this name",
    ),
    Row::supported("artifacts:paths", "the files are passed to later jobs of the run"),
    Row::supported(
        "artifacts:untracked",
        "the files are passed to later jobs of the run",
    ),
    Row::supported("artifacts:when", "it decides whether the files are kept"),
    Row::note(
        "artifacts:access",
        "the files of a local run stay on this machine, so access is not restricted further",
    )
    .in_job(|job| artifacts(job, |artifacts| artifacts.access.is_some())),
    Row::supported(
        "artifacts:expire_in",
        "the files are removed when they expire and the run has finished; without it they are removed with the run",
    ),
    Row::supported(
        "artifacts:expose_as",
        "the report of a run lists the files under this label",
    ),
    Row::note(
        "artifacts:public",
        "the files of a local run stay on this machine, so access is not restricted further",
    )
    .in_job(|job| artifacts(job, |artifacts| artifacts.public.is_some())),
    Row::supported(
        "artifacts:reports",
        "all kinds are kept and listed; those named here are also evaluated",
    ),
    Row::supported(
        "artifacts:reports:dotenv",
        "its variables are passed to the jobs that fetch the artifacts; a file that GitLab refuses fails the job",
    ),
    Row::supported(
        "artifacts:reports:junit",
        "tests are counted, and failed ones are shown in the report",
    ),
    Row::supported(
        "before_script",
        "it runs before the script, in the same shell",
    ),
    Row::supported(
        "cache",
        "kept on this machine for later runs of the project, with all its keywords",
    ),
    Row::supported(
        "coverage",
        "the log is searched line by line, as by GitLab",
    ),
    Row::note(
        "dast_configuration",
        "its profiles are on a server and are used only by a template of GitLab",
    ),
    Row::supported(
        "dependencies",
        "they select the jobs whose artifacts a job starts with",
    ),
    Row::note(
        "environment",
        "the deployment is recorded on this machine only; `runwright environments` shows it",
    )
    .in_job(|job| job.environment.is_some()),
    Row::note(
        "environment:auto_stop_in",
        "no environment stops by itself; `runwright environments stop --due` stops those that are due",
    )
    .in_job(|job| environment(job, |environment| environment.auto_stop_in.is_some())),
    Row::warning(
        "environment:kubernetes",
        "no cluster agent grants access: `KUBECONFIG` stays as set on this machine",
    )
    .in_job(|job| environment(job, |environment| environment.kubernetes.is_some())),
    Row::note(
        "environment:on_stop",
        "`runwright environments stop` runs this job",
    )
    .in_job(|job| environment(job, |environment| environment.on_stop.is_some())),
    Row::supported("except", "evaluated in the situation of the run"),
    Row::supported("extends", "also across files"),
    Row::supported(
        "hooks",
        "`pre_get_sources_script` runs before the sources are fetched",
    ),
    Row::warning(
        "id_tokens",
        "only a server can sign such a token: its variable is not set unless you pass one with `--secret`",
    )
    .in_job(|job| {
        job.id_tokens
            .as_ref()
            .is_some_and(|tokens| !tokens.is_empty())
    })
    .unless_empty(),
    Row::warning(
        "identity",
        "only a server can authenticate the job: it uses your own login at that cloud provider",
    )
    .in_job(|job| job.identity.is_some()),
    Row::warning(
        "image",
        "it needs a container engine or a cluster; without one the job runs with the programs of its machine",
    )
    .in_job(|job| job.image.is_some()),
    Row::supported(
        "inherit",
        "it selects what is inherited from `default` and `variables`",
    ),
    Row::error(
        "inputs",
        "job inputs are not interpolated into scripts yet, so the scripts would be incomplete",
    )
    .in_job(|job| job.inputs.as_ref().is_some_and(|inputs| !inputs.is_empty()))
    .unless_empty(),
    Row::supported(
        "interruptible",
        "it decides what a run of a newer commit of the same ref may cancel",
    ),
    Row::note(
        "manual_confirmation",
        "naming a job with `--manual` confirms it",
    ),
    Row::supported(
        "needs",
        "also `optional`, `artifacts` and `parallel:matrix`",
    ),
    Row::supported(
        "needs:pipeline",
        "jobs of child pipelines fetch artifacts of their ancestors' jobs; mirroring another project's pipeline is refused",
    ),
    Row::error(
        "needs:project",
        "the artifacts of another project are on a server, and the job needs them",
    )
    .in_job(|job| needs_cross(job, |need| need.project.is_some())),
    Row::supported("only", "evaluated in the situation of the run"),
    Row::note(
        "pages",
        "the directory is kept as an artifact; nothing is published",
    )
    .in_job(|job| {
        job.pages
            .as_deref()
            .is_some_and(PagesDefinition::is_enabled)
    })
    .unless_empty(),
    Row::supported("parallel", "also `matrix`"),
    Row::note(
        "publish",
        "the directory is kept as an artifact; nothing is published",
    ),
    Row::note(
        "release",
        "the script runs; only a server creates the release and its tag",
    )
    .in_job(|job| job.release.is_some()),
    Row::supported(
        "resource_group",
        "jobs of one group run one at a time, across all runs of the project on this machine",
    ),
    Row::supported("retry", "also `when` and `exit_codes`"),
    Row::supported("rules", "evaluated in the situation of the run"),
    Row::supported(
        "run",
        "a service runs the steps on this machine or in the job's container, which then needs the agent; `runwright steps` runs one manually",
    ),
    Row::supported("script", "the commands run in one shell"),
    Row::error(
        "secrets",
        "secrets are not fetched from a store, so the job would run without them; remove the keyword for local runs and pass the variables with `--secret`",
    )
    .in_job(|job| {
        job.secrets
            .as_ref()
            .is_some_and(|secrets| !secrets.is_empty())
    })
    .unless_empty(),
    Row::warning(
        "services",
        "only `--executor docker` and `kubernetes`, and `custom` through its driver, start them: with any other executor they must already run where the job does",
    )
    .in_job(|job| job.services.as_ref().is_some_and(|list| !list.is_empty()))
    .unless_empty(),
    Row::supported("stage", "it orders the job"),
    Row::supported("start_in", "a delayed job waits this long"),
    Row::note("tags", "every job runs on this machine, regardless of its tags")
        .in_job(|job| job.tags.as_ref().is_some_and(|tags| !tags.is_empty()))
        .unless_empty(),
    Row::supported("timeout", "a job that exceeds it is stopped"),
    Row::supported(
        "trigger",
        "child pipelines run as part of the run; so do pipelines of other projects whose checkouts your settings name",
    ),
    Row::supported("variables", "also `expand: false`"),
    Row::supported("when", "manual jobs start when named with `--manual`"),
    Row::supported("rules:variables", "they override those of the job"),
];

fn artifacts(job: &JobDefinition, has: fn(&ArtifactsDefinition) -> bool) -> bool {
    job.artifacts.as_deref().is_some_and(has)
}

fn environment(job: &JobDefinition, has: fn(&EnvironmentDefinition) -> bool) -> bool {
    job.environment.as_deref().is_some_and(has)
}

fn needs_cross(job: &JobDefinition, has: fn(&CrossNeed) -> bool) -> bool {
    job.needs_cross.iter().flatten().any(has)
}
