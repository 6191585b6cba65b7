//! The text files of the repository.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// A file whose content is text.
#[derive(Debug)]
pub(crate) struct TextFile {
    /// Relative to the root, with `/` between folders.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    /// Whether the name has this extension.
    pub(crate) fn is(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == extension)
    }
}

/// Folders of build results or of git.
const SKIPPED: [&str; 2] = ["target", ".git"];

/// Returns every text file below the root, sorted by path. It reads the file system rather than git, so that a copy
/// without history is checked too.
///
/// # Errors
///
/// Fails when a folder or file cannot be read.
pub(crate) fn text_files(root: &Path) -> anyhow::Result<Vec<TextFile>> {
    let mut files = Vec::new();
    collect(root, "", &mut files)?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<TextFile>) -> anyhow::Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("read folder {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).with_context(|| format!("read {path}"))?;
            // Only UTF-8 counts as text; test data may be invalid on purpose.
            files.extend(
                String::from_utf8(bytes)
                    .ok()
                    .map(|text| TextFile { path, text }),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_text_files_and_skips_others() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["src", "target", ".git"] {
            fs::create_dir(root.path().join(folder)).unwrap();
            fs::write(root.path().join(folder).join("a.rs"), "text").unwrap();
        }
        fs::write(root.path().join("image.bin"), [0xff, 0xfe]).unwrap();
        fs::write(root.path().join(".ci.yml"), "text").unwrap();
        let paths: Vec<_> = text_files(root.path())
            .unwrap()
            .into_iter()
            .map(|file| file.path)
            .collect();
        assert_eq!(paths, [".ci.yml", "src/a.rs"]);
    }
}
