//! Functions of the service itself: `builtin://NAME`, formerly `dist://NAME`.

use super::Engine;
use super::evaluate::step_failure;
use super::exchange::Exchange;
use super::fetched_tree::platform;
use super::frame::Env;
use super::locate::below;
use super::step_result;
use crate::image::{self, Image};
use crate::language::{
    Declared, Function, Kind, Outputs, Value, ValueType, bind_inputs, bind_outputs,
};
use crate::library::Source;
use crate::service::host_requests::HostAnswer;
use crate::service::state::Failure;
use crate::wire::v1::StepResult;
use crate::wire::v1::result::ErrorKind;
use crate::wire::v1::wish::{Publish, What};
use executor_core::chain;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A function of the service itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Builtin {
    /// Runs a shell script.
    Script,
    /// Builds an archive with the image of a function.
    Build,
    /// Publishes such an archive to a registry.
    Publish,
    /// Fetches the files of an image.
    Fetch,
}

/// The names, including those of earlier step-runners.
const NAMES: [(&str, Builtin); 7] = [
    ("script", Builtin::Script),
    ("function/oci/build", Builtin::Build),
    ("function/oci/publish", Builtin::Publish),
    ("function/oci/fetch", Builtin::Fetch),
    ("step/oci/build", Builtin::Build),
    ("step/oci/publish", Builtin::Publish),
    ("step/oci/fetch", Builtin::Fetch),
];

/// The names by which GitLab Runner passes whole jobs.
const OF_GITLAB_RUNNER: [&str; 2] = ["concrete", "script_legacy"];

/// The inputs or outputs of a function.
type Values = BTreeMap<String, Value>;

impl Builtin {
    /// Returns the function with this name.
    ///
    /// # Errors
    ///
    /// Lists the known names.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        if let Some((_, builtin)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(*builtin);
        }
        let hint = if OF_GITLAB_RUNNER.contains(&name) {
            "it is a part of GitLab Runner's own helper, and not available here"
        } else {
            "unknown function"
        };
        let names = NAMES.iter().filter(|(name, _)| !name.starts_with("step/"));
        let names: Vec<_> = names.map(|(name, _)| *name).collect();
        Err(format!(
            "builtin://{name}: {hint}; available are {}",
            names.join(", ")
        ))
    }

    /// Returns its inputs and outputs.
    pub(super) fn described(self) -> Function {
        use ValueType::{Array, Struct, Text};
        let (inputs, outputs) = match self {
            Self::Script => (vec![secret("script")], Vec::new()),
            Self::Build => (
                vec![
                    required("version", Text),
                    required("platforms", Struct),
                    optional("common", Value::named::<String>([])),
                    optional("archive", Value::text("function-image.tar")),
                ],
                vec![required("archive", Text), required("digest", Text)],
            ),
            Self::Publish => (
                vec![required("archive", Text), required("to_repository", Text)],
                vec![
                    required("digest", Text),
                    required("ref", Text),
                    required("tags", Array),
                ],
            ),
            Self::Fetch => (
                vec![
                    required("registry", Text),
                    required("repository", Text),
                    required("tag", Text),
                    optional("step_path", Value::text("")),
                ],
                vec![required("fetched_step_path", Text), required("ref", Text)],
            ),
        };
        Function {
            inputs: inputs.into_iter().collect(),
            outputs: Outputs::Declared(outputs.into_iter().collect()),
            ..Function::default()
        }
    }
}

fn declared(value_type: ValueType, default: Option<Value>) -> Declared {
    Declared {
        value_type,
        default,
        is_sensitive: false,
    }
}

fn required(name: &str, value_type: ValueType) -> (String, Declared) {
    (name.to_owned(), declared(value_type, None))
}

fn optional(name: &str, default: Value) -> (String, Declared) {
    let value_type = default.value_type().unwrap_or(ValueType::Text);
    (name.to_owned(), declared(value_type, Some(default)))
}

/// Returns an input that may contain secrets, as in a `script:`.
fn secret(name: &str) -> (String, Declared) {
    let declared = Declared {
        is_sensitive: true,
        ..declared(ValueType::Text, None)
    };
    (name.to_owned(), declared)
}

