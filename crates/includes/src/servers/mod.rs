//! Asks servers: GitLab's API for projects, any address for pages.

mod errors;
mod page;
mod project;

use self::errors::refuse;
use crate::{Answer, Library, LibraryError, ProjectAddress, Question};
use async_trait::async_trait;
use gitlab_api::{Accounts, Client, Instance};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use web::Web;

/// Asks servers: a project's GitLab with its token, all others without one.
#[derive(Debug)]
pub struct Servers {
    web: Web,
    accounts: Arc<dyn Accounts>,
    clients: Mutex<HashMap<Instance, Client>>,
}

impl Servers {
    /// Returns a library that sends its requests through `web`.
    pub fn new(web: Web, accounts: Arc<dyn Accounts>) -> Self {
        Self {
            web,
            accounts,
            clients: Mutex::new(HashMap::new()),
        }
    }

    /// Returns the client of a GitLab; its token is looked up once.
    fn client(&self, project: &ProjectAddress) -> Client {
        let instance = &project.instance;
        let mut clients = self.clients.lock();
        let client = clients.entry(instance.clone()).or_insert_with(|| {
            let token = self.accounts.token(instance);
            let places = self.accounts.places(instance);
            Client::new(self.web.clone(), instance.clone(), token, places)
        });
        client.clone()
    }
}

#[async_trait]
impl Library for Servers {
    async fn ask(&self, question: &Question, etag: Option<&str>) -> Result<Answer, LibraryError> {
        let (address, answer) = match question {
            Question::Page { url, .. } | Question::Template { url, .. } => {
                return page::read(&self.web, url, etag).await;
            }
            Question::Commit { project, reference } => {
                let client = self.client(project);
                let reference = reference.as_deref();
                let answer = project::commit(&client, &project.path, reference, etag).await;
                (reference, answer)
            }
            Question::Tags { project } => {
                let client = self.client(project);
                (None, project::tags(&client, &project.path, etag).await)
            }
            Question::File { project, sha, path } => {
                let client = self.client(project);
                let answer = project::file(&client, &project.path, sha, path, etag).await;
                (Some(sha.as_str()), answer)
            }
            Question::Tree { project, sha } => {
                let client = self.client(project);
                let answer = project::tree(&client, &project.path, sha).await;
                (Some(sha.as_str()), answer)
            }
        };
        answer.map_err(|error| refuse(&error, address))
    }
}
