//! The decisions about a job's services before any request to the engine.

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

/// One service, as far as the job and the settings determine it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedService {
    /// The image, as the job names it.
    pub image: ImageReference,
    /// Its host names, at least one.
    pub names: Vec<String>,
    /// The pull policies of its image.
    pub pull_policies: Vec<PullPolicy>,
    /// The platform of its image, if the job names one.
    pub platform: Option<String>,
    /// The user, if the job names one.
    pub user: Option<String>,
    /// The entry point that replaces the image's.
    pub entrypoint: Vec<String>,
    /// The command that replaces the image's.
    pub command: Vec<String>,
    /// The ports for the proxy; an empty list means those of the image.
    pub ports: Vec<u16>,
    /// Its variables.
    pub variables: ServiceVariables,
}

/// All services of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlannedServices {
    /// The services to start, in the order of settings and job.
    pub services: Vec<PlannedService>,
    /// Warnings for the log.
    pub warnings: Vec<String>,
}

impl PlannedServices {
    /// Plans the services of the settings, then those of the job.
    ///
    /// # Errors
    ///
    /// When a service is not allowed, exceeds the limit, or has an invalid image, alias, option or readiness variable.
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

/// Expands variables where GitLab Runner does.
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
    // Only a check of the syntax: the ports are known later.
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
    /// Returns the plan of its container, with the id of the image and its network.
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

    /// Returns its title in the log: its image, and its own name if it has one.
    pub fn title(&self) -> String {
        let image = self.image.familiar();
        let name = self.name();
        if image_names(&image).contains(&name) {
            image
        } else {
            format!("{image} ({name})")
        }
    }

    /// Returns its shortest name: its own, or that of its image.
    pub(crate) fn name(&self) -> String {
        self.names.last().cloned().unwrap_or_default()
    }
}
