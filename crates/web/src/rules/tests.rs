use super::*;

fn rules(named: &[&str], plain: &[&str], private: &[&str]) -> Rules {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let origin = |url: &&str| Origin::of(&Url::parse(url).expect("an address"));
    let reach = Reach {
        anywhere: false,
        named: named.iter().filter_map(origin).collect(),
        plain: texts(plain),
        private: texts(private),
    };
    Rules::new(&reach).expect("rules")
}

fn strict() -> Rules {
    rules(&[], &[], &[])
}

/// Checks an address whose name, if it has one, resolves to `addresses`.
fn decide(rules: &Rules, url: &str, addresses: &[&str]) -> Result<(), WebError> {
    let server = rules.check_url(&Url::parse(url).expect("an address"))?;
    let addresses: Vec<IpAddr> = addresses.iter().map(|a| a.parse().expect("one")).collect();
    rules.check_addresses(&server, &addresses)
}

fn reason(rules: &Rules, url: &str, addresses: &[&str]) -> String {
    decide(rules, url, addresses).expect_err(url).to_string()
}

#[test]
fn public_https_is_allowed() {
    for (url, addresses) in [
        (
            "https://gitlab.com/x",
            &["172.65.251.78", "2606:4700:90::1"][..],
        ),
        ("https://gitlab.com:8443/x", &["172.65.251.78"]),
        ("https://1.1.1.1/", &[]),
        ("https://[2606:4700::1111]/", &[]),
    ] {
        assert!(decide(&strict(), url, addresses).is_ok(), "{url}");
    }
}

#[test]
fn other_schemes_are_refused() {
    for url in [
        "file:///etc/passwd",
        "ftp://example.com/x",
        "data:text/plain,x",
        "gopher://example.com/",
        "ssh://git@example.com/x",
        "javascript:1",
    ] {
        let reason = reason(&strict(), url, &[]);
        let scheme = url.split(':').next().expect("a scheme");
        assert_eq!(
            reason,
            format!("a `{scheme}` address cannot be asked, only `https` ones")
        );
    }
}

#[test]
fn special_addresses_are_refused_in_every_notation() {
    for (url, expect) in [
        (
            "http://169.254.169.254/latest",
            "169.254.169.254 is for what a cloud tells a machine about itself",
        ),
        (
            "https://169.254.169.254/",
            "169.254.169.254 is for what a cloud tells a machine about itself",
        ),
        ("http://[::1]/", "[::1] is for this machine"),
        ("https://2130706433/", "127.0.0.1 is for this machine"),
        ("https://0177.0.0.1/", "127.0.0.1 is for this machine"),
        ("https://0x7f000001/", "127.0.0.1 is for this machine"),
        ("https://0x7f.1/", "127.0.0.1 is for this machine"),
        ("https://127.1/", "127.0.0.1 is for this machine"),
        ("https://127.0.0.1./", "127.0.0.1 is for this machine"),
        ("https://%31%32%37.0.0.1/", "127.0.0.1 is for this machine"),
        ("https://１２７.0.0.1/", "127.0.0.1 is for this machine"),
        ("https://0/", "0.0.0.0 is for this host"),
        ("https://10.1/", "10.0.0.1 is for a private network"),
        (
            "https://[::ffff:169.254.169.254]/",
            "[::ffff:a9fe:a9fe] is for what a cloud tells a machine about itself",
        ),
        (
            "https://[::ffff:7f00:1]/",
            "[::ffff:7f00:1] is for this machine",
        ),
        (
            "https://[64:ff9b::10.0.0.1]/",
            "[64:ff9b::a00:1] is for a private network",
        ),
        (
            "https://[fd00:ec2::254]/",
            "[fd00:ec2::254] is for what a cloud tells a machine about itself",
        ),
        (
            "https://me:secret@127.0.0.1/?token=secret",
            "127.0.0.1 is for this machine",
        ),
        (
            "https://localhost/",
            "localhost is a name of this machine or of a private network",
        ),
        (
            "https://LOCALHOST./",
            "localhost. is a name of this machine or of a private network",
        ),
        (
            "https://a.localhost:8443/",
            "a.localhost is a name of this machine or of a private network",
        ),
        (
            "https://metadata.google.internal/",
            "metadata.google.internal is a name of this machine or of a private network",
        ),
    ] {
        assert_eq!(reason(&strict(), url, &[]), expect, "{url}");
    }
}

#[test]
fn every_address_of_a_name_is_checked() {
    let rules = strict();
    let url = "https://evil.example/x?token=secret";
    for (addresses, expect) in [
        (
            &["127.0.0.1"][..],
            "evil.example is at 127.0.0.1, which is for this machine",
        ),
        (
            &["1.1.1.1", "10.0.0.1"],
            "evil.example is at 10.0.0.1, which is for a private network",
        ),
        (
            &["1.1.1.1", "::1"],
            "evil.example is at ::1, which is for this machine",
        ),
        (
            &["::ffff:10.0.0.1"],
            "evil.example is at 10.0.0.1, which is for a private network",
        ),
    ] {
        assert_eq!(reason(&rules, url, addresses), expect);
    }
}

