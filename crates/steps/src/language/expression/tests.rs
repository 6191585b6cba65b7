use super::{Scope, Template};
use crate::language::value::Value;
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Debug)]
struct Names(BTreeMap<&'static str, Value>);

impl Scope for Names {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    fn names(&self) -> Vec<&str> {
        self.0.keys().copied().collect()
    }
}

fn scope() -> Names {
    let inputs = json!({
        "name": "Sally", "empty": "", "count": 3, "on": true, "none": null,
        "list": [1, "two", [3]], "map": {"a-b": 1, "c": {"d": "deep"}},
    });
    let vars = [
        ("TOKEN", Value::text("hunter2").sensitive_if(true)),
        ("PIN", Value::text("1234").sensitive_if(true)),
        ("CI_JOB_ID", Value::text("7")),
    ];
    Names(BTreeMap::from([
        ("inputs", Value::from(&inputs)),
        ("vars", Value::named(vars)),
        ("work_dir", Value::text("/builds")),
    ]))
}

fn value(text: &str) -> Result<Value, String> {
    let template = Template::parse(text).map_err(|error| error.to_string())?;
    template
        .evaluate(&scope())
        .map_err(|error| error.to_string())
}

fn check(text: &str, expect: serde_json::Value) {
    assert_eq!(value(text).map(|it| it.to_json()), Ok(expect), "{text}");
}

fn refused(text: &str, expect: &str) {
    assert_eq!(
        value(text).map(|it| it.to_json()),
        Err(expect.to_owned()),
        "{text}"
    );
}

#[test]
fn only_a_whole_expression_keeps_its_type() {
    check("plain", json!("plain"));
    check("", json!(""));
    check("a }} b { } $ \\ $", json!("a }} b { } $ \\ $"));
    check("${{ inputs.count }}", json!(3));
    check("${{inputs.list}}", json!([1, "two", [3]]));
    check("${{ inputs.count }} ", json!("3 "));
    check("${{inputs.name}}${{inputs.on}}", json!("Sallytrue"));
    check("x=${{ inputs.map.c }}", json!("x={\"d\":\"deep\"}"));
    check("null: ${{ inputs.none }}", json!("null: null"));
    check(
        "\\${{ inputs.name }} ${{ inputs.name }}",
        json!("${{ inputs.name }} Sally"),
    );
    check("größe ${{ 'ü' }}", json!("größe ü"));
}

#[test]
fn literals_are_read() {
    check("${{ null }}", json!(null));
    check("${{ true }}", json!(true));
    check("${{ 42 }}", json!(42));
    check("${{ 1.5e3 }}", json!(1500));
    check("${{ 2E-4 }}", json!(0.0002));
    check(
        r#"${{ "a\tb\n\"\\\/\u00e4\ud83d\ude00" }}"#,
        json!("a\tb\n\"\\/ä😀"),
    );
    check(
        r#"${{ "Hi ${{ inputs.name }} \${{ x" }}"#,
        json!("Hi Sally ${{ x"),
    );
    check(
        r#"${{ "a ${{ "b ${{ inputs.count }}" }}" }}"#,
        json!("a b 3"),
    );
    check(r"${{ 'It\'s \\ ${{ raw }}' }}", json!("It's \\ ${{ raw }}"));
    check("${{ [1, 'a', [], null,] }}", json!([1, "a", [], null]));
    check("${{ {} }}", json!({}));
    check(
        r#"${{ {name: "x", "a-b": {n: {}}, (inputs.name): 1, for: 2,} }}"#,
        json!({"name": "x", "a-b": {"n": {}}, "Sally": 1, "for": 2}),
    );
    check("${{ {a: {b: 1}} }}", json!({"a": {"b": 1}}));
    check("${{ {a: {b: 1}}}}", json!({"a": {"b": 1}}));
}

#[test]
fn operators_bind_as_documented() {
    check("${{ 1 + 2 * 3 - 4 / 2 }}", json!(5));
    check("${{ (1 + 2) * 3 }}", json!(9));
    check("${{ 10 % 3 }}", json!(1));
    check("${{ -7 % 3 }}", json!(-1));
    check("${{ 2 - 3 - 4 }}", json!(-5));
    check("${{ - -1 + +1 }}", json!(2));
    check("${{ 'a' + 'b' + \"c\" }}", json!("abc"));
    check("${{ 1 < 2 == true }}", json!(true));
    check("${{ 1 == '1' }}", json!(false));
    check("${{ 1 != 1 || 2 >= 2 && 'x' }}", json!("x"));
    check("${{ 'a' < 'b' && !false }}", json!(true));
    check("${{ inputs.empty || 'default' }}", json!("default"));
    check("${{ inputs.none || inputs.count }}", json!(3));
    check("${{ vars.NOPE || 'd' }}", json!("d"));
    check("${{ vars['NOPE'] || 'd' }}", json!("d"));
    check("${{ inputs.nope.deeper[0] || 'd' }}", json!("d"));
    check(
        "${{ inputs.list[7] || inputs.list[-1] || 'd' }}",
        json!("d"),
    );
    check("${{ (vars.NOPE || inputs.nope) || 'd' }}", json!("d"));
    check("${{ vars.NOPE && 'x' || 'd' }}", json!("d"));
    check("${{ vars.NOPE && 'x' }}", json!(null));
    check("${{ inputs.map.c.d || 'x' }}", json!("deep"));
    check("${{ inputs.count && 'yes' || 'no' }}", json!("yes"));
    check("${{ !inputs.list }}", json!(false));
    // The right side is not evaluated.
    check("${{ true || 1 / 0 }}", json!(true));
    check("${{ false && nobody }}", json!(false));
    check("${{ [1, 2] < [1, 3] }}", json!(true));
    check("${{ {a: 1, b: 2} == {b: 2, a: 1} }}", json!(true));
}

#[test]
fn properties_elements_and_functions_are_evaluated() {
    check("${{ inputs.list[0] }}", json!(1));
    check("${{ inputs.list[1 + 1][0] }}", json!(3));
    check("${{ inputs.map['a-b'] }}", json!(1));
    check("${{ inputs[\"map\"].c.d }}", json!("deep"));
    check("${{ {for: 1}.for }}", json!(1));
    check(
        "${{ str(42) + str(true) + str(null) }}",
        json!("42true<null>"),
    );
    check("${{ str(inputs.list) }}", json!("[1,\"two\",[3]]"));
    check("${{ num('3.25') + num(1) }}", json!(4.25));
    check(
        "${{ [bool('x'), bool(''), bool(0), bool(1)] }}",
        json!([true, false, false, true]),
    );
    check("${{ work_dir }}/x", json!("/builds/x"));
}

#[test]
fn errors_are_reported_with_their_position() {
    refused(
        "a ${{ b",
        "unterminated expression: `}}` is missing, at character 3",
    );
    refused("${{ }}", "expected an expression, at character 5");
    refused(
        "${{",
        "unterminated expression: `}}` is missing, at character 4",
    );
    refused("${{ 1 2 }}", "expected an operator or `}}`, at character 7");
    refused("${{ 1 + }}", "expected an expression, at character 9");
    refused(
        "${{ 'a }}",
        "unterminated string in single quotes, at character 5",
    );
    refused(
        "${{ \"a }}",
        "unterminated string in double quotes, at character 5",
    );
    refused(
        "${{ 'a\\n' }}",
        "in single quotes only \\\\ and \\' are escapes, at character 7",
    );
    refused("${{ 1x }}", "invalid number, at character 5");
    refused("${{ 1e999 }}", "invalid number, at character 5");
    refused("${{ ä }}", "unexpected 'ä', at character 5");
    refused(
        "${{ a = b }}",
        "expected an operator or `}}`, at character 7",
    );
    refused("${{ for }}", "`for` is a reserved word, at character 5");
    refused("${{ [1 }}", "expected `]`, at character 8");
    refused("${{ {a 1} }}", "expected `:`, at character 8");
    refused(
        "${{ {1: 1} }}",
        "expected a key: a name, a string, or an expression in parentheses, at character 6",
    );
    refused(
        "${{ {(1): 1} }}",
        "expected a string as key, found type number, at character 6",
    );
    refused(
        "${{ len(1) }}",
        "unknown function len; known are str, num and bool, at character 5",
    );
    refused(
        "${{ inputs. }}",
        "expected a name after `.`, at character 13",
    );
    refused(
        "${{ nobody }}",
        "unknown name \"nobody\"; known are inputs, vars, work_dir, at character 5",
    );
    refused(
        "${{ inputs.nothing }}",
        "\"nothing\" was not found, at character 5",
    );
    refused(
        "${{ work_dir.x }}",
        "a value of type string has no property \"x\", at character 5",
    );
    refused(
        "${{ inputs.list[3] }}",
        "there is no element 3: the array has 3, starting at 0, at character 17",
    );
    refused("${{ 1 / 0 }}", "division by zero, at character 5");
    refused(
        "${{ 1e308 * 10 }}",
        "the result is too large for a number, at character 5",
    );
    refused(
        "${{ num('x') }}",
        "the string is not a number, at character 5",
    );
    refused(
        "${{ 'a' + 1 }}",
        "`+` adds two numbers or two strings, not values of type string and number; str() and num() \
         convert, at character 5",
    );
    refused(
        "${{ -'a' }}",
        "`-` requires a number, not a value of type string, at character 5",
    );
}

#[test]
fn values_derived_from_secrets_are_secret() {
    let secret = |text: &str| value(text).unwrap().has_secrets();
    for text in [
        "${{ vars.TOKEN }}",
        "x ${{ vars.TOKEN }}",
        "${{ vars }}",
        "${{ 'a' + vars.TOKEN }}",
        "${{ str(vars) }}",
        "${{ vars.TOKEN == 'hunter2' }}",
        "${{ vars.TOKEN && 'set' }}",
        "${{ [vars.TOKEN] }}",
        "${{ {a: vars.TOKEN} }}",
        "${{ {(vars.TOKEN): 1} }}",
        "${{ \"${{ vars.TOKEN }}\" }}",
        "${{ inputs.list[num(str(bool(vars.TOKEN)) == 'x' && '0' || '1')] }}",
    ] {
        assert!(secret(text), "{text}");
    }
    for text in [
        "${{ vars.CI_JOB_ID }}",
        "${{ {a: vars.TOKEN, b: 1}.b }}",
        "${{ inputs }}",
    ] {
        assert!(!secret(text), "{text}");
    }
    for text in [
        "num(vars.TOKEN)",
        "inputs[vars.TOKEN]",
        "inputs.list[num(vars.PIN)]",
    ] {
        let error = value(&format!("${{{{ {text} }}}}")).unwrap_err();
        assert!(
            !error.contains("hunter2") && !error.contains("1234"),
            "{error}"
        );
    }
}

#[test]
fn deep_or_large_expressions_are_limited() {
    let nested = |open: &str, close: &str| {
        format!("${{{{ {}1{} }}}}", open.repeat(5000), close.repeat(5000))
    };
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{a:", "}"),
        ("-", ""),
        ("str(", ")"),
        ("1+", ""),
        ("", ".a"),
    ] {
        assert!(value(&nested(open, close)).is_err(), "{open}");
    }
    let texts = |levels: usize| {
        format!(
            "${{{{ {}1{} }}}}",
            "\"${{ ".repeat(levels),
            " }}\"".repeat(levels)
        )
    };
    check(&texts(20), json!("1"));
    assert!(value(&texts(70)).is_err());
    // A row of operators over a string over a row is one high tree.
    let (open, close) = ("num(\"${{ ", format!(" }}}}\"){}", " + 1".repeat(60)));
    let both = format!("${{{{ {}1{} }}}}", open.repeat(20), close.repeat(20));
    assert!(value(&both).is_err());
    let quotes = "\"${{ ".repeat(5000);
    assert!(value(&format!("${{{{ {quotes}")).is_err());
    let row = vec!["'a'"; 200].join(" + ");
    check(&format!("${{{{ {row} }}}}"), json!("a".repeat(200)));
    let large = Names(BTreeMap::from([("a", Value::text("x".repeat(9 << 20)))]));
    for text in [
        "${{ a + a }}",
        "${{ a }}${{ a }}",
        "${{ [a, a] }}",
        "${{ {b: a, c: a} }}",
    ] {
        let made = Template::parse(text).unwrap().evaluate(&large);
        assert!(made.is_err(), "{text}");
    }
}

