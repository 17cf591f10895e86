# Sourced by run_tests and run_torchrec_tests, in the root of the repository.

# usage: make_environment FOLDER REQUIREMENT...
make_environment() {
  local folder=$1
  shift
  [ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
  "$folder/bin/python" -m pip install -q --disable-pip-version-check "$@"
}

# usage: build_package FOLDER: makes a wheel and installs it. Build tools are installed beside it, not anew for
# every build, so that the paths of their headers stay and ccache knows them.
build_package() {
  . tools/compiler_cache
  export CXX="${CXX:-c++}"  # By the name that CMake finds, so that objects of other builds are taken.
  local requirements
  mapfile -t requirements < <("$1/bin/python" - <<'PYTHON'
try:
    import tomllib
except ModuleNotFoundError:  # Before Python 3.11.
    from pip._vendor import tomli as tomllib

with open("pyproject.toml", "rb") as file:
    print("\n".join(tomllib.load(file)["build-system"]["requires"]))
PYTHON
  )
  make_environment "$1" "${requirements[@]}"
  rm -rf "$1/wheel"
  "$1/bin/python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$1/wheel" .
  "$1/bin/python" -m pip install -q --disable-pip-version-check --no-deps --force-reinstall "$1"/wheel/*.whl
}
