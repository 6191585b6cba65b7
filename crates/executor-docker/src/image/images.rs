use crate::engine::Engine;
use crate::error::DockerError;
use crate::garbage::{ImagesBeforePull, JobLeases};
use crate::image::fault::PullFault;
use crate::image::info::ImageInfo;
use crate::image::login::{docker_credentials, fingerprint};
use crate::image::policy::PullPolicy;
use crate::image::pull::{PullFailure, pull};
use crate::image::retry::{PullRetry, chance};
use crate::image::shared_pull::{PullKey, SharedPulls};
use bollard::query_parameters::ListImagesOptions;
use executor_core::{Cancellation, HumanDuration, JobTrace, JobTraceExt};
use registry::{Credentials, FoundLogins, ImageReference, Platform, SourcedLogin};

/// Pulls images. Cheap to clone; the clones share pulls in progress.
///
/// A provider has one, and each job a clone with its credentials from [`for_job`](Self::for_job).
#[derive(Debug, Clone)]
pub struct Images {
    engine: Engine,
    credentials: Credentials,
    retry: PullRetry,
    shared_pulls: SharedPulls,
    leases: Option<JobLeases>,
}

impl Images {
    /// Returns the images of an engine, without credentials.
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            credentials: Credentials::default(),
            retry: PullRetry::default(),
            shared_pulls: SharedPulls::default(),
            leases: None,
        }
    }

    /// Returns the same with leases that protect the images from removal.
    #[must_use]
    pub fn with_leases(mut self, leases: Option<JobLeases>) -> Self {
        self.leases = leases;
        self
    }

    /// Returns the same with the credentials of a job.
    pub fn for_job(&self, credentials: Credentials) -> Self {
        Self {
            credentials,
            ..self.clone()
        }
    }

    /// Returns the same with other retries.
    pub fn with_retry(mut self, retry: PullRetry) -> Self {
        self.retry = retry;
        self
    }

    /// Returns an image of the engine; `None` when the engine does not have it.
    ///
    /// # Errors
    ///
    /// As [`Engine::call`].
    pub async fn find(&self, reference: &ImageReference) -> Result<Option<ImageInfo>, DockerError> {
        let name = reference.exact();
        let answer = self.engine.api().inspect_image(&name);
        let doing = format!("find image {reference}");
        match self.engine.call(doing, answer).await {
            Ok(answer) => Ok(Some(ImageInfo::of(reference, answer))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Provides an image by the first policy that succeeds.
    ///
    /// [`PullRetry`] sets the retries of passing faults. Concurrent jobs with the same image and credentials share a pull.
    ///
    /// # Cancellation
    ///
    /// Stops at once, and the engine stops the pull.
    ///
    /// # Errors
    ///
    /// The first failure of a pull, or else that of the policy `never`.
    pub async fn ensure(
        &self,
        reference: &ImageReference,
        policies: &[PullPolicy],
        platform: Option<&str>,
        trace: &dyn JobTrace,
        cancellation: &Cancellation,
    ) -> Result<ImageInfo, DockerError> {
        cancellation.check()?;
        let platform = platform.filter(|platform| !platform.is_empty());
        let platform = platform.map(Platform::parse).transpose()?;
        let request = PullRequest {
            reference,
            platform,
            trace,
        };
        // Safe to drop: the engine keeps complete layers. Boxed, because the future is large and a job has several.
        tokio::select! {
            ensured = Box::pin(self.by_policies(&request, policies)) => ensured,
            cause = cancellation.canceled() => Err(cause.into()),
        }
    }

    async fn by_policies(
        &self,
        request: &PullRequest<'_>,
        policies: &[PullPolicy],
    ) -> Result<ImageInfo, DockerError> {
        let PullRequest {
            reference, trace, ..
        } = request;
        // Before the engine is asked, so that the image is not removed meanwhile.
        if let Some(leases) = &self.leases {
            leases.image(reference).await;
        }
        let mut failed: Vec<(PullPolicy, DockerError)> = Vec::new();
        for (index, policy) in policies.iter().enumerate() {
            if let Some((before, error)) = failed.last() {
                trace.warning_line(&format!(
                    "Failed to pull image with policy \"{before}\": {error}"
                ));
                let number = index + 1;
                trace.system_line(&format!(
                    "Attempt #{number}: Trying \"{policy}\" pull policy"
                ));
            }
            match self.by_policy(request, *policy).await {
                Ok(info) => {
                    self.check_platform(request, &info)?;
                    trace.system_line(&using(&info));
                    return Ok(info);
                }
                Err(error) if !is_of_the_image(&error) => return Err(error),
                Err(error) => failed.push((*policy, error)),
            }
        }
        // The error of the registry explains more than a missing local image.
        let from_registry = failed
            .iter()
            .position(|(policy, _)| *policy != PullPolicy::Never);
        let error = failed
            .into_iter()
            .nth(from_registry.unwrap_or(0))
            .map(|(_, error)| error);
        Err(error.unwrap_or_else(|| {
            DockerError::config(format!("there is no pull policy for image {reference}"))
        }))
    }

    async fn by_policy(
        &self,
        request: &PullRequest<'_>,
        policy: PullPolicy,
    ) -> Result<ImageInfo, DockerError> {
        let PullRequest {
            reference, trace, ..
        } = request;
        if policy != PullPolicy::Always
            && let Some(info) = self.find(reference).await?
        {
            let is_wanted = |platform: &Platform| platform.matches(&platform_of(&info));
            if policy == PullPolicy::Never || request.platform.as_ref().is_none_or(is_wanted) {
                if policy == PullPolicy::IfNotPresent {
                    trace.system_line(&format!(
                        "Using locally found version of {reference} due to \"if-not-present\" pull policy"
                    ));
                }
                if let Some(leases) = &self.leases {
                    leases.used(&info).await;
                }
                return Ok(info);
            }
        }
        if policy == PullPolicy::Never {
            let message = "the engine does not have it, and the pull policy is \"never\"";
            return Err(PullFailure::new(PullFault::NotFound, message).into_error(reference));
        }
        let pulled = async {
            self.pull(request).await?;
            self.find(reference).await?.ok_or_else(|| {
                let message = "the engine does not have it after the pull";
                PullFailure::new(PullFault::Engine, message).into_error(reference)
            })
        };
        let Some(leases) = &self.leases else {
            return pulled.await;
        };
        let pulling = leases.pulling().await;
        // Without a response, the image counts as the user's and is kept.
        let before = self.before(reference).await.ok();
        let info = pulled.await?;
        match before {
            Some(before) => leases.pulled(&info, before).await,
            None => leases.used(&info).await,
        }
        drop(pulling);
        Ok(info)
    }

    /// Returns the images of the engine before a pull, to determine later whether the pull added the image.
    async fn before(&self, reference: &ImageReference) -> Result<ImagesBeforePull, DockerError> {
        let named = self.find(reference);
        let options = ListImagesOptions {
            all: true,
            ..ListImagesOptions::default()
        };
        let all = self.engine.api().list_images(Some(options));
        let all = self.engine.call("list images", all);
        let (named, all) = tokio::try_join!(named, all)?;
        Ok(ImagesBeforePull {
            named: named.map(|info| info.id),
            ids: all.into_iter().map(|image| image.id).collect(),
        })
    }

    /// Pulls the image, or joins a pull in progress.
    async fn pull(&self, request: &PullRequest<'_>) -> Result<(), DockerError> {
        let found = self.credentials.find(request.reference.repository()).await;
        let FoundLogins { logins, warnings } = found;
        for warning in warnings {
            request.trace.warning_line(&warning);
        }
        for login in &logins {
            request.trace.add_mask(login.login.secret.expose());
        }
        let key = PullKey {
            image: request.reference.normalized(),
            platform: request.platform.as_ref().map(ToString::to_string),
            credentials: fingerprint(&logins),
        };
        let reference = request.reference;
        request
            .trace
            .system_line(&format!("Pulling docker image {reference} ..."));
        let pulled = self
            .shared_pulls
            .share(key, self.try_often(request, &logins))
            .await;
        pulled.map_err(|failure| failure.into_error(reference))
    }

    async fn try_often(
        &self,
        request: &PullRequest<'_>,
        logins: &[SourcedLogin],
    ) -> Result<(), PullFailure> {
        let mut tried = 1;
        loop {
            let Err(mut failure) = self.try_all(request, logins).await else {
                return Ok(());
            };
            if !failure.fault.is_passing() {
                return Err(failure);
            }
            if tried >= self.retry.tries {
                failure.given_up = true;
                return Err(failure);
            }
            let wait = self.retry.wait(tried, chance());
            request.trace.warning_line(&format!(
                "Failed to pull image {}: {}; trying again in {}",
                request.reference,
                failure.message,
                HumanDuration(wait)
            ));
            tokio::time::sleep(wait).await;
            tried += 1;
        }
    }

    /// Tries all credentials in order.
    async fn try_all(
        &self,
        request: &PullRequest<'_>,
        logins: &[SourcedLogin],
    ) -> Result<(), PullFailure> {
        let PullRequest {
            reference, trace, ..
        } = request;
        let platform = request.platform.as_ref().map(ToString::to_string);
        let platform = platform.as_deref();
        let once = |login| {
            pull(
                &self.engine,
                reference,
                platform,
                login,
                &self.retry,
                *trace,
            )
        };
        let Some((last, others)) = logins.split_last() else {
            return once(None).await;
        };
        for login in others {
            log_login(*trace, login);
            match once(Some(docker_credentials(login, reference.registry()))).await {
                Err(failure) if failure.fault.may_be_a_matter_of_credentials() => {}
                result => return result,
            }
        }
        log_login(*trace, last);
        once(Some(docker_credentials(last, reference.registry()))).await
    }

    fn check_platform(
        &self,
        request: &PullRequest<'_>,
        info: &ImageInfo,
    ) -> Result<(), DockerError> {
        let version = self.engine.version();
        let engine = Platform::new(&version.os, &version.architecture, None);
        let message = mismatch(&platform_of(info), request.platform.as_ref(), &engine);
        message.map_or(Ok(()), |message| {
            let failure = PullFailure::new(PullFault::Platform, message);
            Err(failure.into_error(request.reference))
        })
    }
}

/// A request for an image.
struct PullRequest<'a> {
    reference: &'a ImageReference,
    platform: Option<Platform>,
    trace: &'a dyn JobTrace,
}

/// Returns whether another policy may succeed; without an engine none does.
fn is_of_the_image(error: &DockerError) -> bool {
    matches!(error, DockerError::ImagePull { fault, .. } if *fault != PullFault::EngineLost)
}

fn log_login(trace: &dyn JobTrace, login: &SourcedLogin) {
    let source = &login.source;
    trace.system_line(&format!("Authenticating with credentials from {source}"));
}

fn platform_of(info: &ImageInfo) -> Platform {
    Platform::new(&info.os, &info.architecture, info.variant.as_deref())
}

/// Returns the mismatch between the platform of an image and the requested one.
fn mismatch(image: &Platform, asked: Option<&Platform>, engine: &Platform) -> Option<String> {
    match asked {
        Some(asked) if asked.matches(image) => None,
        Some(asked) => Some(format!(
            "the image is for {image}, but {asked} was requested"
        )),
        None if engine.matches(image) => None,
        None => Some(format!(
            "the image is for {image}, but the engine runs {engine}; set `platform: {image}` \
             for emulation, if the engine supports it"
        )),
    }
}

/// Returns GitLab's line about the image in use.
fn using(info: &ImageInfo) -> String {
    let (id, reference) = (&info.id, &info.reference);
    match &info.digest {
        Some(digest) => {
            format!("Using docker image {id} for {reference} with digest {digest} ...")
        }
        None => format!("Using docker image {id} for {reference} ..."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_for_another_platform_is_reported() {
        let check = |image: &str, asked: Option<&str>, part: Option<&str>| {
            let platform = |text| Platform::parse(text).unwrap();
            let engine = platform("linux/amd64");
            let asked = asked.map(platform);
            let found = mismatch(&platform(image), asked.as_ref(), &engine);
            match (&found, part) {
                (None, None) => {}
                (Some(found), Some(part)) => assert!(found.contains(part), "{found}"),
                _ => panic!("{image}: {found:?}"),
            }
        };
        check("linux/amd64", None, None);
        check("linux/arm64", None, Some("the engine runs linux/amd64"));
        check("linux/arm64", Some("linux/arm64/v8"), None);
        check(
            "linux/amd64",
            Some("linux/arm64"),
            Some("linux/arm64 was requested"),
        );
    }
}
