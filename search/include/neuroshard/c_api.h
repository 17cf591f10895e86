#pragma once

// The interface for C and for languages that call C: docs/c_api.md. C99.
//
// Errors: a function that can fail returns a status, and ns_last_error() says what is wrong.
// Nothing is thrown or printed. A call that failed leaves its arguments as they were, but for the
// handle that it should have made, which is NULL then.
//
// Handles are made by the function whose last argument they are, and freed by the one called
// ..._free, which takes NULL, too. A handle owns what it needs: others may be freed before it.
//
// Threads: a planner and a stop source may be used by many threads at once; a task and a plan too,
// as long as nobody changes or frees them. A thread must not be cancelled (pthread_cancel) in a
// call.
//
// Text is UTF-8 and ends with a zero byte, except for JSON that comes with its length.

#include <stddef.h>
#include <stdint.h>

#include "neuroshard/version.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// Version of this interface, which only grows: a program works with a library whose
/// ns_abi_version() is not below the NS_ABI_VERSION that it was compiled with.
#define NS_ABI_VERSION 17
int32_t ns_abi_version(void);

/// Version of the library in use, e.g. "0.1.0".
const char* ns_version(void);

/// Outcome of a call.
typedef int32_t ns_status;
enum {
  NS_OK = 0,
  NS_INFEASIBLE = 1,     ///< The task has no plan, or a plan needs more memory than there is.
  NS_INVALID_INPUT = 2,  ///< A value, a text or an option is wrong; the message names it.
  NS_IO = 3,             ///< A file cannot be read.
  NS_BACKEND = 4,        ///< A backend that was named cannot run here, or a device failed.
  NS_OUT_OF_MEMORY = 5,  ///< Everything is as it was before the call.
  NS_INTERNAL = 6        ///< A fault of the library.
};

/// Says in one line that is safe to print what was wrong in the last call on this thread whose
/// status was not NS_OK; "" if there was none. The text is good until the next such call on this
/// thread.
const char* ns_last_error(void);

// Structs that may grow begin with their size. `ns_plan_options options = {.size = sizeof options}`
// sets it, and all else to 0, which is the default everywhere. Fields that a smaller struct, from
// an older header, lacks count as 0. Fields that only a larger struct has must be 0, or it is
// refused.

/// Tables, number of devices and memory of a device.
typedef struct ns_task ns_task;

/// Makes a task from JSON as in docs/task_format.md, `length` bytes, at most 2^26.
ns_status ns_task_from_json(const char* json, size_t length, ns_task** task);
/// Replaces the devices of the JSON: 1 to 16,384 of them. Memory that the JSON reserves stays
/// reserved.
ns_status ns_task_set_devices(ns_task* task, int32_t devices);
/// Replaces the memory of each device, in bytes. Devices that the task lists keep their base loads.
ns_status ns_task_set_memory(ns_task* task, int64_t bytes_per_device);
/// Replaces the host memory of each device in bytes, or of each node if the JSON has node_gb. 0:
/// HBM alone; links and SSDs go, too, so that no size after it is taken. Since version 17.
ns_status ns_task_set_host_memory(ns_task* task, int64_t bytes);
void ns_task_free(ns_task* task);

/// Cost models and settings of the search.
typedef struct ns_planner ns_planner;

typedef struct ns_planner_options {
  size_t size;
  const char* weights_path;  ///< A weights file (.safetensors). NULL: the built-in weights.
  const char* backend;       ///< NULL: "auto", the fastest of cuda, avx512, avx2, scalar here.
  const char* algorithm;     ///< NULL: "neuroshard".
  const char* effort;        ///< "fast", "default" or "thorough". NULL: "default".
  int32_t threads;           ///< Threads of one plan. 0: one for each core.
  int32_t reserved;
  // Since version 3.
  /// "any": tables may also be replicated and, where columns alone find no room, cut by rows
  /// (docs/search.md). ns_plan_get_replicas() and ns_plan_get_blocks() tell these. "torchrec": as
  /// "any", and all slices of a table have one width. "columns": tables are cut by columns only,
  /// which ns_plan_get_slices() tells. NULL: "columns".
  const char* cuts;
  // Since version 4.
  /// Hardware that the built-in weights are for. It is a name, such as "h100", or a JSON object
  /// that states a datasheet (docs/task_format.md), for which weights are scaled in a second or so.
  /// NULL: "a100".
  const char* hardware;
  // Since version 12.
  /// A file of 'train policy', which the algorithms "dreamshard" and "autoshard" need. NULL: none.
  const char* policy_path;
} ns_planner_options;

