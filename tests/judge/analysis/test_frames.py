"""Frames of a flame graph: what they hold, and which of them differ."""

from __future__ import annotations

import numpy as np
from fakes import make_run
from msgspec.structs import replace
from sampled_trials import ENGINE, change, make_sampled, vary

from dyno.judge.analysis.cpu_samples import CodePlace, SampledPhase, list_sampled_phases
from dyno.judge.analysis.frames import (
    FRAMES_MOST,
    Frame,
    FrameTree,
    build_flat_frames,
    build_stack_frames,
    find_callers,
)
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.record.profile import CpuProfile, ProfiledFunction, ProfiledStack

ONE = InterimAnalyses((6,), 0.05)
NAMES = [("driver", "play"), ("commands", "main"), ("executor", "scan"), ("executor", "look")]
FUNCTIONS = tuple(
    ProfiledFunction(name, "/usr/lib/engine.so", at, "", 0, layer)
    for at, (layer, name) in enumerate([*NAMES, *ENGINE])
)
PLAY, MAIN, SCAN, LOOK, YYPARSE, LEX, PLAN, SEARCH, *_ = range(len(FUNCTIONS))


def sample(**changes: float) -> SampledPhase:
    trials = make_sampled(ENGINE, change(ENGINE, **changes), noise=vary(3, 0.5))
    (phase,) = list_sampled_phases(RunView(make_run(analyses=(6,)), trials), "new")
    return phase


def make_stacks(*stacks: tuple[tuple[int, ...], int]) -> CpuProfile:
    met = tuple(ProfiledStack(frames, samples) for frames, samples in stacks)
    return CpuProfile(sum(samples for _, samples in stacks), 0, 1_000, FUNCTIONS, met)


def find(tree: FrameTree, *path: str) -> Frame:
    frame = tree.root
    for name in path:
        frame = next(child for child in frame.children if child.name == name)
    return frame


STACKS = make_stacks(
    ((PLAY, MAIN, YYPARSE), 6),
    ((PLAY, MAIN, LEX), 3),
    ((PLAY, MAIN, SCAN, SEARCH), 3),
    ((PLAY, MAIN, LOOK, SEARCH), 1),
)


def test_a_flat_tree_holds_layers_and_their_functions_and_all_of_the_time() -> None:
    phase = sample(search=900.0)
    tree = build_flat_frames(phase, ONE)
    assert abs(tree.root.base_ns - phase.base_ns) < 1e-6
    layers = {child.name: child for child in tree.root.children}
    for layer in layers.values():
        assert abs(layer.base_ns - sum(child.base_ns for child in layer.children)) < 1e-6
    assert {frame.name for frame in tree.root.list_all() if frame.differs} == {
        "all CPU time", "b-tree", "search",
    }  # fmt: skip


def test_times_of_a_function_are_divided_among_its_callers_and_the_driver_is_none() -> None:
    phase = sample()
    tree = build_stack_frames(phase, ONE, STACKS, STACKS)
    assert abs(tree.root.base_ns - phase.base_ns) < 1e-6
    by_scan, by_look = (find(tree, "main", caller, "search") for caller in ("scan", "look"))
    assert abs(by_scan.base_ns - 3 * by_look.base_ns) < 1e-6
    assert abs(by_scan.base_ns + by_look.base_ns - 3_000) < 100
    assert find(tree, "main").base_ns > find(tree, "main", "yyparse").base_ns > 1_900
    assert find(tree, "choose_plan").base_ns > 1_400, "no stack met it: it stands by itself"


def test_below_callers_a_frame_differs_where_its_functions_own_code_does() -> None:
    tree = build_stack_frames(sample(search=900.0), ONE, STACKS, STACKS)
    sure = {frame.name for frame in tree.root.list_all() if frame.differs}
    assert sure == {"all CPU time", "search"}
    search = find(tree, "main", "scan", "search")
    assert search.low_ns < 900 < search.high_ns, "the ends are those of its whole own code"


def test_callers_that_only_one_side_has_are_on_one_side_only() -> None:
    other = make_stacks(((PLAY, MAIN, YYPARSE), 9), ((PLAY, MAIN, LOOK, SEARCH), 4))
    tree = build_stack_frames(sample(), ONE, STACKS, other)
    assert find(tree, "main", "scan").candidate_ns == 0 < find(tree, "main", "scan").base_ns
    assert find(tree, "main", "lex").candidate_ns > 900, "its callers are those of the other side"


def test_a_deep_tree_is_pruned_and_what_is_left_out_is_counted() -> None:
    phase = sample(search=900.0)
    functions = [replace(FUNCTIONS[SEARCH], name=f"f{at}", layer="b-tree") for at in range(4_000)]
    own = CpuProfile(
        4_000,
        0,
        1_000,
        (*FUNCTIONS, *functions),
        tuple(
            ProfiledStack((MAIN, len(FUNCTIONS) + at, SEARCH), 1 + at % 7) for at in range(4_000)
        ),
    )
    tree = build_stack_frames(phase, ONE, own, own)
    drawn = sum(1 for _ in tree.root.list_all())
    assert drawn <= FRAMES_MOST + 3 and tree.left_out > 0
    assert np.isclose(tree.root.base_ns, phase.base_ns)


def test_a_function_of_the_c_library_has_the_caller_that_took_most_of_it() -> None:
    move = ("__memmove_avx_unaligned_erms", "C library")
    named = [("read_row", "executor"), ("sort", "executor"), ("malloc", "allocation"), move]
    functions = tuple(
        ProfiledFunction(name, "engine", at, "", 1, layer) for at, (name, layer) in enumerate(named)
    )
    met = {(0, 3): 20, (1, 0, 3): 10, (0, 1, 3): 10, (0, 1): 50, (3,): 90, (0, 2): 5}
    stacks = tuple(ProfiledStack(frames, samples) for frames, samples in met.items())
    found = find_callers(CpuProfile(185, 0, 1_000, functions, stacks))
    assert found == {CodePlace(move[1], move[0]): ("read_row", 0.75)}
