//! The settings of drivers written by others, and of fleets.

use super::SettingKey as Key;
use super::SettingKind::{Count, Path, Text, Texts};
use super::table::RUNNER;
use super::{SectionShape, SettingSection};

pub(super) const DRIVER: SettingSection = SettingSection {
    name: "driver",
    shape: SectionShape::Once,
    about: "The [driver](drivers.md) of `--executor driver`. Its time limits are in seconds.",
    users_alone: Some(RUNNER),
    keys: &[
        Key::new(
            "command",
            Texts,
            "the program and its arguments; relative paths start at the directory of this file",
        )
        .example("[\"python3\", \"/opt/drivers/host.py\"]"),
        Key::new(
            "start-timeout",
            Count,
            "how long it may take to start and describe itself",
        )
        .default("10"),
        Key::new(
            "call-timeout",
            Count,
            "how long it may be silent when asked for its status",
        )
        .default("30"),
        Key::new(
            "prepare-timeout",
            Count,
            "how long it may take to reserve capacity, and to prepare an environment",
        )
        .default("600"),
        Key::new(
            "cleanup-timeout",
            Count,
            "how long it may take to remove an environment",
        )
        .default("120"),
    ],
};

pub(super) const MACHINES: SettingSection = SettingSection {
    name: "machines",
    shape: SectionShape::Once,
    about: "The [machines](fleet.md) of `--executor docker+machine`, `docker-autoscaler` and `instance`.",
    users_alone: Some(RUNNER),
    keys: &[
        Key::new(
            "config",
            Path,
            "a file with settings of GitLab Runner, whose `[[runners]]` has `[runners.machine]` or `[runners.autoscaler]`",
        )
        .example("\"~/fleet.toml\""),
        Key::new(
            "runner",
            Text,
            "the `name` of that `[[runners]]`; needed when several have the same executor",
        ),
    ],
};
