#include "cuda/backend/beam_launches.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "core/base/count_up.h"
#include "cuda/backend/placement_launches.h"
#include "cuda/device/current_device.h"
#include "cuda/placement/place_candidates.h"
#include "cuda/placement/search_beams.h"

namespace neuroshard::gpu {
namespace {

constexpr int kMostDevices = 128;
// Slices; and splits, since each level has blocks of its own.
constexpr std::size_t kMostSlices = 4096;
constexpr int kMostSplits = 64;
// Scratch of all candidates that a launch places at once.
constexpr std::size_t kMostScratchBytes = std::size_t{256} << 20;
// A block keeps at most so much of its search in shared memory. Two blocks of an H100's
// multiprocessor have room for 14 KB of it beside the weights of both published communication
// networks; with more, those are loaded when they are needed, which takes less time than a desk
// saves.
constexpr std::size_t kMostDeskBytes = std::size_t{20} << 10;

// Scratch of one beam search, for what it places at once.
std::size_t scratch_bytes(std::size_t candidates, std::size_t slices, int devices, int limits) {
  const PlacementShape of_candidate{.devices = devices, .limits = limits};
  return candidates * (placement_scratch_bytes(of_candidate) + slices * sizeof(std::uint32_t) +
                       sizeof(ResultView));
}

std::size_t items_of_level(const BeamSizes& sizes, const PlacementShape& shape) {
  const auto slots = static_cast<std::size_t>(shape.slots);
  return (sizes.most_candidates() * static_cast<std::size_t>(shape.parts) + slots - 1) / slots;
}

// Where the inputs of a request lie.
struct InputLayout {
  explicit InputLayout(ArrayPlan& plan, const BeamProblem& beam)
      : start(plan.add(3 * beam.pieces.size_bytes())),
        costs(plan.add(beam.piece_cost_ms)),
        may_halve(plan.add(beam.may_halve)),
        progress(plan.add(sizeof(BeamProgress))) {}

  std::size_t start;
  std::size_t costs;
  std::size_t may_halve;
  std::size_t progress;
};

// Slices, largest first, the later one first if they are equal.
std::vector<std::uint32_t> by_size(const BeamProblem& beam, std::span<const std::int64_t> bytes) {
  std::vector<std::uint32_t> slices = count_up<std::uint32_t>(beam.pieces.size());
  std::sort(slices.begin(), slices.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::int64_t size_a = bytes[beam.pieces[a]];
    const std::int64_t size_b = bytes[beam.pieces[b]];
    return size_a != size_b ? size_a > size_b : a > b;
  });
  return slices;
}

// BeamView::merges. Pieces are placed in the order of their costs, so that those of equal cost may
// change places from candidate to candidate.
bool placed_alike_in_any_order(const BeamProblem& beam, const PlacementProblem& problem) {
  const std::span<const float> costs = beam.piece_cost_ms;
  if (std::any_of(costs.begin(), costs.end(), [](float cost_ms) { return std::isnan(cost_ms); })) {
    return false;
  }
  std::vector<std::uint32_t> pieces = count_up<std::uint32_t>(costs.size());
  std::sort(pieces.begin(), pieces.end(),
            [&](std::uint32_t a, std::uint32_t b) { return costs[a] < costs[b]; });
  const std::size_t width = problem.embeddings.size() / std::max<std::size_t>(costs.size(), 1);
  const auto differ = [&](std::uint32_t a, std::uint32_t b) {
    return costs[a] == costs[b] &&
           (problem.dims[a] != problem.dims[b] || problem.size_bytes[a] != problem.size_bytes[b] ||
            std::memcmp(&problem.embeddings[a * width], &problem.embeddings[b * width],
                        width * sizeof(float)) != 0);
  };
  return std::adjacent_find(pieces.begin(), pieces.end(), differ) == pieces.end();
}

}  // namespace

BeamSizes sizes_of(const BeamProblem& beam) {
  return {.slices = static_cast<int>(beam.pieces.size()),
          .width = beam.beam_width,
          .candidates = beam.candidates,
          .max_splits = beam.max_splits};
}

bool takes_beam(const BeamSizes& sizes, int devices, int limits) {
  return devices <= kMostDevices && sizes.width <= kMaxBeamWidth &&
         sizes.max_splits <= kMostSplits && sizes.most_slices() <= kMostSlices &&
         sizes.most_candidates() <= static_cast<std::size_t>(kMostCandidates) &&
         scratch_bytes(sizes.most_candidates(), sizes.most_slices(), devices, limits) <=
             kMostScratchBytes;
}

