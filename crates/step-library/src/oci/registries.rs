use super::auth::Auth;
use super::caller::Caller;
use super::login::Credentials;
use super::manifest::LONGEST;
use super::name::ImageName;
use super::registry::{Access, Registry};
use crate::LibraryOptions;
use crate::error::Error;
use std::sync::{Arc, Once};
use std::time::Duration;
use steps::Asker;
use url::Url;
use web::{Limits, Request, Web, WebError};

/// How long a registry may take to begin an answer, and be silent in it.
const SILENCE: Duration = Duration::from_mins(1);

/// How long to wait for a sign that a registry encrypts. One that does not mostly says so at once.
const GREETING: Duration = Duration::from_secs(15);

/// Knows how registries are asked, and who asks them.
#[derive(Debug, Clone)]
pub(crate) struct Registries {
    web: Web,
    credentials: Option<Arc<dyn Credentials>>,
    insecure: Vec<String>,
    /// Whether it was said that somebody's login cannot be read.
    told: Arc<Once>,
}

impl Registries {
    pub(crate) fn new(options: &LibraryOptions, web: &Web) -> Self {
        let limits = Limits {
            deadline: SILENCE,
            overall: options.deadline,
            bytes: LONGEST,
            ..Limits::default()
        };
        Self {
            web: web.with_limits(limits),
            credentials: options.credentials.clone(),
            insecure: options.insecure_registries.clone(),
            told: Arc::new(Once::new()),
        }
    }

    /// Returns a repository as somebody asks it.
    pub(super) async fn open(
        &self,
        image: &ImageName,
        asker: &Asker,
        access: Access,
    ) -> Result<Registry, Error> {
        let caller = Caller::find(image, asker, self.credentials.as_ref()).await?;
        if let Some(why) = caller.doubt() {
            let tell = || tracing::warn!(why, "Registries are asked without a login.");
            self.told.call_once(tell);
        }
        Ok(Registry {
            web: self.web.clone(),
            base: self.base(image).await?,
            image: image.clone(),
            auth: Auth::new(caller),
            access,
        })
    }

    /// Returns the address of a registry. One that may be asked without encryption is, where it has none.
    async fn base(&self, image: &ImageName) -> Result<Url, Error> {
        let (encrypted, plain) = image.bases(&self.insecure)?;
        let Some(plain) = plain else {
            return Ok(encrypted);
        };
        let short = self.web.with_limits(Limits {
            deadline: GREETING,
            overall: GREETING,
            attempts: 1,
            ..Limits::default()
        });
        match short.open(&Request::get(encrypted.clone())).await {
            Ok(_) | Err(WebError::Untrusted { .. }) => Ok(encrypted),
            Err(_) => Ok(plain),
        }
    }
}
