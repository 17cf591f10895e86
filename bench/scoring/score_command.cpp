#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/markdown_table.h"
#include "bench/scoring/fma_ceiling.h"
#include "bench/scoring/gpu_scorers.h"
#include "bench/scoring/score_report.h"
#include "bench/scoring/scoring_input.h"
#include "tools/command_line/options.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kScoreFooter =
    R"(Embeddings of the pieces are at hand, as in a search; a shard is the sum of its pieces'
embeddings, then the head of the compute model. The ceiling counts the head's multiply-adds only,
against what a loop on the widest registers does in the same run. Baselines: the scalar backend,
OpenBLAS, cuBLAS. On a CPU, ratios and the share of the ceiling go by CPU time, which does not
count what other programs on the machine take.

Examples:
  nsbench score
  nsbench score --backends avx2,scalar --batches 4096 --threads 1
  nsbench score --edits 16 --pieces 400 --batches 4096,65536)";

struct ScoreOptions {
  CommonOptions common;
  ScoreMeasurement measurement{.batches = {1, 8, 64, 512, 4096, 32768, 262144, 1048576},
                               .threads = default_thread_counts(),
                               .scalar_max_batch = 4096};
  std::vector<std::string> backends;
  std::size_t pieces = 600;
  std::size_t pieces_per_shard = 8;
  std::size_t edits_of_devices = 0;  ///< 0: shards of pieces_per_shard.
  std::string svg;
};

// Backends by name; by default all CPU backends, the GPU if there is one, and all baselines.
std::vector<ScorerKind> scorers_of(const ScoreOptions& options, const CostModels& models) {
  std::vector<ScorerKind> kinds;
  std::vector<std::string> names = options.backends;
  if (names.empty()) {
    names = default_backends();
    if (std::find(names.begin(), names.end(), "scalar") == names.end())
      names.emplace_back("scalar");
  }
  kinds.reserve(names.size());
  for (const std::string& name : names) kinds.push_back(backend_scorer(models, name));
  for (auto& more : {openblas_scorers(models), gpu_scorers(models)}) {
    kinds.insert(kinds.end(), more.begin(), more.end());
  }
  return kinds;
}

std::string giga(double per_second) {
  return three_digits(per_second * 1e-9) + " G multiply-adds/s";
}

void run_score(const ScoreOptions& options, std::ostream& out) {
  const CostModels models = load_models(options.common);
  const std::size_t largest =
      *std::max_element(options.measurement.batches.begin(), options.measurement.batches.end());
  const std::unique_ptr<Backend> backend = make_cpu_backend(models);
  const std::vector<Table> tables = GoldenFolder(options.common.data).tables();
  const ScoringInput input =
      options.edits_of_devices > 0
          ? random_edits_input(*backend, tables, options.pieces, largest, options.edits_of_devices,
                               /*seed=*/1)
          : random_scoring_input(*backend, tables, options.pieces, largest,
                                 options.pieces_per_shard, /*seed=*/1);
  const std::vector<ScorerKind> kinds = scorers_of(options, models);
  Context context = machine_context();
  const double work = multiply_adds_per_shard(models.compute.head);
  context.emplace_back(
      "pieces", std::to_string(options.pieces) + ", " +
                    (options.edits_of_devices > 0
                         ? "edits of " + std::to_string(options.edits_of_devices) + " devices"
                         : std::to_string(options.pieces_per_shard) + " a shard"));
  context.emplace_back("multiply_adds_per_shard", with_separators(std::llround(work)));
  out << context_block(context) << std::flush;
  const auto known = static_cast<std::ptrdiff_t>(context.size());

  check_scorers(kinds, input, models);
  JsonReport report;
  const std::vector<ScoreTimes> times = time_scorers(kinds, input, options.measurement, report);
  ScoreCeilings ceilings = ceilings_of(times);
  ceilings.gpu = gpu_multiply_adds_per_second();
  context.emplace_back("ceiling", ceilings.per_core > 0.0
                                      ? giga(ceilings.per_core) + " a core (" +
                                            std::string(multiply_add_instructions()) + ")"
                                      : "not known: no AVX2");
  if (ceilings.gpu) context.emplace_back("gpu_ceiling", giga(*ceilings.gpu));
  out << context_block({context.begin() + known, context.end()});

  std::vector<std::string> baselines;
  for (const ScorerKind& kind : kinds) {
    if (kind.name == "scalar" || !kind.exact) baselines.push_back(kind.name);
  }
  for (const int threads : options.measurement.threads) {
    out << "\n## " << threads << (threads == 1 ? " thread\n\n" : " threads\n\n")
        << score_table(times, threads, baselines, ceilings, work);
  }
  if (!options.common.json.empty()) write_file(options.common.json, report.str(context));
  if (!options.svg.empty()) write_file(options.svg, score_chart(times, ceilings, work));
}

}  // namespace

void add_score_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ScoreOptions>();
  CLI::App* command = program.add_subcommand("score", "Shards scored per second");
  command->footer(kScoreFooter);
  add_common_options(*command, options->common);
  ScoreMeasurement& measurement = options->measurement;
  const command_line::OptionGroup general(*command);
  general
      .add("--backends", options->backends,
           "Backends (default: all that run here; baselines are always timed)")
      ->delimiter(',');
  general.with_default("--batches", measurement.batches, "Shards per call")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 26));
  general.with_default("--threads", measurement.threads, "Threads, each with batches of its own")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  general.with_default("--scalar-max-batch", measurement.scalar_max_batch,
                       "Largest batch that the scalar backend is timed on");
  general.with_default("--pieces", options->pieces, "Pieces to choose from")
      ->check(CLI::Range(1, 10000000));
  general.with_default("--per-shard", options->pieces_per_shard, "Pieces per shard")
      ->check(CLI::Range(0, 64));
  general
      .add("--edits", options->edits_of_devices,
           "Shards are what edits of a plan on so many devices make of two of them, in "
           "place of --per-shard")
      ->check(CLI::Range(2, 100000));
  general.with_default("--repetitions", measurement.repetitions, "Measurements of each case")
      ->check(CLI::Range(1, 1000));
  general.with_default("--min-seconds", measurement.min_seconds, "Time of one measurement")
      ->check(seconds_between(1e-6, 3600.0));
  general.add("--svg", "FILE", options->svg, "Chart of the rates");
  command_line::run_if_given(*command, chosen, options, run_score);
}

}  // namespace neuroshard::bench