BeamShape choose_beam_shape(const DeviceContext& context, const BeamSizes& sizes,
                            std::size_t pieces, std::size_t candidates, int devices, int limits,
                            int comm_width) {
  const auto desk_for = [&](int slots) {
    return desk_layout(beam_layout(sizes).total, pieces, static_cast<std::size_t>(slots),
                       sizes.most_slices());
  };
  const auto shape_beside = [&](std::size_t desk_bytes) {
    return choose_shape(context, candidates, devices, limits, comm_width, desk_bytes);
  };
  // How many slots a block has depends on how much room there is.
  const std::size_t most = desk_for(kMaxPlacementWarps).total;
  if (most <= kMostDeskBytes && has_room_beside(context, devices, limits, comm_width, most)) {
    BeamShape shape{shape_beside(most), {}};
    shape.desk = desk_for(shape.placement.slots);
    // The room of slots that are left out may be enough for the networks' weights.
    const PlacementShape roomier = shape_beside(shape.desk.total);
    if (roomier.slots == shape.placement.slots) shape.placement = roomier;
    // Who has a desk has the finished placements there, too.
    if (shape.placement.rows_in_shared) return shape;
  }
  return {shape_beside(0), {}};
}

std::size_t BeamLaunches::pieces_of(const Request& request) {
  return request.session->problem().dims.size();
}

void BeamLaunches::add(CudaSession& session, const BeamProblem& beam, BeamOutcome& outcome) {
  requests_.push_back({&session, &beam, &outcome, sizes_of(beam)});
}

BeamLaunches::Group BeamLaunches::group_of(std::size_t first, std::size_t end) const {
  Group group{.first_request = first, .end_request = end, .shape = {}};
  std::size_t pieces = 0;
  for (std::size_t r = first; r < end; ++r) {
    group.sizes = enough_for(group.sizes, requests_[r].sizes);
    pieces = std::max(pieces, pieces_of(requests_[r]));
  }
  const CudaSession& session = *requests_[first].session;
  group.candidates = (end - first) * group.sizes.most_candidates();
  const BeamShape shape =
      choose_beam_shape(context_, group.sizes, pieces, group.candidates, session.devices(),
                        session.limits(), session.comm_width());
  group.shape = shape.placement;
  group.desk = shape.desk;
  group.most_items = items_of_level(group.sizes, group.shape);
  group.blocks_per_beam =
      group.most_items * static_cast<std::size_t>(std::max(group.sizes.max_splits, 1));
  return group;
}

int BeamLaunches::launches() {
  form_groups();
  return static_cast<int>(groups_.size());
}

void BeamLaunches::form_groups() {
  if (!groups_.empty()) return;
  const auto kind = [](const Request& request) {
    return std::tuple(request.session->devices(), request.session->limits(), request.sizes.width,
                      request.sizes.candidates);
  };
  std::stable_sort(requests_.begin(), requests_.end(),
                   [&](const Request& a, const Request& b) { return kind(a) < kind(b); });
  for (std::size_t first = 0; first < requests_.size();) {
    std::size_t end = first;
    std::size_t candidates = 0;
    std::size_t slices = 0;
    for (; end < requests_.size() && kind(requests_[end]) == kind(requests_[first]); ++end) {
      // Each search has room for as much as the largest of the launch.
      const BeamSizes& sizes = requests_[end].sizes;
      candidates = std::max(candidates, sizes.most_candidates());
      slices = std::max(slices, sizes.most_slices());
      const CudaSession& session = *requests_[first].session;
      const std::size_t scratch =
          (end + 1 - first) *
          scratch_bytes(candidates, slices, session.devices(), session.limits());
      if (end > first && scratch > kMostScratchBytes) break;
    }
    groups_.push_back(group_of(first, end));
    first = end;
  }
}

