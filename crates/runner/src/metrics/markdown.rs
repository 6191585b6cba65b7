//! The guide's page about metrics.

use super::definition::{ALL, MetricDefinition, MetricKind};
use std::fmt::Write as _;

/// Returns the guide's tables of all metrics, in Markdown.
pub fn metric_table_markdown() -> String {
    let mut page = String::new();
    table(&mut page, "GitLab Runner's metrics", true);
    page.push('\n');
    table(&mut page, "Runwright's metrics", false);
    page
}

fn table(page: &mut String, title: &str, is_gitlab: bool) {
    let metrics = ALL.iter().filter(|it| it.is_gitlab() == is_gitlab);
    let rows: String = metrics.map(row).collect();
    // Writing to a text does not fail.
    let _ = write!(
        page,
        "## {title}\n\n| Name | Type | Labels | Meaning |\n| --- | --- | --- | --- |\n{rows}"
    );
}

fn row(metric: &MetricDefinition) -> String {
    let kind = match metric.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram(_) => "histogram",
    };
    let labels = metric.labels.iter().map(|label| format!("`{label}`"));
    let labels = labels.collect::<Vec<_>>().join(", ");
    format!(
        "| `{}` | {kind} | {labels} | {} |\n",
        metric.name, metric.help
    )
}
