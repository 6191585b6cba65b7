use serde_json::Value;

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET`, for example.
    pub method: String,
    /// The path as it was sent: `%2F` is still one.
    pub path: String,
    /// What stood behind the question mark, as it was sent.
    pub query: String,
    /// The headers; their names are in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The status of the answer, as soon as there is one.
    pub status: Option<u16>,
}

impl Request {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Returns the token that it carried, in whichever header.
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

    /// Returns one of the parameters behind the question mark.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let mut all = url::form_urlencoded::parse(self.query.as_bytes());
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Returns the body, read as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the parts of the path, each of them decoded.
    pub(crate) fn segments(&self) -> Vec<String> {
        let path = self.path.trim_start_matches('/');
        path.split('/').map(decode).collect()
    }

    /// Returns whether a path that a test wrote means this one: as it was sent or decoded, with `*`
    /// at its end for all below it.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        let decoded = decode(&self.path);
        match path.strip_suffix('*') {
            Some(start) => self.path.starts_with(start) || decoded.starts_with(start),
            None => self.path == path || decoded == path,
        }
    }
}

/// Returns the password of what is behind `Basic`.
pub(crate) fn password(basic: &str) -> Option<String> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(basic)
        .ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.split_once(':')
        .map(|(_, password)| password.to_owned())
}

/// Returns the text that a part of a path means.
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
    fn a_path_is_met_as_sent_and_decoded() {
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
    fn parts_are_read() {
        let request = request("/a%2fb/%zz/%");
        assert_eq!(request.segments(), ["a/b", "%zz", "%"]);
        assert_eq!(request.parameter("ref").as_deref(), Some("a b"));
        assert_eq!(request.token().as_deref(), Some("p:q"));
    }
}
