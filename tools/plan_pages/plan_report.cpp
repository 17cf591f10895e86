#include "tools/plan_pages/plan_report.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>

#include "core/plans/hot_rows.h"
#include "core/tables/devices_text.h"
#include "core/tables/exchange_fields.h"
#include "core/tables/overlap_fields.h"
#include "core/tables/table_groups.h"
#include "neuroshard/cost_terms.h"
#include "neuroshard/waiting.h"

namespace neuroshard::tools {
namespace {

constexpr int kMinBarCells = 8;
constexpr int kMaxBarCells = 48;

std::vector<std::string> device_row(std::size_t device, const std::vector<ShownTerm>& terms,
                                    const PlanDocument& document) {
  const DeviceCost& cost = document.cost.devices[device];
  const Task& task = document.task;
  std::vector<std::string> row = cost_cells(terms, document.cost, device);
  row.insert(row.begin(), std::to_string(device));
  row.insert(row.end(), {format_bytes(cost.memory_bytes),
                         format_number(100.0 * full_share(task, cost, device), 0) + "%",
                         format_count(static_cast<std::uint64_t>(cost.slices))});
  if (!task.device_list.empty()) {
    row.insert(row.end(),
               {format_number(cost.speed, 2), format_ms(cost.base_ms),
                format_bytes(cost.base_bytes), format_bytes(memory_bytes(task, device))});
  }
  return row;
}

// The bars take the columns that the figures leave.
std::string device_table(const PlanDocument& document, const TextStyle& style) {
  using enum TextTable::Align;
  std::vector<std::string> head = {"device"};
  const std::vector<ShownTerm> terms = shown_terms(document.cost);
  std::ranges::move(cost_heads(terms), std::back_inserter(head));
  head.insert(head.end(), {"memory", "full", "slices"});
  if (!document.task.device_list.empty()) {
    head.insert(head.end(), {"speed", "base ms", "base memory", "of memory"});
  }
  std::vector<std::vector<std::string>> rows;
  std::vector<int> widths;
  widths.reserve(head.size());
  for (const std::string& cell : head) widths.push_back(display_width(cell));
  double slowest_ms = 0.0;
  for (std::size_t device = 0; device < document.cost.devices.size(); ++device) {
    rows.push_back(device_row(device, terms, document));
    for (std::size_t i = 0; i < head.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(rows.back()[i]));
    }
    slowest_ms = std::max(slowest_ms, document.cost.devices[device].total_ms());
  }
  int left = style.columns;
  for (const int width : widths) left -= width + 2;
  const int cells = std::min(left, kMaxBarCells);
  const bool bars = cells >= kMinBarCells;

  const auto with_bar = [&](std::vector<std::string> row, std::string bar) {
    if (bars) row.insert(row.begin() + 1, std::move(bar));
    return row;
  };
  std::vector<TextTable::Align> aligns(head.size() + (bars ? 1 : 0), kRight);
  if (bars) aligns[1] = kLeft;
  TextTable table(aligns);
  table.add_row(with_bar(head, ""));
  for (std::size_t device = 0; device < rows.size(); ++device) {
    std::vector<double> shares;
    double idle_share = 0.0;
    for (const auto& [name, ms] : terms) {
      const double share = slowest_ms > 0.0 ? ms[device] / slowest_ms : 0.0;
      if (name == kWaiting) {
        idle_share = share;
      } else {
        shares.push_back(share);
      }
    }
    table.add_row(with_bar(rows[device], stacked_bar(shares, idle_share, cells, style)));
  }
  std::string text = table.str();
  if (bars) {
    text += "      ";
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const bool idle = terms[i].name == kWaiting;
      text +=
          "  " + (idle ? idle_bar_key(style) : stacked_bar_key(static_cast<int>(i), style)) + ' ';
      text.append(terms[i].name);
    }
    text += '\n';
  }
  return text;
}

