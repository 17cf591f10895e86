#pragma once

#include <span>

#include "cuda/backend/cuda_session.h"
#include "cuda/backend/launches.h"
#include "cuda/backend/staging.h"

namespace neuroshard::gpu {

/// How a launch for `candidates` candidates of one task, or of tasks alike, uses the device, whose
/// blocks need `desk_bytes` of shared memory besides (BeamArgs). Throws Error (kBackend) if the
/// device's shared memory cannot hold one placement.
[[nodiscard]] PlacementShape choose_shape(const DeviceContext& context, std::size_t candidates,
                                          int devices, int limits, int comm_width,
                                          std::size_t desk_bytes = 0);

/// Whether a block has shared memory for at least one placement and `desk_bytes` more.
[[nodiscard]] bool has_room_beside(const DeviceContext& context, int devices, int limits,
                                   int comm_width, std::size_t desk_bytes);

/// Device memory of a block: PlacementArgs::rows.
[[nodiscard]] std::size_t placement_scratch_bytes(const PlacementShape& shape);

/// Requests on their way through one device.
class PlacementLaunches final : public Launches {
 public:
  explicit PlacementLaunches(const DeviceContext& context) : Launches(context) {}

  void add(CudaSession& session, const CandidateBatch& candidates,
           std::span<CandidateResult> results);
  /// How many launches there will be of what has been added.
  [[nodiscard]] int launches();
  void prepare() override;
  void launch() override;
  void finish() override;

 private:
  struct Request {
    CudaSession* session;
    const CandidateBatch* candidates;
    std::span<CandidateResult> results;
    std::vector<std::size_t> placed;   ///< Candidates: of equal ones, the first.
    std::vector<std::size_t> same_as;  ///< [candidates]: index into `placed`.
    std::size_t first_result = 0;      ///< First of results [placed, PlacementShape::parts].
  };
  /// Requests of one launch: tasks with the same numbers of devices and limits.
  struct Group {
    std::size_t first_request;
    std::size_t end_request;
    PlacementShape shape;
    std::size_t first_slot;
    std::size_t end_slot;
  };

  void form_groups();
  [[nodiscard]] static std::size_t blocks(const Group& group);
  /// Blocks of one launch of the group, at most. Further ones go in further launches, which use the
  /// same memory one after the other.
  [[nodiscard]] static std::size_t blocks_at_once(const Group& group);
  void fill_slots(const Group& group, std::size_t& first_piece, CandidateSlot* slots,
                  std::uint32_t* piece_ids) const;

  std::vector<Request> requests_;
  std::vector<Group> groups_;
  PlacementArgs args_;  ///< But for the slots and shape of a launch.
  const CandidateSlot* slots_ = nullptr;
  std::size_t results_ = 0;
};

}  // namespace neuroshard::gpu
