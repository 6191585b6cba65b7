use crate::parity::Row;
use executor_core::job::{
    ArtifactsDefinition, CrossNeed, EnvironmentDefinition, JobDefinition, PagesDefinition,
};

/// The keywords of jobs.
pub(super) static ROWS: [Row; 56] = [
    Row::honoured(
        "after_script",
        "it runs in a shell of its own, whatever became of the script",
    ),
    Row::honoured("allow_failure", "also with `exit_codes`"),
    Row::honoured("artifacts:exclude", "these files are left out"),
    Row::honoured(
        "artifacts:name",
        "an archive that is exported has this name",
    ),
    Row::honoured("artifacts:paths", "the files pass to later jobs of the run"),
    Row::honoured(
        "artifacts:untracked",
        "the files pass to later jobs of the run",
    ),
    Row::honoured("artifacts:when", "it decides whether the files are kept"),
    Row::note(
        "artifacts:access",
        "nobody else can reach the files of a local run, so there is nothing to forbid",
    )
    .in_job(|job| artifacts(job, |artifacts| artifacts.access.is_some())),
    Row::honoured(
        "artifacts:expire_in",
        "the files go when the time is up and the run has ended; without it they go with the run",
    ),
    Row::honoured(
        "artifacts:expose_as",
        "the end of a run shows the kept files under this label",
    ),
    Row::note(
        "artifacts:public",
        "nobody else can reach the files of a local run, so there is nothing to forbid",
    )
    .in_job(|job| artifacts(job, |artifacts| artifacts.public.is_some())),
    Row::honoured(
        "artifacts:reports",
        "all kinds are kept and listed; those named here are read as well",
    ),
    Row::honoured(
        "artifacts:reports:dotenv",
        "its variables reach the jobs that fetch the artifacts; what GitLab refuses fails the job",
    ),
    Row::honoured(
        "artifacts:reports:junit",
        "its tests are counted, and those that failed are shown at the end",
    ),
    Row::honoured(
        "before_script",
        "it runs before the script, in the same shell",
    ),
    Row::honoured(
        "cache",
        "kept on this machine for later runs of the project, with all that belongs to it",
    ),
    Row::honoured(
        "coverage",
        "the log is searched line by line, as GitLab does",
    ),
    Row::note(
        "dast_configuration",
        "its profiles are on a server, and only a template of GitLab reads them",
    ),
    Row::honoured(
        "dependencies",
        "they choose whose artifacts a job starts with",
    ),
    Row::note(
        "environment",
        "the job runs and gets the variables of the environment; no deployment is recorded",
    )
    .in_job(|job| job.environment.is_some()),
    Row::note(
        "environment:auto_stop_in",
        "no environment is kept here, so none is stopped after a time",
    )
    .in_job(|job| environment(job, |environment| environment.auto_stop_in.is_some())),
    Row::warning(
        "environment:kubernetes",
        "no agent of a cluster is asked for access: `KUBECONFIG` is what it is on this machine",
    )
    .in_job(|job| environment(job, |environment| environment.kubernetes.is_some())),
    Row::note(
        "environment:on_stop",
        "the job that stops it is an ordinary manual job here; start it with `--manual`",
    )
    .in_job(|job| environment(job, |environment| environment.on_stop.is_some())),
    Row::honoured("except", "it is asked in the situation of the run"),
    Row::honoured("extends", "also over files"),
    Row::honoured(
        "hooks",
        "`pre_get_sources_script` runs before the sources are there",
    ),
    Row::warning(
        "id_tokens",
        "only a server can sign such a token: its variable is not set, unless you give one with \
         `--secret`",
    )
    .in_job(|job| {
        job.id_tokens
            .as_ref()
            .is_some_and(|tokens| !tokens.is_empty())
    })
    .unless_empty(),
    Row::warning(
        "identity",
        "only a server can vouch for the job: it acts as whoever you are in that cloud",
    )
    .in_job(|job| job.identity.is_some()),
    Row::warning(
        "image",
        "the shell executor runs the job on this machine, with the programs that are here; `--executor docker` runs it in its image",
    )
    .in_job(|job| job.image.is_some()),
    Row::honoured(
        "inherit",
        "it decides what comes from `default` and `variables`",
    ),
    Row::error(
        "inputs",
        "the values of job inputs are not put into scripts yet, so these would run with holes",
    )
    .in_job(|job| job.inputs.as_ref().is_some_and(|inputs| !inputs.is_empty()))
    .unless_empty(),
    Row::honoured(
        "interruptible",
        "it says what a run of a newer commit of the same ref may cancel",
    ),
    Row::note(
        "manual_confirmation",
        "whoever names a job with `--manual` has confirmed it",
    ),
    Row::honoured(
        "needs",
        "also `optional`, `artifacts` and `parallel:matrix`",
    ),
    Row::honoured(
        "needs:pipeline",
        "the jobs of child pipelines fetch what those of the pipelines above left; to wait for \
         another project's pipeline is refused",
    ),
    Row::error(
        "needs:project",
        "the artifacts of another project are on a server, and the job cannot do without them",
    )
    .in_job(|job| needs_cross(job, |need| need.project.is_some())),
    Row::honoured("only", "it is asked in the situation of the run"),
    Row::note(
        "pages",
        "the directory is kept as an artifact; there is no server that publishes it",
    )
    .in_job(|job| {
        job.pages
            .as_deref()
            .is_some_and(PagesDefinition::is_enabled)
    })
    .unless_empty(),
    Row::honoured("parallel", "also `matrix`"),
    Row::note(
        "publish",
        "the directory is kept as an artifact; there is no server that publishes it",
    ),
    Row::note(
        "release",
        "the script runs; the release and its tag are made by a server only",
    )
    .in_job(|job| job.release.is_some()),
    Row::honoured(
        "resource_group",
        "jobs of one group run one after the other, in all runs of the project on this machine",
    ),
    Row::honoured("retry", "also `when` and `exit_codes`"),
    Row::honoured("rules", "they are asked in the situation of the run"),
    Row::honoured(
        "run",
        "a service runs the steps on this machine or in the job's container, which needs the agent there; \
         `runwright steps` runs one by hand",
    ),
    Row::honoured("script", "the commands run in one shell"),
    Row::error(
        "secrets",
        "no store of secrets is asked, so the job would run without them; remove the keyword for \
         local runs and give the variables with `--secret`",
    )
    .in_job(|job| {
        job.secrets
            .as_ref()
            .is_some_and(|secrets| !secrets.is_empty())
    })
    .unless_empty(),
    Row::warning(
        "services",
        "the shell executor starts no containers: what a service offers has to be here already; `--executor docker` starts them",
    )
    .in_job(|job| job.services.as_ref().is_some_and(|list| !list.is_empty()))
    .unless_empty(),
    Row::honoured("stage", "it orders the job"),
    Row::honoured("start_in", "a delayed job waits for that time"),
    Row::note("tags", "every job runs on this machine, whatever its tags")
        .in_job(|job| job.tags.as_ref().is_some_and(|tags| !tags.is_empty()))
        .unless_empty(),
    Row::honoured("timeout", "a job whose time is up is stopped"),
    Row::honoured(
        "trigger",
        "child pipelines run in the same run; so do those of other projects that your settings \
         name the checkouts of",
    ),
    Row::honoured("variables", "also `expand: false`"),
    Row::honoured("when", "manual jobs start when named with `--manual`"),
    Row::honoured("rules:variables", "they win over those of the job"),
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
