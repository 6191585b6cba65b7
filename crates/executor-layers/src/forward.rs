//! Macros that forward methods to a field.
//!
//! A wrapper names each method it only forwards, so all other methods are those it changes. A missing
//! method does not compile, and `clippy::missing_trait_methods` finds one with a default body.
//! Asynchronous methods are written out because `async_trait` does not expand macros.

/// Forwards methods of `ExecutorProvider` to the field of this name.
macro_rules! forward_provider {
    ($inner:ident: $($method:ident),+ $(,)?) => {
        $($crate::forward::forward_provider!(@ $inner $method);)+
    };
    (@ $inner:ident can_create) => {
        fn can_create(&self) -> Result<(), executor_core::ProviderError> {
            self.$inner.can_create()
        }
    };
    (@ $inner:ident create) => {
        fn create(
            &self,
            data: &executor_core::ExecutorData,
        ) -> Result<Box<dyn executor_core::Executor>, executor_core::BuildError> {
            self.$inner.create(data)
        }
    };
    (@ $inner:ident features) => {
        fn features(
            &self,
            features: &mut executor_core::FeaturesInfo,
        ) -> Result<(), executor_core::ProviderError> {
            self.$inner.features(features)
        }
    };
    (@ $inner:ident config_info) => {
        fn config_info(
            &self,
            config: &executor_core::RunnerConfig,
            info: &mut executor_core::ConfigInfo,
        ) {
            self.$inner.config_info(config, info);
        }
    };
    (@ $inner:ident default_shell) => {
        fn default_shell(&self) -> Option<executor_core::ShellDialect> {
            self.$inner.default_shell()
        }
    };
    (@ $inner:ident init) => {
        fn init(&self) -> Result<(), executor_core::ProviderError> {
            self.$inner.init()
        }
    };
}
pub(crate) use forward_provider;

/// Forwards methods of `Executor` to the field of this name.
macro_rules! forward_executor {
    ($inner:ident: $($method:ident),+ $(,)?) => {
        $($crate::forward::forward_executor!(@ $inner $method);)+
    };
    (@ $inner:ident shell) => {
        fn shell(&self) -> &executor_core::ShellInfo {
            self.$inner.shell()
        }
    };
    (@ $inner:ident current_stage) => {
        fn current_stage(&self) -> executor_core::ExecutorStage {
            self.$inner.current_stage()
        }
    };
    (@ $inner:ident set_current_stage) => {
        fn set_current_stage(&self, stage: executor_core::ExecutorStage) {
            self.$inner.set_current_stage(stage);
        }
    };
    (@ $inner:ident stage_cell) => {
        fn stage_cell(&self) -> executor_core::StageCell {
            self.$inner.stage_cell()
        }
    };
    (@ $inner:ident abilities) => {
        fn abilities(&self) -> executor_core::ability::Abilities {
            self.$inner.abilities()
        }
    };
}
pub(crate) use forward_executor;
