// Does not compile unless the structs of the C interface are laid out as programs that were
// compiled earlier expect: in C99, for 64-bit machines. A field may be added at the end of a struct
// that begins with its size, with a line here; nothing here may change.
#include <neuroshard/c_api.h>

#define SAME(what, number) typedef char same_##what[(number) ? 1 : -1]
#define STRUCT(type, bytes) SAME(size_of_##type, sizeof(type) == (bytes))
#define FIELD(type, field, offset) SAME(type##_##field, offsetof(type, field) == (offset))

STRUCT(ns_planner_options, 72);
FIELD(ns_planner_options, size, 0);
FIELD(ns_planner_options, weights_path, 8);
FIELD(ns_planner_options, backend, 16);
FIELD(ns_planner_options, algorithm, 24);
FIELD(ns_planner_options, effort, 32);
FIELD(ns_planner_options, threads, 40);
FIELD(ns_planner_options, reserved, 44);
FIELD(ns_planner_options, cuts, 48);
FIELD(ns_planner_options, hardware, 56);
FIELD(ns_planner_options, policy_path, 64);

STRUCT(ns_plan_options, 48);
FIELD(ns_plan_options, size, 0);
FIELD(ns_plan_options, deadline_ms, 8);
FIELD(ns_plan_options, stop, 16);
FIELD(ns_plan_options, alternatives, 24);
FIELD(ns_plan_options, reserved, 28);
FIELD(ns_plan_options, on_improvement, 32);
FIELD(ns_plan_options, context, 40);

STRUCT(ns_replan_options, 96);
FIELD(ns_replan_options, size, 0);
FIELD(ns_replan_options, deadline_ms, 8);
FIELD(ns_replan_options, stop, 16);
FIELD(ns_replan_options, lost_devices, 24);
FIELD(ns_replan_options, lost_device_count, 32);
FIELD(ns_replan_options, most_moved_bytes, 40);
FIELD(ns_replan_options, ms_per_moved_gib, 48);
FIELD(ns_replan_options, reserved, 56);
FIELD(ns_replan_options, unspent_bytes, 64);
FIELD(ns_replan_options, small_moves_share, 72);
FIELD(ns_replan_options, small_moves_bytes, 80);
FIELD(ns_replan_options, regrouped, 88);

STRUCT(ns_groups_options, 80);
FIELD(ns_groups_options, size, 0);
FIELD(ns_groups_options, deadline_ms, 8);
FIELD(ns_groups_options, stop, 16);
FIELD(ns_groups_options, sizes, 24);
FIELD(ns_groups_options, size_count, 32);
FIELD(ns_groups_options, layout, 40);
FIELD(ns_groups_options, iterations, 48);
FIELD(ns_groups_options, share, 56);
FIELD(ns_groups_options, weights_only, 64);
FIELD(ns_groups_options, touched_rows, 68);
FIELD(ns_groups_options, reserved, 72);

STRUCT(ns_group_cost, 56);
FIELD(ns_group_cost, size, 0);
FIELD(ns_group_cost, copies, 4);
FIELD(ns_group_cost, layout, 8);
FIELD(ns_group_cost, cost_ms, 16);
FIELD(ns_group_cost, iteration_ms, 24);
FIELD(ns_group_cost, averaging_ms, 32);
FIELD(ns_group_cost, iterations, 40);
FIELD(ns_group_cost, averaged_bytes, 48);

STRUCT(ns_explain_options, 32);
FIELD(ns_explain_options, size, 0);
FIELD(ns_explain_options, deadline_ms, 8);
FIELD(ns_explain_options, stop, 16);
FIELD(ns_explain_options, rules, 24);
FIELD(ns_explain_options, reserved, 28);

STRUCT(ns_move, 32);
FIELD(ns_move, table, 0);
FIELD(ns_move, first_column, 4);
FIELD(ns_move, dim, 8);
FIELD(ns_move, from, 12);
FIELD(ns_move, to, 16);
FIELD(ns_move, reserved, 20);
FIELD(ns_move, bytes, 24);

