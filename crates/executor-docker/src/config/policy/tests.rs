use super::*;
use crate::config::{DockerConfig, ServiceConfig};
use crate::image::ImageReference;
use crate::volume::VolumeSpec;
use proptest::prelude::*;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|it| (*it).to_owned()).collect()
}

fn image(name: &str) -> ImageReference {
    ImageReference::parse(name).unwrap()
}

#[test]
fn patterns_are_those_of_doublestar() {
    let check = |pattern: &str, name: &str, expect: bool| {
        let pattern = Pattern::parse(pattern).unwrap();
        assert_eq!(pattern.matches(name), expect, "{pattern:?} and {name:?}");
    };
    check("ruby:*", "ruby:3.4", true);
    check("ruby:*", "ruby", false);
    check("ruby:*", "jruby:3", false);
    check("ruby:*", "ruby:3/x", false);
    check("registry.example/**", "registry.example/a/b:1", true);
    check("registry.example/**", "registry.example.evil/a:1", false);
    check("registry.example/*", "registry.example/a/b", false);
    check(
        "registry.example/**/app:*",
        "registry.example/a/b/app:1",
        true,
    );
    check("registry.example/**/app:*", "registry.example/app:1", true);
    check(
        "registry.example/**/app:*",
        "registry.example/my-app:1",
        false,
    );
    check("**", "a/b", true);
    check("**/b", "a/b", true);
    check("a/**/**/b", "a/x/y/b", true);
    check("a**", "a/b", false);
    check("a?c", "abc", true);
    check("a?c", "a/c", false);
    check("{ruby,node}:*", "node:22", true);
    check("{ruby,node}:*", "go:1", false);
    check("v[0-9]", "v7", true);
    check("v[!0-9]", "v7", false);
    check("v[^0-9]", "v/", false);
    check("a[&&-~]b", "a&b", true);
    check(r"a\*b", "a*b", true);
    check(r"a\*b", "axb", false);
    check("a.b+c(d)|e", "a.b+c(d)|e", true);
    check("ruby", "ruby\n", false);
    check("", "", true);
    check("*", "", true);
    for wrong in ["[", "[]", "{a", "a\\", "[z-a]"] {
        assert!(Pattern::parse(wrong).is_err(), "{wrong}");
    }
    assert!(Pattern::parse(&"*".repeat(5000)).is_err());
}

#[test]
fn images_are_compared_by_all_their_names_and_by_no_other() {
    let check = |list: &[&str], name: &str, expect: bool| {
        let config = DockerConfig {
            allowed_images: texts(list),
            allowed_services: texts(list),
            image: Some("own:1".to_owned()),
            services: vec![ServiceConfig {
                name: "own:1".to_owned(),
                ..ServiceConfig::default()
            }],
            ..DockerConfig::default()
        };
        let image = image(name);
        assert_eq!(
            check_image(&config, &image).is_ok(),
            expect,
            "{list:?} and {name}"
        );
        assert_eq!(
            check_service(&config, &image).is_ok(),
            expect,
            "{list:?} and {name}"
        );
    };
    check(&[], "any/thing", true);
    check(&["ruby:*"], "ruby:3.4", true);
    check(&["ruby:*"], "ruby", true);
    check(&["ruby"], "ruby:latest", true);
    check(&["ruby"], "ruby:3", false);
    check(&["ruby:*"], "docker.io/library/ruby:3", true);
    check(&["library/ruby:*"], "ruby:3", true);
    check(&["docker.io/**"], "ruby:3", true);
    check(
        &["docker.io/**"],
        "registry.example/docker.io/ruby:3",
        false,
    );
    check(&["registry.example/**"], "registry.example/a/b", true);
    check(&["registry.example/**"], "registry.example:5000/a/b", false);
    // Docker Hub may have a name like another registry's; that is not the other registry.
    check(
        &["registry.example/**"],
        "docker.io/registry.example/evil",
        false,
    );
    check(&["localhost/**"], "docker.io/localhost/evil", false);
    check(
        &["ruby:3.4"],
        "ruby:3.4@sha256:0000000000000000000000000000000000000000000000000000000000000000",
        false,
    );
    check(&["nothing"], "own:1", true);
    check(&["nothing"], "docker.io/library/own:1", true);
    check(&["nothing"], "own:2", false);
    check(&["["], "ruby", false);
}

