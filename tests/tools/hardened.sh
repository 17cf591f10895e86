#!/bin/sh
# usage: hardened.sh READELF PROGRAM [ARCHIVE]
# The program is position independent, its tables of functions are read-only before main, its
# functions watch their stack frames, calls that fill buffers know the buffers' sizes, and indices are
# checked. Objects of the archive (on x86) say where calls and jumps may lead.
set -eu
status=0
need() {
  if ! printf '%s\n' "$1" | grep -qE "$2"; then
    echo "missing: $3"
    status=1
  fi
}
need "$("$1" -hW "$2")" 'Type: +DYN' 'position independence (-pie)'
need "$("$1" -lW "$2")" 'GNU_RELRO' 'read-only relocations (-z relro)'
need "$("$1" -dW "$2")" 'BIND_NOW|FLAGS_1.* NOW' 'early binding (-z now)'
symbols=$("$1" -W --dyn-syms "$2")
need "$symbols" '__stack_chk_fail' 'a stack protector (-fstack-protector-strong)'
need "$symbols" '__[a-z]+_chk(@|$)' 'buffer checks (-D_FORTIFY_SOURCE)'
need "$symbols" '__glibcxx_assert_fail' 'checks of indices (-D_GLIBCXX_ASSERTIONS)'
if [ $# -gt 2 ]; then
  "$1" -nW "$3" | awk '
    /^File: / { object = $2 }
    object != "" && object !~ /\.cu\.o/ { seen[object]; if (/IBT, SHSTK/) marked[object] }
    END {
      for (object in seen) { objects++; if (!(object in marked)) { bad = 1; print object ": no -fcf-protection" } }
      if (objects < 10) { bad = 1; print "only " objects + 0 " objects read: the test looks at nothing" }
      exit bad
    }' || status=1
fi
exit $status
