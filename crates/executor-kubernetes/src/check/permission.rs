//! What the login must be permitted to do.

use super::{Target, Verdict, failed, words};
use futures_util::future::join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;
use std::fmt::Write;

/// The name of the role.
const ROLE: &str = "runwright-jobs";

/// The first minor version that asks for `create` beside `get` where a stream to a pod is opened by a WebSocket, which is a GET request.
const STREAMS: u32 = 35;

/// Verbs of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rule {
    resource: &'static str,
    verbs: &'static [&'static str],
}

/// What the executor does in the namespace of its pods.
const JOBS: [Rule; 3] = [
    Rule {
        resource: "pods",
        verbs: &["create", "get", "list", "watch", "patch", "delete"],
    },
    Rule {
        resource: "pods/exec",
        verbs: &["create", "get"],
    },
    // For logins of registries, and variables of services that are not public.
    Rule {
        resource: "secrets",
        verbs: &["create", "delete"],
    },
];

/// What only port proxies need.
const PORTS: Rule = Rule {
    resource: "pods/portforward",
    verbs: &["create", "get"],
};

/// What `namespace_per_job` needs in addition.
const NAMESPACES: Rule = Rule {
    resource: "namespaces",
    verbs: &["create", "get", "list", "patch", "delete"],
};

impl Rule {
    /// Returns the verbs that a server of this version asks for; an unknown version counts as the newest.
    fn asked(self, minor: Option<u32>) -> impl Iterator<Item = &'static str> {
        let is_stream = self.resource.starts_with("pods/");
        let has_create = !is_stream || minor.is_none_or(|minor| minor >= STREAMS);
        let verbs = self.verbs.iter().copied();
        verbs.filter(move |verb| has_create || *verb != "create")
    }
}

/// The permissions of the login.
pub(super) struct Permissions {
    /// The namespace; `None` for all.
    namespace: Option<String>,
    /// Those that jobs lack, such as `get pods/exec`, or why they are not known.
    missing: Result<Vec<String>, String>,
    /// The same for port proxies.
    missing_ports: Result<Vec<String>, String>,
}

impl Permissions {
    /// Asks the API server for each permission.
    pub(super) async fn of(target: &Target<'_>, minor: Option<u32>) -> Self {
        let namespace = target.namespace();
        let missing = missing(target, rules(namespace), minor);
        let (missing, missing_ports) =
            tokio::join!(missing, self::missing(target, vec![PORTS], minor));
        Self {
            namespace: namespace.map(str::to_owned),
            missing,
            missing_ports,
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.missing.as_ref().is_ok_and(Vec::is_empty)
    }

    pub(super) fn verdict(&self) -> Verdict {
        let place = self.place();
        match &self.missing {
            Err(error) => failed(error.clone(), None),
            Ok(missing) if missing.is_empty() => {
                Verdict::Passed(format!("all that jobs need in {place}"))
            }
            Ok(missing) => failed(
                format!("missing in {place}: {}", missing.join(", ")),
                Some("the role at the end grants them"),
            ),
        }
    }

    /// Returns the verdict for port proxies. Jobs run without them.
    pub(super) fn ports_verdict(&self) -> Verdict {
        match &self.missing_ports {
            Err(error) => failed(error.clone(), None),
            Ok(missing) if missing.is_empty() => Verdict::Passed("permitted".to_owned()),
            Ok(missing) => Verdict::Skipped(format!(
                "{} is missing, so ports of jobs cannot be opened; jobs run without it",
                missing.join(", ")
            )),
        }
    }

    fn place(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("namespace {namespace}"),
            None => "all namespaces".to_owned(),
        }
    }

    /// Returns a role with all that jobs need, and its binding to a user.
    ///
    /// A role with the missing rules alone would replace that of an earlier check.
    pub(super) fn manifests(&self, user: Option<&str>) -> String {
        manifests(self.namespace.as_deref(), user)
    }
}

fn rules(namespace: Option<&str>) -> Vec<Rule> {
    let mut rules = JOBS.to_vec();
    if namespace.is_none() {
        rules.push(NAMESPACES);
    }
    rules
}

/// Returns the permissions that the login does not have.
async fn missing(
    target: &Target<'_>,
    rules: Vec<Rule>,
    minor: Option<u32>,
) -> Result<Vec<String>, String> {
    let pairs = rules.iter().flat_map(|rule| {
        let verbs = rule.asked(minor);
        verbs.map(move |verb| (verb, rule.resource))
    });
    let answers = join_all(pairs.map(|(verb, resource)| async move {
        let is_allowed = is_allowed(target, verb, resource).await;
        (format!("{verb} {resource}"), is_allowed)
    }));
    let mut missing = Vec::new();
    for (permission, is_allowed) in answers.await {
        if !is_allowed.map_err(|error| words(&error))? {
            missing.push(permission);
        }
    }
    Ok(missing)
}

