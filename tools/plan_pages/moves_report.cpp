#include "tools/plan_pages/moves_report.h"

#include <algorithm>

#include "tools/text/text.h"

namespace neuroshard::tools {
namespace {

// If there are more moves, the largest are listed.
constexpr std::size_t kListedMoves = 20;

std::string range_text(std::int64_t first, std::int64_t count) {
  return std::to_string(first) + " to " + std::to_string(first + count - 1);
}

}  // namespace

std::vector<PlanFact> move_facts(const PlanDocument& document) {
  const PlanMoves& moves = *document.moves;
  return {{"running", format_ms(moves.running_cost_ms) + " ms per iteration before the change"},
          {"moves", format_bytes(moves.moved_bytes) + " in " + counted(moves.moves.size(), "move") +
                        "; " + format_bytes(moves.must_move_bytes) +
                        " must be moved if all tables stay sharded as they run"}};
}

std::string moves_page(const PlanDocument& document) {
  const PlanMoves& moves = *document.moves;
  std::string text;
  for (const auto& [label, line] : move_facts(document)) text += pad_right(label, 9) + line + '\n';
  std::vector<const TableMove*> listed;
  for (const TableMove& move : moves.moves) listed.push_back(&move);
  std::stable_sort(listed.begin(), listed.end(),
                   [](const TableMove* a, const TableMove* b) { return a->bytes > b->bytes; });
  if (listed.size() > kListedMoves) listed.resize(kListedMoves);
  if (listed.empty()) return text;

  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kLeft, kRight, kRight});
  table.add_row({"to device", "from", "bytes", "table", "columns", "rows"});
  for (const TableMove* move : listed) {
    const TableColumns& columns = move->columns;
    table.add_row({std::to_string(move->to), move->from < 0 ? "-" : std::to_string(move->from),
                   format_bytes(move->bytes), table_label(document.task, columns.table),
                   range_text(columns.first_column, columns.dim),
                   range_text(move->first_row, move->rows)});
  }
  text += '\n' + table.str();
  if (moves.moves.size() > listed.size()) {
    text += "... and " + counted(moves.moves.size() - listed.size(), "smaller move") +
            "; --format json lists all\n";
  }
  return text;
}

}  // namespace neuroshard::tools
