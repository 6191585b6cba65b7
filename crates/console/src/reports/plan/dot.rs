use super::edges::{Edge, edges};
use super::{PlanJob, PlanStage, delay};
use crate::text::strip_controls;
use executor_core::job::When;
use std::fmt::Write as _;

/// Returns the jobs as a graph in the language of Graphviz.
pub fn dot(stages: &[PlanStage<'_>]) -> String {
    let mut text =
        "digraph pipeline {\n  rankdir=LR;\n  compound=true;\n  node [shape=box];\n".to_owned();
    let mut number = 0;
    // An edge of a stage is one of its first job that ends at the frame.
    let mut first_jobs = Vec::new();
    for (place, stage) in stages.iter().enumerate() {
        first_jobs.push(number);
        let _ = writeln!(text, "  subgraph cluster_{place} {{");
        let _ = writeln!(text, "    label=\"{}\";", escaped(stage.name));
        for job in &stage.jobs {
            let _ = writeln!(text, "    j{number} [{}];", attributes(job));
            number += 1;
        }
        text.push_str("  }\n");
    }
    for edge in edges(stages) {
        let _ = match edge {
            Edge::Job { from, to } => writeln!(text, "  j{from} -> j{to};"),
            Edge::Stage { from, to } => writeln!(
                text,
                "  j{} -> j{} [ltail=cluster_{from}, lhead=cluster_{to}];",
                first_jobs[from], first_jobs[to]
            ),
            Edge::StageOfJob { from, to } => writeln!(
                text,
                "  j{} -> j{to} [ltail=cluster_{from}];",
                first_jobs[from]
            ),
        };
    }
    text.push_str("}\n");
    text
}

fn attributes(job: &PlanJob<'_>) -> String {
    let name = escaped(&job.definition.name);
    let (label, shape) = match job.definition.when {
        When::Manual => (format!("{name}\\n(manual)"), "rounded"),
        When::Delayed => {
            let start_in = job.definition.start_in.as_deref();
            let delay = start_in.map_or_else(|| "delayed".to_owned(), delay);
            (format!("{name}\\n({})", escaped(&delay)), "rounded")
        }
        _ => (name, ""),
    };
    let frame = if job.definition.allow_failure {
        "dashed"
    } else {
        ""
    };
    let styles: Vec<&str> = [shape, frame]
        .into_iter()
        .filter(|it| !it.is_empty())
        .collect();
    let mut text = format!("label=\"{label}\"");
    if !styles.is_empty() {
        let _ = write!(text, ", style=\"{}\"", styles.join(","));
    }
    text
}

/// Returns text as it can stand between quotes; a backslash would begin a sign of Graphviz.
fn escaped(text: &str) -> String {
    let text = strip_controls(text).replace('\t', " ");
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::super::sample::{jobs, sample_stages};
    use super::*;

    #[test]
    fn all_jobs_and_what_they_wait_for_are_in_the_graph() {
        insta::assert_snapshot!(dot(&sample_stages(&jobs())), @r#"
        digraph pipeline {
          rankdir=LR;
          compound=true;
          node [shape=box];
          subgraph cluster_0 {
            label="build";
            j0 [label="compile"];
            j1 [label="say \"hi\\\" <b>#1;</b>"];
          }
          subgraph cluster_1 {
            label="te]st";
            j2 [label="test: [日本]"];
            j3 [label="lint"];
          }
          subgraph cluster_2 {
            label="ship";
            j4 [label="deploy\n(manual)", style="rounded,dashed"];
            j5 [label="later\n(2m 5s)", style="rounded"];
          }
          j0 -> j2;
          j0 -> j3 [ltail=cluster_0];
          j2 -> j4 [ltail=cluster_1];
        }
        "#);
    }
}
