#include "tools/plan_pages/first_screen.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/base/count_up.h"
#include "core/base/message_text.h"
#include "core/tables/host_shares.h"
#include "neuroshard/waiting.h"
#include "tools/charts/svg.h"
#include "tools/plan_pages/plan_report.h"
#include "tools/plan_pages/table_work.h"

namespace neuroshard::tools {
namespace {

constexpr std::size_t kListedTables = 10;
constexpr std::size_t kListedNames = 6;

std::string figure(std::string_view name, const std::string& value, const std::string& about) {
  return "<div><dt>" + std::string(name) + "</dt><dd>" + value + "<small>" + about +
         "</small></dd></div>\n";
}

/// A length in percent, of styles: never more than all.
std::string length_of(double share) {
  return format_number(100.0 * std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0), 1) + "%";
}

/// A bar across a cell: `fill` of it, and `rest` after that, in other colours.
std::string bar_of(double fill, double rest = 0.0) {
  return "<span class=\"bar\" style=\"--fill:" + length_of(fill) +
         ";--rest:" + length_of(fill + rest) + "\"></span>";
}

std::string bound_figure(const std::optional<PlanBound>& bound) {
  constexpr std::string_view kName = "Lower bound";
  if (!bound) return figure(kName, "not asked for", "plan --bound, or bound --plan FILE, has it");
  if (!bound->any_plan()) return figure(kName, "no plan", "none keeps all rules and fits");
  std::string about = "by " + html_text(bound->prices);
  if (bound->cost_ms) {
    const double gap = *bound->cost_ms / bound->bound_ms - 1.0;
    about = "gap " + format_percent(std::max(gap, 0.0), 1) + ": this plan costs " +
            format_ms(*bound->cost_ms) + " ms " + about;
  }
  return figure(kName, format_ms(bound->bound_ms) + " ms", about);
}

struct Node {
  std::size_t first = 0;
  std::size_t devices = 0;
  std::size_t busiest = 0;
  double work_ms = 0.0;  ///< The work of the busiest device.
  double mean_ms = 0.0;
  double wait_ms = 0.0;  ///< Mean.
  double full = 0.0;     ///< Memory of the fullest device.
};

std::vector<Node> nodes_of(const PlanDocument& document) {
  const std::vector<double> work = work_ms(document.cost);
  const std::vector<double> waits = waits_ms(document.cost);
  const auto size = static_cast<std::size_t>(std::max(1, document.task.devices_per_node));
  std::vector<Node> nodes;
  for (std::size_t first = 0; first < work.size(); first += size) {
    Node node{.first = first, .devices = std::min(size, work.size() - first), .busiest = first};
    for (std::size_t device = first; device < first + node.devices; ++device) {
      if (work[device] > work[node.busiest]) node.busiest = device;
      node.mean_ms += work[device] / static_cast<double>(node.devices);
      node.wait_ms += waits[device] / static_cast<double>(node.devices);
      node.full =
          std::max(node.full, full_share(document.task, document.cost.devices[device], device));
    }
    node.work_ms = work[node.busiest];
    nodes.push_back(node);
  }
  std::ranges::stable_sort(nodes, std::greater<>(), &Node::work_ms);
  return nodes;
}

/// A tier of memory: how much of it is used.
std::string tier_row(std::string_view name, std::int64_t used, std::int64_t all,
                     const std::string& about) {
  const double share = all > 0 ? static_cast<double>(used) / static_cast<double>(all) : 0.0;
  return "<tr><th scope=\"row\" class=\"text\">" + std::string(name) + "<td>" + format_bytes(used) +
         "<td>" + format_bytes(all) + "<td class=\"bars\">" + bar_of(share) + "<td>" +
         format_percent(share, 0) + "<td>" + about + '\n';
}

/// "cat_20 12 % in HBM, ...": the largest tables whose rows wait in the host's memory.
std::string cached_text(const PlanDocument& document) {
  struct Cached {
    int table = 0;
    double rows = 0.0;
    double in_hbm = 0.0;
    double bytes = 0.0;  ///< That wait.
  };
  const Task& task = document.task;
  std::vector<Cached> tables(task.tables.size());
  for (std::size_t i = 0; i < document.plan.slices.size(); ++i) {
    const TableSlice& slice = document.plan.slices[i];
    Cached& cached = tables[static_cast<std::size_t>(slice.table)];
    const double cells = static_cast<double>(slice.rows) * slice.dim;
    cached.table = slice.table;
    cached.rows += cells;
    cached.in_hbm += cells * document.cost.hbm_shares[i];
    cached.bytes +=
        static_cast<double>(slice_bytes(task, slice)) * (1.0 - document.cost.hbm_shares[i]);
  }
  std::erase_if(tables, [](const Cached& cached) { return cached.bytes <= 0.0; });
  std::ranges::stable_sort(tables, std::greater<>(), &Cached::bytes);
  return counted(tables.size(), "table") +
         " cached in HBM: " + first_of(tables, kListedNames, [&](const Cached& cached) {
           return table_label(task, cached.table) + " " +
                  format_percent(cached.in_hbm / cached.rows, 0);
         });
}

}  // namespace

