#include "cuda/backend/chain_launches.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "cuda/annealing/anneal_chains.h"
#include "cuda/device/current_device.h"

namespace neuroshard::gpu {
namespace {

// Pieces, tables, devices and slices are 16-bit numbers in a chain.
constexpr std::size_t kMostNumbers = 65535;
// More devices are looked through by a warp for too long.
constexpr int kMostChainDevices = 256;
// Slices of all tables at their narrowest.
constexpr std::size_t kMostListed = std::size_t{1} << 20;
// Of all chains that a launch runs at once.
constexpr std::size_t kMostScratch = std::size_t{512} << 20;

// Annealing halves slices and joins them. A chain that comes to more is left to the caller.
std::size_t most_slices_from(std::size_t slices) { return 2 * slices + 32; }

// Where each table's slices are listed: it has no more than all of its narrowest pieces.
std::vector<std::uint32_t> table_lists_of(const AnnealingProblem& problem) {
  std::vector<std::uint32_t> lists{0};
  std::size_t listed = 0;
  for (const std::uint32_t whole : problem.whole) {
    std::size_t slices = 1;
    for (std::size_t piece = whole; problem.may_halve[piece] != 0; ++piece) slices *= 2;
    listed = std::min(listed + slices, kMostListed + 1);
    lists.push_back(static_cast<std::uint32_t>(listed));
  }
  return lists;
}

}  // namespace

bool takes_chains(const DeviceContext& context, const AnnealingProblem& problem, bool prices_ids) {
  if (problem.devices < 2 || problem.devices > kMostChainDevices ||
      problem.pieces() > kMostNumbers || problem.tables() > kMostNumbers) {
    return false;
  }
  const CommView& comm = context.models().comm_for(problem.devices);
  if (comm.forward.symmetric != comm.backward.symmetric ||
      (prices_ids && !comm.backward.symmetric)) {
    return false;
  }
  std::int64_t columns = 0;
  for (const std::uint32_t whole : problem.whole) columns += problem.dims[whole];
  return columns <= std::numeric_limits<std::int32_t>::max() &&
         table_lists_of(problem).back() <= kMostListed;
}

ChainLaunches::ChainLaunches(const DeviceContext& context, bool prices_ids)
    : Launches(context), prices_ids_(prices_ids) {}

void ChainLaunches::add(const Backend::AnnealingRequest& request) {
  const AnnealingProblem& problem = *request.problem;
  const auto [placed, is_new] = problems_.try_emplace(&problem);
  if (is_new) placed->second.table_lists = table_lists_of(problem);
  const std::size_t listed = placed->second.table_lists.back();
  const std::size_t most = std::min({most_slices_from(request.chain->start.size()),
                                     std::max<std::size_t>(listed, 1), kMostNumbers});
  const auto devices = static_cast<std::size_t>(problem.devices);
  const std::size_t on_device =
      devices <= kMaxLaneDevices ? most : std::min(most, 8 * most / devices + 64);
  const CommView& comm = context_.models().comm_for(problem.devices);
  const MlpView& head = context_.models().head();
  const int width = context_.embedding_width();
  const ChainSizes sizes{
      .devices = problem.devices,
      .width = width,
      .slices = static_cast<int>(most),
      .on_device = static_cast<int>(on_device),
      .tile_width = std::max({head.width, comm.forward.mlp.width, comm.backward.mlp.width})};
  std::vector<std::size_t> on_devices(devices);
  for (const PlacedSlice& slice : request.chain->start) ++on_devices[slice.device];
  const std::size_t fullest = *std::max_element(on_devices.begin(), on_devices.end());
  if (request.chain->start.size() > most || fullest > on_device ||
      chain_layout(sizes).total > context_.shared_bytes()) {
    return;
  }
  ArrayPlan scratch;
  scratch.add(devices * on_device * sizeof(std::uint16_t));
  scratch.add(listed * sizeof(std::uint16_t));
  scratch.add(problem.tables() * sizeof(std::uint16_t));
  chains_.push_back({.request = request, .sizes = sizes, .scratch_bytes = scratch.bytes()});
}

void ChainLaunches::form_groups() {
  // Those that take longest begin first.
  std::stable_sort(chains_.begin(), chains_.end(), [](const Chain& a, const Chain& b) {
    return a.request.chain->steps > b.request.chain->steps;
  });
  for (std::size_t first = 0; first < chains_.size();) {
    Group group{.first_chain = first, .end_chain = first};
    std::size_t scratch = 0;
    for (; group.end_chain < chains_.size(); ++group.end_chain) {
      const Chain& chain = chains_[group.end_chain];
      scratch += chain.scratch_bytes;
      if (group.end_chain > first && scratch > kMostScratch) break;
      group.shared_bytes = std::max(group.shared_bytes, chain_layout(chain.sizes).total);
    }
    groups_.push_back(group);
    first = group.end_chain;
  }
}

void ChainLaunches::put_problem(std::byte* host, std::byte* device, const AnnealingProblem& problem,
                                const Problem& placed) const {
  auto* pieces = at<ChainPiece>(host, placed.pieces_at);
  for (std::size_t p = 0; p < problem.pieces(); ++p) {
    pieces[p] = {.size_bytes = problem.size_bytes[p],
                 .lookups = problem.lookups[p],
                 .dim = problem.dims[p],
                 .may_halve = problem.may_halve[p]};
  }
  put(host + placed.embeddings_at, problem.embeddings);
  put(host + placed.whole_at, std::span<const std::uint32_t>(problem.whole));
  put(host + placed.most_slices_at, std::span<const std::uint32_t>(problem.most_slices));
  put(host + placed.lists_at, std::span<const std::uint32_t>(placed.table_lists));
  *at<AnnealingView>(host, placed.view_at) = {
      .pieces = at<ChainPiece>(device, placed.pieces_at),
      .embeddings = at<float>(device, placed.embeddings_at),
      .whole = at<std::uint32_t>(device, placed.whole_at),
      .most_slices = at<std::uint32_t>(device, placed.most_slices_at),
      .table_lists = at<std::uint32_t>(device, placed.lists_at),
      .room_bytes = problem.room_bytes,
      .devices = problem.devices,
      .tables = static_cast<std::int32_t>(problem.tables()),
      .log2_devices = log2_devices(problem.devices),
      .equal_widths = problem.equal_widths ? 1U : 0U,
      .prices_ids = prices_ids_ ? 1U : 0U,
      .comm = context_.models().comm_for(problem.devices)};
}

void ChainLaunches::prepare() {
  if (chains_.empty()) return;
  const CurrentDevice current(context_.device());
  form_groups();
  ArrayPlan inputs;
  const std::size_t views_at = inputs.add(chains_.size() * sizeof(ChainView));
  for (auto& [problem, placed] : problems_) {
    placed.view_at = inputs.add(sizeof(AnnealingView));
    placed.pieces_at = inputs.add(problem->pieces() * sizeof(ChainPiece));
    placed.embeddings_at = inputs.add(problem->embeddings);
    placed.whole_at = inputs.add(problem->tables() * sizeof(std::uint32_t));
    placed.most_slices_at = inputs.add(problem->tables() * sizeof(std::uint32_t));
    placed.lists_at = inputs.add(placed.table_lists.size() * sizeof(std::uint32_t));
  }
  ArrayPlan outputs;
  for (Chain& chain : chains_) {
    chain.start_at = inputs.add(chain.request.chain->start.size() * sizeof(ChainPlace));
    chain.result_at = outputs.add(sizeof(ChainResultView));
    outputs.add(static_cast<std::size_t>(chain.sizes.slices) * sizeof(ChainPlace));
  }
  output_bytes_ = outputs.bytes();
  std::size_t scratch = 0;
  for (const Group& group : groups_) {
    std::size_t of_group = 0;
    for (std::size_t c = group.first_chain; c < group.end_chain; ++c) {
      of_group += chains_[c].scratch_bytes;
    }
    scratch = std::max(scratch, of_group);
  }
  workspace_->scratch.reserve(scratch);

  const InputBlock in(*workspace_, inputs.bytes());
  const OutputBlock out(*workspace_, output_bytes_);
  workspace_->device_in.reserve(inputs.bytes());  // Where it is, the views say already.
  std::byte* device = workspace_->device_in.data();
  for (const auto& [problem, placed] : problems_) put_problem(in.host(), device, *problem, placed);
  for (const Group& group : groups_) {
    ArrayPlan of_group;
    std::byte* memory = workspace_->scratch.data();
    for (std::size_t c = group.first_chain; c < group.end_chain; ++c) {
      const Chain& chain = chains_[c];
      const AnnealingChain& wanted = *chain.request.chain;
      const AnnealingProblem& problem = *chain.request.problem;
      const Problem& placed = problems_.at(&problem);
      auto* start = at<ChainPlace>(in.host(), chain.start_at);
      for (const PlacedSlice& slice : wanted.start) {
        *start++ = {static_cast<std::uint16_t>(slice.piece),
                    static_cast<std::uint16_t>(slice.table),
                    static_cast<std::uint16_t>(slice.device), 0};
      }
      const std::size_t on_at =
          of_group.add(static_cast<std::size_t>(chain.sizes.devices) *
                       static_cast<std::size_t>(chain.sizes.on_device) * sizeof(std::uint16_t));
      const std::size_t of_at = of_group.add(placed.table_lists.back() * sizeof(std::uint16_t));
      const std::size_t counts_at = of_group.add(problem.tables() * sizeof(std::uint16_t));
      at<ChainView>(in.host(), views_at)[c] = {
          .problem = at<AnnealingView>(device, placed.view_at),
          .start = at<ChainPlace>(device, chain.start_at),
          .on_devices = at<std::uint16_t>(memory, on_at),
          .of_tables = at<std::uint16_t>(memory, of_at),
          .of_counts = at<std::uint16_t>(memory, counts_at),
          .best = at<ChainPlace>(out.device(), chain.result_at + sizeof(ChainResultView)),
          .result = at<ChainResultView>(out.device(), chain.result_at),
          .steps = wanted.steps,
          .stream = wanted.stream,
          .hottest = wanted.hottest,
          .cooling = annealing::cooling(wanted.hottest, wanted.coldest, wanted.steps),
          .soft_steps = annealing::soft_steps(wanted.steps),
          .slices = static_cast<std::uint32_t>(wanted.start.size()),
          .joins_halves = wanted.joins_halves ? 1U : 0U,
          .soften_ids = wanted.soften_ids ? 1U : 0U,
          .sizes = chain.sizes};
    }
  }
  workspace_->busy = true;
  (void)in.send(false);
  args_ = {.chains = at<ChainView>(device, views_at),
           .head = context_.models().head(),
           .empty_ms = context_.empty_ms(),
           .width = context_.embedding_width()};
}

void ChainLaunches::launch() {
  if (chains_.empty()) return;
  const CurrentDevice current(context_.device());
  for (const Group& group : groups_) {
    ChainArgs args = args_;
    args.chains += group.first_chain;
    args.shared_bytes = group.shared_bytes;
    anneal_chains(args, static_cast<unsigned>(group.end_chain - group.first_chain),
                  workspace_->stream.get());
  }
  OutputBlock(*workspace_, output_bytes_).fetch();
}

void ChainLaunches::finish() {
  if (chains_.empty()) return;
  const CurrentDevice current(context_.device());
  const std::byte* received = OutputBlock(*workspace_, output_bytes_).receive();
  for (const Chain& chain : chains_) {
    const auto* result = reinterpret_cast<const ChainResultView*>(received + chain.result_at);
    if (result->complete == 0) continue;
    const auto* best = reinterpret_cast<const ChainPlace*>(result + 1);
    Annealed& annealed = chain.request.outcome->emplace();
    annealed.cost_ms = result->cost_ms;
    annealed.edits = result->edits;
    annealed.head_evaluations = result->head_evaluations;
    annealed.comm_evaluations = result->comm_evaluations;
    annealed.layout.reserve(result->slices);
    for (std::uint32_t i = 0; i < result->slices; ++i) {
      annealed.layout.push_back({best[i].piece, best[i].table, best[i].device});
    }
  }
}

}  // namespace neuroshard::gpu
