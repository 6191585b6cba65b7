use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use web::Resolver;

/// The names of a test. Each has a list of lookup results, the last of which repeats; lookups are counted.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    /// Returns a resolver for these names; each lookup of a name takes its next list of addresses.
    pub(crate) fn new(names: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let parse = |answer: &&[&str]| {
            let addresses = answer.iter().map(|address| address.parse());
            addresses.collect::<Result<Vec<_>, _>>().expect("addresses")
        };
        let known = names.iter().map(|(name, answers)| {
            // Results are popped from the end, so the first one goes last.
            let answers = answers.iter().rev().map(parse).collect();
            ((*name).to_owned(), answers)
        });
        Arc::new(Self {
            known: Mutex::new(known.collect()),
            asked: Mutex::default(),
        })
    }

    /// Returns a resolver that resolves all of these names to this machine.
    pub(crate) fn here(names: &[&str]) -> Arc<Self> {
        let names: Vec<_> = names.iter().map(|name| (*name, HERE)).collect();
        Self::new(&names)
    }

    /// Returns the names that were looked up.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().clone()
    }
}

const HERE: &[&[&str]] = &[&["127.0.0.1"]];

#[async_trait]
impl Resolver for Names {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().push(host.to_owned());
        let mut known = self.known.lock();
        let Some(answers) = known.get_mut(host) else {
            return Err(io::Error::other("name or service not known"));
        };
        let last = answers.len() == 1;
        let next = if last {
            answers.last().cloned()
        } else {
            answers.pop()
        };
        Ok(next.unwrap_or_default())
    }
}