std::string html_text(std::string_view text) { return charts::xml_escaped(printable(text)); }

std::string panel_begin(std::string_view id, std::string_view title) {
  const std::string name(id);
  return "<section class=\"panel\" id=\"" + name + "\" aria-labelledby=\"" + name +
         "-title\"><h2 id=\"" + name + "-title\">" + html_text(title) + "</h2>\n";
}

std::string table_begin(const std::vector<TableHead>& heads) {
  std::string html = "<table class=\"compact\"><thead><tr>";
  for (const TableHead& head : heads) {
    html += "<th scope=\"col\"";
    if (!head.kind.empty()) html += " class=\"" + std::string(head.kind) + '"';
    if (!head.about.empty()) html += " title=\"" + std::string(head.about) + '"';
    html += '>' + html_text(head.name);
  }
  return html + "</thead><tbody>\n";
}

FullestDevice fullest_device(const Task& task, const PlanCost& cost) {
  FullestDevice fullest{.share = full_share(task, cost.devices.front(), 0)};
  for (std::size_t device = 1; device < cost.devices.size(); ++device) {
    const double share = full_share(task, cost.devices[device], device);
    if (share > fullest.share) fullest = {device, share};
  }
  return fullest;
}

std::string figure_list(const PlanDocument& document, const std::optional<PlanBound>& bound) {
  const PlanCost& cost = document.cost;
  const auto deciding = static_cast<std::size_t>(deciding_device(cost));
  std::vector<ShownTerm> terms = shown_terms(cost);
  std::erase_if(terms, [&](const ShownTerm& term) { return term.ms[deciding] == 0.0; });
  const std::vector<double> waits = waits_ms(cost);
  const auto longest = std::ranges::max_element(waits);
  const FullestDevice fullest = fullest_device(document.task, cost);
  return "<dl class=\"figures\">\n" +
         figure("Cost", format_ms(cost.cost_ms) + " ms",
                "predicted, per " + iteration_text(document.task)) +
         bound_figure(bound) + figure("Decided by", decided_by(cost), terms_text(terms, deciding)) +
         figure("Imbalance", format_number(imbalance(cost), 3),
                "most work of a device / mean; device " + std::to_string(longest - waits.begin()) +
                    " waits longest, " + format_ms(*longest) + " ms") +
         figure("Fullest", format_percent(fullest.share, 0),
                "memory of device " + std::to_string(fullest.device)) +
         "</dl>\n";
}

std::string table_panel(const PlanDocument& document, const std::vector<double>& table_ms) {
  const std::vector<double> work = work_ms(document.cost);
  const double all_ms = std::accumulate(work.begin(), work.end(), 0.0);
  std::vector<int> tables = count_up<int>(table_ms.size());
  std::ranges::stable_sort(tables, std::greater<>(),
                           [&](int table) { return table_ms[static_cast<std::size_t>(table)]; });
  if (tables.size() > kListedTables) tables.resize(kListedTables);
  const ShardingWords words(document.task, document.plan);
  std::string html = panel_begin("costliest", "Tables that cost most, in ms of all devices") +
                     table_begin({{"table", "text"},
                                  {"ms"},
                                  {"", "bars"},
                                  {"share", "", "of the work of all devices"},
                                  {"sharded", "text"}});
  const double most_ms = tables.empty() ? 0.0 : table_ms[static_cast<std::size_t>(tables[0])];
  for (const int table : tables) {
    const double ms = table_ms[static_cast<std::size_t>(table)];
    html += "<tr><th scope=\"row\" class=\"text name\">" +
            html_text(table_label(document.task, table)) + "<td>" + format_ms(ms) +
            "<td class=\"bars\">" + bar_of(most_ms > 0.0 ? ms / most_ms : 0.0) + "<td>" +
            format_percent(all_ms > 0.0 ? ms / all_ms : 0.0, 1) + "<td class=\"text\">" +
            words.of(table) + '\n';
  }
  return html + "</tbody></table>\n</section>\n";
}

std::string node_panel(const PlanDocument& document) {
  const std::vector<Node> nodes = nodes_of(document);
  const auto size = static_cast<std::size_t>(std::max(1, document.task.devices_per_node));
  std::string html =
      panel_begin("nodes", counted(nodes.size(), "node") +
                               (nodes.size() > 1 ? ", the busiest first, in ms" : ", in ms"));
  html +=
      "<div class=\"scroller\" tabindex=\"0\" role=\"region\" aria-labelledby=\"nodes-title\">" +
      table_begin({{"node"},
                   {"devices"},
                   {"work, wait", "", "mean work of its devices, and mean waiting"},
                   {"mean", "", "mean work of its devices"},
                   {"most", "most", "most work of a device"},
                   {"fullest"}});
  const double most_ms = document.cost.slowest_ms();
  for (const Node& node : nodes) {
    const auto part = [&](double ms) { return most_ms > 0.0 ? ms / most_ms : 0.0; };
    html += "<tr><th scope=\"row\">" + std::to_string(node.first / size) + "<td>" +
            std::to_string(node.first) +
            (node.devices > 1 ? " to " + std::to_string(node.first + node.devices - 1) : "") +
            "<td class=\"bars\">" + bar_of(part(node.mean_ms), part(node.wait_ms)) + "<td>" +
            format_ms(node.mean_ms) + "<td class=\"most\" title=\"device " +
            std::to_string(node.busiest) + "\">" + format_ms(node.work_ms) + "<td>" +
            format_percent(node.full, 0) + '\n';
  }
  return html + "</tbody></table></div>\n</section>\n";
}

