use super::print;
use crate::args::ExecutorsArgs;
use crate::exit_code::Exit;
use crate::failure::Failure;
use executor_core::{FeaturesInfo, ShellDialect};
use executor_docker::DockerOptions;
use executor_shell::ShellConfig;
use serde::Serialize;

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    shell: Option<&'static str>,
    features: Vec<&'static str>,
}

impl Described<'_> {
    fn row(&self) -> String {
        let shell = self.shell.unwrap_or("-");
        format!(
            "{:<12} {:<12} {}\n",
            self.name,
            shell,
            self.features.join(", ")
        )
    }
}

/// Shows the executors this build has.
pub(crate) fn executors(args: &ExecutorsArgs) -> Result<Exit, Failure> {
    let registry = crate::executors::registry(ShellConfig::default(), DockerOptions::new())
        .map_err(Failure::environment)?;
    let mut all = Vec::new();
    for (name, provider) in registry.iter() {
        let mut features = FeaturesInfo::default();
        provider
            .features(&mut features)
            .map_err(Failure::environment)?;
        let shell = provider.default_shell().map(ShellDialect::as_str);
        all.push(Described {
            name,
            shell,
            features: features.names(),
        });
    }
    let text = if args.json {
        serde_json::to_string_pretty(&all).map_err(Failure::environment)? + "\n"
    } else {
        all.iter().map(Described::row).collect()
    };
    print(text)?;
    Ok(Exit::Success)
}
