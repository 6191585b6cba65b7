//! Builds the results of `FollowSteps`: a step as written, and as it ran. Declared secrets are left out here; whatever the
//! log masks is masked when a result is sent (`step_mask`).

use crate::language::expression::Template;
use crate::language::{
    Action, Argument, Call, Exec, File, Function, Kind, Outputs, Place, PlaceParts, Reference,
    Sequence, SourceParts, Target, Value, ValueType, shown_url,
};
use crate::service::state::Failure;
use crate::wire::v1;
use crate::wire::v1::spec::content;
use crate::wire::v1::step::reference::{PathParts, StepPath};
use crate::wire::v1::step_result::Status;
use crate::wire::v1::{
    Definition, DefinitionType, Spec, SpecDefinition, Step, StepReferenceProtocol, StepResult,
    definition, spec, step,
};
use prost_types::value::Kind as WireKind;
use std::collections::BTreeMap;

use super::frame::Env;

/// The replacement of a secret.
const MASK: &str = "[MASKED]";

/// Returns the result of a starting step, before anything in it is evaluated.
pub(super) fn called(call: &Call) -> StepResult {
    StepResult {
        step: Some(Step {
            name: call.name.clone(),
            step: reference(&call.target),
            ..Step::default()
        }),
        status: Status::Running.into(),
        ..StepResult::default()
    }
}

pub(super) fn note_env(result: &mut StepResult, env: &Env) {
    if let Some(step) = &mut result.step {
        let env = env.iter();
        step.env = env
            .map(|(name, value)| (name.clone(), text(value)))
            .collect();
    }
}

/// Records the value of a reference with expressions.
pub(super) fn note_place(result: &mut StepResult, place: &Place) {
    if let Some(step) = &mut result.step {
        step.step = Some(of_place(place));
    }
}

/// Records all variables of a step.
pub(super) fn note_whole_env<'a>(
    result: &mut StepResult,
    layers: impl IntoIterator<Item = &'a Env>,
) {
    for (name, value) in layers.into_iter().flatten() {
        result.env.insert(name.clone(), text(value));
    }
}

/// Records the inputs that were given, without defaults.
pub(super) fn note_inputs(result: &mut StepResult, given: &[String], inputs: &Value) {
    if let (Some(step), Kind::Struct(inputs)) = (&mut result.step, &inputs.kind) {
        step.inputs = shown_values(inputs);
        step.inputs.retain(|name, _| given.contains(name));
    }
}

/// Returns values for a message, without declared secrets.
pub(super) fn shown_values(
    values: &BTreeMap<String, Value>,
) -> BTreeMap<String, prost_types::Value> {
    let shown = values.iter().map(|(name, it)| (name.clone(), value(it)));
    shown.collect()
}

/// Returns the status of a failed step.
pub(super) fn status(failure: &Failure) -> Status {
    if failure.is_stop() {
        Status::Cancelled
    } else {
        Status::Failure
    }
}

/// Returns the text of a variable, masked if it is a secret.
fn text(value: &Value) -> String {
    if value.has_secrets() {
        MASK.to_owned()
    } else {
        value.to_text()
    }
}

/// Returns a value for a message, without declared secrets.
fn value(value: &Value) -> prost_types::Value {
    if value.is_sensitive {
        return wire(WireKind::StringValue(MASK.to_owned()));
    }
    wire(match &value.kind {
        Kind::Null => WireKind::NullValue(0),
        Kind::Boolean(boolean) => WireKind::BoolValue(*boolean),
        Kind::Number(number) => WireKind::NumberValue(*number),
        Kind::Text(text) => WireKind::StringValue(text.clone()),
        Kind::Array(values) => WireKind::ListValue(prost_types::ListValue {
            values: values.iter().map(self::value).collect(),
        }),
        Kind::Struct(values) => {
            let fields = values
                .iter()
                .map(|(name, it)| (name.clone(), self::value(it)));
            WireKind::StructValue(prost_types::Struct {
                fields: fields.collect(),
            })
        }
    })
}

const fn wire(kind: WireKind) -> prost_types::Value {
    prost_types::Value { kind: Some(kind) }
}

/// Returns an argument as written.
fn argument(of: &Argument) -> prost_types::Value {
    match of {
        Argument::Plain(plain) => value(plain),
        Argument::Text(template) => wire(WireKind::StringValue(template.source().to_owned())),
        Argument::Array(values) => wire(WireKind::ListValue(prost_types::ListValue {
            values: values.iter().map(argument).collect(),
        })),
        Argument::Struct(values) => {
            let fields = values.iter().map(|(name, it)| (name.clone(), argument(it)));
            wire(WireKind::StructValue(prost_types::Struct {
                fields: fields.collect(),
            }))
        }
    }
}

/// Returns a function as written.
pub(super) fn described(function: &Function) -> SpecDefinition {
    let inputs = function.inputs.iter().map(|(name, input)| {
        let described = content::Input {
            r#type: value_type(input.value_type).into(),
            default: input.default.as_ref().map(value),
            sensitive: input.is_sensitive,
        };
        (name.clone(), described)
    });
    let (outputs, method) = match &function.outputs {
        Outputs::Delegated => (BTreeMap::new(), spec::OutputMethod::Delegate),
        Outputs::Declared(outputs) => {
            let outputs = outputs.iter().map(|(name, output)| {
                let described = content::Output {
                    r#type: value_type(output.value_type).into(),
                    default: output.default.as_ref().map(value),
                    sensitive: output.is_sensitive,
                };
                (name.clone(), described)
            });
            (outputs.collect(), spec::OutputMethod::Outputs)
        }
    };
    let content = spec::Content {
        inputs: inputs.collect(),
        outputs,
        output_method: method.into(),
    };
    SpecDefinition {
        spec: Some(Spec {
            spec: Some(content),
        }),
        definition: Some(definition_of(function)),
    }
}

