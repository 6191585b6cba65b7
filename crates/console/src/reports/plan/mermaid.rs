use super::edges::{Edge, edges};
use super::{PlanJob, PlanStage, delay};
use crate::text::strip_controls;
use executor_core::job::When;
use std::fmt::Write as _;

/// Returns the jobs as a flowchart of Mermaid, which code hosts draw in Markdown.
pub fn mermaid(stages: &[PlanStage<'_>]) -> String {
    let mut text = "flowchart LR\n".to_owned();
    let mut number = 0;
    let (mut waiting, mut allowed) = (Vec::new(), Vec::new());
    for (place, stage) in stages.iter().enumerate() {
        let _ = writeln!(text, "  subgraph s{place}[\"{}\"]", escaped(stage.name));
        for job in &stage.jobs {
            let _ = writeln!(text, "    {}", node(number, job));
            if matches!(job.definition.when, When::Manual | When::Delayed) {
                waiting.push(format!("j{number}"));
            }
            if job.definition.allow_failure {
                allowed.push(format!("j{number}"));
            }
            number += 1;
        }
        text.push_str("  end\n");
    }
    for edge in edges(stages) {
        let _ = match edge {
            Edge::Job { from, to } => writeln!(text, "  j{from} --> j{to}"),
            Edge::Stage { from, to } => writeln!(text, "  s{from} --> s{to}"),
            Edge::StageOfJob { from, to } => writeln!(text, "  s{from} --> j{to}"),
        };
    }
    for (class, look, jobs) in [
        ("waiting", "stroke-width:3px", waiting),
        ("mayfail", "stroke-dasharray:5 5", allowed),
    ] {
        if !jobs.is_empty() {
            let _ = writeln!(text, "  classDef {class} {look}");
            let _ = writeln!(text, "  class {} {class}", jobs.join(","));
        }
    }
    text
}

/// Returns a job as a box; a manual or delayed one has round ends.
fn node(number: usize, job: &PlanJob<'_>) -> String {
    let name = escaped(&job.definition.name);
    match job.definition.when {
        When::Manual => format!("j{number}([\"{name} (manual)\"])"),
        When::Delayed => {
            let start_in = job.definition.start_in.as_deref();
            let delay = start_in.map_or_else(|| "delayed".to_owned(), delay);
            format!("j{number}([\"{name} ({})\"])", escaped(&delay))
        }
        _ => format!("j{number}[\"{name}\"]"),
    }
}

/// Returns text as it can stand between quotes: what Mermaid or HTML would read is named.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in strip_controls(text).chars() {
        match character {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | ';' => {
                let _ = write!(out, "#{};", u32::from(character));
            }
            '\t' => out.push(' '),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::sample::{jobs, sample_stages};
    use super::*;

    #[test]
    fn all_jobs_and_what_they_wait_for_are_in_the_flowchart() {
        insta::assert_snapshot!(mermaid(&sample_stages(&jobs())), @r#"
        flowchart LR
          subgraph s0["build"]
            j0["compile"]
            j1["say #34;hi#92;#34; #60;b#62;#35;1#59;#60;/b#62;"]
          end
          subgraph s1["te]st"]
            j2["test: [日本]"]
            j3["lint"]
          end
          subgraph s2["ship"]
            j4(["deploy (manual)"])
            j5(["later (2m 5s)"])
          end
          j0 --> j2
          s0 --> j3
          s1 --> j4
          classDef waiting stroke-width:3px
          class j4,j5 waiting
          classDef mayfail stroke-dasharray:5 5
          class j4 mayfail
        "#);
    }
}
