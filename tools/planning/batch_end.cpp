#include "tools/planning/batch_end.h"

#include "core/base/message_text.h"
#include "tools/command_line/exit_code.h"

namespace neuroshard::tools {

void BatchEnd::count(const PlanOutcome& outcome, const std::string& place) {
  if (!outcome) {
    if (failed_++ == 0) first_failure_ = place + outcome.error().what();
    return;
  }
  if (!outcome->plan) ++infeasible_;
  warnings_.insert(outcome->stats.warning);
}

void BatchEnd::count(const PlanRecord& record) {
  if (record.plan) return;
  const bool error = record.error_kind == "invalid_task" || record.error_kind == "failed";
  if (!error) {
    ++infeasible_;
  } else if (failed_++ == 0) {
    first_failure_ = record.where + " says why";
  }
}

int BatchEnd::report(std::size_t tasks, Console& console) const {
  for (const std::string& warning : warnings_) warn(warning, console);
  if (failed_ > 0) {
    console.err << "neuroshard: error: " << format_count(failed_) << " of " << counted(tasks, noun_)
                << " could not be planned, the first because " << printable(first_failure_) << '\n';
    return kExitBadInput;
  }
  return infeasible_ == 0 ? kExitOk : kExitInfeasible;
}

}  // namespace neuroshard::tools
