#include "cuda/backend/placement_launches.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cuda/device/current_device.h"
#include "cuda/networks/comm_costs.h"
#include "cuda/networks/comm_layout.h"
#include "cuda/placement/place_candidates.h"
#include "cuda/placement/search_beams.h"
#include "neuroshard/error.h"

namespace neuroshard::gpu {
namespace {

// Dim sums are 32-bit numbers on the device.
constexpr std::size_t kMaxPieces = 32767;
static_assert(kMaxPieces * kMaxDim <= 0x7FFFFFFF);

// Finished placements of one launch that wait in device memory for the communication networks.
constexpr std::size_t kMaxScratchBytes = std::size_t{256} << 20;
// Finished placements of a block wait in shared memory if they are no more than this.
constexpr std::size_t kMostSharedRows = 4096;

// Warps of a block if its candidates have less.
constexpr int kUsualWarps = 6;
// Schedulers of a multiprocessor. With a warp for each, a step is done soonest (docs/kernels.md).
constexpr int kSchedulers = 4;
static_assert(kMostParts * kSchedulers == kMaxPlacementWarps);
// 168 registers a thread let this many warps stay on a multiprocessor: one block, or two usual
// ones.
constexpr std::size_t kResidentWarps = kMaxPlacementWarps;
static_assert(2 * kUsualWarps == kMaxPlacementWarps);

int divided_up(int what, int by) { return (what + by - 1) / by; }

// Memory of the warps of a block, without tiles of the networks.
std::size_t placing_bytes(const PlacementShape& shape) { return placement_layout(shape, 0).total; }

// The least memory of a block: its networks take one row at a time.
std::size_t least_bytes(const PlacementShape& shape) {
  return placement_layout(shape, comm_tile_bytes(shape.comm_width, 1)).total;
}

// One candidate by one warp, the least that a block can have.
PlacementShape shape_of_a_warp(const DeviceContext& context, int devices, int limits,
                               int comm_width) {
  const MlpView& head = context.models().head();
  PlacementShape shape;
  shape.devices = devices;
  shape.width = context.embedding_width();
  shape.limits = std::max(limits, 1);
  shape.all_limits = limits;
  shape.head_width = fits_registers(head, shape.width) ? 0 : head.width;
  shape.comm_width = comm_width;
  shape.many_devices = devices > kMaxLaneDevices;
  return shape;
}

}  // namespace

std::size_t placement_scratch_bytes(const PlacementShape& shape) {
  return shape.rows_in_shared ? 0 : shape.row_bytes();
}

bool has_room_beside(const DeviceContext& context, int devices, int limits, int comm_width,
                     std::size_t desk_bytes) {
  const PlacementShape shape = shape_of_a_warp(context, devices, limits, comm_width);
  return least_bytes(shape) + sizeof(BeamControl) + desk_bytes <= context.shared_bytes();
}

PlacementShape choose_shape(const DeviceContext& context, std::size_t candidates, int devices,
                            int limits, int comm_width, std::size_t desk_bytes) {
  PlacementShape shape = shape_of_a_warp(context, devices, limits, comm_width);
  const std::size_t available = context.shared_bytes() - sizeof(BeamControl) - desk_bytes;
  // Bytes of one of two blocks that share a multiprocessor. CUDA keeps 1 KiB of each for itself.
  const std::size_t half = (context.shared_bytes() - 1024) / 2 - sizeof(BeamControl) - desk_bytes;
  const std::size_t least = least_bytes(shape);
  if (least > available) {
    throw Error("cuda backend: a placement on " + std::to_string(devices) +
                    " devices with embeddings of " + std::to_string(shape.width) +
                    " floats takes " + std::to_string(least) +
                    " bytes of shared memory, but a block has " + std::to_string(available) +
                    "; use a CPU backend",
                ErrorKind::kBackend);
  }

  // Few candidates: a warp for each limit, so that the last placement is done soon, and few warps
  // on a multiprocessor as long as none gets more than two blocks. Many: a warp for all limits of a
  // candidate, so that no step is taken twice.
  const std::size_t resident = std::min(kResidentWarps, available / placing_bytes(shape));
  const std::size_t warps =
      static_cast<std::size_t>(context.multiprocessors()) * std::max<std::size_t>(resident, 1);
  const auto warps_of_candidate = static_cast<int>(std::clamp<std::size_t>(
      warps / std::max<std::size_t>(candidates, 1), 1,
      static_cast<std::size_t>(std::min(shape.limits, kMaxPlacementWarps))));
  const int parts = divided_up(warps_of_candidate, kSchedulers);
  if (candidates * static_cast<std::size_t>(parts) <=
      2 * static_cast<std::size_t>(context.multiprocessors())) {
    shape.parts = parts;
  }
  shape.limits = divided_up(shape.limits, shape.parts);
  shape.warps_per_slot = divided_up(warps_of_candidate, shape.parts);
  while (shape.warps_per_slot > 1 && placing_bytes(shape) > available) --shape.warps_per_slot;
  while (shape.parts == 1 && shape.warps() < kUsualWarps) {
    PlacementShape larger = shape;
    ++larger.slots;
    if (larger.warps() > kMaxPlacementWarps || least_bytes(larger) > available ||
        static_cast<std::size_t>(larger.slots) > std::max<std::size_t>(candidates, 1)) {
      break;
    }
    shape = larger;
  }

  shape.rows_in_shared = shape.row_bytes() <= kMostSharedRows;
  if (least_bytes(shape) > available) shape.rows_in_shared = false;

  // Two blocks share a multiprocessor; snapshots take what memory is left, if several limits share
  // a warp.
  while (shape.snapshots + 1 < shape.limits_per_warp()) {
    PlacementShape larger = shape;
    ++larger.snapshots;
    if (placing_bytes(larger) > half) break;
    shape = larger;
  }
  const std::size_t fixed = placement_layout(shape, 0).warps;
  const std::size_t tiles =
      std::max({comm_tile_bytes(comm_width, 1), available / 4, placing_bytes(shape)});
  const CommView& comm = context.models().comm_for(devices);
  shape.comm_rows = std::min(comm_tile_rows(comm_width, std::min(tiles, available - fixed)),
                             comm.forward.symmetric ? shape.rows() * devices : shape.rows());
  // Blocks that have a multiprocessor to themselves may take all of its memory.
  const std::size_t blocks =
      candidates * static_cast<std::size_t>(shape.parts) / static_cast<std::size_t>(shape.slots);
  const bool alone = blocks <= static_cast<std::size_t>(context.multiprocessors());
  // Copied while a block waits or places, if two blocks have room for that: with fewer on a
  // multiprocessor, a block would not yet be there when the next level begins.
  const std::size_t copies = static_cast<std::size_t>(comm.forward.mlp.bytes) +
                             static_cast<std::size_t>(comm.backward.mlp.bytes);
  if (blocks <= 2 * static_cast<std::size_t>(context.multiprocessors()) &&
      copies + std::max(placing_bytes(shape),
                        fixed + comm_tile_bytes(comm_width, shape.comm_rows)) <=
          half) {
    shape.comm_copies_bytes = static_cast<int>(copies);
    return shape;
  }
  const int weights = std::max(comm.forward.mlp.bytes, comm.backward.mlp.bytes);
  if (fixed + comm_bytes(comm_width, shape.comm_rows, weights) <=
      (alone ? available : std::max(half, placing_bytes(shape)))) {
    shape.comm_weight_bytes = weights;
  }
  return shape;
}

void PlacementLaunches::add(CudaSession& session, const CandidateBatch& candidates,
                            std::span<CandidateResult> results) {
  if (candidates.size() == 0) return;
  Request request{.session = &session,
                  .candidates = &candidates,
                  .results = results,
                  .placed = {},
                  .same_as = {}};
  // Levels of a beam search have many equal candidates, see BeamLevels::list_placed.
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const std::span<const std::uint32_t> pieces = candidates.pieces_of(c);
    const std::string_view bytes(reinterpret_cast<const char*>(pieces.data()), pieces.size_bytes());
    const auto [at, is_new] = seen.try_emplace(bytes, request.placed.size());
    if (is_new) request.placed.push_back(c);
    request.same_as.push_back(at->second);
  }
  requests_.push_back(std::move(request));
}

