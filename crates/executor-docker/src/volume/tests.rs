use super::{CacheKey, PlannedVolume, Source, VolumeContext, VolumePlan, VolumeSpec};
use crate::config::DockerConfig;
use crate::config::policy::RealPath;
use crate::engine::names::Names;
use executor_core::{JobId, JobVariable, JobVariables};
use proptest::prelude::*;
use std::collections::HashSet;

#[test]
fn volumes_are_parsed_as_in_gitlab_runner() {
    let check = |text: &str, expect: Result<(Source, &str, &[&str]), &str>| match (
        VolumeSpec::parse(text, "/builds/g/a"),
        expect,
    ) {
        (Ok(spec), Ok((source, destination, options))) => {
            assert_eq!(spec.source, source, "{text}");
            assert_eq!(spec.destination, destination, "{text}");
            assert_eq!(spec.options, options, "{text}");
        }
        (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text}: {error}"),
        (spec, expect) => panic!("{text}: {spec:?} is not {expect:?}"),
    };
    let host = |path: &str| Source::Host(path.to_owned());
    let named = |name: &str| Source::Named(name.to_owned());
    check("/cache", Ok((Source::Cache, "/cache", &[])));
    check(
        "cache/deps",
        Ok((Source::Cache, "/builds/g/a/cache/deps", &[])),
    );
    check("./cache", Ok((Source::Cache, "/builds/g/a/cache", &[])));
    check("/cache:ro", Ok((Source::Cache, "/cache", &["ro"])));
    check("/srv/a:/a", Ok((host("/srv/a"), "/a", &[])));
    check("/srv/a:a", Ok((host("/srv/a"), "/builds/g/a/a", &[])));
    check(
        "/srv/a:/a:ro,z,rslave",
        Ok((host("/srv/a"), "/a", &["ro", "z", "rslave"])),
    );
    check("data:/a//b/", Ok((named("data"), "/a/b", &[])));
    check("/:/host", Ok((host("/"), "/host", &[])));
    check("/srv/../etc:/a", Ok((host("/srv/../etc"), "/a", &[])));
    check("", Err("destination is empty"));
    check("/", Err("container's root"));
    check("/a:/", Err("container's root"));
    check("/a:", Err("destination is empty"));
    check(":/a", Err("neither an absolute path nor the name"));
    check("./a:/a", Err("neither an absolute path nor the name"));
    check("a b:/a", Err("neither an absolute path nor the name"));
    check("..:/a", Err("neither an absolute path nor the name"));
    check(r"C:\a:/a", Err("unknown option"));
    check("/a:/../etc", Err("`..`"));
    check("../a", Err("`..`"));
    check("/a:/b:rx", Err("unknown option"));
    check("/a:/b:ro:z", Err("too many colons"));
    check("/a\n:/b", Err("control character"));
}

#[test]
fn a_cache_belongs_to_project_slot_protection_and_destination() {
    let key = |runner: &str, project: &str, slot, protected| CacheKey {
        runner: runner.to_owned(),
        project: project.to_owned(),
        slot,
        protected,
    };
    let mut names = HashSet::new();
    for (key, destination) in [
        (key("r", "g/a", 0, false), "/c"),
        (key("r", "g/a", 0, true), "/c"),
        (key("r", "g/a", 1, false), "/c"),
        (key("r", "g/b", 0, false), "/c"),
        (key("q", "g/a", 0, false), "/c"),
        (key("r", "g/a", 0, false), "/d"),
        (key("rg", "/a", 0, false), "/c"),
        (key("r", "g/a0", 0, false), "/c"),
        (key("r", "g/a", 10, false), "/c"),
    ] {
        let name = key.volume(destination);
        assert!(name.starts_with("runwright-cache-"), "{name}");
        assert_eq!(name.ends_with("-protected"), key.protected, "{name}");
        assert_eq!(name, key.volume(destination));
        assert!(key.directory("/srv/c/", destination).starts_with("/srv/c/"));
        assert!(names.insert(name), "{key:?} {destination}");
    }
}

