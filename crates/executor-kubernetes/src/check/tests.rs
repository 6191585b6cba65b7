use super::*;

#[test]
fn servers_without_sidecars_are_named() {
    let check = |minor: &str, git_version: &str, is_new: bool| {
        let version = Info {
            major: "1".to_owned(),
            minor: minor.to_owned(),
            git_version: git_version.to_owned(),
            ..Info::default()
        };
        let verdict = version_verdict(&version);
        assert_eq!(matches!(verdict, Verdict::Passed(_)), is_new, "{minor}");
    };
    check("28", "v1.28.9", false);
    check("28+", "v1.28.9-eks-1", false);
    check("29", "v1.29.0", true);
    check("35", "v1.35.0", true);
}

#[tokio::test]
async fn without_a_cluster_the_rest_is_skipped() {
    let config = KubernetesConfig {
        kubeconfig: Some("/does/not/exist".into()),
        ..KubernetesConfig::default()
    };
    let seen = std::cell::Cell::new(0);
    let report = check(&config, &Cancellation::new(), |_| seen.set(seen.get() + 1)).await;
    assert_eq!(report.checks.len(), 10);
    assert_eq!(seen.get(), 10);
    assert!(!report.is_passed() && report.role.is_none());
    let skipped = report
        .checks
        .iter()
        .filter(|it| matches!(it.verdict, Verdict::Skipped(_)));
    assert_eq!(skipped.count(), 9);
}
