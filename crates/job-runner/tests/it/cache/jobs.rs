use super::{Scene, cache, has, has_no, job, job_with};
use executor_core::job::{ArtifactWhen, Cache};

#[tokio::test]
async fn later_run_restores_the_cache() {
    let scene = Scene::new();
    let caches = [cache("default", &["dep/", "*.lock", "nope/*"])];
    let make = "mkdir -p dep/bin dep/empty && echo one > dep/a && echo x > x.lock && \
                printf '#!/bin/sh\\necho ran\\n' > dep/bin/run && chmod 755 dep/bin/run && \
                ln -s bin/run dep/link && ln -s /etc/hostname dep/out && echo no > not.cached";
    let log = scene.script(make, &caches).await;
    has(&log, "Checking cache for default...");
    has(&log, "No cache found for default");
    has(&log, "Creating cache default...");
    has(&log, "nope/*: no matching files");
    has(&log, "Created cache");
    let read = "cat dep/a x.lock && test -x dep/link && sh dep/link && test -L dep/link -a -L dep/out -a -d dep/empty && test ! -e not.cached";
    let log = scene.script(read, &caches).await;
    has(&log, "Successfully extracted cache");
    has(&log, "ran");
    has(&log, "Archive is up to date!");
    has_no(&log, "Created cache");
}

#[tokio::test]
async fn only_changed_caches_are_saved() {
    let scene = Scene::new();
    let caches = [cache("k", &["dep"])];
    scene
        .script("mkdir -m 755 dep && echo one > dep/a", &caches)
        .await;
    let files = || scene.caches.entries().expect("listed")[0].files;
    let first = files();
    let changes = [
        "test $(cat dep/a) = one && echo two > dep/a",
        "test $(cat dep/a) = two && chmod 700 dep/a",
        "test $(stat -c %a dep/a) = 700 && touch dep/b",
        "test -e dep/b && rm dep/b",
    ];
    for change in changes {
        let log = scene.script(change, &caches).await;
        has(&log, "Created cache");
        let log = scene.script("cat dep/a", &caches).await;
        has(&log, "Archive is up to date!");
    }
    let entries = scene.caches.entries().expect("listed");
    assert_eq!((entries.len(), files()), (1, first), "{entries:?}");
}

#[tokio::test]
async fn replaced_files_are_saved() {
    let scene = Scene::new();
    let caches = [cache("k", &["dep"])];
    scene.script("mkdir dep && echo one > dep/a", &caches).await;
    // The same path, size, mode and time.
    let script = "touch -r dep/a stamp && echo two > dep/a && touch -r stamp dep/a";
    let log = scene.script(script, &caches).await;
    has(&log, "Created cache");
    scene.script("test $(cat dep/a) = two", &caches).await;
}

#[tokio::test]
async fn policy_selects_pull_and_push() {
    let scene = Scene::new();
    let with = |policy: &str| {
        [Cache {
            policy: policy.to_owned(),
            ..cache("k", &["dep"])
        }]
    };
    let log = scene
        .script("mkdir dep && echo 1 > dep/a", &with("pull"))
        .await;
    has(&log, "Checking cache for k");
    has(&log, "Not uploading cache k due to policy");
    assert_eq!(scene.keys(), [""; 0]);
    let log = scene
        .script("mkdir dep && echo 1 > dep/a", &with("push"))
        .await;
    has(&log, "Not downloading cache k due to policy");
    has_no(&log, "Checking cache");
    let log = scene
        .script(
            "test ! -e dep && mkdir dep && echo 2 > dep/a",
            &with("push"),
        )
        .await;
    has(&log, "Created cache");
    scene
        .script("test $(cat dep/a) = 2 && echo 3 > dep/a", &with("pull"))
        .await;
    let job = job_with("test $(cat dep/a) = 2", &with("$WAY"), &[("WAY", "pull")]);
    let log = scene.run(job, true).await;
    has(&log, "due to policy");
    let log = scene
        .script("test $(cat dep/a) = 2 && echo 4 > dep/a", &with("both"))
        .await;
    has(&log, "\"both\" is not a cache policy");
    scene.script("test $(cat dep/a) = 4", &with("")).await;
}

