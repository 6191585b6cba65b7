use std::fmt;

/// The proxies of the environment: the values of `https_proxy` and its relatives.
///
/// The user chooses a proxy, so it may be anywhere, unlike the servers behind it. It looks up
/// their names itself, so no resolved address is checked. Literal addresses, and names that are
/// never public, are still refused.
///
/// This machine, `localhost` and its addresses, is never requested through a proxy.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// The proxy for `http`.
    pub http: Option<String>,
    /// The proxy for `https`.
    pub https: Option<String>,
    /// The proxy for both, where the field above is empty.
    pub all: Option<String>,
    /// Hosts that are requested directly.
    pub except: Option<String>,
}

impl Proxies {
    /// Reads the values that `variable` returns for `http_proxy`, `HTTPS_PROXY` and so on.
    ///
    /// Lower-case names take precedence over upper-case ones. `HTTP_PROXY` is not read in a CGI program, which has a
    /// `REQUEST_METHOD`: there a header of the incoming request sets it.
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

/// Shows which proxies are set, and not their addresses, which may contain a password.
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
    fn proxy_variables_are_read_from_the_environment() {
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
    fn request_header_cannot_choose_a_proxy() {
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
    fn debug_output_hides_passwords() {
        let proxies = read(&[("https_proxy", "http://me:hunter2@proxy")]);
        assert!(!format!("{proxies:?}").contains("hunter2"));
    }
}
