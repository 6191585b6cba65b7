//! Jobs whose image selects the provider.

use executor_core::job::Image;
use executor_core::{Cancellation, ExecutorProvider, FeaturesInfo, StageCommand};
use executor_testkit::{
    CommandBuilder, Directive, Failure, JobBuilder, Moment, OptionsBuilder, ScriptedProvider,
    runner_config,
};
use workstation::ByImage;

fn command() -> StageCommand {
    CommandBuilder::new("true").build()
}

#[tokio::test]
async fn image_selects_the_provider() {
    let check = async |image: &str, in_container: bool| {
        let (containers, host) = (ScriptedProvider::new(), ScriptedProvider::new());
        let provider = ByImage::new(containers.shared(), host.shared());
        let (config, go_on) = (runner_config("auto"), Cancellation::new());
        let data = provider.acquire(&config, &go_on).await.expect("capacity");
        let mut executor = provider.create(&data).expect("an executor");
        let job = JobBuilder::new(1).with(|job| job.image = Image::named(image));
        let options = OptionsBuilder::new().job(job.build()).build();
        executor.prepare(options, &go_on).await.expect("prepared");
        executor.run(command(), &go_on).await.expect("run");
        executor.cleanup().await.expect("cleaned up");
        provider.release(&config, data).await;
        let ran = (containers.commands().len(), host.commands().len());
        let expect = if in_container { (1, 0) } else { (0, 1) };
        assert_eq!(ran, expect, "{image:?}");
        assert_eq!((containers.leased(), host.leased()), (0, 0));
        containers.assert_obeyed();
        host.assert_obeyed();
    };
    check("debian:12", true).await;
    check("", false).await;
}

#[tokio::test]
async fn capacity_is_released_if_one_provider_has_none() {
    let (containers, host) = (ScriptedProvider::new(), ScriptedProvider::new());
    host.on(Moment::Acquire, Directive::fail(Failure::temporary("full")));
    let provider = ByImage::new(containers.shared(), host.shared());
    let acquired = provider
        .acquire(&runner_config("auto"), &Cancellation::new())
        .await;
    assert!(acquired.is_err());
    assert_eq!(containers.leased(), 0);
}

#[test]
fn features_are_those_of_both_providers() {
    let (containers, host) = (ScriptedProvider::new(), ScriptedProvider::new());
    containers.set_features(FeaturesInfo {
        image: true,
        ..FeaturesInfo::default()
    });
    host.set_features(FeaturesInfo {
        terminal: true,
        ..FeaturesInfo::default()
    });
    let provider = ByImage::new(containers.shared(), host.shared());
    let mut features = FeaturesInfo::default();
    provider.features(&mut features).expect("told");
    assert_eq!(features.names(), ["image", "terminal"]);
}
