#include "bench/gpu/case_times.h"

#include <map>
#include <string>

#include "bench/scoring/run_collector.h"

namespace neuroshard::bench {
namespace {

std::string name_of(const KernelCase& one) { return "kernels/" + one.kernel + "/" + one.input; }

}  // namespace

std::vector<CaseTimes> time_cases(std::span<const KernelCase> cases, int repetitions,
                                  double min_seconds) {
  std::vector<CaseTimes> times(cases.size());
  std::map<std::string, CaseTimes*> by_name;
  benchmark::ClearRegisteredBenchmarks();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const KernelCase& one = cases[i];
    by_name[name_of(one)] = &times[i];
    benchmark::RegisterBenchmark(name_of(one).c_str(),
                                 [&one](benchmark::State& state) {
                                   for (auto _ : state) state.SetIterationTime(one.run());
                                   const auto items = static_cast<std::int64_t>(one.items);
                                   state.SetItemsProcessed(state.iterations() * items);
                                 })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->Repetitions(repetitions)
        ->MinTime(min_seconds);
  }
  RunCollector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
  for (const auto& runs : collector.groups) {
    for (const auto& run : runs) {
      CaseTimes& of_case = *by_name.at(run.run_name.function_name);
      of_case.runs.push_back(run);
      if (run.run_type != benchmark::BenchmarkReporter::Run::RT_Iteration) continue;
      of_case.seconds.push_back(run.real_accumulated_time / static_cast<double>(run.iterations));
    }
  }
  return times;
}

}  // namespace neuroshard::bench
