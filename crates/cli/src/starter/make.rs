use std::fmt::Write as _;

/// The targets that get a job, with the stage of each. Only the first target of a stage is used.
const TARGETS: [(&str, &str); 5] = [
    ("lint", "check"),
    ("build", "build"),
    ("all", "build"),
    ("test", "test"),
    ("check", "test"),
];

/// Writes a pipeline of the common targets of a Makefile; without any, of its default target.
pub(super) fn pipeline(makefile: &str) -> String {
    let mut stages = Vec::new();
    let mut jobs = String::new();
    let mut job = |name: &str, stage: &'static str, command: &str| {
        stages.push(stage);
        let _ = write!(
            jobs,
            "\n{name}:\n  stage: {stage}\n  script:\n    - {command}\n"
        );
    };
    let mut last = None;
    for (target, stage) in TARGETS {
        if last != Some(stage) && has_target(makefile, target) {
            last = Some(stage);
            job(target, stage, &format!("make {target}"));
        }
    }
    if last.is_none() {
        job("make", "build", "make");
    }
    let stages = stages.join(", ");
    format!(
        "stages: [{stages}]\n\n# Where jobs run in containers, they need an image:\n\
         # default: {{image: gcc:latest}}\n{jobs}"
    )
}

fn has_target(makefile: &str, target: &str) -> bool {
    makefile.lines().any(|line| {
        let Some((targets, rest)) = line.split_once(':') else {
            return false;
        };
        // `NAME := value` is an assignment, and an indented line belongs to a recipe.
        !rest.starts_with('=')
            && !line.starts_with(char::is_whitespace)
            && targets.split_whitespace().any(|name| name == target)
    })
}
