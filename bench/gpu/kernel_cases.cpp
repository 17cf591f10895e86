#include "bench/gpu/kernel_cases.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "bench/gpu/device_scorers.h"
#include "bench/gpu/event_timer.h"
#include "bench/gpu/fma_kernel.h"
#include "bench/gpu/placement_cases.h"
#include "bench/markdown_table.h"
#include "bench/scoring/score_benchmarks.h"
#include "bench/scoring/score_report.h"
#include "bench/scoring/scoring_input.h"
#include "core/models/symmetric_comm_features.h"
#include "core/placement/cpu_backend.h"
#include "cuda/device/current_device.h"
#include "cuda/networks/comm_costs.h"
#include "cuda/networks/embed_pieces.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

std::string counted(std::size_t count, const char* what) {
  return with_separators(static_cast<std::int64_t>(count)) + " " + what;
}

void require_equal(std::span<const float> actual, std::span<const float> expected,
                   const char* kernel) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (actual[i] == expected[i]) continue;
    throw Error(std::string(kernel) + ": value " + std::to_string(i) + " is " +
                    std::to_string(actual[i]) + ", but " + std::to_string(expected[i]) +
                    " on the CPU; nothing was timed",
                ErrorKind::kBackend);
  }
}

/// Arrays of floats in device memory, and a stream with a timer.
class Bench {
 public:
  explicit Bench(SharedContext context)
      : context_(std::move(context)), current_(context_->device()) {}

  [[nodiscard]] const gpu::DeviceContext& context() const { return *context_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }

  float* upload(std::span<const float> values) {
    float* array = allocate(values.size());
    stream_.copy_to_device(reinterpret_cast<std::byte*>(array),
                           reinterpret_cast<const std::byte*>(values.data()), values.size_bytes());
    stream_.synchronize();
    return array;
  }
  float* allocate(std::size_t floats) {
    buffers_.push_back(std::make_unique<gpu::DeviceBuffer>());
    buffers_.back()->reserve(floats * sizeof(float));
    return reinterpret_cast<float*>(buffers_.back()->data());
  }
  std::vector<float> download(const float* array, std::size_t floats) const {
    std::vector<float> values(floats);
    stream_.copy_to_host(reinterpret_cast<std::byte*>(values.data()),
                         reinterpret_cast<const std::byte*>(array), floats * sizeof(float));
    stream_.synchronize();
    return values;
  }
  double time(const auto& launch) { return timer_.seconds(stream_, launch); }

 private:
  SharedContext context_;
  gpu::CurrentDevice current_;
  gpu::Stream stream_;
  EventTimer timer_;
  std::vector<std::unique_ptr<gpu::DeviceBuffer>> buffers_;
};

KernelCase nothing(const SharedContext& context) {
  auto bench = std::make_shared<Bench>(context);
  float* sink = bench->allocate(1);
  return {.kernel = "nothing",
          .input = "what a launch takes",
          .items = 1.0,
          .multiply_adds = 0.0,
          .check = [] {},
          .run =
              [bench, sink] {
                return bench->time([&] {
                  run_gpu_multiply_adds(bench->context().multiprocessors(), 0, sink,
                                        bench->stream());
                });
              }};
}

// ---- score_shards ----

std::string name_of(const ScorerKind& kind) { return "score_shards, " + kind.name; }

/// Shards to be scored, and their name.
struct ScoreCase {
  std::string what;
  std::shared_ptr<const ScoringInput> input;
};

std::vector<ScoreCase> score_cases(const CostModels& models, const GoldenFolder& data,
                                   std::size_t shards) {
  constexpr std::size_t kPieces = 600;
  constexpr std::size_t kPiecesPerShard = 16;
  // As many as have room in shared memory, twice, beside the sums of devices.
  constexpr std::size_t kPiecesOfPlan = 400;
  constexpr std::size_t kDevices = 16;
  const std::unique_ptr<Backend> backend = make_cpu_backend(models);
  const std::vector<Table> tables = data.tables();
  return {{"shards of 16", std::make_shared<ScoringInput>(random_scoring_input(
                               *backend, tables, kPieces, shards, kPiecesPerShard, 1))},
          {"devices after edits", std::make_shared<ScoringInput>(random_edits_input(
                                      *backend, tables, kPiecesOfPlan, shards, kDevices, 1))}};
}

void add_score_cases(std::vector<KernelCase>& cases, const CostModels& models,
                     const GoldenFolder& data, const SharedContext& context,
                     const KernelSizes& sizes) {
  std::vector<ScorerKind> kinds = device_scorers(models, context);
  std::erase_if(kinds, [&](const ScorerKind& kind) {
    // "cuda_device" is one of the other kinds, chosen by size.
    return kind.name == "cuda_device" || !sizes.wants(name_of(kind));
  });
  if (kinds.empty()) return;
  const std::vector<std::size_t>& batches = sizes.shards;
  for (const ScoreCase& one : score_cases(models, data, std::ranges::max(batches))) {
    const std::shared_ptr<const ScoringInput> input = one.input;
    for (const ScorerKind& kind : kinds) {
      for (const std::size_t shards : batches) {
        const std::shared_ptr<Scorer> scorer = kind.make(*input);
        scorer->prepare(input->first(shards));
        cases.push_back({.kernel = name_of(kind),
                         .input = counted(shards, one.what.c_str()),
                         .items = static_cast<double>(shards),
                         .multiply_adds = static_cast<double>(shards) *
                                          multiply_adds_per_shard(models.compute.head),
                         .check =
                             [kind, input, &models, shards] {
                               ScoringInput part = *input;
                               part.offsets.resize(shards + 1);
                               check_scorers({&kind, 1}, part, models);
                             },
                         // The input goes along: the scorer borrows it.
                         .run =
                             [scorer, input] {
                               scorer->score();
                               return scorer->device_seconds();
                             }});
      }
    }
  }
}

