use serde_json::Value;

/// A recorded request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, such as `GET`.
    pub method: String,
    /// The path as it was sent, with `%2F` still encoded.
    pub path: String,
    /// The query as it was sent, without the question mark.
    pub query: String,
    /// The headers, with lowercase names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The status of the response, once it exists.
    pub status: Option<u16>,
}

impl Request {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Returns the token of the request, from any header that can carry one.
    pub fn token(&self) -> Option<String> {
        let bearer = || {
            let value = self.header("authorization")?;
            value.strip_prefix("Bearer ")
        };
        let basic = || {
            let value = self.header("authorization")?.strip_prefix("Basic ")?;
            password(value)
        };
        self.header("private-token")
            .or_else(|| self.header("job-token"))
            .or_else(bearer)
            .map(str::to_owned)
            .or_else(basic)
    }

    /// Returns a query parameter.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let mut all = url::form_urlencoded::parse(self.query.as_bytes());
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Returns the body parsed as JSON; null if it is not valid JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the segments of the path, each decoded.
    pub(crate) fn segments(&self) -> Vec<String> {
        let path = self.path.trim_start_matches('/');
        path.split('/').map(decode).collect()
    }

    /// Returns whether a path given by a test matches this request, as sent or decoded; a trailing `*` matches all
    /// paths below it.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        let decoded = decode(&self.path);
        match path.strip_suffix('*') {
            Some(start) => self.path.starts_with(start) || decoded.starts_with(start),
            None => self.path == path || decoded == path,
        }
    }
}

/// Returns the password from the credentials of a `Basic` header.
pub(crate) fn password(basic: &str) -> Option<String> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(basic)
        .ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.split_once(':')
        .map(|(_, password)| password.to_owned())
}

/// Decodes one segment of a path.
fn decode(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|hex| {
            let hex = std::str::from_utf8(hex).ok()?;
            u8::from_str_radix(hex, 16).ok()
        });
        match code {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str) -> Request {
        Request {
            method: "GET".to_owned(),
            path: path.to_owned(),
            query: "ref=a%20b&x".to_owned(),
            headers: vec![("authorization".to_owned(), "Basic dTpwOnE=".to_owned())],
            body: Vec::new(),
            status: None,
        }
    }

    #[test]
    fn path_matches_as_sent_and_decoded() {
        let check = |path: &str, expect: bool| {
            let is_at = request("/api/v4/projects/a%2Fb/tags").is_at(path);
            assert_eq!(is_at, expect, "{path}");
        };
        check("/api/v4/projects/a%2Fb/tags", true);
        check("/api/v4/projects/a/b/tags", true);
        check("/api/v4/*", true);
        check("/api/v4/projects/a/*", true);
        check("/api/v4", false);
    }

    #[test]
    fn token_query_and_body_are_parsed() {
        let request = request("/a%2fb/%zz/%");
        assert_eq!(request.segments(), ["a/b", "%zz", "%"]);
        assert_eq!(request.parameter("ref").as_deref(), Some("a b"));
        assert_eq!(request.token().as_deref(), Some("p:q"));
    }
}
