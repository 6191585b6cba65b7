//! `runwright kubernetes check`: whether jobs can run in a cluster.

use super::kubernetes_config::kubernetes_config;
use super::stdout::print;
use crate::args::{DockerArgs, KubernetesAction, KubernetesArgs, KubernetesCheckArgs};
use crate::failure::{Exit, Failure};
use crate::runtime;
use anyhow::Context;
use console::terminal::Signals;
use console::{Style, Tone, error_line, strip_controls};
use executor_core::Cancellation;
use executor_kubernetes::{Check, Report, Verdict};
use workstation::{LocalError, Settings, StateDir};

/// Runs the requested subcommand for clusters.
pub(crate) fn kubernetes(args: &KubernetesArgs) -> Result<Exit, Failure> {
    match &args.action {
        KubernetesAction::Check(args) => check(args),
    }
}

fn check(args: &KubernetesCheckArgs) -> Result<Exit, Failure> {
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let settings = Settings::read(state.path(), std::env::home_dir().as_deref());
    let settings = settings.map_err(LocalError::from)?;
    let options = DockerArgs {
        context: args.context.clone(),
        namespace: args.namespace.clone(),
        image: args.image.clone(),
        pull_policy: args.pull_policy.clone(),
        ..DockerArgs::default()
    };
    let config = kubernetes_config(&settings, &options)?;
    let style = Style::of_stdout();
    let report = runtime::start()?.block_on(async {
        let mut signals = Signals::listen()
            .context("listen to signals")
            .map_err(Failure::environment)?;
        let stop = Cancellation::new();
        let checking = executor_kubernetes::check(&config, &stop, |check| {
            // A reader that is gone is noticed with the summary.
            let _ = print(line(check, style));
        });
        let report = tokio::select! {
            report = checking => Some(report),
            () = signals.drive(&stop, |count| {
                if count == 1 {
                    error_line("stopping the check; Ctrl-C again stops now");
                }
            }) => None,
            _ = stop.aborted() => {
                error_line("the pod of the check may remain; it ends by itself, and a later run deletes it");
                None
            }
        };
        report
            .filter(|_| !stop.is_canceled())
            .ok_or_else(Failure::interrupted)
    })?;
    print(ending(&report))?;
    Ok(if report.is_passed() {
        Exit::Success
    } else {
        Exit::JobFailed
    })
}

fn line(check: &Check, style: Style) -> String {
    let name = check.name;
    // Messages of Kubernetes may have several lines.
    let shown = |text: &str| {
        let lines: Vec<_> = text.lines().map(strip_controls).collect();
        lines.join("\n         ")
    };
    let advice = |help: &Option<String>| {
        help.as_ref().map_or(String::new(), |help| {
            format!("         help: {}\n", shown(help))
        })
    };
    match &check.verdict {
        Verdict::Passed(found) => {
            let ok = style.paint(Tone::Good, "ok");
            format!("{ok}       {name}: {}\n", shown(found))
        }
        Verdict::Skipped(reason) => format!("skipped  {name}: {}\n", shown(reason)),
        Verdict::Warned { found, help } => {
            let warning = style.paint(Tone::Warning, "warning");
            format!("{warning}  {name}: {}\n{}", shown(found), advice(help))
        }
        Verdict::Failed { found, help } => {
            let failed = style.paint(Tone::Bad, "FAILED");
            format!("{failed}   {name}: {}\n{}", shown(found), advice(help))
        }
    }
}

/// Returns the last lines of the report: the numbers, and the role if there is one.
fn ending(report: &Report) -> String {
    let count = |is: fn(&Verdict) -> bool| {
        let checks = report.checks.iter();
        checks.filter(|check| is(&check.verdict)).count()
    };
    let failed = count(|it| matches!(it, Verdict::Failed { .. }));
    let skipped = count(|it| matches!(it, Verdict::Skipped(_)));
    let warned = count(|it| matches!(it, Verdict::Warned { .. }));
    let ok = report.checks.len() - failed - skipped - warned;
    let warnings = match warned {
        0 => String::new(),
        1 => "1 warning, ".to_owned(),
        warned => format!("{warned} warnings, "),
    };
    let role = report.role.as_ref().map_or(String::new(), |role| {
        format!("\nAll that jobs need, for `kubectl apply -f -` by an administrator of the cluster:\n\n{role}")
    });
    format!("\n{ok} ok, {warnings}{failed} failed, {skipped} skipped\n{role}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_shown_with_what_to_do() {
        let check = |verdict| Check {
            name: "quotas",
            verdict,
        };
        let failed = check(Verdict::Failed {
            found: "exceeded quota:\nq\x1b[2J".to_owned(),
            help: Some("raise it".to_owned()),
        });
        let shown = line(&failed, Style::PLAIN);
        assert_eq!(
            shown,
            "FAILED   quotas: exceeded quota:\n         q\n         help: raise it\n"
        );
        let report = Report {
            checks: vec![failed, check(Verdict::Passed("none".to_owned()))],
            role: Some("kind: Role\n".to_owned()),
        };
        let warned = Verdict::Warned {
            found: "exceeded quota".to_owned(),
            help: None,
        };
        let text = line(&check(warned.clone()), Style::PLAIN);
        assert_eq!(text, "warning  quotas: exceeded quota\n");
        let busy = Report {
            checks: vec![check(warned)],
            role: None,
        };
        assert!(busy.is_passed());
        assert_eq!(ending(&busy), "\n0 ok, 1 warning, 0 failed, 0 skipped\n");
        let text = ending(&report);
        assert!(text.starts_with("\n1 ok, 1 failed, 0 skipped\n"), "{text}");
        assert!(text.ends_with("\n\nkind: Role\n"), "{text}");
    }
}
