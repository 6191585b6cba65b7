//! The environments of a project in a table.

use crate::text::{Row, Style, Tone, grid, shown_name, strip_controls, until};
use jiff::Timestamp;
use workstation::Environment;

/// Returns the table of environments.
pub fn table(all: &[Environment], now: Timestamp, style: Style) -> String {
    let rows = all.iter().map(|environment| Row {
        cells: cells(environment, now),
        tone: match environment.is_available() {
            true if environment.is_due(now) => Tone::Warning,
            true => Tone::Plain,
            false => Tone::Quiet,
        },
    });
    let heads = [
        "environment",
        "state",
        "tier",
        "deployed by",
        "stops",
        "url",
    ];
    grid(heads, &rows.collect::<Vec<_>>(), style)
}

fn cells(environment: &Environment, now: Timestamp) -> [String; 6] {
    let deployed = environment.deployment.as_ref();
    let stops = environment.auto_stop_at.map(|at| until(now, at));
    let url = environment.url.as_deref().map(strip_controls);
    [
        shown_name(&environment.name),
        environment.state.as_str().to_owned(),
        environment.tier.word().to_owned(),
        deployed.map_or_else(
            || "-".to_owned(),
            |it| format!("run {}, {}", it.pipeline, shown_name(&it.job)),
        ),
        stops.unwrap_or_else(|| "-".to_owned()),
        url.unwrap_or_else(|| "-".to_owned()),
    ]
}
