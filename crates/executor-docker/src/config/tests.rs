mod keys;
mod value;

use super::{DockerConfig, ImageOptions};
use executor_core::ConfigInfo;
use executor_core::job::{ExecutorOptions, Image};
use serde_json::json;

#[test]
fn all_problems_are_reported_at_once() {
    let config = DockerConfig {
        isolation: Some("process".to_owned()),
        pids_limit: -5,
        links: vec!["a".to_owned()],
        ..DockerConfig::default()
    };
    let keys: Vec<_> = config.problems().iter().map(|it| it.key).collect();
    assert_eq!(keys, ["isolation", "pids_limit", "links"]);
    assert!(DockerConfig::default().problems().is_empty());
}

#[test]
fn gpus_are_reported() {
    let report = |text: &str| {
        let config: DockerConfig = toml::from_str(text).unwrap();
        let mut info = ConfigInfo::default();
        config.report(&mut info);
        info.gpus
    };
    assert_eq!(report(r#"gpus = "device=0,1""#), "device=0,1");
    assert_eq!(report(""), "");
}

#[test]
fn platform_and_user_of_a_job_have_two_spellings() {
    let check =
        |docker: serde_json::Value, sent: serde_json::Value, expect: Result<[&str; 2], &str>| {
            let image = Image {
                docker: Some(docker.clone()),
                executor_opts: ExecutorOptions {
                    docker: Some(sent),
                    kubernetes: None,
                },
                ..Image::named("a")
            };
            let options = ImageOptions::of(&image)
                .map(|it| [it.platform, it.user].map(Option::unwrap_or_default));
            match (options, expect) {
                (Ok(options), Ok(expect)) => assert_eq!(options, expect, "of {docker}"),
                (Err(error), Err(expect)) => assert_eq!(error.to_string(), expect, "of {docker}"),
                (options, expect) => panic!("of {docker}: {options:?} is not {expect:?}"),
            }
        };
    check(json!(null), json!(null), Ok(["", ""]));
    check(
        json!({"platform": "linux/arm64"}),
        json!({"user": 1000}),
        Ok(["linux/arm64", "1000"]),
    );
    check(json!({"user": "a"}), json!({"user": "b"}), Ok(["", "b"]));
    check(
        json!({"user": ["a"]}),
        json!({}),
        Err("image:docker:user: is not a text"),
    );
    check(
        json!("linux/arm64"),
        json!({}),
        Err("image:docker: is not a mapping"),
    );
}

#[test]
fn jobs_run_with_warnings_and_not_with_errors() {
    let told = DockerConfig {
        helper_image_flavor: Some("alpine".to_owned()),
        ..DockerConfig::default()
    };
    assert_eq!(told.checked().unwrap().len(), 1);
    let wrong = DockerConfig {
        isolation: Some("hyperv".to_owned()),
        pids_limit: -9,
        ..told
    };
    assert_eq!(
        wrong.checked().unwrap_err().to_string(),
        "runners.docker.isolation: is of Windows containers, which are not run; \
         runners.docker.pids_limit: is less than 0, which is any number"
    );
}

#[test]
fn a_job_survives_its_runner_for_the_configured_time() {
    let check = |seconds, expect| {
        let config = DockerConfig {
            orphan_grace: seconds,
            ..DockerConfig::default()
        };
        let grace = config.orphan_grace();
        assert_eq!(grace.map(|grace| grace.as_secs()), expect);
    };
    check(DockerConfig::default().orphan_grace, Some(3600));
    check(60, Some(60));
    check(0, None);
    check(-1, None);
}
