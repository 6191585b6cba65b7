//! What a host is, and the job's directory on it.

use crate::error::SshError;
use crate::link::{Answer, Link};
use executor_core::{Cancellation, Retryability};
use fail_point::fail_point;
use shells::quote_sh;
use std::time::Duration;

/// How long a short command on the host may take.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);

/// How long the removal of a job's files may take.
const REMOVAL: Duration = Duration::from_mins(1);

/// Creates the job's directory and starts its watcher.
///
/// Directories that no watcher removed, as after a restart of the host, are removed after a week, and archives that no job
/// used after two.
const PROBE: &str = r#"server=
is_server "$PPID" && server=$PPID
umask 077
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
[ "$server" ] && mkdir "$job/connections" && : >"$job/connections/$server"
session=$(command -v setsid)
$session sh -c "$watch" sh "$id" "$job" "$grace" </dev/null >/dev/null 2>&1 &
agent=$base/agent-$digest
sum=
[ "$digest" ] && [ -f "$agent" ] && sum=$(sha256sum <"$agent" 2>/dev/null)
[ "${sum%% *}" = "$digest" ] && "$agent" --version >/dev/null 2>&1 && touch "$agent" || sum=
"#;

/// Finds the directory of a job, by the same choice as when it was created. Another user may have made one in the directory for
/// temporary files.
const OF_JOB: &str = r#"job=
for base in "$HOME/.cache/runwright" "${TMPDIR:-/tmp}/runwright-$(id -u)"; do
  [ -d "$base/jobs/$id" ] && [ -O "$base/jobs/$id" ] && [ -O "$base" ] && ! [ -L "$base" ] && job=$base/jobs/$id && break
done
"#;

/// Looks for the agent of a job that another process began.
const FIND: &str = r#"server=
is_server "$PPID" && server=$PPID
if [ -z "$job" ] || ! [ -S "$job/agent/agent.sock" ]; then
  echo "the job is gone, as after a time without a connection" >&2
  exit 1
fi
[ "$server" ] && [ -d "$job/connections" ] && : >"$job/connections/$server"
sum=
"#;

/// Prints what the host is, one answer a line after `= `.
const FACTS: &str = r#"echo "= $HOME"
echo "= $base"
echo "= $(uname -s) $(uname -m)"
echo "= $(uname -n)"
echo "= $(command -v bash)"
echo "= ${sum%% *}"
"#;

/// Defines a test of a process: whether it may be the server's, for a connection.
///
/// It is the parent of each command, unless a wrapper is between them. When it has ended, another process takes its place.
const IS_SERVER: &str = r#"is_server() { { read -r name <"/proc/$1/comm" || name=$(ps -o comm= -p "$1"); } 2>/dev/null; case $name in *sshd*|*dropbear*) ;; *) return 1 ;; esac; }"#;

/// Watches the directory of a job and removes it, as [`REMOVE`] does, when the agent has ended or no connection is left.
///
/// Each command of the job registers the server's process of its connection. Another connection may come within the grace.
const WATCH: &str = r#"id=$1 job=$2 grace=$3
cd /
missed=0 ended=0
while sleep 1; [ -d "$job" ]; do
  if [ -d "$job/connections" ]; then
    missed=$((missed + 1))
    for file in "$job"/connections/*; do
      if is_server "${file##*/}"; then missed=0; else rm -f "$file"; fi
    done
  fi
  if [ -f "$job/agent.pid" ] && read -r agent <"$job/agent.pid" && ! kill -0 "$agent" 2>/dev/null; then
    ended=$((ended + 1))
  fi
  [ "$missed" -gt "$grace" ] || [ "$ended" -gt 1 ] || continue
"#;

/// Ends the processes of a job and removes its directory.
///
/// The agent gets time to end its scripts. Its command line is checked: after a restart of the host the number in the file may
/// belong to another process, and a process that has ended keeps the number, without a command line, until its parent looks.
/// What is left is found by the mark in its environment, which agents and runners inside the job pass on; as it may start
/// others meanwhile, that is repeated. The watcher ends by itself.
const REMOVE: &str = r#"is_agent() { { tr '\0' ' ' <"/proc/$1/cmdline" || ps -ww -o args= -p "$1"; } 2>/dev/null | grep -qF "$job/program"; }
if [ -f "$job/agent.pid" ] && read -r agent <"$job/agent.pid" && is_agent "$agent"; then
  kill -TERM "$agent" 2>/dev/null && for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    is_agent "$agent" || break
    sleep 0.05 2>/dev/null || sleep 1
  done
  is_agent "$agent" && kill -KILL "$agent" 2>/dev/null