void PlacementLaunches::form_groups() {
  if (!groups_.empty()) return;
  const auto kind = [](const Request& request) {
    return std::pair(request.session->devices(), request.session->limits());
  };
  std::stable_sort(requests_.begin(), requests_.end(),
                   [&](const Request& a, const Request& b) { return kind(a) < kind(b); });
  std::size_t slot = 0;
  for (std::size_t first = 0; first < requests_.size();) {
    std::size_t end = first;
    std::size_t candidates = 0;
    for (; end < requests_.size() && kind(requests_[end]) == kind(requests_[first]); ++end) {
      candidates += requests_[end].placed.size();
    }
    const CudaSession& session = *requests_[first].session;
    const PlacementShape shape = choose_shape(context_, candidates, session.devices(),
                                              session.limits(), session.comm_width());
    const std::size_t first_slot = slot;
    // A block serves one session.
    const auto slots = static_cast<std::size_t>(shape.slots);
    for (std::size_t r = first; r < end; ++r) {
      const std::size_t results =
          requests_[r].placed.size() * static_cast<std::size_t>(shape.parts);
      requests_[r].first_result = results_;
      results_ += results;
      slot += (results + slots - 1) / slots * slots;
    }
    groups_.push_back({first, end, shape, first_slot, slot});
    first = end;
  }
}

