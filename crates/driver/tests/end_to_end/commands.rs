//! Commands that answer once.

use crate::driver::once;

#[test]
fn ask_answers_every_statement() {
    let ask = r#"{"version":1,"session":{"kind":"null","delay_ns":1000},"statements":["a","b"]}"#;
    let said = once("ask", ask);
    assert_eq!(said.code, 0);
    assert_eq!(said.events[0].as_array().unwrap().len(), 2);
}

#[test]
fn schema_shows_all_that_goes_in_and_out() {
    let said = once("schema", "");
    let schemas = said.events[0].as_object().unwrap();
    let names: Vec<&str> = schemas.keys().map(String::as_str).collect();
    assert_eq!(names, ["Answer", "Ask", "Description", "Event", "Plan"]);
}
