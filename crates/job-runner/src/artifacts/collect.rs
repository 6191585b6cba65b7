use super::found::{CollectError, Found, take_whole};
use super::pattern::Pattern;
use crate::directories::JobDirectory;
use executor_core::counted;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The largest number of files in an artifact; each costs memory and time.
const MOST_FILES: usize = 500_000;

/// The files that the patterns of an artifact match.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Collected {
    /// Files, symbolic links and empty directories, relative to the project, sorted.
    pub(crate) paths: Vec<PathBuf>,
    /// Non-empty directories that patterns match as a whole.
    pub(crate) directories: BTreeSet<PathBuf>,
    /// The number of files and directories that each pattern matches, by its text.
    pub(crate) found: Vec<(String, usize)>,
    /// The number of files that each pattern of `exclude` removes, by its text.
    pub(crate) excluded: Vec<(String, usize)>,
    /// The number of untracked files.
    pub(crate) untracked: usize,
    /// Warnings about invalid patterns.
    pub(crate) warnings: Vec<String>,
}

/// A line about the files of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CollectedLine {
    /// What was found.
    Found(String),
    /// What is probably a mistake.
    Warning(String),
}

impl Collected {
    /// Returns lines about what the patterns matched, with the messages of GitLab Runner, which users search for.
    pub(crate) fn lines(&self, wants_untracked: bool, project: &Path) -> Vec<CollectedLine> {
        use CollectedLine::{Found, Warning};
        let warnings = self.warnings.iter().cloned().map(Warning);
        let found = self.found.iter().map(|(pattern, count)| match count {
            0 => Warning(format!(
                "{pattern}: no matching files. Ensure that the artifact path is relative to the working directory ({})",
                project.display()
            )),
            _ => Found(format!(
                "{pattern}: found {count} matching artifact files and directories"
            )),
        });
        let untracked = wants_untracked.then(|| match self.untracked {
            0 => Warning("untracked: no files".to_owned()),
            count => Found(format!("untracked: found {}", counted(count, "file"))),
        });
        let excluded = self.excluded.iter();
        let excluded = excluded.map(|(pattern, count)| {
            Found(format!("{pattern}: excluded {}", counted(count, "file")))
        });
        warnings
            .chain(found)
            .chain(untracked)
            .chain(excluded)
            .collect()
    }
}

