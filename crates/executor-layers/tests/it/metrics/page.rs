//! The user guide lists the metrics that there are, and no others.

use executor_layers::{MetricDefinition, Metrics};

const PAGE: &str = include_str!("../../../../../docs/book/src/metrics.md");

fn row(metric: &MetricDefinition) -> String {
    let labels = match metric.labels {
        [] => "-".to_owned(),
        labels => format!("`{}`", labels.join("`, `")),
    };
    format!(
        "| `{}` | {} | {labels} | {} | {} |",
        metric.name,
        metric.kind.as_str(),
        metric.unit,
        metric.help
    )
}

#[test]
fn every_metric_is_in_the_guide_and_nothing_else() {
    let defined: Vec<_> = Metrics::definitions().iter().map(row).collect();
    let listed: Vec<_> = PAGE
        .lines()
        .filter(|line| line.starts_with("| `gitlab_runner_") || line.starts_with("| `runwright_"))
        .collect();
    assert_eq!(listed, defined);
}