/// `options` may be NULL. Takes some milliseconds; make one planner and share it.
ns_status ns_planner_create(const ns_planner_options* options, ns_planner** planner);
/// Name of the backend in use. The text is good as long as the planner.
const char* ns_planner_backend(const ns_planner* planner);
void ns_planner_free(ns_planner* planner);

/// Ends searches early, from any thread.
typedef struct ns_stop_source ns_stop_source;

ns_status ns_stop_source_create(ns_stop_source** source);
/// Searches that were given `source`, and those that will be, return the best plan found so far,
/// within some milliseconds. There is no way back.
void ns_stop_source_request(ns_stop_source* source);
/// Searches that were given it may still go on.
void ns_stop_source_free(ns_stop_source* source);

/// A plan says where the columns of each table go, with predicted costs, or why there is no such
/// plan.
typedef struct ns_plan ns_plan;

typedef struct ns_plan_options {
  size_t size;
  /// The search returns the best plan found by then, counted from the call, in ms. Up to 1e9; 0: no
  /// deadline.
  double deadline_ms;
  const ns_stop_source* stop;  ///< May be NULL.
  int32_t alternatives;        ///< Other plans to keep, 0 to 1,000.
  int32_t reserved;
  // Since version 3.
  /// Called on the planning thread for each plan that is better than all before it, `elapsed_ms`
  /// after the search began. `plan` is good until it returns. It must return: no longjmp, no
  /// exception. May be NULL.
  void (*on_improvement)(const ns_plan* plan, double elapsed_ms, void* context);
  void* context;
} ns_plan_options;

/// Makes the plan of lowest predicted cost that was found. `options` may be NULL. With
/// NS_INFEASIBLE there is a plan, too, which says why there is none; free it like any other.
ns_status ns_planner_plan(const ns_planner* planner, const ns_task* task,
                          const ns_plan_options* options, ns_plan** plan);

/// Plans many tasks at once, on all threads of the planner. Options are those of all together;
/// `on_improvement` must be NULL, `count` at most 2^24. `plans` and `statuses` have room for
/// `count`. They get for each task what ns_planner_plan() would give for it alone: there is a plan
/// with NS_OK and NS_INFEASIBLE, else NULL. Returns NS_OK, though tasks may have failed;
/// ns_last_error() is then that of the last of them. Another status means that nothing was done.
/// Since version 3.
ns_status ns_planner_plan_batch(const ns_planner* planner, const ns_task* const* tasks,
                                size_t count, const ns_plan_options* options, ns_plan** plans,
                                ns_status* statuses);

typedef struct ns_replan_options {
  size_t size;
  double deadline_ms;               ///< Deadline as in ns_plan_options.
  const ns_stop_source* stop;       ///< May be NULL.
  const int32_t* lost_devices;      ///< Devices of the running plan that are no longer there.
  size_t lost_device_count;         ///< 0 to all. 0: `lost_devices` may be NULL.
  const int64_t* most_moved_bytes;  ///< Bytes that may be moved. NULL: no budget was given.
  double ms_per_moved_gib;          ///< Gain that a moved GiB is worth. 0: moves are free.
  int64_t reserved;
  // Since version 5.
  /// Bytes that budgets of earlier changes left, which may be moved as well (ns_move_summary). The
  /// first change has 0. The plan then leaves moves that gain little for later changes. NULL: no
  /// such bytes, and it leaves nothing for later.
  const int64_t* unspent_bytes;
  // Since version 6.
  /// Small moves count with neither budget nor price. Beyond what must be moved, they are this
  /// share of what tables take on all devices, or `small_moves_bytes` for each device if that is
  /// more. They are allowed if a plan within 1.2 times what must be moved would cost at least 1 %
  /// more. NULL: 0.02.
  const double* small_moves_share;
  // Since version 7.
  const int64_t* small_moves_bytes;  ///< Bytes for each device of `task`. NULL: 16 MiB.
  // Since version 15.
  /// "consecutive" or "interleaved": `running` is the plan of each of several groups of devices,
  /// laid out so, and the job is to run in groups of the devices of `task`. One number of devices
  /// divides the other. Moves are counted in all new groups that a running one becomes, or in the
  /// one that several become. NULL: the devices of `running` are those of the job.
  const char* regrouped;
} ns_replan_options;

