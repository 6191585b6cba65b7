//! The files with the outputs and exports of a step.

use crate::language::{Outputs, Value, bind_outputs, exported, written};
use process::{make_private_dir, remove_tree};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The size limit of these files, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A directory with the output file and the export file of one step. Dropping it removes the directory.
#[derive(Debug)]
pub(super) struct Exchange(PathBuf);

impl Exchange {
    /// Creates the directory with empty files.
    pub(super) fn create(directory: PathBuf) -> io::Result<Self> {
        make_private_dir(&directory)?;
        let exchange = Self(directory);
        File::create_new(exchange.output())?;
        File::create_new(exchange.export())?;
        Ok(exchange)
    }

    pub(super) fn output(&self) -> PathBuf {
        self.0.join("output")
    }

    pub(super) fn export(&self) -> PathBuf {
        self.0.join("export")
    }

    /// Returns the directory, in which the step may put other files.
    pub(super) fn directory(&self) -> &Path {
        &self.0
    }

    /// Returns the path for a script of the step.
    pub(super) fn script(&self) -> PathBuf {
        self.0.join("script")
    }

    /// Reads the outputs of the process.
    pub(super) fn outputs(
        &self,
        declared: Declared<'_>,
    ) -> Result<BTreeMap<String, Value>, String> {
        let text = read(&self.output()).map_err(|error| format!("its output file: {error}"))?;
        let outputs = match declared {
            Declared::By(Outputs::Delegated) => delegated(&text),
            Declared::By(Outputs::Declared(declared)) => written(&text)
                .and_then(|given| bind_outputs(declared, given))
                .map_err(|error| error.to_string()),
            Declared::Nowhere => written(&text).map_err(|error| error.to_string()),
        };
        outputs.map_err(|error| format!("its output file: {error}"))
    }

    /// Reads the exports of the process.
    pub(super) fn exports(&self) -> Result<BTreeMap<String, String>, String> {
        let exports = read(&self.export()).and_then(|text| {
            let exports = written(&text).and_then(exported);
            exports.map_err(|error| error.to_string())
        });
        exports.map_err(|error| format!("its export file: {error}"))
    }
}

/// The declaration of outputs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Declared<'f> {
    /// In the file of a function.
    By(&'f Outputs),
    /// None: a script may have any outputs.
    Nowhere,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // If this fails, it is removed with the directory of the request.
        let _ = remove_tree(&self.0);
    }
}

/// Parses the result of a step in the JSON form of protobuf, and returns its outputs.
fn delegated(text: &str) -> Result<BTreeMap<String, Value>, String> {
    let json: serde_json::Value = match text.trim() {
        "" => return Err("it is empty, although the outputs are delegated to it".to_owned()),
        text => serde_json::from_str(text).map_err(|error| {
            format!("it is not the JSON of a step result: line {}", error.line())
        })?,
    };
    match json.get("outputs") {
        None if json.is_object() => Ok(BTreeMap::new()),
        Some(serde_json::Value::Object(outputs)) => {
            let outputs = outputs
                .iter()
                .map(|(name, it)| (name.clone(), Value::from(it)));
            Ok(outputs.collect())
        }
        _ => Err("it is not the JSON of a step result".to_owned()),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let words = |error: io::Error| error.to_string();
    let mut text = Vec::new();
    // The process could have replaced the file.
    let file = rustix::fs::open(
        path,
        rustix::fs::OFlags::RDONLY
            | rustix::fs::OFlags::NOFOLLOW
            | rustix::fs::OFlags::NONBLOCK
            | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    );
    let file = match file {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(String::new()),
        Err(error) => return Err(words(error.into())),
    };
    if !file.metadata().map_err(words)?.is_file() {
        return Err("it is not a file any more".to_owned());
    }
    file.take(LARGEST + 1)
        .read_to_end(&mut text)
        .map_err(words)?;
    if text.len() as u64 > LARGEST {
        return Err(format!("it is longer than {LARGEST} bytes"));
    }
    String::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())
}