/// Table of what the memory of each device is for; nothing if all of it is for fp32 weights.
std::string memory_table(const PlanDocument& document) {
  using enum TextTable::Align;
  bool plain = document.task.reserved == ReservedMemory{};
  for (const Table& table : document.task.tables) plain = plain && table.memory == TableMemory{};
  if (plain) return {};
  TextTable table(std::vector(6, kRight));
  const auto add_row = [&](std::string device, std::vector<std::string> cells) {
    cells.insert(cells.begin(), std::move(device));
    table.add_row(std::move(cells));
  };
  add_row("device", {kMemoryHeads.begin(), kMemoryHeads.end()});
  for (std::size_t device = 0; device < document.cost.devices.size(); ++device) {
    add_row(std::to_string(device), memory_cells(document.cost.devices[device]));
  }
  return table.str() + '\n';
}

std::string cost_line(const Task& task, const PlanCost& cost, const TextStyle& style) {
  return bold(format_ms(cost.cost_ms) + " ms", style) + " per " + iteration_text(task) +
         ", set by " + decided_by(cost) + "; imbalance " + format_number(imbalance(cost), 3) +
         " (most work / mean)";
}

std::string memory_line(const PlanCost& cost) {
  const auto worst = std::min_element(
      cost.devices.begin(), cost.devices.end(),
      [](const DeviceCost& a, const DeviceCost& b) { return a.free_bytes < b.free_bytes; });
  const std::string device = "DOES NOT FIT: device " + std::to_string(worst - cost.devices.begin());
  if (!cost.hbm_shares.empty()) {
    return device + " lacks " + format_bytes(-worst->free_bytes) + " of HBM or host memory";
  }
  return device + " needs " + format_bytes(worst->memory_bytes) + " of " +
         format_bytes(worst->memory_bytes + worst->free_bytes) +
         (worst->base_bytes > 0       ? " that are neither reserved nor taken"
          : worst->reserved_bytes > 0 ? " that are not reserved"
                                      : "");
}

/// A split makes one slice more.
std::uint64_t splits_of(const Task& task, const Plan& plan) {
  return plan.slices.size() + plan.replicas.size() - task.tables.size();
}

std::string counted_splits(const Task& task, const Plan& plan) {
  return counted(splits_of(task, plan), has_row_blocks(task, plan) ? "split" : "column split");
}

std::string replica_label(const Task& task, int table) {
  const ReplicaGradients gradients = task.tables[static_cast<std::size_t>(table)].replica_gradients;
  return table_label(task, table) +
         (gradients == ReplicaGradients::kTouched ? " (touched rows)" : "");
}

/// `text`, and the first tables; nothing if there are none.
template <typename Label>
std::string listed_tables(std::string text, const std::vector<int>& tables, const Label& label) {
  if (tables.empty()) return {};
  return text.append(" ").append(first_of(tables, 8, label));
}

std::string replicas_line(const Task& task, const Plan& plan) {
  return listed_tables(counted(plan.replicas.size(), "table") + " on every device:", plan.replicas,
                       [&](int table) { return replica_label(task, table); });
}

std::string deduplicated_line(const Task& task, const Plan& plan) {
  return listed_tables(
      counted(plan.deduplicated.size(), "table") + " whose rows each device asks for once:",
      plan.deduplicated, [&](int table) { return table_label(task, table); });
}

std::string hot_rows_line(const Task& task, const Plan& plan) {
  std::vector<int> tables;
  bool in_nodes = false;
  for (const HotRows& hot : plan.hot_rows) {
    tables.push_back(hot.table);
    in_nodes |= hot.node_rows > 0;
  }
  const auto count = [](std::int64_t rows) {
    return format_count(static_cast<std::uint64_t>(rows));
  };
  const std::string begin = counted(tables.size(), "table") +
                            " whose hottest rows are on every device" +
                            (in_nodes ? ", or on each node:" : ":");
  return listed_tables(begin, tables, [&](int table) {
    const auto hot = std::ranges::find(plan.hot_rows, table, &HotRows::table);
    std::string text = hot->rows > 0 ? count(hot->rows) : "";
    if (hot->node_rows > 0) {
      text += (text.empty() ? "" : " and ") + count(hot->node_rows) + " once a node";
    }
    return table_label(task, table) + " (" + text + " of " +
           count(task.tables[static_cast<std::size_t>(table)].rows) + ")";
  });
}

