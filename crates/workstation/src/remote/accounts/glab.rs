use gitlab_api::{Instance, TokenKind};
use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use yaml::{Node, load_values};

/// A host in the configuration of `glab`, GitLab's command line.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct GlabHost {
    /// Its name: the host of repositories.
    pub(super) name: String,
    /// Its API.
    pub(super) instance: Instance,
    /// The token and its kind.
    pub(super) token: Option<(String, TokenKind)>,
    /// Whether the token is in the keyring of the desktop, where only `glab` finds it.
    pub(super) in_keyring: bool,
    /// When the token expires, as `glab` writes it.
    pub(super) expiry: Option<String>,
}

/// Parses `glab`'s configuration.
pub(super) fn parse(text: &str) -> Result<Vec<GlabHost>, &'static str> {
    // `glab` writes some tokens with the tag for null.
    let text = text.replace("token: !!null ", "token: ");
    let Some(root) = load_values("config.yml", &text).value else {
        return Err("not used: it is not YAML");
    };
    let Some(hosts) = root.get("hosts").filter(|hosts| !hosts.is_null()) else {
        return Ok(Vec::new());
    };
    let hosts = hosts.as_mapping();
    let hosts = hosts.ok_or("not used: its `hosts` is not a hash")?;
    let hosts = hosts.into_iter();
    Ok(hosts
        .filter_map(|(name, entry)| host(name, &entry.value))
        .collect())
}

fn host(name: &str, node: &Node) -> Option<GlabHost> {
    let field = |key: &str| {
        let text = node.get(key)?.to_scalar_text()?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let protocol = field("api_protocol").unwrap_or_else(|| "https".to_owned());
    let host = field("api_host").unwrap_or_else(|| name.to_owned());
    let below = field("subfolder").unwrap_or_default();
    let below = below.trim_matches('/');
    let instance = Instance::parse(&format!("{protocol}://{host}/{below}")).ok()?;
    let is_true = |key: &str| field(key).is_some_and(|it| it == "true");
    let kind = if is_true("is_oauth2") {
        TokenKind::OAuth
    } else {
        TokenKind::Access
    };
    let token = field("token").map(|token| (token, kind));
    let job = || field("job_token").map(|token| (token, TokenKind::Job));
    Some(GlabHost {
        name: name.to_owned(),
        instance,
        token: token.or_else(job),
        in_keyring: is_true("use_keyring"),
        expiry: field("oauth2_expiry_date").filter(|_| kind == TokenKind::OAuth),
    })
}

/// Returns whether a time of `glab` is past: `13 Mar 23 15:47 GMT` or `2023-03-13T15:47:00Z`. An unreadable time is
/// not.
pub(super) fn is_past(expiry: &str, now: Timestamp) -> bool {
    if let Ok(expiry) = expiry.parse::<Timestamp>() {
        return expiry <= now;
    }
    let Some((time, zone)) = expiry.rsplit_once(' ') else {
        return false;
    };
    let Ok(time) = DateTime::strptime("%d %b %y %H:%M", time) else {
        return false;
    };
    let Ok(time) = time.to_zoned(jiff::tz::TimeZone::UTC) else {
        return false;
    };
    // Short names of zones are ambiguous, so the time counts as past when it is past in all zones.
    let doubt = match zone {
        "UTC" | "GMT" => SignedDuration::ZERO,
        _ => SignedDuration::from_hours(14),
    };
    time.timestamp()
        .checked_add(doubt)
        .is_ok_and(|expiry| expiry <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(text: &str) -> Vec<String> {
        let hosts = parse(text).expect("read");
        let line = |it: GlabHost| {
            let GlabHost {
                name,
                instance,
                token,
                in_keyring,
                expiry,
            } = it;
            format!("{name} {instance} {token:?} {in_keyring} {expiry:?}")
        };
        hosts.into_iter().map(line).collect()
    }

    #[test]
    fn parses_hosts() {
        let text = "
git_protocol: ssh
host: gitlab.com
hosts:
  gitlab.com:
    api_protocol: https
    api_host: gitlab.com
    token: !!null glpat-1
  h:
    token: o
    is_oauth2: \"true\"
    oauth2_expiry_date: 13 Mar 23 15:47 GMT
    api_protocol: http
    api_host: h:8080
    subfolder: /git/
  k:
    use_keyring: \"true\"
    token:
  j: {job_token: jt}
  '-x y': {token: t}
  n:
";
        let expect = [
            r#"gitlab.com https://gitlab.com Some(("glpat-1", Access)) false None"#,
            r#"h http://h:8080/git Some(("o", OAuth)) false Some("13 Mar 23 15:47 GMT")"#,
            "k https://k None true None",
            r#"j https://j Some(("jt", Job)) false None"#,
            "n https://n None false None",
        ];
        assert_eq!(summary(text), expect);
    }

    #[test]
    fn invalid_configuration_is_reported() {
        for text in ["hosts: [", "hosts: 1", "hosts: &a {b: *a}", "\u{0}"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        for text in ["", "hosts:", "x: 1", "hosts: {}", "- hosts", "just text"] {
            assert!(parse(text).is_ok_and(|it| it.is_empty()), "{text:?}");
        }
    }

    #[test]
    fn recognizes_past_times() {
        let now: Timestamp = "2026-03-13T15:47:00Z".parse().expect("a time");
        let check = |expiry: &str, expect: bool| {
            assert_eq!(is_past(expiry, now), expect, "{expiry}");
        };
        check("13 Mar 26 15:46 GMT", true);
        check("13 Mar 26 15:48 UTC", false);
        check("13 Mar 26 15:46 CET", false);
        check("12 Mar 26 15:46 CET", true);
        check("2026-03-13T15:46:00Z", true);
        check("2026-03-13T15:46:00-01:00", false);
        check("01 Jan 2050 00:00 UTC", false);
        check("soon", false);
        check("", false);
    }
}
