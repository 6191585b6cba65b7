use pipeline::glob::Affixes;
use std::cmp::Ordering;

/// Paths in two orders, to find those with a given beginning or end quickly.
#[derive(Debug)]
pub(super) struct FileIndex<'f> {
    forwards: Vec<&'f str>,
    /// The same paths, ordered by their reversed bytes.
    backwards: Vec<&'f str>,
}

impl<'f> FileIndex<'f> {
    pub(super) fn new(paths: impl Iterator<Item = &'f str>) -> Self {
        let mut forwards: Vec<&str> = paths.collect();
        forwards.sort_unstable();
        forwards.dedup();
        let mut backwards = forwards.clone();
        backwards.sort_unstable_by(|left, right| compare_backwards(left, right));
        Self {
            forwards,
            backwards,
        }
    }

    /// Returns the paths that may match a glob with these affixes: those with its prefix or those
    /// with its suffix, whichever are fewer.
    pub(super) fn candidates(&self, affixes: &Affixes) -> &[&'f str] {
        let Affixes { prefix, suffix } = affixes;
        let beginning = range(&self.forwards, |path| {
            if path.starts_with(prefix) {
                return Ordering::Equal;
            }
            (**path).cmp(prefix)
        });
        let ending = range(&self.backwards, |path| {
            if path.ends_with(suffix) {
                return Ordering::Equal;
            }
            compare_backwards(path, suffix)
        });
        if beginning.len() <= ending.len() {
            beginning
        } else {
            ending
        }
    }

    /// Returns all paths.
    pub(super) fn all(&self) -> &[&'f str] {
        &self.forwards
    }
}

fn compare_backwards(left: &str, right: &str) -> Ordering {
    left.bytes().rev().cmp(right.bytes().rev())
}

/// Returns the part of a sorted list for which `compare` returns `Equal`.
fn range<'l, 'f>(list: &'l [&'f str], compare: impl Fn(&&str) -> Ordering) -> &'l [&'f str] {
    let begin = list.partition_point(|path| compare(path) == Ordering::Less);
    let rest = &list[begin..];
    let end = rest.partition_point(|path| compare(path) == Ordering::Equal);
    &rest[..end]
}