/// Plans for `task` near to `running`, so that little has to be moved. It is for a job whose tables
/// or devices have changed (docs/replanning.md). Devices that remain keep their order and become 0,
/// 1,
/// ... of `task`; a table keeps what devices hold of it if its name and dim stay. With neither
/// budget nor price, the plan may move 1.2 times the bytes that have to be moved for tables to stay
/// sharded as they run, or a little of all. Fails if all plans found move more than the budget.
/// `options` may be NULL. Returns as ns_planner_plan() does. The plan has moves
/// (ns_plan_get_moves). Since version 3.
ns_status ns_planner_replan(const ns_planner* planner, const ns_plan* running, const ns_task* task,
                            const ns_replan_options* options, ns_plan** plan);

/// Devices in groups that each hold all tables (docs/device_groups.md): what each size and layout
/// of groups costs, with plans. Since version 15.
typedef struct ns_groups ns_groups;

/// Options of ns_planner_plan_groups(). Since version 15.
typedef struct ns_groups_options {
  size_t size;
  double deadline_ms;          ///< Deadline as in ns_plan_options, for all sizes together.
  const ns_stop_source* stop;  ///< May be NULL.
  const int32_t* sizes;        ///< Devices of a group. Each divides those of the task.
  size_t size_count;           ///< 0: all sizes that can be planned; `sizes` may be NULL.
  const char* layout;          ///< "consecutive" or "interleaved". NULL: both.
  double iterations;           ///< Iterations between two averagings, 1 to 1e9. 0: see `share`.
  double share;                ///< Averaging takes this share of the time, up to 1. 0: 0.05.
  int32_t weights_only;        ///< Not 0: the state of optimizers is not averaged.
  int32_t touched_rows;        ///< Not 0: only rows that were looked up since are averaged.
  int64_t reserved;
} ns_groups_options;

/// Plans the devices of `task` in groups. `options` may be NULL. A size or layout that the task
/// cannot have is NS_INVALID_INPUT. With NS_INFEASIBLE no size has a plan, and there is an
/// ns_groups that says why; free it like any other. Since version 15.
ns_status ns_planner_plan_groups(const ns_planner* planner, const ns_task* task,
                                 const ns_groups_options* options, ns_groups** groups);

/// One way to group the devices. Since version 15.
typedef struct ns_group_cost {
  int32_t size;            ///< Devices of a group.
  int32_t copies;          ///< Number of groups.
  const char* layout;      ///< "consecutive" or "interleaved".
  double cost_ms;          ///< An iteration with its part of the averaging. Infinite: no plan.
  double iteration_ms;     ///< An iteration without it. Infinite: no plan.
  double averaging_ms;     ///< One averaging.
  double iterations;       ///< Iterations between two averagings. 0: there is nothing to average.
  int64_t averaged_bytes;  ///< Bytes that the device averages which stores most.
} ns_group_cost;
/// Writes the costs, in the order of the request's sizes (ascending if it has none), for each of
/// them by layout, as ns_plan_get_slices() does. Since version 15.
ns_status ns_groups_get_costs(const ns_groups* groups, ns_group_cost* costs, size_t capacity,
                              size_t* count);
/// Tells the place of the cheapest among the costs. The status is NS_INFEASIBLE if no size has a
/// plan. Since version 15.
ns_status ns_groups_get_best(const ns_groups* groups, size_t* index);
/// Writes why each size was left out though none were asked for, "size: reason", as
/// ns_plan_get_slices() does. The texts are good as long as `groups`. Since version 15.
ns_status ns_groups_get_left_out(const ns_groups* groups, const char** reasons, size_t capacity,
                                 size_t* count);
/// Makes a handle of its own for one group as a task: its devices and its part of the batch. All
/// functions take it. `index` is the place among the costs. Since version 15.
ns_status ns_groups_get_task(const ns_groups* groups, size_t index, ns_task** task);
/// Makes a handle of its own for the plan of that task. Returns as ns_planner_plan() does. Since
/// version 15.
ns_status ns_groups_get_plan(const ns_groups* groups, size_t index, ns_plan** plan);
void ns_groups_free(ns_groups* groups);

/// Makes the plan that JSON as in docs/plan_format.md states, at most 2^28 bytes, with its costs.
/// Fails if it does not place every row and column of every table once; it may need more memory
/// than there is (ns_plan_summary).
ns_status ns_planner_simulate(const ns_planner* planner, const ns_task* task, const char* json,
                              size_t length, ns_plan** plan);

