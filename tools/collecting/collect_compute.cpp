#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "neuroshard/error.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/task_file.h"
#include "tools/collecting/access_files.h"
#include "tools/collecting/bandwidth_report.h"
#include "tools/collecting/collect_command.h"
#include "tools/collecting/compute_sources.h"
#include "tools/command_line/options.h"
#include "weights/collection/collection_folder.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kCollectComputeExamples = R"(Examples:
  Measured on all GPUs of this machine
  neuroshard collect compute --backend cuda --table-configs tables/table_configs.json \
      --output data/compute
  How near the operator comes to the bandwidth of GPU 0, nothing collected
  neuroshard collect compute --backend cuda --devices 0 --report-bandwidth --samples 0 \
      --table-configs tables/table_configs.json --output data/compute
  Measured with recorded lookups
  neuroshard profile fbgemm_t856_bs65536.pt --output table_configs.json
  neuroshard collect compute --backend cuda --table-configs table_configs.json \
      --access fbgemm_t856_bs65536.pt --output data/compute
  100,000 samples for an H100 that is not at hand
  neuroshard collect compute --backend analytic --gpu h100-sxm-80gb \
      --table-configs tables/table_configs.json --output data/compute

Protocol and what is measured: docs/collecting.md. The models: docs/analytic_costs.md.)";

// Streams of the seed; samples have the streams from 0 on.
constexpr std::uint64_t kRowBlockStream = ~std::uint64_t{0};
constexpr std::uint64_t kTableKindStream = kRowBlockStream - 1;

struct CollectCompute {
  CollectionOptions collection;
  ComputeSourceOptions source;
  ComputeDrawOptions draw;
  double memory_gb = 4.0;
  int max_dim = 128;
  std::string table_configs;
  AccessFiles accesses;
  bool iterations = false;
  bool shares = false;
  bool row_blocks = false;
  bool table_kinds = false;
  std::int64_t max_rows = kMaxRows;
  bool report_bandwidth = false;
};

// Nothing unless --access is given.
std::optional<AccessData> recorded_accesses(const CollectCompute& command) {
  const AccessFiles& files = command.accesses;
  if (files.accesses.empty()) {
    if (files.lengths.empty() && files.offsets.empty()) return std::nullopt;
    throw Error("--lengths and --offsets belong to --access; give the indices with it");
  }
  if (command.source.backend == "analytic") {
    throw Error("--access is for backends that measure; leave it out with --backend analytic");
  }
  AccessData data = open_accesses(files);
  if (data.compressed || data.samples.compressed) {
    throw Error(files.accesses +
                ": is compressed, and tables are read one by one; unpack it first");
  }
  return data;
}

ComputeSourceOptions source_of(const CollectCompute& command) {
  ComputeSourceOptions source = command.source;
  source.accesses = recorded_accesses(command);
  source.batch =
      source.accesses ? source.accesses->batch : command.accesses.batch.value_or(kDefaultBatchSize);
  if (source.batch < 1) {
    throw Error("--batch is " + std::to_string(source.batch) + "; give at least 1");
  }
  if (source.backend != "cuda" && (command.report_bandwidth || !source.devices.empty())) {
    throw Error("--devices and --report-bandwidth are for --backend cuda; leave them out");
  }
  require_runs(source.protocol);
  source.memory_bytes = bytes_from_gib(command.memory_gb);
  source.seed = command.collection.seed;
  return source;
}

ComputeDrawOptions draw_of(const CollectCompute& command, const ComputeSourceOptions& source) {
  ComputeDrawOptions draw = command.draw;
  draw.memory_bytes = source.memory_bytes;
  if (command.iterations && command.shares) {
    throw Error("--batches and --shares exclude each other; give one");
  }
  if (command.iterations) draw.samples = ComputeDrawOptions::Samples::kIterations;
  if (command.shares) draw.samples = ComputeDrawOptions::Samples::kShares;
  if (draw.samples != ComputeDrawOptions::Samples::kOfBatch &&
      (source.backend != "analytic" || source.batch != kDefaultBatchSize)) {
    throw Error("--batches and --shares need --backend analytic; give it, and leave out --batch");
  }
  if (command.table_kinds && source.backend != "analytic") {
    throw Error("--table-kinds is for --backend analytic; others measure fp32 sums with SGD");
  }
  return draw;
}

// Tables of the file, or blocks of their rows, of their kinds or drawn ones.
std::vector<Table> tables_of(const CollectCompute& command) {
  TableConfigs configs = load_table_configs(command.table_configs);
  std::erase_if(configs.tables, [&](const Table& table) { return table.rows > command.max_rows; });
  if (configs.tables.empty()) {
    throw Error(command.table_configs + ": no table has at most " +
                std::to_string(command.max_rows) + " rows; give a larger --max-rows");
  }
  if (command.row_blocks) {
    Random blocks(command.collection.seed, kRowBlockStream);
    configs.tables = draw_row_blocks(configs.tables, blocks);
  }
  if (command.table_kinds) {
    Random kinds(command.collection.seed, kTableKindStream);
    configs.tables = draw_table_kinds(configs.tables, kinds);
  }
  return std::move(configs.tables);
}

// Makes tables as the sources are to have them: with histograms of the batch that is measured.
// Histograms of files are of kDefaultBatchSize samples.
std::vector<Table> in_batch(std::vector<Table> tables, std::int64_t batch) {
  if (batch == kDefaultBatchSize) return tables;
  const HistogramScale scale(static_cast<double>(batch));
  for (Table& table : tables) table.access_histogram = scale(table);
  return tables;
}

