use super::SettingKey as Key;
use super::SettingKind::{
    Count, Duration, Flag, Globs, Path, Secret, Size, Text, Texts, Word, Words,
};
use super::driver_table::{DRIVER, MACHINES};
use super::kubernetes_table::KUBERNETES;
use super::ssh_table::{SSH, SSH_HOSTS};
use super::{SectionShape, SettingSection};

const PULL_POLICIES: &[&str] = &["always", "if-not-present", "never"];
const TRUST: &str = "it decides which servers are trusted, and with which credentials";
const MACHINE: &str = "it concerns this machine and all projects on it";
pub(super) const RUNNER: &str = "the person who runs jobs decides where they run, not the project";

/// All settings, in display order.
pub static SECTIONS: &[SettingSection] = &[
    RUN_SECTION,
    JOBS,
    GITLAB,
    INSTANCE,
    INCLUDE,
    CACHE,
    DOCKER,
    DRIVER,
    SSH,
    SSH_HOSTS,
    KUBERNETES,
    CUSTOM,
    MACHINES,
    HOST,
    PROJECTS,
    RESOURCE_GROUPS,
    RUNS,
];

/// The values of options that are not given.
pub(super) static RUN: &SettingSection = &RUN_SECTION;

const RUN_SECTION: SettingSection = SettingSection {
    name: "run",
    shape: SectionShape::Once,
    about: "Defaults of options. Each key has an option and a variable of the same name.",
    users_alone: None,
    keys: &[
        Key::new(
            "file",
            Path,
            "the pipeline file, relative to the root of the project",
        )
        .example("\"ci/main.yml\""),
        Key::new(
            "dialect",
            Word(&["gitlab", "bitrab"]),
            "whose rules the file is read by",
        )
        .default("\"gitlab\""),
        Key::new(
            "executor",
            Text,
            "where jobs run; see `runwright executors`",
        )
        .default("\"auto\"")
        .users_alone(RUNNER),
        Key::new(
            "image",
            Text,
            "the image of jobs without one when they [run in containers](docker.md)",
        )
        .example("\"debian:12\""),
        Key::new(
            "pull-policy",
            Words(PULL_POLICIES),
            "when images are pulled, as policies to try in order; without it `if-not-present`",
        )
        .example("[\"always\", \"if-not-present\"]"),
        Key::new(
            "concurrency",
            Count,
            "how many jobs run at once; without it the number of processors",
        )
        .example("4")
        .yields_to(&["serial"]),
        Key::new(
            "serial",
            Flag,
            "run one job at a time; `concurrency` takes precedence",
        )
        .default("false")
        .yields_to(&["concurrency"]),
        Key::new(
            "timeout",
            Duration,
            "the time limit of the whole pipeline",
        )
        .example("\"90 minutes\""),
        Key::new(
            "isolation",
            Word(&["snapshot", "worktree", "none"]),
            "how jobs are separated from each other and from the working tree; without it `snapshot`, and with \
            bitrab's dialect `worktree`",
        )
        .example("\"worktree\"")
        .yields_to(&["snapshot", "in-place", "no-worktrees"]),
        Key::new(
            "login",
            Flag,
            "start shells as login shells, which read your profile",
        )
        .default("false")
        .users_alone(RUNNER),
        Key::new(
            "skip",
            Texts,
            "jobs that a run of the whole pipeline leaves out, as `--skip` names them; when jobs are \
             named it is not asked",
        )
        .example("[\"deploy*\"]")
        .yields_to(&["job", "jobs"]),
        Key::new(
            "reuse",
            Word(&["off", "on", "refresh"]),
            "take [jobs that begin with the same](reuse.md) as in an earlier run from there",
        )
        .default("\"off\"")
        .example("\"on\""),
        Key::new(
            "progress",
            Word(&["auto", "tty", "plain", "json", "tui"]),
            "the format of standard output",
        )
        .default("\"auto\"")
        .about_screen()
        .yields_to(&["quiet"]),
        Key::new(
            "output",
            Word(&["live", "group", "prefix"]),
            "the layout of logs",
        )
        .example("\"group\"")
        .about_screen()
        .yields_to(&["quiet"]),
        Key::new(
            "warn-changes",
            Flag,
            "warn when a job changes tracked files that it did not declare",
        )
        .default("false"),
        Key::new(
            "shell-on-failure",
            Flag,
            "[open a shell](shell.md) in each job that fails, if the run has a terminal",
        )
        .default("false")
        .about_screen(),
        Key::new(
            "times",
            Flag,
            "report the duration of a run and what was slower than usual, also without a terminal",
        )
        .default("false")
        .about_screen()
        .yields_to(&["quiet"]),
        Key::new(
            "verbose",
            Flag,
            "show all messages of the runner, and fold nothing",
        )
        .default("false")
        .about_screen()
        .yields_to(&["quiet"]),
    ],
};

