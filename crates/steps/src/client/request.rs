use super::run_spec::{RunSpec, RunSteps, RunTiming, ScriptStep};
use crate::wire::v1;
use serde::Serialize;
use std::time::Duration;

#[derive(Serialize)]
struct Step<'a> {
    name: &'a str,
    script: &'a str,
}

/// Returns the message for a request.
///
/// Variables are those of the job, and `env` is empty, as in GitLab Runner.
pub(crate) fn request(run: &RunSpec) -> v1::RunRequest {
    let variables = &run.variables;
    let are_scripts = matches!(run.steps, RunSteps::Scripts(_));
    // The service reports steps, and masks them itself. The output of scripts is masked by the job's log.
    let is_secret = |key: &String| !are_scripts && variables.masked.contains(key);
    let environment = variables
        .environment
        .iter()
        .map(|(key, value)| v1::Variable {
            key: key.clone(),
            value: value.clone(),
            raw: true,
            masked: is_secret(key),
            ..v1::Variable::default()
        });
    let files = variables.files.iter().map(|file| {
        let (value, content) = match String::from_utf8(file.content.clone()) {
            Ok(text) => (text, Vec::new()),
            Err(bytes) => (String::new(), bytes.into_bytes()),
        };
        v1::Variable {
            key: file.key.clone(),
            value,
            content,
            file: true,
            raw: true,
            masked: is_secret(&file.key),
        }
    });
    v1::RunRequest {
        id: run.id.as_str().to_owned(),
        work_dir: run.working_dir.clone(),
        temp_dir: run.temp_dir.clone(),
        masking: (!run.masked.is_empty()).then(|| v1::Masking {
            phrases: run.masked.clone(),
            ..v1::Masking::default()
        }),
        job: Some(v1::Job {
            variables: environment.chain(files).collect(),
            ..v1::Job::default()
        }),
        steps: match &run.steps {
            RunSteps::Scripts(steps) => scripts(steps),
            RunSteps::Language(text) => text.clone(),
        },
        timing: Some(timing(run.timing)),
        shell: (!run.shell.is_empty()).then(|| v1::Shell {
            argv: run.shell.clone(),
        }),
        // The log of scripts has no other lines, as in every executor.
        quiet: are_scripts,
        verbatim: are_scripts,
        ..v1::RunRequest::default()
    }
}

fn scripts(steps: &[ScriptStep]) -> String {
    let steps: Vec<_> = steps
        .iter()
        .map(|ScriptStep { name, script }| Step { name, script })
        .collect();
    serde_json::to_string(&steps).expect("two strings are always JSON")
}

/// On the wire 0 means the default of the service, so anything shorter than a millisecond becomes one.
fn timing(timing: RunTiming) -> v1::Timing {
    let at_least_one = |time| milliseconds(time).max(1);
    v1::Timing {
        terminate_grace_ms: at_least_one(timing.terminate_grace),
        pipe_grace_ms: at_least_one(timing.pipe_grace),
        timeout_ms: timing.timeout.map_or(0, at_least_one),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::RunId;
    use executor_core::FileVariable;
    use executor_core::StageVariables;
    use std::sync::Arc;

    #[test]
    fn request_carries_variables_in_its_job() {
        // R-STEP-25, R-STEP-31
        let mut run = RunSpec::script(RunId::new("7"), "echo \"$A\"\n");
        let file = |key: &str, content: &[u8]| FileVariable {
            key: key.to_owned(),
            content: content.to_vec(),
        };
        run.variables = Arc::new(StageVariables {
            environment: vec![("A".to_owned(), "$B".to_owned())],
            files: vec![file("TEXT", b"t"), file("BYTES", b"\xff")],
            ..StageVariables::default()
        });
        let request = request(&run);
        assert!(request.env.is_empty());
        assert_eq!(
            request.steps,
            r#"[{"name":"script","script":"echo \"$A\"\n"}]"#
        );
        let job = request.job.unwrap();
        let variables: Vec<_> = job
            .variables
            .iter()
            .map(|v| (&*v.key, &*v.value, &*v.content, v.file, v.raw))
            .collect();
        assert_eq!(
            variables,
            [
                ("A", "$B", &b""[..], false, true),
                ("TEXT", "t", b"", true, true),
                ("BYTES", "", b"\xff", true, true),
            ]
        );
    }

    #[test]
    fn job_masks_apply_to_step_results() {
        let mut run = RunSpec::script(RunId::new("7"), "echo");
        let pair = |key: &str| (key.to_owned(), "tiger".to_owned());
        run.variables = Arc::new(StageVariables {
            environment: vec![pair("PLAIN"), pair("TOKEN")],
            masked: vec!["TOKEN".to_owned()],
            ..StageVariables::default()
        });
        let masked = |run: &RunSpec| {
            let variables = request(run).job.unwrap().variables.into_iter();
            variables.map(|it| it.masked).collect::<Vec<_>>()
        };
        assert_eq!(masked(&run), [false, false]);
        run.steps = RunSteps::Language("[]".to_owned());
        assert_eq!(masked(&run), [false, true]);
    }

    #[test]
    fn zero_time_means_the_default_of_the_service() {
        let sent = timing(RunTiming {
            terminate_grace: Duration::ZERO,
            pipe_grace: Duration::from_micros(1),
            timeout: None,
        });
        assert_eq!(
            (sent.terminate_grace_ms, sent.pipe_grace_ms, sent.timeout_ms),
            (1, 1, 0)
        );
    }
}
