#!/bin/sh
# usage: pkg_config.sh PKG_CONFIG CC PREFIX SOURCE TASK
# Builds and runs a C program against what is installed in PREFIX, as pkg-config says.
set -eu
pkg_config=$1 cc=$2 prefix=$3 source=$4 task=$5
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name neuroshard.pc)")
export PKG_CONFIG_PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Flags are words of their own.
# shellcheck disable=SC2046
"$cc" -std=c99 -Wall -Wextra -Wpedantic -Werror $("$pkg_config" --cflags neuroshard) "$source" \
  -o "$work/plan" $("$pkg_config" --libs neuroshard)
LD_LIBRARY_PATH=$PKG_CONFIG_PATH/.. "$work/plan" "$task"
