#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message_text.h"
#include "neuroshard/plan_file.h"
#include "tools/text/text.h"

namespace neuroshard::tools {

/// The page that `--format table` prints for one task: per device a bar of its milliseconds by
/// term, its memory and its number of table slices; then cost, imbalance, search.
[[nodiscard]] std::string plan_page(const PlanDocument& document, const TextStyle& style);

/// A line a device: the tables that go to it, with the columns of those that are split; one of
/// those that are replicated, and one of rows that each node holds.
[[nodiscard]] std::string shard_lists(const PlanDocument& document);

/// A fact on a plan beside its tables of figures: "splits", "none".
struct PlanFact {
  std::string label;
  std::string text;
};
/// Splits, replicas, search, other plans, weights, notes.
[[nodiscard]] std::vector<PlanFact> plan_facts(const PlanDocument& document);

/// Reasons to doubt the plan: memory that does not suffice, odd predictions, a search that failed
/// or ended early.
[[nodiscard]] std::vector<std::string> plan_warnings(const PlanDocument& document);
inline constexpr std::string_view kEndedEarly =
    "the deadline ended the search: the plan is the best found by then";

/// "a, b, ...": the first of `items`, `most` at most, each as `label` calls it.
template <typename Item, typename Label>
[[nodiscard]] std::string first_of(const std::vector<Item>& items, std::size_t most,
                                   const Label& label) {
  return joined(std::span(items).first(std::min(most, items.size())), ", ", label) +
         (items.size() > most ? ", ..." : "");
}

/// "26 tables, 97.4 GiB, on 8 devices of 40.0 GiB".
[[nodiscard]] std::string task_line(const Task& task);

/// A part of what devices take, as pages show it: all that a device has add up to its total.
struct ShownTerm {
  std::string_view name;
  std::vector<double> ms;  ///< [devices]
};
inline constexpr std::string_view kFetch = "fetch";
inline constexpr std::string_view kWaiting = "waiting";
/// cost_terms() with waits_ms() taken out of the forward all-to-all, what is hidden out of ids, and
/// what is fetched from hosts out of compute. Fetching and waiting are the last of them, and left
/// out if no device does it.
[[nodiscard]] std::vector<ShownTerm> shown_terms(const PlanCost& cost);

/// "device 3", or the host, and what devices take.
[[nodiscard]] std::string decided_by(const PlanCost& cost);
/// "iteration of 65,536 samples": what a cost is of.
[[nodiscard]] std::string iteration_text(const Task& task);
/// "0.31 ms of ids, 1.2 ms of fetched rows run ...": of the devices that hide most; empty if
/// nothing is hidden.
[[nodiscard]] std::string hidden_text(const PlanCost& cost);

/// "rows of 3 tables wait in ...": empty if the task has no host memory.
[[nodiscard]] std::string host_text(const Task& task, const Plan& plan, const PlanCost& cost);

/// "compute 2.00, forward 0.75, backward 0.50 ms": of one device.
[[nodiscard]] std::string terms_text(const std::vector<ShownTerm>& terms, std::size_t device);

/// Heads of columns for each device, and cells below them. Reserved is all that tables may not
/// take, base loads included.
[[nodiscard]] std::vector<std::string> cost_heads(const std::vector<ShownTerm>& terms);
[[nodiscard]] std::vector<std::string> cost_cells(const std::vector<ShownTerm>& terms,
                                                  const PlanCost& cost, std::size_t device);
inline constexpr std::array<const char*, 5> kMemoryHeads = {"weights", "optimizer", "buffers",
                                                            "reserved", "free"};
[[nodiscard]] std::vector<std::string> memory_cells(const DeviceCost& cost);

/// Memory of a device that is taken, including what is reserved and what is there already.
[[nodiscard]] std::int64_t used_bytes(const DeviceCost& cost);
/// Share that this is of all memory of `device`.
[[nodiscard]] double full_share(const Task& task, const DeviceCost& cost, std::size_t device);

/// Name of a table on pages: its own, or "table 3".
[[nodiscard]] std::string table_label(const Task& task, int table);

}  // namespace neuroshard::tools
