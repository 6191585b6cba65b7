//! What a local run takes from elsewhere: where its GitLab is and who asks it, included files,
//! variables, and the server's own reading of the file.

mod options;

pub use options::ElsewhereOptions;