STRUCT(ns_rows, 16);
FIELD(ns_rows, first_row, 0);
FIELD(ns_rows, rows, 8);

STRUCT(ns_move_summary, 40);
FIELD(ns_move_summary, size, 0);
FIELD(ns_move_summary, moved_bytes, 8);
FIELD(ns_move_summary, must_move_bytes, 16);
FIELD(ns_move_summary, running_cost_ms, 24);
FIELD(ns_move_summary, unspent_bytes, 32);

STRUCT(ns_plan_summary, 48);
FIELD(ns_plan_summary, size, 0);
FIELD(ns_plan_summary, cost_ms, 8);
FIELD(ns_plan_summary, search_ms, 16);
FIELD(ns_plan_summary, devices, 24);
FIELD(ns_plan_summary, slices, 28);
FIELD(ns_plan_summary, slowest_device, 32);
FIELD(ns_plan_summary, alternatives, 36);
FIELD(ns_plan_summary, complete, 40);
FIELD(ns_plan_summary, fits_memory, 44);

STRUCT(ns_slice, 16);
FIELD(ns_slice, device, 0);
FIELD(ns_slice, table, 4);
FIELD(ns_slice, first_column, 8);
FIELD(ns_slice, dim, 12);

STRUCT(ns_block, 32);
FIELD(ns_block, device, 0);
FIELD(ns_block, table, 4);
FIELD(ns_block, first_column, 8);
FIELD(ns_block, dim, 12);
FIELD(ns_block, first_row, 16);
FIELD(ns_block, rows, 24);

STRUCT(ns_device_cost, 40);
FIELD(ns_device_cost, compute_ms, 0);
FIELD(ns_device_cost, forward_ms, 8);
FIELD(ns_device_cost, backward_ms, 16);
FIELD(ns_device_cost, memory_bytes, 24);
FIELD(ns_device_cost, dim_sum, 32);

STRUCT(ns_device_memory, 48);
FIELD(ns_device_memory, weight_bytes, 0);
FIELD(ns_device_memory, optimizer_bytes, 8);
FIELD(ns_device_memory, buffer_bytes, 16);
FIELD(ns_device_memory, reserved_bytes, 24);
FIELD(ns_device_memory, free_bytes, 32);
FIELD(ns_device_memory, base_bytes, 40);

STRUCT(ns_device_overlap, 16);
FIELD(ns_device_overlap, dense_ms, 0);
FIELD(ns_device_overlap, hidden_ms, 8);

STRUCT(ns_device_host, 24);
FIELD(ns_device_host, fetch_ms, 0);
FIELD(ns_device_host, hidden_fetch_ms, 8);
FIELD(ns_device_host, host_bytes, 16);

STRUCT(ns_device_ssd, 16);
FIELD(ns_device_ssd, ssd_ms, 0);
FIELD(ns_device_ssd, ssd_bytes, 8);

STRUCT(ns_infeasibility, 48);
FIELD(ns_infeasibility, size, 0);
FIELD(ns_infeasibility, kind, 8);
FIELD(ns_infeasibility, needed_bytes, 16);
FIELD(ns_infeasibility, available_bytes, 24);
FIELD(ns_infeasibility, largest_piece_bytes, 32);
FIELD(ns_infeasibility, table, 40);
FIELD(ns_infeasibility, reserved, 44);

SAME(status, sizeof(ns_status) == 4);
SAME(statuses, NS_OK == 0 && NS_INFEASIBLE == 1 && NS_INVALID_INPUT == 2 && NS_IO == 3 &&
                   NS_BACKEND == 4 && NS_OUT_OF_MEMORY == 5 && NS_INTERNAL == 6);

int main(void) {
  // The library is not older than the header, and is the one of its version.
  return ns_abi_version() >= NS_ABI_VERSION ? 0 : 1;
}
