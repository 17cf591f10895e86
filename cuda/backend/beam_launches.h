#pragma once

#include <span>

#include "cuda/backend/cuda_session.h"
#include "cuda/backend/launches.h"
#include "cuda/backend/staging.h"
#include "cuda/placement/beam_views.h"

namespace neuroshard::gpu {

/// Whether whole beam searches of such sizes, on so many devices and under so many limits, are run
/// on a GPU: their memory is small, and their levels are short beside a launch.
[[nodiscard]] bool takes_beam(const BeamSizes& sizes, int devices, int limits);
[[nodiscard]] BeamSizes sizes_of(const BeamProblem& beam);

/// How blocks place candidates of beam searches, and what they keep of them; no desk: nothing.
struct BeamShape {
  PlacementShape placement;
  DeskLayout desk;
};

/// For a launch that places up to so many candidates at once, of searches with such sizes and
/// tasks with up to so many pieces. Throws as choose_shape() does.
[[nodiscard]] BeamShape choose_beam_shape(const DeviceContext& context, const BeamSizes& sizes,
                                          std::size_t pieces, std::size_t candidates, int devices,
                                          int limits, int comm_width);

/// Whole beam searches on their way through one device.
class BeamLaunches final : public Launches {
 public:
  explicit BeamLaunches(const DeviceContext& context) : Launches(context) {}

  void add(CudaSession& session, const BeamProblem& beam, BeamOutcome& outcome);
  /// How many launches there will be of what has been added.
  [[nodiscard]] int launches();
  void prepare() override;
  void launch() override;
  void finish() override;

 private:
  struct Request {
    CudaSession* session;
    const BeamProblem* beam;
    BeamOutcome* outcome;
    BeamSizes sizes;
    std::size_t result_at = 0;  ///< BeamResultView in the output, with its splits behind it.
  };
  /// Requests of one launch: tasks with the same numbers of devices and limits and beams of the
  /// same width, as many as there is memory for.
  struct Group {
    std::size_t first_request;
    std::size_t end_request;
    PlacementShape shape;
    std::size_t blocks_per_beam = 0;
    std::size_t most_items = 0;  ///< Most items of a level of a beam.
    BeamSizes sizes = {};        ///< Enough for all of them.
    std::size_t candidates = 0;  ///< That are placed at once, at most; of all beams.
    DeskLayout desk = {};
  };

  [[nodiscard]] static std::size_t pieces_of(const Request& request);
  void form_groups();
  [[nodiscard]] Group group_of(std::size_t first, std::size_t end) const;

  std::vector<Request> requests_;
  std::vector<Group> groups_;
  BeamArgs args_;  ///< But for what differs between groups.
  std::size_t output_bytes_ = 0;
};

}  // namespace neuroshard::gpu
