#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <ostream>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/gpu/case_times.h"
#include "bench/gpu/host_rows_kernel.h"
#include "bench/gpu/kernel_cases.h"
#include "bench/gpu/shared_load_kernel.h"
#include "bench/inputs/random_comm.h"
#include "bench/json_report.h"
#include "bench/markdown_table.h"
#include "bench/scoring/gpu_scorers.h"
#include "bench/statistics.h"
#include "cuda/device/check.h"
#include "cuda/device/current_device.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/error.h"
#include "tools/command_line/options.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kKernelsFooter =
    R"(Measures first the cycles for which loads from shared memory keep a multiprocessor busy,
by its own clock: where a load takes more cycles than the fp32 units need for what is done with
it, loads are the bound. Then it times each kernel by CUDA events, on inputs that are in device
memory already. Results are compared with the CPU's first. 'nothing' is an empty launch, the least
that an event pair shows. 'of ceiling' compares the multiply-adds of the networks with a kernel of
nothing but FMA in the same run. Without a usable device the command says so
and measures nothing.)";

struct KernelsOptions {
  CommonOptions common;
  int repetitions = 5;
  double min_seconds = 0.05;
  bool loads_only = false;
  bool host_rows = false;
  std::string only;
};

std::optional<int> usable_device() {
  for (const CudaDevice& device : cuda_devices()) {
    if (device.usable) return device.index;
  }
  return std::nullopt;
}

// Cycles of a multiprocessor for each load of a warp, one entry a repetition.
std::vector<double> load_cycles(const SharedLoad& load, int multiprocessors, int repetitions,
                                const gpu::Stream& stream) {
  constexpr int kRounds = 2000;
  std::vector<double> cycles;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const SharedLoadResult result = run_shared_loads(load, multiprocessors, kRounds, stream);
    if (result.sums != expected_sums(load, kRounds)) {
      throw Error(std::string("loads of ") + load.name + ": wrong values; nothing was timed",
                  ErrorKind::kBackend);
    }
    std::vector<double> of_blocks(result.cycles.begin(), result.cycles.end());
    cycles.push_back(median(of_blocks) / shared_loads_in_block(kRounds));
  }
  return cycles;
}

void measure_loads(int device, int repetitions, JsonReport& report, std::ostream& out) {
  const gpu::CurrentDevice current(device);
  int multiprocessors = 0;
  NEUROSHARD_CUDA_CHECK(
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const gpu::Stream stream;
  MarkdownTable table({"load by a warp", "cycles", "spread"});
  for (const SharedLoad& load : shared_loads()) {
    const std::vector<double> cycles = load_cycles(load, multiprocessors, repetitions, stream);
    table.add_row({load.name, three_digits(median(cycles)), percent(relative_spread(cycles))});
    Measurement measurement{.name = std::string("kernels/loads/") + load.name,
                            .rounds = {},
                            .figures = {{"cycles", median(cycles)}},
                            .label = ""};
    // Not timed otherwise.
    measurement.rounds.resize(1);
    report.add(measurement);
  }
  out << table.str() << '\n';
}

void measure_host_rows(int device, int repetitions, std::ostream& out) {
  const gpu::CurrentDevice current(device);
  const gpu::Stream stream;
  EventTimer timer;
  out << "\nA plain copy from the host: "
      << three_digits(host_copy_rate(repetitions, timer, stream)) << " GB/s.\n\n";
  MarkdownTable table({"bytes of a row", "from the host, GB/s", "million rows/s",
                       "to the host, GB/s", "both at once, GB/s each"});
  for (const int bytes : host_row_bytes()) {
    const HostRowRates rates = host_row_rates(bytes, repetitions, timer, stream);
    table.add_row({with_separators(bytes), three_digits(rates.fetched),
                   three_digits(1e3 * rates.fetched / bytes), three_digits(rates.evicted),
                   three_digits(rates.both)});
  }
  out << table.str();
}

void run_kernels(const KernelsOptions& options, std::ostream& out) {
  const std::optional<int> device = usable_device();
  if (!device) {
    const char* message = "kernels: there is no usable CUDA device; nothing was measured";
    if (std::getenv("NEUROSHARD_REQUIRE_GPU") != nullptr) throw Error(message, ErrorKind::kBackend);
    out << message << '\n';
    return;
  }
  CostModels models = load_models(options.common);
  const bool random_comm = complete_with_random_comm(models, 128);
  Context context = machine_context();
  out << context_block(context);
  if (options.host_rows) return measure_host_rows(*device, options.repetitions, out);
  JsonReport report;
  measure_loads(*device, options.repetitions, report, out);
  const auto write_json = [&] {
    if (!options.common.json.empty()) write_file(options.common.json, report.str(context));
  };
  if (options.loads_only) return write_json();
  if (random_comm) out << "# communication model of 128 devices: random weights\n";
  const int width = (models.compute.table_network.outputs() + 7) / 8 * 8;
  const std::vector<KernelCase> cases = kernel_cases(
      models, GoldenFolder(options.common.data),
      std::make_shared<const gpu::DeviceContext>(*device, models, width), {.only = options.only});
  for (const KernelCase& one : cases) one.check();

  const std::vector<CaseTimes> times = time_cases(cases, options.repetitions, options.min_seconds);
  const double ceiling = gpu_multiply_adds_per_second().value_or(0.0);
  const std::size_t known = context.size();
  context.emplace_back("gpu_ceiling", three_digits(ceiling * 1e-9) + " G multiply-adds/s");
  out << context_block({context.begin() + static_cast<std::ptrdiff_t>(known), context.end()})
      << '\n';

  MarkdownTable table({"kernel", "input", "us", "spread", "items/s", "of ceiling"});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    report.add(times[i].runs);
    const std::vector<double>& seconds = times[i].seconds;
    const double typical = median(seconds);
    table.add_row({cases[i].kernel, cases[i].input, three_digits(1e6 * typical),
                   percent(relative_spread(seconds)), three_digits(cases[i].items / typical),
                   percent(cases[i].multiply_adds / typical / ceiling)});
  }
  out << table.str();
  write_json();
}

}  // namespace

void add_kernels_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<KernelsOptions>();
  CLI::App* command = program.add_subcommand("kernels", "Time of each CUDA kernel on the GPU");
  command->footer(kKernelsFooter);
  add_common_options(*command, options->common);
  const command_line::OptionGroup general(*command);
  general.with_default("--repetitions", options->repetitions, "Measurements of each case")
      ->check(CLI::Range(1, 1000));
  general.with_default("--min-seconds", options->min_seconds, "Time of one measurement")
      ->check(seconds_between(1e-6, 3600.0));
  general.flag("--loads-only", options->loads_only, "Only the loads from shared memory");
  general.flag("--host-rows", options->host_rows,
               "Only the speed of scattered rows from the host's memory, and back");
  general.add("--only", "TEXT", options->only, "Only kernels whose names have this text");
  command_line::run_if_given(*command, chosen, options, run_kernels);
}

}  // namespace neuroshard::bench
