# cmake -DINPUT=FILE -DOUTPUT=FILE.cpp -DSYMBOL=NAME -DHEADER=HEADER -P embed.cmake
# Turns a file into C++ that defines NAME and NAMESize, which HEADER declares. Plain text rather than an assembler's
# .incbin, so that every compiler takes it; half a megabyte compiles in half a second.
file(READ "${INPUT}" digits HEX)
string(LENGTH "${digits}" size)
math(EXPR size "${size} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${digits}")
string(REPEAT "....." 20 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}"
  "// Generated from ${SYMBOL}'s source file; do not edit.\n"
  "#include \"${HEADER}\"\n"
  "namespace neuroshard {\n"
  "const unsigned char ${SYMBOL}[] = {\n${bytes}};\n"
  "const std::size_t ${SYMBOL}Size = ${size};\n"
  "}  // namespace neuroshard\n")
