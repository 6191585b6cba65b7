use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

/// Arguments of `runwright kubernetes`.
#[derive(Debug, Args)]
pub(crate) struct KubernetesArgs {
    /// What to do with a cluster.
    #[command(subcommand)]
    pub(crate) action: KubernetesAction,
}

/// What can be done with a cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum KubernetesAction {
    /// Check whether jobs can run in a cluster, and print the permissions that are missing
    Check(KubernetesCheckArgs),
}

/// Arguments of `runwright kubernetes check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright kubernetes check                     the cluster of kubectl
  runwright kubernetes check --context staging   another cluster
  runwright kubernetes check --namespace ci      another namespace
  runwright kubernetes check --image alpine:3    also with a job in a pod

Checks the login, the version of the server, permissions, what may refuse a pod, and last a job in a pod, which is \
deleted in any case. Without an image no pod is created. When permissions are missing, the last lines are a role for \
`kubectl apply -f -`.

A quota that other pods use up now is a warning.

Exit codes: 0 no check failed; 1 a check failed; 2 usage or settings; 3 environment; 130 stopped by a signal")]
pub(crate) struct KubernetesCheckArgs {
    /// The context of the kubeconfig file; without it that of your settings, else the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The namespace of the pods; without it that of your settings, else that of the context
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// The image of the job in a pod; without it that of your settings
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// When to pull the image, in the order to try: always, if-not-present, never
    #[arg(long, hide_possible_values = true, value_name = "WHEN,...", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(["always", "if-not-present", "never"]))]
    pub(crate) pull_policy: Vec<String>,
}
