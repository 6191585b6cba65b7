//! The settings of jobs in a cluster.

use super::SettingKey as Key;
use super::SettingKind::{Count, Path, Text, Texts, Word};
use super::table::RUNNER;
use super::{SectionShape, SettingSection};

const fn quantity(name: &'static str, about: &'static str) -> Key {
    Key::new(name, Text, about)
}

pub(super) const KUBERNETES: SettingSection = SettingSection {
    name: "kubernetes",
    shape: SectionShape::Once,
    about: "The cluster for [jobs as pods](kubernetes.md).",
    users_alone: Some(RUNNER),
    keys: &[
        Key::new(
            "kubeconfig",
            Path,
            "the file with clusters and logins; without it that of `KUBECONFIG`, or `~/.kube/config`",
        ),
        Key::new(
            "context",
            Text,
            "the context of that file; without it the current one",
        )
        .example("\"staging\""),
        Key::new(
            "namespace",
            Text,
            "the namespace of the pods; without it that of the context",
        ),
        Key::new("image", Text, "the image of jobs that name none").example("\"debian:12\""),
        Key::new(
            "run-as-user",
            Text,
            "the user of scripts and services: a number, or `image` for that of each image; the `restricted` Pod Security Standard refuses \
             `0`, which is root",
        )
        .default("\"1000\""),
        Key::new(
            "image-pull-secrets",
            Texts,
            "the secrets of the namespace with logins of registries",
        ),
        Key::new(
            "service-account",
            Text,
            "the service account of the pods; without it that of the namespace",
        ),
        Key::new(
            "node-selector",
            Texts,
            "labels that a node must have, as `name=value`",
        )
        .example("[\"disk=fast\"]"),
        quantity("cpu-request", "the processors that a job asks for, as `500m`"),
        quantity("cpu-limit", "the most processors of a job"),
        quantity("memory-request", "the memory that a job asks for, as `1Gi`"),
        quantity("memory-limit", "the most memory of a job"),
        Key::new(
            "poll-timeout",
            Count,
            "for how many seconds a pod may wait for a node and its images",
        )
        .default("180"),
        Key::new(
            "orphan-grace",
            Count,
            "for how many seconds a job runs on in its pod without a connection",
        )
        .default("120"),
        Key::new(
            "engine",
            Word(&["auto", "agent", "exec"]),
            "how scripts run in the pod",
        )
        .default("\"auto\""),
    ],
};