std::string splits_line(const Task& given, const Plan& plan) {
  const HotRowsSplit split(given, plan);
  const Task& task = split.task();
  if (splits_of(given, plan) == 0) return "none";
  struct Pieces {
    std::uint64_t slices = 0;
    std::uint64_t row_blocks = 0;
  };
  std::map<int, Pieces> pieces;
  for (const TableSlice& slice : plan.slices) {
    ++pieces[slice.table].slices;
    if (is_row_block(task, slice)) ++pieces[slice.table].row_blocks;
  }
  std::vector<int> split_tables;
  for (const auto& [table, of_table] : pieces) {
    if (of_table.slices > 1) split_tables.push_back(table);
  }
  return listed_tables(counted_splits(given, plan) + ":", split_tables, [&](int table) {
    const Pieces& of_table = pieces.at(table);
    std::string text = table_label(task, table) + " in " + format_count(of_table.slices);
    if (of_table.row_blocks > 0) text += " (" + counted(of_table.row_blocks, "row block") + ")";
    return text;
  });
}

std::string search_line(const PlanDocument& document) {
  const SearchStats& stats = *document.stats;
  return format_ms(stats.search_ms) + " ms on backend " + stats.backend +
         (document.complete ? "" : ", ended by the deadline") + "; " +
         counted(stats.candidates, "candidate") + ", " + counted(stats.placements, "placement") +
         ", " + (stats.edits == 0 ? "" : counted(stats.edits, "edit") + ", ") +
         counted(stats.head_evaluations, "shard") + " scored" +
         (document.read_ms ? "; task read in " + format_ms(*document.read_ms) + " ms" : "");
}

}  // namespace

std::string table_label(const Task& task, int table) {
  const std::string& name = task.tables[static_cast<std::size_t>(table)].name;
  return name.empty() ? "table " + std::to_string(table) : printable(name);
}

std::string decided_by(const PlanCost& cost) {
  if (!cost.set_by_host()) return "device " + std::to_string(deciding_device(cost));
  return "the host (devices take up to " + format_ms(cost.slowest_ms()) + " ms)";
}

std::string iteration_text(const Task& task) {
  return "iteration of " + counted(static_cast<std::uint64_t>(task.batch_size), "sample");
}

std::string hidden_text(const PlanCost& cost) {
  const auto most = [&](double DeviceCost::*ms) {
    return std::ranges::max(cost.devices, {}, ms).*ms;
  };
  const double ids_ms = most(&DeviceCost::hidden_ms);
  const double fetch_ms = most(&DeviceCost::hidden_fetch_ms);
  std::string text;
  if (ids_ms > 0.0) text = format_ms(ids_ms) + " ms of ids";
  if (fetch_ms > 0.0) {
    text += (text.empty() ? "" : ", ") + format_ms(fetch_ms) + " ms of fetched rows";
  }
  return text.empty() ? text : text + " run behind the iteration before";
}

std::string host_text(const Task& task, const Plan& plan, const PlanCost& cost) {
  if (cost.hbm_shares.empty()) return {};
  std::int64_t bytes = 0;
  std::int64_t ssd_bytes = 0;
  double ssd_ms = 0.0;
  for (const DeviceCost& device : cost.devices) {
    bytes += device.host_bytes;
    ssd_bytes += device.ssd_bytes;
    ssd_ms = std::max(ssd_ms, device.ssd_ms);
  }
  if (bytes == 0) return "not needed: HBM has room for all tables";
  std::vector<char> waits(task.tables.size(), 0);
  for (std::size_t slice = 0; slice < plan.slices.size(); ++slice) {
    if (cost.hbm_shares[slice] == 1.0) continue;
    waits[static_cast<std::size_t>(plan.slices[slice].table)] = 1;
  }
  const auto tables = static_cast<std::uint64_t>(std::ranges::count(waits, 1));
  return "rows of " + counted(tables, "table") + " wait in " + format_bytes(bytes) +
         " of host memory (" + std::string(name_of(task.host.policy)) + ")" +
         (ssd_bytes == 0 ? ""
                         : ", and " + format_bytes(ssd_bytes) + " on SSDs, which take up to " +
                               format_ms(ssd_ms) + " ms");
}