#[test]
fn a_refusal_names_the_list_and_its_entries() {
    let config = DockerConfig {
        allowed_images: texts(&["ruby:*", "registry.example/**"]),
        allowed_services: (0..12).map(|it| format!("s{it}")).collect(),
        ..DockerConfig::default()
    };
    let refusal = check_image(&config, &image("go:1")).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "image `go:1` is not allowed: the runner's allowed_images has only ruby:*, registry.example/**"
    );
    let refusal = check_service(&config, &image("go:1"))
        .unwrap_err()
        .to_string();
    assert!(refusal.ends_with("s8, s9 and 2 more"), "{refusal}");
    let long = check_user(&config, &"\u{1b}".repeat(3000))
        .unwrap_err()
        .to_string();
    assert!(long.len() < 400 && !long.contains('\u{1b}'), "{long}");
}

#[test]
fn only_listed_images_are_privileged_and_only_if_enabled() {
    let check = |on: bool, list: &[&str], name: &str, expect: Result<(), &str>| {
        let config = DockerConfig {
            privileged: on,
            services_privileged: on,
            allowed_privileged_images: texts(list),
            allowed_privileged_services: texts(list),
            ..DockerConfig::default()
        };
        for role in [PrivilegedRole::Build, PrivilegedRole::Service] {
            match (check_privileged(&config, role, &image(name)), expect) {
                (Ok(()), Ok(())) => {}
                (Err(refusal), Err(part)) => {
                    assert!(refusal.to_string().contains(part), "{refusal}");
                }
                (result, expect) => panic!("{name}: {result:?} is not {expect:?}"),
            }
        }
    };
    check(false, &[], "docker:27-dind", Err("privileged is not set"));
    check(
        false,
        &["docker:*"],
        "docker:27-dind",
        Err("privileged is not set"),
    );
    check(true, &[], "docker:27-dind", Ok(()));
    check(true, &["docker:*-dind"], "docker:27-dind", Ok(()));
    check(
        true,
        &["docker:*-dind"],
        "docker:27",
        Err("has only docker:*-dind"),
    );
}

#[test]
fn a_job_may_choose_a_listed_user() {
    let config = |user: Option<&str>, allowed: &[&str]| DockerConfig {
        user: user.map(str::to_owned),
        allowed_users: texts(allowed),
        ..DockerConfig::default()
    };
    let check = |own: Option<&str>, allowed: &[&str], job: Option<&str>, expect: Option<&str>| {
        assert_eq!(effective_user(&config(own, allowed), job), expect);
    };
    check(None, &[], None, None);
    check(None, &[], Some("app"), Some("app"));
    // Without a list, the runner's user applies to all jobs.
    check(Some("1000"), &[], Some("root"), Some("1000"));
    check(Some("1000"), &["app"], Some("app"), Some("app"));
    check(Some("1000"), &["app"], None, Some("1000"));
    check(Some(""), &[], Some(""), None);

    let allowed = |own: Option<&str>, list: &[&str], user: &str, expect: bool| {
        let result = check_user(&config(own, list), user);
        assert_eq!(
            result.is_ok(),
            expect,
            "{own:?} {list:?} {user:?}: {result:?}"
        );
    };
    allowed(None, &[], "anybody", true);
    allowed(None, &["app"], "app", true);
    allowed(None, &["app"], "root", false);
    allowed(None, &["app"], "", false);
    allowed(None, &["root"], "", true);
    allowed(None, &["root"], "0:0", true);
    allowed(None, &["1000"], "1000:0", false);
    allowed(Some("1000"), &["app"], "1000", true);
    for disguised in ["00", "+0", "0x0", " 0", "app ", "App", "app:root"] {
        allowed(None, &["app"], disguised, false);
    }
    for strange in ["a b", "a;id", "a\nb", "$(id)", "--privileged=1"] {
        allowed(None, &[], strange, false);
    }
}