const JOBS: SettingSection = SettingSection {
    name: "jobs",
    shape: SectionShape::Tables("NAME"),
    about: "Facts about single jobs. NAME is a job's name, with or without the part that `parallel` adds, or a \
            pattern in which `*` matches any text and `?` any character. For each key the project's file takes \
            precedence over the user's; within a file a job's name takes precedence over patterns, and a later \
            pattern over an earlier one.",
    users_alone: None,
    keys: &[
        Key::new(
            "inputs",
            Globs,
            "the files that the job reads, as patterns like those of `rules:changes`; `[]` means none",
        )
        .example("[\"src/**/*\", \"Cargo.*\"]"),
        Key::new(
            "may-change",
            Globs,
            "tracked files that the job may change, as patterns of the same kind",
        )
        .default("[]")
        .example("[\"docs/generated/*\"]"),
    ],
};

const GITLAB: SettingSection = SettingSection {
    name: "gitlab",
    shape: SectionShape::Once,
    about: "",
    users_alone: Some(TRUST),
    keys: &[Key::new(
        "url",
        Text,
        "the GitLab of projects whose remote names none; `--gitlab` takes precedence",
    )
    .example("\"https://gitlab.example.com\"")],
};

const INSTANCE: SettingSection = SettingSection {
    name: "gitlab.instance",
    shape: SectionShape::List,
    about: "One table for each GitLab that needs settings.",
    users_alone: Some(TRUST),
    keys: &[
        Key::new(
            "url",
            Text,
            "its address, including a path if it has one: `https://example.com/gitlab`. Required",
        )
        .example("\"https://gitlab.example.com\""),
        Key::new("token-env", Text, "the variable that holds its token"),
        Key::new(
            "token-file",
            Path,
            "a file that contains only its token and that only you can read (`chmod 600`)",
        )
        .example("\"~/.secrets/gitlab\""),
        Key::new(
            "token",
            Secret,
            "the token itself; then only you may be able to read the settings file",
        ),
        Key::new(
            "token-kind",
            Word(&["access", "oauth", "job"]),
            "the kind of token; `access` is a personal, group or project access token",
        )
        .default("\"access\""),
        Key::new(
            "ca-file",
            Path,
            "CA certificates in PEM format that are trusted for it, in addition to the system's",
        ),
        Key::new(
            "git",
            Word(&["ssh", "https", "never"]),
            "the Git transport to use where the API has no answer, or `never`",
        ),
        Key::new(
            "ssh-host",
            Text,
            "the host and port of Git over SSH, if it is not the host of `url`: \
             `ssh.example.com:2222`",
        ),
    ],
};

const INCLUDE: SettingSection = SettingSection {
    name: "include",
    shape: SectionShape::Once,
    about: "Limits of included files.",
    users_alone: Some(TRUST),
    keys: &[
        Key::new(
            "templates",
            Text,
            "the base address of the files of `include: template`, instead of gitlab.com's: \
            `https://gitlab.example.com/mirror/templates`. No token is sent to it",
        ),
        Key::new(
            "max-age",
            Duration,
            "how long a kept copy of something that may change (a branch, `~latest`, an address) is used",
        )
        .example("\"10 minutes\""),
        Key::new(
            "allow-http",
            Texts,
            "hosts that a file may use over plain `http`",
        ),
        Key::new(
            "allow-private",
            Texts,
            "hosts and networks that a file may use although they are private: `\"mirror.lan\"`, \
             `\"*.corp.example\"`, `\"10.0.0.0/8\"`",
        ),
    ],
};

const CACHE: SettingSection = SettingSection {
    name: "cache",
    shape: SectionShape::Once,
    about: "",
    users_alone: Some(MACHINE),
    keys: &[Key::new(
        "size",
        Size,
        "the total size of all [caches](cache.md) of jobs; `\"0\"` keeps none",
    )
    .default("\"10 GB\"")],
};

