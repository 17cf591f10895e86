#include "search/piece_catalog.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/base/count_up.h"
#include "core/models/cost_range.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_kind.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

// At least; and fewer than twice as many. So many are worth a launch on a GPU.
constexpr std::size_t kPiecesBetweenStops = 1024;

// Histograms of other batches take up to some 50 us.
constexpr std::uint64_t kStepsOfTable = 512;

/// Embeddings and costs of pieces.
struct PieceCosts {
  AlignedVector<float> embeddings;  ///< [pieces, width]
  std::vector<float> cost_ms;       ///< [pieces], each alone on a device.
};

/// `features`: [pieces, features of the backend]. Nothing if `stop` is reached.
std::optional<PieceCosts> compute_costs(const Backend& backend, std::span<const float> features,
                                        const StopCondition& stop) {
  const auto width = static_cast<std::size_t>(backend.embedding_width());
  const auto row = static_cast<std::size_t>(backend.table_features());
  const std::size_t pieces = features.size() / row;
  PieceCosts costs{AlignedVector<float>(pieces * width), std::vector<float>(pieces)};
  const std::size_t parts =
      stop.possible() ? std::max<std::size_t>(1, pieces / kPiecesBetweenStops) : 1;
  const std::vector<std::uint32_t> ids = count_up<std::uint32_t>(pieces + 1);
  for (std::size_t part = 0; part < parts; ++part) {
    if (stop.reached()) return std::nullopt;
    const std::size_t first = pieces * part / parts;
    const std::size_t count = pieces * (part + 1) / parts - first;
    const auto embeddings = std::span(costs.embeddings).subspan(first * width, count * width);
    backend.embed_pieces(features.subspan(first * row, count * row), embeddings);
    backend.score_shards(embeddings, {std::span(ids).first(count + 1), std::span(ids).first(count)},
                         std::span(costs.cost_ms).subspan(first, count));
  }
  return costs;
}

}  // namespace

PieceCatalog::PieceCatalog(const Task& task, int table_features, const BundledTask* bundled,
                           const StopCondition& stop)
    : whole_(task.tables.size()) {
  std::vector<std::uint32_t> by_kind;
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (bundled == nullptr || bundled->bundle(t) == nullptr) by_kind.push_back(t);
  }
  std::stable_sort(by_kind.begin(), by_kind.end(), [&](std::uint32_t a, std::uint32_t b) {
    return kind_of(task.tables[a]) < kind_of(task.tables[b]);
  });
  const OperatorFeatures of_operator(table_features, static_cast<double>(task.batch_size));
  const ApartTables apart(task);
  StepBudget budget(StepBudget::kAnySteps, stop);
  const Table* previous = nullptr;
  for (const std::uint32_t index : by_kind) {
    const Table& table = task.tables[index];
    const bool of_its_own = !apart.groups_of(index).empty();
    if (!of_its_own && previous != nullptr && kind_of(*previous) == kind_of(table)) {
      whole_[index] = whole_[static_cast<std::size_t>(previous - task.tables.data())];
      continue;
    }
    if (!of_its_own) previous = &table;
    whole_[index] = static_cast<std::uint32_t>(size());
    const std::uint32_t listed = bundled == nullptr ? index : bundled->original[index];
    add_pieces(table, listed, halvings_of(table), of_operator, budget);
  }
  std::span<const BundledTask::Bundle> bundles;
  if (bundled != nullptr) bundles = bundled->bundles;
  for (const BundledTask::Bundle& bundle : bundles) add_bundle(bundle, of_operator, budget);
  if (budget.spent()) features_.clear();
  embedded_ = dims_.size();
  for (std::size_t b = 0; b < bundles.size(); ++b) {
    std::int32_t dim = 0;
    std::int32_t columns = 0;
    std::int64_t size_bytes = 0;
    for (const std::uint32_t piece : tables_of_bundles_[b]) {
      dim += dims_[piece];
      columns += columns_[piece];
      size_bytes += size_bytes_[piece];
    }
    whole_[bundles[b].table] = static_cast<std::uint32_t>(dims_.size());
    listed_.push_back(bundles[b].listed.front());
    dims_.push_back(dim);
    columns_.push_back(columns);
    size_bytes_.push_back(size_bytes);
    can_split_.push_back(0);
    can_split_all_.push_back(0);
  }
}