impl Engine<'_> {
    /// Runs a function of the service itself.
    pub(super) async fn builtin(
        &mut self,
        builtin: Builtin,
        inputs: Values,
        layers: &Env,
        exchange: &Exchange,
        result: &mut StepResult,
    ) -> Result<Values, Failure> {
        let function = builtin.described();
        result.spec_definition = Some(step_result::described(&function));
        let names: Vec<_> = inputs.keys().cloned().collect();
        let inputs = BuiltinInputs(bind_inputs(&function.inputs, inputs).map_err(step_failure)?);
        step_result::note_inputs(result, &names, &inputs.0);
        let outputs = match builtin {
            Builtin::Script => {
                return Box::pin(self.script(inputs.text("script"), layers, exchange, result))
                    .await;
            }
            Builtin::Build => self.build(&inputs, exchange).await?,
            Builtin::Publish => self.publish(&inputs, layers).await?,
            Builtin::Fetch => self.fetch(&inputs, layers).await?,
        };
        match &function.outputs {
            Outputs::Declared(declared) => bind_outputs(declared, outputs).map_err(step_failure),
            Outputs::Delegated => Ok(outputs),
        }
    }

    async fn build(
        &mut self,
        inputs: &BuiltinInputs,
        exchange: &Exchange,
    ) -> Result<Values, Failure> {
        let image = Image::read(
            inputs.text("version"),
            &inputs.json("common"),
            &inputs.json("platforms"),
        );
        let image = image.map_err(|error| step_failure(chain(&error)))?;
        let sources = PathBuf::from(&self.request.work_dir);
        let archive = below(&sources, inputs.text("archive")).map_err(step_failure)?;
        let (scratch, target) = (exchange.directory().to_owned(), archive.clone());
        let cancellation = self.request.cancellation.clone();
        let built = tokio::task::spawn_blocking(move || {
            image::build(&image, &sources, &scratch, &target, &cancellation)
        });
        let built = built.await.map_err(|error| {
            let words = format!("the image was not built: {error}");
            Failure::new(ErrorKind::Internal, words)
        })?;
        if self.request.cancellation.is_canceled() {
            return Err(Failure::stopped(&self.request.cancellation));
        }
        let digest = built.map_err(|error| step_failure(chain(&error)))?;
        Ok(named([
            ("archive", Value::text(archive.display().to_string())),
            ("digest", Value::text(digest)),
        ]))
    }

    async fn publish(&mut self, inputs: &BuiltinInputs, layers: &Env) -> Result<Values, Failure> {
        let archive = Path::new(&self.request.work_dir).join(inputs.text("archive"));
        if !archive.is_file() {
            let archive = archive.display();
            return Err(step_failure(format!(
                "the archive {archive} does not exist; builtin://function/oci/build creates one"
            )));
        }
        let repository = inputs.text("to_repository").trim();
        let parts = repository.split_once('/');
        if parts.is_none_or(|(registry, image)| registry.is_empty() || image.is_empty()) {
            return Err(step_failure(
                "`to_repository`: expected REGISTRY/REPOSITORY",
            ));
        }
        let what = What::Publish(Publish {
            archive: archive.display().to_string(),
            to_repository: repository.to_owned(),
        });
        let granted = self.request.ask_host(what, self.docker_auth_config(layers));
        let HostAnswer::Published { digest, tags } = granted.await? else {
            return Err(step_failure("the image was fetched, not published"));
        };
        let reference = Value::text(format!("{repository}@{digest}"));
        let tags = tags.into_iter().map(Value::text).collect();
        Ok(named([
            ("digest", Value::text(digest)),
            ("ref", reference),
            ("tags", Value::array(tags)),
        ]))
    }

    async fn fetch(&mut self, inputs: &BuiltinInputs, layers: &Env) -> Result<Values, Failure> {
        let text = |name| inputs.text(name).trim().to_owned();
        let source = Source::Oci {
            registry: text("registry"),
            repository: text("repository"),
            tag: text("tag"),
            platform: platform(),
        };
        let reference = source.to_string();
        let tree = self.tree(source, layers).await?;
        let image = format!("{}/{}", text("registry"), text("repository"));
        let reference = match tree.identity.as_str() {
            "" => reference,
            digest => format!("{image}@{digest}"),
        };
        let directory = below(&tree.root, inputs.text("step_path")).map_err(step_failure)?;
        Ok(named([
            (
                "fetched_step_path",
                Value::text(directory.display().to_string()),
            ),
            ("ref", Value::text(reference)),
        ]))
    }
}

fn named<const N: usize>(values: [(&str, Value); N]) -> Values {
    values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The inputs of a function, by the declared types.
struct BuiltinInputs(Value);

impl BuiltinInputs {
    fn value(&self, name: &str) -> Option<&Value> {
        match &self.0.kind {
            Kind::Struct(values) => values.get(name),
            _ => None,
        }
    }

    fn json(&self, name: &str) -> serde_json::Value {
        self.value(name).map(Value::to_json).unwrap_or_default()
    }

    fn text(&self, name: &str) -> &str {
        match self.value(name).map(|value| &value.kind) {
            Some(Kind::Text(text)) => text,
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_generations_are_read() {
        let check = |name, expect: Result<Builtin, &str>| match (Builtin::named(name), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect),
            (Err(words), Err(expect)) => assert!(words.contains(expect), "{words}"),
            (found, expect) => panic!("{name}: {found:?}, not {expect:?}"),
        };
        check("script", Ok(Builtin::Script));
        check("function/oci/build", Ok(Builtin::Build));
        check("step/oci/fetch", Ok(Builtin::Fetch));
        check("concrete", Err("GitLab Runner's own helper"));
        check(
            "function/oci/buid",
            Err(
                "available are script, function/oci/build, function/oci/publish, function/oci/fetch",
            ),
        );
    }
}
