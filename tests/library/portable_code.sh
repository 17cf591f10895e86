#!/bin/sh
# usage: portable_code.sh OBJDUMP NM ARCHIVE
# The library runs on any x86-64: AVX code is in *_avx2 and *_avx512 objects only, and these share no
# inline function with the others (the linker keeps one copy of such a function, maybe theirs).
set -eu
status=0
"$1" --disassemble --no-show-raw-insn "$3" | awk '
  /[ \t]file format / { object = $1; sub(/:$/, "", object); objects++; next }
  object ~ /_avx2\./ { if ($0 ~ /%ymm/) avx2++
                       if ($0 ~ /%zmm/) { print "AVX-512 code in " object ": " $0; bad = 1 }
                       next }
  object ~ /_avx512\./ { if ($0 ~ /%zmm/) avx512++; next }
  /%[yz]mm/ || /\tv[a-z0-9]+ .*%xmm/ { if (!(object in found)) print "AVX code in " object ": " $0
                                       found[object] = 1; bad = 1 }
  END {
    if (objects < 4 || avx2 == 0 || avx512 == 0) { print "no objects or no AVX code found: the test looks at nothing"; bad = 1 }
    exit bad
  }' || status=1
"$2" --defined-only --print-file-name "$3" | awk '
  $1 ~ /_avx(2|512)\./ && $(NF - 1) ~ /^[WVu]$/ { print "inline function in an AVX object: " $0; bad = 1 }
  END { exit bad }' || status=1
exit $status
