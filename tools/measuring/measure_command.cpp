#include "tools/measuring/measure_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "neuroshard/error.h"
#include "tools/measuring/measure_inputs.h"
#include "tools/ranks/rank_timeout.h"
#include "weights/collection/ranks/local_group.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kMeasureExamples = R"(Examples:
  A plan for 4 devices, run by 4 threads of this process
  neuroshard measure --task my_model.json --plan plan.json --weights cpu.safetensors
  The same by 4 processes, on any machines that mpirun knows
  mpirun -np 4 neuroshard measure --exchange mpi --task my_model.json --plan plan.json
  Plans of two searches for many tasks, in turn, so that all see the same machine
  neuroshard measure --tables table_configs.json --tasks tasks.txt --devices 2 --memory-gb 4 \
      --plans ours.jsonl greedy.jsonl --rounds 5 --json measured.json

What is run and how it is timed: docs/measuring.md.
Exit codes: 0 every plan was measured; 1 the machine lacks memory for a plan, or the file says that
a task has none; 2 bad input or usage.)";

int measure_locally(const MeasureCommand& command, Console& console) {
  const MeasureInputs inputs = load_measure_inputs(command, 1);
  int code = kExitOk;
  ranks::run_local_ranks(std::max(1, inputs.devices), [&](ranks::RankGroup& group) {
    const int of_rank = measure_on_ranks(command, inputs, group, console);
    if (group.rank() == 0) code = of_rank;
  });
  return code;
}

constexpr const char* kMeasureOverMpi = "--exchange mpi";

int run_measure(const MeasureCommand& command, Console& console) {
  const bool over_mpi = command.exchange == "mpi";
  require_rank_timeout(command.rank_timeout_s, over_mpi, kMeasureOverMpi);
  if (over_mpi) return measure_over_mpi(command, console);
  if (command.exchange == "local") return measure_locally(command, console);
  throw Error("--exchange '" + command.exchange + "' is not there; give local or mpi");
}

}  // namespace

void add_measure_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<MeasureCommand>();
  CLI::App* command =
      program.add_subcommand("measure", "Run plans over ranks, and compare with the prediction");
  command->footer(kMeasureExamples);
  add_task_options(*command, options->tasks);
  command
      ->add_option(
          "--plan,--plans", options->plans,
          "Plan files, as written by plan --format json or jsonl; each has one plan a task")
      ->type_name("FILE")
      ->group("Task")
      ->required();
  add_model_options(*command, options->models);
  const char* run = "Run";
  command
      ->add_option("--exchange", options->exchange,
                   "local: ranks are threads of this process; mpi: processes that mpirun starts")
      ->capture_default_str()
      ->group(run);
  add_rank_timeout_option(*command, options->rank_timeout_s, kMeasureOverMpi)->group(run);
  command->add_option("--backend", options->backend, "What runs the operators: cpu")
      ->capture_default_str()
      ->group(run);
  command
      ->add_option("--batch", options->accesses.batch,
                   "Samples of an iteration, of all devices together; default: the task's, or "
                   "those of --access")
      ->group(run);
  command
      ->add_option("--access", options->accesses.accesses,
                   "Recorded lookups of the task's tables, as of 'profile'; default: drawn ones")
      ->type_name("FILE")
      ->group(run);
  command->add_option("--lengths", options->accesses.lengths, "Lengths, if --access is .npy")
      ->type_name("FILE")
      ->group(run);
  command->add_option("--offsets", options->accesses.offsets, "Or offsets, with --batch")
      ->type_name("FILE")
      ->group(run);
  command->add_option("--seed", options->seed, "Decides which lookups are drawn")
      ->capture_default_str()
      ->group(run);
  command
      ->add_option("--warm-up", options->measurement.protocol.warm_up,
                   "Iterations before the timed ones, of each round")
      ->capture_default_str()
      ->group(run);
  command
      ->add_option("--iterations", options->measurement.protocol.iterations,
                   "Timed iterations of each round")
      ->capture_default_str()
      ->group(run);
  command
      ->add_option("--rounds", options->measurement.rounds,
                   "How often all plans are measured, one after the other")
      ->capture_default_str()
      ->group(run);
  command
      ->add_option("--threads", options->measurement.threads,
                   "Threads of each rank; 0: cores over ranks of the machine")
      ->capture_default_str()
      ->group(run);
  command
      ->add_flag("--keep-caches", options->keep_caches,
                 "Do not overwrite the last-level cache before each iteration")
      ->group(run);
  command->add_option("--json", options->json, "Also write a JSON document; -: instead of the page")
      ->type_name("FILE")
      ->group("Output");
  command
      ->add_option("--svg", options->svg, "Also draw measured beside predicted costs, an SVG file")
      ->type_name("FILE")
      ->group("Output");
  command->callback([options, &chosen] {
    chosen = [options](Console& console) { return run_measure(*options, console); };
  });
}

}  // namespace neuroshard::tools