/// Checks volumes like the settings of a runner, on a host with `/run/docker.sock`.
fn volume(list: &[&str], text: &str, asked: RequestedBy, real: &str) -> Result<(), String> {
    let config = DockerConfig {
        allowed_volumes: texts(list),
        ..DockerConfig::default()
    };
    let spec = VolumeSpec::parse(text, "/builds/a").map_err(|it| it.to_string())?;
    let real = (!real.is_empty()).then(|| RealPath::of_another_host(real).unwrap());
    let sockets = ["/run/docker.sock", "/var/run/docker.sock"].map(PathBuf::from);
    let result = check_volume(&config, &spec, asked, real.as_ref(), &sockets);
    result.map_err(|it| it.to_string())
}

#[test]
fn volumes_of_the_runner_are_mounted_and_those_of_jobs_only_if_listed() {
    let check = |list: &[&str], text: &str, real: &str, expect: [bool; 2]| {
        let found = [RequestedBy::Runner, RequestedBy::Job]
            .map(|asked| volume(list, text, asked, real).is_ok());
        assert_eq!(found, expect, "{list:?} {text} {real}");
    };
    check(&[], "/srv/a:/a", "/srv/a", [true, false]);
    check(&[], "data:/a", "", [true, false]);
    check(&[], "/cache", "", [true, true]);
    check(&["/srv"], "/srv/a:/a", "/srv/a", [true, true]);
    check(&["/srv"], "/srv:/a", "/srv", [true, true]);
    check(&["/srv"], "/srvice:/a", "/srvice", [false, false]);
    check(&["/srv"], "/srv/link:/a", "/etc", [false, false]);
    check(&["/srv"], "/srv/../etc:/a", "/etc", [false, false]);
    check(&["/srv", "ci-*"], "ci-tools:/a", "", [true, true]);
    check(&["/srv", "ci-*"], "tools:/a", "", [false, false]);
    // The caches of other projects.
    check(&["**"], "runwright-cache-0123:/a", "", [true, false]);
    check(&[], "/srv/a:/a", "", [false, false]);
}

#[test]
fn the_engines_socket_is_mounted_only_by_its_path() {
    let check = |list: &[&str], text: &str, real: &str, expect: [bool; 2]| {
        let found = [RequestedBy::Runner, RequestedBy::Job]
            .map(|asked| volume(list, text, asked, real).is_ok());
        assert_eq!(found, expect, "{list:?} {text} {real}");
    };
    let real = "/run/docker.sock";
    check(
        &[],
        "/var/run/docker.sock:/var/run/docker.sock",
        real,
        [true, false],
    );
    check(&[], "/run/docker.sock:/x", real, [true, false]);
    check(&[], "/srv/a:/x", real, [false, false]);
    check(&["/run"], "/run/docker.sock:/x", real, [true, false]);
    check(&["/srv"], "/run/docker.sock:/x", real, [false, false]);
    for (text, real) in [
        ("/:/host", "/"),
        ("/run:/x", "/run"),
        ("/srv/run:/x", "/run"),
    ] {
        check(&[], text, real, [false, false]);
    }
    check(&["/"], "/:/host", "/", [true, true]);
    check(&["/"], "/run:/x", "/run", [false, false]);
    let refused = volume(&[], "/srv/a:/x", RequestedBy::Job, "/run/docker.sock").unwrap_err();
    assert_eq!(
        refused,
        "volume `/srv/a (really /run/docker.sock)` is not allowed: it is a socket of the container engine"
    );
}

