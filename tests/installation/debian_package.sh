#!/bin/sh
# usage: debian_package.sh CPACK DPKG_DEB BUILD
# Makes the Debian package of a build, and looks at what is in it. The program in it runs.
set -eu
cpack=$1 dpkg_deb=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$build" && "$cpack" -G DEB -B "$work/packages" >"$work/log" 2>&1) || {
  cat "$work/log"
  exit 1
}
"$dpkg_deb" --info "$work"/packages/*.deb >"$work/info"
"$dpkg_deb" --extract "$work"/packages/*.deb "$work/root"
for wanted in 'Package: neuroshard' 'Depends: .*libc6' 'Version: [0-9]'; do
  grep -q "^ $wanted" "$work/info" || {
    echo "no '$wanted' in:"
    cat "$work/info"
    exit 1
  }
done
if grep -q openmpi "$work/info"; then
  echo "the package needs an MPI library"
  exit 1
fi
cd "$work/root/usr"
for wanted in bin/neuroshard include/neuroshard/c_api.h include/neuroshard/planner.h \
  lib*/pkgconfig/neuroshard.pc lib*/cmake/neuroshard/neuroshardConfig.cmake lib*/libneuroshard.* \
  share/doc/neuroshard/copyright share/man/man1/neuroshard.1 \
  share/bash-completion/completions/neuroshard share/zsh/site-functions/_neuroshard; do
  [ -s "$wanted" ] || {
    echo "$wanted is not in the package:"
    find .
    exit 1
  }
done
bin/neuroshard --version