CollectionDescription description_of(const CollectCompute& command,
                                     const ComputeSourceOptions& source,
                                     const ComputeDrawOptions& draw, const std::string& hardware) {
  CollectionDescription description = {{"kind", "compute"},
                                       {"source", source.backend},
                                       {"hardware", hardware},
                                       {"batch", std::to_string(source.batch)},
                                       {"seed", std::to_string(command.collection.seed)},
                                       {"max_tables", std::to_string(draw.max_tables)},
                                       {"memory_bytes", std::to_string(draw.memory_bytes)}};
  if (draw.slices) description["draws"] = "slices";
  if (command.iterations) description["samples"] = "iterations";
  if (command.shares) description["samples"] = "shares";
  if (command.row_blocks) description["tables"] = "row blocks";
  if (command.table_kinds) description["table_kinds"] = "drawn";
  if (command.max_rows < kMaxRows) description["max_rows"] = std::to_string(command.max_rows);
  if (source.backend != "analytic") {
    description["warm_up"] = std::to_string(source.protocol.warm_up);
    description["iterations"] = std::to_string(source.protocol.iterations);
  }
  if (source.accesses) {
    description["accesses"] = std::filesystem::path(command.accesses.accesses).filename().string();
  }
  return description;
}

int run(const CollectCompute& command, Console& console) {
  const ComputeSourceOptions source = source_of(command);
  const ComputeDrawOptions draw = draw_of(command, source);
  const std::vector<Table> base = tables_of(command);
  const std::vector<Table> tables = augment_dims(base, command.max_dim);
  Random random(command.collection.seed);
  (void)draw_shard(tables, draw, random);  // Bad options fail before there is a folder.
  const std::vector<Table> measured_base = in_batch(base, source.batch);
  const std::vector<Table> measured = in_batch(tables, source.batch);
  const ComputeSources made = make_compute_sources(source, measured_base, measured);
  prepare_collection(command.collection.output,
                     description_of(command, source, draw, made.hardware), tables);
  const int code =
      run_collection(command.collection, console, [&](const CollectionRun& run, SampleLog& log) {
        collect_compute_samples(made.sources, tables, draw, run, log);
      });
  if (!made.cuda.empty()) {
    OperatorTraffic traffic;
    for (const CudaSource* on_device : made.cuda) traffic += on_device->traffic();
    if (traffic.forward_ms > 0.0) {
      print_bandwidth(console.out, traffic, made.cuda.front()->copy_gb_per_s());
    }
  }
  if (command.report_bandwidth) {
    report_bandwidth(console.out, *made.cuda.front(), measured, base.size(), draw,
                     command.collection.seed);
  }
  return code;
}

}  // namespace

void add_collect_compute(CLI::App& collect, Action& chosen) {
  const auto options = std::make_shared<CollectCompute>();
  CLI::App* command =
      collect.add_subcommand("compute", "Cost of the embedding tables of one device");
  command->footer(kCollectComputeExamples);
  add_collection_options(*command, options->collection);
  const command_line::OptionGroup general(*command);
  general.add("--backend", options->source.backend, "cuda, cpu or analytic")->required();
  general.add("--table-configs", "FILE", options->table_configs, "Tables to draw from")->required();
  add_gpu_option(*command, options->source.gpu);
  general.add("--batch", options->accesses.batch,
              "Samples of a batch; default: 65536, or those of --access");
  general.with_default("--max-tables", options->draw.max_tables, "Most tables of a sample");
  general.flag("--slices", options->draw.slices,
               "Draw what devices of column-split plans hold: one slice or hundreds, of few "
               "tables, mostly of one dim");
  general.flag("--batches", options->iterations,
               "Also draw the samples of an iteration: 65,536 in a third, else 1,024 to 4,194,304");
  general.flag("--shares", options->shares,
               "Draw them like --batches, and take the part of one of 2 to 1,024 devices: "
               "operators of replicas");
  general.flag("--row-blocks", options->row_blocks,
               "Take one of 2 to 1,024 row blocks of each table");
  general.flag("--table-kinds", options->table_kinds,
               "Make half of the tables fp32 sums with SGD. The others have any type of "
               "weights, optimizer and pooling, with or without weights of lookups");
  general.add("--max-rows", "N", options->max_rows, "Leave larger tables out");
  general.with_default("--memory-gb", options->memory_gb, "Most GiB of a sample's weights");
  general.with_default("--max-dim", options->max_dim, "Largest dim; the others are its halves");
  const command_line::OptionGroup measured(*command, "Measured backends");
  measured.add("--access", "FILE", options->accesses.accesses,
               "Recorded lookups of the tables, as 'profile' reads them; default: drawn ones");
  measured.add("--lengths", "FILE", options->accesses.lengths, "Lengths, if --access is .npy");
  measured.add("--offsets", "FILE", options->accesses.offsets,
               "Offsets in place of lengths, with --batch");
  measured.with_default("--warm-up", options->source.protocol.warm_up,
                        "Runs before the timed ones");
  measured.with_default("--iterations", options->source.protocol.iterations,
                        "Timed runs, of which the median counts");
  measured.add("--threads", options->source.threads,
               "Threads of the cpu backend; default: one per core");
  measured.add("--devices", "N...", options->source.devices,
               "GPUs of the cuda backend, as CUDA numbers them; default: every usable one");
  measured.flag(
      "--report-bandwidth", options->report_bandwidth,
      "Measure the bandwidth of the cuda backend's operator for each dim, beside a copy's");
  command_line::run_if_given(*command, chosen, options, run);
}

}  // namespace neuroshard::tools
