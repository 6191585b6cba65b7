use crate::engine::Engine;
use crate::error::{DockerError, PullFault};
use crate::image::info::ImageInfo;
use crate::image::policy::PullPolicy;
use crate::image::reference::ImageReference;
use bollard::query_parameters::CreateImageOptionsBuilder;
use executor_core::{CancelCause, Cancellation, JobTrace, JobTraceExt};
use futures_util::StreamExt;

/// Brings images to the engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Images {
    engine: Engine,
}

impl Images {
    /// Returns the images of an engine.
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }

    /// Returns what the engine says of an image that it has; `None` if it has none of that name.
    ///
    /// # Errors
    ///
    /// Fails as [`Engine::call`] does.
    pub async fn find(&self, reference: &ImageReference) -> Result<Option<ImageInfo>, DockerError> {
        let name = reference.normalized();
        let answer = self.engine.api().inspect_image(&name);
        match self
            .engine
            .call(format!("look for image {reference}"), answer)
            .await
        {
            Ok(answer) => Ok(Some(ImageInfo::of(reference, answer))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sees to it that the engine has an image, by the first policy that leads to it.
    ///
    /// # Cancellation
    ///
    /// Ends when `cancellation` asks for either.
    ///
    /// # Errors
    ///
    /// Fails with the error of the last policy.
    pub async fn ensure(
        &self,
        reference: &ImageReference,
        policies: &[PullPolicy],
        platform: Option<&str>,
        trace: &dyn JobTrace,
        cancellation: &Cancellation,
    ) -> Result<ImageInfo, DockerError> {
        let mut last = None;
        for policy in policies {
            let tried = self.by_policy(reference, *policy, platform, trace);
            let tried = tokio::select! {
                tried = tried => tried,
                () = cancellation.canceled() => {
                    let cause = cancellation.cause().unwrap_or(CancelCause::User);
                    return Err(DockerError::Canceled(cause));
                }
            };
            match tried {
                Ok(info) => return Ok(info),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| DockerError::config("there is no pull policy to try")))
    }

    async fn by_policy(
        &self,
        reference: &ImageReference,
        policy: PullPolicy,
        platform: Option<&str>,
        trace: &dyn JobTrace,
    ) -> Result<ImageInfo, DockerError> {
        if policy != PullPolicy::Always
            && let Some(info) = self.find(reference).await?
        {
            return Ok(info);
        }
        let not_found = |message: &str| DockerError::ImagePull {
            image: reference.to_string(),
            fault: PullFault::NotFound,
            message: message.to_owned(),
        };
        if policy == PullPolicy::Never {
            return Err(not_found(
                "the engine does not have it, and the policy is never",
            ));
        }
        trace.system_line(&format!("Pulling docker image {reference} ..."));
        let options = CreateImageOptionsBuilder::default()
            .from_image(&reference.normalized())
            .platform(platform.unwrap_or_default())
            .build();
        let mut progress =
            std::pin::pin!(self.engine.api().create_image(Some(options), None, None));
        while let Some(step) = progress.next().await {
            step.map_err(|error| DockerError::from_api(format!("pull image {reference}"), error))?;
        }
        let found = self.find(reference).await?;
        found.ok_or_else(|| not_found("the engine does not have it after the pull"))
    }
}
