#!/bin/sh
# usage: exported_symbols.sh NM CXXFILT LIBRARY EXPECTED SOURCE
# The shared library exports these functions of C, listed in the file EXPECTED, and of C++ only what
# the public headers of the folder SOURCE name.
set -eu
nm=$1 cxxfilt=$2 library=$3 expected=$4 source=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$nm" --dynamic --defined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' >"$work/all"

grep '^ns_' "$work/all" | sort >"$work/c" || true
diff "$expected" "$work/c" || {
  echo "the C interface is another one (< expected, > exported): a function that is gone breaks programs;"
  echo "a new one goes into $expected, with NS_ABI_VERSION one higher"
  exit 1
}

grep -v '^ns_' "$work/all" | "$cxxfilt" >"$work/cpp"
cat "$source"/*/include/neuroshard/*.h >"$work/headers"
awk -v headers="$work/headers" '
  BEGIN {
    while ((getline line < headers) > 0) {
      gsub(/[^A-Za-z0-9_]+/, " ", line)
      n = split(line, words, " ")
      for (i = 1; i <= n; i++) named[words[i]] = 1
    }
  }
  {
    symbols++
    name = $0
    sub(/^(typeinfo name|typeinfo|vtable) for /, "", name)
    sub(/^non-virtual thunk to /, "", name)
    if (!match(name, /neuroshard::[~A-Za-z0-9_:]+/) || RSTART > 1) { bad = 1; print "not ours: " $0; next }
    n = split(substr(name, RSTART, RLENGTH), parts, "::")
    for (i = 2; i <= n; i++) {
      sub(/^~/, "", parts[i])
      if (parts[i] !~ /^operator/ && !(parts[i] in named)) { bad = 1; print "in no public header: " $0; break }
    }
  }
  END {
    if (symbols < 50) { print "only " symbols + 0 " symbols of C++ read: the test looks at nothing"; bad = 1 }
    exit bad
  }' "$work/cpp"
