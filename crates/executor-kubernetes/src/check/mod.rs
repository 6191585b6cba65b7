//! Checks whether jobs can run in a cluster, and names what is missing.
//!
//! Each check is one line of the report, in the words of Kubernetes.

mod admission;
mod permission;
mod probe;
#[cfg(test)]
mod tests;

pub(crate) use admission::usual_pod;

use crate::access::{access, context};
use crate::config::KubernetesConfig;
use crate::transport::client;
use executor_core::Cancellation;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::api::PostParams;
use kube::{Api, Client};
use permission::Permissions;
use std::time::Duration;
use tokio::time::timeout;

/// How long the API server may take to answer one request.
const ANSWER: Duration = Duration::from_secs(15);

/// The oldest minor version of Kubernetes 1 whose sidecars, which services are, start before the job.
const SIDECARS: u32 = 29;

/// The checks before those of a pod, in their order.
const LOGIN: &str = "login";
const VERSION: &str = "server version";
const PERMISSIONS: &str = "permissions";
const PORTS: &str = "port proxies";
const PROBE: &str = "probe pod";

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Jobs can rely on it.
    Passed(String),
    /// Jobs fail, or some of them.
    Failed {
        /// The reason.
        found: String,
        /// What to do.
        help: Option<String>,
    },
    /// Jobs have to wait now, and can rely on it later.
    Warned {
        /// The reason.
        found: String,
        /// What to do.
        help: Option<String>,
    },
    /// It was not tried, or only some features need it; the reason.
    Skipped(String),
}

/// One check with its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The name.
    pub name: &'static str,
    /// The verdict.
    pub verdict: Verdict,
}

/// All checks, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The checks.
    pub checks: Vec<Check>,
    /// With a missing permission, the objects for `kubectl apply -f -` that grant the login all that jobs need.
    pub role: Option<String>,
}

impl Report {
    /// Returns whether no check failed.
    pub fn is_passed(&self) -> bool {
        let mut checks = self.checks.iter();
        !checks.any(|check| matches!(check.verdict, Verdict::Failed { .. }))
    }
}

/// Checks whether jobs with these settings can run in the cluster. `progress` receives each check when it ends.
///
/// The last one runs a job with the image of the settings in a pod, which is deleted in any case. The others change nothing.
///
/// # Cancellation
///
/// A canceled check deletes its pod before it returns; the remaining checks fail or are skipped.
pub async fn check(
    config: &KubernetesConfig,
    stop: &Cancellation,
    progress: impl Fn(&Check),
) -> Report {
    let mut report = Reporter {
        progress,
        checks: Vec::new(),
    };
    let role = check_all(config, stop, &mut report).await;
    Report {
        checks: report.checks,
        role,
    }
}

/// Collects the checks.
struct Reporter<P> {
    progress: P,
    checks: Vec<Check>,
}

impl<P: Fn(&Check)> Reporter<P> {
    fn add(&mut self, name: &'static str, verdict: Verdict) {
        let check = Check { name, verdict };
        (self.progress)(&check);
        self.checks.push(check);
    }

    fn skip(&mut self, names: impl IntoIterator<Item = &'static str>, reason: &str) {
        for name in names {
            self.add(name, Verdict::Skipped(reason.to_owned()));
        }
    }
}

/// The cluster that is checked.
struct Target<'c> {
    config: &'c KubernetesConfig,
    client: Client,
    namespace: String,
    stop: &'c Cancellation,
}

/// Runs the checks; returns the role if a permission is missing.
async fn check_all<P: Fn(&Check)>(
    config: &KubernetesConfig,
    stop: &Cancellation,
    report: &mut Reporter<P>,
) -> Option<String> {
    let (target, user) = match log_in(config, stop).await {
        Ok((target, user, found)) => {
            report.add(LOGIN, Verdict::Passed(found));
            (target, user)
        }
        Err(verdict) => {
            report.add(LOGIN, verdict);
            let names = [VERSION, PERMISSIONS, PORTS].into_iter();
            let names = names.chain(admission::NAMES).chain([PROBE]);
            report.skip(names, "the login failed");
            return None;
        }
    };
    let minor = match target.answer(target.client.apiserver_version()).await {
        Ok(version) => {
            let minor = minor(&version);
            report.add(VERSION, version_verdict(&version));
            minor
        }
        Err(error) => {
            report.add(VERSION, failed(words(&error), None));
            None
        }
    };
    if let Some(verdict) = admission::missing_namespace(&target).await {
        // The API server answers questions about permissions in any namespace.
        let [namespace, others @ ..] = admission::NAMES;
        report.add(namespace, verdict);
        let names = [PERMISSIONS, PORTS].into_iter().chain(others);
        report.skip(names.chain([PROBE]), "the namespace does not exist");
        return None;
    }
    let permissions = Permissions::of(&target, minor).await;
    report.add(PERMISSIONS, permissions.verdict());
    report.add(PORTS, permissions.ports_verdict());
    let may_create = permissions.is_complete();
    if may_create {
        for (name, verdict) in admission::check(&target).await {
            report.add(name, verdict);
        }
    } else {
        report.skip(admission::NAMES, "permissions are missing");
    }
    let is_failed = |check: &Check| matches!(check.verdict, Verdict::Failed { .. });
    // An older server refuses services alone.
    let mut before = report.checks.iter().filter(|check| check.name != VERSION);
    let is_full = |check: &Check| matches!(check.verdict, Verdict::Warned { .. });
    if before.any(is_failed) {
        report.skip([PROBE], "a check before it failed");
    } else if report.checks.iter().any(is_full) {
        report.skip([PROBE], "there is no room for it now");
    } else {
        report.add(PROBE, probe::run(&target).await);
    }
    (!may_create).then(|| permissions.manifests(user.as_deref()))
}