#[test]
fn missing_values_are_allowed_left_of_or_and_and() {
    refused(
        "${{ 'a' && vars.NOPE }}",
        "\"NOPE\" was not found, at character 12",
    );
    for text in [
        "${{ vars.NOPE }}",
        "${{ !vars.NOPE || 'd' }}",
        "${{ str(vars.NOPE) || 'd' }}",
        "${{ vars.NOPE == 1 || 'd' }}",
        "${{ '' || vars.NOPE }}",
        "${{ nobody.NOPE || 'd' }}",
        "${{ inputs.count.x || 'd' }}",
    ] {
        assert!(value(text).is_err(), "{text}");
    }
}

#[test]
fn whitespace_around_one_expression_is_ignored_for_non_string_types() {
    let trimmed = |text: &str| {
        let template = Template::parse(text).unwrap();
        template.evaluate_trimmed(&scope()).unwrap().to_json()
    };
    assert_eq!(trimmed("${{ inputs.list }}\n"), json!([1, "two", [3]]));
    assert_eq!(trimmed(" \n ${{ inputs.count }} \n\n"), json!(3));
    assert_eq!(trimmed("a ${{ inputs.count }}\n"), json!("a 3\n"));
    assert_eq!(
        trimmed("${{ inputs.count }} ${{ inputs.count }}"),
        json!("3 3")
    );
    assert_eq!(trimmed(" \n"), json!(" \n"));
}
