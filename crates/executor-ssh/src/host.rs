//! What a host is, and the job's directory on it.

use crate::error::SshError;
use crate::link::Link;
use executor_core::{Cancellation, Retryability};
use std::time::Duration;

/// How long a short command on the host may take.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);

/// How long the removal of a job's files may take.
const REMOVAL: Duration = Duration::from_mins(1);

/// Creates the job's directory and prints what the host is, one answer a line after `= `.
///
/// Directories that earlier jobs left behind are removed after a week, and archives that no job used after two.
const PROBE: &str = r#"umask 077
base=$HOME/.cache/runwright
if ! mkdir -p "$base/jobs" 2>/dev/null || ! [ -w "$base/jobs" ]; then
  base=${TMPDIR:-/tmp}/runwright-$(id -u)
  mkdir -p "$base" || exit 1
  if [ -L "$base" ] || ! [ -O "$base" ]; then
    echo "$base belongs to another user" >&2
    exit 1
  fi
  mkdir -p "$base/jobs" || exit 1
fi
find "$base/jobs" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} + 2>/dev/null
find "$base/files" -type f -mtime +14 -exec rm -f {} + 2>/dev/null
job=$base/jobs/$id
mkdir "$job" || exit 1
agent=$base/agent-$digest
sum=
[ "$digest" ] && [ -f "$agent" ] && sum=$(sha256sum <"$agent" 2>/dev/null)
[ "${sum%% *}" = "$digest" ] && "$agent" --version >/dev/null 2>&1 || sum=
echo "= $HOME"
echo "= $base"
echo "= $(uname -s) $(uname -m)"
echo "= $(uname -n)"
echo "= $(command -v bash)"
echo "= ${sum%% *}"
"#;

/// Ends the processes of a job and removes its directory.
///
/// The agent gets time to end its scripts. What is left is found by the mark in its environment.
const REMOVE: &str = r#"if [ -f "$job/agent.pid" ]; then
  read -r agent <"$job/agent.pid"
  kill -TERM "$agent" 2>/dev/null && for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -0 "$agent" 2>/dev/null || break
    sleep 0.05 2>/dev/null || sleep 1
  done
  kill -KILL "$agent" 2>/dev/null
fi
for dir in /proc/[0-9]*; do
  grep -qs "RUNWRIGHT_SSH_JOB=$id" "$dir/environ" && kill -KILL "${dir#/proc/}" 2>/dev/null
done
rm -rf "$job" 2>/dev/null || { chmod -R u+rwx "$job"; rm -rf "$job"; }
[ ! -e "$job" ]
"#;

/// A host on which a job has a directory.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    /// The home directory of the user.
    pub(crate) home: String,
    /// The directory of this program.
    pub(crate) base: String,
    /// The directory of the job.
    pub(crate) job_dir: String,
    /// The operating system and the machine as `uname` prints them.
    pub(crate) system: String,
    pub(crate) machine: String,
    /// The host's own name.
    pub(crate) name: String,
    /// The path of bash.
    pub(crate) bash: Option<String>,
    /// The digest of the agent that is there.
    pub(crate) agent_digest: String,
}

impl Host {
    /// Returns the id of the job there.
    pub(crate) fn id(&self) -> &str {
        self.job_dir.rsplit('/').next().unwrap_or_default()
    }

    /// Looks at the host and creates the job's directory there.
    pub(crate) async fn prepare(
        link: &Link,
        id: &str,
        digest: &str,
        cancellation: &Cancellation,
    ) -> Result<Self, SshError> {
        let script = format!("id={id} digest={digest}\n{PROBE}");
        let answer = link.run_to_end(&script, ANSWER, cancellation).await?;
        let lines: Vec<_> = answer
            .stdout
            .lines()
            .filter_map(|it| it.strip_prefix("= "))
            .collect();
        let &[home, base, system, name, bash_path, sum] = &lines[..] else {
            let doing = "create the job's directory with sh";
            return Err(link.host_error(doing, &answer, Retryability::Temporary));
        };
        let (system, machine) = system.split_once(' ').unwrap_or((system, ""));
        Ok(Self {
            home: home.to_owned(),
            base: base.to_owned(),
            job_dir: format!("{base}/jobs/{id}"),
            system: system.to_ascii_lowercase(),
            machine: docker_name(machine).to_owned(),
            name: name.to_owned(),
            bash: Some(bash_path.to_owned()).filter(|it| !it.is_empty()),
            agent_digest: sum.to_owned(),
        })
    }
}

/// Ends the remaining processes of a job on a host and removes its directory.
pub(crate) async fn remove(link: &Link, id: &str) -> Result<(), SshError> {
    // The same choice as when it was created.
    let script = format!(
        "id={id}\nfor base in \"$HOME/.cache/runwright\" \"${{TMPDIR:-/tmp}}/runwright-$(id -u)\"; do\n\
         job=$base/jobs/$id\n[ -d \"$job\" ] && break\ndone\n{REMOVE}"
    );
    let answer = link.run(&script, REMOVAL, &Cancellation::new()).await?;
    match answer.exit.code {
        0 => Ok(()),
        _ => Err(link.host_error(
            "remove the job's directory",
            &answer,
            Retryability::Temporary,
        )),
    }
}

/// Returns the name of a machine as images name it.
fn docker_name(machine: &str) -> &str {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
