//! No process of a tree survives.

use process::{Command, Containment, Settings, Supervisor};

use crate::runner::again;
use crate::support::{BOTH, lives, noted, run, run_group, sh, supervisor, tree, until};

/// Starts daemons in all known ways to escape a process group.
const ESCAPES: &str = r#"
setsid nohup sh -c 'echo $$ >> "$NOTES"; sleep 600' >/dev/null 2>&1 </dev/null &
(setsid sh -c '(echo $(exec sh -c "echo \$PPID") >> "$NOTES"; sleep 600) & exit' >/dev/null 2>&1 </dev/null)
nohup sh -c 'echo $$ >> "$NOTES"; trap "" TERM HUP; sleep 600' >/dev/null 2>&1 &
while [ "$(wc -l < "$NOTES")" -lt 3 ]; do sleep 0.01; done
"#;

#[tokio::test]
async fn escaped_daemons_die_with_their_stage() {
    for containment in BOTH {
        for ending in ["exit 0", "exit 3", "kill -9 $$"] {
            let directory = tempfile::tempdir().unwrap();
            let notes = directory.path().join("notes");
            std::fs::write(&notes, "").unwrap();
            let supervisor = supervisor(containment);
            let tree = supervisor.tree();
            let command = sh(&format!("{ESCAPES}\n{ending}")).env("NOTES", &notes);
            let (outcome, _) = run(&tree, &command).await;
            assert_eq!(outcome.success(), ending == "exit 0");
            let pids = noted(&notes);
            assert_eq!(pids.len(), 3);
            for pid in pids {
                assert!(
                    !lives(pid, &notes),
                    "{containment:?}, {ending}: {pid} lives"
                );
            }
            tree.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn kept_daemons_live_until_the_tree_closes() {
    for containment in BOTH {
        let directory = tempfile::tempdir().unwrap();
        let notes = directory.path().join("notes");
        std::fs::write(&notes, "").unwrap();
        let supervisor = supervisor(containment);
        let kept = supervisor.tree();
        let command = sh(ESCAPES).env("NOTES", &notes).keep_descendants();
        let (outcome, _) = run(&kept, &command).await;
        assert!(outcome.success());
        // Neither another command of the tree nor the end of another job ends them.
        run(&kept, &sh("kill -9 $$").keep_descendants()).await;
        let other = supervisor.tree();
        run(&other, &sh("setsid sleep 600 >/dev/null 2>&1 &")).await;
        other.close().await.unwrap();
        let pids = noted(&notes);
        assert_eq!(pids.len(), 3);
        for pid in &pids {
            assert!(lives(*pid, &notes), "{containment:?}: {pid} is dead");
        }
        kept.close().await.unwrap();
        for pid in pids {
            assert!(!lives(pid, &notes), "{containment:?}: {pid} lives");
        }
    }
}

#[tokio::test]
async fn daemon_without_group_and_environment_dies_with_its_job() {
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().join("notes");
    std::fs::write(&notes, "").unwrap();
    let script = r#"
        (setsid env -i PATH="$PATH" sh -c 'echo $$ >> "$1"; sleep 600' sh "$NOTES" \
            >/dev/null 2>&1 </dev/null &)
        while [ "$(wc -l < "$NOTES")" -lt 1 ]; do sleep 0.01; done"#;
    let tree = tree(Containment::NoCgroup);
    let (outcome, _) = run(&tree, &sh(script).env("NOTES", &notes)).await;
    assert!(outcome.success());
    let pids = noted(&notes);
    assert!(!lives(pids[0], &notes));
    tree.close().await.unwrap();
}

#[tokio::test]
async fn trusted_program_has_no_cgroup() {
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().join("notes");
    std::fs::write(&notes, "").unwrap();
    let script = r#"
        sh -c 'echo $$ >> "$NOTES"; sleep 600' >/dev/null 2>&1 </dev/null &
        while [ "$(wc -l < "$NOTES")" -lt 1 ]; do sleep 0.01; done
        cat /proc/self/cgroup"#;
    let tree = tree(Containment::ProcessGroup);
    let (outcome, output) = run(&tree, &sh(script).env("NOTES", &notes)).await;
    assert!(outcome.success());
    assert!(!output.stdout.contains("runwright-"), "{}", output.stdout);
    let pids = noted(&notes);
    until("the end of the group", || !lives(pids[0], &notes)).await;
    tree.close().await.unwrap();
}

#[tokio::test]
async fn twenty_one_escapees_die() {
    for containment in BOTH {
        let directory = tempfile::tempdir().unwrap();
        let notes = directory.path().join("notes");
        std::fs::write(&notes, "").unwrap();
        let script = "i=0; while [ $i -lt 21 ]; do
            (setsid sh -c 'echo $$ >> \"$NOTES\"; sleep 600' >/dev/null 2>&1 </dev/null &)
            i=$((i+1)); done
            while [ \"$(wc -l < \"$NOTES\")\" -lt 21 ]; do sleep 0.01; done";
        let tree = tree(containment);
        let (outcome, _) = run(&tree, &sh(script).env("NOTES", &notes)).await;
        assert!(outcome.success());
        let pids = noted(&notes);
        assert_eq!(pids.len(), 21);
        assert!(pids.iter().all(|pid| !lives(*pid, &notes)));
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn fast_forking_does_not_escape() {
    for containment in BOTH {
        let directory = tempfile::tempdir().unwrap();
        let notes = directory.path().join("notes");
        std::fs::write(&notes, "").unwrap();
        // Each generation starts the next in a session of its own and ends.
        let script = "cat > \"$HOP\" <<'END'\necho $$ >> \"$NOTES\"\nsetsid sh \"$HOP\" &\nEND\n
            setsid sh \"$HOP\" >/dev/null 2>&1 </dev/null &
            while [ \"$(wc -l < \"$NOTES\")\" -lt 20 ]; do sleep 0.01; done";
        let command = sh(script)
            .env("NOTES", &notes)
            .env("HOP", directory.path().join("hop.sh"));
        let tree = tree(containment);
        let (outcome, _) = run(&tree, &command).await;
        assert!(outcome.success());
        tree.close().await.unwrap();
        let generations = noted(&notes).len();
        let still = || noted(&notes).iter().all(|pid| !lives(*pid, &notes));
        assert!(still(), "a generation lives");
        assert_eq!(
            noted(&notes).len(),
            generations,
            "{containment:?}: it continues"
        );
    }
}

#[tokio::test]
async fn stage_does_not_affect_other_stages_of_its_tree() {
    for containment in BOTH {
        let tree = tree(containment);
        let directory = tempfile::tempdir().unwrap();
        let gate = directory.path().join("gate");
        let wait = format!(
            "until [ -e '{}' ]; do sleep 0.01; done; echo done",
            gate.display()
        );
        let open = format!("setsid sleep 600 & touch '{}'", gate.display());
        let (waiting, opening) = (sh(&wait), sh(&open));
        let ((waited, output), (opened, _)) =
            tokio::join!(run(&tree, &waiting), run(&tree, &opening));
        assert!(waited.success() && opened.success());
        assert_eq!(output.stdout, "done\n");
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn thousand_orphans_leave_no_zombies() {
    for containment in BOTH {
        let tree = tree(containment);
        let script = "i=0; while [ $i -lt 1000 ]; do (setsid true &) ; i=$((i+1)); done";
        let (outcome, _) = run(&tree, &sh(script)).await;
        assert!(outcome.success());
        tree.close().await.unwrap();
        // Children of other tests also end, so the list only has to shrink.
        until("zombies to be collected", || zombies() < 100).await;
    }
}

/// The controllers of the cgroup above all runs, which a limit of processes changes.
static HANDED_ON: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[tokio::test]
async fn fork_bomb_is_limited_to_its_job() {
    let _alone = HANDED_ON.lock().await;
    let settings = Settings {
        pids_max: Some(40),
        ..Settings::default()
    };
    let supervisor = Supervisor::start(settings).unwrap();
    let (bombed, beside) = (supervisor.tree(), supervisor.tree());
    let controllers = run_group(&supervisor)
        .map(|group| std::fs::read_to_string(group.join("cgroup.controllers")).unwrap());
    if controllers.is_some_and(|names| names.split_whitespace().any(|name| name == "pids")) {
        let bomb = "for i in $(seq 100); do sleep 600 & echo started; done";
        let (outcome, output) = run(&bombed, &sh(bomb)).await;
        assert!(!outcome.success(), "{outcome:?}");
        let started = output.stdout.lines().count();
        assert!((20..40).contains(&started), "{started} processes started");
    } else {
        executor_testkit::not_tested(
            "a limit of processes",
            "the unified hierarchy has no pids controller here",
        );
    }
    let (outcome, _) = run(&beside, &sh("true")).await;
    assert!(outcome.success());
    supervisor.shutdown().await.unwrap();
}

/// Counts dead children of this process.
fn zombies() -> usize {
    let own = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats
        .filter(|stat| {
            let mut fields = stat
                .rsplit_once(") ")
                .map_or("", |(_, rest)| rest)
                .split(' ');
            fields.next() == Some("Z") && fields.next() == Some(&own)
        })
        .count()
}

#[tokio::test]
async fn process_has_a_session_of_its_own() {
    for containment in BOTH {
        let tree = tree(containment);
        let script = "read -r pid name state parent group session rest </proc/$$/stat; \
                      test \"$session\" = $$ && echo own";
        let (outcome, output) = run(&tree, &sh(script)).await;
        assert!(outcome.success(), "{output:?}");
        assert_eq!(output.stdout, "own\n");
        tree.close().await.unwrap();
    }
}

/// The variable with the cgroup to which a runner moves before it starts processes.
const MOVE_TO: &str = "PROCESS_TEST_MOVE_TO";

#[tokio::test]
async fn runner_in_a_once_killed_cgroup_runs_jobs() {
    let outside = supervisor(Containment::Auto);
    let Some(run) = run_group(&outside) else {
        return;
    };
    let group = run.with_file_name(format!("killed-{}", outside.id()));
    std::fs::create_dir(&group).unwrap();
    std::fs::write(group.join("cgroup.kill"), "1").unwrap();
    let output = again("contain::acts_as_runner_in_another_group")
        .env(MOVE_TO, &group)
        .output()
        .unwrap();
    // Before the assertion, so that a failed test leaves nothing behind.
    let removed = std::fs::remove_dir(&group);
    assert!(output.status.success(), "{output:?}");
    removed.unwrap();
    outside.shutdown().await.unwrap();
}

/// Runs as a runner in that cgroup if the variable is set; otherwise does nothing.
#[tokio::test]
async fn acts_as_runner_in_another_group() {
    let Some(group) = std::env::var_os(MOVE_TO) else {
        return;
    };
    let members = std::path::Path::new(&group).join("cgroup.procs");
    std::fs::write(members, std::process::id().to_string()).unwrap();
    let supervisor = supervisor(Containment::Auto);
    let tree = supervisor.tree();
    for _ in 0..3 {
        let (outcome, output) = run(&tree, &sh("echo alive")).await;
        assert_eq!(output.stdout, "alive\n", "{outcome:?}");
    }
    tree.close().await.unwrap();
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn process_outside_of_cgroups_is_contained() {
    let supervisor = supervisor(Containment::Auto);
    let Some(group) = run_group(&supervisor) else {
        return;
    };
    // Room for the job's own cgroup, but not for one below it.
    std::fs::write(group.join("cgroup.max.descendants"), "1").unwrap();
    let tree = supervisor.tree();
    assert!(tree.is_contained());
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().join("notes");
    std::fs::write(&notes, "").unwrap();
    let (outcome, _) = run_script(&tree, ESCAPES, &notes).await;
    assert!(outcome.success());
    assert!(!tree.is_contained());
    assert!(noted(&notes).iter().all(|pid| !lives(*pid, &notes)));
    // The end of the tree finds a process whose owner dropped it.
    let lasting = "setsid sleep 600 & echo $! >> \"$NOTES\"; sleep 600";
    let command = Command::new("sh").args(["-c", lasting]);
    let command = command.env("PATH", "/bin:/usr/bin").env("NOTES", &notes);
    let process = tree.spawn(&command).unwrap();
    until("the fourth to be noted", || noted(&notes).len() == 4).await;
    drop(process);
    tree.close().await.unwrap();
    assert!(noted(&notes).iter().all(|pid| !lives(*pid, &notes)));
    std::fs::write(&notes, "").unwrap();
    // The same for a job without a cgroup, and for the end of the run.
    let late = supervisor.tree();
    let (outcome, _) = run_script(&late, ESCAPES, &notes).await;
    assert!(outcome.success());
    supervisor.shutdown().await.unwrap();
    assert!(noted(&notes).iter().all(|pid| !lives(*pid, &notes)));
    assert!(!group.exists());
    assert!(late.spawn(&sh("true")).is_err());
}

async fn run_script(
    tree: &process::ProcessTree,
    script: &str,
    notes: &std::path::Path,
) -> (process::Outcome, crate::support::Output) {
    run(tree, &sh(script).env("NOTES", notes)).await
}

#[tokio::test]
async fn foreign_cgroup_is_unchanged() {
    let _alone = HANDED_ON.lock().await;
    let first = supervisor(Containment::Auto);
    let Some(group) = run_group(&first) else {
        return;
    };
    let control = group.with_file_name("cgroup.subtree_control");
    let before = std::fs::read_to_string(&control).unwrap();
    let second = supervisor(Containment::Auto);
    assert_eq!(std::fs::read_to_string(&control).unwrap(), before);
    second.shutdown().await.unwrap();
    first.shutdown().await.unwrap();
}

#[tokio::test]
async fn inherited_files_of_the_runner_are_closed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inherited");
    let file = std::fs::File::create(&path).unwrap();
    // Unlike files opened by Rust, a duplicate is not closed on exec.
    let inherited = rustix::io::dup(&file).unwrap();
    for containment in BOTH {
        let tree = tree(containment);
        let (outcome, output) = run(&tree, &sh("ls -l /proc/self/fd")).await;
        assert!(outcome.success());
        let name = path.to_str().unwrap();
        assert!(!output.stdout.contains(name), "{}", output.stdout);
        tree.close().await.unwrap();
    }
    drop(inherited);
}
