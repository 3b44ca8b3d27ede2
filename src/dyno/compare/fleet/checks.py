"""Whether every host of a fleet can play an experiment, found out before anything is played."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dyno
from dyno import driver
from dyno.builds import compute_sha256
from dyno.compare.fleet import Backend, FleetHost
from dyno.compare.fleet.folder import FleetPlan
from dyno.compare.fleet.link import HostLink, open_links
from dyno.compare.fleet.messages import Checked, HostFacts
from dyno.compare.resolve.experiment import compute_own_sha256
from dyno.errors import HostError

#: Space beside an engine's data that a host's state folder must have: records of trials.
SPARE_MB = 64


@dataclass
class HostState:
    """A host as it was found: `faults` say why it cannot play, a sentence each. Without a link
    nobody answered; `has_files` is whether the experiment's were sent there.
    """

    host: FleetHost
    link: HostLink | None = None
    checked: Checked = field(default_factory=Checked)
    faults: list[str] = field(default_factory=list)
    has_files: bool = False

    @property
    def facts(self) -> HostFacts | None:
        """What it said of itself; None where it cannot be reached."""
        return self.link.facts if self.link else None


#: Told of each step of a host: its name and a clause.
TellHost = Callable[[str, str], None]


def survey_fleet(
    backend: Backend,
    hosts: Sequence[FleetHost],
    plan: FleetPlan,
    files: Mapping[str, Path],
    tell: TellHost = lambda *_: None,
) -> list[HostState]:
    """Every host with its faults: the caller closes the links."""
    links, unreached = open_links(backend, hosts)
    states = [HostState(host, links.get(host.name)) for host in hosts]
    for state in states:
        if why := unreached.get(state.host.name):
            state.faults.append(why)
    check_facts(states)
    ready = [state for state in states if state.link and not state.faults]
    _check_experiment(ready, plan, files, tell)
    compare_programs(states)
    return states


def check_facts(states: Sequence[HostState]) -> None:
    """Notes what is wrong by what the hosts said first."""
    own_sources, own_driver = compute_own_sha256(), compute_sha256(driver.find_driver())
    machines: dict[str, str] = {}
    for state in states:
        facts = state.facts
        if facts is None:
            continue
        if facts.dyno != dyno.__version__:
            state.faults.append(f"its dyno is {facts.dyno}, and this is {dyno.__version__}")
        elif facts.sources_sha256 != own_sources:
            state.faults.append("its dyno has other sources, though the same version")
        if facts.driver_sha256 != own_driver:
            state.faults.append("its dyno-driver is another one")
        if not facts.slot:
            state.faults.append("another dyno plays there: its slot is taken")
        if facts.disk_free_mb < SPARE_MB:
            state.faults.append(
                f"its disk is full: {facts.disk_free_mb} MB free, and records need {SPARE_MB} MB"
            )
        if twin := machines.get(facts.machine) if facts.machine else None:
            state.faults.append(f"it is the same machine as {twin} (/etc/machine-id)")
        machines.setdefault(facts.machine, state.host.name)


def _check_experiment(
    states: Sequence[HostState], plan: FleetPlan, files: Mapping[str, Path], tell: TellHost
) -> None:
    """Has all hosts at once look whether they can play the experiment."""

    def check_one(state: HostState, link: HostLink) -> None:
        name, state.has_files = state.host.name, True
        try:
            state.checked = link.send_experiment(
                plan.describe_for(state.host), files, lambda text: tell(name, text)
            )
            state.faults += state.checked.faults
        except HostError as error:
            state.faults.append(error.sentence)

    threads = [
        threading.Thread(target=check_one, args=(state, state.link), daemon=True)
        for state in states
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():  # an interrupt is raised in between
            thread.join(0.2)


def compare_programs(states: Sequence[HostState]) -> None:
    """Notes hosts whose programs or scripts are not those of most others."""
    sound = [state for state in states if state.link and not state.faults]
    for name in dict.fromkeys(name for state in sound for name in state.checked.programs):
        found = [state.checked.programs.get(name, "") for state in sound]
        usual = Counter(found).most_common(1)[0][0]
        example = sound[found.index(usual)].host.name
        for state, own in zip(sound, found, strict=True):
            if own != usual:
                state.faults.append(f"{name} is another one than on {example}")


def forget_run(states: Sequence[HostState], tell: TellHost) -> None:
    """Has every host that is there remove what it holds of a run that is over, or was refused."""
    for state in states:
        if state.link and state.has_files:
            try:
                state.link.forget()
            except HostError as error:
                tell(state.host.name, f"keeps its files: {error.sentence}")


def close_links(states: Sequence[HostState]) -> None:
    """Ends every conversation, all at once: each may take seconds."""
    threads = [threading.Thread(target=s.link.close, daemon=True) for s in states if s.link]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
