#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neuroshard/cost_models.h"
#include "neuroshard/cost_runner.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/table_features.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// A batch of shards in compressed rows: shard `s` holds pieces
/// `piece_ids[offsets[s] .. offsets[s + 1])`, ids of rows of embeddings.
struct ShardBatch {
  std::span<const std::uint32_t> offsets;  ///< shards + 1 entries, first 0.
  std::span<const std::uint32_t> piece_ids;

  [[nodiscard]] std::size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
};

/// Rules that set devices apart in a placement, and pieces by where they may go.
struct PlacementRules {
  ComputeOnDevices compute;  ///< A piece is added to what a device costs already.
  /// [devices]: bytes by which a device has less than `PlacementProblem::memory_bytes`.
  std::vector<std::int64_t> base_bytes;
  static constexpr int kAnyDevice = -1;
  std::vector<int> set_of_piece;        ///< [pieces]: index into `sets`, or kAnyDevice.
  std::vector<std::vector<bool>> sets;  ///< [sets][devices]: whether a piece may go there.

  [[nodiscard]] bool allow(std::uint32_t piece, std::size_t device) const {
    const int set = set_of_piece[piece];
    return set == kAnyDevice || sets[static_cast<std::size_t>(set)][device];
  }
};

/// All that one task's greedy placements have in common. A *piece* is a table at one of the dims
/// that halving can give it; equal halves are the same piece. Spans are borrowed.
struct PlacementProblem {
  int devices = 0;
  std::int64_t memory_bytes = 0;             ///< Memory of one device; the most that one has.
  std::span<const float> embeddings;         ///< [pieces, embedding width]
  std::span<const std::int32_t> dims;        ///< [pieces], output_columns()
  std::span<const std::int64_t> size_bytes;  ///< [pieces]
  /// Highest dim sum allowed on a device, ascending.
  std::vector<std::int64_t> dim_limits;
  /// Once it is reached, a CPU session places nothing more, and candidates not placed or not scored
  /// by then have an infinite cost. A GPU ends the launch that is under way. Null: never. Borrowed.
  const StopCondition* stop = nullptr;
  /// Null: all devices are equal, and pieces may go to each of them. CPU backends only. Borrowed.
  const PlacementRules* rules = nullptr;

  [[nodiscard]] std::size_t pieces() const { return dims.size(); }
};

/// Candidates to be placed, in compressed rows: candidate `c` places
/// `piece_ids[offsets[c] .. offsets[c + 1])` in this order.
struct CandidateBatch {
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> piece_ids;

  [[nodiscard]] std::size_t size() const { return offsets.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> pieces_of(std::size_t candidate) const {
    return std::span(piece_ids).subspan(offsets[candidate],
                                        offsets[candidate + 1] - offsets[candidate]);
  }
  void add(std::span<const std::uint32_t> pieces) {
    piece_ids.insert(piece_ids.end(), pieces.begin(), pieces.end());
    offsets.push_back(static_cast<std::uint32_t>(piece_ids.size()));
  }
  /// Keeps the memory.
  void clear() {
    offsets.resize(1);
    piece_ids.clear();
  }
};

/// The best of one candidate's greedy placements, one per dim limit.
struct CandidateResult {
  /// Cost of the slowest device; infinite if no limit lets every piece be placed.
  double cost_ms = std::numeric_limits<double>::infinity();
  int limit = -1;  ///< Index into `dim_limits`; the first one on ties.

  friend bool operator==(const CandidateResult&, const CandidateResult&) = default;
};

/// A whole beam search over column splits (docs/search.md), for a session that can run one by
/// itself. It tries to halve some slices of each state of splits, keeps the cheapest results, and
/// goes on from these. Spans are borrowed.
struct BeamProblem {
  std::span<const std::uint32_t> pieces;  ///< [slices] of the state that it starts from.
  std::span<const std::uint32_t> order;   ///< [slices]: slices in the order of placement.
  std::span<const float> piece_cost_ms;   ///< [pieces], each alone on a device.
  /// [pieces]: 1 if its slices may be halved. Either half is the piece after it.
  std::span<const std::uint8_t> may_halve;
  int beam_width = 0;  ///< States kept per level.
  int candidates = 0;  ///< Slices tried per state: this many largest, and as many costliest.
  int max_splits = 0;  ///< Levels.
};

/// The state of lowest cost that a beam search has seen; the earliest one on ties.
struct BeamOutcome {
  CandidateResult result;
  std::vector<int> column_splits;  ///< Splits after the state that it started from.
  std::uint64_t candidates = 0;    ///< Candidates placed, including the first state.
};

/// Counts the work of a backend, for reports. Values are sums over calls.
struct PlacementCounters {
  std::uint64_t greedy_runs = 0;       ///< (candidate, limit) pairs asked for.
  std::uint64_t head_evaluations = 0;  ///< Heads really computed.
  std::uint64_t comm_evaluations = 0;  ///< Rows through the forward model, really computed.

