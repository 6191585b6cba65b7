//! Follows `mod` lines from the targets of a package, so that only tests of compiled files are found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::source::items::{Items, ModFile, TestFn, items};
use crate::workspace::{Package, Target};

/// The tests of one target of a package, with the functions that may help them.
#[derive(Debug, Default)]
pub(crate) struct PackageTests {
    /// Each test with its file.
    pub(crate) tests: Vec<(PathBuf, TestFn)>,
    /// Whether these are integration tests, as in `tests/it`.
    pub(crate) is_integration: bool,
    /// The identifiers and string literals in the body of each function that is not a test. Functions with the same
    /// name share an entry.
    helpers: BTreeMap<String, BTreeSet<String>>,
}

impl PackageTests {
    /// Returns the identifiers and literals of a test and of the helpers that it calls, directly or indirectly.
    pub(crate) fn reach<'a>(&'a self, test: &'a TestFn) -> BTreeSet<&'a str> {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut pending: Vec<&str> = test.words.iter().map(String::as_str).collect();
        while let Some(word) = pending.pop() {
            if reached.insert(word)
                && let Some(words) = self.helpers.get(word)
            {
                pending.extend(words.iter().map(String::as_str));
            }
        }
        reached
    }
}

/// Returns the test functions of a package that a plain `cargo test` builds, target by target.
///
/// # Errors
///
/// Fails when a source file cannot be read or a declared module has no file.
pub(crate) fn tests_of(package: &Package) -> anyhow::Result<Vec<PackageTests>> {
    let targets = package.targets.iter().filter(|target| target.test);
    targets
        .map(|target| {
            let mut found = PackageTests {
                is_integration: target.kind.iter().any(|kind| kind == "test"),
                ..PackageTests::default()
            };
            let root = Module {
                file: target.src_path.clone(),
                folder: target.src_path.parent().unwrap_or(Path::new("")).to_owned(),
                path: crate_path(package, target),
            };
            walk(&root, &mut found)?;
            Ok(found)
        })
        .collect()
}

/// A module in a file of its own.
#[derive(Debug)]
struct Module {
    file: PathBuf,
    /// The directory of its child modules.
    folder: PathBuf,
    path: String,
}

fn walk(module: &Module, found: &mut PackageTests) -> anyhow::Result<()> {
    let source = fs::read_to_string(&module.file)
        .with_context(|| format!("read {}", module.file.display()))?;
    let Items {
        tests,
        functions,
        modules,
    } = items(&source);
    for mut test in tests {
        test.path = format!("{}::{}", module.path, test.path);
        found.tests.push((module.file.clone(), test));
    }
    for function in functions {
        let words = found.helpers.entry(function.name).or_default();
        words.extend(function.words);
    }
    for declared in modules.iter().filter(|declared| declared.runs) {
        walk(&child(module, declared)?, found)?;
    }
    Ok(())
}

/// Finds the file of a declared module where the compiler would.
fn child(parent: &Module, declared: &ModFile) -> anyhow::Result<Module> {
    let mut folder = parent.folder.clone();
    folder.extend(&declared.inside);
    let inside = declared.inside.iter().chain([&declared.name]);
    let path = inside.fold(parent.path.clone(), |path, name| format!("{path}::{name}"));
    if let Some(file) = &declared.file {
        let file = parent.file.with_file_name(file);
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        return Ok(Module { file, folder, path });
    }
    let own_folder = folder.join(&declared.name);
    let candidates = [
        folder.join(format!("{}.rs", declared.name)),
        own_folder.join("mod.rs"),
    ];
    let Some(file) = candidates.into_iter().find(|file| file.is_file()) else {
        bail!(
            "{} declares `mod {}`, which has no file",
            parent.file.display(),
            declared.name
        );
    };
    Ok(Module {
        file,
        folder: own_folder,
        path,
    })
}

/// Returns the path prefix of a target's tests: the package, then the target unless it is the library.
fn crate_path(package: &Package, target: &Target) -> String {
    let package_name = package.folder_name().replace('-', "_");
    if target.kind.iter().any(|kind| kind == "lib") {
        return package_name;
    }
    format!("{package_name}::{}", target.name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a package with a library and one integration test and returns the paths of its tests.
    fn walk_package(files: &[(&str, &str)]) -> anyhow::Result<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let target = |kind: &str, name: &str, file: &str, test| Target {
            name: name.to_owned(),
            kind: vec![kind.to_owned()],
            src_path: folder.path().join(file),
            test,
        };
        let package = Package {
            name: "some-crate".to_owned(),
            manifest_path: "some-crate/Cargo.toml".into(),
            dependencies: Vec::new(),
            targets: vec![
                target("lib", "some_crate", "src/lib.rs", true),
                target("test", "it", "tests/it/main.rs", true),
                target("bench", "speed", "benches/speed.rs", false),
            ],
            publish: None,
        };
        Ok(tests_of(&package)?
            .into_iter()
            .flat_map(|target| target.tests)
            .map(|(_, test)| test.path)
            .collect())
    }

    #[test]
    fn module_files_resolve_as_in_the_compiler() {
        let paths = walk_package(&[
            ("src/lib.rs", "mod one;\nmod two;\n#[test] fn top() {}"),
            ("src/one.rs", "mod deep;"),
            ("src/one/deep.rs", "#[test] fn a() {}"),
            (
                "src/two/mod.rs",
                "#[cfg(test)] mod tests { #[test] fn b() {} }",
            ),
            ("src/orphan.rs", "#[test] fn nobody_compiles_this() {}"),
            ("tests/it/main.rs", "mod jobs;"),
            ("tests/it/jobs.rs", "#[test] fn c() {}"),
        ]);
        assert_eq!(
            paths.unwrap(),
            [
                "some_crate::top",
                "some_crate::one::deep::a",
                "some_crate::two::tests::b",
                "some_crate::it::jobs::c",
            ]
        );
    }

    #[test]
    fn test_includes_the_words_of_its_helpers() {
        let source =
            "#[test] fn a() { one(); }\nfn one() { two() }\nfn two() { \"x\"; }\nfn other() { y }";
        let mut found = PackageTests::default();
        let items = items(source);
        for function in items.functions {
            found.helpers.insert(function.name, function.words);
        }
        let reach = found.reach(&items.tests[0]);
        assert_eq!(
            reach.into_iter().collect::<Vec<_>>(),
            ["\"x\"", "one", "two"]
        );
    }

    #[test]
    fn module_without_a_file_is_an_error() {
        let error = walk_package(&[("src/lib.rs", "mod lost;")]).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("declares `mod lost`, which has no file"),
            "{error:#}"
        );
    }
}
