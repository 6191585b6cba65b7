//! The settings of a driver written by others.

use super::SettingKey as Key;
use super::SettingKind::{Count, Texts};
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
