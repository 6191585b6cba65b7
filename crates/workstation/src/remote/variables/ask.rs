use super::answers::{Answers, Keeper, Wanted};
use super::protection::is_covered;
use super::{Protection, Reference, VariablesError};
use executor_core::job::RefType;
use gitlab_api::{ApiError, Client, Variable, groups_of};
use pipeline::context::Level;
use std::time::Duration;
use tokio::task::JoinSet;

/// The longest time for all requests.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Sends all requests at once.
///
/// A user who may read the variables of a project may be refused those of its groups, which is noted, and usually
/// those of the server, which is not.
pub(super) async fn ask(client: &Client, wanted: &Wanted) -> Result<Answers, VariablesError> {
    match tokio::time::timeout(TIMEOUT, all(client, wanted)).await {
        Ok(answers) => Ok(answers?),
        Err(_) => Err(VariablesError::Late {
            server: client.instance().clone(),
            limit: TIMEOUT,
        }),
    }
}

async fn all(client: &Client, wanted: &Wanted) -> Result<Answers, ApiError> {
    let (known, own, groups, instance, protection) = tokio::join!(
        client.project(&wanted.project),
        client.project_variables(&wanted.project),
        of_groups(client, &wanted.project),
        client.instance_variables(),
        protection(client, wanted),
    );
    // First, since its error is clearer than that of its variables.
    let known = known?;
    let own = own?;
    let mut notes = Vec::new();
    let mut keepers = Vec::new();
    keepers.push(Keeper {
        level: Level::Instance,
        path: None,
        variables: of_instance(instance, &mut notes)?,
    });
    let is_user = known.namespace.is_some_and(|it| it.kind == "user");
    for (path, variables) in groups {
        let variables = match variables {
            Ok(variables) => variables,
            // The namespace in the project's path is a user.
            Err(ApiError::NotFound { .. }) if is_user => continue,
            Err(error) => left_out(error, &mut notes)?,
        };
        keepers.push(Keeper {
            level: Level::Group,
            path: Some(path),
            variables,
        });
    }
    keepers.push(Keeper {
        level: Level::Project,
        path: Some(known.path_with_namespace),
        variables: own,
    });
    Ok(Answers {
        server: client.instance().clone(),
        keepers,
        protection,
        notes,
    })
}

/// Returns the variables of the server, which only administrators may read.
fn of_instance(
    response: Result<Vec<Variable>, ApiError>,
    notes: &mut Vec<String>,
) -> Result<Vec<Variable>, ApiError> {
    match response {
        Ok(variables) => Ok(variables),
        Err(ApiError::Forbidden { .. } | ApiError::NotFound { .. }) => Ok(Vec::new()),
        Err(error) => left_out(error, notes),
    }
}

/// Notes variables that cannot be read and leaves them out, unless the error is temporary.
fn left_out(error: ApiError, notes: &mut Vec<String>) -> Result<Vec<Variable>, ApiError> {
    if error.is_temporary() {
        return Err(error);
    }
    let help = error.help().map(|help| format!(" ({help})"));
    notes.push(format!("left out: {error}{}", help.unwrap_or_default()));
    Ok(Vec::new())
}

/// Returns the variables of the project's groups, the outermost first.
async fn of_groups(
    client: &Client,
    project: &str,
) -> Vec<(String, Result<Vec<Variable>, ApiError>)> {
    let groups = groups_of(project).into_iter().map(str::to_owned);
    join_in_order(groups.map(|group| {
        let client = client.clone();
        async move {
            let variables = client.group_variables(&group).await;
            (group, variables)
        }
    }))
    .await
}

/// Runs all futures concurrently; returns their outputs in order.
async fn join_in_order<F>(all: impl Iterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let mut waiting = JoinSet::new();
    for (at, future) in all.enumerate() {
        waiting.spawn(async move { (at, future.await) });
    }
    let mut done = waiting.join_all().await;
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, output)| output).collect()
}

async fn protection(client: &Client, wanted: &Wanted) -> Protection {
    let asked = wanted.references.clone().into_iter();
    let asked = asked.map(|reference| {
        let (client, project) = (client.clone(), wanted.project.clone());
        async move { is_protected(&client, &project, &reference).await }
    });
    let told: Result<Vec<bool>, ApiError> = join_in_order(asked).await.into_iter().collect();
    match told {
        Ok(all) => Protection::Known(all),
        Err(error) => Protection::Unknown {
            reason: error.to_string(),
        },
    }
}

/// Returns whether a branch or tag is protected; for one that the server does not have, whether its name would be.
async fn is_protected(
    client: &Client,
    project: &str,
    reference: &Reference,
) -> Result<bool, ApiError> {
    let name = &reference.name;
    let told = match reference.kind {
        RefType::Branch => client.branch(project, name).await.map(|it| it.protected),
        RefType::Tag => client.tag(project, name).await.map(|it| it.protected),
    };
    match told {
        Err(ApiError::NotFound { .. }) => {
            let patterns = match reference.kind {
                RefType::Branch => client.protected_branches(project).await?,
                RefType::Tag => client.protected_tags(project).await?,
            };
            Ok(is_covered(name, &patterns))
        }
        told => told,
    }
}
