use super::{check_errors, resolve};

fn check(stages: &str, expect: &[&str]) {
    let text = format!("stages: {stages}\njob: {{script: x, stage: .pre}}");
    assert_eq!(resolve(&text).stages, expect, "{text}");
}

#[test]
fn pre_and_post_surround_the_stages_of_the_file() {
    // R-GLCI-156
    check("[one, two]", &[".pre", "one", "two", ".post"]);
    check("[one, .post, .pre, two]", &[".pre", "one", "two", ".post"]);
    check("[a, [b, [c]], a]", &[".pre", "a", "b", "c", "a", ".post"]);
    let nested = |levels: usize| format!("{}a{}", "[".repeat(levels), "]".repeat(levels));
    check(&nested(10), &[".pre", "a", ".post"]);
    check_errors(
        &format!("stages: {}\njob: {{script: x, stage: a}}", nested(11)),
        &[&format!(
            "stages config should be nested at most 10 levels deep @ {}",
            nested(11)
        )],
    );
    // GitLab removes `.pre` and `.post` before it flattens.
    check("[[a, .pre]]", &[".pre", "a", ".pre", ".post"]);
    check("", &[".pre", "build", "test", "deploy", ".post"]);
}

#[test]
fn lists_of_stages_are_nested_at_most_ten_deep() {
    let nested = |depth| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!("{open}a{close}")
    };
    check(&nested(10), &[".pre", "a", ".post"]);
    let text = format!("stages: {}\njob: {{script: x, stage: a}}\n", nested(11));
    let place = nested(11);
    let expect = format!("stages config should be nested at most 10 levels deep @ {place}");
    check_errors(&text, &[&expect]);
}

#[test]
fn the_stage_of_a_job_must_exist() {
    check_errors(
        "stages: [one]\njob: {script: x}",
        &["job job: chosen stage test does not exist; available stages are .pre, one, .post @ job"],
    );
    check_errors(
        "stages: []\njob: {script: x, stage: .pre}",
        &["job job: chosen stage .pre does not exist; available stages are  @ .pre"],
    );
    // The stages are unknown if they cannot be read.
    check_errors(
        "stages: [1]\njob: {script: x}",
        &["stages config should be an array of strings @ 1"],
    );
}
