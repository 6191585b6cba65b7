use super::SettingKey as Key;
use super::SettingKind::{Count, Duration, Flag, Globs, Path, Secret, Size, Text, Texts, Word};
use super::{SectionShape, SettingSection};

const TRUST: &str = "it says which servers are trusted, and with what";
const MACHINE: &str = "it is about this machine and all projects on it";
const RUNNER: &str = "who runs jobs says where they run, not what is run";

/// All settings, in display order.
pub static SECTIONS: &[SettingSection] = &[
    RUN_SECTION,
    JOBS,
    GITLAB,
    INSTANCE,
    INCLUDE,
    CACHE,
    DOCKER,
    PROJECTS,
    RESOURCE_GROUPS,
    RUNS,
];

/// The values of options that are not given.
pub(super) static RUN: &SettingSection = &RUN_SECTION;

const RUN_SECTION: SettingSection = SettingSection {
    name: "run",
    shape: SectionShape::Once,
    about: "What options say when they are left out. Each has an option of its name, and a variable.",
    users_alone: None,
    keys: &[
        Key::new(
            "file",
            Path,
            "the pipeline file, relative to the top of the project",
        )
        .example("\"ci/main.yml\""),
        Key::new(
            "dialect",
            Word(&["gitlab", "bitrab"]),
            "whose reading of the file is meant",
        )
        .default("\"gitlab\""),
        Key::new(
            "executor",
            Text,
            "where jobs run; see `runwright executors`",
        )
        .default("\"shell\"")
        .users_alone(RUNNER),
        Key::new(
            "image",
            Text,
            "the image of jobs that name none, where they [run in containers](docker.md)",
        )
        .example("\"debian:12\""),
        Key::new(
            "pull-policy",
            Texts,
            "when images are pulled, in the order to try: `always`, `if-not-present`, `never`; else \
             `if-not-present`",
        )
        .example("[\"always\", \"if-not-present\"]"),
        Key::new(
            "concurrency",
            Count,
            "how many jobs run at once; else the number of processors",
        )
        .example("4")
        .yields_to(&["serial"]),
        Key::new(
            "serial",
            Flag,
            "one job at a time; `concurrency` beside it says more",
        )
        .default("false")
        .yields_to(&["concurrency"]),
        Key::new(
            "timeout",
            Duration,
            "the longest the whole pipeline may take",
        )
        .example("\"90 minutes\""),
        Key::new(
            "isolation",
            Word(&["snapshot", "worktree", "none"]),
            "what keeps jobs apart from each other and from the working tree; else `snapshot`, and with \
             bitrab's dialect `worktree`",
        )
        .example("\"worktree\"")
        .yields_to(&["snapshot", "in-place", "no-worktrees"]),
        Key::new(
            "login",
            Flag,
            "start shells as login shells, so that they read your profile",
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
            "who reads standard output",
        )
        .default("\"auto\"")
        .about_screen(),
        Key::new(
            "output",
            Word(&["live", "group", "prefix"]),
            "how logs are laid out",
        )
        .example("\"group\"")
        .about_screen(),
        Key::new(
            "warn-changes",
            Flag,
            "warn when a job changes tracked files that it did not declare",
        )
        .default("false"),
        Key::new(
            "shell-on-failure",
            Flag,
            "[open a shell](shell.md) in each job that fails, where somebody sits at a terminal",
        )
        .default("false")
        .about_screen(),
        Key::new(
            "times",
            Flag,
            "say how long a run takes, and what was slower, also where nobody watches",
        )
        .default("false")
        .about_screen(),
        Key::new(
            "verbose",
            Flag,
            "show all that the runner itself says, and fold nothing",
        )
        .default("false")
        .about_screen(),
    ],
};