fn definition_of(function: &Function) -> Definition {
    let env = function.env.iter();
    let common = Definition {
        env: env
            .map(|(name, it)| (name.clone(), it.source().to_owned()))
            .collect(),
        ..Definition::default()
    };
    match &function.action {
        Action::Exec(exec) => Definition {
            r#type: DefinitionType::Exec.into(),
            exec: Some(exec_of(exec)),
            ..common
        },
        Action::Run(sequence) => Definition {
            r#type: DefinitionType::Steps.into(),
            ..sequence_of(sequence, common)
        },
    }
}

fn exec_of(exec: &Exec) -> definition::Exec {
    let words = exec.command.iter();
    definition::Exec {
        command: words.map(|word| word.source().to_owned()).collect(),
        work_dir: exec
            .work_dir
            .as_ref()
            .map_or_else(String::new, |it| it.source().to_owned()),
    }
}

fn sequence_of(sequence: &Sequence, common: Definition) -> Definition {
    let arguments = |of: &BTreeMap<String, Argument>| {
        let of = of.iter();
        of.map(|(name, it)| (name.clone(), argument(it))).collect()
    };
    let steps = sequence.steps.iter().map(|call| {
        let env = call.env.iter();
        Step {
            name: call.name.clone(),
            step: reference(&call.target),
            env: env
                .map(|(name, it)| (name.clone(), it.source().to_owned()))
                .collect(),
            inputs: arguments(&call.inputs),
        }
    });
    Definition {
        steps: steps.collect(),
        outputs: arguments(&sequence.outputs),
        delegate: sequence.delegate.clone().unwrap_or_default(),
        ..common
    }
}

const fn value_type(of: ValueType) -> v1::ValueType {
    match of {
        ValueType::Text => v1::ValueType::String,
        ValueType::Number => v1::ValueType::Number,
        ValueType::Boolean => v1::ValueType::Boolean,
        ValueType::Struct => v1::ValueType::Struct,
        ValueType::Array => v1::ValueType::Array,
    }
}

fn reference(target: &Target) -> Option<step::Reference> {
    Some(match target {
        Target::Script(_) => return None,
        Target::Function(Reference::Fixed(place)) => of_place(place),
        Target::Function(Reference::Parts(parts)) => of_parts(parts),
        Target::Function(Reference::Dynamic(template)) => step::Reference {
            protocol: StepReferenceProtocol::Dynamic.into(),
            url: template.source().to_owned(),
            ..step::Reference::default()
        },
    })
}

/// Returns a reference in parts, as written.
fn of_parts(parts: &PlaceParts) -> step::Reference {
    let source = |template: &Template| template.source().to_owned();
    let empty = step::Reference::default();
    let of_source = match &parts.source {
        SourceParts::Git { url, rev } => step::Reference {
            protocol: StepReferenceProtocol::Git.into(),
            url: shown_url(url.source()),
            version: source(rev),
            ..empty
        },
        SourceParts::Oci {
            registry,
            repository,
            tag,
        } => step::Reference {
            protocol: StepReferenceProtocol::Oci.into(),
            registry: source(registry),
            repository: source(repository),
            tag: source(tag),
            ..empty
        },
    };
    step::Reference {
        filename: parts.file.as_ref().map(source).unwrap_or_default(),
        step_path: parts.dir.as_ref().map(|it| StepPath::PathExp(source(it))),
        ..of_source
    }
}

fn of_place(place: &Place) -> step::Reference {
    let empty = step::Reference::default();
    let (protocol, reference, file) = match place {
        Place::Local(file) => (StepReferenceProtocol::Local, empty, Some(file)),
        Place::Git { url, rev, file } => {
            let reference = step::Reference {
                // The user part may contain a password.
                url: shown_url(url),
                version: rev.clone(),
                ..empty
            };
            (StepReferenceProtocol::Git, reference, Some(file))
        }
        Place::Oci {
            registry,
            repository,
            tag,
            file,
        } => {
            let reference = step::Reference {
                registry: registry.clone(),
                repository: repository.clone(),
                tag: tag.clone(),
                ..empty
            };
            (StepReferenceProtocol::Oci, reference, Some(file))
        }
        Place::Builtin(name) => {
            let reference = step::Reference {
                url: name.clone(),
                ..empty
            };
            (StepReferenceProtocol::Dist, reference, None)
        }
    };
    step::Reference {
        protocol: protocol.into(),
        filename: file.and_then(|file| file.name.clone()).unwrap_or_default(),
        step_path: file.map(path),
        ..reference
    }
}

fn path(file: &File) -> StepPath {
    let parts = file.directory.split('/').filter(|part| !part.is_empty());
    StepPath::Paths(PathParts {
        parts: parts.map(str::to_owned).collect(),
    })
}
