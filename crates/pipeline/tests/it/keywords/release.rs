use super::{accept, job, refuse};
use pipeline::ResolvedPipeline;
use serde_json::json;

#[test]
fn releases_are_read_as_written() {
    // R-GLCI-159
    let all = "release: {tag_name: $T, tag_message: m, name: n, description: d, ref: $CI_COMMIT_SHA, \
               milestones: [a, b], released_at: '2030-01-31T08:00:00Z', assets: {links: \
               [{name: n, url: 'https://a.b', link_type: other}]}}";
    accept(
        all,
        "release",
        &json!({
            "tag_name": "$T", "tag_message": "m", "name": "n", "description": "d",
            "ref": "$CI_COMMIT_SHA", "milestones": ["a", "b"],
            "released_at": "2030-01-31T08:00:00Z",
            "assets": {"links": [{"name": "n", "url": "https://a.b", "link_type": "other"}]}
        }),
    );
}

#[test]
fn invalid_releases_are_refused_at_their_location() {
    // R-GLCI-159
    let check = |keywords: &str, message: &str, about: &str| {
        let text = format!("release: {{tag_name: t, {keywords}}}");
        refuse(&text, &format!("jobs:job:release{message}"), about);
    };
    refuse(
        "release: a",
        "jobs:job:release config should be a hash",
        "a",
    );
    check(
        "name: a",
        " config missing required keys: description",
        "{tag_name: t, name: a}",
    );
    check("description: ''", " description can't be blank", "''");
    check(
        "description: d, ref: a b",
        " ref must be a valid ref",
        "a b",
    );
    check(
        "description: d, milestones: [1]",
        " milestones should be an array of strings or a string",
        "1",
    );
    check(
        "description: d, released_at: soon",
        " released_at must be a valid datetime",
        "soon",
    );
    check(
        "description: d, assets: a",
        ":assets config should be a hash",
        "a",
    );
    check(
        "description: d, assets: {links: [a]}",
        ":assets links should be an array of hashes",
        "[a]",
    );
    check(
        "description: d, assets: {links: [{name: a, url: 'https://a.b', link_type: zip}]}",
        ":assets links:link_type config should be one of: other, runbook, package, image",
        "zip",
    );
}

#[test]
fn an_invalid_link_is_warned_about() {
    let text = job("release: {tag_name: t, description: d, assets: {links: [{nmae: a}]}}");
    let checked = ResolvedPipeline::from_text("ci.yml", &text);
    assert!(!checked.diagnostics.has_errors(), "{}", checked.diagnostics);
    let doubts: Vec<&str> = checked
        .diagnostics
        .warnings()
        .map(|doubt| doubt.message.as_str())
        .collect();
    insta::assert_snapshot!(doubts.join("\n"), @r"
    jobs:job:release:assets links: the link has no `name`, so the release cannot be created
    jobs:job:release:assets links: the link has no `url`, so the release cannot be created
    jobs:job:release:assets links: the link has the unknown key `nmae`, so the release cannot be created
    ");
}
