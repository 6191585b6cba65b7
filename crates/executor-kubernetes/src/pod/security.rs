//! The rights of a pod and its containers. Without other settings, they are those of the `restricted` Pod Security Standard.

use super::container::Role;
use super::draft::{Draft, refused};
use crate::error::KubernetesError;
use executor_core::job::Image;
use k8s_openapi::DeepMerge;
use k8s_openapi::api::core::v1::{
    Capabilities, PodSecurityContext, SeccompProfile, SecurityContext,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// The user and group that a job names for an image.
#[derive(Debug, Clone, Copy, Default)]
struct Ids {
    user: Option<i64>,
    group: Option<i64>,
}

impl Draft<'_> {
    /// Returns the user of containers without one of their own.
    pub(super) fn pod_user(&self) -> Option<i64> {
        let config = self.request.config;
        let pod = config.pod_security_context.as_ref();
        pod.and_then(|it| it.run_as_user).or(config.user())
    }

    pub(super) fn pod_security_context(&self) -> PodSecurityContext {
        let user = self.pod_user().filter(|user| *user != 0);
        let mut context = PodSecurityContext {
            fs_group: user,
            run_as_non_root: user.map(|_| true),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        };
        if let Some(settings) = &self.request.config.pod_security_context {
            context.merge_from(settings.clone());
        }
        context
    }

    /// Returns the rights of a container. The settings win over the job, as with GitLab Runner.
    pub(super) fn security_context(
        &mut self,
        image: &Image,
        role: Role,
    ) -> Result<SecurityContext, KubernetesError> {
        let config = self.request.config;
        let settings = match role {
            Role::Service => &config.service_container_security_context,
            Role::Job => &config.build_container_security_context,
        };
        let settings = settings.clone().unwrap_or_default();
        let pod = config.pod_security_context.clone().unwrap_or_default();
        let wanted = self.ids(image)?;
        let fixed = Ids {
            user: settings.run_as_user.or(pod.run_as_user),
            group: settings.run_as_group.or(pod.run_as_group),
        };
        let pairs = [
            ("user", wanted.user, fixed.user),
            ("group", wanted.group, fixed.group),
        ];
        for (what, wanted, fixed) in pairs {
            if let (Some(wanted), Some(fixed)) = (wanted, fixed)
                && wanted != fixed
            {
                self.warn(format!(
                    "the {what} {wanted} of the image is ignored: the settings of the runner have {fixed}"
                ));
            }
        }
        let privileged = settings.privileged.unwrap_or(config.privileged);
        let is_root = self.pod_user().is_none_or(|user| user == 0);
        let capabilities = self.capabilities(settings.capabilities.as_ref(), privileged, is_root);
        let mut context = SecurityContext {
            // Kubernetes refuses `false` in a privileged container.
            allow_privilege_escalation: config
                .allow_privilege_escalation
                .or((!privileged).then_some(false)),
            privileged: privileged.then_some(true),
            // A container without a user inherits that of the pod's context.
            run_as_user: match pod.run_as_user {
                Some(_) => None,
                None => wanted.user.or(config.user()),
            },
            run_as_group: match pod.run_as_group {
                Some(_) => None,
                None => wanted.group,
            },
            ..SecurityContext::default()
        };
        context.merge_from(settings);
        context.capabilities = capabilities;
        // The pod's context refuses root.
        if context.run_as_user == Some(0) && context.run_as_non_root.is_none() {
            context.run_as_non_root = Some(false);
        }
        Ok(context)
    }

    /// Returns the capabilities of a container: the settings of all containers, then its own; what is dropped last wins.
    fn capabilities(
        &self,
        own: Option<&Capabilities>,
        privileged: bool,
        is_root: bool,
    ) -> Option<Capabilities> {
        let config = self.request.config;
        let own = own.cloned().unwrap_or_default();
        let mut has: BTreeMap<String, bool> = BTreeMap::new();
        if !privileged {
            let dropped = if is_root { "NET_RAW" } else { "ALL" };
            has.insert(dropped.to_owned(), false);
        }
        let lists = [
            (config.cap_add.clone(), true),
            (config.cap_drop.clone(), false),
            (own.add.unwrap_or_default(), true),
            (own.drop.unwrap_or_default(), false),
        ];
        for (names, value) in lists {
            has.extend(names.into_iter().map(|name| (name, value)));
        }
        let names = |value: bool| {
            let names = has.iter().filter(|(_, has)| **has == value);
            let names: Vec<_> = names.map(|(name, _)| name.clone()).collect();
            (!names.is_empty()).then_some(names)
        };
        (!has.is_empty()).then(|| Capabilities {
            add: names(true),
            drop: names(false),
        })
    }

    /// Returns the user and group that a job names for an image, if the settings allow them.
    fn ids(&self, image: &Image) -> Result<Ids, KubernetesError> {
        let options = image.executor_opts.kubernetes.as_ref();
        let options = options.or(image.kubernetes.as_ref());
        let text = match options.and_then(|options| options.get("user")) {
            None | Some(Value::Null) => return Ok(Ids::default()),
            Some(Value::String(text)) => self.variables.expand(text).into_owned(),
            Some(other) => other.to_string(),
        };
        let (user, group) = text.split_once(':').unwrap_or((&text, ""));
        let ids = Ids {
            user: number(user)?,
            group: number(group)?,
        };
        let config = self.request.config;
        let is_listed = |list: &[String], id: i64| list.contains(&id.to_string());
        if let Some(user) = ids.user
            && config.run_as_user != Some(user)
        {
            let list = &config.allowed_users;
            if user == 0 && !is_listed(list, 0) {
                return Err(refused(
                    "the job asks for the user root, which the settings do not allow: set run_as_user = 0, or allowed_users with \"0\"",
                ));
            }
            if !list.is_empty() && !is_listed(list, user) {
                return Err(not_on("user", user, "allowed_users", list));
            }
        }
        if let Some(group) = ids.group {
            let list = &config.allowed_groups;
            if !list.is_empty() && !is_listed(list, group) {
                return Err(not_on("group", group, "allowed_groups", list));
            }
        }
        Ok(ids)
    }
}

fn number(text: &str) -> Result<Option<i64>, KubernetesError> {
    if text.is_empty() {
        return Ok(None);
    }
    let id = text.parse().ok().filter(|id| *id >= 0);
    id.map(Some).ok_or_else(|| {
        refused(format!(
            "invalid user {text:?} of an image: expected numbers, as 1000:1000"
        ))
    })
}

fn not_on(what: &str, id: i64, key: &str, list: &[String]) -> KubernetesError {
    refused(format!(
        "the {what} {id} of an image is not allowed: {key} has only {}",
        list.join(", ")
    ))
}
