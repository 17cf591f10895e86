"""Checks what builds the package, as pyproject.toml names it."""

import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_versions_have_bounds() -> None:
    with open(ROOT / "pyproject.toml", "rb") as file:
        requirements = tomllib.load(file)["build-system"]["requires"]
    assert requirements
    for requirement in requirements:
        # A next major version may break the build of a release that is long out.
        assert ">=" in requirement and ",<" in requirement, requirement
