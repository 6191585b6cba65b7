//! Registration refuses what cannot work.

use executor_core::{ProviderRegistry, RegisterError};
use executor_testkit::ScriptedProvider;

#[test]
fn a_provider_is_asked_three_things_before_it_is_registered() {
    // R-EXEC-28
    let provider = ScriptedProvider::new();
    let mut registry = ProviderRegistry::new();
    registry.register("good", provider.shared()).unwrap();
    let mut asked = provider.timeline().lines();
    asked.sort();
    assert_eq!(
        asked,
        [
            "provider.can_create",
            "provider.default_shell",
            "provider.features"
        ]
    );
    assert_eq!(registry.names().collect::<Vec<_>>(), ["good"]);
}

#[test]
fn a_bad_provider_is_refused_and_named() {
    // R-EXEC-28
    let check = |spoil: fn(&ScriptedProvider), fits: fn(&RegisterError) -> bool| {
        let provider = ScriptedProvider::new();
        spoil(&provider);
        let mut registry = ProviderRegistry::new();
        let refused = registry.register("bad", provider.shared()).unwrap_err();
        assert!(fits(&refused), "{refused:?}");
        assert!(refused.to_string().contains("\"bad\""), "{refused}");
        assert!(registry.get("bad").is_none());
        assert_eq!(registry.iter().count(), 0);
    };
    check(
        |provider| provider.refuse_to_create("no engine"),
        |refused| matches!(refused, RegisterError::CannotCreate { .. }),
    );
    check(
        |provider| provider.refuse_to_tell_features("no answer"),
        |refused| matches!(refused, RegisterError::Features { .. }),
    );
    check(
        |provider| provider.set_default_shell(None),
        |refused| matches!(refused, RegisterError::NoDefaultShell { .. }),
    );
}

#[test]
fn a_name_is_registered_once() {
    let mut registry = ProviderRegistry::new();
    let first = ScriptedProvider::new();
    registry.register("twice", first.shared()).unwrap();
    let refused = registry
        .register("twice", ScriptedProvider::new().shared())
        .unwrap_err();
    assert!(
        matches!(refused, RegisterError::Duplicate { .. }),
        "{refused}"
    );
    assert_eq!(registry.iter().count(), 1);
}