/// Options of ns_planner_explain(). Since version 8.
typedef struct ns_explain_options {
  size_t size;
  double deadline_ms;          ///< Deadline as in ns_plan_options, for all plans together.
  const ns_stop_source* stop;  ///< It ends the search early. May be NULL.
  int32_t rules;               ///< Not 0: explains each rule's cost, too, by a plan for each.
  int32_t reserved;
} ns_explain_options;

/// Explains the cost of `plan`: which device decides, and what the plan would cost without each
/// slice, base load and cut. `*explanation` is a JSON object as in docs/plan_format.md; free it
/// with ns_string_free. `options` may be NULL. If `plan` says that there is none, the status is
/// NS_INFEASIBLE and there is an object, too. It says why, and with `rules`, which of them leave
/// the task without a plan. Since version 8.
ns_status ns_planner_explain(const ns_planner* planner, const ns_plan* plan,
                             const ns_explain_options* options, char** explanation);

/// Checks whether a plan that JSON states is one for `task`. Returns NS_OK if it is,
/// NS_INVALID_INPUT if it does not place every column of every table once, or NS_INFEASIBLE if a
/// device lacks memory or a rule of a table is broken. Needs no planner.
ns_status ns_task_check_plan(const ns_task* task, const char* json, size_t length);

/// Lists all that is wrong at once, memory and rules included. `*problems` is a JSON array as
/// `problems` in docs/plan_format.md, empty if nothing is wrong. Free it with ns_string_free. Since
/// version 2.
ns_status ns_task_list_problems(const ns_task* task, const char* json, size_t length,
                                char** problems);

/// Bounds costs from below, in milliseconds: by the analytic costs of `hardware`, no plan of `task`
/// that fits and keeps all rules costs less (docs/bound.md). `hardware` is a name or a datasheet as
/// in ns_planner_options; NULL: "a100". If there is no such plan, the status is NS_INFEASIBLE and
/// the bound is infinite. Since version 11.
ns_status ns_task_get_cost_bound(const ns_task* task, const char* hardware, double* bound_ms);

/// Computes a number that stands for task, options and cost models, by which plans can be kept:
/// docs/fingerprint.md. Since version 2.
ns_status ns_planner_fingerprint(const ns_planner* planner, const ns_task* task,
                                 uint64_t* fingerprint);

typedef struct ns_plan_summary {
  size_t size;
  double cost_ms;          ///< Training iteration on the slowest device. Infinite: no plan.
  double search_ms;        ///< 0 for a plan that was not searched for.
  int32_t devices;         ///< 0: no plan.
  int32_t slices;          ///< Slices on all devices.
  int32_t slowest_device;  ///< The first of the slowest ones. -1: no plan.
  int32_t alternatives;
  int32_t complete;     ///< 0 if deadline or stop source ended the search early.
  int32_t fits_memory;  ///< 0 if some device lacks memory.
} ns_plan_summary;
ns_status ns_plan_get_summary(const ns_plan* plan, ns_plan_summary* summary);

/// Columns of a table that stay together on a device.
typedef struct ns_slice {
  int32_t device;
  int32_t table;         ///< Index in the task.
  int32_t first_column;  ///< First column, counted in the whole table.
  int32_t dim;           ///< Number of columns.
} ns_slice;
/// Writes the slices, by device, as far as there is room for them. `*count` is their number,
/// however many are written; `slices` may be NULL if `capacity` is 0. Fails if the plan cuts tables
/// by rows, replicates or deduplicates some, or has hot rows: call ns_plan_get_blocks(),
/// ns_plan_get_replicas(), ns_plan_get_deduplicated(), ns_plan_get_hot_rows() and
/// ns_plan_get_node_rows().
ns_status ns_plan_get_slices(const ns_plan* plan, ns_slice* slices, size_t capacity, size_t* count);

/// Columns and rows of a table that stay together on a device. Since version 3.
typedef struct ns_block {
  int32_t device;
  int32_t table;         ///< Index in the task.
  int32_t first_column;  ///< First column, counted in the whole table.
  int32_t dim;           ///< Number of columns.
  int64_t first_row;     ///< First row, counted in the whole table.
  int64_t rows;          ///< Number of rows.
} ns_block;
/// Works as ns_plan_get_slices(), for any plan: it writes all tables but those that are replicated.
/// Since version 3.
ns_status ns_plan_get_blocks(const ns_plan* plan, ns_block* blocks, size_t capacity, size_t* count);

