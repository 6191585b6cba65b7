//! `Debug` of the messages that hold secrets: names, never values.

use std::collections::BTreeMap;
use std::fmt;

use crate::wire::{upstream, v1};

fn keys(map: &BTreeMap<String, String>) -> Vec<&String> {
    map.keys().collect()
}

impl fmt::Debug for v1::Variable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Variable")
            .field("key", &self.key)
            .field("file", &self.file)
            .field("masked", &self.masked)
            .field("raw", &self.raw)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for v1::Masking {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Masking")
            .field("phrases", &format_args!("[{}]", self.phrases.len()))
            .field("token_prefixes", &self.token_prefixes)
            .finish()
    }
}

impl fmt::Debug for v1::RunRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RunRequest")
            .field("id", &self.id)
            .field("work_dir", &self.work_dir)
            .field("env", &keys(&self.env))
            .field("masking", &self.masking)
            .field("job", &self.job)
            .field("steps", &format_args!("[{} bytes]", self.steps.len()))
            .field("timing", &self.timing)
            .field("temp_dir", &self.temp_dir)
            .field("shell", &self.shell)
            .field("quiet", &self.quiet)
            .field("instance", &self.instance)
            .field("verbatim", &self.verbatim)
            .finish()
    }
}

impl fmt::Debug for v1::StepResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.step.as_ref().map(|step| &step.name);
        formatter
            .debug_struct("StepResult")
            .field("step", &name)
            .field("status", &self.status())
            .field("env", &keys(&self.env))
            .field("exec_result", &self.exec_result)
            .field("sub_step_results", &self.sub_step_results)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for v1::Wish {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Wish")
            .field("number", &self.number)
            .field("what", &self.what)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for v1::wish::What {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git(git) => git.fmt(formatter),
            Self::Oci(oci) => oci.fmt(formatter),
            Self::Publish(publish) => publish.fmt(formatter),
        }
    }
}

impl fmt::Debug for v1::wish::Git {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Git")
            .field("url", &crate::language::shown_url(&self.url))
            .field("rev", &self.rev)
            .finish()
    }
}

impl fmt::Debug for upstream::Variable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Variable")
            .field("key", &self.key)
            .field("file", &self.file)
            .field("masked", &self.masked)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for upstream::RunRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RunRequest")
            .field("id", &self.id)
            .field("work_dir", &self.work_dir)
            .field("env", &keys(&self.env))
            .field("job", &self.job)
            .field("steps", &format_args!("[{} bytes]", self.steps.len()))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_shown() {
        let variable = v1::Variable {
            key: "TOKEN".to_owned(),
            value: "hunter2".to_owned(),
            ..v1::Variable::default()
        };
        let request = v1::RunRequest {
            env: [("PASSWORD".to_owned(), "hunter2".to_owned())].into(),
            masking: Some(v1::Masking {
                phrases: vec!["hunter2".to_owned()],
                ..v1::Masking::default()
            }),
            job: Some(v1::Job {
                variables: vec![variable],
                ..v1::Job::default()
            }),
            steps: "echo hunter2".to_owned(),
            ..v1::RunRequest::default()
        };
        let wish = v1::Wish {
            what: Some(v1::wish::What::Git(v1::wish::Git {
                url: "https://me:hunter2@example.com/a".to_owned(),
                rev: "v1".to_owned(),
            })),
            docker_auth_config: "hunter2".to_owned(),
            ..v1::Wish::default()
        };
        let text = format!("{request:?} {wish:?}");
        assert!(
            text.contains("TOKEN")
                && text.contains("PASSWORD")
                && text.contains("example.com")
                && !text.contains("hunter2"),
            "{text}"
        );
    }
}