  PlacementCounters& operator+=(const PlacementCounters& more) {
    greedy_runs += more.greedy_runs;
    head_evaluations += more.head_evaluations;
    comm_evaluations += more.comm_evaluations;
    return *this;
  }
};

/// One task in the hands of a backend: device memory, memo tables, scratch. Not thread-safe.
class PlacementSession {
 public:
  virtual ~PlacementSession() = default;

  /// Runs the greedy placement of every candidate under every dim limit and keeps the best.
  /// `results` has one entry per candidate.
  virtual void place(const CandidateBatch& candidates, std::span<CandidateResult> results) = 0;

  /// Finds the device of each piece of one candidate, `pieces`, in the greedy placement under the
  /// dim limit of index `limit`. Nothing if some piece finds no room, or the problem's stop
  /// condition is reached. The candidate is placed again for this: few of the many placements are
  /// wanted.
  [[nodiscard]] virtual std::optional<std::vector<std::uint32_t>> assignments(
      std::span<const std::uint32_t> pieces, int limit) = 0;

  /// Whether Backend::search_beams() takes this problem's session with `beam`.
  [[nodiscard]] virtual bool can_search(const BeamProblem& beam) const {
    (void)beam;
    return false;
  }

  [[nodiscard]] virtual PlacementCounters counters() const = 0;
};

/// A backend does the arithmetic. It is immutable after construction and safe to share between
/// threads.
///
/// All backends compute in fp32 with the same order of operations (docs/arithmetic.md), so costs
/// and plans agree bit for bit between backends, and a search may change backend half-way.
class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Tells users about trouble so far, e.g. that a GPU failed. Empty if there was none.
  [[nodiscard]] virtual std::string warning() const { return {}; }

  /// `features`: [pieces, table_features()], not normalised (OperatorFeatures writes them).
  /// `embeddings`: [pieces, embedding width].
  virtual void embed_pieces(std::span<const float> features, std::span<float> embeddings) const = 0;