std::vector<ShownTerm> shown_terms(const PlanCost& cost) {
  std::vector<double> waits = waits_ms(cost);
  std::vector<double> fetches;
  for (const DeviceCost& device : cost.devices) {
    fetches.push_back(device.fetch_ms - device.hidden_fetch_ms);
  }
  const auto is_any = [](double ms) { return ms > 0.0; };
  std::vector<ShownTerm> shown;
  for (const CostTerm& term : cost_terms(cost)) {
    std::vector<double>& ms = shown.emplace_back(ShownTerm{term.name, {}}).ms;
    for (std::size_t device = 0; device < waits.size(); ++device) {
      const DeviceCost& of = cost.devices[device];
      const double elsewhere = term.ms == &DeviceCost::forward_ms   ? waits[device]
                               : term.ms == &DeviceCost::ids_ms     ? of.hidden_ms
                               : term.ms == &DeviceCost::compute_ms ? of.fetch_ms
                                                                    : 0.0;
      ms.push_back(of.*term.ms - elsewhere);
    }
  }
  if (std::ranges::any_of(fetches, is_any)) shown.push_back({kFetch, std::move(fetches)});
  if (std::ranges::any_of(waits, is_any)) shown.push_back({kWaiting, std::move(waits)});
  return shown;
}

std::string shard_lists(const PlanDocument& document) {
  const auto by_device = slices_by_device(document.plan);
  const HotRowsSplit split(document.task, document.plan);
  std::string text;
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    text += "device " + std::to_string(device) + ":";
    for (const TableSlice& slice : by_device[device]) {
      text += (text.back() == ':' ? " " : ", ") + table_label(document.task, slice.table);
      if (slice.dim != document.task.tables[static_cast<std::size_t>(slice.table)].dim) {
        text += " [" + std::to_string(slice.first_column) + ".." +
                std::to_string(slice.first_column + slice.dim - 1) + "]";
      }
      if (is_row_block(split.task(), slice)) {
        text += " rows [" + std::to_string(slice.first_row) + ".." +
                std::to_string(slice.first_row + slice.rows - 1) + "]";
      }
    }
    text += '\n';
  }
  std::string on_devices;
  std::string on_nodes;
  const auto add = [](std::string& list, const std::string& entry) {
    list.append(list.empty() ? " " : ", ").append(entry);
  };
  for (const int table : document.plan.replicas) {
    add(on_devices, replica_label(document.task, table));
  }
  for (const auto& [table, rows, node_rows] : document.plan.hot_rows) {
    const std::string label = replica_label(document.task, table);
    if (rows > 0) {
      add(on_devices, label + " hottest " + counted(static_cast<std::uint64_t>(rows), "row"));
    }
    if (node_rows > 0) {
      add(on_nodes, label + " next " + counted(static_cast<std::uint64_t>(node_rows), "row"));
    }
  }
  if (!on_devices.empty()) text += "every device:" + on_devices + '\n';
  if (!on_nodes.empty()) text += "each node:" + on_nodes + '\n';
  return text;
}

std::string terms_text(const std::vector<ShownTerm>& terms, std::size_t device) {
  std::string text;
  for (const auto& [name, ms] : terms) {
    if (!text.empty()) text += ", ";
    text.append(name).append(" ").append(format_ms(ms[device]));
  }
  return text + " ms";
}

