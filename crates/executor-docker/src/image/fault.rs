use registry::ImageReference;

/// Why a pull failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PullFault {
    /// The image or its tag does not exist.
    NotFound,
    /// The registry denies access.
    Denied,
    /// The registry limits requests.
    TooManyRequests,
    /// The registry cannot be reached: its name, its port, the network before it.
    Unreachable,
    /// The registry is not trusted: its certificate is invalid or missing.
    Certificate,
    /// The registry responds with an error, or its responses break off.
    Registry,
    /// There is no image for the platform.
    Platform,
    /// The digest of the pulled data does not match.
    Corrupt,
    /// The engine has no disk space, or another error.
    Engine,
    /// The connection to the engine broke.
    EngineLost,
    /// The engine refuses the request.
    Refused,
}

impl PullFault {
    /// Returns whether the same pull may succeed later.
    pub const fn is_temporary(self) -> bool {
        match self {
            Self::TooManyRequests
            | Self::Unreachable
            | Self::Registry
            | Self::Engine
            | Self::EngineLost => true,
            Self::NotFound
            | Self::Denied
            | Self::Certificate
            | Self::Platform
            | Self::Corrupt
            | Self::Refused => false,
        }
    }

    /// Returns whether the same pull may succeed within seconds.
    pub(crate) const fn is_passing(self) -> bool {
        matches!(
            self,
            Self::TooManyRequests | Self::Unreachable | Self::Registry
        )
    }

    /// Returns whether another login may help; registries report hidden images as missing.
    pub(crate) const fn may_be_a_matter_of_credentials(self) -> bool {
        matches!(self, Self::Denied | Self::NotFound)
    }

    /// Classifies the response of an engine. The status alone tells little: most errors of registries come as 500.
    pub(crate) fn of(reference: &ImageReference, status: u16, message: &str) -> Self {
        // The name of an image may contain words such as `denied`.
        let message = message
            .replace(reference.path(), "")
            .replace(reference.registry(), "")
            .to_lowercase();
        let contains = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
        for (parts, fault) in MESSAGES {
            if contains(parts) {
                return *fault;
            }
        }
        match status {
            400 => Self::Refused,
            401 | 403 => Self::Denied,
            404 => Self::NotFound,
            429 => Self::TooManyRequests,
            _ => Self::Engine,
        }
    }
}

/// The messages of Docker 20.10 to 29 and Podman; the first match counts.
const MESSAGES: &[(&[&str], PullFault)] = &[
    (
        &[
            "no matching manifest",
            "does not match the specified platform",
            "no image found in manifest list",
            "no image found in image index",
        ],
        PullFault::Platform,
    ),
    (
        &[
            "toomanyrequests",
            "too many requests",
            "http 429",
            "status: 429",
        ],
        PullFault::TooManyRequests,
    ),
    (
        &[
            "verification failed",
            "failed to verify",
            "unexpected commit digest",
            "digest did not match",
            "does not match digest",
        ],
        PullFault::Corrupt,
    ),
    (
        &[
            "x509:",
            "certificate",
            "server gave http response",
            "first record does not look like a tls",
        ],
        PullFault::Certificate,
    ),
    (
        &[
            "denied",
            "unauthorized",
            "authentication required",
            "no basic auth",
            "insufficient_scope",
            "insufficient scope",
            "http 401",
            "http 403",
            "status: 401",
            "status: 403",
            "403 forbidden",
            "401 unauthorized",
            "incorrect username or password",
        ],
        PullFault::Denied,
    ),
    (
        &["no space left", "disk quota", "read-only file system"],
        PullFault::Engine,
    ),
    (
        &[
            "dial tcp",
            "no such host",
            "connection refused",
            "no route to host",
            "network is unreachable",
            "i/o timeout",
            "handshake timeout",
            "client.timeout",
            "deadline exceeded",
            "request canceled while waiting",
            "name resolution",
            "proxyconnect",
        ],
        PullFault::Unreachable,
    ),
    (
        &[
            "unexpected http status",
            "unexpected status",
            "received unexpected",
            "http 5",
            "status: 5",
            "connection reset",
            "broken pipe",
            "eof",
            "malformed http",
            "transport connection broken",
            "http2:",
            "unexpected end of json",
            "invalid character",
            "server error",
            "timed out",
        ],
        PullFault::Registry,
    ),
    (
        &[
            "manifest unknown",
            "name unknown",
            "not found",
            "repository name not known",
            "no such image",
        ],
        PullFault::NotFound,
    ),
];

#[cfg(test)]
mod tests {
    use super::PullFault::*;
    use super::*;

    fn check(status: u16, message: &str, expected: PullFault) {
        let reference = ImageReference::parse("127.0.0.1:5000/team/denied:1").unwrap();
        assert_eq!(
            PullFault::of(&reference, status, message),
            expected,
            "{message}"
        );
    }

    #[test]
    fn messages_of_docker_have_a_kind() {
        check(
            404,
            "manifest for 127.0.0.1:5000/team/denied:1 not found: manifest unknown: manifest unknown",
            NotFound,
        );
        check(
            404,
            "pull access denied for team/denied, repository does not exist or may require 'docker login'",
            Denied,
        );
        check(
            500,
            "Head \"http://127.0.0.1:5000/v2/team/denied/manifests/1\": no basic auth credentials",
            Denied,
        );
        check(500, "unauthorized: authentication required", Denied);
        check(
            500,
            "error parsing HTTP 403 response body: unexpected end of JSON input: \"\"",
            Denied,
        );
        check(
            500,
            "error parsing HTTP 429 response body: unexpected end of JSON input: \"\"",
            TooManyRequests,
        );
        check(
            500,
            "toomanyrequests: You have reached your pull rate limit.",
            TooManyRequests,
        );
        check(
            500,
            "Get \"http://127.0.0.1:5000/v2/\": dial tcp 127.0.0.1:5000: connect: connection refused",
            Unreachable,
        );
        check(
            500,
            "Get \"https://a.invalid/v2/\": dial tcp: lookup a.invalid on 10.0.0.1:53: no such host",
            Unreachable,
        );
        check(
            500,
            "Get \"https://a/v2/\": net/http: request canceled while waiting for connection (Client.Timeout exceeded)",
            Unreachable,
        );
        check(
            500,
            "received unexpected HTTP status: 503 Service Unavailable",
            Registry,
        );
        check(
            500,
            "Get \"http://127.0.0.1:5000/v2/\": read tcp 127.0.0.1:4->127.0.0.1:5: read: connection reset by peer",
            Registry,
        );
        check(500, "unexpected EOF", Registry);
        check(
            500,
            "failed to do request: Head \"https://a/v2/\": x509: certificate signed by unknown authority",
            Certificate,
        );
        check(
            500,
            "http: server gave HTTP response to HTTPS client",
            Certificate,
        );
        check(
            404,
            "no matching manifest for linux/arm64/v8 in the manifest list entries",
            Platform,
        );
        check(
            500,
            "filesystem layer verification failed for digest sha256:00",
            Corrupt,
        );
        check(
            500,
            "failed to register layer: write /x: no space left on device",
            Engine,
        );
        check(400, "invalid reference format", Refused);
        check(500, "layer does not exist", Engine);
    }

    #[test]
    fn only_passing_faults_are_retried() {
        for fault in [NotFound, Denied, Certificate, Platform, Corrupt, Refused] {
            assert!(!fault.is_temporary() && !fault.is_passing(), "{fault:?}");
        }
        for fault in [TooManyRequests, Unreachable, Registry] {
            assert!(fault.is_temporary() && fault.is_passing(), "{fault:?}");
        }
    }
}
