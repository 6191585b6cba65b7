use super::Checker;
use crate::graph;
use crate::resolve::ResolvedJob;

/// How many names of a circle a message lists.
const MOST_LISTED: usize = 20;

impl Checker<'_> {
    /// Checks that no job waits for itself.
    pub(super) fn check_cycles(&mut self, resolved: &[ResolvedJob]) {
        let edges = resolved.iter().map(|job| {
            let needs = job.definition.needs.iter().flatten();
            needs
                .filter_map(|need| self.expansion.place(&need.job))
                .collect()
        });
        let Err(cycle) = graph::order(&edges.collect::<Vec<_>>()) else {
            return;
        };
        let first = &resolved[cycle[0]];
        let shown = cycle.iter().take(MOST_LISTED);
        let mut names: Vec<&str> = shown.map(|&at| &*resolved[at].definition.name).collect();
        if cycle.len() > MOST_LISTED {
            names.push("...");
        }
        names.push(&first.definition.name);
        let message = format!(
            "The pipeline has circular dependencies: the jobs need each other in a circle: {}",
            names.join(" -> ")
        );
        let Some(span) = first.span else {
            return;
        };
        let in_file = self.expansion.find(&first.definition.name);
        let need = in_file.and_then(|job| job.needs.as_ref()?.first());
        let span = need.map_or(span, |need| need.span);
        self.report("needs-cycle", message, span, None);
    }
}
