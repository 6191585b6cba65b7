use crate::support::{Fixture, config};
use executor_core::prelude::*;
use executor_shell::{InheritEnvironment, ShellConfig};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn file_variables_are_private_files() {
    let mut fixture = Fixture::new(config()).await;
    let content: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    fixture.set_file("CERTIFICATE", &content);
    let output = fixture
        .output("echo $CERTIFICATE; stat -c %a $CERTIFICATE; wc -c <$CERTIFICATE")
        .await;
    let path = fixture.temp_dir().join("CERTIFICATE");
    assert_eq!(
        output,
        format!("{}\n600\n{}\n", path.display(), content.len())
    );
    assert!(fs::read(path).unwrap() == content);
}

#[tokio::test]
async fn file_variables_are_written_for_each_stage() {
    let mut fixture = Fixture::new(config()).await;
    fixture.set_file("KEY", b"right");
    let elsewhere = fixture.path("elsewhere");
    fs::write(&elsewhere, "untouched").unwrap();
    fixture
        .run(&format!("ln -sf {} $KEY", elsewhere.display()))
        .await;
    assert_eq!(fixture.output("cat $KEY").await, "right");
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "untouched");
}

#[tokio::test]
async fn removed_temporary_directory_is_created_again() {
    let mut fixture = Fixture::new(config()).await;
    fixture.set_file("KEY", b"right");
    let temp_dir = fixture.temp_dir();
    fixture.run(&format!("rm -rf {}", temp_dir.display())).await;
    assert_eq!(fixture.output("cat $KEY").await, "right");
    let mode = fs::metadata(temp_dir).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn name_that_leaves_the_directory_is_refused() {
    for key in ["../x", "a/b", "", ".", ".script.sh"] {
        let mut fixture = Fixture::new(config()).await;
        fixture.set_file(key, b"x");
        let error = fixture.try_run("true").await.unwrap_err();
        assert!(
            matches!(error, BuildError::Config { .. }),
            "{key:?}: {error:?}"
        );
    }
}

#[tokio::test]
async fn too_large_variable_is_named() {
    let mut fixture = Fixture::new(config()).await;
    fixture.set("A=B", "x");
    let error = fixture.try_run("true").await.unwrap_err();
    assert!(matches!(error, BuildError::Config { .. }), "{error:?}");
    assert!(error.to_string().contains("A=B"), "{error}");

    let mut fixture = Fixture::new(config()).await;
    fixture.set("HUGE", &"x".repeat(1 << 20));
    let error = fixture.try_run("true").await.unwrap_err();
    assert!(matches!(error, BuildError::Config { .. }), "{error:?}");
    assert!(
        error.to_string().contains("HUGE with 1048576 bytes"),
        "{error}"
    );
}

#[tokio::test]
async fn only_chosen_variables_are_inherited() {
    let inherit_environment = InheritEnvironment::Only(vec!["PATH".to_owned()]);
    let mut fixture = Fixture::new(ShellConfig {
        inherit_environment,
        ..config()
    })
    .await;
    fixture.set("OWN", "1");
    let output = fixture.output("env | cut -d= -f1 | sort").await;
    let names: Vec<_> = output.lines().collect();
    // The shell sets three variables; the marker identifies the job's processes.
    assert_eq!(
        names,
        [
            "OWN",
            "PATH",
            "PWD",
            "RUNWRIGHT_PROCESS_MARKER",
            "SHLVL",
            "_"
        ]
    );
}
