//! What is decided about a job's services before anything is asked of the engine.

use super::alias::{RequestedNames, ServiceNames, image_names, names_of};
use super::probe::{ContainerFacts, Probes};
use super::variables::ServiceVariables;
use crate::config::policy::{self, PrivilegedRole, Refusal};
use crate::config::{DockerConfig, ImageOptions};
use crate::engine::labels::Labels;
use crate::error::DockerError;
use crate::image::{ImageReference, PullPolicy};
use crate::job::create::{Entrypoint, NetworkPlan, ServicePlan, read_seccomp};
use executor_core::job::Image;
use executor_core::variable::JobVariables;

/// One service of a job, as far as the job and the settings decide about it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedService {
    /// The image, as the job names it.
    pub image: ImageReference,
    /// The names it is reached by; never none.
    pub names: Vec<String>,
    /// When its image is pulled.
    pub pull_policies: Vec<PullPolicy>,
    /// The platform of its image, where the job names one.
    pub platform: Option<String>,
    /// The user, where the job names one.
    pub user: Option<String>,
    /// What replaces the image's entry point.
    pub entrypoint: Vec<String>,
    /// What replaces the image's command.
    pub command: Vec<String>,
    /// The ports that a proxy may reach; none means those of the image.
    pub ports: Vec<u16>,
    /// Its variables.
    pub variables: ServiceVariables,
}

/// All services of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlannedServices {
    /// Those that are started, in the order of settings and job.
    pub services: Vec<PlannedService>,
    /// What a reader of the log should know.
    pub warnings: Vec<String>,
}

impl PlannedServices {
    /// Decides about the services of the settings and, after them, of the job.
    ///
    /// # Errors
    ///
    /// When a service is not allowed, is one too many, or makes no sense: its image, its alias, its
    /// options, or a variable that says when it is ready.
    pub fn of(
        config: &DockerConfig,
        services: &[Image],
        variables: &JobVariables,
    ) -> Result<Self, DockerError> {
        let limit = usize::try_from(config.services_limit).unwrap_or(usize::MAX);
        if services.len() > limit {
            let key = config.key_style.key("services_limit");
            return Err(DockerError::config(format!(
                "the job has {} services, but the runner's {key} is {limit}",
                services.len()
            )));
        }
        let of_settings = config.services.iter().map(Image::from);
        let definitions: Vec<Image> = of_settings
            .chain(services.iter().cloned())
            .map(|image| expanded(image, variables))
            .collect();
        let wanted: Vec<RequestedNames<'_>> = definitions.iter().map(wanted).collect();
        let names = names_of(&wanted).map_err(config_error)?;
        let mut all = Self::default();
        for (at, (definition, found)) in definitions.iter().zip(names).enumerate() {
            let ServiceNames { names, warnings } = found;
            all.warnings.extend(warnings);
            if names.is_empty() {
                continue;
            }
            let of_the_job = at >= config.services.len();
            let planned = planned(config, definition, names, variables, of_the_job)?;
            all.services.push(planned);
        }
        Ok(all)
    }
}

fn wanted(definition: &Image) -> RequestedNames<'_> {
    RequestedNames {
        image: &definition.name,
        aliases: definition.alias.as_deref().unwrap_or_default(),
    }
}

/// Replaces references to variables where GitLab Runner does.
fn expanded(mut image: Image, variables: &JobVariables) -> Image {
    image.name = variables.expand(&image.name).trim().to_owned();
    image.alias = image
        .alias
        .map(|alias| variables.expand(&alias).into_owned());
    image
}

fn planned(
    config: &DockerConfig,
    definition: &Image,
    names: Vec<String>,
    variables: &JobVariables,
    of_the_job: bool,
) -> Result<PlannedService, DockerError> {
    let image = ImageReference::parse(&definition.name).map_err(|error| DockerError::Config {
        message: "service".to_owned(),
        source: Some(error.into()),
    })?;
    let options = ImageOptions::of(definition).map_err(config_error)?;
    let expand = |text: Option<String>| {
        let text = text.map(|text| variables.expand(&text).into_owned());
        text.filter(|text| !text.is_empty())
    };
    let (platform, user) = (expand(options.platform), expand(options.user));
    if of_the_job {
        policy::check_service(config, &image).map_err(|refusal| refused(&refusal))?;
        if let Some(user) = &user {
            policy::check_user(config, user).map_err(|refusal| refused(&refusal))?;
        }
    }
    let own = ServiceVariables::new(variables, &definition.variables);
    // Only whether it can be understood: the ports are known when the container is there.
    Probes::new(&own, &ContainerFacts::default()).map_err(config_error)?;
    Ok(PlannedService {
        names,
        pull_policies: policy::pull_policies(config, &definition.pull_policy)
            .map_err(|refusal| refused(&refusal))?,
        platform,
        user,
        entrypoint: definition.entrypoint.clone(),
        command: definition.command.clone(),
        ports: definition.ports.iter().map(|port| port.number).collect(),
        variables: own,
        image,
    })
}

fn refused(refusal: &Refusal) -> DockerError {
    DockerError::config(refusal.to_string())
}

fn config_error(error: impl std::error::Error) -> DockerError {
    DockerError::config(error.to_string())
}

impl PlannedService {
    /// Returns what its container is made from: `id` is that of the image, `network` where it runs.
    pub(crate) fn container(
        &self,
        config: &DockerConfig,
        labels: &Labels,
        id: &str,
        network: NetworkPlan,
    ) -> Result<ServicePlan, DockerError> {
        let path = self.image.path();
        let version = self.image.tag_or_digest();
        let seccomp = read_seccomp(&config.services_security_opt).map_err(config_error)?;
        let privileged =
            policy::check_privileged(config, PrivilegedRole::Service, &self.image).is_ok();
        Ok(ServicePlan {
            image: id.to_owned(),
            reference: Some(self.image.clone()),
            entrypoint: Entrypoint::of_job(&self.entrypoint),
            command: self.command.clone(),
            user: self.user.clone(),
            environment: self.variables.environment(),
            labels: labels.for_service(path, version),
            network,
            privileged,
            seccomp,
            ..ServicePlan::default()
        })
    }

    /// Returns how it is called in the log: its image, and its own name where it has one.
    pub fn title(&self) -> String {
        let image = self.image.familiar();
        let name = self.name();
        if image_names(&image).contains(&name) {
            image
        } else {
            format!("{image} ({name})")
        }
    }

    /// Returns the shortest way to say which it is: its own name, or that of its image.
    pub(crate) fn name(&self) -> String {
        self.names.last().cloned().unwrap_or_default()
    }
}
