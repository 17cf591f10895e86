#include "core/placement/cpu_backend.h"

#include <algorithm>

#include "core/kernels/cpu_kernels.h"
#include "core/placement/cpu_cost_runner.h"
#include "core/placement/plain_session.h"
#include "neuroshard/published_sizes.h"
#include "neuroshard/task_models.h"

namespace neuroshard {
namespace {

// Rows of scratch: a multiple of the kernels' tile of six rows that stays within the L1 cache.
constexpr int kBlockRows = 48;

}  // namespace

CpuBackend::CpuBackend(const CpuKernels& kernels, const CostModels& models, bool reuse_work)
    : Backend(models),
      kernels_(kernels),
      models_(models),
      reuse_work_(reuse_work),
      sessions_(kernels_, models_) {}

void CpuBackend::embed_pieces(std::span<const float> features, std::span<float> embeddings) const {
  const PackedComputeModel& model = models_.compute();
  // The network writes a single float a row if it ends in one output.
  if (model.table_network.outputs() == 1) std::ranges::fill(embeddings, 0.0F);
  const int count = table_features();
  const int stride = padded_width(count);
  const int pieces = static_cast<int>(features.size() / static_cast<std::size_t>(count));
  AlignedVector<float> inputs(static_cast<std::size_t>(std::min(kBlockRows, pieces)) *
                              static_cast<std::size_t>(stride));
  MlpRunner network(kernels_, model.table_network, /*relu_last=*/true, pieces);
  for (int first = 0; first < pieces; first += kBlockRows) {
    const int block = std::min(kBlockRows, pieces - first);
    for (int row = 0; row < block; ++row) {
      const float* raw = features.data() + static_cast<std::ptrdiff_t>(first + row) * count;
      float* x = inputs.data() + static_cast<std::ptrdiff_t>(row) * stride;
      for (int i = 0; i < count; ++i) {
        x[i] = (raw[i] - model.features.mean[i]) / model.features.std[i];
      }
    }
    network.run(inputs.data(), stride, block,
                embeddings.data() + static_cast<std::ptrdiff_t>(first) * embedding_width(),
                embedding_width());
  }
}

void CpuBackend::score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                              std::span<float> cost_ms) const {
  const int width = embedding_width();
  const PackedMlp& layers = models_.compute().head;
  if (kernels_.score_published_shards != nullptr && layers.layers.size() == 2 &&
      width == kPublishedEmbedding && layers.layers[0].outputs == kPublishedHeadHidden) {
    return kernels_.score_published_shards(
        layers.layers[0].view(), layers.layers[1].view(), embeddings.data(), shards.offsets.data(),
        shards.piece_ids.data(), static_cast<int>(shards.size()), cost_ms.data());
  }
  AlignedVector<float> sums(static_cast<std::size_t>(kBlockRows) * static_cast<std::size_t>(width));
  MlpRunner head(kernels_, layers, /*relu_last=*/false);
  for (std::size_t first = 0; first < shards.size(); first += kBlockRows) {
    const int block = static_cast<int>(std::min<std::size_t>(kBlockRows, shards.size() - first));
    kernels_.sum_embeddings(embeddings.data(), width, shards.offsets.data() + first,
                            shards.piece_ids.data(), block, sums.data());
    head.run(sums.data(), width, block, cost_ms.data() + first, 1);
  }
}

void CpuBackend::forward_comm(int devices, std::span<const float> dim_sums,
                              std::span<const float> start_offsets_ms,
                              std::span<float> cost_ms) const {
  const int rows = static_cast<int>(dim_sums.size()) / devices;
  CommRunner runner(kernels_, models_.comm_for(devices).forward, devices, rows);
  runner.run(dim_sums.data(), start_offsets_ms.data(), rows, cost_ms.data());
}

void CpuBackend::backward_comm(int devices, std::span<const float> dim_sums,
                               std::span<float> cost_ms) const {
  const int rows = static_cast<int>(dim_sums.size()) / devices;
  CommRunner runner(kernels_, models_.comm_for(devices).backward, devices, rows);
  runner.run(dim_sums.data(), nullptr, rows, cost_ms.data());
}

std::unique_ptr<CostRunner> CpuBackend::cost_runner(int devices) const {
  return make_cpu_cost_runner(kernels_, models_, devices);
}

std::unique_ptr<PlacementSession> CpuBackend::start(const PlacementProblem& problem) const {
  if (reuse_work_) return sessions_.take(problem);
  return std::make_unique<PlainSession>(kernels_, models_, problem);
}

Backend::Backend(const CostModels& models)
    : traits_{.table_features = models.compute.table_network.inputs(),
              .embedding_width = padded_width(models.compute.table_network.outputs()),
              .setting = models.setting,
              .hardware_network = neuroshard::hardware_network(models),
              .network = network_in_setting(models),
              .nodes = models.nodes,
              .prices_ids = models.prices_ids(),
              .all_reduce = models.all_reduce,
              .ids = models.ids,
              .kind_prices = models.kind_prices,
              .prices_replicas = models.prices_replicas()} {}

void Backend::place(std::span<const Request> requests) const {
  for (const Request& request : requests) {
    request.session->place(*request.candidates, request.results);
  }
}

std::unique_ptr<Backend> make_cpu_backend(const CostModels& models, const BackendOptions& options) {
  validate(models);
  return std::make_unique<CpuBackend>(select_cpu_kernels(options.name), models, options.reuse_work);
}

std::vector<std::string> cpu_backends() {
  std::vector<std::string> names;
  for (const CpuKernels* kernels : all_cpu_kernels()) names.emplace_back(kernels->name);
  return names;
}

std::vector<std::string> available_cpu_backends() {
  std::vector<std::string> names;
  for (const CpuKernels* kernels : available_cpu_kernels()) names.emplace_back(kernels->name);
  return names;
}

}  // namespace neuroshard
