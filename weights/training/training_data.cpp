#include "neuroshard/training_data.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "neuroshard/cost_models.h"
#include "neuroshard/error.h"
#include "neuroshard/table_configs.h"
#include "weights/training/sample_file.h"

namespace neuroshard {
namespace {

std::vector<Table> read_tables(const std::filesystem::path& path) {
  std::vector<Table> tables = load_table_configs(path).tables;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].dim > 0) continue;
    throw Error(path.string() + ": table " + std::to_string(i) +
                ": the field 'dim' is missing; its samples were measured at one, so give it");
  }
  return tables;
}

void append_combinations(const std::filesystem::path& path, std::size_t first_table,
                         ComputeSamples& samples) {
  const auto last = static_cast<std::int64_t>(samples.tables.size() - first_table) - 1;
  training::SampleFile file(path);
  while (file.next(2, 3)) {
    for (std::size_t i = 0; i < file.count(0); ++i) {
      const std::int64_t id = file.integer(0, i, 0, last, "table id");
      samples.table_ids.push_back(static_cast<std::uint32_t>(first_table + id));
    }
    if (file.count(1) != 1) file.fail("has more than one cost");
    samples.offsets.push_back(samples.table_ids.size());
    samples.cost_ms.push_back(file.milliseconds(1, 0, "cost"));
    if (file.groups() == 3) {
      if (file.count(2) != 1) file.fail("has more than one number of samples");
      // Samples before it are of the usual batch.
      samples.served.resize(samples.size() - 1, kDefaultBatchSize);
      samples.served.push_back(file.integer(2, 0, 1, kMaxBatchSize, "number of samples"));
    }
  }
}

}  // namespace

ComputeSamples read_compute_samples(std::span<const std::filesystem::path> folders) {
  ComputeSamples samples;
  for (const std::filesystem::path& folder : folders) {
    const std::size_t first_table = samples.tables.size();
    for (Table& table : read_tables(folder / "table_configs.json")) {
      samples.tables.push_back(std::move(table));
    }
    append_combinations(folder / "data.txt", first_table, samples);
  }
  if (!samples.served.empty()) samples.served.resize(samples.size(), kDefaultBatchSize);
  return samples;
}

std::vector<CommSamples> read_comm_samples(std::span<const std::filesystem::path> folders) {
  // A device's dim sum; more would not be exact in fp32.
  constexpr std::int64_t kMaxDimSum = 1 << 24;
  std::map<int, CommSamples> by_devices;
  for (const std::filesystem::path& folder : folders) {
    training::SampleFile file(folder / "data.txt");
    std::size_t devices = 0;
    while (file.next(4)) {
      if (devices == 0) {
        devices = file.count(0);
        if (devices > static_cast<std::size_t>(kMostDevicesOfModels)) {
          file.fail("has " + std::to_string(devices) + " devices; at most " +
                    std::to_string(kMostDevicesOfModels) + " are supported");
        }
      }
      for (std::size_t group = 0; group < 4; ++group) {
        if (file.count(group) != devices) {
          file.fail("group " + std::to_string(group + 1) + " has " +
                    std::to_string(file.count(group)) + " numbers; expected " +
                    std::to_string(devices) + ", one per device");
        }
      }
      CommSamples& samples = by_devices[static_cast<int>(devices)];
      samples.devices = static_cast<int>(devices);
      for (std::size_t r = 0; r < devices; ++r) {
        samples.dim_sums.push_back(file.integer(0, r, 0, kMaxDimSum, "dim sum"));
        samples.start_offsets_ms.push_back(file.milliseconds(1, r, "start offset"));
        samples.forward_ms.push_back(file.milliseconds(2, r, "forward cost"));
        samples.backward_ms.push_back(file.milliseconds(3, r, "backward cost"));
      }
    }
  }
  std::vector<CommSamples> all;
  all.reserve(by_devices.size());
  for (auto& [devices, samples] : by_devices) all.push_back(std::move(samples));
  return all;
}

CollectiveSamples read_collective_samples(std::span<const std::filesystem::path> folders,
                                          std::string_view kind) {
  CollectiveSamples samples;
  samples.kind = kind;
  for (const std::filesystem::path& folder : folders) {
    training::SampleFile file(folder / "data.txt");
    while (file.next(3)) {
      for (std::size_t group = 0; group < 3; ++group) {
        if (file.count(group) != 1) file.fail("has more than one number in a group");
      }
      samples.devices.push_back(
          static_cast<int>(file.integer(0, 0, 1, kMostDevicesOfModels, "devices")));
      samples.bytes.push_back(
          static_cast<double>(file.integer(1, 0, 1, std::int64_t{1} << 50, "bytes")));
      samples.cost_ms.push_back(file.milliseconds(2, 0, "cost"));
    }
  }
  return samples;
}

KindSamples read_kind_samples(std::span<const std::filesystem::path> folders) {
  constexpr std::size_t kGroups = 6;
  constexpr std::array kKinds = {ShardingKind::kRow, ShardingKind::kTableRow,
                                 ShardingKind::kReplicate};
  KindSamples samples;
  for (const std::filesystem::path& folder : folders) {
    training::SampleFile file(folder / "data.txt");
    while (file.next(kGroups)) {
      for (std::size_t group = 0; group < kGroups; ++group) {
        if (file.count(group) != 1) file.fail("has more than one number in a group");
      }
      const auto kind =
          std::ranges::find(kKinds, file.text(0, 0), [](ShardingKind one) { return name_of(one); });
      if (kind == kKinds.end()) {
        std::string fact = "kind '";
        fact.append(file.text(0, 0)).append("' is none of row, table_row and replicate");
        file.fail(fact);
      }
      samples[*kind].push_back(
          {.devices = static_cast<int>(file.integer(1, 0, 1, kMostDevicesOfModels, "devices")),
           .samples = file.integer(2, 0, 1, kMaxBatchSize, "samples"),
           .dim = static_cast<int>(file.integer(3, 0, 1, kMaxDim, "dim")),
           .pooling_factor = file.number(4, 0, "pooling factor"),
           .cost_ms = file.milliseconds(5, 0, "cost")});
    }
  }
  return samples;
}

}  // namespace neuroshard