#[tokio::test]
async fn when_selects_the_result() {
    for (when, after_success, after_failure) in [
        (ArtifactWhen::OnSuccess, true, false),
        (ArtifactWhen::OnFailure, false, true),
        (ArtifactWhen::Always, true, true),
    ] {
        for (script, succeeds, is_saved) in [
            ("echo 1 > a", true, after_success),
            ("echo 1 > a; exit 3", false, after_failure),
        ] {
            let scene = Scene::new();
            let caches = [Cache {
                when,
                ..cache("k", &["a"])
            }];
            let log = scene.run(job(script, &caches), succeeds).await;
            let expect: &[&str] = if is_saved { &["k"] } else { &[] };
            assert_eq!(scene.keys(), expect, "{when:?} {script} {log}");
            assert_eq!(
                log.contains("Saving cache for failed job"),
                is_saved && !succeeds
            );
        }
    }
}

#[tokio::test]
async fn fallback_keys_are_tried_in_order_and_never_written() {
    let scene = Scene::new();
    for key in ["second", "first", "all"] {
        let script = format!("echo {key} > a");
        scene.script(&script, &[cache(key, &["a"])]).await;
    }
    let wanted = Cache {
        fallback_keys: ["none", "first", "second"].map(str::to_owned).to_vec(),
        ..cache("own-$WHO", &["a"])
    };
    let variables = [("WHO", "me"), ("CACHE_FALLBACK_KEY", "all")];
    let script = job_with(
        "test $(cat a) = first && echo mine > a",
        std::slice::from_ref(&wanted),
        &variables,
    );
    let log = scene.run(script, true).await;
    has(&log, "No cache found for own-me");
    has(&log, "No cache found for none");
    has(&log, "Checking cache for first");
    has_no(&log, "Checking cache for second");
    assert_eq!(scene.keys(), ["all", "first", "own-me", "second"]);
    let script = job_with("test $(cat a) = mine", &[wanted], &variables);
    has_no(&scene.run(script, true).await, "Checking cache for none");

    let other = [cache("other", &["a"])];
    let script = job_with("test $(cat a) = all", &other, &variables);
    scene.run(script, true).await;
}

#[tokio::test]
async fn protected_cache_is_never_a_fallback() {
    let scene = Scene::new();
    scene
        .script("echo 1 > a", &[cache("main-protected", &["a"])])
        .await;
    for key in [
        "main-protected",
        "main-protected ",
        "x/../main-protected",
        "main%2Dprotected\\..",
    ] {
        let own = [cache("own", &["a"])];
        let job = job_with("test ! -e a", &own, &[("CACHE_FALLBACK_KEY", key)]);
        scene.run(job, true).await;
    }
    let own = [cache("own", &["a"])];
    let job = job_with(
        "test ! -e a",
        &own,
        &[("CACHE_FALLBACK_KEY", "main-protected")],
    );
    has(&scene.run(job, true).await, "reserved");
}

#[tokio::test]
async fn job_may_have_four_caches() {
    let scene = Scene::new();
    let caches: Vec<Cache> = ["a", "b", "c", "d"]
        .map(|name| cache(name, &[name]))
        .to_vec();
    scene
        .script("for f in a b c d; do echo $f > $f; done", &caches)
        .await;
    assert_eq!(scene.keys(), ["a", "b", "c", "d"]);
    let log = scene.script("cat a b c d", &caches).await;
    assert_eq!(
        log.matches("Successfully extracted cache").count(),
        4,
        "{log}"
    );
    assert_eq!(log.matches("up to date").count(), 4, "{log}");
}

#[tokio::test]
async fn untracked_files_are_cached_on_request() {
    let scene = Scene::new();
    let caches = [Cache {
        untracked: true,
        ..cache("k", &[])
    }];
    let repository = "git init -q . && git config user.name A && git config user.email a@b && \
                      echo known > known && echo ignored > .gitignore && git add . && git commit -qm 1";
    let make = format!("{repository} && echo 1 > new && echo 2 > ignored");
    let log = scene.script(&make, &caches).await;
    has(&log, "Created cache");
    scene
        .script(
            "test $(cat new ignored | wc -l) = 2 && test ! -e known",
            &caches,
        )
        .await;
}

#[tokio::test]
async fn every_format_and_level_is_restored() {
    let scene = Scene::new();
    let formats = ["zip", "zipzstd", "tarzstd"];
    for format in formats {
        for level in ["fastest", "fast", "default", "slow", "slowest"] {
            let caches = [cache(&format!("{format}-{level}"), &["dep"])];
            let variables = [
                ("CACHE_COMPRESSION_FORMAT", format),
                ("CACHE_COMPRESSION_LEVEL", level),
            ];
            let make =
                "mkdir dep && seq 1000 > dep/a && ln -s a dep/l && touch -d @1000000000 dep/a";
            scene.run(job_with(make, &caches, &variables), true).await;
            // The reader need not know the format.
            let read = "test $(cat dep/l | wc -l) = 1000 && test $(stat -c %Y dep/a) = 1000000000";
            let log = scene.script(read, &caches).await;
            has(&log, "up to date");
        }
    }
    let entries = scene.caches.entries().expect("listed");
    for format in formats {
        let kept = entries.iter().filter(|it| it.format == format);
        assert_eq!(kept.count(), 5, "{entries:?}");
    }
}