std::string tier_panel(const PlanDocument& document) {
  const PlanCost& cost = document.cost;
  std::int64_t hbm = 0;
  std::int64_t hbm_used = 0;
  std::int64_t host_used = 0;
  std::int64_t ssd_used = 0;
  double fetch_ms = 0.0;
  std::size_t most = 0;
  std::size_t most_on_ssd = 0;
  for (std::size_t device = 0; device < cost.devices.size(); ++device) {
    const DeviceCost& of = cost.devices[device];
    hbm_used += used_bytes(of);
    ssd_used += of.ssd_bytes;
    if (of.ssd_bytes > cost.devices[most_on_ssd].ssd_bytes) most_on_ssd = device;
    hbm += memory_bytes(document.task, device);
    host_used += of.host_bytes;
    fetch_ms = std::max(fetch_ms, of.fetch_ms);
    if (of.host_bytes > cost.devices[most].host_bytes) most = device;
  }
  const FullestDevice fullest = fullest_device(document.task, cost);
  std::string html = panel_begin("tiers", "Memory");
  html += table_begin({{"tier", "text"}, {"used"}, {"of"}, {"", "bars"}, {"full"}, {"fullest"}}) +
          tier_row(
              "HBM", hbm_used, hbm,
              "device " + std::to_string(fullest.device) + ", " + format_percent(fullest.share, 0));
  const HostMemory& host = document.task.host;
  if (host.bytes == 0 || cost.hbm_shares.empty()) {
    return html + "</tbody></table>\n<p class=\"note\">All rows are in HBM.</p>\n</section>\n";
  }
  std::int64_t host_bytes = 0;
  std::int64_t ssd_bytes = 0;
  for (std::size_t device = 0; device < cost.devices.size(); ++device) {
    const HostMemory there = stated_host(document.task, device);
    const bool is_of_another =
        host.of_node && device % static_cast<std::size_t>(document.task.devices_per_node) != 0;
    if (!is_of_another) host_bytes += there.bytes;
    ssd_bytes += there.ssd_bytes;
  }
  const auto fullest_text = [&](std::size_t device, std::int64_t used, std::int64_t all) {
    return "device " + std::to_string(device) + ", " +
           format_percent(static_cast<double>(used) / static_cast<double>(all), 0);
  };
  html += tier_row(
      "host", host_used, host_bytes,
      fullest_text(most, cost.devices[most].host_bytes, stated_host(document.task, most).bytes));
  if (host.ssd_bytes > 0) {
    html += tier_row("SSD", ssd_used, ssd_bytes,
                     fullest_text(most_on_ssd, cost.devices[most_on_ssd].ssd_bytes,
                                  stated_host(document.task, most_on_ssd).ssd_bytes));
  }
  return html + "</tbody></table>\n<p class=\"note\">" +
         (host_used == 0 ? "HBM has room for all tables."
                         : html_text(cached_text(document)) + "; fetching rows takes up to " +
                               format_ms(fetch_ms) + " ms.") +
         "</p>\n</section>\n";
}

std::string replica_panel(const PlanDocument& document) {
  std::vector<int> replicas = document.plan.replicas;
  for (const HotRows& hot : document.plan.hot_rows) replicas.push_back(hot.table);
  std::string html = panel_begin("replicas", "Replicas");
  if (replicas.empty()) {
    return html + "<p class=\"note\">No table is on every device.</p>\n</section>\n";
  }
  double operator_ms = 0.0;
  double all_reduce_ms = 0.0;
  for (const DeviceCost& device : document.cost.devices) {
    operator_ms = std::max(operator_ms, device.replicas_ms);
    all_reduce_ms = std::max(all_reduce_ms, device.all_reduce_ms);
  }
  const std::size_t in_part = document.plan.hot_rows.size();
  html += "<p>" + counted(replicas.size(), "table") +
          (in_part == 0 ? "" : " (" + format_count(in_part) + " by their hottest rows)") +
          " on every device: " +
          format_bytes(replicas_memory(document.task, document.plan).total_bytes()) + " of each, " +
          format_ms(operator_ms) + " ms of its work, and " + format_ms(all_reduce_ms) +
          " ms to sum gradients.</p>\n<p class=\"note\">";
  return html +
         first_of(replicas, kListedNames,
                  [&](int table) { return html_text(table_label(document.task, table)); }) +
         "</p>\n</section>\n";
}

}  // namespace neuroshard::tools
