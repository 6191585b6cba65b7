//! Remote includes: from the cache, from the lock file, and from a server.
//!
//! `cargo bench -p benches --bench includes`. Arguments after `--` select parts by name: `kept`, `locked`, `cold`,
//! `many`. `INCLUDES_ROUNDS` sets the number of rounds, 15 by default. The server is a test GitLab in this process,
//! with real repositories, so it shares the processors.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use benches::statistics::{median, millis, ratio};
use benches::{Bench, Project, Tool};
use gitlab_testkit::{GitLab, Request};
use process::Command;
use tokio::runtime::Builder;

/// The user's token.
const TOKEN: &str = "glpat-TokenOfTheBench";

/// The number of files of one project in `many`; a pipeline has at most 150.
const MANY: usize = 140;

const GOAL_KEPT: f64 = 1.5;
const GOAL_COLD: f64 = 0.6;

fn main() -> anyhow::Result<()> {
    let rounds = std::env::var("INCLUDES_ROUNDS").ok();
    let rounds = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(15);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(compare(rounds))
}

async fn compare(rounds: usize) -> anyhow::Result<()> {
    let bench = Bench::start()?;
    let ours = bench.runwright().await?;
    println!("{rounds} rounds in turn, medians; ratios by rounds");
    let gitlab = GitLab::start();
    gitlab.token(TOKEN, &["read_api"]);
    let twenty = twenty(&gitlab);
    let elsewhere = Side::new(&bench, &ours, &gitlab, &twenty).await?;
    let local = local(&bench, &ours, &gitlab).await?;
    if is_wanted("kept") {
        elsewhere.list(&bench).await?;
        gitlab.reset_count();
        let list = elsewhere.command(&bench, &["list"]);
        against_local(
            &bench,
            "20 includes, all kept: 20 local",
            &list,
            &local,
            rounds,
        )
        .await?;
        ensure!(gitlab.total() == 0, "what is kept was asked for");
    }
    if is_wanted("cold") {
        cold(&bench, &gitlab, &elsewhere, rounds).await?;
    }
    if is_wanted("locked") {
        elsewhere.vendor(&bench).await?;
        elsewhere.forget()?;
        gitlab.reset_count();
        let list = elsewhere.command(&bench, &["list", "--offline"]);
        against_local(
            &bench,
            "20 includes, offline, locked: 20 local",
            &list,
            &local,
            rounds,
        )
        .await?;
        ensure!(gitlab.total() == 0, "somebody was asked while offline");
    }
    if is_wanted("many") {
        many(&bench, &ours, &gitlab, rounds).await?;
    }
    Ok(())
}

/// Returns whether a part was selected; without arguments all are.
fn is_wanted(part: &str) -> bool {
    let words = std::env::args().skip(1);
    let mut words = words.filter(|word| !word.starts_with("--")).peekable();
    words.peek().is_none() || words.any(|word| word == part)
}

/// Prints a line with its goal; `is_met` is whether the goal is met.
fn show(what: &str, figures: &str, goal: &str, is_met: bool) {
    let verdict = if is_met { "met" } else { "NOT MET" };
    println!("{what:<40} {figures}  goal {goal}: {verdict}");
}

/// A project, and the home directory of a user with an account on the GitLab.
struct Side {
    tool: Tool,
    project: Project,
    home: PathBuf,
}

impl Side {
    async fn new(bench: &Bench, ours: &Tool, gitlab: &GitLab, yaml: &str) -> anyhow::Result<Self> {
        let project = bench.project_of(yaml).await?;
        let home = project.root().with_extension("home");
        fs::create_dir(&home)?;
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700))?;
        let settings = home.join("config.toml");
        let url = gitlab.url();
        fs::write(
            &settings,
            format!("[[gitlab.instance]]\nurl = \"{url}\"\ntoken = \"{TOKEN}\"\n"),
        )?;
        fs::set_permissions(&settings, fs::Permissions::from_mode(0o600))?;
        let tool = ours
            .clone()
            .env("RUNWRIGHT_HOME", &home)
            .env("RUNWRIGHT_GITLAB", url);
        Ok(Self {
            tool,
            project,
            home,
        })
    }

    fn command(&self, bench: &Bench, arguments: &[&str]) -> Command {
        let tool = self.tool.clone().run_with(arguments);
        tool.command(bench, &self.project)
    }

    async fn list(&self, bench: &Bench) -> anyhow::Result<Duration> {
        let run = bench.run(&self.command(bench, &["list"])).await?;
        Ok(run.succeeded()?.wall)
    }

    async fn vendor(&self, bench: &Bench) -> anyhow::Result<()> {
        let run = bench.run(&self.command(bench, &["vendor"])).await?;
        run.succeeded().map(|_| ())
    }

    /// Removes the cache.
    fn forget(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.home.join("cache")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

/// Returns a job for an included file.
fn job(name: &str) -> String {
    format!("{name}:\n  stage: test\n  script: [make {name}]\n  rules: [{{when: on_success}}]\n")
}

/// Fills the GitLab, and returns a file that includes ten files of two projects, five components and five URLs.
fn twenty(gitlab: &GitLab) -> String {
    let mut yaml = "include:\n".to_owned();
    for project in ["group/one", "group/two"] {
        let names = (0..5).map(|number| format!("ci/{number}.yml"));
        let files: Vec<(String, String)> = names
            .enumerate()
            .map(|(number, name)| (name, job(&format!("{project}-{number}").replace('/', "-"))))
            .collect();
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(name, text)| (&**name, &**text))
            .collect();
        gitlab.project(project).commit(&files);
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        let _ = writeln!(yaml, "  - {{project: {project}, file: [{names}]}}");
    }
    let components = gitlab.project("group/components");
    for number in 0..5 {
        let (path, text) = (
            format!("templates/c{number}.yml"),
            job(&format!("c{number}")),
        );
        components.commit(&[(&*path, &*text)]);
        let host = gitlab.name();
        let _ = writeln!(yaml, "  - component: {host}/group/components/c{number}@1");
        let page = gitlab.page(
            &format!("/remote/{number}.yml"),
            job(&format!("remote-{number}")),
        );
        let _ = writeln!(yaml, "  - remote: {page}");
    }
    components.tag("1.0.0");
    yaml
}

