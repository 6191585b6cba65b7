use super::KubernetesConfig;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Keys of GitLab Runner that change nothing here and harm nothing, with the reason. A star stands for any ending.
const IGNORED: &[(&str, &str)] = &[
    (
        "helper_*",
        "there is no helper container: its work is done in the job's own, which `cpu_request` and `memory_request` size",
    ),
    (
        "init_permissions_container_security_context",
        "there is no such container: `pod_security_context` with `fs_group` makes volumes writable",
    ),
    (
        "poll_interval",
        "pods are watched, so a change is known at once",
    ),
    (
        "logs_base_dir",
        "the log goes to the runner without a file in the pod",
    ),
    (
        "scripts_base_dir",
        "scripts go to the job's agent without a file in a directory of their own",
    ),
    (
        "print_pod_warning_events",
        "the reason why a pod does not start is always in the log",
    ),
    ("retry_*", "the runner repeats requests by rules of its own"),
    (
        "resource_availability_check_max_attempts",
        "a missing account fails the job at once, or after 90 seconds in a new namespace (`namespace_per_job`)",
    ),
    (
        "cleanup_resources_timeout",
        "the end of a pod is awaited for its grace and one minute",
    ),
];

/// Keys of GitLab Runner whose effect a runner would miss, with the reason and the alternative.
const REFUSED: &[(&str, &str)] = &[
    (
        "autoscaler",
        "there are no pause pods: let the autoscaler of the cluster keep a spare node",
    ),
    (
        "pod_disruption_budget",
        "no budget is created: protect pods by `pod_annotations`, such as \"cluster-autoscaler.kubernetes.io/safe-to-evict\" = \"false\"",
    ),
    (
        "suspend_*",
        "the environment of a job is not suspended: keep files in a volume of `volumes.pvc`",
    ),
    (
        "terminationGracePeriodSeconds",
        "write `pod_termination_grace_period_seconds`",
    ),
];

impl KubernetesConfig {
    /// Returns why a key of GitLab Runner has no effect. The reader of a settings file leaves it out and shows the reason as a warning.
    pub fn ignored(key: &str) -> Option<&'static str> {
        reason(IGNORED, key)
    }

    /// Returns why a key of GitLab Runner is refused, and the alternative.
    pub fn refused(key: &str) -> Option<&'static str> {
        reason(REFUSED, key)
    }
}

fn reason(table: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    let matches = |name: &str| match name.strip_suffix('*') {
        Some(start) => key.starts_with(start),
        None => key == name,
    };
    let found = table.iter().find(|(name, _)| matches(name));
    found.map(|(_, reason)| *reason)
}

/// Accepts `false`, which files written by `gitlab-runner register` have.
pub(super) fn only_false<'de, D: Deserializer<'de>>(input: D) -> Result<bool, D::Error> {
    if bool::deserialize(input)? {
        return Err(D::Error::custom(
            "bearer_token_overwrite_allowed = true is refused: a job would choose the identity that the cluster sees; \
             give each project that needs one a runner with its own bearer_token",
        ));
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    const PAGE: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/book/src/kubernetes-keys.md"
    );

    /// Returns the supported keys with their documentation.
    fn supported() -> Vec<(String, String)> {
        let source = include_str!("mod.rs");
        let (_, fields) = source.split_once("pub struct KubernetesConfig {").unwrap();
        let (fields, _) = fields.split_once("\n}").unwrap();
        let mut keys = Vec::new();
        let mut meaning = String::new();
        for line in fields.lines().map(str::trim) {
            if let Some(text) = line.strip_prefix("/// ") {
                meaning.push_str(text);
                meaning.push(' ');
            } else if let Some(field) = line.strip_prefix("pub ") {
                let (key, _) = field.split_once(':').unwrap();
                let meaning = std::mem::take(&mut meaning);
                keys.push((
                    key.to_owned(),
                    meaning.trim().trim_end_matches('.').to_owned(),
                ));
            }
        }
        keys
    }

    fn tables() -> String {
        let mut text = "| key | meaning |\n|---|---|\n".to_owned();
        for (key, meaning) in supported() {
            let _ = writeln!(text, "| `{key}` | {meaning} |");
        }
        for (heading, intro, table) in [
            (
                "Ignored keys",
                "These change nothing, which a warning says.",
                IGNORED,
            ),
            (
                "Refused keys",
                "A file with one of these is an error, as a runner would miss its effect.",
                REFUSED,
            ),
        ] {
            let _ = writeln!(
                text,
                "\n## {heading}\n\n{intro}\n\n| key | reason |\n|---|---|"
            );
            for (key, reason) in table {
                let _ = writeln!(text, "| `{key}` | {reason} |");
            }
        }
        text
    }

    #[test]
    fn the_guide_lists_all_keys() {
        let unknown = toml::from_str::<KubernetesConfig>("none = 1").unwrap_err();
        let (_, known) = unknown.message().split_once("expected one of ").unwrap();
        let known = known.split(", ").map(|it| it.trim_matches('`').to_owned());
        let listed = supported().into_iter().map(|(key, _)| key);
        assert_eq!(known.collect::<Vec<_>>(), listed.collect::<Vec<_>>());
        let page = std::fs::read_to_string(PAGE).unwrap();
        let heading = "## Supported keys\n\n";
        let (intro, shown) = page.split_once(heading).unwrap();
        if std::env::var_os("RUNWRIGHT_TEST_UPDATE").is_some() {
            std::fs::write(PAGE, format!("{intro}{heading}{}", tables())).unwrap();
        } else {
            assert_eq!(shown, tables(), "RUNWRIGHT_TEST_UPDATE=1 writes it");
        }
    }

    #[test]
    fn the_examples_of_the_guide_are_valid() {
        let page = include_str!("../../../../docs/book/src/operating-kubernetes.md");
        let keys = include_str!("../../../../docs/book/src/kubernetes-keys.md");
        let mut count = 0;
        let examples = |page: &'static str| page.split("```toml\n").skip(1);
        for example in examples(page).chain(examples(keys)) {
            let (example, _) = example.split_once("```").unwrap();
            if example.contains("[runners.kubernetes") {
                let file: toml::Table = toml::from_str(example).unwrap();
                let config = file["runners"]["kubernetes"].clone();
                config.try_into::<KubernetesConfig>().unwrap();
                count += 1;
            }
        }
        assert_eq!(count, 5);
    }
}
