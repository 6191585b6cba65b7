use crate::args::ExecutorsArgs;
use crate::exit_code::Exit;
use crate::failure::Failure;
use crate::output::line;
use runwright::core::{Dialect, FeaturesInfo};
use runwright::shell::ShellConfig;
use serde::Serialize;

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    shell: Option<&'static str>,
    features: Vec<&'static str>,
}

/// Shows the executors this build has.
pub(crate) fn executors(args: &ExecutorsArgs) -> Result<Exit, Failure> {
    let registry =
        crate::executors::registry(ShellConfig::default()).map_err(Failure::environment)?;
    let mut all = Vec::new();
    for (name, provider) in registry.iter() {
        let mut features = FeaturesInfo::default();
        provider
            .features(&mut features)
            .map_err(Failure::environment)?;
        let shell = provider.default_shell().map(Dialect::as_str);
        all.push(Described {
            name,
            shell,
            features: features.names(),
        });
    }
    if args.json {
        line(&serde_json::to_string_pretty(&all).map_err(Failure::environment)?);
    } else {
        for one in &all {
            let shell = one.shell.unwrap_or("-");
            line(&format!(
                "{:<12} {:<12} {}",
                one.name,
                shell,
                one.features.join(", ")
            ));
        }
    }
    Ok(Exit::Success)
}
