use crate::support::{Fixture, config};
use executor_core::prelude::*;
use executor_shell::{NAME, ShellConfig, provider};

#[test]
fn features_and_abilities_are_exact() {
    // R-EXEC-44
    let provider = provider(ShellConfig::default());
    let mut features = FeaturesInfo::default();
    provider.features(&mut features).unwrap();
    let expect: &[&str] = if cfg!(windows) {
        &["variables", "shared"]
    } else {
        &["variables", "shared", "session", "terminal"]
    };
    assert_eq!(features.names(), expect);

    let mut info = ConfigInfo::default();
    provider.config_info(&RunnerConfig::new("r", NAME), &mut info);
    assert_eq!(info, ConfigInfo::default());
    assert_eq!(
        provider.default_shell(),
        Some(ShellDialect::platform_default())
    );
    provider.can_create().unwrap();
}

#[test]
fn default_shell_is_a_login_shell_of_the_platform() {
    // R-EXEC-45
    let login = provider(ShellConfig::default())
        .create(&ExecutorData::new())
        .unwrap();
    assert_eq!(login.shell().dialect, ShellDialect::platform_default());
    assert_eq!(login.shell().kind, ShellKind::Login);

    let config = ShellConfig {
        login: false,
        ..ShellConfig::default()
    };
    let plain = provider(config).create(&ExecutorData::new()).unwrap();
    assert_eq!(plain.shell().kind, ShellKind::Normal);
}

/// Marks a process whose `PATH` has no bash.
const ONLY_SH: &str = "SHELL_TEST_ONLY_SH";

#[tokio::test]
async fn sh_is_the_default_without_bash() {
    if std::env::var_os(ONLY_SH).is_some() {
        let provider = provider(config());
        assert_eq!(provider.default_shell(), Some(ShellDialect::Sh));
        let mut fixture = Fixture::new(config()).await;
        assert_eq!(fixture.environment.shell.dialect, ShellDialect::Sh);
        assert_eq!(fixture.output("echo ran").await, "ran\n");
        return;
    }
    let bin = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/sh", bin.path().join("sh")).unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "a runner with another PATH is another process"
    )]
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["provider::sh_is_the_default_without_bash", "--exact"])
        .env("PATH", bin.path())
        .env(ONLY_SH, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}
