use std::fmt;

/// The proxies of the environment: what `https_proxy` and its like say.
///
/// A proxy is chosen by the user and may be anywhere, unlike the servers that are asked through it. It
/// looks up their names itself, so no address is checked then; addresses that are written as
/// such and names that are never public are still refused.
///
/// What is on this machine, `localhost` and its addresses, is never asked through a proxy.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http`.
    pub http: Option<String>,
    /// For `https`.
    pub https: Option<String>,
    /// For both, where the one above does not say.
    pub all: Option<String>,
    /// Hosts that are asked directly.
    pub except: Option<String>,
}

impl Proxies {
    /// Reads what a function returns for `http_proxy`, `HTTPS_PROXY` and so on.
    ///
    /// Small letters count more than capital ones. In a CGI program, which has a `REQUEST_METHOD`, whoever sends a
    /// request chooses what `HTTP_PROXY` says, so it is not read there.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&str]| {
            let mut said = names.iter().filter_map(|name| variable(name));
            said.find(|value| !value.trim().is_empty())
        };
        let http: &[&str] = if variable("REQUEST_METHOD").is_some() {
            &["http_proxy"]
        } else {
            &["http_proxy", "HTTP_PROXY"]
        };
        Self {
            http: first(http),
            https: first(&["https_proxy", "HTTPS_PROXY"]),
            all: first(&["all_proxy", "ALL_PROXY"]),
            except: first(&["no_proxy", "NO_PROXY"]),
        }
    }
}

/// Says which there are and not where: their addresses may hold a password.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("all", &self.all.is_some())
            .field("except", &self.except)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Proxies {
        Proxies::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_is_read_as_elsewhere() {
        let some = |value: &str| Some(value.to_owned());
        let proxies = read(&[
            ("HTTP_PROXY", "http://a"),
            ("https_proxy", "http://b"),
            ("HTTPS_PROXY", "http://c"),
            ("all_proxy", " "),
            ("ALL_PROXY", "http://d"),
            ("NO_PROXY", "e"),
        ]);
        let expected = Proxies {
            http: some("http://a"),
            https: some("http://b"),
            all: some("http://d"),
            except: some("e"),
        };
        assert_eq!(proxies, expected);
    }

    #[test]
    fn a_header_of_a_request_chooses_no_proxy() {
        let header = ("HTTP_PROXY", "http://evil");
        assert_eq!(read(&[header, ("REQUEST_METHOD", "GET")]).http, None);
        let chosen = read(&[
            header,
            ("REQUEST_METHOD", "GET"),
            ("http_proxy", "http://a"),
        ]);
        assert_eq!(chosen.http.as_deref(), Some("http://a"));
    }

    #[test]
    fn a_password_is_not_shown() {
        let proxies = read(&[("https_proxy", "http://me:hunter2@proxy")]);
        assert!(!format!("{proxies:?}").contains("hunter2"));
    }
}
