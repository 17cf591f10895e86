#include "bench/scorer.h"

namespace neuroshard::bench {

std::vector<ScorerKind> openblas_scorers(const CostModels&) { return {}; }

}  // namespace neuroshard::bench
