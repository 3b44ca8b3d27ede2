//! What a driver said, and looks into it.

use serde_json::Value;

/// All that a driver said.
pub struct Said {
    pub code: i32,
    pub events: Vec<Value>,
}

impl Said {
    pub fn kinds(&self) -> Vec<&str> {
        self.events.iter().map(|event| event["event"].as_str().unwrap_or("")).collect()
    }

    /// The same without the lines of progress, which come as time passes.
    pub fn turns(&self) -> Vec<&str> {
        self.kinds().into_iter().filter(|kind| *kind != "progress").collect()
    }

    /// The `done` event of a phase.
    pub fn done(&self, phase: &str) -> &Value {
        let is_it = |event: &&Value| event["event"] == "done" && event["phase"] == phase;
        self.events.iter().find(is_it).unwrap_or_else(|| panic!("{:?}", self.events))
    }

    /// A stream's tally, after a look at its identity.
    pub fn tally(&self, phase: &str, stream: usize) -> &Value {
        let tally = &self.done(phase)["streams"][stream];
        let sum = count(tally, "done") + count(tally, "failed") + count(tally, "skipped");
        assert_eq!(count(tally, "intended"), sum, "{tally}");
        assert_eq!(count(&tally["latency"], "count"), count(tally, "done"));
        let series = |column: &str| -> u64 {
            tally["series"][column].as_array().unwrap().iter().filter_map(Value::as_u64).sum()
        };
        assert_eq!(series("done"), count(tally, "done"));
        assert_eq!(series("failed"), count(tally, "failed"));
        tally
    }
}

/// A number of an object.
pub fn count(object: &Value, name: &str) -> u64 {
    object[name].as_u64().unwrap_or_else(|| panic!("no {name} in {object}"))
}
