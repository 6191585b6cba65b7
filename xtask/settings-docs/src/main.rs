//! Writes what the documentation has of the table of settings, the reference in the guide and the schemas:
//! `cargo xtask settings-docs` builds this program and runs it.

mod reference;

use anyhow::Context;
use reference::reference;
use std::fs;
use std::path::{Path, PathBuf};
use workstation::SettingsFile;

const BEGIN: &str = "<!-- made from the table of settings: begin -->\n";
const END: &str = "<!-- made from the table of settings: end -->\n";

fn main() -> anyhow::Result<()> {
    for (path, text) in documents()? {
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

/// Returns each file with the text that the table gives it.
fn documents() -> anyhow::Result<Vec<(PathBuf, String)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let guide = folder.join("book/src/settings.md");
    let text = fs::read_to_string(&guide).context("read the page of the guide")?;
    let (before, rest) = text.split_once(BEGIN).context("find the reference")?;
    let (_, after) = rest
        .split_once(END)
        .context("find the end of the reference")?;
    let mut documents = vec![(
        guide,
        format!("{before}{BEGIN}\n{}{END}{after}", reference()),
    )];
    for (file, name) in [
        (SettingsFile::Project, "runwright.schema.json"),
        (SettingsFile::User, "runwright.user.schema.json"),
    ] {
        let schema = serde_json::to_string_pretty(&file.schema())?;
        documents.push((folder.join(name), schema + "\n"));
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_those_of_the_table() {
        for (path, text) in documents().unwrap() {
            assert!(
                fs::read_to_string(&path).unwrap_or_default() == text,
                "{} differs from the table of settings; `cargo xtask settings-docs` writes it",
                path.display()
            );
        }
    }
}
