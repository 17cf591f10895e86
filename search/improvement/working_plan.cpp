#include "search/improvement/working_plan.h"

#include <algorithm>

namespace neuroshard {
namespace {

void add_row(const float* row, std::size_t width, float* sum) {
  for (std::size_t i = 0; i < width; ++i) sum[i] += row[i];
}

void subtract_row(const float* row, std::size_t width, float* sum) {
  for (std::size_t i = 0; i < width; ++i) sum[i] -= row[i];
}

}  // namespace

WorkingPlan::WorkingPlan(const PieceCatalog& catalog, int devices, const Layout& layout,
                         bool equal_widths)
    : catalog_(catalog),
      equal_widths_(equal_widths),
      width_(catalog.embedding_width()),
      slices_(layout),
      listed_(layout.size()),
      on_(static_cast<std::size_t>(devices)),
      of_(catalog.tables()),
      sums_(static_cast<std::size_t>(devices) * width_),
      dim_sums_(static_cast<std::size_t>(devices)),
      memory_(static_cast<std::size_t>(devices)),
      lookups_(static_cast<std::size_t>(devices)) {
  for (std::size_t i = 0; i < layout.size(); ++i) add(layout[i], static_cast<std::uint32_t>(i));
  for (std::uint32_t device = 0; device < this->devices(); ++device) recompute(device);
}

void WorkingPlan::add(const PlacedSlice& slice, std::uint32_t index) {
  slices_[index] = slice;
  listed_[index] = {static_cast<std::uint32_t>(on_[slice.device].size()),
                    static_cast<std::uint32_t>(of_[slice.table].size())};
  on_[slice.device].push_back(index);
  of_[slice.table].push_back(index);
}

void WorkingPlan::unlist(std::uint32_t index) {
  const PlacedSlice& slice = slices_[index];
  const Listed& listed = listed_[index];
  std::vector<std::uint32_t>& on = on_[slice.device];
  listed_[on.back()].on_device = listed.on_device;
  on[listed.on_device] = on.back();
  on.pop_back();
  std::vector<std::uint32_t>& of = of_[slice.table];
  listed_[of.back()].of_table = listed.of_table;
  of[listed.of_table] = of.back();
  of.pop_back();
}

// From nothing rather than by differences, so that no error builds up.
void WorkingPlan::recompute(std::uint32_t device) {
  float* sum = sums_.data() + device * width_;
  std::fill_n(sum, width_, 0.0F);
  dim_sums_[device] = 0;
  memory_[device] = 0;
  lookups_[device] = 0;
  for (const std::uint32_t index : on_[device]) {
    const std::uint32_t piece = slices_[index].piece;
    add_row(catalog_.embedding(piece), width_, sum);
    dim_sums_[device] += catalog_.dim(piece);
    memory_[device] += catalog_.size_bytes(piece);
    lookups_[device] += catalog_.lookups()[piece];
  }
}

WorkingPlan::Outcome WorkingPlan::outcome(const PlanEdit& edit, float* sums) const {
  Outcome outcome;
  std::size_t slices[2];
  for (std::size_t side = 0; side < 2; ++side) {
    const std::uint32_t device = edit.device(side);
    std::copy_n(sum(device), width_, sums + side * width_);
    outcome.dim_sum[side] = dim_sums_[device];
    outcome.memory[side] = memory_[device];
    outcome.lookups[side] = lookups_[device];
    slices[side] = on_[device].size();
  }
  const auto side_of = [&](std::uint32_t device) { return device == edit.device(0) ? 0U : 1U; };
  for (const std::uint32_t index : edit.removed()) {
    const PlacedSlice& slice = slices_[index];
    const std::size_t side = side_of(slice.device);
    subtract_row(catalog_.embedding(slice.piece), width_, sums + side * width_);
    outcome.dim_sum[side] -= catalog_.dim(slice.piece);
    outcome.memory[side] -= catalog_.size_bytes(slice.piece);
    outcome.lookups[side] -= catalog_.lookups()[slice.piece];
    --slices[side];
  }
  for (const PlacedSlice& slice : edit.added()) {
    const std::size_t side = side_of(slice.device);
    add_row(catalog_.embedding(slice.piece), width_, sums + side * width_);
    outcome.dim_sum[side] += catalog_.dim(slice.piece);
    outcome.memory[side] += catalog_.size_bytes(slice.piece);
    outcome.lookups[side] += catalog_.lookups()[slice.piece];
    ++slices[side];
  }
  for (std::size_t side = 0; side < 2; ++side) outcome.empty[side] = slices[side] == 0;
  if (edit.one_device()) {
    std::copy_n(sums, width_, sums + width_);
    outcome.dim_sum[1] = outcome.dim_sum[0];
    outcome.memory[1] = outcome.memory[0];
    outcome.lookups[1] = outcome.lookups[0];
    outcome.empty[1] = outcome.empty[0];
  }
  return outcome;
}

void WorkingPlan::apply(const PlanEdit& edit) {
  const std::span<const std::uint32_t> removed = edit.removed();
  const std::span<const PlacedSlice> added = edit.added();
  for (const std::uint32_t index : removed) unlist(index);
  std::size_t reused = 0;
  for (const PlacedSlice& slice : added) {
    if (reused < removed.size()) {
      add(slice, removed[reused++]);
    } else {
      slices_.emplace_back();
      listed_.emplace_back();
      add(slice, static_cast<std::uint32_t>(slices_.size() - 1));
    }
  }
  // Numbers stay dense: the last slices take those that are free.
  std::array<std::uint32_t, PlanEdit::kMostRemoved> free{};
  auto end =
      std::copy(removed.begin() + static_cast<std::ptrdiff_t>(reused), removed.end(), free.begin());
  for (; end != free.begin(); --end) {
    const auto hole = std::max_element(free.begin(), end);
    const auto last = static_cast<std::uint32_t>(slices_.size() - 1);
    if (*hole != last) {
      slices_[*hole] = slices_[last];
      listed_[*hole] = listed_[last];
      on_[slices_[last].device][listed_[last].on_device] = *hole;
      of_[slices_[last].table][listed_[last].of_table] = *hole;
    }
    slices_.pop_back();
    listed_.pop_back();
    *hole = *(end - 1);
  }
  recompute(edit.device(0));
  if (!edit.one_device()) recompute(edit.device(1));
}

}  // namespace neuroshard
