#include "tools/command_line/arguments.h"
#include "tools/commands.h"

int main(int argc, char** argv) {
  neuroshard::command_line::prepare_process();
  neuroshard::tools::Console console = neuroshard::tools::standard_console();
  return neuroshard::tools::run_program({argv + (argc > 0 ? 1 : 0), argv + argc}, console);
}
