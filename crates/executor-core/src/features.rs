//! The features of a runner and its executor, as reported to GitLab.

use serde::{Deserialize, Serialize};

/// The features reported with API requests (`info.features`).
///
/// Each flag has GitLab's name. An executor sets only its own flags; the runner adds those of its
/// client and its shells with [`union`](Self::union).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "GitLab's API has one flag per ability"
)]
#[expect(missing_docs, reason = "the names are GitLab's, one per ability")]
pub struct FeaturesInfo {
    pub variables: bool,
    pub image: bool,
    pub services: bool,
    pub artifacts: bool,
    pub cache: bool,
    pub fallback_cache_keys: bool,
    pub shared: bool,
    pub upload_multiple_artifacts: bool,
    pub upload_raw_artifacts: bool,
    pub session: bool,
    pub terminal: bool,
    pub refspecs: bool,
    pub masking: bool,
    pub proxy: bool,
    pub raw_variables: bool,
    pub artifacts_exclude: bool,
    pub multi_build_steps: bool,
    pub trace_reset: bool,
    pub trace_checksum: bool,
    pub trace_size: bool,
    pub vault_secrets: bool,
    pub cancelable: bool,
    pub return_exit_code: bool,
    pub service_variables: bool,
    pub service_multiple_aliases: bool,
    pub image_executor_opts: bool,
    pub service_executor_opts: bool,
    pub cancel_gracefully: bool,
    pub native_steps_integration: bool,
    pub two_phase_job_commit: bool,
    pub job_inputs: bool,
}

macro_rules! each_flag {
    ($($flag:ident)*) => {
        impl FeaturesInfo {
            /// Returns the features that either side has.
            pub fn union(self, other: Self) -> Self {
                Self { $($flag: self.$flag || other.$flag),* }
            }

            /// Returns the features that both sides have.
            pub fn intersection(self, other: Self) -> Self {
                Self { $($flag: self.$flag && other.$flag),* }
            }

            /// Returns GitLab's names of the features that are set, in the API's order.
            pub fn names(self) -> Vec<&'static str> {
                let flags = [$((stringify!($flag), self.$flag)),*];
                flags.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
            }
        }
    };
}

each_flag! {
    variables image services artifacts cache fallback_cache_keys shared upload_multiple_artifacts
    upload_raw_artifacts session terminal refspecs masking proxy raw_variables artifacts_exclude
    multi_build_steps trace_reset trace_checksum trace_size vault_secrets cancelable
    return_exit_code service_variables service_multiple_aliases image_executor_opts
    service_executor_opts cancel_gracefully native_steps_integration two_phase_job_commit job_inputs
}

/// Details of an executor's configuration, as reported to GitLab (`info.config`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigInfo {
    /// The GPUs jobs may use, in the syntax of the docker command line; empty means none.
    pub gpus: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn union_and_intersection_combine_flags() {
        let shell = FeaturesInfo {
            variables: true,
            shared: true,
            ..FeaturesInfo::default()
        };
        let client = FeaturesInfo {
            trace_size: true,
            variables: true,
            ..FeaturesInfo::default()
        };
        assert_eq!(
            shell.union(client).names(),
            ["variables", "shared", "trace_size"]
        );
        assert_eq!(shell.intersection(client).names(), ["variables"]);
    }
}
