#include "bench/scoring/score_benchmarks.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "bench/scoring/fma_ceiling.h"
#include "bench/scoring/run_collector.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

// The scalar backend is slow: it vouches for so many shards, and the best CPU backend, which is
// the same to the last bit, for the rest.
constexpr std::size_t kCheckedByScalar = 4096;
constexpr std::uint64_t kCeilingRounds = 100000;

std::vector<float> costs_of(const ScorerKind& kind, const ScoringInput& input, std::size_t shards) {
  const std::unique_ptr<Scorer> scorer = kind.make(input);
  std::vector<float> cost_ms(shards);
  scorer->prepare(input.first(shards));
  scorer->score();
  scorer->read_costs(cost_ms);
  return cost_ms;
}

void require_equal(const ScorerKind& kind, const std::vector<float>& expected,
                   const std::vector<float>& actual) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float allowed = kind.exact ? 0.0F : std::max(1e-6F, 1e-5F * std::abs(expected[i]));
    if (std::abs(actual[i] - expected[i]) <= allowed) continue;
    throw Error("'" + kind.name + "': shard " + std::to_string(i) + " costs " +
                    std::to_string(actual[i]) + " ms, but " + std::to_string(expected[i]) +
                    " by the scalar backend; nothing was timed",
                ErrorKind::kBackend);
  }
}

void time_ceiling(benchmark::State& state) {
  std::uint64_t done = 0;
  for (auto _ : state) done += run_multiply_adds(kCeilingRounds);
  state.SetItemsProcessed(static_cast<std::int64_t>(done));
}

void time_scorer(benchmark::State& state, const ScorerKind& kind, const ScoringInput& input,
                 std::size_t batch) {
  const std::unique_ptr<Scorer> scorer = kind.make(input);
  scorer->prepare(input.first(batch));
  for (auto _ : state) {
    scorer->score();
    if (kind.timed_by_device) state.SetIterationTime(scorer->device_seconds());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
}

// Google Benchmark reads this from a command line only, and keeps a pointer to the first word.
void use_random_interleaving() {
  static std::string name = "nsbench";
  std::string flag = "--benchmark_enable_random_interleaving=true";
  std::array<char*, 3> args = {name.data(), flag.data(), nullptr};
  int count = 2;
  benchmark::Initialize(&count, args.data());
}

}  // namespace

void check_scorers(std::span<const ScorerKind> kinds, const ScoringInput& input,
                   const CostModels& models) {
  const std::size_t shards = input.offsets.size() - 1;
  const std::size_t few = std::min(shards, kCheckedByScalar);
  const ScorerKind best = backend_scorer(models, "auto");
  require_equal(best, costs_of(backend_scorer(models, "scalar"), input, few),
                costs_of(best, input, few));
  const std::vector<float> expected = costs_of(best, input, shards);
  const std::vector<float> expected_few(expected.begin(),
                                        expected.begin() + static_cast<std::ptrdiff_t>(few));
  for (const ScorerKind& kind : kinds) {
    if (kind.name == "scalar") continue;
    require_equal(kind, expected_few, costs_of(kind, input, few));
    require_equal(kind, expected, costs_of(kind, input, shards));
  }
}

std::vector<ScoreTimes> time_scorers(std::span<const ScorerKind> kinds, const ScoringInput& input,
                                     const ScoreMeasurement& measurement, JsonReport& report) {
  benchmark::ClearRegisteredBenchmarks();
  use_random_interleaving();
  std::map<std::pair<std::string, int>, ScoreTimes> by_name;
  const auto configure = [&](benchmark::internal::Benchmark* timed, int threads, bool by_device) {
    timed->Threads(threads)->Repetitions(measurement.repetitions);
    timed->MinTime(measurement.min_seconds)->Unit(benchmark::kMicrosecond);
    if (by_device) {
      timed->UseManualTime();
    } else {
      timed->UseRealTime();
    }
  };
  for (const int threads : measurement.threads) {
    const std::string ceiling = "score/ceiling";
    by_name[{ceiling, threads}] = {
        .scorer = kCeiling, .threads = threads, .per_second = {}, .per_cpu_second = {}};
    configure(benchmark::RegisterBenchmark(ceiling.c_str(), time_ceiling), threads, false);
    for (const ScorerKind& kind : kinds) {
      for (const std::size_t batch : measurement.batches) {
        if (kind.name == "scalar" && batch > measurement.scalar_max_batch) continue;
        const std::string name = "score/" + kind.name + "/batch:" + std::to_string(batch);
        by_name[{name, threads}] = {.scorer = kind.name,
                                    .on_gpu = kind.on_gpu,
                                    .batch = batch,
                                    .threads = threads,
                                    .per_second = {},
                                    .per_cpu_second = {}};
        configure(benchmark::RegisterBenchmark(name.c_str(),
                                               [&kind, &input, batch](benchmark::State& s) {
                                                 time_scorer(s, kind, input, batch);
                                               }),
                  threads, kind.timed_by_device);
      }
    }
  }
  RunCollector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();

  for (const auto& runs : collector.groups) {
    report.add(runs);
    for (const auto& run : runs) {
      if (run.run_type != benchmark::BenchmarkReporter::Run::RT_Iteration) continue;
      ScoreTimes& times = by_name.at({run.run_name.function_name, run.threads});
      // Iterations and CPU time are sums over the threads, wall time is their mean.
      const double items = run.counters.at("items_per_second").value * run.real_accumulated_time;
      times.per_second.push_back(items / run.real_accumulated_time);
      times.per_cpu_second.push_back(items / run.cpu_accumulated_time);
    }
  }
  std::vector<ScoreTimes> all;
  for (auto& [name, times] : by_name) {
    if (!times.per_second.empty()) all.push_back(std::move(times));
  }
  return all;
}

}  // namespace neuroshard::bench