/// Returns the same jobs in twenty files of the working tree.
async fn local(bench: &Bench, ours: &Tool, gitlab: &GitLab) -> anyhow::Result<Side> {
    let mut yaml = "include:\n".to_owned();
    for number in 0..20 {
        let _ = writeln!(yaml, "  - local: ci/{number}.yml");
    }
    let side = Side::new(bench, ours, gitlab, &yaml).await?;
    let folder = side.project.root().join("ci");
    fs::create_dir(&folder)?;
    for number in 0..20 {
        fs::write(
            folder.join(format!("{number}.yml")),
            job(&format!("local-{number}")),
        )?;
    }
    let git = |arguments: &[&str]| {
        let git = bench.command("git").args(arguments.iter().copied());
        git.current_dir(side.project.root())
    };
    bench.run(&git(&["add", "."])).await?.succeeded()?;
    let commit = git(&["commit", "--quiet", "--message", "Files"]);
    bench.run(&commit).await?.succeeded()?;
    Ok(side)
}

async fn against_local(
    bench: &Bench,
    what: &str,
    list: &Command,
    local: &Side,
    rounds: usize,
) -> anyhow::Result<()> {
    let floor = local.command(bench, &["list"]);
    let (mut lists, mut floors, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    // Each takes a few milliseconds, so noise calls for more rounds.
    for round in 0..=rounds * 4 {
        let local = bench.run(&floor).await?.succeeded()?.wall;
        let listed = bench.run(list).await?.succeeded()?.wall;
        if round > 0 {
            lists.push(listed);
            floors.push(local);
            ratios.push(ratio(listed, local));
        }
    }
    let times = median(&ratios);
    let (ours, floor) = (millis(median(&lists)), millis(median(&floors)));
    show(
        what,
        &format!("{ours:.2} ms, {floor:.2} ms, {times:.2}x"),
        &format!("<= {GOAL_KEPT}x"),
        times <= GOAL_KEPT,
    );
    Ok(())
}

/// A listing with an empty cache, against the same requests in sequence.
async fn cold(bench: &Bench, gitlab: &GitLab, side: &Side, rounds: usize) -> anyhow::Result<()> {
    let (mut lists, mut floors, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut requests = 0;
    for round in 0..=rounds {
        side.forget()?;
        gitlab.reset_count();
        let listed = side.list(bench).await?;
        let asked = gitlab.requests();
        requests = asked.len();
        let start = Instant::now();
        for request in &asked {
            get(gitlab, request)?;
        }
        let floor = start.elapsed();
        if round > 0 {
            lists.push(listed);
            floors.push(floor);
            ratios.push(ratio(listed, floor));
        }
    }
    let times = median(&ratios);
    let (ours, floor) = (millis(median(&lists)), millis(median(&floors)));
    show(
        &format!("20 includes, cold: {requests} requests in turn"),
        &format!("{ours:.1} ms, {floor:.1} ms, {times:.2}x"),
        &format!("<= {GOAL_COLD}x"),
        times <= GOAL_COLD,
    );
    Ok(())
}

/// Repeats a request on a new connection, and reads the whole response.
fn get(gitlab: &GitLab, request: &Request) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(gitlab.address())?;
    let Request { path, query, .. } = request;
    let host = gitlab.name();
    write!(
        stream,
        "GET {path}?{query} HTTP/1.1\r\nhost: {host}\r\nprivate-token: {TOKEN}\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let is_well = answer.starts_with(b"HTTP/1.1 200");
    ensure!(is_well, "the server does not answer `{path}` again");
    Ok(())
}

/// Many files of one project: one request for the head of its branch, and one for each file.
async fn many(bench: &Bench, ours: &Tool, gitlab: &GitLab, rounds: usize) -> anyhow::Result<()> {
    let names = (0..MANY).map(|number| format!("many/{number}.yml"));
    let files: Vec<(String, String)> = names
        .enumerate()
        .map(|(number, name)| (name, job(&format!("many-{number}"))))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    gitlab.project("group/many").commit(&files);
    let mut yaml = "include:\n  - project: group/many\n    file:\n".to_owned();
    for (name, _) in &files {
        let _ = writeln!(yaml, "      - {name}");
    }
    let side = Side::new(bench, ours, gitlab, &yaml).await?;
    let mut lists = Vec::new();
    let mut asked = 0;
    for round in 0..=rounds.div_ceil(3) {
        side.forget()?;
        gitlab.reset_count();
        let listed = side.list(bench).await.context("list many files")?;
        asked = gitlab.total();
        if round > 0 {
            lists.push(listed);
        }
    }
    show(
        &format!("{MANY} files of one project, cold"),
        &format!("{:.0} ms, {asked} requests", millis(median(&lists))),
        &format!("{} requests", MANY + 1),
        asked == MANY + 1,
    );
    Ok(())
}