// ---- embed_pieces ----

std::vector<float> features_of(std::span<const Table> tables, std::size_t pieces) {
  std::vector<float> features;
  for (std::size_t i = 0; i < pieces; ++i) {
    const auto row = table_features(tables[i % tables.size()], 4 << i % 6);
    features.insert(features.end(), row.begin(), row.end());
  }
  return features;
}

KernelCase embed_case(const CostModels& models, const GoldenFolder& data,
                      const SharedContext& context, std::size_t pieces) {
  auto bench = std::make_shared<Bench>(context);
  const auto features = std::make_shared<std::vector<float>>(features_of(data.tables(), pieces));
  const std::size_t floats = pieces * static_cast<std::size_t>(context->embedding_width());
  const gpu::EmbedArgs args{.features = context->models().table_features(),
                            .network = context->models().table_network(),
                            .raw_features = bench->upload(*features),
                            .embeddings = bench->allocate(floats),
                            .pieces = static_cast<int>(pieces),
                            .width = context->embedding_width()};
  const auto run = [bench, args] {
    return bench->time([&] {
      gpu::embed_pieces(args, bench->context().multiprocessors(), bench->context().shared_bytes(),
                        bench->stream());
    });
  };
  return {.kernel = "embed_pieces",
          .input = counted(pieces, "pieces"),
          .items = static_cast<double>(pieces),
          .multiply_adds =
              static_cast<double>(pieces) * multiply_adds_per_shard(models.compute.table_network),
          .check =
              [bench, args, run, features, floats, &models] {
                (void)run();
                std::vector<float> expected(floats);
                make_cpu_backend(models)->embed_pieces(*features, expected);
                require_equal(bench->download(args.embeddings, floats), expected, "embed_pieces");
              },
          .run = run};
}

// ---- comm_costs ----

KernelCase comm_case(const CostModels& models, const SharedContext& context, int devices,
                     std::size_t placements) {
  auto bench = std::make_shared<Bench>(context);
  const std::size_t size = placements * static_cast<std::size_t>(devices);
  const auto dim_sums = std::make_shared<std::vector<float>>(size);
  const auto offsets = std::make_shared<std::vector<float>>(size);
  for (std::size_t i = 0; i < size; ++i) {
    (*dim_sums)[i] = static_cast<float>(4 * (i * 37 % 200));
    (*offsets)[i] = static_cast<float>(i * 13 % 50) / 8.0F;
  }
  const gpu::CommArgs args{.network = context->models().comm_for(devices).forward,
                           .devices = devices,
                           .log2_devices = log2_of_devices(devices),
                           .dim_sums = bench->upload(*dim_sums),
                           .start_offsets_ms = bench->upload(*offsets),
                           .cost_ms = bench->allocate(size),
                           .placements = static_cast<int>(placements)};
  const auto run = [bench, args] {
    return bench->time([&] {
      gpu::comm_costs(args, bench->context().multiprocessors(), bench->context().shared_bytes(),
                      bench->stream());
    });
  };
  return {.kernel = "comm_costs",
          .input = counted(placements, "placements on ") + std::to_string(devices) + " devices",
          .items = static_cast<double>(placements),
          .multiply_adds = static_cast<double>(placements) *
                           comm_multiply_adds(models.comm_for(devices).forward, devices),
          .check =
              [bench, args, run, dim_sums, offsets, devices, size, &models] {
                (void)run();
                std::vector<float> expected(size);
                make_cpu_backend(models)->forward_comm(devices, *dim_sums, *offsets, expected);
                require_equal(bench->download(args.cost_ms, size), expected, "comm_costs");
              },
          .run = run};
}

}  // namespace

double comm_multiply_adds(const CommNetwork& network, int devices) {
  return std::visit(
      [&](const auto& of_kind) {
        // The symmetric network has a row for each device of a placement.
        const bool symmetric = std::is_same_v<decltype(of_kind), const SymmetricCommNetwork&>;
        return multiply_adds_per_shard(of_kind.network) * (symmetric ? devices : 1);
      },
      network);
}

std::vector<KernelCase> kernel_cases(const CostModels& models, const GoldenFolder& data,
                                     const SharedContext& context, const KernelSizes& sizes) {
  std::vector<KernelCase> cases = {nothing(context)};
  add_score_cases(cases, models, data, context, sizes);
  for (const std::size_t pieces : sizes.pieces) {
    if (sizes.wants("embed_pieces")) cases.push_back(embed_case(models, data, context, pieces));
  }
  for (const std::size_t placements : sizes.placements) {
    if (!sizes.wants("comm_costs")) continue;
    cases.push_back(comm_case(models, context, 4, placements));
    cases.push_back(comm_case(models, context, 128, placements));
  }
  add_placement_cases(cases, models, data, context, sizes);
  if (cases.size() == 1) {
    throw Error("--only '" + sizes.only +
                "': no kernel has this in its name; give score_shards, embed_pieces, comm_costs, "
                "place_candidates or search_beams, or a part of one");
  }
  return cases;
}

}  // namespace neuroshard::bench
