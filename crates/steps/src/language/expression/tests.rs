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
fn a_whole_expression_keeps_its_type_and_all_else_is_text() {
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
fn literals() {
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
    // What is not needed has no value.
    check("${{ true || 1 / 0 }}", json!(true));
    check("${{ false && nobody }}", json!(false));
    check("${{ [1, 2] < [1, 3] }}", json!(true));
    check("${{ {a: 1, b: 2} == {b: 2, a: 1} }}", json!(true));
}

#[test]
fn properties_elements_and_functions() {
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
fn what_is_wrong_is_told_with_its_place() {
    refused(
        "a ${{ b",
        "this expression has no end: `}}` is missing, at character 3",
    );
    refused("${{ }}", "an expression is missing, at character 5");
    refused(
        "${{",
        "the expression has no end: `}}` is missing, at character 4",
    );
    refused(
        "${{ 1 2 }}",
        "an operator or `}}` is expected here, at character 7",
    );
    refused("${{ 1 + }}", "an expression is missing, at character 9");
    refused(
        "${{ 'a }}",
        "a text in single quotes has no end, at character 5",
    );
    refused(
        "${{ \"a }}",
        "a text in double quotes has no end, at character 5",
    );
    refused(
        "${{ 'a\\n' }}",
        "in single quotes only \\\\ and \\' are escapes, at character 7",
    );
    refused("${{ 1x }}", "this is no number, at character 5");
    refused("${{ 1e999 }}", "this is no number, at character 5");
    refused(
        "${{ ä }}",
        "'ä' is no part of an expression, at character 5",
    );
    refused(
        "${{ a = b }}",
        "an operator or `}}` is expected here, at character 7",
    );
    refused("${{ for }}", "`for` is a reserved word, at character 5");
    refused("${{ [1 }}", "`]` is missing, at character 8");
    refused("${{ {a 1} }}", "`:` is missing, at character 8");
    refused(
        "${{ {1: 1} }}",
        "a key is expected here: a name, a text, or an expression in parentheses, at character 6",
    );
    refused(
        "${{ {(1): 1} }}",
        "a key is a string, not of type number, at character 6",
    );
    refused(
        "${{ len(1) }}",
        "there is no function len; there are str, num and bool, at character 5",
    );
    refused(
        "${{ inputs. }}",
        "a name is missing after `.`, at character 13",
    );
    refused(
        "${{ nobody }}",
        "the \"nobody\" was not found; there are inputs, vars, work_dir, at character 5",
    );
    refused(
        "${{ inputs.nothing }}",
        "the \"nothing\" was not found, at character 5",
    );
    refused(
        "${{ work_dir.x }}",
        "a value of type string has no property \"x\", at character 5",
    );
    refused(
        "${{ inputs.list[3] }}",
        "there is no element 3: the array has 3, and the first is 0, at character 17",
    );
    refused("${{ 1 / 0 }}", "a division by zero, at character 5");
    refused(
        "${{ 1e308 * 10 }}",
        "the result is too large for a number, at character 5",
    );
    refused("${{ num('x') }}", "the text is no number, at character 5");
    refused(
        "${{ 'a' + 1 }}",
        "`+` adds two numbers or two strings, not values of type string and number; str() and num() \
         convert, at character 5",
    );
    refused(
        "${{ -'a' }}",
        "`-` needs a number, not a value of type string, at character 5",
    );
}

#[test]
fn what_is_made_of_a_secret_is_one() {
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
fn no_expression_exhausts_the_stack_or_the_memory() {
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
    // A row of operators over a text over a row is one high tree.
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
fn what_is_missing_is_a_mistake_anywhere_but_on_the_left_of_or_and_and() {
    refused(
        "${{ 'a' && vars.NOPE }}",
        "the \"NOPE\" was not found, at character 12",
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
fn white_space_around_an_only_expression_is_no_text_where_another_type_is_wanted() {
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
