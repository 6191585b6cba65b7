/// A registry's demand for authentication, from a `WWW-Authenticate` header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A name and a password.
    Basic,
    /// A token from a token server.
    Bearer {
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
}

impl Challenge {
    /// Reads a header; of several challenges the one for tokens is used.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let lower = header.to_ascii_lowercase();
        let Some(start) = lower.find("bearer ") else {
            return lower.contains("basic").then_some(Self::Basic);
        };
        let parameters = parameters(&header[start + "bearer ".len()..]);
        let value = |name: &str| {
            let mut found = parameters.iter().filter(|(known, _)| known == name);
            found.next().map(|(_, value)| value.clone())
        };
        Some(Self::Bearer {
            realm: value("realm")?,
            service: value("service"),
            scope: value("scope"),
        })
    }
}

/// Reads `name="value", other=value`.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', ',']).to_ascii_lowercase();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        found.push((name, value.trim().to_owned()));
        rest = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_parsed() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| Challenge::Bearer {
            realm: realm.to_owned(),
            service: service.map(str::to_owned),
            scope: scope.map(str::to_owned),
        };
        for (header, expect) in [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            (
                "Bearer realm=\"https://a/token\",service=\"s\",scope=\"repository:a/b:pull,push\"",
                Some(bearer(
                    "https://a/token",
                    Some("s"),
                    Some("repository:a/b:pull,push"),
                )),
            ),
            (
                "Basic realm=x, bearer realm=https://a, service=s",
                Some(bearer("https://a", Some("s"), None)),
            ),
            ("Bearer service=\"s\"", None),
            ("Bearer realm=\"x", Some(bearer("x", None, None))),
            ("Negotiate", None),
            ("", None),
        ] {
            assert_eq!(Challenge::parse(header), expect, "{header}");
        }
    }
}