std::size_t PlacementLaunches::blocks(const Group& group) {
  return (group.end_slot - group.first_slot) / static_cast<std::size_t>(group.shape.slots);
}

std::size_t PlacementLaunches::blocks_at_once(const Group& group) {
  const std::size_t block = placement_scratch_bytes(group.shape);
  if (block == 0) return blocks(group);
  return std::min(blocks(group), std::max<std::size_t>(kMaxScratchBytes / block, 1));
}

int PlacementLaunches::launches() {
  form_groups();
  std::size_t count = 0;
  for (const Group& group : groups_) {
    count += (blocks(group) + blocks_at_once(group) - 1) / blocks_at_once(group);
  }
  return static_cast<int>(count);
}

void PlacementLaunches::fill_slots(const Group& group, std::size_t& first_piece,
                                   CandidateSlot* slots, std::uint32_t* piece_ids) const {
  std::size_t slot = group.first_slot;
  const auto parts = static_cast<std::size_t>(group.shape.parts);
  for (std::size_t r = group.first_request; r < group.end_request; ++r) {
    const Request& request = requests_[r];
    const CandidateBatch& candidates = *request.candidates;
    const SessionView* session = request.session->view(workspace_->stream);
    for (std::size_t p = 0; p < request.placed.size(); ++p) {
      const std::size_t c = request.placed[p];
      const std::size_t pieces = candidates.offsets[c + 1] - candidates.offsets[c];
      if (pieces > kMaxPieces) {
        throw Error("cuda backend: a candidate has " + std::to_string(pieces) +
                        " pieces; it takes up to " + std::to_string(kMaxPieces) +
                        "; use a CPU backend",
                    ErrorKind::kBackend);
      }
      for (std::size_t part = 0; part < parts; ++part) {
        slots[slot++] = {
            .session = session,
            .first_piece = static_cast<std::uint32_t>(first_piece + candidates.offsets[c]),
            .pieces = static_cast<std::uint32_t>(pieces),
            .result = static_cast<std::uint32_t>(request.first_result + p * parts + part),
            .part = static_cast<std::uint32_t>(part)};
      }
    }
    while (slot % static_cast<std::size_t>(group.shape.slots) !=
           group.first_slot % static_cast<std::size_t>(group.shape.slots)) {
      slots[slot++] = {.session = session};
    }
    put(reinterpret_cast<std::byte*>(piece_ids + first_piece),
        std::span<const std::uint32_t>(candidates.piece_ids));
    first_piece += candidates.piece_ids.size();
  }
}