const JOBS: SettingSection = SettingSection {
    name: "jobs",
    shape: SectionShape::Tables("NAME"),
    about: "What is known of single jobs. NAME is a job, with or without what `parallel` adds to its \
            name, or a pattern in which `*` stands for any text and `?` for any character. For each \
            key the project's file wins over the user's; in a file the name of a job wins over \
            patterns, and of these the one further down.",
    users_alone: None,
    keys: &[
        Key::new(
            "inputs",
            Globs,
            "the files that the job reads, as patterns of `rules:changes`; with `[]` it reads none",
        )
        .example("[\"src/**/*\", \"Cargo.*\"]"),
        Key::new(
            "may-change",
            Globs,
            "tracked files that the job may change, as such patterns",
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
        "the GitLab of projects whose remote names none; `--gitlab` wins",
    )
    .example("\"https://gitlab.example.com\"")],
};

const INSTANCE: SettingSection = SettingSection {
    name: "gitlab.instance",
    shape: SectionShape::List,
    about: "One for each GitLab that there is something to say about.",
    users_alone: Some(TRUST),
    keys: &[
        Key::new(
            "url",
            Text,
            "its address, with the path it is below, if it is: `https://example.com/gitlab`. Needed",
        )
        .example("\"https://gitlab.example.com\""),
        Key::new("token-env", Text, "the variable that holds its token"),
        Key::new(
            "token-file",
            Path,
            "the file that holds its token, and nothing else; only you may read it (`chmod 600`)",
        )
        .example("\"~/.secrets/gitlab\""),
        Key::new("token", Secret, "the token itself; only you may read the settings then"),
        Key::new(
            "token-kind",
            Word(&["access", "oauth", "job"]),
            "`access` is a personal one, or one of a group or project",
        )
        .default("\"access\""),
        Key::new(
            "ca-file",
            Path,
            "certificates, in PEM, that sign for it; they are trusted besides those of the system",
        ),
        Key::new(
            "git",
            Word(&["ssh", "https", "never"]),
            "ask Git where the API does not answer, or never",
        ),
        Key::new(
            "ssh-host",
            Text,
            "where its Git answers to SSH, when that is not the host of `url`: \
             `ssh.example.com:2222`",
        ),
    ],
};

const INCLUDE: SettingSection = SettingSection {
    name: "include",
    shape: SectionShape::Once,
    about: "What included files may be.",
    users_alone: Some(TRUST),
    keys: &[
        Key::new(
            "templates",
            Text,
            "the address below which `include: template` finds its files, instead of gitlab.com's: \
             `https://gitlab.example.com/mirror/templates`. It is asked without a token",
        ),
        Key::new(
            "max-age",
            Duration,
            "how long the answer to what may change (a branch, `~latest`, an address) is good",
        )
        .example("\"10 minutes\""),
        Key::new(
            "allow-http",
            Texts,
            "hosts that a file may name with plain `http`",
        ),
        Key::new(
            "allow-private",
            Texts,
            "hosts and networks that a file may name although they are private: `\"mirror.lan\"`, \
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
        "how much room all [caches](cache.md) of jobs may take together; with `\"0\"` none is kept",
    )
    .default("\"10 GB\"")],
};

