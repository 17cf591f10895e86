#include "neuroshard/plan.h"

#include "neuroshard/error.h"

namespace neuroshard {

std::vector<TableSlice> split_columns(const Task& task, const std::vector<int>& column_splits) {
  std::vector<TableSlice> slices;
  slices.reserve(task.tables.size() + column_splits.size());
  for (std::size_t table = 0; table < task.tables.size(); ++table) {
    slices.push_back({static_cast<int>(table), 0, task.tables[table].dim});
  }
  for (std::size_t step = 0; step < column_splits.size(); ++step) {
    const int index = column_splits[step];
    const auto place = [&] { return "plan: column split " + std::to_string(step); };
    if (index < 0 || static_cast<std::size_t>(index) >= slices.size()) {
      throw Error(place() + ": there is no slice " + std::to_string(index) + "; there are " +
                  std::to_string(slices.size()));
    }
    TableSlice& slice = slices[static_cast<std::size_t>(index)];
    if (!can_split_columns(slice.dim)) {
      throw Error(place() + ": slice " + std::to_string(index) + " has dim " +
                  std::to_string(slice.dim) + ", whose half is not a multiple of 4");
    }
    slice.dim /= 2;
    slices.push_back({slice.table, slice.first_column + slice.dim, slice.dim});
  }
  return slices;
}

std::vector<std::vector<TableSlice>> slices_by_device(const Task& task, const Plan& plan) {
  const std::vector<TableSlice> slices = split_columns(task, plan.column_splits);
  std::vector<std::vector<TableSlice>> by_device;
  by_device.reserve(plan.shards.size());
  for (const std::vector<int>& shard : plan.shards) {
    std::vector<TableSlice>& held = by_device.emplace_back();
    held.reserve(shard.size());
    for (const int slice : shard) held.push_back(slices[static_cast<std::size_t>(slice)]);
  }
  return by_device;
}

void validate(const Plan& plan, const Task& task) {
  const std::size_t slices = split_columns(task, plan.column_splits).size();
  if (plan.shards.size() != static_cast<std::size_t>(task.devices)) {
    throw Error("plan: has " + std::to_string(plan.shards.size()) + " shards for " +
                std::to_string(task.devices) + " devices; give one list per device");
  }
  std::vector<int> device_of(slices, -1);
  for (std::size_t device = 0; device < plan.shards.size(); ++device) {
    for (const int slice : plan.shards[device]) {
      const std::string label = "plan: shard " + std::to_string(device) + ": ";
      if (slice < 0 || static_cast<std::size_t>(slice) >= slices) {
        throw Error(label + "there is no slice " + std::to_string(slice) + "; there are " +
                    std::to_string(slices) + " after the column splits");
      }
      int& holder = device_of[static_cast<std::size_t>(slice)];
      if (holder >= 0) {
        throw Error(label + "slice " + std::to_string(slice) + " is already in shard " +
                    std::to_string(holder) + "; place each slice once");
      }
      holder = static_cast<int>(device);
    }
  }
  for (std::size_t slice = 0; slice < slices; ++slice) {
    if (device_of[slice] < 0) {
      throw Error("plan: slice " + std::to_string(slice) +
                  " is on no device; place each slice once");
    }
  }
}

}  // namespace neuroshard