void PlacementLaunches::prepare() {
  if (requests_.empty()) return;
  const CurrentDevice current(context_.device());
  form_groups();
  std::size_t pieces = 0;
  for (const Request& request : requests_) pieces += request.candidates->piece_ids.size();
  ArrayPlan plan;
  const std::size_t slots_at = plan.add(groups_.back().end_slot * sizeof(CandidateSlot));
  const std::size_t ids_at = plan.add(pieces * sizeof(std::uint32_t));
  const InputBlock in(*workspace_, plan.bytes());
  const OutputBlock out(*workspace_, results_ * sizeof(ResultView));
  std::size_t scratch = 0;
  for (const Group& group : groups_) {
    scratch = std::max(scratch, blocks_at_once(group) * placement_scratch_bytes(group.shape));
  }
  workspace_->scratch.reserve(scratch);

  workspace_->busy = true;
  std::size_t first_piece = 0;
  for (const Group& group : groups_) {
    fill_slots(group, first_piece, at<CandidateSlot>(in.host(), slots_at),
               at<std::uint32_t>(in.host(), ids_at));
  }
  std::byte* inputs = in.send(true);
  slots_ = at<CandidateSlot>(inputs, slots_at);
  args_ = {.slots = nullptr,
           .piece_ids = at<std::uint32_t>(inputs, ids_at),
           .results = reinterpret_cast<ResultView*>(out.device()),
           .rows = reinterpret_cast<float*>(workspace_->scratch.data()),
           .head = context_.models().head(),
           .empty_ms = context_.empty_ms(),
           .shape = {}};
}

void PlacementLaunches::launch() {
  if (requests_.empty()) return;
  const CurrentDevice current(context_.device());
  for (const Group& group : groups_) {
    args_.shape = group.shape;
    const auto slots = static_cast<std::size_t>(group.shape.slots);
    for (std::size_t slot = group.first_slot; slot < group.end_slot;) {
      const std::size_t blocks = std::min(blocks_at_once(group), (group.end_slot - slot) / slots);
      args_.slots = slots_ + slot;
      place_candidates(args_, static_cast<unsigned>(blocks), workspace_->stream.get());
      slot += blocks * slots;
    }
  }
  OutputBlock(*workspace_, results_ * sizeof(ResultView)).fetch();
}

void PlacementLaunches::finish() {
  if (requests_.empty()) return;
  const CurrentDevice current(context_.device());
  const OutputBlock out(*workspace_, results_ * sizeof(ResultView));
  const auto* results = reinterpret_cast<const ResultView*>(out.receive());
  for (const Group& group : groups_) {
    const auto parts = static_cast<std::size_t>(group.shape.parts);
    for (std::size_t r = group.first_request; r < group.end_request; ++r) {
      const Request& request = requests_[r];
      const std::span<const ResultView> of_request(results + request.first_result,
                                                   request.placed.size() * parts);
      for (const ResultView& part : of_request) {
        request.session->count(0, part.head_evaluations, part.comm_evaluations);
      }
      for (std::size_t c = 0; c < request.same_as.size(); ++c) {
        const auto of_parts = of_request.subspan(request.same_as[c] * parts, parts);
        // The first part has the lowest limits, which win ties.
        const ResultView& best = *std::ranges::min_element(of_parts, {}, &ResultView::cost_ms);
        request.results[c] = {.cost_ms = best.cost_ms, .limit = best.limit};
      }
      request.session->count(request.same_as.size(), 0, 0);
    }
  }
}

}  // namespace neuroshard::gpu
