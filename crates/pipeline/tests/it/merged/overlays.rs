//! Overlays over files that a server merged.

use super::{Answer, OWN, STATIC};
use pipeline::{LoadOptions, Overlay, ResolvedPipeline};
use serde_json::json;

fn resolved(overlay: &str) -> ResolvedPipeline {
    let overlays = [Overlay {
        name: "local.yml".to_owned(),
        text: overlay.to_owned(),
    }];
    let options = LoadOptions {
        overlays: &overlays,
        ..LoadOptions::default()
    };
    let checked = Answer::of(STATIC).read(OWN, &options);
    let checked = checked.and_then(|pipeline, found| Some(pipeline.resolve(found)));
    let result = checked.into_result();
    result.unwrap_or_else(|found| panic!("{found}")).0
}

#[test]
fn an_overlay_may_extend_and_refer_to_the_merged_file() {
    let resolved = resolved(
        "mine: {extends: .base, stage: build, script: [!reference [.setup, script]]}\n\
         lint: {script: fast}\n",
    );
    let mine = resolved.job("mine").unwrap();
    assert_eq!(mine.script.unwrap(), ["./configure --prefix=$PREFIX"]);
    assert_eq!(json!(mine.services)[0]["alias"], "db");
    assert_eq!(resolved.job("lint").unwrap().script.unwrap(), ["fast"]);
}

#[test]
fn needs_of_an_overlay_override_those_of_the_server() {
    let resolved = resolved("deploy: {needs: [lint]}\n");
    let needs = json!(resolved.job("deploy").unwrap().needs);
    assert_eq!(needs[0]["job"], "lint");
}
