#!/bin/sh
# usage: hardened.sh READELF PROGRAM
# The program is position independent, its tables of functions are read-only before main, its
# functions watch their stack frames, and calls that fill buffers know the buffers' sizes.
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
exit $status
