use crate::config::policy::effective_user;
use crate::config::{ImageOptions, SourcesChoice};
use crate::engine::names::Names;
use crate::job::files::JobFiles;
use crate::job::files::chown;
use crate::job::prepare::preparation::Preparation;
use std::path::Path;

impl Preparation {
    /// Says where the job's files are going to be, before it is known whether they can be there: whoever
    /// waits for that brings them while images are pulled.
    ///
    /// Only the engine can say whether it sees this host's files, and only the image who its user is. What
    /// is likely is announced: files of this host for an engine behind a socket of this host.
    pub(crate) fn announce_files(&self, said: &ImageOptions, names: &Names) {
        let Some(planned) = &self.options.planned else {
            return;
        };
        let root = self.options.config.host_builds_dir.as_deref();
        let Some(root) = root.filter(|_| self.is_likely_to_mount(said)) else {
            return;
        };
        // What is wrong with the directories is told when they are made.
        if let Ok(files) =
            JobFiles::mounted(Path::new(root), &self.dirs, &self.options, names.base())
        {
            planned.announce(files.workspace(None));
        }
    }

    fn is_likely_to_mount(&self, said: &ImageOptions) -> bool {
        let user = effective_user(&self.settings, said.user.as_deref());
        let of_image = "";
        self.engine.is_local()
            && self.settings.sources != SourcesChoice::Copy
            && self.options.project_dir.is_none()
            && (chown::may_give()
                || chown::is_root_or(user.unwrap_or(of_image), chown::ourselves()))
    }
}
