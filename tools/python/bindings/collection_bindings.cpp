// Draws of samples, and the folders that samples are appended to, for neuroshard.calibrate, which
// measures them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/tables/access_statistics.h"
#include "tools/python/bindings/bindings.h"
#include "weights/collection/collection_folder.h"
#include "weights/collection/sample_draws.h"
#include "weights/collection/sample_log.h"
#include "weights/lookups/access_stream.h"
#include "weights/lookups/table_population.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
namespace fs = std::filesystem;
using nb::literals::operator""_a;

std::vector<Table> population_tables(int tables, std::uint64_t seed, std::string_view weight_type,
                                     std::string_view optimizer, std::string_view pooling) {
  std::vector<Table> drawn;
  for (PopulationTable& one : draw_population({.tables = tables, .seed = seed})) {
    one.table.memory.weight_type = weight_type_from_name(weight_type);
    one.table.memory.optimizer = optimizer_from_name(optimizer);
    one.table.pooling = pooling_from_name(pooling);
    drawn.push_back(std::move(one.table));
  }
  return drawn;
}

// How rows are pooled makes no difference to it, nor how many features look them up.
std::tuple<std::int64_t, Histogram> table_access(Table table, std::int64_t batch) {
  table.features = 1.0;
  table.pooling = Pooling::kSum;
  table.weighted = false;
  const auto samples = static_cast<double>(batch);
  return {lookups_of_batch(table, batch),
          access_profile(table, HistogramScale(samples), samples).rows};
}

/// A folder that samples are appended to; the next one is drawn by its number.
class SampleFolder {
 public:
  SampleFolder(const fs::path& folder, CollectionDescription description, const char* kind,
               std::uint64_t seed, std::span<const Table> tables)
      : seed_(seed), log_(prepared(folder, std::move(description), kind, seed, tables)) {}

  [[nodiscard]] std::uint64_t size() const { return log_.size(); }

 protected:
  [[nodiscard]] Random random() const { return Random(seed_, log_.size()); }
  void append(const std::string& line) { log_.append(line); }

 private:
  static fs::path prepared(const fs::path& folder, CollectionDescription description,
                           const char* kind, std::uint64_t seed, std::span<const Table> tables) {
    description["kind"] = kind;
    description["seed"] = std::to_string(seed);
    prepare_collection(folder, description, tables);
    return folder / "data.txt";
  }

  std::uint64_t seed_;
  SampleLog log_;
};

CollectionDescription with_draws(CollectionDescription description,
                                 const ComputeDrawOptions& draw) {
  description["max_tables"] = std::to_string(draw.max_tables);
  description["memory_bytes"] = std::to_string(draw.memory_bytes);
  if (draw.slices) description["draws"] = "slices";
  return description;
}

class ComputeFolder : public SampleFolder {
 public:
  ComputeFolder(const fs::path& folder, const CollectionDescription& description,
                std::uint64_t seed, std::vector<Table> tables, const ComputeDrawOptions& draw)
      : SampleFolder(folder, with_draws(description, draw), "compute", seed, tables),
        tables_(std::move(tables)),
        draw_(draw) {}

  [[nodiscard]] std::vector<int> next() const {
    Random drawn = random();
    return draw_shard(tables_, draw_, drawn);
  }
  [[nodiscard]] const std::vector<Table>& tables() const { return tables_; }
  void add(double cost_ms) { append(compute_sample_line(next(), cost_ms)); }

 private:
  std::vector<Table> tables_;
  ComputeDrawOptions draw_;
};

CollectionDescription with_draws(CollectionDescription description, const CommDrawOptions& draw) {
  description["devices"] = std::to_string(draw.devices);
  description["draws"] = "wide";
  description["max_dim_sum"] = std::to_string(draw.max_dim_sum);
  description["max_start_offset_ms"] = std::to_string(draw.max_start_offset_ms);
  return description;
}

class CommFolder : public SampleFolder {
 public:
  CommFolder(const fs::path& folder, const CollectionDescription& description, std::uint64_t seed,
             const CommDrawOptions& draw)
      : SampleFolder(folder, with_draws(description, draw), "comm", seed, {}), draw_(draw) {}

  [[nodiscard]] std::pair<std::vector<std::int64_t>, std::vector<double>> next() const {
    Random drawn = random();
    CommDraw draw = draw_comm(draw_, drawn);
    return {std::move(draw.dim_sums), std::move(draw.start_offsets_ms)};
  }
  void add(const std::vector<double>& forward_ms, const std::vector<double>& backward_ms) {
    const auto [dim_sums, start_offsets_ms] = next();
    append(comm_sample_line(dim_sums, start_offsets_ms, forward_ms, backward_ms));
  }

 private:
  CommDrawOptions draw_;
};

