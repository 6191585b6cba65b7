//! Functions outside of the environment, fetched by the follower.

use super::fake_library::{FakeLibrary, begun, client, client_by, run};
use super::support::{PATIENCE, Served};
use crate::client::support::{Plan, Way};
use executor_core::{CancelCause, Cancellation};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use steps::StepsError;
use steps::wire::v1;
use steps::wire::v1::grant_request::{Fetched, Outcome};
use steps::wire::v1::result::{ErrorKind, State};
use steps::wire::v1::step_runner_client::StepRunnerClient;
use steps::wire::v1::wish::What;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Code, Streaming};

const GIT: &str = "https://example.com/group/lib@v1";
const IMAGE: &str = "registry.example.com/org/lib:1.2";

/// Returns a request with these steps in YAML.
fn request(served: &Served, steps: &str) -> v1::RunRequest {
    v1::RunRequest {
        steps: steps.to_owned(),
        ..served.request("1", "")
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A function that prints a word by a program beside it.
fn say(word: &str) -> String {
    format!(
        "spec: {{outputs: {{said: {{type: string}}}}}}\n---\nexec:\n  command: [sh, '${{{{ func_dir }}}}/say.sh', {word}, \
         '${{{{ output_file }}}}']\n"
    )
}

const SAY: &str =
    "echo \"$1\"; echo \"{\\\"name\\\":\\\"said\\\",\\\"value\\\":\\\"$1\\\"}\" >>\"$2\"\n";

/// Writes a repository with a function that runs sibling functions.
fn repository(root: &Path) {
    write(&root.join("steps/say/func.yml"), &say("hello"));
    write(&root.join("steps/say/say.sh"), SAY);
    let both = "spec: {outputs: {all: {type: string}}}\n---\nrun:\n- {name: one, func: ../say}\n\
                - {name: two, func: '${{ func_dir }}/../say'}\n\
                outputs: {all: '${{ steps.one.outputs.said }} ${{ steps.two.outputs.said }}'}\n";
    write(&root.join("steps/both/func.yml"), both);
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_come_from_git_and_registries_with_siblings() {
    let served = Served::start().await;
    let root = served.path("repository");
    repository(&root);
    let image = served.path("image");
    write(&image.join("func.yml"), &say("world"));
    write(&image.join("say.sh"), SAY);
    let library = Arc::new(FakeLibrary::with(&[(GIT, &root), (IMAGE, &image)]));
    let steps = r#"
- {name: both, func: example.com/group/lib/-/both@v1}
- {name: again, func: {git: {url: example.com/group/lib, rev: v1, dir: steps/say}}}
- {name: image, func: "registry.example.com/org/lib:${{ num(\"1\") + 0.2 }}"}
- {name: last, script: "echo ${{ steps.both.outputs.all }} ${{ steps.image.outputs.said }}"}
"#;
    let ended = run(
        &served,
        &library,
        request(&served, steps),
        &Cancellation::new(),
    )
    .await;
    assert!(ended.succeeds(), "{}", ended.log);
    assert_eq!(ended.log, "hello\nhello\nhello\nworld\nhello hello world\n");
    // Each source is fetched once.
    assert_eq!(library.whats(), [GIT, IMAGE]);
    let names: Vec<_> = ended
        .steps
        .iter()
        .map(|it| it.step.clone().unwrap().name)
        .collect();
    let again = names.iter().rposition(|name| name == "again").unwrap();
    let reference = ended.steps[again].step.clone().unwrap().step.unwrap();
    assert_eq!(
        (&*reference.url, &*reference.version),
        ("https://example.com/group/lib", "v1")
    );
    // Fetched files are removed with the request.
    let left = fs::read_dir(served.path("state/requests")).unwrap().count();
    assert_eq!(left, 0);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn references_cannot_leave_a_fetched_tree() {
    let served = Served::start().await;
    let root = served.path("repository");
    repository(&root);
    write(&served.path("work/here/func.yml"), &say("outside"));
    write(
        &root.join("steps/up/func.yml"),
        "spec:\n---\nrun: [{name: a, func: ../../../../../../../work/here}]\n",
    );
    write(
        &root.join("steps/absolute/func.yml"),
        "spec:\n---\nrun: [{name: a, func: '${{ func_dir }}/../../../..'}]\n",
    );
    symlink(served.path("work/here"), root.join("steps/link")).unwrap();
    symlink("say", root.join("steps/inner")).unwrap();
    let library = Arc::new(FakeLibrary::with(&[(GIT, &root)]));
    for name in ["up", "absolute", "link", "gone"] {
        let steps = format!("[{{name: a, func: example.com/group/lib/-/{name}@v1}}]");
        let ended = run(
            &served,
            &library,
            request(&served, &steps),
            &Cancellation::new(),
        )
        .await;
        assert!(!ended.succeeds());
        let expect = match name {
            "gone" => "there is no func.yml and no step.yml in steps/gone",
            _ => "leads out of the repository or the image",
        };
        assert!(ended.log.contains(expect), "{name}: {}", ended.log);
    }
    let steps = "[{name: a, func: example.com/group/lib/-/inner@v1}]";
    let ended = run(
        &served,
        &library,
        request(&served, steps),
        &Cancellation::new(),
    )
    .await;
    assert_eq!(ended.log, "hello\n");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn library_messages_appear_in_the_log() {
    let served = Served::start().await;
    let library = Arc::new(FakeLibrary::default());
    let steps = "[{name: ask, func: 'https://me:hunter2@example.com/group/lib@v1'}]";
    let ended = run(
        &served,
        &library,
        request(&served, steps),
        &Cancellation::new(),
    )
    .await;
    let expect = format!("ERROR: step \"ask\": {GIT}: this fake library does not know it\n");
    assert_eq!(ended.log, expect);
    assert!(!ended.succeeds());
    let told = format!("{:?}", ended.steps.last().unwrap().step);
    assert!(
        told.contains("example.com") && !told.contains("hunter2"),
        "{told}"
    );
    served.stop().await;
}

#[tokio::test]
async fn step_without_a_library_fails_with_a_reason() {
    let within = Duration::from_millis(300);
    let mut served = Served::with(|options| options.host_timeout = within).await;
    let steps = "[{name: ask, func: example.com/group/lib@v1}]";
    let (log, status) = served.run(request(&served, steps)).await;
    let expect =
        "ERROR: step \"ask\": no client of this job can fetch functions from git or registries";
    assert!(log.starts_with(expect), "{log}");
    let result = status.result.unwrap();
    assert_eq!(
        (result.state(), result.error_kind()),
        (State::Failure, ErrorKind::StepFailure)
    );
    served.finish("1").await;
    served.stop().await;
}

/// Follows the host requests of request 1.
async fn follow(client: &mut StepRunnerClient<Channel>) -> Streaming<v1::FollowWishesResponse> {
    let id = "1".to_owned();
    let answer = client.follow_wishes(v1::FollowWishesRequest { id }).await;
    answer.unwrap().into_inner()
}

async fn next(wishes: &mut Streaming<v1::FollowWishesResponse>) -> v1::Wish {
    let answer = wishes.message().await.unwrap().unwrap();
    answer.wish.unwrap()
}

fn grant(number: u64, outcome: Option<Outcome>) -> v1::GrantRequest {
    let id = "1".to_owned();
    v1::GrantRequest {
        id,
        number,
        outcome,
    }
}

fn fetched(directory: &str) -> Outcome {
    Outcome::Fetched(Fetched {
        directory: directory.to_owned(),
        identity: String::new(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn open_host_request_is_sent_again() {
    // So short that only a follower keeps it alive.
    let within = Duration::from_millis(300);
    let mut served = Served::with(|options| options.host_timeout = within).await;
    let steps = "[{name: wait, script: 'until [ -e go ]; do sleep 0.02; done'},
                  {name: a, func: example.com/group/lib/-/say@v1}]";
    let mut request = request(&served, steps);
    request.quiet = false;
    served.client.run(request).await.unwrap();
    let mut first = served.other_client().await;
    let mut told = follow(&mut first).await;
    // No host request is opened before there is a follower.
    write(&served.path("work/go"), "");
    let wish = next(&mut told).await;
    let mut second = served.other_client().await;
    let mut told_again = follow(&mut second).await;
    drop((told, first));
    assert_eq!(next(&mut told_again).await, wish);
    let What::Git(git) = wish.what.clone().unwrap() else {
        panic!("{wish:?}");
    };
    assert_eq!(
        (&*git.url, &*git.rev),
        ("https://example.com/group/lib", "v1")
    );
    tokio::time::sleep(within * 3).await;
    repository(&Path::new(&wish.directory).join("x"));
    for _ in 0..2 {
        // The second answer changes nothing.
        second
            .grant(grant(wish.number, Some(fetched("x"))))
            .await
            .unwrap();
    }
    let log = format!("Running step \"wait\"\nRunning step \"a\"\nFetching {GIT}\nhello\n");
    assert_eq!(served.log("1").await, log);
    // The stream ends with the request.
    assert_eq!(told_again.message().await.unwrap(), None);
    served.finish("1").await;
    served.stop().await;
}

#[tokio::test]
async fn answers_without_a_host_request_are_refused() {
    let mut served = Served::start().await;
    let steps = "[{name: a, func: example.com/group/lib/-/say@v1}]";
    served.client.run(request(&served, steps)).await.unwrap();
    let mut client = served.other_client().await;
    let mut told = follow(&mut client).await;
    let wish = next(&mut told).await;
    write(&served.path("outside/func.yml"), "");
    symlink(
        served.path("outside"),
        Path::new(&wish.directory).join("link"),
    )
    .unwrap();
    for name in ["", ".", "..", "../x", "/tmp", "a/b", "link", "gone"] {
        let refused = client.grant(grant(wish.number, Some(fetched(name)))).await;
        assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument, "{name}");
    }
    let published = Some(Outcome::Published(v1::grant_request::Published::default()));
    for outcome in [None, published] {
        let refused = client.grant(grant(wish.number, outcome)).await;
        assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    }
    let refused = client
        .grant(grant(wish.number + 1, Some(fetched("x"))))
        .await;
    assert_eq!(refused.unwrap_err().code(), Code::NotFound);
    let words = Some(Outcome::Refused("no such thing".to_owned()));
    client.grant(grant(wish.number, words)).await.unwrap();
    assert_eq!(served.log("1").await, "ERROR: step \"a\": no such thing\n");
    assert!(!Path::new(&wish.directory).exists());
    // Nothing is written that would not be removed.
    served.finish("1").await;
    let late = v1::PutFilesRequest {
        directory: format!("{}/x", wish.directory),
        last: true,
        ..v1::PutFilesRequest::default()
    };
    let refused = client.put_files(tokio_stream::once(late)).await;
    assert_eq!(refused.unwrap_err().code(), Code::FailedPrecondition);
    drop(told);
    served.stop().await;
}

/// Waits until this many calls are blocked in the library.
async fn until_held(library: &FakeLibrary, count: usize) {
    let mut held = library.held.subscribe();
    let waiting = held.wait_for(|held| *held == count);
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_a_request_ends_its_fetches() {
    let served = Served::start().await;
    let gate = CancellationToken::new();
    let library = Arc::new(FakeLibrary {
        gate: Some(gate),
        ..FakeLibrary::default()
    });
    let steps = "[{name: a, func: example.com/group/lib@v1}]";
    let cancellation = Cancellation::new();
    let running = run(&served, &library, request(&served, steps), &cancellation);
    let stopping = async {
        until_held(&library, 1).await;
        cancellation.cancel(CancelCause::User);
        until_held(&library, 0).await;
    };
    let (ended, ()) = tokio::join!(running, stopping);
    assert!(matches!(
        ended.result,
        Err(StepsError::Canceled(CancelCause::User))
    ));
    assert_eq!(ended.log, "");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_client_resumes_where_the_first_left() {
    let mut served = Served::start().await;
    let root = served.path("repository");
    repository(&root);
    let slow = Arc::new(FakeLibrary {
        gate: Some(CancellationToken::new()),
        ..FakeLibrary::with(&[(GIT, &root)])
    });
    let steps = "[{name: a, func: example.com/group/lib/-/say@v1}]";
    served.client.run(request(&served, steps)).await.unwrap();
    {
        let (client, run) = (client(&served, &slow), begun("1"));
        let (mut output, never) = (|_, _: &[u8]| (), Cancellation::new());
        tokio::select! {
            ended = client.resume(&run, 0, &mut output, &never) => panic!("{ended:?}"),
            () = until_held(&slow, 1) => {}
        }
    }
    until_held(&slow, 0).await;
    let library = Arc::new(FakeLibrary::with(&[(GIT, &root)]));
    let (client, run) = (client(&served, &library), begun("1"));
    let mut log = Vec::new();
    let mut output = |_, bytes: &[u8]| log.extend_from_slice(bytes);
    let result = client
        .resume(&run, 0, &mut output, &Cancellation::new())
        .await;
    assert!(result.unwrap().status.is_success());
    assert_eq!(log, b"hello\n");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_from_steps_precede_those_of_the_job() {
    let served = Served::start().await;
    let image = served.path("image");
    write(&image.join("func.yml"), &say("world"));
    write(&image.join("say.sh"), SAY);
    let other = "registry.example.com/org/other:1";
    let library = Arc::new(FakeLibrary::with(&[(IMAGE, &image), (other, &image)]));
    let steps = r#"
- {name: a, func: "registry.example.com/org/lib:1.2"}
- name: auth
  script: 'echo "{\"name\":\"DOCKER_AUTH_CONFIG\",\"value\":\"of a step\"}" >>"${{ export_file }}"'
- {name: b, func: "registry.example.com/org/other:1"}
"#;
    let ended = run(
        &served,
        &library,
        request(&served, steps),
        &Cancellation::new(),
    )
    .await;
    assert!(ended.succeeds(), "{}", ended.log);
    let asked = library.asked.lock().clone();
    let configs: Vec<_> = asked
        .iter()
        .map(|it| it.docker_auth_configs.as_slice())
        .collect();
    // The credentials of a step come first, those of the job second.
    assert_eq!(configs[0], ["of the job"]);
    assert_eq!(configs[1], ["of a step", "of the job"]);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_requests_survive_broken_connections() {
    // Only a follower keeps a host request alive; short disconnects do not count.
    let mut served = Served::start().await;
    let root = served.path("repository");
    repository(&root);
    fs::write(root.join("steps/say/more"), vec![7; 20_000]).unwrap();
    sources(&served.path("work"));
    let library = Arc::new(FakeLibrary::with(&[(GIT, &root)]));
    let steps = r#"
- {name: a, func: example.com/group/lib/-/both@v1}
- name: build
  func: builtin://function/oci/build
  inputs: {version: "1.2.3", platforms: {linux/amd64: {files: [tool]}}}
- name: publish
  func: builtin://function/oci/publish
  inputs: {archive: function-image.tar, to_repository: r.example.com/a}
"#;
    let (mut cuts, mut number) = (0, 0);
    while cuts < 100 {
        number += 1;
        let seed = 0x9e37_79b9_7f4a_7c15 ^ (number * 0x1000_0001);
        println!("seed {seed:#x}");
        let way = Arc::new(Way::planned(served.path("socket"), Plan::Random(seed)));
        let client = client_by(Arc::clone(&way) as _, &library);
        served.client.run(request(&served, steps)).await.unwrap();
        let (run, mut log) = (begun("1"), Vec::new());
        let mut output = |_, bytes: &[u8]| log.extend_from_slice(bytes);
        let never = Cancellation::new();
        let result = client.resume(&run, 0, &mut output, &never).await;
        assert!(result.unwrap().status.is_success(), "seed {seed:#x}");
        assert_eq!(log, b"hello\nhello\n", "seed {seed:#x}");
        let archive = fs::read(served.path("work/function-image.tar")).unwrap();
        let sent = library.sent.lock().remove("r.example.com/a");
        assert!(sent == Some(archive), "seed {seed:#x}");
        cuts += way.cuts.load(Ordering::Relaxed);
    }
    // The library is called once for each, however often it is sent.
    let asked = library.whats().len();
    assert_eq!(asked, usize::try_from(number).unwrap() * 2);
    served.stop().await;
}

fn sources(work: &Path) {
    fs::create_dir_all(work).unwrap();
    fs::write(work.join("tool"), vec![9; 15_000]).unwrap();
}
