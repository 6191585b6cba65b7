//! Which of several variables with one name a process gets.

use super::support::Served;
use std::fs;
use steps::wire::v1;

/// Cargo sets it for tests, so it is in the environment of the service: the name of this crate.
const NAME: &str = "CARGO_PKG_NAME";
const OF_SERVICE: &str = env!("CARGO_PKG_NAME");

/// Runs steps, optionally with a variable of the runner, and returns the log.
async fn log_of(served: &mut Served, steps: &str, of_runner: Option<&str>) -> String {
    let mut request = v1::RunRequest {
        steps: steps.to_owned(),
        ..served.request("1", "")
    };
    let of_runner = of_runner.map(|value| (NAME.to_owned(), value.to_owned()));
    request.env.extend(of_runner);
    let (log, _) = served.run(request).await;
    served.finish("1").await;
    log
}

async fn served() -> Served {
    let served = Served::with(|options| options.inherit = steps::Inherit::All).await;
    let write = |name: &str, text: &str| {
        fs::create_dir_all(served.path("work").join(name)).unwrap();
        fs::write(served.path("work").join(name).join("func.yml"), text).unwrap();
    };
    let shows = "exec: {command: [sh, -c, 'echo $CARGO_PKG_NAME ${{ env.CARGO_PKG_NAME }}']}\n";
    write("plain", &format!("spec:\n---\n{shows}"));
    let env = "env: {CARGO_PKG_NAME: definition}\n";
    write("defines", &format!("spec:\n---\n{env}{shows}"));
    let exports = "spec:\n---\nexec:\n  command: [sh, -c, 'echo \"{\\\"name\\\":\\\"CARGO_PKG_NAME\\\",\\\"value\\\":\\\"exported\\\"}\" >>\"$0\"', '${{ export_file }}']\n";
    write("exports", exports);
    write(
        "nested",
        "spec:\n---\nrun:\n- {name: inner, func: ../exports}\n- {name: after, func: ../plain}\n",
    );
    served
}

#[tokio::test]
async fn runner_variables_precede_the_service_environment() {
    let mut served = served().await;
    let steps = "[{name: a, func: ./plain}]";
    let log = log_of(&mut served, steps, None).await;
    assert_eq!(log, format!("{OF_SERVICE} {OF_SERVICE}\n"));
    let log = log_of(&mut served, steps, Some("runner")).await;
    assert_eq!(log, "runner runner\n");
    served.stop().await;
}

#[tokio::test]
async fn step_env_precedes_exports_and_exports_precede_the_rest() {
    let mut served = served().await;
    let steps = "- {name: a, func: ./exports}\n- {name: b, func: ./plain}\n- {name: c, func: ./plain, env: {CARGO_PKG_NAME: invocation}}\n- {name: d, func: ./plain}\n";
    let expect = "exported exported\ninvocation invocation\nexported exported\n";
    for of_runner in [None, Some("runner")] {
        let log = log_of(&mut served, steps, of_runner).await;
        assert_eq!(log, expect, "{of_runner:?}");
    }
    served.stop().await;
}

#[tokio::test]
async fn function_env_precedes_all_else() {
    let mut served = served().await;
    let steps = "- {name: a, func: ./exports}\n- {name: b, func: ./defines, env: {CARGO_PKG_NAME: invocation}}\n";
    let log = log_of(&mut served, steps, Some("runner")).await;
    assert_eq!(log, "definition definition\n");
    served.stop().await;
}

#[tokio::test]
async fn inner_exports_are_visible_to_outer_steps() {
    let mut served = served().await;
    let steps = "- {name: a, func: ./plain}\n- {name: b, func: ./nested}\n- {name: c, func: ./plain}\n- {name: d, script: 'echo $CARGO_PKG_NAME'}\n";
    let log = log_of(&mut served, steps, Some("runner")).await;
    assert_eq!(
        log,
        "runner runner\nexported exported\nexported exported\nexported\n"
    );
    served.stop().await;
}