fi
for _ in 1 2 3 4 5 6 7 8 9; do
  found=
  for file in $(grep -ls "RUNWRIGHT_PROCESS_MARKER=$id" /proc/[0-9]*/environ); do
    process=${file#/proc/}
    kill -KILL "${process%/environ}" 2>/dev/null && found=1
  done
  [ "$found" ] || break
done
rm -rf "$job" 2>/dev/null || { chmod -R u+rwx "$job"; rm -rf "$job"; }
[ ! -e "$job" ]
exit
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

    /// Returns the beginning of a command: it registers its connection, or ends because the job's directory is gone.
    ///
    /// # Errors
    ///
    /// When the path of the directory cannot be written in a script.
    pub(crate) fn register(&self) -> Result<String, SshError> {
        let job = quote_sh(&self.job_dir).map_err(|error| SshError::config(error.to_string()))?;
        Ok(format!(
            "({IS_SERVER}; cd {job} || {{ echo \"the directory of the job is gone, as after a time without a connection\" >&2; exit 1; }}; \
             if [ -d connections ] && is_server $PPID; then true >connections/$PPID; fi) || exit 1; "
        ))
    }

    /// Returns the line after which the output of a [command](Self::command) begins. What is before it comes from the start
    /// files of the user's shell.
    pub(crate) fn start_mark(&self) -> String {
        format!("= start {}\n", self.id())
    }

    /// Returns the command that runs a script of the job with these arguments. It prints the [mark](Self::start_mark) first.
    ///
    /// # Errors
    ///
    /// When one of them cannot be written in a command.
    pub(crate) fn command(&self, script: &str, arguments: &[&str]) -> Result<String, SshError> {
        let id = self.id();
        let register = self.register()?;
        let script = format!("{register}echo '= start {id}'\n{script}");
        let mut line = format!("exec env RUNWRIGHT_PROCESS_MARKER={id} sh -c");
        for word in [&*script, "sh"].iter().chain(arguments) {
            let word = quote_sh(word).map_err(|error| SshError::config(error.to_string()))?;
            line.push(' ');
            line.push_str(&word);
        }
        Ok(line)
    }

    /// Looks at the host and creates the job's directory there.
    pub(crate) async fn prepare(
        link: &Link,
        id: &str,
        digest: &str,
        cancellation: &Cancellation,
    ) -> Result<Self, SshError> {
        let grace = link.options.config.orphan_grace().as_secs();
        let watch = quote_sh(&format!("{IS_SERVER}\n{WATCH}{REMOVE}done\n"));
        let watch = watch.map_err(|error| SshError::config(error.to_string()))?;
        let script = format!(
            "id={id} digest={digest} grace={grace} watch={watch}\n{IS_SERVER}\n{PROBE}{FACTS}"
        );
        let answer = fail_point!(
            "executor_ssh::host::prepare",
            link.run_to_end(&script, ANSWER, cancellation).await
        );
        let answer = answer.map_err(|error| match error {
            SshError::Silent { host, within, .. } => SshError::Host {
                host,
                message: format!(
                    "sh did not answer within {} s: a start file of the user there, such as ~/.bashrc, may wait for something",
                    within.as_secs()
                ),
                retry: Retryability::Temporary,
            },
            error => error,
        })?;
        let doing = "create the job's directory with sh";
        Self::of_answer(link, id, &answer, (doing, Retryability::Temporary))
    }

    /// Looks at the host on which another process began a job.
    pub(crate) async fn find(
        link: &Link,
        id: &str,
        cancellation: &Cancellation,
    ) -> Result<Self, SshError> {
        let script = format!("id={id}\n{IS_SERVER}\n{OF_JOB}{FIND}{FACTS}");
        let answer = link.run(&script, ANSWER, cancellation).await?;
        let retry = Retryability::Permanent;
        Self::of_answer(link, id, &answer, ("find the job to resume", retry))
    }

    /// Reads what the host is; `doing` and `retry` are about an answer without it.
    fn of_answer(
        link: &Link,
        id: &str,
        answer: &Answer,
        (doing, retry): (&str, Retryability),
    ) -> Result<Self, SshError> {
        let lines: Vec<_> = answer
            .stdout
            .lines()
            .filter_map(|it| it.strip_prefix("= "))
            .collect();
        let &[home, base, system, name, bash_path, sum] = &lines[..] else {
            if lines.is_empty() && answer.stderr.trim().is_empty() {
                return Err(SshError::Host {
                    host: link.target.address(),
                    message: format!(
                        "the user's shell ended with {} before sh started: a start file there, such as ~/.bashrc, may end it",
                        answer.exit.code
                    ),
                    retry: Retryability::Permanent,
                });
            }
            return Err(link.host_error(doing, answer, retry));
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
    let script =
        format!("id={id}\n{OF_JOB}job=${{job:-$HOME/.cache/runwright/jobs/$id}}\n{REMOVE}");
    let answer = fail_point!(
        "executor_ssh::host::remove",
        link.run(&script, REMOVAL, &Cancellation::new()).await
    )?;
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
