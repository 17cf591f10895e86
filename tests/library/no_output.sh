#!/bin/sh
# usage: no_output.sh NM ARCHIVE
# The library neither prints nor ends the process: no object of it refers to a standard stream or to
# a function that does either. (It may throw.) For a device function nvcc makes a host body that
# calls exit, for a call that no host code can make; so that symbol is no sign in its objects.
set -eu
forbidden='_ZSt4cout _ZSt4cerr _ZSt4clog _ZSt5wcout _ZSt5wcerr stdout stderr printf puts putchar
  vprintf perror __printf_chk __vprintf_chk psignal exit _exit _Exit quick_exit abort system
  __assert_fail'
"$1" --undefined-only --print-file-name "$2" | awk -v names="$forbidden" '
  BEGIN { split(names, list); for (i in list) forbidden[list[i]] = 1 }
  { symbols++; sub(/@.*/, "", $NF) }
  $NF == "exit" && /\.cu\.o:/ { next }
  $NF in forbidden { print "forbidden symbol: " $0; bad = 1 }
  END {
    if (symbols < 50) { print "only " symbols + 0 " symbols read: the test looks at nothing"; bad = 1 }
    exit bad
  }'