async fn is_allowed(target: &Target<'_>, verb: &str, resource: &str) -> Result<bool, kube::Error> {
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource)),
        None => (resource, None),
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                namespace: target.namespace().map(str::to_owned),
                verb: Some(verb.to_owned()),
                resource: Some(resource.to_owned()),
                subresource: subresource.map(str::to_owned),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(target.client.clone());
    let params = PostParams::default();
    let reviewed = target.answer(reviews.create(&params, &review)).await?;
    Ok(reviewed.status.is_some_and(|status| status.allowed))
}

/// Returns the role for jobs in a namespace, or in namespaces of their own, and its binding to a user.
fn manifests(namespace: Option<&str>, user: Option<&str>) -> String {
    let (prefix, place) = match namespace {
        Some(namespace) => ("", format!("  namespace: {}\n", quoted(namespace))),
        None => ("Cluster", String::new()),
    };
    let user = user.unwrap_or("NAME-OF-THE-USER");
    let account = user.strip_prefix("system:serviceaccount:");
    let subject = match account.and_then(|account| account.split_once(':')) {
        Some((namespace, name)) => format!(
            "- kind: ServiceAccount\n  name: {}\n  namespace: {}\n",
            quoted(name),
            quoted(namespace)
        ),
        None => format!(
            "- kind: User\n  apiGroup: rbac.authorization.k8s.io\n  name: {}\n",
            quoted(user)
        ),
    };
    // Each user has a binding, so that one does not replace that of another.
    let binding = format!("{ROLE}:{}", account.unwrap_or(user)).replace(['/', '%'], "-");
    let mut text = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: {prefix}Role\nmetadata:\n  name: {ROLE}\n{place}rules:\n"
    );
    for rule in rules(namespace).into_iter().chain([PORTS]) {
        let _ = writeln!(
            text,
            "- apiGroups: [\"\"]\n  resources: [\"{}\"]\n  verbs: [\"{}\"]",
            rule.resource,
            rule.verbs.join("\", \"")
        );
    }
    let _ = write!(
        text,
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {prefix}RoleBinding\nmetadata:\n  name: {}\n{place}subjects:\n{subject}\
         roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {prefix}Role\n  name: {ROLE}\n",
        quoted(&binding)
    );
    text
}

/// Returns a string of YAML, quoted unless it is a plain name.
fn quoted(text: &str) -> String {
    let is_plain = text.starts_with(|it: char| it.is_ascii_lowercase())
        && text
            .bytes()
            .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
        && !matches!(
            text,
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if is_plain {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_servers_ask_for_more() {
        let exec = JOBS[1];
        let asked = |minor| exec.asked(minor).collect::<Vec<_>>();
        assert_eq!(asked(Some(34)), ["get"]);
        assert_eq!(asked(Some(35)), ["create", "get"]);
        assert_eq!(asked(None), ["create", "get"]);
        assert!(JOBS[0].asked(Some(29)).any(|verb| verb == "create"));
    }

    #[test]
    fn the_role_of_the_guide_is_the_one_that_is_printed() {
        let user = "system:serviceaccount:ci:runwright";
        let of_guide = include_str!("../../../../docs/kubernetes/role.yaml");
        assert_eq!(of_guide, manifests(Some("ci"), Some(user)));
        let page = include_str!("../../../../docs/book/src/operating-kubernetes.md");
        assert!(page.contains(&format!("```yaml\n{of_guide}```")));
    }

    #[test]
    fn users_and_namespaces_of_any_name_are_quoted() {
        let text = manifests(None, Some("https://issuer#me: \"x\""));
        assert!(text.contains("kind: ClusterRole\n"), "{text}");
        assert!(text.contains("resources: [\"namespaces\"]"), "{text}");
        assert!(!text.contains("namespace:"), "{text}");
        assert!(
            text.contains(r#"  name: "https://issuer#me: \"x\"""#),
            "{text}"
        );
        assert!(
            text.contains(r#"  name: "runwright-jobs:https:--issuer#me: \"x\"""#),
            "{text}"
        );
        assert_eq!(quoted("no"), "\"no\"");
        assert_eq!(quoted("1e3"), "\"1e3\"");
    }
}
