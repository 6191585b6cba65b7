//! Where each keyword is allowed, and the locations of errors about it.

use pipeline::ResolvedPipeline;

/// A keyword, a valid value, and where it is allowed: `g`lobal, `d`efault, `j`ob, `t`rigger job,
/// `r`ule, `w`orkflow rule.
const KEYWORDS: [(&str, &str, &str); 46] = [
    ("after_script", "[a]", "gdj"),
    ("before_script", "[a]", "gdj"),
    ("allow_failure", "true", "jtrw"),
    ("artifacts", "{paths: [a]}", "dj"),
    ("auto_cancel", "{on_new_commit: none}", "w"),
    ("cache", "{key: k}", "gdj"),
    ("changes", "[a]", "rw"),
    ("exists", "[a]", "rw"),
    ("if", "$A", "rw"),
    ("coverage", "/a/", "j"),
    ("dast_configuration", "{site_profile: a}", "j"),
    ("release", "{tag_name: v, description: d}", "j"),
    ("dependencies", "[]", "j"),
    ("pages", "false", "j"),
    ("default", "{tags: [a]}", "g"),
    ("stages", "[test]", "g"),
    ("workflow", "{name: n}", "g"),
    ("environment", "e", "jt"),
    ("extends", ".h", "jt"),
    ("hooks", "{pre_get_sources_script: a}", "dj"),
    ("id_tokens", "{A: {aud: a}}", "dj"),
    ("identity", "google_cloud", "dj"),
    ("image", "a", "gdj"),
    ("services", "[a]", "gdj"),
    ("inherit", "{default: false}", "jt"),
    ("inputs", "{a: {default: b}}", "j"),
    ("interruptible", "true", "djtr"),
    ("manual_confirmation", "m", "j"),
    ("needs", "[]", "jtrw"),
    ("only", "[main]", "jt"),
    ("except", "[main]", "jt"),
    ("parallel", "{matrix: [{A: b}]}", "jt"),
    ("resource_group", "r", "jt"),
    ("retry", "1", "dj"),
    ("tags", "[a]", "dj"),
    ("rules", "[{if: $A}]", "jt"),
    ("secrets", "{A: {vault: a/b}}", "j"),
    ("stage", "build", "jt"),
    ("timeout", "1h", "dj"),
    ("variables", "{A: b}", "gjtrw"),
    ("when", "always", "jtrw"),
    ("type", "test", ""),
    ("name", "n", ""),
    ("expire_in", "1h", ""),
    ("paths", "[a]", ""),
    ("strategy", "depend", ""),
];

/// Returns a file with an entry at one of these positions, and GitLab's name of that position.
fn file(place: char, entry: &str) -> (String, &'static str) {
    let (text, location) = match place {
        'g' => (entry.to_owned(), "jobs"),
        'd' => (format!("default: {{{entry}}}"), "default"),
        'j' => (format!("j: {{script: x, {entry}}}"), "jobs:j"),
        't' => (format!("j: {{trigger: g/p, {entry}}}"), "jobs:j"),
        'r' => (
            format!("j: {{script: x, rules: [{{{entry}}}]}}"),
            "jobs:j:rules:rule",
        ),
        _ => (
            format!("workflow: {{rules: [{{{entry}}}]}}"),
            "workflow:rules:rule",
        ),
    };
    let text = format!(".h: {{interruptible: true}}\nother: {{script: x}}\n{text}\n");
    (text, location)
}

#[test]
fn each_keyword_is_allowed_only_where_it_belongs() {
    // R-GLCI-159
    for (keyword, value, places) in KEYWORDS {
        for place in "gdjtrw".chars() {
            // A `default` with `needs` is a job.
            if (keyword, place) == ("needs", 'd') {
                continue;
            }
            let (text, location) = file(place, &format!("{keyword}: {value}"));
            let found = ResolvedPipeline::from_text("ci.yml", &text).diagnostics;
            if places.contains(place) {
                assert!(!found.has_errors(), "{text}\n{found}");
                continue;
            }
            let errors: Vec<_> = found.errors().collect();
            let [error] = errors[..] else {
                panic!("{text}\n{found}");
            };
            assert!(error.message.starts_with(location), "{text}\n{found}");
            let span = error.span.unwrap();
            assert!(text[span.bytes()].starts_with(keyword), "{text}\n{found}");
        }
    }
}