void PieceCatalog::add_pieces(const Table& table, std::uint32_t listed, const Halvings& halvings,
                              const OperatorFeatures& features, StepBudget& budget) {
  const std::size_t first = dims_.size();
  for (int level = 0; level <= halvings.some; ++level) {
    const int dim = table.dim >> level;
    listed_.push_back(listed);
    dims_.push_back(dim);
    columns_.push_back(output_columns(table, dim));
    size_bytes_.push_back(slice_bytes(table, dim));
    can_split_.push_back(level < halvings.some ? 1 : 0);
    can_split_all_.push_back(level < halvings.all ? 1 : 0);
  }
  if (budget.take(kStepsOfTable)) {
    features.append(table, std::span(dims_).subspan(first), features_);
  }
}

void PieceCatalog::add_bundle(const BundledTask::Bundle& bundle, const OperatorFeatures& features,
                              StepBudget& budget) {
  std::vector<std::uint32_t>& pieces = tables_of_bundles_.emplace_back();
  for (std::size_t i = 0; i < bundle.tables.size(); ++i) {
    pieces.push_back(static_cast<std::uint32_t>(dims_.size()));
    add_pieces(bundle.tables[i], bundle.listed[i], {}, features, budget);
  }
}

PieceCatalog::PieceCatalog(const Backend& backend, const Task& task)
    : PieceCatalog(task, backend.table_features()) {
  embed(backend, {this, 1});
  require_costs();
}

void PieceCatalog::embed(const Backend& backend, std::span<PieceCatalog> catalogs,
                         const StopCondition& stop) {
  const auto was_stopped = [](const PieceCatalog& catalog) { return catalog.features_.empty(); };
  if (std::ranges::any_of(catalogs, was_stopped)) return;
  std::vector<float> features;
  std::size_t inputs = 0;
  for (const PieceCatalog& catalog : catalogs) inputs += catalog.features_.size();
  features.reserve(inputs);
  for (const PieceCatalog& catalog : catalogs) {
    features.insert(features.end(), catalog.features_.begin(), catalog.features_.end());
  }
  const std::optional<PieceCosts> costs = compute_costs(backend, features, stop);
  if (!costs) return;
  const auto width = static_cast<std::size_t>(backend.embedding_width());
  std::size_t first = 0;
  for (PieceCatalog& catalog : catalogs) {
    catalog.take(backend,
                 std::span(costs->embeddings).subspan(first * width, catalog.embedded_ * width),
                 std::span(costs->cost_ms).subspan(first, catalog.embedded_));
    first += catalog.embedded_;
  }
}

// Embeddings of a device's tables are added up anyway: those of a bundle are the sum.
void PieceCatalog::take(const Backend& backend, std::span<const float> embeddings,
                        std::span<const float> cost_ms) {
  const auto width = static_cast<std::size_t>(backend.embedding_width());
  embeddings_.resize(size() * width);
  std::ranges::copy(embeddings, embeddings_.begin());  // assign() would go one float at a time.
  cost_ms_.assign(cost_ms.begin(), cost_ms.end());
  features_ = {};
  if (tables_of_bundles_.empty()) return;
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> pieces;
  for (std::size_t b = 0; b < tables_of_bundles_.size(); ++b) {
    float* const sum = embeddings_.data() + (embedded_ + b) * width;
    for (const std::uint32_t piece : tables_of_bundles_[b]) {
      for (std::size_t i = 0; i < width; ++i) sum[i] += embedding(piece)[i];
      pieces.push_back(piece);
    }
    offsets.push_back(static_cast<std::uint32_t>(pieces.size()));
  }
  cost_ms_.resize(size());
  backend.score_shards(embeddings_, {offsets, pieces}, std::span(cost_ms_).subspan(embedded_));
}

void PieceCatalog::require_costs() const {
  const auto wrong =
      std::find_if(cost_ms_.begin(), cost_ms_.end(), [](float ms) { return !is_cost(ms); });
  if (wrong == cost_ms_.end()) return;
  auto piece = static_cast<std::uint32_t>(wrong - cost_ms_.begin());
  // It is the price of all its tables together.
  if (piece >= embedded_) piece = tables_of_bundles_[piece - embedded_].front();
  throw Error("table " + std::to_string(listed_[piece]) + ": the compute model predicts " +
              std::to_string(*wrong) + " ms for it at dim " + std::to_string(dims_[piece]) +
              ": its numbers overflow; train or convert the model again, or check row and "
              "pooling_factor of the table");
}

}  // namespace neuroshard
