#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>

#include "tools/python/bindings/values.h"

// All fields of each struct that is kept in pickles, const or not. A struct that gets another one
// does not compile here until it is kept, too.

namespace neuroshard::python {

template <typename S, typename T>
concept IsA = std::same_as<std::remove_const_t<S>, T>;

template <IsA<TableMemory> S>
auto fields_of(S& s) {
  auto& [weight_type, optimizer, batch_size] = s;
  return std::tie(weight_type, optimizer, batch_size);
}

template <IsA<TableRules> S>
auto fields_of(S& s) {
  auto& [no_split, min_width, max_slices, devices, not_devices, nodes, not_nodes, kinds,
         keep_in_hbm, hbm_share] = s;
  return std::tie(no_split, min_width, max_slices, devices, not_devices, nodes, not_nodes, kinds,
                  keep_in_hbm, hbm_share);
}

template <IsA<Table> S>
auto fields_of(S& s) {
  auto& [name, rows, dim, pooling_factor, access_histogram, memory, rules, row_shares,
         replica_gradients, features, pooling, weighted, once_in_samples, popularity,
         replica_devices] = s;
  return std::tie(name, rows, dim, pooling_factor, access_histogram, memory, rules, row_shares,
                  replica_gradients, features, pooling, weighted, once_in_samples, popularity,
                  replica_devices);
}

template <IsA<ReservedMemory> S>
auto fields_of(S& s) {
  auto& [bytes, share] = s;
  return std::tie(bytes, share);
}

template <IsA<Device> S>
auto fields_of(S& s) {
  auto& [memory_bytes, base_ms, base_bytes, speed, host_bytes, host_link_gb_s, ssd_bytes,
         ssd_gb_s] = s;
  return std::tie(memory_bytes, base_ms, base_bytes, speed, host_bytes, host_link_gb_s, ssd_bytes,
                  ssd_gb_s);
}

template <IsA<LinkLevel> S>
auto fields_of(S& s) {
  auto& [devices, gb_s] = s;
  return std::tie(devices, gb_s);
}

template <IsA<NodeLinks> S>
auto fields_of(S& s) {
  auto& [in_node_gb_s, between_nodes_gb_s, node_gb_s, peer_gb_s, host_gb_s, levels] = s;
  return std::tie(in_node_gb_s, between_nodes_gb_s, node_gb_s, peer_gb_s, host_gb_s, levels);
}

template <IsA<ExchangeTypes> S>
auto fields_of(S& s) {
  auto& [forward, backward, ids, forward_share, backward_share, deduplicate_ids, by_table, hot_rows,
         by_node] = s;
  return std::tie(forward, backward, ids, forward_share, backward_share, deduplicate_ids, by_table,
                  hot_rows, by_node);
}

template <IsA<Overlap> S>
auto fields_of(S& s) {
  auto& [ids, dense_ms, dense_beside_outputs_ms, dense_beside_gradients_ms, host_ms] = s;
  return std::tie(ids, dense_ms, dense_beside_outputs_ms, dense_beside_gradients_ms, host_ms);
}

template <IsA<HostMemory> S>
auto fields_of(S& s) {
  auto& [bytes, link_gb_s, policy, prefetch, of_node, ssd_bytes, ssd_gb_s] = s;
  return std::tie(bytes, link_gb_s, policy, prefetch, of_node, ssd_bytes, ssd_gb_s);
}

template <IsA<PopularRows> S>
auto fields_of(S& s) {
  auto& [rows, share] = s;
  return std::tie(rows, share);
}

template <IsA<TableGroup> S>
auto fields_of(S& s) {
  auto& [name, tables, keep] = s;
  return std::tie(name, tables, keep);
}

template <IsA<Task> S>
auto fields_of(S& s) {
  auto& [tables, devices, memory_bytes, reserved, batch_size, device_list, devices_per_node, links,
         exchange, overlap, host, groups] = s;
  return std::tie(tables, devices, memory_bytes, reserved, batch_size, device_list,
                  devices_per_node, links, exchange, overlap, host, groups);
}

template <IsA<NamedTask> S>
auto fields_of(S& s) {
  auto& [task, name, notes] = s;
  return std::tie(task, name, notes);
}

template <IsA<TableSlice> S>
auto fields_of(S& s) {
  auto& [table, first_column, dim, first_row, rows] = s;
  return std::tie(table, first_column, dim, first_row, rows);
}

template <IsA<HotRows> S>
auto fields_of(S& s) {
  auto& [table, rows, node_rows] = s;
  return std::tie(table, rows, node_rows);
}

template <IsA<Plan> S>
auto fields_of(S& s) {
  auto& [slices, shards, replicas, deduplicated, hot_rows] = s;
  return std::tie(slices, shards, replicas, deduplicated, hot_rows);
}

template <IsA<SliceMemory> S>
auto fields_of(S& s) {
  auto& [weight_bytes, optimizer_bytes, buffer_bytes] = s;
  return std::tie(weight_bytes, optimizer_bytes, buffer_bytes);
}

template <IsA<DeviceCost> S>
auto fields_of(S& s) {
  auto& [compute_ms, forward_ms, backward_ms, ids_ms, replicas_ms, all_reduce_ms, dense_ms,
         fetch_ms, ssd_ms, hidden_fetch_ms, hidden_ms, memory_bytes, host_bytes, ssd_bytes, dim_sum,
         lookups, slices, memory, reserved_bytes, speed, base_ms, base_bytes, free_bytes] = s;
  return std::tie(compute_ms, forward_ms, backward_ms, ids_ms, replicas_ms, all_reduce_ms, dense_ms,
                  fetch_ms, ssd_ms, hidden_fetch_ms, hidden_ms, memory_bytes, host_bytes, ssd_bytes,
                  dim_sum, lookups, slices, memory, reserved_bytes, speed, base_ms, base_bytes,
                  free_bytes);
}

template <IsA<PlanCost> S>
auto fields_of(S& s) {
  auto& [devices, cost_ms, host_ms, fits_memory, prefetched, hbm_shares, ssd_shares, warning] = s;
  return std::tie(devices, cost_ms, host_ms, fits_memory, prefetched, hbm_shares, ssd_shares,
                  warning);
}

template <IsA<CostedTaskPlan> S>
auto fields_of(S& s) {
  auto& [task, weights, plan, cost] = s;
  return std::tie(task, weights, plan, cost);
}

template <IsA<CostedPlan> S>
auto fields_of(S& s) {
  auto& [plan, cost] = s;
  return std::tie(plan, cost);
}

template <IsA<Infeasibility> S>
auto fields_of(S& s) {
  auto& [kind, message, needed_bytes, available_bytes, largest_piece_bytes, table] = s;
  return std::tie(kind, message, needed_bytes, available_bytes, largest_piece_bytes, table);
}

template <IsA<SearchStats> S>
auto fields_of(S& s) {
  auto& [backend, warning, search_ms, candidates, placements, edits, head_evaluations,
         comm_evaluations] = s;
  return std::tie(backend, warning, search_ms, candidates, placements, edits, head_evaluations,
                  comm_evaluations);
}

template <IsA<PlanResult> S>
auto fields_of(S& s) {
  auto& [plan, cost, infeasible, complete, alternatives, stats] = s;
  return std::tie(plan, cost, infeasible, complete, alternatives, stats);
}

template <IsA<TaskPlanResult> S>
auto fields_of(S& s) {
  auto& [task, weights, result] = s;
  return std::tie(task, weights, result);
}

}  // namespace neuroshard::python
