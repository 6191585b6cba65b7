use crate::language;
use crate::wire::v1::{self, step_result::Status};
use prost_types::value::Kind;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Takes what became of each of the outermost steps of a request, once all have ended.
pub type StepReports = Arc<dyn Fn(StepReport) + Send + Sync>;

/// What became of a step. Secrets are not in it.
///
/// As JSON it is the step-runner's `StepResult`, which a function that delegates its outputs may write to its output file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepReport {
    /// The step as it was called, with its expressions expanded.
    pub step: StepInvocation,
    /// How it ended.
    pub status: StepState,
    /// What it gave.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Value>,
    /// What it exported to all steps after it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub exports: BTreeMap<String, String>,
    /// The variables that were set for it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its process, if it had one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec_result: Option<StepProcess>,
    /// Its own steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sub_step_results: Vec<StepReport>,
}

/// How a step was called.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct StepInvocation {
    /// Its name.
    pub name: String,
    /// The variables it was called with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// What it was given.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Value>,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It did not run to its end, and nobody knows why.
    Unspecified,
    /// It has not ended.
    Running,
    /// It did what it is for.
    Success,
    /// It did not.
    Failure,
    /// Somebody stopped it.
    Cancelled,
}

/// A process of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepProcess {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it ran.
    pub work_dir: String,
    /// How it ended.
    pub exit_code: i32,
}

impl From<v1::StepResult> for StepReport {
    fn from(result: v1::StepResult) -> Self {
        let status = match result.status() {
            Status::Unspecified => StepState::Unspecified,
            Status::Running => StepState::Running,
            Status::Success => StepState::Success,
            Status::Failure => StepState::Failure,
            Status::Cancelled => StepState::Cancelled,
        };
        let step = result.step.unwrap_or_default();
        Self {
            step: StepInvocation {
                name: step.name,
                env: step.env.into_iter().collect(),
                inputs: values(step.inputs),
            },
            status,
            outputs: values(result.outputs),
            exports: result.exports.into_iter().collect(),
            env: result.env.into_iter().collect(),
            exec_result: result.exec_result.map(|exec| StepProcess {
                command: exec.command,
                work_dir: exec.work_dir,
                exit_code: exec.exit_code,
            }),
            sub_step_results: result
                .sub_step_results
                .into_iter()
                .map(Self::from)
                .collect(),
        }
    }
}

fn values(of: BTreeMap<String, prost_types::Value>) -> BTreeMap<String, Value> {
    of.into_iter().map(|(name, it)| (name, value(it))).collect()
}

fn value(of: prost_types::Value) -> Value {
    match of.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(boolean)) => Value::Bool(boolean),
        Some(Kind::NumberValue(number)) => language::Value::number(number).to_json(),
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::ListValue(list)) => Value::Array(list.values.into_iter().map(value).collect()),
        Some(Kind::StructValue(fields)) => {
            let fields = fields.fields.into_iter();
            Value::Object(
                fields
                    .map(|(name, it)| (name, value(it)))
                    .collect::<Map<_, _>>(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost_types::{ListValue, Value as Wire};

    #[test]
    fn as_json_it_is_the_result_of_a_step() {
        let wire = |kind| Wire { kind: Some(kind) };
        let list = ListValue {
            values: vec![wire(Kind::NumberValue(1.0)), wire(Kind::NumberValue(0.5))],
        };
        let inner = v1::StepResult {
            status: Status::Failure.into(),
            exec_result: Some(v1::step_result::ExecResult {
                command: vec!["false".to_owned()],
                work_dir: "/w".to_owned(),
                exit_code: 1,
            }),
            ..v1::StepResult::default()
        };
        let outer = v1::StepResult {
            step: Some(v1::Step {
                name: "a".to_owned(),
                inputs: BTreeMap::from([(
                    "who".to_owned(),
                    wire(Kind::StringValue("me".to_owned())),
                )]),
                ..v1::Step::default()
            }),
            status: Status::Success.into(),
            outputs: BTreeMap::from([("list".to_owned(), wire(Kind::ListValue(list)))]),
            sub_step_results: vec![inner],
            ..v1::StepResult::default()
        };
        let json = serde_json::to_value(StepReport::from(outer)).unwrap();
        let expect = serde_json::json!({
            "step": {"name": "a", "inputs": {"who": "me"}},
            "status": "success",
            "outputs": {"list": [1, 0.5]},
            "subStepResults": [{
                "step": {"name": ""},
                "status": "failure",
                "execResult": {"command": ["false"], "workDir": "/w", "exitCode": 1},
            }],
        });
        assert_eq!(json, expect);
    }
}
