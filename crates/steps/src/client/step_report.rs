use super::call::{Attempts, Failure};
use super::link::Link;
use super::run_status::RunId;
use crate::language;
use crate::wire::v1::{self, step_result::Status};
use prost_types::value::Kind;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::time::timeout;

/// Receives the result of each outermost step, after all have ended.
pub type StepReports = Arc<dyn Fn(StepReport) + Send + Sync>;

/// The result of a step, without secrets.
///
/// Its JSON form is the step-runner's `StepResult`, which a function with delegated outputs may write to its output file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepReport {
    /// The step, with its expressions evaluated.
    pub step: StepInvocation,
    /// The final state.
    pub status: StepState,
    /// The outputs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Value>,
    /// The exports to later steps.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub exports: BTreeMap<String, String>,
    /// The variables that were set for it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its process, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec_result: Option<StepProcess>,
    /// The results of its own steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sub_step_results: Vec<StepReport>,
}

/// The call of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct StepInvocation {
    /// The name of the step.
    pub name: String,
    /// The variables of the call.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The inputs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Value>,
}

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It did not finish, for an unknown reason.
    Unspecified,
    /// It runs.
    Running,
    /// It succeeded.
    Success,
    /// It failed.
    Failure,
    /// It was stopped.
    Cancelled,
}

/// A process of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepProcess {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working directory.
    pub work_dir: String,
    /// The exit code.
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

/// Reports the results of the steps of a finished request. Results that cannot be fetched are skipped.
pub(crate) async fn report(link: &Link, id: &RunId, reports: &StepReports) {
    let limit = link.options().call_timeout;
    match timeout(limit, report_all(link, id, reports)).await {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => {
            tracing::debug!(id = %id, ?failure, "Could not fetch the results of steps.");
        }
        Err(_) => tracing::debug!(id = %id, "Could not fetch the results of steps in time."),
    }
}

async fn report_all(link: &Link, id: &RunId, reports: &StepReports) -> Result<(), Failure> {
    let request = v1::FollowStepsRequest {
        id: id.as_str().to_owned(),
    };
    let mut service = link.service();
    let mut answers = Attempts::new(link)
        .once(service.follow_steps(request))
        .await?;
    while let Some(answer) = answers.message().await? {
        // A fast sender must not starve other tasks.
        tokio::task::consume_budget().await;
        let report = StepReport::from(answer.result.unwrap_or_default());
        if report.status != StepState::Running {
            reports(report);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost_types::{ListValue, Value as Wire};

    #[test]
    fn json_form_is_a_step_result() {
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