fn plan(config: &DockerConfig) -> Result<VolumePlan, String> {
    let variables: JobVariables = [
        JobVariable::public("CI_PROJECT_ID", "7"),
        JobVariable::public("BAD", "/etc:/etc"),
        JobVariable::public("UP", "../../etc"),
    ]
    .into_iter()
    .collect();
    let key = CacheKey {
        runner: "r".to_owned(),
        project: "g/a".to_owned(),
        slot: 0,
        protected: false,
    };
    let context = VolumeContext {
        project_dir: "/builds/g/a",
        key: &key,
        names: &Names::new("o", JobId(1), 0),
        variables: &variables,
        sockets: &["/run/docker.sock".into()],
        real_path: RealPath::of_another_host,
    };
    VolumePlan::new(config, &context).map_err(|it| it.to_string())
}

fn volumes(volumes: &[&str]) -> DockerConfig {
    DockerConfig {
        volumes: volumes.iter().map(|it| (*it).to_owned()).collect(),
        ..DockerConfig::default()
    }
}

#[test]
fn bare_paths_outlive_jobs_by_default() {
    let cache = |config: DockerConfig| {
        let plan = plan(&config).unwrap();
        let kept: Vec<bool> = plan.made.iter().map(|it| it.kept).collect();
        (plan.binds[0].clone(), kept)
    };
    let base = volumes(&["target:ro"]);
    let (bind, kept) = cache(base.clone());
    assert!(bind.starts_with("runwright-cache-"), "{bind}");
    assert!(bind.ends_with(":/builds/g/a/target:ro"), "{bind}");
    assert_eq!(kept, [true]);
    let passing = DockerConfig {
        disable_cache: true,
        ..base.clone()
    };
    let (bind, kept) = cache(passing.clone());
    assert!(bind.starts_with("runwright-o-1-0-volume-"), "{bind}");
    assert_eq!(kept, [false]);
    let (_, kept) = cache(DockerConfig {
        volume_keep: true,
        ..passing.clone()
    });
    assert_eq!(kept, [true]);
    let on_host = DockerConfig {
        cache_dir: Some("/srv/c".to_owned()),
        ..base
    };
    let (bind, kept) = cache(on_host);
    assert!(bind.starts_with("/srv/c/"), "{bind}");
    assert!(kept.is_empty());
    let (_, kept) = cache(DockerConfig {
        cache_dir: Some("/srv/c".to_owned()),
        ..passing
    });
    assert_eq!(kept, [false]);
}

#[test]
fn volumes_with_variables_are_checked_after_expansion() {
    let check = |list: &[&str], text: &str, expect: Result<&str, &str>| {
        let config = DockerConfig {
            allowed_volumes: list.iter().map(|it| (*it).to_owned()).collect(),
            ..volumes(&[text])
        };
        match (plan(&config), expect) {
            (Ok(plan), Ok(expect)) => assert_eq!(plan.binds, [expect], "{text}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
            (plan, expect) => panic!("{text}: {plan:?} is not {expect:?}"),
        }
    };
    check(&[], "/srv/7:/a", Ok("/srv/7:/a"));
    check(
        &[],
        "/srv/$CI_PROJECT_ID:/a",
        Err("allowed_volumes is empty"),
    );
    check(&["/srv"], "/srv/$CI_PROJECT_ID:/a", Ok("/srv/7:/a"));
    check(&["/srv"], "$BAD", Err("allowed_volumes has only /srv"));
    check(&["/srv"], "$BAD:/a", Err("unknown option"));
    check(&["/srv"], "/srv/$UP:/a", Err("has a `..`"));
    check(&["/srv"], "/a/$UP", Err("has a `..`"));
    check(&["/srv"], "$NOTHING:/a", Err("neither an absolute path"));
}

#[test]
fn destinations_are_unique() {
    let error = plan(&volumes(&["/a", "/srv/x:/a/"])).unwrap_err();
    assert_eq!(
        error,
        "the volumes `/a` and `/srv/x:/a/` have the same destination"
    );
    let plan = plan(&volumes(&["/a", "/a/b"])).unwrap();
    let destinations: Vec<_> = plan
        .made
        .iter()
        .map(|PlannedVolume { destination, .. }| destination)
        .collect();
    assert_eq!(destinations, ["/a", "/a/b"]);
}

proptest! {
    #[test]
    fn every_text_is_parsed_or_refused(text in any::<String>(), source in any::<String>()) {
        if let Ok(spec) = VolumeSpec::parse(&text, "/builds/a") {
            prop_assert!(spec.destination.starts_with('/'));
            if let Ok(bind) = spec.bind(&source) {
                prop_assert!(bind.matches(':').count() <= 2);
            }
        }
    }
}