const DOCKER: SettingSection = SettingSection {
    name: "docker",
    shape: SectionShape::Once,
    about: "The configuration and permissions of jobs in [containers](docker.md). The keys are those of GitLab \
            Runner, with hyphens instead of underscores.",
    users_alone: Some(RUNNER),
    keys: &[
        Key::new(
            "host",
            Text,
            "the address of the engine; without it `DOCKER_HOST` or the current context",
        )
        .example("\"unix:///run/user/1000/podman/podman.sock\""),
        Key::new(
            "tls-cert-path",
            Text,
            "the directory of `ca.pem`, `cert.pem` and `key.pem`",
        ),
        Key::new(
            "tls-verify",
            Flag,
            "whether a `tcp` engine must present a trusted certificate",
        ),
        Key::new(
            "engine",
            Word(&["auto", "agent", "exec", "attach"]),
            "how scripts run in the container",
        )
        .default("\"auto\""),
        Key::new(
            "warm",
            Count,
            "how many [warm containers](docker.md#warm-containers) are kept for each kind that a job used; \
            without it none",
        )
        .example("1"),
        Key::new(
            "warm-limit",
            Count,
            "how many warm containers are kept for all kinds together",
        )
        .default("8"),
        Key::new(
            "warm-idle",
            Count,
            "how long an unused warm container is kept, in seconds",
        )
        .default("300"),
        Key::new(
            "allowed-images",
            Texts,
            "the images that jobs may use, as patterns; without it all",
        )
        .example("[\"registry.example.com/**\", \"debian:*\"]"),
        Key::new(
            "allowed-services",
            Texts,
            "the images that services may use, as patterns; without it all",
        ),
        Key::new(
            "allowed-pull-policies",
            Words(PULL_POLICIES),
            "the values of `pull_policy` that jobs may use; without it all three",
        ),
        Key::new(
            "volumes",
            Texts,
            "additional mounts of each job: `/host:/here:ro`, `name:/here`, `/here`",
        )
        .example("[\"/certs:/certs:ro\"]"),
        Key::new(
            "privileged",
            Flag,
            "whether jobs run with all permissions on this machine",
        )
        .default("false"),
        Key::new(
            "cap-add",
            Texts,
            "capabilities that jobs have in addition to the defaults",
        ),
        Key::new("cap-drop", Texts, "capabilities that jobs do not have"),
        Key::new(
            "user",
            Text,
            "the user that scripts run as; without it the image's",
        ),
        Key::new("memory", Text, "the memory limit of a job").example("\"2g\""),
        Key::new("cpus", Text, "the processor limit of a job").example("\"1.5\""),
        Key::new("shm-size", Text, "the size of the shared memory (`shm`)").example("\"256m\""),
        Key::new("devices", Texts, "devices of this machine that jobs may use").example("[\"/dev/kvm\"]"),
        Key::new(
            "gpus",
            Text,
            "the GPUs of a job, in the format of docker's `--gpus`",
        )
        .example("\"all\""),
        Key::new(
            "network-mode",
            Text,
            "the network of a job, in the format of docker's `--network`",
        ),
        Key::new(
            "network-mtu",
            Count,
            "the MTU of the networks of jobs with services, in bytes; without it that of this machine's default \
            route",
        )
        .example("1400"),
        Key::new("dns", Texts, "the name servers of jobs"),
        Key::new(
            "extra-hosts",
            Texts,
            "additional entries of `/etc/hosts`: `name:address`",
        ),
        Key::new(
            "wait-for-services-timeout",
            Count,
            "how long to wait for services to become ready, in seconds",
        )
        .default("30"),
        Key::new(
            "disk-budget",
            Size,
            "the total size of [images and volumes that jobs brought](docker.md#what-stays-and-for-how-long) to \
            the engine; the least recently used are removed. Without it there is no limit",
        )
        .example("\"20 GB\""),
        Key::new(
            "keep-unused-for",
            Duration,
            "how long images and volumes that no job uses are kept; without it for ever",
        )
        .example("\"14 days\""),
        Key::new(
            "keep-images",
            Texts,
            "images that are never removed, as patterns",
        )
        .example("[\"debian:*\", \"registry.example.com/**\"]"),
    ],
};

