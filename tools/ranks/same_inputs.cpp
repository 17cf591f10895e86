#include "tools/ranks/same_inputs.h"

#include <concepts>
#include <span>
#include <string>

#include "core/base/fingerprint.h"
#include "neuroshard/error.h"
#include "weights/lookups/sequential_file.h"

namespace neuroshard::tools {
namespace {

template <typename T>
void add_number(Fingerprint& hash, T number) {
  hash.add(std::span<const T>(&number, 1));
}

void add_integers(Fingerprint& hash, const std::vector<int>& integers) {
  add_number(hash, integers.size());
  hash.add(std::span<const int>(integers));
}

template <std::integral T>
std::uint64_t hash_of_option(T value) {
  Fingerprint hash;
  add_number(hash, value);
  return hash.value();
}

// By what decides lookups and how replicas are updated. Histograms in fp32, as in the fingerprint
// of a task: machines may round them differently.
std::uint64_t hash_of_tasks(const MeasureInputs& inputs) {
  Fingerprint hash;
  add_number(hash, inputs.tasks.size());
  for (const MeasuredTask& measured : inputs.tasks) {
    const Task& task = measured.task;
    add_number(hash, task.devices);
    add_number(hash, task.tables.size());
    for (const Table& table : task.tables) {
      add_number(hash, table.rows);
      add_number(hash, table.dim);
      add_number(hash, table.pooling_factor);
      for (const double share : table.access_histogram) {
        add_number(hash, static_cast<float>(share));
      }
      add_number(hash, static_cast<int>(table.replica_gradients));
    }
  }
  return hash.value();
}

std::uint64_t hash_of_batches(const MeasureInputs& inputs) {
  Fingerprint hash;
  for (const MeasuredTask& measured : inputs.tasks) add_number(hash, measured.task.batch_size);
  return hash.value();
}

std::uint64_t hash_of_plans(const MeasureInputs& inputs) {
  Fingerprint hash;
  add_number(hash, inputs.plans.size());
  for (const PlanToMeasure& measured : inputs.plans) {
    add_number(hash, measured.task);
    add_number(hash, measured.plan ? 1 : 0);
    if (!measured.plan) continue;
    const Plan& plan = *measured.plan;
    add_number(hash, plan.slices.size());
    for (const TableSlice& slice : plan.slices) {
      add_number(hash, slice.table);
      add_number(hash, slice.first_column);
      add_number(hash, slice.dim);
      add_number(hash, slice.first_row);
      add_number(hash, slice.rows);
    }
    add_number(hash, plan.shards.size());
    for (const std::vector<int>& shard : plan.shards) add_integers(hash, shard);
    add_integers(hash, plan.replicas);
  }
  return hash.value();
}

// By the bytes of the files, whose names may differ between machines.
std::uint64_t hash_of_recorded(const AccessFiles& files) {
  Fingerprint hash;
  for (const std::string* name : {&files.accesses, &files.lengths, &files.offsets}) {
    add_number(hash, name->empty() ? 0 : 1);
    if (name->empty()) continue;
    SequentialFile file(*name);
    for (std::string_view bytes = file.peek(SequentialFile::kMaxPeek); !bytes.empty();
         bytes = file.peek(SequentialFile::kMaxPeek)) {
      hash.add(bytes);
      file.skip_to(file.position() + static_cast<std::int64_t>(bytes.size()));
    }
    add_number(hash, file.position());
  }
  return hash.value();
}

}  // namespace

InputHashes input_hashes(const MeasureCommand& command, const MeasureInputs& inputs) {
  const ranks::PlanMeasurement& measurement = command.measurement;
  return {hash_of_tasks(inputs),
          hash_of_batches(inputs),
          hash_of_plans(inputs),
          hash_of_option(command.seed),
          hash_of_recorded(command.accesses),
          hash_of_option(measurement.rounds),
          hash_of_option(measurement.protocol.warm_up),
          hash_of_option(measurement.protocol.iterations),
          hash_of_option(static_cast<int>(command.keep_caches))};
}

void require_same_inputs(const ranks::RankGroup& group, const InputHashes& hashes) {
  InputHashes of_first = hashes;
  group.broadcast(std::as_writable_bytes(std::span(of_first)));
  std::string others;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (hashes[i] == of_first[i]) continue;
    if (!others.empty()) others += ", ";
    others += kSharedInputs[i];
  }
  if (others.empty()) return;
  throw Error("rank " + std::to_string(group.rank()) + " has other inputs than rank 0: " + others +
              "; give all ranks the same files and options");
}

}  // namespace neuroshard::tools
