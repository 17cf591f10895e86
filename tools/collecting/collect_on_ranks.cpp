#include "tools/collecting/collect_on_ranks.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <string>

#include "neuroshard/error.h"
#include "tools/command_line/options.h"
#include "weights/collection/cpu_source.h"
#include "weights/collection/ranks/host_exchange.h"
#include "weights/collection/ranks/local_group.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kBackendsOfMpi = "--backend mpi and nccl";

bool is_over_mpi(const std::string& backend) { return backend == "mpi" || backend == "nccl"; }

int collect_locally(const RankOptions& options, const RankSamples& samples) {
  samples.check(*options.devices);
  int code = kExitOk;
  ranks::run_local_ranks(*options.devices, [&](ranks::RankGroup& group) {
    const auto exchange = ranks::make_host_exchange(group);
    const ranks::RankMeasurement measurement{group, *exchange, options.protocol, samples.batch};
    const int of_rank = collect_as_rank(options, samples, measurement, cpu_name());
    if (group.rank() == 0) code = of_rank;
  });
  return code;
}

}  // namespace

void add_rank_options(CLI::App& command, RankOptions& options) {
  const command_line::OptionGroup measured(command, "Measured backends");
  const command_line::OptionGroup general(command);
  general.add("--backend", options.backend, "local, mpi, nccl or analytic")->required();
  measured.add("--rank-timeout-s", "SECONDS", options.rank_timeout_s,
               std::string(kBackendsOfMpi) +
                   ": time after which a rank that the others wait for ends the run (default " +
                   std::to_string(kDefaultRankTimeoutSeconds) + "; 0: they wait for ever)");
  measured.with_default("--warm-up", options.protocol.warm_up, "Runs before the timed ones");
  measured.with_default("--iterations", options.protocol.iterations,
                        "Timed runs, of which the median counts");
}

void require_rank_options(const RankOptions& options) {
  const std::string& backend = options.backend;
  const std::optional<int>& seconds = options.rank_timeout_s;
  if (seconds && !is_over_mpi(backend)) {
    throw Error(std::string("--rank-timeout-s is for ") + kBackendsOfMpi + "; leave it out");
  }
  if (seconds && *seconds < 0) {
    throw Error("--rank-timeout-s is " + std::to_string(*seconds) +
                "; give seconds, or 0 to wait for ever");
  }
  if (!is_over_mpi(backend) && backend != "local" && backend != "analytic") {
    throw Error("--backend '" + backend + "' is not known; give analytic, local, mpi or nccl");
  }
}

int collect_on_ranks(const RankOptions& options, const RankSamples& samples, Console& console) {
  if (is_over_mpi(options.backend)) return collect_over_ranks(options, samples, console);
  if (!options.devices) throw Error("--devices is missing; --backend local needs it");
  return collect_locally(options, samples);
}

int collect_as_rank(const RankOptions& options, const RankSamples& samples,
                    const ranks::RankMeasurement& measurement, const std::string& hardware,
                    const std::function<void(const char*)>& give_up) {
  if (measurement.group.rank() != 0) {
    try {
      ranks::serve_samples(measurement);
    } catch (const std::exception& error) {
      if (give_up) give_up(error.what());
      throw;
    }
    return kExitOk;
  }
  ranks::RankSource source(measurement);
  try {
    return samples.record(source, measurement.group.size(),
                          {{"source", options.backend},
                           {"hardware", hardware},
                           {"nodes", std::to_string(measurement.group.nodes())},
                           {"warm_up", std::to_string(options.protocol.warm_up)},
                           {"iterations", std::to_string(options.protocol.iterations)}});
  } catch (const std::exception& error) {
    if (source.broken() && give_up) give_up(error.what());
    throw;
  }
}

}  // namespace neuroshard::tools
