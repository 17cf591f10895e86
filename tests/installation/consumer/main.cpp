#include <neuroshard/neuroshard.h>

#include <iostream>

int main() try {
  neuroshard::Task task;
  task.devices = 2;
  task.memory_bytes = neuroshard::bytes_from_gib(4.0);
  for (int i = 0; i < 8; ++i) {
    neuroshard::Table table;
    table.rows = 1'000'000 + 250'000 * i;
    table.dim = 64;
    table.pooling_factor = 1.0 + 3.0 * i;
    table.access_histogram[0] = 1.0;  // Every row that a batch touches, it touches once.
    task.tables.push_back(table);
  }
  const neuroshard::Planner planner(neuroshard::builtin_weights());  // Share it between threads.
  const neuroshard::PlanResult result = planner.plan(task);
  if (!result.plan) {
    std::cerr << result.infeasible->message << '\n';
    return 1;
  }
  std::cout << "cost " << result.cost.cost_ms << " ms\n";
  const auto shards = neuroshard::slices_by_device(*result.plan);
  for (std::size_t device = 0; device < shards.size(); ++device) {
    for (const neuroshard::TableSlice& slice : shards[device]) {
      std::cout << "device " << device << ": table " << slice.table << ", columns "
                << slice.first_column << " to " << slice.first_column + slice.dim - 1 << '\n';
    }
  }
} catch (const neuroshard::Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