  /// Compute cost of each shard, from `embeddings` [pieces, embedding width]. `cost_ms` has one
  /// entry per shard. An empty shard costs head(0). The vector backends are a tenth faster
  /// if `embeddings` starts on a cache line (AlignedVector).
  virtual void score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                            std::span<float> cost_ms) const = 0;

  /// Communication costs of `rows` placements, from `dim_sums` [rows, devices] and, for the forward
  /// pass, `start_offsets_ms` [rows, devices]; `cost_ms` is [rows, devices].
  virtual void forward_comm(int devices, std::span<const float> dim_sums,
                            std::span<const float> start_offsets_ms,
                            std::span<float> cost_ms) const = 0;
  virtual void backward_comm(int devices, std::span<const float> dim_sums,
                             std::span<float> cost_ms) const = 0;

  /// Offers the same models to a caller that asks for a little at a time. It runs on the CPU,
  /// whatever places candidates. Borrows the backend. Throws Error as CostModels::comm_for does.
  [[nodiscard]] virtual std::unique_ptr<CostRunner> cost_runner(int devices) const = 0;

  /// The session borrows the backend, and all that `problem` borrows.
  [[nodiscard]] virtual std::unique_ptr<PlacementSession> start(
      const PlacementProblem& problem) const = 0;

  /// Places one batch per session, in as few launches as the backend can. Default: one by one.
  struct Request {
    PlacementSession* session;
    const CandidateBatch* candidates;
    std::span<CandidateResult> results;
  };
  virtual void place(std::span<const Request> requests) const;
  /// Number of GPU launches that these requests take. Default: one.
  [[nodiscard]] virtual int launches_for(std::span<const Request> requests) const {
    (void)requests;
    return 1;
  }

  /// Runs whole beam searches, which saves the launches and waits of their levels. A session may
  /// have several. Returns false if it could not run them; their sessions are then to place
  /// candidates level by level. Default: false.
  struct BeamRequest {
    PlacementSession* session;  ///< One that can_search().
    const BeamProblem* beam;
    BeamOutcome* outcome;
  };
  [[nodiscard]] virtual bool search_beams(std::span<const BeamRequest> requests) const {
    (void)requests;
    return false;
  }
  /// Number of GPU launches that these requests take. Default: one.
  [[nodiscard]] virtual int launches_for(std::span<const BeamRequest> requests) const {
    (void)requests;
    return 1;
  }

  /// Floats of a row of embeddings: the outputs of the table network, rounded up to a multiple of
  /// 8; the rest is 0.
  [[nodiscard]] int embedding_width() const { return traits_.embedding_width; }
  /// Features that the compute model takes of a piece: kTableFeatures or kOperatorFeatures.
  [[nodiscard]] int table_features() const { return traits_.table_features; }
  /// Whether the cost of every operator depends on the weight types of its tables. Features of
  /// traffic do; the published features and prices of kinds are of fp32.
  [[nodiscard]] bool follows_weight_types() const {
    return table_features() == kOperatorFeatures && traits_.kind_prices.empty();
  }
  /// CostModels::setting.
  [[nodiscard]] const CommSetting& comm_setting() const { return traits_.setting; }
  /// hardware_network() of the models.
  [[nodiscard]] const std::optional<NodeNetwork>& hardware_network() const {
    return traits_.hardware_network;
  }
  /// The network whose costs the communication models predict. Nothing: they do not say.
  [[nodiscard]] const std::optional<NodeNetwork>& network() const { return traits_.network; }
  /// Tells how the communication models see the columns of so many devices. Null: as they are.
  [[nodiscard]] const NodeColumns* nodes(int devices) const {
    return traits_.nodes && traits_.nodes->devices() == devices ? &*traits_.nodes : nullptr;
  }
  /// CostModels::prices_ids().
  [[nodiscard]] bool prices_ids() const { return traits_.prices_ids; }
  /// CostModels::ids; or null.
  [[nodiscard]] const CollectiveModel* ids() const { return traits_.ids ? &*traits_.ids : nullptr; }
  /// Null: the models do not price all-reduces.
  [[nodiscard]] const CollectiveModel* all_reduce() const {
    return traits_.all_reduce ? &*traits_.all_reduce : nullptr;
  }
  /// The price of shards of this kind; a grid has that of kTableRow. Null: the models predict them.
  [[nodiscard]] const KindPrice* kind_price(ShardingKind kind) const {
    const auto found =
        traits_.kind_prices.find(kind == ShardingKind::kGrid ? ShardingKind::kTableRow : kind);
    return found == traits_.kind_prices.end() ? nullptr : &found->second;
  }
  /// CostModels::prices_replicas().
  [[nodiscard]] bool prices_replicas() const { return traits_.prices_replicas; }

 protected:
  explicit Backend(const CostModels& models);
  /// Properties of the models, which another backend reports too.
  struct Traits {
    int table_features;
    int embedding_width;
    CommSetting setting;
    std::optional<NodeNetwork> hardware_network;
    std::optional<NodeNetwork> network;
    std::optional<NodeColumns> nodes;
    bool prices_ids;
    std::optional<CollectiveModel> all_reduce;
    std::optional<CollectiveModel> ids;
    KindPrices kind_prices;
    bool prices_replicas;
  };
  explicit Backend(Traits traits) : traits_(std::move(traits)) {}
  [[nodiscard]] static const Traits& traits_of(const Backend& other) { return other.traits_; }
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

 private:
  Traits traits_;
};

struct BackendOptions {
  /// "auto" (the fastest here) or one of cpu_backends().
  std::string name = "auto";
  /// Remember repeated work (CPU backends). Off: every placement is computed anew, step by step;
  /// the results are the same bit for bit, which tests and benchmarks rely on.
  bool reuse_work = true;
};

/// Throws Error (kBackend) if the backend named cannot run here, (kInvalidInput) on an unknown
/// name.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(const CostModels& models,
                                                        const BackendOptions& options = {});
/// Names of all CPU backends that are compiled in, the widest first.
[[nodiscard]] std::vector<std::string> cpu_backends();
/// Names of the CPU backends that this machine can run, best first: "auto" takes the first one.
[[nodiscard]] std::vector<std::string> available_cpu_backends();

}  // namespace neuroshard
#pragma GCC visibility pop