#[test]
fn a_real_path_has_no_links_or_parents() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(base.join("allowed/inner")).unwrap();
    symlink("/etc", base.join("allowed/etc")).unwrap();
    symlink(base.join("nothing"), base.join("allowed/dangling")).unwrap();
    symlink("loop", base.join("allowed/loop")).unwrap();
    let base = base.to_str().unwrap();
    let check = |path: &str, expect: Option<&str>| {
        let real = RealPath::resolve(&path.replace('~', base)).ok();
        let expect = expect.map(|it| PathBuf::from(it.replace('~', base)));
        assert_eq!(real.map(|it| it.as_path().to_owned()), expect, "{path}");
    };
    check("~/allowed/inner", Some("~/allowed/inner"));
    check("~/allowed//inner/.", Some("~/allowed/inner"));
    check("~/allowed/../allowed", Some("~/allowed"));
    check("~/allowed/../../../../../../etc", Some("/etc"));
    check("~/allowed/etc", Some("/etc"));
    check("~/allowed/etc/not-there/x", Some("/etc/not-there/x"));
    check("~/allowed/new/x", Some("~/allowed/new/x"));
    check("~/allowed/new/../x", None);
    check("~/allowed/dangling", None);
    check("~/allowed/dangling/x", None);
    check("~/allowed/loop", None);
    check("~/allowed/etc/passwd/x", None);
    check("allowed", None);
    check("", None);
    check("/a\0b", None);
    check("/", Some("/"));
    assert!(RealPath::of_another_host("/srv/../etc").is_err());
    assert_eq!(
        RealPath::of_another_host("/srv//a/").unwrap().as_path(),
        PathBuf::from("/srv/a")
    );
}

proptest! {
    #[test]
    fn no_name_matches_an_image_of_another_registry(name in "[ -~]{1,60}") {
        let config = DockerConfig {
            allowed_images: texts(&["registry.example/team/**"]),
            ..DockerConfig::default()
        };
        for text in [name.clone(), format!("registry.example/{name}"), format!("{name}/registry.example/team/a")] {
            let Ok(image) = ImageReference::parse(&text) else { continue };
            if check_image(&config, &image).is_ok() {
                prop_assert_eq!(image.registry(), "registry.example");
                prop_assert!(image.path().starts_with("team/"));
            }
        }
    }

    #[test]
    fn users_are_not_confused(user in any::<String>()) {
        let config = DockerConfig {
            allowed_users: texts(&["app", "1000:1000"]),
            ..DockerConfig::default()
        };
        if check_user(&config, &user).is_ok() {
            prop_assert!(user == "app" || user == "1000:1000");
        }
    }

    #[test]
    fn no_volume_leaves_the_list(
        source in "(/|\\.\\.|\\.|srv|etc|run|docker\\.sock|:|~|\\$|ro| ){0,12}",
        destination in "(/|\\.\\.|a|:|,|ro){0,8}",
    ) {
        let text = format!("{source}:{destination}");
        let Ok(spec) = VolumeSpec::parse(&text, "/builds/a") else { return Ok(()) };
        prop_assert!(spec.destination.starts_with('/') && spec.destination.len() > 1);
        prop_assert!(!spec.destination.split('/').any(|it| it == ".."));
        let crate::volume::Source::Host(path) = &spec.source else { return Ok(()) };
        let Ok(real) = RealPath::of_another_host(path) else { return Ok(()) };
        let config = DockerConfig { allowed_volumes: texts(&["/srv"]), ..DockerConfig::default() };
        let sockets = [PathBuf::from("/run/docker.sock")];
        for asked in [RequestedBy::Job, RequestedBy::Runner] {
            if check_volume(&config, &spec, asked, Some(&real), &sockets).is_ok() {
                prop_assert!(real.as_path().starts_with("/srv"));
            }
        }
    }

    #[test]
    fn every_pattern_is_parsed_or_refused(pattern in any::<String>(), name in any::<String>()) {
        if let Ok(pattern) = Pattern::parse(&pattern) {
            let _ = pattern.matches(&name);
        }
        let literal: String = name.chars().flat_map(|it| ['\\', it]).collect();
        prop_assert!(Pattern::parse(&literal).is_ok_and(|it| it.matches(&name)));
    }
}