std::vector<std::string> cost_heads(const std::vector<ShownTerm>& terms) {
  std::vector<std::string> heads = {"total ms"};
  for (const ShownTerm& term : terms) heads.emplace_back(term.name);
  return heads;
}

std::vector<std::string> cost_cells(const std::vector<ShownTerm>& terms, const PlanCost& cost,
                                    std::size_t device) {
  std::vector<std::string> cells = {format_ms(cost.devices[device].total_ms())};
  for (const ShownTerm& term : terms) cells.push_back(format_ms(term.ms[device]));
  return cells;
}

std::int64_t used_bytes(const DeviceCost& cost) {
  return cost.memory_bytes + cost.reserved_bytes + cost.base_bytes;
}

double full_share(const Task& task, const DeviceCost& cost, std::size_t device) {
  return static_cast<double>(used_bytes(cost)) / static_cast<double>(memory_bytes(task, device));
}

std::vector<std::string> memory_cells(const DeviceCost& cost) {
  return {format_bytes(cost.memory.weight_bytes), format_bytes(cost.memory.optimizer_bytes),
          format_bytes(cost.memory.buffer_bytes),
          format_bytes(cost.reserved_bytes + cost.base_bytes),
          std::string(cost.free_bytes < 0 ? 1 : 0, '-') + format_bytes(std::abs(cost.free_bytes))};
}

std::string task_line(const Task& task) {
  return counted(task.tables.size(), "table") + ", " + format_bytes(total_bytes(task)) + ", on " +
         devices_text(task);
}

std::vector<std::string> plan_warnings(const PlanDocument& document) {
  std::vector<std::string> warnings;
  if (!document.cost.fits_memory) warnings.push_back(memory_line(document.cost));
  if (!document.cost.warning.empty()) warnings.push_back(printable(document.cost.warning));
  if (document.stats && !document.stats->warning.empty()) {
    warnings.push_back(printable(document.stats->warning));
  }
  if (!document.complete) warnings.emplace_back(kEndedEarly);
  return warnings;
}

std::vector<PlanFact> plan_facts(const PlanDocument& document) {
  const Task& task = document.task;
  std::vector<PlanFact> facts = {{"splits", splits_line(task, document.plan)}};
  const auto add_if_any = [&](const char* label, const std::string& text) {
    if (!text.empty()) facts.push_back({label, text});
  };
  add_if_any("replicas", replicas_line(task, document.plan));
  add_if_any("deduplicated", deduplicated_line(task, document.plan));
  add_if_any("hot rows", hot_rows_line(task, document.plan));
  add_if_any("nodes", nodes_text(task.devices_per_node, task.links));
  add_if_any("exchange", exchange_text(task.exchange));
  add_if_any("hidden", hidden_text(document.cost));
  add_if_any("host", host_text(task, document.plan, document.cost));
  add_if_any("groups", groups_text(task.groups));
  if (document.stats) facts.push_back({"search", search_line(document)});
  for (const CostedPlan& other : document.alternatives) {
    facts.push_back({"another", format_ms(other.cost.cost_ms) + " ms per iteration with " +
                                    counted_splits(task, other.plan)});
  }
  facts.push_back({"weights", printable(document.weights)});
  for (const std::string& note : document.notes) facts.push_back({"note", printable(note)});
  return facts;
}

std::string plan_page(const PlanDocument& document, const TextStyle& style) {
  std::string text =
      bold(printable(document.task_name), style) + ": " + task_line(document.task) + "\n\n";
  text += device_table(document, style) + '\n' + memory_table(document);
  const auto add = [&](const std::string& label, const std::string& line) {
    text += paragraph(label, line, 9, style);
  };
  add("cost", cost_line(document.task, document.cost, style));
  if (!document.cost.fits_memory) add("memory", memory_line(document.cost));
  if (!document.cost.warning.empty()) add("warning", printable(document.cost.warning));
  for (const auto& [label, line] : plan_facts(document)) add(label, line);
  return text;
}

}  // namespace neuroshard::tools