const CUSTOM: SettingSection = SettingSection {
    name: "custom",
    shape: SectionShape::Once,
    about: "The [driver](custom.md) of `--executor custom`. The keys are those of GitLab Runner's `[runners.custom]`, with \
            hyphens instead of underscores; the directories are those of its `[[runners]]`.",
    users_alone: Some(RUNNER),
    keys: &[
        Key::new("run-exec", Text, "the program that runs a stage; required. Relative paths of programs start at the directory of this file")
            .example("\"/opt/driver/run.sh\""),
        Key::new(
            "run-args",
            Texts,
            "its first arguments, before the script and the stage",
        ),
        Key::new(
            "config-exec",
            Text,
            "the program that describes the environment",
        ),
        Key::new("config-args", Texts, "its first arguments"),
        Key::new(
            "config-exec-timeout",
            Count,
            "the longest it may take, in seconds",
        )
        .default("3600"),
        Key::new(
            "prepare-exec",
            Text,
            "the program that prepares the environment",
        ),
        Key::new("prepare-args", Texts, "its first arguments"),
        Key::new(
            "prepare-exec-timeout",
            Count,
            "the longest it may take, in seconds",
        )
        .default("3600"),
        Key::new(
            "cleanup-exec",
            Text,
            "the program that removes the environment",
        ),
        Key::new("cleanup-args", Texts, "its first arguments"),
        Key::new(
            "cleanup-exec-timeout",
            Count,
            "the longest it may take, in seconds; a run of this machine waits 5 minutes at most",
        )
        .default("3600"),
        Key::new(
            "graceful-kill-timeout",
            Count,
            "the time from SIGTERM to SIGKILL, in seconds",
        ),
        Key::new(
            "force-kill-timeout",
            Count,
            "how long a killed program may take to end, in seconds",
        ),
        Key::new(
            "builds-dir",
            Text,
            "the directory for builds in the environment, unless `config-exec` prints one",
        )
        .example("\"/builds\""),
        Key::new(
            "cache-dir",
            Text,
            "the directory for caches in the environment, unless `config-exec` prints one",
        ),
        Key::new(
            "endpoint-address",
            Text,
            "the address of this machine at which environments reach it for the files of a job",
        )
        .default("\"127.0.0.1\"")
        .example("\"192.168.122.1\""),
    ],
};

const HOST: SettingSection = SettingSection {
    name: "host",
    shape: SectionShape::Tables("DIRECTORY"),
    about: "What may run on this machine itself. DIRECTORY is the root of a project; `run --executor shell \
            --remember` writes its table.",
    users_alone: Some(RUNNER),
    keys: &[Key::new(
        "images",
        Flag,
        "with `executor = \"auto\"`, run jobs with an image on this machine where no container engine answers",
    )
    .default("false")],
};

const PROJECTS: SettingSection = SettingSection {
    name: "projects",
    shape: SectionShape::Names,
    about: "Where other projects are checked out on this machine, by their paths on the GitLab. A job \
            with `trigger:project` starts the pipeline of that checkout; see [child \
            pipelines](child-pipelines.md#other-projects).",
    users_alone: Some(MACHINE),
    keys: &[
        Key::new("group/project", Path, "the path of its checkout").example("\"~/src/project\"")
    ],
};

const RESOURCE_GROUPS: SettingSection = SettingSection {
    name: "resource-groups",
    shape: SectionShape::Names,
    about: "The order of jobs in a `resource_group`, by its expanded name, with GitLab's process modes: \
            `unordered` (first come, first served; the default), `oldest_first`, `newest_first` and \
            `newest_ready_first`. `oldest_first` and `newest_first` wait for a run whose job in the group cannot \
            start yet.",
    users_alone: Some(MACHINE),
    keys: &[Key::new(
        "production",
        Word(&[
            "unordered",
            "oldest_first",
            "newest_first",
            "newest_ready_first",
        ]),
        "the process mode of the group",
    )
    .example("\"oldest_first\"")],
};

const RUNS: SettingSection = SettingSection {
    name: "runs",
    shape: SectionShape::Once,
    about: "",
    users_alone: Some(MACHINE),
    keys: &[Key::new(
        "keep",
        Count,
        "how many runs of a project are kept, with their logs and artifacts. Child pipelines are kept with the \
        run that started them",
    )
    .default("10")],
};
