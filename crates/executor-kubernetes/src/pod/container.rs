use super::BUILD;
use super::draft::{Draft, Request, refused};
use super::resources::Scope;
use crate::config::non_empty;
use crate::error::KubernetesError;
use executor_core::job::Image;
use executor_core::variable::JobVariable;
use k8s_openapi::api::core::v1::{Container, EnvVar, VolumeMount};

/// The purpose of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Job,
    Service,
}

/// Returns the container of the job.
pub(super) fn build(
    draft: &mut Draft<'_>,
    mounts: Vec<VolumeMount>,
) -> Result<Container, KubernetesError> {
    let Request { job, config, .. } = *draft.request;
    let name = non_empty(Some(&job.image.name)).or(non_empty(config.image.as_deref()));
    let name = name.ok_or_else(|| {
        refused("the job has no image: write `image:`, or `image` in the settings of kubernetes")
    })?;
    let name = draft.variables.expand(name).into_owned();
    draft.check_image(Role::Job, &name)?;
    let start = ["sh", "-c", draft.request.start].map(str::to_owned);
    let mut container = draft.container(BUILD, &job.image, Role::Job)?;
    container.image = Some(name);
    // The image's entry point gets the shell as its arguments; an empty one is none.
    match job.image.entrypoint.as_slice() {
        [] => container.args = Some(start.into()),
        [only] if only.is_empty() => container.command = Some(start.into()),
        words => {
            container.command = literals(words);
            container.args = Some(start.into());
        }
    }
    container.volume_mounts = Some(mounts);
    container.lifecycle.clone_from(&config.container_lifecycle);
    // A user of our choice has no home in the image.
    let user = container.security_context.as_ref();
    let user = user.and_then(|it| it.run_as_user).or(draft.pod_user());
    if user.is_some_and(|user| user != 0) {
        container.env = Some(vec![variable("HOME", draft.request.builds_dir)]);
    }
    Ok(container)
}

impl Draft<'_> {
    /// Returns the part that containers of the job and of services have in common.
    pub(super) fn container(
        &mut self,
        name: &str,
        image: &Image,
        role: Role,
    ) -> Result<Container, KubernetesError> {
        let own: &[JobVariable] = match role {
            Role::Job => &[],
            Role::Service => &image.variables,
        };
        Ok(Container {
            name: name.to_owned(),
            image_pull_policy: self.pull_policy(name, image)?,
            resources: self.requirements(Scope::One(role), own)?,
            security_context: Some(self.security_context(image, role)?),
            ..Container::default()
        })
    }
}

/// Returns a volume that is mounted at a path.
pub(super) fn mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        ..VolumeMount::default()
    }
}

pub(super) fn variable(name: &str, value: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(literal(value)),
        value_from: None,
    }
}

/// Returns the words of a command; none is the image's own.
pub(super) fn literals(words: &[String]) -> Option<Vec<String>> {
    (!words.is_empty()).then(|| words.iter().map(|word| literal(word)).collect())
}

/// Returns a text in which Kubernetes replaces no `$(NAME)`.
fn literal(text: &str) -> String {
    text.replace("$(", "$$(")
}