class CollectiveFolder : public SampleFolder {
 public:
  CollectiveFolder(const fs::path& folder, CollectionDescription description, std::uint64_t seed,
                   const std::string& kind, int devices, std::int64_t most_bytes)
      : SampleFolder(folder, with_draws(std::move(description), devices, most_bytes), kind.c_str(),
                     seed, {}),
        devices_(devices),
        most_bytes_(most_bytes) {}

  [[nodiscard]] std::int64_t next() const {
    Random drawn = random();
    return draw_collective_bytes(most_bytes_, drawn);
  }
  void add(double cost_ms) { append(collective_sample_line(devices_, next(), cost_ms)); }

 private:
  static CollectionDescription with_draws(CollectionDescription description, int devices,
                                          std::int64_t most_bytes) {
    description["devices"] = std::to_string(devices);
    description["max_bytes"] = std::to_string(most_bytes);
    return description;
  }

  int devices_;
  std::int64_t most_bytes_;
};

}  // namespace

void bind_collections(nb::module_& module) {
  module.def(
      "draw_tables", &population_tables, "tables"_a, "seed"_a, nb::kw_only(), "weight_type"_a,
      "optimizer"_a, "pooling"_a,
      "Tables of published statistics, as `neuroshard generate` draws them, of 128 columns.");
  module.def(
      "augment_dims",
      [](const std::vector<Table>& tables, int max_dim) { return augment_dims(tables, max_dim); },
      "tables"_a, "max_dim"_a, "Each table with max_dim columns, and with each of its halves.");
  module.def("table_access", &table_access, "table"_a, "batch"_a,
             "Lookups of a batch, and how many distinct rows it touches 1, 2, 3-4, ... times.");
  nb::class_<ComputeFolder>(module, "ComputeFolder", "A folder of compute samples.")
      .def(
          "__init__",
          [](ComputeFolder* self, const fs::path& folder, const CollectionDescription& description,
             std::uint64_t seed, std::vector<Table> tables, int max_tables,
             std::int64_t memory_bytes, bool slices) {
            new (self) ComputeFolder(
                folder, description, seed, std::move(tables),
                {.max_tables = max_tables, .memory_bytes = memory_bytes, .slices = slices});
          },
          "folder"_a, "description"_a, "seed"_a, "tables"_a, nb::kw_only(), "max_tables"_a,
          "memory_bytes"_a, "slices"_a,
          nb::sig("def __init__(self, folder: str | os.PathLike[str], description: "
                  "collections.abc.Mapping[str, str], seed: int, tables: "
                  "collections.abc.Sequence[Table], *, max_tables: int, memory_bytes: int, slices: "
                  "bool) -> None"))
      .def("__len__", &ComputeFolder::size)
      .def_prop_ro("tables", &ComputeFolder::tables)
      .def("next", &ComputeFolder::next, "Tables of the next sample.")
      .def("append", &ComputeFolder::add, "cost_ms"_a);
  nb::class_<CommFolder>(module, "CommFolder", "A folder of samples of all-to-alls.")
      .def(
          "__init__",
          [](CommFolder* self, const fs::path& folder, const CollectionDescription& description,
             std::uint64_t seed, int devices, int max_dim_sum, int max_start_offset_ms) {
            new (self) CommFolder(folder, description, seed,
                                  {.devices = devices,
                                   .max_start_offset_ms = max_start_offset_ms,
                                   .wide = true,
                                   .max_dim_sum = max_dim_sum});
          },
          "folder"_a, "description"_a, "seed"_a, nb::kw_only(), "devices"_a, "max_dim_sum"_a,
          "max_start_offset_ms"_a,
          nb::sig("def __init__(self, folder: str | os.PathLike[str], description: "
                  "collections.abc.Mapping[str, str], seed: int, *, devices: int, "
                  "max_dim_sum: int, max_start_offset_ms: int) -> None"))
      .def("__len__", &CommFolder::size)
      .def("next", &CommFolder::next, "Columns and start offset (ms) of each device.")
      .def("append", &CommFolder::add, "forward_ms"_a, "backward_ms"_a);
  nb::class_<CollectiveFolder>(module, "CollectiveFolder",
                               "A folder of samples of all-reduces, or of exchanges of ids.")
      .def(
          "__init__",
          [](CollectiveFolder* self, const fs::path& folder,
             const CollectionDescription& description, std::uint64_t seed, const std::string& kind,
             int devices, std::int64_t max_bytes) {
            new (self) CollectiveFolder(folder, description, seed, kind, devices, max_bytes);
          },
          "folder"_a, "description"_a, "seed"_a, nb::kw_only(), "kind"_a, "devices"_a,
          "max_bytes"_a,
          nb::sig("def __init__(self, folder: str | os.PathLike[str], description: "
                  "collections.abc.Mapping[str, str], seed: int, *, kind: str, devices: int, "
                  "max_bytes: int) -> None"))
      .def("__len__", &CollectiveFolder::size)
      .def("next", &CollectiveFolder::next, "Bytes of the busiest device.")
      .def("append", &CollectiveFolder::add, "cost_ms"_a);
}

}  // namespace neuroshard::python
