//! What several drivers counted of one phase as what one driver would have told of it.
//!
//! Numbers add up and histograms do, bucket by bucket, so percentiles are those of all events; of
//! what is a worst case the worst is kept. Every field is named here: one that is added to a record
//! does not compile until somebody has said how it is merged.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

use super::histogram::{add, histogram, latency};
use crate::plan::error::Error;
use crate::plan::event::{Done, Latency, Tally, Usage};
use crate::plan::statement::merge as merge_statements;

/// The phase as all `parts` together played it, their times on one clock.
///
/// An error where they are not of one phase with the same streams.
pub fn merge_phase(parts: Vec<Done>) -> Result<Done, Error> {
    let mut parts = parts.into_iter();
    let first = parts.next().ok_or_else(|| Error::driver("there is no record to merge"))?;
    let mut sum = parts.try_fold(first, merge_two)?;
    sum.together = merge_units(&sum.streams)?;
    Ok(sum)
}

fn merge_two(sum: Done, more: Done) -> Result<Done, Error> {
    let names = |it: &Done| it.streams.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    if sum.phase != more.phase || names(&sum) != names(&more) {
        let message = format!("phase {} and phase {} are not one", sum.phase, more.phase);
        return Err(Error::driver(message));
    }
    Ok(Done {
        started_ns: sum.started_ns.min(more.started_ns),
        measured_ns: sum.measured_ns.min(more.measured_ns),
        ended_ns: sum.ended_ns.max(more.ended_ns),
        own_ns: sum.own_ns.max(more.own_ns),
        counted_ns: sum.counted_ns.max(more.counted_ns),
        stood_still_ns: sum.stood_still_ns.max(more.stood_still_ns),
        stood_still_ns_max: sum.stood_still_ns_max.max(more.stood_still_ns_max),
        held_up_ns: sum.held_up_ns.max(more.held_up_ns),
        held_up_ns_max: sum.held_up_ns_max.max(more.held_up_ns_max),
        waited_ns: sum.waited_ns.max(more.waited_ns),
        interrupted: sum.interrupted || more.interrupted,
        usage: merge_usage(sum.usage, more.usage),
        engine_counts: merge_counts(sum.engine_counts, more.engine_counts),
        streams: sum
            .streams
            .into_iter()
            .zip(more.streams)
            .map(|(sum, more)| merge_tally(sum, more))
            .collect::<Result<_, _>>()?,
        together: BTreeMap::new(),
        phase: sum.phase,
    })
}

fn merge_usage(sum: Usage, more: Usage) -> Usage {
    Usage {
        user_ns: sum.user_ns + more.user_ns,
        system_ns: sum.system_ns + more.system_ns,
        voluntary_switches: sum.voluntary_switches + more.voluntary_switches,
        involuntary_switches: sum.involuntary_switches + more.involuntary_switches,
        resident_bytes: sum.resident_bytes + more.resident_bytes,
    }
}

fn merge_counts(
    mut sum: BTreeMap<String, u64>,
    more: BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    super::add(&mut sum, more);
    sum
}

fn merge_tally(sum: Tally, more: Tally) -> Result<Tally, Error> {
    let transactions = merge_types(name_types(&sum, &more), name_types(&more, &sum))?;
    let (mut statements, mut before) = (sum.statements, sum.statements_before);
    merge_statements(&mut statements, &more.statements);
    merge_statements(&mut before, &more.statements_before);
    let mut series = sum.series;
    series.add(&more.series);
    Ok(Tally {
        connections: sum.connections + more.connections,
        target_per_s: sum.target_per_s.or(more.target_per_s),
        intended: sum.intended + more.intended,
        done: sum.done + more.done,
        failed: sum.failed + more.failed,
        cut: sum.cut + more.cut,
        cut_ns_max: sum.cut_ns_max.max(more.cut_ns_max),
        under_way: sum.under_way + more.under_way,
        under_way_ns_min: match (sum.under_way, more.under_way) {
            (0, _) => more.under_way_ns_min,
            (_, 0) => sum.under_way_ns_min,
            _ => sum.under_way_ns_min.min(more.under_way_ns_min),
        },
        skipped: sum.skipped + more.skipped,
        warmup: sum.warmup + more.warmup,
        restarted: sum.restarted + more.restarted,
        queries: sum.queries + more.queries,
        claimed: add_known(sum.claimed, more.claimed),
        claimed_further: sum.claimed_further + more.claimed_further,
        claimed_before: sum.claimed_before + more.claimed_before,
        round_trips: sum.round_trips + more.round_trips,
        sent_bytes: sum.sent_bytes + more.sent_bytes,
        received_bytes: sum.received_bytes + more.received_bytes,
        rows_read: sum.rows_read + more.rows_read,
        rows_changed: sum.rows_changed + more.rows_changed,
        busy: sum.busy + more.busy,
        reconnected: sum.reconnected + more.reconnected,
        errors: merge_counts(sum.errors, more.errors),
        service_ns: add_known(sum.service_ns, more.service_ns),
        latency: merge_latencies([&sum.latency, &more.latency])?,
        lateness: merge_latencies([&sum.lateness, &more.lateness])?,
        transactions,
        series,
        slices: add_columns(sum.slices, more.slices),
        overrun: sum.overrun + more.overrun,
        renewed: sum.renewed + more.renewed,
        rested_ns: sum.rested_ns + more.rested_ns,
        statements,
        statements_before: before,
        rows_committed: sum.rows_committed + more.rows_committed,
        rows_rolled_back: sum.rows_rolled_back + more.rows_rolled_back,
        rows_lost: sum.rows_lost + more.rows_lost,
        commits: sum.commits + more.commits,
        ends: sum.ends + more.ends,
        ends_open: sum.ends_open + more.ends_open,
        client_ns: sum.client_ns + more.client_ns,
        client_events: sum.client_events + more.client_events,
        slept_ns: sum.slept_ns + more.slept_ns,
        name: sum.name,
        unit: sum.unit,
        units_per_event: sum.units_per_event,
    })
}

