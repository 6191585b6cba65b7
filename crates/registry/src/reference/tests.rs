use super::*;
use proptest::prelude::*;

fn check(text: &str, familiar: &str, normalized: &str) {
    let reference = ImageReference::parse(text).unwrap();
    let found = (reference.familiar(), reference.normalized());
    assert_eq!(
        found,
        (familiar.to_owned(), normalized.to_owned()),
        "{text}"
    );
}

#[test]
fn omitted_parts_are_filled_in() {
    check(
        "busybox",
        "busybox:latest",
        "docker.io/library/busybox:latest",
    );
    check(
        "docker.io/busybox:1",
        "busybox:1",
        "docker.io/library/busybox:1",
    );
    check("index.docker.io/a/b", "a/b:latest", "docker.io/a/b:latest");
    check("library/a", "a:latest", "docker.io/library/a:latest");
    check(
        "library/a/b",
        "library/a/b:latest",
        "docker.io/library/a/b:latest",
    );
    let local = "localhost/app:1";
    check(local, local, local);
    let port = "127.0.0.1:5000/team/app:v1.2_3-rc";
    check(port, port, port);
    let ipv6 = "[::1]:5000/app:1";
    check(ipv6, ipv6, ipv6);
    check("GHCR.io/app", "GHCR.io/app:latest", "GHCR.io/app:latest");
    // Without a slash there is no registry, so this is a tag.
    check("host:5000", "host:5000", "docker.io/library/host:5000");
    // Here the short name would name a registry.
    check(
        "docker.io/a.b/c",
        "docker.io/a.b/c:latest",
        "docker.io/a.b/c:latest",
    );
    check(
        "a__b--c.d_e",
        "a__b--c.d_e:latest",
        "docker.io/library/a__b--c.d_e:latest",
    );
}

#[test]
fn digest_selects_the_image_and_keeps_its_tag() {
    let digest = format!("sha256:{}", "a1".repeat(32));
    let alone = ImageReference::parse(&format!("app@{digest}")).unwrap();
    assert_eq!(alone.tag(), None);
    assert_eq!(alone.tag_or_digest(), digest);
    let both = format!("app:1@{digest}");
    check(&both, &both, &format!("docker.io/library/{both}"));
}

fn refuse(text: &str, position: usize, part: &str) {
    let error = ImageReference::parse(text).unwrap_err();
    assert_eq!(error.position(), position, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn invalid_references_are_refused_with_the_position() {
    refuse("", 1, "empty");
    refuse("--privileged", 1, "begin and end");
    refuse("alpine;id", 7, "not allowed in");
    refuse("../x", 1, "registry's name is empty");
    refuse("a/../x", 3, "begin and end");
    refuse("/a", 1, "path is empty");
    refuse("a//b", 3, "path is empty");
    refuse("Alpine", 1, "lower case");
    refuse("team/Alpine", 6, "lower case");
    refuse("alpine latest", 7, "not allowed in");
    refuse("alpine\n", 7, "not allowed in");
    refuse("älpine", 1, "not allowed in");
    refuse("a._b", 2, "between two letters");
    refuse("a___b", 2, "between two letters");
    refuse("$IMAGE", 1, "not allowed in");
    refuse("http://host/app", 6, "port is missing");
    refuse("host:x/app", 6, "digits only");
    refuse("host:99999/app", 6, "between 1 and 65535");
    refuse("-a.b/app", 1, "begins with a hyphen");
    refuse("a-.b/app", 2, "ends with a hyphen");
    refuse("[::1/app", 1, "bracket is not closed");
    refuse("[x:y]/app", 2, "IPv6 address");
    refuse("app:", 5, "tag is missing");
    refuse("app:.a", 5, "not allowed here");
    refuse("app:a b", 6, "not allowed here");
    refuse("app@sha256", 5, "written sha256");
    refuse("app@md5:00", 5, "must be sha256");
    refuse("app@sha256:12", 14, "wrong number of digits");
    refuse(&format!("app@sha256:{}", "A".repeat(64)), 12, "lower case");
    refuse(&"a".repeat(300), 256, "longer than 255");
    refuse(&format!("app:{}", "a".repeat(129)), 133, "longer than 128");
    refuse(&"ab".repeat(32), 1, "are an id");
}

#[test]
fn error_shows_only_the_start_of_a_long_text() {
    let error = ImageReference::parse(&"A".repeat(100_000)).unwrap_err();
    assert!(error.to_string().len() < 300, "{error}");
}

proptest! {
    #[test]
    fn printed_references_parse_again(
        registry in proptest::option::of("[a-zA-Z0-9]{1,5}(\\.[a-z0-9]{1,5}){0,2}(:[1-9][0-9]{0,3})?"),
        path in "[a-z0-9]{1,4}((\\.|_|__|-{1,3})[a-z0-9]{1,4}){0,2}(/[a-z0-9]{1,4}){0,3}",
        tag in proptest::option::of("[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,20}"),
        digest in proptest::option::of("sha256:[0-9a-f]{64}"),
    ) {
        // A path alone must not begin like a registry.
        let mut text = registry.unwrap_or_else(|| "x".to_owned()) + "/" + &path;
        text.extend(tag.map(|tag| format!(":{tag}")));
        text.extend(digest.map(|digest| format!("@{digest}")));
        let reference = ImageReference::parse(&text).unwrap();
        for printed in [reference.to_string(), reference.normalized(), reference.familiar()] {
            prop_assert_eq!(&ImageReference::parse(&printed).unwrap(), &reference);
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        if let Ok(reference) = ImageReference::parse(&text) {
            prop_assert_eq!(ImageReference::parse(&reference.normalized()).unwrap(), reference);
        }
    }
}