/// Finds the files below `project` that `patterns` match, adds those of `more`, and removes those that `exclude`
/// matches.
///
/// `**` matches any directories, `*` a part of one name. A pattern that matches a directory takes all of it. Symbolic
/// links are taken as links and never followed. Files outside of the project and the project's own `.git` are not taken.
///
/// # Errors
///
/// When a directory cannot be read, and when a pattern of `exclude` is invalid: its files must not be published.
pub(crate) fn collect(
    project: &JobDirectory,
    patterns: &[String],
    more: &[PathBuf],
    exclude: &[String],
) -> Result<Collected, CollectError> {
    let excluded = exclude.iter().map(|text| {
        let pattern = Pattern::parse(&project.named, text).map_err(|why| CollectError::Exclude {
            pattern: text.clone(),
            why,
        });
        Ok((text, pattern?))
    });
    let excluded = excluded.collect::<Result<Vec<_>, CollectError>>()?;
    let mut collected = Collected::default();
    let mut kept_out = vec![0; excluded.len()];
    let mut is_taken = |path: &Path| {
        let rule = excluded.iter().position(|(_, it)| it.matches(path));
        if let Some(rule) = rule {
            kept_out[rule] += 1;
        }
        rule.is_none()
    };
    let mut all = BTreeSet::new();
    for text in patterns {
        let pattern = match Pattern::parse(&project.named, text) {
            Ok(pattern) => pattern,
            Err(why) => {
                collected.warnings.push(format!("{text}: {why}"));
                continue;
            }
        };
        let mut found = Found::with_limit(MOST_FILES);
        pattern.find(&project.host, &mut found)?;
        collected.warnings.extend(found.warnings);
        found.directories.retain(|path| is_taken(path));
        found.paths.retain(|path| is_taken(path));
        let count = found.directories.len() + found.paths.len();
        collected.found.push((text.clone(), count));
        all.extend(found.paths);
        // An empty directory is a result of the job; others come with their files.
        for directory in found.directories {
            if found.empty.contains(&directory) {
                all.insert(directory);
            } else {
                collected.directories.insert(directory);
            }
        }
    }
    for path in more.iter().filter(|path| is_taken(path)) {
        // Git lists only files and links, but another kind may have replaced one.
        let mut found = Found::with_limit(MOST_FILES);
        take_whole(&project.host, path, &mut found)?;
        collected.warnings.extend(found.warnings);
        collected.untracked += found.paths.len();
        all.extend(found.paths);
    }
    collected.warnings.dedup();
    let kept_out = excluded
        .iter()
        .zip(kept_out)
        .filter(|(_, count)| *count > 0);
    collected.excluded = kept_out
        .map(|((text, _), count)| ((*text).clone(), count))
        .collect();
    collected.paths = all.into_iter().collect();
    Ok(collected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn project() -> tempfile::TempDir {
        let project = tempfile::tempdir().expect("a directory");
        for file in [
            "a.txt",
            "b.bin",
            "dist/x.js",
            "dist/deep/y.js",
            "dist/deep/y.map",
            ".git/HEAD",
        ] {
            let path = project.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, file).expect("written");
        }
        fs::create_dir(project.path().join("dist/empty")).expect("made");
        project
    }

    fn check(patterns: &[&str], exclude: &[&str], expect: &[&str]) {
        let project = project();
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let collected = collect(
            &JobDirectory::local(project.path()),
            &owned(patterns),
            &[],
            &owned(exclude),
        )
        .expect("collected");
        let expect: Vec<PathBuf> = expect.iter().map(PathBuf::from).collect();
        assert_eq!(collected.paths, expect, "{patterns:?} without {exclude:?}");
    }

    #[test]
    fn patterns_take_files_and_whole_directories() {
        check(&["a.txt"], &[], &["a.txt"]);
        check(&["./a.txt", "*.txt"], &[], &["a.txt"]);
        check(&["*.js"], &[], &[]);
        check(&["**/*.js"], &[], &["dist/deep/y.js", "dist/x.js"]);
        check(&["dist/*.js"], &[], &["dist/x.js"]);
        check(
            &["dist/"],
            &[],
            &[
                "dist/deep/y.js",
                "dist/deep/y.map",
                "dist/empty",
                "dist/x.js",
            ],
        );
        check(
            &["di*"],
            &["**/*.map", "dist/empty"],
            &["dist/deep/y.js", "dist/x.js"],
        );
        check(&["{a,b}.*"], &["b.bin"], &["a.txt"]);
        check(&["dist/../a.txt"], &[], &["a.txt"]);
        check(&["{dist/deep/*,b}.map"], &[], &["dist/deep/y.map"]);
        check(&["."], &["dist/**/*"], &["a.txt", "b.bin"]);
    }

    #[test]
    fn patterns_match_as_in_gitlab_runner() {
        let deep = ["dist/deep/y.js", "dist/deep/y.map"];
        // All below a directory is the directory too.
        check(&["dist/empty/**"], &[], &["dist/empty"]);
        check(&["dist/e*/**"], &[], &["dist/empty"]);
        check(&["dist/deep/**"], &[], &deep);
        check(&["dist/deep/**/*"], &["dist/*/y.js"], &["dist/deep/y.map"]);
        check(&["dist/deep"], &["dist/deep/**"], &[]);
        check(&["**/deep/**"], &[], &deep);
        check(&["**/deep"], &[], &deep);
        check(&["dist/**/y.js"], &[], &["dist/deep/y.js"]);
        check(&["dist/**/x.js"], &[], &["dist/x.js"]);
        // Two stars within a name are one.
        check(&["d**p/*"], &[], &[]);
        check(&["dist/d**p/*"], &[], &deep);
        // Classes, and alternatives that may be empty and stand in each other.
        check(&["[ab].*"], &["[!a].*"], &["a.txt"]);
        check(&["[^a].*"], &[], &["b.bin"]);
        check(&["[a-c].{txt,{bin,map}}"], &[], &["a.txt", "b.bin"]);
        check(
            &["{dist/deep/y.map,a.txt}{,.gz}"],
            &[],
            &["a.txt", "dist/deep/y.map"],
        );
        check(&["?.txt"], &[], &["a.txt"]);
        check(&["dist/?/*"], &[], &[]);
        // Excluding a directory keeps nothing out that is in it.
        check(&["dist/deep"], &["dist/deep"], &deep);
        check(&[""], &[], &[]);
        check(&["/"], &[], &[]);
    }

    #[test]
    fn files_without_content_are_skipped_with_a_warning() {
        let project = project();
        let at = |name: &str| project.path().join(name);
        let mode = rustix::fs::Mode::RWXU;
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), fifo, mode, 0).expect("made");
        let socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("bound");
        let patterns = ["*".to_owned(), "pipe".to_owned()];
        let exclude = ["dist/**".to_owned()];
        let untracked = [PathBuf::from("socket"), PathBuf::from("a.txt")];
        let collected = collect(
            &JobDirectory::local(project.path()),
            &patterns,
            &untracked,
            &exclude,
        )
        .expect("collected");
        drop(socket);
        assert_eq!(collected.paths, ["a.txt", "b.bin"].map(PathBuf::from));
        assert_eq!(collected.untracked, 1);
        assert_eq!(collected.excluded, [("dist/**".to_owned(), 6)]);
        let [pipe, socket] = ["pipe: a pipe", "socket: a socket"];
        let expect = [pipe, socket, pipe, socket].map(|what| format!("{what} is not archived"));
        assert_eq!(collected.warnings, expect);
    }

    #[test]
    fn number_of_files_is_limited() {
        let project = project();
        let mut found = Found::with_limit(2);
        let all = take_whole(project.path(), Path::new(""), &mut found);
        let error = all.expect_err("there are more");
        assert!(error.to_string().contains("more than 2 files"), "{error}");
    }

    #[test]
    fn files_outside_of_the_project_are_not_taken() {
        let outside = tempfile::tempdir().expect("a directory");
        fs::write(outside.path().join("secret"), "x").expect("written");
        let project = project();
        std::os::unix::fs::symlink(outside.path(), project.path().join("way")).expect("linked");
        let patterns = [
            "../secret",
            "/etc/passwd",
            "way/secret",
            "way/*",
            "way",
            "**/secret",
        ];
        let patterns = patterns.map(str::to_owned);
        let collected =
            collect(&JobDirectory::local(project.path()), &patterns, &[], &[]).expect("collected");
        assert_eq!(collected.paths, [PathBuf::from("way")]);
        assert_eq!(collected.warnings.len(), 2, "{:?}", collected.warnings);
    }

    #[test]
    fn invalid_exclude_pattern_is_an_error() {
        let project = project();
        for exclude in ["**/*.{map", "[a", "../secret"] {
            let (all, exclude) = (["**/*".to_owned()], [exclude.to_owned()]);
            let error = collect(&JobDirectory::local(project.path()), &all, &[], &exclude)
                .expect_err("refused");
            let text = error.to_string();
            assert!(text.contains(&format!("{:?}", exclude[0])), "{text}");
        }
    }

    #[test]
    fn directories_below_a_pattern_are_not_read() {
        let project = project();
        let pattern = Pattern::parse(project.path(), "*/*.js").expect("a pattern");
        assert!(pattern.reaches_below(Path::new("dist")));
        assert!(!pattern.reaches_below(Path::new("dist/deep")));
        let pattern = Pattern::parse(project.path(), "**/*.js").expect("a pattern");
        assert!(pattern.reaches_below(Path::new("dist/deep")));
    }

    #[test]
    fn absolute_patterns_below_the_project_match() {
        let project = project();
        let pattern = project
            .path()
            .join("dist/*.js")
            .to_string_lossy()
            .into_owned();
        let collected =
            collect(&JobDirectory::local(project.path()), &[pattern], &[], &[]).expect("collected");
        assert_eq!(collected.paths, [PathBuf::from("dist/x.js")]);
    }
}