/// Writes the tables that every device holds whole, by index in the task, as ns_plan_get_slices()
/// does. Since version 3.
ns_status ns_plan_get_replicas(const ns_plan* plan, int32_t* tables, size_t capacity,
                               size_t* count);

/// Writes the tables of which each device asks once for each row, by index in the task, as
/// ns_plan_get_slices() does. Only plans of tasks that say deduplicate_by_table have any. Since
/// version 13.
ns_status ns_plan_get_deduplicated(const ns_plan* plan, int32_t* tables, size_t capacity,
                                   size_t* count);

/// The most popular rows of a table, which every device holds, or the next ones, which each node
/// holds once. Blocks have its other rows, counted from 0 without these. Since version 14.
typedef struct ns_hot_rows {
  int32_t table;  ///< Index in the task.
  int64_t rows;   ///< Number of rows.
} ns_hot_rows;
/// Writes them, by table, as ns_plan_get_slices() does. Only plans of tasks that say hot_rows have
/// any. Since version 14.
ns_status ns_plan_get_hot_rows(const ns_plan* plan, ns_hot_rows* hot_rows, size_t capacity,
                               size_t* count);
/// Writes rows that each node holds once, in the same way. Only plans of tasks that say
/// hot_rows_by_node have any. Since version 16.
ns_status ns_plan_get_node_rows(const ns_plan* plan, ns_hot_rows* node_rows, size_t capacity,
                                size_t* count);

typedef struct ns_device_cost {
  double compute_ms;   ///< Forward and backward of the embedding operator.
  double forward_ms;   ///< All-to-all of the forward pass, with the wait for others in it.
  double backward_ms;  ///< All-to-all of the backward pass.
  int64_t memory_bytes;
  int64_t dim_sum;  ///< Columns of all slices, counted for each feature that reads the table.
} ns_device_cost;
/// Writes the costs of the devices, in order, as ns_plan_get_slices() does.
ns_status ns_plan_get_devices(const ns_plan* plan, ns_device_cost* devices, size_t capacity,
                              size_t* count);

/// Terms of a device's cost that published cost models do not know. Since version 3.
typedef struct ns_device_terms {
  double ids_ms;         ///< All-to-all of the ids.
  double all_reduce_ms;  ///< Gradients of replicated tables, and the update by them.
  double replicas_ms;    ///< Operator of replicated tables; part of ns_device_cost's `compute_ms`.
} ns_device_terms;
/// Writes the terms of the devices, in order, as ns_plan_get_slices() does. A device's cost is
/// `compute_ms + forward_ms + backward_ms + ids_ms + all_reduce_ms`, unless its task states an
/// overlap. Since version 3.
ns_status ns_plan_get_device_terms(const ns_plan* plan, ns_device_terms* devices, size_t capacity,
                                   size_t* count);

/// A task's overlap adds to a device's cost, and takes away from it. Since version 9.
typedef struct ns_device_overlap {
  double dense_ms;   ///< No all-to-all hides so much of the dense part, which is added.
  double hidden_ms;  ///< So much of `ids_ms` runs behind the iteration before, and is taken away.
} ns_device_overlap;
/// Copies it for the devices, in order. A plan costs no less than the task's `host_ms`. Since
/// version 9.
ns_status ns_plan_get_device_overlap(const ns_plan* plan, ns_device_overlap* devices,
                                     size_t capacity, size_t* count);

/// Rows of a device that wait in its host's memory, if the task states any. Since version 10.
typedef struct ns_device_host {
  double fetch_ms;         ///< Fetching of these rows; part of ns_device_cost's `compute_ms`.
  double hidden_fetch_ms;  ///< So much of it runs behind the iteration before, and is taken away.
  int64_t host_bytes;
} ns_device_host;
/// Copies it for the devices, in order. Since version 10.
ns_status ns_plan_get_device_host(const ns_plan* plan, ns_device_host* devices, size_t capacity,
                                  size_t* count);
/// Writes for each slice, in the order of ns_plan_get_slices() and as it does, the share of its
/// rows that HBM has room for. There are none if the task states no host memory. Since version 10.
ns_status ns_plan_get_hbm_shares(const ns_plan* plan, double* shares, size_t capacity,
                                 size_t* count);