void BeamLaunches::prepare() {
  if (requests_.empty()) return;
  const CurrentDevice current(context_.device());
  form_groups();
  ArrayPlan inputs;
  const std::size_t views_at = inputs.add(requests_.size() * sizeof(BeamView));
  std::vector<InputLayout> layouts;
  ArrayPlan outputs;
  ArrayPlan scratch;
  std::vector<std::size_t> memories;
  for (Request& request : requests_) {
    layouts.emplace_back(inputs, *request.beam);
    request.result_at = outputs.add(sizeof(BeamResultView));
    outputs.add(static_cast<std::size_t>(request.sizes.max_splits) * sizeof(std::int32_t));
  }
  for (const Group& group : groups_) {
    for (std::size_t r = group.first_request; r < group.end_request; ++r) {
      memories.push_back(scratch.add(beam_layout(group.sizes).total));
    }
  }
  output_bytes_ = outputs.bytes();
  // Memory that blocks need, in launches that follow one another.
  std::size_t order_bytes = 0;
  std::size_t result_bytes = 0;
  std::size_t rows_bytes = 0;
  for (const Group& group : groups_) {
    const std::size_t blocks = group.most_items * (group.end_request - group.first_request);
    const std::size_t slots = blocks * static_cast<std::size_t>(group.shape.slots);
    if (group.desk.total == 0) {
      order_bytes =
          std::max(order_bytes, slots * group.sizes.most_slices() * sizeof(std::uint32_t));
    }
    result_bytes =
        std::max(result_bytes, group.candidates * static_cast<std::size_t>(group.shape.parts) *
                                   sizeof(ResultView));
    rows_bytes = std::max(rows_bytes, blocks * placement_scratch_bytes(group.shape));
  }
  const std::size_t orders_at = scratch.add(order_bytes);
  const std::size_t results_at = scratch.add(result_bytes);
  const std::size_t rows_at = scratch.add(rows_bytes);
  workspace_->scratch.reserve(scratch.bytes());
  std::byte* memory = workspace_->scratch.data();

  const InputBlock in(*workspace_, inputs.bytes());
  const OutputBlock out(*workspace_, output_bytes_);
  workspace_->device_in.reserve(inputs.bytes());  // Where it is, the views say already.
  std::byte* device = workspace_->device_in.data();
  workspace_->busy = true;
  for (const Group& group : groups_) {
    std::size_t first_result = 0;
    for (std::size_t r = group.first_request; r < group.end_request; ++r) {
      const Request& request = requests_[r];
      const InputLayout& layout = layouts[r];
      const BeamProblem& beam = *request.beam;
      const std::vector<std::uint32_t> largest =
          by_size(beam, request.session->problem().size_bytes);
      const std::size_t slices = beam.pieces.size_bytes();
      put(in.host() + layout.start, beam.pieces);
      put(in.host() + layout.start + slices, beam.order);
      put(in.host() + layout.start + 2 * slices, std::span<const std::uint32_t>(largest));
      put(in.host() + layout.costs, beam.piece_cost_ms);
      put(in.host() + layout.may_halve, beam.may_halve);
      *at<BeamProgress>(in.host(), layout.progress) = {};
      at<BeamView>(in.host(), views_at)[r] = {
          .session = request.session->view(workspace_->stream),
          .piece_cost_ms = at<float>(device, layout.costs),
          .may_halve = at<std::uint8_t>(device, layout.may_halve),
          .start = at<std::uint32_t>(device, layout.start),
          .progress = at<BeamProgress>(device, layout.progress),
          .memory = memory + memories[r],
          .result = at<BeamResultView>(out.device(), request.result_at),
          .splits = at<std::int32_t>(out.device(), request.result_at + sizeof(BeamResultView)),
          .sizes = request.sizes,
          .piece_count = static_cast<std::uint32_t>(pieces_of(request)),
          .merges = placed_alike_in_any_order(beam, request.session->problem()),
          .first_result = static_cast<std::uint32_t>(first_result)};
      first_result += group.sizes.most_candidates() * static_cast<std::size_t>(group.shape.parts);
    }
  }
  (void)in.send(false);
  args_ = {.beams = at<BeamView>(device, views_at),
           .piece_ids = at<std::uint32_t>(memory, orders_at),
           .placement = {.results = at<ResultView>(memory, results_at),
                         .rows = at<float>(memory, rows_at),
                         .head = context_.models().head(),
                         .empty_ms = context_.empty_ms(),
                         .shape = {}}};
}

void BeamLaunches::launch() {
  if (requests_.empty()) return;
  const CurrentDevice current(context_.device());
  for (const Group& group : groups_) {
    BeamArgs args = args_;
    args.beams += group.first_request;
    args.count = static_cast<unsigned>(group.end_request - group.first_request);
    args.most_items = static_cast<std::uint32_t>(group.most_items);
    args.most_slices = static_cast<std::uint32_t>(group.sizes.most_slices());
    args.most_children = static_cast<std::uint32_t>(group.sizes.most_children());
    args.most_candidates = static_cast<std::uint32_t>(group.sizes.most_candidates());
    args.layout = beam_layout(group.sizes);
    args.desk = group.desk;
    args.placement.shape = group.shape;
    search_beams(args, static_cast<unsigned>(group.blocks_per_beam), workspace_->stream.get());
  }
  OutputBlock(*workspace_, output_bytes_).fetch();
}

void BeamLaunches::finish() {
  if (requests_.empty()) return;
  const CurrentDevice current(context_.device());
  const std::byte* received = OutputBlock(*workspace_, output_bytes_).receive();
  for (const Request& request : requests_) {
    const auto* result = reinterpret_cast<const BeamResultView*>(received + request.result_at);
    const auto* splits = reinterpret_cast<const std::int32_t*>(result + 1);
    *request.outcome = {.result = {.cost_ms = result->cost_ms, .limit = result->limit},
                        .column_splits = std::vector<int>(splits, splits + result->splits),
                        .candidates = result->candidates};
    request.session->count(result->candidates, result->head_evaluations, result->comm_evaluations);
  }
}

}  // namespace neuroshard::gpu
