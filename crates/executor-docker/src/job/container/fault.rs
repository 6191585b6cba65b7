//! Explains the engine's messages when a container does not start.

use crate::error::DockerError;

/// The cause, as far as a message tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Platform,
    NoShell,
    EntryPoint,
    NoSource,
}

fn fault_of(words: &str) -> Option<Fault> {
    let has = |text: &str| words.contains(text);
    if has("exec format error") {
        return Some(Fault::Platform);
    }
    if has("bind source path does not exist") || has("no such file or directory: bind") {
        return Some(Fault::NoSource);
    }
    let missing = has("executable file not found") || has("no such file or directory");
    if missing && (has("exec: \"sh\"") || has("stat sh:")) {
        return Some(Fault::NoShell);
    }
    if missing && has("exec: ") {
        return Some(Fault::EntryPoint);
    }
    None
}

/// Returns whether the engine does not see a directory of this host.
pub(crate) fn is_no_source(error: &DockerError) -> bool {
    matches!(error, DockerError::Api { message, .. } if fault_of(message) == Some(Fault::NoSource))
}

/// Explains why a container of `image` does not start, when the image is the cause.
pub(crate) fn explain(image: &str, error: DockerError) -> DockerError {
    let DockerError::Api { message, .. } = &error else {
        return error;
    };
    match explanation(image, message) {
        Some(words) => DockerError::config(words),
        None => error,
    }
}

/// Explains why a container of `image` ended before it was ready, with its `output`.
pub(crate) fn ended_early(image: &str, code: i64, output: &str) -> DockerError {
    let text = explanation(image, output).unwrap_or_else(|| {
        format!(
            "the container of image {image} ended with exit code {code} before the job began; its \
             entry point must start the command that it is given (`exec \"$@\"`), or set \
             `image:entrypoint: [\"\"]`"
        )
    });
    DockerError::config(text)
}

fn explanation(image: &str, words: &str) -> Option<String> {
    Some(match fault_of(words)? {
        Fault::Platform => format!(
            "image {image} is for another platform than the engine's; choose one with \
             `image:docker:platform`"
        ),
        Fault::NoShell => no_shell(image),
        Fault::EntryPoint => format!(
            "the entry point of image {image} cannot be started: {}",
            words.trim()
        ),
        Fault::NoSource => return None,
    })
}

/// Returns the message for an image without a shell.
pub(crate) fn no_shell(image: &str) -> String {
    format!(
        "image {image} has no shell, and a script needs one; choose an image with `sh` or bash in \
         its PATH"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_engines_are_explained() {
        let check = |words: &str, expect: Option<&str>| {
            let found = explanation("app:1", words);
            let found = found.as_deref();
            let fits = match expect {
                Some(part) => found.is_some_and(|found| found.contains(part)),
                None => found.is_none(),
            };
            assert!(fits, "{words}: {found:?}");
        };
        check(
            "OCI runtime create failed: starting container process caused: exec: \"sh\": \
             executable file not found in $PATH: unknown",
            Some("no shell"),
        );
        check(
            "standard_init_linux.go:228: exec user process caused: exec format error",
            Some("another platform"),
        );
        check(
            "starting container process caused: exec: \"/entry.sh\": stat /entry.sh: no such file or directory",
            Some("entry point"),
        );
        check("no space left on device", None);
    }

    #[test]
    fn a_missing_mount_source_is_recognized() {
        let api = |message: &str| DockerError::Api {
            doing: "create container a".to_owned(),
            status: 400,
            message: message.to_owned(),
        };
        assert!(is_no_source(&api(
            "invalid mount config for type \"bind\": bind source path does not exist: /b"
        )));
        assert!(!is_no_source(&api("invalid mount config")));
    }
}
