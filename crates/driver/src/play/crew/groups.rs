//! Which users share a thread.

use crate::play::slot::Place;
use crate::play::stage::Stage;
use crate::sessions;

/// Who works together: each user alone where the engine works inside the call, else round-robin
/// over one thread per core of the plan.
pub fn groups(stage: &Stage) -> Vec<Vec<Place>> {
    let streams = stage.queues.iter().enumerate();
    let places: Vec<Place> = streams
        .flat_map(|(queue, side)| {
            (0..side.stream.connections).map(move |number| Place { queue, number })
        })
        .collect();
    let plan = stage.scene.plan;
    let threads = if sessions::embedded(&plan.session) { places.len() } else { plan.cpus.len() };
    let mut groups = vec![Vec::new(); threads.clamp(1, places.len())];
    let count = groups.len();
    for (number, place) in places.into_iter().enumerate() {
        groups[number % count].push(place);
    }
    groups
}
