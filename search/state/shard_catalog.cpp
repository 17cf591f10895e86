#include "search/state/shard_catalog.h"

#include <algorithm>
#include <limits>

#include "core/plans/id_exchange.h"
#include "core/plans/in_node_traffic.h"
#include "core/plans/replicas.h"
#include "core/plans/slice_prices.h"
#include "core/tables/table_kind.h"
#include "search/state/ways.h"

namespace neuroshard {
namespace {

constexpr double kNotAsked = -std::numeric_limits<double>::infinity();

}  // namespace

ShardCatalog::ShardCatalog(const Backend& backend, const BundledTask& bundled,
                           const StoragePrice& storage)
    : backend_(backend),
      bundled_(bundled),
      task_(bundled.task),
      storage_(storage),
      width_(static_cast<std::size_t>(backend.embedding_width())),
      of_slices_(backend.table_features(), static_cast<double>(task_.batch_size)),
      of_replicas_(backend.table_features(), samples_of_replicas(task_)),
      models_(backend.cost_runner(task_.devices)),
      tables_(task_),
      gradients_(task_, node_shares(backend.network(), task_).all_reduce_between),
      replicas_(task_.tables.size(), kNotYet),
      replica_loads_(task_.tables.size()),
      host_curves_(task_),
      links_(host_links(task_)) {
  for (std::size_t t = 0; t < task_.tables.size(); ++t) {
    const bool same = t > 0 && bundled.bundle(t) == nullptr && bundled.bundle(t - 1) == nullptr &&
                      kind_of(task_.tables[t]) == kind_of(task_.tables[t - 1]);
    same_as_.push_back(same ? same_as_.back() : static_cast<int>(t));
  }
}

void ShardCatalog::add_memory(const Table& table, std::int64_t rows, const SliceMemory& memory,
                              auto& load) const {
  load.bytes += memory.total_bytes();
  if (storage_.ms_per_gib > 0.0) load.stored_bytes += storage_.bytes_of(table, rows, memory);
}

int ShardCatalog::rows(int table, std::int64_t first_row, std::int64_t count,
                       const KindPrice* price, bool deduplicated) {
  const auto t = static_cast<std::size_t>(same_as_[static_cast<std::size_t>(table)]);
  // Where rows are looked up evenly, a block is like any other of as many rows.
  const std::int64_t first = task_.tables[t].row_shares.empty() ? 0 : first_row;
  const auto [known, is_new] = rows_of_.try_emplace(
      {static_cast<int>(t), first, count, price, deduplicated}, static_cast<int>(rows_.size()));
  if (is_new) {
    const int widths = task_.tables[t].dim / kDimMultiple;
    const int blocks = bundled_.bundle(t) != nullptr ? 1 : (widths - 1) / kWidthsOfBlock + 1;
    rows_.push_back({static_cast<int>(t), first, count, price, deduplicated,
                     std::vector<int>(static_cast<std::size_t>(blocks), kNotYet)});
  }
  return known->second;
}

SliceTables& ShardCatalog::tables_once() {
  if (!once_) {
    std::vector<int> tables;
    for (std::size_t t = 0; t < task_.tables.size(); ++t) {
      if (may_be_deduplicated(task_, task_.tables[t])) tables.push_back(static_cast<int>(t));
    }
    once_.emplace(task_, tables);
    tables_once_.emplace(once_->task());
  }
  return *tables_once_;
}

int ShardCatalog::shard(int rows, int width) {
  Rows& of = rows_[static_cast<std::size_t>(rows)];
  if (const BundledTask::Bundle* bundle = bundled_.bundle(static_cast<std::size_t>(of.table))) {
    int& shard = of.first_of_block.front();
    if (shard == kNotYet) shard = add_bundle(*bundle);
    return shard;
  }
  const int unit = width / kDimMultiple - 1;
  const int block = unit / kWidthsOfBlock;
  int& first = of.first_of_block[static_cast<std::size_t>(block)];
  if (first == kNotYet) {
    const int units = task_.tables[static_cast<std::size_t>(of.table)].dim / kDimMultiple;
    const int begin = block * kWidthsOfBlock;
    const int count = std::min(kWidthsOfBlock, units - begin);
    first = add_widths(of, begin, count);
  }
  return first + unit % kWidthsOfBlock;
}

int ShardCatalog::add_widths(const Rows& rows, int first_width, int widths) {
  const auto t = static_cast<std::size_t>(rows.table);
  SliceTables& tables = rows.deduplicated ? tables_once() : tables_;
  const Table& whole = (rows.deduplicated ? once_->task() : task_).tables[t];
  const TableSlice block{rows.table, 0, whole.dim, rows.first_row, rows.count};
  const Table table = rows.price != nullptr ? sized_table_of(task_, block) : tables.of(block);
  const double share = lookup_share(whole, rows.first_row, rows.count);
  std::vector<int> dims;
  std::vector<ShardLoad> loads;
  for (int i = 1; i <= widths; ++i) {
    const int columns = kDimMultiple * (first_width + i);
    ShardLoad& load = loads.emplace_back();
    const SliceMemory memory = slice_memory(table, columns);
    add_memory(task_.tables[t], rows.count, memory, load);
    if (task_.host.bytes > 0) {
      std::vector<HostCurve>& curves = hosted_.emplace_back();
      for (const double gb_s : links_.gb_s) {
        curves.push_back(host_curves_.of(whole, rows.count, memory, gb_s));
      }
      load.hosted = curves.data();
    }
    if (rows.price != nullptr) {
      const auto samples = static_cast<double>(task_.batch_size);
      load.price_ms = priced_ms(*rows.price, whole, columns, share, samples);
    } else {
      load.ids = id_units(table, task_.exchange);
      load.columns = output_columns(table, columns);
      dims.push_back(columns);
    }
  }
  std::vector<float> features;
  if (!dims.empty()) of_slices_.append(table, dims, features);
  return add(features, loads);
}

int ShardCatalog::add_bundle(const BundledTask::Bundle& bundle) {
  ShardLoad load;
  std::vector<HostCurve> hosted(links_.gb_s.size());
  std::vector<float> features;
  for (const Table& table : bundle.tables) {
    const SliceMemory memory = slice_memory(table, table.dim);
    add_memory(table, table.rows, memory, load);
    for (std::size_t i = 0; task_.host.bytes > 0 && i < hosted.size(); ++i) {
      hosted[i].add(host_curves_.of(table, table.rows, memory, links_.gb_s[i]));
    }
    of_slices_.append(table, table.dim, features);
    load.ids += id_units(table, task_.exchange);
    load.columns += output_columns(table, table.dim);
  }
  if (task_.host.bytes > 0) load.hosted = hosted_.emplace_back(std::move(hosted)).data();
  std::vector<float> embeddings(bundle.tables.size() * width_);
  backend_.embed_pieces(features, embeddings);
  const int shard = add({}, {load});
  float* sum = embeddings_.data() + static_cast<std::size_t>(shard) * width_;
  for (std::size_t i = 0; i < embeddings.size(); ++i) sum[i % width_] += embeddings[i];
  return shard;
}

int ShardCatalog::add(const std::vector<float>& features, const std::vector<ShardLoad>& loads) {
  const std::size_t first = loads_.size();
  loads_.insert(loads_.end(), loads.begin(), loads.end());
  alone_ms_.resize(loads_.size(), kNotAsked);
  more_ms_.resize(loads_.size(), kNotAsked);
  embeddings_.resize(loads_.size() * width_, 0.0F);
  if (!features.empty()) {
    backend_.embed_pieces(features, std::span(embeddings_).subspan(first * width_));
  }
  return static_cast<int>(first);
}

int ShardCatalog::replica(int table) {
  const int same = same_as_[static_cast<std::size_t>(table)];
  int& shard = replicas_[static_cast<std::size_t>(same)];
  if (shard != kNotYet) return shard;
  const Table& of = task_.tables[static_cast<std::size_t>(same)];
  std::vector<float> features;
  if (backend_.kind_price(ShardingKind::kReplicate) == nullptr) {
    of_replicas_.append(in_replica_operator(of), of.dim, features);
  }
  return shard = add(features, {ShardLoad{}});
}

const ReplicaLoad& ShardCatalog::replica_load(int table) {
  const int same = same_as_[static_cast<std::size_t>(table)];
  std::unique_ptr<ReplicaLoad>& load = replica_loads_[static_cast<std::size_t>(same)];
  if (!load) {
    const Table& of = task_.tables[static_cast<std::size_t>(same)];
    const KindPrice* price = backend_.kind_price(ShardingKind::kReplicate);
    load = std::make_unique<ReplicaLoad>(
        ReplicaLoad{.dense_bytes = gradients_.dense_bytes(of),
                    .price_ms = price != nullptr ? replica_price_ms(*price, task_, of) : 0.0});
    add_memory(of, rows_of_replica(of), replica_memory(task_, same, gradients_), *load);
  }
  return *load;
}

double ShardCatalog::alone_ms(int shard) {
  double& ms = alone_ms_[static_cast<std::size_t>(shard)];
  if (ms == kNotAsked) {
    float of_models = 0.0F;
    models_->compute({embedding(shard), width_}, {&of_models, 1});
    ms = of_models + load(shard).price_ms;
  }
  return ms;
}

double ShardCatalog::more_ms(int shard) {
  double& ms = more_ms_[static_cast<std::size_t>(shard)];
  if (ms == kNotAsked) {
    AlignedVector<float> two(embedding(shard), embedding(shard) + width_);
    for (float& x : two) x *= 2.0F;
    float of_two = 0.0F;
    models_->compute(two, {&of_two, 1});
    const double price_ms = load(shard).price_ms;
    const auto of_one = static_cast<float>(alone_ms(shard) - price_ms);
    ms = std::max(0.0F, of_two - of_one) + price_ms;
  }
  return ms;
}

}  // namespace neuroshard
