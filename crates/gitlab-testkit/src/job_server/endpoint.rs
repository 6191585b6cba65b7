use serde_json::Value;
use std::fmt;

/// A kind of call that the job server answers, named as in the recordings of official runners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endpoint {
    /// `POST jobs/request`: asks for a job.
    Request,
    /// `PUT jobs/:id` with a state that is not final: the first update and keep-alive updates.
    UpdateRunning,
    /// `PUT jobs/:id` with a final state.
    UpdateFinal,
    /// `PATCH jobs/:id/trace`: appends to a trace.
    Trace,
    /// `POST jobs/:id/artifacts`: uploads an archive or a report.
    ArtifactsUpload,
    /// `POST jobs/:id/artifacts/authorize`: asks for permission to upload.
    ArtifactsAuthorize,
    /// `GET jobs/:id/artifacts`: downloads artifacts.
    ArtifactsDownload,
    /// `POST runners/verify`: checks a runner's token.
    Verify,
    /// `POST runners`: registers a runner with a registration token.
    Register,
    /// `DELETE runners`: removes a runner.
    Unregister,
    /// `DELETE runners/managers`: removes one machine of a runner.
    UnregisterManager,
    /// `POST runners/reset_authentication_token`, or the same below `runners/:id`.
    ResetToken,
    /// Git over HTTP.
    Git,
    /// `GET /store/...`: the object storage to which a download can be redirected.
    Store,
    /// Any other call.
    Other,
}

impl Endpoint {
    const NAMES: [(Self, &'static str); 15] = [
        (Self::Request, "request"),
        (Self::UpdateRunning, "update_running"),
        (Self::UpdateFinal, "update_final"),
        (Self::Trace, "trace"),
        (Self::ArtifactsUpload, "artifacts_upload"),
        (Self::ArtifactsAuthorize, "artifacts_authorize"),
        (Self::ArtifactsDownload, "artifacts_download"),
        (Self::Verify, "verify"),
        (Self::Register, "register"),
        (Self::Unregister, "unregister"),
        (Self::UnregisterManager, "unregister_manager"),
        (Self::ResetToken, "reset_token"),
        (Self::Git, "git"),
        (Self::Store, "store"),
        (Self::Other, "other"),
    ];

    /// Returns the name that recordings use, such as `update_final`.
    pub fn name(self) -> &'static str {
        let mut all = Self::NAMES.iter();
        all.find(|(one, _)| *one == self).map_or("", |(_, it)| it)
    }

    /// Returns the endpoint with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::NAMES.iter();
        all.find(|(_, it)| *it == name).map(|(one, _)| *one)
    }

    /// Returns whether its answers carry `Job-Status`.
    pub(crate) fn is_update(self) -> bool {
        matches!(self, Self::UpdateRunning | Self::UpdateFinal | Self::Trace)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The endpoint of a request, and the job that its path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) job: Option<u64>,
}

impl Target {
    /// Finds the endpoint of a request; `body` separates running updates from final ones.
    pub(crate) fn of(method: &str, path: &str, body: Option<&Value>) -> Self {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let other = |endpoint| Self {
            endpoint,
            job: None,
        };
        match (method, parts.as_slice()) {
            ("POST", ["api", "v4", "jobs", "request"]) => other(Endpoint::Request),
            (_, ["api", "v4", "jobs", id, rest @ ..]) => Self {
                endpoint: job_endpoint(method, rest, body),
                job: id.parse().ok(),
            },
            ("POST", ["api", "v4", "runners", "verify"]) => other(Endpoint::Verify),
            ("POST", ["api", "v4", "runners"]) => other(Endpoint::Register),
            ("DELETE", ["api", "v4", "runners"]) => other(Endpoint::Unregister),
            ("DELETE", ["api", "v4", "runners", "managers"]) => other(Endpoint::UnregisterManager),
            (
                "POST",
                ["api", "v4", "runners", "reset_authentication_token"]
                | ["api", "v4", "runners", _, "reset_authentication_token"],
            ) => other(Endpoint::ResetToken),
            ("GET" | "HEAD", ["store", _, ..]) => other(Endpoint::Store),
            _ if path.contains(".git/") => other(Endpoint::Git),
            _ => other(Endpoint::Other),
        }
    }
}

fn job_endpoint(method: &str, rest: &[&str], body: Option<&Value>) -> Endpoint {
    match (method, rest) {
        ("PUT", []) => {
            let state = body.and_then(|body| body["state"].as_str());
            match state {
                Some("running" | "pending") => Endpoint::UpdateRunning,
                _ => Endpoint::UpdateFinal,
            }
        }
        ("PATCH", ["trace"]) => Endpoint::Trace,
        ("POST", ["artifacts"]) => Endpoint::ArtifactsUpload,
        ("POST", ["artifacts", "authorize"]) => Endpoint::ArtifactsAuthorize,
        ("GET" | "HEAD", ["artifacts"]) => Endpoint::ArtifactsDownload,
        _ => Endpoint::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_endpoint_has_one_name() {
        for (endpoint, name) in Endpoint::NAMES {
            assert_eq!(Endpoint::from_name(name), Some(endpoint));
            assert_eq!(endpoint.to_string(), name);
        }
    }

    #[test]
    fn requests_are_sorted_by_method_path_and_state() {
        let check = |method: &str, path: &str, body: Value, expect: &str| {
            let target = Target::of(method, path, Some(&body));
            assert_eq!(target.endpoint.name(), expect, "{method} {path}");
        };
        let none = Value::Null;
        check("POST", "/api/v4/jobs/request", none.clone(), "request");
        check(
            "PUT",
            "/api/v4/jobs/7",
            json!({"state": "running"}),
            "update_running",
        );
        check(
            "PUT",
            "/api/v4/jobs/7",
            json!({"state": "failed"}),
            "update_final",
        );
        check("PATCH", "/api/v4/jobs/7/trace", none.clone(), "trace");
        check(
            "POST",
            "/api/v4/jobs/7/artifacts",
            none.clone(),
            "artifacts_upload",
        );
        check(
            "POST",
            "/api/v4/runners/7/reset_authentication_token",
            none.clone(),
            "reset_token",
        );
        check(
            "DELETE",
            "/api/v4/runners/managers",
            none.clone(),
            "unregister_manager",
        );
        check("GET", "/group/project.git/info/refs", none.clone(), "git");
        check("GET", "/store/a.zip", none.clone(), "store");
        check("GET", "/api/v4/runners/router/discovery", none, "other");
        let target = Target::of("PATCH", "/api/v4/jobs/7/trace", None);
        assert_eq!(target.job, Some(7));
    }
}
