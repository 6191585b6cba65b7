use crate::include::Wildcard;
use crate::repository::{Paths, Repository, RepositoryError};
use executor_core::job::{CacheDefinition, CacheKeyDefinition, CacheKeyFiles, JobDefinition};
use sha1::{Digest, Sha1};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;
use yaml::diagnostic::Diagnostic;

/// The digest when none of the files exists.
const NO_FILES: &str = "default";

/// The keys computed from files, each once for all jobs that name the same files.
#[derive(Debug)]
pub(super) struct CacheKeys<'a> {
    repository: &'a dyn Repository,
    digests: HashMap<Files, Option<String>>,
    paths: Option<Paths>,
}

/// Files, and whether their contents or last commits count.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Files {
    Contents(Vec<String>),
    Commits(Vec<String>),
}

impl<'a> CacheKeys<'a> {
    pub(super) fn new(repository: &'a dyn Repository) -> Self {
        Self {
            repository,
            digests: HashMap::new(),
            paths: None,
        }
    }

    /// Replaces the files of a job's cache keys by the computed keys.
    pub(super) fn resolve(
        &mut self,
        definition: &mut Arc<JobDefinition>,
    ) -> Result<(), Diagnostic> {
        let caches = definition.cache.iter().flatten();
        if !caches.map(files_of).any(|files| files.is_some()) {
            return Ok(());
        }
        let definition = Arc::make_mut(definition);
        let caches = definition.cache.iter_mut().flatten();
        for (index, cache) in caches.enumerate() {
            let Some(files) = files_of(cache) else {
                continue;
            };
            let key = self.key(index, files).map_err(|error| {
                let name = &definition.name;
                let message = format!("`{name}`: the key of its cache cannot be computed: {error}");
                Diagnostic::error("not-created", message)
            })?;
            cache.key = Some(CacheKeyDefinition::Text(key));
        }
        Ok(())
    }

    fn key(&mut self, index: usize, key: &CacheKeyFiles) -> Result<String, RepositoryError> {
        let clean = |files: &Vec<String>| {
            files
                .iter()
                .map(|file| without_slash(file).to_owned())
                .collect()
        };
        let by_content = key
            .files
            .as_ref()
            .map(|files| Files::Contents(clean(files)));
        let by_commit = key.files_commits.as_ref();
        let by_commit = by_commit.map(|files| Files::Commits(clean(files)));
        let digest = match by_content.or(by_commit) {
            Some(files) => self.digest(files)?,
            None => None,
        };
        let prefix = key.prefix.clone().unwrap_or_else(|| prefix(index, key));
        let digest = digest.unwrap_or_else(|| NO_FILES.to_owned());
        Ok(if prefix.trim().is_empty() {
            digest
        } else {
            format!("{prefix}-{digest}")
        })
    }

    fn digest(&mut self, files: Files) -> Result<Option<String>, RepositoryError> {
        if let Some(known) = self.digests.get(&files) {
            return Ok(known.clone());
        }
        let (Files::Contents(names) | Files::Commits(names)) = &files;
        let mut ids = BTreeSet::new();
        for path in self.existing(names)? {
            ids.extend(match files {
                Files::Contents(_) => self.repository.blob_id(&path)?,
                Files::Commits(_) => self.repository.last_commit_of(&path)?,
            });
        }
        let ids: Vec<String> = ids.into_iter().collect();
        let digest = (!ids.is_empty()).then(|| hexadecimal(&ids.join("-")));
        self.digests.insert(files, digest.clone());
        Ok(digest)
    }

    /// Returns the paths that names match; a name with `*` can match any number of files.
    fn existing(&mut self, names: &[String]) -> Result<Vec<String>, RepositoryError> {
        let mut existing = Vec::new();
        for name in names {
            if !name.contains('*') {
                existing.push(name.clone());
                continue;
            }
            let paths = match &self.paths {
                Some(paths) => Arc::clone(paths),
                None => Arc::clone(self.paths.insert(self.repository.files()?)),
            };
            let wildcard = Wildcard::new(name);
            existing.extend(paths.iter().filter(|path| wildcard.is_match(path)).cloned());
        }
        Ok(existing)
    }
}

fn files_of(cache: &CacheDefinition) -> Option<&CacheKeyFiles> {
    match cache.key.as_ref()? {
        CacheKeyDefinition::Files(files) => Some(files),
        CacheKeyDefinition::Text(_) => None,
    }
}

/// Returns the default prefix of a key: the index of the cache, and the names of its files without
/// extensions.
fn prefix(index: usize, key: &CacheKeyFiles) -> String {
    let stem = |file: &String| {
        let file = without_slash(file);
        file.split('.').next().unwrap_or_default().to_owned()
    };
    match &key.files {
        Some(files) => {
            let stems: Vec<String> = files.iter().map(stem).collect();
            format!("{index}_{}", stems.join("_"))
        }
        None => index.to_string(),
    }
}

/// Returns a path relative to the top of the project.
fn without_slash(file: &str) -> &str {
    file.trim_start_matches('/')
}

fn hexadecimal(text: &str) -> String {
    let digest = Sha1::digest(text);
    digest.iter().fold(String::new(), |mut shown, byte| {
        let _ = write!(shown, "{byte:02x}");
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::KnownRepository;

    fn check(key: &CacheKeyFiles, expect: &str) {
        let pair = |path: &str, id: &str| (path.to_owned(), id.to_owned());
        let repository = KnownRepository {
            files: ["a/one.lock", "a/two.lock", "go.sum"]
                .map(String::from)
                .into(),
            blob_ids: vec![
                pair("a/one.lock", "2"),
                pair("a/two.lock", "1"),
                pair("go.sum", "2"),
            ],
            last_commits: vec![pair("go.sum", "c")],
            ..KnownRepository::default()
        };
        let mut keys = CacheKeys::new(&repository);
        let found = keys.key(1, key).unwrap();
        assert_eq!(found, expect, "of {key:?}");
    }

    #[test]
    fn the_key_is_a_digest_of_the_sorted_ids_of_files() {
        let files = |files: &[&str], prefix: Option<&str>| CacheKeyFiles {
            files: Some(files.iter().map(|&file| file.to_owned()).collect()),
            prefix: prefix.map(ToOwned::to_owned),
            ..CacheKeyFiles::default()
        };
        let both = hexadecimal("1-2");
        let all = ["a/one.lock", "go.sum", "a/two.lock"];
        check(&files(&all, Some("p")), &format!("p-{both}"));
        check(&files(&all, Some("")), &both);
        check(&files(&["/a/*.lock"], None), &format!("1_a/*-{both}"));
        check(
            &files(&["//go.sum"], None),
            &format!("1_go-{}", hexadecimal("2")),
        );
        check(&files(&["no.lock"], None), "1_no-default");
        let commits = CacheKeyFiles {
            files_commits: Some(vec!["go.sum".to_owned()]),
            ..CacheKeyFiles::default()
        };
        check(&commits, &format!("1-{}", hexadecimal("c")));
    }
}