/// Finds the cluster and the user; returns them with the text of the report.
async fn log_in<'c>(
    config: &'c KubernetesConfig,
    stop: &'c Cancellation,
) -> Result<(Target<'c>, Option<String>, String), Verdict> {
    let access = access(config).await;
    let access = access.map_err(|error| failed(executor_core::chain(&error), None))?;
    let server = access.cluster_url.to_string();
    let server = server.trim_end_matches('/');
    let namespace = config.namespace.clone();
    let namespace = namespace.unwrap_or_else(|| access.default_namespace.clone());
    let client =
        client(config, access).map_err(|error| failed(executor_core::chain(&*error), None))?;
    let target = Target {
        config,
        client,
        namespace,
        stop,
    };
    let reviews: Api<SelfSubjectReview> = Api::all(target.client.clone());
    let (params, review) = (PostParams::default(), SelfSubjectReview::default());
    let user = match target.answer(reviews.create(&params, &review)).await {
        Ok(review) => review.status.and_then(|it| it.user_info?.username),
        // Servers before 1.28 have no such review, and others may refuse it.
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => None,
        Err(error) => {
            let help = match &error {
                kube::Error::Api(status) if status.code == 401 => {
                    "the login has expired or is not known there: log in again; `kubectl auth whoami` tries it"
                }
                _ => {
                    "check the address, the network and the certificates; `kubectl version` tries them"
                }
            };
            let found = format!("{server}: {}", words(&error));
            return Err(failed(found, Some(help)));
        }
    };
    let context = context(config).map_or(String::new(), |context| format!("context {context}, "));
    let shown = user
        .as_ref()
        .map_or(String::new(), |user| format!(", user {user}"));
    Ok((target, user, format!("{context}{server}{shown}")))
}

/// Returns the minor version of Kubernetes 1; `None` when it is not a number.
fn minor(version: &Info) -> Option<u32> {
    // Some providers add a `+`.
    let digits = version
        .minor
        .trim_end_matches(|it: char| !it.is_ascii_digit());
    digits.parse().ok()
}

fn version_verdict(version: &Info) -> Verdict {
    let found = version.git_version.clone();
    match minor(version) {
        Some(minor) if minor < SIDECARS => failed(
            format!("{found} is older than v1.{SIDECARS}"),
            Some(
                "jobs with services need native sidecars: upgrade the cluster, or run only jobs without services there",
            ),
        ),
        _ => Verdict::Passed(found),
    }
}

impl Target<'_> {
    /// Waits for an answer of the API server, within a deadline and until the check is canceled.
    async fn answer<T>(
        &self,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, kube::Error> {
        let late = || {
            let text = format!(
                "the API server does not answer within {} s",
                ANSWER.as_secs()
            );
            kube::Error::Service(text.into())
        };
        tokio::select! {
            answered = timeout(ANSWER, request) => answered.unwrap_or_else(|_| Err(late())),
            cause = self.stop.canceled() => Err(kube::Error::Service(format!("canceled {cause}").into())),
        }
    }

    /// Returns the namespace of the pods; `None` if each job has one of its own.
    fn namespace(&self) -> Option<&str> {
        (!self.config.namespace_per_job).then_some(&*self.namespace)
    }
}

fn failed(found: impl Into<String>, help: Option<&str>) -> Verdict {
    Verdict::Failed {
        found: found.into(),
        help: help.map(str::to_owned),
    }
}

/// Returns the words of the API server, or why there are none.
fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        // Its own text repeats the causes.
        kube::Error::Service(cause) => executor_core::chain(&**cause),
        error => executor_core::chain(error),
    }
}
