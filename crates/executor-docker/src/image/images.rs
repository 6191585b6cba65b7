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

/// Brings images to the engine. Cheap to clone; the clones share what is being pulled.
///
/// One for all jobs, and [`for_job`](Self::for_job) for each of them.
#[derive(Debug, Clone)]
pub struct Images {
    engine: Engine,
    credentials: Credentials,
    retry: PullRetry,
    shared_pulls: SharedPulls,
    leases: Option<JobLeases>,
}

impl Images {
    /// Returns the images of an engine, pulled as nobody in particular.
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            credentials: Credentials::default(),
            retry: PullRetry::default(),
            shared_pulls: SharedPulls::default(),
            leases: None,
        }
    }

    /// Returns the same for a job whose images are not to be removed as long as these leases last.
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

    /// Returns what the engine says of an image that it has; `None` if it has none of that name.
    ///
    /// # Errors
    ///
    /// Fails as [`Engine::call`] does.
    pub async fn find(&self, reference: &ImageReference) -> Result<Option<ImageInfo>, DockerError> {
        let name = reference.exact();
        let answer = self.engine.api().inspect_image(&name);
        let doing = format!("look for image {reference}");
        match self.engine.call(doing, answer).await {
            Ok(answer) => Ok(Some(ImageInfo::of(reference, answer))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sees to it that the engine has an image, by the first policy that leads to it.
    ///
    /// What may pass is tried again, as [`PullRetry`] says. Jobs that ask for the same at the same time,
    /// with the same credentials, share one pull.
    ///
    /// # Cancellation
    ///
    /// Ends at once when `cancellation` asks for either; the engine stops to pull then.
    ///
    /// # Errors
    ///
    /// Fails with what the registry said, or else the last policy.
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
        // Nothing of ours is half done when this is dropped: the engine keeps what it has whole. It is
        // boxed, since a job has it several times, and it is large.
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
        // Before anybody looks whether the image is there: from now on nobody removes it.
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
        // What the registry said explains more than that the engine has no copy.
        let said = failed
            .iter()
            .position(|(policy, _)| *policy != PullPolicy::Never);
        let error = failed
            .into_iter()
            .nth(said.unwrap_or(0))
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
        // Without an answer it is taken for somebody else's, and stays.
        let before = self.before(reference).await.ok();
        let info = pulled.await?;
        match before {
            Some(before) => leases.pulled(&info, before).await,
            None => leases.used(&info).await,
        }
        drop(pulling);
        Ok(info)
    }

    /// Returns what the engine has before a pull, to know afterwards whether that brought the image.
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

    /// Pulls, or waits for somebody who does.
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

    /// Tries all credentials, one after the other.
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
            say_who(*trace, login);
            match once(Some(docker_credentials(login, reference.registry()))).await {
                Err(failure) if failure.fault.may_be_a_matter_of_credentials() => {}
                result => return result,
            }
        }
        say_who(*trace, last);
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

/// What somebody asks for.
struct PullRequest<'a> {
    reference: &'a ImageReference,
    platform: Option<Platform>,
    trace: &'a dyn JobTrace,
}

/// Whether another policy can lead to the image all the same; without an engine none does.
fn is_of_the_image(error: &DockerError) -> bool {
    matches!(error, DockerError::ImagePull { fault, .. } if *fault != PullFault::EngineLost)
}

fn say_who(trace: &dyn JobTrace, login: &SourcedLogin) {
    let source = &login.source;
    trace.system_line(&format!("Authenticating with credentials from {source}"));
}

fn platform_of(info: &ImageInfo) -> Platform {
    Platform::new(&info.os, &info.architecture, info.variant.as_deref())
}

/// Returns what is wrong with an image for one platform, where another is request.
fn mismatch(image: &Platform, asked: Option<&Platform>, engine: &Platform) -> Option<String> {
    match asked {
        Some(asked) if asked.matches(image) => None,
        Some(asked) => Some(format!(
            "the image is for {image}, and {asked} is asked for"
        )),
        None if engine.matches(image) => None,
        None => Some(format!(
            "the image is for {image}, and the engine runs {engine}; ask for `platform: {image}` \
             to have it emulated, where the engine can"
        )),
    }
}

/// Returns GitLab's line on which image it is in the end.
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
    fn an_image_for_another_platform_is_told() {
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
            Some("linux/arm64 is asked for"),
        );
    }
}
