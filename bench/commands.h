#pragma once

#include <functional>
#include <iosfwd>

namespace CLI {
class App;
}

namespace neuroshard::bench {

/// Work of the chosen sub-command: writes its report to the stream. Throws Error on bad input, and
/// when what is to be timed gives wrong results.
using Action = std::function<void(std::ostream&)>;

// Each adds its sub-command to `program`; its callback stores the work to do in `chosen`.
void add_score_command(CLI::App& program, Action& chosen);
void add_plan_command(CLI::App& program, Action& chosen);
void add_quality_command(CLI::App& program, Action& chosen);
void add_accuracy_command(CLI::App& program, Action& chosen);
void add_deadline_command(CLI::App& program, Action& chosen);
void add_constraints_command(CLI::App& program, Action& chosen);
void add_cuts_command(CLI::App& program, Action& chosen);
void add_host_command(CLI::App& program, Action& chosen);
void add_judge_command(CLI::App& program, Action& chosen);
void add_measured_command(CLI::App& program, Action& chosen);
void add_mixed_command(CLI::App& program, Action& chosen);
void add_nodes_command(CLI::App& program, Action& chosen);
void add_read_command(CLI::App& program, Action& chosen);
void add_replan_command(CLI::App& program, Action& chosen);
void add_scale_command(CLI::App& program, Action& chosen);
/// Only in builds with CUDA; else it adds nothing.
void add_kernels_command(CLI::App& program, Action& chosen);
void add_train_command(CLI::App& program, Action& chosen);

}  // namespace neuroshard::bench
