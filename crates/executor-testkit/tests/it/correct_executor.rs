//! An executor that keeps the contract passes the whole suite.

use crate::reference::ReferenceProvider;
use executor_core::ability::Connection;
use executor_core::prelude::*;
use executor_testkit::{
    Directive, ScriptedAbilities, ScriptedProvider, SuiteOptions, conformance, runner_config,
};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn a_correct_executor_passes_the_whole_suite() {
    // R-EXEC-05
    // R-EXEC-06
    // R-EXEC-08
    let _alone = crate::broken_executors::MEMORY.lock().await;
    let reference = ReferenceProvider::new();
    let mut config = runner_config("reference");
    config.graceful_kill_timeout = Duration::from_secs(2);
    let options = SuiteOptions::new(config).promptness(Duration::from_mins(1));
    let report = conformance(reference.build(None), options).await;
    println!("{report}");
    report.assert_passed();
    assert_eq!(
        report.skipped(),
        [
            "file_transfer",
            "sent_files_alone",
            "terminal",
            "steps",
            "run_steps",
            "resumable",
            "suspend"
        ]
    );
    let left: Vec<_> = std::fs::read_dir(reference.directory().join("builds"))
        .into_iter()
        .flatten()
        .flatten()
        .flat_map(|slot| std::fs::read_dir(slot.path().join("group")))
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_with_remote_files_passes_too() {
    let _alone = crate::broken_executors::MEMORY.lock().await;
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite().leftovers(reference.leftovers());
    let report = conformance(reference.build_remote(None), options).await;
    report.assert_passed();
    let skipped = report.skipped();
    assert!(
        skipped.contains(&"variables_stay_out_of_command_lines"),
        "it cannot be seen from here:\n{report}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_suite_calls_in_the_order_of_the_contract() {
    // R-EXEC-07
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::script(), Directive::exit(0).stdout("hello\n"));
    let options = SuiteOptions::new(runner_config("scripted")).only(["success"]);
    conformance(provider.shared(), options)
        .await
        .assert_part_passed();
    provider.assert_obeyed();
    assert_eq!(
        provider.timeline().lines(),
        [
            "provider.acquire",
            "provider.create(1)",
            "executor(1).shell",
            "executor(1).prepare",
            "executor(1).run(prepare_script)",
            "executor(1).run(step_script)",
            "executor(1).finish(success)",
            "executor(1).cleanup",
            "provider.release",
        ]
    );
}

/// A proxy whose ports close every connection at once.
#[derive(Debug)]
struct ClosingProxy;

#[async_trait]
impl PortProxy for ClosingProxy {
    async fn connect(
        &self,
        _service: &str,
        _port: u16,
        _cancellation: &Cancellation,
    ) -> Result<Box<dyn Connection>, BuildError> {
        let (ours, theirs) = tokio::io::duplex(64);
        drop(theirs);
        Ok(Box::new(ours))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reported_proxy_must_exist_and_an_existing_one_must_be_reported() {
    for (reported, there) in [(false, false), (true, true), (true, false), (false, true)] {
        let provider = ScriptedProvider::new();
        provider.set_features(FeaturesInfo {
            proxy: reported,
            ..FeaturesInfo::default()
        });
        provider.set_abilities(ScriptedAbilities {
            port_proxy: there.then(|| Arc::new(ClosingProxy) as Arc<dyn PortProxy>),
            ..ScriptedAbilities::default()
        });
        let options = SuiteOptions::new(runner_config("scripted"));
        let options = options.only(["features_match_abilities"]);
        let report = conformance(provider.shared(), options).await;
        assert_eq!(report.failed().is_empty(), reported == there, "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn required_checks_cannot_be_skipped() {
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite()
        .only(["exit_codes", "terminal"])
        .skip("exit_codes", "we would rather not")
        .skip("terminal", "we would rather not");
    let report = conformance(reference.build(None), options).await;
    assert_eq!(report.failed(), ["exit_codes"]);
    assert_eq!(report.skipped(), ["terminal"]);
}
