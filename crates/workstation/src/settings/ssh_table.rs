//! The settings of hosts that run jobs over SSH.

use super::SettingKey as Key;
use super::SettingKind::{Count, Flag, Path, Text, Word};
use super::table::RUNNER;
use super::{SectionShape, SettingSection};

const HOST: Key = Key::new(
    "host",
    Text,
    "the name or address of the host, or an alias of `~/.ssh/config`",
)
.example("\"build.example\"");
const PORT: Key = Key::new(
    "port",
    Count,
    "its port; without it that of `~/.ssh/config`, or 22",
);
const USER: Key = Key::new(
    "user",
    Text,
    "who logs in; without it the user of `~/.ssh/config`, or yours",
);
const IDENTITY_FILE: Key = Key::new(
    "identity-file",
    Path,
    "the private key; without it those of the SSH agent and of `~/.ssh`",
)
.example("\"~/.ssh/ci\"");
const PASSWORD_ENV: Key = Key::new("password-env", Text, "the variable that holds the password");
const PASSWORD_FILE: Key = Key::new(
    "password-file",
    Path,
    "a file that contains only the password and that only you can read (`chmod 600`)",
);
const PROXY_JUMP: Key = Key::new(
    "proxy-jump",
    Text,
    "the hosts to connect through, as `user@host:port`, separated by commas; `none` for a direct connection",
);
const CAPACITY: Key = Key::new(
    "capacity",
    Count,
    "how many jobs run on the host at once; without it any number",
);

pub(super) const SSH: SettingSection = SettingSection {
    name: "ssh",
    shape: SectionShape::Once,
    about: "The host for [jobs on another host](ssh.md), or what all of `[[ssh.hosts]]` have in common.",
    users_alone: Some(RUNNER),
    keys: &[
        HOST,
        PORT,
        USER,
        IDENTITY_FILE,
        PASSWORD_ENV,
        PASSWORD_FILE,
        PROXY_JUMP,
        CAPACITY,
        Key::new(
            "config-file",
            Path,
            "the client configuration to read; without it `~/.ssh/config`",
        ),
        Key::new(
            "known-hosts-file",
            Path,
            "the file with the trusted keys of hosts; without it `~/.ssh/known_hosts`",
        ),
        Key::new(
            "accept-new-host-keys",
            Flag,
            "whether the key of a host without a known key is trusted and added to that file",
        )
        .default("false"),
        Key::new(
            "engine",
            Word(&["auto", "agent", "shell"]),
            "how scripts run on the host",
        )
        .default("\"auto\""),
        Key::new(
            "connect-timeout",
            Count,
            "how many seconds connecting and logging in may take, with all attempts",
        )
        .default("30"),
        Key::new(
            "keepalive-interval",
            Count,
            "after how many seconds without traffic the connection is checked",
        )
        .default("15"),
        Key::new(
            "orphan-grace",
            Count,
            "for how many seconds a job's scripts and files stay on the host without a connection",
        )
        .default("120"),
    ],
};

pub(super) const SSH_HOSTS: SettingSection = SettingSection {
    name: "ssh.hosts",
    shape: SectionShape::List,
    about: "One table for each of several hosts; a job runs on the one with the smallest share of its capacity in use.",
    users_alone: Some(RUNNER),
    keys: &[
        HOST,
        PORT,
        USER,
        IDENTITY_FILE,
        PASSWORD_ENV,
        PASSWORD_FILE,
        PROXY_JUMP,
        CAPACITY,
    ],
};