/// Rows of a device that wait on an SSD, if the task states one. Since version 16.
typedef struct ns_device_ssd {
  double ssd_ms;  ///< Reading and writing of these rows; part of ns_device_host's `fetch_ms`.
  int64_t ssd_bytes;
} ns_device_ssd;
/// Copies it for the devices, in order. Since version 16.
ns_status ns_plan_get_device_ssd(const ns_plan* plan, ns_device_ssd* devices, size_t capacity,
                                 size_t* count);
/// As ns_plan_get_hbm_shares(): the share of a slice's rows that waits on the SSD. There are none
/// if the task states no SSD. Since version 16.
ns_status ns_plan_get_ssd_shares(const ns_plan* plan, double* shares, size_t capacity,
                                 size_t* count);

/// Columns of a table that a device has to be sent; ns_plan_get_move_rows() tells the rows.
typedef struct ns_move {
  int32_t table;         ///< Index in the task.
  int32_t first_column;  ///< First column, counted in the whole table.
  int32_t dim;           ///< Number of columns.
  int32_t from;          ///< Device that holds them; -1: none, they come from storage or are new.
  int32_t to;
  int32_t reserved;
  int64_t bytes;
} ns_move;
/// Writes the moves of a plan of ns_planner_replan(), by receiving device, as ns_plan_get_slices()
/// does. Any other plan has none. Since version 3.
ns_status ns_plan_get_moves(const ns_plan* plan, ns_move* moves, size_t capacity, size_t* count);

/// Rows of a table that are side by side.
typedef struct ns_rows {
  int64_t first_row;
  int64_t rows;
} ns_rows;
/// Writes the rows of each of these moves, in the same order. Rows of a table with hot rows are
/// numbered with these first. Since version 6.
ns_status ns_plan_get_move_rows(const ns_plan* plan, ns_rows* rows, size_t capacity, size_t* count);

typedef struct ns_move_summary {
  size_t size;
  int64_t moved_bytes;
  /// Bytes that have to be moved if all tables stay sharded as they run. This plan need not move
  /// them: it moves less if it drops replicas or joins slices.
  int64_t must_move_bytes;
  double running_cost_ms;  ///< Cost of the running plan for its own task.
  int64_t unspent_bytes;   ///< Bytes of the budget left for later changes. Since version 5.
} ns_move_summary;
/// Writes the summary; all is 0 for a plan that is not of ns_planner_replan(). Since version 3.
ns_status ns_plan_get_move_summary(const ns_plan* plan, ns_move_summary* summary);

/// Use of a device's memory. Since version 3.
typedef struct ns_device_memory {
  int64_t weight_bytes;
  int64_t optimizer_bytes;
  int64_t buffer_bytes;  ///< Ids and pooled outputs, if the task says of how many samples.
  int64_t reserved_bytes;
  int64_t free_bytes;  ///< Below 0: the slices do not fit.
  int64_t base_bytes;  ///< Base load, as the task lists it.
} ns_device_memory;
/// Writes the memory of the devices, in order, as ns_plan_get_slices() does. Since version 3.
ns_status ns_plan_get_device_memory(const ns_plan* plan, ns_device_memory* devices, size_t capacity,
                                    size_t* count);

typedef struct ns_infeasibility {
  size_t size;
  /// "total_memory", "piece_too_large", "packing", "rules", "no_time". NULL: has a plan.
  const char* kind;
  int64_t needed_bytes;         ///< All tables together.
  int64_t available_bytes;      ///< All devices together.
  int64_t largest_piece_bytes;  ///< The largest piece that fits nowhere; 0: none.
  int32_t table;                ///< It is a piece of this table. -1: of none.
  int32_t reserved;
} ns_infeasibility;
/// Says why there is no plan. The text is that of ns_last_error() after ns_planner_plan().
ns_status ns_plan_get_infeasibility(const ns_plan* plan, ns_infeasibility* infeasibility);

/// Makes a handle of its own for one of the other plans that were kept, cheapest first.
ns_status ns_plan_get_alternative(const ns_plan* plan, size_t index, ns_plan** alternative);

/// Writes the plan as JSON (docs/plan_format.md). Free it with ns_string_free.
ns_status ns_plan_to_json(const ns_plan* plan, char** json);
void ns_string_free(char* text);

void ns_plan_free(ns_plan* plan);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
