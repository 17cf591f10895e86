#include "search/piece_catalog.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include "core/cost_range.h"
#include "core/table_kind.h"
#include "neuroshard/error.h"
#include "neuroshard/plan.h"

namespace neuroshard {
namespace {

constexpr std::size_t kPiecesBetweenStops = 1024;

}  // namespace

PieceCatalog::PieceCatalog(const Task& task, std::span<const std::uint32_t> listed)
    : whole_(task.tables.size()), listed_(listed.begin(), listed.end()) {
  std::vector<std::uint32_t> by_kind(task.tables.size());
  std::iota(by_kind.begin(), by_kind.end(), 0U);
  std::stable_sort(by_kind.begin(), by_kind.end(), [&](std::uint32_t a, std::uint32_t b) {
    return kind_of(task.tables[a]) < kind_of(task.tables[b]);
  });
  const Table* previous = nullptr;
  for (const std::uint32_t index : by_kind) {
    const Table& table = task.tables[index];
    if (previous != nullptr && kind_of(*previous) == kind_of(table)) {
      whole_[index] = whole_[static_cast<std::size_t>(previous - task.tables.data())];
      continue;
    }
    previous = &table;
    whole_[index] = static_cast<std::uint32_t>(dims_.size());
    for (int dim = table.dim;; dim /= 2) {
      dims_.push_back(dim);
      size_bytes_.push_back(slice_bytes(table, dim));
      const auto row = table_features(table, dim);
      features_.insert(features_.end(), row.begin(), row.end());
      if (!can_split_columns(dim)) break;
    }
  }
}

PieceCatalog::PieceCatalog(const Backend& backend, const Task& task) : PieceCatalog(task) {
  (void)embed(backend, StopCondition());
  require_costs();
}

void PieceCatalog::compute(const Backend& backend, std::span<const float> features,
                           std::span<float> embeddings, std::span<float> cost_ms) {
  backend.embed_pieces(features, embeddings);
  std::vector<std::uint32_t> offsets(cost_ms.size() + 1);
  std::iota(offsets.begin(), offsets.end(), 0U);
  backend.score_shards(embeddings, {offsets, std::span(offsets).first(cost_ms.size())}, cost_ms);
}

bool PieceCatalog::embed(const Backend& backend, const StopCondition& stop) {
  const auto width = static_cast<std::size_t>(backend.embedding_width());
  AlignedVector<float> embeddings(size() * width);
  std::vector<float> cost_ms(size());
  const std::size_t part = stop.possible() ? kPiecesBetweenStops : size();
  for (std::size_t first = 0; first < size(); first += part) {
    if (stop.reached()) return false;
    const std::size_t count = std::min(part, size() - first);
    compute(backend, std::span(features_).subspan(first * kTableFeatures, count * kTableFeatures),
            std::span(embeddings).subspan(first * width, count * width),
            std::span(cost_ms).subspan(first, count));
  }
  embeddings_ = std::move(embeddings);
  cost_ms_ = std::move(cost_ms);
  features_ = {};
  return true;
}

void PieceCatalog::embed(const Backend& backend, std::span<PieceCatalog* const> catalogs) {
  const auto width = static_cast<std::size_t>(backend.embedding_width());
  // The catalogs keep their features until the backend has succeeded: another one may have to.
  std::vector<float> features;
  for (const PieceCatalog* catalog : catalogs) {
    features.insert(features.end(), catalog->features_.begin(), catalog->features_.end());
  }
  const std::size_t pieces = features.size() / kTableFeatures;
  AlignedVector<float> embeddings(pieces * width);
  std::vector<float> cost_ms(pieces);
  compute(backend, features, embeddings, cost_ms);

  std::size_t first = 0;
  for (PieceCatalog* catalog : catalogs) {
    const std::size_t end = first + catalog->size();
    const auto part = [](const auto& all, std::size_t from, std::size_t to) {
      const auto begin = all.begin();
      return std::decay_t<decltype(all)>(begin + static_cast<std::ptrdiff_t>(from),
                                         begin + static_cast<std::ptrdiff_t>(to));
    };
    catalog->embeddings_ = part(embeddings, first * width, end * width);
    catalog->cost_ms_ = part(cost_ms, first, end);
    catalog->features_ = {};
    first = end;
  }
}

void PieceCatalog::require_costs() const {
  const auto wrong =
      std::find_if(cost_ms_.begin(), cost_ms_.end(), [](float ms) { return !is_cost(ms); });
  if (wrong == cost_ms_.end()) return;
  const auto piece = static_cast<std::uint32_t>(wrong - cost_ms_.begin());
  // Its table is the one whose pieces begin last before it.
  const auto begins_closer = [&](std::uint32_t a, std::uint32_t b) {
    return (a > piece ? 0 : a + 1) < (b > piece ? 0 : b + 1);
  };
  const auto table = static_cast<std::size_t>(
      std::max_element(whole_.begin(), whole_.end(), begins_closer) - whole_.begin());
  const std::size_t named = listed_.empty() ? table : listed_[table];
  throw Error("table " + std::to_string(named) + ": the compute model predicts " +
              std::to_string(*wrong) + " ms for it at dim " + std::to_string(dims_[piece]) +
              ": its numbers overflow; train or convert the model again, or check row and "
              "pooling_factor of the table");
}

bool PieceCatalog::can_split(std::uint32_t piece) const { return can_split_columns(dims_[piece]); }

}  // namespace neuroshard
