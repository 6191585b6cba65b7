//! Reports invalid and disallowed images before any job runs.

use crate::failure::Failure;
use anyhow::anyhow;
use console::shown_name;
use executor_core::job::When;
use executor_docker::config::DockerConfig;
use executor_docker::config::policy::{check_image, check_service};
use executor_docker::image::ImageReference;
use pipeline::{Plan, PlannedJob};
use std::sync::Arc;
use workstation::LocalPipeline;
use yaml::Node;
use yaml::source::Span;

/// How many mistakes a message names.
const NAMED: usize = 5;

/// Which key of a job names an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Image,
    Services,
}

/// Refuses a plan whose jobs name an invalid image, or one that the settings do not allow.
///
/// A name with variables is checked when its job runs, since earlier jobs may set them.
pub(super) fn refuse_bad_images(
    plan: &Plan,
    config: &DockerConfig,
    pipeline: &LocalPipeline,
) -> Result<(), Failure> {
    let mut found = Vec::new();
    for job in plan.jobs() {
        if job.is_bridge() || job.definition.when == When::Manual && !job.is_played {
            continue;
        }
        for (key, name) in names(job) {
            if let Err(words) = check(config, key, name) {
                let place = place(pipeline, job, key, name).unwrap_or_default();
                found.push(format!(
                    "{place}job {}: {}: {words}",
                    shown_name(job.name()),
                    key.word()
                ));
            }
        }
    }
    let more = found.len().saturating_sub(NAMED);
    found.truncate(NAMED);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(anyhow!(found.join("\n"))))
}

impl Key {
    fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Services => "services",
        }
    }
}

/// Returns the images that a job names without variables.
fn names(job: &PlannedJob) -> impl Iterator<Item = (Key, &str)> {
    let definition = &job.definition;
    let image = definition.image.iter().map(|it| (Key::Image, &*it.name));
    let services = definition.services.iter().flatten();
    let services = services.map(|it| (Key::Services, &*it.name));
    let all = image.chain(services);
    all.filter(|(_, name)| !name.is_empty() && !name.contains('$'))
}

fn check(config: &DockerConfig, key: Key, name: &str) -> Result<(), String> {
    let image = ImageReference::parse(name).map_err(|error| error.to_string())?;
    let allowed = match key {
        Key::Image => check_image(config, &image),
        Key::Services => check_service(config, &image),
    };
    allowed.map_err(|refusal| refusal.to_string())
}

/// Returns the location of an image name, as the prefix of a message.
fn place(pipeline: &LocalPipeline, job: &PlannedJob, key: Key, name: &str) -> Option<String> {
    let mut jobs = pipeline.resolved().jobs.iter();
    let written = jobs.find(|it| it.definition.name == job.name())?;
    let loaded = pipeline.loaded();
    let span = span_of(loaded.tree(), &written.name_in_file, key.word(), name)?;
    let origin = loaded.origins().of(span)?;
    Some(format!(
        "{}:{}:{}: ",
        origin.file, origin.line, origin.column
    ))
}

/// Returns the span of an image name: in the job, else in the defaults of jobs without the key.
fn span_of(tree: &Node, job: &str, key: &str, name: &str) -> Option<Span> {
    let of_job = tree.get(job).and_then(|it| it.get(key));
    let of_default = || tree.get("default").and_then(|it| it.get(key));
    let node = of_job.or_else(of_default).or_else(|| tree.get(key))?;
    let mut nodes = match node.as_sequence() {
        Some(list) => list.iter().collect(),
        None => vec![node],
    };
    nodes.retain(|node| text(node).as_str() == Some(name));
    nodes.first().map(|node| text(node).span)
}

/// Returns the node with the image name: the node itself, or its `name`.
fn text(node: &Arc<Node>) -> &Arc<Node> {
    node.get("name").unwrap_or(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::Pipeline;

    const FILE: &str = "default:\n  image: Bad/ONE\n  services: [ok, {name: Bad/TWO}]\n\
                        .hidden:\n  image:\n    name: Bad/THREE\n\
                        a:\n  script: x\n\
                        b:\n  extends: .hidden\n  script: x\n";

    #[test]
    fn finds_the_location_of_an_image_name() {
        let checked = Pipeline::from_text("ci.yml", FILE);
        let (pipeline, _) = (checked.value.expect("a pipeline"), checked.diagnostics);
        let found = |job: &str, key: &str, name: &str| {
            let span = span_of(pipeline.tree(), job, key, name)?;
            Some((span.line, span.column))
        };
        assert_eq!(found("a", "image", "Bad/ONE"), Some((2, 10)));
        assert_eq!(found("a", "services", "Bad/TWO"), Some((3, 25)));
        assert_eq!(found("b", "image", "Bad/THREE"), Some((6, 11)));
        assert_eq!(found("b", "image", "other"), None);
    }

    #[test]
    fn invalid_and_disallowed_images_are_reported() {
        let config = DockerConfig {
            allowed_services: vec!["postgres:*".to_owned()],
            ..DockerConfig::default()
        };
        let check = |key, name: &str, part: &str| match check(&config, key, name) {
            Ok(()) => assert_eq!(part, "", "{name}"),
            Err(words) => assert!(!part.is_empty() && words.contains(part), "{words}"),
        };
        check(Key::Image, "debian:12", "");
        check(Key::Image, "Bad/UPPER", "is not a reference to an image");
        check(Key::Services, "postgres:17", "");
        check(Key::Services, "redis", "is not allowed");
    }
}
