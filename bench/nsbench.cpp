// nsbench: how fast the engine is, how good its plans are, and against whom.
#include <iostream>

#include "bench/program.h"
#include "tools/command_line/arguments.h"

int main(int argc, char** argv) {
  neuroshard::command_line::prepare_process();
  return neuroshard::bench::run_program({argv + (argc > 0 ? 1 : 0), argv + argc}, std::cout,
                                        std::cerr);
}
