use super::description::Files;
use super::error::ImageError;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The entries of a layer, by path in the image.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Contents(pub(super) BTreeMap<PathBuf, Entry>);

/// An entry of a layer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Directory,
    /// A file at this path below the working directory; the path has no links.
    File(PathBuf),
    Link(PathBuf),
}

impl Contents {
    /// Collects files below `sources`, a path without links; `left_out` is skipped.
    pub(super) fn collect(
        sources: &Path,
        files: &Files,
        left_out: &Path,
    ) -> Result<Self, ImageError> {
        let mut contents = Self::default();
        for (to, from) in files {
            let source = sources.join(from);
            let real = source
                .canonicalize()
                .map_err(ImageError::io("find", &source))?;
            if !real.starts_with(sources) {
                let why = "leads out of the working directory";
                return Err(ImageError::entry(&source, why));
            }
            contents.add_parents(to)?;
            if real.is_dir() {
                contents.add_directory(sources, &real, to, left_out)?;
            } else if to.as_os_str().is_empty() {
                let why = "is a file, which needs a name in the image";
                return Err(ImageError::entry(&source, why));
            } else {
                contents.add_file(sources, &real, to)?;
            }
        }
        Ok(contents)
    }

    fn add_parents(&mut self, path: &Path) -> Result<(), ImageError> {
        for parent in path.ancestors().skip(1) {
            self.add(parent, Entry::Directory)?;
        }
        Ok(())
    }

    fn add_directory(
        &mut self,
        sources: &Path,
        directory: &Path,
        to: &Path,
        left_out: &Path,
    ) -> Result<(), ImageError> {
        let mut open = vec![(directory.to_owned(), to.to_owned())];
        while let Some((directory, to)) = open.pop() {
            self.add(&to, Entry::Directory)?;
            let entries = fs::read_dir(&directory).map_err(ImageError::io("read", &directory))?;
            for entry in entries {
                let entry = entry.map_err(ImageError::io("read", &directory))?;
                let (path, to) = (entry.path(), to.join(entry.file_name()));
                let kind = entry.file_type().map_err(ImageError::io("read", &path))?;
                if path == left_out {
                    continue;
                }
                if kind.is_dir() {
                    open.push((path, to));
                } else if kind.is_symlink() {
                    self.add_link(&path, &to)?;
                } else if kind.is_file() {
                    self.add_file(sources, &path, &to)?;
                }
            }
        }
        Ok(())
    }

    fn add_file(&mut self, sources: &Path, path: &Path, to: &Path) -> Result<(), ImageError> {
        let below = path.strip_prefix(sources).unwrap_or(path).to_owned();
        self.add(to, Entry::File(below))
    }

    fn add_link(&mut self, path: &Path, to: &Path) -> Result<(), ImageError> {
        let target = fs::read_link(path).map_err(ImageError::io("read", path))?;
        if leads_out(to, &target) {
            return Err(ImageError::entry(
                path,
                "is a link that leads out of the image",
            ));
        }
        self.add(to, Entry::Link(target))
    }

    fn add(&mut self, path: &Path, entry: Entry) -> Result<(), ImageError> {
        if path.as_os_str().is_empty() {
            return Ok(());
        }
        match self.0.get(path) {
            Some(Entry::Directory) if entry == Entry::Directory => Ok(()),
            Some(_) => Err(ImageError::Twice(path.to_owned())),
            None => {
                self.0.insert(path.to_owned(), entry);
                Ok(())
            }
        }
    }
}

/// Returns whether a link in the image leads out of it.
fn leads_out(link: &Path, target: &Path) -> bool {
    let mut depth = link.components().count().saturating_sub(1);
    for component in target.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth > 0 => depth -= 1,
            _ => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn files(pairs: &[(&str, &str)]) -> Files {
        let pairs = pairs.iter();
        pairs.map(|(to, from)| (to.into(), from.into())).collect()
    }

    #[test]
    fn entries_are_collected_without_leaving_the_directory() {
        let folder = tempfile::tempdir().unwrap();
        let sources = folder.path().canonicalize().unwrap();
        let work = sources.join("work");
        fs::create_dir_all(work.join("lib/deep")).unwrap();
        fs::write(work.join("func.yml"), "").unwrap();
        fs::write(work.join("lib/deep/a"), "").unwrap();
        fs::write(work.join("lib/old.tar"), "").unwrap();
        fs::write(sources.join("outside"), "").unwrap();
        symlink("deep/a", work.join("lib/link")).unwrap();
        symlink("../outside", work.join("out")).unwrap();
        let collect = |pairs: &[(&str, &str)]| {
            Contents::collect(&work, &files(pairs), &work.join("lib/old.tar"))
        };
        let contents = collect(&[("x/y", "lib"), ("func.yml", "func.yml")]).unwrap();
        let names: Vec<_> = contents
            .0
            .keys()
            .map(|path| path.to_str().unwrap())
            .collect();
        let expect = ["func.yml", "x", "x/y", "x/y/deep", "x/y/deep/a", "x/y/link"];
        assert_eq!(names, expect);
        let file = &contents.0[Path::new("x/y/deep/a")];
        assert_eq!(*file, Entry::File("lib/deep/a".into()));
        let wrong = |pairs: &[(&str, &str)]| collect(pairs).unwrap_err().to_string();
        assert!(wrong(&[("a", "out")]).contains("leads out of the working directory"));
        assert!(wrong(&[("", "func.yml")]).contains("needs a name"));
        assert!(
            wrong(&[("a", "func.yml"), ("a/b", "func.yml")]).contains("two files have the path a")
        );
        assert!(wrong(&[("a", "gone")]).starts_with("find "));
        assert!(wrong(&[("", "")]).contains("is a link that leads out of the image"));
    }

    #[test]
    fn link_targets_are_checked_by_depth() {
        let check = |link: &str, target: &str, expect: bool| {
            assert_eq!(
                leads_out(Path::new(link), Path::new(target)),
                expect,
                "{link}"
            );
        };
        check("a", "b", false);
        check("a/b", "../c", false);
        check("a", "../c", true);
        check("a/b", "../../c", true);
        check("a", "/etc", true);
        check("a", "b/../../c", true);
    }
}
