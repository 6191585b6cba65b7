//! Runs the committed input.

use std::fs;
use std::path::Path;

#[test]
fn committed_inputs_pass() {
    for (name, run) in fuzz::TARGETS {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(name);
        let files: Vec<_> = fs::read_dir(&directory)
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        assert!(files.len() >= 5, "{name} has {} inputs", files.len());
        for file in files {
            run(&fs::read(&file).unwrap());
        }
    }
}
