//! Resolves the secrets of a job in external stores, before there is an environment.

use crate::attempts;
use crate::build::{Build, Settings};
use crate::limit::{abort_when_canceled, within};
use crate::panics::catch_panic;
use crate::variables;
use async_trait::async_trait;
use executor_core::job::SecretString;
use executor_core::trace::JobTraceExt;
use executor_core::variable::{JobVariable, JobVariables};
use executor_core::{BuildError, BuildStage, Cancellation, HumanDuration, JobTrace};
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;

const ATTEMPTS: &str = "SECRETS_RETRIEVAL_ATTEMPTS";
const FAILS_IF_MISSING: &str = "FF_SECRET_RESOLVING_FAILS_IF_MISSING";

/// Reads secrets from external stores.
#[async_trait]
pub trait SecretStore: Send + Sync + Debug {
    /// Returns the value of a secret; `None` when its store has none.
    ///
    /// `definition` is one value of [`Job::secrets`](executor_core::job::Job::secrets), in which references to variables
    /// are replaced. It names the store.
    ///
    /// # Errors
    ///
    /// When the secret cannot be read. The text of the error has no secret and no token.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`SecretError::Stopped`].
    async fn resolve(
        &self,
        definition: &Value,
        cancellation: &Cancellation,
    ) -> Result<Option<SecretString>, SecretError>;
}

/// Why a secret cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The definition is invalid, or the store refuses access: another attempt fails as well.
    #[error("{0}")]
    Refused(String),
    /// The store does not answer or has a fault: another attempt may succeed.
    #[error("{0}")]
    Unavailable(String),
    /// A stop was requested.
    #[error("stopped")]
    Stopped,
}

impl Build<'_> {
    /// Adds the job's secrets to its variables, and masks them.
    ///
    /// # Errors
    ///
    /// When a secret cannot be read, or is missing and the job does not accept that.
    pub(crate) async fn resolve_secrets(
        &mut self,
        settings: &mut Settings,
    ) -> Result<(), BuildError> {
        let Some(name) = self.job.secrets.keys().next() else {
            return Ok(());
        };
        let Some(store) = &self.options.secrets else {
            return Err(BuildError::config(format!(
                "secret {name:?} cannot be resolved: no secret store is supported here"
            )));
        };
        let open = self.open(BuildStage::ResolveSecrets, None);
        let setup = self.cancellation.child();
        let limit = settings.job_limit(settings.deadlines.work_ends(), &setup);
        let work = self.read_secrets(&**store, &settings.variables, &setup);
        let work = abort_when_canceled(work, &self.cancellation, &setup);
        let resolved = catch_panic(&*self.log, within(work, vec![limit])).await;
        self.close(open, None, resolved.is_ok());
        let mut all = JobVariables::clone(&settings.variables);
        for variable in resolved? {
            variables::check(&variable)?;
            all.push(variable);
        }
        variables::check_lengths(&all)?;
        settings.variables = Arc::new(all);
        Ok(())
    }

    async fn read_secrets(
        &self,
        store: &dyn SecretStore,
        variables: &JobVariables,
        stop: &Cancellation,
    ) -> Result<Vec<JobVariable>, BuildError> {
        let variables = variables::expanded(variables, None)?;
        let (attempts, warning) = attempts::read(&variables, ATTEMPTS);
        if let Some(warning) = warning {
            self.log.warning_line(&warning);
        }
        let is_optional = matches!(
            variables.get(FAILS_IF_MISSING),
            Some("0" | "f" | "F" | "false" | "False" | "FALSE")
        );
        let mut resolved = Vec::new();
        for (name, definition) in &self.job.secrets {
            // The log of an earlier process has the line.
            if !self.is_resumed() {
                self.log
                    .system_line(&format!("Resolving secret {name:?}..."));
            }
            let mut definition = definition.clone();
            expand_texts(&mut definition, &variables, name)?;
            let read = Attempts { attempts, stop };
            let value = self.read_secret(store, name, &definition, read).await?;
            if let Some(value) = value {
                let value = value.expose();
                self.log.add_mask(value);
                resolved.push(JobVariable {
                    file: definition["file"] != Value::Bool(false),
                    ..JobVariable::masked(name, value)
                });
                continue;
            }
            let missing = format!("secret {name:?} is not found in its store");
            if !is_optional {
                return Err(BuildError::config(missing));
            }
            self.log.warning_line(&missing);
        }
        Ok(resolved)
    }

    async fn read_secret(
        &self,
        store: &dyn SecretStore,
        name: &str,
        definition: &Value,
        Attempts { attempts, stop }: Attempts<'_>,
    ) -> Result<Option<SecretString>, BuildError> {
        let mut attempt = 1;
        loop {
            stop.check()?;
            let error = match store.resolve(definition, stop).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            stop.check()?;
            if let SecretError::Refused(why) = &error {
                return Err(BuildError::config(format!("secret {name:?}: {why}")));
            }
            if attempt >= attempts {
                return Err(BuildError::system(
                    "secrets",
                    format!("resolve {name:?}"),
                    error,
                ));
            }
            let pause = attempts::pause_after(attempt);
            self.log
                .warning_line(&format!("failed to resolve secret {name:?}: {error}"));
            self.log
                .system_line(&format!("Trying again in {}...", HumanDuration(pause)));
            attempts::pause(pause, stop).await;
            attempt += 1;
        }
    }
}

/// How often a secret is read, and what ends it.
#[derive(Debug, Clone, Copy)]
struct Attempts<'a> {
    attempts: u32,
    stop: &'a Cancellation,
}

/// Replaces the references to variables in all texts of a definition.
fn expand_texts(
    value: &mut Value,
    variables: &JobVariables,
    secret: &str,
) -> Result<(), BuildError> {
    match value {
        Value::String(text) => {
            let what = || format!("the definition of secret {secret:?}");
            *text = variables::expand(variables, None, &what, text)?.into_owned();
            Ok(())
        }
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| expand_texts(item, variables, secret)),
        Value::Object(fields) => fields
            .values_mut()
            .try_for_each(|field| expand_texts(field, variables, secret)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}
