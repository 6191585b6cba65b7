use executor_core::prelude::*;
use executor_shell::{NAME, ShellConfig, provider};

#[test]
fn abilities_are_few_and_exact() {
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
    assert_eq!(provider.default_shell(), Some(Dialect::platform_default()));
    provider.can_create().unwrap();
}

#[test]
fn the_shell_is_the_platforms_and_one_of_a_login() {
    // R-EXEC-45
    let login = provider(ShellConfig::default())
        .create(&ExecutorData::new())
        .unwrap();
    assert_eq!(login.shell().dialect, Dialect::platform_default());
    assert_eq!(login.shell().kind, ShellKind::Login);

    let config = ShellConfig {
        login: false,
        ..ShellConfig::default()
    };
    let plain = provider(config).create(&ExecutorData::new()).unwrap();
    assert_eq!(plain.shell().kind, ShellKind::Normal);
}
