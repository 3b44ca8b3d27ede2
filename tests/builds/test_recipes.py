"""Recipes: each tree has one, old ones are helped by its edits, and without these are diagnosed."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import outside
from source_trees import commit_all
from standin_mysql import mysql_tree
from stub_programs import SAID

from dyno.builds.source.build import Built, build_planned
from dyno.builds.source.plan import BuildPlan, BuildRequest, plan_build
from dyno.builds.source.recipe import BuildRecipe, apply_edits, choose_recipe, read_recipes
from dyno.builds.source.work import BuildFailed
from dyno.errors import UsageError

pytestmark = [pytest.mark.usefixtures("own_cache"), pytest.mark.slow]

FOLDER = Path(__file__).parents[1].parent / "src" / "dyno" / "engines" / "recipes"
MYSQL = read_recipes(FOLDER, "mysql")


def small(recipes: tuple[BuildRecipe, ...], *, edited: bool = True) -> tuple[BuildRecipe, ...]:
    """The recipes for stand-ins, which need little room and no parsers; without their edits if so
    asked, as for a tree that none was written for."""
    light = (replace(each, cost=replace(each.cost, disk_mb=1), tools={}) for each in recipes)
    if edited:
        return tuple(light)
    return tuple(replace(each, edits=(), cxxflags="-std=c++17") for each in light)


def plan(tree: Path, recipes: tuple[BuildRecipe, ...]) -> BuildPlan:
    outside("cmake")
    made = plan_build(BuildRequest("mysql", str(tree)), recipes, SAID.append)
    versions = {**made.toolchain.versions, "openssl": "3.0"}
    return replace(made, toolchain=replace(made.toolchain, versions=versions))


def build(tree: Path, recipes: tuple[BuildRecipe, ...], *, fix: bool = False) -> Built:
    return build_planned(plan(tree, recipes), SAID.append, fix=fix)


@pytest.mark.parametrize(
    "version,facebook,name",
    [
        ("5.5.62", False, "mysql-5.6"),
        ("5.6.51", False, "mysql-5.6"),
        ("5.6.35", True, "mysql-5.6-facebook"),
        ("5.7.39", False, "mysql-5.7"),
        ("8.0.28", False, "mysql-8.0"),
        ("8.0.28", True, "mysql-8.0-facebook"),
        ("8.4.3", False, "mysql-8.4"),
        ("9.7.4", False, "mysql-8.4"),
    ],
)
def test_a_tree_has_the_recipe_of_its_era(
    tmp_path: Path, version: str, facebook: bool, name: str
) -> None:
    tree = mysql_tree(tmp_path / "tree", version, facebook=facebook)
    recipe = choose_recipe(MYSQL, tree, "here")
    assert recipe.name == name and recipe.read_version(tree) == version


def test_a_tree_of_no_era_has_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no recipe builds here: its files say version 4.1.22"):
        choose_recipe(MYSQL, mysql_tree(tmp_path / "tree", "4.1.22"), "here")


@pytest.mark.parametrize(
    "version,facebook", [("5.6.51", False), ("5.7.39", False), ("5.6.35", True)]
)
def test_an_old_tree_builds_with_its_recipes_edits(
    tmp_path: Path, version: str, facebook: bool
) -> None:
    tree = mysql_tree(tmp_path / "tree", version, facebook=facebook)
    commit_all(tree)
    made = build(tree, small(MYSQL))
    said = subprocess.run([made.prefix / "bin" / "mysqld"], capture_output=True, text=True)
    assert said.stdout.strip() == f"mysqld  Ver {version}"
    assert (made.prefix / "share" / "english" / "errmsg.sys").is_file()
    assert [it.name for it in made.prefix.glob("lib/plugin/*")] == ["libsemisync.so"]
    assert "cmake/ssl.cmake: OpenSSL 3's header" in made.facts["edits"]
    assert ("storage/rocksdb" in made.facts["edits"]) is facebook


def test_an_old_tree_without_edits_is_diagnosed_and_mended_step_by_step(tmp_path: Path) -> None:
    tree = mysql_tree(tmp_path / "tree", "5.7.39")
    recipes = small(MYSQL, edited=False)
    with pytest.raises(BuildFailed) as failed:
        build(tree, recipes)
    assert failed.value.diagnosis.entry is not None
    assert failed.value.diagnosis.entry.name == "openssl-version-header"
    assert "Please install the appropriate openssl developer package" in failed.value.cause
    assert "OpenSSL is installed" in failed.value.cause and "--fix does it" in failed.value.hint
    made = build(tree, recipes, fix=True)
    assert made.facts["fixes"] == "openssl-version-header, register-cxx17"


def test_facebooks_tree_without_edits_is_mended_too(tmp_path: Path) -> None:
    tree = mysql_tree(tmp_path / "tree", "5.6.35", facebook=True)
    made = build(tree, small(MYSQL, edited=False), fix=True)
    assert set(made.facts["fixes"].split(", ")) == {
        "openssl-version-header",
        "register-cxx17",
        "rocksdb-version-file",
    }


def test_the_same_words_have_another_cause_in_8_0_before_30(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed) as failed:
        build(mysql_tree(tmp_path / "tree", "8.0.28"), small(MYSQL), fix=True)
    assert failed.value.diagnosis.entry is not None
    assert failed.value.diagnosis.entry.name == "openssl-3-too-new"
    assert "8.0.30" in failed.value.hint and "--fix" not in failed.value.hint


def test_every_recipe_is_whole(tmp_path: Path) -> None:
    engines = ("sqlite", "postgres", "mysql", "mariadb")
    found = [recipe for engine in engines for recipe in read_recipes(FOLDER, engine)]
    assert len(found) == len(list(FOLDER.glob("*.toml")))
    for recipe in found:
        assert "-fno-omit-frame-pointer" in recipe.always and "-g" in recipe.always
        assert any("{cflags}" in word for step in recipe.steps for word in step.run), recipe.name
        assert all(edit.reason for edit in recipe.edits)
    assert apply_edits(found[0].edits, tmp_path) == []