#[test]
fn hosts_that_the_user_lets_in_are_allowed() {
    let rules = rules(
        &[
            "http://gitlab.corp:8080",
            "https://localhost",
            "https://10.9.9.9",
        ],
        &["plain.example", "*.old.example", "5.5.5.5"],
        &["minio.corp", "10.0.0.0/8", "*.lab.corp", "fd12::/16"],
    );
    for (url, addresses, open) in [
        ("http://gitlab.corp:8080/x", &["127.0.0.1"][..], true),
        ("http://gitlab.corp/x", &["127.0.0.1"], false),
        ("https://gitlab.corp:8080/x", &["127.0.0.1"], false),
        ("https://gitlab.corp:8080/x", &["10.0.0.7"], true),
        ("https://localhost/", &["127.0.0.1", "::1"], true),
        ("https://localhost:22/", &["127.0.0.1"], false),
        ("http://localhost/", &["127.0.0.1"], false),
        ("http://plain.example/", &["1.1.1.1"], true),
        ("http://plain.example/", &["192.168.0.1"], false),
        ("http://a.old.example/", &["1.1.1.1"], true),
        ("http://old.example/", &["1.1.1.1"], false),
        ("http://5.5.5.5/", &[], true),
        ("https://minio.corp/", &["192.168.0.1"], true),
        ("http://minio.corp/", &["192.168.0.1"], false),
        ("https://10.1.2.3/", &[], true),
        ("https://[::ffff:10.1.2.3]/", &[], true),
        ("https://11.1.2.3/", &[], true),
        ("https://a.lab.corp/", &["172.16.0.1"], true),
        ("https://evil.example/", &["fd12::1"], true),
        ("https://evil.example/", &["fd13::1"], false),
        ("https://10.9.9.9/", &[], true),
    ] {
        assert_eq!(
            decide(&rules, url, addresses).is_ok(),
            open,
            "{url} {addresses:?}"
        );
    }
}

#[test]
fn server_named_over_http_is_allowed_over_https() {
    let rules = rules(
        &[
            "http://gitlab.corp",
            "https://git.corp",
            "http://old.corp:8080",
        ],
        &[],
        &[],
    );
    for (url, open) in [
        ("https://gitlab.corp/", true),
        ("https://gitlab.corp:8443/", false),
        ("http://git.corp/", false),
        ("https://old.corp/", false),
        ("https://old.corp:8080/", false),
    ] {
        assert_eq!(decide(&rules, url, &["10.0.0.1"]).is_ok(), open, "{url}");
    }
}

#[test]
fn only_its_own_address_lets_metadata_in() {
    let url = "https://169.254.169.254/";
    let closed = rules(
        &["https://gitlab.corp"],
        &[],
        &["169.254.0.0/16", "gitlab.corp"],
    );
    assert!(decide(&closed, url, &[]).is_err());
    assert!(decide(&closed, "https://gitlab.corp/", &["169.254.1.1"]).is_ok());
    let reason = reason(&closed, "https://gitlab.corp/", &["169.254.169.254"]);
    assert_eq!(
        reason,
        "gitlab.corp is at 169.254.169.254, which is for what a cloud tells a machine about itself"
    );
    // The remote of a checkout is a named server too.
    let named = rules(
        &[
            url,
            "http://169.254.169.254",
            "http://metadata.google.internal",
        ],
        &[],
        &[],
    );
    for url in [
        url,
        "http://169.254.169.254/",
        "http://[::ffff:169.254.169.254]/",
        "http://metadata.google.internal/",
    ] {
        assert!(decide(&named, url, &[]).is_err(), "{url}");
    }
    let open = rules(&[], &[], &["169.254.169.254"]);
    assert!(decide(&open, url, &[]).is_ok());
}

#[test]
fn help_names_the_setting() {
    let help = |url: &str, addresses: &[&str]| {
        let error = decide(&strict(), url, addresses).expect_err(url);
        error.help().expect("help").to_owned()
    };
    assert_eq!(
        help("http://gitlab.example/", &[]),
        "write `https`, or let it in with `allow-http = [\"gitlab.example\"]` under `[include]` in your config.toml"
    );
    assert_eq!(
        help("https://gitlab.corp/", &["10.0.0.1"]),
        "if you trust it, let it in with `allow-private = [\"gitlab.corp\"]` under `[include]` in your config.toml"
    );
    assert!(help("https://127.1/", &[]).contains("allow-private = [\"127.0.0.1\"]"));
    assert!(help("https://localhost/", &[]).contains("allow-private = [\"localhost\"]"));
}

#[test]
fn names_behind_a_proxy_are_checked_by_name_alone() {
    let rules = rules(&["https://gitlab"], &[], &["minio.internal"]);
    for (url, open) in [
        ("https://gitlab.com/", true),
        ("https://gitlab/", true),
        ("https://intranet/", false),
        ("https://db.internal/", false),
        ("https://minio.internal/", true),
        ("https://printer.local./", false),
    ] {
        let url = Url::parse(url).expect("an address");
        let server = rules.check_url(&url).expect("nothing is looked up");
        assert_eq!(rules.check_unseen(&server, &url).is_ok(), open, "{url}");
    }
}

#[test]
fn invalid_settings_are_reported() {
    let reach = Reach {
        private: vec!["10.0.0.0/40".to_owned()],
        ..Reach::default()
    };
    let error = Rules::new(&reach).expect_err("no network").to_string();
    assert_eq!(
        error,
        "`10.0.0.0/40` in allow-private is no host, address or network"
    );
}