fn add_known(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(sum + more),
        (known, None) | (None, known) => known,
    }
}

fn add_columns(mut sum: Vec<u64>, more: Vec<u64>) -> Vec<u64> {
    sum.resize(sum.len().max(more.len()), 0);
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    sum
}

fn merge_latencies<'a>(parts: impl IntoIterator<Item = &'a Latency>) -> Result<Latency, Error> {
    let mut sum = histogram()?;
    parts.into_iter().try_for_each(|part| add(&mut sum, &read_histogram(part)?))?;
    latency(&sum)
}

fn read_histogram(told: &Latency) -> Result<Histogram<u64>, Error> {
    let unreadable = |cause: String| Error::driver("cannot read a histogram").because(cause);
    let bytes = STANDARD.decode(&told.hdr).map_err(|cause| unreadable(cause.to_string()))?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|cause| unreadable(format!("{cause:?}")))
}

type Types = BTreeMap<String, Latency>;

/// The transaction types of a part. A driver whose users named none tells of none: where the
/// others' did, all of its events are of the unnamed one.
fn name_types(own: &Tally, other: &Tally) -> Types {
    match own.transactions.is_empty() && !other.transactions.is_empty() && own.latency.count > 0 {
        true => [(String::new(), own.latency.clone())].into(),
        false => own.transactions.clone(),
    }
}

fn merge_types(mut sum: Types, more: Types) -> Result<Types, Error> {
    for (name, latency) in more {
        let merged = match sum.get(&name) {
            Some(known) => merge_latencies([known, &latency])?,
            None => latency,
        };
        sum.insert(name, merged);
    }
    Ok(sum)
}

/// As `summary` has it: of units that two or more streams answered in.
fn merge_units(streams: &[Tally]) -> Result<Types, Error> {
    let mut units: BTreeMap<&str, Vec<&Latency>> = BTreeMap::new();
    for stream in streams.iter().filter(|it| it.latency.count > 0) {
        units.entry(&stream.unit).or_default().push(&stream.latency);
    }
    units.retain(|_, streams| streams.len() > 1);
    let add_up =
        |(unit, streams): (&str, Vec<&Latency>)| Ok((unit.to_owned(), merge_latencies(streams)?));
    units.into_iter().map(add_up).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn told(values: impl IntoIterator<Item = u64>) -> Latency {
        let mut all = histogram().unwrap();
        values.into_iter().for_each(|value| all.saturating_record(value));
        latency(&all).unwrap()
    }

    #[test]
    fn merged_histograms_are_those_of_all_values_at_once() {
        let values = |of: u64| (0..5_000u64).map(move |at| (at * of * 7_919) % 90_000_017 + 1);
        let apart = [told(values(1)), told(values(2)), told(values(3))];
        let at_once = told(values(1).chain(values(2)).chain(values(3)));
        assert_eq!(merge_latencies(&apart).unwrap(), at_once);
    }

    #[test]
    fn columns_of_unlike_length_add_up() {
        assert_eq!(add_columns(vec![1, 2], vec![10, 20, 30]), [11, 22, 30]);
        assert_eq!((add_known(None, Some(3)), add_known(Some(1), Some(3))), (Some(3), Some(4)));
    }
}