const DOCKER: SettingSection = SettingSection {
    name: "docker",
    shape: SectionShape::Once,
    about: "What jobs in [containers](docker.md) run with and may do. The keys mean what they mean to GitLab \
            Runner, with hyphens for underscores.",
    users_alone: Some(RUNNER),
    keys: &[
        Key::new(
            "host",
            Text,
            "where the engine is; else what `DOCKER_HOST` or the current context says",
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
            "whether a `tcp` engine must show a signed certificate",
        ),
        Key::new(
            "engine",
            Word(&["auto", "agent", "exec", "attach"]),
            "how scripts get into the container",
        )
        .default("\"auto\""),
        Key::new(
            "warm",
            Count,
            "how many containers are kept [ready ahead of jobs](docker.md#warm-containers), for each \
             kind that a job had; else none",
        )
        .example("1"),
        Key::new(
            "warm-limit",
            Count,
            "how many are kept ready for all kinds together",
        )
        .default("8"),
        Key::new(
            "warm-idle",
            Count,
            "how long one is kept that no job takes, in seconds",
        )
        .default("300"),
        Key::new(
            "allowed-images",
            Texts,
            "the images that jobs may name, as patterns; else all",
        )
        .example("[\"registry.example.com/**\", \"debian:*\"]"),
        Key::new(
            "allowed-services",
            Texts,
            "the images that services may come from, as patterns; else all",
        ),
        Key::new(
            "allowed-pull-policies",
            Texts,
            "what jobs may ask for with `pull_policy`; else all three",
        ),
        Key::new(
            "volumes",
            Texts,
            "what each job is shown besides its own files: `/host:/here:ro`, `name:/here`, `/here`",
        )
        .example("[\"/certs:/certs:ro\"]"),
        Key::new(
            "privileged",
            Flag,
            "whether jobs run with all rights on this machine",
        )
        .default("false"),
        Key::new(
            "cap-add",
            Texts,
            "capabilities that jobs have besides the usual ones",
        ),
        Key::new("cap-drop", Texts, "capabilities that jobs do not have"),
        Key::new(
            "user",
            Text,
            "the user that scripts run as; else the image's",
        ),
        Key::new("memory", Text, "the memory a job has").example("\"2g\""),
        Key::new("cpus", Text, "how many processors a job may keep busy").example("\"1.5\""),
        Key::new("shm-size", Text, "the size of the shared memory (`shm`)").example("\"256m\""),
        Key::new("devices", Texts, "devices of this machine").example("[\"/dev/kvm\"]"),
        Key::new(
            "gpus",
            Text,
            "the GPUs of a job, in the words of docker's `--gpus`",
        )
        .example("\"all\""),
        Key::new(
            "network-mode",
            Text,
            "the network of a job, in the words of docker's `--network`",
        ),
        Key::new(
            "network-mtu",
            Count,
            "the largest packet in the networks of jobs with services, in bytes; else that of the way out of this machine",
        )
        .example("1400"),
        Key::new("dns", Texts, "the name servers of jobs"),
        Key::new(
            "extra-hosts",
            Texts,
            "more lines of `/etc/hosts`: `name:address`",
        ),
        Key::new(
            "wait-for-services-timeout",
            Count,
            "how long to wait until services are ready, in seconds",
        )
        .default("30"),
        Key::new(
            "disk-budget",
            Size,
            "how much room [what jobs pulled and kept](docker.md#what-stays-and-for-how-long) may take in the engine; what \
             was used least recently goes. Else there is no limit",
        )
        .example("\"20 GB\""),
        Key::new(
            "keep-unused-for",
            Duration,
            "how long that is kept when no job uses it; else for ever",
        )
        .example("\"14 days\""),
        Key::new(
            "keep-images",
            Texts,
            "images that stay whatever the two say, as patterns",
        )
        .example("[\"debian:*\", \"registry.example.com/**\"]"),
    ],
};

const PROJECTS: SettingSection = SettingSection {
    name: "projects",
    shape: SectionShape::Names,
    about: "Where other projects are checked out on this machine, by their paths on the GitLab. A job \
            with `trigger:project` starts the pipeline of that checkout; see [child \
            pipelines](child-pipelines.md#other-projects).",
    users_alone: Some(MACHINE),
    keys: &[Key::new("group/project", Path, "where it is checked out").example("\"~/src/project\"")],
};

const RESOURCE_GROUPS: SettingSection = SettingSection {
    name: "resource-groups",
    shape: SectionShape::Names,
    about: "Who is next in a `resource_group`, by its expanded name, in GitLab's words: `unordered` \
            (whoever came first; the rule where nothing is said), `oldest_first`, `newest_first` and \
            `newest_ready_first`. `oldest_first` and `newest_first` wait for a run that has a job of \
            the group which cannot start yet.",
    users_alone: Some(MACHINE),
    keys: &[Key::new(
        "production",
        Word(&[
            "unordered",
            "oldest_first",
            "newest_first",
            "newest_ready_first",
        ]),
        "who is next in it",
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
        "how many runs of a project are kept, with their logs and artifacts. Child pipelines stay \
         with the run that started them",
    )
    .default("10")],
};