#[tokio::test]
async fn cache_is_restored_before_artifacts_and_saved_after_after_script() {
    let scene = Scene::new();
    let caches = [cache("k", &["a"])];
    let mut job = job("echo script > a", &caches);
    job.steps.push(executor_core::job::Step {
        name: executor_core::job::Step::AFTER_SCRIPT.to_owned(),
        script: vec!["echo after >> a".to_owned()],
        timeout: 60,
        when: executor_core::job::StepWhen::Always,
        allow_failure: true,
    });
    let log = scene.run(job, true).await;
    let at = |text: &str| {
        log.find(text)
            .unwrap_or_else(|| panic!("no {text:?} in {log}"))
    };
    assert!(at("Restoring cache") < at("Saving cache for successful job"));
    scene.script("test $(wc -l < a) = 2", &caches).await;
}

#[tokio::test]
async fn cache_has_no_files_from_outside_the_project() {
    let scene = Scene::new();
    let outside = scene.root.path().join("secret");
    std::fs::write(&outside, "x").expect("written");
    let absolute = outside.to_str().expect("text");
    let caches = [cache(
        "k",
        &["../../secret", absolute, "/etc/hostname", "way/hostname"],
    )];
    let log = scene.script("ln -s /etc way; mkfifo pipe", &caches).await;
    has(&log, "is outside of the project directory");
    has(&log, "No files to cache");
    assert_eq!(scene.keys(), [""; 0]);
}

#[tokio::test]
async fn secrets_in_a_key_are_not_stored() {
    let scene = Scene::new();
    let caches = [cache("k-$TOKEN", &["a"])];
    let mut job = job("echo 1 > a", &caches);
    job.variables.push(executor_core::JobVariable::masked(
        "TOKEN",
        "hunter2hunter2",
    ));
    let log = scene.run(job, true).await;
    has(&log, "Created cache");
    has_no(&log, "hunter2");
    assert_eq!(scene.keys(), ["k-[MASKED]"]);
    for file in crate::support::files_below(&scene.root.path().join("caches")) {
        let content = std::fs::read(&file).expect("read");
        let has_it = content.windows(7).any(|part| part == b"hunter2");
        assert!(
            !has_it && !file.to_string_lossy().contains("hunter2"),
            "{}",
            file.display()
        );
    }
}

#[tokio::test]
async fn directories_keep_modes_of_their_own() {
    let scene = Scene::new();
    for format in ["zip", "zipzstd", "tarzstd"] {
        let caches = [cache(format, &["dep"])];
        let format = [("CACHE_COMPRESSION_FORMAT", format)];
        // Files that the owner may not write, as in the cache of Go's modules.
        let make = "mkdir -p dep/private dep/shared dep/ro dep/plain && \
                    for d in private shared ro plain; do echo x > dep/$d/a; done && chmod 755 dep dep/plain && \
                    chmod 700 dep/private && chmod 777 dep/shared && chmod 555 dep/ro";
        scene.run(job_with(make, &caches, &format), true).await;
        let read = "test \"$(stat -c %a dep dep/private dep/shared dep/ro dep/plain | tr '\\n' ' ')\" = '755 700 777 755 755 '";
        let log = scene.script(read, &caches).await;
        has(&log, "up to date");
        // A file that is created and removed is not a change.
        let log = scene.script("touch dep/private/b && rm dep/private/b", &caches);
        has(&log.await, "up to date");
        let log = scene.script("chmod 711 dep/private", &caches).await;
        has(&log, "Created cache");
        let log = scene.script("chmod 755 dep/private", &caches).await;
        has(&log, "Created cache");
        let log = scene.script("test $(stat -c %a dep/private) = 755", &caches);
        has(&log.await, "up to date");
    }
}

#[tokio::test]
async fn highly_compressible_files_are_restored() {
    let scene = Scene::new();
    let caches = [cache("k", &["zeroes"])];
    let make = job_with(
        "truncate -s 300M zeroes",
        &caches,
        &[("CACHE_COMPRESSION_FORMAT", "tarzstd")],
    );
    scene.run(make, true).await;
    let log = scene
        .script("test $(stat -c %s zeroes) = 314572800", &caches)
        .await;
    has(&log, "Successfully extracted cache");
}
