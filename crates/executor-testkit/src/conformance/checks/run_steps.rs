//! Checks of jobs with steps (`run`): functions, outputs and log.

use crate::builder::CommandBuilder;
use crate::conformance::check::{Outcome, ensure, failed, skipped};
use crate::conformance::checks::stop::expect_canceled;
use crate::conformance::session::Session;
use crate::conformance::suite::Suite;
use executor_core::{
    BuildError, BuildStage, CancelCause, Cancellation, ExitCode, StageResult, TraceStream,
};
use std::sync::Arc;
use std::time::Duration;

/// The script that creates the steps' functions in the project's directory.
const FUNCTIONS: &str = r#"
mkdir -p lib/greet lib/outer lib/secret
cat >lib/greet/func.yml <<'END'
spec:
  inputs:
    who: {type: string}
    times: {type: number, default: 1}
  outputs:
    text: {type: string}
    data: {type: struct, default: {a: [1, true]}}
---
exec:
  command:
    - sh
    - -c
    - echo "hello $1 x$2"; echo "{\"name\":\"text\",\"value\":\"<$1>\"}" >>"$3"
    - sh
    - ${{ inputs.who }}
    - ${{ inputs.times }}
    - ${{ output_file }}
END
cat >lib/outer/func.yml <<'END'
spec: {inputs: {who: {type: string}}, outputs: delegate}
---
run:
  - {name: inner, func: ../greet, inputs: {who: "${{ inputs.who }} and all"}}
  - {name: export, script: "echo '{\"name\":\"FROM\",\"value\":\"within\"}' >>${{ export_file }}"}
delegate: inner
END
cat >lib/secret/func.yml <<'END'
spec: {outputs: {token: {type: string, sensitive: true}}}
---
exec: {command: [sh, -c, 'echo "{\"name\":\"token\",\"value\":\"tiger-tiger\"}" >>"$1"', sh, "${{ output_file }}"]}
END
"#;

/// The steps, their exit code and their output; `@` is the project's directory.
const STEPS: [(&str, i32, &str); 5] = [
    (
        r#"
- {name: relative, func: ./lib/greet, inputs: {who: "${{ vars.WHO }}", times: 2}}
- {name: absolute, func: "@/lib/greet", inputs: {who: Bob}}
- name: outputs
  script: echo "$TEXT $DATA"
  env:
    TEXT: ${{ steps.relative.outputs.text + steps.absolute.outputs.text }}
    DATA: ${{ steps.relative.outputs.data }}
"#,
        0,
        "hello Sally x2\nhello Bob x1\n<Sally><Bob> {\"a\":[1,true]}\n",
    ),
    (
        r#"
- {name: dynamic, func: "${{ vars.WHERE }}", inputs: {who: you}}
- {name: nested, script: 'echo "$TEXT $FROM"', env: {TEXT: "${{ steps.dynamic.outputs.text }}"}}
"#,
        0,
        "hello you and all x1\n<you and all> within\n",
    ),
    (
        r#"
- {name: a, script: "echo '{\"name\":\"A\",\"value\":\"export\"}' >>${{ export_file }}"}
- {name: b, script: 'echo "$A $B $WHO $PWD"', env: {B: call, A: call}}
- {name: c, script: 'echo "$A ${B-none}"'}
"#,
        0,
        "call call Sally @\nexport none\n",
    ),
    (
        r"
- {name: a, func: ./lib/secret}
- {name: b, script: 'echo out; exit 7'}
- {name: c, script: echo never}
",
        7,
        "out\n",
    ),
    (
        r"
- {name: a, func: ./lib/greet, inputs: {whom: x}}
- {name: b, script: echo never}
",
        1,
        "ERROR: step \"a\": it has no input \"whom\"; declared are times, who\n",
    ),
];

/// Steps run as defined, and stopped steps leave no processes.
pub(in super::super) async fn run_steps(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let probe = steps(&session, "- {name: a, script: 'true'}").build();
        if let Err(BuildError::Config { message, .. }) =
            session.attempt(probe, &Cancellation::new()).await?
        {
            return skipped(format!("the executor runs no steps: {message}"));
        }
        session.expect(FUNCTIONS, "").await?;
        for (text, code, expect) in STEPS {
            check(&mut session, text, ExitCode(code), expect).await?;
        }
        stopped(&mut session).await
    };
    let outcome = outcome.await;
    let left = session.end_and_look(outcome).await?;
    ensure!(left.is_empty(), "resources of its steps remain: {left:?}");
    Ok(())
}

fn steps(session: &Session, text: &str) -> CommandBuilder {
    let project_dir = &session.dirs().project_dir;
    session
        .command(text.replace('@', project_dir))
        .stage(BuildStage::StepRun)
        .variable("WHO", "Sally")
        .variable("WHERE", "./lib/outer")
}

async fn check(session: &mut Session, text: &str, code: ExitCode, expect: &str) -> Outcome {
    session.trace.clear();
    let result = session.run(steps(session, text)).await?;
    let expect = expect.replace('@', &session.dirs().project_dir);
    let printed = session.trace.text(TraceStream::STDOUT);
    // The service prints the name of each step in between.
    let mut of_steps = String::new();
    for line in printed.split_inclusive('\n') {
        if !line.starts_with("Running step ") {
            of_steps.push_str(line);
        }
    }
    ensure!(
        of_steps == expect && result.status.exit_code() == code,
        "expected the steps{text}to print {expect:?} and end with {code}; they printed {of_steps:?} and {:?}, and ended with {}",
        session.trace.text(TraceStream::STDERR),
        result.status
    );
    Ok(())
}

async fn stopped(session: &mut Session) -> Outcome {
    let sleeping = "- {name: a, script: 'echo ready; sleep 300'}\n- {name: b, script: echo never}";
    let limit = Duration::from_secs(30);
    let command = steps(session, sleeping);
    let stop = |cancellation: &Cancellation| {
        cancellation.cancel(CancelCause::User);
    };
    let ended: Result<StageResult, BuildError> = session.stop(command, stop, limit).await?;
    expect_canceled(ended, CancelCause::User)?;
    if session.trace.text(TraceStream::STDOUT).contains("never") {
        return failed("a step ran after the stop");
    }
    Ok(())
}
